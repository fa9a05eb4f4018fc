"""The public API changes only where the changelog says so, and is read as users see it."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typing_extensions import deprecated

import devroot
import devroot.cdi
import devroot.errors
from tests.public_api.__main__ import CHANGELOG
from tests.public_api.changelog import advice, disagreements, said_since, sections, unsaid
from tests.public_api.names import ENTRANCES, PublicApi
from tests.public_api.snapshot import changes, load, stored, version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from devroot import DeviceNode, DevRoot, Plan, Report

API = PublicApi()
SECTIONS = sections(CHANGELOG.read_text(encoding="utf-8"))
STORED = stored()

# The API of this package.


def test_the_changelog_says_what_has_changed() -> None:
    """Each name that came, went or changed since the last snapshot stands in the changelog."""
    version, path = [*STORED.items()][-1]
    old = load(path.read_text(encoding="utf-8"))
    silent = [*unsaid(old, API.described, said_since(SECTIONS, version))]
    out = any(section.date for section in SECTIONS)
    if silent:  # in full, which an assertion would cut
        told = [advice(each, since=version, released=out) for each in silent]
        pytest.fail("\n".join(told), pytrace=False)


def test_the_changelog_has_said_what_changed() -> None:
    """Between two releases whose snapshots are kept it did so too."""
    for earlier, later in itertools.pairwise([*STORED]):
        old, new = (load(STORED[each].read_text(encoding="utf-8")) for each in (earlier, later))
        silent = unsaid(old, new, said_since(SECTIONS, earlier, until=later))
        assert [advice(each, since=earlier, released=True) for each in silent] == []


def test_version_changelog_and_snapshot_agree() -> None:
    """What is in the making is unreleased there; a release has its heading and its snapshot."""
    assert [*disagreements(devroot.__version__, SECTIONS, [*STORED])] == []


def test_names_say_since_when() -> None:
    """What a docstring says of when a name came is the release that first had it, or the next."""
    following = ".".join(map(str, version_of(devroot.__version__)))
    came = dict.fromkeys(API.described, following)
    for version, path in reversed(STORED.items()):
        came |= dict.fromkeys(load(path.read_text(encoding="utf-8")), version)
    said = {
        name: re.findall(r"versionadded:: (\S+)", getattr(devroot_of(name), "__doc__", None) or "")
        for name, text in API.described.items()
        if name.rpartition(".")[0] in ENTRANCES and re.match(r"class|enum|protocol|function", text)
    }
    assert len(said) > 100
    assert said == {name: [came[name]] for name in said}


def devroot_of(name: str) -> object:
    """Return what has that name."""
    module, _, attribute = name.rpartition(".")
    found: object = getattr(importlib.import_module(module), attribute)
    return found


def test_types_in_public_signatures_can_be_imported() -> None:
    """No public name takes or gives an object of a class that users cannot name."""
    assert API.private == {}


def test_typing_programmes_use_every_public_name() -> None:
    """Whatever users can import stands in a programme that type checkers have to accept."""
    used: set[str] = set()
    for path in (Path(__file__).parent.parent / "typing").glob("accepted*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                used.add(imported.get(node.id, ""))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add(f"{imported.get(node.value.id, '')}.{node.attr}")
    public = {
        text.removeprefix("the same as ")
        if text.startswith("the same as ") and name.startswith("devroot.errors.")
        else name
        for name, text in API.described.items()
        if name.rpartition(".")[0] in ENTRANCES and ".pytest_plugin." not in name
    }
    errors = {name.replace("devroot.errors.", "devroot.") for name in used}
    assert public - used - errors == set()


# How it is read.


def original(dev_root: DevRoot, nodes: Iterable[DeviceNode] = (), *, dry: bool = False) -> Report:
    """Stand for a public function."""
    raise NotImplementedError(dev_root, nodes, dry)


def other_default(
    dev_root: DevRoot, nodes: Iterable[DeviceNode] = (), *, dry: bool = True
) -> Report:
    """Have another default."""
    raise NotImplementedError(dev_root, nodes, dry)


def keyword_only(
    dev_root: DevRoot, *, nodes: Iterable[DeviceNode] = (), dry: bool = False
) -> Report:
    """Take by keyword what came by position."""
    raise NotImplementedError(dev_root, nodes, dry)


def other_name(root: DevRoot, nodes: Iterable[DeviceNode] = (), *, dry: bool = False) -> Report:
    """Call a parameter otherwise."""
    raise NotImplementedError(root, nodes, dry)


def other_type(dev_root: DevRoot, nodes: list[DeviceNode] = (), *, dry: bool = False) -> Report:  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]
    """Take less."""
    raise NotImplementedError(dev_root, nodes, dry)


def other_result(dev_root: DevRoot, nodes: Iterable[DeviceNode] = (), *, dry: bool = False) -> Plan:
    """Give something else."""
    raise NotImplementedError(dev_root, nodes, dry)


@deprecated("call the original")
def going_away(dev_root: DevRoot, nodes: Iterable[DeviceNode] = (), *, dry: bool = False) -> Report:
    """Be there for a while."""
    raise NotImplementedError(dev_root, nodes, dry)


def described(monkeypatch: pytest.MonkeyPatch, function: object) -> dict[str, str]:
    """Return the API as it is with *function* as ``devroot.mknod``."""
    monkeypatch.setattr(function, "__module__", "devroot")
    monkeypatch.setattr(devroot, "mknod", function)
    return PublicApi().described


@pytest.mark.parametrize(
    "function",
    [
        other_default,
        keyword_only,
        other_name,
        other_type,
        other_result,
        going_away,  # pyright: ignore[reportDeprecated] - as it should
    ],
    ids=["default", "keyword-only", "name", "type", "result", "deprecated"],
)
def test_a_changed_function_is_found(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., object]
) -> None:
    """Whatever changes of a function, its name is told, and no other one."""
    before = described(monkeypatch, original)
    after = described(monkeypatch, function)
    kind = "Deprecated" if hasattr(function, "__deprecated__") else "Changed"
    assert [(each.kind, each.name) for each in changes(before, after)] == [(kind, "devroot.mknod")]


def test_a_changed_class_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is what a class gains, loses, and has as something else than before."""
    monkeypatch.setattr(devroot.Reach, "summary", original, raising=False)
    monkeypatch.setattr(devroot.DriverRoot, "mount", devroot.DriverRoot.find)
    monkeypatch.delattr(devroot.Mount, "parse")
    assert [(each.kind, each.name) for each in changes(API.described, PublicApi().described)] == [
        ("Changed", "devroot.DriverRoot.mount"),
        ("Removed", "devroot.Mount.parse"),
        ("Added", "devroot.Reach.summary"),
    ]


def test_a_changed_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is what a module exports no more, exports anew, or has with another value."""
    exported = [*devroot.__all__, "extra"]
    exported.remove("examine")
    monkeypatch.setattr(devroot, "extra", original, raising=False)
    monkeypatch.setattr(devroot, "__all__", exported)
    monkeypatch.setattr(devroot.cdi, "STATIC_DIRECTORY", devroot.ContainerPath("/usr/share/cdi"))
    assert [(each.kind, each.name) for each in changes(API.described, PublicApi().described)] == [
        ("Changed", "devroot.cdi.STATIC_DIRECTORY"),
        ("Removed", "devroot.examine"),
        ("Added", "devroot.extra"),
    ]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("devroot.ACCEPTED", "constant = {Verdict.DECLARED, Verdict.HOST}"),
        ("devroot.Verdict.HOST", "member = 'host'"),
        ("devroot.OnConflict", "alias = Literal['repair', 'error', 'keep']"),
        ("devroot.errors.NodeError", "the same as devroot.NodeError"),
        ("devroot.HostDevFallback", "class(container: str | ContainerPath = ContainerPath('/'))"),
        (
            "devroot.LocalFileSystem",
            """\
class(
    *,
    resolver: Literal['auto', 'openat2', 'walk', 'portable'] = 'auto',
)""",
        ),
        ("devroot.Plan", "class, made by devroot alone"),
        ("devroot.Fallback", "protocol, runtime_checkable"),
        ("devroot.DevRoot.dev", "property -> ContainerPath"),
        ("devroot.ContainerPath.from_bytes", "class method(data: bytes) -> Self"),
        ("devroot.MountInfoError.reason", "attribute: str"),
        (
            "devroot.nvidia.Parameters.get",
            """\
method(name: str) -> int | str | None
method(name: str, default: _T) -> int | str | _T""",
        ),
        ("devroot.testing.pytest_plugin.fake_host", "fixture -> FakeHost"),
        ("python -m devroot", "command"),
        ("python -m devroot explain --json", "option"),
        ("python -m devroot explain --mount", "option HOST:CONTAINER[:ro], several times"),
        ("python -m devroot mknod --on-conflict", "option {repair,error,keep} = repair"),
        ("JSON reach", "object"),
        ("JSON reach.host_path", "field, string or null"),
        ("JSON dev root.names", "field, array of strings or null"),
        ("JSON explain.candidates", "field, array of candidate"),
        ("python -m devroot mknod --accept", "option VERDICT,VERDICT = declared,host"),
    ],
)
def test_each_kind_of_name_is_described(name: str, description: str) -> None:
    """What is told of a name is what users can rely on, with private aliases written out."""
    assert API.described[name] == description


def test_every_public_exception_is_among_the_errors() -> None:
    """Those of `devroot.errors` are all, except for the death of a process in a fake."""
    raised = {
        name.rpartition(".")[2]
        for name, text in API.described.items()
        if re.search(r" extends .*(Error|Exception)\b", text)
    }
    assert raised == {*devroot.errors.__all__, "ProcessKilled"}
