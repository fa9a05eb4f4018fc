"""How the tree in memory resolves a path inside a root."""

from __future__ import annotations

import errno

import pytest

from devroot._paths import ContainerPath
from devroot.testing import TreeFileSystem

SPECS = [
    "dir /outside",
    "file /outside/secret",
    "dir /r/usr/lib",
    "file /r/usr/lib/f",
    "link /r/lib usr/lib",
    "link /r/absolute /usr/lib",
    "link /r/climb ../../../outside",
    "link /r/usr/up ..",
    "link /r/chain absolute",
    "link /r/slash lib/",
    "link /r/file-slash lib/f/",
    "link /r/dangling lib/none",
    "link /r/loop loop",
    "link /r/long " + "n" * 256,
    "link /alias r",
]
R = ContainerPath("/r")


@pytest.fixture(scope="module")
def tree() -> TreeFileSystem:
    """Return a tree with a root in it that links try to leave."""
    return TreeFileSystem(SPECS)


@pytest.mark.parametrize(
    ("unsafe_path", "result"),
    [
        ("", "/r"),
        ("/", "/r"),
        (".", "/r"),
        ("..", "/r"),
        ("../../x/..", None),
        ("usr//lib/./f", "/r/usr/lib/f"),
        ("/lib/f", "/r/usr/lib/f"),
        ("lib/", "/r/usr/lib"),
        ("absolute/f", "/r/usr/lib/f"),
        ("chain/../lib/f", "/r/usr/lib/f"),
        ("usr/up/lib", "/r/usr/lib"),
        ("slash", "/r/usr/lib"),
        ("../usr/../../usr", "/r/usr"),
    ],
)
def test_inside(tree: TreeFileSystem, unsafe_path: str, result: str | None) -> None:
    """Absolute links and ``..`` stay inside the root, wherever the text starts."""
    if result is None:
        with pytest.raises(FileNotFoundError):
            tree.resolve(R, unsafe_path)
    else:
        assert tree.resolve(R, unsafe_path) == ContainerPath(result)
        assert tree.status(R, unsafe_path) == tree.status(ContainerPath("/"), result)


@pytest.mark.parametrize(
    ("unsafe_path", "number", "filename"),
    [
        ("none", errno.ENOENT, "/r/none"),
        ("none/..", errno.ENOENT, "/r/none"),
        ("dangling", errno.ENOENT, "/r/usr/lib/none"),
        ("climb", errno.ENOENT, "/r/outside"),
        ("lib/f/", errno.ENOTDIR, "/r/usr/lib/f"),
        ("lib/f/.", errno.ENOTDIR, "/r/usr/lib/f"),
        ("lib/f/..", errno.ENOTDIR, "/r/usr/lib/f"),
        ("lib/f/x", errno.ENOTDIR, "/r/usr/lib/f"),
        ("file-slash", errno.ENOTDIR, "/r/usr/lib/f"),
        ("loop", errno.ELOOP, "/r/loop"),
        ("loop/x", errno.ELOOP, "/r/loop"),
        ("n" * 255, errno.ENOENT, "/r/" + "n" * 255),
        ("n" * 256, errno.ENAMETOOLONG, "/r/" + "n" * 256),
        ("long", errno.ENAMETOOLONG, "/r/" + "n" * 256),
        ("none/" + "n" * 256, errno.ENOENT, "/r/none"),
        ("./" * 2047 + "n", errno.ENOENT, "/r/n"),
        ("./" * 2048, errno.ENAMETOOLONG, "/r/" + "./" * 2048),
    ],
)
def test_errors(tree: TreeFileSystem, unsafe_path: str, number: int, filename: str) -> None:
    """An error has the errno of Linux and the path that was reached."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
        tree.resolve(R, unsafe_path)
    assert (caught.value.errno, caught.value.filename) == (number, filename)


def test_forty_links() -> None:
    """Forty links are followed and the next one is ``ELOOP``; a new walk counts anew."""
    links = [f"link /l{index} l{index + 1}" for index in range(41)]
    tree = TreeFileSystem([*links, "dir /l41"])
    assert tree.resolve(ContainerPath("/"), "l1") == ContainerPath("/l41")
    assert tree.resolve(ContainerPath("/l1"), "/") == ContainerPath("/l1")
    with pytest.raises(OSError, match="symbolic links") as caught:
        tree.resolve(ContainerPath("/"), "l0")
    assert caught.value.errno == errno.ELOOP


def test_the_root_is_looked_up_as_by_any_process(tree: TreeFileSystem) -> None:
    """Links on the way to the root are followed from the real root, and it is a directory."""
    assert tree.resolve(ContainerPath("/alias"), "lib/..") == ContainerPath("/alias/usr")
    with pytest.raises(NotADirectoryError):
        tree.resolve(ContainerPath("/outside/secret"), "")


@pytest.mark.parametrize(
    ("unsafe_path", "target"), [("lib", "usr/lib"), ("usr/up", ".."), ("chain", "absolute")]
)
def test_a_link_itself_can_be_read(tree: TreeFileSystem, unsafe_path: str, target: str) -> None:
    """The last component is not followed when the link itself is asked for."""
    assert tree.read_link(R, unsafe_path) == target


@pytest.mark.parametrize(
    ("unsafe_path", "number"),
    [("lib/", errno.EINVAL), ("file-slash/", errno.ENOTDIR), ("usr/up/dangling/x", errno.ENOENT)],
)
def test_a_slash_follows_the_link_before_it(
    tree: TreeFileSystem, unsafe_path: str, number: int
) -> None:
    """A slash at the end demands a directory, so that what is read is no longer a link."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
        tree.read_link(R, unsafe_path)
    assert caught.value.errno == number
