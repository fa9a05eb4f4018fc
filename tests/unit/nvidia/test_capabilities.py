"""Capabilities: from a file below ``/proc`` to the node that opens it."""

from __future__ import annotations

import errno
import pickle
from typing import TYPE_CHECKING

import pytest

from devroot._paths import ContainerPath
from devroot.errors import (
    CapabilityNotFoundError,
    InvalidNodeError,
    InvalidPathError,
    MajorNotFoundError,
    ProcFileError,
    ProcMaskedError,
    ProcUnavailableError,
)
from devroot.nvidia import NvidiaDriver, Parameters
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from devroot._device import DeviceNode
    from tests.unit.nvidia.conftest import Recorded

CAPABILITIES = "/proc/driver/nvidia/capabilities"


def _driver(recorded: Recorded, *specs: str, mountinfo: str = "") -> NvidiaDriver:
    view = recorded("mig-config", *specs, mountinfo=mountinfo)
    return NvidiaDriver.read(view, parameters=Parameters())


def _file(name: str, text: str) -> str:
    return f"file {CAPABILITIES}/{name} 0444\n{text}"


def test_minor_and_mode_come_from_the_file_and_the_major_from_devices(recorded: Recorded) -> None:
    """256 and 292 are decimal for 0400 and 0444; the owner is root."""
    driver = _driver(recorded)
    assert str(driver.mig_config()) == "/dev/nvidia-caps/nvidia-cap1 c 508:1 0400 0:0"
    assert str(driver.mig_monitor()) == "/dev/nvidia-caps/nvidia-cap2 c 508:2 0444 0:0"
    assert driver.capability("mig/config") == driver.mig_config()
    assert driver.mig_config().withheld == ""


def test_a_capability_that_an_administrator_took_over_is_withheld(recorded: Recorded) -> None:
    """DeviceFileModify: 0 leaves the node's description as it is and says why not to touch it."""
    text = "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 0\n"
    node = _driver(recorded, _file("mig/config", text)).mig_config()
    assert str(node) == "/dev/nvidia-caps/nvidia-cap1 c 508:1 0400 0:0"
    assert node.withheld == f"DeviceFileModify: 0 in {CAPABILITIES}/mig/config"


def test_the_two_fabric_capabilities_lie_in_two_places(recorded: Recorded) -> None:
    """fabric-imex-mgmt is the GPU driver's, fabric-mgmt the NVLink core's."""
    driver = _driver(
        recorded,
        _file("fabric-imex-mgmt", "DeviceFileMinor: 4323\nDeviceFileMode: 256\n"),
        "file /proc/driver/nvidia-nvlink/capabilities/fabric-mgmt\n"
        "DeviceFileMinor: 0\nDeviceFileMode: 256\nDeviceFileModify: 1\n",
    )
    assert str(driver.fabric_imex_mgmt()) == "/dev/nvidia-caps/nvidia-cap4323 c 508:4323 0400 0:0"
    assert str(driver.fabric_mgmt()) == "/dev/nvidia-caps/nvidia-cap0 c 508:0 0400 0:0"
    assert driver.capability_path("fabric-mgmt") == ContainerPath(
        "/proc/driver/nvidia-nvlink/capabilities/fabric-mgmt"
    )
    assert driver.capability_path("mig/config") == ContainerPath(f"{CAPABILITIES}/mig/config")


def test_a_file_with_a_minor_alone_gives_a_node_for_its_owner_only(recorded: Recorded) -> None:
    """Mock set-ups write only the minor; the mode is then the strict one, and it may be made."""
    node = _driver(recorded, _file("fabric-imex-mgmt", "DeviceFileMinor: 512\n")).fabric_imex_mgmt()
    assert (node.minor, node.mode, node.withheld) == (512, 0o400, "")


def test_access_to_an_instance_is_found_by_its_numbers(recorded: Recorded) -> None:
    """The GPU's device minor and the instance IDs name the file."""
    driver = _driver(
        recorded,
        _file("gpu0/mig/gi1/access", "DeviceFileMinor: 12\nDeviceFileMode: 292\n"),
        _file("gpu0/mig/gi1/ci2/access", "DeviceFileMinor: 15\nDeviceFileMode: 292\n"),
    )
    assert driver.mig_capability(gpu=0, gi=1).minor == 12
    assert driver.mig_capability(gpu=0, gi=1, ci=2).minor == 15
    with pytest.raises(CapabilityNotFoundError, match="gpu0/mig/gi1/ci3/access"):
        driver.mig_capability(gpu=0, gi=1, ci=3)


@pytest.mark.parametrize("number", [-1, True, "0", 1.0, None])
def test_the_numbers_of_an_instance_are_whole(recorded: Recorded, number: object) -> None:
    """A bool, a text or a negative number is refused with the name of the argument."""
    driver = _driver(recorded)
    with pytest.raises(InvalidNodeError) as caught:
        driver.mig_capability(gpu=0, gi=number)  # type: ignore[arg-type]
    assert caught.value.field == "gi"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("DeviceFileMode: 256\nDeviceFileModify: 1\n", "it has no field DeviceFileMinor"),
        ("", "it is empty"),
        ("\n", "it is empty"),
        ("DeviceFileMinor 1\n", "line 1, 'DeviceFileMinor 1', is not 'NAME: VALUE'"),
        ("DeviceFileMinor: -1\n", "DeviceFileMinor is '-1', which is no decimal number"),
        ("DeviceFileMinor: \n", "DeviceFileMinor is ''"),
        ("DeviceFileMinor: 1048576\n", "DeviceFileMinor is '1048576'"),
        ("DeviceFileMinor: 1\nDeviceFileMinor: 2\n", "line 2 gives DeviceFileMinor a second time"),
        ("DeviceFileMinor: 1\nDeviceFileMode: 512\n", "DeviceFileMode is 512, which is 0o1000"),
        ("DeviceFileMinor: 1\nDeviceFileModify: no\n", "DeviceFileModify is 'no'"),
    ],
)
def test_a_malformed_file_names_itself_and_the_field(
    recorded: Recorded, text: str, told: str
) -> None:
    """No node comes from a file that does not say which."""
    driver = _driver(recorded, _file("mig/config", text))
    with pytest.raises(ProcFileError) as caught:
        driver.mig_config()
    assert str(caught.value).startswith(f"{CAPABILITIES}/mig/config: ")
    assert told in str(caught.value)


def test_an_absent_capability_says_which_there_are(recorded: Recorded) -> None:
    """Where nothing hides the directory, the driver has no such capability."""
    driver = _driver(recorded)
    with pytest.raises(CapabilityNotFoundError) as caught:
        driver.capability("mig/configuration")
    assert caught.value.known == ("config", "monitor")
    assert str(caught.value) == (
        "the driver has no capability 'mig/configuration'"
        f" ({CAPABILITIES}/mig/configuration); there are config, monitor"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(CapabilityNotFoundError) as caught:
        driver.mig_capability(gpu=7, gi=0)
    assert caught.value.known == ()


def test_a_name_below_a_file_is_absent(recorded: Recorded) -> None:
    """A file on the way is no directory, so there is nothing below it."""
    with pytest.raises(CapabilityNotFoundError):
        _driver(recorded).capability("mig/config/access")


def test_a_directory_is_no_capability(recorded: Recorded) -> None:
    """What cannot be read as a file is an error with its errno."""
    with pytest.raises(ProcUnavailableError) as caught:
        _driver(recorded).capability("mig")
    assert caught.value.filename == f"{CAPABILITIES}/mig"
    assert caught.value.errno in {errno.EINVAL, errno.EISDIR}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "/proc/driver/nvidia/params",
        "../params",
        "mig/../../params",
        "mig//config",
        "mig/./config",
        "mig/",
        "mig/config\0",
        ".",
    ],
)
def test_a_name_cannot_lead_elsewhere(recorded: Recorded, name: str) -> None:
    """A name is a relative path of plain names; anything else is refused before it is read."""
    driver = _driver(recorded)
    with pytest.raises(InvalidPathError, match="give its name below driver/nvidia/capabilities"):
        driver.capability(name)
    with pytest.raises(InvalidPathError):
        driver.capability_path(name)


def test_a_name_is_a_text(recorded: Recorded) -> None:
    """Anything but a string is refused by name."""
    with pytest.raises(InvalidPathError, match="it is not a string"):
        _driver(recorded).capability(1)  # type: ignore[arg-type]


def test_behind_a_mask_absence_is_unknown(recorded: Recorded) -> None:
    """A tmpfs over the driver's directory hides capabilities; none is said to be absent."""
    driver = _driver(recorded, mountinfo="masked-directory")
    with pytest.raises(ProcMaskedError) as caught:
        driver.fabric_imex_mgmt()
    assert caught.value.path == ContainerPath(f"{CAPABILITIES}/fabric-imex-mgmt")
    assert "a tmpfs is mounted over /proc/driver/nvidia" in str(caught.value)


def test_a_file_behind_a_mask_is_read_but_not_trusted(recorded: Recorded) -> None:
    """A stand-in for the capability's file says the number, but not that it may be made."""
    node = _driver(recorded, mountinfo="masked-directory").mig_config()
    assert str(node) == "/dev/nvidia-caps/nvidia-cap1 c 508:1 0400 0:0"
    assert node.withheld.startswith("whether the driver allows it cannot be known: a tmpfs")


def test_replaced_parameters_say_nothing_of_capabilities(recorded: Recorded) -> None:
    """Where only ``params`` is replaced, capabilities are the kernel's and free to make."""
    assert _driver(recorded, mountinfo="masked-params").mig_config().withheld == ""


def test_what_hides_the_siblings_too_leaves_them_out(recorded: Recorded) -> None:
    """A directory that cannot be listed does not turn absence into another error."""
    driver = _driver(recorded)
    assert isinstance(driver.view.filesystem, TreeFileSystem)
    driver.view.filesystem.fail("open_directory", errno.EACCES)
    with pytest.raises(CapabilityNotFoundError) as caught:
        driver.capability("mig/other")
    assert caught.value.known == ()


def test_without_the_driver_of_capabilities_there_is_no_node(recorded: Recorded) -> None:
    """The major of nvidia-caps is never taken from another name."""
    driver = _driver(
        recorded,
        "file /proc/devices\nCharacter devices:\n234 nvidia-caps-imex-channels\n",
    )
    with pytest.raises(MajorNotFoundError, match="'nvidia-caps' "):
        driver.mig_config()


def test_the_node_made_with_the_other_major_is_not_the_one_wanted(
    recorded: Recorded,
) -> None:
    """The node that a prefix match made opens an IMEX channel, not the capability."""
    view = recorded("name-prefix")
    driver = NvidiaDriver.read(view, parameters=Parameters())
    assert isinstance(view.filesystem, TreeFileSystem)
    made = view.filesystem.status(ContainerPath("/"), "dev/nvidia-caps/nvidia-cap4323")
    view.filesystem.add(_file("fabric-imex-mgmt", "DeviceFileMinor: 4323\nDeviceFileMode: 256\n"))
    wanted: DeviceNode = driver.fabric_imex_mgmt()
    assert (made.major, made.minor) == (234, 4323)
    assert wanted.number == (511, 4323)
