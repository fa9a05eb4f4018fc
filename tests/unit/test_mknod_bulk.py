"""Many nodes at once in a real directory: the same answers as one by one, and nothing left."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from devroot import ContainerPath, InvalidPathError, LocalFileSystem, _syscalls
from devroot._bulk import _quick_way, publish_nodes, right_nodes
from devroot._local._portable import PortableDirectory
from tests._nodes import DEV, dev_root_of, files_of, listing, node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devroot import Directory
    from devroot._bulk import Member

UID, GID = os.geteuid(), os.getegid()


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Directory, Directory]]:
    """A private directory, and the one in which the nodes are to be."""
    (tmp_path / "work").mkdir(mode=0o700)
    (tmp_path / "to").mkdir()
    files = LocalFileSystem()
    with (
        files.open_directory(ContainerPath(str(tmp_path)), "work") as work,
        files.open_directory(ContainerPath(str(tmp_path)), "to") as to,
    ):
        yield work, to


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Let mknod make a regular file instead of a device, which needs no root.

    Returns:
        The type and mode, and the number, of each device that was asked for.
    """
    asked: list[tuple[int, int]] = []
    mknod = os.mknod

    def pretend(path: str, mode: int, device: int, *, dir_fd: int) -> None:
        asked.append((mode, device))
        mknod(path, stat.S_IFREG | stat.S_IMODE(mode), dir_fd=dir_fd)

    monkeypatch.setattr(os, "mknod", pretend)
    return asked


def _mine(name: str, minor: int = 0, **more: int) -> Member:
    return 0, name, node(name, 240, minor, **{"uid": UID, "gid": GID, **more})


def test_a_real_directory_has_a_quick_way(places: tuple[Directory, Directory]) -> None:
    """A directory that is held by a descriptor is quick; one that is only a path is not."""
    assert _quick_way(places[0]) is not None
    assert _quick_way(PortableDirectory(places[0].path)) is None


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_nodes_are_complete_whatever_the_umask(
    places: tuple[Directory, Directory], as_root: list[tuple[int, int]], umask: int
) -> None:
    """Each node has exactly its mode, and the umask is not touched."""
    work, to = places
    nodes = [_mine("a", 1), _mine("b", 2, mode=0o640), _mine("c", 3, mode=0)]
    before = os.umask(umask)
    try:
        assert publish_nodes(work, nodes, to) == []
    finally:
        assert os.umask(before) == umask

    assert {name: to.lstat(name).mode for name in to.names()} == {"a": 0o666, "b": 0o640, "c": 0}
    assert [device for _, device in as_root] == [os.makedev(240, n) for n in (1, 2, 3)]
    assert {stat.S_IFMT(mode) for mode, _ in as_root} == {stat.S_IFCHR}
    assert {to.lstat(name).links for name in to.names()} == {1}
    assert work.names() == []


def without_fchmodat2(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOSYS) -> None:
    """Let the kernel, or a filter, be one that refuses fchmodat2."""

    def refuse(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(_syscalls, "fchmodat2", refuse)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EINVAL])
def test_modes_are_set_without_fchmodat2(
    places: tuple[Directory, Directory],
    as_root: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    """An old kernel, or a filter that does not know the call, takes longer and does the same."""
    without_fchmodat2(monkeypatch, number)
    work, to = places

    assert publish_nodes(work, [_mine("a"), _mine("b", mode=0o640)], to) == []
    assert {name: to.lstat(name).mode for name in to.names()} == {"a": 0o666, "b": 0o640}
    assert len(as_root) == 2


@pytest.mark.parametrize("refused", [False, True])
def test_no_mode_is_set_through_a_link(
    places: tuple[Directory, Directory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A root of another container that swaps the new node for a link changes no file elsewhere."""
    work, to = places
    victim = tmp_path / "victim"
    victim.touch(mode=0o600)
    if refused:
        without_fchmodat2(monkeypatch)

    def make_and_swap(path: str, _mode: int, _device: int, *, dir_fd: int) -> None:
        os.symlink(victim, path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mknod", make_and_swap)

    assert publish_nodes(work, [_mine("a"), _mine("b")], to) == [0, 1]
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    assert (work.names(), to.names()) == ([], [])


def test_an_owner_is_set_where_it_is_not_the_kernels_choice(
    places: tuple[Directory, Directory],
    as_root: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only nodes with another owner than new files have are given one, before the mode."""
    asked: list[tuple[int, int]] = []

    def note(_path: str, uid: int, gid: int, **_more: object) -> None:
        asked.append((uid, gid))

    monkeypatch.setattr(os, "chown", note)
    work, to = places

    assert publish_nodes(work, [_mine("a"), _mine("b", uid=UID + 1), _mine("c")], to) == []
    assert asked == [(UID + 1, GID)]
    assert len(as_root) == 3


def test_what_cannot_be_published_is_told_and_not_left(
    places: tuple[Directory, Directory], as_root: list[tuple[int, int]]
) -> None:
    """A name that exists, or that cannot, stops no other, and is never replaced."""
    work, to = places
    to.make_symlink("b", "elsewhere")

    failed = publish_nodes(work, [_mine("a"), _mine("b"), _mine("n" * 256), _mine("d")], to)

    assert failed == [1, 2]
    assert sorted(to.names()) == ["a", "b", "d"]
    assert to.read_link("b") == "elsewhere"
    assert work.names() == []
    assert len(as_root) == 4


def test_what_cannot_be_made_is_told(
    places: tuple[Directory, Directory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where mknod is refused, each node is told as not made, and the cause is left to others."""

    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "mknod", refuse)
    work, to = places

    assert publish_nodes(work, [_mine("a"), _mine("b")], to) == [0, 1]
    assert (work.names(), to.names()) == ([], [])


def test_another_kind_of_directory_takes_nothing(places: tuple[Directory, Directory]) -> None:
    """Two kinds of handle have no system call in common, so nothing is tried."""
    work, to = places

    assert publish_nodes(work, [_mine("a"), _mine("b")], PortableDirectory(to.path)) == [0, 1]


@pytest.mark.parametrize("name", ["a/b", "/a", "../a"])
def test_a_path_is_no_name(places: tuple[Directory, Directory], name: str) -> None:
    """A name with a slash would lead out of the directory, and is refused."""
    work, to = places
    wrong = [(0, name, node())]

    with pytest.raises(InvalidPathError):
        publish_nodes(work, wrong, to)
    with pytest.raises(InvalidPathError):
        right_nodes(to, wrong)


def test_nothing_but_the_very_node_is_right(places: tuple[Directory, Directory]) -> None:
    """A missing name, a file, a directory and a link are not the node."""
    _, to = places
    to.make_symlink("link", "/dev/null")
    to.make_directory("directory", mode=0o666, uid=UID, gid=GID)

    assert right_nodes(to, [_mine("none"), _mine("link"), _mine("directory")]) == [False] * 3


def test_a_real_device_is_right_only_as_it_is() -> None:
    """Type, number, mode and owner are all compared, on the null device of this machine."""
    with LocalFileSystem().open_directory(ContainerPath("/"), "/dev") as dev:
        found = dev.lstat("null")
        right: dict[str, Any] = {
            "type": "c",
            "major": found.major,
            "minor": found.minor,
            "mode": found.mode,
            "uid": found.uid,
            "gid": found.gid,
        }
        wrong: list[dict[str, Any]] = [
            {"type": "b"},
            {"major": found.major + 1},
            {"minor": found.minor + 1},
            {"mode": found.mode ^ 0o111},
            {"uid": found.uid + 1},
            {"gid": found.gid + 1},
        ]

        nodes = [node("null", **{**right, **each}) for each in [right, *wrong]]

        assert right_nodes(dev, [(0, "null", each) for each in nodes]) == [True] + [False] * 6


def test_any_directory_gives_the_same_answers() -> None:
    """A directory without a quick way is asked one by one."""
    dev_root = dev_root_of("char a 240:0 0666", "char b 240:9 0666", "dir work")
    files = files_of(dev_root)
    dev = files.open_directory(dev_root.container, "/dev")
    nodes = [(0, name, node(name, 240, 0)) for name in ("a", "b", "c", "d")]
    files.fail("unlink", errno.EIO, path=f"{DEV}/work/node", nth=4)

    assert right_nodes(dev, nodes) == [True, False, False, False]
    assert publish_nodes(dev.open_directory("work"), nodes, dev) == [0, 1]
    assert "char c 240:0 0666" in listing(dev_root)
