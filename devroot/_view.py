"""All that a process can see: its files, what was mounted for it, and its mount tables."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot._local import LocalFileSystem
from devroot._log import Event, tell
from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath, PathT
from devroot.errors import (
    MountTablesDisagreeError,
    PathKindError,
    ProcFileError,
    ProcUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._filesystem import FileSystem
    from devroot._mountinfo import MountInfo

ROOT: Final = ContainerPath("/")
PROC: Final = ContainerPath("/proc")
OWN_MOUNTINFO: Final = "self/mountinfo"
# include/linux/proc_ns.h, PROC_USER_INIT_INO: the inode of the initial user namespace.
INITIAL_USER_NAMESPACE: Final = "user:[4026531837]"
# include/uapi/linux/capability.h; capabilities(7).
CAP_MKNOD: Final = 27
NO_MOUNTS: Final = MountInfoTable.parse(b"")
_READ_ATTEMPTS: Final = 3


@final
@attrs.frozen(kw_only=True)
class ContainerView:
    """A snapshot of what a process sees; `refresh` makes a new one.

    Everything can be given as data. `of_process` and `of_host` read it from ``/proc``.

    Attributes:
        mounts: the mounts that were asked for. None means that nobody said; a table that is
            given is complete, so what it does not list was not asked for.
        mountinfo: this process's mount table.
        host_mountinfo: the mount table of the host, if it is granted.
        filesystem: through which all files are read and changed.
        proc: where the procfs to read is; a container often sees a masked ``/proc``, and the
            host's may be mounted aside.
        initial_user_namespace: whether the process is in the initial user namespace, without
            which mknod(2) fails; None if that is not known.
        effective_capabilities: the bits of the process's effective set, capabilities(7); None
            if they are not known.
        host_mountinfo_file: from which file `refresh` reads the host's table again.
        read_at: when the tables were read (seconds of the monotonic clock); None for data.

    Raises:
        MountTablesDisagreeError: the two tables cannot be of one kernel and moment.
        PathKindError: a table or *proc* is of another kind.

    .. versionadded:: 0.1.0
    """

    mounts: MountTable | None = None
    mountinfo: MountInfoTable[ContainerPath] = NO_MOUNTS
    host_mountinfo: MountInfoTable[HostPath] | None = None
    filesystem: FileSystem = attrs.field(factory=LocalFileSystem)
    proc: ContainerPath = PROC
    initial_user_namespace: bool | None = None
    effective_capabilities: int | None = None
    host_mountinfo_file: ContainerPath | None = attrs.field(default=None, eq=False)
    read_at: float | None = attrs.field(default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        _require(self.mounts, MountTable, type(None))
        _require(self.mountinfo, MountInfoTable)
        _require(self.host_mountinfo, MountInfoTable, type(None))
        _require(self.proc, ContainerPath)
        if self.host_mountinfo is not None:
            _require_one_kernel(self.mountinfo, self.host_mountinfo)

    @classmethod
    def of_process(
        cls,
        *,
        mounts: MountTable | None = None,
        host_mountinfo: ContainerPath | MountInfoTable[HostPath] | None = None,
        proc: ContainerPath = PROC,
        filesystem: FileSystem | None = None,
    ) -> ContainerView:
        """Return the view of this process, read from ``/proc/self``.

        Args:
            mounts: the mounts that were asked for, all of them; None if nobody says.
            host_mountinfo: the host's mount table, or the file that holds it:
                ``/proc/1/mountinfo`` where the pod has the host's PID namespace, or that file in
                a host ``/proc`` mounted aside. It is never assumed, because PID 1 can be the
                pause container's.
            proc: where the procfs to read is.
            filesystem: another file system than the real one.

        Raises:
            MountInfoError: a mount table cannot be understood.
            MountTablesDisagreeError: the two tables cannot be of one kernel and moment, in three
                attempts.
            ProcFileError: ``status`` does not state the capabilities as the kernel does.
            ProcUnavailableError: a mount table cannot be read.
            PathKindError: *mounts*, *host_mountinfo* or *proc* is of another kind.
        """
        _require(host_mountinfo, ContainerPath, MountInfoTable, type(None))
        _require(proc, ContainerPath)
        files = LocalFileSystem() if filesystem is None else filesystem

        def read() -> ContainerView:
            own = _read_table(files, proc, OWN_MOUNTINFO, paths=ContainerPath)
            host, host_file = _host_table(files, host_mountinfo)
            return cls(
                mounts=mounts,
                mountinfo=own,
                host_mountinfo=host,
                filesystem=files,
                proc=proc,
                initial_user_namespace=_read_user_namespace(files, proc),
                effective_capabilities=_read_capabilities(files, proc),
                host_mountinfo_file=host_file,
                read_at=time.monotonic(),
            )

        return _until_they_agree(read)

    @classmethod
    def of_host(
        cls, *, proc: ContainerPath = PROC, filesystem: FileSystem | None = None
    ) -> ContainerView:
        """Return the view of a process that runs on the host itself, in no container.

        Every path is then the same on both sides, and the process's table is the host's. It is
        for the caller to know that this holds; nothing in ``/proc`` proves it.

        Args:
            proc: where the procfs to read is.
            filesystem: another file system than the real one.

        Raises:
            MountInfoError: the mount table cannot be understood.
            ProcFileError: as from `of_process`.
            ProcUnavailableError: it cannot be read.
            PathKindError: *proc* is of another kind.
        """
        _require(proc, ContainerPath)
        return cls.of_process(
            mounts=MountTable([Mount(host="/", container="/")]),
            host_mountinfo=proc / OWN_MOUNTINFO,
            proc=proc,
            filesystem=filesystem,
        )

    def refresh(self) -> ContainerView:
        """Return a new view of the same process: what was read from ``/proc`` is read again.

        Plugins run for months, and mounts come and go; a view is a snapshot. What was given as
        data stays, and so a view that was built from data alone is returned as it is.

        Raises:
            MountInfoError: as from `of_process`; `MountTablesDisagreeError`, `ProcFileError` and
                `ProcUnavailableError` likewise.
        """
        if self.read_at is None:
            return self
        return self.of_process(
            mounts=self.mounts,
            host_mountinfo=self.host_mountinfo_file or self.host_mountinfo,
            proc=self.proc,
            filesystem=self.filesystem,
        )

    @property
    def age(self) -> float | None:
        """Seconds since the tables were read; None for a view that was built from data."""
        return None if self.read_at is None else time.monotonic() - self.read_at

    def locate(
        self, path: ContainerPath, *, root: ContainerPath = ROOT, follow_last: bool = True
    ) -> ContainerPath:
        """Return where *path* lies once the links on its existing part are followed.

        The deepest existing ancestor decides; the rest of the names is added as it stands, and a
        dangling link counts as a name that does not exist.

        Args:
            path: at or below *root*; it need not exist.
            root: inside which links are followed, as after chroot(2); it need not exist either.
            follow_last: whether a link at *path* itself is followed.

        Raises:
            InvalidPathError: *path* does not lie below *root*.
            OSError: a directory on the way cannot be looked into (``EACCES``), or links loop
                (``ELOOP``).
            PathKindError: *path* or *root* is not a container path.
        """
        return self._placed(path, root=root, follow_last=follow_last)[0]

    def _placed(
        self, path: ContainerPath, *, root: ContainerPath = ROOT, follow_last: bool = True
    ) -> tuple[ContainerPath, ContainerPath | None]:
        """Return the same as `locate`, and a link on the way that leads nowhere, if there is one.

        Below such a link nothing can be made here, and whoever sees it from elsewhere may follow
        it to something that is there.
        """
        _require(path, ContainerPath)
        names = [] if path == root else path.relative_to(root).split("/")
        kept = len(names) if follow_last else max(len(names) - 1, 0)
        found = None
        while found is None:
            try:
                found = self.filesystem.resolve(root, "/" + "/".join(names[:kept]))
            except (FileNotFoundError, NotADirectoryError):
                if kept == 0:  # there is no root, and so no link in it
                    return path, None
                kept -= 1
        place = found / "/".join(names[kept:])
        if kept == len(names):
            return place, None
        try:
            self.filesystem.read_link(root, "/" + "/".join(names[: kept + 1]))
        except OSError:  # it is missing, as it should be, or is no link
            return place, None
        return place, found / names[kept]


def _require(value: object, *kinds: type) -> None:
    """Raise unless *value* is of one of the kinds, of which None is only named by itself."""
    if not isinstance(value, kinds):
        names = [kind.__name__ for kind in kinds if kind is not type(None)]
        raise PathKindError(value, wanted=" or ".join(names))


def _until_they_agree(read: Callable[[], ContainerView]) -> ContainerView:
    """Read anew when mounts changed between the reading of the two tables."""
    for _ in range(_READ_ATTEMPTS - 1):
        try:
            return read()
        except MountTablesDisagreeError as error:
            tell(Event.TABLES_REREAD, error)
    return read()


def _host_table(
    files: FileSystem, source: ContainerPath | MountInfoTable[HostPath] | None
) -> tuple[MountInfoTable[HostPath] | None, ContainerPath | None]:
    if isinstance(source, ContainerPath):
        return _read_table(files, ROOT, str(source), paths=HostPath), source
    return source, None


def _read_table(
    files: FileSystem, root: ContainerPath, unsafe_path: str, *, paths: type[PathT]
) -> MountInfoTable[PathT]:
    try:
        return MountInfoTable.read(files, root, unsafe_path, paths=paths)
    except OSError as error:
        reason = "the mount table cannot be read; is a procfs mounted there?"
        raise ProcUnavailableError(
            error.errno or 0, reason, str(root / unsafe_path.lstrip("/"))
        ) from error


def _read_user_namespace(files: FileSystem, proc: ContainerPath) -> bool | None:
    """Say whether this is the initial user namespace; the uid map can look so and lie."""
    try:
        return files.read_link(proc, "self/ns/user") == INITIAL_USER_NAMESPACE
    except OSError:
        return None


def _read_capabilities(files: FileSystem, proc: ContainerPath) -> int | None:
    """Return the effective capabilities, ``CapEff`` of proc_pid_status(5), if it is stated."""
    try:
        status = files.read_bytes(proc, "self/status")
    except OSError:
        return None
    for line in status.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"CapEff":
            try:
                return int(value, 16)
            except ValueError as error:
                reason = (
                    f"CapEff is {value.strip().decode('utf-8', 'replace')!r}, no hexadecimal number"
                )
                raise ProcFileError(proc / "self/status", reason=reason) from error
    return None


def _require_one_kernel(own: MountInfoTable[ContainerPath], host: MountInfoTable[HostPath]) -> None:
    """Raise unless the two tables can be of one kernel and one moment.

    A device number stands for one file system, which has one type; a mount ID stands for one
    mount in the whole kernel. Both are used again later, by other file systems and mounts.
    """
    if own.render() == host.render():
        return
    for mount in own:
        other = host._last_with_device(mount.device)  # noqa: SLF001 - of one library
        if other is not None and other.fstype != mount.fstype:
            reason = (
                f"device {mount.major}:{mount.minor} is {mount.fstype} in the one and"
                f" {other.fstype} in the other"
            )
            raise MountTablesDisagreeError(reason)
        same_id = host._with_id(mount.mount_id)  # noqa: SLF001 - of one library
        if same_id is not None and _identity(same_id) != _identity(mount):
            reason = f"{mount} and {same_id} have the same ID"
            raise MountTablesDisagreeError(reason)


def _identity(mount: MountInfo[PathT]) -> tuple[object, ...]:
    return mount.parent_id, mount.device, mount.root, mount.deleted
