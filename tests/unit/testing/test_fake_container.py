"""Containers on a fake host: what a runtime gives them, and what they may do."""

from __future__ import annotations

import errno

import pytest

from devroot import ContainerPath, FileType, Mount, Verdict, examine
from devroot.errors import (
    InvalidMountError,
    InvalidSceneError,
    ProcMaskedError,
)
from devroot.nvidia import NvidiaDriver
from devroot.testing import FakeContainer, FakeHost

ROOT = ContainerPath("/")


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a driver."""
    host = FakeHost()
    host.devtmpfs("/dev")
    host.nvidia_driver("/opt/nvidia", imex_channels=4)
    return host


def make(container: FakeContainer, type: FileType, major: int = 1, minor: int = 3) -> int:
    """Make a node in the container's ``/dev``; return the errno, 0 if it was made."""
    with container.filesystem.open_directory(ROOT, "dev") as directory:
        try:
            directory.make_node("made", type=type, major=major, minor=minor, mode=0o600)
        except OSError as error:
            return error.errno or 0
    return 0


def test_a_private_dev(host: FakeHost) -> None:
    """A container has the six nodes of the specification, and none of the host's others."""
    container = host.container()
    with container.filesystem.open_directory(ROOT, "dev") as directory:
        nodes = {name for name in directory.names() if directory.lstat(name).major}
    assert nodes == {"full", "null", "random", "tty", "urandom", "zero"}
    view = container.view
    assert {str(mount.mount_point) for mount in view.mountinfo} >= {
        *("/", "/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys", "/proc/kcore")
    }
    assert examine(view, ContainerPath("/dev")).verdict is Verdict.PRIVATE
    assert view.effective_capabilities == 0xA80425FB
    assert view.initial_user_namespace is True


def test_a_privileged_container(host: FakeHost) -> None:
    """It has all capabilities, and copies of the nodes that the host had at the start."""
    host.device("/dev/nvidia9", major=195, minor=9, uid=3)
    host.tmpfs("/dev/mounted")
    host.device("/dev/mounted/n", major=1, minor=9)
    host.container(mounts=["/dev:/dev"]).tmpfs("/dev/nvidia-caps")
    container = host.container(privileged=True)
    assert container.device("/dev/nvidia9") == host.device("/dev/nvidia9")
    assert container.device("/dev/nvidia-caps/nvidia-cap1").number == (511, 1)
    assert container.device("/dev/mounted/n").number == (1, 9)
    host.device("/dev/late", major=1, minor=1)
    assert not container.has("/dev/late")
    container.remove("/dev/nvidia9")
    assert host.has("/dev/nvidia9")
    assert container.view.effective_capabilities == 2**41 - 1
    assert "/proc/kcore" not in container.mountinfo()


def test_privileged_with_fewer_capabilities(host: FakeHost) -> None:
    """Capabilities that are given count also for a privileged container."""
    container = host.container(privileged=True, capabilities=["CAP_MKNOD"])
    assert container.view.effective_capabilities == 1 << 27


def test_a_privileged_container_without_a_host_dev() -> None:
    """Where the host has no node there is none to copy."""
    host = FakeHost()
    host.remove("/dev")
    assert host.container(privileged=True).has("/dev/null")


@pytest.mark.parametrize(
    ("type", "minor", "number"),
    [
        (FileType.CHARACTER, 3, errno.EPERM),
        (FileType.BLOCK, 3, errno.EPERM),
        (FileType.FIFO, 3, 0),
        (FileType.CHARACTER, 0, 0),
    ],
)
def test_without_mknod(host: FakeHost, type: FileType, minor: int, number: int) -> None:
    """Without ``CAP_MKNOD`` no device is made; a fifo is, and so is the whiteout 0:0."""
    container = host.container(capabilities=["CHOWN", "fowner"])
    assert make(container, type, major=1 if minor else 0, minor=minor) == number


def test_in_a_user_namespace(host: FakeHost) -> None:
    """In another user namespace no device is made whatever the capabilities."""
    container = host.container(user_namespace=True)
    assert make(container, FileType.CHARACTER) == errno.EPERM
    view = container.view
    assert view.initial_user_namespace is False
    assert b" 100000 " in view.filesystem.read_bytes(view.proc, "self/uid_map")


def test_without_chown_and_fowner(host: FakeHost) -> None:
    """Owners are given only with ``CAP_CHOWN``, and modes of others' files with ``CAP_FOWNER``."""
    container = host.container(capabilities=["MKNOD"])
    container.file("/of-one", uid=1)
    with container.filesystem.open_directory(ROOT, "") as directory:
        status = directory.lstat("of-one")
        for change in ({"uid": 2}, {"mode": 0o600}):
            with pytest.raises(PermissionError):
                directory.mend("of-one", expected=status, **change)
        with pytest.raises(PermissionError):
            directory.make_directory("d", mode=0o755, uid=1)
        assert "d" not in directory.names()


def test_an_unknown_capability(host: FakeHost) -> None:
    """A slip in a name is answered with the names that there are."""
    with pytest.raises(InvalidSceneError, match="'MKDEV' is none of AUDIT_CONTROL, "):
        host.container(capabilities=["MKDEV"])


@pytest.mark.parametrize("text", ["/a", "/a:/b:ro:rw", "/a:/b:rox", "/a:/b:ro,slaev"])
def test_mounts_that_are_none(host: FakeHost, text: str) -> None:
    """A text that is no mount is refused."""
    with pytest.raises(InvalidMountError):
        host.container(mounts=[text])


def test_kinds_of_mounts(host: FakeHost) -> None:
    """Texts, mounts and mounts without a host side are made and declared."""
    container = host.container(
        mounts=[
            "/opt/nvidia:/one:ro,nodev",
            Mount(host="/opt/nvidia", container="/two", read_only=True),
            Mount(host=None, container="/three"),
            "/made/on/host:/four",
        ]
    )
    view = container.view
    assert view.mounts is not None
    assert [str(mount.container) for mount in view.mounts] == ["/one", "/two", "/three", "/four"]
    options = {str(m.mount_point): m.options for m in view.mountinfo}
    assert options["/one"][:2] == ("ro", "nodev")
    assert options["/two"][0] == "ro"
    assert host.has("/made/on/host")
    assert examine(view, ContainerPath("/three")).host_path is None


def test_a_read_only_root(host: FakeHost) -> None:
    """Nothing can be made in the root, and mounts stay writable."""
    container = host.container(read_only=True)
    assert make(container, FileType.CHARACTER) == 0
    with (
        container.filesystem.open_directory(ROOT, "etc") as directory,
        pytest.raises(OSError, match="Read-only"),
    ):
        directory.make_directory("x", mode=0o755)


def test_mounts_take_the_place_of_defaults(host: FakeHost) -> None:
    """A mount at ``/dev``, ``/proc`` or ``/sys`` comes instead of the runtime's own."""
    container = host.container(mounts=["/dev:/dev", "/proc:/proc", "/sys:/sys"])
    table = container.mountinfo()
    assert (table.count(" /dev "), table.count(" /dev/pts "), table.count(" /proc ")) == (1, 0, 1)
    assert container.device("/dev/nvidia0").number == (195, 0)


@pytest.mark.parametrize("host_pid", [False, True])
def test_the_hosts_table_is_granted(host: FakeHost, host_pid: bool) -> None:  # noqa: FBT001 - a parameter
    """The view has the host's table, through the host's ``/proc``, and reads it anew."""
    container = host.container(
        mounts=["/opt/nvidia:/driver-root"], host_mountinfo=True, host_pid=host_pid
    )
    view = container.view
    reach = examine(view, ContainerPath("/driver-root"))
    assert (reach.verdict, str(reach.host_path)) == (Verdict.HOST, "/opt/nvidia")
    host.tmpfs("/later")
    assert view.host_mountinfo is not None
    fresh = view.refresh().host_mountinfo
    assert fresh is not None
    assert len(fresh) == len(view.host_mountinfo) + 1


def test_refresh_sees_what_was_mounted_since(host: FakeHost) -> None:
    """A view is a snapshot; a new one has the mounts of its moment."""
    container = host.container(mounts=["/opt/nvidia:/driver-root:rslave"])
    view = container.view
    host.tmpfs("/opt/nvidia/dev")
    assert str(view.mountinfo.covering(ContainerPath("/driver-root/dev"))).endswith("/driver-root)")
    now = view.refresh().mountinfo.covering(ContainerPath("/driver-root/dev"))
    assert str(now).endswith("/driver-root/dev)")


def test_nothing_is_declared(host: FakeHost) -> None:
    """A view that is not told the mounts has none."""
    assert host.container(mounts=["/dev:/host-dev/dev"], declared=False).view.mounts is None


def test_proc_self_is_ones_own(host: FakeHost) -> None:
    """``/proc/self`` leads to the process that asks, and to nothing where it is not listed."""
    first = host.container(mounts=["/proc:/host-proc"])
    second = host.container()
    files = first.filesystem
    pid = files.read_link(ROOT, "host-proc/self")
    assert files.read_link(ROOT, "proc/self") == "1"
    assert files.read_bytes(ROOT, f"host-proc/{pid}/mountinfo") == first.mountinfo().encode()
    assert second.filesystem.read_link(ROOT, "proc/self") == "1"
    first.bind("/proc", "/shown", recursive=True)
    nested = first.container(mounts=["/host-proc:/other-proc"])
    assert nested.filesystem.status(ROOT, "other-proc/1").is_directory
    with pytest.raises(FileNotFoundError):
        nested.filesystem.status(ROOT, "other-proc/self/mountinfo")


def test_directory_mask(host: FakeHost) -> None:
    """The older way hides the whole directory but for ``params``, and numbers stay unknown."""
    container = host.container(proc_mask="directory")
    driver = NvidiaDriver.read(container.view)
    assert driver.parameters.withheld
    with pytest.raises(ProcMaskedError, match="a tmpfs is mounted over /proc/driver/nvidia"):
        driver.fabric_imex_mgmt()


def test_params_mask(host: FakeHost) -> None:
    """The newer way replaces ``params`` alone, by one that says to leave nodes alone."""
    driver = NvidiaDriver.read(host.container(proc_mask="params").view)
    assert "ModifyDeviceFiles: 0" in driver.parameters.withheld
    assert driver.parameters.masked == "a tmpfs is mounted over /proc/driver/nvidia/params"
    assert driver.fabric_imex_mgmt().minor == 4323


def test_what_is_in_a_container(host: FakeHost) -> None:
    """A node that was made in a container is told where it is, also in a dev root of its own."""
    container = host.container(name="plugin", mounts=["/opt/nvidia:/host-dev/dev/x"])
    container.device("/host-dev/dev/nvidia-caps/late", major=511, minor=9)
    assert container.places_of("/dev/nvidia-caps/late") == ["/host-dev/dev/nvidia-caps/late"]
    with pytest.raises(FileNotFoundError, match="plugin has one at /host-dev/dev/nvidia-caps/late"):
        host.device("/dev/nvidia-caps/late")
    assert host.containers == [container]
    assert repr(container) == "<FakeContainer plugin>"
    assert repr(host) == "<FakeHost with 1 containers>"
    assert repr(container.filesystem).startswith("<ProcessFileSystem of process 1")


def test_the_host_has_the_root_of_a_container(host: FakeHost) -> None:
    """What is in a container's root is seen on its host, where the runtime has mounted it."""
    container = host.container()
    container.file("/made", "x")
    place = f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{container._process.pid}/rootfs"
    assert host.filesystem.read_bytes(ROOT, f"{place}/made") == b"x"
    assert f" {place} " in host.mountinfo()
    assert "io.containerd.runtime.v2.task " in host.tree("/run")
    assert "rootfs" not in host.tree("/run")
    assert "/made " in host.tree(place, containers=[])


def test_the_hosts_own_view(host: FakeHost) -> None:
    """On the host itself every path is the host's."""
    reach = examine(host.view, ContainerPath("/dev/nvidia0"))
    assert (reach.verdict, str(reach.host_path)) == (Verdict.HOST, "/dev/nvidia0")


def test_options_of_mounts(host: FakeHost) -> None:
    """Each option of a mount is in its table, and ``rro`` also makes what is below read-only."""
    host.tmpfs("/x/below")
    container = host.container(
        mounts=["/x:/plain:ro", "/x:/all:rro", "/x:/set:nosuid,nodev,noexec,relatime"]
    )
    options = {str(m.mount_point): m.options for m in container.view.mountinfo}
    assert (options["/plain"][0], options["/plain/below"][0]) == ("ro", "rw")
    assert (options["/all"][0], options["/all/below"][0]) == ("ro", "ro")
    assert options["/set"] == ("rw", "nosuid", "nodev", "noexec", "relatime")


def test_a_mask_that_there_is_not(host: FakeHost) -> None:
    """A slip in the name of a mask is refused, and is none of the masks."""
    with pytest.raises(InvalidSceneError, match="there are '', 'directory' and 'params'"):
        host.container(proc_mask="parmas")  # type: ignore[arg-type]  # at run time
