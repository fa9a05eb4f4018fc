"""One line of mountinfo, decoded and written."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from devroot._mountinfo import MountInfo
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import MountInfoError

TABLES: Final = Path(__file__).parent.parent / "data" / "mountinfo"

FULL: Final = b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"


def read(line: bytes) -> MountInfo[ContainerPath]:
    """Return what a line says, in a container's view."""
    return MountInfo.from_line(line, paths=ContainerPath)


def at(point: bytes) -> MountInfo[ContainerPath]:
    """Return the mount at a mount point as the file writes it."""
    return read(b"36 35 0:1 / " + point + b" rw - tmpfs none rw")


def of(**changes: Any) -> MountInfo[ContainerPath]:  # noqa: ANN401 - any field may change
    """Return the mount of `FULL` with other fields."""
    return attrs.evolve(read(FULL), **changes)


def recorded(name: str) -> MountInfoTable[ContainerPath]:
    """Return a table from the data."""
    return MountInfoTable.parse((TABLES / name).read_bytes())


# Decoding.


def test_every_field_has_a_name() -> None:
    """The example of the manual page, field by field."""
    assert read(FULL) == MountInfo(
        mount_id=36,
        parent_id=35,
        major=98,
        minor=0,
        root="/mnt1",
        mount_point=ContainerPath("/mnt2"),
        options=("rw", "noatime"),
        optional_fields=("master:1",),
        fstype="ext3",
        source="/dev/root",
        super_options="rw,errors=continue",
    )
    assert read(FULL).device == (98, 0)


def test_the_mount_point_is_in_the_view_that_is_named() -> None:
    """A host's table speaks of host paths."""
    assert MountInfo.from_line(FULL, paths=HostPath).mount_point == HostPath("/mnt2")


@pytest.mark.parametrize(
    ("field", "optional_fields"),
    [
        (b"", ()),
        (b"shared:2 ", ("shared:2",)),
        (b"shared:2 master:1 ", ("shared:2", "master:1")),
        (b"master:3 propagate_from:2 ", ("master:3", "propagate_from:2")),
        (b"unbindable ", ("unbindable",)),
        (b"shared:2 invented:9 tag ", ("shared:2", "invented:9", "tag")),
    ],
)
def test_any_number_of_optional_fields(field: bytes, optional_fields: tuple[str, ...]) -> None:
    """There may be none or many, and those that nobody knows yet are kept."""
    mount = read(b"36 35 0:1 / /a rw " + field + b"- tmpfs none rw")

    assert mount.optional_fields == optional_fields
    assert (mount.fstype, mount.source, mount.super_options) == ("tmpfs", "none", "rw")


@pytest.mark.parametrize(
    ("point", "path"),
    [
        (b"/a\\040b", "/a b"),
        (b"/a\\011b", "/a\tb"),
        (b"/a\\012b", "/a\nb"),
        (b"/a\\134b", "/a\\b"),
        (b"/a\\043b", "/a#b"),
        (b"/\\134040", "/\\040"),
        (b"/\\134134", "/\\134"),
        (b"/luks\\134x2dvol", "/luks\\x2dvol"),
        (b"/a\\x2db\\n\\09", "/a\\x2db\\n\\09"),
        (b"/a\\400", "/a\\400"),
        (b"/ends\\", "/ends\\"),
        (b"/\\303\\251", "/\u00e9"),
        (b"/\xc3\xa9", "/\u00e9"),
        (b"/\xff\\377", "/\udcff\udcff"),
        (b"/a\rb\xe2\x80\xa8c\xc2\x85", "/a\rb\u2028c\x85"),
    ],
)
def test_escapes_are_decoded_once(point: bytes, path: str) -> None:
    """Three octal digits after a backslash are a byte; all else stands for itself."""
    assert str(at(point).mount_point) == path


def test_bytes_that_are_no_utf_8_come_back() -> None:
    """Whatever bytes a name has, the path has them again."""
    assert bytes(at(b"/\xff\xfe\\040\x80").mount_point) == b"/\xff\xfe \x80"


def test_escapes_are_decoded_in_every_text() -> None:
    """The root, the type, the source and the options are escaped like the mount point."""
    mount = read(b"1 2 0:3 /r\\040t /p rw a\\040b - f\\040t s\\040c rw,o\\040p")

    assert mount.root == "/r t"
    assert mount.optional_fields == ("a b",)
    assert (mount.fstype, mount.source, mount.super_options) == ("f t", "s c", "rw,o p")


@pytest.mark.parametrize(
    ("field", "root", "deleted"),
    [
        (b"/", "/", False),
        (b"/src//deleted", "/src", True),
        (b"/src/deleted", "/src/deleted", False),
        (b"/../../..", "/../../..", False),
        (b"/@/var/lib", "/@/var/lib", False),
        (b"net:[4026531993]", "net:[4026531993]", False),
    ],
)
def test_the_root_is_kept_as_it_is(field: bytes, root: str, *, deleted: bool) -> None:
    """Only the kernel's marker for what was deleted is taken off, because it is no name."""
    mount = read(b"36 35 0:1 " + field + b" /a rw - tmpfs none rw")

    assert (mount.root, mount.deleted) == (root, deleted)


@pytest.mark.parametrize(
    ("root", "outside"),
    [("/..", True), ("/../x", True), ("/../..", True), ("/..x", False), ("/x", False)],
)
def test_a_root_outside_of_what_the_reader_may_see(root: str, *, outside: bool) -> None:
    """A cgroup above that of the namespace is seen by its leading ``..``."""
    assert of(root=root).is_outside is outside


def test_the_lines_of_wsl() -> None:
    """Sources with blanks and backslashes are escaped, and the options of 9p are not."""
    sources = {str(mount.mount_point): mount.source for mount in recorded("wsl-docker-desktop")}
    assert sources == {
        "/": "/dev/sdd",
        "/usr/lib/wsl/drivers": "drivers",
        "/mnt/c": "C:\\",
        "/Docker/host": "C:\\Program Files\\Docker\\Docker\\resources",
        "/mnt/wsl/docker": "drvfs",
    }
    mount = recorded("wsl-docker-desktop").covering(ContainerPath("/Docker/host/cli"))
    assert mount is not None
    assert "aname=drvfs;path=C:\\Program Files\\Docker\\Docker\\resources;" in mount.super_options
    assert not mount.read_only


def test_the_lines_of_many_kinds_of_mount() -> None:
    """What Linux writes of propagation, odd sources, deleted roots and namespaces is understood."""
    mounts = {mount.mount_point.name: mount for mount in recorded("many-kinds")}

    assert mounts["both"].optional_fields == ("shared:2", "master:1")
    assert mounts["unbindable"].optional_fields == ("unbindable",)
    assert mounts["empty"].source == ""
    assert mounts["hash"].source == "a#b c"
    assert (mounts["deleted"].root, mounts["deleted"].deleted) == ("/gone", True)
    assert (mounts["g"].root, mounts["g"].deleted) == ("/f", True)
    assert mounts["n"].root == "net:[4026531833]"
    assert mounts["u"].root == "user:[4026531837]"
    assert "a\rb" in mounts


# What follows from it.


@pytest.mark.parametrize(
    ("options", "super_options", "read_only"),
    [
        (("rw",), "rw", False),
        (("ro", "nosuid"), "rw", True),
        (("rw",), "ro,size=4k,mode=755", True),
        (("rw",), "rw,errors=remount-ro,lowerdir=/a,ro", False),
    ],
)
def test_read_only(options: tuple[str, ...], super_options: str, *, read_only: bool) -> None:
    """The mount or its file system is read-only, which the kernel says before all else."""
    assert of(options=options, super_options=super_options).read_only is read_only


def test_nodev() -> None:
    """Only the option of the mount counts."""
    assert of(options=("rw", "nodev")).nodev
    assert not of(super_options="rw,nodev").nodev


@pytest.mark.parametrize(
    ("root", "path", "place"),
    [
        ("/", "/mnt2", "/"),
        ("/", "/mnt2/a/b", "/a/b"),
        ("/r", "/mnt2", "/r"),
        ("/r", "/mnt2/a", "/r/a"),
        ("/opt/NGX", "/mnt2/a", "/opt/NGX/a"),
        ("net:[1]", "/mnt2", "net:[1]"),
    ],
)
def test_the_place_in_the_file_system(root: str, path: str, place: str) -> None:
    """It is the root of the mount and the rest of the path."""
    assert of(root=root).place_of(ContainerPath(path)) == place


def test_a_mount_in_one_line() -> None:
    """The text of a mount tells it from others."""
    assert str(of()) == "mount 36 (ext3 98:0 /mnt1 at /mnt2)"
    assert str(of(deleted=True)) == "mount 36 (ext3 98:0 /mnt1//deleted at /mnt2)"


def test_mounts_are_values() -> None:
    """Copies and pickles of a mount are equal to it, and equal mounts are one key."""
    assert copy.copy(of()) == pickle.loads(pickle.dumps(of())) == of()
    assert {of(), of()} == {of()}
    assert of(mount_id=1) != of()


# Writing.


def test_a_line_is_written_as_the_kernel_would() -> None:
    """A mount renders the line that it was read from."""
    assert read(FULL).render() == FULL
    assert of(optional_fields=()).render() == FULL.replace(b" master:1", b"")


def test_what_would_break_a_line_is_escaped() -> None:
    """Blanks, tabs, newlines and backslashes are written as three octal digits."""
    line = of(
        root="/a b\\040", deleted=True, mount_point=ContainerPath("/\t\n\udcff"), source=""
    ).render()

    assert (
        line.split(b" - ")[0]
        == b"36 35 98:0 /a\\040b\\134040//deleted /\\011\\012\xff rw,noatime master:1"
    )
    assert line.endswith(b" - ext3  rw,errors=continue")


# What is refused.

READS: Final = (
    "it does not read 'ID PARENT MAJOR:MINOR ROOT /MOUNT/POINT OPTIONS"
    " [OPTIONAL ...] - TYPE SOURCE SUPER_OPTIONS'"
)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "it has 1 of at least 10 fields; was it cut?"),
        (b"tmpfs /x tmpfs rw 0 0", "it has 6 of at least 10 fields; was it cut?"),
        (FULL[:49], "it has 9 of at least 10 fields; was it cut?"),
        (
            b"36 35 98:0 / /a rw shared:1 ext3 /dev/root rw",
            "no lone hyphen ends its optional fields",
        ),
        (b"36 35 98:0 / /a rw - ext3 none ", READS),
        (b"-1 35 98:0 / /a rw - ext3 none rw", READS),
        (b"+1 35 98:0 / /a rw - ext3 none rw", READS),
        (b"1_0 35 98:0 / /a rw - ext3 none rw", READS),
        (b"x 35 98:0 / /a rw - ext3 none rw", READS),
        (b" 35 98:0 / /a rw - ext3 none rw x", READS),
        (b"36 35 98 / /a rw - ext3 none rw", READS),
        (b"36 35 98:0:1 / /a rw - ext3 none rw", READS),
        (b"36 35 98: / /a rw - ext3 none rw", READS),
        (b"36 35 98:0  /a rw - ext3 none rw", READS),
        (b"36 35 98:0 / a rw - ext3 none rw", READS),
        (b"36 35 98:0 / /a/ rw - ext3 none rw", READS),
        (b"36 35 98:0 / //a rw - ext3 none rw", READS),
        (b"36 35 98:0 / /a/./b rw - ext3 none rw", READS),
        (b"36 35 98:0 / /a/../b rw - ext3 none rw", READS),
        (b"36 35 98:0 / /a\\000b rw - ext3 none rw", READS),
        (b"36 35 98:0 / /a  - ext3 none rw", READS),
        (b"36 35 98:0 / /a rw  - ext3 none rw", READS),
        (b"36 35 98:0 / /a rw -  none rw x", READS),
    ],
)
def test_what_is_no_line_is_refused(line: bytes, reason: str) -> None:
    """The error says what is wrong and shows the line."""
    with pytest.raises(MountInfoError) as caught:
        read(line)

    assert caught.value.reason == reason
    assert caught.value.line == line.decode()
    assert caught.value.line_number is None


def test_a_line_that_cannot_be_shown_is_shown_all_the_same() -> None:
    """Bytes that are not UTF-8 appear as escapes."""
    with pytest.raises(MountInfoError) as caught:
        read(b"\xff")

    assert caught.value.line == "\\xff"
    assert str(caught.value).startswith("mountinfo: it has 1 of at least")


@pytest.mark.parametrize(
    "line",
    [
        "010 9 8:1 / / rw - ext4 /dev/sda1 rw",
        "10 09 8:1 / / rw - ext4 /dev/sda1 rw",
        "10 9 08:1 / / rw - ext4 /dev/sda1 rw",
        "10 9 8:01 / / rw - ext4 /dev/sda1 rw",
        "00 9 8:1 / / rw - ext4 /dev/sda1 rw",
    ],
)
def test_zeros_in_front_of_a_number(line: str) -> None:
    """The kernel writes none, and one number in two spellings would be two mounts to a table."""
    with pytest.raises(MountInfoError):
        MountInfo.from_line(line.encode(), paths=ContainerPath)


def test_zero_is_a_number() -> None:
    """Alone it is one, as in the device of a file system without a disk."""
    mount = MountInfo.from_line(b"0 0 0:0 / / rw - tmpfs tmpfs rw", paths=ContainerPath)
    assert (mount.mount_id, mount.parent_id, mount.device) == (0, 0, (0, 0))
