"""The tests that the pages show, run by pytest as a plugin author runs them."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import devroot

pytest_plugins = ["pytester"]

PAGES = Path(__file__).parent.parent.parent / "docs" / "how-to"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLUGIN = "devroot.testing.pytest_plugin"
MOST_LINES = 9


def blocks(page: str) -> list[str]:
    """Return the programmes of a page."""
    return BLOCK.findall((PAGES / page).read_text(encoding="utf-8"))


def run(pytester: pytest.Pytester, *programmes: str) -> dict[str, int]:
    """Return how many tests of the programmes passed, failed and so on, in a pytest of their own.

    An installed devroot brings its plugin itself; one in a working tree has to be named.
    """
    (pytester.path / "test_page.py").write_text("\n\n".join(programmes), encoding="utf-8")
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    named = () if installed else ("-p", PLUGIN)
    return pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider").parseoutcomes()


@pytest.fixture(autouse=True)
def same_devroot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let that pytest find the devroot that is tested here."""
    monkeypatch.setenv("PYTHONPATH", str(Path(devroot.__file__).parent.parent))


def test_the_page_on_plugins(pytester: pytest.Pytester) -> None:
    """Every test of the page passes, as it stands there."""
    programmes = blocks("test-your-plugin.md")
    shown = sum(programme.count("def test_") for programme in programmes)
    cases = shown + 1  # one has two parameters
    assert run(pytester, *programmes) == {"passed": cases}


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
    (programme,) = (text for text in blocks("test-your-plugin.md") if f"def {name}(" in text)
    assert len(programme.splitlines()) <= MOST_LINES


def test_the_page_on_pyfakefs(pytester: pytest.Pytester) -> None:
    """Every test of the page passes under the fixture of pyfakefs."""
    programmes = blocks("pyfakefs.md")
    shown = sum(programme.count("def test_") for programme in programmes)
    assert run(pytester, *programmes) == {"passed": shown}
