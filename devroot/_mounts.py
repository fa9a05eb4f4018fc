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
    from collections.abc import Callable, Iterable, Iterator

_NEAREST: Final = 3
_ACCESS_MODES: Final = ("ro", "rw")


def _as_optional_host_path(value: str | HostPath | None) -> HostPath | None:
    # attrs.converters.optional() has a type from which pyright learns nothing.
    return None if value is None else as_host_path(value)


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

    host: HostPath | None = attrs.field(converter=_as_optional_host_path)
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
    """A component of container paths: the mount there that nothing hides, and what is below.

    `skip` and `host` belong to the mount: how much of a container path's text its own side takes,
    and what stands there on the host. They make a mapping one slice and one addition. Without a
    mount there is neither, and without its host side no `host`.
    """

    __slots__ = ("below", "host", "mount", "skip")

    host: str
    skip: int

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.mount: Mount | None = None


def _prefix(path: HostPath | ContainerPath) -> str:
    """Return the text of a path to which ``/`` and a name can be added; empty for the root."""
    text = str(path)
    return "" if text == "/" else text


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

    __slots__ = ("_by_host", "_mounts", "_root")

    def __init__(self, mounts: Iterable[Mount] = ()) -> None:
        self._mounts = tuple(mounts)
        self._root = _Node()
        self._by_host: dict[str, list[Mount]] = {}
        # Nothing hides the last mount, and it hides what was made before at its path or below.
        for mount in reversed(self._mounts):
            if not isinstance(mount, Mount):
                raise PathKindError(mount, wanted="Mount")
            node = self._root
            for name in mount.container.parts[1:]:
                if node.mount is not None:
                    break
                node = node.below.setdefault(name, _Node())
            if node.mount is None:
                node.mount = mount
                node.skip = len(_prefix(mount.container))
                if mount.host is not None:
                    node.host = _prefix(mount.host)
                    self._by_host.setdefault(node.host, []).append(mount)

    def covering(self, path: ContainerPath) -> Mount | None:
        """Return the mount that serves *path*; None if none does.

        Raises:
            PathKindError: *path* is not a container path.
        """
        if type(path) is not ContainerPath:
            raise PathKindError(path, wanted="ContainerPath")
        return self._covering(str(path)).mount

    def _covering(self, text: str) -> _Node:
        """Return the node of the mount that serves a path; the root's if none does."""
        node = found = self._root
        for name in text[1:].split("/"):
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
        if type(path) is not ContainerPath:
            raise PathKindError(path, wanted="ContainerPath")
        text = str(path)
        node = self._covering(text)
        mount = node.mount
        if mount is None:
            nearest = self._nearest(path.parts, lambda mount: mount.container.parts)
            raise NotMountedError(path, nearest=nearest)
        if mount.host is None:
            reason = f"the mount at {mount.container} is not from a known host path"
            raise NotMountedError(path, reason=reason)
        if text == "/":
            return mount.host
        return host_path_of_normal(node.host + text[node.skip :] or "/")

    def to_container(self, path: HostPath) -> ContainerPath:
        """Return where the host path *path* appears; the shortest answer if there are several.

        Raises:
            NotMountedError: it appears nowhere, or only where another mount hides it.
            PathKindError: *path* is not a host path.
        """
        found = self.to_container_all(path)
        if found:
            return found[0]
        nearest = self._nearest(path.parts, lambda mount: mount.host.parts if mount.host else ())
        hidden = any(mount.host and path.is_relative_to(mount.host) for mount in self._mounts)
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
                place = _prefix(mount.container) + text[end:] or "/"
                if self._covering(place).mount is mount:
                    found.append(container_path_of_normal(place))
            end = text.rfind("/", 0, end)
        if len(found) > 1:
            found.sort(key=lambda place: (len(place.parts), place))
        return tuple(found)

    def _nearest(
        self, wanted: tuple[str, ...], parts: Callable[[Mount], tuple[str, ...]]
    ) -> tuple[Mount, ...]:
        """Return some mounts that share the longest way from the root with a path."""

        def shared(mount: Mount) -> int:
            pairs = zip(wanted, parts(mount), strict=False)
            return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

        near = [mount for mount in self._mounts if parts(mount)]
        return tuple(sorted(near, key=shared, reverse=True)[:_NEAREST])

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
