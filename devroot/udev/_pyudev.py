"""All that the library knows of pyudev: the only room that loads it, on first use.

pyudev has no type hints. What is used of it is written down here as protocols, and goes no
further: the records of `devroot.udev._context` do.
"""

from __future__ import annotations

import os
import select
import socket
import time
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

from devroot.errors import UdevUnavailableError
from devroot.udev._context import Record, UdevNews
from devroot.udev._hidden import deafness, hidden_from_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SOURCE: Final = "kernel"
"""Of the two sources of libudev the one that is heard in every container that shares the kernel's
user namespace. The other is udevd's own: it is sent in the host's network namespace alone."""


class _Device(Protocol):
    @property
    def device_path(self) -> str: ...
    @property
    def action(self) -> str | None: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def ancestors(self) -> Iterable[_Device]: ...


class _Context(Protocol):
    def list_devices(self) -> Iterable[_Device]: ...


class _Monitor(Protocol):
    def start(self) -> None: ...
    def fileno(self) -> int: ...
    def poll(self, timeout: float) -> _Device | None: ...


class _MonitorType(Protocol):
    def from_netlink(self, context: _Context, source: str) -> _Monitor: ...


class _Pyudev(Protocol):
    Monitor: _MonitorType

    def Context(self) -> _Context: ...  # noqa: N802 - it is a class there


def _load() -> tuple[_Pyudev, _Context]:
    """Load pyudev, which loads libudev.

    Raises:
        UdevUnavailableError: one of them is missing.
    """
    try:
        module = cast("_Pyudev", import_module("pyudev"))
        return module, module.Context()
    except (ImportError, OSError) as error:
        raise UdevUnavailableError(reason=str(error)) from error


class PyudevContext:
    """Knows the devices that libudev lists: those of ``/sys``.

    libudev(3) leaves it to its caller that no two threads use one of its objects, so it keeps
    none: each call has a context of its own.

    Raises:
        UdevUnavailableError: libudev cannot be loaded.
    """

    def __init__(self) -> None:
        _load()

    @property
    def unknown(self) -> tuple[str, ...]:
        """What hides devices here."""
        return hidden_from_process()

    def records(self) -> Iterable[Record]:
        """Return the devices that have a node."""
        parents = _Parents()
        _, context = _load()
        for device in context.list_devices():
            properties = dict(device.properties)
            if "DEVNAME" in properties:
                yield _record(device, properties, parents)

    def monitor(self) -> PyudevMonitor:
        """Return a new monitor."""
        return PyudevMonitor()


class PyudevMonitor:
    """Hears what the kernel says to this process's network namespace (``NETLINK_KOBJECT_UEVENT``).

    Raises:
        OSError: the kernel gives no such socket.
        UdevUnavailableError: libudev cannot be loaded.
    """

    def __init__(self) -> None:
        module, context = _load()
        self._monitor: _Monitor | None = module.Monitor.from_netlink(context, source=_SOURCE)
        self._monitor.start()
        # A second descriptor of the same socket, for what pyudev has no call: poll(2) with an
        # error, and reading which one it is.
        self._socket = socket.socket(fileno=os.dup(self._monitor.fileno()))
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.unknown = deafness()

    def fileno(self) -> int:
        """Return the descriptor; -1 once it is closed."""
        return self._socket.fileno()

    def receive(self, timeout: float | None, /) -> UdevNews | None:
        """Wait for one piece of news, for at most *timeout* seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._monitor is not None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self._poll.poll(None if left is None else left * 1000):
                self._raise_error()
                device = self._receive(self._monitor)
                if device is not None:
                    record = _record(device, dict(device.properties), _Parents())
                    return UdevNews(action=device.action or "", record=record)
            if left == 0:
                return None
        raise EOFError

    def _raise_error(self) -> None:
        number = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))

    def _receive(self, monitor: _Monitor) -> _Device | None:
        try:
            return monitor.poll(timeout=0)
        except OSError as error:
            if error.errno is None:  # pyudev does not say which error poll(2) has seen
                self._raise_error()
                return None
            raise

    def close(self) -> None:
        """Give the descriptors back."""
        self._socket.close()
        self._monitor = None  # pyudev closes its own when nobody has it


class _Parents:
    """The devices above others, each asked once."""

    def __init__(self) -> None:
        self._known: dict[str, Record] = {}

    def of(self, device: _Device) -> tuple[Record, ...]:
        return tuple(map(self._record, device.ancestors))

    def _record(self, parent: _Device) -> Record:
        path = parent.device_path
        if path not in self._known:
            self._known[path] = Record(sysfs_path=path, properties=dict(parent.properties))
        return self._known[path]


def _record(device: _Device, properties: Mapping[str, str], parents: _Parents) -> Record:
    return Record(sysfs_path=device.device_path, properties=properties, parents=parents.of(device))
