"""Run the benchmarks, and print one table of ratios: ``python tests/benchmarks/run.py --help``.

Each benchmark is a process of its own, so that none works in the memory that another has left.
The devroot that is installed is measured, or else the one beside this directory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent.parent
PAGE: Final = PROJECT / "docs" / "reference" / "benchmarks.md"

# The last place of all, so that it is the installed devroot that is found.
sys.path.append(str(PROJECT))

from tests.benchmarks import _machine, _page  # noqa: E402 - found by the line above
from tests.benchmarks._rows import LeftOut, from_json, to_json  # noqa: E402
from tests.benchmarks._timing import FULL, QUICK, Effort  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.benchmarks._rows import Comparison, Row

NAMES: Final = tuple(sorted(path.stem[len("bench_") :] for path in HERE.glob("bench_*.py")))
OWN_MOUNTS: Final = ("mknod",)
"""The benchmarks that mount something."""


def comparisons_of(name: str) -> tuple[Comparison, ...]:
    """Return what a benchmark compares, in the order of the table."""
    found: tuple[Comparison, ...] = _module(name).COMPARISONS
    return found


def measured(name: str, effort: Effort) -> Iterator[Row]:
    """Yield the rows of a benchmark, measured in this process."""
    yield from _module(name).measure(effort)


def _module(name: str) -> Any:  # noqa: ANN401 - modules have no protocol
    return importlib.import_module(f"tests.benchmarks.bench_{name}")


def rows_of(name: str, options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of a benchmark, each as soon as it is there, measured in a process of its own.

    Raises:
        subprocess.CalledProcessError: it has failed.
    """
    own_mounts = ["unshare", "--mount"] if name in OWN_MOUNTS and os.geteuid() == 0 else []
    words = ["--child", f"--rounds={options.rounds}", *(["--quick"] if options.quick else [])]
    command = [*own_mounts, sys.executable, str(Path(__file__)), name, *words]
    known = {comparison.name: comparison for comparison in comparisons_of(name)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            yield from_json(json.loads(line), known)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)


def tell(*cells: str) -> None:
    """Print a line of the table."""
    name, measured, limit, middle, clock, what = cells
    text = f"{name:<22} {measured:>7} {limit:>6}  {middle:<14} {clock:<9}  {what}"
    sys.stdout.write(f"{text.rstrip()}\n")
    sys.stdout.flush()


def tell_row(row: Row) -> None:
    """Print a row as it is found."""
    line = _page.line_of(row)
    name = row.comparison.name
    text = line.text.replace("`", "")
    if isinstance(row, LeftOut):
        tell(name, line.measured, line.limit, "left out", line.clock, f"{row.reason}: {text}")
    else:
        tell(name, line.measured, line.limit, line.middle, line.clock, text)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        description="Measure ratios, and print them with their limits."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; or all")
    parser.add_argument("--rounds", type=float, default=1, help="so many times as many rounds")
    parser.add_argument("--quick", action="store_true", help="only see that all of it works")
    parser.add_argument("--markdown", action="store_true", help="print the block for the page too")
    parser.add_argument("--write-page", action="store_true", help=f"write it to {PAGE.name}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; only {', '.join(NAMES)}")
    if options.write_page and (options.names or options.quick):
        parser.error("the page has the figures of all benchmarks, and none that mean nothing")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a ratio is above its limit."""
    options = parse(arguments)
    if options.child:
        effort = QUICK if options.quick else Effort(rounds=options.rounds, size=FULL.size)
        for row in measured(options.names[0], effort):
            sys.stdout.write(f"{json.dumps(to_json(row))}\n")
            sys.stdout.flush()
        return 0
    facts = _machine.facts()
    for name, fact in facts.items():
        sys.stdout.write(f"{name:<22} {fact}\n")
    if options.quick:
        sys.stdout.write("quick: it is seen to work, and the figures mean nothing\n")
    tell("row", "ratio", "limit", "middle half", "time", "what is compared")
    found: list[Row] = []
    for name in options.names or NAMES:
        for row in rows_of(name, options):
            tell_row(row)
            found.append(row)
    if options.markdown:
        sys.stdout.write(f"\n{_page.block(facts, found)}\n")
    above = [row.comparison.name for row in found if not isinstance(row, LeftOut) and row.is_above]
    if above and not options.quick:
        sys.stdout.write(f"above their limits: {', '.join(above)}\n")
        return 1
    if options.write_page:
        PAGE.write_text(_page.with_block(PAGE.read_text(), _page.block(facts, found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
