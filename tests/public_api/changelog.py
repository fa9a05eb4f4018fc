"""The changelog as a test reads it: what each version says it has added, changed, removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from tests.public_api.snapshot import Change, changes, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UNRELEASED: Final = "Unreleased"
_HEADING: Final = re.compile(r"^## (.+)\n", re.MULTILINE)
_RELEASE: Final = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)")
_KIND: Final = re.compile(r"^### (\w+)\n", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`\n]+)`")


@attrs.frozen(kw_only=True)
class Section:
    """What the changelog says of one version.

    Attributes:
        heading: the text of its heading.
        version: the version; `UNRELEASED` if it has none yet, empty if the heading is of no form.
        date: when it was released, as ``2026-11-30``; empty if it was not.
        named: the names that stand in it as code, by the heading under which they stand.
    """

    heading: str
    version: str = ""
    date: str = ""
    named: Mapping[str, frozenset[str]]


def sections(text: str) -> list[Section]:
    """Return the sections of a changelog in their order, the newest first."""
    _, *parts = _HEADING.split(text)
    found: list[Section] = []
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        release = _RELEASE.fullmatch(heading)
        version, date = release.groups() if release else (heading, "")
        if release is None and heading != UNRELEASED:
            version = ""
        found.append(Section(heading=heading, version=version, date=date, named=_named(body)))
    return found


def _named(body: str) -> dict[str, frozenset[str]]:
    """Return the names by kind; of ``devroot.mknod(dry_run=...)`` the name is ``devroot.mknod``."""
    _, *parts = _KIND.split(body)
    return {
        kind: frozenset(code.partition("(")[0] for code in _CODE.findall(lines))
        for kind, lines in zip(parts[::2], parts[1::2], strict=True)
    }


def said_since(
    found: Sequence[Section], version: str, *, until: str = ""
) -> dict[str, frozenset[str]]:
    """Return the names by kind in all sections newer than *version*, and not newer than *until*.

    Before the first release no section is newer: what is in the making is *version* itself.
    """
    newer: list[Section] = []
    if any(section.date for section in found):
        for section in found:
            if section.version == version:
                break
            newer.append(section)
    if until:
        limit = version_of(until)
        newer = [each for each in newer if each.date and version_of(each.version) <= limit]
    kinds = {kind for section in newer for kind in section.named}
    return {
        kind: frozenset().union(*(section.named.get(kind, ()) for section in newer))
        for kind in kinds
    }


def unsaid(
    old: Mapping[str, str], new: Mapping[str, str], said: Mapping[str, frozenset[str]]
) -> Iterator[Change]:
    """Yield the changes of which *said* has no word under the right heading."""
    for change in changes(old, new):
        if change.name not in said.get(change.kind, ()):
            yield change


def advice(change: Change, *, since: str, released: bool) -> str:
    """Return what is to be done about a change that the changelog does not tell.

    Args:
        change: what has changed.
        since: the version of the snapshot that has the old description.
        released: whether that version is out; before it is, its snapshot is written anew.
    """
    call = "()" if change.name[0] != "p" and "(" in (change.new or change.old) else ""
    todo = f"write under ## {UNRELEASED}, ### {change.kind}, a line that has `{change.name}{call}`"
    lines = [
        f"{change.name}: {change.kind.lower()} since {since}, and CHANGELOG.md does not say so",
        *(f"  {since}: {line}" for line in change.old.splitlines()),
        *(f"  now: {line}" for line in change.new.splitlines()),
        f"  {todo if released else 'tell it there, and write the snapshot anew: nox -s api'}",
    ]
    return "\n".join(lines)


def disagreements(
    version: str, found: Sequence[Section], snapshots: Sequence[str]
) -> Iterator[str]:
    """Say where the version, the changelog and the snapshots of the API contradict each other.

    Args:
        version: that of the package.
        found: the sections of the changelog.
        snapshots: the versions of which there is a snapshot, the oldest first.
    """
    formless = [section.heading for section in found if not section.version]
    for heading in formless:
        yield f"## {heading} is of no form; write ## {UNRELEASED}, or ## 0.1.0 - 2026-11-30"
    if not found:
        yield f"the changelog has no section; start it with ## {UNRELEASED}"
    if found and not formless:
        released = [section for section in found if section.date]
        yield from _out_of_order(found, released)
        yield from _not_the_newest(version, found[0], released)
        wanted = released[0].version if released else _number(version)
        if not snapshots or snapshots[-1] != wanted:
            last = snapshots[-1] if snapshots else "none"
            yield f"the newest snapshot of the API is that of {wanted}, and not {last}; nox -s api"


def _number(version: str) -> str:
    """Return a version without what says that it is in the making."""
    return ".".join(map(str, version_of(version)))


def _out_of_order(found: Sequence[Section], released: Sequence[Section]) -> Iterator[str]:
    if len(found) - len(released) > 1 or any(not section.date for section in found[1:]):
        yield f"## {UNRELEASED} comes first, and once"
    numbers = [version_of(section.version) for section in released]
    if sorted(set(numbers), reverse=True) != numbers:
        yield "the versions in the changelog do not descend"
    dates = [section.date for section in released]
    if sorted(dates, reverse=True) != dates:
        yield "the dates in the changelog do not descend"


def _not_the_newest(version: str, newest: Section, released: Sequence[Section]) -> Iterator[str]:
    in_the_making = ".dev" in version
    if in_the_making and newest.date:
        yield f"{version} is in the making: the changelog starts with ## {UNRELEASED}"
    if not in_the_making and newest.version != version:
        yield (
            f"{version} is a release: the changelog starts with ## {version} - and its date;"
            " for what comes after it, __version__ is a higher one that ends in .dev0"
        )
    if in_the_making and released and version_of(version) <= version_of(released[0].version):
        yield f"{version} does not come after {released[0].version}, which is released"
