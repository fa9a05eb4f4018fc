"""The catalog: what it lists, how it is narrowed, how a device is found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devroot._device import DeviceNode
from devroot._fallbacks import SubsetFallback
from devroot._mknod import mknod
from devroot._paths import ContainerPath, DevicePath
from devroot.errors import DeviceNotFoundError, InvalidNodeError, InvalidPathError
from devroot.udev import Device, DeviceCatalog, Presence, Query, Record, missing
from tests.unit.udev.conftest import AMD, MELLANOX, SUBSET, dev_root_of

if TYPE_CHECKING:
    from devroot.testing import FakeContainer, FakeHost, FakeUdev


def names_of(catalog: DeviceCatalog) -> list[str]:
    """Return the paths below ``/dev``."""
    return [device.node.path.below_dev for device in catalog]


def test_devices_come_in_the_order_of_their_paths(udev: FakeUdev) -> None:
    """The catalog has all devices that have a node, ordered, with numbers, modes and types."""
    catalog = DeviceCatalog.of_host(udev)
    assert len(catalog) == 6
    assert list(map(str, catalog.nodes)) == [
        "/dev/dri/card0 c 226:0 0600 0:0",
        "/dev/dri/renderD128 c 226:128 0600 0:0",
        "/dev/infiniband/rdma_cm c 10:120 0666 0:0",
        "/dev/infiniband/uverbs0 c 231:192 0666 0:0",
        "/dev/kfd c 511:0 0600 0:0",
        "/dev/sdx b 65:112 0600 0:0",
    ]
    assert [device.mode_known for device in catalog] == [False, False, True, True, False, False]
    assert catalog.unknown == ()


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["dri/card0", "dri/renderD128", "infiniband/rdma_cm", "infiniband/uverbs0"]),
        ({"subsystem": "infiniband_verbs"}, ["infiniband/uverbs0"]),
        ({"subsystem": ["infiniband_*", "kfd"]}, ["infiniband/uverbs0", "kfd"]),
        ({"name": "infiniband/*"}, ["infiniband/rdma_cm", "infiniband/uverbs0"]),
        ({"name": "/dev/infiniband/uverbs[0-9]"}, ["infiniband/uverbs0"]),
        ({"name": "*", "subsystem": "*"}, ["kfd", "sdx"]),
        ({"name": ["kfd", "dri/card?"]}, ["dri/card0", "kfd"]),
        ({"name": "infiniband"}, []),
        ({"driver": "mlx5_*"}, ["infiniband/uverbs0"]),
        ({"driver": "sd"}, ["sdx"]),
        ({"driver": ""}, ["infiniband/rdma_cm", "kfd"]),
        ({"vendor": AMD}, ["dri/card0", "dri/renderD128"]),
        ({"vendor": AMD, "name": "dri/renderD*", "subsystem": "drm"}, ["dri/renderD128"]),
        ({"vendor": 0x10DE}, []),
        ({"vendor": MELLANOX}, ["infiniband/uverbs0"]),
    ],
)
def test_filters(udev: FakeUdev, filters: dict[str, Any], names: list[str]) -> None:
    """Every filter has to match; a name is matched component by component."""
    found = names_of(DeviceCatalog.of_host(udev).select(**filters))
    assert found[: len(names)] == names
    assert bool(filters) <= (len(found) == len(names))


def test_filters_add_up_and_are_remembered(udev: FakeUdev) -> None:
    """What was narrowed twice stays so when it is read anew."""
    catalog = DeviceCatalog.of_host(udev).select(vendor=AMD).select(name="dri/render*")
    assert names_of(catalog) == ["dri/renderD128"]
    assert catalog.queries == (Query(vendor=AMD), Query(name="dri/render*"))
    udev.unplug("dri/renderD128")
    udev.plug("dri/renderD129", major=226, minor=129, subsystem="drm")
    assert names_of(catalog.refresh()) == []
    udev.plug(
        "dri/renderD130", major=226, minor=130, subsystem="drm", pci="0000:04:00.0", vendor=AMD
    )
    assert names_of(catalog.refresh()) == ["dri/renderD130"]
    assert names_of(catalog) == ["dri/renderD128"]


def test_a_number_has_its_device(udev: FakeUdev) -> None:
    """The same number means another device for the other type."""
    catalog = DeviceCatalog.of_host(udev)
    assert catalog.by_number(511, 0).node.path == DevicePath("kfd")
    assert catalog.by_number(65, 112, type="b").node.path == DevicePath("sdx")
    with pytest.raises(DeviceNotFoundError, match="c 65:112"):
        catalog.by_number(65, 112)


def test_a_path_has_its_device(udev: FakeUdev) -> None:
    """It can be given with or without ``/dev``."""
    catalog = DeviceCatalog.of_host(udev)
    for path in ("/dev/kfd", "kfd", DevicePath("kfd")):
        assert catalog.by_path(path).node.number == (511, 0)
    with pytest.raises(DeviceNotFoundError, match="/dev/nvidia0"):
        catalog.by_path("nvidia0")
    with pytest.raises(InvalidPathError):
        catalog.by_path("/sys/kfd")


@pytest.mark.parametrize(
    ("sysfs_path", "name"),
    [
        ("/devices/virtual/kfd/kfd", "kfd"),
        ("/sys/devices/virtual/kfd/kfd/", "kfd"),
        ("devices/virtual/kfd/kfd", "kfd"),
        ("/sys/class/kfd/kfd", "kfd"),
        ("/sys/dev/char/226:128", "dri/renderD128"),
        ("dev/block/65:112", "sdx"),
        ("block/sdx", "sdx"),
        ("/sys/class/block/sdx", "sdx"),
        ("bus/infiniband_verbs/devices/uverbs0", "infiniband/uverbs0"),
    ],
)
def test_a_place_in_sysfs_has_its_device(udev: FakeUdev, sysfs_path: str, name: str) -> None:
    """It can be the directory itself or a link to it, with or without the root."""
    assert DeviceCatalog.of_host(udev).by_sysfs_path(sysfs_path).node.path == DevicePath(name)


def test_no_device_at_a_place_in_sysfs(udev: FakeUdev) -> None:
    """A block device is not among the character devices of the same number."""
    with pytest.raises(DeviceNotFoundError, match="at dev/char/65:112"):
        DeviceCatalog.of_host(udev).by_sysfs_path("dev/char/65:112")


def test_a_device_belongs_to_a_pci_function(udev: FakeUdev) -> None:
    """Its parents are known, and of them the PCI function with address and vendor."""
    catalog = DeviceCatalog.of_host(udev)
    pci = catalog.by_path("infiniband/uverbs0").pci
    assert pci is not None
    assert (pci.name, pci.vendor, pci.product) == ("0000:3b:00.0", MELLANOX, 0x1017)
    assert pci.driver == "mlx5_core"
    assert catalog.by_path("kfd").pci is None
    assert catalog.by_path("kfd").parents == ()
    assert str(catalog.by_path("kfd")) == "/dev/kfd c 511:0 0600 0:0 (/devices/virtual/kfd/kfd)"


def test_the_nearest_driver_counts() -> None:
    """A bridge further up has a driver too, and it is not that of the device."""
    device = Device(
        node=DeviceNode(path="x", major=1, minor=1),
        sysfs_path="/devices/a/b/x",
    )
    assert device.driver == ""
    record = Record(
        sysfs_path="/devices/a/b/x",
        properties={"DEVNAME": "/dev/x", "MAJOR": "1", "MINOR": "1"},
        parents=(
            Record(sysfs_path="/devices/a/b", properties={"SUBSYSTEM": "pci", "DRIVER": "mine"}),
            Record(sysfs_path="/devices/a", properties={"DRIVER": "pcieport"}),
        ),
    )
    found = Device.of_record(record)
    assert found is not None
    assert found.driver == "mine"
    assert found.pci is not None
    assert (found.pci.vendor, found.pci.product) == (None, None)


def test_a_device_without_a_number_has_no_node() -> None:
    """A network device, for one, is in sysfs and has no node."""
    record = Record(sysfs_path="/devices/virtual/net/lo", properties={"SUBSYSTEM": "net"})
    assert Device.of_record(record) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("MAJOR", "ten"),
        ("MINOR", "-1"),
        ("DEVUID", "٣"),
        ("DEVMODE", "0999"),
        ("DEVNAME", "../x"),
        ("MAJOR", "4096"),
    ],
)
def test_a_node_that_cannot_be_is_refused(field: str, value: str) -> None:
    """What is no number, or too great a one, is named."""
    good = {"DEVNAME": "x", "MAJOR": "1", "MINOR": "1", "DEVMODE": "0600", "DEVUID": "7"}
    record = Record(sysfs_path="/devices/x", properties=good)
    found = Device.of_record(record)
    assert found is not None
    assert found.node == DeviceNode(path="x", major=1, minor=1, mode=0o600, uid=7)
    with pytest.raises(InvalidNodeError) as caught:
        Device.of_record(Record(sysfs_path="/devices/x", properties={**good, field: value}))
    assert value in str(caught.value)


@pytest.mark.parametrize(
    ("filters", "names", "exact"),
    [
        ({"subsystem": "infiniband_verbs"}, ["infiniband"], ["infiniband/uverbs0"]),
        ({"name": "dri/renderD*", "vendor": AMD}, ["dri"], ["dri/renderD128"]),
        ({"subsystem": "kfd"}, ["kfd"], ["kfd"]),
        (
            {"name": ["infiniband/*", "kfd"]},
            ["infiniband", "kfd"],
            ["infiniband/rdma_cm", "infiniband/uverbs0", "kfd"],
        ),
        ({"subsystem": "none"}, [], []),
    ],
)
def test_the_names_of_a_subset(
    udev: FakeUdev, filters: dict[str, Any], names: list[str], exact: list[str]
) -> None:
    """They are directories where nodes have one, and each comes once; or exactly the nodes."""
    catalog = DeviceCatalog.of_host(udev)
    assert [name.below_dev for name in catalog.subset(**filters)] == names
    assert [name.below_dev for name in catalog.subset(exact=True, **filters)] == exact


def test_a_subset_of_devices(udev: FakeUdev) -> None:
    """The fallback for a query has the names of the query, and without a device there is none."""
    nodes = DeviceCatalog.of_host(udev).select(name="infiniband/*").nodes
    assert SubsetFallback.of_devices("/host-dev", nodes) == SUBSET
    exact = SubsetFallback.of_devices(ContainerPath("/host-dev"), nodes, exact=True)
    assert exact == SubsetFallback("/host-dev", ["infiniband/rdma_cm", "infiniband/uverbs0"])
    with pytest.raises(InvalidPathError, match="no names"):
        SubsetFallback.of_devices("/host-dev", [])


def test_the_first_directory_counts() -> None:
    """Of a node that lies deep the first directory is taken: it goes last."""
    node = DeviceNode(path="bus/usb/001/002", major=189, minor=1)
    assert SubsetFallback.of_devices("/p", [node]).names == (DevicePath("bus"),)


def test_what_a_dev_root_lacks(host: FakeHost, udev: FakeUdev, pod: FakeContainer) -> None:
    """Nodes that the kernel has and the dev root lacks, or has with another number, are told."""
    dev_root, catalog = dev_root_of(pod), DeviceCatalog.of_host(udev.within(pod))
    assert missing(dev_root, catalog.select(name="infiniband/*")).complete
    host.remove("/dev/infiniband/uverbs0")
    host.remove("/dev/infiniband/rdma_cm")
    host.device("/dev/infiniband/rdma_cm", major=10, minor=121)
    found = missing(dev_root, catalog)
    assert [node.path.below_dev for node in found.missing] == ["infiniband/uverbs0"]
    assert [node.path.below_dev for node in found.wrong] == ["infiniband/rdma_cm"]
    outside = ["dri/card0", "dri/renderD128", "kfd", "sdx"]
    assert [node.path.below_dev for node in found.having(Presence.UNKNOWN)] == outside
    mknod(dev_root, [*found.missing, *found.wrong])
    host.assert_on_host(catalog.by_path("infiniband/uverbs0").node)
    assert missing(dev_root, catalog.select(name="infiniband/*")).complete
