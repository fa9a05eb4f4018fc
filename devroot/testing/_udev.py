"""`FakeUdev`: devices that come and go on a fake host, and the news of them."""

from __future__ import annotations

import errno
import os
import posixpath
import select
from collections import deque
from typing import TYPE_CHECKING, Literal

from devroot._paths import as_device_path
from devroot.errors import InvalidSceneError
from devroot.testing._atomic import LOCK, atomic
from devroot.udev import Device, Record, UdevMonitor, UdevNews
from devroot.udev._hidden import SYSFS
from devroot.udev._sysfs import SysfsContext

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot.testing._container import FakeContainer
    from devroot.testing._host import FakeHost
    from devroot.udev import UdevContext

_USER_NAMESPACE = "the container has a user namespace of its own, where no news comes"


class _Seen:
    """What udev is to a process on one machine; a `UdevContext`."""

    def __init__(self, udev: FakeUdev, machine: FakeHost | FakeContainer) -> None:
        self._udev = udev
        self._machine = machine

    @property
    def unknown(self) -> tuple[str, ...]:
        return SysfsContext(SYSFS, view=self._machine.view).unknown

    def records(self) -> Iterable[Record]:
        return SysfsContext(SYSFS, view=self._machine.view).records()

    def monitor(self) -> UdevMonitor:
        deaf = self._machine.view.initial_user_namespace is False
        return self._udev._listen((_USER_NAMESPACE,) if deaf else ())  # noqa: SLF001 - of one family


class FakeUdev:
    """The devices of a fake host, for `devroot.udev`; a `UdevContext` itself, as the host sees it.

    A device that is plugged in gets a node in the host's ``/dev``, as in devtmpfs, a place in its
    ``/sys``, and news. Pull it out and all that goes, with the directories that were made for the
    node: what a container had mounted of them is then stale.

    Where a real watch would wait for ever, the news ends, so that a loop over it does.

    Args:
        host: where the devices are.
        capacity: how much news waits for a monitor until it is read; what comes then is lost, and
            the monitor told so (``ENOBUFS``).
        waits: whether a wait for news is one after all, for tests with threads.

    .. versionadded:: 0.1.0
    """

    def __init__(self, host: FakeHost, *, capacity: int = 1000, waits: bool = False) -> None:
        self.capacity = capacity
        self.waits = waits
        self._host = host
        self._seen = _Seen(self, host)
        self._records: dict[str, Record] = {}
        self._made: dict[str, list[str]] = {}
        self._monitors: list[FakeMonitor] = []
        for place in ("bus", "class", "dev/block", "dev/char", "devices"):
            host.directory(f"/sys/{place}")

    def __repr__(self) -> str:
        return f"<FakeUdev with {len(self._records)} devices>"

    @property
    def unknown(self) -> tuple[str, ...]:
        """What hides devices from the host: nothing, unless a test mounts it over ``/sys``."""
        return self._seen.unknown

    def records(self) -> Iterable[Record]:
        """Return the devices that the host's ``/sys`` lists."""
        return self._seen.records()

    def monitor(self) -> UdevMonitor:
        """Return a new monitor of a process on the host."""
        return self._seen.monitor()

    def within(self, container: FakeContainer) -> UdevContext:
        """Return the `UdevContext` of a process in *container*: its ``/sys``, its namespaces."""
        return _Seen(self, container)

    @atomic
    def plug(  # noqa: PLR0913 - a device is all of these
        self,
        path: str,
        *,
        major: int,
        minor: int,
        subsystem: str,
        type: Literal["c", "b"] = "c",
        mode: int | None = None,
        pci: str = "",
        vendor: int = 0,
        product: int = 0,
        driver: str = "",
    ) -> Device:
        """Let the host have a device, and say so.

        Args:
            path: of its node, such as ``infiniband/uverbs0``.
            major: the driver's number (decimal).
            minor: the device's number within the driver (decimal).
            subsystem: such as ``infiniband_verbs``; ``block`` for a block device.
            type: ``c`` or ``b``.
            mode: the permission bits (octal) that the driver asks for; None if it asks for none.
            pci: the address of the PCI function that it belongs to, such as ``0000:3b:00.0``.
            vendor: of that, such as 0x15b3.
            product: of that.
            driver: that is bound to the PCI function, or to the device if there is none.

        Raises:
            InvalidNodeError: there can be no such node.
            InvalidPathError: *path* is no path of a device node.
            InvalidSceneError: there is a device with that node already, or the subsystem does not
                fit the type.
        """
        device_path = as_device_path(path)
        call = f"plug({path!r})"
        if (type == "b") != (subsystem == "block"):
            raise InvalidSceneError(call, reason="block devices are of the subsystem 'block'")
        if str(device_path) in self._records:
            raise InvalidSceneError(call, reason="there is such a device; unplug it first")
        above = f"/devices/pci{pci[:7]}/{pci}" if pci else "/devices/virtual"
        properties = {"MAJOR": str(major), "MINOR": str(minor), "DEVNAME": device_path.below_dev}
        if mode is not None:
            properties["DEVMODE"] = f"0{mode:o}"
        if driver and not pci:
            properties["DRIVER"] = driver
        function = {"PCI_ID": f"{vendor:04X}:{product:04X}", "PCI_SLOT_NAME": pci}
        if driver:
            function["DRIVER"] = driver
        name = device_path.name
        record = Record(
            sysfs_path=f"{above}/{subsystem}/{name}",
            properties={**properties, "SUBSYSTEM": subsystem},
            parents=(
                (Record(sysfs_path=above, properties={**function, "SUBSYSTEM": "pci"}),)
                if pci
                else ()
            ),
        )
        device = Device.of_record(record)
        assert device is not None  # noqa: S101 - it has a node
        for each in (*record.parents, record):
            self._describe(each)
        self._link(device, name)
        self._make_node(device)
        self._records[str(device_path)] = record
        self.announce("add", device)
        return device

    @atomic
    def unplug(self, path: str) -> None:
        """Let a device be no more, and say so.

        Raises:
            InvalidSceneError: no such device is there.
        """
        device_path = as_device_path(path)
        record = self._records.pop(str(device_path), None)
        if record is None:
            call = f"unplug({path!r})"
            raise InvalidSceneError(call, reason="there is no such device; plug it in first")
        device = Device.of_record(record)
        assert device is not None  # noqa: S101 - it has a node
        if self._host.has(str(device_path)):
            self._host.remove(str(device_path))
        for directory in self._made.pop(str(device_path)):
            self._remove_empty(directory)
        for place in (*_links(device, device_path.name), record.sysfs_path):
            self._host.remove(f"/sys{place}")
        self._tell(UdevNews(action="remove", record=record))

    @atomic
    def announce(self, action: str, device: Device, **properties: str) -> None:
        """Send news of a device and change nothing.

        Args:
            action: such as ``change``; ``add`` and ``remove`` with ``SYNTH_UUID="0"`` are what
                ``udevadm trigger`` brings about.
            device: the device, as `plug` has returned it.
            **properties: what the kernel says besides.

        Raises:
            InvalidSceneError: no such device is there.
        """
        record = self._records.get(str(device.node.path))
        if record is None:
            call = f"announce({action!r}, {device})"
            raise InvalidSceneError(call, reason="there is no such device; plug it in first")
        said = Record(
            sysfs_path=record.sysfs_path,
            properties={**record.properties, **properties},
            parents=record.parents,
        )
        self._tell(UdevNews(action=action, record=said))

    def _tell(self, news: UdevNews) -> None:
        for monitor in self._monitors:
            monitor.hear(news)

    @atomic
    def _listen(self, unknown: tuple[str, ...]) -> FakeMonitor:
        monitor = FakeMonitor(self, unknown=unknown)
        if not unknown:
            self._monitors.append(monitor)
        return monitor

    @atomic
    def _forget(self, monitor: FakeMonitor) -> None:
        if monitor in self._monitors:
            self._monitors.remove(monitor)

    def _describe(self, record: Record) -> None:
        """Let the host's ``/sys`` have the directory of a device."""
        place, subsystem = f"/sys{record.sysfs_path}", record.properties["SUBSYSTEM"]
        said = {k: v for k, v in record.properties.items() if k != "SUBSYSTEM"}
        lines = "".join(f"{name}={value}\n" for name, value in said.items())
        self._host.file(f"{place}/uevent", lines, mode=0o644)
        if not self._host.has(f"{place}/subsystem"):
            kind = "bus" if subsystem == "pci" else "class"
            self._host.directory(f"/sys/{kind}/{subsystem}")
            target = posixpath.relpath(f"/{kind}/{subsystem}", record.sysfs_path)
            self._host.symlink(f"{place}/subsystem", target)

    def _link(self, device: Device, name: str) -> None:
        for link in _links(device, name):
            target = posixpath.relpath(device.sysfs_path, posixpath.dirname(link))
            self._host.symlink(f"/sys{link}", target)

    def _make_node(self, device: Device) -> None:
        node = device.node
        directories = [str(parent) for parent in node.path.parents]
        self._made[str(node.path)] = directories
        if not self._host.has(str(node.path)):
            self._host.device(
                str(node.path), major=node.major, minor=node.minor, type=node.type, mode=node.mode
            )

    def _remove_empty(self, directory: str) -> None:
        """Remove a directory that was made for nodes, once the last one is gone."""
        used = any(directory in directories for directories in self._made.values())
        if not used and self._host.has(directory):
            self._host.remove(directory)


def _links(device: Device, name: str) -> tuple[str, str]:
    node = device.node
    kind = "block" if node.type == "b" else "char"
    return f"/dev/{kind}/{node.major}:{node.minor}", f"/class/{device.subsystem}/{name}"


class FakeMonitor:
    """Hears of the devices of a `FakeUdev`; a `UdevMonitor`."""

    def __init__(self, udev: FakeUdev, *, unknown: tuple[str, ...]) -> None:
        self.unknown = unknown
        self._udev = udev
        self._news: deque[UdevNews] = deque()
        self._lost = False
        self._readable, self._writable = os.pipe()
        self._open = True

    def fileno(self) -> int:
        """Return the descriptor; -1 once it is closed."""
        return self._readable if self._open else -1

    def hear(self, news: UdevNews) -> None:
        """Take a piece of news, or note that it was lost."""
        if len(self._news) >= self._udev.capacity:
            if self._lost:
                return
            self._lost = True
        else:
            self._news.append(news)
        os.write(self._writable, b"!")

    def receive(self, timeout: float | None, /) -> UdevNews | None:
        """Return the next piece of news; None if there is none in time."""
        if not self._open:
            raise EOFError
        if self._udev.waits:
            select.select([self._readable], [], [], timeout)
        with LOCK:
            if self._lost:
                self._lost = False
                os.read(self._readable, 1)
                raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
            if self._news:
                os.read(self._readable, 1)
                return self._news.popleft()
        if timeout is None:
            raise EOFError
        return None

    @atomic
    def close(self) -> None:
        """Give the descriptors back."""
        if self._open:
            self._open = False
            self._udev._forget(self)  # noqa: SLF001 - of one family
            os.close(self._readable)
            os.close(self._writable)
