"""Checks of a pod: each problem where it is, and none where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from devroot import HostDevFallback, HostPath, InvalidPathError, Mount, SubsetFallback, kubernetes
from devroot.kubernetes import ProblemCode
from tests._kubernetes import host_path, plugin, pod_with, validate

MOUNTS = "spec.containers[0].volumeMounts"
SECURITY = "spec.containers[0].securityContext"
MKNOD = {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["MKNOD"]}}}
CAPS = SubsetFallback("/host-dev", ["nvidia-caps"])
DRIVER = Mount(host="/run/nvidia/driver", container="/driver-root", read_only=True)


def right(*mounts: dict[str, Any], volumes: Any = None, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a pod
    """Return a pod without a problem, but for what is given."""
    fields: dict[str, Any] = {"container": MKNOD, "hostPID": True, **spec}
    pod = pod_with(*mounts, volumes=volumes, **fields)
    return kubernetes.add_volumes(pod, CAPS)


def found(pod: dict[str, Any], **options: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - those of check
    """Return the code and the path of each problem."""
    return [(one.code.value, one.path) for one in kubernetes.check(pod, **options)]


def test_no_problem() -> None:
    """A pod with the volumes that the library gives, the capability and hostPID has no problem."""
    driver = {"/run/nvidia/driver": "DirectoryOrCreate"}
    pod = kubernetes.add_volumes(right(), DRIVER, types=driver)
    validate(pod)
    assert kubernetes.check(pod) == ()
    assert kubernetes.check(pod, driver_root="/run/nvidia/driver") == ()


@pytest.mark.parametrize(
    ("name", "container", "expected"),
    [
        ("dra-host-root", "gpus", []),
        ("dra-host-root", "compute-domains", []),
        ("dra-provided-driver", None, ["private-dev", "host-mountinfo"]),
        ("intel-gpu-plugin", None, ["read-only", "host-mountinfo", "cap-mknod"]),
        ("amd-device-plugin", None, ["private-dev", "host-mountinfo", "cap-mknod"]),
    ],
)
def test_plugins_in_the_field(name: str, container: str | None, expected: list[str]) -> None:
    """What keeps a published plugin from making nodes for its host is told."""
    problems = kubernetes.check(plugin(name), container=container)
    assert [problem.code.value for problem in problems] == expected
    assert all(problem.path.startswith("spec.template.spec.") for problem in problems)


def test_a_problem_as_text() -> None:
    """A problem reads as the field, what to change, and the code."""
    (problem,) = kubernetes.check(right(hostPID=False))
    assert problem.code is ProblemCode.HOST_MOUNTINFO
    assert str(problem).startswith("spec.hostPID: the host's mount table is not granted, so that")
    assert str(problem).endswith(" [host-mountinfo]")


@pytest.mark.parametrize(
    ("host", "at", "driver_root", "expected"),
    [
        ("/run/nvidia/driver", "/driver-root", None, ["propagation"]),
        ("/run/nvidia/driver", "/driver", None, []),
        ("/run/nvidia/driver", "/driver", "/run/nvidia/driver", ["propagation"]),
        ("/run/nvidia", "/nvidia", "/run/nvidia/driver", ["propagation"]),
        ("/", "/driver-root", None, []),
        ("/", "/driver-root", "/", []),
        ("/", "/host", "/run/nvidia/driver", ["propagation"]),
        ("/run/other", "/driver-root", "/run/nvidia/driver", ["driver-root-missing"]),
    ],
)
def test_propagation(host: str, at: str, driver_root: str | None, expected: list[str]) -> None:
    """A driver root other than the host's root needs to see what is mounted on it later."""
    for propagation in (None, "None", "HostToContainer", "Bidirectional"):
        pod = right(
            {"name": "d", "mountPath": at, "mountPropagation": propagation},
            volumes=[host_path("d", host)],
        )
        late = propagation in {"HostToContainer", "Bidirectional"}
        codes = [code for code, _ in found(pod, driver_root=driver_root)]
        assert codes == [code for code in expected if code != "propagation" or not late]


def test_where_the_propagation_is_missing() -> None:
    """The field is named, and a host path is as good as a text."""
    pod = right({"name": "d", "mountPath": "/d"}, volumes=[host_path("d", "/opt/driver")])
    assert found(pod, driver_root=HostPath("/opt/driver")) == [
        ("propagation", f"{MOUNTS}[0].mountPropagation")
    ]
    assert found(pod, driver_root="/opt/other") == [("driver-root-missing", MOUNTS)]
    with pytest.raises(InvalidPathError):
        kubernetes.check(pod, driver_root="opt")


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("/dev", [("host-dev-over-dev", f"{MOUNTS}[0].mountPath")]),
        ("/dev/", [("host-dev-over-dev", f"{MOUNTS}[0].mountPath")]),
        ("/host-dev", [("dev-name", f"{MOUNTS}[0].mountPath")]),
        ("/p/dev", []),
    ],
)
def test_where_the_hosts_dev_is(at: str, expected: list[tuple[str, str]]) -> None:
    """The host's /dev belongs aside, at a directory called dev."""
    pod = right({"name": "d", "mountPath": at}, volumes=[host_path("d", "/dev", "Directory")])
    assert found(pod) == expected


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("/dev", "Directory", None),
        ("/dev", "", None),
        ("/dev/nvidia-caps", "Directory", "fresh-node"),
        ("/dev/nvidia-caps", "DirectoryOrCreate", None),
        ("/dev/nvidia-caps", "", None),
        ("/dev/dri", "", None),
        ("/dev/kfd", "", "unchecked-type"),
        ("/dev/kfd", "CharDevice", "fresh-node"),
        ("/dev/kfd", "BlockDevice", "fresh-node"),
        ("/dev/kfd", "File", "fresh-node"),
        ("/dev/log", "Socket", "fresh-node"),
        ("/dev/kfd", "FileOrCreate", "wrong-type"),
        ("/dev/nvidia-caps/nvidia-cap1", "", "unchecked-type"),
        ("/var/run/cdi", "Directory", "fresh-node"),
        ("/run/cdi", "Directory", "fresh-node"),
        ("/run/containerd/containerd.sock", "Socket", None),
        ("/run", "Directory", None),
        ("/etc/cdi", "Directory", None),
        ("/devices", "Directory", None),
    ],
)
def test_types_on_a_fresh_node(path: str, kind: str, expected: str | None) -> None:
    """A type that fails, or makes the wrong thing, where nothing is yet is told."""
    pod = right({"name": "d", "mountPath": "/p/dev"}, volumes=[host_path("d", path, kind)])
    assert found(pod) == ([(expected, "spec.volumes[0].hostPath.type")] if expected else [])


@pytest.mark.parametrize(("path", "late"), [("/opt/driver", True), ("/", False)])
def test_a_driver_root_that_is_not_there_yet(path: str, *, late: bool) -> None:
    """A driver root can be installed after the pod has started; the host's root cannot."""
    mount = {"name": "d", "mountPath": "/driver-root", "mountPropagation": "HostToContainer"}
    pod = right(mount, volumes=[host_path("d", path, "Directory")])
    assert found(pod) == ([("fresh-node", "spec.volumes[0].hostPath.type")] if late else [])
    assert found(pod, driver_root=path) == found(pod)


@pytest.mark.parametrize(
    ("path", "sub_path", "expected"),
    [
        ("/dev", {"subPath": "kfd"}, "subPath"),
        ("/", {"subPath": "dev/nvidia-caps"}, "subPath"),
        ("/", {"subPath": "etc"}, None),
        ("/opt", {"subPathExpr": "$(NAME)"}, "subPathExpr"),
    ],
)
def test_sub_paths(path: str, sub_path: dict[str, str], expected: str | None) -> None:
    """A part of /dev is mounted as a volume of its own, and not as a subPath of another."""
    pod = right({"name": "d", "mountPath": "/p/x", **sub_path}, volumes=[host_path("d", path)])
    assert found(pod) == ([("sub-path", f"{MOUNTS}[0].{expected}")] if expected else [])


def test_a_read_only_part_of_dev() -> None:
    """Nothing can be made in a part of /dev that is read-only; elsewhere that is right."""
    pod = right(
        {"name": "d", "mountPath": "/p/dev", "readOnly": True},
        {"name": "e", "mountPath": "/e", "readOnly": True},
        volumes=[host_path("d", "/dev"), host_path("e", "/etc")],
    )
    assert found(pod) == [("read-only", f"{MOUNTS}[0].readOnly")]


@pytest.mark.parametrize("privileged", [True, False])
def test_no_part_of_dev(*, privileged: bool) -> None:
    """Without any part of the host's /dev nodes go to the container's own, also if privileged."""
    context = {"securityContext": {"privileged": privileged, "capabilities": {"add": ["MKNOD"]}}}
    (problem,) = kubernetes.check(pod_with(container=context, hostPID=True))
    assert (problem.code, problem.path) == (ProblemCode.PRIVATE_DEV, MOUNTS)
    assert ("copies of the host's nodes" in problem.text) is privileged


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({}, "which containerd gives"),
        ({"capabilities": {"drop": ["NET_RAW"]}}, "which containerd gives"),
        ({"capabilities": {"drop": ["ALL"]}}, "is dropped"),
        ({"capabilities": {"drop": ["mknod"], "add": ["SYS_ADMIN"]}}, "is dropped"),
        ({"capabilities": {"drop": ["ALL"], "add": ["CAP_MKNOD"]}}, None),
        ({"capabilities": {"add": ["ALL"]}}, None),
        ({"privileged": True}, None),
    ],
)
def test_the_capability(context: dict[str, Any], expected: str | None) -> None:
    """CAP_MKNOD is asked for, or comes with privileged; what a runtime gives is not relied on."""
    problems = kubernetes.check(right(container={"securityContext": context}))
    assert [(problem.code, problem.path) for problem in problems] == (
        [(ProblemCode.CAP_MKNOD, f"{SECURITY}.capabilities.add")] if expected else []
    )
    assert all(str(expected) in problem.text for problem in problems)


@pytest.mark.parametrize(
    ("own", "pods", "expected"),
    [
        ({"runAsUser": 1000}, {}, f"{SECURITY}.runAsUser"),
        ({"runAsUser": 0}, {"runAsUser": 1000, "runAsNonRoot": True}, None),
        ({}, {"runAsUser": 1000}, "spec.securityContext.runAsUser"),
        ({}, {"runAsNonRoot": True}, "spec.securityContext.runAsNonRoot"),
        ({"runAsNonRoot": False}, {"runAsNonRoot": True}, None),
    ],
)
def test_the_user(own: dict[str, Any], pods: dict[str, Any], expected: str | None) -> None:
    """A process that is not root has no effective capabilities; the container's word counts."""
    context = {"securityContext": {"privileged": True, **own}}
    pod = right(container=context, securityContext=pods)
    assert found(pod) == ([("not-root", expected)] if expected else [])


def test_a_user_namespace() -> None:
    """In a user namespace of its own a pod cannot make devices at all."""
    assert found(right(hostUsers=False)) == [("host-users", "spec.hostUsers")]
    assert found(right(hostUsers=True)) == []


@pytest.mark.parametrize(("path", "granted"), [("/proc", True), ("/", True), ("/proc/1", False)])
def test_the_hosts_mount_table(path: str, *, granted: bool) -> None:
    """Without hostPID the host's /proc can be mounted, by itself or with the host's root."""
    mount = {"name": "p", "mountPath": "/host-proc"}
    pod = right(mount, volumes=[host_path("p", path)], hostPID=None)
    assert found(pod) == ([] if granted else [("host-mountinfo", "spec.hostPID")])
    spec_alone = pod["spec"]
    assert found(spec_alone) == ([] if granted else [("host-mountinfo", "hostPID")])


def test_other_volumes_are_no_problem() -> None:
    """Volumes without a host path do not matter."""
    pod = right(
        {"name": "e", "mountPath": "/dev/x", "readOnly": True, "subPath": "dev"},
        volumes=[{"name": "e", "emptyDir": {}}],
    )
    assert found(pod) == []


def test_host_dev_over_dev_from_the_fallback() -> None:
    """The fallback that covers the container's own /dev has the price that the check tells."""
    pod = kubernetes.add_volumes(right(), HostDevFallback("/"))
    assert [code for code, _ in found(pod)] == ["host-dev-over-dev"]
