"""Making device nodes: what is there afterwards, and what the report says."""

from __future__ import annotations

import errno
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from devroot import ContainerPath
from devroot._mknod import Outcome, Result, mknod
from devroot._mknod._jobs import describe
from devroot.errors import NodeError
from devroot.testing._handles import TreeDirectory
from tests._nodes import (
    DEV,
    channels,
    dev_root_of,
    failure,
    files_of,
    listing,
    node,
    operations,
    results,
)
from tests.unit.test_plan import OTHERS

if TYPE_CHECKING:
    from devroot import DevRoot
    from devroot._mknod import OnConflict
    from devroot.testing import Operation


def _is_working(operation: Operation) -> bool:
    """Whether a working directory is about to be made."""
    parent, _, name = operation.path.rpartition("/")
    return operation.name == "make_directory" and name.startswith(".devroot-") and bool(parent)


def _is_in_dev(operation: Operation) -> bool:
    return operation.path.rpartition("/")[0] == DEV


def test_nodes_are_made_as_described() -> None:
    """Each node has its type, number, mode and owner; directories are 0755 and root's."""
    dev_root = dev_root_of("dir caps 0750 0:7")
    nodes = [
        node("nvidia0", 195, 0),
        node("caps/nvidia-cap1", 240, 1, mode=0o400, uid=3, gid=4),
        node("deep/er/sda", 8, 0, type="b", mode=0),
    ]

    report = mknod(dev_root, nodes)

    assert listing(dev_root) == [
        "dir caps 0750 0:7",
        "char caps/nvidia-cap1 240:1 0400 3:4",
        "dir deep 0755",
        "dir deep/er 0755",
        "block deep/er/sda 8:0 0000",
        "char nvidia0 195:0 0666",
    ]
    assert report.created == tuple(nodes)
    assert report.nodes == tuple(nodes)
    assert results(report) == ["created"] * 3
    assert report.leftovers == ()


def test_a_second_run_changes_nothing() -> None:
    """Once all is right, a run only looks, and says that nothing was changed."""
    dev_root = dev_root_of()
    nodes = [node(), *channels(3)]
    mknod(dev_root, nodes)

    taken = {each.name for each in operations(dev_root, lambda: mknod(dev_root, nodes))}

    assert taken == {"open_directory", "status", "names", "lstat"}
    assert mknod(dev_root, nodes).unchanged == tuple(nodes)


@pytest.mark.parametrize(
    "there", [*OTHERS, "char nvidia0 195:0 0000", "char nvidia0 195:0 0666 1:2"]
)
def test_what_is_wrong_is_repaired(there: str) -> None:
    """Whatever is at the name, but for a directory and a mount, becomes the node."""
    dev_root = dev_root_of(there, "char nvidia1 195:1 0600")

    report = mknod(dev_root, [node()])

    assert listing(dev_root) == ["char nvidia0 195:0 0666", "char nvidia1 195:1 0600"]
    assert report.repaired == (node(),)


def test_a_wrong_mode_or_owner_is_mended_in_place() -> None:
    """A mode or owner alone is set on the very file that is there, which keeps its inode."""
    dev_root = dev_root_of("char nvidia0 195:0 0600 5:6", f"hard other {DEV}/nvidia0")

    taken = operations(dev_root, lambda: mknod(dev_root, [node(mode=0o640, gid=44)]))

    assert listing(dev_root) == ["char nvidia0 195:0 0640 0:44", f"hard other {DEV}/nvidia0"]
    assert not [each for each in taken if each.name in {"make_node", "rename", "make_directory"}]


@pytest.mark.parametrize(
    ("there", "asked", "step"),
    [
        ("char nvidia0 195:0 0600", {"mode": 0o666, "uid": None, "gid": None}, "mend.mode"),
        ("char nvidia0 195:0 0666 0:5", {"mode": None, "uid": 0, "gid": 0}, "mend.owner"),
    ],
)
def test_only_what_differs_is_mended(
    there: str, asked: dict[str, int | None], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right owner is not set again when the mode is wrong, nor the other way round."""
    dev_root = dev_root_of(there)
    calls: list[dict[str, Any]] = []
    mend = TreeDirectory.mend

    def note(directory: TreeDirectory, name: str, **how: Any) -> None:  # noqa: ANN401 - of mend
        calls.append(how)
        mend(directory, name, **how)

    monkeypatch.setattr(TreeDirectory, "mend", note)
    taken = operations(dev_root, lambda: mknod(dev_root, [node()]))

    (how,) = calls
    assert {each: how[each] for each in asked} == asked
    assert [each.name for each in taken if each.name.startswith("mend.")] == [step]


def test_a_replacement_takes_few_steps() -> None:
    """What is replaced is looked at twice by the plan and once before; nothing is cleaned up."""
    dev_root = dev_root_of("fifo nvidia0")

    taken = [each.name for each in operations(dev_root, lambda: mknod(dev_root, [node()]))]

    assert (taken.count("lstat"), taken.count("rename"), taken.count("unlink")) == (3, 1, 0)


@pytest.mark.parametrize("there", [*OTHERS, "char nvidia0 195:0 0600"])
def test_keep_leaves_what_is_there_and_tells(there: str) -> None:
    """With "keep" nothing is changed; the report does not call it right."""
    dev_root = dev_root_of(there)
    before = listing(dev_root)

    report = mknod(dev_root, [node(), node("nvidia1", minor=1)], on_conflict="keep")

    assert listing(dev_root) == [*before, "char nvidia1 195:1 0666"]
    assert (report.kept, report.created) == ((node(),), (node("nvidia1", minor=1),))
    assert report.outcomes[0].differences
    assert not report.unchanged


@pytest.mark.parametrize("there", [*OTHERS, "char nvidia0 195:0 0600"])
def test_error_leaves_what_is_there_and_fails(there: str) -> None:
    """With "error" nothing is changed at the name; the rest is made all the same."""
    dev_root = dev_root_of(there)
    before = listing(dev_root)

    error = failure(
        lambda: mknod(dev_root, [node(), node("nvidia1", minor=1)], on_conflict="error")
    )

    assert (error.errno, error.filename) == (errno.EEXIST, f"{DEV}/nvidia0")
    assert error.report.created == (node("nvidia1", minor=1),)
    assert error.report.failed == (node(),)
    assert listing(dev_root) == [*before, "char nvidia1 195:1 0666"]


@pytest.mark.parametrize("on_conflict", ["repair", "keep", "error"])
def test_a_directory_is_never_removed(on_conflict: OnConflict) -> None:
    """An empty directory at the name is neither deleted nor called a node that exists."""
    dev_root = dev_root_of("dir nvidia0 0700")

    error = failure(lambda: mknod(dev_root, [node()], on_conflict=on_conflict))

    assert error.errno == errno.EISDIR
    assert listing(dev_root) == ["dir nvidia0 0700"]


def test_a_dangling_link_does_not_stop_the_rest() -> None:
    """A dangling link at the first name is replaced, and the nodes after it are made."""
    dev_root = dev_root_of("link nvidia0 /nowhere")
    nodes = [node(f"nvidia{n}", 195, n) for n in range(3)]

    report = mknod(dev_root, nodes)

    assert results(report) == ["repaired", "created", "created"]
    assert listing(dev_root) == [f"char nvidia{n} 195:{n} 0666" for n in range(3)]


def test_a_node_without_a_mode_is_repaired() -> None:
    """What another tool left with mode 000, when it was killed, does not stay so."""
    dev_root = dev_root_of("char nvidia0 195:0 0000")

    mknod(dev_root, [node()])

    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_a_link_is_replaced_and_its_target_left() -> None:
    """A mode is never set through a link: the file that it leads to stays as it is."""
    dev_root = dev_root_of("link nvidia0 ../../etc/secret")
    files_of(dev_root).file("/etc/secret", "mine", mode=0o600)

    mknod(dev_root, [node()])

    assert "file /etc/secret 0600\nmine" in files_of(dev_root).listing()
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_withheld_nodes_are_no_error() -> None:
    """A withheld node is told apart from one that is right, and from one that failed."""
    dev_root = dev_root_of("char nvidia1 195:9 0666")
    nodes = [node(f"nvidia{n}", 195, n, withheld="ModifyDeviceFiles: 0") for n in range(2)]

    report = mknod(dev_root, nodes)

    assert report.withheld == tuple(nodes)
    assert listing(dev_root) == ["char nvidia1 195:9 0666"]
    assert mknod(dev_root, nodes, touch_withheld=True).repaired == (nodes[1],)


def test_a_dry_run_says_what_would_be_aimed_at() -> None:
    """A dry run changes nothing and raises nothing; its report says that it is one."""
    dev_root = dev_root_of("dir nvidia0", "fifo nvidia1", "dir .devroot-0123456789abcdef 0700")
    before = listing(dev_root)
    nodes = [node(f"nvidia{n}", 195, n) for n in range(3)]

    report = mknod(dev_root, nodes, dry_run=True)

    assert results(report) == ["failed", "repaired", "created"]
    assert report.dry_run
    assert str(report).startswith("dry run, nothing was changed: 1 created, 1 repaired, 1 failed")
    assert listing(dev_root) == before


def test_one_working_directory_for_each_directory() -> None:
    """However many nodes are made, each directory has one working directory."""
    dev_root = dev_root_of("dir a", "fifo a/x5")
    nodes = [node(f"{place}{n}", 1, n) for n in range(9) for place in ("a/x", "b/x", "c/x", "x")]

    taken = operations(dev_root, lambda: mknod(dev_root, nodes))

    made = [each.path.rpartition("/.devroot-")[0] for each in taken if _is_working(each)]
    assert sorted(made) == [DEV, DEV, DEV, f"{DEV}/a", f"{DEV}/b", f"{DEV}/c"]
    moved = [each.to for each in taken if each.name == "rename" and _is_in_dev(each)]
    assert moved == [f"{DEV}/b", f"{DEV}/c"]
    assert not [line for line in listing(dev_root) if ".devroot-" in line]


def test_the_working_directory_is_private() -> None:
    """Nobody else can look into the place where nodes are completed."""
    dev_root = dev_root_of()
    seen: set[str] = set()

    def look(_operation: Operation) -> None:
        seen.update(line for line in listing(dev_root) if line.startswith("dir .devroot-"))

    files_of(dev_root).before(look)
    mknod(dev_root, [node()])

    assert {line.split(" ")[2] for line in seen} == {"0700"}


def test_no_name_is_seen_before_it_is_complete() -> None:
    """At no step of a run is there a node or directory that is not as it is to be."""
    dev_root = dev_root_of("fifo nvidia1")
    nodes = [node(), node("nvidia1", minor=1), node("a/b/c", minor=2, mode=0o640, gid=7)]
    complete = {
        "nvidia0": {None, "character device 195:0 0666 0:0"},
        "nvidia1": {"a fifo", "character device 195:1 0666 0:0"},
        "a": {None, "a directory"},
        "a/b/c": {None, "character device 195:2 0640 0:7"},
    }
    seen: dict[str, set[str | None]] = {name: set() for name in complete}

    def look(operation: Operation) -> None:
        if operation.name != "status":  # which looking is, itself
            for name, states in seen.items():
                states.add(_describe(dev_root, name))

    files_of(dev_root).before(look)
    mknod(dev_root, nodes)

    assert seen == complete


def _describe(dev_root: DevRoot, name: str) -> str | None:
    try:
        found = files_of(dev_root).status(ContainerPath(DEV), name)
    except FileNotFoundError:
        return None
    assert not found.is_directory or found.mode == 0o755
    return describe(found)


def test_a_report_as_a_table() -> None:
    """The text of a report has a line for each node, with the reason where there is one."""
    dev_root = dev_root_of("dir nvidia0", "char nvidia1 195:1 0600 1:2")
    error = failure(lambda: mknod(dev_root, [node(), node("nvidia1", minor=1)]))

    refused = "type: a directory is there, and is never replaced; remove it first"
    mended = "mode, owner: character device 195:1 0600 1:2 is there"
    assert str(error.report).splitlines() == [
        "1 repaired, 1 failed",
        f"failed    /dev/nvidia0  c 195:0 0666 0:0  {refused}",
        f"repaired  /dev/nvidia1  c 195:1 0666 0:0  {mended}",
    ]
    assert repr(error.report) == "<Report: 1 repaired, 1 failed>"


def test_a_report_as_json() -> None:
    """A report goes into JSON as it is; an errno without a name is there by its number."""
    unnamed = Outcome(node=node(), path=node().path, result=Result.FAILED, errno=9999)
    assert unnamed.to_dict()["errno"] == "9999"
    error = failure(lambda: mknod(dev_root_of("dir nvidia0"), [node()]))

    assert json.loads(json.dumps(error.report.to_dict())) == {
        "dry_run": False,
        "counts": {"failed": 1},
        "outcomes": [
            {
                "path": "/dev/nvidia0",
                "result": "failed",
                "differences": ["type"],
                "reason": "a directory is there, and is never replaced; remove it first",
                "errno": "EISDIR",
                "node": node().to_dict(),
            }
        ],
        "leftovers": [],
    }


def test_an_outcome_says_it_all() -> None:
    """An outcome names the node, its path, what became of it and why."""
    (outcome,) = mknod(dev_root_of("fifo nvidia0"), [node()]).outcomes

    assert outcome == Outcome(
        node=node(),
        path=node().path,
        result=Result.REPAIRED,
        differences=("type",),
        reason="a fifo is there",
    )


def test_the_error_can_be_sent_elsewhere() -> None:
    """An error pickles with its report, however many nodes it tells of."""
    error = failure(lambda: mknod(dev_root_of("dir nvidia0"), [node(), *channels(3)]))

    copy = pickle.loads(pickle.dumps(error))

    assert isinstance(copy, NodeError)
    assert copy.report == error.report
    assert str(copy) == str(error)


def test_no_nodes_are_no_work() -> None:
    """A run over nothing opens the dev root and is done."""
    assert mknod(dev_root_of(), []).outcomes == ()
