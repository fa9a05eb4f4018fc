"""Paths of a spec from the container to the host and back."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from devroot import ContainerPath, HostPath, MountTable
from devroot.cdi import ProblemCode, check, to_container, to_host, validate
from devroot.errors import InvalidPathError, InvalidSpecError, PathKindError, UnmappedPathsError
from tests._views import mounts_of

DATA = Path(__file__).parent.parent.parent / "data" / "cdi"
GKE = mounts_of(
    "/home/kubernetes/bin/nvidia:/driver-root",
    "/home/kubernetes/bin:/driver-root-parent",
    "/dev:/dev",
)
DRV = mounts_of("/host/drv:/drv", "/host/dev:/dev")


def spec_of(**edits: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON can hold
    """Return a spec with one device, whose edits are these."""
    return {
        "cdiVersion": "0.5.0",
        "kind": "vendor.com/class",
        "devices": [{"name": "d", "containerEdits": edits}],
    }


def edits_of(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the edits of the only device."""
    found: dict[str, Any] = spec["devices"][0]["containerEdits"]
    return found


def mount_to(text: object, mounts: MountTable = DRV, **options: Any) -> object:  # noqa: ANN401
    """Return what becomes of the host path of a mount."""
    spec = spec_of(mounts=[{"hostPath": text, "containerPath": "/x"}])
    return edits_of(to_host(spec, mounts, **options))["mounts"][0]["hostPath"]


def node_to(node: dict[str, Any], mounts: MountTable = DRV, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what becomes of a device node."""
    found: dict[str, Any] = edits_of(to_host(spec_of(deviceNodes=[node]), mounts, **options))[
        "deviceNodes"
    ][0]
    return found


def test_a_driver_root_on_gke() -> None:
    """Libraries have the driver's root and nodes their own; a sibling of like name is no child."""
    spec = json.loads((DATA / "gke-driver-root.json").read_text("utf-8"))
    strip = ["/driver-root", "/driver-root-parent"]
    found = to_host(spec, GKE, strip=strip)
    common = found["containerEdits"]
    assert [mount["hostPath"] for mount in common["mounts"]] == [
        "/home/kubernetes/bin/nvidia/lib64/libcuda.so.535.104.12",
        "/home/kubernetes/bin/nvidia/bin/nvidia-smi",
    ]
    assert [mount["containerPath"] for mount in common["mounts"]] == [
        "/lib64/libcuda.so.535.104.12",
        "/usr/bin/nvidia-smi",
    ]
    nodes = [*edits_of(found)["deviceNodes"], *common["deviceNodes"]]
    assert [node["hostPath"] for node in nodes] == [
        "/dev/nvidia0",
        "/dev/nvidia-modeset",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia-uvm",
        "/dev/nvidiactl",
    ]
    assert "/driver-root" not in json.dumps(found)
    assert to_host(found, GKE, strip=strip, unmapped="keep") == found
    validate(found)


def test_without_strip_a_leftover_is_found() -> None:
    """The workload's path is the caller's to choose, but `check` says where it comes from."""
    spec = json.loads((DATA / "gke-driver-root.json").read_text("utf-8"))
    found = to_host(spec, GKE)
    problems = [one for one in check(found, mounts=GKE) if one.code is ProblemCode.PRIVATE_PATH]
    assert [one.path for one in problems] == ["/driver-root/lib64/libcuda.so.535.104.12"]
    assert problems[0].location == "containerEdits.mounts[0]"


def test_the_spec_is_not_changed() -> None:
    """The result is a new spec, down to what was not touched."""
    spec = {
        **spec_of(
            deviceNodes=[{"path": "/dev/x", "new": {"a": []}}],
            mounts=[{"hostPath": "/drv/a", "containerPath": "/a", "options": ["ro"]}],
            hooks=[{"hookName": "prestart", "path": "/drv/h", "args": ["a"], "env": ["A=b"]}],
            env=["A=b"],
        ),
        "annotations": {"a": "b"},
        "containerEdits": {"deviceNodes": [{"path": "/dev/y"}]},
    }
    before = copy.deepcopy(spec)
    found = to_host(spec, DRV)
    assert spec == before
    _clear(found)
    assert spec == before


def _clear(value: object) -> None:
    """Empty every list and object, from the inside."""
    for item in list(value.values() if isinstance(value, dict) else []):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        _clear(item)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            _clear(item)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (dict, list)):
        value.clear()  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/drv/lib/x", "/host/drv/lib/x"),
        ("/drv", "/host/drv"),
        ("//drv", "/host/drv"),
        ("//drv/x", "/host/drv/x"),
        ("/drv//x", "/host/drv/x"),
        ("/drv/", "/host/drv"),
        ("/drv/.", "/host/drv"),
        ("/drv/./x", "/host/drv/x"),
        ("/drv/x/", "/host/drv/x"),
    ],
)
def test_paths_are_read_as_paths(text: str, expected: str) -> None:
    """However a path is written, it is the same path, and no part of a name is one."""
    assert mount_to(text) == expected


@pytest.mark.parametrize("unmapped", ["error", "keep"])
@pytest.mark.parametrize(
    "text", ["/drv/../etc/shadow", "/drv/..", "drv/x", "", "/drv/x\0", 3, None]
)
def test_what_is_no_path_is_refused(text: object, unmapped: str) -> None:
    """A path that climbs is not guessed at, nor kept: a link can stand before it."""
    with pytest.raises(InvalidSpecError) as caught:
        mount_to(text, unmapped=unmapped)
    assert caught.value.location == "devices[0].containerEdits.mounts[0].hostPath"
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["/driver", "/etc/x", "/"])
def test_a_path_on_no_mount(text: str) -> None:
    """It means nothing on the host, and an error names it; or it is kept on request."""
    with pytest.raises(UnmappedPathsError, match=text) as caught:
        mount_to(text)
    (one,) = caught.value.unmapped
    assert (one.location, one.path) == ("devices[0].containerEdits.mounts[0].hostPath", text)
    assert mount_to(text, unmapped="keep") == text


def test_all_paths_on_no_mount_are_told_at_once() -> None:
    """One error has all of them, and its text is not longer than a screen."""
    nodes = [{"path": f"/elsewhere/x{n}"} for n in range(50)]
    hook = {"hookName": "poststop", "path": "/usr/bin/hook"}
    with pytest.raises(UnmappedPathsError, match="51 paths") as caught:
        to_host({**spec_of(deviceNodes=nodes), "containerEdits": {"hooks": [hook]}}, DRV)
    assert [one.path for one in caught.value.unmapped][-2:] == ["/elsewhere/x49", "/usr/bin/hook"]
    assert caught.value.unmapped[50].location == "containerEdits.hooks[0].path"
    assert len(str(caught.value).splitlines()) == 22


def test_a_mount_without_a_host_side() -> None:
    """What an emptyDir hides has no host path, although a mount above it has."""
    mounts = mounts_of("/host/drv:/drv", ":/drv/cache")
    assert mount_to("/drv/x", mounts) == "/host/drv/x"
    with pytest.raises(UnmappedPathsError, match="known host path"):
        mount_to("/drv/cache/x", mounts)


def test_the_deepest_mount_counts() -> None:
    """A single file that is mounted, and a directory below another, go their own way."""
    mounts = mounts_of("/:/", "/a:/drv", "/b:/drv/sub", "/c/file:/drv/file")
    assert [mount_to(text, mounts) for text in ("/drv/x", "/drv/sub", "/drv/sub/x")] == [
        "/a/x",
        "/b",
        "/b/x",
    ]
    assert mount_to("/drv/file", mounts) == "/c/file"
    assert mount_to("//drv", mounts) == "/a"
    assert mount_to("//drv/file", mounts) == "/c/file"
    assert mount_to("/x", mounts) == "/x"
    assert mount_to("/", mounts) == "/"


@pytest.mark.parametrize("node", [{"path": "/dev/x"}, {"path": "/dev/x", "hostPath": ""}])
def test_a_node_without_host_path_gets_the_one_that_it_had(node: dict[str, Any]) -> None:
    """Its host path was its path, so on the host it is where that path is mounted from."""
    assert node_to(node) == {"path": "/dev/x", "hostPath": "/host/dev/x"}


def test_no_host_path_is_added_where_nothing_changes() -> None:
    """A node whose path is the same on the host is left as it is."""
    for node in ({"path": "/dev/x"}, {"path": "/dev/x", "hostPath": ""}):
        assert node_to(node, GKE) == node
        assert node_to(node, MountTable(), unmapped="keep") == node


def test_what_a_node_has_besides_is_kept() -> None:
    """A minor of 0, an owner of 0 and fields of a later version are all still there."""
    node = {"path": "/dev/x", "hostPath": "/drv/x", "minor": 0, "uid": 0, "later": None}
    assert node_to(node) == {**node, "hostPath": "/host/drv/x"}


def test_an_added_host_path_needs_a_version() -> None:
    """A spec from before host paths is raised to the version that has them; others are not."""
    old = {**spec_of(deviceNodes=[{"path": "/dev/x"}]), "cdiVersion": "0.3.0"}
    assert to_host(old, DRV)["cdiVersion"] == "0.5.0"
    assert to_host(old, GKE)["cdiVersion"] == "0.3.0"
    for version in ("0.6.0", "9.9.9", None):
        assert to_host({**old, "cdiVersion": version}, DRV)["cdiVersion"] == version


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("prestart", "/host/drv/hook"),
        ("createRuntime", "/host/drv/hook"),
        ("createContainer", "/host/drv/hook"),
        ("startContainer", "/drv/hook"),
        ("poststart", "/host/drv/hook"),
        ("poststop", "/host/drv/hook"),
    ],
)
def test_hooks(hook: str, expected: str) -> None:
    """Only a startContainer hook is looked up in the workload; all others are the host's."""
    found = edits_of(to_host(spec_of(hooks=[{"hookName": hook, "path": "/drv/hook"}]), DRV))
    assert found["hooks"] == [{"hookName": hook, "path": expected}]


ARGUMENTS = [
    ("/drv/lib", "/host/drv/lib", "/lib"),
    ("--folder=/drv/lib", "--folder=/host/drv/lib", "--folder=/lib"),
    ("--folder", "--folder", "--folder"),
    ("/drv/a::/drv/b", "/host/drv/a::/drv/b", "/a::/b"),
    ("../a::/drv/b", "../a::/drv/b", "../a::/b"),
    ("--link=/drv/a::/b", "--link=/host/drv/a::/b", "--link=/a::/b"),
    ("--path=/drv/a:/x:b", "--path=/host/drv/a:/x:b", "--path=/a:/x:b"),
    ("/drv/../etc/shadow", "/drv/../etc/shadow", "/drv/../etc/shadow"),
    ("/elsewhere", "/elsewhere", "/elsewhere"),
    ("/drive", "/drive", "/drive"),
]


@pytest.mark.parametrize(("text", "mapped", "stripped"), ARGUMENTS)
def test_arguments_of_hooks(text: str, mapped: str, stripped: str) -> None:
    """They are the workload's or the host's, and only the caller knows: kept, mapped, stripped."""
    hook = {"hookName": "createContainer", "path": "/drv/hook", "args": ["hook", text]}

    def after(**options: Any) -> object:  # noqa: ANN401 - as it comes
        return edits_of(to_host(spec_of(hooks=[hook]), DRV, **options))["hooks"][0]["args"][1]

    assert after() == text
    assert after(arguments="map") == mapped
    assert after(arguments="strip", strip=["/drv"]) == stripped
    assert after(arguments="strip") == text


def test_variables_of_hooks() -> None:
    """A variable of a hook is like an argument; one of the workload is never touched."""
    hook = {
        "hookName": "poststop",
        "path": "/drv/hook",
        "env": ["LD_LIBRARY_PATH=/drv/a:/drv/b", "A=--x=/drv/c", "/drv/d", "E=/drv/e", 5],
    }
    spec = spec_of(env=["ROOT=/drv"], hooks=[hook])
    found = edits_of(to_host(spec, DRV, arguments="map"))
    assert found["hooks"][0]["env"] == [
        "LD_LIBRARY_PATH=/host/drv/a:/host/drv/b",
        "A=--x=/drv/c",
        "/drv/d",
        "E=/host/drv/e",
        5,
    ]
    assert found["env"] == ["ROOT=/drv"]


def test_arguments_in_the_workload() -> None:
    """What a startContainer hook is given is the workload's: never mapped, stripped if asked."""
    hook = {"hookName": "startContainer", "path": "/drv/hook", "args": ["/drv/hook"]}
    spec = spec_of(hooks=[hook])
    assert edits_of(to_host(spec, DRV, arguments="map"))["hooks"] == [hook]
    found = edits_of(to_host(spec, DRV, strip=["/drv"], arguments="strip"))["hooks"][0]
    assert (found["path"], found["args"]) == ("/hook", ["/hook"])


def test_mounts_of_other_types_have_no_host_path() -> None:
    """The source of a tmpfs is a word, and means the same everywhere."""
    tmpfs = {"hostPath": "tmpfs", "containerPath": "/x", "type": "tmpfs", "options": ["nodev"]}
    assert edits_of(to_host(spec_of(mounts=[tmpfs]), DRV))["mounts"] == [tmpfs]
    bind = {"hostPath": "/drv/x", "containerPath": "/x", "type": "anything", "options": ["rbind"]}
    assert edits_of(to_host(spec_of(mounts=[bind]), DRV))["mounts"][0]["hostPath"] == "/host/drv/x"


def test_strip_takes_whole_components() -> None:
    """The deepest of the directories is taken away, and a like name is another directory."""
    strip: list[str | ContainerPath] = ["/drv", ContainerPath("/drv/usr")]
    paths = ["/drv/usr/lib/x", "/drv/x", "/drive/x", "/usr/x", "//drv//y"]
    spec = spec_of(mounts=[{"hostPath": "/drv/x", "containerPath": path} for path in paths])
    found = edits_of(to_host(spec, DRV, strip=strip))["mounts"]
    assert [mount["containerPath"] for mount in found] == [
        "/lib/x",
        "/x",
        "/drive/x",
        "/usr/x",
        "/y",
    ]


def test_strip_of_a_node() -> None:
    """A node that the workload would see below the driver root is in its /dev, and still found."""
    node = node_to({"path": "/drv/dev/x"}, strip=["/drv"])
    assert node == {"path": "/dev/x", "hostPath": "/host/drv/dev/x"}


def test_strip_leaves_the_root_of_the_workload_alone() -> None:
    """A directory that would be mounted over all of the workload is refused."""
    spec = spec_of(mounts=[{"hostPath": "/drv", "containerPath": "/drv"}])
    with pytest.raises(InvalidSpecError, match="root of a workload") as caught:
        to_host(spec, DRV, strip=["/drv"])
    assert caught.value.location == "devices[0].containerEdits.mounts[0].containerPath"


def test_strip_of_the_root_takes_nothing() -> None:
    """What was mounted over the workload's root before is not this function's to judge."""
    spec = spec_of(mounts=[{"hostPath": "/drv", "containerPath": "/"}])
    assert edits_of(to_host(spec, DRV, strip=["/drv"]))["mounts"][0]["containerPath"] == "/"


@pytest.mark.parametrize("path", ["/drv/../x", "x", 3])
def test_strip_of_what_is_no_path(path: object) -> None:
    """A workload's path is looked at only if something is to be taken from it."""
    spec = spec_of(mounts=[{"hostPath": "/drv/x", "containerPath": path}])
    assert edits_of(to_host(spec, DRV))["mounts"][0]["containerPath"] == path
    with pytest.raises(InvalidSpecError) as caught:
        to_host(spec, DRV, strip=["/drv"])
    assert caught.value.location == "devices[0].containerEdits.mounts[0].containerPath"


def test_the_way_back() -> None:
    """What the host reads becomes what the container reads, the shortest way if there are two."""
    mounts = mounts_of("/host/drv:/drv", "/host/drv:/other/drv", "/host/dev:/dev", "/f:/drv/file")
    spec = spec_of(
        deviceNodes=[{"path": "/dev/x", "hostPath": "/host/dev/x"}],
        mounts=[{"hostPath": "/host/drv/lib", "containerPath": "/lib"}],
        hooks=[{"hookName": "prestart", "path": "/host/drv/h", "args": ["/host/drv/a"]}],
    )
    inside = to_container(spec, mounts)
    assert edits_of(inside) == {
        "deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/x"}],
        "mounts": [{"hostPath": "/drv/lib", "containerPath": "/lib"}],
        "hooks": [{"hookName": "prestart", "path": "/drv/h", "args": ["/host/drv/a"]}],
    }
    assert to_host(inside, mounts) == spec
    mapped = to_container(spec, mounts, arguments="map")
    assert edits_of(mapped)["hooks"][0]["args"] == ["/drv/a"]


def test_the_way_back_past_what_hides() -> None:
    """A file over which another is mounted does not appear there, but elsewhere if it can."""
    hidden = {"hostPath": "/host/drv/file", "containerPath": "/x"}
    for more, expected in (([], "/host/drv/file"), (["/host/drv:/longer/drv"], "/longer/drv/file")):
        mounts = mounts_of("/host/drv:/drv", "/f:/drv/file", *more)
        spec = spec_of(mounts=[{"hostPath": "/host/drv/a", "containerPath": "/x"}, hidden])
        found = edits_of(to_container(spec, mounts, unmapped="keep"))["mounts"]
        assert [mount["hostPath"] for mount in found] == ["/drv/a", expected]
    with pytest.raises(UnmappedPathsError, match="hides it"):
        to_container(spec_of(mounts=[hidden]), mounts_of("/host/drv:/drv", "/f:/drv/file"))


def test_the_way_back_to_a_single_file() -> None:
    """A file that is mounted alone appears there, and its directory elsewhere."""
    mounts = mounts_of("/a/file:/x/file", "/:/host", ":/scratch")
    spec = spec_of(
        mounts=[{"hostPath": h, "containerPath": "/x"} for h in ("/a/file", "/a/b", "/")]
    )
    found = edits_of(to_container(spec, mounts))["mounts"]
    assert [mount["hostPath"] for mount in found] == ["/x/file", "/host/a/b", "/host"]


OTHER_FORMS: list[tuple[Any, str]] = [
    ([], ""),
    ({"devices": {}}, "devices"),
    ({"devices": [3]}, "devices[0]"),
    ({"containerEdits": []}, "containerEdits"),
    ({"containerEdits": {"deviceNodes": {}}}, "containerEdits.deviceNodes"),
    ({"containerEdits": {"deviceNodes": ["x"]}}, "containerEdits.deviceNodes[0]"),
    ({"containerEdits": {"deviceNodes": [{}]}}, "containerEdits.deviceNodes[0].path"),
    ({"containerEdits": {"deviceNodes": [{"path": 3}]}}, "containerEdits.deviceNodes[0].path"),
    (
        {"containerEdits": {"deviceNodes": [{"path": "/dev/x", "hostPath": 3}]}},
        "containerEdits.deviceNodes[0].hostPath",
    ),
    (
        {"containerEdits": {"deviceNodes": [{"path": "/dev/x"}, {"path": "/dev/../x"}]}},
        "containerEdits.deviceNodes[1].path",
    ),
    ({"containerEdits": {"mounts": [1]}}, "containerEdits.mounts[0]"),
    ({"containerEdits": {"hooks": [1]}}, "containerEdits.hooks[0]"),
    ({"containerEdits": {"hooks": [{"path": 1}]}}, "containerEdits.hooks[0].path"),
    ({"containerEdits": {"hooks": [{"args": 1}]}}, "containerEdits.hooks[0].args"),
]


@pytest.mark.parametrize(("spec", "location"), OTHER_FORMS)
def test_a_spec_of_another_form(spec: Any, location: str) -> None:  # noqa: ANN401
    """What is not of the form of a spec is named by its place, whichever way it goes."""
    for transform in (to_host, to_container):
        with pytest.raises(InvalidSpecError) as caught:
            transform(spec, DRV, arguments="map")
        assert caught.value.location == location


@pytest.mark.parametrize("levels", [98, 99, 10**5])
def test_a_spec_that_is_nested_without_end(levels: int) -> None:
    """It is refused as such, however deep it is, and does not use up the stack."""
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    spec = spec_of(unknown={"to": [value]})
    for transform in (to_host, to_container):
        if levels == 98:
            assert edits_of(transform(spec, DRV))["unknown"] == {"to": [value]}
        else:
            with pytest.raises(InvalidSpecError, match="nested more than 100 deep"):
                transform(spec, DRV)


def test_parts_can_be_missing() -> None:
    """A spec without devices, or a mount without paths, is not this function's to refuse."""
    spec: dict[str, Any] = {"containerEdits": {"mounts": [{}], "hooks": [{}]}}
    assert to_host(spec, DRV, strip=["/drv"]) == spec
    assert to_host({}, DRV) == {}


def test_impossible_arguments() -> None:
    """A choice that there is not, and a directory that is none, are refused at once."""
    with pytest.raises(ValueError, match="no such choice"):
        to_host({}, DRV, unmapped="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no such choice"):
        to_container({}, DRV, arguments="strip")  # type: ignore[arg-type]
    with pytest.raises(PathKindError):
        to_host({}, DRV, strip="/drv")
    with pytest.raises(PathKindError):
        to_host({}, DRV, strip=[HostPath("/drv")])  # type: ignore[list-item]
    with pytest.raises(InvalidPathError):
        to_host({}, DRV, strip=["drv"])
