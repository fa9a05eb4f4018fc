"""What is to be done about each device node: `Action`, `Step` and `Plan`."""

from __future__ import annotations

import enum
import errno as errno_module
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from devroot._paths import DevicePath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from devroot._bulk import Member
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._filesystem import FileStatus
    from devroot._mknod._jobs import Job


class Action(enum.Enum):
    """What is to be done about a device node.

    .. versionadded:: 0.1.0
    """

    CREATE = "create"
    """Nothing is there: make it."""

    REPAIR = "repair"
    """Something else is there, or the mode or owner differs: put that right."""

    REMOVE = "remove"
    """It is there and is to go."""

    KEEP = "keep"
    """Nothing is to be done: it is right, or what is there was asked to be left."""

    CONFLICT = "conflict"
    """Something is there that may not be replaced."""

    WITHHELD = "withheld"
    """Its owner says that nobody else should make or change it."""

    BLOCKED = "blocked"
    """It cannot be made here, whatever is there."""


ACTING = frozenset({Action.CREATE, Action.REPAIR, Action.REMOVE})
"""The actions that change something."""

MENDED = frozenset({"mode", "owner"})
"""The differences that are mended in place."""


@attrs.frozen(kw_only=True)
class Step:
    """What is to be done about one device node, and why.

    Attributes:
        node: the node.
        path: the name that is changed; the node's own, or that of the link to it.
        action: what is to be done.
        differences: in what the thing that is there differs: ``type`` alone, or any of
            ``number``, ``mode`` and ``owner``; for a link ``type`` or ``target``.
        reason: what is there and why this is the action; empty if that says itself.
        errno: what the kernel calls such a conflict or block, 0 for any other action.
        found: what is there; None if nothing is, or if it was not looked at.

    .. versionadded:: 0.1.0
    """

    node: DeviceNode
    path: DevicePath
    action: Action
    differences: tuple[str, ...] = ()
    reason: str = ""
    errno: int = 0
    found: FileStatus | None = None

    @property
    def in_place(self) -> bool:
        """Whether a repair changes what is there instead of replacing it."""
        return MENDED.issuperset(self.differences)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON can hold it; ``errno`` is a name such as ``EROFS``, or null."""
        return {
            "path": str(self.path),
            "action": self.action.value,
            "differences": list(self.differences),
            "reason": self.reason,
            "errno": errno_name(self.errno),
            "node": self.node.to_dict(),
        }


@attrs.frozen(kw_only=True)
class Group:
    """The nodes of one directory.

    Attributes:
        names: the names on the way from ``/dev`` to the directory.
        members: the place of each node among all, its name in the directory, and the node.
    """

    names: tuple[str, ...]
    members: list[Member] = attrs.field(factory=list["Member"])

    @property
    def path(self) -> DevicePath | None:
        """The directory; None for ``/dev`` itself."""
        return DevicePath("/".join(self.names)) if self.names else None


@attrs.frozen(kw_only=True)
class Steps:
    """The step of each node, by its place among all; private to the package.

    On most runs every node is right, and on most others it is missing, so that only the rest
    costs an object each.

    Attributes:
        nodes: the nodes.
        missing: the places of those that are missing and are to be made.
        told: the steps of those of which there is more to say. Whoever is in neither is right.
    """

    nodes: tuple[DeviceNode, ...]
    missing: AbstractSet[int] = frozenset()
    told: Mapping[int, Step] = attrs.field(factory=dict[int, Step])

    def __getitem__(self, index: int) -> Step:
        step = self.told.get(index)
        if step is None:
            node = self.nodes[index]
            action = Action.CREATE if index in self.missing else Action.KEEP
            step = Step(node=node, path=node.path, action=action)
        return step

    def __iter__(self) -> Iterator[Step]:
        return map(self.__getitem__, range(len(self.nodes)))

    def action(self, index: int) -> Action:
        """Return what is to be done about the node at *index*."""
        if index in self.told:
            return self.told[index].action
        return Action.CREATE if index in self.missing else Action.KEEP

    def counts(self) -> dict[str, int]:
        """Return how many nodes have which action."""
        counts = Counter(step.action for step in self.told.values())
        counts[Action.CREATE] += len(self.missing)
        counts[Action.KEEP] += len(self.nodes) - len(self.missing) - len(self.told)
        return {action.value: counts[action] for action in Action if counts[action]}


@attrs.frozen(kw_only=True)
class Work:
    """What carrying out a plan needs to know; private to the package.

    Attributes:
        steps: what is to be done about each node.
        groups: the nodes by directory, parents first.
        devices: the file system (``st_dev``) of each directory, or of its deepest existing
            ancestor, when the plan was made.
        leftovers: the names of other runs' working directories in each directory.
        job: what the run is for.
    """

    steps: Steps
    groups: tuple[Group, ...]
    devices: Mapping[tuple[str, ...], int]
    leftovers: Mapping[tuple[str, ...], tuple[str, ...]]
    job: Job


@attrs.frozen(kw_only=True, repr=False)
class Plan:
    """What is to be done about each of some device nodes; nothing is done yet.

    ``str()`` gives it as a table. `apply` carries it out, and looks at each node again then.

    Attributes:
        dev_root: where.
        nodes: the nodes, each once, in the order in which they were given.
        new_directories: the directories below ``/dev`` that are missing and will be made.

    .. versionadded:: 0.1.0
    """

    dev_root: DevRoot
    nodes: tuple[DeviceNode, ...]
    new_directories: tuple[DevicePath, ...] = ()
    _work: Work = attrs.field(alias="work")

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is to be done about each node, in the order of the nodes."""
        return tuple(self._work.steps)

    @property
    def changes(self) -> bool:
        """Whether anything is to be made, repaired or removed."""
        steps = self._work.steps
        return bool(steps.missing) or any(step.action in ACTING for step in steps.told.values())

    def __repr__(self) -> str:
        return f"<Plan: {self.summary()}>"

    def __str__(self) -> str:
        lines = [f"{self.dev_root.dev}: {self.summary()}"]
        lines += [f"new directory {path}" for path in self.new_directories]
        rows = (
            (step.action.value, str(step.path), step.node.summary(), _remark(step))
            for step in self._work.steps
        )
        return "\n".join([*lines, *table(rows)])

    def summary(self) -> str:
        """Return how many nodes have which action, in one line."""
        return count_text(self._work.steps.counts())

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        return {
            "dev_root": str(self.dev_root.container),
            "dev": str(self.dev_root.dev),
            **self._work.job.to_dict(),
            "new_directories": [str(path) for path in self.new_directories],
            "counts": self._work.steps.counts(),
            "steps": [step.to_dict() for step in self._work.steps],
        }


def work_of(plan: Plan) -> Work:
    """Return what carrying out *plan* needs to know."""
    return plan._work  # noqa: SLF001 - for this package alone


def errno_name(number: int) -> str | None:
    """Return the name of an errno; None for 0."""
    return errno_module.errorcode.get(number, str(number)) if number else None


def count_text(counts: dict[str, int]) -> str:
    """Return counts as ``3 create, 1 keep``; ``no nodes`` if there are none."""
    return ", ".join(f"{count} {word}" for word, count in counts.items()) or "no nodes"


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table whose columns are as wide as they need to be."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _remark(step: Step) -> str:
    return ": ".join(filter(None, (", ".join(step.differences), step.reason)))
