"""The README and the reference of the command say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devroot.__main__ import main
from devroot._evidence import ACCEPTED, Verdict
from tests._pages import Page

HERE = Path(__file__).parent.parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")


def test_quick_start_is_short() -> None:
    """The quick start is one programme that fits on a screen."""
    (programme,) = Page("README.md").blocks("python")
    assert 15 <= len([line for line in programme.splitlines() if line.strip()]) <= 22


def test_two_commands_come_first() -> None:
    """The README opens with the problem in five lines, and then has exactly two commands."""
    _title, problem, _introduction, commands, *_ = README.split("\n\n")
    assert len(problem.splitlines()) == 5
    assert [line.split("  ")[0] for line in commands.splitlines()[1:-1]] == [
        "$ python3 .ci/dev.py demo",
        "$ python3 .ci/dev.py test",
    ]


def test_every_verdict_is_explained() -> None:
    """The table of verdicts has each one, with whether it is accepted."""
    rows = re.findall(r"^\| `([A-Z]+)` \|.*\| (yes|no) \|$", README, re.MULTILINE)
    assert dict(rows) == {
        verdict.name: "yes" if verdict in ACCEPTED else "no" for verdict in Verdict
    }


def test_every_option_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference has each option of the command, and the help has no other."""
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    reference = (HERE / "docs/reference/cli.md").read_text(encoding="utf-8")
    reference = reference.split("\n## mknod\n")[0]
    assert options == set(re.findall(r"^\| `(--[a-z-]+)[ `]", reference, re.MULTILINE)) - {
        "--help",
        "--version",
    }
