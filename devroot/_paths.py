"""Lexical paths that know whose view they are in; this module does no I/O.

A container sees its host through mounts, so the text ``/dev/nvidia0`` means two different
places depending on who reads it. `HostPath` and `ContainerPath` keep the two apart as types:
they never compare equal, and only the one that can be opened here is ``os.PathLike``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar, final

from devroot.errors import InvalidPathError, PathKindError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

_DEV_PREFIX: Final = "/dev/"


def _normalise(text: str, *, kind: str) -> str:
    """Return *text* as an absolute path without ``//``, ``.`` and a trailing slash.

    ``..`` is refused rather than collapsed: across a symbolic link it does not mean what the
    text says, see path_resolution(7).
    """
    if not isinstance(text, str):
        raise PathKindError(text, wanted=kind)
    if not text:
        raise InvalidPathError(text, kind=kind, reason="it is empty")
    if "\0" in text:
        raise InvalidPathError(text, kind=kind, reason="it holds a NUL")
    if text[0] != "/":
        raise InvalidPathError(
            text, kind=kind, reason="it is relative; give the path from the root, such as /dev"
        )
    return "/" + "/".join(_components(text, whole=text, kind=kind))


def _components(text: str, *, whole: str, kind: str) -> list[str]:
    """Return the names in *text*, refusing ``..``; *whole* is what an error shows."""
    if not text.isascii():
        text = _one_spelling(text, whole=whole, kind=kind)
    names = [name for name in text.split("/") if name not in {"", "."}]
    if ".." in names:
        raise InvalidPathError(
            whole,
            kind=kind,
            reason="it holds '..'; resolve it first, for a link may stand before it",
        )
    return names


def _one_spelling(text: str, *, whole: str, kind: str) -> str:
    """Return the one text for the bytes that *text* stands for.

    Of lone surrogates only U+DC80 to U+DCFF stand for a byte (PEP 383). Where several of them
    together are valid UTF-8, the character that they spell is the same name to the kernel.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        reason = f"no byte stands for its lone surrogate {text[error.start : error.start + 1]!a}"
        raise InvalidPathError(whole, kind=kind, reason=reason) from error
    return data.decode("utf-8", "surrogateescape")


class _LexicalPath:
    """What all three kinds share: one immutable text, compared within its own kind only."""

    __slots__ = ("_text",)

    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", _normalise(text, kind=type(self).__name__))

    @classmethod
    def _of_normal(cls, text: str) -> Self:
        """Return the path of a text that is known to be normal, without checking it again."""
        self = object.__new__(cls)
        object.__setattr__(self, "_text", text)
        return self

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the path that the kernel calls *data*.

        Args:
            data: the bytes of the path; those that are not UTF-8 are kept as lone surrogates
                (PEP 383) and come back unchanged from ``bytes(path)``.

        Raises:
            InvalidPathError: as from the constructor.
        """
        return cls(data.decode("utf-8", "surrogateescape"))

    if not TYPE_CHECKING:  # a type checker would take it for leave to set anything

        def __setattr__(self, name: str, value: object) -> None:
            message = f"{type(self).__name__} is immutable"
            raise AttributeError(message)

        def __delattr__(self, name: str) -> None:
            message = f"{type(self).__name__} is immutable"
            raise AttributeError(message)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self._text,)

    def __str__(self) -> str:
        return self._text

    def __bytes__(self) -> bytes:
        return self._text.encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text!r})"

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._text == other._text

    # Ordered by component, as pathlib does: "/a/b" comes before "/a-b". Of `a > b` Python makes
    # `b < a`, and of `a >= b` likewise `b <= a`.
    def __lt__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._text.split("/") < other._text.split("/")

    def __le__(self, other: Self) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._text.split("/") <= other._text.split("/")

    def __truediv__(self, relative: str) -> Self:
        """Return the path of *relative* below this one.

        Raises:
            InvalidPathError: *relative* starts at the root, or holds ``..``, a NUL or a
                surrogate that stands for no byte.
            PathKindError: *relative* is not a string.
        """
        kind = type(self).__name__
        if not isinstance(relative, str):
            raise PathKindError(relative, wanted="str")
        if relative[:1] == "/":
            raise InvalidPathError(
                relative, kind=kind, reason=f"only a relative path can be added to {self._text}"
            )
        if "\0" in relative:
            raise InvalidPathError(relative, kind=kind, reason="it holds a NUL")
        names = _components(relative, whole=relative, kind=kind)
        if not names:
            return self
        prefix = "" if self._text == "/" else self._text
        return self._of_normal(f"{prefix}/{'/'.join(names)}")

    @property
    def name(self) -> str:
        """The last component; empty for the root."""
        return self._text[self._text.rfind("/") + 1 :]

    @property
    def parts(self) -> tuple[str, ...]:
        """The root and every component: ``("/", "dev", "null")``."""
        if self._text == "/":
            return ("/",)
        return ("/", *self._text[1:].split("/"))

    def is_relative_to(self, other: Self) -> bool:
        """Whether this path is *other* or lies below it, by whole components."""
        return type(other) is type(self) and (
            self._text == other._text or self._text.startswith(other._text.rstrip("/") + "/")
        )

    def relative_to(self, other: Self) -> str:
        """Return the text that leads from *other* to this path; ``.`` if they are the same.

        Raises:
            InvalidPathError: this path does not lie below *other*.
            PathKindError: *other* is of another kind.
        """
        if type(other) is not type(self):
            raise PathKindError(other, wanted=type(self).__name__)
        if not self.is_relative_to(other):
            raise InvalidPathError(
                self._text, kind=type(self).__name__, reason=f"it does not lie below {other._text}"
            )
        return self._text[len(other._text.rstrip("/")) + 1 :] or "."


class _RootedPath(_LexicalPath):
    """A path that may be the root, and so always has a parent."""

    __slots__ = ()

    @property
    def parent(self) -> Self:
        """The directory that holds this path; the root is its own parent."""
        return self._of_normal(self._text[: self._text.rfind("/")] or "/")

    @property
    def parents(self) -> tuple[Self, ...]:
        """Every ancestor, the nearest first and the root last; empty for the root."""
        return tuple(self._ancestors())

    def _ancestors(self) -> Iterator[Self]:
        text = self._text
        while text != "/":
            text = text[: text.rfind("/")] or "/"
            yield self._of_normal(text)


@final
class HostPath(_RootedPath):
    """A path as the host's mount namespace sees it.

    It is not ``os.PathLike``: the place it names is not here, so ``open(host_path)`` raises
    `TypeError`. ``str(host_path)`` gives the text for a document that the host will read.

    Args:
        text: an absolute path. ``//``, ``.`` and a trailing slash are dropped.

    Raises:
        InvalidPathError: *text* is empty or relative, or holds ``..``, a NUL or a surrogate
            that stands for no byte (PEP 383).
        PathKindError: *text* is not a string.

    .. versionadded:: 0.1.0
    """

    __slots__ = ()


@final
class ContainerPath(_RootedPath, os.PathLike[str]):
    """A path as this process sees it; it can be given to ``open()``.

    Args:
        text: an absolute path. ``//``, ``.`` and a trailing slash are dropped.

    Raises:
        InvalidPathError: *text* is empty or relative, or holds ``..``, a NUL or a surrogate
            that stands for no byte (PEP 383).
        PathKindError: *text* is not a string.

    .. versionadded:: 0.1.0
    """

    __slots__ = ()

    def __fspath__(self) -> str:
        return self._text


@final
class DevicePath(_LexicalPath):
    """The canonical place of a device node: below ``/dev``, on the host and in a workload alike.

    Args:
        text: ``"/dev/nvidia0"`` or, the same, ``"nvidia0"``.

    Raises:
        InvalidPathError: *text* is empty, is ``/dev`` itself or an absolute path elsewhere, or
            holds ``..``, a NUL or a surrogate that stands for no byte.
        PathKindError: *text* is not a string.

    .. versionadded:: 0.1.0
    """

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise PathKindError(text, wanted="DevicePath")
        super().__init__(text if text[:1] in {"", "/"} else _DEV_PREFIX + text)
        if not self._text.startswith(_DEV_PREFIX):
            raise InvalidPathError(
                text, kind="DevicePath", reason="a device node has a name below /dev"
            )

    @property
    def below_dev(self) -> str:
        """The text below ``/dev``, such as ``nvidia-caps/nvidia-cap1``."""
        return self._text[len(_DEV_PREFIX) :]

    @property
    def parents(self) -> tuple[DevicePath, ...]:
        """The directories below ``/dev`` on the way to this path, the nearest first."""
        names = self.below_dev.split("/")[:-1]
        return tuple(
            DevicePath._of_normal(_DEV_PREFIX + "/".join(names[:count]))
            for count in range(len(names), 0, -1)
        )


# For texts that are known to be normal; the constructors check theirs.
host_path_of_normal: Final = HostPath._of_normal  # noqa: SLF001 - of this module
container_path_of_normal: Final = ContainerPath._of_normal  # noqa: SLF001 - likewise

PathT = TypeVar("PathT", HostPath, ContainerPath)
# The same again, for a method of a class that is generic in the first one already.
KindT = TypeVar("KindT", HostPath, ContainerPath)


def as_host_path(value: str | HostPath) -> HostPath:
    """Return *value* as a host path; for parameters whose name says that they take one.

    Raises:
        InvalidPathError: as from `HostPath`.
        PathKindError: *value* is another kind of path.
    """
    return value if isinstance(value, HostPath) else HostPath(value)


def as_container_path(value: str | ContainerPath) -> ContainerPath:
    """Return *value* as a container path; for parameters whose name says that they take one.

    Raises:
        InvalidPathError: as from `ContainerPath`.
        PathKindError: *value* is another kind of path.
    """
    return value if isinstance(value, ContainerPath) else ContainerPath(value)


def as_device_path(value: str | DevicePath) -> DevicePath:
    """Return *value* as a device path; for parameters whose name says that they take one.

    Raises:
        InvalidPathError: as from `DevicePath`.
        PathKindError: *value* is another kind of path.
    """
    return value if isinstance(value, DevicePath) else DevicePath(value)
