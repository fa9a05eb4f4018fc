"""What a plan says cannot be done here: subsets, and what stands in the way of making nodes."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from devroot import DevicePath, MountInfoError, OutsideSubsetError
from devroot._mknod import Action, Step, _plan, plan, remove
from devroot._reach import blockers_of
from tests._nodes import DEV, actions, channels, dev_root_of, node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot import ContainerPath, ContainerView, Evidence, MountInfo

ROOT_LINE = "10 9 0:50 / / rw - overlay overlay rw"
CAP_MKNOD = 1 << 27
ALL_BUT_MKNOD = (1 << 41) - 1 - CAP_MKNOD


def _dev_line(options: str) -> str:
    return f"11 10 0:6 / {DEV} {options} - devtmpfs udev rw"


@pytest.mark.parametrize(
    ("options", "number", "text"),
    [("ro", errno.EROFS, "read-only"), ("rw,nodev", errno.EACCES, "nodev")],
)
def test_a_mount_blocks_what_cannot_be_made_or_opened(options: str, number: int, text: str) -> None:
    """On a read-only mount nothing can be made; on one with nodev it could not be opened."""
    dev_root = dev_root_of(lines=(ROOT_LINE, _dev_line(options)))

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.errno) == (Action.BLOCKED, number)
    assert text in step.reason


def test_a_user_namespace_blocks_new_nodes() -> None:
    """In a user namespace mknod of a device fails whatever the capabilities."""
    dev_root = dev_root_of(initial_user_namespace=False)

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.errno) == (Action.BLOCKED, errno.EPERM)
    assert "user namespace" in step.reason


def test_a_missing_capability_blocks_new_nodes() -> None:
    """Without CAP_MKNOD in the effective set no device node can be made."""
    dev_root = dev_root_of(effective_capabilities=ALL_BUT_MKNOD)

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.errno) == (Action.BLOCKED, errno.EPERM)
    assert "CAP_MKNOD" in step.reason


def test_every_blocker_is_told_at_once() -> None:
    """Whoever has two things to change learns of both in one go."""
    dev_root = dev_root_of(lines=(ROOT_LINE, _dev_line("ro,nodev")), effective_capabilities=0)

    (step,) = plan(dev_root, [node()]).steps

    assert step.errno == errno.EROFS
    texts = [blocker.text for blocker in dev_root.reach().blockers]
    assert len(texts) == 3
    assert step.reason == "; ".join(texts)


@pytest.mark.parametrize("there", ["char nvidia0 195:0 0666", "dir nvidia0"])
def test_what_needs_nothing_is_not_blocked(there: str) -> None:
    """A right node is right on any mount, and a conflict is told as such."""
    dev_root = dev_root_of(there, lines=(ROOT_LINE, _dev_line("ro,nodev")))

    assert actions(plan(dev_root, [node()]))[0] in {"keep", "conflict"}


def test_a_mode_can_be_mended_where_nothing_can_be_made() -> None:
    """Mending a mode makes no node, so only a read-only mount stands in its way."""
    view: dict[str, Any] = {"initial_user_namespace": False, "effective_capabilities": 0}
    there = "char nvidia0 195:0 0600"

    assert actions(plan(dev_root_of(there, **view), [node()])) == ["repair"]
    nodev = dev_root_of(there, lines=(ROOT_LINE, _dev_line("rw,nodev")), **view)
    assert actions(plan(nodev, [node()])) == ["repair"]
    read_only = dev_root_of(there, lines=(ROOT_LINE, _dev_line("ro")), **view)
    assert actions(plan(read_only, [node()])) == ["blocked"]


def test_replacing_is_making() -> None:
    """Something else at the name is not replaced where the node could not be made."""
    dev_root = dev_root_of("fifo nvidia0", effective_capabilities=0)

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.differences) == (Action.BLOCKED, ("type",))


def test_a_directory_is_asked_once_what_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many nodes in one directory have one mount; only single devices have one each."""
    asked: list[object] = []

    def note(view: ContainerView, mount: MountInfo[ContainerPath] | None) -> Iterator[Evidence]:
        asked.append(mount)
        return blockers_of(view, mount)

    monkeypatch.setattr(_plan, "blockers_of", note)
    single, deep = ([f"{place}nvidia{n}" for n in range(9)] for place in ("", "deep/caps/"))
    for paths, names, times in ((single, None, 1), (deep, ["deep/caps"], 1), (single, single, 9)):
        asked.clear()
        dev_root = dev_root_of("dir deep/caps", names=names)
        nodes = [node(path, 195, minor) for minor, path in enumerate(paths)]
        assert actions(plan(dev_root, nodes)) == ["create"] * 9
        assert len(asked) == times


def test_each_directory_has_its_own_mount() -> None:
    """A read-only mount on one directory leaves its neighbours alone."""
    line = f"12 11 0:7 / {DEV}/ro ro - tmpfs tmpfs rw"
    dev_root = dev_root_of("dir ro", "dir rw", lines=(ROOT_LINE, _dev_line("rw"), line))

    planned = plan(dev_root, [node("ro/a"), node("rw/a"), node("a"), node("ro/b")])

    assert actions(planned) == ["blocked", "create", "create", "blocked"]


@pytest.mark.parametrize("blocked", [False, True])
def test_removing_is_blocked_by_a_read_only_mount_alone(*, blocked: bool) -> None:
    """Whoever cannot make nodes may still remove them, except on a read-only mount."""
    options = "ro,nodev" if blocked else "rw,nodev"
    dev_root = dev_root_of(
        "char nvidia0 195:0", lines=(ROOT_LINE, _dev_line(options)), effective_capabilities=0
    )

    report = remove(dev_root, [node()], dry_run=True)

    assert (len(report.failed), len(report.removed)) == (int(blocked), int(not blocked))


def test_outside_the_subset_nothing_is_looked_at() -> None:
    """What the dev root does not show is blocked, even if something right happens to be there."""
    dev_root = dev_root_of("char nvidia0 195:0", "dir caps", names=["caps"])

    planned = plan(dev_root, [node(), node("caps/nvidia-cap1", 240, 1), *channels(1)])

    assert actions(planned) == ["blocked", "create", "blocked"]
    assert planned.steps[0] == Step(
        node=node(),
        path=DevicePath("nvidia0"),
        action=Action.BLOCKED,
        reason=str(OutsideSubsetError(DevicePath("nvidia0"), names=(DevicePath("caps"),))),
        errno=errno.ENOENT,
    )


def test_a_subset_of_single_devices() -> None:
    """A subset can name single devices; each has a mount and a reach of its own."""
    lines = (
        ROOT_LINE,
        f"11 10 0:6 /nvidia0 {DEV}/nvidia0 rw - devtmpfs udev rw",
        f"12 10 0:6 /nvidia1 {DEV}/nvidia1 ro - devtmpfs udev rw",
    )
    there = ("char nvidia0 195:0 0600", "char nvidia1 195:1 0600", "char nvidia2 195:2 0600")
    dev_root = dev_root_of(*there, names=["nvidia0", "nvidia1"], lines=lines)

    planned = plan(dev_root, [node(f"nvidia{n}", 195, n) for n in range(3)])

    assert actions(planned) == ["repair", "blocked", "blocked"]
    assert planned.steps[1].errno == errno.EROFS
    assert planned.steps[2].errno == errno.ENOENT


def test_a_single_device_that_could_not_be_opened_is_not_made() -> None:
    """What forbids to make nodes forbids it for a subset of single devices too."""
    dev_root = dev_root_of(names=["nvidia0"], lines=(ROOT_LINE, _dev_line("rw,nodev")))

    (step,) = plan(dev_root, [node()]).steps

    assert (step.action, step.errno) == (Action.BLOCKED, errno.EACCES)


def test_single_devices_below_a_directory() -> None:
    """A subset can name one device in a directory, and then not its neighbours."""
    dev_root = dev_root_of("dir caps", names=["caps/one"])

    planned = plan(dev_root, [node("caps/one", 240, 1), node("caps/two", 240, 2)])

    assert actions(planned) == ["create", "blocked"]


def test_a_missing_directory_of_the_subset_is_made() -> None:
    """A directory that the subset names is made, for all of dev may be mounted there."""
    planned = plan(dev_root_of(names=["caps"]), [node("caps/deep/one", 240, 1)])

    assert actions(planned) == ["create"]
    assert planned.new_directories == (DevicePath("caps"), DevicePath("caps/deep"))


def test_no_directory_is_made_outside_the_subset() -> None:
    """A missing directory above a subset's name means that the subset is not mounted."""
    planned = plan(dev_root_of(names=["deep/caps"]), [node("deep/caps/one", 240, 1)])

    (step,) = planned.steps
    assert (step.action, step.errno) == (Action.BLOCKED, errno.ENOENT)
    assert step.reason == (
        "the directory /dev/deep is missing, and lies outside the subset that this dev root shows;"
        " is the subset mounted?"
    )
    assert not planned.new_directories


def test_a_mount_table_that_lost_lines_is_an_error() -> None:
    """Where the table does not tell which mount serves the directory, it has to be read again."""
    lines = (ROOT_LINE, f"12 77 0:6 / {DEV}/caps rw - devtmpfs udev rw")

    with pytest.raises(MountInfoError, match="read it again"):
        plan(dev_root_of("dir caps", lines=lines), [node("caps/one", 240, 1)])
