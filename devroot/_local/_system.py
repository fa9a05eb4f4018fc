"""`LocalFileSystem`: the real file system, with every link resolved inside a root."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from devroot._filesystem import FileType
from devroot._local._directory import Naming, status_of
from devroot._local._handle import READABLE_DIRECTORY, LocalDirectory, read_held
from devroot._local._openat2 import Support, lookup, place_of
from devroot._local._portable import PathTrail, PortableDirectory
from devroot._local._walk import DescriptorTrail, check, follow, join, os_error

if TYPE_CHECKING:
    from collections.abc import Generator

    from devroot._filesystem import Directory, FileStatus
    from devroot._paths import ContainerPath

Resolver: TypeAlias = Literal["auto", "openat2", "walk", "portable"]
"""How a path is followed inside a root; see `LocalFileSystem`."""

_RESOLVERS: Final[tuple[Resolver, ...]] = ("auto", "openat2", "walk", "portable")


@attrs.frozen
class LocalFileSystem:
    """The file system that this process sees; a `FileSystem`.

    Args:
        resolver: how a path is followed inside a root. The results are the same.

            - ``"openat2"``: by openat2(2) with ``RESOLVE_IN_ROOT`` (Linux 5.6), in one call.
            - ``"walk"``: component by component, each directory held by an ``O_PATH`` descriptor.
            - ``"portable"``: component by component, by plain calls of `os` with paths. It works
              on other systems and under a faked `os`, but only while nobody else renames
              anything: what it opens or changes may by then lie elsewhere.
            - ``"auto"``: the first of these that works here. That openat2 is refused
              (``ENOSYS``, ``EPERM`` or ``EINVAL`` even for the root) is remembered by this object.

    Names of files are UTF-8, as mount tables have them: where the locale makes Python take them for
    another encoding, one that is not ASCII is an `OSError` (``EILSEQ``).

    Races: except with ``"portable"``, whatever another process renames meanwhile, a file outside
    of the root is never opened; a path that `resolve` returns can be another file soon.

    Raises:
        ValueError: *resolver* is none of these.

    .. versionadded:: 0.1.0
    """

    resolver: Resolver = attrs.field(
        default="auto", kw_only=True, validator=attrs.validators.in_(_RESOLVERS)
    )
    _support: Support = attrs.field(factory=Support, init=False, repr=False, eq=False)

    def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
        """See `FileSystem.resolve`.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: ``ENOENT``, ``ENOTDIR``, ``ELOOP``, ``EACCES``, ``ENAMETOOLONG``.
            PathKindError: *root* is not a `ContainerPath`, or *unsafe_path* not a string.
        """
        data = check(root, unsafe_path)
        if self._is_portable:
            return _by_path(root, unsafe_path).path
        descriptor, path = self._open_place(root, unsafe_path, data)
        os.close(descriptor)
        return path

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> Directory:
        """See `FileSystem.open_directory`.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: ``ENOENT``, ``ENOTDIR``, ``ELOOP``, ``EACCES``, ``ENAMETOOLONG``.
            PathKindError: *root* is not a `ContainerPath`, or *unsafe_path* not a string.
        """
        data = check(root, unsafe_path)
        if self._is_portable:
            trail = _by_path(root, unsafe_path, directory=True)
            trail.search()
            return PortableDirectory(trail.path)
        descriptor, path = self._open_place(root, unsafe_path, data, directory=True)
        try:
            with Naming(str(path)):
                return LocalDirectory(os.open(".", READABLE_DIRECTORY, dir_fd=descriptor), path)
        finally:
            os.close(descriptor)

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """See `FileSystem.status`.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: ``ENOENT``, ``ENOTDIR``, ``ELOOP``, ``EACCES``, ``ENAMETOOLONG``.
            PathKindError: *root* is not a `ContainerPath`, or *unsafe_path* not a string.
        """
        data = check(root, unsafe_path)
        if self._is_portable:
            return status_of(_by_path(root, unsafe_path).status())
        with self._held(root, unsafe_path, data) as descriptor:
            return status_of(os.fstat(descriptor))

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        """See `FileSystem.read_bytes`.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: ``EINVAL`` if it is not a regular file, and ``ENOENT``, ``ENOTDIR``,
                ``ELOOP``, ``EACCES``, ``ENAMETOOLONG``; ``EAGAIN`` rather than waiting, as for
                ``/proc/kmsg``.
            PathKindError: *root* is not a `ContainerPath`, or *unsafe_path* not a string.
        """
        data = check(root, unsafe_path)
        if self._is_portable:
            trail = _by_path(root, unsafe_path)
            _require(trail.status(), FileType.REGULAR, trail.text)
            return trail.read_bytes()
        with self._held(root, unsafe_path, data) as descriptor:
            _require(os.fstat(descriptor), FileType.REGULAR)
            return read_held(descriptor)

    def read_link(self, root: ContainerPath, unsafe_path: str, /) -> str:
        """See `FileSystem.read_link`.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: ``EINVAL`` if it is not a link, and ``ENOENT``, ``ENOTDIR``, ``ELOOP``,
                ``EACCES``, ``ENAMETOOLONG``.
            PathKindError: *root* is not a `ContainerPath`, or *unsafe_path* not a string.
        """
        data = check(root, unsafe_path)
        if self._is_portable:
            trail = _by_path(root, unsafe_path, last_link=False)
            _require(trail.status(), FileType.SYMLINK, trail.text)
            return os.readlink(trail.text)
        with self._held(root, unsafe_path, data, last_link=False) as descriptor:
            _require(os.fstat(descriptor), FileType.SYMLINK)
            return os.readlink("", dir_fd=descriptor)

    @property
    def _is_portable(self) -> bool:
        return self.resolver == "portable" or (
            self.resolver == "auto" and not hasattr(os, "O_PATH")
        )

    @contextlib.contextmanager
    def _held(
        self, root: ContainerPath, unsafe_path: str, data: bytes, *, last_link: bool = True
    ) -> Generator[int, None, None]:
        """Give a descriptor that holds the file without opening it; name it in each `OSError`."""
        descriptor = self._by_openat2(root, data, 0 if last_link else os.O_NOFOLLOW)
        if descriptor is None:
            descriptor, _ = _by_walk(root, unsafe_path, last_link=last_link)
        try:
            yield descriptor
        except OSError as error:
            place = place_of(descriptor, root)
            error.filename = join(root, unsafe_path.strip("/")) if place is None else str(place)
            raise
        finally:
            os.close(descriptor)

    def _open_place(
        self, root: ContainerPath, unsafe_path: str, data: bytes, *, directory: bool = False
    ) -> tuple[int, ContainerPath]:
        """Return a descriptor that holds the file without opening it, and where it is."""
        descriptor = self._by_openat2(root, data, os.O_DIRECTORY if directory else 0)
        if descriptor is not None:
            path = place_of(descriptor, root)
            if path is not None:
                return descriptor, path
            os.close(descriptor)
        return _by_walk(root, unsafe_path, directory=directory)

    def _by_openat2(self, root: ContainerPath, data: bytes, flags: int) -> int | None:
        if self.resolver == "walk":
            return None
        descriptor = lookup(root, data, flags, self._support)
        if descriptor is None and self.resolver == "openat2" and self._support.refused:
            reason = 'openat2(2) is refused here; choose resolver="auto"'
            raise os_error(self._support.refused, str(root), reason)
        return descriptor


def _by_walk(
    root: ContainerPath, unsafe_path: str, *, last_link: bool = True, directory: bool = False
) -> tuple[int, ContainerPath]:
    with DescriptorTrail(root) as trail:
        follow(trail, unsafe_path, last_link=last_link, directory=directory)
        return trail.take(), trail.path


def _by_path(
    root: ContainerPath, unsafe_path: str, *, last_link: bool = True, directory: bool = False
) -> PathTrail:
    trail = PathTrail(root)
    follow(trail, unsafe_path, last_link=last_link, directory=directory)
    return trail


def _require(result: os.stat_result, type_: FileType, filename: str = "") -> None:
    found = status_of(result).type
    if found is not type_:
        reason = f"it is a {found.value}, not a {type_.value}"
        raise os_error(errno.EINVAL, filename, reason)
