"""Device nodes of a CDI spec: always complete, and never with a host path that is not proved."""

from __future__ import annotations

import json

import pytest

from devroot import DeviceNode, DevicePath, DevRoot, RootFallback, SubsetFallback
from devroot.cdi import described, device_node
from devroot.errors import InvalidNodeError, InvalidSpecError, NotOnHostError, OutsideSubsetError
from devroot.testing import scenario
from tests._views import HOST_DEV_LINE, HOST_ROOT_LINE, ROOT_LINE, view_of

CAP = DeviceNode(path="nvidia-caps/nvidia-cap4323", major=235, minor=0, mode=0o640, uid=0, gid=44)
DEV_ASIDE = "12 10 0:6 / /host-dev/dev rw,nosuid - devtmpfs udev rw,size=4096k"


def dev_root_of(names: tuple[DevicePath, ...] | None = None) -> DevRoot:
    """Return a dev root at ``/host-dev`` that reaches the host."""
    view = view_of(
        ROOT_LINE,
        DEV_ASIDE,
        host=[HOST_ROOT_LINE, HOST_DEV_LINE],
        files=["dir /host-dev/dev"],
    )
    return DevRoot(container="/host-dev", view=view, names=names)


def test_a_node_is_complete() -> None:
    """Every field is there, numbers are numbers, a minor of 0 and an owner of 0 are kept."""
    node = device_node(dev_root_of(), CAP)
    assert list(node.items()) == [
        ("path", "/dev/nvidia-caps/nvidia-cap4323"),
        ("hostPath", "/dev/nvidia-caps/nvidia-cap4323"),
        ("type", "c"),
        ("major", 235),
        ("minor", 0),
        ("fileMode", 0o640),
        ("permissions", "rw"),
        ("uid", 0),
        ("gid", 44),
    ]
    assert '"fileMode": 416' in json.dumps(node)


def test_a_described_node_has_no_host_path() -> None:
    """Its numbers are all that it says, and all that a runtime needs to make it."""
    node = described(CAP)
    assert {**node, "hostPath": "/dev/nvidia-caps/nvidia-cap4323"} == device_node(
        dev_root_of(), CAP
    )
    assert "hostPath" not in node


def test_a_block_device_is_one() -> None:
    """The type is that of the node."""
    assert described(DeviceNode(path="sda", type="b", major=8, minor=0))["type"] == "b"


def test_the_host_path_is_the_hosts() -> None:
    """The node of a driver container is where the host has it; the workload sees it in /dev."""
    dev_root = scenario("operator").driver_root.dev_root()
    node = device_node(dev_root, DeviceNode(path="nvidia0", major=195, minor=0))
    assert (node["path"], node["hostPath"]) == ("/dev/nvidia0", "/run/nvidia/driver/dev/nvidia0")


def test_no_host_path_without_proof() -> None:
    """A node in the container's own /dev gets none; that it looks right there is the bug."""
    dev_root = scenario("gke").driver_root.dev_root(fallback=RootFallback())
    with pytest.raises(NotOnHostError, match="PRIVATE"):
        device_node(dev_root, CAP)


def test_no_host_path_for_an_unknown_reach() -> None:
    """What nothing decides is not given to a runtime either."""
    dev_root = DevRoot(container="/", view=view_of())
    with pytest.raises(NotOnHostError, match="UNKNOWN"):
        device_node(dev_root, CAP)


def test_no_host_path_outside_a_subset() -> None:
    """What a subset does not show has no host path."""
    dev_root = dev_root_of(names=(CAP.path.parents[0],))
    assert device_node(dev_root, CAP)["hostPath"] == str(CAP.path)
    with pytest.raises(OutsideSubsetError):
        device_node(dev_root, DeviceNode(path="nvidia0", major=195, minor=0))


def test_a_fallback_gives_the_same_node() -> None:
    """Whether all of /dev is aside, or the subset, the runtime reads the same."""
    dev_root = scenario("gke").driver_root.dev_root(
        fallback=SubsetFallback("/host-dev", ["nvidia-caps"])
    )
    assert device_node(dev_root, CAP) == device_node(dev_root_of(), CAP)


def test_major_0_cannot_be_described() -> None:
    """A runtime takes 0 for a number that was not given, and would look at the host."""
    with pytest.raises(InvalidNodeError, match="not given"):
        described(DeviceNode(path="x", major=0, minor=1))


def test_permissions_are_the_callers() -> None:
    """A workload that is to make nodes itself can be given leave to."""
    assert device_node(dev_root_of(), CAP, permissions="rwm")["permissions"] == "rwm"


@pytest.mark.parametrize("permissions", ["", "x", "rx", "none"])
def test_permissions_are_letters(permissions: str) -> None:
    """Anything but r, w and m is refused, and so is nothing at all, which means everything."""
    with pytest.raises(InvalidSpecError, match="'r', 'w' and 'm'"):
        described(CAP, permissions=permissions)
