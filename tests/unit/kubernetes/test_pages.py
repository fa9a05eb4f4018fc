"""The pages about Kubernetes and OCI: the manifest is valid, and the tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from devroot.kubernetes import ProblemCode, _host_paths
from devroot.oci import _options
from tests._kubernetes import validate
from tests._pages import Page, run_programme

if TYPE_CHECKING:
    import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_the_manifest_of_the_page_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page makes of its DaemonSet is as Kubernetes wants it."""
    names = run_programme(Page("docs/how-to/deploy-as-a-daemonset.md"), monkeypatch)
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
