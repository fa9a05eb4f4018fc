"""Pods on a fake host: what a manifest says is what the container gets."""

from __future__ import annotations

from typing import Any

import pytest

from devroot import ContainerPath, FileType, Mount, Verdict, examine, kubernetes
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


@pytest.mark.parametrize(
    ("path", "type", "what"),
    [
        ("/dev/none", "Directory", "/dev/none is nothing, no directory"),
        ("/dev/null", "Directory", "/dev/null is character device, no directory"),
        ("/dev/null", "DirectoryOrCreate", "/dev/null is character device, no directory"),
        ("/dev", "File", "/dev is directory, no regular file"),
        ("/dev", "FileOrCreate", "/dev is directory, no regular file"),
        ("/none/f", "FileOrCreate", "/none is nothing, no directory"),
        ("/dev/none", "CharDevice", "/dev/none is nothing, no character device"),
    ],
)
@pytest.mark.parametrize("part", ["", "part"])
def test_the_kubelet_looks_at_the_type(
    host: FakeHost, path: str, type: str, what: str, part: str
) -> None:
    """A hostPath that is not of the type that is said is not mounted, nor is a part of it."""
    volume = {"name": "v", "hostPath": {"path": path, "type": type}}
    mounts = [{"name": "v", "mountPath": "/v", "subPath": part}]
    with pytest.raises(InvalidSceneError, match=what):
        host.pod(pod_of(volume, mounts=mounts))


def test_the_kubelet_makes_what_may_be_made(host: FakeHost) -> None:
    """A file or directory that is missing is made on the host, the file in what is there."""
    volumes = [
        {"name": "d", "hostPath": {"path": "/new/d", "type": "DirectoryOrCreate"}},
        {"name": "f", "hostPath": {"path": "/f", "type": "FileOrCreate"}},
    ]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in "df"]
    host.pod(pod_of(*volumes, mounts=mounts))
    types = [host.filesystem.status(ContainerPath("/"), path).type for path in ("new/d", "f")]
    assert types == [FileType.DIRECTORY, FileType.REGULAR]


def test_no_such_container(host: FakeHost) -> None:
    """A container that the pod does not have is refused."""
    with pytest.raises(InvalidManifestError):
        host.pod(pod_of(), container="other")


def test_the_table_of_a_pod_is_mounted(host: FakeHost) -> None:
    """The mount table of a pod can be given to a container: what the kubelet mounts are files."""
    pod = pod_of(CAPS, mounts=[{"name": "caps", "mountPath": "/caps"}])
    container = host.container(mounts=kubernetes.mount_table(pod))
    assert container.mounts == kubernetes.mount_table(pod) == host.pod(pod).mounts
    for path in ("etc/hosts", "etc/hostname", "etc/resolv.conf", "dev/termination-log"):
        assert container.filesystem.read_bytes(ContainerPath("/"), path) == b""
        assert f" /{path} " in container.mountinfo()
    assert container.filesystem.status(ContainerPath("/"), "dev/shm").is_directory


def test_a_mount_on_a_file_is_a_file(host: FakeHost) -> None:
    """What has no host side is a file where there is one already, and a directory elsewhere."""
    host.file("/x/own.conf", "of the host")
    mounts: list[str | Mount] = [
        "/x/own.conf:/etc/own.conf",
        *(Mount(host=None, container=f"/etc/{name}") for name in ("hosts", "own.conf", "d")),
    ]
    files = host.container(mounts=mounts).filesystem
    assert files.status(ContainerPath("/"), "etc/hosts").type is FileType.REGULAR
    assert files.read_bytes(ContainerPath("/"), "etc/own.conf") == b""
    assert files.status(ContainerPath("/"), "etc/d").is_directory


def mounted_at(*paths: str, **more: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - of a mount
    """Return the mounts of the volume ``v`` at these paths."""
    return [{"name": "v", "mountPath": path, **more} for path in paths]


def test_an_empty_directory_is_on_the_host(host: FakeHost) -> None:
    """An ``emptyDir`` is a directory that the kubelet has on the host, for a whole pod."""
    volume: dict[str, Any] = {"name": "v", "emptyDir": {}}
    pod = {
        "metadata": {"name": "p", "namespace": "gpu"},
        "spec": {
            "containers": [
                {"name": name, "volumeMounts": mounted_at("/scratch")} for name in ("a", "b")
            ],
            "volumes": [volume],
        },
    }
    first = host.pod(pod, container="a", host_mountinfo=True)
    first.file("/scratch/f", "x")
    assert host.pod(pod, container="b").has("/scratch/f")
    place = "/var/lib/kubelet/pods/gpu-p/volumes/kubernetes.io~empty-dir/v"
    assert host.has(f"{place}/f")
    reach = examine(first.view, ContainerPath("/scratch"))
    assert (reach.verdict, str(reach.host_path)) == (Verdict.HOST, place)
    assert examine(first.view, ContainerPath("/etc/hosts")).verdict is Verdict.HOST


def test_pods_without_a_name_share_nothing(host: FakeHost) -> None:
    """Two pods that have no name are two pods; one with an ID is known by that."""
    pod = pod_of({"name": "v", "emptyDir": {}}, mounts=mounted_at("/scratch"))
    host.pod(pod).file("/scratch/f")
    assert not host.pod(pod).has("/scratch/f")
    host.pod({"metadata": {"uid": "0815", "name": "p"}, **pod})
    assert host.has("/var/lib/kubelet/pods/0815/etc-hosts")


def test_volumes_in_memory(host: FakeHost) -> None:
    """An ``emptyDir`` in memory and a secret are tmpfs, and the secret is read-only."""
    volumes: list[dict[str, Any]] = [
        {"name": "v", "emptyDir": {"medium": "Memory"}},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "c", "configMap": {"name": "c"}},
    ]
    mounts = [*mounted_at("/m"), *({"name": n, "mountPath": f"/{n}"} for n in "sc")]
    table = {
        str(m.mount_point): m for m in host.pod(pod_of(*volumes, mounts=mounts)).view.mountinfo
    }
    kinds = {path: (table[path].fstype, table[path].options[0]) for path in ("/m", "/s", "/c")}
    assert kinds == {"/m": ("tmpfs", "rw"), "/s": ("tmpfs", "ro"), "/c": ("ext4", "ro")}


def test_a_part_of_a_volume(host: FakeHost) -> None:
    """Through a ``subPath`` a part is seen, without what is mounted below."""
    host.tmpfs("/x/part/below")
    host.file("/x/part/below/f")
    volumes: list[dict[str, Any]] = [
        {"name": "v", "hostPath": {"path": "/x", "type": "Directory"}},
        {"name": "e", "emptyDir": {}},
    ]
    mounts = [
        *mounted_at("/part", subPath="part"),
        *mounted_at("/whole"),
        {"name": "e", "mountPath": "/e", "subPath": "new"},
    ]
    plugin = host.pod(pod_of(*volumes, mounts=mounts))
    assert plugin.has("/whole/part/below/f")
    assert plugin.has("/part/below")
    assert not plugin.has("/part/below/f")
    assert host.has("/var/lib/kubelet/pods/host-pod-1/volumes/kubernetes.io~empty-dir/e/new")


@pytest.mark.parametrize(
    ("said", "options"),
    [("Disabled", "rw"), ("IfPossible", "ro"), ("Enabled", "ro"), ("", "rw")],
)
def test_read_only_below(host: FakeHost, said: str, options: str) -> None:
    """What is mounted below a read-only volume is read-only too, if the pod says so."""
    host.tmpfs("/x/below")
    volume = {"name": "v", "hostPath": {"path": "/x"}}
    mounts = mounted_at("/x", readOnly=True, recursiveReadOnly=said)
    table = host.pod(pod_of(volume, mounts=mounts)).view.mountinfo
    found = {str(mount.mount_point): mount.options[0] for mount in table}
    assert (found["/x"], found["/x/below"]) == ("ro", options)


def test_who_a_pod_is(host: FakeHost) -> None:
    """The user, the groups and the group of the volumes are those of the security contexts."""
    context = {"runAsUser": 7, "runAsGroup": 8, "supplementalGroups": [9], "fsGroup": 10}
    volume: dict[str, Any] = {"name": "v", "emptyDir": {}}
    pod = pod_of(volume, mounts=mounted_at("/v"), securityContext=context)
    plugin = host.pod(pod)
    status = plugin.filesystem.read_bytes(ContainerPath("/proc"), "self/status").decode()
    assert "Uid:\t7\t" in status
    assert "Gid:\t8\t" in status
    assert "Groups:\t9 10 \n" in status
    found = plugin.filesystem.status(ContainerPath("/"), "v")
    assert (found.uid, found.gid, found.mode) == (0, 10, 0o2777)
    with plugin.filesystem.open_directory(ContainerPath("/"), "v") as directory:
        directory.write_file("mine", b"", mode=0o600)
        assert (directory.lstat("mine").uid, directory.lstat("mine").gid) == (7, 10)
    own = pod_of(context={"runAsUser": 3, "runAsNonRoot": True}, securityContext=context)
    assert host.pod(own).filesystem.read_bytes(ContainerPath("/proc"), "self/status").count(b"\t3")


def test_the_hosts_shared_memory(host: FakeHost) -> None:
    """With ``hostIPC`` the host's ``/dev/shm`` is seen, and else one of the pod's own."""
    host.file("/dev/shm/f")
    assert host.pod(pod_of(hostIPC=True)).has("/dev/shm/f")
    assert not host.pod(pod_of()).has("/dev/shm/f")


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (pod_of(context={"runAsNonRoot": True}), "its user is root"),
        (pod_of(securityContext={"runAsNonRoot": True, "runAsUser": 0}), "its user is root"),
        (
            pod_of(
                {"name": "v", "hostPath": {"path": "/x"}},
                mounts=mounted_at("/x", mountPropagation="Bidirectional"),
            ),
            "from privileged containers only",
        ),
        *(
            (
                pod_of(
                    {"name": "v", "hostPath": {"path": "/x"}},
                    mounts=mounted_at("/x", recursiveReadOnly="Enabled", **more),
                ),
                "with readOnly and without mountPropagation only",
            )
            for more in ({}, {"readOnly": True, "mountPropagation": "HostToContainer"})
        ),
    ],
)
def test_what_kubernetes_refuses(host: FakeHost, pod: dict[str, Any], reason: str) -> None:
    """A pod that Kubernetes does not take or start is not started."""
    with pytest.raises(InvalidSceneError, match=reason):
        host.pod(pod)


@pytest.mark.parametrize("user", ["7", True, 1.5])
def test_a_user_is_a_number(host: FakeHost, user: object) -> None:
    """A user that is no number is refused with its field."""
    with pytest.raises(InvalidManifestError, match="give it as a number"):
        host.pod(pod_of(context={"runAsUser": user}))


def test_amounts_of_what_every_node_has(host: FakeHost) -> None:
    """Limits of processors and memory bring nothing into a container."""
    pod = pod_of()
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": 1, "hugepages-2Mi": "4Mi"}}
    assert host.pod(pod).name == "plugin"
