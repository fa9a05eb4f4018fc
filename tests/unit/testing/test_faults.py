"""Operations that fail, and somebody else who acts between two of them."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from devroot import errors
from devroot._filesystem import Directory, FileSystem, FileType
from devroot._paths import ContainerPath
from devroot.testing import TreeFileSystem
from devroot.testing._faults import OPERATIONS

if TYPE_CHECKING:
    from devroot.testing import Operation

ROOT = ContainerPath("/")


def test_the_operations_are_the_methods() -> None:
    """Every method of the two protocols can be watched and made to fail."""
    methods = {
        name
        for protocol in (Directory, FileSystem)
        for name in vars(protocol)
        if not name.startswith("_")
    }
    assert methods - {"close", "path"} == {name for name in OPERATIONS if "." not in name}


def test_a_call_fails_once() -> None:
    """The next call fails with the errno and the path, and the one after it works."""
    tree = TreeFileSystem(["dir /a"])
    tree.fail("status", errno.EACCES)
    with pytest.raises(PermissionError) as caught:
        tree.status(ROOT, "a")
    assert caught.value.filename == "/a"
    assert tree.status(ROOT, "a").is_directory


def test_the_nth_call_at_a_path_fails() -> None:
    """Only calls for the path count, and as many in a row fail as were asked for."""
    tree = TreeFileSystem(["file /d/a", "file /d/b"])
    tree.fail("lstat", errno.EIO, path="/d/a", nth=2, times=2)
    results: list[str] = []
    with tree.open_directory(ROOT, "d") as handle:
        for name in "abaabaa":
            try:
                handle.lstat(name)
            except OSError:
                results.append(f"{name} fails")
            else:
                results.append(name)
    assert results == ["a", "b", "a fails", "a fails", "b", "a", "a"]


def test_any_exception_can_be_raised() -> None:
    """A process can die at any step."""
    tree = TreeFileSystem()
    tree.fail("make_node.mode", KeyboardInterrupt())
    handle = tree.open_directory(ROOT, "")
    with pytest.raises(KeyboardInterrupt):
        handle.make_node("n", type=FileType.CHARACTER, major=1, minor=3, mode=0o666, uid=1)
    assert tree.listing() == ["char /n 1:3 0000 1:0"]


def test_the_first_fault_wins() -> None:
    """Of two faults that are due at one call the first is raised; both count the call."""
    tree = TreeFileSystem()
    tree.fail("names", errno.EIO)
    tree.fail("names", errno.EACCES, times=2)
    handle = tree.open_directory(ROOT, "")
    numbers: list[int | None] = []
    for _ in range(2):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
            handle.names()
        numbers.append(caught.value.errno)
    assert numbers == [errno.EIO, errno.EACCES]


def test_a_hook_sees_every_operation() -> None:
    """Operations come by name, with the paths as they were asked for, and in order."""
    tree = TreeFileSystem(["dir /r/d", "dir /r/x", "link /r/l d"])
    seen: list[Operation] = []
    tree.before(seen.append)
    tree.status(ContainerPath("/r"), "//x/.././l/")
    with tree.open_directory(ContainerPath("/r"), "l") as handle:
        handle.make_directory("n", mode=0o755)
        handle.mend("n", expected=handle.lstat("n"), mode=0o700, uid=1)
        handle.rename("n", handle, "m", replace=True)
        handle.names()
    assert [f"{step.name} {step.path} {step.to or ''}".rstrip() for step in seen] == [
        "status /r/x/../l",
        "open_directory /r/l",
        "make_directory /r/d/n",
        "make_directory.owner /r/d/n",
        "make_directory.mode /r/d/n",
        "lstat /r/d/n",
        "mend /r/d/n",
        "mend.owner /r/d/n",
        "mend.mode /r/d/n",
        "rename /r/d/n /r/d/m",
        "names /r/d",
    ]


def test_a_hook_can_play_the_attacker() -> None:
    """A hook changes the tree between two steps, and the next step sees it."""
    tree = TreeFileSystem(["dir /d", "file /victim 0600"])

    def swap(step: Operation) -> None:
        if step.name == "make_node.mode":
            tree.remove("/d/n")
            tree.symlink("/d/n", "/victim")

    tree.before(swap)
    with tree.open_directory(ROOT, "d") as handle:
        handle.make_node("n", type=FileType.CHARACTER, major=1, minor=3, mode=0o666)
    assert tree.listing() == ["dir /d 0755", "link /d/n /victim", "file /victim 0600"]


@pytest.mark.parametrize(
    ("operation", "nth", "times", "reason"),
    [
        ("mknod", 1, 1, "no such operation; there are link, lstat, make_directory, "),
        ("names", 0, 1, "nth and times are counted from 1"),
        ("names", 1, 0, "nth and times are counted from 1"),
    ],
)
def test_a_fault_that_never_comes_is_refused(
    operation: str, nth: int, times: int, reason: str
) -> None:
    """A slip in a fault is an error, for it would make a test that tests nothing."""
    with pytest.raises(errors.InvalidSceneError, match=reason):
        TreeFileSystem().fail(operation, errno.EIO, nth=nth, times=times)
