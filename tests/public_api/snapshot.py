"""Snapshots of the public API: one text file for each release, and what differs between two.

A line that is not indented starts the description of a name, so that ``git diff`` shows which
names a release has changed, and how.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

DIRECTORY: Final = Path(__file__).parent.parent / "data" / "public_api"

Kind = Literal["Added", "Changed", "Deprecated", "Removed"]
Version = tuple[int, int, int]


def version_of(text: str) -> Version:
    """Return the three numbers of a version, which is ``0.1.0`` or, in the making, ``0.1.0.dev0``.

    Raises:
        ValueError: it is of another form.
    """
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:\.dev\d+)?", text)
    if found is None:
        message = f"{text!r} is no version; write 0.1.0, or 0.1.0.dev0 for one in the making"
        raise ValueError(message)
    major, minor, micro = map(int, found.groups())
    return major, minor, micro


def stored(directory: Path = DIRECTORY) -> dict[str, Path]:
    """Return the files of the snapshots by their versions, the oldest first."""
    files = {path.stem: path for path in directory.glob("*.txt")}
    return dict(sorted(files.items(), key=lambda item: version_of(item[0])))


def dump(described: Mapping[str, str]) -> str:
    """Return the descriptions as the text of a snapshot."""
    shown = (text.replace("\n", "\n    ") for text in described.values())
    return "".join(f"{name}: {text}\n" for name, text in zip(described, shown, strict=True))


def load(text: str) -> dict[str, str]:
    """Return the descriptions that a snapshot holds."""
    entries = re.split(r"\n(?! )", text.removesuffix("\n"))
    pairs = (entry.split(": ", 1) for entry in entries if entry)
    return {name: description.replace("\n    ", "\n") for name, description in pairs}


@attrs.frozen(kw_only=True)
class Change:
    """A name whose description has changed, or that came or went.

    Attributes:
        kind: the heading in the changelog under which users look for it.
        name: the name in full.
        old: its description before; empty if it was not there.
        new: its description now; empty if it is no more.
    """

    kind: Kind
    name: str
    old: str = ""
    new: str = ""


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    """Yield what differs; what comes or goes with its class, command or other name, once."""
    added, removed = new.keys() - old.keys(), old.keys() - new.keys()
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, ""), new.get(name, "")
        if name in added:
            if not _comes_along(name, after, added):
                yield Change(kind="Added", name=name, new=after)
        elif name in removed:
            if not _comes_along(name, before, removed):
                yield Change(kind="Removed", name=name, old=before)
        elif before != after:
            deprecated = ", deprecated" in after and ", deprecated" not in before
            kind: Kind = "Deprecated" if deprecated else "Changed"
            yield Change(kind=kind, name=name, old=before, new=after)


def _comes_along(name: str, description: str, names: Collection[str]) -> bool:
    owner = re.sub(r"[. ][^. ]+$", "", name)
    return owner in names or description.removeprefix("the same as ") in names
