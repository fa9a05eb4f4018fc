"""The one-line descriptions of files."""

from __future__ import annotations

import pickle
from typing import Literal

import pytest

from devroot import errors
from devroot._paths import ContainerPath
from devroot.testing import TreeFileSystem

ROOT = ContainerPath("/")


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("dir /a", "dir /a 0755"),
        ("dir /a 1777 1:2", "dir /a 1777 1:2"),
        ("file /a", "file /a 0644"),
        ("file /a 0600\none\ntwo\n", "file /a 0600\none\ntwo\n"),
        ("link /a usr/b", "link /a usr/b"),
        ("char /a 1:3", "char /a 1:3 0666"),
        ("block /a 8:0 0660 0:6", "block /a 8:0 0660 0:6"),
        ("fifo /a", "fifo /a 0644"),
        ("socket /a 0600", "socket /a 0600"),
        ("file '/a b'", "file '/a b' 0644"),
        ("link '/a' ' spaced'", "link /a ' spaced'"),
    ],
)
def test_a_line_comes_back(spec: str, line: str) -> None:
    """A file is listed as the line that describes it, with the defaults filled in."""
    tree = TreeFileSystem([spec])
    assert tree.listing() == [line]
    assert TreeFileSystem(tree.listing()).listing() == [line]


def test_second_names_come_back() -> None:
    """A second name of a file is listed as such, after the first in the order of paths."""
    tree = TreeFileSystem(["char /dev/zero 1:5", "hard /dev/also /dev/zero"])
    assert tree.listing() == [
        "dir /dev 0755",
        "char /dev/also 1:5 0666",
        "hard /dev/zero /dev/also",
    ]
    assert TreeFileSystem(tree.listing()).listing() == tree.listing()
    assert tree.status(ROOT, "dev/zero").links == 2


def test_bytes_that_are_no_text_come_back() -> None:
    """Names and contents need not be UTF-8."""
    tree = TreeFileSystem(["file '/\udcff' 0644\n\udcfe"])
    assert tree.read_bytes(ROOT, "\udcff") == b"\xfe"
    assert TreeFileSystem(tree.listing()).listing() == tree.listing()


def test_the_root_is_listed_only_when_it_is_unusual() -> None:
    """The line for the root is there when its mode or owner is not the default."""
    assert TreeFileSystem([]).listing() == []
    assert TreeFileSystem(["dir / 0700 1:1"]).listing() == ["dir / 0700 1:1"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("", "it needs a type and a path"),
        ("dir", "it needs a type and a path"),
        ("dir '/a", "it needs a type and a path"),
        ("folder /a", "unknown type 'folder'; there are dir, file, "),
        ("dir /a 0755\ncontent", "only a file has lines of content"),
        ("link /a", "it needs a path and a target"),
        ("link /a b c", "it needs a path and a target"),
        ("hard /a", "it needs a path and a target"),
        ("char /a", "it needs a number"),
        ("char /a 1", "'1' is no MAJOR:MINOR, at most 4095:1048575"),
        ("char /a 4096:0", "'4096:0' is no MAJOR:MINOR"),
        ("char /a 0:1048576", "'0:1048576' is no MAJOR:MINOR"),
        ("char /a -1:0", "'-1:0' is no MAJOR:MINOR"),
        ("char /a \u0661:0", "is no MAJOR:MINOR"),
        ("dir /a 0888", "'0888' is no mode; it is octal and at most 7777"),
        ("dir /a 17777", "'17777' is no mode"),
        ("dir /a ''", "'' is no mode"),
        ("dir /a 0755 root", "'root' is no UID:GID"),
        ("dir /a 0755 0:4294967295", "is no UID:GID, at most 4294967294:4294967294"),
        ("dir /a 0755 0:0 more", "'more' is left over"),
    ],
)
def test_a_bad_line_is_refused(spec: str, reason: str) -> None:
    """A line that cannot be understood is an error that shows it and says what would be right."""
    with pytest.raises(errors.InvalidSceneError) as caught:
        TreeFileSystem([spec])
    assert reason in caught.value.reason
    assert caught.value.text == spec.partition("\n")[0]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("path", ["a", "/a/../b", "''", "'/a\0'"])
def test_a_bad_path_is_refused(path: str) -> None:
    """A path in a line is a container path."""
    with pytest.raises(errors.InvalidPathError):
        TreeFileSystem([f"dir {path}"])


@pytest.mark.parametrize(("type", "word"), [("c", "char"), ("b", "block")])
def test_methods_say_the_same(type: Literal["c", "b"], word: str) -> None:
    """A device made by the method is the one made by the line."""
    tree = TreeFileSystem()
    tree.device("/a", type=type, major=7, minor=8, mode=0o640, uid=1, gid=2)
    assert tree.listing() == [f"{word} /a 7:8 0640 1:2"]
