"""The block of figures in ``docs/reference/benchmarks.md``, which nobody writes by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.benchmarks._rows import Row

BEGIN: Final = "<!-- The figures: `nox -s bench -- --write-page` writes what follows. -->"
END: Final = "<!-- The end of the figures. -->"

_HEAD: Final = ("row", "what is compared", "limit", "measured", "middle half", "time")


class PageError(Exception):
    """The page has no place for the figures."""


@attrs.frozen(kw_only=True)
class Line:
    """A row of the table in the page.

    Attributes:
        name: of the comparison.
        text: what is compared.
        limit: the limit, as text.
        measured: the ratio, as text.
        middle: the middle half of the rounds, or why there is no ratio.
        clock: by which time.
    """

    name: str
    text: str
    limit: str
    measured: str
    middle: str
    clock: str


def line_of(row: Row) -> Line:
    """Return what the page says of a row."""
    comparison = row.comparison
    measured, middle = row.cells
    return Line(
        name=f"`{comparison.name}`",
        text=f"{comparison.what} / {comparison.against}",
        limit=comparison.limit_text,
        measured=measured,
        middle=middle,
        clock=comparison.clock.value,
    )


def block(facts: Mapping[str, str], rows: Iterable[Row]) -> str:
    """Return the block of figures in Markdown; what a machine calls itself is no English."""
    machine = [("measured on", ""), ("---", "---"), *((name, f"`{facts[name]}`") for name in facts)]
    table = [_HEAD, ("---",) * len(_HEAD), *(attrs.astuple(line_of(row)) for row in rows)]
    paragraphs = ["\n".join(map(_written, part)) for part in (machine, table)]
    return "\n\n".join([BEGIN, *paragraphs, END])


def _written(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def with_block(page: str, new: str) -> str:
    """Return the text of the page with another block of figures.

    Raises:
        PageError: it has none.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        reason = f"no place for the figures: the page lacks {END if begin else BEGIN!r}"
        raise PageError(reason)
    return before + new + after


def lines_in(page: str) -> list[Line]:
    """Return the rows of the table in the page.

    Raises:
        PageError: it has no block of figures.
    """
    with_block(page, "")
    inside = page.partition(BEGIN)[2].partition(END)[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in inside.splitlines()
        if line.startswith("| `")
    ]
    return [Line(**dict(zip(attrs.fields_dict(Line), row, strict=True))) for row in cells]
