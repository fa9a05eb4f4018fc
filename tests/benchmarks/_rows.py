"""The rows of the table: what is compared, and what was found."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Final

import attrs

from tests.benchmarks._timing import Clock, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.benchmarks._timing import Contender


NONE: Final = "\N{EN DASH}"
"""What stands where there is no number."""


@attrs.frozen(kw_only=True)
class Comparison:
    """Two contenders, and how much of the second one's time the first one may take.

    Attributes:
        name: of the row, such as ``mounts.parse``.
        what: the first contender: what this library does.
        against: the second one.
        limit: what the ratio may be at most; None if it is only for information.
        clock: by which time.
    """

    name: str
    what: str
    against: str
    limit: float | None = None
    clock: Clock = Clock.CPU

    @property
    def limit_text(self) -> str:
        """The limit as the table shows it."""
        return NONE if self.limit is None else f"{self.limit:g}"

    def figure(self, ratios: Iterable[float]) -> Figure:
        """Return what was found, from the ratio of each round."""
        return Figure.of(self, ratios)

    def left_out(self, reason: str) -> LeftOut:
        """Return that nothing was measured."""
        return LeftOut(comparison=self, reason=reason)


@attrs.frozen(kw_only=True)
class Figure:
    """What was found of a comparison.

    Attributes:
        comparison: which one.
        ratio: the median of the ratios of the rounds.
        low: below it lies a quarter of them.
        high: above it lies a quarter of them.
    """

    comparison: Comparison
    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, comparison: Comparison, ratios: Iterable[float]) -> Figure:
        """Return the figure that the rounds give."""
        found = sorted(ratios)
        low, _, high = statistics.quantiles(found, method="inclusive") if found[1:] else found * 3
        return cls(comparison=comparison, ratio=statistics.median(found), low=low, high=high)

    @property
    def is_above(self) -> bool:
        """Whether the ratio is above its limit."""
        return self.comparison.limit is not None and self.ratio > self.comparison.limit

    @property
    def cells(self) -> tuple[str, str]:
        """The ratio and the middle half of the rounds, as the table shows them."""
        return shown(self.ratio), f"{shown(self.low)} to {shown(self.high)}"


@attrs.frozen(kw_only=True)
class LeftOut:
    """A comparison that was not made.

    Attributes:
        comparison: which one.
        reason: why not, such as that the other programme is not installed.
    """

    comparison: Comparison
    reason: str

    @property
    def cells(self) -> tuple[str, str]:
        """What the table shows instead."""
        return NONE, self.reason


Row = Figure | LeftOut


def shown(ratio: float) -> str:
    """Return a ratio with as many digits as mean something."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def compared(
    pairs: Mapping[Comparison, tuple[str, str]], contenders: Mapping[str, Contender], *, rounds: int
) -> Iterator[Figure]:
    """Let the contenders take turns, and yield the figure of each pair of them."""
    (clock,) = {comparison.clock for comparison in pairs}
    seconds = take_turns(contenders, rounds=rounds, clock=clock)
    for comparison, (one, other) in pairs.items():
        ratios = zip(seconds[one], seconds[other], strict=True)
        yield comparison.figure(first / second for first, second in ratios)


def to_json(row: Row) -> dict[str, Any]:
    """Return a row as JSON can hold it; the name stands for the comparison."""
    found = attrs.asdict(row, recurse=False)
    return {**found, "comparison": row.comparison.name}


def from_json(found: dict[str, Any], comparisons: Mapping[str, Comparison]) -> Row:
    """Return the row that `to_json` has told."""
    comparison = comparisons[found["comparison"]]
    if "reason" in found:
        return comparison.left_out(found["reason"])
    return Figure(comparison=comparison, ratio=found["ratio"], low=found["low"], high=found["high"])
