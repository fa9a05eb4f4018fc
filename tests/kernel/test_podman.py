"""Podman as the judge: what the library writes into a CDI spec is what a workload gets.

The host is a namespace of its own, with its own ``/dev``, podman storage and directory for specs.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.kernel._harness import Host

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kernel

DEVICE: Final = "/dev/nvidia-caps/nvidia-cap4323"
NOT_THERE: Final = f'failed to stat CDI host device "{DEVICE}": no such file or directory'
GOOD: Final = "character special file eb:10e3 666 0:0"
COMPLETE: Final = {
    "path": DEVICE,
    "hostPath": DEVICE,
    "type": "c",
    "major": 235,
    "minor": 4323,
    "fileMode": 438,
    "permissions": "rw",
    "uid": 0,
    "gid": 0,
}
DESCRIBED: Final = {name: value for name, value in COMPLETE.items() if name != "hostPath"}


def case(
    *volumes: str, options: list[str] | None = None, fallback: list[Any] | None = None, how: str
) -> dict[str, Any]:
    """Return what `observe` in the host takes."""
    return {"volumes": list(volumes), "options": options or [], "fallback": fallback, "how": how}


NAIVE: Final = case(how="naive")
# This host's /dev is a tmpfs, as is a container's own, and only the host's table tells them apart.
HOST_DEV: Final = case("/dev:/dev", "/proc:/host-proc:ro", fallback=["host", "/"], how="node")
SUBSET: Final = case(
    "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
    fallback=["subset", "/host-dev", ["nvidia-caps"]],
    how="node",
)
NO_NODE: Final = case(how="described")
HOST_ROOT: Final = case("/:/host:rslave", fallback=["host", "/host"], how="node")
PRIVILEGED: Final = case(options=["--privileged"], how="naive")


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """Give a host with podman; where there is none, in CI that is a failure."""
    missing = [name for name in ("podman", "crun") if shutil.which(name) is None]
    if missing:
        reason = f"needs {' and '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs the real consumers of CDI, but this {reason}", pytrace=False)
        pytest.skip(reason)
    with Host() as made:
        made.call("set_up", module="_podman")
        yield made


def observe(host: Host, asked: dict[str, Any]) -> dict[str, Any]:
    """Run a plugin and a workload on the host."""
    found: dict[str, Any] = host.call("observe", module="_podman", **asked)
    assert (found["plugin"]["file"], found["mode"]) == ("vendor.com-class.json", 0o644)
    return found


def node_of(found: dict[str, Any]) -> object:
    """Return the device node in the spec that the plugin wrote."""
    return found["spec"]["devices"][0]["containerEdits"]["deviceNodes"][0]


@pytest.mark.parametrize("asked", [NAIVE, PRIVILEGED], ids=["own-dev", "privileged"])
def test_the_naive_dev_root_fails(host: Host, asked: dict[str, Any]) -> None:
    """A node in the container's own /dev is not on the host; the library had refused the path."""
    found = observe(host, asked)
    assert (found["plugin"]["refused"], found["host"]) == ("PRIVATE", "")
    assert NOT_THERE in found["workload"]


@pytest.mark.parametrize(
    "asked", [HOST_DEV, SUBSET, HOST_ROOT], ids=["host-dev", "subset", "host-root"]
)
def test_a_node_on_the_host_is_given_to_the_workload(host: Host, asked: dict[str, Any]) -> None:
    """With a dev root that reaches the host, podman finds the node and the workload has it."""
    found = observe(host, asked)
    assert found["plugin"]["refused"] == ""
    assert found["host"] == "235:4323 0666"
    assert found["spec"]["cdiVersion"] == "0.5.0"
    assert node_of(found) == COMPLETE
    assert found["workload"] == GOOD


def test_a_described_node_needs_none_on_the_host(host: Host) -> None:
    """Numbers alone are enough: podman makes the node, with its mode and owner."""
    found = observe(host, NO_NODE)
    assert (found["plugin"]["refused"], found["host"]) == ("PRIVATE", "")
    assert found["spec"]["cdiVersion"] == "0.3.0"
    assert node_of(found) == DESCRIBED
    assert found["workload"] == GOOD


def test_inside_a_node_that_is_a_container(host: Host) -> None:
    """In a kind-like node the same holds against the node's /dev, which is not the machine's."""
    cases = [NAIVE, HOST_DEV, SUBSET]
    naive, host_dev, subset = host.call("in_node", module="_podman", cases=cases)
    assert (naive["plugin"]["refused"], naive["host"]) == ("PRIVATE", "")
    assert NOT_THERE in naive["workload"]
    for found in (host_dev, subset):
        assert (found["host"], found["workload"]) == ("235:4323 0666", GOOD)
    assert host.describe(DEVICE) == ""


def given(host: Host, node: dict[str, Any], **fields: str) -> tuple[int, str]:
    """Return what a workload says that asks for a device with this node."""
    spec = {
        "cdiVersion": "0.5.0",
        "kind": "vendor.com/class",
        "devices": [{"name": "name", "containerEdits": {"deviceNodes": [node]}}],
        **fields,
    }
    command = ["stat", "-c", "%F %t:%T %a", "/dev/x"]
    status, output = host.call("given", module="_podman", spec=spec, command=command)
    return int(status), str(output).strip()


NODE: Final = {"path": "/dev/x", "type": "c", "major": 235, "minor": 7, "fileMode": 0o640}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NODE, "character special file eb:7 640"),
        ({**NODE, "permissions": "rw"}, "character special file eb:7 640"),
        ({"path": "/dev/x", "type": "c", "major": 235, "fileMode": 0o666}, "eb:0 666"),
        ({"path": "/dev/x", "hostPath": "/dev/null", "fileMode": 0o640}, "1:3 640"),
        ({"path": "/dev/x", "hostPath": "/dev/stdin"}, "not a device node"),
        ({"path": "/dev/x", "type": "c", "minor": 7}, "failed to stat CDI host device"),
        ({**NODE, "major": 0}, "failed to stat CDI host device"),
    ],
)
def test_what_podman_makes_of_a_node(host: Host, node: dict[str, Any], expected: str) -> None:
    """A missing minor is 0, a major of 0 is not given, a link is no device: hence `check`."""
    status, output = given(host, node)
    assert expected in output
    assert (status == 0) == ("stat" not in output and "not a device" not in output)


@pytest.mark.parametrize(
    ("node", "fields", "expected"),
    [
        ({**NODE, "later": 1}, {}, "unresolvable CDI devices"),
        ({**NODE, "permissions": "none"}, {}, "unresolvable CDI devices"),
        (NODE, {"cdiVersion": "0.6.0"}, "unresolvable CDI devices"),
        (NODE, {"kind": "1vendor.com/class"}, "no such file"),
        (NODE, {"kind": "vendor.com/c"}, "panic: runtime error"),
        (NODE, {"kind": "v/class"}, "panic: runtime error"),
    ],
)
def test_what_podman_refuses(
    host: Host, node: dict[str, Any], fields: dict[str, str], expected: str
) -> None:
    """Fields and versions that it does not know; at a name of one letter it crashes."""
    status, output = given(host, node, **fields)
    assert status != 0
    assert expected in output
