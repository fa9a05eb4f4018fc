"""The explanations: the tests that they name exist, and their diagrams can be drawn."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Final

import pytest

from tests._pages import TOP, Page, all_pages
from tests.conftest import IN_CI

DIAGRAM: Final = re.compile(
    r"^```\{graphviz\}\n((?::\w+: [^\n]+\n)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
DRAWN: Final = [
    pytest.param(source, options, id=f"{page}-{number}")
    for page in all_pages()
    for number, (options, source) in enumerate(DIAGRAM.findall(page.text), start=1)
]


@pytest.mark.parametrize(("name", "least"), [("reach", 15), ("threat-model", 60)])
def test_every_test_that_a_page_names_exists(name: str, least: int) -> None:
    """Each claim of such a page names a test, and that test is there."""
    page = Page(f"docs/explanation/{name}.md")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.text)
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (TOP / file).exists() or (test and f"def {test}(" not in (TOP / file).read_text())
    ]
    assert missing == []
    assert len(named) >= least


def test_every_row_of_the_threat_model_names_a_test() -> None:
    """A guarantee without a test that fails without it is none."""
    page = Page("docs/explanation/threat-model.md").text
    rows = [row for row in re.findall(r"^\| (.*) \|$", page, re.MULTILINE) if row[-6:] != " tests"]
    assert len(rows) > 35
    assert [row for row in rows if "::test_" not in row.rpartition(" | ")[2]] == []


def test_the_four_set_ups_are_drawn() -> None:
    """Each has a diagram, right below its own heading."""
    sections = Page("docs/explanation/views.md").text.split("\n## ")
    drawn = [section[:2] for section in sections if "```{graphviz}" in section]
    assert drawn == ["1.", "2.", "3.", "4."]


@pytest.mark.parametrize(("source", "options"), DRAWN)
def test_a_diagram_can_be_drawn_and_read_out(source: str, options: str) -> None:
    """It has a caption, a text for those who do not see it, a white ground, and no fault."""
    assert re.fullmatch(r":caption: .{40,}\n:alt: .{100,}\n", options)
    assert "bgcolor=white" in source
    if shutil.which("dot") is None:
        if IN_CI:
            pytest.fail("CI draws the diagrams, which needs dot, from graphviz", pytrace=False)
        pytest.skip("needs dot, from graphviz")
    done = subprocess.run(
        ["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in done.stdout
