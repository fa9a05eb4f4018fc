"""What a handle on a real directory does, whether it holds a descriptor or only a path."""

from __future__ import annotations

import abc
import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Final, NoReturn

from devroot._filesystem import FileStatus, FileType
from devroot._local._walk import encode, join, os_error
from devroot.errors import InvalidPathError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from typing_extensions import Self

    from devroot._filesystem import Directory
    from devroot._paths import ContainerPath

_TYPES: Final = {
    stat.S_IFREG: FileType.REGULAR,
    stat.S_IFDIR: FileType.DIRECTORY,
    stat.S_IFLNK: FileType.SYMLINK,
    stat.S_IFCHR: FileType.CHARACTER,
    stat.S_IFBLK: FileType.BLOCK,
    stat.S_IFIFO: FileType.FIFO,
    stat.S_IFSOCK: FileType.SOCKET,
}
_FORMATS: Final = {type_: format_ for format_, type_ in _TYPES.items()}
_NOT_MADE_BY_MKNOD: Final = {FileType.DIRECTORY, FileType.SYMLINK}
_DEVICES: Final = {FileType.CHARACTER, FileType.BLOCK}


def status_of(result: os.stat_result) -> FileStatus:
    """Return what stat(2) said as a `FileStatus`."""
    type_ = _TYPES[stat.S_IFMT(result.st_mode)]
    device = type_ in _DEVICES
    return FileStatus(
        type=type_,
        mode=stat.S_IMODE(result.st_mode),
        uid=result.st_uid,
        gid=result.st_gid,
        major=os.major(result.st_rdev) if device else 0,
        minor=os.minor(result.st_rdev) if device else 0,
        links=result.st_nlink,
        size=result.st_size,
        device=result.st_dev,
        inode=result.st_ino,
    )


def check_name(name: str) -> None:
    """Make sure that *name* is a single component.

    Raises:
        InvalidPathError: it is empty, ``.`` or ``..``, or holds a slash, a NUL or a character
            that no file name can hold.
        PathKindError: it is not a string.
    """
    kind = "name in a directory"
    encode(name, kind=kind)
    if name in {"", ".", ".."}:
        raise InvalidPathError(name, kind=kind, reason="it names nothing in the directory")
    if "/" in name:
        raise InvalidPathError(name, kind=kind, reason="it holds a slash")


class Naming:
    """Gives each `OSError` that passes the path of what it is about, and of a second name."""

    __slots__ = ("_filename", "_filename2")

    def __init__(self, filename: str, filename2: str | None = None) -> None:
        self._filename = filename
        self._filename2 = filename2

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            error.filename = self._filename
            if self._filename2 is not None:
                error.filename2 = self._filename2


class NamedDirectory(abc.ABC):
    """The operations on a bare name, as `Directory` describes them.

    A subclass says how a name is reached: from the descriptor ``_dir_fd``, or else by a path.
    """

    __slots__ = ("_dir_fd", "_path")

    def __init__(self, path: ContainerPath, *, dir_fd: int | None) -> None:
        self._path = path
        self._dir_fd = dir_fd

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path}>"

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

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled and copied.

        Raises:
            TypeError: always. A descriptor is a number, which stands for something else in
                another process; and a copy would be closed, too.
        """
        message = (
            f"{self!r} holds an open directory, which cannot be pickled or copied; open it again"
        )
        raise TypeError(message)

    @property
    def path(self) -> ContainerPath:
        """See `Directory.path`."""
        return self._path

    @abc.abstractmethod
    def close(self) -> None:
        """See `Directory.close`."""

    def lstat(self, name: str, /) -> FileStatus:
        """See `Directory.lstat`."""
        at = self._at(name)
        with self._naming(name):
            return status_of(os.lstat(at, dir_fd=self._dir_fd))

    def read_link(self, name: str, /) -> str:
        """See `Directory.read_link`."""
        at = self._at(name)
        with self._naming(name):
            return os.readlink(at, dir_fd=self._dir_fd)

    def make_directory(self, name: str, /, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """See `Directory.make_directory`; until it is complete, only its maker may use it."""
        at = self._at(name)
        with self._naming(name):
            os.mkdir(at, mode & stat.S_IRWXU, dir_fd=self._dir_fd)
            try:
                self._complete(at, stat.S_IFDIR | mode, 0, uid, gid)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.rmdir(at, dir_fd=self._dir_fd)
                raise

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
        """See `Directory.make_node`; whatever else mknod(2) makes has the numbers 0 and 0.

        Raises:
            OSError: ``EINVAL`` if *type* is a directory or a symbolic link.
        """
        at = self._at(name)
        device = os.makedev(major, minor) if type in _DEVICES else 0
        with self._naming(name):
            if type in _NOT_MADE_BY_MKNOD:
                raise os_error(errno.EINVAL, name, f"mknod cannot make a {type.value}")
            os.mknod(at, _FORMATS[type] | mode, device, dir_fd=self._dir_fd)
            try:
                self._complete(at, _FORMATS[type] | mode, device, uid, gid)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(at, dir_fd=self._dir_fd)
                raise

    def make_symlink(self, name: str, target: str, /) -> None:
        """See `Directory.make_symlink`.

        Raises:
            InvalidPathError: *target* holds a NUL, or a character that no file name can hold.
            PathKindError: *target* is not a string.
        """
        at = self._at(name)
        encode(target, kind="target of a link")
        with self._naming(name):
            os.symlink(target, at, dir_fd=self._dir_fd)

    def write_file(self, name: str, data: bytes, /, *, mode: int) -> None:
        """See `Directory.write_file`; until it is complete, only its maker may use it."""
        at = self._at(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._naming(name):
            descriptor = os.open(at, flags, mode & stat.S_IRWXU, dir_fd=self._dir_fd)
            try:
                _fill(descriptor, data, mode)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(at, dir_fd=self._dir_fd)
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
        """See `Directory.mend`.

        Raises:
            OSError: ``ESTALE`` if *name* is another file by now; ``ELOOP`` if it is a symbolic
                link, which has no mode.
        """
        at = self._at(name)
        with self._naming(name), self._held(at) as (result, path):
            status = status_of(result)
            if not (
                status.same_file(expected)
                and status.type is expected.type
                and (status.major, status.minor) == (expected.major, expected.minor)
            ):
                raise os_error(errno.ESTALE, name, f"it is another {status.type.value} by now")
            if status.type is FileType.SYMLINK:
                raise os_error(errno.ELOOP, name, "it is a symbolic link, which has no mode")
            _change(path, result, mode=mode, uid=uid, gid=gid)

    def link(self, name: str, to: Directory, to_name: str, /) -> None:
        """See `Directory.link`.

        Raises:
            OSError: ``EXDEV`` if *to* is on another file system or mount, or another kind of
                handle.
        """
        at = self._at(name)
        with self._naming(name, to, to_name):
            self._link(at, *self._target(to, to_name))

    def rename(self, name: str, to: Directory, to_name: str, /, *, replace: bool) -> None:
        """See `Directory.rename`.

        Raises:
            OSError: ``EXDEV`` if *to* is on another file system or mount, or another kind of
                handle.
        """
        at = self._at(name)
        with self._naming(name, to, to_name):
            to_at, to_fd = self._target(to, to_name)
            if replace:
                os.rename(at, to_at, src_dir_fd=self._dir_fd, dst_dir_fd=to_fd)
            else:
                self._rename_new(at, to_at, to_fd)

    def unlink(self, name: str, /) -> None:
        """See `Directory.unlink`."""
        at = self._at(name)
        with self._naming(name):
            os.unlink(at, dir_fd=self._dir_fd)

    def remove_directory(self, name: str, /) -> None:
        """See `Directory.remove_directory`."""
        at = self._at(name)
        with self._naming(name):
            os.rmdir(at, dir_fd=self._dir_fd)

    def _at(self, name: str) -> str:
        """Return what stands for *name* in a system call, once it is known to be a name."""
        check_name(name)
        return name if self._dir_fd is not None else join(self._path, name)

    def _naming(self, name: str, to: Directory | None = None, to_name: str = "") -> Naming:
        return Naming(join(self._path, name), None if to is None else join(to.path, to_name))

    def _target(self, to: Directory, name: str) -> tuple[str, int | None]:
        """Return what `_at` and ``_dir_fd`` are for *name* in *to*."""
        if not isinstance(to, type(self)):
            reason = f"{to!r} is another kind of handle than {self!r}"
            raise os_error(errno.EXDEV, name, reason)
        return to._at(name), to._dir_fd  # noqa: SLF001 - of one class

    @abc.abstractmethod
    def _held(self, at: str) -> AbstractContextManager[tuple[os.stat_result, str]]:
        """Hold what is at *at* now: its own status, and a path by which to change it."""

    def _complete(self, at: str, mode: int, device: int, uid: int, gid: int) -> None:
        """Give what was just made at *at* its owner and its exact mode, whatever the umask."""
        with self._held(at) as (result, path):
            made = stat.S_IFMT(result.st_mode), result.st_rdev if device else 0
            if made != (stat.S_IFMT(mode), device):
                raise os_error(errno.ESTALE, at, "somebody replaced it while it was made")
            _change(path, result, mode=stat.S_IMODE(mode), uid=uid, gid=gid)

    def _link(self, at: str, to_at: str, to_fd: int | None) -> None:
        os.link(at, to_at, src_dir_fd=self._dir_fd, dst_dir_fd=to_fd, follow_symlinks=False)

    def _rename_new(self, at: str, to_at: str, to_fd: int | None) -> None:
        """Rename without replacing, as well as it goes without renameat2(2).

        Anything but a directory has both names for a moment. A directory replaces an *empty*
        directory that somebody makes under the new name just then.
        """
        if not stat.S_ISDIR(os.lstat(at, dir_fd=self._dir_fd).st_mode):
            self._link(at, to_at, to_fd)
            try:
                os.unlink(at, dir_fd=self._dir_fd)
            except OSError:
                os.unlink(to_at, dir_fd=to_fd)
                raise
            return
        try:
            os.lstat(to_at, dir_fd=to_fd)
        except FileNotFoundError:
            os.rename(at, to_at, src_dir_fd=self._dir_fd, dst_dir_fd=to_fd)
        else:
            raise os_error(errno.EEXIST, to_at)


def _fill(descriptor: int, data: bytes, mode: int) -> None:
    """Give a new file its content and its exact mode, and close it.

    The content comes first: writing can clear set-ID bits, see write(2).
    """
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _change(
    path: str, now: os.stat_result, *, mode: int | None, uid: int | None, gid: int | None
) -> None:
    """Set what differs from *now*; the owner first, for chown(2) clears set-ID bits."""
    new_uid = -1 if uid is None or uid == now.st_uid else uid
    new_gid = -1 if gid is None or gid == now.st_gid else gid
    owned_anew = (new_uid, new_gid) != (-1, -1)
    if owned_anew:
        os.chown(path, new_uid, new_gid)
    if mode is not None and (owned_anew or mode != stat.S_IMODE(now.st_mode)):
        os.chmod(path, mode)
