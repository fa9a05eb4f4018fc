"""The words of a verdict, and that the documentation lists all of them and no others."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Final

from devroot import (
    ACCEPTED,
    ContainerPath,
    Evidence,
    EvidenceCode,
    HostPath,
    Reach,
    Verdict,
    _evidence,
    _rules,
)
from devroot._evidence import BEST_FIRST
from tests._views import reach_of, view_of

PAGE: Final = (Path(__file__).parents[2] / "docs/reference/verdicts.md").read_text()


def rows_below(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of the page, without its first two lines."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def decided_by_docstring() -> dict[str, str]:
    """Return what each code decides, by the text that stands below it in the enumeration."""
    source = Path(_evidence.__file__).read_text()
    (enumeration,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == EvidenceCode.__name__
    )
    texts = (ast.unparse(node) for node in enumeration.body[1:])
    found: dict[str, str] = {}
    for assignment, docstring in zip(texts, texts, strict=True):
        code = EvidenceCode[assignment.split(" = ")[0]]
        decides = re.search(r"Decides `Verdict\.(\w+)`", docstring)
        found[code.value] = decides[1] if decides else ""
    return found


def test_the_documentation_lists_exactly_the_codes() -> None:
    """In their order, each once, with what it decides."""
    listed = [(row[0].strip("`"), row[1].strip("`")) for row in rows_below("The evidence")]
    assert listed == list(decided_by_docstring().items())
    assert [code for code, _ in listed] == [code.value for code in EvidenceCode]


def test_the_documentation_lists_exactly_the_verdicts() -> None:
    """The best one first."""
    listed = [row[0].strip("`") for row in rows_below("The verdicts")]
    assert listed == [verdict.name for verdict in BEST_FIRST]


def test_the_documented_rules_decide_as_the_codes_say() -> None:
    """Every code that decides stands in exactly one rule, with its verdict, in the same order."""
    decisions = [re.findall(r"`([^`]+)`", row[2]) for row in rows_below("The rules")]
    by_rules = [(code, verdict) for verdict, code in decisions]
    deciding = [(code, verdict) for code, verdict in decided_by_docstring().items() if verdict]
    assert sorted(by_rules) == sorted(set(deciding) - {("no-mount", "UNKNOWN")})


def test_the_documentation_numbers_the_rules() -> None:
    """There is one number for each rule that the library goes through."""
    numbers = [row[0] for row in rows_below("The rules") if row[0]]
    assert numbers == [str(number + 1) for number in range(len(_rules._RULES))]


def test_the_documentation_names_the_places_of_the_rules() -> None:
    """Where hosts, and where runtimes, mount their own."""
    (host,) = (row[1] for row in rows_below("The rules") if "host-mount" in row[2])
    assert [f"`{path}`" in host for path in _rules._MOUNTS_IN_HOST_DEV] == [True] * 4
    (runtime,) = (row[1] for row in rows_below("The rules") if "runtime-mount" in row[2])
    assert re.findall(r"`(/[^`]*)`", runtime) == [str(path) for path in _rules._MOUNTED_BY_RUNTIMES]


def test_the_verdicts_are_ordered_and_two_are_accepted() -> None:
    """The worst one answers for a whole subset; UNKNOWN never passes silently."""
    assert list(BEST_FIRST) == list(Verdict)
    assert {Verdict.HOST, Verdict.DECLARED} == ACCEPTED
    assert all(verdict.value == verdict.name.lower() for verdict in Verdict)


def test_a_reach_reads_as_a_sentence() -> None:
    """With the host path where there is one."""
    path, host_path = ContainerPath("/x"), HostPath("/y")
    assert str(Reach(container_path=path, verdict=Verdict.PRIVATE)) == "/x: PRIVATE"
    found = Reach(container_path=path, verdict=Verdict.HOST, host_path=host_path)
    assert str(found) == "/x: HOST at host path /y"


def test_a_reach_is_a_value() -> None:
    """Equal answers are equal, and one can be sent to another process."""
    reach = reach_of("/dev/x", view_of())
    assert reach == reach_of("/dev/x", view_of())
    assert pickle.loads(pickle.dumps(reach)) == reach


def test_evidence_reads_as_a_code_and_a_sentence() -> None:
    """The code is for programmes, the sentence for people."""
    assert str(Evidence(EvidenceCode.NODEV, "why")) == "[nodev] why"
