#!/usr/bin/env python3
"""Check the links of the documentation site that was built: no network is needed.

    python3 .ci/site.py build/docs/html

Each link within the site leads to a page and an anchor that are there. Each link to elsewhere is
https, and to a host that somebody has looked at. Each name of Python in docs/python-names.txt is
linked to.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON: Final = "https://docs.python.org/3"
HOSTS: Final = frozenset(
    {
        "docs.python.org",
        "github.com",  # the theme's own page, in the foot of each page
        "keepachangelog.com",
        "pradyunsg.me",  # its author
        "pytest-pyfakefs.readthedocs.io",
        "semver.org",
        "www.sphinx-doc.org",
    }
)


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what the tag links to, and its anchor."""
        for name, value in attrs:
            if value is not None and name == "id":
                self.anchors.add(value)
            # Also what a page loads: scripts, styles and images.
            if value is not None and (name in {"href", "src"} or (tag, name) == ("object", "data")):
                self.links.append(value)


def fault_outside(link: str) -> str:
    """Return what is wrong with a link to elsewhere, else an empty text."""
    try:
        parts = urlsplit(link)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme != "https":
        return "it is not https"
    if host not in HOSTS or port is not None:
        return f"nobody has looked at the host {parts.netloc!r}: see HOSTS in .ci/site.py"
    return ""


def fault_inside(link: str, path: Path, pages: dict[Path, Page]) -> str:
    """Return what is wrong with a link within the site on the page *path*, else an empty text."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "there is no such page"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "there is no such anchor"
    return ""


def unused_names(links: set[str], names: str) -> Iterator[str]:
    """Yield a fault for each line of *names* that none of the links needs."""
    for line in names.splitlines():
        if line and not line.startswith("#") and f"{PYTHON}/{line.split()[-1]}" not in links:
            yield f"docs/python-names.txt: no page refers to this any more: {line}"


def faults(site: Path, names: str) -> Iterator[str]:
    """Yield what is wrong with the links of all pages below *site*."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"no page stands below {site}"
    for path, page in pages.items():
        for link in sorted(set(page.links)):
            inside = not urlsplit(link).scheme and not link.startswith("//")
            fault = fault_inside(link, path, pages) if inside else fault_outside(link)
            if fault:
                yield f"{path.relative_to(site.resolve())}: {link}: {fault}"
    yield from unused_names({link for page in pages.values() for link in page.links}, names)


if __name__ == "__main__":
    names = Path(__file__).parent.parent / "docs" / "python-names.txt"
    found = list(faults(Path(sys.argv[1]), names.read_text(encoding="utf-8")))
    print("\n".join(found) or "all links lead somewhere")
    sys.exit(bool(found))
