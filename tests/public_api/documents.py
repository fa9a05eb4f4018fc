"""The JSON documents as part of the public API: objects and fields, as the reference has them.

Other tests hold the reference to what the commands print, so it can be taken at its word.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "reference" / "json.md"
_SECTION: Final = re.compile(r"^##+ (.+)\n((?:(?!##).*\n?)*)", re.MULTILINE)
_ROW: Final = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^]]+)\]\([^)]+\)")


def documents() -> dict[str, str]:
    """Return each object and field, such as ``JSON reach.verdict``, with its type."""
    found: dict[str, str] = {}
    for heading, body in _SECTION.findall(PAGE.read_text(encoding="utf-8")):
        if not (table := body.partition("| field | type |")[2]):
            continue
        name = f"JSON {heading.lower()}"
        found[name] = "object"
        for field, kind in _ROW.findall(table):
            found[f"{name}.{field}"] = f"field, {_LINK.sub(lambda link: link[1], kind)}"
    return found
