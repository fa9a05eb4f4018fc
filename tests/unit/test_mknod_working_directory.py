"""The directories in which nodes are completed: who may remove which, and when."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from devroot._mknod import apply, mknod, plan
from devroot._mknod._places import ATTEMPTS, Place, leftovers
from tests._nodes import (
    DEV,
    dev_root_of,
    failure,
    files_of,
    listing,
    node,
    operations,
    results,
)

if TYPE_CHECKING:
    from devroot import DevRoot, Directory
    from devroot.testing import Operation

NAME = ".devroot-0123456789abcdef"
RIGHT = "char nvidia0 195:0 0666"


def _dev(dev_root: DevRoot) -> Directory:
    return files_of(dev_root).open_directory(dev_root.container, "/dev")


def test_the_names_of_working_directories() -> None:
    """Only the exact form of a name counts."""
    names = [NAME, ".devroot-", f"{NAME}0", ".devroot-0123456789ABCDEF", f"x{NAME}", "nvidia0"]

    assert leftovers(names) == (NAME,)


def test_one_in_which_somebody_works_is_left() -> None:
    """A working directory that is locked belongs to a run that lives."""
    dev_root = dev_root_of(f"dir {NAME} 0700", f"char {NAME}/0 1:3")
    with _dev(dev_root).open_directory(NAME) as theirs:
        assert theirs.try_lock()
        mknod(dev_root, [node()])
        assert listing(dev_root) == [f"dir {NAME} 0700", f"char {NAME}/0 1:3 0666", RIGHT]

    mknod(dev_root, [node()])
    assert listing(dev_root) == [RIGHT]


@pytest.mark.parametrize(
    "theirs",
    [f"file {NAME} 0600", f"link {NAME} nvidia0", f"dir {NAME} 0750", f"dir {NAME} 0700 1:0"],
)
def test_one_that_is_not_ours_is_left(theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a link, or a directory with another mode or owner only has the name."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    dev_root = dev_root_of(theirs)
    before = listing(dev_root)

    report = mknod(dev_root, [node()])

    assert listing(dev_root) == [*before, RIGHT]
    assert report.leftovers == ()


def test_one_of_the_same_user_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed before it gave the directory its owner is cleaned up as well."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    dev_root = dev_root_of(f"dir {NAME} 0300 1000:1000")

    mknod(dev_root, [node()])

    assert listing(dev_root) == [RIGHT]


@pytest.mark.parametrize("operation", ["lstat", "open_directory", "try_lock", "names"])
def test_somebody_else_cleans_up_first(operation: str) -> None:
    """Two runs that clean up the same leftover at once both go on."""
    dev_root = dev_root_of(f"dir {NAME} 0700")
    files = files_of(dev_root)

    def meet(each: Operation) -> None:
        if each.name == operation and each.path.endswith(NAME) and len(files.listing()) > 3:
            files.remove(f"{DEV}/{NAME}")

    files.before(meet)
    report = mknod(dev_root, [node()])

    assert (results(report), report.leftovers) == (["created"], ())
    assert listing(dev_root) == [RIGHT]


def test_a_name_that_was_taken_over_is_left() -> None:
    """What is removed is the directory that was locked, not another that got its name."""
    dev_root = dev_root_of(f"dir {NAME} 0700")
    files = files_of(dev_root)

    def meet(each: Operation) -> None:
        if each.name == "try_lock" and each.path.endswith(NAME):
            files.move(f"{DEV}/{NAME}", f"{DEV}/moved")
            files.directory(f"{DEV}/{NAME}", mode=0o700)

    files.before(meet)
    mknod(dev_root, [node()])

    assert listing(dev_root) == [f"dir {NAME} 0700", "dir moved 0700", RIGHT]


@pytest.mark.parametrize("operation", ["lstat", "open_directory", "unlink", "remove_directory"])
def test_a_leftover_that_cannot_be_removed_is_reported(operation: str) -> None:
    """Somebody's leftover that stays is no failure of this run, but it is told."""
    dev_root = dev_root_of(f"dir {NAME} 0700", f"fifo {NAME}/0", RIGHT)
    path = f"{DEV}/{NAME}/0" if operation == "unlink" else f"{DEV}/{NAME}"
    files_of(dev_root).fail(operation, errno.EACCES, path=path)

    report = mknod(dev_root, [node()])

    assert results(report) == ["unchanged"]
    assert report.leftovers == (f"{path}: {os.strerror(errno.EACCES)}",)
    assert str(report).splitlines()[-1] == f"left behind: {report.leftovers[0]}"
    assert report.to_dict()["leftovers"] == list(report.leftovers)


def test_leftovers_that_cannot_be_reached_are_reported() -> None:
    """If the dev root vanishes before anything is cleaned up, that is told."""
    dev_root = dev_root_of(f"dir {NAME} 0700", "dir nvidia0")
    planned = plan(dev_root, [node()])
    files_of(dev_root).remove(DEV)

    assert len(failure(lambda: apply(planned)).report.leftovers) == 1


def test_a_directory_is_not_made_anew_to_clean_it_up() -> None:
    """If the directory of a leftover is gone, that is told, and it stays gone."""
    dev_root = dev_root_of(f"dir caps/{NAME} 0700", "char caps/one 240:1")
    planned = plan(dev_root, [node("caps/one", 240, 1)])
    files_of(dev_root).remove(f"{DEV}/caps")

    error = failure(lambda: apply(planned))

    assert error.report.leftovers == (f"{DEV}/caps: {os.strerror(errno.ENOENT)}",)
    assert listing(dev_root) == []


@pytest.mark.parametrize("operation", ["remove_directory", "unlink"])
def test_a_run_that_cannot_clean_up_fails(operation: str) -> None:
    """If this run leaves its own working directory behind, it says so, with all nodes right."""
    dev_root = dev_root_of("fifo nvidia1")
    _deny_in_working_directory(dev_root, operation)

    error = failure(lambda: mknod(dev_root, [node(), node("nvidia1", minor=1)]))

    assert sorted(results(error.report)) == ["created", "repaired"]
    assert (error.errno, error.filename[: len(f"{DEV}/.devroot-")]) == (
        errno.EACCES,
        f"{DEV}/.devroot-",
    )
    assert error.reason == (
        "no node failed, but the working directory could not be removed"
        f" ({os.strerror(errno.EACCES)}); the next run tries again"
    )
    assert len(error.report.leftovers) == 1


def _deny_in_working_directory(dev_root: DevRoot, operation: str) -> None:
    def meet(each: Operation) -> None:
        if each.name == operation and "/.devroot-" in each.path:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), each.path)

    files_of(dev_root).before(meet)


def test_a_failed_node_comes_before_a_failed_clean_up() -> None:
    """With both, the error is about the node, and the report has what was left behind."""
    dev_root = dev_root_of("dir nvidia1")
    _deny_in_working_directory(dev_root, "remove_directory")

    error = failure(lambda: mknod(dev_root, [node(), node("nvidia1", minor=1)]))

    assert error.errno == errno.EISDIR
    assert len(error.report.leftovers) == 1


@pytest.mark.parametrize("operation", ["open_directory", "try_lock", "lstat"])
@pytest.mark.parametrize("how", ["removed", "locked"])
def test_a_cleaner_gets_hold_of_a_new_working_directory(operation: str, how: str) -> None:
    """A working directory that a cleaner takes before it is locked is made anew."""
    dev_root = dev_root_of()
    files = files_of(dev_root)
    held: list[Directory] = []

    def meet(each: Operation) -> None:
        if each.name != operation or "/.devroot-" not in each.path or held:
            return
        name = each.path.rpartition("/")[2]
        cleaner = _dev(dev_root)
        held.append(cleaner)
        if how == "locked":
            held.append(cleaner.open_directory(name))
            held[1].try_lock()
        else:
            cleaner.remove_directory(name)

    files.before(meet)
    report = mknod(dev_root, [node()])

    assert results(report) == ["created"]
    assert RIGHT in listing(dev_root)
    assert len(listing(dev_root)) == 1


def test_a_directory_removed_while_it_is_made() -> None:
    """A working directory that is removed while it gets its owner is made anew."""
    dev_root = dev_root_of()
    files_of(dev_root).fail("make_directory", errno.ENOENT)
    files_of(dev_root).fail("make_directory", errno.EEXIST, nth=2)

    taken = operations(dev_root, lambda: mknod(dev_root, [node()]))

    opened = [each for each in taken if each.name == "open_directory" and ".devroot-" in each.path]
    assert len(opened) == 1
    assert RIGHT in listing(dev_root)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EEXIST])
def test_a_working_directory_that_never_stays_fails_in_the_end(number: int) -> None:
    """If every working directory is taken away, the run ends with an error."""
    dev_root = dev_root_of()
    files_of(dev_root).fail("make_directory", number, times=9 * ATTEMPTS)

    error = failure(lambda: mknod(dev_root, [node()]))

    assert error.errno == errno.EAGAIN
    assert isinstance(error.__cause__, OSError)
    assert error.__cause__.filename.startswith(f"{DEV}/.devroot-")
    assert listing(dev_root) == []


def test_a_name_that_somebody_has_is_not_worked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should two runs ever choose one name, the second one takes another."""
    dev_root = dev_root_of(f"dir {NAME} 0755 5:5")
    chosen = [bytes.fromhex("0123456789abcdef"), bytes.fromhex("00" * 8)]

    def choose(_size: int) -> bytes:
        return chosen.pop(0)

    monkeypatch.setattr(os, "urandom", choose)
    assert results(mknod(dev_root, [node()])) == ["created"]
    assert listing(dev_root) == [f"dir {NAME} 0755 5:5", RIGHT]


def test_a_place_in_a_deleted_directory() -> None:
    """Where the target directory itself was deleted, the error says that it is stale."""
    dev_root = dev_root_of("dir caps")
    place = Place(_dev(dev_root).open_directory("caps"), [])
    files_of(dev_root).remove(f"{DEV}/caps")

    with pytest.raises(FileNotFoundError) as caught:
        place.make_directory("one")

    assert type(caught.value).__name__ == "DirectoryDeletedError"
    assert str(caught.value) == f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}: '{DEV}/caps'"
    place.close()


def test_a_failure_in_one_directory_leaves_the_others() -> None:
    """A working directory that cannot be removed does not keep others from being closed."""
    dev_root = dev_root_of("dir a", "dir b")
    files_of(dev_root).fail("remove_directory", errno.EBUSY)

    error = failure(lambda: mknod(dev_root, [node("a/one"), node("b/two"), node("three")]))

    assert results(error.report) == ["created"] * 3
    assert len(error.report.leftovers) == 1
    assert len([line for line in listing(dev_root) if ".devroot-" in line]) == 1


def test_a_cleaner_takes_a_new_directory_for_a_leftover() -> None:
    """A new directory that somebody removes before it has its name is made again."""
    dev_root = dev_root_of()
    files = files_of(dev_root)
    taken: list[str] = []

    def meet(each: Operation) -> None:
        if each.name == "rename" and not taken:
            taken.append(each.path)
            files.remove(each.path)

    files.before(meet)

    assert results(mknod(dev_root, [node("caps/one", 240, 1)])) == ["created"]
    assert listing(dev_root) == ["dir caps 0755", "char caps/one 240:1 0666"]


@pytest.mark.parametrize("number", [errno.EEXIST, errno.ENOSPC])
def test_a_new_directory_that_cannot_be_discarded_is_reported(number: int) -> None:
    """A new directory that gets no name and cannot be removed is told as left behind."""
    dev_root = dev_root_of()
    files_of(dev_root).fail("rename", number)
    files_of(dev_root).fail("remove_directory", errno.EACCES)

    error = failure(lambda: mknod(dev_root, [node("caps/one", 240, 1)]))

    assert len(error.report.leftovers) == 1
    assert error.errno == (errno.ENOSPC if number == errno.ENOSPC else errno.EACCES)
    assert results(mknod(dev_root, [node("caps/one", 240, 1)]))[0] in {"created", "unchanged"}
    assert listing(dev_root) == ["dir caps 0755", "char caps/one 240:1 0666"]
