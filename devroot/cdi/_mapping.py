"""One path from side to side: by a table of mounts, or without a leading directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devroot._paths import ContainerPath, HostPath, as_container_path
from devroot.errors import NotMountedError, PathKindError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from devroot._mounts import MountTable

    Mapper = Callable[[str], str]
    """Takes a path to the other side; `NotMountedError` if it has no place there."""

_NO_NAMES: Final = frozenset({"", ".", ".."})


def host_mapper(mounts: MountTable) -> Mapper:
    """Return what takes a path of the container to the host."""
    return _by_directory(
        lambda text: str(mounts.to_host(ContainerPath(text))),
        points={str(mount.container) for mount in mounts},
        seen=frozenset(),
    )


def container_mapper(mounts: MountTable) -> Mapper:
    """Return what takes a path of the host to the container."""
    return _by_directory(
        lambda text: str(mounts.to_container(HostPath(text))),
        points={str(mount.host) for mount in mounts},
        seen=frozenset(str(mount.container) for mount in mounts),
    )


def _by_directory(mapper: Mapper, *, points: set[str], seen: frozenset[str]) -> Mapper:
    """Return a mapper that asks *mapper* once for a directory, and not for each name in it.

    What is in a directory goes where the directory goes, except for a name on which a mount
    itself stands.

    Args:
        mapper: asked for directories and for exceptions.
        points: the sides of mounts that are on the side of the text.
        seen: those on the side of the answer, which can hide what would be there.
    """
    directories: dict[str, str | None] = {}

    def look(directory: str) -> str | None:
        """Return where a directory goes; None if it is not known, or written in another way."""
        if directory and (directory == "/" or str(ContainerPath(directory)) != directory):
            return None
        try:
            return mapper(directory or "/").rstrip("/")
        except NotMountedError:
            return None

    def quick(text: str) -> str:
        if text in points or "\0" in text:
            return mapper(text)
        directory, _, name = text.rpartition("/")
        if name in _NO_NAMES:
            return mapper(text)
        try:
            place = directories[directory]
        except KeyError:
            place = directories[directory] = look(directory)
        if place is None:
            return mapper(text)
        found = f"{place}/{name}"
        return mapper(text) if found in seen else found

    return quick


def stripper(strip: Iterable[str | ContainerPath]) -> Mapper | None:
    """Return what takes a leading directory away; None if there is nothing to take.

    Raises:
        InvalidPathError: one of the directories is none.
        PathKindError: one of them, or all together, are of another kind.
    """
    if isinstance(strip, (str, ContainerPath)):
        raise PathKindError(strip, wanted="list of container paths")
    prefixes = sorted((str(as_container_path(one)) for one in strip), key=len, reverse=True)
    if not prefixes:
        return None

    def cut(text: str) -> str:
        normal = str(ContainerPath(text))
        for prefix in prefixes:
            if normal == prefix or normal.startswith(prefix.rstrip("/") + "/"):
                return normal[len(prefix.rstrip("/")) :] or "/"
        return text

    return cut
