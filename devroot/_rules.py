"""The rules by which a verdict is reached, in their order; the first one that holds decides.

A rule is a function of a `Case` that returns a finding; or, to pass the case on, None or what it
weighed. No rule guesses: where two different set-ups look the same from inside, the answer is
`Verdict.UNKNOWN`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot._evidence import Evidence, EvidenceCode, Verdict
from devroot._paths import ContainerPath, HostPath
from devroot._view import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._mountinfo import MountInfo
    from devroot._mounts import Mount, MountTable
    from devroot._view import ContainerView

HOST_ROOT: Final = HostPath("/")
HOST_DEV: Final = HostPath("/dev")
# Mounts of their own below the host's /dev, which a bind of devtmpfs alone does not show:
# systemd's mount_table and file-hierarchy(7).
_MOUNTS_IN_HOST_DEV: Final = tuple(
    HOST_DEV / name for name in ("pts", "shm", "mqueue", "hugepages")
)
# Where a runtime or the kubelet mounts what is the container's own, on top of what was asked for:
# the default file systems of the OCI runtime specification, and the files of a pod.
_MOUNTED_BY_RUNTIMES: Final = tuple(
    map(
        ContainerPath,
        (
            "/dev/console",
            "/dev/mqueue",
            "/dev/pts",
            "/dev/shm",  # noqa: S108 - it is only compared with
            "/dev/termination-log",
            "/etc/hostname",
            "/etc/hosts",
            "/etc/resolv.conf",
            "/proc",
            "/run/.containerenv",
            "/run/secrets",
            "/sys",
        ),
    )
)
_OWN_KERNEL_ROOTS: Final = ("virtiofs", "9p")
_KATA_SOURCE: Final = "kataShared"


@attrs.frozen(kw_only=True)
class Case:
    """One question with all that the rules look at.

    Attributes:
        view: the view it is asked in.
        place: the path with the links on its existing part followed.
        mount: the mount that serves the place.
        within: the place as a path in the mounted file system.
        declared: the declared mount that covers the place and is really there, if any.
        table: the declared mounts, at the places where they are; None if nobody said.
        over: a link on the way to the place that leads nowhere in this view, if there is one.
    """

    view: ContainerView
    place: ContainerPath
    mount: MountInfo[ContainerPath]
    within: str
    declared: Mount | None
    table: MountTable | None
    over: ContainerPath | None = None

    @property
    def claimed(self) -> HostPath | None:
        """The host path that the declared mounts give for the place."""
        return self.claim(self.place)

    def claim(self, path: ContainerPath) -> HostPath | None:
        """Return the host path that the declared mounts give for *path*, the place or above it."""
        if self.table is None or self.declared is None or self.declared.host is None:
            return None
        return self.table.to_host(path)

    @property
    def is_as_declared(self) -> bool:
        """Whether the mount that serves the place is the declared one, and none below it."""
        return self.declared is not None and self.mount.mount_point == self.declared.container

    @property
    def is_own_root(self) -> bool:
        """Whether the process's root mount serves the place."""
        root = self.view.mountinfo.covering(ROOT)
        return root is not None and root.mount_id == self.mount.mount_id


@attrs.frozen
class Finding:
    """What a rule found: the verdict, its reasons, and the host paths, the best first."""

    verdict: Verdict
    evidence: tuple[Evidence, ...]
    host_paths: tuple[HostPath, ...] = ()


def _finding(
    verdict: Verdict, code: EvidenceCode, text: str, host_path: HostPath | None = None
) -> Finding:
    paths = () if host_path is None else (host_path,)
    return Finding(verdict, (Evidence(code, text),), paths)


def decide(case: Case) -> tuple[list[Evidence], Finding]:
    """Return what the first rule that holds found, and what the rules before it weighed."""
    passed: list[Evidence] = []
    for rule in _RULES:
        found = rule(case)
        if isinstance(found, Finding):
            return passed, found
        if found is not None:
            passed.append(found)
    return passed, _undecided()


def _stale(case: Case) -> Finding | None:
    """Hold where what was mounted has been deleted: its root, or the directory at the place."""
    again = "mount it anew, for instance by restarting the pod, or mount its parent directory"
    if case.mount.deleted:
        text = f"{case.mount.root} was deleted after it was mounted; {again}"
        return _finding(Verdict.STALE, EvidenceCode.DELETED_ROOT, text)
    directory = _existing_directory(case)
    if directory is not None:
        text = f"{directory} has no links left: it was deleted while it was mounted; {again}"
        return _finding(Verdict.STALE, EvidenceCode.NO_LINKS, text)
    return None


def _existing_directory(case: Case) -> ContainerPath | None:
    """Return the deepest existing directory at or above the place if it has no links left.

    A link at the place itself is no directory: it was not followed, for a node replaces it. It is
    asked for only where that matters, for what has a name in a directory shows that this one lives.
    """
    files = case.view.filesystem
    for path in (case.place, *case.place.parents):
        try:
            status = files.status(ROOT, str(path))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if path == case.place and _is_link(case):
                continue
            raise
        if status.is_directory and status.links:
            return None
        if status.is_directory and not (path == case.place and _is_link(case)):
            return path
    return None


def _is_link(case: Case) -> bool:
    try:
        case.view.filesystem.read_link(ROOT, str(case.place))
    except OSError:
        return False
    return True


def _own_root(case: Case) -> Finding | None:
    """Hold where the container's own root serves the place, and nobody asked for it there."""
    if case.is_own_root and case.declared is None:
        text = "it is the root of this container, where no mount from the host covers it"
        return _finding(Verdict.PRIVATE, EvidenceCode.OWN_ROOT, text)
    return None


def _joined(case: Case) -> Finding | Evidence | None:
    """Hold where the host's table is granted: it shows the same place, or it does not.

    A device number stands for one file system, so a host mount of it whose root is a prefix of
    the place shows the place too, if that mount is what the host sees there. Roots that lie
    outside what the reader of the tables may see are not comparable, cgroup_namespaces(7).
    """
    table = case.view.host_mountinfo
    if table is None:
        return None
    found: list[HostPath] = []
    others: list[HostPath] = []
    candidates = () if case.mount.is_outside else table.with_device(case.mount.device)
    for mount in candidates:
        host_path = _host_path_by(mount, case.within)
        if host_path is None or table.covering(host_path) != mount:
            continue
        same = _superblock_options(mount) == _superblock_options(case.mount)
        (found if same else others).append(host_path)
    if not found and (case.mount.is_outside or any(mount.is_outside for mount in candidates)):
        text = "a root of this file system lies outside what this process may see, here or there"
        return Evidence(EvidenceCode.OUTSIDE, text)
    if not found and others:
        text = (
            f"the host has a file system of the same number at {others[0]}, but with other"
            " options, so the two tables may be of different moments"
        )
        return _finding(Verdict.UNKNOWN, EvidenceCode.OTHER_OPTIONS, text)
    if not found:
        text = "the host's mount table shows this place at no host path"
        return _finding(Verdict.PRIVATE, EvidenceCode.NOT_ON_HOST, text)
    claimed = case.claimed
    ordered = sorted(found, key=lambda path: (path != claimed, len(path.parts), path))
    text = f"the host's mount table shows this place at {ordered[0]}"
    evidence: tuple[Evidence, ...] = (Evidence(EvidenceCode.JOINED, text),)
    if claimed is not None and ordered[0] != claimed:
        text = f"the host's table knows it by another name than {claimed}, which may hold a link"
        evidence = (Evidence(EvidenceCode.ALIAS, text), *evidence)
    return Finding(Verdict.HOST, evidence, tuple(ordered))


def _host_path_by(mount: MountInfo[HostPath], within: str) -> HostPath | None:
    """Return where a host mount shows the place *within* its file system; None if it does not."""
    root = mount.root.rstrip("/")
    if mount.deleted or not f"{within}/".startswith(f"{root}/"):
        return None
    return mount.mount_point / within[len(root) :].lstrip("/")


def _superblock_options(mount: MountInfo[HostPath] | MountInfo[ContainerPath]) -> frozenset[str]:
    """Return the options of the file system; btrfs shows the mount's own root among them."""
    options = mount.super_options.split(",")
    return frozenset(text for text in options if not text.startswith(("subvol=", "subvolid=")))


def _over_a_link(case: Case) -> Finding | None:
    """Hold below a link that leads nowhere here, for the host can have what it leads to."""
    if case.over is None:
        return None
    text = (
        f"{case.over} is a link that leads nowhere here, so nothing can be made below it, and the"
        " host may follow it to another place; mount what it leads to, or name that place"
    )
    return _finding(Verdict.UNKNOWN, EvidenceCode.DANGLING_LINK, text)


def _own_kernel(case: Case) -> Finding | None:
    """Hold in Kata, gVisor and micro-VMs, whose devtmpfs is the guest's.

    It comes before the join: what ``/proc/1`` shows there is the guest's table, not the host's.
    """
    root = case.view.mountinfo.covering(ROOT)
    if root is not None and root.fstype in _OWN_KERNEL_ROOTS:
        text = f"the root is {root.fstype}, so the container may have a kernel of its own"
    elif case.view.mountinfo.names_source(_KATA_SOURCE):
        text = f"a mount has the source {_KATA_SOURCE}, so the container has a kernel of its own"
    else:
        return None
    return _finding(Verdict.UNKNOWN, EvidenceCode.OWN_KERNEL, text, case.claimed)


def _below_host_dev(case: Case) -> Finding | None:
    """Hold for ``/dev`` in a bind of the host's ``/`` that did not bring its submounts along.

    On every host ``/dev`` is a mount of its own, and what lies below it is seen by nobody.
    """
    claimed = case.claimed
    if (
        claimed is not None
        and claimed.is_relative_to(HOST_DEV)
        and case.declared is not None
        and case.declared.host == HOST_ROOT
        and case.is_as_declared
    ):
        text = (
            f"the bind of / at {case.mount.mount_point} shows the directory that the host hides"
            " below its /dev; bind / recursively (rbind), or /dev as well"
        )
        return _finding(Verdict.PRIVATE, EvidenceCode.BELOW_HOST_DEV, text)
    return None


def _mount_in_host_dev(case: Case) -> Finding | None:
    """Hold for ``/dev/shm`` and its like where that mount of the host did not come along."""
    claimed, mounted = case.claimed, case.claim(case.mount.mount_point)
    if claimed is None or mounted is None:
        return None
    for own in filter(claimed.is_relative_to, _MOUNTS_IN_HOST_DEV):
        if not mounted.is_relative_to(own) or case.mount.fstype == "devtmpfs":
            text = f"hosts have a mount of their own at {own}, and this can be what it hides"
            return _finding(Verdict.UNKNOWN, EvidenceCode.HOST_MOUNT, text, claimed)
    return None


def _devtmpfs(case: Case) -> Finding | None:
    """Hold on devtmpfs, of which a kernel has one instance; drivers/base/devtmpfs.c."""
    if case.mount.fstype != "devtmpfs":
        return None
    claimed = case.claimed
    if claimed is not None and claimed == HOST_DEV / case.within.lstrip("/"):
        text = f"devtmpfs has one instance, and {claimed} was asked for: it is the host's /dev"
        return _finding(Verdict.HOST, EvidenceCode.DEVTMPFS, text, claimed)
    text = "it is devtmpfs, but nothing tells where the host shows it"
    return _finding(Verdict.UNKNOWN, EvidenceCode.DEVTMPFS_ELSEWHERE, text, claimed)


def _tmpfs_at_dev(case: Case) -> Finding | None:
    """Hold on a tmpfs at ``/dev``, which every runtime makes, and which a node's own can be.

    In a container on a host whose ``/dev`` is a tmpfs (a node that is a container itself), a bind
    of that and the runtime's own have identical lines. Only a second mount of it can tell.
    """
    mount = case.mount
    if mount.fstype != "tmpfs" or mount.root != "/" or str(mount.mount_point) != "/dev":
        return None
    if case.declared is None and case.view.mounts is not None:
        text = "it is a tmpfs at /dev that nobody asked for: the runtime's own"
        return _finding(Verdict.PRIVATE, EvidenceCode.RUNTIME_DEV, text)
    other = _corroboration(case)
    if other is not None:
        text = f"{other} shows the same file system, so the one at /dev is the host's"
        return _finding(Verdict.DECLARED, EvidenceCode.CORROBORATED, text, case.claimed)
    text = "a tmpfs at /dev can be the runtime's own as well as the host's"
    return _finding(Verdict.UNKNOWN, EvidenceCode.TMPFS_AT_DEV, text, case.claimed)


def _corroboration(case: Case) -> Mount | None:
    """Return another declared mount of the same host path that shows the same directory."""
    declared = case.declared
    if case.table is None or declared is None or declared.host is None:
        return None
    for mount in case.table:
        if mount.host == declared.host and mount.container != declared.container:
            other = case.view.mountinfo.covering(mount.container)
            if (
                other is not None
                and other.mount_point == mount.container
                and (other.device, other.root) == (case.mount.device, case.mount.root)
            ):
                return mount
    return None


def _runtime_mount(case: Case) -> Finding | None:
    """Hold where a mount below a declared one is at a place where runtimes mount their own."""
    claimed = case.claimed
    if claimed is None or case.is_as_declared:
        return None
    if any(map(case.mount.mount_point.is_relative_to, _MOUNTED_BY_RUNTIMES)):
        text = f"runtimes mount their own at {case.mount.mount_point}, so it may not be {claimed}"
        return _finding(Verdict.UNKNOWN, EvidenceCode.RUNTIME_MOUNT, text, claimed)
    return None


def _declared(case: Case) -> Finding | None:
    """Hold where a declared mount from a known host path is there, or one came along below it."""
    claimed = case.claimed
    if claimed is None or case.declared is None:
        return None
    if case.is_as_declared:
        text = f"a mount is there as asked for; {claimed} is not proved"
        return _finding(Verdict.DECLARED, EvidenceCode.DECLARED, text, claimed)
    text = f"a mount that came along below {case.declared.container}; {claimed} is not proved"
    return _finding(Verdict.DECLARED, EvidenceCode.SUBMOUNT, text, claimed)


def _undecided() -> Finding:
    text = "nothing tells whether the host sees it"
    return _finding(Verdict.UNKNOWN, EvidenceCode.UNDECIDED, text)


_RULES: Final[tuple[Callable[[Case], Finding | Evidence | None], ...]] = (
    _stale,
    _own_root,
    _over_a_link,
    _own_kernel,
    _joined,
    _below_host_dev,
    _mount_in_host_dev,
    _devtmpfs,
    _tmpfs_at_dev,
    _runtime_mount,
    _declared,
)
