"""How all benchmarks time: contenders take turns, and a figure is the median over the rounds.

What else the machine does falls on all of them, and only what happens within one round is
compared. Own code is timed by the processor time that it uses, user and system, which a busy
machine changes least; where a process stands against a process, or against a call, it is the
time that passes.
"""

from __future__ import annotations

import enum
import gc
import random
import resource
import time
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NameT = TypeVar("NameT")


class Clock(enum.Enum):
    """What is read before and after."""

    CPU = "processor"
    WALL = "elapsed"

    def now(self) -> float:
        """Return seconds; those of the processor with the children that have ended."""
        if self is Clock.WALL:
            return time.perf_counter()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime


@attrs.frozen
class Effort:
    """How much is done for a figure.

    Attributes:
        rounds: by what the usual number of rounds is multiplied.
        size: by what the usual sizes are multiplied.
    """

    rounds: float = 1.0
    size: float = 1.0

    def rounds_of(self, usual: int) -> int:
        """Return how often the contenders take turns."""
        return max(1, round(usual * self.rounds))

    def size_of(self, usual: int) -> int:
        """Return how large the thing is that they work on."""
        return max(2, round(usual * self.size))


FULL: Final = Effort()
QUICK: Final = Effort(rounds=0, size=0.01)
"""Only to see that it works: the figures mean nothing."""


def _nothing() -> None:
    """Prepare nothing."""


@attrs.frozen(kw_only=True)
class Contender:
    """What is timed.

    Attributes:
        act: does the thing.
        before: sets the scene for a turn, untimed.
        repeats: how often it is done in a turn.
        units: how many things it does each time; the time counts for one of them.
    """

    act: Callable[[], object]
    before: Callable[[], object] = _nothing
    repeats: int = 1
    units: int = 1


def take_turns(
    contenders: Mapping[NameT, Contender], *, rounds: int, clock: Clock
) -> dict[NameT, list[float]]:
    """Return the seconds of each contender, round by round.

    A first round, after which everything is loaded and cached, does not count. The order is
    another one in each. Garbage is collected before each turn, so that nobody pays for another's;
    during a turn the collector works as in any programme.
    """
    seconds: dict[NameT, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    gc.collect()
    gc.freeze()
    for number in range(rounds + 1):
        random.Random(number).shuffle(order)
        for name in order:
            contender = contenders[name]
            contender.before()
            gc.collect()
            act, repeats = contender.act, contender.repeats
            begin = clock.now()
            for _ in range(repeats):
                act()
            taken = (clock.now() - begin) / (repeats * contender.units)
            if number:
                seconds[name].append(taken)
    gc.unfreeze()
    return seconds
