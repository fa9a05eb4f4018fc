"""Mounts of a pod: which there are, in which order, and what has no host side."""

from __future__ import annotations

from typing import Any

import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    DriverRoot,
    HostPath,
    InvalidManifestError,
    Mount,
    MountInfoTable,
    NotMountedError,
    Verdict,
    examine,
    kubernetes,
)
from devroot.testing import TreeFileSystem
from tests._kubernetes import host_path, plugin, pod_with

ALWAYS = {
    "/dev/shm",
    "/dev/termination-log",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/var/run/secrets/kubernetes.io/serviceaccount",
}


def own(pod: dict[str, Any], container: str | None = None) -> list[str]:
    """Return the mounts that the pod itself asks for, as text."""
    return [str(one.mount) for one in kubernetes.mounts(pod, container=container) if one.location]


def to_host(pod: dict[str, Any], path: str, container: str | None = None) -> str | None:
    """Return the host path of a container path; None if it has none."""
    try:
        return str(kubernetes.mount_table(pod, container=container).to_host(ContainerPath(path)))
    except NotMountedError:
        return None


@pytest.mark.parametrize(
    ("name", "container", "path", "expected"),
    [
        ("dra-host-root", "gpus", "/driver-root/dev/nvidia0", "/dev/nvidia0"),
        ("dra-host-root", "gpus", "/dev/nvidia0", None),
        ("dra-host-root", "gpus", "/var/run/cdi/x.yaml", "/var/run/cdi/x.yaml"),
        ("dra-provided-driver", None, "/dev/nvidia-caps/nvidia-cap4323", None),
        ("dra-provided-driver", None, "/driver-root/bin", "/home/kubernetes/bin/nvidia/bin"),
        ("intel-gpu-plugin", None, "/dev/dri/renderD128", "/dev/dri/renderD128"),
        ("intel-gpu-plugin", None, "/dev/kfd", None),
        ("intel-gpu-plugin", None, "/dev", None),
        ("amd-device-plugin", None, "/dev/dri/renderD128", None),
        ("amd-device-plugin", None, "/dev/kfd", None),
        ("amd-device-plugin", None, "/sys/class/kfd", "/sys/class/kfd"),
    ],
)
def test_plugins_in_the_field(
    name: str, container: str | None, path: str, expected: str | None
) -> None:
    """A path of a published plugin maps to the host path that its volumes give it, or to none."""
    assert to_host(plugin(name), path, container) == expected


def test_a_read_only_part_of_dev() -> None:
    """The host's /dev/dri is there, and read-only: nothing can be made in it."""
    table = kubernetes.mount_table(plugin("intel-gpu-plugin"))
    mount = table.covering(ContainerPath("/dev/dri/renderD128"))
    assert mount == Mount(host="/dev/dri", container="/dev/dri", read_only=True)


def test_read_only_is_not_recursive() -> None:
    """A pod's read-only root has the host's /dev below it, writable, which mountinfo tells."""
    table = kubernetes.mount_table(plugin("dra-host-root"), container="compute-domains")
    mountinfo = (
        "800 700 0:311 / / rw,relatime - overlay overlay rw\n"
        "801 800 0:313 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
        "900 800 8:1 / /driver-root ro,relatime master:1 - ext4 /dev/sda1 rw\n"
        "905 900 0:6 / /driver-root/dev rw,nosuid master:14 - devtmpfs udev rw,mode=755\n"
    )
    view = ContainerView(
        mounts=table,
        mountinfo=MountInfoTable[ContainerPath].parse(mountinfo.encode()),
        filesystem=TreeFileSystem(["dir /driver-root/dev", "dir /driver-root/usr", "dir /dev"]),
    )
    driver_root = DriverRoot(host="/", container="/driver-root", view=view)
    dev_root = driver_root.dev_root()
    assert (dev_root.container, dev_root.host_path("nvidia0")) == (
        ContainerPath("/driver-root"),
        HostPath("/dev/nvidia0"),
    )
    reach = dev_root.require_reach("nvidia0")
    assert (reach.verdict, reach.blockers) == (Verdict.HOST, ())
    usr = examine(view, ContainerPath("/driver-root/usr"))
    assert [blocker.code.value for blocker in usr.blockers] == ["ro"]
    assert examine(view, ContainerPath("/dev")).verdict is Verdict.PRIVATE


@pytest.mark.parametrize(
    "place",
    ["spec", "", "spec template spec", "template spec", "spec jobTemplate spec template spec"],
    ids=["Pod", "PodSpec", "DaemonSet", "PodTemplate", "CronJob"],
)
def test_where_a_pod_can_be(place: str) -> None:
    """A pod is found in every object that has one."""
    mount = {"name": "dev", "mountPath": "/host-dev/dev"}
    found: dict[str, Any] = pod_with(mount, volumes=[host_path("dev", "/dev")])["spec"]
    for name in reversed(place.split()):
        found = {"metadata": {}, name: found}
    assert own(found) == ["/dev:/host-dev/dev"]


def test_volumes_of_a_stateful_set() -> None:
    """A volume that a StatefulSet claims for each pod is one without a host side."""
    pod = pod_with({"name": "data", "mountPath": "/data"})
    manifest = {
        "kind": "StatefulSet",
        "spec": {
            "template": {"spec": pod["spec"]},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        },
    }
    (found,) = (one for one in kubernetes.mounts(manifest) if one.location)
    assert (found.mount.host, found.kind) == (None, "persistentVolumeClaim")
    assert found.volume_location == ""


@pytest.mark.parametrize(
    "volume",
    [
        {"name": "v"},
        {"name": "v", "hostPath": None},
        {"name": "v", "emptyDir": {}},
        {"name": "v", "configMap": {"name": "c"}},
        {"name": "v", "secret": {"secretName": "s"}},
        {"name": "v", "projected": {"sources": []}},
        {"name": "v", "downwardAPI": {}},
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "v", "csi": {"driver": "d"}},
        {"name": "v", "ephemeral": {}},
        {"name": "v", "image": {"reference": "r"}},
        {"name": "v", "nfs": {"server": "s", "path": "/dev"}},
    ],
    ids=lambda volume: next(reversed(volume)),
)
def test_other_volumes_hide(volume: dict[str, Any]) -> None:
    """A volume of any other kind has no host path, and hides the host path above it."""
    pod = pod_with(
        {"name": "v", "mountPath": "/host/dev"},
        {"name": "host", "mountPath": "/host"},
        volumes=[volume, host_path("host", "/")],
    )
    assert to_host(pod, "/host/dev/null") is None
    assert to_host(pod, "/host/etc") == "/etc"


def test_order_is_that_of_runtimes() -> None:
    """Mounts come by the number of components, and by their order in the pod within that."""
    pod = pod_with(
        {"name": "b", "mountPath": "/x/y/z"},
        {"name": "a", "mountPath": "/z/"},
        {"name": "b", "mountPath": "/a//b"},
        {"name": "a", "mountPath": "/a"},
        volumes=[host_path("a", "/one"), host_path("b", "/two")],
    )
    assert own(pod) == ["/one:/z", "/one:/a", "/two:/a/b", "/two:/x/y/z"]


def test_the_later_one_of_two_on_a_path() -> None:
    """Of two mounts whose paths differ as text only, the later one is seen."""
    pod = pod_with(
        {"name": "a", "mountPath": "/dev"},
        {"name": "b", "mountPath": "/dev/"},
        volumes=[host_path("a", "/one"), host_path("b", "/two")],
    )
    assert to_host(pod, "/dev/null") == "/two/null"


def test_what_a_pod_says_of_a_mount() -> None:
    """What a table has no room for is kept with each mount, and where the pod says it."""
    pod = pod_with(
        {
            "name": "driver",
            "mountPath": "run",
            "subPath": "a/./b",
            "readOnly": True,
            "mountPropagation": "Bidirectional",
        },
        volumes=[host_path("other", "/"), host_path("driver", "/opt//driver", "Directory")],
    )
    (found,) = (one for one in kubernetes.mounts(pod) if one.location)
    assert found == kubernetes.PodMount(
        mount=Mount(host="/opt/driver/a/b", container="/run", read_only=True),
        volume="driver",
        kind="hostPath",
        type="Directory",
        propagation="Bidirectional",
        sub_path="a/./b",
        location="spec.containers[0].volumeMounts[0]",
        volume_location="spec.volumes[1]",
    )


def test_an_expression_is_not_known() -> None:
    """A subPathExpr follows from the environment, so that the mount has no host side."""
    pod = pod_with(
        {"name": "v", "mountPath": "/v", "subPathExpr": "$(NAME)"}, volumes=[host_path("v", "/v")]
    )
    (found,) = (one for one in kubernetes.mounts(pod) if one.location)
    assert (found.mount.host, found.sub_path) == (None, "$(NAME)")


def test_a_sub_path_of_another_volume() -> None:
    """A subPath of a volume without a host side gives it none."""
    pod = pod_with(
        {"name": "v", "mountPath": "/v", "subPath": "a"}, volumes=[{"name": "v", "emptyDir": {}}]
    )
    assert to_host(pod, "/v") is None


def test_what_is_mounted_in_every_container() -> None:
    """What the kubelet and the runtime mount hides the host's files, even in the host's root."""
    pod = pod_with(
        {"name": "dev", "mountPath": "/dev"},
        {"name": "etc", "mountPath": "/etc"},
        {"name": "var", "mountPath": "/var"},
        volumes=[host_path("dev", "/dev"), host_path("etc", "/etc"), host_path("var", "/var")],
    )
    table = kubernetes.mount_table(pod)
    assert {str(mount.container) for mount in table if mount.host is None} == ALWAYS
    assert [path for path in sorted(ALWAYS) if to_host(pod, path)] == []
    assert to_host(pod, "/dev/null") == "/dev/null"


@pytest.mark.parametrize("path", sorted(ALWAYS - {"/dev/termination-log"}))
def test_the_pods_own_mount_comes_instead(path: str) -> None:
    """Where the pod mounts something itself, nothing is added."""
    pod = pod_with({"name": "v", "mountPath": path}, volumes=[host_path("v", "/v")])
    assert to_host(pod, path) == "/v"
    table = kubernetes.mount_table(pod)
    assert [str(mount.container) for mount in table].count(path) == 1


def test_the_termination_log_comes_on_top() -> None:
    """The termination log is where the container wants it, on top of a mount of the pod."""
    pod = pod_with(
        {"name": "v", "mountPath": "/log"},
        volumes=[host_path("v", "/v")],
        container={"terminationMessagePath": "log"},
    )
    assert to_host(pod, "/log") is None
    assert to_host(pod, "/dev/termination-log") is None
    containers = {str(mount.container) for mount in kubernetes.mount_table(pod)}
    assert containers == (ALWAYS - {"/dev/termination-log"}) | {"/log"}


def test_shared_memory_of_the_host() -> None:
    """With hostIPC the runtime mounts the host's /dev/shm."""
    assert to_host(pod_with(hostIPC=True), "/dev/shm/x") == "/dev/shm/x"
    assert to_host(pod_with(hostIPC=False), "/dev/shm/x") is None


def test_no_token() -> None:
    """A pod that does without the service account's token has no mount for it."""
    without = kubernetes.mount_table(pod_with(automountServiceAccountToken=False))
    assert {str(mount.container) for mount in without} == ALWAYS - {
        "/var/run/secrets/kubernetes.io/serviceaccount"
    }


def test_init_and_ephemeral_containers() -> None:
    """Init and ephemeral containers have mounts of their own; only the latter get no token."""
    mount = {"name": "dev", "mountPath": "/d/dev"}
    pod = pod_with(
        volumes=[host_path("dev", "/dev")],
        initContainers=[{"name": "first", "volumeMounts": [mount]}],
        ephemeralContainers=[{"name": "debug", "volumeMounts": [mount]}],
    )
    assert (own(pod), own(pod, "plugin")) == ([], [])
    for name in ("first", "debug"):
        assert own(pod, name) == ["/dev:/d/dev"]
    token = ContainerPath("/var/run/secrets/kubernetes.io/serviceaccount")
    for name, there in (("first", True), ("debug", False)):
        table = kubernetes.mount_table(pod, container=name)
        assert (table.covering(token) is not None) is there


def volume_pod(**volume: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a volume
    """Return a pod that mounts a volume of these fields."""
    return pod_with({"name": "v", "mountPath": "/v"}, volumes=[{"name": "v", **volume}])


def mount_pod(**mount: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a mount
    """Return a pod that mounts a host path with these fields."""
    return pod_with({"name": "v", "mountPath": "/v", **mount}, volumes=[host_path("v", "/v")])


REFUSED: list[tuple[Any, str, str]] = [
    ({}, "", "it has no containers; give a Pod"),
    ({"spec": "x"}, "", "it has no containers"),
    ({"spec": {"template": None}}, "", "it has no containers"),
    ("x", "", "give it as a dictionary, not as str"),
    ({"spec": {"containers": {}}}, "spec.containers", "give it as a list, not as dict"),
    ({"spec": {"containers": "ab"}}, "spec.containers", "give it as a list, not as str"),
    ({"spec": {"containers": 7}}, "spec.containers", "give it as a list, not as int"),
    ({"spec": {"containers": []}}, "spec.containers", "say which container is meant: none"),
    ({"spec": {"containers": [{}, {}]}}, "spec.containers[0].name", "it is needed"),
    (
        {"spec": {"containers": [{"name": "a"}], "volumes": [{"name": 1}]}},
        "spec.volumes[0].name",
        "give it as a string, not as int",
    ),
    (volume_pod(hostPath="/x"), "spec.volumes[0].hostPath", "give it as a dictionary"),
    (volume_pod(hostPath={}), "spec.volumes[0].hostPath.path", "it is needed"),
    (volume_pod(hostPath={"path": "x"}), "spec.volumes[0].hostPath.path", "it is relative"),
    (volume_pod(hostPath={"path": "/a/.."}), "spec.volumes[0].hostPath.path", "holds '..'"),
    (
        volume_pod(hostPath={"path": "/a", "type": "Dir"}),
        "spec.volumes[0].hostPath.type",
        "it can be BlockDevice, CharDevice, Directory,",
    ),
    (
        volume_pod(hostPath={"path": "/a"}, emptyDir={}),
        "spec.volumes[0]",
        "a volume is of one kind, and this one is hostPath and emptyDir",
    ),
    (mount_pod(name="w"), "spec.containers[0].volumeMounts[0].name", "no such volume; there"),
    (mount_pod(mountPath=""), "spec.containers[0].volumeMounts[0].mountPath", "is needed"),
    (mount_pod(mountPath="/a/../b"), "spec.containers[0].volumeMounts[0].mountPath", "'..'"),
    (mount_pod(mountPath="/\0"), "spec.containers[0].volumeMounts[0].mountPath", "NUL"),
    (mount_pod(subPath="/a"), "spec.containers[0].volumeMounts[0].subPath", "relative path"),
    (mount_pod(subPath="../a"), "spec.containers[0].volumeMounts[0].subPath", "holds '..'"),
    (
        mount_pod(subPath="a", subPathExpr="b"),
        "spec.containers[0].volumeMounts[0].subPathExpr",
        "give this or subPath, not both",
    ),
    (
        mount_pod(readOnly="yes"),
        "spec.containers[0].volumeMounts[0].readOnly",
        "give it as true or false, not as str",
    ),
    (
        mount_pod(mountPropagation="rslave"),
        "spec.containers[0].volumeMounts[0].mountPropagation",
        "it can be Bidirectional, HostToContainer, None",
    ),
]


@pytest.mark.parametrize(("pod", "location", "reason"), REFUSED)
def test_what_is_refused(pod: Any, location: str, reason: str) -> None:  # noqa: ANN401 - also wrong ones
    """What Kubernetes would refuse is an error that names the field and says what would do."""
    with pytest.raises(InvalidManifestError) as caught:
        kubernetes.mount_table(pod)
    assert caught.value.location == location
    assert reason in caught.value.reason


def test_which_container() -> None:
    """Of several containers one must be chosen, and there must be one of that name."""
    pod = pod_with(initContainers=[{"name": "first"}])
    pod["spec"]["containers"].append({"name": "sidecar"})
    with pytest.raises(InvalidManifestError, match="is meant: first, plugin, sidecar"):
        kubernetes.mounts(pod)
    with pytest.raises(InvalidManifestError, match="no 'other'; there are first, plugin, sidecar"):
        kubernetes.mounts(pod, container="other")
