"""The mount tables against the kernel: what a path really leads to decides."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot._local import LocalFileSystem
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath
from tests._children import in_child
from tests.kernel import _agent
from tests.kernel._mount_programme import SCRATCH, joined, make_tmpfs, run_mountinfo, run_mounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._mountinfo import MountInfo

pytestmark = pytest.mark.kernel

PROGRAMMES = int(os.environ.get("DEVROOT_MOUNT_PROGRAMMES", "15"))
SEED = int(os.environ.get("DEVROOT_MOUNT_SEED", "0"))


@pytest.mark.parametrize("run", [run_mountinfo, run_mounts], ids=["mountinfo", "mounts"])
def test_random_programmes(run: Callable[[int], str]) -> None:
    """After every step of a random programme of mounts a table says what the kernel says.

    ``DEVROOT_MOUNT_PROGRAMMES`` is how many are run, from the one with the number
    ``DEVROOT_MOUNT_SEED`` on.
    """
    for seed in range(SEED, SEED + PROGRAMMES):
        assert in_child(partial(run, seed), own_mounts=True) == ""


def table() -> MountInfoTable[ContainerPath]:
    """Return this process's mounts."""
    return MountInfoTable.read(
        LocalFileSystem(), ContainerPath("/proc"), "self/mountinfo", paths=ContainerPath
    )


def table_by(proc: int) -> MountInfoTable[ContainerPath]:
    """Return this process's mounts, by a descriptor of its directory in procfs."""
    with open(os.open("mountinfo", os.O_RDONLY, dir_fd=proc), "rb") as file:
        return MountInfoTable.parse(file.read())


def covering(path: str) -> MountInfo[ContainerPath]:
    """Return the mount that serves a path of this process."""
    found = table().covering(ContainerPath(path))
    assert found is not None
    return found


def test_a_mount_on_the_root_is_not_stepped_onto() -> None:
    """Whoever mounts on / still sees the old root, and so says the table."""

    def look() -> None:
        before, inode = covering("/"), os.stat("/").st_ino
        make_tmpfs("/")
        after = [str(mount.mount_point) for mount in table()].count("/")

        assert after == 2
        assert os.stat("/").st_ino == inode
        assert covering("/") == covering("/other") == before

    in_child(look, own_mounts=True)


def test_a_process_that_enters_the_namespace_stands_on_top() -> None:
    """Its root is the mount on /, whose parent its table does not list."""

    def look() -> None:
        before = covering("/")
        make_tmpfs("/")
        held, proc = (os.open(path, os.O_RDONLY) for path in ("/proc/self/ns/mnt", "/proc/self"))
        assert ctypes.CDLL(None, use_errno=True).setns(held, _agent.CLONE_NEWNS) == 0
        (mount,) = table_by(proc)

        assert mount.parent_id == before.mount_id
        assert table_by(proc).covering(ContainerPath("/x")) == mount

    in_child(look, own_mounts=True)


def test_a_root_that_is_no_mount_point() -> None:
    """Its mount is not listed, those on it are, and what lies at / is not stepped onto."""

    def look() -> None:
        make_tmpfs(SCRATCH)
        os.makedirs(joined(SCRATCH, "root", "dev"))
        make_tmpfs(joined(SCRATCH, "root", "dev"))
        proc = os.open("/proc/self", os.O_RDONLY)
        os.chroot(joined(SCRATCH, "root"))
        (dev,) = table_by(proc)
        assert str(dev.mount_point) == "/dev"
        make_tmpfs("/")

        assert len(table_by(proc)) == 2
        assert table_by(proc).is_whole
        assert table_by(proc).covering(ContainerPath("/x")) is None
        assert table_by(proc).covering(ContainerPath("/dev/x")) == dev
        assert os.listdir("/") == ["dev"]

    in_child(look, own_mounts=True)


def test_the_one_table_that_cannot_be_told() -> None:
    """If all that is listed lies on a root that is no mount point, it is taken for the root.

    A process that has the mount as its root has the same line.
    """

    def look() -> None:
        make_tmpfs(SCRATCH)
        os.mkdir(joined(SCRATCH, "root"))
        proc = os.open("/proc/self", os.O_RDONLY)
        os.chroot(joined(SCRATCH, "root"))
        os.mkdir("/hidden")
        make_tmpfs("/")
        (mount,) = table_by(proc)
        held = os.open("/", os.O_PATH)
        with open(os.open(f"fdinfo/{held}", os.O_RDONLY, dir_fd=proc)) as file:
            served = file.read()

        assert table_by(proc).covering(ContainerPath("/")) == mount
        assert f"mnt_id:\t{mount.mount_id}\n" not in served
        assert os.listdir("/") == ["hidden"]

    in_child(look, own_mounts=True)


def test_what_the_kernel_writes_in_odd_lines() -> None:
    """Names of any bytes, roots that were deleted or are no paths, and empty sources are read."""
    odd = "b c\td\ne\\f#g\rh\u2028i\udcff\\040"

    def look() -> None:
        make_tmpfs(SCRATCH)
        for name in (odd, "source", "gone", "empty"):
            os.mkdir(joined(SCRATCH, name))
        with open(joined(SCRATCH, "net"), "xb"):
            pass
        _agent.mount(joined(SCRATCH, "source"), joined(SCRATCH, odd), flags=_agent.MS_BIND)
        os.rmdir(joined(SCRATCH, "source"))
        _agent.mount("", joined(SCRATCH, "empty"), kind="tmpfs")
        _agent.mount(f"# {odd}", joined(SCRATCH, "gone"), kind="tmpfs")
        _agent.mount("/proc/self/ns/net", joined(SCRATCH, "net"), flags=_agent.MS_BIND)

        assert str(covering(joined(SCRATCH, odd, "x")).mount_point) == joined(SCRATCH, odd)
        assert covering(joined(SCRATCH, odd)).root == "/source"
        assert covering(joined(SCRATCH, odd)).deleted
        assert covering(joined(SCRATCH, "empty")).source == ""
        assert covering(joined(SCRATCH, "gone")).source == f"# {odd}"
        assert covering(joined(SCRATCH, "net")).root == os.readlink("/proc/self/ns/net")
        assert list(MountInfoTable.of(table(), paths=ContainerPath)) == list(table())

    in_child(look, own_mounts=True)


def test_a_line_far_longer_than_a_page() -> None:
    """A mount point of many blanks, each escaped by four characters, arrives whole."""

    def look() -> None:
        make_tmpfs(SCRATCH)
        path = joined(SCRATCH, *[" " * 250] * 15)
        os.makedirs(path)
        make_tmpfs(path)

        assert len(covering(path).render()) > 4 * 15 * 250
        assert str(covering(joined(path, "x")).mount_point) == path

    in_child(look, own_mounts=True)


def test_a_table_that_changes_while_it_is_read() -> None:
    """While mounts come and go, every table that is read serves the mount that stays."""

    def look() -> None:
        make_tmpfs(SCRATCH)
        for number in range(200):
            os.mkdir(joined(SCRATCH, str(number)))
            make_tmpfs(joined(SCRATCH, str(number)))
        stays = covering(joined(SCRATCH, "199"))
        stop = threading.Event()

        def change() -> None:
            while not stop.is_set():
                for number in range(0, 150, 3):
                    _agent._checked("umount2", joined(SCRATCH, str(number)).encode(), 2)
                for number in range(0, 150, 3):
                    make_tmpfs(joined(SCRATCH, str(number)))

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(40):
                assert covering(joined(SCRATCH, "199", "x")) == stays
        finally:
            stop.set()
            thread.join()

    in_child(look, own_mounts=True)
