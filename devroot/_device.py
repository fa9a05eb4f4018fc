"""`DeviceNode`: what a device node is to be, wherever it is made."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from devroot._filesystem import FileType
from devroot._paths import DevicePath, as_device_path
from devroot.errors import InvalidNodeError, InvalidPathError

_FILE_TYPES: Final = {"c": FileType.CHARACTER, "b": FileType.BLOCK}

MAJOR_MAX: Final = 2**12 - 1
"""The highest major number: a kernel ``dev_t`` has 12 bits for it (``linux/kdev_t.h``)."""

MINOR_MAX: Final = 2**20 - 1
"""The highest minor number: the other 20 bits, ``MINORBITS`` in ``linux/kdev_t.h``."""

_ID_MAX: Final = 2**32 - 2  # the next one, (uid_t) -1, means "leave it" to chown(2)


def _to_device_path(value: str | DevicePath) -> DevicePath:
    try:
        return as_device_path(value)
    except InvalidPathError as error:
        field = "path"
        raise InvalidNodeError(field, value, reason=error.reason) from error


def _check_type(
    _node: object, attribute: attrs.Attribute[Literal["c", "b"]], value: object
) -> None:
    if value not in ("c", "b"):
        raise InvalidNodeError(
            attribute.name, value, reason="it is 'c' for a character or 'b' for a block device"
        )


@attrs.frozen
class _AtMost:
    """Refuses what is no whole number from 0 to *most*."""

    most: int
    octal: bool = attrs.field(default=False, kw_only=True)

    def __call__(self, _node: object, attribute: attrs.Attribute[int], value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= self.most:
            most = f"0o{self.most:o}" if self.octal else self.most
            reason = f"it is a whole number from 0 to {most}"
            raise InvalidNodeError(attribute.name, value, reason=reason)


def _check_withheld(_node: object, attribute: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise InvalidNodeError(
            attribute.name, value, reason="it is the reason as a text, empty if there is none"
        )


@attrs.frozen(kw_only=True)
class DeviceNode:
    """A device node as it should be, see mknod(2) and inode(7).

    ``str()`` gives it in one line: ``/dev/nvidia0 c 195:0 0666 0:0``.

    Attributes:
        path: its canonical place; a text such as ``"/dev/nvidia0"`` or ``"nvidia0"`` will do.
        type: ``"c"`` for a character device, ``"b"`` for a block device.
        major: the driver's number, decimal, 0 to 4095.
        minor: the device's number within the driver, decimal, 0 to 1048575.
        mode: permission bits, octal, at most ``0o777``, without the file type.
        uid: user ID of the owner, 0 to 4294967294.
        gid: group ID of the owner, likewise.
        withheld: why nobody but its owner should make or change the node, such as a driver
            parameter that says so; empty if everybody may. See `mknod`.

    Raises:
        InvalidNodeError: a field is out of range; it names the field.
        PathKindError: *path* is a path of another kind.

    .. versionadded:: 0.1.0
    """

    path: DevicePath = attrs.field(converter=_to_device_path)
    type: Literal["c", "b"] = attrs.field(default="c", validator=_check_type)
    major: int = attrs.field(validator=_AtMost(MAJOR_MAX))
    minor: int = attrs.field(validator=_AtMost(MINOR_MAX))
    mode: int = attrs.field(default=0o666, validator=_AtMost(0o777, octal=True))
    uid: int = attrs.field(default=0, validator=_AtMost(_ID_MAX))
    gid: int = attrs.field(default=0, validator=_AtMost(_ID_MAX))
    withheld: str = attrs.field(default="", validator=_check_withheld)

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor number, decimal."""
        return self.major, self.minor

    @property
    def file_type(self) -> FileType:
        """The type as inode(7) has it."""
        return _FILE_TYPES[self.type]

    def __str__(self) -> str:
        return f"{self.path} {self.summary()}"

    def summary(self) -> str:
        """Return what it is, without where: ``c 195:0 0666 0:0``."""
        return f"{self.type} {self.major}:{self.minor} {self.mode:04o} {self.uid}:{self.gid}"

    def to_dict(self) -> dict[str, str | int]:
        """Return the node as JSON can hold it: ``mode`` is a text in octal, ``"0666"``."""
        return {
            "path": str(self.path),
            "type": self.type,
            "major": self.major,
            "minor": self.minor,
            "mode": f"{self.mode:04o}",
            "uid": self.uid,
            "gid": self.gid,
            "withheld": self.withheld,
        }
