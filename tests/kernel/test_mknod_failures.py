"""Device nodes where the real kernel refuses them: the report, and the text of the error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import attrs
import pytest

from devroot import ContainerView, DeviceNode, DevRoot, NodeError
from devroot._mknod import apply, mknod, plan, remove
from tests._children import environment, unmount
from tests._kernel_nodes import describe, dev_root_at, mount, on_tmpfs, tree
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devroot._mknod import Report

pytestmark = pytest.mark.kernel

NODES = [DeviceNode(path=f"nvidia{n}", major=195, minor=n) for n in range(3)]


def _failure(act: Callable[[], Report]) -> NodeError:
    with pytest.raises(NodeError) as caught:
        act()
    return caught.value


def _words(report: Report) -> list[str]:
    return [outcome.result.value for outcome in report.outcomes]


def _unaware(path: str) -> DevRoot:
    """Return a dev root whose view knows nothing of mounts, capabilities and namespaces."""
    return DevRoot(container=path, view=ContainerView())


@pytest.mark.parametrize("aware", [True, False])
def test_a_read_only_mount(tmp_path: Path, *, aware: bool) -> None:
    """On a read-only mount all fail with EROFS, seen beforehand or not, and nothing is made."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["char /nvidia1 195:1 0600", "char /nvidia2 195:2 0666"])
        mount("--bind", f"{place}/dev", f"{place}/dev")
        mount("-o", "remount,bind,ro", f"{place}/dev")
        before = tree(place)

        error = _failure(lambda: mknod((dev_root_at if aware else _unaware)(place), NODES))

        assert (error.errno, error.filename) == (errno.EROFS, f"{place}/dev/nvidia0")
        assert "read-only" in error.reason
        assert _words(error.report) == ["failed", "failed", "unchanged"]
        assert tree(place) == before

    on_tmpfs(tmp_path, act)


def test_a_mount_on_which_devices_cannot_be_opened(tmp_path: Path) -> None:
    """With nodev a node could be made, but not opened; that is told before it is made."""

    def act(place: str) -> None:
        error = _failure(lambda: mknod(dev_root_at(place), NODES))
        assert error.errno == errno.EACCES
        assert "nodev" in error.reason
        assert os.listdir(f"{place}/dev") == []

        made = mknod(_unaware(place), [DeviceNode(path="null", major=1, minor=3)])
        assert _words(made) == ["created"]
        with pytest.raises(PermissionError):
            open(f"{place}/dev/null", "rb").close()

    on_tmpfs(tmp_path, act, options="mode=755,nodev")


@pytest.mark.parametrize("aware", [True, False])
def test_a_mount_at_the_name(tmp_path: Path, *, aware: bool) -> None:
    """A single device that is mounted at the name is never replaced or removed."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["file /nvidia1"])
        mount("--bind", "/dev/null", f"{place}/dev/nvidia1")
        dev_root = (dev_root_at if aware else _unaware)(place)

        error = _failure(lambda: mknod(dev_root, NODES))
        assert (error.errno, error.filename) == (errno.EBUSY, f"{place}/dev/nvidia1")
        assert "mounted at this name" in error.reason
        assert _words(error.report) == ["created", "failed", "created"]

        null = DeviceNode(path="nvidia1", major=1, minor=3)
        assert _failure(lambda: remove(dev_root, [null])).errno == errno.EBUSY
        assert os.stat(f"{place}/dev/nvidia1").st_rdev == os.makedev(1, 3)
        assert sorted(os.listdir(f"{place}/dev")) == ["nvidia0", "nvidia1", "nvidia2"]

    on_tmpfs(tmp_path, act)


def test_a_full_file_system(tmp_path: Path) -> None:
    """Without inodes some nodes fail; the others are complete, and nothing is left behind."""
    nodes = [DeviceNode(path=f"x{n}", major=240, minor=n) for n in range(20)]

    def act(place: str) -> None:
        error = _failure(lambda: mknod(dev_root_at(place), nodes))
        assert error.errno == errno.ENOSPC
        assert "df -i" in error.reason
        words = _words(error.report)
        assert 0 < words.count("created") < 20
        assert words.count("created") + words.count("failed") == 20
        assert len(os.listdir(f"{place}/dev")) == words.count("created")
        assert set(tree(f"{place}/dev").values()) == {
            f"c 240:{n} 0666 0:0" for n in range(words.count("created"))
        }

    on_tmpfs(tmp_path, act, options="mode=755,nr_inodes=10")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    """A name of more than 255 bytes fails alone."""

    def act(place: str) -> None:
        long = DeviceNode(path="n" * 256, major=1, minor=3)
        deep = DeviceNode(path="d" * 256 + "/null", major=1, minor=3)
        error = _failure(lambda: mknod(dev_root_at(place), [long, deep, *NODES]))
        assert error.errno == errno.ENAMETOOLONG
        assert "255 bytes" in error.reason
        assert _words(error.report) == ["failed", "failed", *["created"] * 3]

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("when", ["before the plan", "after the plan"])
def test_a_mounted_directory_that_the_host_deletes(tmp_path: Path, when: str) -> None:
    """A subset's directory that was deleted and made anew on the host is told as stale."""
    node = DeviceNode(path="caps/one", major=240, minor=1)

    def act(place: str) -> None:
        build(place, ["dir /host/caps", "dir /p/dev/caps"])
        mount("--bind", f"{place}/host/caps", f"{place}/p/dev/caps")
        dev_root = dev_root_at(f"{place}/p")
        planned = plan(dev_root, [node])
        os.rmdir(f"{place}/host/caps")
        os.mkdir(f"{place}/host/caps")

        run = (
            partial(apply, planned)
            if when == "after the plan"
            else partial(mknod, dev_root, [node])
        )
        error = _failure(run)

        assert error.errno == errno.ENOENT
        assert "stale" in error.reason
        assert "restart the pod" in error.reason
        assert os.listdir(f"{place}/host/caps") == []

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("remains", [True, False])
def test_a_mount_that_vanishes_after_the_plan(tmp_path: Path, *, remains: bool) -> None:
    """When the mount is gone, nothing is made in the directory that it had covered."""
    node = DeviceNode(path="caps/one", major=240, minor=1)

    def act(place: str) -> None:
        build(place, ["dir /p/dev/caps"])
        mount("-t", "tmpfs", "tmpfs", f"{place}/p/dev/caps")
        planned = plan(dev_root_at(f"{place}/p"), [node])
        unmount(f"{place}/p/dev/caps")
        if not remains:
            os.rmdir(f"{place}/p/dev/caps")

        error = _failure(partial(apply, planned))

        assert error.errno == errno.ESTALE
        assert "a mount came or went" in error.reason
        assert not os.path.exists(f"{place}/p/dev/caps/one")

    on_tmpfs(tmp_path, act)


SCRIPT = """
import sys
from devroot import ContainerView, DeviceNode, DevRoot, NodeError
from devroot._mknod import mknod

view = ContainerView.of_process() if sys.argv[2] == "aware" else ContainerView()
dev_root = DevRoot(container=sys.argv[1], view=view)
try:
    mknod(dev_root, [DeviceNode(path="nvidia0", major=195, minor=0)])
except NodeError as error:
    print(error.errno, error.reason)
    print([outcome.result.value for outcome in error.report.outcomes])
"""


def _script(words: list[str], place: str, how: str) -> str:
    """Return what the script says that tries to make a node, started by *words*."""
    command = [*words, sys.executable, "-c", SCRIPT, place, how]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["aware", "unaware"])
def test_without_the_capability(tmp_path: Path, how: str) -> None:
    """Without CAP_MKNOD nothing is made, whether that was seen beforehand or not."""

    def act(place: str) -> None:
        said = _script(["setpriv", "--bounding-set=-mknod"], place, how)
        assert said.startswith(f"{errno.EPERM} ")
        assert "CAP_MKNOD" in said
        assert "['failed']" in said
        assert os.listdir(f"{place}/dev") == []

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("how", ["aware", "unaware"])
def test_in_a_user_namespace(tmp_path: Path, how: str) -> None:
    """In a user namespace root has all capabilities, and still makes no device."""

    def act(place: str) -> None:
        said = _script(["unshare", "--user", "--map-root-user", "--mount"], place, how)
        assert said.startswith((f"{errno.EPERM} ", f"{errno.EACCES} "))
        assert "user namespace" in said
        assert os.listdir(f"{place}/dev") == []

    on_tmpfs(tmp_path, act)


def test_without_the_right_to_the_directory(tmp_path: Path) -> None:
    """Without CAP_DAC_OVERRIDE in somebody else's directory, the error names it."""

    def act(place: str) -> None:
        os.chown(f"{place}/dev", 1000, 1000)
        bounding = "--bounding-set=-dac_override,-dac_read_search"
        said = _script(["setpriv", bounding], place, "aware")
        assert said.startswith(f"{errno.EACCES} ")
        assert "CAP_DAC_OVERRIDE" in said
        assert os.listdir(f"{place}/dev") == []

    on_tmpfs(tmp_path, act)


def test_a_mode_that_may_not_be_set(tmp_path: Path) -> None:
    """Without CAP_FOWNER the mode of another's node cannot be mended; the text says so."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["char /nvidia0 195:0 0600 1000:1000"])
        said = _script(["setpriv", "--bounding-set=-fowner,-chown"], place, "aware")
        assert said.startswith(f"{errno.EPERM} cannot mend mode or owner: ")
        assert "CAP_CHOWN" in said
        assert describe(f"{place}/dev/nvidia0") == "c 195:0 0600 1000:1000"

    on_tmpfs(tmp_path, act)


def test_an_old_view_does_no_harm(tmp_path: Path) -> None:
    """A view from before a mount came does not lead to a change below that mount."""

    def act(place: str) -> None:
        build(f"{place}/dev", ["file /nvidia0"])
        dev_root = dev_root_at(place)
        mount("--bind", "/dev/null", f"{place}/dev/nvidia0")

        assert _failure(lambda: mknod(dev_root, NODES[:1])).errno == errno.EBUSY
        fresh = attrs.evolve(dev_root, view=dev_root.view.refresh())
        assert plan(fresh, NODES[:1]).steps[0].errno == errno.EBUSY

    on_tmpfs(tmp_path, act)
