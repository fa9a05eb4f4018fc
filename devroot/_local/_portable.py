"""Paths instead of descriptors: for systems without ``O_PATH``, and for a faked `os`.

The results are those of the other ways, but only while nobody else renames anything: between
looking at a name and using it, another process can put a link there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING, Final

from devroot._local._directory import NamedDirectory, Naming, status_of
from devroot._local._handle import read_all
from devroot._local._walk import Trail, is_protected, join, os_error

if TYPE_CHECKING:
    from collections.abc import Generator

    from devroot._filesystem import FileStatus
    from devroot._paths import ContainerPath

_NAME_MAX: Final = 255


class PathTrail(Trail):
    """A place that is known by its path only.

    Unlike `DescriptorTrail` it knows neither magic links nor mounts without links, and a place
    whose whole path is longer than ``PATH_MAX`` is ``ENAMETOOLONG``.
    """

    __slots__ = ()

    def __init__(self, root: ContainerPath) -> None:
        super().__init__(root)
        if not stat.S_ISDIR(os.stat(str(root)).st_mode):
            raise self.error(errno.ENOTDIR)

    def status(self) -> os.stat_result:
        """Return the status of the place itself."""
        return os.stat(self.text, follow_symlinks=self.leaf is None)

    def read_bytes(self) -> bytes:
        """Return the content of the place, if it still is the regular file that it was.

        Raises:
            OSError: ``ESTALE`` if it is another file by now.
        """
        expected = self.status()
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.text, flags)
        try:
            with Naming(self.text):
                if not status_of(os.fstat(descriptor)).same_file(status_of(expected)):
                    raise self.error(errno.ESTALE)
                return read_all(descriptor)
        finally:
            os.close(descriptor)

    def enter(self, name: str) -> int:
        """See `Trail.enter`."""
        self.leaf = name
        if len(os.fsencode(name)) > _NAME_MAX:  # a faked os takes any
            raise self.error(errno.ENAMETOOLONG)
        with Naming(self.text):
            kind = stat.S_IFMT(os.lstat(self.text).st_mode)
        if kind == stat.S_IFDIR:
            self.names.append(name)
            self.leaf = None
        return kind

    def search(self) -> None:
        """See `Trail.search`."""
        with Naming(self.text):
            os.stat(f"{self.text}/.")

    def up(self) -> None:
        """See `Trail.up`."""
        if self.names:
            self.names.pop()

    def follow_leaf(self, *, trailing: bool) -> str:
        """See `Trail.follow_leaf`."""
        parent = join(self.root, "/".join(self.names))
        if trailing and is_protected(os.lstat(self.text), os.stat(parent)):
            raise self.error(errno.EACCES)
        with Naming(self.text):
            target = os.readlink(self.text)
        self.leaf = None
        if target.startswith("/"):
            self.names.clear()
        return target


class PortableDirectory(NamedDirectory):
    """A directory that is known by its path only.

    It never notices that it was moved: the path is looked up anew by each call. Once it was
    deleted, `status` raises `FileNotFoundError` and does not tell of 0 links.
    """

    __slots__ = ("_lock",)

    def __init__(self, path: ContainerPath) -> None:
        super().__init__(path, dir_fd=None)
        self._lock = -1

    def close(self) -> None:
        """See `Directory.close`; there is only a lock to give back."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def status(self) -> FileStatus:
        """See `Directory.status`."""
        return status_of(os.stat(str(self._path)))

    def names(self) -> list[str]:
        """See `Directory.names`."""
        return os.listdir(str(self._path))

    def open_directory(self, name: str, /) -> PortableDirectory:
        """See `Directory.open_directory`."""
        at = self._at(name)
        if not stat.S_ISDIR(os.lstat(at).st_mode):
            raise os_error(errno.ENOTDIR, at)
        return PortableDirectory(self._path / name)

    def try_lock(self) -> bool:
        """See `Directory.try_lock`."""
        if self._lock < 0:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            self._lock = os.open(str(self._path), flags)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @contextlib.contextmanager
    def _held(self, at: str) -> Generator[tuple[os.stat_result, str], None, None]:
        yield os.lstat(at), at
