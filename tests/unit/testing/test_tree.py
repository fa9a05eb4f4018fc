"""The tree in memory as the scene of a test."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from devroot import errors
from devroot._filesystem import Directory, FileSystem, FileType
from devroot._paths import ContainerPath
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = ContainerPath("/")


def test_it_is_a_file_system() -> None:
    """A tree and its handles have the types of the protocols; a type checker agrees."""
    tree = TreeFileSystem(["dir /dev"])
    filesystem: FileSystem = tree
    directory: Directory = filesystem.open_directory(ROOT, "dev")
    assert directory.status().is_directory
    assert repr(tree) == "<TreeFileSystem of 1 files>"


def test_methods_make_files() -> None:
    """Each type of file has a method, and missing parents are made."""
    tree = TreeFileSystem()
    tree.directory("/a/b", mode=0o1777, uid=1, gid=2)
    tree.file("/a/c/text", "text\n", mode=0o600, uid=3, gid=4)
    tree.file(ContainerPath("/a/c/bytes"), b"\xff")
    tree.device("/a/d", major=1, minor=3)
    tree.symlink("/a/e", "../x")
    tree.fifo("/a/f", mode=0o600)
    tree.socket("/a/g", mode=0o600)
    tree.hard_link("/a/h", "/a/d")
    assert tree.listing() == [
        "dir /a 0755",
        "dir /a/b 1777 1:2",
        "dir /a/c 0755",
        "file /a/c/bytes 0644\n\udcff",
        "file /a/c/text 0600 3:4\ntext\n",
        "char /a/d 1:3 0666",
        "link /a/e ../x",
        "fifo /a/f 0600",
        "socket /a/g 0600",
        "hard /a/h /a/d",
    ]


def test_a_directory_and_a_file_can_be_said_again() -> None:
    """What is there gets the new mode, owner and content, and stays the same file."""
    tree = TreeFileSystem(["dir /a", "file /b\nold"])
    before = tree.status(ROOT, "a"), tree.status(ROOT, "b")
    tree.directory("/a", mode=0o700, uid=1, gid=1)
    tree.file("/b", "newer", mode=0o600)
    tree.directory("/", mode=0o711)
    assert tree.listing() == ["dir / 0711", "dir /a 0700 1:1", "file /b 0600\nnewer"]
    assert before[0].same_file(tree.status(ROOT, "a"))
    assert before[1].same_file(tree.status(ROOT, "b"))


@pytest.mark.parametrize(
    "spec",
    ["dir /x", "file /x", "char /d 1:3", "link /d x", "fifo /d", "socket /d", "hard /d /f"],
)
def test_something_else_in_the_way_is_an_error(spec: str) -> None:
    """The scene is not silently changed: what is there already is ``EEXIST``."""
    tree = TreeFileSystem(["link /x d", "dir /d", "file /f"])
    before = tree.listing()
    with pytest.raises(FileExistsError) as caught:
        tree.add(spec)
    assert caught.value.filename == spec.split()[1]
    assert tree.listing() == before


def test_parents_are_found_through_links() -> None:
    """A file below a link is made where the link leads, as a shell would."""
    tree = TreeFileSystem(["link /lib usr/lib", "dir /usr/lib", "file /lib/x", "link /up /lib/.."])
    tree.file("/up/y")
    assert "file /usr/lib/x 0644" in tree.listing()
    assert "file /usr/y 0644" in tree.listing()


@pytest.mark.parametrize(
    ("path", "number", "filename"),
    [
        ("/file/x", errno.ENOTDIR, "/file"),
        ("/dangling/x", errno.ENOENT, "/nowhere"),
        ("/loop/x", errno.ELOOP, "/loop"),
        ("/" + "n" * 256, errno.ENAMETOOLONG, "/" + "n" * 256),
        ("/" + "n" * 256 + "/x", errno.ENAMETOOLONG, "/" + "n" * 256 + "/x"),
    ],
)
def test_parents_that_cannot_be_made(path: str, number: int, filename: str) -> None:
    """A parent that is no directory is an error that names it."""
    tree = TreeFileSystem(["file /file", "link /dangling nowhere", "link /loop loop"])
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
        tree.directory(path)
    assert (caught.value.errno, caught.value.filename) == (number, filename)


@pytest.mark.parametrize(
    ("target", "number"), [("", errno.ENOENT), ("x" * 4096, errno.ENAMETOOLONG)]
)
def test_links_that_cannot_be_made(target: str, number: int) -> None:
    """The target of a link is neither empty nor longer than the kernel takes."""
    tree = TreeFileSystem()
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
        tree.symlink("/a", target)
    assert (caught.value.errno, caught.value.filename) == (number, "/a")
    assert tree.listing() == []


def test_the_longest_link_can_be_made() -> None:
    """4095 bytes are a target, as for symlink(2)."""
    tree = TreeFileSystem()
    tree.symlink("/a", "x" * 4095)
    assert tree.read_link(ROOT, "a") == "x" * 4095


def test_a_second_name_of_a_directory_is_refused() -> None:
    """No directory has two names."""
    tree = TreeFileSystem(["dir /a"])
    with pytest.raises(PermissionError):
        tree.hard_link("/b", "/a")


def test_remove_takes_all_that_is_below() -> None:
    """A removed directory takes its content, and a handle on any of it says so."""
    tree = TreeFileSystem(["dir /a/b", "file /a/b/f", "hard /g /a/b/f"])
    with tree.open_directory(ROOT, "a/b") as handle:
        assert handle.status().links == 2
        tree.remove("/a")
        assert handle.status().links == 0
        assert handle.names() == []
    assert tree.listing() == ["file /g 0644"]
    assert tree.status(ROOT, "g").links == 1


def test_remove_does_not_follow_a_link() -> None:
    """Removing a link leaves what it leads to."""
    tree = TreeFileSystem(["link /a b", "dir /b"])
    tree.remove("/a")
    assert tree.listing() == ["dir /b 0755"]


def test_move_replaces() -> None:
    """A moved file takes the place of what was there; a handle stays on the moved directory."""
    tree = TreeFileSystem(["file /a\na", "file /b\nb", "dir /d/e"])
    tree.move("/a", "/b")
    with tree.open_directory(ROOT, "d") as handle:
        tree.move("/d", "/new/d")
        assert handle.names() == ["e"]
        assert handle.path == ContainerPath("/d")
    assert tree.listing() == [
        "file /b 0644\na",
        "dir /new 0755",
        "dir /new/d 0755",
        "dir /new/d/e 0755",
    ]


def test_the_root_stays() -> None:
    """The root can be neither removed nor moved nor moved over."""
    tree = TreeFileSystem(["dir /a"])
    attempts: list[Callable[[], object]] = [
        lambda: tree.remove("/"),
        lambda: tree.move("/", "/b"),
        lambda: tree.move("/a", "/"),
    ]
    for attempt in attempts:
        with pytest.raises(OSError, match="busy") as caught:
            attempt()
        assert (caught.value.errno, caught.value.filename) == (errno.EBUSY, "/")


def test_missing_names() -> None:
    """What is not there can be neither removed nor moved nor named again."""
    tree = TreeFileSystem()
    attempts: list[Callable[[], object]] = [
        lambda: tree.remove("/x"),
        lambda: tree.move("/x", "/y"),
        lambda: tree.hard_link("/y", "/x"),
    ]
    for attempt in attempts:
        with pytest.raises(FileNotFoundError):
            attempt()
    assert tree.listing() == []


def test_two_trees_can_be_told_apart() -> None:
    """The number of the file system is a parameter."""
    one, other = TreeFileSystem(device=1), TreeFileSystem(device=2)
    assert not one.status(ROOT, "").same_file(other.status(ROOT, ""))


def test_reading() -> None:
    """Only a regular file has content, and only a link a target."""
    tree = TreeFileSystem(
        ["file /f\ntext", "link /l f", "fifo /p", "link /proc/self/ns/u user:[1]"]
    )
    assert tree.read_bytes(ROOT, "l") == b"text"
    assert tree.read_link(ROOT, "/l") == "f"
    assert tree.read_link(ContainerPath("/proc"), "self/ns/u") == "user:[1]"
    assert tree.status(ROOT, "f").size == 4
    assert tree.status(ROOT, "l").type is FileType.REGULAR
    for attempt, path in (
        (lambda: tree.read_bytes(ROOT, ""), "/"),
        (lambda: tree.read_bytes(ROOT, "p"), "/p"),
        (lambda: tree.read_link(ROOT, "f"), "/f"),
    ):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
            attempt()
        assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, path)


def test_opening_what_is_no_directory() -> None:
    """A handle is for a directory only."""
    tree = TreeFileSystem(["file /f"])
    with pytest.raises(NotADirectoryError) as caught:
        tree.open_directory(ROOT, "f")
    assert caught.value.filename == "/f"


def test_a_nul_is_no_path() -> None:
    """The kernel would see the text up to the NUL only, so it is refused."""
    with pytest.raises(errors.InvalidPathError):
        TreeFileSystem().symlink("/a", "b\0c")
    with pytest.raises(errors.InvalidPathError):
        TreeFileSystem().status(ROOT, "a\0b")
