"""`DeviceCatalog`: the device nodes that the kernel has, at one moment, and how to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict, final

import attrs

from devroot import _presence
from devroot._fallbacks import subset_of
from devroot._paths import DevicePath, as_device_path
from devroot.errors import DeviceNotFoundError
from devroot.udev._device import Device
from devroot.udev._hidden import SYSFS
from devroot.udev._pyudev import PyudevContext
from devroot.udev._query import Query
from devroot.udev._sysfs import SysfsContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from typing_extensions import Unpack

    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._paths import ContainerPath
    from devroot._presence import NodeSet
    from devroot._view import ContainerView
    from devroot.udev._context import UdevContext

    class Filters(TypedDict, total=False):
        """What can be asked for; see `Query`."""

        subsystem: str | Iterable[str] | None
        driver: str | Iterable[str] | None
        vendor: int | None
        name: str | Iterable[str] | None


_ALL: Final = Query()


@final
@attrs.frozen(kw_only=True, eq=False)
class DeviceCatalog:
    """The device nodes that the kernel has, as sysfs and udev know them, at one moment.

    Drivers that do not register their devices have nothing in it: NVIDIA's own driver is one,
    and `devroot.nvidia` knows its nodes.

    It is iterable and has a length; its devices come in the order of their paths.

    Attributes:
        context: who was asked.
        devices: what was found.
        queries: what it was narrowed to, step by step.
        unknown: what may hide devices from it, a sentence each; empty if nothing is known to.

    .. versionadded:: 0.1.0
    """

    context: UdevContext = attrs.field(repr=False)
    devices: tuple[Device, ...]
    queries: tuple[Query, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of_host(cls, context: UdevContext | None = None) -> DeviceCatalog:
        """Return the devices that udev knows.

        Args:
            context: whom to ask; by default libudev, which asks the sysfs that is mounted at
                ``/sys`` and no other one. See `of_sysfs` for that, and `devroot.testing.FakeUdev`.

        Raises:
            InvalidNodeError: the kernel describes a node that cannot be.
            UdevUnavailableError: libudev cannot be loaded.
        """
        asked = PyudevContext() if context is None else context
        return cls(context=asked, devices=_read(asked), unknown=asked.unknown)

    @classmethod
    def of_sysfs(
        cls, sysfs: str | ContainerPath = SYSFS, *, view: ContainerView | None = None
    ) -> DeviceCatalog:
        """Return the devices that a sysfs lists, read from its files, without libudev.

        Args:
            sysfs: its root, such as the host's where that is mounted aside.
            view: whose files and mounts these are; by default those of this process.

        Raises:
            InvalidNodeError: the kernel describes a node that cannot be.
            InvalidPathError: *sysfs* is not possible.
            OSError: a directory or file cannot be looked into (``EACCES``).
            ProcUnavailableError: without *view*, as from `ContainerView.of_process`; its other
                errors likewise.
        """
        return cls.of_host(SysfsContext(sysfs, view=view))

    @property
    def nodes(self) -> tuple[DeviceNode, ...]:
        """The nodes of the devices, such as for `mknod`."""
        return tuple(device.node for device in self.devices)

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def select(self, **filters: Unpack[Filters]) -> DeviceCatalog:
        """Return only the devices that every filter lets through.

        The result remembers the filters: `refresh` and `watch` go by them.

        Args:
            **filters: ``subsystem``, ``driver``, ``vendor`` and ``name``; see `Query`.
        """
        query = Query(**filters)
        return attrs.evolve(
            self, devices=tuple(filter(query.matches, self.devices)), queries=(*self.queries, query)
        )

    def subset(self, *, exact: bool = False, **filters: Unpack[Filters]) -> tuple[DevicePath, ...]:
        """Return the names below ``/dev`` that a `SubsetFallback` needs for such devices.

        Args:
            exact: whether these are the nodes themselves. By default they are directories where
                nodes have one: a mounted directory also shows the nodes that come later.
            **filters: as for `select`.
        """
        return subset_of(self.select(**filters).nodes, exact=exact)

    def matches(self, device: Device) -> bool:
        """Whether *device* is of those that this catalogue was narrowed to."""
        return all(query.matches(device) for query in self.queries)

    def refresh(self) -> DeviceCatalog:
        """Return a new catalogue of the same kind, as things are now.

        Raises:
            InvalidNodeError: as from `of_host`; likewise its other errors and those of `of_sysfs`.
        """
        devices = tuple(filter(self.matches, _read(self.context)))
        return attrs.evolve(self, devices=devices, unknown=self.context.unknown)

    def by_number(self, major: int, minor: int, *, type: Literal["c", "b"] = "c") -> Device:
        """Return the device with this number: ``c 1:3`` is ``mem/null``.

        Args:
            major: the driver's number, decimal.
            minor: the device's number within the driver, decimal.
            type: ``c`` for a character device, ``b`` for a block device.

        Raises:
            DeviceNotFoundError: there is none.
        """
        for device in self.devices:
            if (device.node.type, device.node.number) == (type, (major, minor)):
                return device
        sought = f"{type} {major}:{minor}"
        raise DeviceNotFoundError(sought, unknown=self.unknown)

    def by_path(self, path: str | DevicePath) -> Device:
        """Return the device whose node has this path, such as ``null`` or ``/dev/null``.

        Links that udev makes, such as those in ``/dev/disk``, are not followed.

        Raises:
            DeviceNotFoundError: there is none.
            InvalidPathError: *path* is no path of a device node.
        """
        device_path = as_device_path(path)
        for device in self.devices:
            if device.node.path == device_path:
                return device
        raise DeviceNotFoundError(str(device_path), unknown=self.unknown)

    def by_sysfs_path(self, sysfs_path: str) -> Device:
        """Return the device with this place in sysfs.

        Args:
            sysfs_path: with or without ``/sys``: the place itself (``/devices/virtual/mem/null``)
                or the link to it in ``class``, ``bus``, ``block`` or ``dev`` (``class/mem/null``,
                ``dev/char/1:3``).

        Raises:
            DeviceNotFoundError: there is none.
        """
        wanted = "/" + sysfs_path.removeprefix("/sys/").strip("/")
        for device in self.devices:
            if wanted in _places(device):
                return device
        sought = f"at {sysfs_path}"
        raise DeviceNotFoundError(sought, unknown=self.unknown)


def _read(context: UdevContext) -> tuple[Device, ...]:
    found = filter(None, map(Device.of_record, context.records()))
    return tuple(sorted(found, key=lambda device: (device.node.path, device.sysfs_path)))


def _places(device: Device) -> tuple[str, ...]:
    """Return where sysfs has *device*: the place itself, and the links that lead there."""
    name, node = device.sysfs_path.rpartition("/")[2], device.node
    kind = "block" if node.type == "b" else "char"
    places = [
        device.sysfs_path,
        f"/dev/{kind}/{node.major}:{node.minor}",
        f"/class/{device.subsystem}/{name}",
        f"/bus/{device.subsystem}/devices/{name}",
    ]
    if node.type == "b":
        places.append(f"/block/{name}")
    return tuple(places)


def missing(dev_root: DevRoot, catalog: DeviceCatalog) -> NodeSet:
    """Say of each device of a catalogue whether its node is in a dev root; nothing is changed.

    ``missing(...).missing`` are the nodes that the kernel has and the dev root lacks, to be made
    by `mknod`; ``missing(...).wrong`` those whose name something else has, such as a node with
    another number.

    Args:
        dev_root: where the nodes should be.
        catalog: what the kernel has; narrow it by `DeviceCatalog.select` to what is needed.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way to ``/`` or to the dev root cannot be looked into.

    .. versionadded:: 0.1.0
    """
    return _presence.missing(dev_root, catalog.nodes)
