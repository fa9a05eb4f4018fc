"""The tests that the pages show, run by pytest as a plugin author runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import devroot
from tests._pages import Page, all_pages, plugin_option, promised, shows, walk

pytest_plugins = ["pytester"]

TESTS: Final = [page for page in all_pages() if page.is_tests()]
WALKS: Final = [page for page in all_pages() if page.is_walk()]
ON_PLUGINS: Final = Page("docs/how-to/test-your-plugin.md")
MOST_LINES: Final = 9
SHOWN: Final = re.compile(r"^def (test_\w+)", re.MULTILINE)
PASSED: Final = re.compile(r"::(test_\w+).* PASSED ")


@pytest.mark.parametrize("page", TESTS, ids=str)
def test_tests_in_pages_pass(
    page: Page, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test of a page passes, as it stands there."""
    monkeypatch.setenv("PYTHONPATH", str(Path(devroot.__file__).parent.parent))
    programme = "\n\n".join(page.blocks("python"))
    assert promised(programme) == "", "what a test prints is not compared: let it assert"
    (pytester.path / "test_page.py").write_text(programme, encoding="utf-8")
    options = (*plugin_option().split(), "-p", "no:cacheprovider", "-v")
    result = pytester.runpytest_subprocess(*options)
    assert [*result.parseoutcomes()] == ["passed"]
    # One with parameters passes several times.
    assert [*dict.fromkeys(PASSED.findall(result.stdout.str()))] == SHOWN.findall(programme)


@pytest.mark.parametrize("page", WALKS, ids=str)
def test_walks_print_what_is_shown(page: Page, tmp_path: Path) -> None:
    """Who does what a page says, in an empty directory, sees what it shows."""
    done = 0
    for command, shown, printed in walk(page, tmp_path, as_root=False):
        assert shows(shown, printed), f"{page}, {command}:\n{printed}"
        done += 1
    assert done > 3


@pytest.mark.parametrize(
    "name",
    [
        "test_the_private_dev",
        "test_a_kind_node",
        "test_a_stale_subset",
        "test_a_read_only_root",
        "test_a_missing_capability",
        "test_a_masked_proc",
    ],
)
def test_they_are_short(name: str) -> None:
    """Each way in which it goes wrong is a test of under ten lines."""
    (programme,) = (text for text in ON_PLUGINS.blocks("python") if f"def {name}(" in text)
    assert len(programme.splitlines()) <= MOST_LINES
