"""What is asked of pyudev, and what is made of its answers; a stand-in plays it."""

from __future__ import annotations

import errno
import os
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from devroot.errors import UdevUnavailableError
from devroot.udev import DeviceCatalog, _pyudev
from devroot.udev._pyudev import PyudevContext, PyudevMonitor
from tests._views import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def device(path: str, *ancestors: object, action: str | None = None, **properties: str) -> object:
    """Return a device as pyudev has it."""
    return SimpleNamespace(
        device_path=path, action=action, properties=properties, ancestors=iter(ancestors)
    )


class Stub:
    """A pyudev with two disks and a network device, and with what a test lets it hear."""

    def __init__(self) -> None:
        self.heard, self.speaker = socket.socketpair()
        self.queue: list[object] = []
        self.sources: list[str] = []
        self.started = False
        self.contexts = 0
        self.Monitor = self

    def Context(self) -> Stub:  # noqa: N802 - as it is called there
        """Return itself, counting how often that was asked for."""
        self.contexts += 1
        return self

    def list_devices(self) -> list[object]:
        """Return the devices."""
        pci = device("/devices/pci0/0000:00:02.0", SUBSYSTEM="pci", PCI_ID="1AF4:1042")
        again = device("/devices/pci0/0000:00:02.0", SUBSYSTEM="changed")
        disk = {"SUBSYSTEM": "block", "MAJOR": "8"}
        return [
            device("/devices/pci0/0000:00:02.0/a", pci, DEVNAME="/dev/a", MINOR="0", **disk),
            device("/devices/pci0/0000:00:02.0/b", again, DEVNAME="/dev/b", MINOR="1", **disk),
            device("/devices/virtual/net/lo", SUBSYSTEM="net"),
        ]

    def from_netlink(self, context: object, source: str) -> Stub:
        """Return itself, noting which source was asked for."""
        assert context is self
        self.sources.append(source)
        return self

    def start(self) -> None:
        """Note that it was started."""
        self.started = True

    def fileno(self) -> int:
        """Return the descriptor that becomes readable."""
        return self.heard.fileno()

    def poll(self, timeout: float) -> object:
        """Return what is next in the queue, or raise it."""
        assert timeout == 0
        self.heard.recv(1)
        item = self.queue.pop(0)
        if isinstance(item, OSError):
            raise item
        return item

    def say(self, *items: object) -> None:
        """Put devices, errors, or None for a message that libudev passes over, in the queue."""
        for item in items:
            self.queue.append(item)
            self.speaker.send(b"!")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """Put the stand-in in the place of pyudev."""
    stub = Stub()
    monkeypatch.setattr(_pyudev, "import_module", {"pyudev": stub}.__getitem__)
    monkeypatch.setattr(_pyudev, "deafness", lambda: ("deaf",))
    monkeypatch.setattr(_pyudev, "hidden_from_process", lambda: ("blind",))
    yield stub
    stub.heard.close()
    stub.speaker.close()


def test_devices_of_libudev(stub: Stub) -> None:
    """Those that have a node are listed; a parent that they share is asked once."""
    catalog = DeviceCatalog.of_host()
    assert [str(node) for node in catalog.nodes] == [
        "/dev/a b 8:0 0600 0:0",
        "/dev/b b 8:1 0600 0:0",
    ]
    assert [found.pci.vendor for found in catalog if found.pci] == [0x1AF4, 0x1AF4]
    assert catalog.unknown == ("blind",)
    assert not stub.started


def test_each_look_has_a_context_of_its_own(stub: Stub) -> None:
    """No two threads use one of libudev, which it does not allow, though they share a catalog."""
    catalog = DeviceCatalog.of_host()
    before = stub.contexts
    catalog.refresh()
    catalog.refresh()
    assert stub.contexts == before + 2


def test_news_of_libudev(stub: Stub) -> None:
    """It is the kernel's own; what libudev passes over is no news."""
    monitor = PyudevContext().monitor()
    assert (stub.sources, stub.started) == (["kernel"], True)
    assert monitor.unknown == ("deaf",)
    stub.say(None, device("/devices/x", device("/devices", SUBSYSTEM="y"), action="add", A="1"))
    news = monitor.receive(None)
    assert news is not None
    assert (news.action, news.record.sysfs_path) == ("add", "/devices/x")
    assert news.record.properties == {"A": "1"}
    assert [parent.sysfs_path for parent in news.record.parents] == ["/devices"]
    stub.say(device("/devices/z"))
    news = monitor.receive(60)
    assert news is not None
    assert news.action == ""
    assert monitor.receive(0) is None
    assert monitor.receive(0.001) is None
    stub.say(None)
    assert monitor.receive(0) is None
    monitor.close()
    assert monitor.fileno() == -1
    with pytest.raises(EOFError):
        monitor.receive(0)
    monitor.close()


def test_the_descriptor_is_its_own(stub: Stub) -> None:
    """It is another one of the same socket, which stays pyudev's."""
    monitor = PyudevMonitor()
    assert monitor.fileno() != stub.fileno()
    assert os.fstat(monitor.fileno()).st_ino == os.fstat(stub.fileno()).st_ino
    monitor.close()
    assert stub.heard.fileno() != -1


class Failing:
    """A socket with an error that is seen at the n-th look."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def getsockopt(self, level: int, option: int) -> int:
        """Return the error, and forget it."""
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_ERROR)
        return self.numbers.pop(0)

    def close(self) -> None:
        """Do nothing."""


def test_news_that_is_lost(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the socket is raised with its number, also where pyudev does not tell it."""
    monitor = PyudevMonitor()
    own = monitor._socket
    lost = Failing(errno.ENOBUFS, 0, errno.ENOBUFS, 0, 0, 0)
    monkeypatch.setattr(monitor, "_socket", lost)
    nameless = OSError("Error while polling fd: 3")
    stub.say(nameless, nameless, OSError(errno.EIO, "broken"))
    for _ in range(2):
        with pytest.raises(OSError, match="No buffer space") as caught:
            monitor.receive(0)
        assert caught.value.errno == errno.ENOBUFS
    assert monitor.receive(0) is None
    with pytest.raises(OSError, match="broken"):
        monitor.receive(0)
    assert lost.numbers == []
    monkeypatch.setattr(monitor, "_socket", own)
    monitor.close()


@pytest.mark.parametrize("error", [ImportError("No library named udev"), OSError("bad ELF")])
def test_a_library_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """There is one error for it, which is an `ImportError` and says what to install."""

    def fail(_name: str) -> None:
        raise error

    monkeypatch.setattr(_pyudev, "import_module", fail)
    for call in (DeviceCatalog.of_host, PyudevMonitor):
        with pytest.raises(UdevUnavailableError, match="libudev1") as caught:
            call()
        assert isinstance(caught.value, ImportError)
        assert caught.value.reason == str(error)


def test_devices_from_files_with_news_of_libudev(stub: Stub) -> None:
    """A catalog of files is watched by the same news."""
    catalog = DeviceCatalog.of_sysfs(view=view_of())
    monitor = catalog.context.monitor()
    stub.say(device("/devices/x", action="remove"))
    news = monitor.receive(None)
    assert news is not None
    assert news.action == "remove"
    monitor.close()
