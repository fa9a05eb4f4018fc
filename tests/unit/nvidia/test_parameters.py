"""The parameters of the kernel module, and whether they are the kernel's own."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs
import pytest

from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.errors import ProcFileError, ProcMaskedError, ProcUnavailableError
from devroot.nvidia import Parameters
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from devroot._filesystem import FileStatus
    from tests.unit.nvidia.conftest import Recorded

PARAMS = ContainerPath("/proc/driver/nvidia/params")


class _SizeZero(TreeFileSystem):
    """A tree whose files have the size 0, as those of procfs have."""

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """Return the status with another size."""
        return attrs.evolve(super().status(root, unsafe_path), size=0)


def test_a_copy_by_the_runtime_is_read_and_told(recorded: Recorded) -> None:
    """Numbers are decimal, a missing count is not 0, and a size shows a replaced file."""
    parameters = Parameters.read(recorded("copied-params"))
    assert parameters.modify_device_files is False
    assert (parameters.uid, parameters.gid, parameters.mode) == (0, 0, 0o666)
    assert parameters.imex_channel_count is None
    assert parameters.creates_imex_channel0 is None
    assert parameters.get("ResmanDebugLevel") == 4294967295
    assert parameters.is_kernel_file is False
    assert parameters.masked == ""
    assert parameters.withheld == "ModifyDeviceFiles: 0 in /proc/driver/nvidia/params"


def test_texts_lose_their_quotes_and_counts_are_numbers(recorded: Recorded) -> None:
    """An empty text is empty, and the channels follow from their count."""
    parameters = Parameters.read(recorded("imex-channels"))
    assert parameters.imex_channel_count == 2048
    assert parameters.imex_channels == range(2048)
    assert parameters.creates_imex_channel0 is False
    assert parameters.get("RegistryDwords") == ""
    assert parameters.get("TemporaryFilePath") == "/var/tmp"
    assert parameters.get("NoSuchParameter") is None
    assert parameters.get("NoSuchParameter", 7) == 7
    assert parameters.values[0] == ("ModifyDeviceFiles", 1)
    assert (parameters.modify_device_files, parameters.withheld) == (True, "")


def test_what_is_not_reported_has_the_default_of_the_module() -> None:
    """A file with none of the fields means 0666, root's, and free to make."""
    parameters = Parameters.parse("EnableMSI: 1\n")
    assert (parameters.mode, parameters.uid, parameters.gid) == (0o666, 0, 0)
    assert parameters.modify_device_files is True
    assert parameters.imex_channels == range(2048)
    assert parameters.is_kernel_file is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('RmMsg: ""', ""),
        ("RmMsg:", ""),
        ("RmMsg: ", ""),
        ('RmMsg: "a: "b""', 'a: "b"'),
        ("RmMsg: plain", "plain"),
        ("RmMsg: -1", "-1"),
        ("RmMsg: 4294967296", "4294967296"),
        ("RmMsg: \u0663", "\u0663"),
        ("RmMsg: \t 007 ", 7),
    ],
)
def test_a_value_is_an_unsigned_number_or_a_text(text: str, value: int | str) -> None:
    """What is no decimal number of 32 bits is a text, without the quotes around it."""
    assert Parameters.parse(text).get("RmMsg") == value


def test_bytes_that_are_not_utf8_survive() -> None:
    """A text with any bytes can be read."""
    assert Parameters.parse(b'RmMsg: "\xff"\n').get("RmMsg") == "\udcff"


def test_owner_and_mode_can_be_set() -> None:
    """The fields are decimal: 432 is 0660."""
    parameters = Parameters.parse("DeviceFileUID: 7\nDeviceFileGID: 44\nDeviceFileMode: 432\n")
    assert (parameters.uid, parameters.gid, parameters.mode) == (7, 44, 0o660)


def test_the_owner_minus_one_leaves_root() -> None:
    """The unsigned -1, with which chown(2) changes nothing, is no user ID."""
    parameters = Parameters.parse("DeviceFileUID: 4294967295\nDeviceFileGID: 4294967295\n")
    assert (parameters.uid, parameters.gid) == (0, 0)


@pytest.mark.parametrize("value", [0, 2, 4294967295])
def test_anything_but_one_means_hands_off(value: int) -> None:
    """Only 1 lets user space make nodes, as nvidia-modprobe has it."""
    parameters = Parameters.parse(f"ModifyDeviceFiles: {value}\n")
    assert parameters.modify_device_files is False
    assert parameters.withheld == f"ModifyDeviceFiles: {value} in {PARAMS}"


@pytest.mark.parametrize(
    ("count", "channels"),
    [(0, range(0)), (4096, range(4096)), (1048577, range(1048576)), (4294967295, range(1048576))],
)
def test_the_channels_end_where_the_minors_do(count: int, channels: range) -> None:
    """The count is the limit up to the 2**20 minors that there are; 0 turns channels off."""
    assert Parameters.parse(f"ImexChannelCount: {count}\n").imex_channels == channels


def test_channel_zero_can_be_the_drivers() -> None:
    """CreateImexChannel0 says that the driver makes channel 0 itself."""
    assert Parameters.parse("CreateImexChannel0: 1\n").creates_imex_channel0 is True


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("", "it is empty"),
        ("EnableMSI: 1\nrubbish\n", "line 2, 'rubbish', is not 'NAME: VALUE'"),
        (": 1\n", "line 1, ': 1', is not 'NAME: VALUE'"),
        ("EnableMSI: 1\nEnableMSI: 1\n", "line 2 gives EnableMSI a second time"),
        ('RmMsg: "a\n', 'RmMsg has no closing quote: "a'),
        ('RmMsg: "\n', 'RmMsg has no closing quote: "'),
        ("DeviceFileMode: 0x1b6\n", "DeviceFileMode is '0x1b6', which is no decimal number"),
        ("DeviceFileMode: 666\n", "DeviceFileMode is 666, which is 0o1232"),
        ("DeviceFileUID: -1\n", "DeviceFileUID is '-1'"),
        ("DeviceFileGID: video\n", "DeviceFileGID is 'video'"),
        ('ModifyDeviceFiles: "1"\n', "ModifyDeviceFiles is '\"1\"'"),
        ("ImexChannelCount: \n", "ImexChannelCount is ''"),
        ("CreateImexChannel0: yes\n", "CreateImexChannel0 is 'yes'"),
    ],
)
def test_what_cannot_be_understood_is_named(data: str, told: str) -> None:
    """The error names the file, and the line or the field."""
    with pytest.raises(ProcFileError) as caught:
        Parameters.parse(data)
    assert str(caught.value).startswith(f"{PARAMS}: ")
    assert told in str(caught.value)


def test_a_missing_file_asks_for_the_module() -> None:
    """Where nothing hides it, a file that is not there means that no driver is loaded."""
    with pytest.raises(ProcUnavailableError, match="is the kernel module nvidia loaded") as caught:
        Parameters.read(ContainerView(filesystem=TreeFileSystem()))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(PARAMS))


@pytest.mark.parametrize(
    ("mountinfo", "masked"),
    [
        ("masked-directory", "a tmpfs is mounted over /proc/driver/nvidia"),
        ("masked-params", "a tmpfs is mounted over /proc/driver/nvidia/params"),
    ],
)
def test_a_masked_file_is_read_but_not_trusted(
    recorded: Recorded, mountinfo: str, masked: str
) -> None:
    """Its values are given, but whether nodes may be made is unknown, whatever it says."""
    parameters = Parameters.read(recorded("imex-channels", mountinfo=mountinfo))
    assert parameters.imex_channel_count == 2048
    assert parameters.masked == masked
    assert parameters.is_kernel_file is False
    assert parameters.modify_device_files is True
    assert parameters.withheld == (
        f"whether the driver allows it cannot be known: {masked}, so {PARAMS} is not its own"
    )


def test_a_masked_file_that_forbids_is_quoted(recorded: Recorded) -> None:
    """What the copy forbids is forbidden, in its words."""
    parameters = Parameters.read(recorded("copied-params", mountinfo="masked-params"))
    assert parameters.withheld == f"ModifyDeviceFiles: 0 in {PARAMS}"


@pytest.mark.parametrize("mountinfo", ["masked-directory", "masked-params"])
def test_a_masked_file_that_is_missing_is_unknown(recorded: Recorded, mountinfo: str) -> None:
    """Absent behind a mask is not absent: the error names the mask and the way out."""
    with pytest.raises(ProcMaskedError, match=r"a tmpfs is mounted over .* give it as proc="):
        Parameters.read(recorded("mig-config", mountinfo=mountinfo))


def test_the_kernels_own_file_is_told_by_the_mount_table(recorded: Recorded) -> None:
    """Where the table shows a procfs, the file is the kernel's, whatever its size."""
    view = recorded("imex-channels", mountinfo="masked-params", proc="/host/proc")
    assert Parameters.read(view).is_kernel_file is False  # its mount is the overlay
    table = b"1 0 0:1 / / rw - overlay o rw\n2 1 0:2 / /host/proc rw - proc proc rw\n"
    view = attrs.evolve(view, mountinfo=type(view.mountinfo).parse(table))
    parameters = Parameters.read(view)
    assert (parameters.is_kernel_file, parameters.masked, parameters.withheld) == (True, "", "")
    assert parameters.path == ContainerPath("/host/proc/driver/nvidia/params")


def test_a_proc_that_is_no_procfs_masks_nothing(recorded: Recorded) -> None:
    """A whole stand-in for ``/proc`` was chosen by its owner, and is used as it is."""
    view = recorded("imex-channels", mountinfo="masked-params", proc="/mock/proc")
    parameters = Parameters.read(view)
    assert (parameters.is_kernel_file, parameters.masked, parameters.withheld) == (False, "", "")


def test_a_size_of_zero_decides_nothing(recorded: Recorded) -> None:
    """Without a mount table, a file of procfs and one of another such file system look alike."""
    text = recorded("imex-channels").filesystem.read_bytes(ContainerPath("/"), str(PARAMS))
    tree = _SizeZero()
    tree.file(PARAMS, text)
    assert Parameters.read(ContainerView(filesystem=tree)).is_kernel_file is None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_what_may_not_be_read_is_hidden_too(recorded: Recorded, number: int) -> None:
    """A security module that denies reading hides the file as a mount does."""
    view = recorded("imex-channels")
    assert isinstance(view.filesystem, TreeFileSystem)
    view.filesystem.fail("read_bytes", number)
    with pytest.raises(ProcMaskedError, match="reading it is not permitted"):
        Parameters.read(view)


def test_another_failure_keeps_its_errno(recorded: Recorded) -> None:
    """What is neither absence nor a mask is told with its errno."""
    view = recorded("imex-channels")
    assert isinstance(view.filesystem, TreeFileSystem)
    view.filesystem.fail("read_bytes", errno.EIO)
    with pytest.raises(ProcUnavailableError, match="cannot be read") as caught:
        Parameters.read(view)
    assert caught.value.errno == errno.EIO
