"""A dev root in memory and a few nodes for it, for tests of planning and making nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest

from devroot import DeviceNode, DevicePath, DevRoot, NodeError
from devroot.testing import TreeFileSystem
from tests._views import view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from devroot._mknod import Plan, Report
    from devroot.testing import Operation

P: Final = "/host-dev"
"""The directory that is the dev root."""

DEV: Final = f"{P}/dev"

LINES: Final = (
    "10 9 0:50 / / rw - overlay overlay rw",
    f"11 10 0:6 / {DEV} rw,nosuid - devtmpfs udev rw,size=4096k",
)
"""The mount table of a container in which the host's ``/dev`` is at ``DEV``."""


def dev_root_of(
    *specs: str,
    names: Iterable[str] | None = None,
    lines: Iterable[str] = LINES,
    **view: Any,  # noqa: ANN401 - fields of a view
) -> DevRoot:
    """Return a dev root whose ``dev`` holds what *specs* describe; a path there is below ``dev``.

    Args:
        specs: as the testing kit takes them, such as ``char nvidia0 195:0``.
        names: the subset that it shows, if it is one.
        lines: the mount table.
        view: fields of the view.
    """
    files = TreeFileSystem([f"dir {DEV}"])
    for spec in specs:
        word, path, *rest = spec.split(" ")
        files.add(" ".join([word, f"{DEV}/{path}", *rest]))
    return DevRoot(
        container=P,
        view=attrs.evolve(view_of(*lines, files=files), **view),
        names=None if names is None else tuple(map(DevicePath, names)),
    )


def files_of(dev_root: DevRoot) -> TreeFileSystem:
    """Return the files in memory of a dev root."""
    files = dev_root.view.filesystem
    assert isinstance(files, TreeFileSystem)
    return files


def node(path: str = "nvidia0", major: int = 195, minor: int = 0, **more: Any) -> DeviceNode:  # noqa: ANN401
    """Return a device node."""
    return DeviceNode(path=path, major=major, minor=minor, **more)


def channels(count: int) -> list[DeviceNode]:
    """Return nodes in one directory that is not there."""
    return [node(f"nvidia-caps-imex-channels/channel{n}", 240, n) for n in range(count)]


def listing(dev_root: DevRoot) -> list[str]:
    """Return what is in ``dev``, as lines with paths below it."""
    prefix = f"{DEV}/"
    return [
        line.replace(prefix, "", 1)
        for line in files_of(dev_root).listing()
        if line.split(" ")[1].startswith(prefix)
    ]


def actions(plan: Plan) -> list[str]:
    """Return the action of each step."""
    return [step.action.value for step in plan.steps]


def results(report: Report) -> list[str]:
    """Return the result of each outcome."""
    return [outcome.result.value for outcome in report.outcomes]


def operations(dev_root: DevRoot, act: Callable[[], object]) -> list[Operation]:
    """Return the operations that *act* takes."""
    taken: list[Operation] = []
    files_of(dev_root).before(taken.append)
    act()
    return list(taken)


def failure(act: Callable[[], object]) -> NodeError:
    """Return the `NodeError` that *act* raises."""
    with pytest.raises(NodeError) as caught:
        act()
    return caught.value
