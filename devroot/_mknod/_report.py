"""What became of each device node: `Result`, `Outcome` and `Report`."""

from __future__ import annotations

import enum
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from devroot._mknod._steps import Action, count_text, errno_name, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devroot._device import DeviceNode
    from devroot._mknod._steps import Step, Steps
    from devroot._paths import DevicePath


class Result(enum.Enum):
    """What became of a device node.

    .. versionadded:: 0.1.0
    """

    CREATED = "created"
    """It was not there, and now it is."""

    REPAIRED = "repaired"
    """What was there was replaced, or its mode or owner was put right."""

    REMOVED = "removed"
    """It was there, and now it is not."""

    UNCHANGED = "unchanged"
    """It was right already."""

    KEPT = "kept"
    """Something else is there and was left, as was asked for."""

    WITHHELD = "withheld"
    """It is not as described, and its owner says that nobody else should make or change it."""

    FAILED = "failed"
    """It is not as described; the reason says why and what to change."""


class Ending(NamedTuple):
    """How one node ended, in short; an `Outcome` says it in full."""

    result: Result
    differences: tuple[str, ...] = ()
    reason: str = ""
    errno: int = 0


_OF_ACTION = {
    Action.CREATE: Result.CREATED,
    Action.REPAIR: Result.REPAIRED,
    Action.REMOVE: Result.REMOVED,
    Action.WITHHELD: Result.WITHHELD,
    Action.CONFLICT: Result.FAILED,
    Action.BLOCKED: Result.FAILED,
}


def ending_of(step: Step) -> Ending:
    """Return how a node ends for which *step* is carried out as it stands."""
    if step.action is Action.KEEP:
        result = Result.KEPT if step.differences else Result.UNCHANGED
    else:
        result = _OF_ACTION[step.action]
    return Ending(result, step.differences, step.reason, step.errno)


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of one device node.

    Attributes:
        node: the node.
        path: the name that was to be changed; the node's own, or that of the link to it.
        result: what became of it.
        differences: in what the thing that was there differed, as in a `Step`.
        reason: why, and what to change; empty if that says itself.
        errno: of what failed, else 0.

    .. versionadded:: 0.1.0
    """

    node: DeviceNode
    path: DevicePath
    result: Result
    differences: tuple[str, ...] = ()
    reason: str = ""
    errno: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON can hold it; ``errno`` is a name, or null."""
        return {
            "path": str(self.path),
            "result": self.result.value,
            "differences": list(self.differences),
            "reason": self.reason,
            "errno": errno_name(self.errno),
            "node": self.node.to_dict(),
        }


@attrs.frozen(kw_only=True, repr=False)
class Report:
    """What became of each of some device nodes, in the order in which they were given.

    ``str()`` gives it as a table.

    Attributes:
        dry_run: whether nothing was done: the results then are what a run would have aimed at.
        leftovers: what could not be cleaned up, each with the reason: working directories of
            this run or of an earlier one. They hold no name that anybody uses.

    .. versionadded:: 0.1.0
    """

    dry_run: bool = False
    leftovers: tuple[str, ...] = ()
    # A node without an ending ended as its step says.
    _steps: Steps = attrs.field(alias="steps")
    _endings: Mapping[int, Ending] = attrs.field(alias="endings", factory=dict[int, Ending])

    @property
    def nodes(self) -> tuple[DeviceNode, ...]:
        """The nodes, each once."""
        return self._steps.nodes

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What became of each node."""
        return tuple(self._outcomes())

    @property
    def created(self) -> tuple[DeviceNode, ...]:
        """The nodes that were not there, and now are."""
        return self._with(Result.CREATED)

    @property
    def repaired(self) -> tuple[DeviceNode, ...]:
        """The nodes where something else was, or whose mode or owner was wrong."""
        return self._with(Result.REPAIRED)

    @property
    def removed(self) -> tuple[DeviceNode, ...]:
        """The nodes that `remove` removed."""
        return self._with(Result.REMOVED)

    @property
    def unchanged(self) -> tuple[DeviceNode, ...]:
        """The nodes that were right already; for `remove`, those that were not there."""
        return self._with(Result.UNCHANGED)

    @property
    def kept(self) -> tuple[DeviceNode, ...]:
        """The nodes where something else is and was left, as was asked for."""
        return self._with(Result.KEPT)

    @property
    def withheld(self) -> tuple[DeviceNode, ...]:
        """The nodes that are not as described, and that nobody but their owner should touch."""
        return self._with(Result.WITHHELD)

    @property
    def failed(self) -> tuple[DeviceNode, ...]:
        """The nodes that are not as described; `outcomes` has the reasons."""
        return self._with(Result.FAILED)

    def __repr__(self) -> str:
        return f"<Report: {self.summary()}>"

    def __str__(self) -> str:
        rows = (
            (
                outcome.result.value,
                str(outcome.path),
                outcome.node.summary(),
                ": ".join(filter(None, (", ".join(outcome.differences), outcome.reason))),
            )
            for outcome in self._outcomes()
        )
        leftovers = [f"left behind: {text}" for text in self.leftovers]
        return "\n".join([self.summary(), *table(rows), *leftovers])

    def summary(self) -> str:
        """Return how many nodes had which result, in one line."""
        prefix = "dry run, nothing was changed: " if self.dry_run else ""
        return prefix + count_text(self._counts())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return {
            "dry_run": self.dry_run,
            "counts": self._counts(),
            "outcomes": [outcome.to_dict() for outcome in self._outcomes()],
            "leftovers": list(self.leftovers),
        }

    def first_failure(self) -> tuple[int, Outcome] | None:
        """Return the outcome of the first node that failed, and its place; None if none did."""
        failed = [at for at, ending in self._endings.items() if ending.result is Result.FAILED]
        failed += [
            at
            for at, step in self._steps.told.items()
            if at not in self._endings and ending_of(step).result is Result.FAILED
        ]
        if not failed:
            return None
        first = min(failed)
        return first, self._outcome(first, self._steps[first])

    def _result(self, index: int) -> Result:
        ending = self._endings.get(index)
        return ending_of(self._steps[index]).result if ending is None else ending.result

    def _outcomes(self) -> Iterator[Outcome]:
        return (self._outcome(index, step) for index, step in enumerate(self._steps))

    def _outcome(self, index: int, step: Step) -> Outcome:
        ending = self._endings.get(index) or ending_of(step)
        return Outcome(
            node=step.node,
            path=step.path,
            result=ending.result,
            differences=ending.differences,
            reason=ending.reason,
            errno=ending.errno,
        )

    def _with(self, result: Result) -> tuple[DeviceNode, ...]:
        return tuple(node for index, node in enumerate(self.nodes) if self._result(index) is result)

    def _counts(self) -> dict[str, int]:
        counts = Counter(self._result(index) for index in range(len(self.nodes)))
        return {result.value: counts[result] for result in Result if counts[result]}
