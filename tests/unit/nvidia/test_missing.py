"""Which of the needed nodes are there: for the host, or only in this container."""

from __future__ import annotations

import copy
import errno
import pickle
from typing import TYPE_CHECKING

import attrs
import pytest

from devroot._dev_root import DevRoot
from devroot._device import DeviceNode
from devroot._driver_root import DriverRoot
from devroot._fallbacks import SubsetFallback
from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot._view import ContainerView
from devroot.errors import DevRootError, NodesMissingError
from devroot.nvidia import (
    MigDevice,
    NodeSet,
    NvidiaDriver,
    Parameters,
    Presence,
    missing,
    required_nodes,
)
from devroot.testing import FakeHost, TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.unit.nvidia.conftest import Recorded

# A container's root, its private /dev, and a driver root with the dev of a driver container.
TABLE = b"""\
100 99 0:300 / / rw - overlay overlay rw
101 100 0:301 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
102 100 0:302 / /driver-root rw - ext4 /dev/sda1 rw
103 102 0:303 / /driver-root/dev rw - tmpfs tmpfs rw
104 100 0:304 / /run/nvidia/driver rw - overlay overlay rw
105 104 0:305 / /run/nvidia/driver/dev rw - tmpfs tmpfs rw
106 100 0:306 / /host-dev/dev/nvidia-caps rw - tmpfs tmpfs rw
"""
MOUNTS = MountTable(
    [
        Mount(host="/", container="/driver-root"),
        Mount(host="/run/nvidia/driver", container="/run/nvidia/driver"),
        Mount(host="/dev/nvidia-caps", container="/host-dev/dev/nvidia-caps"),
    ]
)
GPU = DeviceNode(path="nvidia0", major=195, minor=0)
CAP = DeviceNode(path="nvidia-caps/nvidia-cap1", major=508, minor=1, mode=0o400)


def _in_container(view: ContainerView) -> ContainerView:
    return attrs.evolve(view, mountinfo=MountInfoTable[ContainerPath].parse(TABLE), mounts=MOUNTS)


def _container(*specs: str) -> ContainerView:
    return _in_container(ContainerView(filesystem=TreeFileSystem(specs)))


def _dev_root(view: ContainerView, container: str = "/driver-root") -> DevRoot:
    return DevRoot(container=container, view=view)


def _tree(view: ContainerView) -> TreeFileSystem:
    assert isinstance(view.filesystem, TreeFileSystem)
    return view.filesystem


def _names(nodes: Iterable[DeviceNode]) -> list[str]:
    return [node.path.below_dev for node in nodes]


def _only(found: NodeSet) -> tuple[Presence, str]:
    assert len(found.found) == 1
    return found.found[0].presence, found.found[0].reason


def test_mig_nodes_only_in_the_containers_own_dev_are_private(recorded: Recorded) -> None:
    """Nodes that a library made in the private ``/dev`` leave a MIG device incomplete."""
    view = _in_container(recorded("private-caps"))
    driver = NvidiaDriver.read(view, parameters=Parameters())
    nodes = driver.mig_device_nodes(MigDevice(gpu=0, gi=7, ci=0))
    assert [node.number for node in nodes] == [(195, 0), (511, 66), (511, 67)]
    found = missing(_dev_root(view), nodes)
    assert _names(found.ok) == ["nvidia0"]
    assert _names(found.private) == ["nvidia-caps/nvidia-cap66", "nvidia-caps/nvidia-cap67"]
    assert found.missing == found.wrong == found.unknown == ()
    assert not found.complete
    with pytest.raises(NodesMissingError) as caught:
        found.require_complete()
    assert str(caught.value).startswith(
        "2 device nodes are not there:\n  - /dev/nvidia-caps/nvidia-cap66 is private:"
        " /driver-root/dev/nvidia-caps/nvidia-cap66 does not exist;"
        " /dev/nvidia-caps/nvidia-cap66 in this container does, whose reach is PRIVATE\n"
    )
    assert isinstance(caught.value, DevRootError)
    assert pickle.loads(pickle.dumps(copy.copy(caught.value))).absent == found.found[1:]


def test_the_error_says_why_a_node_was_left_alone() -> None:
    """What is missing because the driver wants to make it itself is not for mknod to make."""
    host = FakeHost()
    host.devtmpfs()
    host.nvidia_driver("/opt/nvidia", imex_channels=1, modify_device_files=False)
    host.device("/dev/nvidia-caps-imex-channels/channel0", major=510, minor=0)
    view = host.view
    driver = NvidiaDriver.read(view)
    dev_root = DevRoot(container="/", view=view)
    there = missing(dev_root, [driver.imex_channel(0)])
    assert str(there.found[0]) == "/dev/nvidia-caps-imex-channels/channel0 is ok"
    host.remove("/dev/nvidia-caps-imex-channels/channel0")
    with pytest.raises(NodesMissingError, match=r"mknod leaves it alone: .*ModifyDeviceFiles"):
        missing(dev_root, [driver.imex_channel(0)]).require_complete()


def test_a_driver_container_without_uvm_tools_is_not_ready(recorded: Recorded) -> None:
    """Readiness is asked of the whole set: the one node that is missing is found."""
    view = _in_container(recorded("driver-container"))
    driver = NvidiaDriver.read(view, parameters=Parameters())
    caps = [
        DeviceNode(path=f"nvidia-caps/nvidia-cap{n}", major=driver.major("nvidia-caps"), minor=n)
        for n in (1, 2)
    ]
    nodes = [*required_nodes(driver, gpus=[0], modeset=True), *caps]
    found = missing(_dev_root(view, "/run/nvidia/driver"), nodes)
    assert sorted(_names(found.ok)) == [
        "nvidia-caps/nvidia-cap1",
        "nvidia-caps/nvidia-cap2",
        "nvidia-modeset",
        "nvidia-uvm",
        "nvidia0",
        "nvidiactl",
    ]
    assert found.wrong == ()
    assert [str(node) for node in found.missing] == ["/dev/nvidia-uvm-tools c 509:1 0666 0:0"]


def test_a_fresh_boot_has_none_and_local_policy_is_no_defect(
    recorded: Recorded, data: Path
) -> None:
    """Mode 0660 and the group video are right; what is compared is type and number."""
    view = _in_container(recorded("fresh-boot"))
    view = attrs.evolve(
        view,
        mountinfo=MountInfoTable[ContainerPath].parse(
            (data / "read-only-root" / "mountinfo").read_bytes()
        ),
    )
    driver = NvidiaDriver.read(view, parameters=Parameters())
    nodes = required_nodes(driver, gpus=[0])
    dev_root = _dev_root(view)
    assert missing(dev_root, nodes).missing == nodes
    for line in (data / "fresh-boot" / "later.txt").read_text("utf-8").splitlines():
        _tree(view).add(line.replace(" /dev/", " /driver-root/dev/"))
    later = missing(dev_root, nodes)
    assert sorted(_names(later.ok)) == ["nvidia-uvm", "nvidia0", "nvidiactl"]
    assert _names(later.missing) == ["nvidia-uvm-tools"]
    _tree(view).add("char /driver-root/dev/nvidia-uvm-tools 511:1")
    complete = missing(dev_root, nodes)
    assert complete.complete
    complete.require_complete()


def test_a_node_with_the_major_of_another_driver_is_wrong(recorded: Recorded) -> None:
    """A node that a prefix match gave the wrong major is found, beside two right ones."""
    view = recorded("name-prefix")
    for line in _tree(view).listing():
        if " /dev/" in line:
            _tree(view).add(line.replace(" /dev/", " /driver-root/dev/"))
    view = _in_container(view)
    major = NvidiaDriver.read(view, parameters=Parameters()).major("nvidia-caps")
    nodes = [
        DeviceNode(path=f"nvidia-caps/nvidia-cap{n}", major=major, minor=n) for n in (1, 2, 4323)
    ]
    found = missing(_dev_root(view), nodes)
    assert found.ok == tuple(nodes[:2])
    assert found.wrong == (nodes[2],)
    assert str(found.found[2]) == (
        "/dev/nvidia-caps/nvidia-cap4323 is wrong: /driver-root/dev/nvidia-caps/nvidia-cap4323"
        " is device 234:4323, not 511:4323"
    )


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("block /driver-root/dev/nvidia0 195:0", "a block device, not a character device"),
        ("file /driver-root/dev/nvidia0", "a regular file, not a character device"),
        ("dir /driver-root/dev/nvidia0", "a directory, not a character device"),
        ("link /driver-root/dev/nvidia0 null", "a symbolic link, not a character device"),
        ("char /driver-root/dev/nvidia0 195:1", "device 195:1, not 195:0"),
    ],
)
def test_what_is_not_the_node_is_told(spec: str, what: str) -> None:
    """Anything else at the name is wrong, a link to the right node too."""
    view = _container("char /driver-root/dev/null 195:0", spec)
    assert _only(missing(_dev_root(view), [GPU])) == (
        Presence.WRONG,
        f"/driver-root/dev/nvidia0 is {what}",
    )


def test_a_link_on_the_way_is_not_followed() -> None:
    """A directory that is a link is something else at the name."""
    view = _container(
        "char /driver-root/dev/elsewhere/nvidia-cap1 508:1",
        "link /driver-root/dev/nvidia-caps elsewhere",
    )
    presence, reason = _only(missing(_dev_root(view), [CAP]))
    assert presence is Presence.WRONG
    assert "/driver-root/dev/nvidia-caps/nvidia-cap1 cannot be looked at" in reason


def test_without_a_directory_all_in_it_are_missing() -> None:
    """Neither a missing directory nor a missing ``dev`` is an error."""
    for view in (_container("dir /driver-root/dev"), _container("dir /driver-root")):
        found = missing(_dev_root(view), [CAP, GPU])
        assert found.missing == (CAP, GPU)
        assert found.found[0].reason == "/driver-root/dev/nvidia-caps/nvidia-cap1 does not exist"


def test_a_wrong_node_in_the_private_dev_does_not_count() -> None:
    """What the container's own ``/dev`` has under the name counts only if it is the node."""
    view = _container("dir /driver-root/dev", "char /dev/nvidia0 195:7")
    assert missing(_dev_root(view), [GPU]).missing == (GPU,)
    _tree(view).fail("lstat", errno.EIO, path="/dev/nvidia0")
    assert missing(_dev_root(view), [GPU]).missing == (GPU,)


def test_a_node_elsewhere_on_the_host_is_missing_from_the_dev_root() -> None:
    """Where the container's ``/dev`` is not known to be private, the answer says where it is."""
    view = attrs.evolve(_container("dir /driver-root/dev", "char /dev/nvidia0 195:0"), mounts=None)
    presence, reason = _only(missing(_dev_root(view), [GPU]))
    assert presence is Presence.MISSING
    assert reason.endswith("/dev/nvidia0 in this container does, whose reach is UNKNOWN")


def test_the_containers_own_root_as_dev_root_is_private() -> None:
    """With the dev root ``/``, every node is there and none of them for the host."""
    view = _container("char /dev/nvidia0 195:0")
    found = missing(_dev_root(view, "/"), [GPU])
    assert found.private == (GPU,)
    assert found.found[0].reason.startswith("/dev/nvidia0 exists, but its reach is PRIVATE: ")
    assert missing(_dev_root(_container("dir /dev"), "/"), [GPU]).missing == (GPU,)


def test_a_reach_that_nothing_decides_is_unknown() -> None:
    """A node at a place of which nothing is known is neither there nor missing."""
    view = attrs.evolve(_container("char /driver-root/dev/nvidia0 195:0"), mounts=None)
    found = missing(_dev_root(view), [GPU])
    assert found.unknown == (GPU,)
    accepting = attrs.evolve(_dev_root(view), accept=[found.found[0].reach.verdict])  # type: ignore[union-attr]
    assert missing(accepting, [GPU]).ok == (GPU,)


def test_what_a_subset_does_not_show_is_unknown() -> None:
    """Outside the subset nothing is said, whatever the container's own ``/dev`` has."""
    view = _container(
        "dir /driver-root",
        "char /host-dev/dev/nvidia-caps/nvidia-cap1 508:1",
        "char /dev/nvidia0 195:0",
    )
    driver_root = DriverRoot(host="/", container="/driver-root", view=view)
    dev_root = driver_root.dev_root(fallback=SubsetFallback("/host-dev", ["nvidia-caps"]))
    found = missing(dev_root, [CAP, GPU])
    assert found.ok == (CAP,)
    assert found.unknown == (GPU,)
    assert "/dev/nvidia0 lies outside the subset" in found.found[1].reason


@pytest.mark.parametrize("operation", ["lstat", "open_directory"])
def test_what_cannot_be_looked_at_is_unknown(operation: str) -> None:
    """A failure that is not absence is told, and stops no other node."""
    view = _container("char /driver-root/dev/nvidia0 195:0", "dir /driver-root/dev/nvidia-caps")
    _tree(view).add("char /driver-root/dev/nvidia-caps/nvidia-cap1 508:1")
    place = "/driver-root/dev/nvidia-caps" + ("/nvidia-cap1" if operation == "lstat" else "")
    _tree(view).fail(operation, errno.EACCES, path=place)
    found = missing(_dev_root(view), [CAP, GPU])
    assert found.unknown == (CAP,)
    assert found.ok == (GPU,)
    assert "cannot be looked at" in found.found[0].reason


HOST_TABLE = b"""\
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:6 / /dev rw - devtmpfs udev rw
%s"""
OWN_TABLE = b"""\
100 99 0:300 / / rw - overlay overlay rw
101 100 0:6 / /driver-root/dev rw - devtmpfs udev rw
%s"""


@pytest.mark.parametrize(
    ("own", "host", "presence"),
    [
        (b"", b"", Presence.OK),
        (b"102 101 0:9 /x /driver-root/dev/a/n1 rw - tmpfs t rw\n", b"", Presence.PRIVATE),
        (b"", b"3 2 0:9 /x /dev/a/n1 rw - tmpfs t rw\n", Presence.PRIVATE),
    ],
)
def test_a_single_file_can_differ_from_its_directory(
    own: bytes, host: bytes, presence: Presence
) -> None:
    """What is mounted on one node's name, here or on the host, changes the answer for it alone."""
    view = ContainerView(
        filesystem=TreeFileSystem(
            ["char /driver-root/dev/a/n0 10:0", "char /driver-root/dev/a/n1 10:1"]
        ),
        mountinfo=MountInfoTable[ContainerPath].parse(OWN_TABLE % own),
        host_mountinfo=MountInfoTable[HostPath].parse(HOST_TABLE % host, paths=HostPath),
        mounts=MountTable([Mount(host="/dev", container="/driver-root/dev")]),
    )
    nodes = [DeviceNode(path=f"a/n{n}", major=10, minor=n) for n in range(2)]
    dev_root = _dev_root(view)
    found = missing(dev_root, nodes)
    assert [one.presence for one in found.found] == [Presence.OK, presence]
    for one in found.found:
        reach = dev_root.reach(one.node.path)
        assert one.reach is not None
        assert (one.reach.verdict, one.reach.container_path, one.reach.host_paths) == (
            reach.verdict,
            reach.container_path,
            reach.host_paths,
        )


@pytest.mark.parametrize("asked", ["/driver-root/dev", "/driver-root/real"])
def test_a_file_that_was_asked_for_and_is_not_there_stands_apart(asked: str) -> None:
    """A declared mount on one name that nobody made leaves that name alone undecided."""
    dev, real = "link /driver-root/dev real", "/driver-root/real"
    table = b"100 99 0:300 / / rw - overlay o rw\n101 100 0:6 / %b rw - devtmpfs udev rw\n"
    view = ContainerView(
        filesystem=TreeFileSystem([dev, f"char {real}/a/n0 10:0", f"char {real}/a/n1 10:1"]),
        mountinfo=MountInfoTable[ContainerPath].parse(table % real.encode()),
        mounts=MountTable(
            [
                Mount(host="/dev", container=real),
                Mount(host="/spare/n1", container=f"{asked}/a/n1"),
            ]
        ),
    )
    nodes = [DeviceNode(path=f"a/n{n}", major=10, minor=n) for n in range(2)]
    found = missing(_dev_root(view), nodes)
    assert [one.presence for one in found.found] == [Presence.OK, Presence.UNKNOWN]


def test_single_nodes_as_a_subset_are_looked_at_one_by_one() -> None:
    """Where only the node itself is shown, nothing is asked of its directory."""
    view = _container("char /driver-root/dev/nvidia0 195:0")
    _tree(view).add("char /driver-root/dev/nvidia-caps/nvidia-cap1 508:1")
    names = (GPU.path, CAP.path)
    assert missing(attrs.evolve(_dev_root(view), names=names), [GPU, CAP]).complete


def test_nodes_share_the_reach_of_their_directory_without_the_hosts_table() -> None:
    """Where nobody granted the host's table, each node has its own host path all the same."""
    view = _container(*(f"char /driver-root/dev/a/n{n} 10:{n}" for n in range(3)))
    nodes = [DeviceNode(path=f"a/n{n}", major=10, minor=n) for n in range(3)]
    found = missing(_dev_root(view), nodes)
    assert found.complete
    assert [str(one.reach.host_path) for one in found.found if one.reach is not None] == [
        "/dev/a/n0",
        "/dev/a/n1",
        "/dev/a/n2",
    ]


def test_each_directory_is_opened_once() -> None:
    """Many nodes in one directory cost one look each, and no more opening."""
    specs = [f"char /driver-root/dev/nvidia-caps/nvidia-cap{n} 508:{n}" for n in range(20)]
    view = _container(*specs)
    opened: list[str] = []
    _tree(view).before(
        lambda operation: opened.append(operation.name) if "open" in operation.name else None
    )
    nodes = [DeviceNode(path=f"nvidia-caps/nvidia-cap{n}", major=508, minor=n) for n in range(20)]
    assert missing(_dev_root(view), nodes).complete
    assert opened == ["open_directory", "open_directory"]
