"""The README and the other pages say what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from devroot.__main__ import main
from devroot._evidence import ACCEPTED, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent.parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")
PAGES = [HERE / "README.md", *sorted((HERE / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ python -m devroot "


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of the README in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def shown_commands() -> Iterator[tuple[str, str, str]]:
    """Yield the page, the arguments and the output of each command that a page shows."""
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
            if block.startswith(PROMPT):
                command, _, output = block.replace("\\\n", " ").partition("\n")
                yield page.name, command.removeprefix(PROMPT), output


def test_quick_start_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The quick start does what it says: what it prints is in the comments beside it."""
    (programme,) = blocks("python")
    exec(compile(programme, "README.md", "exec"), {"__name__": "readme"})
    promised = re.findall(r"^print\(.*\)  # (.*)$", programme, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link from a page to another file of the project leads to a file."""
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(("page", "arguments", "output"), [*shown_commands()])
def test_shown_output_is_right(
    capsys: pytest.CaptureFixture[str], page: str, arguments: str, output: str
) -> None:
    """What a page shows of a command is what the command prints, up to an ellipsis."""
    main(arguments.split())
    printed = capsys.readouterr().out
    shown = "".join(
        ".*?" if line == "...\n" else re.escape(line) for line in output.splitlines(keepends=True)
    )
    assert re.fullmatch(shown, printed, re.DOTALL), page


def test_every_field_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference has each field of the JSON document, and no other."""
    reference = (HERE / "docs/reference/cli.md").read_text(encoding="utf-8")
    reference = reference.split("\n## JSON\n")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", reference, re.MULTILINE))
    main(["explain", "--scenario", "gke", "--fallback", "root", "--nodes", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert documented == fields_of(document) - {"code", "text"}


def fields_of(value: object) -> set[str]:
    """Return the names of all fields in a JSON value."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return set(fields).union(*map(fields_of, fields.values()))
    if isinstance(value, list):
        return set[str]().union(*map(fields_of, cast("list[object]", value)))
    return set()


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
