"""The testing kit needs nothing: its tests pass without rights, network, home and ``/dev``."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import devroot
from tests._children import NOBODY, in_child, mount
from tests.kernel._agent import MS_BIND, MS_NODEV, MS_RDONLY, MS_REC, MS_REMOUNT

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.kernel

TOP: Final = Path(__file__).parents[2]
_CLONE_NEWNET: Final = 0x40000000
# What a Python needs besides its own directories.
_SYSTEM: Final = ("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/usr")
# What says where Python and the suite are found, and how the suite was started.
_KEPT: Final = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "PYTHONSAFEPATH")


def needed() -> list[str]:
    """Return the directories that the tests are run from."""
    places = [sys.prefix, sys.base_prefix, str(TOP), *sys.path]
    places.append(str(Path(devroot.__file__).parent.parent))
    return sorted({os.path.realpath(place) for place in places if os.path.isdir(place)})


def make_root(root: str, *, null: bool) -> None:
    """Make a root at *root* with no more in it than is needed, all of it read-only.

    A ``/dev`` that nobody may look into and an empty home are in it, and a ``/tmp`` to write to.

    Args:
        root: an empty directory.
        null: whether ``/dev/null`` can be opened after all, by its name.
    """
    mount("tmpfs", root, kind="tmpfs")
    os.chmod(root, 0o755)
    for place in _SYSTEM:
        if os.path.islink(place):
            os.symlink(os.readlink(place), root + place)
        elif os.path.isdir(place):
            show(place, root)
    for name, mode in (("dev", 0o000), ("home", 0o555), ("tmp", 0o1777)):
        os.mkdir(f"{root}/{name}")
        mount("tmpfs", f"{root}/{name}", kind="tmpfs", flags=MS_NODEV)
        os.chmod(f"{root}/{name}", mode)
    if null:
        os.chmod(f"{root}/dev", 0o711)
        os.close(os.open(f"{root}/dev/null", os.O_CREAT | os.O_WRONLY))
        mount("/dev/null", f"{root}/dev/null")
    for place in needed():
        if not os.path.exists(root + place):
            show(place, root)


def show(place: str, root: str) -> None:
    """Let *root* have the directory *place* where it is, read-only."""
    os.makedirs(root + place)
    mount(place, root + place, flags=MS_BIND | MS_REC)
    mount(place, root + place, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def run_confined(root: str, suite: str, *options: str) -> tuple[int, str]:
    """Run a suite as nobody, in a root and a network namespace of its own."""
    assert ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0
    make_root(root, null=not options)
    os.chroot(root)
    os.chdir(TOP)
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"HOME": "/home", "TMPDIR": "/tmp"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *options, suite],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


def looks(root: str) -> dict[str, str]:
    """Return what comes of what needs a right, in the same place."""
    assert ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0
    make_root(root, null=False)
    os.chroot(root)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    attempts: dict[str, Callable[[], object]] = {
        "dev": lambda: os.listdir("/dev"),
        "null": lambda: open("/dev/null", "rb").close(),
        "node": lambda: os.mknod("/tmp/node", 0o020600, os.makedev(1, 3)),
        "home": lambda: os.mkdir("/home/x"),
        "checkout": lambda: os.mkdir(TOP / "x"),
    }
    answers: dict[str, str] = {}
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError as error:
            answers[name] = type(error).__name__ if error.errno != 30 else "read-only"
        else:
            answers[name] = "done"
    answers["network"] = Path("/proc/self/net/dev").read_text(encoding="ascii").split()[-17]
    return answers


def test_the_place_is_as_bare_as_it_is_said(tmp_path: Path) -> None:
    """Nobody makes a node, looks into ``/dev``, writes at home or sees a network but its own."""
    assert in_child(lambda: looks(str(tmp_path)), own_mounts=True) == {
        "dev": "PermissionError",
        "null": "PermissionError",
        "node": "PermissionError",
        "home": "PermissionError",
        "checkout": "read-only",
        "network": "lo:",
    }


@pytest.mark.parametrize(
    ("suite", "options"),
    [
        # For its log, and to capture by descriptors, pytest itself would open /dev/null.
        ("tests/unit/testing", ("-p", "no:logging", "--capture=sys")),
        # These start a pytest of their own, which does.
        ("tests/plugin", ()),
    ],
)
def test_the_kit_needs_nothing(tmp_path: Path, suite: str, options: tuple[str, ...]) -> None:
    """Every test of the kit, and of the plugins in the pages, passes there and none is skipped."""
    root = str(tmp_path)
    status, said = in_child(lambda: run_confined(root, suite, *options), own_mounts=True)
    assert status == 0, said
    assert " passed" in said.splitlines()[-1]
    assert "skipped" not in said
