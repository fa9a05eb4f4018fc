"""Open directories of the tree in memory, with the errors of the kernel."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from devroot import errors
from devroot._filesystem import Directory, FileStatus, FileType
from devroot._local._portable import PortableDirectory
from devroot._paths import ContainerPath
from devroot.testing import TreeDirectory, TreeFileSystem

ROOT = ContainerPath("/")


@pytest.fixture
def tree() -> TreeFileSystem:
    """Return a tree with one of each."""
    return TreeFileSystem(
        ["dir /d/empty", "dir /d/full/sub", "file /d/f\nx", "hard /d/g /d/f", "link /d/l empty"]
    )


@pytest.fixture
def d(tree: TreeFileSystem) -> TreeDirectory:
    """Return a handle on the directory that holds them."""
    return tree.open_directory(ROOT, "d")


def number_of(action: Callable[[], object]) -> int | None:
    """Return the errno with which *action* fails, 0 without a path; None if it does not."""
    try:
        action()
    except OSError as error:
        return error.errno if error.filename else 0
    return None


def test_a_node_is_exactly_as_asked(d: TreeDirectory) -> None:
    """A new node has number, mode and owner."""
    d.make_node("n", type=FileType.CHARACTER, major=511, minor=4323, mode=0o640, uid=1, gid=2)
    status = d.lstat("n")
    assert (status.type, status.mode, status.uid, status.gid) == (FileType.CHARACTER, 0o640, 1, 2)
    assert (status.major, status.minor, status.links, status.size) == (511, 4323, 1, 0)


@pytest.mark.parametrize(
    ("field", "type", "major", "minor"),
    [
        ("major", FileType.CHARACTER, 4096, 1),
        ("major", FileType.BLOCK, -1, 1),
        ("minor", FileType.BLOCK, 1, 2**20),
    ],
)
def test_an_impossible_node(
    d: TreeDirectory, field: str, type: FileType, major: int, minor: int
) -> None:
    """What the kernel could not store is refused and not cut."""
    with pytest.raises(errors.InvalidNodeError) as caught:
        d.make_node("n", type=type, major=major, minor=minor, mode=0o600)
    assert caught.value.field == field
    assert "n" not in d.names()


def test_a_directory_is_exactly_as_asked(d: TreeDirectory) -> None:
    """A new directory has its mode and owner, and counts as a link of its parent."""
    before = d.status().links
    d.make_directory("n", mode=0o2775, uid=3, gid=4)
    status = d.lstat("n")
    assert (status.type, status.mode, status.uid, status.gid) == (FileType.DIRECTORY, 0o2775, 3, 4)
    assert (status.links, d.status().links) == (2, before + 1)


def test_a_link(d: TreeDirectory) -> None:
    """A symbolic link keeps its text, and its size is the length of that in bytes."""
    d.make_symlink("n", "ä/../x")
    assert d.read_link("n") == "ä/../x"
    assert (d.lstat("n").size, d.lstat("n").mode) == (7, 0o777)
    assert number_of(lambda: d.read_link("f")) == errno.EINVAL


def test_names_of_one_file(d: TreeDirectory) -> None:
    """Two names are one file until they go."""
    assert d.lstat("f").same_file(d.lstat("g"))
    assert d.lstat("f").links == 2
    d.unlink("f")
    assert d.lstat("g").links == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_a_name_is_one_component(d: TreeDirectory, name: str) -> None:
    """Whatever is no single component is refused, whichever side it is on."""
    for attempt in (
        lambda: d.lstat(name),
        lambda: d.rename("f", d, name, replace=True),
        lambda: d.link(name, d, "x"),
        lambda: d.make_directory(name, mode=0o700),
    ):
        with pytest.raises(errors.InvalidPathError):
            attempt()


Action = Callable[[Directory], object]

ANSWERS: dict[str, tuple[int | None, Action]] = {
    "look at a missing name": (errno.ENOENT, lambda d: d.lstat("x")),
    "look at a name too long": (errno.ENAMETOOLONG, lambda d: d.lstat("x" * 256)),
    "look at the longest name": (errno.ENOENT, lambda d: d.lstat("x" * 255)),
    "length is in bytes": (errno.ENAMETOOLONG, lambda d: d.lstat("ä" * 128)),
    "open a link": (errno.ENOTDIR, lambda d: d.open_directory("l")),
    "open a file": (errno.ENOTDIR, lambda d: d.open_directory("f")),
    "open a missing name": (errno.ENOENT, lambda d: d.open_directory("x")),
    "read a file as a link": (errno.EINVAL, lambda d: d.read_link("f")),
    "directory over a file": (errno.EEXIST, lambda d: d.make_directory("f", mode=0o700)),
    "directory over a link": (errno.EEXIST, lambda d: d.make_directory("l", mode=0o700)),
    "link over a link": (errno.EEXIST, lambda d: d.make_symlink("l", "x")),
    "link to nothing": (errno.ENOENT, lambda d: d.make_symlink("f", "")),
    "link to a text too long": (errno.ENAMETOOLONG, lambda d: d.make_symlink("f", "x" * 4096)),
    "link with a name too long": (errno.ENAMETOOLONG, lambda d: d.make_symlink("x" * 256, "x")),
    "unlink a directory": (errno.EISDIR, lambda d: d.unlink("empty")),
    "unlink a missing name": (errno.ENOENT, lambda d: d.unlink("x")),
    "unlink a link": (None, lambda d: d.unlink("l")),
    "remove a link as a directory": (errno.ENOTDIR, lambda d: d.remove_directory("l")),
    "remove a full directory": (errno.ENOTEMPTY, lambda d: d.remove_directory("full")),
    "remove a missing directory": (errno.ENOENT, lambda d: d.remove_directory("x")),
    "remove an empty directory": (None, lambda d: d.remove_directory("empty")),
    "name a missing file again": (errno.ENOENT, lambda d: d.link("x", d, "f")),
    "name a file over a link": (errno.EEXIST, lambda d: d.link("f", d, "l")),
    "name a directory over a file": (errno.EEXIST, lambda d: d.link("empty", d, "f")),
    "name a directory again": (errno.EPERM, lambda d: d.link("empty", d, "x")),
    "name a link again": (None, lambda d: d.link("l", d, "x")),
    "move a missing file": (errno.ENOENT, lambda d: d.rename("x", d, "f", replace=True)),
    "move without replacing": (errno.EEXIST, lambda d: d.rename("f", d, "l", replace=False)),
    "move onto itself": (errno.EEXIST, lambda d: d.rename("f", d, "f", replace=False)),
    "move over a link": (None, lambda d: d.rename("f", d, "l", replace=True)),
    "move to a new name": (None, lambda d: d.rename("f", d, "x", replace=False)),
    "file over directory": (errno.EISDIR, lambda d: d.rename("f", d, "empty", replace=True)),
    "directory over file": (errno.ENOTDIR, lambda d: d.rename("empty", d, "f", replace=True)),
    "over a full one": (errno.ENOTEMPTY, lambda d: d.rename("empty", d, "full", replace=True)),
    "over an empty one": (None, lambda d: d.rename("full", d, "empty", replace=True)),
    "into itself": (errno.EINVAL, lambda d: d.rename("full", sub(d), "x", replace=True)),
    "over its parent": (errno.ENOTEMPTY, lambda d: sub(d).rename("sub", d, "full", replace=True)),
}


def sub(d: Directory) -> Directory:
    """Return a handle on the directory in the directory."""
    return d.open_directory("full")


@pytest.mark.parametrize("case", ANSWERS)
def test_the_errors_of_linux(d: TreeDirectory, case: str) -> None:
    """Each operation answers as Linux does, and a failed one changes nothing."""
    expected, action = ANSWERS[case]
    names = d.names()
    assert number_of(lambda: action(d)) == expected
    assert (d.names() == names) is (expected is not None)


def test_renaming_one_of_two_names_does_nothing(d: TreeDirectory) -> None:
    """Renaming a file to its other name leaves both, see rename(2)."""
    d.rename("f", d, "g", replace=True)
    assert {"f", "g"} <= set(d.names())


def test_an_error_has_both_paths(d: TreeDirectory) -> None:
    """The error of an operation with two names shows both."""
    with pytest.raises(FileExistsError) as caught:
        d.link("f", d.open_directory("full"), "sub")
    assert (caught.value.filename, caught.value.filename2) == ("/d/f", "/d/full/sub")


def test_a_deleted_directory_takes_nothing(tree: TreeFileSystem, d: TreeDirectory) -> None:
    """In a directory that was deleted nothing can be made, whoever holds it open."""
    tree.remove("/d/empty")
    tree.directory("/d/empty")
    tree.remove("/d/full")
    stale = d.open_directory("empty")
    tree.remove("/d/empty")
    assert (stale.status().links, stale.names()) == (0, [])
    for action in (
        lambda: stale.lstat("x" * 256),
        lambda: stale.make_directory("x", mode=0o700),
        lambda: stale.make_node("x", type=FileType.BLOCK, major=1, minor=1, mode=0),
        lambda: stale.make_symlink("x", "y"),
        lambda: d.link("f", stale, "x"),
        lambda: d.rename("f", stale, "x", replace=True),
    ):
        assert number_of(action) == errno.ENOENT


def test_a_handle_stays_on_its_directory(tree: TreeFileSystem, d: TreeDirectory) -> None:
    """When names move, a change through a handle goes where the directory went."""
    tree.move("/d", "/moved")
    tree.directory("/d")
    d.make_directory("new", mode=0o755)
    assert tree.status(ROOT, "moved/new").is_directory
    with pytest.raises(FileNotFoundError):
        tree.status(ROOT, "d/new")


def test_mend(d: TreeDirectory) -> None:
    """Mode and owner change in place, each only if asked."""
    before = d.lstat("f")
    d.mend("f", expected=before, mode=0o640)
    d.mend("f", expected=before, uid=5)
    d.mend("f", expected=before, gid=6)
    after = d.lstat("f")
    assert after.same_file(before)
    assert (after.mode, after.uid, after.gid) == (0o640, 5, 6)


def test_mend_of_another_file(d: TreeDirectory) -> None:
    """A file that was swapped in meanwhile is left alone."""
    before = d.lstat("f")
    d.rename("l", d, "f", replace=True)
    assert number_of(lambda: d.mend("f", expected=before, mode=0o777, uid=7)) == errno.ESTALE
    assert d.lstat("f").uid == 0


def test_mend_of_a_symbolic_link(d: TreeDirectory) -> None:
    """A symbolic link has no mode, and is left alone."""
    link = d.lstat("l")
    assert number_of(lambda: d.mend("l", expected=link, mode=0o700, uid=1)) == errno.ELOOP
    assert d.lstat("l") == link


def test_mend_changes_what_differs(tree: TreeFileSystem, d: TreeDirectory) -> None:
    """What is as it should be is not touched: no step is taken."""
    status = d.lstat("f")
    tree.fail("mend.owner", errno.EPERM)
    tree.fail("mend.mode", errno.EPERM)
    d.mend("f", expected=status, mode=status.mode, uid=status.uid, gid=status.gid)
    assert number_of(lambda: d.mend("f", expected=status, gid=1)) == errno.EPERM
    assert number_of(lambda: d.mend("f", expected=status, mode=0)) == errno.EPERM


@pytest.mark.parametrize(
    ("mode", "after"), [(0o6777, 0o0777), (0o6767, 0o2767), (0o0777, 0o0777), (0o4700, 0o0700)]
)
def test_a_new_owner_takes_the_set_id_bits(d: TreeDirectory, mode: int, after: int) -> None:
    """A change of owner clears set-ID bits of a file, see chown(2); a later mode sets them."""
    status = d.lstat("f")
    d.mend("f", expected=status, mode=mode)
    d.mend("f", expected=status, uid=1)
    assert d.lstat("f").mode == after
    d.mend("f", expected=status, uid=1, mode=mode)
    assert d.lstat("f").mode == mode


def test_a_new_owner_leaves_a_directory_its_bits(d: TreeDirectory) -> None:
    """A change of owner leaves the set-ID bits of a directory."""
    status = d.lstat("empty")
    d.mend("empty", expected=status, mode=0o6777)
    d.mend("empty", expected=status, uid=1)
    assert d.lstat("empty").mode == 0o6777


def test_the_lock_belongs_to_a_handle(tree: TreeFileSystem, d: TreeDirectory) -> None:
    """One handle holds the lock of a directory until it is closed."""
    with tree.open_directory(ROOT, "d") as other:
        assert d.try_lock()
        assert d.try_lock()
        assert not other.try_lock()
        d.close()
        assert other.try_lock()


def test_a_closed_handle_is_a_bad_descriptor(d: TreeDirectory) -> None:
    """After ``close``, which can be called again, every operation is ``EBADF``."""
    assert repr(d) == "<TreeDirectory /d open>"
    d.close()
    d.close()
    assert repr(d) == "<TreeDirectory /d closed>"
    for action in (
        d.status,
        d.names,
        d.try_lock,
        lambda: d.lstat("f"),
        lambda: d.make_directory("x", mode=0o700),
    ):
        assert number_of(action) == errno.EBADF


@pytest.mark.parametrize("device", [42, 43])
def test_another_tree_is_another_file_system(d: TreeDirectory, device: int) -> None:
    """Nothing moves or gets a name from one tree to another."""
    other = TreeFileSystem(device=device).open_directory(ROOT, "")
    assert number_of(lambda: d.link("f", other, "f")) == errno.EXDEV
    assert number_of(lambda: d.rename("f", other, "f", replace=True)) == errno.EXDEV


def test_a_handle_of_another_kind_is_another_file_system(d: TreeDirectory) -> None:
    """Nothing moves from a tree to a directory of another file system."""
    other = PortableDirectory(ContainerPath("/elsewhere"))
    assert number_of(lambda: d.link("f", other, "x")) == errno.EXDEV


@pytest.mark.parametrize("type", [FileType.REGULAR, FileType.FIFO, FileType.SOCKET])
def test_mknod_makes_more_than_devices(d: TreeDirectory, type: FileType) -> None:
    """Whatever else mknod(2) makes has no numbers."""
    d.make_node("n", type=type, major=1, minor=2, mode=0o600)
    assert d.lstat("n").type is type
    assert (d.lstat("n").major, d.lstat("n").minor) == (0, 0)


@pytest.mark.parametrize("type", [FileType.DIRECTORY, FileType.SYMLINK])
def test_mknod_makes_neither_directory_nor_link(d: TreeDirectory, type: FileType) -> None:
    """What has a system call of its own is ``EINVAL``."""
    assert number_of(lambda: d.make_node("n", type=type, major=0, minor=0, mode=0)) == errno.EINVAL


def test_the_status_of_everything_is_comparable(d: TreeDirectory) -> None:
    """A status is a plain value."""
    assert d.lstat("f") == d.lstat("g")
    assert isinstance(d.status(), FileStatus)
