"""Carrying out a plan that is not fresh: nothing is done that the plan did not say."""

from __future__ import annotations

import errno

import pytest

from devroot._mknod import Outcome, Result, apply, plan
from tests._nodes import DEV, channels, dev_root_of, failure, files_of, listing, node, results


def test_a_plan_can_be_carried_out_later() -> None:
    """If nothing changed since, a plan does what it said, and a second time nothing."""
    dev_root = dev_root_of("fifo nvidia1", "char nvidia2 195:2 0600", "char nvidia3 195:3 0666")
    nodes = [node(f"nvidia{n}", 195, n) for n in range(4)]
    planned = plan(dev_root, nodes)

    assert results(apply(planned)) == ["created", "repaired", "repaired", "unchanged"]
    assert results(apply(planned)) == ["unchanged"] * 4
    assert listing(dev_root) == [f"char nvidia{n} 195:{n} 0666" for n in range(4)]


def test_missing_directories_are_made_then() -> None:
    """The directories that the plan names are made when it is carried out."""
    dev_root = dev_root_of()
    planned = plan(dev_root, channels(2))

    assert results(apply(planned)) == ["created", "created"]


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        # What is right by now is left alone.
        ("", "char nvidia0 195:0 0666", "unchanged"),
        ("fifo nvidia0", "char nvidia0 195:0 0666", "unchanged"),
        # Making what was to be replaced replaces nothing.
        ("fifo nvidia0", "", "created"),
        # The plan saw nothing, or something else: it does not say what to do about this.
        ("", "fifo nvidia0", "failed"),
        ("", "char nvidia0 195:0 0600", "failed"),
        ("fifo nvidia0", "file nvidia0", "failed"),
        ("char nvidia0 195:9", "char nvidia0 195:8", "failed"),
        ("char nvidia0 195:0 0600", "char nvidia0 195:0 0640", "failed"),
        ("char nvidia0 195:0 0666", "", "failed"),
        ("char nvidia0 195:0 0666", "char nvidia0 195:0 0600", "failed"),
        # A directory is a conflict, whenever it comes.
        ("", "dir nvidia0", "failed"),
        ("fifo nvidia0", "dir nvidia0", "failed"),
    ],
)
def test_what_changed_since_the_plan(before: str, after: str, result: str) -> None:
    """What the plan did not see is left as it is, and the error asks for a new plan."""
    dev_root = dev_root_of(*filter(None, [before]))
    planned = plan(dev_root, [node()])
    files = files_of(dev_root)
    if before:
        files.remove(f"{DEV}/nvidia0")
    if after:
        files.add(after.replace("nvidia0", f"{DEV}/nvidia0"))
    there = listing(dev_root)

    if result == "failed":
        error = failure(lambda: apply(planned))
        assert error.errno == (errno.EISDIR if after.startswith("dir") else errno.ESTALE)
        assert error.errno == errno.EISDIR or "plan again" in error.reason
        assert listing(dev_root) == there
    else:
        (outcome,) = apply(planned).outcomes
        assert outcome == Outcome(node=node(), path=node().path, result=Result(result))
        assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_a_changed_mode_of_the_same_file_is_still_mended() -> None:
    """The file that the plan found is mended as it is now, not as it was."""
    dev_root = dev_root_of("char nvidia0 195:0 0600")
    planned = plan(dev_root, [node()])
    dev = files_of(dev_root).open_directory(dev_root.container, "/dev")
    dev.mend("nvidia0", expected=dev.lstat("nvidia0"), uid=7)

    report = apply(planned)

    assert report.outcomes[0].differences == ("mode", "owner")
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_what_was_not_to_be_done_is_not_done() -> None:
    """A conflict or a withheld node stays what it was in the plan, even if the way is free now."""
    dev_root = dev_root_of("dir nvidia0")
    planned = plan(dev_root, [node(), node("nvidia1", minor=1, withheld="by its driver")])
    files_of(dev_root).remove(f"{DEV}/nvidia0")

    error = failure(lambda: apply(planned))

    assert results(error.report) == ["failed", "withheld"]
    assert listing(dev_root) == []


def test_a_directory_that_was_replaced_since() -> None:
    """A directory that somebody made anew is used; a link in its place is not followed."""
    dev_root = dev_root_of("dir caps", "dir other")
    planned = plan(dev_root, [node("caps/one", 240, 1)])
    files = files_of(dev_root)
    files.remove(f"{DEV}/caps")
    files.symlink(f"{DEV}/caps", "other")

    assert failure(lambda: apply(planned)).errno == errno.ENOTDIR

    files.remove(f"{DEV}/caps")
    files.directory(f"{DEV}/caps", mode=0o700)

    assert results(apply(planned)) == ["created"]
    assert "dir caps 0700" in listing(dev_root)


def test_somebody_else_makes_it_while_the_plan_is_carried_out() -> None:
    """A name that appears in the last moment is not replaced by an old plan."""
    dev_root = dev_root_of()
    planned = plan(dev_root, [node()])
    files = files_of(dev_root)
    theirs = [f"fifo {DEV}/nvidia0"]
    files.before(lambda each: files.add(theirs.pop()) if each.name == "link" and theirs else None)

    error = failure(lambda: apply(planned))

    assert error.errno == errno.ESTALE
    assert listing(dev_root) == ["fifo nvidia0 0644"]
