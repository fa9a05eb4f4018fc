"""Devices from the files of sysfs, and what may hide some of them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.errors import DeviceNotFoundError, ProcUnavailableError
from devroot.testing import TreeFileSystem
from devroot.udev import DeviceCatalog, _hidden
from tests._views import ROOT_LINE, view_of

if TYPE_CHECKING:
    from devroot.testing import FakeHost, FakeUdev

SYS_LINE = "20 10 0:20 / /sys ro,nosuid,nodev,noexec - sysfs sysfs rw"

# A disk behind two devices of which one says nothing of itself, a node of misc, and odd links.
DISK = "/sys/devices/bus0/port1/quiet/block/sda"
DISK_SAYS = "MAJOR=8\nMINOR=0\nDEVNAME=sda\nDEVTYPE=disk\nno sign of equality\n"
ONE = "/sys/devices/virtual/misc/one"
ONE_SAYS = "MAJOR=10\nMINOR=1\nDEVNAME=dir/one\nDEVUID=7\nDEVGID=8\n"
FILES = (
    "link /sys/dev/block/8:0 ../../devices/bus0/port1/quiet/block/sda",
    f"file {DISK}/uevent\n{DISK_SAYS}",
    f"link {DISK}/subsystem ../../../../../../class/block",
    "file /sys/devices/bus0/port1/uevent\nDRIVER=ahci\nPCI_ID=8086:A1\n",
    "link /sys/devices/bus0/port1/subsystem ../../../bus/pci",
    "file /sys/devices/bus0/uevent\n",
    "link /sys/dev/char/10:1 ../../devices/virtual/misc/one",
    f"file {ONE}/uevent\n{ONE_SAYS}",
    "link /sys/dev/char/10:2 ../../devices/virtual/misc/gone",
    "link /sys/dev/char/10:3 ../../devices/virtual/misc/one/uevent",
)


def view_with(*lines: str, files: TreeFileSystem | None = None) -> ContainerView:
    """Return a view with these mounts besides the root."""
    return view_of(ROOT_LINE, *lines, files=files or TreeFileSystem(FILES))


def test_files_of_sysfs_are_read() -> None:
    """Nodes, parents and drivers come from the files; what has gone by then is passed over."""
    catalog = DeviceCatalog.of_sysfs(view=view_with(SYS_LINE))
    one, disk = catalog.devices
    assert str(one.node) == "/dev/dir/one c 10:1 0600 7:8"
    assert (one.subsystem, one.parents) == ("", ())
    assert str(disk.node) == "/dev/sda b 8:0 0600 0:0"
    assert (disk.subsystem, disk.type, disk.driver) == ("block", "disk", "ahci")
    assert [parent.sysfs_path for parent in disk.parents] == [
        "/devices/bus0/port1",
        "/devices/bus0",
    ]
    assert disk.pci is not None
    assert (disk.pci.driver, disk.pci.vendor) == ("ahci", None)
    assert catalog.unknown == ()


def test_another_root_is_asked(host: FakeHost, udev: FakeUdev) -> None:
    """The host's sysfs, mounted aside, is read where the container's own is masked."""
    pod = host.container(mounts=["/sys:/host-sys:ro"])
    pod.tmpfs("/sys")
    masked = DeviceCatalog.of_sysfs(view=pod.view)
    assert (len(masked), masked.unknown) == (0, ("tmpfs is mounted at /sys, and no sysfs",))
    with pytest.raises(DeviceNotFoundError, match="tmpfs is mounted at /sys"):
        masked.by_path("kfd")
    aside = DeviceCatalog.of_sysfs("/host-sys", view=pod.view)
    assert aside.devices == DeviceCatalog.of_host(udev).devices
    assert aside.unknown == ()


def test_parts_that_are_covered_are_told() -> None:
    """What is mounted where devices are is named; what belongs elsewhere below is not."""
    view = view_with(
        SYS_LINE,
        "21 20 0:21 / /sys/fs/cgroup ro - cgroup2 cgroup rw",
        "22 20 0:22 / /sys/devices/virtual/powercap ro - tmpfs tmpfs ro",
        "23 20 0:23 / /sys/firmware ro - tmpfs tmpfs ro",
        "24 20 0:24 / /sys/dev ro - tmpfs tmpfs ro",
    )
    assert set(DeviceCatalog.of_sysfs(view=view).unknown) == {
        "tmpfs is mounted over /sys/devices/virtual/powercap",
        "tmpfs is mounted over /sys/dev",
    }


def test_a_sysfs_below_another_path_is_found_through_links() -> None:
    """The mount of a root that is a link is looked for where the link leads."""
    files = TreeFileSystem(("link /alias /real", "dir /real"))
    view = view_with("20 10 0:20 / /real ro - sysfs sysfs rw", files=files)
    assert DeviceCatalog.of_sysfs("/alias", view=view).unknown == ()


def test_no_sysfs_at_all() -> None:
    """An image without one has no devices, and says that this means nothing."""
    view = view_of(files=TreeFileSystem())
    assert DeviceCatalog.of_sysfs(view=view).unknown == (
        "overlay is mounted at /sys, and no sysfs",
    )
    empty = ContainerView(filesystem=TreeFileSystem())
    nothing = "nothing is mounted at /sys, and no sysfs"
    assert DeviceCatalog.of_sysfs(view=empty).unknown == (nothing,)


def test_a_table_that_lost_lines() -> None:
    """Where it cannot be told what is mounted, that is unknown as well."""
    view = view_of(ROOT_LINE, "20 77 0:20 / /sys ro - sysfs sysfs rw", files=TreeFileSystem())
    (reason,) = DeviceCatalog.of_sysfs(view=view).unknown
    assert reason.startswith("what is mounted at /sys cannot be told: mountinfo")


def test_a_file_that_goes_while_it_is_read() -> None:
    """A device that is removed meanwhile (``ENODEV``) is no more; what is refused is an error."""
    files = TreeFileSystem(FILES)
    files.fail("read_bytes", errno.ENODEV, path="/sys/devices/virtual/misc/one/uevent")
    files.fail("read_link", errno.ENOENT, path="/sys/dev/block/8:0")
    view = view_with(SYS_LINE, files=files)
    assert DeviceCatalog.of_sysfs(view=view).devices == ()
    assert len(DeviceCatalog.of_sysfs(view=view)) == 2
    files.fail("read_bytes", errno.EACCES, path="/sys/devices/virtual/misc/one/uevent")
    with pytest.raises(PermissionError):
        DeviceCatalog.of_sysfs(view=view)


def test_a_process_without_proc_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mount table it is unknown what covers ``/sys``."""
    monkeypatch.setattr("devroot._view.LocalFileSystem", TreeFileSystem)
    (reason,) = _hidden.hidden_from_process()
    assert reason.startswith("what is mounted at /sys cannot be told: ")
    with pytest.raises(ProcUnavailableError):
        DeviceCatalog.of_sysfs()


@pytest.mark.parametrize(
    ("user", "owner", "words"),
    [
        ("user:[4026531837]", 4026531837, ""),
        ("user:[4026531837]", 4026532999, "this network namespace belongs to user:[4026532999]"),
        ("user:[4026532999]", 4026532999, "this process has a user namespace of its own"),
        ("user:[4026531837]", errno.EPERM, "cannot be told: "),
        ("", 0, "cannot be told: "),
    ],
)
def test_namespaces_that_are_not_told(
    monkeypatch: pytest.MonkeyPatch, user: str, owner: int, words: str
) -> None:
    """News comes only to network namespaces of the initial user namespace; else it says why."""

    def readlink(path: str) -> str:
        if not user:
            raise FileNotFoundError(errno.ENOENT, "none", path)
        return user

    def owner_of_network() -> str:
        if owner == errno.EPERM:
            raise PermissionError(errno.EPERM, "out of sight")
        return f"user:[{owner}]"

    monkeypatch.setattr("devroot.udev._hidden.os.readlink", readlink)
    monkeypatch.setattr(_hidden, "_owner_of_network", owner_of_network)
    said = _hidden.deafness()
    assert bool(said) == bool(words)
    assert words in "".join(said)


def test_the_descriptors_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of the network namespace is asked by descriptors that are closed again."""
    given: list[int] = []

    def ioctl(descriptor: int, request: int) -> int:
        assert request == 0xB701
        given.extend((descriptor, os.open(os.devnull, os.O_RDONLY)))
        return given[-1]

    monkeypatch.setattr(_hidden, "_OWN_NETWORK", os.devnull)
    monkeypatch.setattr("devroot.udev._hidden.fcntl.ioctl", ioctl)
    assert _hidden._owner_of_network() == f"user:[{os.stat(os.devnull).st_ino}]"
    for descriptor in given:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_root_can_be_given_as_a_path() -> None:
    """The root of a sysfs is a container path, as text or as such."""
    view = view_with(SYS_LINE)
    assert len(DeviceCatalog.of_sysfs(ContainerPath("/sys"), view=view)) == 2
