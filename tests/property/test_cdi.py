"""Transforms of specs, for any table of mounts and any paths."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from devroot import ContainerPath, ContainerView, DeviceNode, HostPath, Mount, MountTable
from devroot.cdi import ProblemCode, check, minimum_version, to_container, to_host, validate
from devroot.errors import InvalidSpecError, NotMountedError, UnmappedPathsError
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

pytestmark = pytest.mark.property

NAMES = st.sampled_from(["a", "b", "ab", "a.b"])
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))
WRITTEN = st.lists(st.sampled_from(["a", "b", "ab", "", "."]), max_size=5).map(
    lambda names: "/" + "/".join(names)
)
TABLES = st.lists(st.builds(Mount, host=st.none() | PATHS, container=PATHS), max_size=5).map(
    MountTable
)
NODES = st.fixed_dictionaries(
    {"path": WRITTEN, "minor": st.integers(0, 3)},
    optional={"hostPath": st.just("") | WRITTEN, "type": st.just("c")},
)
MOUNTS = st.fixed_dictionaries({"hostPath": WRITTEN, "containerPath": PATHS})
HOOKS = st.fixed_dictionaries(
    {
        "hookName": st.sampled_from(["prestart", "createContainer", "startContainer", "poststop"]),
        "path": WRITTEN,
    },
    optional={"args": st.lists(WRITTEN, max_size=2)},
)
EDITS = st.fixed_dictionaries(
    {"env": st.just(["A=/a"])},
    optional={
        "deviceNodes": st.lists(NODES, max_size=3),
        "mounts": st.lists(MOUNTS, max_size=2),
        "hooks": st.lists(HOOKS, max_size=2),
    },
)


def assembled(version: str, edits: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    """Return a spec."""
    return {
        "cdiVersion": version,
        "kind": "vendor.com/class",
        "devices": [{"name": "d", "containerEdits": edits}],
        "containerEdits": common,
    }


SPECS = st.builds(assembled, st.sampled_from(["0.3.0", "0.5.0", "1.1.0"]), EDITS, EDITS)


def host_paths(spec: dict[str, Any]) -> list[str]:
    """Return every path of a spec that is the host's, in its order."""
    found: list[str] = []
    for edits in (spec["devices"][0]["containerEdits"], spec["containerEdits"]):
        found += [node.get("hostPath") or node["path"] for node in edits.get("deviceNodes", ())]
        found += [mount["hostPath"] for mount in edits.get("mounts", ())]
        found += [
            hook["path"] for hook in edits.get("hooks", ()) if hook["hookName"] != "startContainer"
        ]
    return found


def one_by_one(mounts: MountTable) -> Callable[[str], str | None]:
    """Return what a table says of one path, asked in the plainest way."""

    def ask(text: str) -> str | None:
        try:
            return str(mounts.to_host(ContainerPath(text)))
        except NotMountedError:
            return None

    return ask


@given(SPECS, TABLES)
def test_each_path_goes_where_its_mount_goes(spec: dict[str, Any], mounts: MountTable) -> None:
    """A transform says of each path what the table says of it, or all that are on no mount."""
    before = copy.deepcopy(spec)
    asked = list(map(one_by_one(mounts), host_paths(spec)))
    kept = to_host(spec, mounts, unmapped="keep")
    assert spec == before
    for path, expected, found in zip(host_paths(spec), asked, host_paths(kept), strict=True):
        assert found == (path if expected is None else expected)
    if None in asked:
        with pytest.raises(UnmappedPathsError) as caught:
            to_host(spec, mounts)
        assert len(caught.value.unmapped) == asked.count(None)
    else:
        assert to_host(spec, mounts) == kept


@given(SPECS, TABLES)
def test_there_and_back(spec: dict[str, Any], mounts: MountTable) -> None:
    """What appears in the container is at its old place again, once it has been there."""
    kept = to_container(spec, mounts, unmapped="keep")
    for path, found in zip(host_paths(spec), host_paths(kept), strict=True):
        try:
            assert str(mounts.to_container(HostPath(path))) == found
        except NotMountedError:
            assert found == path
        else:
            assert one_by_one(mounts)(found) == str(HostPath(path))


@given(SPECS, TABLES)
def test_a_second_time_changes_nothing(spec: dict[str, Any], mounts: MountTable) -> None:
    """Unless a host side lies in another mount, or mounts below it, what is done is done."""
    places = [mount.container for mount in mounts]
    for mount in mounts:
        if mount.host is not None and str(mount.host) != str(mount.container):
            host = ContainerPath(str(mount.host))
            assume(not any(host.is_relative_to(one) or one.is_relative_to(host) for one in places))
    once = to_host(spec, mounts, unmapped="keep")
    assert to_host(once, mounts, unmapped="keep") == once


@given(SPECS, TABLES)
def test_only_host_paths_change(spec: dict[str, Any], mounts: MountTable) -> None:
    """All else of a spec comes through as it was, and the spec is as valid as before."""
    found = to_host(spec, mounts, unmapped="keep")
    _take_away_host_paths(before := copy.deepcopy(spec))
    _take_away_host_paths(after := copy.deepcopy(found))
    assert after == before
    if spec["cdiVersion"] >= minimum_version(spec):
        validate(found)
    assert json.loads(json.dumps(found)) == found


def _take_away_host_paths(spec: dict[str, Any]) -> None:
    del spec["cdiVersion"]
    for edits in (spec["devices"][0]["containerEdits"], spec["containerEdits"]):
        for record in [*edits.get("deviceNodes", ()), *edits.get("mounts", ())]:
            record.pop("hostPath", None)
        for hook in edits.get("hooks", ()):
            if hook["hookName"] != "startContainer":
                del hook["path"]


TEXTS = st.text(max_size=3) | st.sampled_from(
    ["/a", "/a/../b", "//a", "c", "bind", "prestart", "A=b", "0.5.0", "1.1.0", "vendor.com/cc"]
)
SCALARS = st.none() | st.booleans() | st.integers(-1, 500) | st.floats() | TEXTS
FIELDS = [
    "cdiVersion",
    "kind",
    "devices",
    "containerEdits",
    "annotations",
    "name",
    "env",
    "deviceNodes",
    "netDevices",
    "hooks",
    "mounts",
    "intelRdt",
    "additionalGids",
    "path",
    "hostPath",
    "containerPath",
    "type",
    "major",
    "minor",
    "fileMode",
    "permissions",
    "uid",
    "gid",
    "options",
    "hookName",
    "args",
    "timeout",
    "closID",
    "schemata",
    "enableCMT",
]
KEYS = TEXTS | st.sampled_from(FIELDS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
NODE = DeviceNode(path="a", major=1, minor=1)


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """Return a spec in which anything stands somewhere."""
    spec: dict[str, Any] = copy.deepcopy(draw(SPECS))
    places = list(_places(spec))
    holder, key = draw(st.sampled_from(places))
    holder[key] = draw(ANYTHING)
    return spec


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a document: what holds it, and its key there."""
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[object]", value))
    for key, item in items:
        yield value, key
        yield from _places(item)


@given(spoilt() | st.dictionaries(KEYS, ANYTHING), TABLES)
def test_whatever_stands_there_is_told(spec: dict[str, Any], mounts: MountTable) -> None:
    """No document of JSON makes anything but an answer, or an error that names the place."""
    before = copy.deepcopy(spec)
    view = ContainerView(mounts=mounts, filesystem=TreeFileSystem(["char /a/b 1:1", "dir /b"]))
    problems = check(spec, view=view, nodes=[NODE])
    invalid = [one for one in problems if one.code is ProblemCode.INVALID]
    if invalid:
        with pytest.raises(InvalidSpecError) as caught:
            validate(spec)
        assert caught.value.location == invalid[0].location
    else:
        validate(spec)
        assert json.loads(json.dumps(spec)) == spec
    for transform in (to_host, to_container):
        with suppress(InvalidSpecError, UnmappedPathsError):
            transform(spec, mounts, arguments="map")
    assert repr(spec) == repr(before)
