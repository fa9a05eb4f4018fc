"""Tables of mounts: how they are read, and which mount serves a path."""

from __future__ import annotations

import copy
import pickle
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from devroot._mountinfo import MountInfo
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import MountInfoError, PathKindError
from devroot.testing import TreeFileSystem
from tests._views import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterable

Table = MountInfoTable[ContainerPath]

ROOT: Final = "10 1 0:1 / / rw - tmpfs none rw"


def mount(mount_id: int, parent_id: int, point: str) -> str:
    """Return a line; the file system has the number of the mount."""
    return f"{mount_id} {parent_id} 0:{mount_id} / {point} rw - tmpfs none rw"


def table_of(*lines: str, end: str = "\n") -> Table:
    """Return the table of these lines, each with this end."""
    return MountInfoTable.parse("".join(line + end for line in lines).encode())


def serves(table: Table, path: str) -> int | None:
    """Return the ID of the mount that serves a path, if it is listed."""
    found = table.covering(ContainerPath(path))
    return None if found is None else found.mount_id


def ids(mounts: Iterable[MountInfo[Any]]) -> list[int]:
    """Return the IDs of mounts, in their order."""
    return [each.mount_id for each in mounts]


def reason_why(table: Table, path: str) -> str:
    """Return why a table does not say what serves a path."""
    with pytest.raises(MountInfoError) as caught:
        table.covering(ContainerPath(path))
    return str(caught.value)


def field(name: str) -> Table:
    """Return a table that somebody showed in a bug report."""
    return MountInfoTable.parse((RECORDED / "field" / name / "container").read_bytes())


# Reading.


def test_the_last_newline_may_be_missing() -> None:
    """A text without it has the same mounts, and is given back without it."""
    data = f"{ROOT}\n{mount(11, 10, '/a')}".encode()

    assert ids(MountInfoTable.parse(data)) == [10, 11]
    assert len(MountInfoTable.parse(data)) == 2
    assert MountInfoTable.parse(data).render() == data


def test_only_newlines_end_lines() -> None:
    """Other tools split at a carriage return, or at what Unicode calls a line separator."""
    point = "/a\rb\u2028c\u2029d\x85e\x0bf\x0cg\x1ch"
    table = table_of(ROOT, mount(11, 10, point))

    assert len(table) == 2
    assert serves(table, point + "/x") == 11


def test_carriage_returns_before_all_newlines_are_refused() -> None:
    """No kernel writes such a text; a single line can end so, in an option."""
    for lines in ([ROOT, mount(11, 10, "/a")], [ROOT]):
        with pytest.raises(MountInfoError, match="line 1: like every line, it ends in") as caught:
            table_of(*lines, end="\r\n")
        assert caught.value.line == ROOT + "\r"

    assert [each.super_options for each in table_of(ROOT + "\r", mount(11, 10, "/a"))] == [
        "rw\r",
        "rw",
    ]
    assert ids(table_of(ROOT + "\r", end="")) == [10]


def test_an_empty_table_serves_nothing() -> None:
    """A process whose root lies on no mount point has one if nothing lies on that root."""
    table = MountInfoTable.parse(b"")

    assert table.is_whole
    assert list(table) == list(table.visible()) == list(table.below(ContainerPath("/"))) == []
    assert len(table) == 0
    assert serves(table, "/x") is None


def test_lines_longer_than_a_page_survive() -> None:
    """An overlay of many layers fills tens of kilobytes."""
    layers = ":".join(f"/var/lib/containers/{number:064}" for number in range(800))
    table = table_of(f"10 1 0:1 / / rw - overlay overlay rw,lowerdir={layers}", mount(11, 10, "/a"))

    (root, _) = table
    assert root.super_options == f"rw,lowerdir={layers}"
    assert serves(table, "/a") == 11


@pytest.mark.parametrize(
    "line",
    [
        "",
        "11",
        "11 10 0:1 / /a",
        "11 10 0:1 / a rw - tmpfs none rw",
        "11 10 0:1 /  rw - tmpfs none rw",
        "11 10 0:1 / /a rw tmpfs none rw",
        "11 10 0:1 / /a rw - tmpfs",
        "x 10 0:1 / /a rw - tmpfs none rw",
        "11 10 0 / /a rw - tmpfs none rw",
        "11 10 0:1 / /a/ rw - tmpfs none rw",
    ],
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_line_at_fault_is_named(line: str, number: int) -> None:
    """Wherever it stands, a line that cannot be parsed is an error with its number and text."""
    lines = [ROOT, mount(12, 10, "/b")]
    lines.insert(number - 1, line)
    with pytest.raises(MountInfoError, match=f"mountinfo line {number}: ") as caught:
        table_of(*lines)

    assert (caught.value.line_number, caught.value.line) == (number, line)


def large(*lines: str) -> str:
    """Return a table of so many lines that it counts as large, and then these."""
    return "\n".join([ROOT, *(mount(n, 10, f"/mnt/{n}") for n in range(1000, 1600)), *lines, ""])


def test_a_table_of_16_kib_is_still_small() -> None:
    """Up to there each line is decoded at once; a larger one is for who asks for the line."""
    bad = "11 10 0:2 / /a rw tmpfs none rw"  # without its hyphen
    rest = [bad, mount(12, 10, "/b"), ""]
    room = 16 * 1024 - len("\n".join([ROOT, *rest]))
    with pytest.raises(MountInfoError, match="line 2"):
        MountInfoTable.parse("\n".join([ROOT + "," * room, *rest]).encode())

    table = MountInfoTable.parse("\n".join([ROOT + "," * (room + 1), *rest]).encode())
    assert serves(table, "/b") == 12


def test_a_large_table_that_was_cut_is_refused() -> None:
    """A text that ends in the middle of a line names that line."""
    data, last = large().encode(), mount(11, 10, "/a").encode()
    for end in range(1, len(last) - 1):
        with pytest.raises(MountInfoError, match="line 602") as caught:
            MountInfoTable.parse(data + last[:end])
        assert caught.value.line_number == 602


@pytest.mark.parametrize("point", ["a", ""])
def test_a_large_table_has_absolute_mount_points(point: str) -> None:
    """What look-ups depend on is checked in every line."""
    with pytest.raises(MountInfoError, match="line 602: it does not read"):
        MountInfoTable.parse(large(mount(11, 10, point), mount(12, 10, "/b")).encode())


def test_a_large_table_names_a_line_when_it_is_decoded() -> None:
    """What no look-up depends on is not checked before; all else is served."""
    data = large("11 10 0:x / /a rw - tmpfs none rw", mount(12, 10, "/b"))
    table = MountInfoTable.parse(data.encode())

    assert serves(table, "/b/x") == 12
    with pytest.raises(MountInfoError, match="line 602: it does not read"):
        table.covering(ContainerPath("/a"))
    with pytest.raises(MountInfoError, match="line 602: it does not read"):
        table.with_device((0, 11))


def test_a_large_table_decodes_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of many lines only the one that serves the path is decoded, and that once."""
    decoded: list[bytes] = []
    original = MountInfo.from_line

    def from_line(line: bytes, *, paths: type[ContainerPath]) -> MountInfo[ContainerPath]:
        decoded.append(line.split(b" ")[0])
        return original(line, paths=paths)

    table = MountInfoTable.parse(large().encode())
    monkeypatch.setattr(MountInfo, "from_line", from_line)

    assert [serves(table, path) for path in ("/mnt/1003", "/mnt/1003/x", "/x")] == [1003, 1003, 10]
    assert decoded == [b"1003", b"10"]


# Which mount serves a path.


def test_the_deepest_mount_serves() -> None:
    """Matching is by component, and below a mount point all is on the mount."""
    table = table_of(ROOT, mount(11, 10, "/dev"), mount(12, 11, "/dev/shm"))

    paths = ["/", "/x", "/dev", "/dev/x", "/devices", "/dev/shm", "/dev/shm/a/b", "/dev/shmem"]
    assert [serves(table, path) for path in paths] == [10, 10, 11, 11, 10, 12, 12, 11]


def test_stacked_mounts() -> None:
    """Of several at one place the one on top serves, whatever the order of the lines."""
    lines = [ROOT, mount(11, 10, "/a"), mount(12, 11, "/a"), mount(13, 12, "/a")]
    for seed in range(6):
        random.Random(seed).shuffle(lines)
        table = table_of(*lines)
        assert serves(table, "/a/x") == 13
        assert sorted(ids(table.visible())) == [10, 13]


def test_what_a_later_mount_on_an_ancestor_hides() -> None:
    """A mount lies on the one that was there; below one made later on an ancestor it is hidden."""
    table = table_of(
        ROOT,
        mount(11, 10, "/a/b"),
        mount(12, 11, "/a/b/c"),
        mount(13, 10, "/a"),
        mount(14, 13, "/a/d"),
    )

    assert [serves(table, path) for path in ("/a", "/a/b", "/a/b/c", "/a/d")] == [13, 13, 13, 14]
    assert ids(table.visible()) == [10, 13, 14]
    assert ids(table.below(ContainerPath("/a"))) == [14]
    assert ids(table.below(ContainerPath("/"))) == [13, 14]
    assert not list(table.below(ContainerPath("/a/d")))


def test_mounts_are_given_in_the_order_of_the_lines() -> None:
    """So they are whatever they lie on."""
    table = table_of(ROOT, mount(11, 10, "/a"), mount(12, 11, "/a/b"), mount(13, 10, "/c"))

    assert ids(table.below(ContainerPath("/"))) == [11, 12, 13]
    assert ids(table.visible()) == [10, 11, 12, 13]


def test_a_later_line_can_be_the_hidden_one() -> None:
    """Where mounts are moved beneath others, the order of the lines tells nothing."""
    table = table_of(ROOT, mount(13, 12, "/a"), mount(12, 10, "/a"))
    assert serves(table, "/a") == 13


def test_the_root_need_not_stand_first() -> None:
    """It is the mount at / whose parent is out of sight."""
    table = table_of(mount(11, 10, "/dev"), mount(12, 10, "/sys"), ROOT)

    assert serves(table, "/x") == 10
    assert table.is_whole


def test_a_mount_on_the_root_is_not_stepped_onto() -> None:
    """It lies on the process's root, where look-ups start; path_resolution(7)."""
    table = table_of(ROOT, mount(11, 10, "/"), mount(12, 11, "/a"), mount(13, 10, "/b"))

    assert [serves(table, path) for path in ("/", "/a", "/b")] == [10, 10, 13]
    assert ids(table.visible()) == [10, 13]
    assert ids(table.below(ContainerPath("/"))) == [13]


def test_rootfs_is_its_own_parent() -> None:
    """So says the table of a process in an initramfs, also with mounts on top of it."""
    table = table_of(mount(1, 1, "/"), mount(11, 1, "/"), mount(12, 1, "/a"))

    assert table.is_whole
    assert [serves(table, path) for path in ("/", "/a", "/b")] == [1, 12, 1]
    again = table_of(mount(1, 1, "/"), mount(11, 1, "/"), mount(1, 1, "/"), mount(12, 1, "/a"))
    assert again.is_whole


def test_what_lies_on_itself_is_reached_by_nothing() -> None:
    """Only at / is a mount that is its own parent the root."""
    table = table_of(ROOT, mount(11, 11, "/a"), mount(12, 11, "/a/b"))

    assert [serves(table, path) for path in ("/", "/a", "/a/b")] == [10, 10, 10]
    assert ids(table.visible()) == [10]


def test_a_root_that_is_no_mount_point() -> None:
    """After chroot(2) to a plain directory its mount is not listed, and all lies on that."""
    table = table_of(mount(11, 7, "/dev"), mount(12, 11, "/dev/shm"), mount(13, 7, "/"))

    assert table.is_whole
    paths = ["/", "/x", "/dev/x", "/dev/shm"]
    assert [serves(table, path) for path in paths] == [None, None, 11, 12]
    assert ids(table.visible()) == [11, 12]


def test_escaped_mount_points_are_found() -> None:
    """A path is looked up as it is called, not as the file writes it."""
    table = table_of(ROOT, mount(11, 10, "/a\\040b"), mount(12, 11, "/a\\040b/\\134040"))

    assert serves(table, "/a b/x") == 11
    assert serves(table, "/a b/\\040/x") == 12
    assert serves(table, "/a\\040b") == 10
    assert ids(table.below(ContainerPath("/a b"))) == [12]


def test_a_path_of_another_view_is_refused() -> None:
    """The mounts of a container say nothing of a host path with the same text."""
    table = table_of(ROOT)
    with pytest.raises(PathKindError, match="ContainerPath") as caught:
        table.covering(HostPath("/"))  # type: ignore[arg-type]  # on purpose
    assert caught.value.value == HostPath("/")
    with pytest.raises(PathKindError, match="ContainerPath"):
        table.below(HostPath("/"))  # type: ignore[arg-type]  # on purpose


# Tables whose lines are not of one moment.


def test_a_parent_that_is_not_listed() -> None:
    """Lines were lost, the root's own perhaps, so no path has a certain answer."""
    table = table_of(
        ROOT, mount(11, 10, "/dev"), mount(12, 77, "/run/a/b"), mount(13, 12, "/run/a/b/c")
    )

    assert not table.is_whole
    for path in ("/", "/dev/x", "/run", "/run/a/b/c/d"):
        reason = reason_why(table, path)
        assert "line 3: it names the parent 77, which the table does not list" in reason
        assert "12 77 0:12 / /run/a/b rw" in reason
        assert "read it again" in reason


@pytest.mark.parametrize("point", ["/", "/a"])
def test_two_parents_that_are_not_listed(point: str) -> None:
    """Only one can be that of the root mount; the error is the same on every run."""
    table = table_of(mount(10, 1, point), mount(11, 2, point), mount(12, 3, point))

    assert "line 2: it names the parent 2, which" in reason_why(table, "/a/b")


def test_a_table_in_doubt_does_not_list_what_is_visible() -> None:
    """What a lost mount hides is not known."""
    table = table_of(
        ROOT, mount(11, 10, "/dev"), mount(12, 11, "/dev/shm"), mount(13, 77, "/run/a")
    )

    with pytest.raises(MountInfoError, match="77"):
        table.visible()
    with pytest.raises(MountInfoError, match="77"):
        table.below(ContainerPath("/"))
    with pytest.raises(MountInfoError, match="77"):
        table.below(ContainerPath("/dev"))


@pytest.mark.parametrize(
    "lines",
    [
        [mount(11, 77, "/a"), mount(12, 78, "/b")],
        [mount(11, 77, "/"), mount(12, 78, "/")],
        [ROOT, mount(11, 77, "/")],
        [mount(11, 12, "/"), mount(12, 11, "/a")],
        [ROOT, mount(10, 1, "/a")],
    ],
)
def test_which_mount_is_the_root_can_be_open(lines: list[str]) -> None:
    """Then no path at all has a certain answer."""
    table = table_of(*lines)

    assert not table.is_whole
    for path in ("/", "/a", "/x/y"):
        assert "read it again" in reason_why(table, path)
    with pytest.raises(MountInfoError, match="read it again"):
        table.visible()


def test_a_table_without_its_root_line() -> None:
    """If one line was lost, of the root, the rest still serves; the root cannot be named."""
    table = table_of(mount(11, 10, "/dev"), mount(12, 10, "/run"))
    assert [serves(table, path) for path in ("/", "/dev", "/run/x")] == [None, 11, 12]


@pytest.mark.parametrize(
    "other",
    [
        mount(11, 10, "/run/b"),
        mount(11, 12, "/run/a"),
        mount(14, 10, "/run/a"),
        mount(11, 10, "/dev"),  # where another one is
    ],
)
def test_two_lines_that_exclude_each_other(other: str) -> None:
    """An ID at two places, or two mounts at one: a mount went and came while it was read."""
    lines = [ROOT, mount(11, 10, "/run/a"), mount(12, 10, "/dev"), other]
    for table in (table_of(*lines), table_of(*reversed(lines))):
        assert not table.is_whole
        for path in ("/run/a/x", "/dev"):
            assert "its ID or its place is listed twice" in reason_why(table, path)


def test_lines_exclude_each_other_by_what_they_mean() -> None:
    """A mount point that is written with an escape is the one that it names."""
    escaped = "12 10 0:12 / /\\141 rw - tmpfs none rw"
    assert "listed twice" in reason_why(table_of(ROOT, mount(11, 10, "/a"), escaped), "/a")


def test_an_id_used_again_below_itself_ends_no_look_up() -> None:
    """Two lines of one ID that lie on each other are in doubt, not a way without end."""
    table = table_of(ROOT, mount(11, 10, "/a"), mount(12, 11, "/a"), mount(11, 12, "/a"))
    assert "listed twice" in reason_why(table, "/a")


def test_a_line_that_was_read_twice_does_no_harm() -> None:
    """Older kernels repeat lines when a mount goes while the table is read."""
    again = mount(11, 10, "/a").replace(" rw - ", " ro - ")
    table = table_of(ROOT, mount(11, 10, "/a"), ROOT, again)

    assert table.is_whole
    found = table.covering(ContainerPath("/a"))
    assert found is not None
    assert found.read_only


def test_beside_a_line_that_was_read_twice_others_may_be_alike() -> None:
    """Two mounts may be at one place, one on the other, and come from one place with a blank."""
    odd = "10 0:7 /made\fodd"
    table = table_of(
        ROOT,
        ROOT,
        mount(11, 10, "/a"),
        mount(12, 11, "/a"),
        f"13 {odd} /b rw - tmpfs none rw",
        f"14 {odd} /c rw - tmpfs none rw",
    )

    assert table.is_whole
    assert [serves(table, path) for path in ("/a", "/b", "/c")] == [12, 13, 14]


class Readings(TreeFileSystem):
    """A file system in which the table changes from reading to reading."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = list(texts)

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        """Return the next text."""
        assert (root, unsafe_path) == (ContainerPath("/proc"), "self/mountinfo")
        return self.texts.pop(0).encode()


def read(files: Readings) -> Table:
    """Return the table in the file system."""
    return MountInfoTable.read(files, ContainerPath("/proc"), "self/mountinfo", paths=ContainerPath)


WHOLE: Final = f"{ROOT}\n"
CUT: Final = f"{ROOT}\n{mount(11, 77, '/run/a')}\n"


@pytest.mark.parametrize(
    ("texts", "readings", "whole"),
    [
        ([WHOLE, CUT, CUT], 1, True),
        ([CUT, WHOLE, CUT], 2, True),
        ([CUT, CUT, WHOLE], 3, True),
        ([CUT, CUT, CUT, WHOLE], 3, False),
    ],
)
def test_a_table_that_lost_lines_is_read_again(
    texts: list[str], readings: int, *, whole: bool
) -> None:
    """Three times in all; what is still not whole then serves no path."""
    files = Readings(*texts)
    table = read(files)

    assert len(texts) - len(files.texts) == readings
    assert table.is_whole is whole
    if whole:
        assert serves(table, "/dev") == 10
    else:
        assert "77" in reason_why(table, "/dev")


@pytest.mark.parametrize("texts", [[WHOLE], [CUT, CUT, CUT]])
def test_a_table_is_read_in_the_view_that_is_named(texts: list[str]) -> None:
    """Whether it is whole or not, the host's table is one of host paths."""
    table = MountInfoTable.read(
        Readings(*texts), ContainerPath("/proc"), "self/mountinfo", paths=HostPath
    )

    assert {type(found.mount_point) for found in table} == {HostPath}


# Looking for mounts by what they show.


def test_all_mounts_of_a_file_system() -> None:
    """Hidden ones are among them, in the order of the lines."""
    table = table_of(
        "10 1 8:1 / / rw - ext4 /dev/sda1 rw",
        "11 10 8:17 /x /a rw - ext4 /dev/sdb1 rw",
        "12 11 8:1 /y /a rw - ext4 /dev/sda1 rw",
        "13 10 8:1 /z /b rw - ext4 /dev/sda1 rw",
    )

    assert ids(table.with_device((8, 1))) == [10, 12, 13]
    assert ids(table.with_device((8, 17))) == [11]
    assert ids(table.with_device((8, 2))) == []


def test_mounts_of_the_same_at_one_place_keep_their_order() -> None:
    """Two may differ in nothing but their IDs, with another of that file system between them."""
    table = table_of(
        ROOT,
        "13 10 8:1 / /a rw - ext4 /dev/sda1 rw",
        "12 10 8:1 / /b rw - ext4 /dev/sda1 rw",
        "11 13 8:1 / /a rw - ext4 /dev/sda1 rw",
    )

    assert ids(table.with_device((8, 1))) == [13, 12, 11]


def test_whether_a_mount_has_a_source() -> None:
    """The source is compared as a whole, and found in no other field."""
    table = table_of(ROOT, "11 10 0:2 / /kata rw - kata kataShared rw", mount(12, 10, "/other"))

    assert table.names_source("kataShared")
    assert not table.names_source("kata")
    assert not table.names_source("/other")


# Tables from the field.


@pytest.mark.parametrize(
    ("path", "mount_id", "place", "fstype"),
    [
        ("/dev", 102, "/", "tmpfs"),
        ("/dev/nvidia0", 115, "/nvidia0", "devtmpfs"),
        ("/dev/nvidia1", 102, "/nvidia1", "tmpfs"),
        ("/data", 114, "/kubelet/pods/u/volumes/my vol", "xfs"),
        ("/proc/driver/nvidia/params", 120, "/nvct-params", "tmpfs"),
        ("/proc/driver/nvidia", 101, "/driver/nvidia", "proc"),
    ],
)
def test_single_device_files_on_a_private_dev(
    path: str, mount_id: int, place: str, fstype: str
) -> None:
    """In a pod with single files mounted, each path has its own mount."""
    found = field("gpu-pod").covering(ContainerPath(path))

    assert found is not None
    assert (found.mount_id, found.place_of(ContainerPath(path)), found.fstype) == (
        mount_id,
        place,
        fstype,
    )


def test_a_sandbox_with_a_stack_and_a_root_out_of_sight() -> None:
    """Of two mounts at one place the upper, read-only one serves; a climbing root is kept."""
    table = field("sandbox-in-user-namespace")
    store = table.covering(ContainerPath("/host/nix/store/x"))
    cgroup = table.covering(ContainerPath("/host/sys/fs/cgroup"))

    assert store is not None
    assert (store.mount_id, store.read_only) == (258, True)
    assert cgroup is not None
    assert (cgroup.root, cgroup.is_outside) == ("/../../..", True)
    assert serves(table, "/host/dev/nvidia0") == 271
    assert serves(table, "/dev") == 407
    assert table.covering(ContainerPath("/")) == table.covering(ContainerPath("/x"))


def test_a_source_that_was_deleted() -> None:
    """The marker is not part of the root; a new directory of that name would be another."""
    found = field("deleted-source").covering(ContainerPath("/home/user/m/m2/x"))

    assert found is not None
    assert (found.mount_id, found.root, found.deleted) == (136, "/m1", True)


def test_blanks_and_backslashes_in_mount_points() -> None:
    """They are decoded once, so that what looks like another escape stays."""
    table = field("odd-names")

    assert [str(each.mount_point) for each in table] == [
        "/",
        "/mnt/foo bar",
        "/run/credentials/systemd-cryptsetup@luks\\x2dvol.service",
    ]
    assert serves(table, "/mnt/foo bar/dev") == 486


def test_a_root_in_a_subvolume() -> None:
    """The place in the file system starts with the subvolume, and is no path of the host."""
    path = ContainerPath("/dev/termination-log")
    found = field("btrfs-node").covering(path)

    assert found is not None
    assert found.place_of(path).startswith("/@/var/lib/kubelet/pods/")


def test_a_read_only_root_with_a_writable_dev() -> None:
    """A flag belongs to one mount, not to those below it."""
    table = field("read-only-root")
    usr, dev = (table.covering(ContainerPath(f"/driver-root/{name}")) for name in ("usr", "dev"))

    assert usr is not None
    assert dev is not None
    assert (usr.read_only, dev.read_only) == (True, False)


# Tables of all sizes.


def tree_of(size: int) -> tuple[str, dict[str, int]]:
    """Return a table with this many mounts in and beside each other, and where they are."""
    places = {"/": 10}
    lines = [ROOT]
    points = ["/"]
    for mount_id in range(11, 10 + size):
        above = points[mount_id // 7 % len(points)]
        point = f"{above.rstrip('/')}/m{mount_id}"
        lines.append(mount(mount_id, places[above], point))
        places[point] = mount_id
        if len(points) < 50:
            points.append(point)
    return "".join(f"{line}\n" for line in lines), places


@pytest.mark.parametrize("size", [100, 1_000, 10_000, 50_000])
def test_tables_of_any_size(size: int) -> None:
    """Each mount is found by its mount point and by a path below it."""
    data, places = tree_of(size)
    table = MountInfoTable.parse(data.encode())

    assert len(table) == size
    assert table.is_whole
    assert table.render() == data.encode()
    for point in random.Random(size).sample(sorted(places), 100):
        assert serves(table, point) == places[point]
        assert serves(table, f"{point.rstrip('/')}/other/x") == places[point]


def test_a_deep_path() -> None:
    """A path of thousands of components is served like any other."""
    deep = "/a" * 3000
    table = table_of(ROOT, mount(11, 10, deep))

    assert serves(table, deep + "/x") == 11
    assert serves(table, deep[:-2]) == 10


# Tables as values.


def test_tables_are_values() -> None:
    """Equal are tables of one text in one view; copies and pickles are equal to it."""
    table = table_of(ROOT, mount(11, 10, "/a"))
    host = MountInfoTable.parse(table.render(), paths=HostPath)

    assert copy.copy(table) == pickle.loads(pickle.dumps(table)) == table
    assert {table, table_of(ROOT, mount(11, 10, "/a"))} == {table}
    assert hash(table) != hash(table_of(ROOT))
    assert table != host
    assert pickle.loads(pickle.dumps(host)) == host
    assert table != table_of(ROOT)
    assert table != table.render()
    assert repr(table) == "<MountInfoTable[ContainerPath] of 2 mounts>"


def test_a_table_of_mounts() -> None:
    """Mounts that were made, not read, have a table too, if lines can describe them."""
    mounts = list(table_of(ROOT, mount(11, 10, "/a\\040b")))
    table = MountInfoTable.of(mounts, paths=ContainerPath)

    assert list(table) == mounts
    assert serves(table, "/a b") == 11


def test_a_mount_that_no_line_can_describe() -> None:
    """It is refused with the line that it would have, where that reads otherwise or not at all."""
    (good,) = table_of(ROOT)
    for name, value in (("fstype", ""), ("root", "/x//deleted"), ("optional_fields", ("-",))):
        odd = MountInfo(
            mount_id=11,
            parent_id=10,
            major=0,
            minor=1,
            mount_point=ContainerPath("/a"),
            **{"root": "/", "fstype": "tmpfs", name: value},  # type: ignore[arg-type]  # one is wrong
        )
        with pytest.raises(MountInfoError, match="line 2: "):
            MountInfoTable.of([good, odd], paths=ContainerPath)


@pytest.mark.parametrize(
    "point", ["/dev/", "//dev", "/./dev", "/dev/.", "/a//b", "/a/./b", "/a/.."]
)
def test_a_large_table_with_a_mount_point_that_no_look_up_finds(point: str) -> None:
    """The kernel writes none of these, and what is mounted there would be missed."""
    many = [
        f"{number} 10 8:2 / /many/m{number} rw - ext4 /dev/sdb1 rw" for number in range(100, 900)
    ]
    lines = [ROOT, f"22 10 0:70 / {point} rw - tmpfs tmpfs rw", *many]
    with pytest.raises(MountInfoError, match="line 2"):
        table_of(*lines)


@pytest.mark.parametrize("ending", ["/", "/.", "/.."])
def test_one_that_ends_so_behind_all_others(ending: str) -> None:
    """Where it stands among the mounts makes no difference."""
    first, *others = [
        f"{number} 10 8:2 / /many/m{number} rw - ext4 /dev/sdb1 rw" for number in range(100, 900)
    ]
    odd = f"22 100 0:70 / /many/m100/x{ending} rw - tmpfs tmpfs rw"
    with pytest.raises(MountInfoError, match="line 3"):
        table_of(ROOT, first, odd, *others)


@pytest.mark.parametrize("point", ["/.dev", "/d.", "/...", "/.../x", "/a/..b"])
def test_names_with_dots_are_names(point: str) -> None:
    """What merely looks like such a mount point is an ordinary one."""
    many = [
        f"{number} 10 8:2 / /many/m{number} rw - ext4 /dev/sdb1 rw" for number in range(100, 900)
    ]
    table = table_of(ROOT, f"22 10 0:70 / {point} rw - tmpfs tmpfs rw", *many)
    found = table.covering(ContainerPath(f"{point}/x"))
    assert found is not None
    assert found.mount_id == 22
