"""The reference of JSON: each document has the fields that it lists, of the types that it says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from devroot import Action, DeviceNode, EvidenceCode, NodeError, Result, Verdict, mknod, plan
from devroot.__main__ import main
from devroot._cli._explanation import State
from devroot._cli._making import Status
from devroot.nvidia import Presence
from devroot.testing import FakeHost, FakeUdev, scenario, scenario_names
from tests._pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = Page("docs/reference/json.md").text
ROW: Final = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", re.MULTILINE)
PLAIN: Final[dict[str, type]] = {"string": str, "number": int, "boolean": bool}
VALUES: Final = {
    "verdict": Verdict,
    "presence": Presence,
    "result": Result,
    "action": Action,
    "state": State,
    "status": Status,
}


def sections() -> dict[str, dict[str, str]]:
    """Return by its name in links each object: the type of each of its fields."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]:
        rows = ROW.findall(section)
        if rows and "| field | type |" in section:
            name = section.partition("\n")[0].lower().replace(" ", "-")
            found[name] = {field: type_ for field, type_, _ in rows}
    return found


OBJECTS: Final = sections()


def faults(value: object, type_: str, place: str) -> Iterator[str]:
    """Yield each place in a document where something else stands than the reference says."""
    if type_.endswith(" or null"):
        if value is None:
            return
        type_ = type_.removesuffix(" or null")
    if type_.startswith("array of "):
        if not isinstance(value, list):
            yield f"{place} is no array"
            return
        one = "string" if type_ == "array of strings" else type_.removeprefix("array of ")
        for index, item in enumerate(cast("list[object]", value)):
            yield from faults(item, one, f"{place}[{index}]")
    elif type_ == "object of numbers":
        for name, number in cast("dict[str, object]", value).items():
            yield from faults(number, "number", f"{place}.{name}")
    elif type_ in PLAIN:
        if type(value) is not PLAIN[type_]:
            yield f"{place} is no {type_}"
    else:
        yield from _faults_of_object(value, type_, place)


def _faults_of_object(value: object, type_: str, place: str) -> Iterator[str]:
    (name,) = re.findall(r"^\[[\w ]+\]\(#([a-z-]+)\)$", type_) or [type_]
    fields = dict(OBJECTS[name])
    if place.endswith(".explanation"):
        del fields["schema"], fields["devroot"]
    found = cast("dict[str, object]", value)
    for field in sorted(fields.keys() ^ found.keys()):
        yield f"{place}.{field} is in one of both"
    for field in sorted(fields.keys() & found.keys()):
        yield from faults(found[field], fields[field], f"{place}.{field}")


def values_of(value: object, field: str) -> Iterator[object]:
    """Yield all that stands in fields of that name, in a whole document."""
    if isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            if name == field:
                yield item
            yield from values_of(item, field)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from values_of(item, field)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the document that a command prints."""
    main([*arguments, "--json"])
    return cast("dict[str, Any]", json.loads(capsys.readouterr().out))


EXPLAINED: Final = [
    *(("explain", "--scenario", name, "--nodes") for name in scenario_names()),
    ("explain", "--scenario", "gke", "--fallback", "root"),
    ("explain", "--scenario", "gke", "--fallback", "host-dev:/none", "--nodes"),
    ("explain", "--scenario", "kind", "--fallback", "subset:/none:a", "--fallback", "root"),
    ("explain", "--scenario", "gke", "--mount", "/dev:/dev:ro", "--fallback", "host-dev"),
]
MADE: Final = [
    ("mknod", "--scenario", "gke", "--capability", "fabric-imex-mgmt", "--imex-channels", "0-2"),
    ("mknod", "--scenario", "imex", "--gpus", "--control", "--dry-run"),
    ("mknod", "--scenario", "gke", "--fallback", "root", "--control"),
    ("mknod", "--scenario", "gke", "--gpus", "--accept", "private", "--fallback", "root"),
]


@pytest.mark.parametrize("arguments", [*EXPLAINED, *MADE], ids=" ".join)
def test_documents_are_as_described(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Every field that is printed is listed and of its type, and every field listed is printed."""
    document = printed(capsys, *arguments)
    assert [*faults(document, arguments[0], arguments[0])] == []
    for field, values in VALUES.items():
        known = {value.value for value in values}
        assert {*values_of(document, field)} - {None} <= known


def test_the_document_of_devices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is that of devices, with one on a PCI bus and one that is nowhere."""
    host = FakeHost()
    host.devtmpfs("/dev")
    udev = FakeUdev(host)
    udev.plug("infiniband/uverbs0", major=231, minor=192, subsystem="x", pci="0000:3b:00.0")
    udev.plug("kfd", major=511, minor=0, subsystem="kfd")
    pod = host.container(mounts=["/dev/infiniband:/host-dev/dev/infiniband"])
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: pod.filesystem)
    for fallback in ("root", "subset:/host-dev:infiniband"):
        document = printed(capsys, "devices", "--fallback", fallback)
        assert len(document["devices"]) > 1
        assert [*faults(document, "devices", "devices")] == []


def test_plans_and_reports_are_as_described() -> None:
    """What `to_dict` gives in Python is the same, whatever became of the nodes."""
    scene = scenario("gke")
    dev_root = scene.driver_root.dev_root()
    scene.container.add("file /dev/b", "dir /dev/c", "char /dev/d 1:1 0600")
    nodes = [DeviceNode(path=name, major=1, minor=1) for name in "abcd"]
    nodes.append(DeviceNode(path="e", major=1, minor=1, withheld="not ours"))
    planned = plan(dev_root, nodes)
    assert {*planned.to_dict()["counts"]} == {"create", "repair", "conflict", "withheld"}
    assert [*faults(planned.to_dict(), "plan", "plan")] == []
    with pytest.raises(NodeError) as caught:
        mknod(dev_root, nodes)
    document = caught.value.report.to_dict()
    assert {*document["counts"]} == {"created", "repaired", "failed", "withheld"}
    assert [*faults(document, "report", "report")] == []
    assert json.loads(json.dumps(document)) == document


def test_what_is_not_as_described_is_found() -> None:
    """A field too many, one too few, and one of another type are told by their place."""
    node = DeviceNode(path="a", major=1, minor=1).to_dict()
    assert [*faults(node, "node", "node")] == []
    wrong: dict[str, object] = {**node, "more": 1, "mode": 438}
    del wrong["uid"]
    assert [*faults(wrong, "node", "node")] == [
        "node.more is in one of both",
        "node.uid is in one of both",
        "node.mode is no string",
    ]
    assert [*faults([True], "array of strings", "x")] == ["x[0] is no string"]
    assert [*faults("a", "array of strings", "x")] == ["x is no array"]
    assert [*faults(True, "number or null", "x")] == ["x is no number"]  # noqa: FBT003 - a value


def test_every_object_is_of_use() -> None:
    """Each object that is described is the type of a field, or a document."""
    used = {name for text in OBJECTS.values() for name in re.findall(r"\(#([\w-]+)\)", str(text))}
    documents = {"explain", "mknod", "devices", "plan", "report"}
    assert documents < OBJECTS.keys()
    assert used | documents == OBJECTS.keys()


def test_every_value_is_listed() -> None:
    """The values of fields are those of the enumerations, in their order."""
    rows = dict(re.findall(r"^\| `(\w+)`(?:, `\w+`)* \| (`.+?) \| ", PAGE, re.MULTILINE))
    for field, values in VALUES.items():
        assert rows[field] == ", ".join(f"`{value.value}`" for value in values), field
    evidence = Page("docs/reference/verdicts.md").text.split("\n## The evidence\n")[1]
    assert re.findall(r"^\| `([a-z-]+)` \|", evidence, re.MULTILINE) == [
        code.value for code in EvidenceCode
    ]
