"""Pods on a fake host: what a manifest says is what the container gets."""

from __future__ import annotations

from typing import Any

import pytest

from devroot import ContainerPath, Verdict, examine
from devroot.errors import InvalidManifestError, InvalidSceneError
from devroot.testing import FakeHost

CAPS = {"name": "caps", "hostPath": {"path": "/dev/nvidia-caps", "type": "Directory"}}


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a driver."""
    host = FakeHost()
    host.devtmpfs("/dev")
    host.nvidia_driver("/opt/nvidia")
    return host


def pod_of(
    *volumes: dict[str, Any],
    mounts: list[dict[str, Any]] | None = None,
    context: dict[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - of a pod
) -> dict[str, Any]:
    """Return a pod with one container."""
    container = {
        "name": "plugin",
        "volumeMounts": mounts or [],
        "securityContext": context or {},
    }
    return {"spec": {"containers": [container], "volumes": [*volumes], **spec}}


def test_a_volume_reaches_the_host(host: FakeHost) -> None:
    """A hostPath is mounted where the pod says, and declared with all that comes along."""
    mounts = [{"name": "caps", "mountPath": "/host-dev/dev/nvidia-caps"}]
    plugin = host.pod(pod_of(CAPS, mounts=mounts), host_mountinfo=True)
    view = plugin.view
    reach = examine(view, ContainerPath("/host-dev/dev/nvidia-caps"))
    assert (reach.verdict, str(reach.host_path)) == (Verdict.HOST, "/dev/nvidia-caps")
    assert examine(view, ContainerPath("/dev")).verdict is Verdict.PRIVATE
    assert view.effective_capabilities == 0xA80425FB
    assert plugin.name == "plugin"
    points = {str(mount.mount_point): mount.root for mount in view.mountinfo}
    assert points["/etc/hosts"] == "/var/lib/kubelet/pods/host-pod-1/etc-hosts"
    assert "/run/secrets/kubernetes.io/serviceaccount" in points


def test_propagation_and_kinds(host: FakeHost) -> None:
    """Propagation is that of the pod; a volume of another kind is new and empty."""
    volumes: list[dict[str, Any]] = [
        {"name": "run", "hostPath": {"path": "/run/x", "type": "DirectoryOrCreate"}},
        {"name": "note", "hostPath": {"path": "/run/note", "type": "FileOrCreate"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "run", "mountPath": "/x", "mountPropagation": "HostToContainer"},
        {"name": "note", "mountPath": "/note", "readOnly": True},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    plugin = host.pod(pod_of(*volumes, mounts=mounts))
    host.tmpfs("/run/x/t")
    host.file("/run/x/t/f")
    assert plugin.has("/x/t/f")
    assert plugin.filesystem.read_bytes(ContainerPath("/"), "note") == b""
    assert plugin.has("/scratch")


@pytest.mark.parametrize(
    ("context", "bits"),
    [
        ({"capabilities": {"drop": ["ALL"]}}, 0),
        ({"capabilities": {"drop": ["ALL"], "add": ["MKNOD"]}}, 1 << 27),
        ({"capabilities": {"drop": ["CAP_MKNOD"]}}, 0xA80425FB & ~(1 << 27)),
        ({"capabilities": {"add": ["ALL"]}}, 2**41 - 1),
        ({"privileged": True}, 2**41 - 1),
    ],
)
def test_capabilities(host: FakeHost, context: dict[str, Any], bits: int) -> None:
    """What is dropped is gone, what is added is there, and privileged is everything."""
    assert host.pod(pod_of(context=context)).view.effective_capabilities == bits


def test_namespaces(host: FakeHost) -> None:
    """``hostPID`` shows the host's processes."""
    plugin = host.pod(pod_of(hostPID=True), host_mountinfo=True)
    assert plugin.view.initial_user_namespace is True
    assert str(plugin.view.host_mountinfo_file) == "/proc/1/mountinfo"


@pytest.mark.parametrize(("path", "is_"), [("/dev/none", "nothing"), ("/dev/null", "character")])
def test_the_kubelet_looks_at_the_type(host: FakeHost, path: str, is_: str) -> None:
    """A hostPath that is not of the type that is said is not mounted: the pod does not start."""
    volume = {"name": "v", "hostPath": {"path": path, "type": "Directory"}}
    with pytest.raises(InvalidSceneError, match=f"{path} is {is_}.*, no directory"):
        host.pod(pod_of(volume, mounts=[{"name": "v", "mountPath": "/v"}]))


def test_no_such_container(host: FakeHost) -> None:
    """A container that the pod does not have is refused."""
    with pytest.raises(InvalidManifestError):
        host.pod(pod_of(), container="other")
