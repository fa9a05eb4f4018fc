"""What a test is shown of a fake host: trees, and assertions that failed."""

from __future__ import annotations

import pytest

from devroot import DeviceNode
from devroot.testing import FakeHost

CAP = DeviceNode(path="nvidia-caps/nvidia-cap1", major=511, minor=1, mode=0o400)


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a container to which a part of ``/dev`` is mounted."""
    host = FakeHost()
    host.tmpfs("/dev", nodev=True)
    host.add(
        "char /dev/nvidia-caps/nvidia-cap1 511:1 0400",
        "block /dev/disk 8:0 0660 0:6",
        "link /dev/to-disk disk",
        "fifo /dev/queue",
        "file /dev/note",
    )
    host.container(name="plugin", mounts=["/dev/nvidia-caps:/host-dev/dev/nvidia-caps:ro"])
    return host


def test_tree(host: FakeHost) -> None:
    """Nodes have their numbers and mount points what is mounted, on every side."""
    assert host.tree("/dev").split("plugin:")[0] == (
        "host:\n"
        "  /dev/  [tmpfs 0:32 nodev]\n"
        "  /dev/disk b 8:0 0660 0:6\n"
        "  /dev/note\n"
        "  /dev/nvidia-caps/\n"
        "  /dev/nvidia-caps/nvidia-cap1 c 511:1 0400\n"
        "  /dev/queue (fifo)\n"
        "  /dev/to-disk -> disk\n"
    )
    assert host.tree("/host-dev/dev") == (
        "host:\n"
        "  /host-dev/dev is not there\n"
        "plugin:\n"
        "  /host-dev/dev/\n"
        "  /host-dev/dev/nvidia-caps/  [tmpfs 0:32 /nvidia-caps read_only nodev]\n"
        "  /host-dev/dev/nvidia-caps/nvidia-cap1 c 511:1 0400"
    )
    host.remove("/dev/nvidia-caps")
    assert "[tmpfs 0:32 /nvidia-caps deleted read_only nodev]" in host.tree("/host-dev")


def test_tree_of_everything(host: FakeHost) -> None:
    """From the root on, all is shown but the files of the kernel."""
    lines = host.tree().split("\n")
    assert "  /  [ext4 8:1]" in lines
    assert "  /proc/  [proc 0:30]" in lines
    assert not [line for line in lines if line.startswith("  /proc/devices")]


def test_assert_on_host(host: FakeHost) -> None:
    """What is there as it should be is returned."""
    assert host.assert_on_host(CAP).number == (511, 1)
    assert host.assert_on_host("nvidia-caps/nvidia-cap1").mode == 0o400
    host.assert_not_on_host("nvidia-caps/nvidia-cap2")


def test_assert_on_host_fails(host: FakeHost) -> None:
    """What is not there is shown with both sides, and with where it is instead."""
    host.containers[0].device("/dev/nvidia9", major=195, minor=9)
    with pytest.raises(AssertionError) as caught:
        host.assert_on_host("nvidia9")
    text = str(caught.value)
    assert text.startswith("host has no such device node; plugin has one at /dev/nvidia9")
    assert "\nhost:\n  /dev/" in text
    assert "\nplugin:\n  /dev/  [tmpfs" in text
    assert "  /dev/nvidia9 c 195:9 0666" in text


def test_a_node_that_is_another(host: FakeHost) -> None:
    """A node with another number or mode is not the node."""
    other = DeviceNode(path=CAP.path, major=511, minor=2, mode=0o444)
    with pytest.raises(AssertionError, match="is c 511:1 0400 0:0 on the host, and not c 511:2"):
        host.assert_on_host(other)


def test_assert_not_on_host_fails(host: FakeHost) -> None:
    """What is there although it should not be is shown."""
    with pytest.raises(AssertionError, match="the host has /dev/nvidia-caps/nvidia-cap1"):
        host.assert_not_on_host(CAP)
