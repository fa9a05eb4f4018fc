"""The tests that the reference of device nodes names."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "reference" / "nodes.md"


def test_every_test_that_the_reference_names_exists() -> None:
    """Each claim of the page names a test, and that test is there."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text())

    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (TOP / file).exists() or (name and f"def {name}(" not in (TOP / file).read_text())
    ]

    assert len(named) > 40
    assert missing == []
