"""The problems of a spec, as data."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from devroot import ContainerView, DeviceNode, MountTable
from devroot.cdi import Problem, ProblemCode, check, described, device, edits, spec
from devroot.nvidia import NvidiaDriver, Parameters, required_nodes
from devroot.testing import TreeFileSystem
from tests._views import mounts_of, view_of

DATA = Path(__file__).parent.parent.parent / "data"
NODE = DeviceNode(path="nvidia0", major=195, minor=0)
COMPLETE = {**described(NODE), "hostPath": "/dev/nvidia0"}
HOST = ["char /dev/nvidia0 195:0", "dir /lib", "file /lib/x", "link /lib/l x", "fifo /dev/fifo"]


def host(*specs: str) -> ContainerView:
    """Return the view of a host with these files."""
    return view_of(mounts=["/:/"], files=specs or HOST)


def loaded(name: str) -> dict[str, Any]:
    """Return a spec from the field."""
    found: dict[str, Any] = json.loads((DATA / "cdi" / name).read_text("utf-8"))
    return found


def spec_of(*nodes: dict[str, Any], **others: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a spec with one device that has these nodes."""
    found = {"deviceNodes": list(nodes), **others}
    return {
        "cdiVersion": "0.5.0",
        "kind": "vendor.com/class",
        "devices": [{"name": "0", "containerEdits": found}],
    }


def codes(problems: tuple[Problem, ...]) -> list[str]:
    """Return the kinds of problems."""
    return [problem.code.value for problem in problems]


def test_a_good_spec_has_no_problems() -> None:
    """Neither by itself nor beside its host."""
    good = spec("vendor.com/class", [device("0", edits(device_nodes=[COMPLETE]))])
    assert check(good) == ()
    assert check(good, view=host(), nodes=[NODE], required=[NODE]) == ()


def test_a_path_conflict() -> None:
    """CRI-O refuses a node whose path the host has, too, while the host path is another one."""
    files = (DATA / "cdi" / "driver-container-host.txt").read_text("utf-8").splitlines()
    problems = check(loaded("driver-container.json"), view=host(*files))
    conflicts = [one for one in problems if one.code is ProblemCode.PATH_CONFLICT]
    assert [one.path for one in conflicts] == ["/dev/nvidia0", "/dev/nvidiactl"]
    assert [one.location for one in conflicts] == [
        "devices[0].containerEdits.deviceNodes[0]",
        "containerEdits.deviceNodes[0]",
    ]
    assert {one.code for one in problems} == {ProblemCode.PATH_CONFLICT, ProblemCode.NO_MODE}


def test_a_spec_without_nodes() -> None:
    """On a fresh boot nobody had made the nodes: what the GPU needs is not in the spec."""
    devices = (DATA / "nvidia/fresh-boot/proc/devices").read_text("utf-8")
    view = view_of(files=[f"file /proc/devices\n{devices}"])
    driver = NvidiaDriver.read(view, parameters=Parameters())
    required = required_nodes(driver, gpus=[0])
    problems = check(loaded("fresh-boot.json"), required=required)
    missing = {one.path: one.text for one in problems if one.code is ProblemCode.MISSING_NODE}
    assert sorted(missing) == [
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia0",
        "/dev/nvidiactl",
    ]
    assert "c 511:1" in missing["/dev/nvidia-uvm-tools"]


def test_nodes_that_each_device_needs() -> None:
    """Common nodes count for every device; those of another device do not."""
    one = DeviceNode(path="nvidia1", major=195, minor=1)
    control = DeviceNode(path="nvidiactl", major=195, minor=255)
    found = spec(
        "vendor.com/class",
        [
            device("a", edits(device_nodes=[described(NODE)])),
            device("b", edits(device_nodes=[described(NODE)])),
        ],
        container_edits=edits(device_nodes=[described(control)]),
    )
    assert check(found, required=[NODE, control]) == ()
    required = {"a": [NODE, control], "b": [one, control], "c": [control, one]}
    assert [(p.location, p.path) for p in check(found, required=required)] == [
        ("devices[1]", "/dev/nvidia1"),
        ("devices", "/dev/nvidia1"),
    ]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "c", "major": 195}, ["half-described", "no-mode"]),
        ({"type": "c"}, ["half-described", "no-mode"]),
        ({"major": 195, "minor": 0, "fileMode": 438}, ["half-described"]),
        ({"type": "", "minor": 0, "fileMode": 438}, ["half-described"]),
        ({"type": "c", "major": 0, "minor": 3, "fileMode": 438}, ["half-described"]),
        ({"type": "c", "major": 195, "minor": 0, "fileMode": 438}, []),
        ({"type": "p", "fileMode": 438}, []),
        ({"fileMode": 0}, []),
        ({}, ["no-mode"]),
    ],
)
def test_half_described_nodes(node: dict[str, Any], expected: list[str]) -> None:
    """All three numbers or none: a runtime fills a missing minor with 0, and copies no mode."""
    found = check(spec_of({"path": "/dev/x", "hostPath": "/dev/x", **node}))
    assert codes(found) == expected


def test_a_version_that_is_not_needed() -> None:
    """It shuts out runtimes that could read all the rest."""
    newer = {**spec_of(COMPLETE), "cdiVersion": "0.7.0"}
    (problem,) = check(newer)
    assert (problem.code, problem.location) == (ProblemCode.NEWER_VERSION, "cdiVersion")
    assert str(problem) == (
        "cdiVersion: it claims version 0.7.0 and needs 0.5.0; runtimes up to 0.6.0 refuse it"
    )


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"hostPath": "/dev/nvidia1"}, "host-missing"),
        ({"hostPath": "/nowhere/nvidia1"}, "host-missing"),
        ({"hostPath": "/lib/x/nvidia1"}, "host-missing"),
        ({"hostPath": "/lib/x"}, "not-a-device"),
        ({"hostPath": "/lib/l"}, "not-a-device"),
        ({"hostPath": "/lib"}, "not-a-device"),
        ({"hostPath": "/"}, "not-a-device"),
        ({"hostPath": "/dev/nvidia0", "minor": 1}, "wrong-number"),
        ({"hostPath": "/dev/nvidia0", "type": "b"}, "wrong-number"),
        ({"hostPath": "/dev/fifo"}, "wrong-number"),
    ],
)
def test_what_is_at_the_host_path(node: dict[str, Any], expected: str) -> None:
    """A host path is of a device node of that number, and no link to one."""
    found = check(spec_of({**COMPLETE, "path": "/dev/new", **node}), view=host())
    assert codes(found) == [expected]
    assert found[0].location == "devices[0].containerEdits.deviceNodes[0]"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"path": "/dev/nvidia1", "fileMode": 438}, ["host-missing"]),
        ({"path": "/dev/nvidia0", "fileMode": 438}, []),
        (described(DeviceNode(path="nvidia1", major=195, minor=1)), []),
        (described(DeviceNode(path="nvidia0", major=195, minor=1)), ["wrong-number"]),
        ({**described(NODE), "type": "u"}, []),
        ({"path": "/dev/nvidia0", "type": "", "fileMode": 438}, []),
        ({"path": "/dev/fifo", "type": "p", "fileMode": 438}, []),
        ({"path": "/dev/fifo", "fileMode": 438}, []),
    ],
)
def test_nodes_without_host_path(node: dict[str, Any], expected: list[str]) -> None:
    """Their path is the host path, too; but one that is described need not exist there."""
    found = {**spec_of(node), "cdiVersion": "0.5.0"}
    assert codes(check(found, view=host())) == expected


def test_wrong_numbers_by_the_driver() -> None:
    """What the driver says of a node is held against the spec, given or required."""
    right = attrs.evolve(NODE, major=234)
    found = spec_of(COMPLETE)
    for problems in (check(found, nodes=[right]), check(found, required=[right])):
        (problem,) = problems
        assert problem.code is ProblemCode.WRONG_NUMBER
        assert problem.text == "it is c 195:0 here, and the driver says c 234:0"
    assert check(found, nodes=[DeviceNode(path="other", major=1, minor=1)]) == ()
    assert codes(check(spec_of({"path": "/dev/nvidia0", "fileMode": 0}), nodes=[right])) == []


def test_mounts_and_hooks_that_are_not_there() -> None:
    """What the host does not have cannot be mounted or run; a link to a file will do."""
    found = spec_of(
        COMPLETE,
        mounts=[
            {"hostPath": path, "containerPath": "/y"} for path in ("/lib/x", "/lib/l", "/lib/z")
        ]
        + [{"hostPath": "tmpfs", "containerPath": "/y", "type": "tmpfs"}, {"containerPath": "/y"}],
        hooks=[
            {"hookName": "prestart", "path": "/lib/h"},
            {"hookName": "startContainer", "path": "/lib/h"},
            {"hookName": "poststop", "path": "/lib/x"},
            {"hookName": "poststop"},
        ],
    )
    problems = [one for one in check(found, view=host()) if one.code is ProblemCode.HOST_MISSING]
    assert [(one.location.rpartition(".")[2], one.path) for one in problems] == [
        ("mounts[2]", "/lib/z"),
        ("hooks[0]", "/lib/h"),
    ]


def test_what_cannot_be_seen_is_said() -> None:
    """A host path that is not mounted here, or that nobody speaks of, is unknown."""
    view = view_of(mounts=["/dev:/host-dev"], files=["char /host-dev/nvidia0 195:0"])
    found = spec_of(
        COMPLETE,
        {**COMPLETE, "path": "/dev/b", "hostPath": "/run/b"},
        {**COMPLETE, "path": "/dev/c", "hostPath": "/dev/../c"},
        mounts=[{"hostPath": "/lib", "containerPath": "/l"}],
    )
    problems = check(found, view=view)
    assert [(one.code.value, one.path) for one in problems] == [
        ("host-unknown", "/run/b"),
        ("host-unknown", "/dev/../c"),
        ("host-unknown", "/lib"),
    ]
    problems = check(spec_of(COMPLETE), view=view_of())
    assert codes(problems) == ["host-unknown"]
    assert "nobody said" in problems[0].text
    assert check(spec_of(COMPLETE), view=view_of(), mounts=mounts_of("/dev:/a")) != ()


def test_a_single_file_that_is_mounted() -> None:
    """A node that is mounted alone is looked at where it is mounted."""
    view = view_of(mounts=["/dev/nvidia0:/only"], files=["char /only 195:0"])
    assert check(spec_of(COMPLETE), view=view) == ()


def test_links_on_the_way_are_the_hosts() -> None:
    """An absolute link below a host root that is mounted aside leads to the host's file."""
    view = view_of(
        mounts=["/:/host"],
        files=["char /host/real/nvidia0 195:0", "link /host/dev /real", "link /real /elsewhere"],
    )
    assert check(spec_of(COMPLETE), view=view) == ()


def test_what_cannot_be_looked_at() -> None:
    """A directory that the kernel refuses is unknown; a lack of descriptors is the caller's."""
    for number, expected in ((errno.EACCES, ["host-unknown"]), (errno.EMFILE, None)):
        view = host()
        assert isinstance(view.filesystem, TreeFileSystem)
        view.filesystem.fail("open_directory", number, times=9)
        if expected is None:
            with pytest.raises(OSError, match="Too many open files"):
                check(spec_of(COMPLETE), view=view)
        else:
            assert codes(check(spec_of(COMPLETE), view=view)) == expected


def test_private_paths() -> None:
    """The plugin's own place for a file of the host means nothing to a workload."""
    mounts = mounts_of("/home/driver:/driver", "/lib:/lib", "/run/dev:/dev")
    found = spec_of(
        {**COMPLETE, "path": "/dev/nvidia0", "hostPath": "/run/dev/nvidia0"},
        {**COMPLETE, "path": "/driver/dev/x", "hostPath": "/home/driver/dev/x"},
        mounts=[
            {"hostPath": "/home/driver/a", "containerPath": "/driver/a"},
            {"hostPath": "/home/driver/a", "containerPath": "/a"},
            {"hostPath": "/lib/b", "containerPath": "/lib/b"},
            {"hostPath": "/home/../a", "containerPath": "/b"},
            {"hostPath": "/home/driver/a"},
        ],
    )
    problems = [one for one in check(found, mounts=mounts) if one.code is ProblemCode.PRIVATE_PATH]
    assert [one.path for one in problems] == ["/driver/dev/x", "/driver/a"]
    assert "strip" in problems[0].text


OTHER_FORMS: list[dict[str, Any]] = [
    {},
    {"devices": 3},
    {"devices": [3, {"name": 3}], "containerEdits": 3},
    {"devices": [{"containerEdits": {"deviceNodes": 3, "mounts": [3], "hooks": [{}]}}]},
    {"containerEdits": {"deviceNodes": [3, {}, {"path": 3}, {"path": "/dev/x", "type": []}]}},
]


@pytest.mark.parametrize("document", OTHER_FORMS)
def test_a_spec_of_another_form(document: dict[str, Any]) -> None:
    """Every fault is told, and what can be looked at besides is looked at."""
    node = DeviceNode(path="x", major=1, minor=1)
    problems = check(document, view=host(), nodes=[node], required=[NODE])
    assert problems[0].code is ProblemCode.INVALID
    assert problems[-1].code is ProblemCode.MISSING_NODE
    assert str(problems[-1]).startswith("the spec: the spec gives no /dev/nvidia0")


def test_all_faults_are_told() -> None:
    """Where `validate` stops at the first, this goes on; versions come once the rest is right."""
    bad = {**spec_of({**COMPLETE, "minor": "0"}, env=["x"]), "cdiVersion": "0.3.0"}
    invalid = [one.location for one in check(bad) if one.code is ProblemCode.INVALID]
    assert invalid == [
        "devices[0].containerEdits.deviceNodes[0].minor",
        "devices[0].containerEdits.env[0]",
    ]
    old = {**spec_of(COMPLETE), "cdiVersion": "0.3.0"}
    assert [(one.code, one.location) for one in check(old)] == [
        (ProblemCode.INVALID, "devices[0].name"),
        (ProblemCode.INVALID, "devices[0].containerEdits.deviceNodes[0].hostPath"),
    ]


def test_what_sample_drivers_write() -> None:
    """A half-described node, in a newer version than it needs, whose host path need not exist."""
    sample = {
        "cdiVersion": "0.6.0",
        "kind": "example.com/device",
        "devices": [
            {
                "name": "claim-1",
                "containerEdits": {
                    "deviceNodes": [{"path": "/dev/ex0", "hostPath": "/dev/ex0", "type": "c"}]
                },
            }
        ],
    }
    assert codes(check(sample, view=host())) == [
        "newer-version",
        "half-described",
        "no-mode",
        "host-missing",
    ]


def test_no_mounts_are_mounts() -> None:
    """A table that is empty was given, and shows nothing."""
    view = view_of(mounts=[])
    assert codes(check(spec_of(COMPLETE), view=view)) == ["host-unknown"]
    assert codes(check(spec_of(COMPLETE), view=host(), mounts=MountTable())) == ["host-unknown"]
