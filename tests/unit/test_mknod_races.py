"""Making device nodes while another process changes the same names."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest

from devroot import NodeError
from devroot._mknod import apply, mknod, plan, remove
from devroot._mknod._places import ATTEMPTS
from devroot.testing import TreeFileSystem
from tests._nodes import DEV, dev_root_of, failure, files_of, listing, node, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot import ContainerPath, DevRoot, Directory, FileSystem
    from devroot._mknod import OnConflict
    from devroot.testing import Operation

SPECS = {
    "node": "char nvidia0 195:0 0666",
    "mode": "char nvidia0 195:0 0600",
    "number": "char nvidia0 195:9 0666",
    "fifo": "fifo nvidia0",
    "directory": "dir nvidia0",
}


def _meanwhile(
    dev_root: DevRoot, name: str, act: Callable[[], object], *, to: bool = False, times: int = 1
) -> None:
    """Let another process act just before an operation on ``nvidia0``, so many times."""
    left = [times]

    def meet(each: Operation) -> None:
        about = each.to if to else each.path
        if each.name == name and about == f"{DEV}/nvidia0" and left[0]:
            left[0] -= 1
            act()

    files_of(dev_root).before(meet)


def _put(dev_root: DevRoot, spec: str) -> Callable[[], None]:
    """Return what puts *spec* in the place of whatever is there."""
    files = files_of(dev_root)
    word, name, *rest = spec.split(" ")

    def put() -> None:
        if any(f" {DEV}/{name} " in f"{line} " for line in files.listing()):
            files.remove(f"{DEV}/{name}")
        files.add(" ".join([word, f"{DEV}/{name}", *rest]))

    return put


def _take(dev_root: DevRoot) -> Callable[[], None]:
    """Return what removes whatever is there."""
    return lambda: files_of(dev_root).remove(f"{DEV}/nvidia0")


@pytest.mark.parametrize(
    ("theirs", "on_conflict", "result", "left"),
    [
        ("node", "repair", "unchanged", "node"),
        ("mode", "repair", "repaired", "node"),
        ("number", "repair", "repaired", "node"),
        ("fifo", "repair", "repaired", "node"),
        ("directory", "repair", "failed", "directory"),
        ("node", "keep", "unchanged", "node"),
        ("mode", "keep", "kept", "mode"),
        ("fifo", "keep", "kept", "fifo"),
        ("directory", "keep", "failed", "directory"),
        ("node", "error", "unchanged", "node"),
        ("mode", "error", "failed", "mode"),
        ("fifo", "error", "failed", "fifo"),
    ],
)
def test_somebody_makes_the_name_first(
    theirs: str, on_conflict: OnConflict, result: str, left: str
) -> None:
    """What appears at the name just before the node does is treated as if it had been there."""
    dev_root = dev_root_of()
    _meanwhile(dev_root, "link", _put(dev_root, SPECS[theirs]), to=True)

    try:
        report = mknod(dev_root, [node()], on_conflict=on_conflict)
    except NodeError as error:
        report = error.report

    assert results(report) == [result]
    assert listing(dev_root)[0].startswith(SPECS[left])
    assert len(listing(dev_root)) == 1


@pytest.mark.parametrize("operation", ["lstat", "rename"])
@pytest.mark.parametrize("theirs", ["node", "mode", "number", "directory"])
def test_somebody_changes_what_is_to_be_replaced(operation: str, theirs: str) -> None:
    """What is to be replaced is looked at again; a directory is refused by the kernel even then."""
    dev_root = dev_root_of("fifo nvidia0")
    files = files_of(dev_root)
    looked: list[Operation] = []

    def meet(each: Operation) -> None:
        last_look = each.name == "lstat" and each.path == f"{DEV}/nvidia0"
        looked.extend([each] if last_look else [])
        # Looks one and two are the plan's; the third comes just before the replacement.
        due = len(looked) == 3 if operation == "lstat" else each.name == "rename"
        if due and f"fifo {DEV}/nvidia0 0644" in files.listing():
            _put(dev_root, SPECS[theirs])()

    files.before(meet)

    if theirs == "directory":
        assert failure(lambda: mknod(dev_root, [node()])).errno == errno.EISDIR
        assert listing(dev_root) == ["dir nvidia0 0755"]
    else:
        expected = "unchanged" if (operation, theirs) == ("lstat", "node") else "repaired"
        assert results(mknod(dev_root, [node()])) == [expected]
        assert listing(dev_root) == ["char nvidia0 195:0 0666"]


@pytest.mark.parametrize("theirs", ["node", "number", "fifo", "directory"])
def test_somebody_swaps_what_is_to_be_mended(theirs: str) -> None:
    """A mode is never set on another file than the one that was looked at."""
    dev_root = dev_root_of("char nvidia0 195:0 0600")
    _meanwhile(dev_root, "mend", _put(dev_root, SPECS[theirs]))

    if theirs == "directory":
        assert failure(lambda: mknod(dev_root, [node()])).errno == errno.EISDIR
    else:
        expected = "unchanged" if theirs == "node" else "repaired"
        assert results(mknod(dev_root, [node()])) == [expected]
        assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_somebody_swaps_what_is_to_be_mended_before_the_last_look() -> None:
    """Nor is it set on a node of another number that is there by then: that is replaced."""
    dev_root = dev_root_of("char nvidia0 195:0 0600")
    looks: list[Operation] = []

    def meet(each: Operation) -> None:
        if each.name == "lstat" and each.path == f"{DEV}/nvidia0":
            looks.append(each)
            if len(looks) == 3:  # the first two are the plan's
                _put(dev_root, "char nvidia0 195:9 0600")()

    files_of(dev_root).before(meet)

    assert results(mknod(dev_root, [node()])) == ["repaired"]
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


@pytest.mark.parametrize("operation", ["mend", "lstat"])
@pytest.mark.parametrize("there", ["char nvidia0 195:0 0600", "fifo nvidia0"])
def test_somebody_takes_what_is_to_be_repaired(operation: str, there: str) -> None:
    """What vanishes before it is repaired is made anew."""
    dev_root = dev_root_of(there)
    seen: list[Operation] = []

    def meet(each: Operation) -> None:
        if each.name == operation and each.path == f"{DEV}/nvidia0":
            seen.append(each)
            if len(seen) == (1 if operation == "mend" else 3):
                files_of(dev_root).remove(f"{DEV}/nvidia0")

    files_of(dev_root).before(meet)
    report = mknod(dev_root, [node()])

    assert results(report) == ["repaired" if (operation, there[0]) == ("mend", "f") else "created"]
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_somebody_takes_a_node_again_and_again() -> None:
    """A name that comes and goes a few times is made in the end."""
    dev_root = dev_root_of()
    put, take = _put(dev_root, SPECS["fifo"]), _take(dev_root)
    _meanwhile(dev_root, "link", put, to=True, times=5)
    _meanwhile(dev_root, "lstat", take, times=5)

    assert results(mknod(dev_root, [node()])) == ["created"]


def test_a_name_that_never_stays_fails_in_the_end() -> None:
    """Whoever keeps changing the name cannot keep the run busy for ever."""
    dev_root = dev_root_of()
    put, take = _put(dev_root, SPECS["fifo"]), _take(dev_root)
    _meanwhile(dev_root, "link", put, to=True, times=9 * ATTEMPTS)
    _meanwhile(dev_root, "lstat", take, times=9 * ATTEMPTS)

    error = failure(lambda: mknod(dev_root, [node(), node("nvidia1", minor=1)]))

    assert (error.errno, error.filename) == (errno.EAGAIN, f"{DEV}/nvidia0")
    assert error.reason.startswith("cannot come to an end: other processes keep changing this")
    assert str(error.__cause__) == (
        f"[Errno {errno.EAGAIN}] {os.strerror(errno.EAGAIN)}: '{DEV}/nvidia0'"
    )
    assert results(error.report) == ["failed", "created"]


@pytest.mark.parametrize("theirs", ["dir nvidia-caps 0700", "dir nvidia-caps 0755"])
def test_somebody_makes_the_directory_first(theirs: str) -> None:
    """A directory that another process made is used, and its mode left alone."""
    dev_root = dev_root_of()
    files = files_of(dev_root)
    files.before(
        lambda each: (
            files.add(theirs.replace("nvidia-caps", f"{DEV}/nvidia-caps"))
            if each.name == "rename"
            else None
        )
    )

    report = mknod(dev_root, [node("nvidia-caps/one", 240, 1)])

    assert results(report) == ["created"]
    assert listing(dev_root) == [theirs, "char nvidia-caps/one 240:1 0666"]


def test_somebody_puts_a_link_where_a_directory_is_to_be() -> None:
    """A link that appears in the way is not followed: nothing is made behind it."""
    dev_root = dev_root_of("dir elsewhere")
    files = files_of(dev_root)
    files.before(
        lambda each: (
            files.symlink(f"{DEV}/nvidia-caps", "elsewhere") if each.name == "rename" else None
        )
    )

    error = failure(lambda: mknod(dev_root, [node("nvidia-caps/one", 240, 1)]))

    assert error.errno == errno.ENOTDIR
    assert listing(dev_root) == ["dir elsewhere 0755", "link nvidia-caps elsewhere"]


@pytest.mark.parametrize("path", ["caps/one", "caps/deep/one"])
def test_a_directory_that_never_stays_fails_in_the_end(path: str) -> None:
    """Whoever keeps removing a directory cannot keep the run busy for ever; it is named."""
    dev_root = dev_root_of()
    files = files_of(dev_root)

    def meet(each: Operation) -> None:
        name = f"{DEV}/caps"
        if (each.name, each.path) == ("open_directory", name) and f"dir {name} 0755" in set(
            files.listing()
        ):
            files.remove(name)

    files.before(meet)
    error = failure(lambda: mknod(dev_root, [node(path), node()]))

    assert error.errno == errno.EAGAIN
    assert error.reason.startswith(f"{DEV}/caps: cannot make the directory: other processes keep")
    assert results(error.report) == ["failed", "created"]


class _Remounted:
    """Files in memory until the dev root was opened once, and others from then on."""

    def __init__(self, before: TreeFileSystem, after: TreeFileSystem) -> None:
        self._now, self._then = before, after

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> Directory:
        try:
            return self._now.open_directory(root, unsafe_path)
        finally:
            self._now = self._then

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the files have
        return getattr(self._now, name)


@pytest.mark.parametrize("there", [(), (SPECS["fifo"],)])
def test_another_file_system_than_planned_is_refused(there: tuple[str, ...]) -> None:
    """If a mount comes or goes after the plan, nothing is made in what is there now."""
    dev_root = dev_root_of(*there)
    after = TreeFileSystem([f"dir {DEV}"], device=77)
    remounted = cast("FileSystem", _Remounted(files_of(dev_root), after))
    dev_root = attrs.evolve(dev_root, view=attrs.evolve(dev_root.view, filesystem=remounted))

    error = failure(lambda: apply(plan(dev_root, [node(), node("caps/one", 240, 1)])))

    assert error.errno == errno.ESTALE
    doing = "look at what is there" if there else "make the directory"
    assert error.reason == (
        f"{DEV}: cannot {doing}: another file system is here than when the plan was made: a mount"
        " came or went; make a new view (refresh) and plan again"
    )
    assert results(error.report) == ["failed", "failed"]
    assert not [line for line in after.listing() if line.startswith("char")]


@pytest.mark.parametrize("operation", ["lstat", "unlink"])
@pytest.mark.parametrize("theirs", ["number", "fifo", "directory"])
def test_somebody_changes_what_is_to_be_removed(operation: str, theirs: str) -> None:
    """What was put in the place of the node is left, if it is seen before the last moment."""
    dev_root = dev_root_of(SPECS["node"])
    seen: list[Operation] = []

    def meet(each: Operation) -> None:
        if each.name == operation and each.path == f"{DEV}/nvidia0":
            seen.append(each)
            if len(seen) == (1 if operation == "unlink" else 2):
                _put(dev_root, SPECS[theirs])()

    files_of(dev_root).before(meet)
    report = remove(dev_root, [node()])

    if operation == "unlink" and theirs != "directory":
        assert results(report) == ["removed"]  # the window that the documentation names
    else:
        assert results(report) == ["kept"]
        assert listing(dev_root)[0].startswith(SPECS[theirs])


@pytest.mark.parametrize("operation", ["lstat", "unlink"])
def test_somebody_removes_it_first(operation: str) -> None:
    """A node that another process removes meanwhile is gone, which is what was asked for."""
    dev_root = dev_root_of(SPECS["node"])
    seen: list[Operation] = []

    def meet(each: Operation) -> None:
        if each.name == operation and each.path == f"{DEV}/nvidia0":
            seen.append(each)
            if len(seen) == (1 if operation == "unlink" else 2):
                files_of(dev_root).remove(f"{DEV}/nvidia0")

    files_of(dev_root).before(meet)

    assert results(remove(dev_root, [node()])) == ["unchanged"]
