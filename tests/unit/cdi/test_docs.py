"""The reference of CDI is complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from devroot import cdi

DOCS: Final = Path(__file__).parents[3] / "docs"
REFERENCE: Final = (DOCS / "reference/cdi.md").read_text("utf-8")


def test_every_problem_is_documented() -> None:
    """The reference has each kind of problem, and no other."""
    rows = re.findall(r"^\| `([A-Z_]+)` \|", REFERENCE, re.MULTILINE)
    assert rows == [code.name for code in cdi.ProblemCode]


@pytest.mark.parametrize("name", sorted(set(cdi.__all__) - {"Problem", "UnmappedPath"}))
def test_every_name_is_documented(name: str) -> None:
    """The reference speaks of all that there is."""
    assert re.search(rf"`{name}[`(]", REFERENCE)
