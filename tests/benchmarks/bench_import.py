"""What importing the package costs, net of the interpreter's start, against importing attrs.

Each is a process that imports and ends. The interpreter that runs them is isolated from the
environment (``-I``) and finds every file compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

import devroot
from tests.benchmarks._rows import Comparison
from tests.benchmarks._timing import Contender, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks._rows import Row
    from tests.benchmarks._timing import Effort

_ATTRS: Final = "`import attrs`"

STATEMENTS: Final = {
    Comparison(name="import.devroot", what="`import devroot`", against=_ATTRS, limit=1.6): (
        "import devroot"
    ),
    Comparison(
        name="import.view", what="`from devroot import ContainerView`", against=_ATTRS
    ): "from devroot import ContainerView",
    Comparison(
        name="import.dev-root",
        what="`from devroot import ContainerView, DriverRoot, DevRoot`",
        against=_ATTRS,
    ): "from devroot import ContainerView, DriverRoot, DevRoot",
    Comparison(
        name="import.all",
        what="every name of `devroot`, the node engine too",
        against=_ATTRS,
        limit=3,
    ): "from devroot import *",
}
COMPARISONS: Final = tuple(STATEMENTS)


def command(statement: str, cache: str) -> list[str]:
    """Return what starts an interpreter that does nothing but run *statement*.

    Args:
        statement: what is timed.
        cache: where compiled files are kept.
    """
    places = [str(Path(module.__file__ or "").parent.parent) for module in (devroot, attrs)]
    programme = f"import sys; sys.path += {places!r}\n{statement}"
    options = ["-I", "-X", f"pycache_prefix={cache}"]
    return [sys.executable, *options, "-c", programme]


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the rows."""
    environment = {name: text for name, text in os.environ.items() if not is_in_the_way(name)}
    with tempfile.TemporaryDirectory() as cache:
        contenders = {
            statement: Contender(
                act=partial(subprocess.run, command(statement, cache), check=True, env=environment)
            )
            for statement in ("pass", "import attrs", *STATEMENTS.values())
        }
        clock = COMPARISONS[0].clock
        seconds = take_turns(contenders, rounds=effort.rounds_of(30), clock=clock)
    for comparison, statement in STATEMENTS.items():
        turns = zip(seconds[statement], seconds["import attrs"], seconds["pass"], strict=True)
        yield comparison.figure(
            (whole - start) / (attrs_too - start) for whole, attrs_too, start in turns
        )


def is_in_the_way(name: str) -> bool:
    """Whether a variable of the environment changes what an interpreter does at its start."""
    return name.startswith(("PYTHON", "COVERAGE"))
