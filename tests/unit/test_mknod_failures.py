"""Making device nodes when the kernel says no: all are reported, and the text says what to do."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from devroot._mknod import apply, mknod, plan, remove
from devroot._mknod._advice import Doing, advice
from tests._nodes import DEV, channels, dev_root_of, failure, files_of, listing, node, results

if TYPE_CHECKING:
    from devroot import DevRoot
    from devroot.testing import Operation

NODES = [node(f"nvidia{n}", 195, n) for n in range(4)]
OWNED = [node(f"nvidia{n}", 195, n, gid=44) for n in range(4)]
WHAT_TO_CHANGE = {
    errno.EPERM: "CAP_",
    errno.EACCES: "security policy",
    errno.EROFS: "mount it read-write",
    errno.ENOSPC: "df -i",
    errno.EDQUOT: "quota",
    errno.EXDEV: "two mounts",
    errno.EBUSY: "mounted at this name",
    errno.ENAMETOOLONG: "255 bytes",
    errno.ENOENT: "a mount was taken away",
    errno.EMFILE: "files open",
    errno.EIO: "Input/output error",
}


@pytest.fixture(params=WHAT_TO_CHANGE, ids=lambda each: errno.errorcode[each])
def number(request: pytest.FixtureRequest) -> int:
    """Each errno for which there is a text, and one for which there is none."""
    value: int = request.param
    return value


@pytest.fixture(
    params=[each for each in WHAT_TO_CHANGE if each != errno.ENOENT],
    ids=lambda each: errno.errorcode[each],
)
def lasting(request: pytest.FixtureRequest) -> int:
    """The same without ENOENT, where that means that another process was faster."""
    value: int = request.param
    return value


def _raise_at(dev_root: DevRoot, name: str, number: int, *, to: str = "", path: str = "") -> None:
    """Let an operation fail whenever it is about *path* or *to*."""

    def meet(operation: Operation) -> None:
        if operation.name == name and (operation.to or "") == to and path in {"", operation.path}:
            raise OSError(number, os.strerror(number), operation.path)

    files_of(dev_root).before(meet)


@pytest.mark.parametrize("operation", ["make_node", "make_node.owner", "make_node.mode"])
def test_a_node_that_cannot_be_made(operation: str, number: int) -> None:
    """One node that cannot be made stops no other, and the error says what to change."""
    dev_root = dev_root_of()
    for attempt in (2, 5):  # the quick way, and the one that looks closely
        files_of(dev_root).fail(operation, number, nth=attempt)

    error = failure(lambda: mknod(dev_root, OWNED))

    assert results(error.report) == ["created", "failed", "created", "created"]
    assert (error.errno, error.filename) == (number, f"{DEV}/nvidia1")
    assert error.reason.startswith("cannot make the device node: ")
    assert (number == errno.EPERM) == ("'c 195:1'" in error.reason)
    assert WHAT_TO_CHANGE[number] in error.reason
    assert error.report.outcomes[1].reason == error.reason
    assert isinstance(error.__cause__, OSError)
    assert listing(dev_root) == [f"char nvidia{n} 195:{n} 0666 0:44" for n in (0, 2, 3)]


def test_what_fails_once_is_tried_again() -> None:
    """What only the quick way could not do is done, and nobody hears of it."""
    dev_root = dev_root_of()
    files_of(dev_root).fail("make_node", errno.ENOSPC, nth=2)

    assert results(mknod(dev_root, NODES)) == ["created"] * 4


def test_a_node_that_cannot_be_published(number: int) -> None:
    """A node that is complete but cannot get its name is not left behind."""
    dev_root = dev_root_of()
    _raise_at(dev_root, "link", number, to=f"{DEV}/nvidia2")

    error = failure(lambda: mknod(dev_root, NODES))

    assert results(error.report) == ["created", "created", "failed", "created"]
    assert (error.errno, error.filename) == (number, f"{DEV}/nvidia2")
    assert error.reason.startswith("cannot put it at its name: ")
    assert WHAT_TO_CHANGE[number] in error.reason
    assert listing(dev_root) == [f"char nvidia{n} 195:{n} 0666" for n in (0, 1, 3)]


def test_a_node_that_cannot_be_replaced(number: int) -> None:
    """What cannot be replaced stays as it was."""
    dev_root = dev_root_of("fifo nvidia2")
    _raise_at(dev_root, "rename", number, to=f"{DEV}/nvidia2")

    error = failure(lambda: mknod(dev_root, NODES))

    assert results(error.report) == ["created", "created", "failed", "created"]
    assert WHAT_TO_CHANGE[number] in error.reason
    assert "fifo nvidia2 0644" in listing(dev_root)
    assert len(listing(dev_root)) == 4


@pytest.mark.parametrize("step", ["mend", "mend.owner", "mend.mode"])
def test_a_node_that_cannot_be_mended(step: str, lasting: int) -> None:
    """A mode or owner that cannot be set fails for that node alone, with another text."""
    dev_root = dev_root_of("char nvidia2 195:2 0600 1:1")
    files_of(dev_root).fail(step, lasting, times=99)

    error = failure(lambda: mknod(dev_root, NODES))

    assert results(error.report) == ["created", "created", "failed", "created"]
    assert error.reason.startswith("cannot mend mode or owner: ")
    assert WHAT_TO_CHANGE[lasting] in error.reason
    assert listing(dev_root)[2].split(" ")[3] in {"0600", "0666"}


@pytest.mark.parametrize("operation", ["make_directory", "open_directory", "try_lock"])
def test_without_a_working_directory_nothing_is_made(operation: str, lasting: int) -> None:
    """Where no working directory can be made, each node that needs it fails with the cause."""
    dev_root = dev_root_of("char nvidia3 195:3 0600")

    def meet(each: Operation) -> None:
        if each.name == operation and "/.devroot-" in each.path:
            raise OSError(lasting, os.strerror(lasting), each.path)

    files_of(dev_root).before(meet)
    error = failure(lambda: mknod(dev_root, NODES))

    assert results(error.report) == ["failed", "failed", "failed", "repaired"]
    assert error.errno == lasting
    assert listing(dev_root) == ["char nvidia3 195:3 0666"]


@pytest.mark.parametrize("refused", [errno.EROFS, errno.EIO])
def test_a_working_directory_is_asked_for_once(refused: int) -> None:
    """Ten thousand nodes do not try ten thousand times to make the same working directory."""
    dev_root = dev_root_of()
    asked: list[str] = []

    def meet(each: Operation) -> None:
        if each.name == "make_directory":
            asked.append(each.path)
            raise OSError(refused, os.strerror(refused), each.path)

    files_of(dev_root).before(meet)
    error = failure(lambda: mknod(dev_root, NODES))

    assert len(asked) == 1
    assert len({outcome.reason for outcome in error.report.outcomes}) == 1
    assert error.reason.startswith("cannot make a working directory beside it: ")


@pytest.mark.parametrize("operation", ["make_directory.mode", "rename"])
def test_a_directory_that_cannot_be_made(operation: str, lasting: int) -> None:
    """A directory that cannot be made fails all its nodes, and no others."""
    dev_root = dev_root_of()
    files_of(dev_root).fail(operation, lasting, times=9)

    error = failure(lambda: mknod(dev_root, [*channels(2), node(), node("b/c", minor=1)]))

    assert results(error.report) == ["failed", "failed", "created", "failed"]
    assert (error.errno, error.filename) == (lasting, f"{DEV}/nvidia-caps-imex-channels/channel0")
    assert "cannot make the directory: " in error.reason
    assert WHAT_TO_CHANGE[lasting] in error.reason
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_a_name_that_is_too_long() -> None:
    """A name of more than 255 bytes fails with the limit, as a directory or as a node."""
    dev_root = dev_root_of()
    nodes = [node("n" * 256), node("d" * 256 + "/nvidia0"), node("é" * 128), node("n" * 255)]

    error = failure(lambda: mknod(dev_root, nodes))

    assert results(error.report) == ["failed", "failed", "failed", "created"]
    assert {outcome.errno for outcome in error.report.outcomes} == {errno.ENAMETOOLONG, 0}
    assert "255 bytes" in error.reason


def test_a_dev_root_that_vanishes_after_the_plan() -> None:
    """A dev root that is gone when a plan is carried out fails all that had to be looked at."""
    dev_root = dev_root_of("char nvidia0 195:0 0666", "dir nvidia3")
    planned = plan(dev_root, NODES)
    files_of(dev_root).remove(DEV)

    error = failure(lambda: apply(planned))

    assert results(error.report) == ["failed"] * 4
    assert error.reason.startswith(f"{DEV}: cannot make the directory: it vanished meanwhile")
    assert error.report.outcomes[3].errno == errno.EISDIR


def test_a_directory_that_vanishes_after_the_plan() -> None:
    """A repair in a directory that is gone does not make the directory anew."""
    dev_root = dev_root_of("char caps/one 1:1 0600")
    planned = plan(dev_root, [node("caps/one", 1, 1)])
    files_of(dev_root).remove(f"{DEV}/caps")

    error = failure(lambda: apply(planned))

    assert error.errno == errno.ENOENT
    assert error.reason.startswith(f"{DEV}/caps: cannot look at what is there: it vanished")
    assert listing(dev_root) == []


def test_a_node_that_cannot_be_looked_at_again() -> None:
    """A name that cannot be looked at when an old plan is carried out is told as such."""
    dev_root = dev_root_of("char nvidia0 195:0 0600")
    planned = plan(dev_root, [node()])
    files_of(dev_root).fail("lstat", errno.EACCES, path=f"{DEV}/nvidia0")

    error = failure(lambda: apply(planned))

    assert error.errno == errno.EACCES
    assert error.reason.startswith("cannot look at what is there: permission is denied")


def test_what_cannot_be_cleaned_up_is_in_the_way_of_no_other_node() -> None:
    """A complete node that gets no name and cannot be removed leaves room for the next one."""
    dev_root = dev_root_of("fifo nvidia0", "fifo nvidia1")
    _raise_at(dev_root, "rename", errno.EBUSY, to=f"{DEV}/nvidia0")

    def meet(each: Operation) -> None:
        if each.name == "unlink" and "/.devroot-" in each.path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), each.path)

    files_of(dev_root).before(meet)
    error = failure(lambda: mknod(dev_root, NODES[:2]))

    assert results(error.report) == ["failed", "repaired"]
    assert error.report.failed == (NODES[0],)
    assert error.report.repaired == (NODES[1],)
    assert error.report.summary() == "1 repaired, 1 failed"
    assert error.errno == errno.EBUSY


def test_a_directory_deleted_under_the_run_is_stale() -> None:
    """A mounted directory that the host deletes during the run is told as stale."""
    dev_root = dev_root_of("dir caps")
    files_of(dev_root).before(
        lambda each: files_of(dev_root).remove(f"{DEV}/caps") if each.name == "link" else None
    )

    error = failure(lambda: mknod(dev_root, [node("caps/one", 1, 1)]))

    assert error.errno == errno.ENOENT
    assert "stale" in error.reason
    assert "restart the pod" in error.reason


def test_a_node_that_cannot_be_removed(lasting: int) -> None:
    """A node that cannot be removed is reported, and the others are removed."""
    dev_root = dev_root_of(*(f"char nvidia{n} 195:{n}" for n in range(4)))
    files_of(dev_root).fail("unlink", lasting, path=f"{DEV}/nvidia1", times=9)

    error = failure(lambda: remove(dev_root, NODES))

    assert results(error.report) == ["removed", "failed", "removed", "removed"]
    assert error.reason.startswith("cannot remove the node: ")
    assert WHAT_TO_CHANGE[lasting] in error.reason


def test_the_first_cause_is_raised() -> None:
    """With several failures, the error is about the first node in the order given."""
    dev_root = dev_root_of("dir nvidia2", "dir nvidia1")

    error = failure(lambda: mknod(dev_root, list(reversed(NODES))))

    assert error.filename == f"{DEV}/nvidia2"
    assert error.report.failed == (NODES[2], NODES[1])
    assert error.__cause__ is None


def test_the_text_of_eperm_names_the_device_for_the_cgroup() -> None:
    """A device cgroup cannot be seen, so its rule is in the text, with the very device."""
    refused = OSError(errno.EPERM, "no")

    text = advice(refused, Doing.MAKE, node=node("sda", 8, 1, type="b"))

    assert "'b 8:1'" in text
    assert "user namespace" in text
    assert "the device (the letter m" in advice(refused, Doing.MAKE)


def test_the_text_of_eperm_elsewhere_names_other_capabilities() -> None:
    """What EPERM means depends on what was refused."""
    refused = OSError(errno.EPERM, "no")

    assert "CAP_CHOWN" in advice(refused, Doing.MEND)
    assert "CAP_DAC_OVERRIDE" in advice(refused, Doing.REMOVE)


def test_an_error_without_a_text_has_the_one_of_its_errno() -> None:
    """An errno that nobody foresaw is told in the kernel's words, and without one in its own."""
    unforeseen = advice(OSError(errno.EIO, None), Doing.LOOK)
    assert unforeseen == f"cannot look at what is there: {os.strerror(errno.EIO)}"
    assert advice(OSError("not now"), Doing.LOOK) == "cannot look at what is there: not now"
