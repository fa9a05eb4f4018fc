"""The command ``mknod``: nodes of the NVIDIA driver and the kernel, where the host sees them."""

from __future__ import annotations

import enum
import sys
from collections import Counter
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._cli import _json, _text
from devroot._cli._arguments import ALL, asks_driver
from devroot._cli._explanation import explain, landing_of
from devroot._cli._kernel import devices_to_make, settled, there_in_vain
from devroot._cli._progress import in_steps
from devroot._cli._setting import setting_of
from devroot._evidence import BEST_FIRST
from devroot._mknod import Result, mknod
from devroot._mknod._steps import count_text
from devroot.errors import InvalidNodeError, NodeError
from devroot.nvidia import NvidiaDriver

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from devroot._cli._explanation import Explanation, Landing
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._mknod import Outcome
    from devroot._view import ContainerView

SCHEMA: Final = 1
"""Grows when a field goes or changes its meaning; new fields can come at any time."""

_FEW: Final = 20  # so many nodes are always listed one by one
_AS_ASKED: Final = frozenset({Result.CREATED, Result.UNCHANGED})


class Status(enum.Enum):
    """How it ended; the values are part of the ``--json`` format."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


_EXIT: Final = {Status.DONE: 0, Status.FAILED: 1, Status.REFUSED: 3}


@attrs.frozen(kw_only=True)
class Made:
    """What became of the nodes.

    Attributes:
        dry_run: whether nothing was done: the results then are what a run would aim at.
        outcomes: one for each node.
        leftovers: what could not be cleaned up.
    """

    dry_run: bool
    outcomes: tuple[Outcome, ...]
    leftovers: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether a node is not as described."""
        return any(outcome.result is Result.FAILED for outcome in self.outcomes)

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes have which result, without zeros."""
        counts = Counter(outcome.result for outcome in self.outcomes)
        return {result.value: counts[result] for result in Result if counts[result]}


@attrs.frozen(kw_only=True)
class Run:
    """All that there is to tell.

    Attributes:
        explanation: where the dev root is, and why.
        places: where the nodes go: each directory below ``/dev``, and each node in ``/dev``.
        unknown: what may hide devices of the kernel, if some were asked for.
        made: what became of the nodes; None if nothing was tried.
    """

    explanation: Explanation
    places: tuple[Landing, ...]
    unknown: tuple[str, ...]
    made: Made | None

    @property
    def status(self) -> Status:
        """How it ended."""
        if self.made is None:
            return Status.REFUSED
        return Status.FAILED if self.made.failed else Status.DONE


def run_mknod(arguments: argparse.Namespace, *, version: str) -> tuple[int, str]:
    """Return the exit status and what to print.

    Raises:
        DevRootError: what the arguments name cannot be read, or contradicts itself.
        OSError: a directory on the way cannot be looked into.
    """
    setting = setting_of(arguments)
    catalog = devices_to_make(arguments, setting.driver_root.view)
    nodes = _nodes(arguments, setting.driver_root.view)
    of_driver = nodes
    if catalog is not None:
        nodes = _with_those_of_kernel(nodes, catalog.nodes)
    explanation = explain(setting.driver_root, setting.fallbacks, accept=arguments.accept)
    places: tuple[Landing, ...] = ()
    made = None
    if explanation.dev_root is not None:
        places = tuple(_places(explanation.dev_root, nodes))
        if all(_is_accepted(place, explanation) for place in places):
            left = there_in_vain(explanation.dev_root, of_driver)
            if catalog is not None:
                left |= settled(explanation.dev_root, catalog)
            made = _make(explanation.dev_root, nodes, left, arguments)
    run = Run(
        explanation=explanation,
        places=places,
        unknown=() if catalog is None else catalog.unknown,
        made=made,
    )
    if arguments.json:
        return _EXIT[run.status], _json.dump(_document(run, version=version))
    return _EXIT[run.status], "".join(f"{line}\n" for line in _lines(run))


def _nodes(arguments: argparse.Namespace, view: ContainerView) -> tuple[DeviceNode, ...]:
    """Return what to make of the driver's nodes; the driver is read only if some are asked for.

    Raises:
        DevRootError: the driver does not say, or has no such thing.
    """
    if not asks_driver(arguments):
        return ()
    driver = NvidiaDriver.read(view)
    nodes: list[DeviceNode] = []
    if arguments.control:
        nodes += driver.control_nodes()
    if arguments.gpus:
        nodes += driver.gpus()
    nodes += map(driver.capability, arguments.capability or ())
    if arguments.imex_channels is not None:
        every = arguments.imex_channels == ALL
        nodes += driver.imex_channels(
            None if every else chain.from_iterable(arguments.imex_channels)
        )
    return tuple(nodes)


def _with_those_of_kernel(
    of_driver: Iterable[DeviceNode], of_kernel: Iterable[DeviceNode]
) -> tuple[DeviceNode, ...]:
    """Return the nodes of both, one for each path: the driver's, which has mode and owner.

    Raises:
        InvalidNodeError: they disagree about a number.
    """
    nodes = {node.path: node for node in of_driver}
    for node in of_kernel:
        other = nodes.setdefault(node.path, node)
        if (other.type, other.number) != (node.type, node.number):
            field, found = "number", f"{node.type} {node.major}:{node.minor}"
            reason = f"sysfs says so of {node.path}, and the driver {other.summary()}"
            raise InvalidNodeError(field, found, reason=reason)
    return tuple(nodes.values())


def _places(dev_root: DevRoot, nodes: Iterable[DeviceNode]) -> Iterator[Landing]:
    """Yield where the nodes go; what a subset does not show is told as such."""
    paths = (
        next((path for path in node.path.parents if dev_root.contains(path)), node.path)
        for node in nodes
    )
    return (landing_of(dev_root, path) for path in dict.fromkeys(paths))


def _is_accepted(place: Landing, explanation: Explanation) -> bool:
    """Whether nodes may be made there; what a subset does not show goes by the whole of it."""
    if place.reach is None:
        return explanation.accepted
    return place.reach.verdict in explanation.accept


def _make(
    dev_root: DevRoot,
    nodes: tuple[DeviceNode, ...],
    left: dict[DeviceNode, Outcome],
    arguments: argparse.Namespace,
) -> Made:
    """Make the nodes, except for those that are *left* as they are, with the outcome of each."""
    outcomes = dict(left)
    leftovers: dict[str, None] = {}
    asked = tuple(node for node in nodes if node not in left)
    with closing(in_steps(asked, what="device nodes", stream=sys.stderr)) as steps:
        for step in steps:
            try:
                report = mknod(
                    dev_root,
                    step,
                    on_conflict=arguments.on_conflict,
                    touch_withheld=arguments.touch_withheld,
                    dry_run=arguments.dry_run,
                )
            except NodeError as error:
                report = error.report
            outcomes.update((outcome.node, outcome) for outcome in report.outcomes)
            leftovers.update(dict.fromkeys(report.leftovers))
    return Made(
        dry_run=arguments.dry_run,
        outcomes=tuple(outcomes[node] for node in nodes),
        leftovers=tuple(leftovers),
    )


def _lines(run: Run) -> Iterator[str]:
    explanation = run.explanation
    if run.made is None:
        yield from _refusal(run)
        return
    yield from _text.fact("Dev root", str(explanation.dev_root))
    for reason in run.unknown:
        yield from _text.fact("Unknown", reason)
    yield "Where the nodes go:"
    for place in run.places:
        yield from _text.place(place)
    yield ""
    yield from _report(run.made)


def _refusal(run: Run) -> Iterator[str]:
    explanation = run.explanation
    if not explanation.accepted:
        yield _text.render(explanation)
    for place in run.places if explanation.accepted else ():
        if place.reach is not None and not _is_accepted(place, explanation):
            yield from _text.because(place.reach)
            yield ""
    why = "there is no dev root"
    if explanation.dev_root is not None:
        names = [verdict.name for verdict in BEST_FIRST if verdict in explanation.accept]
        why = f"the verdicts to accept are {', '.join(names)}, see --accept"
    yield from _text.wrap(f"Nothing was made: {why}.")


def _report(made: Made) -> Iterator[str]:
    each = made.failed or len(made.outcomes) <= _FEW
    prefix = "Dry run, nothing was changed: " if made.dry_run else ""
    yield from _text.wrap(f"{prefix}{count_text(made.counts)}")
    for outcome in made.outcomes:
        if each or outcome.result not in _AS_ASKED:
            yield from _text.wrap(
                f"{outcome.result.value} {outcome.node}", first="  - ", rest="    "
            )
            why = ": ".join(filter(None, (", ".join(outcome.differences), outcome.reason)))
            yield from _text.wrap(why, first="      ")
    for leftover in made.leftovers:
        yield from _text.wrap(f"left behind: {leftover}", first="  - ", rest="    ")


def _document(run: Run, *, version: str) -> dict[str, Any]:
    explanation, made = run.explanation, run.made
    about = _json.document_of(explanation, version=version)
    del about["schema"], about["devroot"]
    return {
        "schema": SCHEMA,
        "devroot": version,
        "status": run.status.value,
        "accept": [verdict.value for verdict in BEST_FIRST if verdict in explanation.accept],
        "explanation": about,
        "places": [
            {"accepted": _is_accepted(place, explanation), **_json.place_of(place)}
            for place in run.places
        ],
        "unknown": list(run.unknown),
        "report": None
        if made is None
        else {
            "dry_run": made.dry_run,
            "counts": made.counts,
            "outcomes": [outcome.to_dict() for outcome in made.outcomes],
            "leftovers": list(made.leftovers),
        },
    }
