"""The words of a verdict: what was found, and each reason for it."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, final

import attrs

if TYPE_CHECKING:
    from devroot._mountinfo import MountInfo
    from devroot._paths import ContainerPath, HostPath


@final
class Verdict(enum.Enum):
    """Whether a change at a container path is seen on the host.

    .. versionadded:: 0.1.0
    """

    HOST = "host"
    """Proved: the change is seen on the host, at the host path."""

    DECLARED = "declared"
    """A mount was declared, a mount is there, nothing speaks against it, nothing proves it."""

    UNKNOWN = "unknown"
    """Nothing decides."""

    PRIVATE = "private"
    """The change stays in the container, or lands where the host does not see it."""

    STALE = "stale"
    """The mounted directory was deleted on the host: creation fails with ``ENOENT``."""


ACCEPTED: Final = frozenset({Verdict.HOST, Verdict.DECLARED})
"""The verdicts that are good enough to give a host path to somebody else."""

BEST_FIRST: Final = (
    Verdict.HOST,
    Verdict.DECLARED,
    Verdict.UNKNOWN,
    Verdict.PRIVATE,
    Verdict.STALE,
)


@final
class EvidenceCode(enum.Enum):
    """The stable name of a reason; its sentence may change, the code does not.

    .. versionadded:: 0.1.0
    """

    COVERED = "covered"
    """Which mount serves the path."""
    NO_MOUNT = "no-mount"
    """Decides `Verdict.UNKNOWN`: the process's table lists no mount that serves the path."""
    DECLARED_AS = "declared-as"
    """Which declared mount covers the path, and the host path that it gives."""
    NO_HOST_SIDE = "no-host-side"
    """The declared mount that covers the path is not from a known host path."""
    NOT_THERE = "not-there"
    """A mount was declared for the path, but nothing is mounted there."""
    NOT_DECLARED = "not-declared"
    """The mounts were given, and none of them covers the path."""
    MOUNTS_NOT_GIVEN = "mounts-not-given"
    """Nobody said which mounts were asked for."""

    DELETED_ROOT = "deleted-root"
    """Decides `Verdict.STALE`: the kernel marks the mounted directory as deleted."""
    NO_LINKS = "no-links"
    """Decides `Verdict.STALE`: the directory's link count is 0."""
    OWN_ROOT = "own-root"
    """Decides `Verdict.PRIVATE`: the container's own root serves the path."""
    DANGLING_LINK = "dangling-link"
    """Decides `Verdict.UNKNOWN`: a link on the way to the place leads nowhere in this view."""
    JOINED = "joined"
    """Decides `Verdict.HOST`: the host's table shows the same place at this host path."""
    ALIAS = "alias"
    """The host knows the place under another name than the declared one."""
    NOT_ON_HOST = "not-on-host"
    """Decides `Verdict.PRIVATE`: no path of the host leads to the place."""
    OUTSIDE = "outside"
    """A root lies outside what this process may see, so it cannot be joined; decides nothing."""
    OTHER_OPTIONS = "other-options"
    """Decides `Verdict.UNKNOWN`: the number is the same, the file system is not."""
    OWN_KERNEL = "own-kernel"
    """Decides `Verdict.UNKNOWN`: the container has a kernel of its own."""
    BELOW_HOST_DEV = "below-host-dev"
    """Decides `Verdict.PRIVATE`: the directory that the host hides below its ``/dev``."""
    HOST_MOUNT = "host-mount"
    """Decides `Verdict.UNKNOWN`: the host has a mount of its own there, such as ``/dev/shm``."""
    DEVTMPFS = "devtmpfs"
    """Decides `Verdict.HOST`: devtmpfs has one instance, declared at the same place."""
    DEVTMPFS_ELSEWHERE = "devtmpfs-elsewhere"
    """Decides `Verdict.UNKNOWN`: devtmpfs, but not at the place that was declared."""
    RUNTIME_DEV = "runtime-dev"
    """Decides `Verdict.PRIVATE`: the tmpfs that a runtime makes at ``/dev``."""
    TMPFS_AT_DEV = "tmpfs-at-dev"
    """Decides `Verdict.UNKNOWN`: a tmpfs at ``/dev``, the runtime's or the host's."""
    CORROBORATED = "corroborated"
    """Decides `Verdict.DECLARED`: another mount of the same host path shows the same place."""
    RUNTIME_MOUNT = "runtime-mount"
    """Decides `Verdict.UNKNOWN`: a mount that was not declared, where runtimes mount their own."""
    DECLARED = "declared"
    """Decides `Verdict.DECLARED`: the declared mount is there."""
    SUBMOUNT = "submount"
    """Decides `Verdict.DECLARED`: a mount that came along below a declared one."""
    UNDECIDED = "undecided"
    """Decides `Verdict.UNKNOWN`: nothing else does."""

    READ_ONLY = "ro"
    """A blocker: the mount is read-only, so nothing can be made."""
    NODEV = "nodev"
    """A blocker: device nodes on this mount cannot be opened."""
    USER_NAMESPACE = "user-namespace"
    """A blocker: not the initial user namespace, so mknod(2) of a device fails."""
    NO_CAP_MKNOD = "no-cap-mknod"
    """A blocker: CAP_MKNOD is not in the effective set."""


@final
@attrs.frozen
class Evidence:
    """One reason.

    Attributes:
        code: its stable name.
        text: a sentence that names the paths and mounts.

    .. versionadded:: 0.1.0
    """

    code: EvidenceCode
    text: str

    def __str__(self) -> str:
        return f"[{self.code.value}] {self.text}"


@final
@attrs.frozen(kw_only=True)
class Reach:
    """Whether a change at a container path is seen on the host, and why that is known.

    Attributes:
        container_path: the path that was asked for.
        verdict: the answer.
        host_path: where the host sees it. With `Verdict.HOST` it is proved, with
            `Verdict.DECLARED` and `Verdict.UNKNOWN` it is what was declared; None if nobody
            knows, or the host does not see it.
        host_paths: all host paths that are known, `host_path` first.
        evidence: the reasons in the order in which they were weighed; the last one decided.
        blockers: what stands in the way of making or using a node, whatever the verdict.
        mount: the mount that serves the path.
        parts: for a subset of ``/dev``, the reach of each of its names.

    .. versionadded:: 0.1.0
    """

    container_path: ContainerPath
    verdict: Verdict
    host_path: HostPath | None = None
    host_paths: tuple[HostPath, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    blockers: tuple[Evidence, ...] = ()
    mount: MountInfo[ContainerPath] | None = None
    parts: tuple[Reach, ...] = ()

    def __str__(self) -> str:
        where = f" at host path {self.host_path}" if self.host_path is not None else ""
        return f"{self.container_path}: {self.verdict.name}{where}"
