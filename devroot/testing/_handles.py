"""Open directories of a tree in memory."""

from __future__ import annotations

import errno
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs
from typing_extensions import Self

from devroot._filesystem import FileStatus, FileType
from devroot._local_directory import check_name
from devroot._paths import ContainerPath
from devroot.errors import InvalidNodeError
from devroot.testing import _inodes
from devroot.testing._faults import Faults, ProcessKilled
from devroot.testing._inodes import (
    MAJOR_MAX,
    MINOR_MAX,
    Inode,
    Volume,
    kernel_error,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from devroot._filesystem import Directory

_DEVICES: Final = {FileType.CHARACTER, FileType.BLOCK}
_NOT_MADE_BY_MKNOD: Final = {FileType.DIRECTORY, FileType.SYMLINK}
_UMASK: Final = 0o022


@attrs.define(eq=False)
class Kernel:
    """What all handles of one tree share.

    Attributes:
        volume: where the inodes are.
        faults: what is to go wrong.
        process: stands for the process that works on the tree; None while there is none.
    """

    volume: Volume
    faults: Faults = attrs.field(factory=Faults)
    process: object = attrs.field(factory=object)
    _lock: threading.RLock = attrs.field(factory=threading.RLock)

    @contextmanager
    def doing(self, operation: str, path: str, to: str | None = None) -> Generator[None]:
        """Let faults and hooks come first, then do one step that nobody else sees half done.

        An error of the kernel leaves with the path in it.

        Raises:
            ProcessKilled: the process is killed now, or was and does nothing any more.
        """
        if self.process is None:
            raise ProcessKilled
        try:
            self.faults.meet(operation, path, to)
        except ProcessKilled:
            self.process = None
            raise
        with self._lock:
            try:
                yield
            except OSError as error:
                if error.filename is None:
                    error.filename = path
                    error.filename2 = to
                raise


class TreeDirectory:
    """An open directory of a `TreeFileSystem`; a `Directory`.

    It has the answers of the protocol, and those of a closed descriptor (``EBADF``) once it
    was closed.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_closed", "_inode", "_kernel", "_path", "_process")

    def __init__(self, kernel: Kernel, inode: Inode, path: str) -> None:
        self._kernel = kernel
        self._inode = inode
        self._path = ContainerPath(path)
        self._process = kernel.process
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<TreeDirectory {self._path} {state}>"

    @property
    def path(self) -> ContainerPath:
        """Where the directory was found when it was opened; it may have moved since."""
        return self._path

    def close(self) -> None:
        """Give the handle and its lock back; a second call does nothing."""
        self._closed = True
        holder = self._inode.locked_by
        if holder is not None and holder[0] is self:
            self._inode.locked_by = None

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
        with self._kernel.doing("status", str(self._path)):
            return self._directory().status()

    def names(self) -> list[str]:
        """Return the names in the directory, in the order in which they came."""
        with self._kernel.doing("names", str(self._path)):
            return list(self._directory().entries)

    def lstat(self, name: str, /) -> FileStatus:
        """Return the status of *name* itself, a symbolic link included."""
        with self._doing("lstat", name):
            return self._directory().child(name).status()

    def read_link(self, name: str, /) -> str:
        """Return the target of the symbolic link *name*."""
        with self._doing("read_link", name):
            inode = self._directory().child(name)
            if inode.type is not FileType.SYMLINK:
                raise kernel_error(errno.EINVAL)
            return inode.target

    def open_directory(self, name: str, /) -> TreeDirectory:
        """Open the directory *name*."""
        with self._doing("open_directory", name):
            inode = self._directory().child(name)
            if not inode.is_directory:
                raise kernel_error(errno.ENOTDIR)
            return TreeDirectory(self._kernel, inode, str(self._path / name))

    def make_directory(self, name: str, /, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Make the directory *name* with exactly this mode and owner."""
        with self._doing("make_directory", name):
            inode = self._make(name, FileType.DIRECTORY, mode=mode & 0o700)
        self._complete("make_directory", name, inode, mode=mode, uid=uid, gid=gid)

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
            OSError: ``EINVAL`` if *type* is a directory or a symbolic link.
        """
        check_name(name)
        _check_numbers(major, minor)
        with self._doing("make_node", name):
            if type in _NOT_MADE_BY_MKNOD:
                raise kernel_error(errno.EINVAL)
            inode = self._make(name, type, mode=mode & ~_UMASK)
            if type in _DEVICES:
                inode.major, inode.minor = major, minor
        self._complete("make_node", name, inode, mode=mode, uid=uid, gid=gid)

    def make_symlink(self, name: str, target: str, /) -> None:
        """Make *name* a symbolic link to the text *target*."""
        with self._doing("make_symlink", name):
            _inodes.check_target(target)
            self._make(name, FileType.SYMLINK, mode=0o777).target = target

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
            inode = self._directory().child(name)
            now = inode.status()
            if not now.same_file(expected) or (now.type, now.major, now.minor) != (
                expected.type,
                expected.major,
                expected.minor,
            ):
                raise kernel_error(errno.ESTALE)
            if inode.type is FileType.SYMLINK:
                raise kernel_error(errno.ELOOP)
        self._change("mend", name, inode, mode=mode, uid=uid, gid=gid)

    def link(self, name: str, to: Directory, to_name: str, /) -> None:
        """Give the file *name* a second name in *to*; never replaces."""
        with self._doing("link", name, to, to_name):
            _inodes.link(self._directory(), name, self._sibling(to), to_name)

    def rename(self, name: str, to: Directory, to_name: str, /, *, replace: bool) -> None:
        """Move *name* to *to_name* in *to* in one step."""
        with self._doing("rename", name, to, to_name):
            _inodes.rename(self._directory(), name, self._sibling(to), to_name, replace=replace)

    def unlink(self, name: str, /) -> None:
        """Remove the name of anything but a directory."""
        with self._doing("unlink", name):
            _inodes.unlink(self._directory(), name)

    def remove_directory(self, name: str, /) -> None:
        """Remove the empty directory *name*."""
        with self._doing("remove_directory", name):
            _inodes.remove_directory(self._directory(), name)

    def try_lock(self) -> bool:
        """Take the directory's exclusive lock, without waiting; `close` gives it back."""
        with self._kernel.doing("try_lock", str(self._path)):
            inode = self._directory()
            holder = inode.locked_by
            if holder is None or holder[1] is not self._process:
                inode.locked_by = holder = (self, self._process)
            return holder[0] is self

    @contextmanager
    def _doing(
        self, operation: str, name: str, to: Directory | None = None, to_name: str = ""
    ) -> Generator[None]:
        check_name(name)
        second = None
        if to is not None:
            check_name(to_name)
            second = str(to.path / to_name)
        with self._kernel.doing(operation, str(self._path / name), second):
            yield

    def _directory(self) -> Inode:
        """Return the directory that is open.

        Raises:
            OSError: ``EBADF`` after `close`, or if it was opened by a process that was killed.
        """
        if self._closed or self._process is not self._kernel.process:
            raise kernel_error(errno.EBADF)
        return self._inode

    def _sibling(self, to: Directory) -> Inode:
        """Return the directory that *to* has open, if it is in the same tree.

        Raises:
            OSError: ``EXDEV``; ``EBADF`` after `close`.
        """
        if not isinstance(to, TreeDirectory) or to._kernel is not self._kernel:  # noqa: SLF001 - of one class
            raise kernel_error(errno.EXDEV)
        return to._directory()  # noqa: SLF001 - of one class

    def _make(self, name: str, type: FileType, *, mode: int) -> Inode:
        directory = self._directory()
        directory.check_free(name)
        inode = self._kernel.volume.new(type, mode=mode)
        directory.add(name, inode)
        return inode

    def _complete(  # noqa: PLR0913 - a file is all of these
        self, operation: str, name: str, inode: Inode, *, mode: int, uid: int, gid: int
    ) -> None:
        """Complete a new file; one that cannot be completed is taken away again."""
        try:
            self._change(operation, name, inode, mode=mode, uid=uid, gid=gid)
        except ProcessKilled:
            raise
        except BaseException:
            if self._inode.entries.get(name) is inode:
                self._inode.drop(name)
            raise

    def _change(  # noqa: PLR0913 - a file is all of these
        self,
        operation: str,
        name: str,
        inode: Inode,
        *,
        mode: int | None,
        uid: int | None,
        gid: int | None,
    ) -> None:
        """Change what differs, the owner first: each is one system call."""
        owned_anew = uid not in {None, inode.uid} or gid not in {None, inode.gid}
        if owned_anew:
            with self._doing(f"{operation}.owner", name):
                inode.own(uid=uid, gid=gid)
        if mode is not None and (owned_anew or mode != inode.mode):
            with self._doing(f"{operation}.mode", name):
                inode.mode = mode


def _check_numbers(major: int, minor: int) -> None:
    for field, value, most in (("major", major, MAJOR_MAX), ("minor", minor, MINOR_MAX)):
        if not 0 <= value <= most:
            raise InvalidNodeError(field, value, reason=f"it is from 0 to {most}")
