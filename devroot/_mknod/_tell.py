"""Say in the log what became of device nodes, and where: here and on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot._log import Event, is_heard, tell
from devroot._mknod._apply import carry_out
from devroot._mknod._report import Result
from devroot.errors import DevRootError, NodeError

if TYPE_CHECKING:
    from devroot._dev_root import DevRoot
    from devroot._mknod._places import Places
    from devroot._mknod._report import Outcome, Report
    from devroot._mknod._steps import Plan
    from devroot._paths import DevicePath


def carry_out_and_tell(plan: Plan, places: Places, *, fresh: bool) -> Report:
    """Do what `carry_out` does, and say so.

    Raises:
        NodeError: as from `carry_out`.
    """
    try:
        report = carry_out(plan, places, fresh=fresh)
    except NodeError as error:
        _tell(plan.dev_root, error.report)
        raise
    _tell(plan.dev_root, report)
    return report


def _tell(dev_root: DevRoot, report: Report) -> None:
    if not is_heard(Event.NODE_CREATED):
        return
    teller = _Teller(dev_root)
    for outcome in report.outcomes:
        teller.tell(outcome)
    if teller.right:
        tell(Event.NODES_RIGHT, dev_root.dev, teller.right)


class _Teller:
    """Says what became of each node, and asks where a directory is on the host once.

    Attributes:
        right: how many were right already, which are told together.
    """

    def __init__(self, dev_root: DevRoot) -> None:
        self._dev_root = dev_root
        self._directories: dict[DevicePath | None, str] = {}
        self.right = 0

    def tell(self, outcome: Outcome) -> None:
        """Say it."""
        result, path = outcome.result, outcome.path
        name = str(outcome.node)
        if path != outcome.node.path:
            name = f"{path}, which leads to {name},"
        if result is Result.FAILED:
            tell(Event.NODE_FAILED, name, outcome.reason)
        elif result in {Result.KEPT, Result.WITHHELD}:
            tell(Event.NODE_LEFT, path, outcome.reason)
        elif result is Result.UNCHANGED:
            self.right += not outcome.reason  # else there was nothing to remove
        else:
            here = self._dev_root.container_path(path)
            if result is Result.CREATED:
                tell(Event.NODE_CREATED, name, here, self._on_host(path))
            elif result is Result.REMOVED:
                tell(Event.NODE_REMOVED, name, here, self._on_host(path))
            else:  # in place, it can be a mount of its own
                other = " and ".join(outcome.differences)
                tell(Event.NODE_REPAIRED, name, here, self._reach(path), other)

    def _on_host(self, path: DevicePath) -> str:
        """Return where the host has a name that was made or removed just now."""
        parent = next(iter(path.parents), None)
        if self._dev_root.names is not None and (
            parent is None or not self._dev_root.contains(parent)
        ):
            return self._reach(path)
        if parent not in self._directories:
            self._directories[parent] = self._reach(parent)
        directory = self._directories[parent]
        return f"{directory}/{path.name}" if directory.startswith("/") else directory

    def _reach(self, path: DevicePath | None) -> str:
        """Return where the host has a path, or the verdict if that is not accepted."""
        try:
            reach = self._dev_root.reach(path)
        except (DevRootError, OSError):
            return "UNKNOWN"
        if reach.host_path is None or reach.verdict not in self._dev_root.accept:
            return reach.verdict.name
        return str(reach.host_path)
