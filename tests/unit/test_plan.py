"""What a plan says about each node: looked at without changing anything."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from devroot import DevicePath, FileType
from devroot._mknod import Action, plan
from devroot.errors import InvalidNodeError
from tests._nodes import (
    DEV,
    actions,
    channels,
    dev_root_of,
    files_of,
    listing,
    node,
    operations,
)

if TYPE_CHECKING:
    from devroot._mknod import OnConflict

OTHERS = [
    "link nvidia0 nvidia1",
    "link nvidia0 nowhere",
    "file nvidia0 0666",
    "fifo nvidia0 0666",
    "socket nvidia0 0666",
    "block nvidia0 195:0 0666",
    "char nvidia0 195:7 0666",
    "char nvidia0 1:0 0666",
]
"""Everything that can be at the name of a node and that may be replaced."""


def test_what_is_missing_is_created() -> None:
    """A node that is not there is to be created, and so are the directories on the way."""
    planned = plan(dev_root_of(), [node("a/b/nvidia0"), node("nvidia1", minor=1)])

    assert actions(planned) == ["create", "create"]
    assert planned.new_directories == (DevicePath("a"), DevicePath("a/b"))
    assert planned.changes


def test_what_is_right_is_kept() -> None:
    """A node with the right type, number, mode and owner needs nothing."""
    dev_root = dev_root_of("char nvidia0 195:0 0660 7:8", "block sda 8:0 0660 0:6")

    planned = plan(
        dev_root,
        [node(mode=0o660, uid=7, gid=8), node("sda", 8, 0, type="b", mode=0o660, gid=6)],
    )

    assert actions(planned) == ["keep", "keep"]
    assert not planned.changes


@pytest.mark.parametrize(
    ("there", "differences"),
    [
        ("char nvidia0 195:0 0600", ("mode",)),
        ("char nvidia0 195:0 4666", ("mode",)),
        ("char nvidia0 195:0 0666 1:0", ("owner",)),
        ("char nvidia0 195:0 0666 0:1", ("owner",)),
        ("char nvidia0 195:0 0000 5:6", ("mode", "owner")),
        ("char nvidia0 195:1 0666", ("number",)),
        ("char nvidia0 1:0 0600 5:6", ("number", "mode", "owner")),
        ("block nvidia0 195:0 0600 5:6", ("type",)),
        ("fifo nvidia0 0000", ("type",)),
        ("link nvidia0 nvidia1", ("type",)),
    ],
)
def test_what_differs_is_named(there: str, differences: tuple[str, ...]) -> None:
    """A repair names each difference; where the type differs, nothing else is comparable."""
    (step,) = plan(dev_root_of(there), [node()]).steps

    assert (step.action, step.differences) == (Action.REPAIR, differences)
    assert step.found is not None
    assert step.in_place == ({"mode", "owner"} >= set(differences))


@pytest.mark.parametrize("there", OTHERS)
@pytest.mark.parametrize(
    ("on_conflict", "action"),
    [("repair", Action.REPAIR), ("keep", Action.KEEP), ("error", Action.CONFLICT)],
)
def test_the_caller_decides_about_other_things(
    there: str, on_conflict: OnConflict, action: Action
) -> None:
    """Something else at the name is replaced, left or refused, and the reason says what it is."""
    planned = plan(dev_root_of(there), [node()], on_conflict=on_conflict)
    (step,) = planned.steps

    assert step.action is action
    assert planned.changes == (action is Action.REPAIR)
    assert step.found is not None
    assert step.found.type.value in step.reason
    assert step.errno == (errno.EEXIST if action is Action.CONFLICT else 0)


@pytest.mark.parametrize(
    ("on_conflict", "action"), [("keep", Action.KEEP), ("error", Action.CONFLICT)]
)
def test_a_wrong_mode_counts_as_different(on_conflict: OnConflict, action: Action) -> None:
    """Whoever does not want repairs does not want a mode to be mended either."""
    dev_root = dev_root_of("char nvidia0 195:0 0600")

    (step,) = plan(dev_root, [node()], on_conflict=on_conflict).steps

    assert (step.action, step.differences) == (action, ("mode",))


@pytest.mark.parametrize("on_conflict", ["repair", "keep", "error"])
def test_a_directory_is_always_a_conflict(on_conflict: OnConflict) -> None:
    """A directory at the name, empty or not, is never replaced and never called a node."""
    dev_root = dev_root_of("dir nvidia0", "file nvidia1/kept")

    planned = plan(dev_root, [node(), node("nvidia1", minor=1)], on_conflict=on_conflict)

    assert [(step.action, step.errno) for step in planned.steps] == [
        (Action.CONFLICT, errno.EISDIR)
    ] * 2
    assert "a directory is there" in planned.steps[0].reason


@pytest.mark.parametrize(
    ("there", "what"),
    [
        ("char nvidia0 1:3 0666", "character device 1:3 0666 0:0"),
        ("block nvidia0 8:0 0660 0:6", "block device 8:0 0660 0:6"),
        ("file nvidia0", "a regular file"),
    ],
)
@pytest.mark.parametrize("on_conflict", ["repair", "keep", "error"])
def test_a_mount_is_always_a_conflict(on_conflict: OnConflict, there: str, what: str) -> None:
    """What a runtime has mounted at the name is never replaced."""
    lines = (
        "10 9 0:50 / / rw - overlay overlay rw",
        f"11 10 0:6 / {DEV} rw - devtmpfs udev rw",
        f"12 11 0:6 /null {DEV}/nvidia0 rw - devtmpfs udev rw",
    )
    dev_root = dev_root_of(there, lines=lines)

    (step,) = plan(dev_root, [node()], on_conflict=on_conflict).steps

    assert (step.action, step.errno) == (Action.CONFLICT, errno.EBUSY)
    assert step.reason == (
        f"{what} is there because it is mounted at this name, as runtimes do with single devices;"
        " it is never replaced: do not give the container this device"
    )


def test_the_mode_of_a_mounted_node_is_mended() -> None:
    """A mounted node that is the right one is not replaced by a change of its mode."""
    lines = (
        "10 9 0:50 / / rw - overlay overlay rw",
        f"11 10 0:51 / {DEV} rw - tmpfs tmpfs rw",
        f"12 11 0:6 /nvidia0 {DEV}/nvidia0 rw - devtmpfs udev rw",
    )

    planned = plan(dev_root_of("char nvidia0 195:0 0600", lines=lines), [node()])

    assert actions(planned) == ["repair"]


def test_a_table_that_lost_lines_does_not_stop_a_plan() -> None:
    """Where the mount table cannot tell, the kernel will."""
    lines = (
        "10 9 0:50 / / rw - overlay overlay rw",
        f"12 77 0:6 /null {DEV}/nvidia0 rw - devtmpfs udev rw",
    )
    dev_root = dev_root_of("char nvidia0 1:3", lines=lines)

    assert actions(plan(dev_root, [node()], on_conflict="keep")) == ["keep"]


def test_withheld_nodes_are_left_to_their_owner() -> None:
    """A node that its owner withholds is neither made nor repaired, and the report says why."""
    dev_root = dev_root_of("char nvidia1 195:9", "char nvidia2 195:2", "dir nvidia3")
    nodes = [node(f"nvidia{n}", 195, n, withheld="ModifyDeviceFiles: 0") for n in range(4)]

    planned = plan(dev_root, nodes)

    assert actions(planned) == ["withheld", "withheld", "keep", "withheld"]
    assert planned.steps[0].reason == "it is missing; ModifyDeviceFiles: 0"
    assert planned.steps[1].differences == ("number",)
    assert planned.steps[1].reason == (
        "character device 195:9 0666 0:0 is there; ModifyDeviceFiles: 0"
    )
    assert [step.errno for step in planned.steps] == [0, 0, 0, 0]


def test_withheld_nodes_are_touched_when_asked_for() -> None:
    """Whoever asks for it has withheld nodes made and repaired like any other."""
    dev_root = dev_root_of("char nvidia1 195:9")
    nodes = [node(f"nvidia{n}", 195, n, withheld="ModifyDeviceFiles: 0") for n in range(2)]

    assert actions(plan(dev_root, nodes, touch_withheld=True)) == ["create", "repair"]


@pytest.mark.parametrize(
    "there",
    ["link caps nvidia-caps", "link caps nowhere", "file caps", "char caps 1:3", "fifo caps"],
)
def test_nothing_is_followed_in_the_way_of_a_node(there: str) -> None:
    """What stands where a directory is needed is a conflict, a link to a directory included."""
    dev_root = dev_root_of("dir nvidia-caps", there)

    (step,) = plan(dev_root, [node("caps/nvidia-cap1", 240, 1)]).steps

    assert (step.action, step.errno) == (Action.CONFLICT, errno.ENOTDIR)
    assert step.reason.startswith(f"{DEV}/caps: cannot look at what is there: something stands")


def test_the_same_node_twice_counts_once() -> None:
    """A node that is given twice has one step, whichever way its path is spelled."""
    planned = plan(dev_root_of(), [node("nvidia0"), node("/dev/nvidia0"), node("nvidia1")])

    assert [str(step.path) for step in planned.steps] == ["/dev/nvidia0", "/dev/nvidia1"]


def test_two_nodes_at_one_path_are_refused() -> None:
    """Two different nodes cannot be at one name; nothing is planned for either."""
    with pytest.raises(InvalidNodeError) as caught:
        plan(dev_root_of(), [node(), node(minor=1)])

    assert (caught.value.field, caught.value.value) == ("path", "/dev/nvidia0")
    assert "195:0" in caught.value.reason
    assert "195:1" in caught.value.reason


def test_an_unknown_way_to_treat_conflicts_is_refused() -> None:
    """The word for conflicts is one of three, which the error lists."""
    with pytest.raises(InvalidNodeError) as caught:
        plan(dev_root_of(), [], on_conflict="replace")  # type: ignore[arg-type] # wrong on purpose
    assert (caught.value.field, caught.value.value) == ("on_conflict", "replace")
    assert caught.value.reason == "it is one of repair, error, keep"


def test_steps_come_in_the_order_of_the_nodes() -> None:
    """However the nodes are spread over directories, the steps are in the order given."""
    nodes = [node("z"), node("b/y", minor=1), node("a", minor=2), node("b/x", minor=3)]

    planned = plan(dev_root_of("dir b"), nodes)

    assert [step.node for step in planned.steps] == nodes
    assert planned.nodes == tuple(nodes)


def test_each_directory_is_opened_and_listed_once() -> None:
    """Many nodes in a few directories cost one open and one list for each directory."""
    dev_root = dev_root_of("dir a/b/d", "dir c")
    places = ("a/b/x", "c/x", "a/b/d/x", "x", "a/x")
    nodes = [node(f"{place}{n}", 1, n) for n in range(5) for place in places]

    taken = operations(dev_root, lambda: plan(dev_root, nodes))

    directories = [DEV, f"{DEV}/a", f"{DEV}/a/b", f"{DEV}/a/b/d", f"{DEV}/c"]
    # The reach of a directory is asked through the file system, which looks at it by status.
    assert sorted(each.path for each in taken if each.name == "names") == directories
    assert sorted(each.path for each in taken if each.name == "open_directory") == directories
    assert not [each for each in taken if each.name == "lstat"]


def test_only_names_that_are_there_are_looked_at() -> None:
    """In a directory with other names, only those of the nodes are looked at."""
    dev_root = dev_root_of("char nvidia0 195:0", "char nvidia1 195:1", "char other 1:1")

    missing = [node("nvidia2", minor=2), node("nvidia3", minor=3, withheld="by its driver")]
    taken = operations(dev_root, lambda: plan(dev_root, [node(), *missing]))

    assert [each.path for each in taken if each.name == "lstat"] == [f"{DEV}/nvidia0"]


def test_a_plan_changes_nothing() -> None:
    """Whatever there is to do, a plan leaves everything as it is, another's leftovers too."""
    dev_root = dev_root_of("link nvidia0 nowhere", "dir .devroot-0123456789abcdef 0700")
    before = listing(dev_root)

    plan(dev_root, [node(), *channels(3)])

    assert listing(dev_root) == before


def test_a_name_that_vanishes_is_created() -> None:
    """A node that was listed and is gone when it is looked at is to be created."""
    dev_root = dev_root_of("char nvidia0 195:0")
    files = files_of(dev_root)
    files.before(
        lambda each: (
            files.remove(each.path)
            if each.name == "lstat" and f"{DEV}/nvidia0" in map(str, files.listing()[-1].split())
            else None
        )
    )

    planned = plan(dev_root, [node("nvidia1", minor=1), node()])

    assert actions(planned) == ["create", "create"]
    assert planned.summary() == "2 create"


def test_what_is_right_and_what_is_left_both_count_as_kept() -> None:
    """The counts have each node once, whatever the reason for which it is kept."""
    dev_root = dev_root_of("char nvidia0 195:0", "fifo nvidia1")

    planned = plan(dev_root, [node(), node("nvidia1", minor=1)], on_conflict="keep")

    assert planned.summary() == "2 keep"


def test_a_node_that_cannot_be_looked_at_is_blocked() -> None:
    """One name that cannot be looked at stops no other."""
    dev_root = dev_root_of("char nvidia0 195:0", "char nvidia1 195:1")
    files_of(dev_root).fail("lstat", errno.EACCES, path=f"{DEV}/nvidia0", times=9)

    first, second = plan(dev_root, [node(), node("nvidia1", minor=1)]).steps

    assert (first.action, first.errno) == (Action.BLOCKED, errno.EACCES)
    assert first.reason.startswith(f"{DEV}/nvidia0: cannot look at what is there: permission")
    assert second.action is Action.KEEP


@pytest.mark.parametrize("operation", ["open_directory", "status", "names"])
def test_a_directory_that_cannot_be_looked_into_blocks_its_nodes(operation: str) -> None:
    """A directory that cannot be opened, looked at or listed stops only what is in it."""
    dev_root = dev_root_of("dir secret")
    files_of(dev_root).fail(operation, errno.EACCES, path=f"{DEV}/secret", times=9)

    planned = plan(dev_root, [node("secret/a"), node("secret/b"), node("nvidia0")])

    assert actions(planned) == ["blocked", "blocked", "create"]
    assert [(step.node, str(step.path)) for step in planned.steps] == [
        (each, str(each.path)) for each in planned.nodes
    ]
    assert planned.steps[0].errno == errno.EACCES
    assert f"{DEV}/secret: " in planned.steps[0].reason


def test_a_dev_root_without_dev_blocks_all() -> None:
    """A dev root whose dev has vanished makes nothing; it is not made anew, for it was a mount."""
    dev_root = dev_root_of()
    files_of(dev_root).remove(DEV)

    planned = plan(dev_root, [node(), *channels(2)])

    assert actions(planned) == ["blocked"] * 3
    assert planned.steps[0].errno == errno.ENOENT
    assert "a mount was taken away" in planned.steps[0].reason


def test_a_directory_that_was_deleted_is_stale() -> None:
    """A mounted directory that the host deleted says so, and what to do about it."""
    dev_root = dev_root_of("char nvidia0 195:0")
    files = files_of(dev_root)
    files.before(lambda each: files.remove(DEV) if each.name == "status" else None)

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.errno) == (Action.BLOCKED, errno.ENOENT)
    assert "stale" in step.reason
    assert "restart the pod" in step.reason


def test_a_plan_as_a_table() -> None:
    """The text of a plan has a line for each node, with what differs and what is there."""
    dev_root = dev_root_of("char nvidia0 195:0 0600 1:2", "char nvidia1 195:1", "dir nvidia2")
    nodes = [node(), node("nvidia1", minor=1), node("nvidia2", minor=2)]
    nodes.append(node("caps/channel0", 240, type="b", mode=0o600, uid=1, gid=2))

    mended = "mode, owner: character device 195:0 0600 1:2 is there"
    refused = "type: a directory is there, and is never replaced; remove it first"
    assert str(plan(dev_root, nodes)).splitlines() == [
        f"{DEV}: 1 create, 1 repair, 1 keep, 1 conflict",
        "new directory /dev/caps",
        f"repair    /dev/nvidia0        c 195:0 0666 0:0  {mended}",
        "keep      /dev/nvidia1        c 195:1 0666 0:0",
        f"conflict  /dev/nvidia2        c 195:2 0666 0:0  {refused}",
        "create    /dev/caps/channel0  b 240:0 0600 1:2",
    ]


def test_a_plan_in_short() -> None:
    """The representation of a plan has its counts; a plan for no nodes has none."""
    assert repr(plan(dev_root_of(), channels(12))) == "<Plan: 12 create>"
    assert str(plan(dev_root_of(), [])) == f"{DEV}: no nodes"


def test_a_plan_as_json() -> None:
    """A plan goes into JSON as it is, with the names of errno and modes in octal."""
    planned = plan(
        dev_root_of("dir nvidia2"), [node("nvidia2", minor=2), *channels(1)], on_conflict="error"
    )

    assert json.loads(json.dumps(planned.to_dict())) == {
        "dev_root": "/host-dev",
        "dev": DEV,
        "job": "mknod",
        "on_conflict": "error",
        "touch_withheld": False,
        "new_directories": ["/dev/nvidia-caps-imex-channels"],
        "counts": {"create": 1, "conflict": 1},
        "steps": [
            {
                "path": "/dev/nvidia2",
                "action": "conflict",
                "differences": ["type"],
                "reason": "a directory is there, and is never replaced; remove it first",
                "errno": "EISDIR",
                "node": node("nvidia2", minor=2).to_dict(),
            },
            {
                "path": "/dev/nvidia-caps-imex-channels/channel0",
                "action": "create",
                "differences": [],
                "reason": "",
                "errno": None,
                "node": channels(1)[0].to_dict(),
            },
        ],
    }


def test_what_was_found_is_kept() -> None:
    """A step has the status of what is there, for whoever wants to know more."""
    (step,) = plan(dev_root_of("fifo nvidia0 0640"), [node()]).steps

    assert step.found is not None
    assert (step.found.type, step.found.mode) == (FileType.FIFO, 0o640)
