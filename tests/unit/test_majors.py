"""``/proc/devices``: which driver has which major."""

from __future__ import annotations

import errno
import pickle
from pathlib import Path

import pytest

from devroot._majors import Majors
from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.errors import (
    AmbiguousMajorError,
    MajorNotFoundError,
    PathKindError,
    ProcFileError,
    ProcUnavailableError,
)
from devroot.testing import TreeFileSystem

DATA = Path(__file__).parents[1] / "data" / "nvidia"


def _recorded(name: str) -> Majors:
    return Majors.parse((DATA / name / "proc" / "devices").read_bytes())


def test_names_are_compared_whole() -> None:
    """A name that begins like another one has its own major."""
    majors = _recorded("name-prefix")
    assert majors.character("nvidia-caps") == 511
    assert majors.character("nvidia-caps-imex-channels") == 234


@pytest.mark.parametrize("name", ["caps", "nvidia-caps-", "vidia-caps", "nvidia-caps-imex", ""])
def test_a_part_of_a_name_is_not_found(name: str) -> None:
    """Neither the begin nor the end of a listed name is that driver."""
    majors = _recorded("name-prefix")
    assert majors.characters(name) == ()
    with pytest.raises(MajorNotFoundError):
        majors.character(name)


def test_one_major_can_have_two_names() -> None:
    """Two names at one major are both found, and that major has both."""
    majors = _recorded("driver-550")
    assert majors.character("nvidia") == majors.character("nvidiactl") == 195
    assert majors.names_of_character(195) == ("nvidia", "nvidiactl")


def test_one_name_can_have_two_majors() -> None:
    """A name that comes twice has both majors, and asking for the one is an error."""
    majors = _recorded("several-majors")
    assert majors.characters("infiniband_verbs") == (231, 240)
    assert majors.characters("infiniband_mad") == (231, 239)
    with pytest.raises(AmbiguousMajorError, match="231, 240") as caught:
        majors.character("infiniband_verbs")
    assert caught.value.majors == (231, 240)
    assert pickle.loads(pickle.dumps(caught.value)).majors == (231, 240)


def test_one_name_with_one_major_listed_twice_is_not_ambiguous() -> None:
    """The kernel lists a region each; two regions of one driver at one major are one answer."""
    majors = Majors.parse(b"Character devices:\n195 nvidia\n195 nvidia\n")
    assert majors.character("nvidia") == 195
    assert majors.names_of_character(195) == ("nvidia",)


def test_character_and_block_devices_are_numbered_apart() -> None:
    """A number in one section says nothing of the other, in either direction."""
    majors = _recorded("several-majors")
    assert majors.names_of_character(231) == ("infiniband_mad", "infiniband_verbs")
    assert majors.names_of_character(252) == ("dax",)
    assert majors.names_of_block(252) == ("virtblk",)
    assert majors.block("device-mapper") == 253
    assert majors.characters("device-mapper") == majors.blocks("dax") == ()
    with pytest.raises(MajorNotFoundError, match="no block device driver 'nvidia-uvm'"):
        majors.block("nvidia-uvm")


def test_a_driver_of_the_block_section_is_no_character_device() -> None:
    """A driver of that name among the block devices is not taken for the one that is meant."""
    majors = Majors.parse(b"Character devices:\n  1 mem\n\nBlock devices:\n195 nvidia\n")
    assert majors.block("nvidia") == 195
    with pytest.raises(MajorNotFoundError):
        majors.character("nvidia")


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_kernel_without_block_devices_has_no_second_section(end: bytes) -> None:
    """The file can end after the character devices, with or without a newline."""
    majors = Majors.parse(b"Character devices:\n195 nvidia" + end)
    assert majors.character("nvidia") == 195
    assert majors.block_devices == ()


def test_names_with_a_slash_and_with_blanks_are_kept() -> None:
    """All that follows the one blank after the major is the name."""
    majors = _recorded("several-majors")
    assert majors.names_of_character(5) == ("/dev/tty", "/dev/console", "/dev/ptmx")
    assert majors.character("cpu/msr") == 202
    assert Majors.parse("Character devices:\n 10 a b \n").character("a b ") == 10


def test_names_that_are_not_utf8_survive() -> None:
    """A byte that is no UTF-8 is found by the text that stands for it."""
    assert Majors.parse(b"Character devices:\n 10 a\xff\n").character("a\udcff") == 10


def test_an_absent_driver_is_an_answer_with_the_names_that_come_near() -> None:
    """The error names what is listed instead, the most alike first, and nothing unlike."""
    with pytest.raises(MajorNotFoundError) as caught:
        _recorded("driver-550").character("nvidia-caps")
    assert caught.value.known == (
        "nvidia-caps-imex-channels",
        "nvidia-nvswitch",
        "nvidia",
        "nvidiactl",
    )
    assert str(caught.value) == (
        "/proc/devices lists no character device driver 'nvidia-caps' (it lists"
        " nvidia-caps-imex-channels, nvidia-nvswitch, nvidia, nvidiactl);"
        " is the kernel module loaded?"
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"195 nvidia\n", "line 1, '195 nvidia': no section line"),
        (b"Character devices:\n195\n", "line 2, '195': it is not 'MAJOR NAME'"),
        (b"Character devices:\n195 \n", "line 2, '195 ': it is not"),
        (b"Character devices:\n  1 mem\n-1 nvidia\n", "line 3, '-1 nvidia': it is not"),
        (b"Character devices:\n4096 nvidia\n", "line 2, '4096 nvidia': it is not"),
        (b"Character devices:\n99999999999 nvidia\n", "line 2"),
        (b"Character devices:\n0x1 nvidia\n", "line 2"),
        ("Character devices:\n\u0661 mem\n", "line 2"),
        (b"Character devices:\r\n195 nvidia\r\n", "line 1, 'Character devices:\\r': it is not"),
        (b"Tape devices:\n", "line 1, 'Tape devices:': it is not"),
    ],
)
def test_what_is_not_of_the_format_is_named(data: bytes | str, told: str) -> None:
    """A line that the kernel does not write is an error with its number, not skipped."""
    with pytest.raises(ProcFileError) as caught:
        Majors.parse(data)
    assert str(caught.value).startswith("/proc/devices: ")
    assert told in str(caught.value)


def test_it_is_read_from_the_proc_of_the_view() -> None:
    """Another procfs than that of the container can be given, such as the host's."""
    tree = TreeFileSystem(
        ["file /host/proc/devices\nCharacter devices:\n195 nvidia\n", "file /proc/devices\n"]
    )
    view = ContainerView(filesystem=tree, proc=ContainerPath("/host/proc"))
    majors = Majors.read(view)
    assert majors.character("nvidia") == 195
    assert majors.path == ContainerPath("/host/proc/devices")


def test_another_devices_file_can_be_given() -> None:
    """A mock set-up has one with drivers that this kernel has not; links on the way count."""
    tree = TreeFileSystem(
        [
            "file /proc/devices\nCharacter devices:\n  1 mem\n",
            "file /mock/real\nCharacter devices:\n235 nvidia-caps\n",
            "link /mock/devices /mock/real",
        ]
    )
    view = ContainerView(filesystem=tree)
    majors = Majors.read(view, devices=ContainerPath("/mock/devices"))
    assert majors.character("nvidia-caps") == 235
    with pytest.raises(MajorNotFoundError, match=r"^/mock/devices lists no") as caught:
        majors.character("nvidia-uvm")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_other_devices_file_is_a_container_path() -> None:
    """A bare text is refused: it does not say in whose view it is."""
    view = ContainerView(filesystem=TreeFileSystem())
    with pytest.raises(PathKindError):
        Majors.read(view, devices="/mock/devices")  # type: ignore[arg-type]


@pytest.mark.parametrize("devices", [None, ContainerPath("/mock/devices")])
def test_a_missing_file_says_so(devices: ContainerPath | None) -> None:
    """Without the file there is an error with its errno and its name."""
    view = ContainerView(filesystem=TreeFileSystem())
    with pytest.raises(ProcUnavailableError, match="is a procfs mounted there") as caught:
        Majors.read(view, devices=devices)
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(devices or "/proc/devices")


def test_this_kernel_lists_its_memory_devices() -> None:
    """The file of the running kernel can be parsed and has ``mem``, which every kernel has."""
    place = Path("/proc/devices")
    if not place.exists():
        pytest.skip("there is no /proc/devices on this system")
    majors = Majors.parse(place.read_bytes())
    assert majors.character("mem") == 1
    assert "mem" in majors.names_of_character(1)
