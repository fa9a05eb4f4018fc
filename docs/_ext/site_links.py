"""How the links of the site are made to hold: to pages that it has elsewhere, and to Python's."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

NAMES = Path(__file__).parent.parent / "python-names.txt"
PYTHON = "https://docs.python.org/3"

# Pages at the root of the repository, and the pages of the site that include them.
INCLUDED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}


def write_inventory(app: Sphinx, config: Config) -> None:
    """Write what a build knows of Python's own documentation, without asking for it."""
    header = "# Sphinx inventory version 2\n# Project: Python\n# Version: 3\n# compressed by zlib\n"
    lines: list[str] = []
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            role, name, page = line.split()
            lines.append(f"{name} py:{role} 1 {page} -\n")
    inventory = Path(app.doctreedir) / "python.inv"
    inventory.parent.mkdir(parents=True, exist_ok=True)
    inventory.write_bytes(header.encode() + zlib.compress("".join(lines).encode()))
    config.intersphinx_mapping = {"python": (PYTHON, str(inventory))}


def move_links(docname: str, content: list[str], *, included: bool) -> None:
    """Turn links between pages that the site has elsewhere than the repository."""
    up = "" if included else "../" * (docname.count("/") + 1)
    for name, page in INCLUDED.items():
        here = page if included else up.removeprefix("../") + page
        content[0] = content[0].replace(f"]({up}{name}", f"]({here}")
    if included:
        content[0] = content[0].replace("](docs/", "](")


def move_links_of_page(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Turn the links of a page below ``docs/`` that lead out of it."""
    move_links(docname, content, included=False)


def move_links_of_included(_app: Sphinx, _path: Path, docname: str, content: list[str]) -> None:
    """Turn the links of a page at the root of the repository."""
    move_links(docname, content, included=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the build."""
    app.connect("config-inited", write_inventory, priority=400)  # before intersphinx looks
    app.connect("source-read", move_links_of_page)
    app.connect("include-read", move_links_of_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
