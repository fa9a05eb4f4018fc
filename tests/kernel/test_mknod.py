"""Device nodes on the real kernel: what is there afterwards, whatever was there before."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot import DeviceNode, NodeError
from devroot._mknod import apply, char_links, mknod, plan, remove
from tests._children import in_child, unmount
from tests._kernel_nodes import describe, dev_root_at, mount, on_tmpfs, tree
from tests._trees import build
from tests.kernel._harness import device_directory, has_devtmpfs

if TYPE_CHECKING:
    from pathlib import Path

    from devroot._mknod import OnConflict, Report

pytestmark = pytest.mark.kernel

NODE = DeviceNode(path="nvidia0", major=195, minor=0)
RIGHT = "c 195:0 0666 0:0"
OTHERS = {
    "link to a file": "link /nvidia0 victim",
    "dangling link": "link /nvidia0 /nowhere/at/all",
    "link to a directory": "link /nvidia0 .",
    "file": "file /nvidia0 0600",
    "fifo": "fifo /nvidia0 0600",
    "socket": "socket /nvidia0 0600",
    "block device": "block /nvidia0 195:0 0666",
    "wrong minor": "char /nvidia0 195:1 0666",
    "wrong major": "char /nvidia0 1:0 0666",
    "no mode": "char /nvidia0 195:0 0000",
    "wrong owner": "char /nvidia0 195:0 0666 5:6",
}


def _report(act: partial[Report]) -> Report:
    try:
        return act()
    except NodeError as error:
        return error.report


def _words(report: Report) -> list[str]:
    return [outcome.result.value for outcome in report.outcomes]


@pytest.mark.parametrize("there", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize(
    ("on_conflict", "word"), [("repair", "repaired"), ("keep", "kept"), ("error", "failed")]
)
def test_whatever_is_there(tmp_path: Path, there: str, on_conflict: OnConflict, word: str) -> None:
    """Each kind of thing at the name is replaced, left or refused, and never followed."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["file /victim 0600", there])
        before = tree(f"{place}/dev")

        report = _report(partial(mknod, dev_root_at(place), [NODE], on_conflict=on_conflict))

        assert _words(report) == [word]
        expected = {**before, "nvidia0": RIGHT} if on_conflict == "repair" else before
        assert tree(f"{place}/dev") == expected

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("on_conflict", ["repair", "keep", "error"])
def test_a_directory_is_there(tmp_path: Path, on_conflict: OnConflict) -> None:
    """A directory is a conflict for everybody, and stays, empty or not."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["dir /nvidia0 0700"])
        with pytest.raises(NodeError) as caught:
            mknod(dev_root_at(place), [NODE], on_conflict=on_conflict)
        assert caught.value.errno == errno.EISDIR
        assert tree(f"{place}/dev") == {"nvidia0": "dir 0700 0:0"}

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("umask", [0o777, 0o077, 0])
def test_the_umask_does_not_matter(tmp_path: Path, umask: int) -> None:
    """Modes are exact with any umask, which is the same afterwards; new directories are 0755."""
    nodes = [
        NODE,
        DeviceNode(path="caps/one", major=240, minor=1, mode=0o400, uid=3, gid=4),
        DeviceNode(path="caps/deep/sda", type="b", major=8, minor=0, mode=0o660, gid=6),
        DeviceNode(path="none", major=240, minor=2, mode=0),
    ]

    def act(place: str) -> None:
        build(f"{place}/dev", ["fifo /nvidia0", "char /none 240:2 0777"])
        os.umask(umask)
        report = mknod(dev_root_at(place), nodes)
        assert os.umask(0) == umask
        assert _words(report) == ["repaired", "created", "created", "repaired"]
        assert tree(f"{place}/dev") == {
            "nvidia0": RIGHT,
            "none": "c 240:2 0000 0:0",
            "caps": "dir 0755 0:0",
            "caps/one": "c 240:1 0400 3:4",
            "caps/deep": "dir 0755 0:0",
            "caps/deep/sda": "b 8:0 0660 0:6",
        }
        assert mknod(dev_root_at(place), nodes).unchanged == tuple(nodes)

    on_tmpfs(tmp_path, act)


def test_what_a_directory_would_pass_on_does_not_matter(tmp_path: Path) -> None:
    """A set-group-ID bit or a default ACL on the directory changes no mode and no owner."""
    # acl(5) as the kernel stores it: version 2, then tag, permissions and ID of each entry.
    entries = [(1, 7, 2**32 - 1), (2, 7, 1234), (4, 5, 2**32 - 1), (16, 7, 2**32 - 1)]
    default = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *entry) for entry in [*entries, (32, 0, 2**32 - 1)]
    )

    def act(place: str) -> None:
        os.chown(f"{place}/dev", 0, 44)
        os.chmod(f"{place}/dev", 0o2775)
        os.setxattr(f"{place}/dev", "system.posix_acl_default", default)
        mknod(dev_root_at(place), [NODE, DeviceNode(path="caps/one", major=240, minor=1)])
        assert tree(f"{place}/dev") == {
            "nvidia0": RIGHT,
            "caps": "dir 0755 0:0",
            "caps/one": "c 240:1 0666 0:0",
        }

    on_tmpfs(tmp_path, act)


def test_a_label_and_an_acl_survive_a_repair_of_the_mode(tmp_path: Path) -> None:
    """Mending a mode in place keeps the inode, with its security label and its ACL."""
    entries = [(1, 6, 2**32 - 1), (2, 6, 1234), (4, 4, 2**32 - 1), (16, 6, 2**32 - 1)]
    acl = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *entry) for entry in [*entries, (32, 0, 2**32 - 1)]
    )

    def act(place: str) -> None:
        build(f"{place}/dev", ["char /nvidia0 195:0 0600"])
        path = f"{place}/dev/nvidia0"
        os.setxattr(path, "system.posix_acl_access", acl)
        os.setxattr(path, "security.devroot-test", b"label")
        inode = os.lstat(path).st_ino

        report = mknod(dev_root_at(place), [NODE])

        assert report.outcomes[0].differences == ("mode",)
        assert describe(path) == RIGHT
        assert os.lstat(path).st_ino == inode
        assert os.getxattr(path, "security.devroot-test") == b"label"
        assert struct.pack("<HHI", 2, 6, 1234) in os.getxattr(path, "system.posix_acl_access")

    on_tmpfs(tmp_path, act)


def test_an_absolute_link_as_dev_stays_inside(tmp_path: Path) -> None:
    """A ``dev`` that is an absolute link means a place in the dev root, not one outside."""

    def act(place: str) -> None:
        os.rename(f"{place}/dev", f"{place}/elsewhere")
        os.makedirs(f"{place}/root/elsewhere")
        os.symlink(f"{place}/elsewhere", f"{place}/root/dev")
        os.makedirs(f"{place}/root{place}/elsewhere")
        mknod(dev_root_at(f"{place}/root"), [NODE])
        assert os.listdir(f"{place}/elsewhere") == []
        assert describe(f"{place}/root{place}/elsewhere/nvidia0") == RIGHT

    on_tmpfs(tmp_path, act)


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """Nothing is made behind a link that stands where a directory is needed."""

    def act(place: str) -> None:
        build(place, ["dir /dev/real 0755", "link /dev/caps real", f"link /dev/out {place}"])
        nodes = [DeviceNode(path=f"{name}/one", major=240, minor=1) for name in ("caps", "out")]
        report = _report(partial(mknod, dev_root_at(place), [*nodes, NODE]))
        assert _words(report) == ["failed", "failed", "created"]
        assert report.outcomes[0].errno == errno.ENOTDIR
        assert os.listdir(f"{place}/dev/real") == []
        assert sorted(os.listdir(place)) == ["dev"]

    on_tmpfs(tmp_path, act)


def test_links_by_number(tmp_path: Path) -> None:
    """Links are made, wrong and dangling ones replaced, right ones kept, files left alone."""
    nodes = [DeviceNode(path=f"nvidia{n}", major=195, minor=n) for n in range(5)]

    def act(place: str) -> None:
        build(
            f"{place}/dev",
            [
                *(f"char /nvidia{n} 195:{n} 0666" for n in range(5)),
                "link /char/195:1 /dev/nvidia1",
                "link /char/195:2 ../nowhere",
                "link /char/195:3 ../nvidia1",
                "file /char/195:4 0600",
            ],
        )
        report = _report(partial(char_links, dev_root_at(place), nodes))
        assert _words(report) == ["created", "unchanged", "repaired", "repaired", "failed"]
        assert {name: describe(f"{place}/dev/char/195:{name}") for name in range(5)} == {
            0: "link ../nvidia0",
            1: "link /dev/nvidia1",
            2: "link ../nvidia2",
            3: "link ../nvidia3",
            4: "file 0600 0:0",
        }
        assert len(os.listdir(f"{place}/dev/char")) == 5

    on_tmpfs(tmp_path, act)


def test_only_the_node_is_removed(tmp_path: Path) -> None:
    """What has another type or number stays; the directory stays even if it is empty."""
    nodes = [DeviceNode(path=f"caps/{n}", major=240, minor=n) for n in range(5)]

    def act(place: str) -> None:
        build(
            f"{place}/dev",
            [
                "char /caps/0 240:0 0400 5:6",
                "char /caps/1 240:9 0666",
                "link /caps/2 0",
                "dir /caps/3",
            ],
        )
        report = remove(dev_root_at(place), nodes)
        assert _words(report) == ["removed", "kept", "kept", "kept", "unchanged"]
        assert sorted(os.listdir(f"{place}/dev/caps")) == ["1", "2", "3"]

    on_tmpfs(tmp_path, act)


def _in_overlay(place: str) -> str:
    """Mount an overlay whose lower layer has some of the files, and return its path."""
    build(place, ["dir /lower", "dir /upper", "dir /work", "dir /merged"])
    build(
        f"{place}/lower/dev",
        ["fifo /nvidia1", "char /nvidia2 195:2 0600", "link /nvidia3 x", "dir /caps", "dir /old"],
    )
    options = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    mount("-t", "overlay", "-o", options, "overlay", f"{place}/merged")
    return f"{place}/merged"


def test_on_overlay(tmp_path: Path) -> None:
    """On an overlay the steps are atomic too, also for what lies in a lower layer."""
    nodes = [DeviceNode(path=f"nvidia{n}", major=195, minor=n) for n in range(4)]
    nodes += [DeviceNode(path=f"{name}/one", major=240, minor=1) for name in ("caps", "new", "old")]

    def act(place: str) -> None:
        root = _in_overlay(place)
        planned = plan(dev_root_at(root), nodes)
        report = mknod(dev_root_at(root), nodes)
        assert _words(report) == ["created", "repaired", "repaired", "repaired", *["created"] * 3]
        assert tree(f"{root}/dev") == {
            **{f"nvidia{n}": f"c 195:{n} 0666 0:0" for n in range(4)},
            **dict.fromkeys(("caps", "new", "old"), "dir 0755 0:0"),
            **{f"{name}/one": "c 240:1 0666 0:0" for name in ("caps", "new", "old")},
        }
        assert mknod(dev_root_at(root), nodes).unchanged == tuple(nodes)
        assert apply(planned).unchanged == tuple(nodes)

    on_tmpfs(tmp_path, act)


def test_on_devtmpfs() -> None:
    """On the machine's own devtmpfs, in a directory of the test, it is the same."""
    if not has_devtmpfs():
        pytest.skip("this machine's /dev is no devtmpfs")
    with device_directory() as name:
        build(f"/dev/{name}", ["fifo /b", "link /c b", "char /d 240:3 0600", "block /e 240:4"])
        nodes = [
            DeviceNode(path=f"{name}/{letter}", major=240, minor=minor)
            for minor, letter in enumerate("abcde")
        ]
        nodes.append(DeviceNode(path=f"{name}/new/f", major=240, minor=5))

        report = mknod(dev_root_at("/"), nodes)

        assert _words(report) == ["created", *["repaired"] * 4, "created"]
        assert tree(f"/dev/{name}") == {
            **{letter: f"c 240:{minor} 0666 0:0" for minor, letter in enumerate("abcde")},
            "new": "dir 0755 0:0",
            "new/f": "c 240:5 0666 0:0",
        }
        assert mknod(dev_root_at("/"), nodes).unchanged == tuple(nodes)
        assert remove(dev_root_at("/"), nodes).removed == tuple(nodes)


def test_a_node_works(tmp_path: Path) -> None:
    """What is made is a device that can be opened and that does what its number says."""

    def act(place: str) -> None:
        mknod(dev_root_at(place), [DeviceNode(path="zero", major=1, minor=5)])
        with open(f"{place}/dev/zero", "rb") as zero:
            assert zero.read(4) == bytes(4)

    on_tmpfs(tmp_path, act)


def test_a_socket_that_is_in_use_is_replaced(tmp_path: Path) -> None:
    """A socket at the name loses the name; whoever listens to it keeps it."""

    def act(place: str) -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"{place}/dev/nvidia0")
            listening.listen()
            mknod(dev_root_at(place), [NODE])
            assert stat.S_ISSOCK(os.fstat(listening.fileno()).st_mode)
        assert describe(f"{place}/dev/nvidia0") == RIGHT

    on_tmpfs(tmp_path, act)


def test_replacing_detaches_the_binds_of_others(tmp_path: Path) -> None:
    """A bind that another mount namespace has on the name goes when the name is replaced."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["char /nvidia0 195:9 0666", "char /nvidia1 195:1 0600"])
        nodes = [NODE, DeviceNode(path="nvidia1", major=195, minor=1)]
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            code = in_child(partial(_bind_and_wait, place, ready[1], done[0]), own_mounts=True)
            os._exit(code)
        os.read(ready[0], 1)
        mknod(dev_root_at(place), nodes)
        os.write(done[1], b"x")
        assert os.waitpid(child, 0)[1] == 0

    on_tmpfs(tmp_path, act)


def _bind_and_wait(place: str, ready: int, done: int) -> int:
    """Bind the null device on both names, wait, and return 0 if only the second bind is left."""
    for name in ("nvidia0", "nvidia1"):
        mount("--bind", "/dev/null", f"{place}/dev/{name}")
    os.write(ready, b"x")
    os.read(done, 1)
    found = [os.stat(f"{place}/dev/{name}").st_rdev for name in ("nvidia0", "nvidia1")]
    unmount(f"{place}/dev/nvidia1")
    return 0 if found == [os.makedev(195, 0), os.makedev(1, 3)] else 1
