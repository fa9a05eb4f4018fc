"""The pages about CDI specs say what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from devroot import cdi

DOCS: Final = Path(__file__).parents[3] / "docs"
HOW_TO: Final = (DOCS / "how-to/write-a-cdi-spec.md").read_text("utf-8")
REFERENCE: Final = (DOCS / "reference/cdi.md").read_text("utf-8")


def test_examples_print_what_they_promise(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's programme runs, and what it prints is in the comments at or below it."""
    programme = "".join(re.findall(r"^```python\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL))
    exec(compile(programme, "write-a-cdi-spec.md", "exec"), {"__name__": "page"})
    promised = re.findall(r"^ *print\(.*\)  # (.*)$|^# ([A-Z_]+(?: .*)?)$", programme, re.MULTILINE)
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed == [one or other for one, other in promised if other[:2] != "A "]


def test_every_problem_is_documented() -> None:
    """The reference has each kind of problem, and no other."""
    rows = re.findall(r"^\| `([A-Z_]+)` \|", REFERENCE, re.MULTILINE)
    assert rows == [code.name for code in cdi.ProblemCode]


@pytest.mark.parametrize("name", sorted(set(cdi.__all__) - {"Problem", "UnmappedPath"}))
def test_every_name_is_documented(name: str) -> None:
    """The reference speaks of all that there is."""
    assert re.search(rf"`{name}[`(]", REFERENCE)
