"""How far a long run is, shown on a terminal and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import TextIO, TypeVar

    T = TypeVar("T")

MANY: Final = 256
"""From how many on there is something to wait for."""

_STEPS: Final = 20  # each lists the directories once more
_CLEAR: Final = "\r\x1b[K"  # to the start of the line, and erase it: ECMA-48 EL


def in_steps(things: Sequence[T], *, what: str, stream: TextIO | None) -> Generator[Sequence[T]]:
    """Yield all things at once, or, if they are many, piece by piece with the progress shown.

    Args:
        things: to do something about.
        what: what they are, in words.
        stream: where to show it, if that is a terminal; None where there is no such stream.
    """
    if len(things) < MANY or stream is None or not stream.isatty():
        yield things
        return
    size = -(-len(things) // _STEPS)
    try:
        for start in range(0, len(things), size):
            stream.write(f"{_CLEAR}{start} of {len(things)} {what}")
            stream.flush()
            yield things[start : start + size]
    finally:
        stream.write(_CLEAR)
        stream.flush()
