"""Operations that fail, and somebody else who acts between two of them."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import pytest

from devroot import errors
from devroot._filesystem import Directory, FileSystem, FileType
from devroot._paths import ContainerPath
from devroot.testing import ProcessKilled, TreeFileSystem
from devroot.testing._faults import OPERATIONS
from tests._pages import Page

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


def test_the_page_has_the_operations() -> None:
    """The reference names every operation, and no other."""
    _, _, rest = Page("docs/reference/testing.md").text.partition("\n## Faults and hooks\n")
    rows = re.findall(r"^\| (`.+?) \|", rest.partition("\n## ")[0], re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w.]+)`", row)} == OPERATIONS


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


@pytest.mark.parametrize("step", ["make_node.owner", "make_node.mode"])
@pytest.mark.parametrize("error", [errno.EPERM, KeyboardInterrupt()])
def test_what_cannot_be_completed_goes_again(step: str, error: int | BaseException) -> None:
    """A node that fails half way is taken away, whatever the reason."""
    tree = TreeFileSystem()
    tree.fail(step, error)
    handle = tree.open_directory(ROOT, "")
    with pytest.raises((PermissionError, KeyboardInterrupt)):
        handle.make_node("n", type=FileType.CHARACTER, major=1, minor=3, mode=0o666, uid=1)
    assert tree.listing() == []


def test_what_was_swapped_in_meanwhile_stays() -> None:
    """Only what was made is taken away, and not what somebody put in its place."""
    tree = TreeFileSystem()

    def swap(step: Operation) -> None:
        if step.name == "make_directory.mode":
            tree.remove("/n")
            tree.file("/n")

    tree.before(swap)
    tree.fail("make_directory.mode", errno.EPERM)
    with pytest.raises(PermissionError):
        tree.open_directory(ROOT, "").make_directory("n", mode=0o755)
    assert tree.listing() == ["file /n 0644"]


def test_a_killed_process_does_nothing_any_more() -> None:
    """After SIGKILL everything stays as it is, until a new process starts with its own handles."""
    tree = TreeFileSystem()
    tree.fail("make_node.mode", ProcessKilled())
    handle = tree.open_directory(ROOT, "")
    assert handle.try_lock()
    with pytest.raises(ProcessKilled):
        handle.make_node("n", type=FileType.CHARACTER, major=1, minor=3, mode=0o666, uid=1)
    for action in (lambda: handle.unlink("n"), lambda: tree.status(ROOT, "")):
        with pytest.raises(ProcessKilled):
            action()
    assert tree.listing() == ["char /n 1:3 0644 1:0"]
    tree.restart()
    with pytest.raises(OSError, match="descriptor") as caught:
        handle.names()
    assert caught.value.errno == errno.EBADF
    fresh = tree.open_directory(ROOT, "")
    assert fresh.try_lock()
    handle.close()
    with tree.open_directory(ROOT, "") as other:
        assert not other.try_lock()


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


def test_what_was_asked_for_stays_after_a_restart() -> None:
    """A fault that has not come yet comes in the new process, which the hooks see as well."""
    tree = TreeFileSystem()
    seen: list[Operation] = []
    tree.before(seen.append)
    tree.fail("status", errno.EIO, nth=2)
    tree.status(ROOT, "")
    tree.restart()
    with pytest.raises(OSError, match="Input/output"):
        tree.status(ROOT, "")
    assert [step.name for step in seen] == ["status", "status"]


def test_hooks_add_up_and_come_first() -> None:
    """They are called in their order; what one of them stops, no fault has counted."""
    tree = TreeFileSystem()
    seen: list[str] = []

    def stop(_: Operation) -> None:
        seen.append("second")
        if len(seen) == 2:
            raise FileNotFoundError

    tree.before(lambda _: seen.append("first"))
    tree.before(stop)
    tree.fail("status", errno.EACCES)
    with pytest.raises(FileNotFoundError):
        tree.status(ROOT, "")
    with pytest.raises(PermissionError):
        tree.status(ROOT, "")
    assert seen == ["first", "second"] * 2


def test_a_hook_kills_the_process() -> None:
    """What a hook raises may be the end of the process, which no handler of errors catches."""
    tree = TreeFileSystem()
    seen: list[Operation] = []

    def kill(operation: Operation) -> None:
        seen.append(operation)
        raise ProcessKilled

    tree.before(kill)
    for _ in range(2):
        with pytest.raises(ProcessKilled):
            tree.status(ROOT, "")
    assert len(seen) == 1
    assert not issubclass(ProcessKilled, Exception)


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
