"""Find regular files inside a root: candidates in turn, each one passed over with its reason.

Whatever a candidate leads to, it leads there inside the root: an absolute link is meant from the
root, and ``..`` stops at it. Names are taken as they are; only a pattern has wildcards.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from typing import TYPE_CHECKING, Final, TypeAlias, final

import attrs

from devroot._filesystem import FileType
from devroot._findings import DriverFile, Findings, Obstacle, PassedOver
from devroot._ldcache import SIZE_MAX, LdCache
from devroot.errors import (
    DriverFileError,
    DriverRootError,
    InvalidPathError,
    LdCacheError,
    NotMountedError,
    PathKindError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devroot._filesystem import FileSystem
    from devroot._paths import ContainerPath, HostPath

LD_SO_CACHE: Final = "/etc/ld.so.cache"
"""Where ldconfig(8) lists the libraries of a root."""

SYSTEM_DIRECTORIES: Final = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/opt/bin",
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
)
"""Where distributions keep libraries of 64 bits and programs, in the order of the search."""

_OUT_OF_RESOURCES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""What says nothing of a candidate, only of this process or machine."""

_NOT_PERMITTED: Final = {errno.EACCES, errno.EPERM}
_READ_OR_EXECUTE: Final = 0o555
_WILDCARDS: Final = re.compile(r"[*?[]")
_DIGITS: Final = re.compile(r"([0-9]+)")


_Candidate: TypeAlias = "str | PassedOver"
"""A place inside the root to look at, or one that was given up already."""


@final
@attrs.frozen(kw_only=True)
class Search:
    """Searches in one root.

    Attributes:
        filesystem: through which files are seen.
        root: the root.
        to_host: gives the host path of a place in it, or raises `NotMountedError`.
    """

    filesystem: FileSystem
    root: ContainerPath
    to_host: Callable[[ContainerPath], HostPath]

    def find(self, name: str, *, directories: Iterable[str], cache: str | None) -> DriverFile:
        """See `DriverRoot.find`."""
        _check(name, kind="name of a driver file")
        passed_over: list[PassedOver] = []
        for candidate in self._places_of(name, as_texts(directories), cache):
            found = self._judge(candidate)
            if isinstance(found, DriverFile):
                return attrs.evolve(found, passed_over=tuple(passed_over))
            passed_over.append(found)
        raise DriverFileError(name, driver_root=self.root, passed_over=tuple(passed_over))

    def find_all(self, pattern: str, *, directories: Iterable[str], cache: str | None) -> Findings:
        """See `DriverRoot.find_all`."""
        _check(pattern, kind="pattern for driver files")
        passed_over: list[PassedOver] = []
        files: dict[ContainerPath, DriverFile] = {}
        for candidate in self._matches(pattern, as_texts(directories), cache):
            found = self._judge(candidate)
            if isinstance(found, DriverFile):
                files.setdefault(found.container, found)
            else:
                passed_over.append(found)
        return Findings(
            pattern=pattern,
            driver_root=self.root,
            files=tuple(files.values()),
            passed_over=tuple(passed_over),
        )

    def _places_of(
        self, name: str, directories: tuple[str, ...], cache: str | None
    ) -> Iterator[_Candidate]:
        """Yield where a file of this name can be."""
        if name.startswith("/"):
            yield name
            return
        for directory in directories:
            yield f"{_base(directory)}/{name}"
        if cache is None or "/" in name:
            return
        libraries = self._read_cache(cache)
        if isinstance(libraries, PassedOver):
            yield libraries
            return
        listed = libraries.lookup(name)
        if not listed:
            yield self._passed_over(cache, Obstacle.MISSING, f"it does not list {name}")
        for entry in listed:
            if entry.other_abi:
                reason = f"{entry.other_abi}, says {self._text(cache)}"
                yield self._passed_over(entry.path, Obstacle.OTHER_ABI, reason)
            else:
                yield _inside(entry.path)

    def _matches(
        self, pattern: str, directories: tuple[str, ...], cache: str | None
    ) -> Iterator[_Candidate]:
        """Yield the names that match a pattern, and the places that have none."""
        if pattern.startswith("/"):
            yield from self._expand("", pattern.strip("/").split("/"))
            return
        names = pattern.split("/")
        searched = dict.fromkeys(map(_base, directories))
        for directory in searched:
            yield from self._expand(directory, names)
        if cache is None:
            return
        libraries = self._read_cache(cache)
        if isinstance(libraries, PassedOver):
            yield libraries
            return
        for directory in map(_base, libraries.directories()):
            if directory not in searched:
                yield from self._expand(directory, names)

    def _expand(self, base: str, names: list[str]) -> Iterator[_Candidate]:
        """Yield the places below *base* that match the names of a pattern, one after another."""
        if not names:
            yield base
            return
        name, *rest = names
        if not _WILDCARDS.search(name):
            yield from self._expand(f"{base}/{name}", rest)
            return
        try:
            with self.filesystem.open_directory(self.root, base) as directory:
                listed = directory.names()
        except OSError as error:
            yield self._obstacle(base, error)
            return
        found = _matching(name, listed)
        if not found:
            yield self._passed_over(base, Obstacle.MISSING, f"no name in it matches {name}")
        for match in found:
            yield from self._expand(f"{base}/{match}", rest)

    def _read_cache(self, cache: str) -> LdCache | PassedOver:
        try:
            status = self.filesystem.status(self.root, cache)
            if status.type is not FileType.REGULAR:
                return self._not_regular(cache, status.type)
            if status.size > SIZE_MAX:
                reason = f"skipped: it has {status.size} bytes, more than any real one"
                return self._passed_over(cache, Obstacle.BROKEN_CACHE, reason)
            return LdCache.parse(self.filesystem.read_bytes(self.root, cache))
        except OSError as error:
            return self._obstacle(cache, error)
        except LdCacheError as error:
            reason = f"skipped, for it cannot be trusted: {error.reason}"
            return self._passed_over(cache, Obstacle.BROKEN_CACHE, reason)

    def _judge(self, candidate: _Candidate) -> DriverFile | PassedOver:
        """Return the file to which a candidate leads, or why that is none."""
        if isinstance(candidate, PassedOver):
            return candidate
        try:
            place = self.filesystem.resolve(self.root, candidate)
            status = self.filesystem.status(self.root, place.relative_to(self.root))
        except OSError as error:
            return self._obstacle(candidate, error)
        if status.type is not FileType.REGULAR:
            return self._not_regular(candidate, status.type)
        if not status.mode & _READ_OR_EXECUTE:
            reason = f"its mode {status.mode:04o} lets nobody read it"
            return self._passed_over(candidate, Obstacle.NOT_READABLE, reason)
        try:
            host = self.to_host(place)
        except NotMountedError as error:
            return self._passed_over(candidate, Obstacle.NOT_FROM_HOST, f"{error}")
        return DriverFile(container=place, host=host, asked=candidate)

    def _not_regular(self, candidate: str, type_: FileType) -> PassedOver:
        reason = f"not a regular file ({type_.value})"
        return self._passed_over(candidate, Obstacle.NOT_REGULAR, reason)

    def _obstacle(self, candidate: str, error: OSError) -> PassedOver:
        """Return what an error says of a candidate.

        Raises:
            OSError: *error* itself, if it says nothing of the candidate.
        """
        if error.errno in _OUT_OF_RESOURCES:
            raise error
        place = str(error.filename)
        if error.errno == errno.ENOENT:
            return self._missing(candidate, place)
        if error.errno == errno.ENOTDIR:
            obstacle, reason = Obstacle.MISSING, f"{place} is not a directory"
        elif error.errno == errno.ELOOP:
            obstacle, reason = Obstacle.LOOP, f"too many links, or a magic one, at {place}"
        elif error.errno in _NOT_PERMITTED:
            obstacle, reason = Obstacle.NOT_READABLE, f"this process may not look into {place}"
        else:
            obstacle, reason = Obstacle.UNREACHABLE, f"{place}: {os.strerror(error.errno or 0)}"
        return self._passed_over(candidate, obstacle, reason)

    def _missing(self, candidate: str, place: str) -> PassedOver:
        """Say of a candidate that does not exist whether that is the end of a link."""
        text = self._text(candidate)
        if text == place:
            return self._passed_over(candidate, Obstacle.MISSING, "it does not exist")
        if text.startswith(f"{place}/"):  # nothing on the way is a link
            return self._passed_over(candidate, Obstacle.MISSING, f"{place} does not exist")
        try:
            target = self.filesystem.read_link(self.root, candidate)
        except OSError:
            return self._passed_over(candidate, Obstacle.MISSING, f"{place} does not exist")
        reason = f"a link to {target}, but inside the driver root {place} does not exist"
        return self._passed_over(candidate, Obstacle.DANGLING, reason)

    def _passed_over(self, candidate: str, obstacle: Obstacle, reason: str) -> PassedOver:
        return PassedOver(path=self._text(candidate), obstacle=obstacle, reason=reason)

    def _text(self, candidate: str) -> str:
        """Return the text of a place inside the root, without following anything."""
        return str(self.root).rstrip("/") + _base(candidate) or "/"


def require_root(filesystem: FileSystem, root: ContainerPath, host: HostPath) -> None:
    """Make sure that a driver root is a directory.

    Raises:
        DriverRootError: it is none, or this process cannot look into it.
    """
    try:
        filesystem.status(root, "/")
    except OSError as error:
        reason = f"the driver root cannot be looked into; is {host} mounted there?"
        raise DriverRootError(error.errno or errno.EIO, reason, str(root)) from error


def _check(text: str, *, kind: str) -> None:
    """Make sure that *text* is something to look for.

    Raises:
        InvalidPathError: it is empty, or holds a NUL.
        PathKindError: it is not a string.
    """
    if not isinstance(text, str):
        raise PathKindError(text, wanted="str")
    if not text:
        raise InvalidPathError(text, kind=kind, reason="it is empty")
    if "\0" in text:
        raise InvalidPathError(text, kind=kind, reason="it holds a NUL")


def as_texts(directories: Iterable[str]) -> tuple[str, ...]:
    """Return the directories, which are texts and not one text.

    Raises:
        PathKindError: they are not.
    """
    if isinstance(directories, str):
        raise PathKindError(directories, wanted="tuple of directories")
    texts = tuple(directories)
    for text in texts:
        _check(text, kind="directory of a driver root")
    return texts


def _base(directory: str) -> str:
    """Return the text to which a slash and a name are added for a place in a directory."""
    text = directory.strip("/")
    return f"/{text}" if text else ""


def _inside(path: str) -> str:
    """Return a path inside the root as one that starts there."""
    return f"/{path.lstrip('/')}"


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that match, as glob(7) has it, in the order of `_natural`."""
    match = re.compile(fnmatch.translate(pattern)).match
    dotted = pattern.startswith(".")
    found = [name for name in names if match(name) and (dotted or not name.startswith("."))]
    return sorted(found, key=lambda name: (_natural(name), name))


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key by which numbers in names count as numbers, the greater ones first."""
    parts = _DIGITS.split(name)
    numbers = [*map(int, parts[1::2]), 0]
    return [(text, -number) for text, number in zip(parts[::2], numbers, strict=True)]
