"""What importing the package loads, counted in fresh interpreters: the page says how much."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs
import pytest

import devroot
from tests._children import environment

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "system-calls.md"
HEAVY: Final = {
    *("argparse", "ctypes", "json", "logging", "pathlib", "pyudev", "subprocess", "tempfile"),
}
HEADER: Final = ["after", "modules of devroot, at most", "heavy modules beyond those of attrs"]


def rows_of_page() -> dict[str, tuple[int, set[str]]]:
    """Return the table of imports: how many modules and which heavy ones a statement may load."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|")
    ]
    start = cells.index(HEADER) + 2
    return {
        statement.strip("`"): (
            int(most),
            {name.strip("` ") for name in heavy.split(",")} - {"none"},
        )
        for statement, most, heavy in cells[start:]
    }


ROWS: Final = rows_of_page()


@functools.cache
def modules_after(statement: str) -> frozenset[str]:
    """Return what an interpreter has loaded after *statement*, isolated from what is set here."""
    places = [str(Path(module.__file__ or "").parent.parent) for module in (devroot, attrs)]
    programme = f"import sys; sys.path += {places!r}\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", programme],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stderr == ""
    return frozenset(done.stdout.split())


def test_the_front_door_loads_nothing_else() -> None:
    """``import devroot`` loads that one module, and nothing that ``import attrs`` does not."""
    assert modules_after("import devroot") - modules_after("import attr, attrs") == {"devroot"}


@pytest.mark.parametrize("statement", list(ROWS))
def test_what_an_entrance_loads(statement: str) -> None:
    """The heavy modules that a statement loads are those that the page names, and no others.

    It loads as many modules of devroot as the page says at most.
    """
    most, heavy = ROWS[statement]
    loaded = modules_after(statement)
    assert (loaded - modules_after("import attr, attrs")) & HEAVY == heavy
    own = [name for name in loaded if name.partition(".")[0] == "devroot"]
    assert 0 < len(own) <= most


def test_the_walk_needs_no_ctypes() -> None:
    """Where paths are followed without openat2, not even ``ctypes`` is loaded."""
    start = (
        "from devroot import ContainerView, LocalFileSystem\n"
        "ContainerView.of_process(filesystem=LocalFileSystem(resolver='walk'))"
    )
    assert not modules_after(start) & HEAVY - modules_after("import attr, attrs")


def test_the_page_has_every_entrance() -> None:
    """Each public module of the package is in the table of imports."""
    package = Path(devroot.__file__).parent
    entrances = {
        "devroot" if place == package else f"devroot.{place.name}"
        for place in (package, *package.iterdir())
        if (place / "__init__.py").exists() and place.name[0] != "_"
    }
    assert len(entrances) > 5
    assert [name for name in entrances if f"import {name}" not in ROWS] == []
    assert set(PAGE.read_text().partition("None of ")[2].partition(" is loaded")[0].split("`")) > (
        HEAVY
    )
