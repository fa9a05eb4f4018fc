"""The page on mutation testing: it has the rooms that are mutated, and explains real lines."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

TOP: Final = Path(__file__).parents[2]
PAGE: Final = (TOP / "docs" / "reference" / "mutation-testing.md").read_text(encoding="utf-8")
CONFIGURATION: Final = (TOP / "pyproject.toml").read_text(encoding="utf-8")


def configured(key: str) -> list[str]:
    """Return a list of texts in the table of mutmut, which Python 3.10 cannot parse."""
    table = CONFIGURATION.split("\n[tool.mutmut]\n")[1].split("\n[")[0]
    values = re.search(rf"^{key} = \[(.*?)\]$", table, re.MULTILINE | re.DOTALL)
    assert values is not None
    return re.findall(r'"([^"]+)"', values[1])


def rows() -> dict[str, list[int]]:
    """Return the numbers of each row of the table of scores."""
    found = re.findall(r"^\| (?:`([^`]+)`|all) \|(.*)\|$", PAGE, re.MULTILINE)
    return {room: [int(cell) for cell in cells.split("|")] for room, cells in found}


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """Give the script that prints the score as a module."""
    spec = importlib.util.spec_from_file_location("mutants", TOP / ".ci" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def score(
    mutants: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str, list[str]], tuple[int, str]]:
    """Give what runs the script for one mutant, and returns its status and what it prints."""
    page = tmp_path / "page.md"
    page.write_text("```diff\n--- devroot/_x.py\n-    a\n+    b\n```\n")
    monkeypatch.setattr(mutants, "PAGE", page)

    def run(outcome: str, shown: list[str]) -> tuple[int, str]:
        def mutmut(command: str, *_args: str) -> list[str]:
            return [f"    devroot._x.f__mutmut_1: {outcome}"] if command == "results" else shown

        monkeypatch.setattr(mutants, "mutmut", mutmut)
        return mutants.main(), capsys.readouterr().out

    return run


def test_the_page_has_the_rooms_that_are_mutated() -> None:
    """Each file that the configuration names and that has code to mutate, and no other."""
    files = [
        str(path.relative_to(TOP))
        for pattern in configured("only_mutate")
        for path in sorted(TOP.glob(pattern))
        if path.name != "__init__.py"
    ]
    assert list(rows())[:-1] == files


def test_the_tests_that_have_to_notice_exist() -> None:
    """A test module that was renamed would silently notice nothing any more."""
    tests = configured("pytest_add_cli_args_test_selection")
    assert tests == sorted(tests)
    assert [name for name in tests if not (TOP / name).is_file()] == []


def test_the_numbers_of_the_score_add_up() -> None:
    """In each row what was killed, had no end or survived makes all; the last row is the sum."""
    table = rows()
    assert all(made == sum(ended) for made, *ended in table.values())
    *rooms, total = table.values()
    assert total == [sum(column) for column in zip(*rooms, strict=True)]


def test_what_is_explained_is_a_change_of_the_code(mutants: ModuleType) -> None:
    """Each line that an explained mutant takes away still stands in its file."""
    changes = list(mutants.explained(PAGE))
    survivors = rows()[""][2] + rows()[""][3]
    assert len(changes) == len(set(changes)) <= survivors
    for change in changes:
        code = [line.strip() for line in (TOP / change.file).read_text().splitlines()]
        assert change.before, change
        assert change.before != change.after
        assert [line for line in change.before if line not in code] == []


def test_the_changes_in_a_diff(mutants: ModuleType) -> None:
    """Only files and changed lines count, and two changes are two explanations."""
    diff = ["--- devroot/_x.py", "+++ devroot/_x.py", "@@ -1,3 +1,3 @@", " def f():"]
    first = ["-    return a(", "-        b)", "+    return None"]
    second = ["-  c", "+  d"]
    expected = [
        mutants.Change("devroot/_x.py", ("return a(", "b)"), ("return None",)),
        mutants.Change("devroot/_x.py", ("c",), ("d",)),
    ]
    assert list(mutants.changes([*diff, *first, "", *second])) == expected
    assert list(mutants.changes([*diff, *first, *second, " more"])) == expected


@pytest.mark.parametrize(
    ("outcome", "shown", "status"),
    [
        ("killed", [], 0),
        ("not checked", [], 0),
        ("survived", ["--- devroot/_x.py", "-a", "+b"], 0),
        ("timeout", ["--- devroot/_x.py", "-a", "+b"], 0),
        ("survived", ["--- devroot/_x.py", "-a", "+c"], 1),
        ("survived", ["--- devroot/_y.py", "-a", "+b"], 1),
        ("no tests", [], 1),
    ],
)
def test_what_is_not_explained_fails(
    score: Callable[[str, list[str]], tuple[int, str]],
    outcome: str,
    shown: list[str],
    status: int,
) -> None:
    """What a test kills needs no explanation, nor what nobody asked for; the score has all."""
    returned, printed = score(outcome, shown)
    assert returned == status
    assert "devroot/_x.py" in printed
    assert ("is not explained" in printed) == bool(status)
