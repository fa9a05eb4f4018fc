"""One-line descriptions of files, read and written."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NoReturn

import attrs

from devroot._filesystem import FileType
from devroot.errors import InvalidSceneError
from devroot.testing._inodes import MAJOR_MAX, MINOR_MAX

if TYPE_CHECKING:
    from devroot.testing._inodes import Inode

_WORDS: Final = {
    "dir": FileType.DIRECTORY,
    "file": FileType.REGULAR,
    "link": FileType.SYMLINK,
    "char": FileType.CHARACTER,
    "block": FileType.BLOCK,
    "fifo": FileType.FIFO,
    "socket": FileType.SOCKET,
}
_NAMES: Final = {kind: word for word, kind in _WORDS.items()}
_HARD: Final = "hard"

DEFAULT_MODES: Final = {
    FileType.DIRECTORY: 0o755,
    FileType.REGULAR: 0o644,
    FileType.SYMLINK: 0o777,
    FileType.CHARACTER: 0o666,
    FileType.BLOCK: 0o660,
    FileType.FIFO: 0o644,
    FileType.SOCKET: 0o755,
}
"""Permission bits (octal) of what is described without a mode."""

DEVICE_TYPES: Final = {"c": FileType.CHARACTER, "b": FileType.BLOCK}

_MODE_MAX: Final = 0o7777
_ID_MAX: Final = 2**32 - 2


@attrs.frozen(kw_only=True)
class Spec:
    """One file as described.

    Attributes:
        type: of the file; None for a second name of the file *target*.
        target: of a symbolic link, or of a second name.
    """

    path: str
    type: FileType | None
    mode: int = 0
    uid: int = 0
    gid: int = 0
    major: int = 0
    minor: int = 0
    target: str = ""
    content: bytes = b""


def parse(text: str) -> Spec:
    """Return the file that *text* describes; see `TreeFileSystem` for the words.

    Raises:
        InvalidSceneError: a word is unknown, missing or left over, or a number is out of range.
    """
    line, _, content = text.partition("\n")
    try:
        word, path, *rest = shlex.split(line)
    except ValueError:
        _refuse(line, "it needs a type and a path, such as 'dir /dev 0755'")
    if word != _HARD and word not in _WORDS:
        _refuse(line, f"unknown type {word!r}; there are {', '.join([*_WORDS, _HARD])}")
    kind = _WORDS.get(word)
    if content and kind is not FileType.REGULAR:
        _refuse(line, "only a file has lines of content")
    if kind is None or kind is FileType.SYMLINK:
        if len(rest) != 1:
            _refuse(line, "it needs a path and a target, such as 'link /lib usr/lib'")
        return Spec(path=path, type=kind, target=rest[0], mode=0 if kind is None else 0o777)
    major = minor = 0
    if kind in {FileType.CHARACTER, FileType.BLOCK}:
        if not rest:
            _refuse(line, "it needs a number, such as 'char /dev/null 1:3'")
        major, minor = _pair(line, rest.pop(0), "MAJOR:MINOR", MAJOR_MAX, MINOR_MAX)
    mode = _mode(line, rest.pop(0)) if rest else DEFAULT_MODES[kind]
    uid, gid = _pair(line, rest.pop(0), "UID:GID", _ID_MAX, _ID_MAX) if rest else (0, 0)
    if rest:
        _refuse(line, f"{' '.join(rest)!r} is left over")
    return Spec(
        path=path,
        type=kind,
        mode=mode,
        uid=uid,
        gid=gid,
        major=major,
        minor=minor,
        content=content.encode("utf-8", "surrogateescape"),
    )


def render(path: str, inode: Inode) -> str:
    """Return the text from which `parse` gives this file back."""
    words = [_NAMES[inode.type], shlex.quote(path)]
    if inode.type is FileType.SYMLINK:
        return " ".join([*words, shlex.quote(inode.target)])
    if inode.type in {FileType.CHARACTER, FileType.BLOCK}:
        words.append(f"{inode.major}:{inode.minor}")
    words.append(f"{inode.mode:04o}")
    if inode.uid or inode.gid:
        words.append(f"{inode.uid}:{inode.gid}")
    content = inode.content.decode("utf-8", "surrogateescape")
    return " ".join(words) + (f"\n{content}" if content else "")


def render_second_name(path: str, first: str) -> str:
    """Return the text for another name of the file *first*."""
    return f"{_HARD} {shlex.quote(path)} {shlex.quote(first)}"


def _mode(line: str, text: str) -> int:
    if not text or set(text) - set("01234567") or int(text, 8) > _MODE_MAX:
        _refuse(line, f"{text!r} is no mode; it is octal and at most 7777")
    return int(text, 8)


def _pair(line: str, text: str, form: str, first_max: int, second_max: int) -> tuple[int, int]:
    first, colon, second = text.partition(":")
    if not (colon and _is_number(first, first_max) and _is_number(second, second_max)):
        _refuse(line, f"{text!r} is no {form}, at most {first_max}:{second_max}")
    return int(first), int(second)


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= most


def _refuse(line: str, reason: str) -> NoReturn:
    raise InvalidSceneError(line, reason=reason)
