"""What in a pod would stop a container from making device nodes for its host."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from devroot._paths import ContainerPath, HostPath, as_host_path
from devroot._reach import HOST_DEV
from devroot.kubernetes._host_paths import (
    HOST_PROC,
    HOST_ROOT,
    is_below_dev,
    is_below_run,
    is_known_directory,
)
from devroot.kubernetes._pod import Container, find_container
from devroot.kubernetes._table import HOST_PATH, NO_PROPAGATION, PodMount, mounts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devroot._manifest import Field

_CONTAINER_DEV: Final = ContainerPath("/dev")
_DRIVER_ROOT: Final = "driver-root"
_SINGLE_FILES: Final = frozenset({"BlockDevice", "CharDevice", "File", "Socket"})
_MKNOD: Final = frozenset({"ALL", "MKNOD"})


class ProblemCode(enum.Enum):
    """What kind of problem it is.

    .. versionadded:: 0.1.0
    """

    DRIVER_ROOT_MISSING = "driver-root-missing"
    """No volume shows the driver root."""
    PROPAGATION = "propagation"
    """What a driver container mounts later at the driver root is not seen in this container."""
    HOST_DEV_OVER_DEV = "host-dev-over-dev"
    """The host's ``/dev`` is mounted over the container's own."""
    DEV_NAME = "dev-name"
    """The host's ``/dev`` is mounted at a directory that is not called ``dev``."""
    PRIVATE_DEV = "private-dev"
    """No volume shows the host's ``/dev`` or a part of it."""
    READ_ONLY = "read-only"
    """A part of the host's ``/dev`` is mounted read-only."""
    FRESH_NODE = "fresh-node"
    """The pod does not start on a node where something does not exist yet."""
    UNCHECKED_TYPE = "unchecked-type"
    """On a node where a name in ``/dev`` does not exist, the runtime makes a directory of it."""
    WRONG_TYPE = "wrong-type"
    """On a node where a device does not exist, a regular file is made in its place."""
    SUB_PATH = "sub-path"
    """A part of the host's ``/dev`` is mounted through a ``subPath``."""
    HOST_USERS = "host-users"
    """The pod has a user namespace of its own, where mknod(2) of a device fails."""
    CAP_MKNOD = "cap-mknod"
    """The container does not ask for ``CAP_MKNOD``, or drops it."""
    NOT_ROOT = "not-root"
    """The process is not root, and so has no effective capabilities; see capabilities(7)."""
    HOST_MOUNTINFO = "host-mountinfo"
    """The host's mount table cannot be granted, so that no verdict is a proof."""


@final
@attrs.frozen(kw_only=True)
class Problem:
    """Something in a pod that stands in the way.

    Attributes:
        code: what kind of problem it is.
        path: the field that is to be changed, such as
            ``spec.containers[0].volumeMounts[1].mountPropagation``.
        text: what is wrong, and what would be right.

    .. versionadded:: 0.1.0
    """

    code: ProblemCode
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text} [{self.code.value}]"


def check(
    pod: Mapping[str, Any],
    *,
    container: str | None = None,
    driver_root: str | HostPath | None = None,
) -> tuple[Problem, ...]:
    """Return what would stop a container of this pod from making device nodes for its host.

    It goes by the pod alone: nothing is looked at, and a running container is asked with
    `devroot.examine` instead. A plugin that makes no nodes can live with most of what is found.

    Args:
        pod: as for `mounts`.
        container: as for `mounts`.
        driver_root: where the driver is on the host. None stands for what is mounted at a
            container path whose last name is ``driver-root``, if anything is.

    Returns:
        The problems: those of the mounts in the order of the mounts, then those of the pod.

    Raises:
        InvalidManifestError: as from `mounts`.
        InvalidPathError: *driver_root* is not possible.

    .. versionadded:: 0.1.0
    """
    found = find_container(pod, container)
    mounts = [one for one in mounts_of(found) if one.kind == HOST_PATH]
    given = None if driver_root is None else as_host_path(driver_root)
    problems: list[Problem] = []
    for one in mounts:
        problems += _of_driver_root(one, given)
        problems += _of_dev(one)
        problems += _of_type(one, given)
    problems += _of_what_is_missing(found, mounts, given)
    problems += _of_privileges(found)
    return tuple(problems)


def _of_driver_root(one: PodMount, driver_root: HostPath | None) -> Iterator[Problem]:
    """Yield that later mounts at the driver root are not seen; the host's root is never later."""
    if one.propagation != NO_PROPAGATION or one.mount.host is None:
        return
    wanted = _driver_root_of(one) if driver_root is None else driver_root
    if wanted is None or wanted == HOST_ROOT or not wanted.is_relative_to(one.mount.host):
        return
    yield Problem(
        code=ProblemCode.PROPAGATION,
        path=f"{one.location}.mountPropagation",
        text=(
            f"what is mounted on the host at {wanted} after this pod has started, as a driver"
            " container does, is not seen here; write HostToContainer"
        ),
    )


def _driver_root_of(one: PodMount) -> HostPath | None:
    return one.mount.host if one.mount.container.name == _DRIVER_ROOT else None


def _of_dev(one: PodMount) -> Iterator[Problem]:
    """Yield what is wrong with a mount of the host's ``/dev`` or of a part of it."""
    host, at = one.mount.host, one.mount.container
    if host is None:
        yield Problem(
            code=ProblemCode.SUB_PATH,
            path=f"{one.location}.subPathExpr",
            text=(
                f"which host path is at {at} depends on the environment, so that no host path"
                " follows from it; mount each path as a volume of its own"
            ),
        )
        return
    if not host.is_relative_to(HOST_DEV):
        return
    if host == HOST_DEV and at == _CONTAINER_DEV:
        yield Problem(
            code=ProblemCode.HOST_DEV_OVER_DEV,
            path=f"{one.location}.mountPath",
            text=(
                "the host's /dev over the container's own lets every library in the container"
                " make its nodes on the host, and CRI-O refuses privileged containers then;"
                " mount it aside, such as at /host-dev/dev"
            ),
        )
    elif host == HOST_DEV and at.name != "dev":
        yield Problem(
            code=ProblemCode.DEV_NAME,
            path=f"{one.location}.mountPath",
            text=(
                "a dev root holds its nodes in a directory called dev, which"
                f" {at} is not; mount it at {at / 'dev'}"
            ),
        )
    if one.mount.read_only:
        yield Problem(
            code=ProblemCode.READ_ONLY,
            path=f"{one.location}.readOnly",
            text=f"no node can be made at {at}; leave it out, or write false",
        )
    if one.sub_path:
        yield Problem(
            code=ProblemCode.SUB_PATH,
            path=f"{one.location}.subPath",
            text=(
                f"the kubelet makes a directory of {host} where it does not exist, and binds it"
                " without what is mounted below; mount it as a volume of its own"
            ),
        )


def _of_type(one: PodMount, driver_root: HostPath | None) -> Iterator[Problem]:
    """Yield what happens on a node where the host path of the volume does not exist."""
    host = one.mount.host
    if host is None or one.sub_path:
        return
    wanted = _driver_root_of(one) if driver_root is None else driver_root
    in_dev = is_below_dev(host)
    comes_late = in_dev or is_below_run(host) or host == wanted != HOST_ROOT
    path = f"{one.volume_location}.hostPath.type"
    waits = f"the pod does not start while {host} does not exist on the host"
    if comes_late and one.type == "Directory":
        text = f"{waits}; write DirectoryOrCreate"
        yield Problem(code=ProblemCode.FRESH_NODE, path=path, text=text)
    elif in_dev and one.type in _SINGLE_FILES:
        text = f"{waits}; mount the directory that it is in aside"
        yield Problem(code=ProblemCode.FRESH_NODE, path=path, text=text)
    elif in_dev and one.type == "FileOrCreate":
        text = (
            f"a regular file is made where {host} does not exist; mount the directory that it is"
            " in aside"
        )
        yield Problem(code=ProblemCode.WRONG_TYPE, path=path, text=text)
    elif in_dev and not one.type and not is_known_directory(host):
        text = (
            f"containerd makes a directory of {host} where it does not exist; if it is one, write"
            " DirectoryOrCreate, else mount the directory that it is in aside"
        )
        yield Problem(code=ProblemCode.UNCHECKED_TYPE, path=path, text=text)


def _of_what_is_missing(
    container: Container, mounts: list[PodMount], driver_root: HostPath | None
) -> Iterator[Problem]:
    path = f"{container.field.location}.volumeMounts"
    hosts = [one.mount.host for one in mounts if one.mount.host is not None]
    if driver_root is not None and not any(map(driver_root.is_relative_to, hosts)):
        yield Problem(
            code=ProblemCode.DRIVER_ROOT_MISSING,
            path=path,
            text=f"no volume shows the driver root {driver_root}",
        )
    if not any(host == HOST_ROOT or host.is_relative_to(HOST_DEV) for host in hosts):
        privileged = container.field["securityContext"]["privileged"].flag()
        yield Problem(
            code=ProblemCode.PRIVATE_DEV,
            path=path,
            text=(
                "no volume shows the host's /dev: unless the driver root has a dev directory,"
                " nodes are made in the container's own /dev, where the host does not see them"
                + (" (privileged fills it with copies of the host's nodes)" if privileged else "")
            ),
        )
    if not (container.pod["hostPID"].flag() or HOST_ROOT in hosts or HOST_PROC in hosts):
        yield Problem(
            code=ProblemCode.HOST_MOUNTINFO,
            path=container.pod["hostPID"].location,
            text=(
                "the host's mount table is not granted, so that no verdict is a proof; write"
                " true for /proc/1/mountinfo, or mount the host's /proc aside"
            ),
        )


def _of_privileges(container: Container) -> Iterator[Problem]:
    pod, own = container.pod, container.field["securityContext"]
    if pod["hostUsers"].flag() is False:
        yield Problem(
            code=ProblemCode.HOST_USERS,
            path=pod["hostUsers"].location,
            text=(
                "mknod(2) of a device fails in a user namespace of the pod, whatever the"
                " capabilities; leave it out, or write true"
            ),
        )
    user = _of_both(container, "runAsUser")
    if user.value is None:
        user = _of_both(container, "runAsNonRoot")
    if user.value:
        yield Problem(
            code=ProblemCode.NOT_ROOT,
            path=user.location,
            text=(
                "a process that is not root has no effective capabilities, and mknod(2) of a"
                " device needs CAP_MKNOD; write runAsUser: 0"
            ),
        )
    added = _capabilities(own["capabilities"]["add"])
    if own["privileged"].flag() or added & _MKNOD:
        return
    dropped = _capabilities(own["capabilities"]["drop"]) & _MKNOD
    yield Problem(
        code=ProblemCode.CAP_MKNOD,
        path=f"{own.location}.capabilities.add",
        text=(
            "CAP_MKNOD is dropped, which mknod(2) of a device needs; add MKNOD"
            if dropped
            else "mknod(2) of a device needs CAP_MKNOD, which containerd gives to every container"
            " and CRI-O does not; add MKNOD"
        ),
    )


def _of_both(container: Container, name: str) -> Field:
    """Return a field of the container's security context, or else of the pod's."""
    own = container.field["securityContext"][name]
    return container.pod["securityContext"][name] if own.value is None else own


def _capabilities(field: Field) -> frozenset[str]:
    return frozenset(name.text().upper().removeprefix("CAP_") for name in field.items())
