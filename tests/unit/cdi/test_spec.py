"""Specs from their parts: the fields, the names and the versions of the specification."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any, cast

import pytest

from devroot import DeviceNode
from devroot.cdi import (
    ProblemCode,
    check,
    described,
    device,
    edits,
    file_name,
    minimum_version,
    qualified_name,
    spec,
    validate,
)
from devroot.errors import InvalidSpecError

NODE = described(DeviceNode(path="nvidia0", major=195, minor=0))
EDITS = edits(device_nodes=[NODE])
HOOK = {"hookName": "createContainer", "path": "/usr/bin/hook"}
MOUNT = {"hostPath": "/a", "containerPath": "/b"}


def spec_of(**found: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON can hold
    """Return a spec with one device, whose edits are *found*."""
    return {
        "cdiVersion": "1.1.0",
        "kind": "vendor.com/class",
        "devices": [{"name": "d", "containerEdits": {"env": ["A=b"], **found}}],
    }


def changed(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON can hold
    """Return a good spec with other fields; those that are None are left out."""
    found = {**spec_of(env=["A=b"]), **fields}
    return {name: value for name, value in found.items() if value is not None}


def location_of(document: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    """Return what `validate` finds fault with."""
    with pytest.raises(InvalidSpecError) as caught:
        validate(document)
    if isinstance(document, dict):
        told = check(cast("dict[str, Any]", document))
        assert caught.value.location in {
            problem.location for problem in told if problem.code is ProblemCode.INVALID
        }
    return caught.value.location


def test_a_spec() -> None:
    """It has the form of the specification, and nothing that was not asked for."""
    assert spec("vendor.com/class", [device("gpu0", EDITS)]) == {
        "cdiVersion": "0.3.0",
        "kind": "vendor.com/class",
        "devices": [{"name": "gpu0", "containerEdits": {"deviceNodes": [NODE]}}],
    }


def test_all_of_a_spec() -> None:
    """Every part is passed through in its place."""
    everything = edits(
        env=["A=b"],
        device_nodes=[NODE],
        net_devices=[{"hostInterfaceName": "eth1", "name": "net0"}],
        hooks=[{**HOOK, "args": ["hook", "x"], "env": ["C=d"], "timeout": 1}],
        mounts=[{**MOUNT, "options": ["ro"], "type": "bind"}],
        intel_rdt={"closID": "a", "schemata": ["L3:0=f"], "enableMonitoring": True},
        additional_gids=[44],
    )
    found = spec(
        "vendor.com/class",
        [device("gpu0", everything, annotations={"vendor.com/a": "b"})],
        container_edits=everything,
        annotations={"c": "d"},
    )
    assert found["containerEdits"] == found["devices"][0]["containerEdits"] == everything
    assert list(everything) == [
        "env",
        "deviceNodes",
        "netDevices",
        "hooks",
        "mounts",
        "intelRdt",
        "additionalGids",
    ]
    assert found["annotations"] == {"c": "d"}
    assert found["devices"][0]["annotations"] == {"vendor.com/a": "b"}
    assert found["cdiVersion"] == "1.1.0"
    validate(found)


def test_a_spec_shares_nothing_with_its_parts() -> None:
    """To change the parts afterwards changes nothing in the spec, and the other way round."""
    parts = device("gpu0", EDITS)
    before = copy.deepcopy(parts)
    found = spec("vendor.com/class", [parts], container_edits=EDITS)
    found["devices"][0]["containerEdits"]["deviceNodes"][0]["minor"] = 7
    found["containerEdits"]["deviceNodes"].clear()
    assert parts == before
    assert EDITS == {"deviceNodes": [NODE]}


def test_parts_can_be_any_mappings_and_sequences() -> None:
    """What comes out is plain all the same, for `json` takes nothing else."""
    hook = MappingProxyType({**HOOK, "args": ("hook", "x")})
    assert edits(hooks=(hook,)) == {"hooks": [{**HOOK, "args": ["hook", "x"]}]}


def test_empty_edits_are_no_edits() -> None:
    """A device has to edit something, or there is no point in asking for it."""
    assert edits() == {}
    with pytest.raises(InvalidSpecError, match="edits something") as caught:
        spec("vendor.com/class", [device("d", {})])
    assert caught.value.location == "devices[0].containerEdits"


def test_edits_say_what_is_wrong_with_them() -> None:
    """A mistake is found where it is made."""
    with pytest.raises(InvalidSpecError, match="no such field") as caught:
        edits(mounts=[{**MOUNT, "readOnly": True}])
    assert caught.value.location == "containerEdits.mounts[0].readOnly"


@pytest.mark.parametrize(
    ("found", "version"),
    [
        (spec_of(deviceNodes=[{"path": "/dev/x"}]), "0.3.0"),
        (spec_of(deviceNodes=[{"path": "/dev/x", "hostPath": ""}]), "0.3.0"),
        (spec_of(mounts=[MOUNT]), "0.3.0"),
        (spec_of(mounts=[{**MOUNT, "type": ""}]), "0.3.0"),
        (spec_of(mounts=[{**MOUNT, "type": "bind"}]), "0.4.0"),
        (spec_of(deviceNodes=[{"path": "/dev/x", "hostPath": "/dev/y"}]), "0.5.0"),
        (changed(devices=[{"name": "0", "containerEdits": {"env": ["A=b"]}}]), "0.5.0"),
        (changed(kind="vendor.com/a.b"), "0.6.0"),
        (changed(kind="vendor.com/ab"), "0.3.0"),
        (changed(annotations={"a": "b"}), "0.6.0"),
        (changed(annotations={}), "0.3.0"),
        (
            changed(
                devices=[
                    {"name": "d", "annotations": {"a": "b"}, "containerEdits": {"env": ["A=b"]}}
                ]
            ),
            "0.6.0",
        ),
        (spec_of(intelRdt={}), "0.7.0"),
        (spec_of(intelRdt={"enableCMT": True}), "0.7.0"),
        (spec_of(additionalGids=[1]), "0.7.0"),
        (spec_of(additionalGids=[]), "0.3.0"),
        (spec_of(intelRdt={"schemata": []}), "1.1.0"),
        (spec_of(intelRdt={"enableMonitoring": False}), "1.1.0"),
        (spec_of(netDevices=[]), "1.1.0"),
        (changed(containerEdits={"mounts": [{**MOUNT, "type": "tmpfs"}]}), "0.4.0"),
    ],
)
def test_minimum_version(found: dict[str, Any], version: str) -> None:
    """Each field has the version that brought it, and the highest of them is needed."""
    assert minimum_version(found) == version
    lower = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.1.0"]
    for claimed in lower[: lower.index(version)]:
        with pytest.raises(InvalidSpecError, match="needs version"):
            validate({**found, "cdiVersion": claimed})


NO_SPECS: list[tuple[Any, str]] = [
    ([], ""),
    ({"kind": "vendor.com/class"}, "devices"),
    ({"kind": "vendor.com/class", "devices": [[]]}, "devices[0]"),
    (changed(containerEdits={"mounts": [3]}), "containerEdits.mounts[0]"),
]


@pytest.mark.parametrize(("found", "location"), NO_SPECS)
def test_no_version_of_what_is_no_spec(found: Any, location: str) -> None:  # noqa: ANN401
    """What is not of the form of a spec needs no version, and is named by its place."""
    with pytest.raises(InvalidSpecError) as caught:
        minimum_version(found)
    assert caught.value.location == location


def test_a_version_of_its_own_does_not_matter() -> None:
    """A spec that has none, or one that nobody knows, is of the lowest that its fields need."""
    spec = changed()
    del spec["cdiVersion"]
    assert minimum_version(spec) == minimum_version({**spec, "cdiVersion": "9.9.9"}) == "0.3.0"


def test_podman_4_3_takes_a_host_path() -> None:
    """A node with a host path, and all that describes it, is of version 0.5.0 and not above."""
    node = {**NODE, "hostPath": "/dev/nvidia0"}
    found = spec("vendor.com/class", [device("0", edits(device_nodes=[node]))], at_most="0.5.0")
    assert found["cdiVersion"] == "0.5.0"


def test_a_limit_on_the_version() -> None:
    """What the runtimes at hand cannot read is an error that names the field."""
    with pytest.raises(InvalidSpecError, match=r"at most 0\.5\.0") as caught:
        spec("vendor.com/class", [device("d", EDITS)], annotations={"a": "b"}, at_most="0.5.0")
    assert caught.value.location == "annotations"


def test_a_higher_version_on_request() -> None:
    """A version can be claimed that is not needed, but none above the limit, and none unknown."""
    devices = [device("d", EDITS)]
    assert spec("vendor.com/class", devices, at_least="0.8.0")["cdiVersion"] == "0.8.0"
    for least, most in (("0.6.0", "0.5.0"), ("2.0.0", "1.1.0")):
        with pytest.raises(InvalidSpecError) as caught:
            spec("vendor.com/class", devices, at_least=least, at_most=most)
        assert caught.value.location == "at_least"
    with pytest.raises(InvalidSpecError, match="no such version") as caught:
        spec("vendor.com/class", devices, at_most="0.5")
    assert caught.value.location == "at_most"


def test_a_field_that_is_gone() -> None:
    """What version 1.1.0 has taken away cannot be with what it brought."""
    old = edits(intel_rdt={"enableMBM": True})
    assert spec("vendor.com/class", [device("d", old)])["cdiVersion"] == "0.7.0"
    with pytest.raises(InvalidSpecError, match=r"from version 1\.1\.0 on") as caught:
        spec("vendor.com/class", [device("d", old)], at_least="1.1.0")
    assert caught.value.location == "devices[0].containerEdits.intelRdt.enableMBM"


@pytest.mark.parametrize("version", ["", "0.9.0", "v0.5.0", "0.5", 5, None])
def test_an_unknown_version(version: object) -> None:
    """Runtimes refuse a version that they do not know."""
    assert location_of({**spec_of(env=["A=b"]), "cdiVersion": version}) == "cdiVersion"


@pytest.mark.parametrize(
    "kind",
    ["vendor.com/class", "a-b_c.d/e-f_g.h1", "NVIDIA.com/gpu", f"{'a' * 253}/{'b' * 63}", "ab/cd"],
)
def test_kinds(kind: str) -> None:
    """A kind is a vendor and a class."""
    assert spec(kind, [device("d", EDITS)])["kind"] == kind


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "vendor.com",
        "vendor.com/",
        "/class",
        "vendor.com/class/x",
        "vendor.com/class=x",
        "1vendor.com/class",
        "vendor.com/1class",
        "vendor.com-/class",
        "vendor.com/class.",
        "vendor com/class",
        "vendör.com/class",
        "vendor.com/class\n",
        "a/class",
        "vendor.com/c",
        f"{'a' * 254}/class",
        f"vendor.com/{'b' * 64}",
        None,
    ],
)
def test_no_kinds(kind: str) -> None:
    """Anything else is refused, a name of one letter too, on which runtimes have crashed."""
    with pytest.raises(InvalidSpecError) as caught:
        spec(kind, [device("d", EDITS)])
    assert (caught.value.location, caught.value.value) == ("kind", kind)


@pytest.mark.parametrize("name", ["gpu0", "0", "a", "GPU-0000:1b.0_x"])
def test_device_names(name: str) -> None:
    """A device's name is letters, digits and some punctuation in between."""
    assert qualified_name("vendor.com/class", name) == f"vendor.com/class={name}"
    spec("vendor.com/class", [device(name, EDITS)])


@pytest.mark.parametrize("name", ["", ":a", "a:", "-", "a b", "a/b", "a=b", "ä", "a\n"])
def test_no_device_names(name: str) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidSpecError):
        qualified_name("vendor.com/class", name)
    with pytest.raises(InvalidSpecError) as caught:
        spec("vendor.com/class", [device("d", EDITS), device(name, EDITS)])
    assert caught.value.location == "devices[1].name"


def test_two_devices_of_one_name() -> None:
    """Names are unique in a spec."""
    with pytest.raises(InvalidSpecError, match="another device") as caught:
        spec("vendor.com/class", [device("d", EDITS), device("e", EDITS), device("d", EDITS)])
    assert caught.value.location == "devices[2].name"


def test_file_names() -> None:
    """A file has the name of its kind, and what sets it apart."""
    assert file_name("vendor.com/class") == "vendor.com-class.json"
    assert file_name("vendor.com/class", transient_id="a/b") == "vendor.com-class_a_b.json"
    longest = "é" * 116
    assert file_name("vendor.com/class", transient_id=longest) == f"vendor.com-class_{longest}.json"
    with pytest.raises(InvalidSpecError):
        file_name("vendor.com")


@pytest.mark.parametrize(
    ("unsafe_id", "reason"),
    [
        ("", "it is empty; leave it out"),
        ("a\nb", "it holds what cannot be printed"),
        ("a\0", "it holds what cannot be printed"),
        ("\udcff", "it holds what cannot be printed"),
        ("é" * 116 + "xx", "a file name has at most 255 bytes"),
    ],
)
def test_file_names_that_no_claim_can_have(unsafe_id: str, reason: str) -> None:
    """An ID that makes no file name, or the name of another spec, is refused."""
    with pytest.raises(InvalidSpecError, match=reason) as caught:
        file_name("vendor.com/class", transient_id=unsafe_id)
    assert caught.value.location == "transient_id"


@pytest.mark.parametrize(
    ("document", "location"),
    [
        ([], ""),
        ({}, "cdiVersion"),
        (changed(kind=None), "kind"),
        (changed(kind=["x"]), "kind"),
        (changed(devices=None), "devices"),
        (changed(devices=[]), "devices"),
        (changed(devices={}), "devices"),
        (changed(devices=["x"]), "devices[0]"),
        (changed(devices=[{"containerEdits": {"env": ["A=b"]}}]), "devices[0].name"),
        (changed(devices=[{"name": "d"}]), "devices[0].containerEdits"),
        (changed(devices=[{"name": "d", "containerEdits": []}]), "devices[0].containerEdits"),
        (changed(containerSpec={}), "containerSpec"),
        (changed(containerEdits=[]), "containerEdits"),
        (changed(annotations=[]), "annotations"),
        (changed(annotations={"a": 1}), "annotations['a']"),
        (changed(annotations={"a b": "c"}), "annotations"),
        (changed(annotations={"": "c"}), "annotations"),
        (changed(annotations={1: "c"}), "annotations"),
        (changed(annotations={"A.com/b": "c"}), "annotations"),
        (changed(annotations={f"{'a' * 254}/b": "c"}), "annotations"),
        (changed(annotations={"/b": "c"}), "annotations"),
        (changed(annotations={"a" * 64: "c"}), "annotations"),
        (changed(annotations={"a": "b" * 2**18}), "annotations"),
    ],
)
def test_faults_of_a_spec(document: object, location: str) -> None:
    """What is not as the specification wants it is named by its place."""
    assert location_of(document) == location


FAULTY_EDITS: list[tuple[dict[str, Any], str]] = [
    ({"env": "A=b"}, "env"),
    ({"env": [1]}, "env[0]"),
    ({"env": ["A=b", "C"]}, "env[1]"),
    ({"env": ["=b"]}, "env[0]"),
    ({"env": ["A=\udcff"]}, "env[0]"),
    ({"deviceNodes": [{}]}, "deviceNodes[0].path"),
    ({"deviceNodes": [{"path": ""}]}, "deviceNodes[0].path"),
    ({"deviceNodes": [{"path": "dev/x"}]}, "deviceNodes[0].path"),
    ({"deviceNodes": [{"path": "/dev/x\0"}]}, "deviceNodes[0].path"),
    ({"deviceNodes": [{"path": "/dev/\udcff"}]}, "deviceNodes[0].path"),
    ({"deviceNodes": [{**NODE, "hostPath": "x"}]}, "deviceNodes[0].hostPath"),
    ({"deviceNodes": [{**NODE, "type": "x"}]}, "deviceNodes[0].type"),
    ({"deviceNodes": [{**NODE, "major": "195"}]}, "deviceNodes[0].major"),
    ({"deviceNodes": [{**NODE, "minor": -1}]}, "deviceNodes[0].minor"),
    ({"deviceNodes": [{**NODE, "minor": True}]}, "deviceNodes[0].minor"),
    ({"deviceNodes": [{**NODE, "minor": 1.0}]}, "deviceNodes[0].minor"),
    ({"deviceNodes": [{**NODE, "fileMode": 0o20666}]}, "deviceNodes[0].fileMode"),
    ({"deviceNodes": [{**NODE, "fileMode": "0666"}]}, "deviceNodes[0].fileMode"),
    ({"deviceNodes": [{**NODE, "permissions": "rx"}]}, "deviceNodes[0].permissions"),
    ({"deviceNodes": [{**NODE, "permissions": 6}]}, "deviceNodes[0].permissions"),
    ({"deviceNodes": [{**NODE, "uid": 2**32}]}, "deviceNodes[0].uid"),
    ({"deviceNodes": [{**NODE, "containerPath": "/x"}]}, "deviceNodes[0].containerPath"),
    ({"mounts": [{"hostPath": "/a"}]}, "mounts[0].containerPath"),
    ({"mounts": [{"containerPath": "/a"}]}, "mounts[0].hostPath"),
    ({"mounts": [{**MOUNT, "hostPath": ""}]}, "mounts[0].hostPath"),
    ({"mounts": [{**MOUNT, "hostPath": 1}]}, "mounts[0].hostPath"),
    ({"mounts": [{**MOUNT, "hostPath": "tmpfs"}]}, "mounts[0].hostPath"),
    ({"mounts": [{**MOUNT, "options": "ro"}]}, "mounts[0].options"),
    ({"mounts": [{**MOUNT, "type": 1}]}, "mounts[0].type"),
    ({"mounts": [3]}, "mounts[0]"),
    ({"hooks": [{"hookName": "start", "path": "/x"}]}, "hooks[0].hookName"),
    ({"hooks": [{**HOOK, "path": "hook"}]}, "hooks[0].path"),
    ({"hooks": [{**HOOK, "timeout": 0}]}, "hooks[0].timeout"),
    ({"hooks": [{**HOOK, "env": ["A"]}]}, "hooks[0].env[0]"),
    ({"intelRdt": {"closID": "a/b"}}, "intelRdt.closID"),
    ({"intelRdt": {"closID": ".."}}, "intelRdt.closID"),
    ({"intelRdt": {"closID": "a" * 4096}}, "intelRdt.closID"),
    ({"intelRdt": {"closID": 1}}, "intelRdt.closID"),
    ({"intelRdt": {"enableMonitoring": 1}}, "intelRdt.enableMonitoring"),
    ({"additionalGids": [-1]}, "additionalGids[0]"),
    ({"netDevices": {}}, "netDevices"),
    ({"netDevices": [{"name": "a"}]}, "netDevices[0].hostInterfaceName"),
    ({"netDevices": [{"hostInterfaceName": "a", "name": ""}]}, "netDevices[0].name"),
    (
        {"netDevices": [{"hostInterfaceName": "a", "name": n} for n in ("b", "c")]},
        "netDevices",
    ),
    ({"netDevices": [{"hostInterfaceName": n, "name": "b"} for n in ("a", "c")]}, "netDevices"),
    ({"devices": []}, "devices"),
]


@pytest.mark.parametrize(("found", "below"), FAULTY_EDITS)
def test_faults_of_edits(found: dict[str, Any], below: str) -> None:
    """So is what is wrong in the edits of a device."""
    assert location_of(spec_of(**found)) == f"devices[0].containerEdits.{below}"


@pytest.mark.parametrize(
    "found",
    [
        {"deviceNodes": [{"path": "/dev/x", "type": "p"}]},
        {"deviceNodes": [{"path": "/dev/x", "type": "", "permissions": "", "fileMode": 0}]},
        {"mounts": [{**MOUNT, "hostPath": "tmpfs", "type": "tmpfs"}]},
        {"mounts": [{**MOUNT, "type": "none", "options": ["rbind"]}]},
        {"deviceNodes": [{"path": "/dev/x", "hostPath": ""}]},
        {"env": [], "intelRdt": {}},
        {"intelRdt": {"closID": "/"}},
        {"env": ["A="]},
    ],
)
def test_what_is_allowed(found: dict[str, Any]) -> None:
    """The edges of what the specification allows."""
    validate(spec_of(**found))


@pytest.mark.parametrize("mount", [{"type": "tmpfs", "options": ["bind"]}, {"type": "bind"}])
def test_a_bind_mount_is_of_a_path(mount: dict[str, Any]) -> None:
    """A mount of a type that takes no path has a name as its source; a bind mount has a path."""
    assert location_of(spec_of(mounts=[{**MOUNT, **mount, "hostPath": "x"}])).endswith("hostPath")
