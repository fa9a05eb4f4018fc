"""The fake: it has the node, the place in sysfs and the news of a real device."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from devroot.errors import InvalidNodeError, InvalidSceneError
from devroot.testing import FakeUdev
from devroot.udev import DeviceCatalog

if TYPE_CHECKING:
    from devroot.testing import FakeContainer, FakeHost


def test_a_device_has_a_node_and_a_place(host: FakeHost, udev: FakeUdev) -> None:
    """Both are on the host, and the container's sysfs shows the same."""
    assert str(host.device("/dev/infiniband/uverbs0")) == "c 231:192 0666 0:0"
    assert str(host.device("/dev/sdx")) == "b 65:112 0600 0:0"
    assert host.has("/sys/class/drm/card0/uevent")
    assert host.has("/sys/bus/pci")
    assert host.has("/sys/dev/char/231:192/subsystem")
    assert repr(udev) == "<FakeUdev with 6 devices>"
    assert udev.unknown == ()


def test_a_device_that_goes_takes_all_with_it(host: FakeHost, udev: FakeUdev) -> None:
    """So does the last one with the directory of its node; others leave it."""
    udev.unplug("infiniband/uverbs0")
    assert not host.has("/dev/infiniband/uverbs0")
    assert not host.has("/sys/dev/char/231:192")
    assert not host.has("/sys/class/infiniband_verbs/uverbs0")
    assert host.has("/dev/infiniband")
    udev.unplug("infiniband/rdma_cm")
    assert not host.has("/dev/infiniband")
    host.remove("/dev/dri")
    udev.unplug("dri/card0")
    udev.unplug("dri/renderD128")
    assert len(DeviceCatalog.of_host(udev)) == 2


def test_a_node_that_is_there_stays(host: FakeHost, udev: FakeUdev) -> None:
    """A name that has something already is left alone, as by devtmpfs."""
    host.device("/dev/tun", major=10, minor=201)
    udev.plug("tun", major=10, minor=200, subsystem="misc")
    assert host.device("/dev/tun").number == (10, 201)


def test_what_cannot_be_is_refused(udev: FakeUdev) -> None:
    """It is said what would be right."""
    with pytest.raises(InvalidSceneError, match="'block'"):
        udev.plug("sdy", type="b", major=8, minor=1, subsystem="scsi")
    with pytest.raises(InvalidSceneError, match="unplug it first"):
        udev.plug("/dev/kfd", major=8, minor=1, subsystem="kfd")
    with pytest.raises(InvalidNodeError):
        udev.plug("x", major=-1, minor=1, subsystem="misc")
    with pytest.raises(InvalidSceneError, match="plug it in first"):
        udev.unplug("x")
    device = DeviceCatalog.of_host(udev).by_path("kfd")
    udev.unplug("kfd")
    with pytest.raises(InvalidSceneError, match="announce"):
        udev.announce("change", device)


def test_a_container_has_its_own_sysfs(udev: FakeUdev, pod: FakeContainer) -> None:
    """What is mounted over a part of it hides devices there, and not from the host."""
    within = udev.within(pod)
    assert DeviceCatalog.of_host(within).devices == DeviceCatalog.of_host(udev).devices
    pod.tmpfs("/sys/dev")
    assert len(DeviceCatalog.of_host(within)) == 0
    assert within.unknown == ("tmpfs is mounted over /sys/dev",)
    assert len(DeviceCatalog.of_host(udev)) == 6


def test_news_beyond_the_capacity_is_lost(host: FakeHost) -> None:
    """The loss is told before what waits, once, as the kernel does."""
    udev = FakeUdev(host, capacity=2)
    monitor = udev.monitor()
    for minor in range(5):
        udev.plug(f"tty{minor}", major=4, minor=minor, subsystem="tty")
    with pytest.raises(OSError, match="No buffer space") as caught:
        monitor.receive(0)
    assert caught.value.errno == errno.ENOBUFS
    heard = [monitor.receive(None), monitor.receive(None)]
    names = [news.record.properties["DEVNAME"] for news in heard if news is not None]
    assert names == ["tty0", "tty1"]
    assert monitor.receive(0) is None
    with pytest.raises(EOFError):
        monitor.receive(None)
    monitor.close()
    with pytest.raises(EOFError):
        monitor.receive(0)


def test_a_wait_that_is_one(host: FakeHost) -> None:
    """With threads, a monitor waits for what another thread does."""
    udev = FakeUdev(host, waits=True)
    monitor = udev.monitor()
    thread = threading.Thread(target=lambda: udev.plug("tty1", major=4, minor=1, subsystem="tty"))
    thread.start()
    news = monitor.receive(None)
    thread.join()
    assert news is not None
    assert news.action == "add"
    assert monitor.receive(0) is None
    monitor.close()
