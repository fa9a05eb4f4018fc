"""What a handle on a directory does; on the real file system, on a faked os, and in memory."""

from __future__ import annotations

import os
from errno import (
    EACCES,
    EBADF,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENOENT,
    ENOSYS,
    ENOTDIR,
    ENOTEMPTY,
    EOPNOTSUPP,
    EPERM,
    ESTALE,
    EXDEV,
)
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from devroot import _syscalls
from devroot._filesystem import FileType
from devroot._local import LocalFileSystem
from devroot._local import _handle as _local_handle
from devroot._paths import ContainerPath
from devroot.errors import InvalidPathError, PathKindError
from tests import _systems
from tests._children import NOBODY, in_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devroot._filesystem import Directory

TREE = (
    "dir /full/sub",
    "dir /empty",
    "file /file 0640\nx",
    "hard /second-name /file",
    "link /link file",
    "link /dangling nowhere",
    "link /to-directory empty",
    "fifo /fifo 0600",
    "socket /socket 0700",
)
NAMES = {
    "full": FileType.DIRECTORY,
    "empty": FileType.DIRECTORY,
    "file": FileType.REGULAR,
    "second-name": FileType.REGULAR,
    "link": FileType.SYMLINK,
    "dangling": FileType.SYMLINK,
    "to-directory": FileType.SYMLINK,
    "fifo": FileType.FIFO,
    "socket": FileType.SOCKET,
}
ME = {"uid": os.geteuid(), "gid": os.getegid()}
REAL = ("walk", "portable")


def opened(name: str, scratch: Path) -> Iterator[Directory]:
    """Give a handle on the root of the tree in the system *name*."""
    with (
        _systems.opened(name, scratch, TREE) as system,
        system.filesystem.open_directory(system.root, "/") as directory,
    ):
        yield directory


@pytest.fixture(params=[*REAL, _systems.FAKED_OS, _systems.TREE])
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Directory]:
    """Give a handle of each kind."""
    yield from opened(request.param, tmp_path)


@pytest.fixture(params=REAL)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Directory]:
    """Give a handle of each kind on the real file system."""
    yield from opened(request.param, tmp_path)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Directory]:
    """Give a handle that holds a descriptor."""
    yield from opened("walk", tmp_path)


def fails(directory: Directory, name: str, action: Callable[[], object]) -> int:
    """Return the errno with which *action* fails, once it is sure that it names *name*."""
    with pytest.raises(OSError, check=lambda error: error.filename is not None) as caught:
        action()
    assert caught.value.filename == f"{directory.path}/{name}".rstrip("/")
    return caught.value.errno or 0


def fifo(directory: Directory, name: str, *, mode: int = 0o600) -> None:
    """Make the fifo *name*, which takes no rights."""
    directory.make_node(name, type=FileType.FIFO, major=0, minor=0, mode=mode, **ME)


def test_names(each: Directory) -> None:
    """The names are those in the directory, each with the status of itself."""
    assert sorted(each.names()) == sorted(NAMES)
    assert {name: each.lstat(name).type for name in NAMES} == NAMES


def test_status(each: Directory) -> None:
    """The status has mode, size, link count and identity."""
    status = each.lstat("file")
    assert (status.mode, status.size, status.links) == (0o640, 1, 2)
    assert status.same_file(each.lstat("second-name"))
    assert each.status().is_directory


def test_links(each: Directory) -> None:
    """The target of a link is its text, even one that leads nowhere."""
    assert each.read_link("link") == "file"
    assert each.read_link("dangling") == "nowhere"
    assert fails(each, "file", partial(each.read_link, "file")) == EINVAL


def test_open_directory(each: Directory) -> None:
    """A directory can be opened by its name; its path is that of the name."""
    with each.open_directory("full") as full:
        assert full.names() == ["sub"]
        assert full.path == each.path / "full"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("file", ENOTDIR),
        ("fifo", ENOTDIR),
        ("to-directory", ENOTDIR),
        ("dangling", ENOTDIR),
        ("nowhere", ENOENT),
    ],
)
def test_open_no_directory(each: Directory, name: str, number: int) -> None:
    """Anything else is not opened, least of all through a link."""
    assert fails(each, name, partial(each.open_directory, name)) == number


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
@pytest.mark.parametrize("mode", [0o000, 0o644, 0o666, 0o1777, 0o2755, 0o7777])
def test_exact_modes(real: Directory, umask: int, mode: int) -> None:
    """What is made has exactly the mode that was asked for, and the umask is as before."""
    before = os.umask(umask)
    try:
        real.make_directory("new", mode=mode, **ME)
        fifo(real, "node", mode=mode & 0o777)
    finally:
        assert os.umask(before) == umask
    assert real.lstat("new").mode == mode
    assert (real.lstat("node").type, real.lstat("node").mode) == (FileType.FIFO, mode & 0o777)


def test_modes_without_rights_of_root(tmp_path: Path) -> None:
    """Whoever makes it need not be able to look into it."""

    def modes() -> list[int]:
        os.umask(0o777)
        root = ContainerPath(str(tmp_path / "r"))
        with LocalFileSystem().open_directory(root, "/") as directory:
            directory.make_directory("new", mode=0o100, **ME)
            fifo(directory, "node", mode=0o002)
            return [directory.lstat(name).mode for name in ("new", "node")]

    (tmp_path / "r").mkdir()
    assert in_child(modes) == [0o100, 0o002]


@pytest.mark.parametrize("type_", [FileType.REGULAR, FileType.SOCKET])
def test_other_nodes(real: Directory, type_: FileType) -> None:
    """Whatever mknod(2) can make can be made, its numbers being of no account."""
    real.make_node("new", type=type_, major=1, minor=3, mode=0o640, **ME)
    assert (real.lstat("new").type, real.lstat("new").mode) == (type_, 0o640)


@pytest.mark.parametrize("type_", [FileType.DIRECTORY, FileType.SYMLINK])
def test_impossible_nodes(real: Directory, type_: FileType) -> None:
    """A directory or a link is not made by mknod, and nothing is made instead."""
    make = partial(real.make_node, "new", type=type_, major=0, minor=0, mode=0o600, **ME)
    assert fails(real, "new", make) == EINVAL
    assert "new" not in real.names()


@pytest.mark.kernel
@pytest.mark.parametrize("type_", [FileType.CHARACTER, FileType.BLOCK])
@pytest.mark.parametrize(("major", "minor"), [(1, 3), (511, 4323), (4095, 2**20 - 1)])
def test_device_nodes(real: Directory, type_: FileType, major: int, minor: int) -> None:
    """A device node has its number, mode and owner, whatever the umask."""
    real.make_node("new", type=type_, major=major, minor=minor, mode=0o664, uid=3, gid=5)
    status = real.lstat("new")
    assert (status.type, status.major, status.minor) == (type_, major, minor)
    assert (status.mode, status.uid, status.gid) == (0o664, 3, 5)


@pytest.mark.kernel
def test_owners(real: Directory) -> None:
    """A directory has its owner, with set-ID bits that a later change of owner would clear."""
    real.make_directory("new", mode=0o6755, uid=3, gid=5)
    status = real.lstat("new")
    assert (status.mode, status.uid, status.gid) == (0o6755, 3, 5)


def test_closed_until_complete(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a directory has its mode, nobody but its maker may look into it."""
    modes: list[int] = []
    chmod = os.chmod

    def look_then_change(path: str, mode: int) -> None:
        modes.append(real.lstat("new").mode)
        chmod(path, mode)

    monkeypatch.setattr(os, "chmod", look_then_change)
    real.make_directory("new", mode=0o777, **ME)
    assert [mode & 0o077 for mode in modes] == [0]


def test_nothing_is_replaced(each: Directory) -> None:
    """Making something under a name that exists fails, even if that is a dangling link."""
    for name in ("file", "dangling"):
        assert fails(each, name, partial(each.make_directory, name, mode=0o755, **ME)) == EEXIST
        assert fails(each, name, partial(each.make_symlink, name, "x")) == EEXIST
        assert fails(each, name, partial(fifo, each, name)) == EEXIST
    assert sorted(each.names()) == sorted(NAMES)


@pytest.mark.parametrize("call", ["chown", "chmod"])
def test_half_made_is_removed(real: Directory, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """If owner or mode cannot be set, what was made is gone again."""

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(EPERM, "refused")

    monkeypatch.setattr(os, call, refuse)
    someone = {"uid": ME["uid"] + 1, "gid": ME["gid"]} if call == "chown" else ME
    make = partial(real.make_node, "new", type=FileType.FIFO, major=0, minor=0, **someone)
    assert fails(real, "new", partial(make, mode=0o2666)) == EPERM
    make_directory = partial(real.make_directory, "new", mode=0o755, **someone)
    assert fails(real, "new", make_directory) == EPERM
    assert sorted(real.names()) == sorted(NAMES)


def test_replaced_while_made(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another file has taken the name meanwhile, that does not get the mode."""
    place = str(real.path / "new")

    def make_something_else(*_arguments: object, **_options: object) -> None:
        os.symlink(str(real.path / "file"), place)

    monkeypatch.setattr(os, "mknod", make_something_else)
    assert fails(real, "new", partial(fifo, real, "new", mode=0o666)) == ESTALE
    assert real.lstat("file").mode == 0o640


@pytest.mark.kernel
def test_other_number_while_made(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of another number under the name does not get the mode either."""
    mknod = os.mknod

    def make_another(path: str, mode: int, _device: int, **options: Any) -> None:  # noqa: ANN401
        mknod(path, mode, os.makedev(1, 7), **options)

    monkeypatch.setattr(os, "mknod", make_another)
    make = partial(real.make_node, "new", type=FileType.CHARACTER, major=1, minor=3, mode=0o6)
    assert fails(real, "new", make) == ESTALE


def test_symlinks(each: Directory) -> None:
    """A link has the text that was given, whatever it says."""
    for target in ("../../outside", "/", "x" * 300):
        each.make_symlink("new", target)
        assert each.read_link("new") == target
        each.unlink("new")


def test_bytes_survive(real: Directory) -> None:
    """Names and targets that are no UTF-8 come back as they were."""
    real.make_symlink("\udcff", "\udcfe")
    assert "\udcff" in real.names()
    assert real.read_link("\udcff") == "\udcfe"


@pytest.mark.parametrize("target", ["a\0b", "\ud800"])
def test_impossible_targets(real: Directory, target: str) -> None:
    """A target that no link can have is refused."""
    with pytest.raises(InvalidPathError, match="target of a link"):
        real.make_symlink("new", target)


def test_mend(each: Directory) -> None:
    """The mode of a file changes in place."""
    before = each.lstat("file")
    each.mend("file", expected=before, mode=0o604)
    after = each.lstat("file")
    assert after.same_file(before)
    assert (after.mode, after.uid, after.gid) == (0o604, before.uid, before.gid)


@pytest.mark.kernel
def test_mend_owner(real: Directory) -> None:
    """Owner, group and mode change together or one by one, and set-ID bits survive it."""
    real.mend("file", expected=real.lstat("file"), uid=3)
    assert (real.lstat("file").uid, real.lstat("file").gid) == (3, 0)
    real.mend("file", expected=real.lstat("file"), gid=5, mode=0o4711)
    real.mend("file", expected=real.lstat("file"), uid=4, mode=0o4711)
    status = real.lstat("file")
    assert (status.uid, status.gid, status.mode) == (4, 5, 0o4711)


def test_mend_changes_what_differs(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right already is not touched, not even the time of its last change."""
    monkeypatch.delattr(os, "chmod")
    monkeypatch.delattr(os, "chown")
    before = os.stat(real.path / "file").st_ctime_ns
    real.mend("file", expected=real.lstat("file"), mode=0o640, **ME)
    assert os.stat(real.path / "file").st_ctime_ns == before


def test_mend_another_file(each: Directory) -> None:
    """A name that has become another file is ``ESTALE``, and nothing changes."""
    expected = each.lstat("fifo")
    each.rename("file", each, "fifo", replace=True)
    assert fails(each, "fifo", partial(each.mend, "fifo", expected=expected, mode=0o666)) == ESTALE
    assert each.lstat("fifo").mode == 0o640


def test_mend_another_number(each: Directory) -> None:
    """An inode that was given to another file meanwhile is ``ESTALE`` as well."""
    now = each.lstat("fifo")
    for expected in (attrs.evolve(now, minor=1), attrs.evolve(now, type=FileType.REGULAR)):
        mend = partial(each.mend, "fifo", expected=expected, mode=0o666)
        assert fails(each, "fifo", mend) == ESTALE


def test_mend_a_link(each: Directory) -> None:
    """A link is not followed, and has no mode itself."""
    mend = partial(each.mend, "link", mode=0o666)
    assert fails(each, "link", partial(mend, expected=each.lstat("file"))) == ESTALE
    assert fails(each, "link", partial(mend, expected=each.lstat("link"))) == ELOOP
    assert each.lstat("file").mode == 0o640


def test_mend_nothing(each: Directory) -> None:
    """A name that is gone is ``ENOENT``."""
    mend = partial(each.mend, "nowhere", expected=each.lstat("file"), mode=0o666)
    assert fails(each, "nowhere", mend) == ENOENT


@pytest.mark.parametrize("name", ["file", "fifo", "socket", "empty"])
def test_mend_what_was_looked_at(
    held: Directory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A swap of the name just before the change does not turn it to another file."""
    chmod = os.chmod
    victim = held.path / "victim"
    os.close(os.open(victim, os.O_CREAT, 0o600))

    def swap_then_change(path: str, mode: int) -> None:
        held.rename(name, held, "moved", replace=False)
        held.make_symlink(name, "victim")
        chmod(path, mode)

    monkeypatch.setattr(os, "chmod", swap_then_change)
    held.mend(name, expected=held.lstat(name), mode=0o606)
    assert held.lstat("moved").mode == 0o606
    assert held.lstat("victim").mode == 0o600


def test_mend_without_procfs(
    held: Directory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without procfs it says so, and not that the file does not exist."""
    for place in (tmp_path / "none", tmp_path / "r" / "file" / "none"):
        monkeypatch.setattr(_local_handle, "_HELD_FILES", str(place))
        mend = partial(held.mend, "file", expected=held.lstat("file"), mode=0o666)
        assert fails(held, "file", mend) == EOPNOTSUPP


def test_link(each: Directory) -> None:
    """A second name is the same file, and a link as such gets one, too."""
    with each.open_directory("empty") as empty:
        for name in ("file", "dangling", "fifo"):
            each.link(name, empty, name)
            assert empty.lstat(name).same_file(each.lstat(name))


def test_link_never_replaces(each: Directory) -> None:
    """If the second name exists, nothing changes, and the error has both names."""
    for name in ("file", "dangling", "empty"):
        with pytest.raises(FileExistsError) as caught:
            each.link("fifo", each, name)
        assert caught.value.filename == str(each.path / "fifo")
        assert caught.value.filename2 == str(each.path / name)
        assert each.lstat(name).type is NAMES[name]


def test_rename(each: Directory) -> None:
    """A file moves to another directory, and takes the place of what is there if so told."""
    file = each.lstat("file")
    with each.open_directory("empty") as empty:
        each.rename("fifo", empty, "new", replace=False)
        each.rename("file", empty, "new", replace=True)
        assert empty.lstat("new").same_file(file)
        assert empty.names() == ["new"]
    assert {"fifo", "file"}.isdisjoint(each.names())


NOREPLACE = [
    ("fifo", "file"),
    ("fifo", "dangling"),
    ("fifo", "empty"),
    ("full", "empty"),
    ("full", "file"),
    ("link", "dangling"),
]


@pytest.mark.parametrize(("name", "taken"), NOREPLACE)
def test_rename_does_not_replace(each: Directory, name: str, taken: str) -> None:
    """A name that exists stays what it is, unless the caller says that it is to be replaced."""
    before = each.lstat(taken)
    with pytest.raises(FileExistsError) as caught:
        each.rename(name, each, taken, replace=False)
    assert caught.value.filename == str(each.path / name)
    assert caught.value.filename2 == str(each.path / taken)
    assert each.lstat(taken).same_file(before)
    assert each.lstat(name).type is NAMES[name]


@pytest.mark.parametrize("number", [ENOSYS, EINVAL])
def test_rename_without_renameat2(
    held: Directory, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Where renameat2 or its flag is not known, nothing is replaced either."""

    def refuse(*_arguments: object, flags: int) -> None:
        assert flags == _syscalls.RENAME_NOREPLACE
        raise OSError(number, "refused")

    monkeypatch.setattr(_syscalls, "renameat2", refuse)
    for name, taken in NOREPLACE:
        with pytest.raises(FileExistsError):
            held.rename(name, held, taken, replace=False)
    moved = {name: held.lstat(name) for name in ("fifo", "link", "full")}
    with held.open_directory("empty") as empty:
        for name, status in moved.items():
            held.rename(name, empty, name, replace=False)
            assert empty.lstat(name).same_file(status)
    assert set(moved).isdisjoint(held.names())


def test_rename_by_link_is_undone(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the old name cannot go away, the new one does not stay."""
    unlink = os.unlink

    def refuse_first(path: str, *, dir_fd: int | None = None) -> None:
        if path.endswith("fifo"):
            raise PermissionError(EACCES, "refused")
        unlink(path, dir_fd=dir_fd)

    def unknown(*_arguments: object, flags: int) -> None:
        raise OSError(ENOSYS, f"refused with {flags}")

    monkeypatch.setattr(os, "unlink", refuse_first)
    monkeypatch.setattr(_syscalls, "renameat2", unknown)
    rename = partial(real.rename, "fifo", real, "new", replace=False)
    assert fails(real, "fifo", rename) == EACCES
    assert sorted(real.names()) == sorted(NAMES)


def test_rename_refused(held: Directory) -> None:
    """Another error of renameat2 is the answer."""
    rename = partial(held.rename, "nowhere", held, "new", replace=False)
    assert fails(held, "nowhere", rename) == ENOENT


def test_other_kinds_of_handle(held: Directory) -> None:
    """Nothing can be moved to a handle that is not of one kind: that is ``EXDEV``."""
    portable = LocalFileSystem(resolver="portable").open_directory(held.path, "empty")
    for here, there in ((held, portable), (portable, held)):
        assert fails(here, "file", partial(here.link, "file", there, "new")) == EXDEV
        rename = partial(here.rename, "file", there, "new", replace=True)
        assert fails(here, "file", rename) == EXDEV


def test_unlink(each: Directory) -> None:
    """A name goes away, and of a link it is the link."""
    each.unlink("link")
    each.unlink("fifo")
    assert {"link", "fifo"}.isdisjoint(each.names())
    assert each.lstat("file").links == 2
    assert fails(each, "empty", partial(each.unlink, "empty")) == EISDIR
    assert fails(each, "nowhere", partial(each.unlink, "nowhere")) == ENOENT


def test_remove_directory(each: Directory) -> None:
    """Only an empty directory is removed."""
    each.remove_directory("empty")
    assert "empty" not in each.names()
    for name, number in (("full", ENOTEMPTY), ("file", ENOTDIR)):
        assert fails(each, name, partial(each.remove_directory, name)) == number


def test_remove_directory_behind_a_link(real: Directory) -> None:
    """A link is no directory, whatever it leads to."""
    name = "to-directory"
    assert fails(real, name, partial(real.remove_directory, name)) == ENOTDIR
    assert "empty" in real.names()


def operations(directory: Directory) -> dict[str, Callable[[str], object]]:
    """Return each operation on a name."""
    expected = directory.lstat("file")
    return {
        "lstat": directory.lstat,
        "read_link": directory.read_link,
        "open_directory": directory.open_directory,
        "make_directory": partial(directory.make_directory, mode=0o755),
        "make_node": partial(directory.make_node, type=FileType.FIFO, major=0, minor=0, mode=0o600),
        "make_symlink": lambda name: directory.make_symlink(name, "x"),
        "mend": partial(directory.mend, expected=expected, mode=0o666),
        "link": lambda name: directory.link(name, directory, "new"),
        "link to": lambda name: directory.link("file", directory, name),
        "rename": lambda name: directory.rename(name, directory, "new", replace=False),
        "rename to": lambda name: directory.rename("file", directory, name, replace=True),
        "unlink": directory.unlink,
        "remove_directory": directory.remove_directory,
    }


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/", "a/b", "empty/", "/etc", "a\0b", "../file", "\ud800"]
)
def test_no_names(real: Directory, name: str) -> None:
    """What is not a single name is refused by every operation, and nothing happens."""
    for operation in operations(real).values():
        with pytest.raises(InvalidPathError, match="name in a directory"):
            operation(name)
    assert sorted(real.names()) == sorted(NAMES)


def test_no_text(real: Directory) -> None:
    """A name is a string."""
    name: Any = b"file"
    for operation in operations(real).values():
        with pytest.raises(PathKindError):
            operation(name)


def test_closed(held: Directory) -> None:
    """A handle that was closed does nothing any more, and can be closed again."""
    calls = operations(held)
    held.close()
    held.close()
    for what, operation in calls.items():
        name = "file" if what.endswith(" to") else "name"
        assert fails(held, name, partial(operation, "name")) == EBADF
    for call in (held.status, held.names, held.try_lock):
        assert fails(held, "", call) == EBADF


def test_forgotten(held: Directory) -> None:
    """A handle that nobody closed is closed, and reported."""
    before = os.listdir("/proc/self/fd")
    with pytest.warns(ResourceWarning, match="unclosed <LocalDirectory .*/empty>"):
        held.open_directory("empty")
    assert os.listdir("/proc/self/fd") == before


def test_lock(real: Directory) -> None:
    """One handle at a time holds the lock, until it is closed."""
    root = ContainerPath("/")
    other = LocalFileSystem().open_directory(root, str(real.path))
    with other:
        assert real.try_lock()
        assert real.try_lock()
        assert not other.try_lock()
        real.close()
        assert other.try_lock()
        with LocalFileSystem(resolver="portable").open_directory(root, str(other.path)) as third:
            assert not third.try_lock()


def test_lock_of_a_directory_that_is_gone(tmp_path: Path) -> None:
    """Of a directory without a descriptor the lock can be missing as a whole."""
    (tmp_path / "gone").mkdir()
    root = ContainerPath(str(tmp_path))
    portable = LocalFileSystem(resolver="portable").open_directory(root, "gone")
    (tmp_path / "gone").rmdir()
    for call in (portable.try_lock, portable.status, portable.names):
        with pytest.raises(FileNotFoundError):
            call()
    portable.close()


def test_moved(held: Directory) -> None:
    """A handle stays on its directory, wherever that is moved to."""
    with held.open_directory("empty") as moved:
        held.rename("empty", held, "elsewhere", replace=False)
        held.make_directory("empty", mode=0o755, **ME)
        moved.make_symlink("new", "x")
        with held.open_directory("elsewhere") as elsewhere:
            assert elsewhere.names() == ["new"]
            assert elsewhere.status() == moved.status()


def test_deleted(held: Directory) -> None:
    """A directory that was deleted has no links left, and nothing can be made in it."""
    with held.open_directory("empty") as empty:
        held.remove_directory("empty")
        assert empty.status().links == 0
        assert fails(empty, "new", partial(fifo, empty, "new")) == ENOENT


@pytest.mark.kernel
def test_rights_are_asked(tmp_path: Path) -> None:
    """Whoever may not look into a directory does not get a handle on it."""
    # Its parents have to be open to everybody.
    place = f"/tmp/{tmp_path.name}-{os.getpid()}"
    os.makedirs(f"{place}/closed/sub")
    os.chmod(f"{place}/closed", 0o700)

    def answers() -> set[tuple[str, int, str]]:
        found: set[tuple[str, int, str]] = set()
        for filesystem in _systems.usable():
            for path in ("closed", "closed/sub", "closed/.", "closed/.."):
                with pytest.raises(PermissionError) as caught:
                    filesystem.open_directory(ContainerPath(place), path)
                found.add((path, caught.value.errno or 0, caught.value.filename))
        return found

    closed = f"{place}/closed"
    expected = {
        ("closed", EACCES, closed),
        ("closed/sub", EACCES, f"{closed}/sub"),
        ("closed/.", EACCES, closed),
        ("closed/..", EACCES, closed),
    }
    try:
        assert in_child(answers, uid=NOBODY) == expected
    finally:
        os.removedirs(f"{place}/closed/sub")
