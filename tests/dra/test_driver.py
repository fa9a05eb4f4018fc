"""The worked example of a DRA driver: the kubelet's calls, the node on the host, the workload.

The driver runs in a container that is started as its manifest says, on a host of its own. The
test is the kubelet, and stands in for the API server.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import devroot
from devroot import Mount, cdi, kubernetes
from tests.dra._api import Api, api_server
from tests.dra._example import EXAMPLE, deployment
from tests.dra._kubelet import LIMIT, Kubelet
from tests.dra._sample import written_by_the_sample
from tests.kernel._harness import Container, Host, Volume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.kernel

NAME: Final = "channels.example.com"
DEVICE: Final = f"{NAME}/channel=channel3"
CHANNEL: Final = "/dev/example-channels/channel3"
REGISTRATION: Final = f"/var/lib/kubelet/plugins_registry/{NAME}-reg.sock"
NODE_NAME: Final = "some-node"
DRIVER_ROOT: Final = "/run/example"
DEVICES: Final = "Character devices:\n  1 mem\n509 example-channels\n\nBlock devices:\n"


class Driver:
    """A driver that was started in a container.

    Args:
        node: where.
        container: its container.
        pid: of its process, there.
    """

    def __init__(self, node: Node, container: Container, pid: int) -> None:
        self._node = node
        self._container = container
        self._pid = pid

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds while the driver runs."""
        for _ in range(LIMIT * 10):
            if condition():
                return
            if not self._container.describe(f"/proc/{self._pid}"):
                break
            time.sleep(0.1)
        pytest.fail(f"the driver does not get there:\n{self._node.said()}")

    def wait_for_end(self) -> None:
        """Wait until the driver has ended."""
        for _ in range(LIMIT * 10):
            if not self._container.describe(f"/proc/{self._pid}"):
                return
            time.sleep(0.1)
        pytest.fail(f"the driver does not end:\n{self._node.said()}")

    def stop(self) -> None:
        """End the driver as a runtime does."""
        spawn(self._container, f"kill -TERM {self._pid}", [], {})
        self.wait_for_end()


def spawn(container: Container, script: str, words: list[str], env: dict[str, str]) -> int:
    """Start a shell script with these words in a container; return the ID of its process there."""
    arguments = {"file": "/bin/sh", "args": ["sh", "-c", script, "sh", *words], "env": env}
    return int(container.call("spawnve", module="os", mode=os.P_NOWAIT, **arguments))


class Node:
    """A node of a cluster on which the driver can be started."""

    def __init__(self, host: Host, api: Api) -> None:
        self.host = host
        self.api = api
        self.root = Path(f"/proc/{host._process.pid}/root")
        host.call("mount_tmpfs", path="/var/lib")  # nothing is left on the machine's own
        for path in ("/run/test", DRIVER_ROOT):
            host.call("make_directory", path=path)
        self._write("/run/test/devices", DEVICES)
        self._write("/run/test/kubeconfig", json.dumps(api.kubeconfig()))

    def _write(self, path: str, text: str) -> None:
        Path(f"{self.root}{path}").write_text(text, "utf-8")

    def start(self, manifest: dict[str, Any]) -> Driver:
        """Start the driver as its manifest says."""
        own = [one for one in kubernetes.mounts(manifest) if one.location]
        container = self.host.container(
            Volume("/run/test/devices", "/proc/devices"),
            Volume("/run/test", "/run/test"),
            Volume(str(EXAMPLE), "/app", read_only=True),
            *map(self._volume, own),
        )
        (said,) = manifest["spec"]["template"]["spec"]["containers"]
        environment = {
            "PYTHONPATH": str(Path(devroot.__file__).parent.parent),
            "KUBECONFIG": "/run/test/kubeconfig",
            **{entry["name"]: entry.get("value", NODE_NAME) for entry in said["env"]},
        }
        script = 'exec "$@" >/run/test/log 2>&1'
        command = [sys.executable, *said["command"][1:]]
        return Driver(self, container, spawn(container, script, command, environment))

    def _volume(self, one: kubernetes.PodMount) -> Volume:
        if one.type == "DirectoryOrCreate":
            self.host.call("make_directory", path=str(one.mount.host))
        # A runtime follows links in the container's root inside it, and this harness does not.
        target = str(one.mount.container).replace("/var/run/", "/run/")
        return Volume(
            str(one.mount.host),
            target,
            read_only=one.mount.read_only,
            propagation="rslave" if one.propagation == "HostToContainer" else "private",
        )

    def registration(self) -> bool:
        """Return whether there is a socket for the kubelet to find."""
        return os.path.lexists(f"{self.root}{REGISTRATION}")

    def spec(self) -> Any:  # noqa: ANN401 - whatever JSON can say
        """Return the spec that the host has for the claim, or None."""
        path = Path(f"{self.root}/run/cdi/{NAME}-channel_some-uid.json")
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    def workload(self, device: str) -> tuple[int, str]:
        """Return the status of a workload that asks for a device, and what it says of the node."""
        command = ["stat", "-c", "%F %t:%T %a", CHANNEL]
        found = self.host.call("workload", module="_podman", device=device, command=command)
        return int(found[0]), str(found[1]).strip()

    def said(self) -> str:
        """Return the log of the driver."""
        return Path(f"{self.root}/run/test/log").read_text("utf-8")


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Give a node with podman; where there is none, in CI that is a failure."""
    missing = [name for name in ("podman", "crun") if shutil.which(name) is None]
    if missing:
        reason = f"needs {' and '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs the real consumers of CDI, but this {reason}", pytrace=False)
        pytest.skip(reason)
    with api_server() as api, Host() as host:
        host.call("set_up", module="_podman")
        yield Node(host, api)


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    """Give the DaemonSet, for a node where the driver root is in the scratch space."""
    root = Mount(host=DRIVER_ROOT, container="/driver-root", read_only=True)
    found: dict[str, Any] = deployment.daemon_set(driver_root=root)
    return found


@pytest.fixture
def kubelet(node: Node, manifest: dict[str, Any]) -> Iterator[Kubelet]:
    """Give a kubelet with which the driver, running meanwhile, has registered."""
    driver = node.start(manifest)
    driver.wait(node.registration)
    found = Kubelet(node.root)
    found.register(REGISTRATION)
    yield found
    driver.stop()


def prepare(kubelet: Kubelet, node: Node) -> list[str]:
    """Return what the kubelet is to ask the runtime for, for a claim with a channel of ours."""
    devices = {"channel3": NAME, "gpu0": "gpu.example.org"}
    node.api.allocate("some", uid="some-uid", devices=devices)
    answer = kubelet.prepare("some", uid="some-uid")
    assert answer.error == "", node.said()
    return [name for device in answer.devices for name in device.cdi_device_ids]


def test_registration(node: Node, manifest: dict[str, Any]) -> None:
    """It says where it serves what, has told the scheduler its devices, and ends as it should."""
    driver = node.start(manifest)
    driver.wait(node.registration)
    info = Kubelet(node.root).register(REGISTRATION)
    assert (info.type, info.name) == ("DRAPlugin", NAME)
    assert info.endpoint == f"/var/lib/kubelet/plugins/{NAME}/dra.sock"
    assert list(info.supported_versions) == ["v1.DRAPlugin"]
    driver.wait(lambda: bool(node.api.slices))
    (published,) = node.api.slices.values()
    assert published["spec"]["nodeName"] == NODE_NAME
    assert [one["name"] for one in published["spec"]["devices"]] == [
        f"channel{n}" for n in range(8)
    ]
    driver.stop()
    assert node.api.slices == {}
    assert not node.registration()


def test_a_claim_reaches_the_workload(kubelet: Kubelet, node: Node) -> None:
    """What is prepared is a node on the host and a spec without a fault, and podman takes it."""
    assert prepare(kubelet, node) == [DEVICE]
    assert node.host.describe(CHANNEL) == "c 509:3 0666"
    spec = node.spec()
    assert spec is not None
    assert (spec["cdiVersion"], cdi.check(spec)) == ("0.5.0", ())
    (edits,) = [device["containerEdits"] for device in spec["devices"]]
    assert [one["hostPath"] for one in edits["deviceNodes"]] == [CHANNEL]
    assert node.workload(DEVICE) == (0, "character special file 1fd:3 666")


def test_prepared_again(kubelet: Kubelet, node: Node) -> None:
    """A kubelet that has restarted asks again, and has the same answer."""
    assert prepare(kubelet, node) == prepare(kubelet, node) == [DEVICE]
    assert node.host.describe(CHANNEL) == "c 509:3 0666"


def test_unprepared(kubelet: Kubelet, node: Node) -> None:
    """The spec is gone and podman knows the device no more; to be asked again is no error."""
    prepare(kubelet, node)
    assert kubelet.unprepare("some", uid="some-uid") == ""
    assert node.spec() is None
    status, output = node.workload(DEVICE)
    assert status != 0
    assert "unresolvable CDI devices" in output
    assert kubelet.unprepare("some", uid="some-uid") == ""


def test_a_name_in_two_specs(kubelet: Kubelet, node: Node) -> None:
    """A device is given to nobody while two specs have its name."""
    prepare(kubelet, node)
    specs = Path(f"{node.root}/run/cdi")
    second = specs / "second.json"
    shutil.copyfile(specs / f"{NAME}-channel_some-uid.json", second)
    status, output = node.workload(DEVICE)
    second.unlink()
    assert status != 0
    assert "unresolvable CDI devices" in output
    assert node.workload(DEVICE)[0] == 0
    assert kubelet.unprepare("some", uid="some-uid") == ""


def test_what_cannot_be_prepared(kubelet: Kubelet, node: Node) -> None:
    """A claim that is not there, or another one of that name, is told to the kubelet."""
    node.api.allocate("other", uid="a-later-uid", devices={"channel3": NAME})
    assert "another one by now: a-later-uid" in kubelet.prepare("other", uid="a-uid").error
    assert "(404)" in kubelet.prepare("none", uid="a-uid").error


def test_the_mounted_directory_is_stale(kubelet: Kubelet, node: Node) -> None:
    """A directory that the host has made anew is told to the kubelet, not handed to podman."""
    node.host.call("remove_tree", path="/dev/example-channels")
    node.host.call("make_directory", path="/dev/example-channels")
    node.api.allocate("some", uid="some-uid", devices={"channel3": NAME})
    error = kubelet.prepare("some", uid="some-uid").error
    assert "/dev/example-channels is STALE" in error
    assert (node.host.describe(CHANNEL), node.spec()) == ("", None)


def test_the_host_takes_a_mount_away(node: Node, manifest: dict[str, Any]) -> None:
    """What the host unmounts while the driver runs is told to the kubelet at the next claim."""
    directory = "/dev/example-channels"
    node.host.call("mount_tmpfs", path=directory)
    driver = node.start(manifest)
    driver.wait(node.registration)
    kubelet = Kubelet(node.root)
    kubelet.register(REGISTRATION)
    assert prepare(kubelet, node) == [DEVICE]
    assert kubelet.unprepare("some", uid="some-uid") == ""
    node.host.call("call", module="subprocess", args=["umount", "--lazy", directory])
    error = kubelet.prepare("some", uid="some-uid").error
    assert "/dev/example-channels is PRIVATE" in error
    assert (node.host.describe(CHANNEL), node.spec()) == ("", None)
    driver.stop()


def test_the_volume_is_missing(node: Node, manifest: dict[str, Any]) -> None:
    """Without the volume for the nodes the driver does not start, and says which one is needed."""
    changed = copy.deepcopy(manifest)
    (container,) = changed["spec"]["template"]["spec"]["containers"]
    container["volumeMounts"] = [
        one for one in container["volumeMounts"] if "/host-dev/" not in one["mountPath"]
    ]
    driver = node.start(changed)
    driver.wait_for_end()
    assert "NoDevRootError" in node.said()
    assert "/dev/example-channels:/host-dev/dev/example-channels" in node.said()


def test_podman_refuses_the_spec_of_a_sample_driver(node: Node, tmp_path: Path) -> None:
    """It claims a version that it does not need, and a runtime in the field takes none of it."""
    (spec,) = written_by_the_sample(tmp_path)
    status, output = node.host.call("given", module="_podman", spec=spec, command=["true"])
    assert status != 0
    assert "unresolvable CDI devices" in output
    lower = {**spec, "cdiVersion": cdi.minimum_version(spec)}
    status, output = node.host.call("given", module="_podman", spec=lower, command=["true"])
    assert status != 0
    assert 'failed to stat CDI host device "/dev/accel0"' in output
