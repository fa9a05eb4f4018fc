"""A host with devices of several kinds, and a container that sees some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devroot._driver_root import DriverRoot
from devroot._fallbacks import SubsetFallback
from devroot._paths import ContainerPath
from devroot.testing import FakeContainer, FakeHost, FakeUdev

if TYPE_CHECKING:
    from devroot._dev_root import DevRoot

SUBSET = SubsetFallback("/host-dev", ["infiniband"])
MELLANOX = 0x15B3
AMD = 0x1002


@pytest.fixture
def host() -> FakeHost:
    """Return a host whose ``/dev`` is devtmpfs."""
    host = FakeHost()
    host.devtmpfs("/dev")
    return host


@pytest.fixture
def udev(host: FakeHost) -> FakeUdev:
    """Return its devices: two of InfiniBand, two of a GPU, a disk, a misc device."""
    udev = FakeUdev(host)
    plug_port(udev, 0)
    udev.plug("infiniband/rdma_cm", major=10, minor=120, subsystem="misc", mode=0o666)
    for name, minor in (("card0", 0), ("renderD128", 128)):
        udev.plug(
            f"dri/{name}",
            major=226,
            minor=minor,
            subsystem="drm",
            pci="0000:03:00.0",
            vendor=AMD,
            product=0x744C,
            driver="amdgpu",
        )
    udev.plug("sdx", type="b", major=65, minor=112, subsystem="block", driver="sd")
    udev.plug("kfd", major=511, minor=0, subsystem="kfd")
    return udev


def plug_port(udev: FakeUdev, number: int) -> None:
    """Plug in an InfiniBand device."""
    udev.plug(
        f"infiniband/uverbs{number}",
        major=231,
        minor=192 + number,
        subsystem="infiniband_verbs",
        mode=0o666,
        pci=f"0000:3b:00.{number}",
        vendor=MELLANOX,
        product=0x1017,
        driver="mlx5_core",
    )


@pytest.fixture
def pod(host: FakeHost, udev: FakeUdev) -> FakeContainer:
    """Return a container that has only the InfiniBand subset mounted."""
    assert udev.records()
    return host.container(mounts=SUBSET.mounts)


def dev_root_of(pod: FakeContainer) -> DevRoot:
    """Return the dev root that shows the subset in the container."""
    driver_root = DriverRoot(host="/", container="/", view=pod.view)
    dev_root = driver_root.dev_root(fallback=SUBSET)
    assert dev_root.container == ContainerPath("/host-dev")
    return dev_root
