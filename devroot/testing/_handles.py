"""Open directories of a tree in memory."""

from __future__ import annotations

import errno
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from typing_extensions import Self

from devroot._filesystem import FileStatus, FileType
from devroot._local import _directory
from devroot._paths import ContainerPath
from devroot.testing import _names
from devroot.testing._atomic import atomic
from devroot.testing._devices import check_numbers
from devroot.testing._faults import ProcessKilled
from devroot.testing._inodes import MADE_BY_KERNEL, kernel_error
from devroot.testing._limits import Limit
from devroot.testing._rights import READ, SEARCH

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from devroot._filesystem import Directory
    from devroot.testing._inodes import Inode
    from devroot.testing._process import Process
    from devroot.testing._walk import Place

_DEVICES: Final = {FileType.CHARACTER, FileType.BLOCK}
_NOT_MADE_BY_MKNOD: Final = {FileType.DIRECTORY, FileType.SYMLINK}
_UMASK: Final = 0o022


class TreeDirectory:
    """An open directory of a file system in memory; a `Directory`.

    It has the answers of the protocol, and those of a closed descriptor (``EBADF``) once it
    was closed.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_closed", "_incarnation", "_path", "_place", "_process")

    def __init__(self, process: Process, place: Place) -> None:
        self._process = process
        self._place = place
        self._path = ContainerPath(place.path)
        self._incarnation = process.incarnation
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<TreeDirectory {self._path} {state}>"

    @property
    def path(self) -> ContainerPath:
        """Where the directory was found when it was opened; it may have moved since."""
        return self._path

    @atomic
    def close(self) -> None:
        """Give the handle and its lock back; a second call does nothing."""
        self._closed = True
        inode = self._place.inode
        if inode.locked_by is not None and inode.locked_by[0] is self:
            inode.locked_by = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def status(self) -> FileStatus:
        """Return what the directory itself is now; ``links`` is 0 once it was deleted."""
        with self._process.doing("status", str(self._path)):
            return self._process.who.status(self._directory().inode)

    def names(self) -> list[str]:
        """Return the names in the directory, in the order in which they came."""
        with self._process.doing("names", str(self._path)):
            inode = self._directory().inode
            if inode.lacks:
                raise inode.lacks.met(str(self._path))
            return list(inode.entries)

    def lstat(self, name: str, /) -> FileStatus:
        """Return the status of *name* itself, a symbolic link included."""
        with self._doing("lstat", name):
            return self._process.who.status(self._found(name).inode)

    def read_link(self, name: str, /) -> str:
        """Return the target of the symbolic link *name*."""
        with self._doing("read_link", name):
            inode = self._found(name).inode
            if inode.type is not FileType.SYMLINK:
                raise kernel_error(errno.EINVAL)
            return inode.target_for(self._process)

    def open_directory(self, name: str, /) -> TreeDirectory:
        """Open the directory *name*."""
        with self._doing("open_directory", name):
            place = self._found(name)
            if not place.inode.is_directory:
                raise kernel_error(errno.ENOTDIR)
            self._process.who.check(place.inode, READ)
            return TreeDirectory(self._process, place)

    def make_directory(self, name: str, /, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Make the directory *name* with exactly this mode and owner."""
        with self._doing("make_directory", name):
            self._make(name, FileType.DIRECTORY, mode=mode & 0o700)
            place = self._found(name)
        self._complete("make_directory", name, place, mode=mode, uid=uid, gid=gid)

    def make_node(  # noqa: PLR0913 - a device node is all of these
        self,
        name: str,
        /,
        *,
        type: FileType,
        major: int,
        minor: int,
        mode: int,
        uid: int = 0,
        gid: int = 0,
    ) -> None:
        """Make the device node *name* with exactly this mode and owner.

        Whatever else mknod(2) makes has the numbers 0 and 0.

        Raises:
            InvalidNodeError: a number does not fit into the kernel's 12 bits of major and 20
                bits of minor.
            OSError: ``EINVAL`` if *type* is a directory or a symbolic link; ``EPERM`` if it is a
                device and the process may not make one, mknod(2).
        """
        _directory.check_name(name)
        check_numbers(major, minor)
        with self._doing("make_node", name):
            if type in _NOT_MADE_BY_MKNOD:
                raise kernel_error(errno.EINVAL)
            inode = self._make(name, type, mode=mode & ~_UMASK, number=(major, minor))
            if type in _DEVICES:
                inode.major, inode.minor = major, minor
            place = self._found(name)
        self._complete("make_node", name, place, mode=mode, uid=uid, gid=gid)

    def make_symlink(self, name: str, target: str, /) -> None:
        """Make *name* a symbolic link to the text *target*."""
        with self._doing("make_symlink", name):
            _names.check_target(target)
            self._make(name, FileType.SYMLINK, mode=0o777).target = target

    def write_file(self, name: str, data: bytes, /, *, mode: int) -> None:
        """Make the regular file *name* with this content and exactly this mode."""
        with self._doing("write_file", name):
            self._make(name, FileType.REGULAR, mode=mode & 0o700 & ~_UMASK)
            place = self._found(name)
        try:
            with self._doing("write_file.data", name):
                place.mount.volume.check_room(len(data))
                place.inode.content = bytes(data)
            if mode != place.inode.mode:
                with self._doing("write_file.mode", name):
                    self._process.who.set_mode(place.inode, mode)
        except ProcessKilled:
            raise
        except BaseException:
            self._take_away(name, place)
            raise

    def mend(
        self,
        name: str,
        /,
        *,
        expected: FileStatus,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
    ) -> None:
        """Set the mode or owner of *name* in place, if it still is the file *expected*.

        Raises:
            OSError: ``ESTALE`` if it is another file; ``ELOOP`` if it is a symbolic link, which
                has no mode.
        """
        with self._doing("mend", name):
            place = self._found(name)
            inode = place.inode
            now = self._process.who.status(inode)
            if not now.same_file(expected) or (now.type, now.major, now.minor) != (
                expected.type,
                expected.major,
                expected.minor,
            ):
                raise kernel_error(errno.ESTALE)
            if inode.type is FileType.SYMLINK:
                raise kernel_error(errno.ELOOP)
        self._change("mend", name, place, mode=mode, uid=uid, gid=gid)

    def link(self, name: str, to: Directory, to_name: str, /) -> None:
        """Give the file *name* a second name in *to*; never replaces."""
        with self._doing("link", name, to, to_name):
            found = self._found(name)
            target = self._sibling(to)
            self._check_free(target, to_name)
            target.mount.check_writable()
            if found.mount is not target.mount:
                raise kernel_error(errno.EXDEV)
            if self._process.protected_hardlinks:
                self._process.who.check_links(found.inode)
            _names.link(found.inode, target.inode, to_name, who=self._process.who)

    def rename(self, name: str, to: Directory, to_name: str, /, *, replace: bool) -> None:
        """Move *name* to *to_name* in *to* in one step."""
        with self._doing("rename", name, to, to_name):
            source, target = self._directory(), self._sibling(to)
            for place in (source, target):
                self._process.who.check(place.inode, SEARCH)
            if source.mount is not target.mount:
                raise kernel_error(errno.EXDEV)
            source.mount.check_writable()
            _names.rename(
                source.inode,
                name,
                target.inode,
                to_name,
                replace=replace,
                namespace=self._process.namespace,
                who=self._process.who,
            )

    def unlink(self, name: str, /) -> None:
        """Remove the name of anything but a directory."""
        with self._doing("unlink", name):
            place, who = self._directory(), self._process.who
            who.check(place.inode, SEARCH)
            place.mount.check_writable()
            _names.unlink(place.inode, name, namespace=self._process.namespace, who=who)

    def remove_directory(self, name: str, /) -> None:
        """Remove the empty directory *name*."""
        with self._doing("remove_directory", name):
            place, who = self._directory(), self._process.who
            who.check(place.inode, SEARCH)
            place.mount.check_writable()
            _names.remove_directory(place.inode, name, namespace=self._process.namespace, who=who)

    def try_lock(self) -> bool:
        """Take the directory's exclusive lock, without waiting; `close` gives it back."""
        with self._process.doing("try_lock", str(self._path)):
            inode = self._directory().inode
            holder = inode.locked_by
            if holder is None or not _is_alive(holder):
                inode.locked_by = holder = (self, self._process)
            return holder[0] is self

    @contextmanager
    def _doing(
        self, operation: str, name: str, to: Directory | None = None, to_name: str = ""
    ) -> Generator[None]:
        _directory.check_name(name)
        second = None
        if to is not None:
            _directory.check_name(to_name)
            second = str(to.path / to_name)
        with self._process.doing(operation, str(self._path / name), second):
            yield

    def _directory(self) -> Place:
        """Return the directory that is open.

        Raises:
            OSError: ``EBADF`` after `close`, or if it was opened by a process that was killed.
        """
        if not self.is_open:
            raise kernel_error(errno.EBADF)
        return self._place

    @property
    def is_open(self) -> bool:
        """Whether it was neither closed nor opened by a process that was killed since."""
        return not self._closed and self._incarnation is self._process.incarnation

    def _found(self, name: str) -> Place:
        """Return what is at *name*, or mounted on it; links are not followed."""
        return self._directory().enter(name, self._process)

    def _check_free(self, place: Place, name: str) -> None:
        """Check that *name* can be made in a directory.

        Raises:
            OSError: ``EACCES``, ``EEXIST``, ``ENOENT``, ``ENAMETOOLONG``.
        """
        self._process.who.check(place.inode, SEARCH)
        place.inode.check_free(name)
        place.inode.check_known(name, place.path_of(name))

    def _sibling(self, to: Directory) -> Place:
        """Return the directory that *to* has open, if it is of the same kernel.

        Raises:
            OSError: ``EXDEV``; ``EBADF`` after `close`.
        """
        if not isinstance(to, TreeDirectory):
            raise kernel_error(errno.EXDEV)
        return to._directory()  # noqa: SLF001 - of one class

    def _make(
        self, name: str, type: FileType, *, mode: int, number: tuple[int, int] = (0, 0)
    ) -> Inode:
        place, who = self._directory(), self._process.who
        self._check_free(place, name)
        place.mount.check_writable()
        who.check_changes(place.inode)
        if place.mount.volume.fstype == "mqueue" and type is FileType.REGULAR:
            raise Limit.QUEUES.met(place.path_of(name))
        _names.check_makes(place.inode, type, number, who)
        if type in _DEVICES and self._process.device_rules is not None:
            self._process.device_rules.check(type, *number)
        inode = place.mount.volume.new(type, mode=mode)
        who.give_to_itself(inode, place.inode)
        place.inode.add(name, inode)
        return inode

    def _complete(  # noqa: PLR0913 - a file is all of these
        self, operation: str, name: str, place: Place, *, mode: int, uid: int, gid: int
    ) -> None:
        """Complete a new file; one that cannot be completed is taken away again."""
        try:
            self._change(operation, name, place, mode=mode, uid=uid, gid=gid)
        except ProcessKilled:
            raise
        except BaseException:
            self._take_away(name, place)
            raise

    @atomic
    def _take_away(self, name: str, place: Place) -> None:
        """Remove a new file that could not be completed, if it still has its name and may go."""
        above = self._place
        if above.inode.entries.get(name) is not place.spot.entry:
            return
        remove = _names.remove_directory if place.inode.is_directory else _names.unlink
        with suppress(OSError):
            above.mount.check_writable()
            remove(above.inode, name, namespace=self._process.namespace, who=self._process.who)

    def _change(  # noqa: PLR0913 - a file is all of these
        self,
        operation: str,
        name: str,
        place: Place,
        *,
        mode: int | None,
        uid: int | None,
        gid: int | None,
    ) -> None:
        """Change what differs, the owner first: each is one system call."""
        inode, who = place.inode, self._process.who
        owner = who.shown(inode.uid), who.shown(inode.gid)
        new_uid = None if uid in {None, owner[0]} else uid
        new_gid = None if gid in {None, owner[1]} else gid
        owned_anew = (new_uid, new_gid) != (None, None)
        if owned_anew:
            with self._changing(f"{operation}.owner", name, place):
                who.own(
                    inode,
                    uid=None if new_uid is None else who.kept(new_uid),
                    gid=None if new_gid is None else who.kept(new_gid),
                )
        if mode is not None and (owned_anew or mode != inode.mode):
            with self._changing(f"{operation}.mode", name, place):
                who.set_mode(inode, mode)

    @contextmanager
    def _changing(self, operation: str, name: str, place: Place) -> Generator[None]:
        with self._doing(operation, name):
            place.mount.check_writable()
            if place.mount.volume.fstype in MADE_BY_KERNEL:
                raise Limit.KERNEL_FILE_OWNERS.met(place.path)
            yield


def _is_alive(holder: tuple[object, object]) -> bool:
    return isinstance(holder[0], TreeDirectory) and holder[0].is_open
