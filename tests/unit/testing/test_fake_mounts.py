"""Mounts on a fake host: what stands where, what spreads, and what stands in the way."""

from __future__ import annotations

import errno
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot import ContainerPath, FileType, HostPath
from devroot._mounttree import MountInfoTable
from devroot.errors import InvalidSceneError, PathKindError
from devroot.testing import FakeHost, TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._mountinfo import MountInfo
    from devroot.testing._container import Nesting

ROOT = ContainerPath("/")


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a few files."""
    return FakeHost(["file /a/f\nin a", "dir /b", "file /g\nin g"])


def number_of(action: Callable[[], object]) -> int:
    """Return the errno with which *action* fails."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
        action()
    return caught.value.errno or 0


def mount_at(machine: Nesting, path: str) -> MountInfo[ContainerPath]:
    """Return the mount that is seen at *path*."""
    table: MountInfoTable[ContainerPath] = MountInfoTable.parse(machine.mountinfo().encode())
    found = table.covering(ContainerPath(path))
    assert found is not None
    assert str(found.mount_point) == path
    return found


def content(machine: Nesting, path: str) -> bytes:
    """Return what is in the file *path*."""
    return machine.filesystem.read_bytes(ROOT, path)


def test_bind(host: FakeHost) -> None:
    """What is bound is one directory with two places, and the table says which."""
    host.bind("/a", "/c")
    host.file("/c/new")
    assert host.has("/a/new")
    assert (mount_at(host, "/c").root, mount_at(host, "/c").device) == ("/a", (8, 1))


def test_bind_of_a_file(host: FakeHost) -> None:
    """A file is bound on a file, which is made if it is missing."""
    host.bind("/a/f", "/new/f")
    assert content(host, "new/f") == b"in a"
    assert mount_at(host, "/new/f").root == "/a/f"


@pytest.mark.parametrize(("source", "target"), [("/a", "/g"), ("/g", "/a")])
def test_bind_of_two_kinds(host: FakeHost, source: str, target: str) -> None:
    """A directory does not go on a file, nor a file on a directory."""
    before = host.mountinfo()
    assert number_of(lambda: host.bind(source, target)) == errno.ENOTDIR
    assert host.mountinfo() == before


def test_a_bind_brings_submounts_only_if_recursive(host: FakeHost) -> None:
    """Without ``recursive`` the directory below a mount is seen; with it, the mount."""
    host.tmpfs("/a/t")
    host.file("/a/t/in-tmpfs")
    host.bind("/a", "/plain")
    host.bind("/a", "/whole", recursive=True)
    assert not host.has("/plain/t/in-tmpfs")
    assert host.has("/whole/t/in-tmpfs")


def test_read_only_is_per_mount(host: FakeHost) -> None:
    """Through a read-only bind nothing can be changed; through the other mount it can."""
    host.tmpfs("/a/t")
    host.bind("/a", "/c", recursive=True, read_only=True, nodev=True)
    with host.filesystem.open_directory(ROOT, "c") as directory:
        for attempt in (
            partial(directory.make_directory, "x", mode=0o700),
            partial(directory.unlink, "f"),
            partial(directory.remove_directory, "t"),
            partial(directory.rename, "f", directory, "x", replace=True),
            partial(directory.link, "f", directory, "x"),
            partial(directory.mend, "f", expected=directory.lstat("f"), mode=0o600),
            partial(directory.mend, "f", expected=directory.lstat("f"), uid=1),
        ):
            assert number_of(attempt) == errno.EROFS
        with directory.open_directory("t") as below:
            below.make_directory("x", mode=0o700)
    assert "ro,nodev,relatime" in host.mountinfo()
    assert host.has("/a/t/x")


def test_remount(host: FakeHost) -> None:
    """The options of a mount change; those of its file system are another matter."""
    host.tmpfs("/t", read_only=True)
    host.remount("/t", nodev=True)
    assert mount_at(host, "/t").options == ("rw", "nodev", "relatime")
    host.freeze("/t")
    assert mount_at(host, "/t").super_options.split(",")[0] == "ro"
    with host.filesystem.open_directory(ROOT, "t") as directory:
        assert number_of(lambda: directory.make_directory("x", mode=0o700)) == errno.EROFS


def test_what_is_no_mount_point(host: FakeHost) -> None:
    """A directory on which nothing stands can be neither changed nor unmounted."""
    for attempt in (
        lambda: host.remount("/a"),
        lambda: host.unmount("/a"),
        lambda: host.propagation("/a", "shared"),
    ):
        assert number_of(attempt) == errno.EINVAL


def test_the_root_stays(host: FakeHost) -> None:
    """The root of a machine is not unmounted."""
    assert number_of(lambda: host.unmount("/")) == errno.EBUSY


def test_stacked_mounts(host: FakeHost) -> None:
    """A mount hides what was mounted there; without it, that is seen again."""
    host.tmpfs("/b")
    host.file("/b/first")
    host.tmpfs("/b")
    assert not host.has("/b/first")
    host.unmount("/b")
    assert host.has("/b/first")


def test_unmounting_takes_what_stands_on_it(host: FakeHost) -> None:
    """All that is mounted below goes as well, and an open directory stays usable."""
    host.tmpfs("/b")
    host.tmpfs("/b/c")
    with host.filesystem.open_directory(ROOT, "b/c") as directory:
        host.unmount("/b")
        assert " /b" not in host.mountinfo()
        directory.make_directory("still", mode=0o700)
        assert directory.names() == ["still"]


def test_moves_between_mounts(host: FakeHost) -> None:
    """Two mounts are two places for link and rename, even of one file system."""
    host.bind("/a", "/c")
    files = host.filesystem
    with files.open_directory(ROOT, "a") as a, files.open_directory(ROOT, "c") as c:
        assert a.status().same_file(c.status())
        assert number_of(lambda: a.rename("f", c, "x", replace=False)) == errno.EXDEV
        assert number_of(lambda: a.link("f", c, "x")) == errno.EXDEV
        tree = TreeFileSystem()
        with tree.open_directory(ROOT, "") as other:
            assert number_of(lambda: a.link("f", other, "x")) == errno.EXDEV
    assert number_of(lambda: host.move("/a/f", "/c/f2")) == errno.EXDEV
    assert number_of(lambda: host.hard_link("/c/f2", "/a/f")) == errno.EXDEV


def test_a_mount_point_is_busy(host: FakeHost) -> None:
    """What something is mounted on is neither removed nor moved nor replaced."""
    host.tmpfs("/a/t")
    host.bind("/g", "/a/f")
    with host.filesystem.open_directory(ROOT, "a") as directory:
        directory.make_directory("d", mode=0o700)
        for attempt in (
            partial(directory.unlink, "f"),
            partial(directory.remove_directory, "t"),
            partial(directory.rename, "t", directory, "x", replace=False),
            partial(directory.rename, "d", directory, "t", replace=True),
        ):
            assert number_of(attempt) == errno.EBUSY
    assert number_of(lambda: host.remove("/a")) == errno.EBUSY


def test_in_another_namespace_it_is_not_busy(host: FakeHost) -> None:
    """A mount point elsewhere can be removed, and what was mounted there goes."""
    container = host.container(mounts=["/a:/here"])
    container.tmpfs("/here/t")
    assert mount_at(container, "/here/t").fstype == "tmpfs"
    host.remove("/a/t")
    assert " /here/t " not in container.mountinfo()


def test_deletion_under_a_bind(host: FakeHost) -> None:
    """A directory that was deleted has no links, and nothing can be made in it."""
    container = host.container(mounts=["/a:/here"])
    host.remove("/a")
    host.directory("/a")
    assert mount_at(container, "/here").deleted
    assert container.filesystem.status(ROOT, "here").links == 0
    with container.filesystem.open_directory(ROOT, "here") as directory:
        made = partial(directory.make_directory, "x", mode=0o700)
        assert number_of(made) == errno.ENOENT
    assert number_of(lambda: container.tmpfs("/here")) == errno.ENOENT


def test_a_full_file_system(host: FakeHost) -> None:
    """Nothing more can be made, until there is room again."""
    host.tmpfs("/t")
    host.fill("/t")
    with host.filesystem.open_directory(ROOT, "t") as directory:
        made = partial(directory.make_directory, "x", mode=0o700)
        assert number_of(made) == errno.ENOSPC
        host.fill("/t", full=False)
        made()


def test_shared_mounts_spread_to_slaves(host: FakeHost) -> None:
    """A mount on the host comes to a container that asked for ``HostToContainer``, and goes."""
    slave = host.container(mounts=["/b:/b:rslave"])
    private = host.container(mounts=["/b:/b"])
    host.tmpfs("/b/t")
    host.file("/b/t/f")
    assert (slave.has("/b/t/f"), private.has("/b/t/f")) == (True, False)
    slave.tmpfs("/b/own")
    assert not host.has("/b/own/x")
    assert " /b/own " not in host.mountinfo()
    assert any(field.startswith("master:") for field in mount_at(slave, "/b").optional_fields)
    host.unmount("/b/t")
    assert " /b/t " not in slave.mountinfo()


def test_shared_mounts_spread_both_ways(host: FakeHost) -> None:
    """A mount in a container that asked for ``Bidirectional`` comes to the host, and to slaves."""
    both = host.container(mounts=["/b:/b:rshared"])
    slave = both.container(mounts=["/b:/deep:rslave"])
    both.tmpfs("/b/t")
    both.file("/b/t/f")
    assert host.has("/b/t/f")
    assert slave.has("/deep/t/f")


def test_a_slave_can_share_on(host: FakeHost) -> None:
    """A slave that is shared itself hands on what it gets, and nothing goes back."""
    host.bind("/b", "/c", propagation="slave")
    host.propagation("/c", "shared")
    host.bind("/c", "/d")
    host.bind("/c", "/e", propagation="slave")
    host.tmpfs("/b/t")
    assert [host.mountinfo().count(f" /{name}/t ") for name in "bcde"] == [1, 1, 1, 1]
    host.tmpfs("/c/u")
    assert [host.mountinfo().count(f" /{name}/u ") for name in "bcde"] == [0, 1, 1, 1]
    host.unmount("/b/t")
    assert host.mountinfo().count("/t ") == 0


def test_what_spreads_goes_below_what_is_there(host: FakeHost) -> None:
    """A mount that comes by propagation is hidden by the one that stands there already."""
    container = host.container(mounts=["/b:/b:rslave"])
    host.directory("/b/t")
    container.tmpfs("/b/t")
    container.file("/b/t/own")
    host.tmpfs("/b/t")
    assert container.has("/b/t/own")
    assert container.mountinfo().count(" /b/t ") == 2
    host.unmount("/b/t")
    assert container.has("/b/t/own")
    assert container.mountinfo().count(" /b/t ") == 1


def test_a_stack_that_spreads_goes_below_as_a_whole(host: FakeHost) -> None:
    """What stands there already stands on the uppermost mount of what comes."""
    container = host.container(mounts=["/b:/b:rslave"])
    host.directory("/b/t")
    container.tmpfs("/b/t")
    container.file("/b/t/own")
    host.tmpfs("/")
    host.bind("/", "/b/t", recursive=True)
    assert container.has("/b/t/own")
    container.unmount("/b/t")
    assert not container.has("/b/t/own")
    assert container.mountinfo().count(" /b/t ") == 2


def test_what_is_in_use_elsewhere_stays(host: FakeHost) -> None:
    """A copy on which the container has mounted something of its own stays when the other goes."""
    container = host.container(mounts=["/b:/b:rslave"])
    host.tmpfs("/b/t")
    container.tmpfs("/b/t/own")
    host.unmount("/b/t")
    assert " /b/t/own " in container.mountinfo()


def test_the_last_of_its_peers_hands_its_slaves_on(host: FakeHost) -> None:
    """A slave whose masters have all gone is a slave of theirs, or of nobody."""
    host.bind("/b", "/c", propagation="slave")
    host.propagation("/c", "shared")
    host.bind("/c", "/d", propagation="slave")
    host.unmount("/c")
    host.tmpfs("/b/t")
    assert " /d/t " in host.mountinfo()
    host.propagation("/d", "private")
    host.tmpfs("/b/u")
    assert " /d/u " not in host.mountinfo()


def test_a_mount_point_that_was_moved_away(host: FakeHost) -> None:
    """What stands on a directory that the host has moved out of a bind is seen no more."""
    host.directory("/a/x/d")
    container = host.container(mounts=["/a/x:/m"])
    container.tmpfs("/m/d")
    host.move("/a/x/d", "/a/d")
    assert " /m/d " not in container.mountinfo()
    host.move("/a/d", "/a/x/d")
    assert " /m/d " in container.mountinfo()


def test_peers_of_which_only_some_show_the_place(host: FakeHost) -> None:
    """A mount spreads to those that show its mount point, and to their slaves' peers."""
    host.directory("/b/in")
    host.directory("/b/out")
    host.bind("/b", "/c", propagation="slave")
    host.propagation("/c", "shared")
    host.bind("/c/out", "/d")
    host.bind("/c/in", "/e")
    host.tmpfs("/b/in/t")
    table = host.mountinfo()
    assert [table.count(f" /{place}/t ") for place in ("c/in", "e", "d")] == [1, 1, 0]
    host.propagation("/c", "slave")
    host.propagation("/e", "slave")
    host.propagation("/d", "slave")
    host.propagation("/d", "slave")
    host.tmpfs("/b/in/u")
    assert " /c/in/u " in host.mountinfo()


def test_a_slave_of_nobody_is_private(host: FakeHost) -> None:
    """Who leaves a group as its last member has no master."""
    host.tmpfs("/t")
    host.propagation("/t", "slave")
    assert mount_at(host, "/t").optional_fields == ()
    host.propagation("/t", "slave")
    assert mount_at(host, "/t").optional_fields == ()


def test_a_private_mount_spreads_nothing(host: FakeHost) -> None:
    """What is no longer shared is alone, also with what is mounted on it."""
    host.bind("/b", "/c")
    host.propagation("/c", "private", recursive=True)
    host.tmpfs("/b/t")
    assert " /c/t " not in host.mountinfo()


def test_file_systems(host: FakeHost) -> None:
    """Each kind is told by the table; devtmpfs is one, wherever it is."""
    host.overlay("/o", read_only=True)
    host.disk("/disk", source="/dev/sdb1", major=8, minor=17, fstype="xfs")
    host.devtmpfs("/dev")
    host.devtmpfs("/elsewhere/dev")
    overlay, disk = mount_at(host, "/o"), mount_at(host, "/disk")
    assert (overlay.fstype, overlay.read_only) == ("overlay", True)
    assert (disk.fstype, disk.source, disk.device) == ("xfs", "/dev/sdb1", (8, 17))
    host.device("/dev/made", major=1, minor=1)
    assert host.device("/elsewhere/dev/made").number == (1, 1)


def test_names_with_blanks(host: FakeHost) -> None:
    """Names are escaped in the table as the kernel does it."""
    host.tmpfs("/with blank\\and\ttab")
    assert r"/with\040blank\134and\011tab" in host.mountinfo()
    assert mount_at(host, "/with blank\\and\ttab").fstype == "tmpfs"


def test_what_the_host_does_is_of_the_host(host: FakeHost) -> None:
    """A container's path is refused where one of the host belongs, and the other way round."""
    with pytest.raises(PathKindError, match="HostPath"):
        host.device(ContainerPath("/dev/null"))
    with pytest.raises(PathKindError, match="ContainerPath"):
        host.container().has(HostPath("/dev/null"))


def test_device_records(host: FakeHost) -> None:
    """A record tells what the node is; anything else is refused."""
    made = host.device("/b/n", major=8, minor=0, type="b", mode=0o640, uid=1, gid=2)
    assert made == host.device("/b/n")
    assert (str(made), made.links) == ("b 8:0 0640 1:2", 1)
    with pytest.raises(FileExistsError):
        host.device("/b/n", major=8, minor=0)
    with pytest.raises(InvalidSceneError, match="no device node but a directory"):
        host.device("/b")
    with pytest.raises(InvalidSceneError, match="give major and minor, or neither"):
        host.device("/b/m", major=8)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue] - what is tested
    with pytest.raises(FileNotFoundError, match="host has no such device node"):
        host.device("/b/m")


def test_set_group_id(host: FakeHost) -> None:
    """What is made in a set-group-ID directory gets its group, and a directory hands it on."""
    host.directory("/b/s", mode=0o2775, gid=7)
    with host.filesystem.open_directory(ROOT, "b/s") as directory:
        directory.make_symlink("l", "target")
        directory.make_directory("d", mode=0o755, gid=7)
        assert directory.lstat("l").gid == 7
        assert (directory.lstat("d").gid, directory.lstat("d").mode) == (7, 0o755)


def test_a_file_without_a_name_gets_none(host: FakeHost) -> None:
    """A bind of a file that was deleted cannot be linked to a name again."""
    host.bind("/a/f", "/b/f")
    container = host.container(mounts=["/a:/a", "/a/f:/x/f"])
    host.unmount("/b/f")
    host.remove("/a/f")
    with container.filesystem.open_directory(ROOT, "x") as directory:
        assert directory.lstat("f").links == 0
        assert directory.lstat("f").type is FileType.REGULAR
        assert number_of(lambda: directory.link("f", directory, "g")) == errno.EXDEV


def test_a_lock_of_a_killed_process_is_free(host: FakeHost) -> None:
    """Two containers share a lock, and a process that starts anew has given its own back."""
    first = host.container(mounts=["/b:/b"]).filesystem
    second = host.container(mounts=["/b:/b"]).filesystem
    with first.open_directory(ROOT, "b") as mine, second.open_directory(ROOT, "b") as yours:
        assert mine.try_lock()
        assert not yours.try_lock()
        first.restart()
        assert yours.try_lock()


def test_a_master_that_is_out_of_sight(host: FakeHost) -> None:
    """Of a slave whose master the process does not see, the table names the group beyond it."""
    host.tmpfs("/t")
    container = host.container(mounts=["/t:/t:rslave"])
    container.propagation("/t", "shared")
    host.directory("/back")
    mounts = host._world.mounts
    bound = mounts.bind(container._at(ROOT / "t").spot, host._at(ROOT / "back").spot)
    mounts.set_propagation(bound, "slave", recursive=False)
    tags = {
        line.split(" ")[4]: line.split(" ")[6:8]
        for line in (
            host.mountinfo() + container.mountinfo().replace(" /t ", " /its ")
        ).splitlines()
    }
    beyond, near = tags["/t"][0].split(":")[1], tags["/its"][0].split(":")[1]
    assert tags["/its"] == [f"shared:{near}", f"master:{beyond}"]
    assert tags["/back"] == [f"master:{near}", f"propagate_from:{beyond}"]
    assert "propagate_from" not in container.mountinfo()


@pytest.mark.parametrize("kind", ["sharde", ""])
def test_a_propagation_that_there_is_not(host: FakeHost, kind: str) -> None:
    """A slip in the name of a propagation is answered with the names that there are."""
    with pytest.raises(InvalidSceneError, match="there are private, slave, shared"):
        host.propagation("/", kind)  # type: ignore[arg-type]  # at run time
