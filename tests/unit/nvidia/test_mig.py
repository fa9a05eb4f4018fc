"""MIG: the minors of its capabilities and the nodes that a MIG device needs."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.errors import (
    CapabilityNotFoundError,
    InvalidNodeError,
    ProcFileError,
    ProcMaskedError,
    ProcUnavailableError,
)
from devroot.nvidia import MigDevice, MigMinors, NvidiaDriver, Parameters
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from tests.unit.nvidia.conftest import Recorded

MIG_MINORS = "/proc/driver/nvidia-caps/mig-minors"
CAPABILITIES = "/proc/driver/nvidia/capabilities"


def _driver(recorded: Recorded, *specs: str, mountinfo: str = "") -> NvidiaDriver:
    devices = "file /proc/devices\nCharacter devices:\n195 nvidia\n508 nvidia-caps\n"
    view = recorded("mig-geometry", devices, *specs, mountinfo=mountinfo)
    return NvidiaDriver.read(view, parameters=Parameters())


@pytest.mark.parametrize(("ci", "caps"), [(0, (12, 13)), (1, (12, 14)), (2, (12, 15))])
def test_a_mig_device_needs_its_gpu_and_two_access_nodes(
    recorded: Recorded, ci: int, caps: tuple[int, int]
) -> None:
    """The GPU instance's node and the compute instance's own go with the GPU's."""
    nodes = _driver(recorded).mig_device_nodes(MigDevice(gpu=0, gi=1, ci=ci))
    assert [str(node) for node in nodes] == [
        "/dev/nvidia0 c 195:0 0666 0:0",
        f"/dev/nvidia-caps/nvidia-cap{caps[0]} c 508:{caps[0]} 0444 0:0",
        f"/dev/nvidia-caps/nvidia-cap{caps[1]} c 508:{caps[1]} 0444 0:0",
    ]
    assert {node.withheld for node in nodes} == {""}


def test_minors_lead_to_capabilities_and_back(recorded: Recorded) -> None:
    """A minor has one capability, whose file is below ``capabilities`` with ``mig`` in it."""
    driver = _driver(recorded)
    minors = driver.mig_minors()
    assert minors.capability(4322) == "gpu31/mig/gi14/ci7/access"
    assert minors.minor("gpu31/mig/gi14/ci7/access") == 4322
    assert (minors.minor("mig/config"), minors.minor("mig/monitor")) == (1, 2)
    assert driver.capability_path(minors.capability(12)) == ContainerPath(
        f"{CAPABILITIES}/gpu0/mig/gi1/access"
    )


def test_what_is_not_listed_is_an_error(recorded: Recorded) -> None:
    """Neither a minor nor an instance is made up."""
    driver = _driver(recorded)
    minors = driver.mig_minors()
    with pytest.raises(CapabilityNotFoundError, match="nvidia-cap4323"):
        minors.capability(4323)
    with pytest.raises(CapabilityNotFoundError, match="gpu0/mig/gi3/access"):
        minors.minor("gpu0/mig/gi3/access")
    with pytest.raises(CapabilityNotFoundError, match="gpu1/mig/gi0/access"):
        driver.mig_device_nodes(MigDevice(gpu=1, gi=0, ci=0), minors=minors)


def test_numbers_suffice_where_the_capabilities_are_hidden(recorded: Recorded) -> None:
    """Masking ``/proc/driver/nvidia`` leaves mig-minors; whether to make a node is unknown."""
    driver = _driver(recorded, mountinfo="masked-directory")
    gpu, *access = driver.mig_device_nodes(MigDevice(gpu=0, gi=1, ci=0))
    assert gpu.withheld == ""
    assert [node.minor for node in access] == [12, 13]
    assert all("cannot be known: a tmpfs is mounted over" in node.withheld for node in access)


def test_the_file_of_an_instance_adds_its_policy(recorded: Recorded) -> None:
    """Once an instance exists, its file says the mode and whether its node may be made."""
    text = "DeviceFileMinor: 12\nDeviceFileMode: 288\nDeviceFileModify: 0\n"
    driver = _driver(recorded, f"file {CAPABILITIES}/gpu0/mig/gi1/access\n{text}")
    node = driver.mig_device_nodes(MigDevice(gpu=0, gi=1, ci=0))[1]
    assert (node.minor, node.mode) == (12, 0o440)
    assert node.withheld == f"DeviceFileModify: 0 in {CAPABILITIES}/gpu0/mig/gi1/access"


def test_two_sources_that_disagree_are_an_error(recorded: Recorded) -> None:
    """A file that names another minor than mig-minors gives no node."""
    text = "DeviceFileMinor: 99\nDeviceFileMode: 292\n"
    driver = _driver(recorded, f"file {CAPABILITIES}/gpu0/mig/gi1/access\n{text}")
    with pytest.raises(ProcFileError, match=r"its DeviceFileMinor is 99, but .*mig-minors says 12"):
        driver.mig_device_nodes(MigDevice(gpu=0, gi=1, ci=0))


@pytest.mark.parametrize(
    "line",
    [
        "gpu0/gi1/../../x 5",
        "gpu0/gi1/access -9",
        "gpu0/gi1/access",
        "gpu0/gi1/access ",
        "gpu0/gi1/access 5 ",
        " gpu0/gi1/access 5",
        "gpu0/gi1/access  5",
        "gpu0/gi1/access\t5",
        "gpu0/gi1/access 05",
        "gpu0/gi1/access 1048576",
        "gpu0/gi1/access 99999999",
        "gpu0/gi1/access \u0665",
        "gpu\u0665/gi1/access 5",
        "gpu00/gi1/access 5",
        "gpu0/gi01/access 5",
        "gpu-1/gi1/access 5",
        "gpu0/ci1/access 5",
        "gpu0/gi1/ci1 5",
        "gpu0/gi1/ci1/ci2/access 5",
        "gpu0/mig/gi1/access 5",
        "/gpu0/gi1/access 5",
        "gpu0 5",
        "../config 5",
        "config/ 5",
        "config 5\r",
    ],
)
def test_a_line_is_compared_whole(line: str) -> None:
    """What is not of the grammar from end to end is an error that names the line."""
    with pytest.raises(ProcFileError) as caught:
        MigMinors.parse(f"config 1\n{line}\n")
    assert str(caught.value).startswith(f"{MIG_MINORS}: line 2, {line!r}, is neither")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("", "it is empty"),
        ("config 1\nconfig 2\n", "line 2 gives config a second time"),
        ("config 1\nmonitor 1\n", "line 2 gives minor 1 a second time"),
        (
            "gpu0/gi1/access 3\ngpu0/gi1/access 4\n",
            "line 2 gives gpu0/gi1/access a second time",
        ),
    ],
)
def test_each_name_and_each_minor_comes_once(data: str, told: str) -> None:
    """An empty file, a name or a minor that comes twice is an error."""
    with pytest.raises(ProcFileError, match=told):
        MigMinors.parse(data)


def test_names_that_are_new_are_kept() -> None:
    """A capability of MIG that this library does not know is one all the same."""
    minors = MigMinors.parse(b"config 1\nnew-thing_2 7")
    assert minors.minor("mig/new-thing_2") == 7


_instances = st.tuples(st.integers(0, 99), st.integers(0, 99), st.none() | st.integers(0, 99))


@pytest.mark.property
@given(st.lists(_instances, unique=True, min_size=1, max_size=20), st.integers(0, 1048000))
def test_every_instance_is_found_again(
    instances: list[tuple[int, int, int | None]], first: int
) -> None:
    """Written as the driver does, each line gives one capability, found by name and by minor."""
    lines: list[str] = []
    for place, (gpu, gi, ci) in enumerate(instances):
        inner = "" if ci is None else f"ci{ci}/"
        lines.append(f"gpu{gpu}/gi{gi}/{inner}access {first + place}\n")
    minors = MigMinors.parse("".join(lines))
    for place, (gpu, gi, ci) in enumerate(instances):
        inner = "" if ci is None else f"ci{ci}/"
        name = f"gpu{gpu}/mig/gi{gi}/{inner}access"
        assert minors.minor(name) == first + place
        assert minors.capability(first + place) == name


def test_a_missing_file_asks_for_the_module() -> None:
    """Without the file nothing is known of MIG, and the error says what to look at."""
    with pytest.raises(ProcUnavailableError, match="is the kernel module nvidia loaded") as caught:
        MigMinors.read(ContainerView(filesystem=TreeFileSystem()))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, MIG_MINORS)


def test_a_hidden_file_is_unknown(recorded: Recorded) -> None:
    """Something mounted over the directory of mig-minors is a mask as well."""
    view = recorded("mig-config")
    table = (
        b"1 0 0:1 / / rw - overlay o rw\n2 1 0:2 / /proc rw - proc proc rw\n"
        b"3 2 0:3 / /proc/driver/nvidia-caps ro - tmpfs tmpfs rw\n"
    )
    view = attrs.evolve(view, mountinfo=type(view.mountinfo).parse(table))
    with pytest.raises(ProcMaskedError, match="a tmpfs is mounted over /proc/driver/nvidia-caps"):
        MigMinors.read(view)


@pytest.mark.parametrize("field", ["gpu", "gi", "ci"])
@pytest.mark.parametrize("value", [-1, True, "1", None])
def test_the_numbers_of_a_mig_device_are_whole(field: str, value: object) -> None:
    """A MIG device is refused with the name of the number that is none."""
    numbers: dict[str, object] = {"gpu": 0, "gi": 0, "ci": 0, field: value}
    with pytest.raises(InvalidNodeError) as caught:
        MigDevice(**numbers)  # type: ignore[arg-type]
    assert caught.value.field == field
