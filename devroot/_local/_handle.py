"""`LocalDirectory`, an open directory, and other files that are held by a descriptor."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import warnings
from typing import TYPE_CHECKING, Final, cast

from devroot import _syscalls
from devroot._local._bulk import BulkNamedDirectory
from devroot._local._directory import status_of
from devroot._local._walk import os_error

if TYPE_CHECKING:
    from collections.abc import Generator

    from devroot._filesystem import FileStatus
    from devroot._paths import ContainerPath

_HELD_FILES: Final = "/proc/thread-self/fd"
REREADS: Final = 16
"""How often a file is read at most that changes while it is read."""

_CHUNK: Final = 2**20
READABLE_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def held_path(descriptor: int) -> str:
    """Return a path of the very file that *descriptor* holds, see proc_pid_fd(5).

    It is that of the calling thread, which may have descriptors of its own.
    """
    return f"{_HELD_FILES}/{descriptor}"


@contextlib.contextmanager
def through_procfs() -> Generator[None, None, None]:
    """Say so if a `held_path` cannot be used, rather than that a file does not exist.

    Raises:
        OSError: ``EOPNOTSUPP`` if there is no procfs at ``/proc``.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        if os.path.exists(_HELD_FILES):
            raise
        reason = "this needs procfs mounted at /proc"
        raise os_error(errno.EOPNOTSUPP, str(error.filename), reason) from error


def read_held(descriptor: int) -> bytes:
    """Return the content of the regular file that *descriptor* holds with ``O_PATH``.

    It is read to its end, whatever size it claims: files of proc(5) claim 0. If the kernel says
    that it changed meanwhile, as it does of ``mountinfo`` by poll(2), it is read anew, `REREADS`
    times at most.

    Raises:
        OSError: ``EACCES``; ``EAGAIN`` rather than waiting; ``EOPNOTSUPP`` if there is no procfs
            at ``/proc``.
    """
    data = b""
    for _ in range(REREADS):
        with through_procfs():
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            readable = os.open(held_path(descriptor), flags)
        try:
            data = read_all(readable)
            poll = select.poll()
            poll.register(readable, select.POLLERR | select.POLLPRI)
            if not poll.poll(0):
                break
        finally:
            os.close(readable)
    return data


def read_all(descriptor: int) -> bytes:
    """Return what *descriptor* still has, read in as few and as large steps as possible."""
    chunks: list[bytes] = []
    while chunk := os.read(descriptor, _CHUNK):
        chunks.append(chunk)
    return b"".join(chunks)


class LocalDirectory(BulkNamedDirectory):
    """A directory that is held open, and locked by `try_lock` as long as it is.

    Races: it stays the same directory, wherever its name is moved to, and each name is looked up
    in it alone. An owner or a mode is changed through a descriptor of the file, never by name.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int, path: ContainerPath) -> None:
        super().__init__(path, dir_fd=descriptor)
        self._descriptor = descriptor

    def __del__(self) -> None:
        if self._descriptor >= 0:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=2, source=self)
            self.close()

    def close(self) -> None:
        """See `Directory.close`."""
        descriptor, self._descriptor, self._dir_fd = self._descriptor, -1, -1
        if descriptor >= 0:
            os.close(descriptor)

    def status(self) -> FileStatus:
        """See `Directory.status`."""
        with self._naming(""):
            return status_of(os.fstat(self._open()))

    def names(self) -> list[str]:
        """See `Directory.names`."""
        with self._naming(""):
            return os.listdir(self._open())

    def open_directory(self, name: str, /) -> LocalDirectory:
        """See `Directory.open_directory`."""
        at = self._at(name)
        with self._naming(name):
            descriptor = os.open(at, READABLE_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._descriptor)
        return LocalDirectory(descriptor, self._path / name)

    def try_lock(self) -> bool:
        """See `Directory.try_lock`."""
        with self._naming(""):
            try:
                fcntl.flock(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def _open(self) -> int:
        """Return the descriptor; some calls of Python take -1 for something else."""
        if self._descriptor < 0:
            raise os_error(errno.EBADF, "")
        return self._descriptor

    @contextlib.contextmanager
    def _held(self, at: str) -> Generator[tuple[os.stat_result, str], None, None]:
        flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(at, flags, dir_fd=self._descriptor)
        try:
            with through_procfs():
                yield os.fstat(descriptor), held_path(descriptor)
        finally:
            os.close(descriptor)

    def _rename_new(self, at: str, to_at: str, to_fd: int | None) -> None:
        flags = _syscalls.RENAME_NOREPLACE
        target = cast("int", to_fd)  # a peer has one, too
        names = os.fsencode(at), os.fsencode(to_at)
        try:
            _syscalls.renameat2(self._descriptor, names[0], target, names[1], flags=flags)
        except OSError as error:
            if error.errno not in {errno.ENOSYS, errno.EINVAL}:
                raise
            super()._rename_new(at, to_at, to_fd)
