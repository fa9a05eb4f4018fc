"""Declared mounts: which host path is asked to appear at which container path.

A `MountTable` maps paths both ways without any I/O. It applies its mounts in the order given,
as the kernel would: a later one on the same path, or on an ancestor, hides what was there.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot._paths import (
    ContainerPath,
    HostPath,
    as_container_path,
    as_host_path,
    container_path_of_normal,
    host_path_of_normal,
)
from devroot.errors import InvalidMountError, InvalidPathError, NotMountedError, PathKindError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NEAREST: Final = 3
_ACCESS_MODES: Final = ("ro", "rw")


@final
@attrs.frozen(kw_only=True)
class Mount:
    """A host path that is asked to appear at a container path.

    Attributes:
        host: the host side; None if nobody here knows it (an ``emptyDir``, a config map, a
            tmpfs). Such a mount has no host path, and still hides what is below it.
        container: where it appears.
        read_only: whether it is asked to be read-only. Mounts below it keep their own setting.

    Raises:
        InvalidPathError: a side is not an absolute, normalisable path.
        PathKindError: a side is a path of the other side.

    .. versionadded:: 0.1.0
    """

    host: HostPath | None = attrs.field(converter=attrs.converters.optional(as_host_path))
    container: ContainerPath = attrs.field(converter=as_container_path)
    read_only: bool = False

    @classmethod
    def parse(cls, text: str) -> Mount:
        """Return the mount that ``HOST:CONTAINER`` or ``HOST:CONTAINER:ro`` describes.

        Args:
            text: two absolute paths; ``ro`` or ``rw`` (the default) may follow.

        Raises:
            InvalidMountError: the text is not of that form, or a path in it is not possible.
        """
        host, *rest = text.split(":")
        if len(rest) not in {1, 2} or (len(rest) == 2 and rest[1] not in _ACCESS_MODES):  # noqa: PLR2004
            raise InvalidMountError(text, reason="write HOST:CONTAINER, or HOST:CONTAINER:ro")
        try:
            return cls(host=host, container=rest[0], read_only=rest[1:] == ["ro"])
        except InvalidPathError as error:
            raise InvalidMountError(text, reason=str(error)) from error

    def __str__(self) -> str:
        host = "(not from a known host path)" if self.host is None else str(self.host)
        return f"{host}:{self.container}{':ro' if self.read_only else ''}"


class _Node:
    """A path component in a trie: the mount that lies there, if any, and what is below.

    `skip` and `prefix` belong to the mount: how much of a path's text its own side takes, and
    what stands there on the other side. They make a mapping one slice and one addition.
    """

    __slots__ = ("below", "mount", "prefix", "skip")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.mount: Mount | None = None
        self.skip = 0
        self.prefix = ""

    def at(self, text: str) -> _Node:
        """Return the node of an absolute path below this one, made if it is missing."""
        node = self
        for name in _names(text):
            node = node.below.setdefault(name, _Node())
        return node

    def mounts(self) -> Iterator[Mount]:
        """Yield the mounts at and below this node, however deep they lie."""
        nodes: list[_Node] = [self]
        while nodes:
            node = nodes.pop()
            if node.mount is not None:
                yield node.mount
            nodes.extend(reversed(node.below.values()))


def _names(text: str) -> list[str]:
    return [] if text == "/" else text[1:].split("/")


def _prefix(path: HostPath | ContainerPath) -> str:
    return str(path).rstrip("/")


@final
class MountTable:
    """Mounts applied in order; maps host paths to container paths and back.

    The cost of a mapping depends on the depth of the path, that of `to_container` also on how
    often the host path is mounted, and never on the number of mounts.

    Args:
        mounts: the mounts in the order in which they are made.

    Raises:
        PathKindError: something that is no `Mount` is among them.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_by_host", "_mounts", "_visible")

    def __init__(self, mounts: Iterable[Mount] = ()) -> None:
        self._mounts = tuple(mounts)
        self._visible = _Node()
        for mount in self._mounts:
            if not isinstance(mount, Mount):
                raise PathKindError(mount, wanted="Mount")
            node = self._visible.at(str(mount.container))
            node.below = {}
            node.mount = mount
            node.skip = len(_prefix(mount.container))
            node.prefix = "" if mount.host is None else _prefix(mount.host)
        self._by_host: dict[str, list[Mount]] = {}
        for mount in self._visible.mounts():
            if mount.host is not None:
                self._by_host.setdefault(_prefix(mount.host), []).append(mount)

    def covering(self, path: ContainerPath) -> Mount | None:
        """Return the mount that serves *path*; None if none does.

        Raises:
            PathKindError: *path* is not a container path.
        """
        return self._covering(path).mount

    def _covering(self, path: ContainerPath) -> _Node:
        if type(path) is not ContainerPath:
            raise PathKindError(path, wanted="ContainerPath")
        node = found = self._visible
        for name in _names(str(path)):
            below = node.below.get(name)
            if below is None:
                break
            node = below
            if node.mount is not None:
                found = node
        return found

    def to_host(self, path: ContainerPath) -> HostPath:
        """Return the host path that appears at *path*.

        Raises:
            NotMountedError: no mount covers it, or the one that does has no known host side.
            PathKindError: *path* is not a container path.
        """
        node = self._covering(path)
        mount = node.mount
        if mount is None:
            raise NotMountedError(path, nearest=self._nearest(str(path)))
        if mount.host is None:
            reason = f"the mount at {mount.container} is not from a known host path"
            raise NotMountedError(path, reason=reason)
        text = str(path)
        rest = "" if text == "/" else text[node.skip :]
        return host_path_of_normal(node.prefix + rest or "/")

    def to_container(self, path: HostPath) -> ContainerPath:
        """Return where the host path *path* appears; the shortest answer if there are several.

        Raises:
            NotMountedError: it appears nowhere, or only where a deeper mount hides it.
            PathKindError: *path* is not a host path.
        """
        found = self.to_container_all(path)
        if found:
            return found[0]
        nearest = self._nearest_on_host(path)
        hidden = any(mount.host and path.is_relative_to(mount.host) for mount in nearest)
        reason = "what is mounted later or further down hides it" if hidden else ""
        raise NotMountedError(path, nearest=nearest, reason=reason)

    def to_container_all(self, path: HostPath) -> tuple[ContainerPath, ...]:
        """Return every place where the host path *path* appears, the shortest first.

        A place counts if `to_host` of it gives *path* back. The answer is empty if there is none.

        Raises:
            PathKindError: *path* is not a host path.
        """
        if type(path) is not HostPath:
            raise PathKindError(path, wanted="HostPath")
        text = _prefix(path)
        found: list[ContainerPath] = []
        end = len(text)
        while end >= 0:
            for mount in self._by_host.get(text[:end], ()):
                place = container_path_of_normal(_prefix(mount.container) + text[end:] or "/")
                if self.covering(place) is mount:
                    found.append(place)
            end = text.rfind("/", 0, end)
        if len(found) > 1:
            found.sort(key=lambda place: (len(place.parts), place))
        return tuple(found)

    def _nearest(self, text: str) -> tuple[Mount, ...]:
        """Return some mounts that share the longest way from the root with a container path."""
        node = self._visible
        for name in _names(text):
            if name not in node.below:
                break
            node = node.below[name]
        return tuple(mount for mount, _ in zip(node.mounts(), range(_NEAREST), strict=False))

    def _nearest_on_host(self, path: HostPath) -> tuple[Mount, ...]:
        """Return some mounts that share the longest way from the root with a host path."""

        def shared(mount: Mount) -> int:
            pairs = zip(path.parts, mount.host.parts if mount.host else (), strict=False)
            return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

        known = (mount for mount in self._mounts if mount.host is not None)
        return tuple(sorted(known, key=shared, reverse=True)[:_NEAREST])

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts)

    def __len__(self) -> int:
        return len(self._mounts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MountTable):
            return NotImplemented
        return self._mounts == other._mounts

    def __hash__(self) -> int:
        return hash(self._mounts)

    def __repr__(self) -> str:
        return f"MountTable({list(self._mounts)!r})"

    def __reduce__(self) -> tuple[type[MountTable], tuple[tuple[Mount, ...]]]:
        return MountTable, (self._mounts,)
