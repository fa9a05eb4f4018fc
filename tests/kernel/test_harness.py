"""What the other tests of the real kernel rely on: that containers are real, and leave no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kernel._harness import AgentError, Host, Volume, device_directory

pytestmark = pytest.mark.kernel


def mounts_of_the_machine() -> str:
    """Return the mount table of the process that runs the tests."""
    return Path("/proc/self/mountinfo").read_text(errors="surrogateescape")


def test_the_machine_sees_nothing() -> None:
    """Neither mounts nor files of a host and its containers are seen outside, nor stay."""
    before = mounts_of_the_machine()
    with Host() as host:
        container = host.container(Volume("/dev", "/host-dev/dev"))
        host.call("make_node", path="/dev/devroot-made-by-host", major=1, minor=3)
        container.call("make_node", path="/host-dev/dev/devroot-made-inside", major=1, minor=3)
        container.call("make_directory", path="/devroot-made-inside")
        assert host.describe("/dev/devroot-made-inside") == "c 1:3 0666"
        assert container.describe("/devroot-made-inside").startswith("d")
        assert host.describe("/devroot-made-inside") == ""
        assert mounts_of_the_machine() == before
    assert mounts_of_the_machine() == before
    for path in ("/dev/devroot-made-by-host", "/dev/devroot-made-inside", "/devroot-made-inside"):
        assert not os.path.lexists(path)


def test_a_container_is_what_a_runtime_makes() -> None:
    """Its first process has number 1, an overlay as its root, its own procfs, a tmpfs ``/dev``."""
    with Host() as host:
        lines = host.container().mountinfo().splitlines()
        kinds = {line.split()[4]: line.partition(" - ")[2].split()[0] for line in lines}
        assert kinds == {
            "/": "overlay",
            "/proc": "proc",
            "/dev": "tmpfs",
            "/dev/pts": "devpts",
            "/dev/shm": "tmpfs",
        }


def test_a_failure_is_told() -> None:
    """What goes wrong in a container, or in starting one, is an error that says what."""
    with Host() as host:
        with pytest.raises(AgentError, match=r"FileNotFoundError.*/no/such/path"):
            host.container().call("remove_tree", path="/no/such/path")
        with pytest.raises(AgentError, match="No such file or directory"):
            host.container(Volume("/no/such/path", "/target"))


def test_device_directory_is_removed() -> None:
    """A directory in the machine's ``/dev`` goes away with its user, who may be killed."""
    programme = (
        "import sys, time\n"
        "from tests.kernel._harness import device_directory\n"
        "with device_directory() as name:\n"
        "    print(name, flush=True)\n"
        "    time.sleep(3600)\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", programme], stdout=subprocess.PIPE, env=env, text=True
    ) as user:
        assert user.stdout is not None
        path = f"/dev/{user.stdout.readline().strip()}"
        assert Path(path).is_dir()
        assert path != "/dev/"
        user.send_signal(signal.SIGKILL)
    for _ in range(6000):  # a minute; far more than a slow machine needs
        if not os.path.lexists(path):
            return
        time.sleep(0.01)
    pytest.fail(f"{path} is still there")


def test_device_directory_has_a_name_of_its_own() -> None:
    """Two of them never share a name, and what was made in them goes away too."""
    with device_directory() as first, device_directory() as second:
        assert first != second
        Path(f"/dev/{first}/file").touch()
    assert not os.path.lexists(f"/dev/{first}")
    assert not os.path.lexists(f"/dev/{second}")
