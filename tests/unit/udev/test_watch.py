"""The watch: what comes and goes, told once, with its places, until the mount goes stale."""

from __future__ import annotations

import errno
import select
from types import SimpleNamespace
from typing import TYPE_CHECKING

import attrs
import pytest

from devroot._driver_root import DriverRoot
from devroot._evidence import Verdict
from devroot._fallbacks import HostDevFallback
from devroot._paths import ContainerPath, HostPath
from devroot.errors import NotOnHostError, UdevUnavailableError
from devroot.udev import Change, DeviceCatalog, Event, Record, UdevNews, Watch, watch
from tests.unit.udev.conftest import dev_root_of, plug_port

if TYPE_CHECKING:
    from devroot._dev_root import DevRoot
    from devroot.testing import FakeContainer, FakeHost, FakeUdev
    from devroot.udev import UdevContext


def told(events: Watch) -> list[str]:
    """Return what there is to tell now, as words."""
    return [
        f"{event.change.value} {event.node.path.below_dev}" if event.node else event.change.value
        for event in events
    ]


@pytest.fixture
def dev_root(pod: FakeContainer) -> DevRoot:
    """Return the dev root with the InfiniBand subset."""
    return dev_root_of(pod)


@pytest.fixture
def ports(udev: FakeUdev) -> DeviceCatalog:
    """Return the catalog of InfiniBand devices."""
    return DeviceCatalog.of_host(udev).select(name="infiniband/*")


def test_nodes_that_come_and_go(udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog) -> None:
    """Each is told with where it is in this container and on the host."""
    with watch(dev_root, ports) as events:
        plug_port(udev, 1)
        event = next(events)
        assert event.change is Change.ADDED
        assert event.node is not None
        assert event.node.number == (231, 193)
        assert event.container_path == ContainerPath("/host-dev/dev/infiniband/uverbs1")
        assert event.host_path == HostPath("/dev/infiniband/uverbs1")
        assert event.reach is not None
        assert event.reach.verdict is Verdict.HOST
        assert (event.outside, event.reason) == (False, "")
        assert str(event) == "added /dev/infiniband/uverbs1 c 231:193 0666 0:0"
        udev.unplug("infiniband/uverbs1")
        event = next(events)
        assert (event.change, event.host_path) == (
            Change.REMOVED,
            HostPath("/dev/infiniband/uverbs1"),
        )
        assert events.poll(0) is None
        assert list(events) == []


def test_a_node_outside_of_the_subset_is_told(udev: FakeUdev, dev_root: DevRoot) -> None:
    """It has no place in the container, and the event says so instead of being left out."""
    with watch(dev_root, DeviceCatalog.of_host(udev)) as events:
        udev.plug("vfio/42", major=237, minor=42, subsystem="vfio")
        udev.unplug("vfio/42")
        added, removed = events
    for event in (added, removed):
        assert event.outside
        assert (event.container_path, event.host_path, event.reach) == (None, None, None)
        assert "lies outside" in event.reason
        assert "/dev/infiniband" in str(event)


def test_only_what_the_catalog_was_narrowed_to(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """Devices that no filter lets through are not told, come or go."""
    with watch(dev_root, ports) as events:
        udev.plug("tty9", major=4, minor=9, subsystem="tty")
        udev.unplug("kfd")
        plug_port(udev, 2)
        assert told(events) == ["added infiniband/uverbs2"]


def test_nothing_is_lost_between_catalog_and_watch(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """What has changed since the catalog was read is told first, and once."""
    plug_port(udev, 1)
    udev.unplug("infiniband/uverbs0")
    with watch(dev_root, ports) as events:
        assert told(events) == ["removed infiniband/uverbs0", "added infiniband/uverbs1"]
        names = [device.node.path.name for device in events.catalog]
        assert names == ["rdma_cm", "uverbs1"]


def test_devices_that_are_there_already(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """With replay they are told as if they had come."""
    udev.unplug("infiniband/rdma_cm")
    with watch(dev_root, ports, replay=True) as events:
        assert told(events) == ["added infiniband/uverbs0"]


def test_a_watch_of_everything(
    monkeypatch: pytest.MonkeyPatch, udev: FakeUdev, dev_root: DevRoot
) -> None:
    """Without a catalog it is all that there is, by the udev of this process."""
    monkeypatch.setattr("devroot.udev._catalog.PyudevContext", lambda: udev)
    with watch(dev_root) as events:
        udev.unplug("kfd")
        assert told(events) == ["removed kfd"]


def test_other_news_changes_nothing(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """What is known is not told again, and news that somebody wrote by hand is none."""
    port = ports.by_path("infiniband/uverbs0")
    with watch(dev_root, ports) as events:
        udev.announce("change", port)
        udev.announce("add", port, SYNTH_UUID="0")
        udev.announce("remove", port, SYNTH_UUID="0")
        udev.announce("bind", port)
        assert told(events) == []


def test_news_of_what_has_no_node(udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog) -> None:
    """A network device comes and goes without one."""
    link = Record(sysfs_path="/devices/virtual/net/x", properties={"SUBSYSTEM": "net"})
    with watch(dev_root, ports) as events:
        for action in ("add", "remove"):
            udev._tell(UdevNews(action=action, record=link))
        assert told(events) == []


def test_a_device_that_has_another_number_now(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """The old node is told as removed and the new one as added, by news and by a new look."""
    port = ports.by_path("infiniband/uverbs0")
    with watch(dev_root, ports) as events:
        udev.announce("change", port, MINOR="199")
        removed, added = events
        assert removed.node == port.node
        assert added.node == attrs.evolve(port.node, minor=199)
        events.rescan()
        assert told(events) == ["removed infiniband/uverbs0", "added infiniband/uverbs0"]


def test_a_device_that_moves_keeps_its_node(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """Another place in sysfs alone is not told; it is the same device when it goes."""
    port = ports.by_path("infiniband/uverbs0")
    moved = attrs.evolve(port, sysfs_path="/devices/old")
    before = attrs.evolve(ports, devices=(moved,))
    with watch(dev_root, before) as events:
        assert told(events) == [
            "removed infiniband/uverbs0",
            "added infiniband/rdma_cm",
            "added infiniband/uverbs0",
        ]
        udev.announce("move", port, DEVPATH_OLD="/devices/older")
        assert told(events) == []
        events._known["/devices/older"] = events._known.pop(port.sysfs_path)
        udev.announce("move", port, DEVPATH_OLD="/devices/older")
        assert told(events) == []
        events._known["/devices/older"] = events._known.pop(port.sysfs_path)
        udev.announce("move", port, DEVPATH_OLD="/devices/older", MINOR="199")
        assert told(events) == ["removed infiniband/uverbs0", "added infiniband/uverbs0"]
        udev.unplug("infiniband/uverbs0")
        assert told(events) == ["removed infiniband/uverbs0"]


def test_lost_news_is_told_and_looked_for(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """The overflow comes first, then what has changed; old news cannot undo it."""
    udev.capacity = 1
    with watch(dev_root, ports) as events:
        plug_port(udev, 1)  # the news of this one waits
        udev.unplug("infiniband/uverbs1")  # and of these it is lost
        udev.unplug("infiniband/uverbs0")
        event = next(events)
        assert event.change is Change.OVERFLOW
        assert (event.device, event.outside) == (None, False)
        assert str(event).startswith("overflow: ")
        assert "ENOBUFS" in event.reason
        assert told(events) == ["removed infiniband/uverbs0"]


def test_news_that_is_lost_while_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch, udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """It is told once; another error of the socket is raised, and an end is one."""
    with watch(dev_root, ports) as events:
        lost = OSError(errno.ENOBUFS, "lost")
        _raise_in_turn(monkeypatch, events, lost, lost, EOFError())
        plug_port(udev, 1)
        rows = [events.poll(0), events.poll(0)]
        assert [row.change.value for row in rows if row] == ["overflow", "added"]
        broken = OSError(errno.EIO, "broken")
        for errors in ([lost, broken], [broken]):
            _raise_in_turn(monkeypatch, events, *errors)
            events._pending.clear()
            with pytest.raises(OSError, match="broken"):
                events.poll(0)


def _raise_in_turn(monkeypatch: pytest.MonkeyPatch, events: Watch, *errors: Exception) -> None:
    """Let the next calls of the monitor fail so."""
    left = list(errors)

    def receive(_timeout: float | None) -> None:
        if left:
            raise left.pop(0)

    monkeypatch.setattr(events._monitor, "receive", receive)


def test_a_stale_mount_ends_it(udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog) -> None:
    """What has gone is told, then an error says that the mount is stale; a new node is not seen."""
    with watch(dev_root, ports) as events:
        udev.unplug("infiniband/rdma_cm")
        udev.unplug("infiniband/uverbs0")
        plug_port(udev, 1)
        rows = [next(events) for _ in range(3)]
        assert [row.change.value for row in rows] == ["removed", "removed", "added"]
        assert [row.host_path for row in rows] == [None] * 3
        assert rows[2].reason == "its reach is STALE"
        for _ in range(2):
            with pytest.raises(NotOnHostError, match="STALE") as caught:
                next(events)
            assert caught.value.path == ContainerPath("/host-dev/dev/infiniband")
            assert caught.value.remedies == dev_root.remedies
        assert events.fileno() == -1
    with pytest.raises(NotOnHostError, match="STALE"):
        watch(dev_root, ports)


def test_a_dev_root_with_all_of_dev(host: FakeHost, udev: FakeUdev) -> None:
    """Nothing is outside of it, and it does not go stale with a directory in it."""
    pod = host.container(mounts=["/dev:/host-dev/dev"])
    driver_root = DriverRoot(host="/", container="/", view=pod.view)
    dev_root = driver_root.dev_root(fallback=HostDevFallback("/host-dev"))
    with watch(dev_root, DeviceCatalog.of_host(udev)) as events:
        udev.unplug("infiniband/rdma_cm")
        udev.unplug("infiniband/uverbs0")
        plug_port(udev, 1)
        assert [str(event.host_path) for event in events] == [
            "/dev/infiniband/rdma_cm",
            "/dev/infiniband/uverbs0",
            "/dev/infiniband/uverbs1",
        ]


def test_what_may_be_hidden_comes_first(host: FakeHost, udev: FakeUdev) -> None:
    """In a user namespace no news comes: that is told, and a new look finds what has changed."""
    pod = host.container(mounts=["/dev/infiniband:/host-dev/dev/infiniband"], user_namespace=True)
    pod.tmpfs("/sys/devices/virtual/powercap")
    catalog = DeviceCatalog.of_host(udev.within(pod)).select(name="infiniband/*")
    with watch(dev_root_of(pod), catalog) as events:
        first, second = events
        assert {first.change, second.change} == {Change.UNKNOWN}
        assert "tmpfs is mounted over /sys/devices/virtual/powercap" in str(first)
        assert "user namespace" in second.reason
        assert events.unknown == (first.reason, second.reason)
        plug_port(udev, 1)
        assert told(events) == []
        events.rescan()
        assert told(events) == ["added infiniband/uverbs1"]


def test_a_descriptor_to_wait_for(udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog) -> None:
    """It is readable while there is news, and gone once the watch is closed."""
    events = watch(dev_root, ports)
    assert select.select([events], [], [], 0)[0] == []
    plug_port(udev, 1)
    assert select.select([events], [], [], 0)[0] == [events]
    assert isinstance(events.poll(5), Event)
    assert events.poll(0.001) is None
    assert select.select([events], [], [], 0)[0] == []
    events.close()
    events.close()
    assert events.fileno() == -1
    assert events.poll() is None
    assert udev._monitors == []


def test_a_failed_start_leaves_nothing_open(
    udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """If the first look fails, the monitor is closed."""

    class Broken:
        unknown = ()
        monitor = udev.monitor

        def records(self) -> list[object]:
            raise UdevUnavailableError(reason="it went")

    context: UdevContext = Broken()  # type: ignore[assignment]
    with pytest.raises(UdevUnavailableError):
        watch(dev_root, attrs.evolve(ports, context=context))
    assert udev._monitors == []


def test_a_timeout_is_kept_while_other_news_comes(
    monkeypatch: pytest.MonkeyPatch, udev: FakeUdev, dev_root: DevRoot, ports: DeviceCatalog
) -> None:
    """News that does not matter does not make a wait longer than was asked for."""
    clock = iter(range(100))
    ticking = SimpleNamespace(monotonic=lambda: float(next(clock)))
    monkeypatch.setattr("devroot.udev._watch.time", ticking)
    waits: list[float | None] = []
    with watch(dev_root, ports) as events:
        receive = events._monitor.receive

        def noisy(timeout: float | None) -> object:
            waits.append(timeout)
            if timeout:
                udev.announce("change", ports.by_path("infiniband/uverbs0"))
            return receive(timeout)

        monkeypatch.setattr(events._monitor, "receive", noisy)
        assert events.poll(3) is None
    assert waits[-1] == 0.0
    assert [wait for wait in waits if wait] == [2.0, 1.0]
