"""The pages about Kubernetes and OCI: their programmes run, and their tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devroot.kubernetes import ProblemCode, _host_paths
from devroot.oci import _options
from tests._kubernetes import validate

if TYPE_CHECKING:
    from types import CodeType

DOCS = Path(__file__).parents[3] / "docs"


def programme(page: str) -> tuple[CodeType, list[str]]:
    """Return the Python of a page as one programme, and the lines that it is to print.

    Those are the comments behind or, as a block, below what prints.
    """
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    source = "".join(blocks)
    promised = re.findall(r"^\s*print\(.*\)  # (.*)$|^# (.*)$", source, re.MULTILINE)
    return compile(source, page, "exec"), [beside or below for beside, below in promised]


@pytest.mark.parametrize("page", ["how-to/deploy-as-a-daemonset.md", "reference/oci.md"])
def test_examples_print_what_they_promise(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A page's programme runs, and prints what stands in the comments beside and below."""
    code, promised = programme(page)
    names: dict[str, Any] = {"__name__": "page"}
    exec(code, names)
    assert capsys.readouterr().out.splitlines() == promised
    assert len(promised) > 5
    if "manifest" in names:
        validate(names["manifest"])


def test_every_code_is_explained() -> None:
    """The reference explains each code of a problem, in the order of the code."""
    checks = (DOCS / "reference/kubernetes.md").read_text("utf-8").split("## Checks")[1]
    assert re.findall(r"^\| `([a-z-]+)` \|", checks, re.MULTILINE) == [
        code.value for code in ProblemCode
    ]


def test_every_known_directory_is_named() -> None:
    """The reference lists the directories in /dev that are known."""
    page = (DOCS / "reference/kubernetes.md").read_text("utf-8")
    (row,) = re.findall(r"Known are (.*) \|$", page, re.MULTILINE)
    assert row == ", ".join(f"`{name}`" for name in sorted(_host_paths._DIRECTORIES))


def test_every_option_is_named() -> None:
    """The reference has each option of --volume."""
    page = (DOCS / "reference/oci.md").read_text("utf-8")
    named = set(
        re.findall(r"`([A-Za-z-]+)=?`", page.split("## --volume")[1].split("## --mount")[0])
    )
    assert set().union(*_options._GROUPS) <= named
