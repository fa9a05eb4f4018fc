"""The driver's nodes: control, GPUs, IMEX channels, NVLink, NVSwitch, vGPU, and whole sets."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs
import pytest

from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.errors import (
    InvalidNodeError,
    MajorNotFoundError,
    ProcFileError,
    ProcMaskedError,
    ProcUnavailableError,
)
from devroot.nvidia import MigDevice, NvidiaDriver, Parameters, required_nodes
from devroot.testing import FakeHost, TreeFileSystem

if TYPE_CHECKING:
    from tests.unit.nvidia.conftest import Recorded

GPUS = "/proc/driver/nvidia/gpus"


def _driver(recorded: Recorded, name: str, *specs: str, **places: str) -> NvidiaDriver:
    return NvidiaDriver.read(recorded(name, *specs, **places), parameters=Parameters())


def _gpu(address: str, minor: str) -> str:
    lines = (
        "Model: \t\t NVIDIA A100-SXM4-40GB",
        "IRQ:   \t\t 42",
        "Bus Location: \t 0000:07:00.0",
        f"Device Minor: \t {minor}",
        "GPU Excluded:\t No",
    )
    return f"file {GPUS}/{address}/information\n" + "\n".join(lines) + "\n"


def test_majors_and_parameters_are_read_once(recorded: Recorded) -> None:
    """Reading a driver gives its majors and what its module was told."""
    driver = NvidiaDriver.read(recorded("imex-channels"))
    assert driver.major("nvidia-nvswitch") == 509
    assert driver.parameters.imex_channel_count == 2048
    assert driver == NvidiaDriver.read(driver.view)
    assert "view" not in repr(driver)


def test_both_files_come_from_the_proc_of_the_view(recorded: Recorded) -> None:
    """The host's ``/proc``, mounted aside, is read instead of the container's."""
    driver = NvidiaDriver.read(recorded("imex-channels", proc="/host/proc"))
    assert driver.parameters.path == ContainerPath("/host/proc/driver/nvidia/params")
    assert driver.majors.path == ContainerPath("/host/proc/devices")


def test_a_mock_set_up_gives_its_own_files(recorded: Recorded) -> None:
    """Another devices file and parameters as data need no kernel module."""
    view = recorded("mig-config", "file /mock\nCharacter devices:\n235 nvidia-caps-imex-channels\n")
    devices = ContainerPath("/mock")
    driver = NvidiaDriver.read(view, devices=devices, parameters=Parameters())
    assert driver.imex_channel(0).number == (235, 0)
    with pytest.raises(ProcUnavailableError):
        NvidiaDriver.read(view, devices=devices)


def test_a_mock_set_up_in_the_place_of_proc() -> None:
    """A directory with the files that are asked for will do for the driver, links inside it too."""
    pod = FakeHost().container()
    pod.file(
        "/mock/real/devices", "Character devices:\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n"
    )
    pod.symlink("/mock/devices", "/real/devices")
    pod.file("/mock/driver/nvidia/params", "ImexChannelCount: 8\n")
    pod.file("/mock/driver/nvidia/capabilities/fabric-imex-mgmt", "DeviceFileMinor: 4323\n")
    mock = ContainerPath("/mock")
    driver = NvidiaDriver.read(attrs.evolve(pod.view, proc=mock))
    assert driver.imex_channel(7).number == (235, 7)
    assert driver.fabric_imex_mgmt().number == (236, 4323)
    pod.symlink("/mock/self", "/proc/self")
    with pytest.raises(ProcUnavailableError, match="/mock/self/mountinfo"):
        ContainerView.of_process(proc=mock, filesystem=pod.filesystem)
    pod.remove("/mock/self")
    pod.file("/mock/self/mountinfo", pod.mountinfo())
    assert ContainerView.of_process(proc=mock, filesystem=pod.filesystem).proc == mock


def test_the_main_driver_is_found_by_its_old_and_its_new_name(recorded: Recorded) -> None:
    """nvidia-frontend and nvidia are one driver, whichever is listed."""
    new = _driver(recorded, "driver-550")
    old = _driver(recorded, "several-majors")
    for driver in (old, new):
        assert driver.gpu(0).number == (195, 0)
        assert driver.nvidiactl().number == (195, 255)
        assert driver.major("nvidia") == driver.major("nvidia-frontend") == 195


def test_an_absent_driver_is_not_its_neighbour(recorded: Recorded) -> None:
    """A module that is not loaded gives neither a default nor the major of a like name."""
    driver = _driver(recorded, "driver-550")
    for name in ("nvidia-caps", "nvidia-uvm"):
        with pytest.raises(MajorNotFoundError, match=f"'{name}'"):
            driver.major(name)
    with pytest.raises(MajorNotFoundError, match="'nvidia-uvm'"):
        driver.control_nodes()


def test_the_error_names_the_driver_that_was_asked_for(recorded: Recorded) -> None:
    """Where no name of the main driver is listed, the one that was asked for is told."""
    driver = _driver(recorded, "mig-config")
    with pytest.raises(MajorNotFoundError, match="'nvidiactl'"):
        driver.nvidiactl()
    with pytest.raises(MajorNotFoundError, match="'nvidia-frontend'"):
        driver.major("nvidia-frontend")


def test_control_nodes_have_fixed_minors(recorded: Recorded) -> None:
    """255 and 254 of the main driver, 0 and 1 of nvidia-uvm."""
    assert [str(node) for node in _driver(recorded, "driver-container").control_nodes()] == [
        "/dev/nvidiactl c 195:255 0666 0:0",
        "/dev/nvidia-modeset c 195:254 0666 0:0",
        "/dev/nvidia-uvm c 509:0 0666 0:0",
        "/dev/nvidia-uvm-tools c 509:1 0666 0:0",
    ]


def test_parameters_rule_all_nodes_but_those_of_uvm(recorded: Recorded) -> None:
    """Owner, mode and ModifyDeviceFiles of the main module do not concern nvidia-uvm."""
    text = (
        "ModifyDeviceFiles: 0\nDeviceFileUID: 7\nDeviceFileGID: 44\nDeviceFileMode: 432\n"
        "ImexChannelCount: 8\n"
    )
    parameters = Parameters.parse(text)
    devices = (
        "file /proc/devices\nCharacter devices:\n195 nvidia\n234 nvidia-caps-imex-channels\n"
        "509 nvidia-uvm\n510 nvidia-vgpu-vfio\n"
    )
    driver = NvidiaDriver.read(recorded("driver-container", devices), parameters=parameters)
    for node in (
        driver.nvidiactl(),
        driver.modeset(),
        driver.gpu(3),
        driver.imex_channel(7),
        driver.vgpu(2),
    ):
        assert (node.mode, node.uid, node.gid) == (0o660, 7, 44)
        assert node.withheld == "ModifyDeviceFiles: 0 in /proc/driver/nvidia/params"
    for node in (driver.uvm(), driver.uvm_tools()):
        assert (node.mode, node.uid, node.gid, node.withheld) == (0o666, 0, 0, "")


def test_masked_parameters_withhold_but_give_the_numbers(recorded: Recorded) -> None:
    """Where a runtime replaced the parameters, place and number are right, permission unknown."""
    driver = NvidiaDriver.read(recorded("imex-channels", mountinfo="masked-params"))
    node = driver.imex_channel(1)
    assert str(node) == "/dev/nvidia-caps-imex-channels/channel1 c 234:1 0666 0:0"
    assert node.withheld.startswith("whether the driver allows it cannot be known")


@pytest.mark.parametrize("minor", [-1, 248, 255, True, "0", None])
def test_a_gpu_has_a_regular_minor(recorded: Recorded, minor: object) -> None:
    """Minors from 248 on are the driver's own, and none is a bool or a text."""
    driver = _driver(recorded, "driver-550")
    with pytest.raises(InvalidNodeError) as caught:
        driver.gpu(minor)  # type: ignore[arg-type]
    assert (caught.value.field, caught.value.value) == ("gpu", minor)


def test_gpus_are_found_by_their_device_minor(recorded: Recorded) -> None:
    """The minor is what the file says, not the place among the PCI addresses."""
    driver = _driver(
        recorded,
        "driver-550",
        _gpu("0000:07:00.0", "3"),
        _gpu("0000:0f:00.0", "0"),
        _gpu("0000:47:00.0", "247"),
    )
    assert [node.path.below_dev for node in driver.gpus()] == ["nvidia0", "nvidia3", "nvidia247"]
    assert [node.minor for node in driver.gpus()] == [0, 3, 247]


def test_a_driver_can_have_no_gpu(recorded: Recorded) -> None:
    """An empty directory is an answer."""
    assert _driver(recorded, "driver-550", f"dir {GPUS}").gpus() == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Model: \t\t GeForce\n", "it has no field 'Device Minor'"),
        ("", "it is empty"),
        ("Device Minor: \t\n", "Device Minor is ''"),
        ("Device Minor: \t 248\n", "Device Minor is '248', which is no decimal number"),
        ("Device Minor: \t -1\n", "Device Minor is '-1'"),
    ],
)
def test_a_gpu_without_a_minor_is_an_error(recorded: Recorded, text: str, told: str) -> None:
    """Old drivers do not say the minor; it is not guessed from the order."""
    driver = _driver(recorded, "driver-550", f"file {GPUS}/0000:04:00.0/information\n{text}")
    with pytest.raises(ProcFileError, match=told) as caught:
        driver.gpus()
    assert caught.value.path == ContainerPath(f"{GPUS}/0000:04:00.0/information")


def test_two_gpus_cannot_have_one_minor(recorded: Recorded) -> None:
    """Files that contradict each other are an error that names both."""
    driver = _driver(recorded, "driver-550", _gpu("0000:07:00.0", "1"), _gpu("0000:0f:00.0", "1"))
    with pytest.raises(ProcFileError, match=r"0f:00\.0.*Device Minor 1 .*07:00\.0"):
        driver.gpus()


def test_a_gpu_that_vanishes_is_an_error(recorded: Recorded) -> None:
    """A directory of a GPU without its file means that the GPU has gone."""
    driver = _driver(recorded, "driver-550", f"dir {GPUS}/0000:04:00.0")
    with pytest.raises(ProcUnavailableError, match="the GPU has gone"):
        driver.gpus()


def test_gpus_behind_a_mask_are_unknown_even_if_some_show(recorded: Recorded) -> None:
    """A runtime binds back the GPUs that it gives; the host may have more."""
    driver = _driver(
        recorded, "driver-550", _gpu("0000:07:00.0", "1"), mountinfo="masked-directory"
    )
    with pytest.raises(ProcMaskedError, match="a tmpfs is mounted over /proc/driver/nvidia"):
        driver.gpus()


def test_without_the_directory_of_gpus_there_is_no_answer(recorded: Recorded) -> None:
    """A missing directory is not the same as none in it."""
    with pytest.raises(ProcUnavailableError, match="is the kernel module loaded") as caught:
        _driver(recorded, "driver-550").gpus()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, GPUS)


def test_channels_have_the_minor_of_their_number(recorded: Recorded) -> None:
    """The nodes come in the order asked for, with the major of the channels' own driver."""
    driver = NvidiaDriver.read(recorded("imex-channels"))
    assert [str(node) for node in driver.imex_channels([2047, 0, 1])] == [
        "/dev/nvidia-caps-imex-channels/channel2047 c 234:2047 0666 0:0",
        "/dev/nvidia-caps-imex-channels/channel0 c 234:0 0666 0:0",
        "/dev/nvidia-caps-imex-channels/channel1 c 234:1 0666 0:0",
    ]
    assert driver.imex_channel(1) == driver.imex_channels(range(1, 2))[0]
    assert driver.imex_channels(iter([5, 5])) == (driver.imex_channel(5),) * 2


@pytest.mark.parametrize("channel", [2048, 9999, -1, "bogus", "0", True, 1.0, None])
def test_a_channel_outside_the_count_is_refused(recorded: Recorded, channel: object) -> None:
    """The error says which channels there are, and from where that is known."""
    driver = NvidiaDriver.read(recorded("imex-channels"))
    with pytest.raises(InvalidNodeError) as caught:
        driver.imex_channel(channel)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"channel={channel!r}: the IMEX channels are 0 to 2047:"
        " ImexChannelCount in /proc/driver/nvidia/params is 2048"
    )


def test_the_count_is_the_drivers_and_not_a_constant(recorded: Recorded) -> None:
    """With a count of 4096, channel 2048 is there; with 2**21, the minors end before it does."""
    view = recorded("imex-channels")
    more = NvidiaDriver.read(view, parameters=Parameters.parse("ImexChannelCount: 4096\n"))
    assert more.imex_channel(2048).minor == 2048
    most = NvidiaDriver.read(view, parameters=Parameters.parse("ImexChannelCount: 2097152\n"))
    assert most.imex_channel(1048575).minor == 1048575
    with pytest.raises(InvalidNodeError, match=r"are 0 to 1048575: ImexChannelCount .* is 2097152"):
        most.imex_channel(1048576)


def test_a_count_that_is_not_reported_is_the_default(recorded: Recorded) -> None:
    """Older drivers do not say the count; the check then uses 2048 and says so."""
    driver = _driver(recorded, "imex-channels")
    assert driver.imex_channel(2047).minor == 2047
    with pytest.raises(InvalidNodeError, match="reports no ImexChannelCount, and its default is 2"):
        driver.imex_channel(2048)


def test_channels_can_be_turned_off(recorded: Recorded) -> None:
    """With a count of 0 there are none, and no driver is looked for."""
    parameters = Parameters.parse("ImexChannelCount: 0\n")
    driver = NvidiaDriver.read(recorded("mig-config"), parameters=parameters)
    assert driver.imex_channels() == ()
    with pytest.raises(InvalidNodeError, match=r"there are no IMEX channels: .* is 0"):
        driver.imex_channel(0)


def test_channels_need_their_driver(recorded: Recorded) -> None:
    """The major of the channels is never that of the capabilities or of the main driver."""
    driver = _driver(recorded, "mig-config")
    assert driver.imex_channels([]) == ()
    with pytest.raises(MajorNotFoundError, match="'nvidia-caps-imex-channels'"):
        driver.imex_channels()


def test_all_channels_are_the_default(recorded: Recorded) -> None:
    """Without a range, every channel of the driver is meant, many thousands if it has them."""
    view = recorded("imex-channels")
    assert len(NvidiaDriver.read(view).imex_channels()) == 2048
    many = NvidiaDriver.read(view, parameters=Parameters.parse("ImexChannelCount: 65536\n"))
    nodes = many.imex_channels()
    assert [node.minor for node in nodes] == list(range(65536))
    assert str(nodes[-1].path) == "/dev/nvidia-caps-imex-channels/channel65535"


NVLINK = "file /proc/devices\nCharacter devices:\n234 nvidia-nvlink\n509 nvidia-nvswitch\n"


def test_nvlink_and_nvswitch_have_permissions_of_their_own(recorded: Recorded) -> None:
    """Each driver's file gives the mode, 384 being 0600; the parameters do not count."""
    view = recorded(
        "mig-config",
        NVLINK,
        "file /proc/driver/nvidia-nvlink/permissions\nDeviceFileMode: 438\n",
        "file /proc/driver/nvidia-nvswitch/permissions\nDeviceFileMode: 384\n",
    )
    parameters = Parameters.parse("ModifyDeviceFiles: 0\nDeviceFileUID: 7\n")
    driver = NvidiaDriver.read(view, parameters=parameters)
    assert str(driver.nvlink()) == "/dev/nvidia-nvlink c 234:0 0666 0:0"
    assert str(driver.nvswitchctl()) == "/dev/nvidia-nvswitchctl c 509:255 0600 0:0"
    assert str(driver.nvswitch(5)) == "/dev/nvidia-nvswitch5 c 509:5 0600 0:0"
    assert driver.nvswitch(5).withheld == ""


def test_missing_permissions_are_the_defaults(recorded: Recorded) -> None:
    """Without such a file, the nodes are for everybody, as nvidia-modprobe makes them."""
    driver = _driver(recorded, "mig-config", NVLINK)
    assert driver.nvlink().mode == driver.nvswitchctl().mode == 0o666
    assert driver.nvlink().withheld == ""


def test_hidden_permissions_withhold(recorded: Recorded) -> None:
    """What may not be read is unknown, and so the node is not to be made unasked."""
    driver = _driver(recorded, "mig-config", NVLINK)
    assert isinstance(driver.view.filesystem, TreeFileSystem)
    driver.view.filesystem.fail("read_bytes", errno.EACCES)
    node = driver.nvlink()
    assert node.number == (234, 0)
    assert node.withheld.startswith("whether the driver allows it cannot be known: reading it")


def test_malformed_permissions_are_named(recorded: Recorded) -> None:
    """A mode that is none is an error with the file."""
    text = "file /proc/driver/nvidia-nvlink/permissions\nDeviceFileMode: rw\n"
    with pytest.raises(ProcFileError, match="nvidia-nvlink/permissions: DeviceFileMode is 'rw'"):
        _driver(recorded, "mig-config", NVLINK, text).nvlink()


def test_switches_are_counted(recorded: Recorded) -> None:
    """Switches take the lowest free minors, so their number says which there are."""
    devices = "/proc/driver/nvidia-nvswitch/devices"
    driver = _driver(
        recorded, "mig-config", NVLINK, f"dir {devices}/0000:c1:00.0", f"dir {devices}/0000:c2:00.0"
    )
    assert [str(node.path) for node in driver.nvswitches()] == [
        "/dev/nvidia-nvswitch0",
        "/dev/nvidia-nvswitch1",
    ]
    with pytest.raises(ProcUnavailableError):
        _driver(recorded, "mig-config", NVLINK).nvswitches()


@pytest.mark.parametrize("minor", [-1, 64, 255, True])
def test_a_switch_has_a_minor_below_64(recorded: Recorded, minor: int) -> None:
    """The driver has 64 switches at most; 255 is the control node's."""
    with pytest.raises(InvalidNodeError, match="from 0"):
        _driver(recorded, "mig-config", NVLINK).nvswitch(minor)


def test_a_virtual_gpu_has_its_own_driver(recorded: Recorded) -> None:
    """nvidia-vgpuN is minor N of nvidia-vgpu-vfio."""
    devices = "file /proc/devices\nCharacter devices:\n195 nvidia\n510 nvidia-vgpu-vfio\n"
    driver = _driver(recorded, "mig-config", devices)
    assert str(driver.vgpu(2)) == "/dev/nvidia-vgpu2 c 510:2 0666 0:0"
    with pytest.raises(InvalidNodeError, match="minor"):
        driver.vgpu(1 << 20)
    with pytest.raises(InvalidNodeError, match="vgpu=-1"):
        driver.vgpu(-1)


def test_a_gpu_needs_the_control_nodes_and_uvm(recorded: Recorded) -> None:
    """On a fresh boot these four must be made for GPU 0; modeset is for display only."""
    driver = _driver(recorded, "fresh-boot")
    nodes = required_nodes(driver, gpus=[0])
    assert {str(node.path): node.number for node in nodes} == {
        "/dev/nvidia0": (195, 0),
        "/dev/nvidiactl": (195, 255),
        "/dev/nvidia-uvm": (511, 0),
        "/dev/nvidia-uvm-tools": (511, 1),
    }
    extra = set(required_nodes(driver, gpus=[0], modeset=True)) - set(nodes)
    assert [node.number for node in extra] == [(195, 254)]


def test_by_default_all_gpus_are_needed(recorded: Recorded) -> None:
    """Without a list, every GPU of the driver counts."""
    driver = _driver(recorded, "fresh-boot", _gpu("0:7", "1"), _gpu("0:8", "0"))
    assert [node.minor for node in required_nodes(driver)[3:]] == [0, 1]


def test_a_mig_device_needs_its_own_gpu_only(recorded: Recorded) -> None:
    """MIG devices on one GPU share its node and that of a common GPU instance."""
    devices = (
        "file /proc/devices\nCharacter devices:\n195 nvidia\n508 nvidia-caps\n511 nvidia-uvm\n"
    )
    driver = _driver(recorded, "mig-geometry", devices)
    partitions = [MigDevice(gpu=0, gi=1, ci=ci) for ci in range(3)]
    nodes = required_nodes(driver, mig_devices=partitions)
    assert [node.path.below_dev for node in nodes[3:]] == [
        "nvidia0",
        "nvidia-caps/nvidia-cap12",
        "nvidia-caps/nvidia-cap13",
        "nvidia-caps/nvidia-cap14",
        "nvidia-caps/nvidia-cap15",
    ]
    also = required_nodes(driver, gpus=[4], mig_devices=partitions[:1])
    assert [node.minor for node in also[3:]] == [4, 0, 12, 13]


def test_channels_and_capabilities_can_be_needed(recorded: Recorded) -> None:
    """What a compute domain needs besides its GPUs comes last, in the order given."""
    devices = (
        "file /proc/devices\nCharacter devices:\n195 nvidia\n234 nvidia-caps-imex-channels\n"
        "508 nvidia-caps\n511 nvidia-uvm\n"
    )
    driver = _driver(recorded, "mig-config", devices)
    nodes = required_nodes(
        driver, gpus=[], imex_channels=range(2), capabilities=["mig/monitor", "mig/config"]
    )
    assert [node.path.below_dev for node in nodes[3:]] == [
        "nvidia-caps/nvidia-cap2",
        "nvidia-caps/nvidia-cap1",
        "nvidia-caps-imex-channels/channel0",
        "nvidia-caps-imex-channels/channel1",
    ]
