"""Removing device nodes: exactly those, and nothing else."""

from __future__ import annotations

import pytest

from devroot._mknod import remove
from devroot._mknod._jobs import RemoveNodes
from devroot._mknod._places import Places
from devroot._mknod._plan import make_plan
from tests._nodes import DEV, dev_root_of, files_of, listing, node, results
from tests.unit.test_plan import OTHERS


def test_a_node_is_removed() -> None:
    """A node of the type and number is removed, whatever its mode and owner."""
    dev_root = dev_root_of(
        "char nvidia0 195:0 0600 5:6", "block sda 8:0", "char caps/one 240:1", "char other 1:1"
    )
    nodes = [node(), node("sda", 8, 0, type="b"), node("caps/one", 240, 1)]

    report = remove(dev_root, nodes)

    assert report.removed == tuple(nodes)
    assert listing(dev_root) == ["dir caps 0755", "char other 1:1 0666"]


@pytest.mark.parametrize("there", [*OTHERS, "dir nvidia0", "char nvidia0 195:7 0600 5:6"])
def test_anything_else_is_left(there: str) -> None:
    """What is not the node is left and reported with what it is; an empty directory too."""
    dev_root = dev_root_of(there)
    before = listing(dev_root)

    report = remove(dev_root, [node()])

    assert report.kept == (node(),)
    assert "which is not this node" in report.outcomes[0].reason
    assert report.outcomes[0].differences[0] in {"type", "number"}
    assert listing(dev_root) == before


def test_what_is_not_there_needs_nothing() -> None:
    """A node that is gone already is no error, nor is a directory that is."""
    dev_root = dev_root_of()

    report = remove(dev_root, [node(), node("caps/one", 240, 1)])

    assert results(report) == ["unchanged", "unchanged"]
    assert report.outcomes[0].reason == "nothing is there"
    assert listing(dev_root) == []


def test_withheld_nodes_stay() -> None:
    """A node that its owner withholds is not removed either, unless asked for."""
    dev_root = dev_root_of("char nvidia0 195:0")
    withheld = node(withheld="ModifyDeviceFiles: 0")

    report = remove(dev_root, [withheld])

    assert report.withheld == (withheld,)
    assert report.outcomes[0].reason == "ModifyDeviceFiles: 0"
    assert remove(dev_root, [withheld], touch_withheld=True).removed == (withheld,)


def test_a_dry_run_removes_nothing() -> None:
    """A dry run says what would be removed, and leaves it."""
    dev_root = dev_root_of("char nvidia0 195:0")

    report = remove(dev_root, [node()], dry_run=True)

    assert (report.dry_run, report.removed) == (True, (node(),))
    assert listing(dev_root) == ["char nvidia0 195:0 0666"]


def test_removing_needs_no_working_directory() -> None:
    """Nothing is made in order to remove something; what was left behind is cleaned up."""
    dev_root = dev_root_of("char nvidia0 195:0", "dir .devroot-0123456789abcdef 0700")
    made: list[str] = []
    files_of(dev_root).before(
        lambda each: made.append(each.path) if each.name.startswith("make_") else None
    )

    remove(dev_root, [node()])

    assert made == []
    assert listing(dev_root) == []


def test_a_removal_says_what_was_found() -> None:
    """Whether it is to go or to stay, the step has the status of what is there."""
    dev_root = dev_root_of("char nvidia0 195:0 0600", "fifo nvidia1", "char nvidia2 195:2 0640")
    nodes = [node(), node("nvidia1", minor=1), node("nvidia2", minor=2, withheld="by its driver")]

    with Places(dev_root.open_dev) as places:
        steps = make_plan(dev_root, nodes, RemoveNodes(), places).steps

    assert [step.action.value for step in steps] == ["remove", "keep", "withheld"]
    assert (steps[0].reason, steps[0].errno) == ("", 0)
    found = [step.found for step in steps]
    assert [each and f"{each.type.value} {each.mode:o}" for each in found] == [
        "character device 600",
        "fifo 644",
        "character device 640",
    ]


def test_the_plan_of_a_removal() -> None:
    """A plan to remove says so, in its table and as JSON, and makes nothing."""
    dev_root = dev_root_of("char nvidia0 195:0")
    job = RemoveNodes(touch_withheld=True)

    with Places(dev_root.open_dev) as places:
        planned = make_plan(dev_root, [node()], job, places)

    assert str(planned).splitlines()[1].startswith("remove")
    assert planned.to_dict()["job"] == "remove"
    assert planned.to_dict()["touch_withheld"] is True
    directory = files_of(dev_root).open_directory(dev_root.container, "/dev")
    with pytest.raises(NotImplementedError):
        job.make(directory, "nvidia0", node())
    assert f"char {DEV}/nvidia0 195:0 0666" in files_of(dev_root).listing()
