"""The driver of a fake host: what it says is what the NVIDIA room reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from devroot import ContainerPath, DriverRoot, Majors
from devroot.errors import CapabilityNotFoundError, InvalidSceneError, MajorNotFoundError
from devroot.nvidia import DriverFiles, MigDevice, NvidiaDriver
from devroot.testing import FakeHost

GEOMETRY = Path(__file__).parents[2] / "data/nvidia/mig-geometry/proc/driver/nvidia-caps/mig-minors"


@pytest.fixture
def host() -> FakeHost:
    """Return a host with devtmpfs."""
    host = FakeHost()
    host.devtmpfs("/dev")
    return host


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("535.183.01", ["nvidia-frontend"]),
        ("550.39", ["nvidia-frontend"]),
        ("550.40.07", ["nvidia", "nvidia-modeset", "nvidiactl"]),
        ("580.65.06", ["nvidia", "nvidia-modeset", "nvidiactl"]),
    ],
)
def test_names_by_version(host: FakeHost, version: str, names: list[str]) -> None:
    """The main driver has its old name before 550.40; the nodes have the same numbers."""
    host.nvidia_driver("/", version=version)
    driver = NvidiaDriver.read(host.view)
    assert sorted(driver.majors.names_of_character(195)) == names
    for node in (*driver.control_nodes(), *driver.gpus()):
        assert host.device(str(node.path)).number == (node.major, node.minor)


def test_files_are_found(host: FakeHost) -> None:
    """The driver's libraries and programmes are found below its root, also where that is ``/``."""
    host.nvidia_driver("/opt/nvidia", version="580.65.06")
    root = DriverRoot(host="/opt/nvidia", container="/opt/nvidia", view=host.view)
    assert str(DriverFiles(root).version()) == "580.65.06"
    host.nvidia_driver("/")
    whole = DriverFiles(DriverRoot(host="/", container="/", view=host.view))
    assert str(whole.library("libcuda.so.1").host) == "/usr/lib64/libcuda.so.580.65.06"
    assert str(whole.binary("nvidia-smi").host) == "/usr/bin/nvidia-smi"


def test_imex_channels(host: FakeHost) -> None:
    """With channels there are their major, their capability and their directory."""
    host.nvidia_driver("/", imex_channels=16)
    driver = NvidiaDriver.read(host.view)
    assert [node.minor for node in driver.imex_channels()] == list(range(16))
    assert (driver.fabric_imex_mgmt().major, driver.fabric_imex_mgmt().minor) == (511, 4323)
    assert host.has("/dev/nvidia-caps-imex-channels")


def test_no_imex_channels(host: FakeHost) -> None:
    """Without channels there is none of it, also after a driver that had them."""
    host.nvidia_driver("/", imex_channels=16)
    host.nvidia_driver("/")
    driver = NvidiaDriver.read(host.container().view)
    with pytest.raises(MajorNotFoundError):
        driver.major("nvidia-caps-imex-channels")
    with pytest.raises(CapabilityNotFoundError):
        driver.fabric_imex_mgmt()


def test_mig(host: FakeHost) -> None:
    """The minors of MIG devices are the driver's, and their nodes are there."""
    devices = [MigDevice(gpu=0, gi=1, ci=0), MigDevice(gpu=1, gi=14, ci=7)]
    host.nvidia_driver("/", gpus=2, mig=devices)
    driver = NvidiaDriver.read(host.view)
    for device in devices:
        for node in driver.mig_device_nodes(device):
            host.assert_on_host(node)
    assert driver.mig_config().mode == 0o400
    listed = host.filesystem.read_bytes(ContainerPath("/proc"), "driver/nvidia-caps/mig-minors")
    true = dict(line.split(" ") for line in GEOMETRY.read_text("utf-8").splitlines())
    mine = dict(line.split(" ") for line in listed.decode().splitlines())
    shared = set(true) & set(mine)
    assert len(shared) > 20
    assert {name: mine[name] for name in shared} == {name: true[name] for name in shared}


def test_owner_and_mode(host: FakeHost) -> None:
    """Owner and mode are those of the parameters, and nodes can be withheld."""
    host.nvidia_driver("/", mode=0o660, uid=5, gid=6, modify_device_files=False)
    node = NvidiaDriver.read(host.view).gpu(0)
    assert (node.mode, node.uid, node.gid) == (0o660, 5, 6)
    assert "ModifyDeviceFiles: 0" in node.withheld
    assert str(host.device("/dev/nvidia0")) == "c 195:0 0660 5:6"


def test_without_files_and_nodes(host: FakeHost) -> None:
    """A driver can be loaded and have left nothing behind."""
    host.nvidia_driver("/opt/nvidia", files=False, nodes=False)
    assert (host.has("/opt/nvidia"), host.has("/dev/nvidia0")) == (False, False)
    assert NvidiaDriver.read(host.view).gpu(0).major == 195
    assert "file /d/bin/nvidia-smi 0755" in host.driver_files("/d", nodes=False)
    assert "char /dev/nvidia0 195:0 0666 0:0" in host.driver_files("/d")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"version": "580"}, "write it as in 580.65.06"),
        ({"gpus": 33}, "from 0 to 32"),
        ({"mig": [MigDevice(gpu=1, gi=0, ci=0)]}, "1 GPUs have 15 GPU instances"),
        ({"mig": [MigDevice(gpu=0, gi=15, ci=0)]}, "1 GPUs have 15 GPU instances"),
    ],
)
def test_what_cannot_be(host: FakeHost, arguments: dict[str, object], said: str) -> None:
    """A driver that cannot be is refused."""
    with pytest.raises(InvalidSceneError, match=said):
        host.nvidia_driver("/", **arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - of several types


def test_no_driver(host: FakeHost) -> None:
    """Without a driver there are no files of one."""
    with pytest.raises(InvalidSceneError, match="no driver is loaded"):
        host.driver_files("/")
    with pytest.raises(MajorNotFoundError):
        Majors.read(host.view).character("nvidia")


def test_files_of_the_kernel(host: FakeHost) -> None:
    """A file below ``/proc`` comes and goes in every container."""
    container = host.container()
    host.proc_file("driver/nvidia-nvswitch/permissions", "DeviceFileMode: 438\n")
    later = host.container()
    for machine in (host, container, later):
        assert machine.has("/proc/driver/nvidia-nvswitch/permissions")
    host.proc_file("driver/nvidia-nvswitch", None)
    host.proc_file("driver/nvidia-nvswitch", None)
    for machine in (host, container, later):
        assert not machine.has("/proc/driver/nvidia-nvswitch")
