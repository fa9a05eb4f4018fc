#!/usr/bin/env python3
"""Give the score of a mutation run, room by room, and fail for a survivor that nobody explained.

    mutmut run && python3 .ci/mutants.py

What survived, and why that is right, stands in docs/reference/mutation-testing.md as diffs. Each
mutant that no test killed has to be among them, also one that merely ran out of time.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE: Final = Path(__file__).resolve().parent.parent
PAGE: Final = HERE / "docs" / "reference" / "mutation-testing.md"
KILLED: Final = "killed"
NOT_ASKED_FOR: Final = "not checked"  # where a run was for some of the mutants
COLUMNS: Final = ("mutants", KILLED, "timeout", "survived", "explained", NOT_ASKED_FOR)
ROW: Final = "{:<32}{:>9}{:>9}{:>9}{:>10}{:>11}{:>13}"


class Change(NamedTuple):
    """What a mutant changes: a file, and the lines before and after, without their indents."""

    file: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def changes(lines: Iterable[str]) -> Iterator[Change]:
    """Yield each change in a diff, of which only the names and the changed lines count."""
    file = ""
    before: list[str] = []
    after: list[str] = []
    for line in [*lines, ""]:
        sign, text = line[:1], line[1:].strip()
        is_name = line.startswith(("--- ", "+++ "))
        if (before or after) and (is_name or sign not in {"-", "+"} or (sign == "-" and after)):
            yield Change(file, tuple(before), tuple(after))
            before, after = [], []
        if is_name:
            file = line[4:].strip()
        elif sign == "-":
            before.append(text)
        elif sign == "+":
            after.append(text)


def explained(page: str) -> Iterator[Change]:
    """Yield the changes of the mutants that a page explains."""
    for block in re.findall(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        yield from changes(block.splitlines())


def mutmut(*args: str) -> list[str]:
    """Return the lines that a command of mutmut prints."""
    command = ["mutmut", *args]
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def file_of(mutant: str) -> str:
    """Return the file of a mutant: ``devroot._mounts.x_f__mutmut_1`` is in devroot/_mounts.py."""
    return mutant.rpartition(".")[0].replace(".", "/") + ".py"


def main() -> int:
    """Print the score; return whether a mutant survived that is not explained."""
    known = set(explained(PAGE.read_text(encoding="utf-8")))
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    faults: list[str] = []
    for line in mutmut("results", "--all", "true"):
        mutant, _, outcome = line.strip().partition(": ")
        tally = counts[file_of(mutant)]
        tally["mutants"] += 1
        tally[outcome] += 1
        if outcome not in {KILLED, NOT_ASKED_FOR}:
            shown = mutmut("show", mutant)
            made = set(changes(shown))
            if made and made <= known:
                tally["explained"] += 1
            else:
                faults.append("\n".join([f"{mutant} ({outcome}) is not explained:", *shown]))
    print(ROW.format("room", *COLUMNS))
    for room, tally in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        print(ROW.format(room, *(tally[column] for column in COLUMNS)))
    print(*faults, sep="\n\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
