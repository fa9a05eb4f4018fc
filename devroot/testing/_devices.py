"""Device nodes as they are, and which of them a device cgroup lets a process make."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final, Literal

import attrs

from devroot._filesystem import FileType
from devroot.errors import InvalidNodeError, InvalidSceneError
from devroot.testing._inodes import MAJOR_MAX, MINOR_MAX, kernel_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot.testing._inodes import Inode
    from devroot.testing._rights import Credentials

_RULE: Final = re.compile(r"(?:(a)|([bc]) (\*|[0-9]+):(\*|[0-9]+) ([rwm]+))", re.ASCII)
WHITEOUT: Final = (FileType.CHARACTER, 0, 0)
"""What an overlay hides a name with; anybody may make it, but on an overlay."""

_LETTERS: Final = {FileType.CHARACTER: "c", FileType.BLOCK: "b"}


@attrs.frozen(kw_only=True)
class FakeDevice:
    """A device node as it is now.

    Attributes:
        path: where it was looked for.
        type: ``c`` or ``b``.
        number: major and minor (decimal).
        mode: permission bits (octal).
        uid: the owner's user ID.
        gid: the owner's group ID.
        links: how many names it has.

    .. versionadded:: 0.1.0
    """

    path: str
    type: Literal["c", "b"]
    number: tuple[int, int]
    mode: int
    uid: int
    gid: int
    links: int

    def __str__(self) -> str:
        major, minor = self.number
        return f"{self.type} {major}:{minor} {self.mode:04o} {self.uid}:{self.gid}"


def record(path: str, inode: Inode, who: Credentials) -> FakeDevice:
    """Return the record of a device node, with its owner as *who* sees it.

    Raises:
        InvalidSceneError: it is something else.
    """
    if inode.type not in _LETTERS:
        reason = f"what is there is no device node but a {inode.type.value}"
        call = f"device({path!r})"
        raise InvalidSceneError(call, reason=reason)
    return FakeDevice(
        path=path,
        type="c" if _LETTERS[inode.type] == "c" else "b",
        number=(inode.major, inode.minor),
        mode=inode.mode,
        uid=who.shown(inode.uid),
        gid=who.shown(inode.gid),
        links=inode.links,
    )


def check_numbers(major: int, minor: int) -> None:
    """Check that the kernel can keep the numbers of a device node.

    Raises:
        InvalidNodeError: it cannot.
    """
    for field, value, most in (("major", major, MAJOR_MAX), ("minor", minor, MINOR_MAX)):
        if not 0 <= value <= most:
            raise InvalidNodeError(field, value, reason=f"it is from 0 to {most}")


@attrs.frozen
class _Rule:
    type: str
    major: str
    minor: str

    def allows(self, type: str, major: int, minor: int) -> bool:
        return (
            self.type == type
            and self.major in {"*", str(major)}
            and self.minor in {"*", str(minor)}
        )


@attrs.frozen
class DeviceRules:
    """The nodes that a device cgroup lets its processes make.

    The rules are those of the kernel's documentation of cgroup-v1 devices.
    """

    _rules: tuple[_Rule, ...]

    @classmethod
    def parse(cls, rules: Iterable[str]) -> DeviceRules:
        """Return what the lines *rules* allow, such as ``c 195:* rwm``; ``a`` is everything.

        Raises:
            InvalidSceneError: a line is no rule.
        """
        found: list[_Rule] = []
        for rule in rules:
            match = _RULE.fullmatch(rule)
            if match is None:
                call = f"device_cgroup=[{rule!r}]"
                reason = "a rule is 'a', or as 'c 195:* rwm'; a '*' stands for every number"
                raise InvalidSceneError(call, reason=reason)
            everything, type_, major, minor, access = match.groups()
            if everything:
                found += [_Rule("b", "*", "*"), _Rule("c", "*", "*")]
            elif "m" in access:
                found.append(_Rule(type_, major, minor))
        return cls(tuple(found))

    def check(self, type: FileType, major: int, minor: int) -> None:
        """Check that such a node can be made.

        Raises:
            OSError: ``EPERM``.
        """
        if (type, major, minor) == WHITEOUT:
            return
        letter = _LETTERS[type]
        if not any(rule.allows(letter, major, minor) for rule in self._rules):
            raise kernel_error(errno.EPERM)
