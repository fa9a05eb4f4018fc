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
        "link /dev/to-afar /a/target/that/is/long/and/longer",
        "fifo /dev/queue 0600",
        "file /dev/note",
        "file /dev/secret 0600 7:8",
        "dir /dev/shared 1777",
    )
    host.container(name="plugin", mounts=["/dev/nvidia-caps:/host-dev/dev/nvidia-caps:ro"])
    return host


def test_tree(host: FakeHost) -> None:
    """Each path is a row and each machine a column, with numbers, modes, owners and mounts."""
    assert host.tree("/dev/nvidia-caps", containers=[]) == (
        "                              host\n"
        "/dev/nvidia-caps              dir\n"
        "/dev/nvidia-caps/nvidia-cap1  c 511:1 0400"
    )
    lines = host.tree("/dev").split("\n")
    assert lines[0].split() == ["host", "plugin"]
    width = len(lines[0]) - len("plugin")
    on_host = {line[:width].split()[0]: line[:width].strip() for line in lines[1:]}
    assert {path: " ".join(cell.split()[1:]) for path, cell in on_host.items()} == {
        **dict.fromkeys(on_host, "-"),
        "/dev": "dir [tmpfs nodev]",
        "/dev/disk": "b 8:0 0660 0:6",
        "/dev/note": "file",
        "/dev/nvidia-caps": "dir",
        "/dev/nvidia-caps/nvidia-cap1": "c 511:1 0400",
        "/dev/queue": "fifo 0600",
        "/dev/secret": "file 0600 7:8",
        "/dev/shared": "dir 1777",
        "/dev/to-afar": "-> /a/target/that/is/long/…",
        "/dev/to-disk": "-> disk",
    }
    (null,) = (line for line in lines if line.startswith("/dev/null "))
    assert null.split() == ["/dev/null", "-", "c", "1:3", "0666"]


def test_mounts_are_told_by_where_the_host_sees_them(host: FakeHost) -> None:
    """A mount says where the host sees it, and whether it is read-only or stale by now."""
    assert host.tree("/host-dev") == (
        "                                       host  plugin\n"
        "/host-dev                              -     dir\n"
        "/host-dev/dev                          -     dir\n"
        "/host-dev/dev/nvidia-caps              -     dir [tmpfs host:/dev/nvidia-caps ro nodev]\n"
        "/host-dev/dev/nvidia-caps/nvidia-cap1  -     c 511:1 0400"
    )
    host.remove("/dev/nvidia-caps")
    assert "[tmpfs /nvidia-caps stale ro nodev]" in host.tree("/host-dev")


def test_a_mount_that_the_host_does_not_see(host: FakeHost) -> None:
    """What is covered on the host, or bound from elsewhere, has the place in its file system."""
    host.directory("/opt/driver")
    shown = host.container(mounts=["/opt/driver:/driver"], name="b")
    assert "[ext4 host:/opt/driver]" in host.tree("/driver")
    host.tmpfs("/opt")
    host.directory("/opt/driver")
    assert "[ext4 /opt/driver]" in host.tree("/driver", containers=[shown])
    host.bind("/etc", "/bound")
    assert host.tree("/bound", containers=[]).split("\n")[1] == "/bound  dir [ext4 /etc]"


def test_the_private_dev_is_seen(host: FakeHost) -> None:
    """A node that was made in a private ``/dev`` is in one column and not in the other."""
    host.containers[0].device("/dev/nvidia-caps/nvidia-cap2", major=511, minor=2, mode=0o444)
    assert host.tree("/dev/nvidia-caps") == (
        "                              host          plugin\n"
        "/dev/nvidia-caps              dir           dir\n"
        "/dev/nvidia-caps/nvidia-cap1  c 511:1 0400  -\n"
        "/dev/nvidia-caps/nvidia-cap2  -             c 511:2 0444"
    )


def test_columns_are_sorted(host: FakeHost) -> None:
    """The host comes first and containers by name, nested ones too; a path nobody has is a row."""
    outer = host.container(name="z")
    outer.container(name="a")
    assert host.tree("/none").split() == ["host", "a", "plugin", "z", "/none", *"----"]
    assert host.tree("/none", containers=[outer]).split() == ["host", "z", "/none", "-", "-"]


def test_owners_are_those_that_the_container_sees(host: FakeHost) -> None:
    """In a user namespace, what belongs to the host is nobody's."""
    host.container(name="users", user_namespace=True, mounts=["/dev/nvidia-caps:/caps"])
    assert "  c 511:1 0400 65534:65534" in host.tree("/caps")


def test_tree_of_everything(host: FakeHost) -> None:
    """From the root on, all is shown but the files of the kernel."""
    lines = host.tree(containers=[]).split("\n")
    assert lines[1].split() == ["/", "dir", "[ext4]"]
    assert [line.split() for line in lines if line.startswith("/proc")] == [
        ["/proc", "dir", "0555", "[proc]"]
    ]


def test_assert_on_host(host: FakeHost) -> None:
    """What is there as it should be is returned."""
    assert host.assert_on_host(CAP).number == (511, 1)
    assert host.assert_on_host("nvidia-caps/nvidia-cap1").mode == 0o400
    host.assert_not_on_host("nvidia-caps/nvidia-cap2")


def test_assert_on_host_fails(host: FakeHost) -> None:
    """What is not there is shown with both sides, where it is instead, and the mounts."""
    host.containers[0].device("/dev/nvidia-caps/nvidia-cap2", major=511, minor=2)
    with pytest.raises(AssertionError) as caught:
        host.assert_on_host("nvidia-caps/nvidia-cap2")
    text = str(caught.value)
    assert text.startswith(
        "host has no such device node; plugin has one at /dev/nvidia-caps/nvidia-cap2:"
        " /dev/nvidia-caps/nvidia-cap2\n"
        "                              host               plugin\n"
        "/dev                          dir [tmpfs nodev]  dir [tmpfs]\n"
        "/dev/nvidia-caps              dir                dir\n"
        "/dev/nvidia-caps/nvidia-cap1  c 511:1 0400       -\n"
        "/dev/nvidia-caps/nvidia-cap2  -                  c 511:2 0666\n"
        "mounts of plugin:\n"
    )
    assert text.endswith(host.containers[0].mountinfo())


def test_a_crowd_is_left_out(host: FakeHost) -> None:
    """Of many nodes beside the one that is meant, a failure shows some, and says how many more."""
    for minor in range(2, 102):
        host.device(f"/dev/nvidia-caps/nvidia-cap{minor}", major=511, minor=minor)
    with pytest.raises(AssertionError) as caught:
        host.assert_not_on_host("nvidia-caps/nvidia-cap99")
    lines = str(caught.value).split("\n")
    assert lines[0] == "the host has /dev/nvidia-caps/nvidia-cap99"
    rows = [line for line in lines if line.startswith("/dev/nvidia-caps/")]
    assert len(rows) == 25
    assert rows[-1].startswith("/dev/nvidia-caps/nvidia-cap99 ")
    assert "(76 more in /dev/nvidia-caps are left out)" in lines


def test_a_node_that_is_another(host: FakeHost) -> None:
    """A node with another number or mode is not the node."""
    other = DeviceNode(path=CAP.path, major=511, minor=2, mode=0o444)
    with pytest.raises(AssertionError, match="is c 511:1 0400 0:0 on the host, and not c 511:2"):
        host.assert_on_host(other)


def test_assert_not_on_host_fails(host: FakeHost) -> None:
    """What is there although it should not be is shown."""
    with pytest.raises(AssertionError, match="the host has /dev/nvidia-caps/nvidia-cap1\n"):
        host.assert_not_on_host(CAP)
