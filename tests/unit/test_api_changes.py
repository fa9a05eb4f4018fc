"""Changes of the public API are found, and the changelog, the version and the snapshots agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.public_api.__main__ import write
from tests.public_api.changelog import advice, disagreements, said_since, sections, unsaid
from tests.public_api.snapshot import Change, changes, dump, load

if TYPE_CHECKING:
    from pathlib import Path

RELEASED = """\
# Changelog

## 0.2.0 - 2027-02-01

### Added

- `devroot.two()`: a second one.

## 0.1.0 - 2026-11-30

### Added

- `devroot.one()`: the first one.
"""
UNRELEASED = """\
## Unreleased

### Changed

- `devroot.mknod(dry_run=...)`, `devroot.Mount.host`: are otherwise.

### Removed

- `python -m devroot explain --json`: nobody has used it.

"""
IN_THE_MAKING = RELEASED.replace("## 0.2.0", f"{UNRELEASED}## 0.2.0", 1)


BEFORE = {
    "devroot.mknod": "function(dev_root: DevRoot, nodes: Iterable[DeviceNode])",
    "devroot.Mount": "class(*, host: HostPath)",
    "devroot.Mount.host": "attribute: HostPath",
    "devroot.errors.OddError": "the same as devroot.OddError",
    "devroot.OddError": "class(*args)",
    "python -m devroot explain": "command",
    "python -m devroot explain --json": "option",
    "JSON dev root": "object",
    "JSON dev root.dev": "field, string",
}


def test_a_snapshot_is_read_as_it_was_written() -> None:
    """Nothing is lost on the way to the file and back."""
    api = BEFORE | {"devroot.f": "function(\n    a: int,\n) -> None\nfunction() -> None"}
    assert load(dump(api)) == api
    assert load("") == {}


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("devroot.mknod", "function(dev_root: DevRoot, nodes: Iterable[DeviceNode] = ())"),
        ("devroot.mknod", "function(dev_root: DevRoot, *, nodes: Iterable[DeviceNode])"),
        ("devroot.mknod", "function(dev_root: DevRoot, nodes: Iterable[Device])"),
        ("devroot.Mount", "class(*, host: HostPath) extends PathLike"),
        ("devroot.Mount.host", "property -> HostPath"),
        ("python -m devroot explain --json", "option FILE"),
        ("JSON dev root.dev", "field, string or null"),
    ],
    ids=["default", "keyword-only", "annotation", "base", "kind", "option", "field"],
)
def test_a_change_is_found(name: str, now: str) -> None:
    """Whatever of a description differs is a change of that name alone."""
    expected = Change(kind="Changed", name=name, old=BEFORE[name], new=now)
    assert [*changes(BEFORE, BEFORE | {name: now})] == [expected]


def test_nothing_has_changed() -> None:
    """One API, described in another order, has no changes."""
    assert [*changes(BEFORE, dict(reversed(BEFORE.items())))] == []


def without(*names: str) -> dict[str, str]:
    """Return the API without these names."""
    return {name: text for name, text in BEFORE.items() if name not in names}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("devroot.mknod",), "devroot.mknod"),
        (("devroot.Mount", "devroot.Mount.host"), "devroot.Mount"),
        (("devroot.Mount.host",), "devroot.Mount.host"),
        (("devroot.OddError", "devroot.errors.OddError"), "devroot.OddError"),
        (("devroot.errors.OddError",), "devroot.errors.OddError"),
        (
            ("python -m devroot explain", "python -m devroot explain --json"),
            "python -m devroot explain",
        ),
        (("python -m devroot explain --json",), "python -m devroot explain --json"),
        (("JSON dev root", "JSON dev root.dev"), "JSON dev root"),
        (("JSON dev root.dev",), "JSON dev root.dev"),
    ],
)
def test_what_comes_and_goes_is_found(names: tuple[str, ...], told: str) -> None:
    """A class stands for its members, a command for its options, a name for its other places."""
    lacks = without(*names)
    assert [(each.kind, each.name) for each in changes(BEFORE, lacks)] == [("Removed", told)]
    assert [(each.kind, each.name) for each in changes(lacks, BEFORE)] == [("Added", told)]


def test_a_deprecation_is_told_from_a_change() -> None:
    """What is deprecated is to be found under that heading, and only on the day that it is."""
    deprecated = BEFORE | {"devroot.mknod": "function, deprecated(dev_root: DevRoot)"}
    assert [each.kind for each in changes(BEFORE, deprecated)] == ["Deprecated"]
    changed = BEFORE | {"devroot.mknod": "function, deprecated(root: DevRoot)"}
    assert [each.kind for each in changes(deprecated, changed)] == ["Changed"]


def test_what_the_changelog_says_is_understood() -> None:
    """Names stand as code under the heading of their kind, with or without what they are given."""
    said = said_since(sections(IN_THE_MAKING), "0.2.0")
    assert said == {
        "Changed": {"devroot.mknod", "devroot.Mount.host"},
        "Removed": {"python -m devroot explain --json"},
    }


@pytest.mark.parametrize(
    ("since", "until", "named"),
    [
        ("0.2.0", "", {"Changed", "Removed"}),
        ("0.1.0", "", {"Added", "Changed", "Removed"}),
        ("0.1.0", "0.2.0", {"Added"}),
        ("0.2.0", "0.2.0", set[str]()),
    ],
)
def test_only_what_is_newer_counts(since: str, until: str, named: set[str]) -> None:
    """What an older section says is of no use to who has that version already."""
    said = said_since(sections(IN_THE_MAKING), since, until=until)
    assert set(said) == named
    assert said.get("Added", frozenset()) <= {"devroot.two"}


def test_before_the_first_release_nothing_is_newer() -> None:
    """Then the snapshot is that of the version in the making, and is written anew at a change."""
    assert said_since(sections(UNRELEASED), "0.1.0") == {}


def test_what_is_not_said_is_found() -> None:
    """A change that stands nowhere, or under another heading, or as part of a name, is unsaid."""
    new = without("devroot.mknod") | {"devroot.Mount.host": "attribute: str"}
    said = {"Changed": frozenset({"devroot.Mount"}), "Added": frozenset({"devroot.mknod"})}
    assert [each.name for each in unsaid(BEFORE, new, said)] == [
        "devroot.Mount.host",
        "devroot.mknod",
    ]
    said = {"Changed": frozenset({"devroot.Mount.host"}), "Removed": frozenset({"devroot.mknod"})}
    assert [*unsaid(BEFORE, new, said)] == []


def test_the_advice_has_all_that_is_needed() -> None:
    """It names what changed, from what to what, and the line that is missing."""
    change = Change(kind="Changed", name="devroot.f", old="function()", new="function(a: int)")
    assert advice(change, since="0.1.0", released=True).splitlines() == [
        "devroot.f: changed since 0.1.0, and CHANGELOG.md does not say so",
        "  0.1.0: function()",
        "  now: function(a: int)",
        "  write under ## Unreleased, ### Changed, a line that has `devroot.f()`",
    ]
    assert advice(change, since="0.1.0", released=False).endswith("anew: nox -s api")


@pytest.mark.parametrize(
    ("version", "log", "snapshots"),
    [
        ("0.1.0.dev0", UNRELEASED, ["0.1.0"]),
        ("0.2.0", RELEASED, ["0.1.0", "0.2.0"]),
        ("0.2.0", RELEASED, ["0.2.0"]),
        ("0.2.1.dev0", IN_THE_MAKING, ["0.2.0"]),
        ("0.10.0.dev3", IN_THE_MAKING, ["0.1.0", "0.2.0"]),
    ],
)
def test_they_agree(version: str, log: str, snapshots: list[str]) -> None:
    """Before the first release, at a release, and after one."""
    assert [*disagreements(version, sections(log), snapshots)] == []


@pytest.mark.parametrize(
    ("version", "log", "snapshots", "fault"),
    [
        ("0.2.1.dev0", RELEASED, ["0.2.0"], "starts with ## Unreleased"),
        ("0.2.1", RELEASED, ["0.2.0"], "0.2.1 is a release: the changelog starts with ## 0.2.1"),
        ("0.2.0", IN_THE_MAKING, ["0.2.0"], "__version__ is a higher one"),
        ("0.2.0.dev0", IN_THE_MAKING, ["0.2.0"], "does not come after 0.2.0"),
        ("0.2.0", RELEASED, ["0.1.0"], "snapshot of the API is that of 0.2.0, and not 0.1.0"),
        ("0.2.1.dev0", IN_THE_MAKING, ["0.2.0", "0.2.1"], "is that of 0.2.0, and not 0.2.1"),
        ("0.1.0.dev0", UNRELEASED, [], "is that of 0.1.0, and not none"),
        ("0.2.0", RELEASED.replace("0.2.0 -", "v0.2.0 of"), ["0.2.0"], "of no form"),
        ("0.2.0", RELEASED.replace("2027", "2025"), ["0.2.0"], "the dates in the changelog"),
        ("0.2.0", RELEASED.replace("0.1.0 -", "0.3.0 -"), ["0.2.0"], "the versions in the"),
        ("0.2.0", RELEASED + UNRELEASED, ["0.2.0"], "comes first, and once"),
        ("0.2.1.dev0", UNRELEASED + IN_THE_MAKING, ["0.2.0"], "comes first, and once"),
        ("0.1.0.dev0", "# Changelog\n", ["0.1.0"], "no section"),
    ],
)
def test_they_disagree(version: str, log: str, snapshots: list[str], fault: str) -> None:
    """Each step of a release that was forgotten is told."""
    assert fault in "\n".join(disagreements(version, sections(log), snapshots))


def test_a_version_of_another_form_is_refused() -> None:
    """What does not sort by its numbers is no version here."""
    with pytest.raises(ValueError, match=r"write 0\.1\.0"):
        list(disagreements("1.0", sections(UNRELEASED), ["0.1.0"]))


def test_the_snapshot_is_written_when_a_release_is_made(tmp_path: Path) -> None:
    """It is written for a new version, and stays as it is once that is released."""
    assert write("a: b\n", version="0.2.0", log=RELEASED, directory=tmp_path) == (
        "0.2.0.txt is written"
    )
    assert (tmp_path / "0.2.0.txt").read_text(encoding="utf-8") == "a: b\n"
    assert write("a: b\n", version="0.2.0", log=RELEASED, directory=tmp_path) == (
        "0.2.0.txt is as it was"
    )
    with pytest.raises(ValueError, match=r"with another API.* remove 0\.2\.0\.txt first"):
        write("a: c\n", version="0.2.0", log=RELEASED, directory=tmp_path)
    assert (tmp_path / "0.2.0.txt").read_text(encoding="utf-8") == "a: b\n"


def test_the_snapshot_stands_in_for_no_changelog(tmp_path: Path) -> None:
    """Between releases it is not written: there the changelog has to say what changes."""
    with pytest.raises(ValueError, match=r"say in CHANGELOG\.md"):
        write("a: b\n", version="0.2.1.dev0", log=IN_THE_MAKING, directory=tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_before_the_first_release_the_snapshot_follows(tmp_path: Path) -> None:
    """What nobody has is changed at will."""
    for text in ("a: b\n", "a: c\n"):
        write(text, version="0.1.0.dev0", log=UNRELEASED, directory=tmp_path / "new")
        assert (tmp_path / "new" / "0.1.0.txt").read_text(encoding="utf-8") == text
