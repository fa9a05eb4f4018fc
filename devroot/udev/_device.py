"""`Device`: a device node that the kernel has, and what it belongs to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from devroot._device import DeviceNode
from devroot.errors import InvalidNodeError

if TYPE_CHECKING:
    from typing_extensions import Self

    from devroot.udev._context import Record

_MODE_OF_DEVTMPFS: Final = 0o600
_DECIMAL: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_OCTAL: Final = re.compile(r"[0-7]{1,5}", re.ASCII)
_PCI_ID: Final = re.compile(r"([0-9A-F]{4,8}):([0-9A-F]{4,8})", re.ASCII | re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Parent:
    """A device that another one belongs to.

    Attributes:
        sysfs_path: its place below the sysfs root.
        subsystem: such as ``pci``; empty if it has none.
        driver: the driver that is bound to it; empty if there is none.
        vendor: of a PCI function, its vendor's number, such as 0x15b3; None for anything else.
        product: of a PCI function, its device number within the vendor's; None likewise.

    .. versionadded:: 0.1.0
    """

    sysfs_path: str
    subsystem: str = ""
    driver: str = ""
    vendor: int | None = None
    product: int | None = None

    @property
    def name(self) -> str:
        """The last component of its place: of a PCI function its address, ``0000:3b:00.0``."""
        return self.sysfs_path.rpartition("/")[2]

    @classmethod
    def of_record(cls, record: Record) -> Self:
        """Return the parent that the kernel describes so."""
        found = _PCI_ID.fullmatch(record.properties.get("PCI_ID", ""))
        return cls(
            sysfs_path=record.sysfs_path,
            subsystem=record.properties.get("SUBSYSTEM", ""),
            driver=record.properties.get("DRIVER", ""),
            vendor=int(found[1], 16) if found else None,
            product=int(found[2], 16) if found else None,
        )


@attrs.frozen(kw_only=True)
class Device:
    """A device node that the kernel has.

    Attributes:
        node: the node. Its mode and owner are those that the driver asks for; where it asks for
            none they are those of devtmpfs: 0600 and root. Rules of udev can give other ones.
        sysfs_path: its place below the sysfs root, such as ``/devices/virtual/mem/null``.
        subsystem: such as ``mem``; ``block`` for every block device.
        type: the kind within the subsystem (``DEVTYPE``), such as ``disk``; mostly empty.
        own_driver: the driver that is bound to the device itself; mostly empty.
        mode_known: whether the driver asks for a mode (``DEVMODE``).
        parents: the devices that it belongs to, the nearest first.

    .. versionadded:: 0.1.0
    """

    node: DeviceNode
    sysfs_path: str
    subsystem: str = ""
    type: str = ""
    own_driver: str = ""
    mode_known: bool = False
    parents: tuple[Parent, ...] = ()

    @property
    def pci(self) -> Parent | None:
        """The PCI function that it belongs to; None if there is none."""
        return next((parent for parent in self.parents if parent.subsystem == "pci"), None)

    @property
    def driver(self) -> str:
        """The driver of the device, or of its nearest parent that has one; else empty."""
        drivers = (self.own_driver, *(parent.driver for parent in self.parents))
        return next(filter(None, drivers), "")

    def __str__(self) -> str:
        return f"{self.node} ({self.sysfs_path})"

    @classmethod
    def of_record(cls, record: Record) -> Self | None:
        """Return the device that the kernel describes so; None if it has no node.

        Raises:
            InvalidNodeError: a number, the mode or the name is none.
        """
        said = record.properties
        if not {"DEVNAME", "MAJOR", "MINOR"} <= set(said):
            return None
        mode = said.get("DEVMODE")
        node = DeviceNode(
            path=said["DEVNAME"],
            type="b" if said.get("SUBSYSTEM") == "block" else "c",
            major=_number(record, "MAJOR"),
            minor=_number(record, "MINOR"),
            mode=_MODE_OF_DEVTMPFS if mode is None else _number(record, "DEVMODE", octal=True),
            uid=_number(record, "DEVUID"),
            gid=_number(record, "DEVGID"),
        )
        return cls(
            node=node,
            sysfs_path=record.sysfs_path,
            subsystem=said.get("SUBSYSTEM", ""),
            type=said.get("DEVTYPE", ""),
            own_driver=said.get("DRIVER", ""),
            mode_known=mode is not None,
            parents=tuple(map(Parent.of_record, record.parents)),
        )


def _number(record: Record, name: str, *, octal: bool = False) -> int:
    """Return the number *name*; 0 if the kernel does not say it."""
    text = record.properties.get(name, "0")
    if not (_OCTAL if octal else _DECIMAL).fullmatch(text):
        kind = "an octal" if octal else "a decimal"
        reason = f"{record.sysfs_path} says so, but it is {kind} number"
        raise InvalidNodeError(name, text, reason=reason)
    return int(text, 8 if octal else 10)
