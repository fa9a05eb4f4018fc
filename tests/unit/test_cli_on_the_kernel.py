"""``python -m devroot`` as a process of its own, on a real kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import devroot
from tests._children import environment

pytestmark = pytest.mark.kernel

# A procfs that looks as if a driver were loaded, a dev root on a tmpfs, and the command.
SCRIPT = """
place=$1; shift
mount -t tmpfs none /proc/driver
mkdir -p /proc/driver/nvidia/capabilities/mig
echo 'ImexChannelCount: 2048' > /proc/driver/nvidia/params
printf 'DeviceFileMinor: 1\\nDeviceFileMode: 256\\n' > /proc/driver/nvidia/capabilities/mig/config
printf '%s\\n' 'Character devices:' '195 nvidia' '235 nvidia-caps' \
    '236 nvidia-caps-imex-channels' '' 'Block devices:' > /proc/driver/devices
mount --bind /proc/driver/devices /proc/devices
mount -t tmpfs none "$place"
mkdir "$place/dev"
"$@" || exit
"$@"
stat -c '%n %t:%T %a' "$place"/dev/nvidia-caps/* "$place"/dev/nvidia-caps-imex-channels/channel2047
"""


def test_nodes_are_made(tmp_path: Path) -> None:
    """The command makes a capability and every channel of a driver, and a second run finds them."""
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("an NVIDIA driver is loaded here")
    what = ("--capability", "mig/config", "--imex-channels", "all", "--touch-withheld")
    where = (f"--driver-root={tmp_path}:{tmp_path}", "--host-mountinfo=/proc/self/mountinfo")
    command = [sys.executable, "-m", "devroot", "mknod", *where, *what]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", SCRIPT, "sh", str(tmp_path), *command],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second, *found = done.stdout.rpartition("Dev root")[0], *done.stdout.splitlines()[-3:]
    assert first.endswith("\n2049 created\n")
    assert second == "2049 unchanged"
    assert found == [
        f"{tmp_path}/dev/nvidia-caps/nvidia-cap1 eb:1 400",
        f"{tmp_path}/dev/nvidia-caps-imex-channels/channel2047 ec:7ff 666",
    ]
    assert list(tmp_path.iterdir()) == []


def test_devices_of_this_kernel_are_looked_for() -> None:
    """``explain --nodes`` counts what the machine's own sysfs lists."""
    env = {**os.environ, "PYTHONPATH": str(Path(devroot.__file__).parent.parent)}
    command = [sys.executable, "-m", "devroot", "explain", "--driver-root", "/:/", "--nodes"]
    command += ["--host-mountinfo", "/proc/self/mountinfo"]
    done = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, env=env, check=False
    )
    assert done.stderr == ""
    kernel = json.loads(done.stdout)["nodes"]["kernel"]
    assert kernel["total"] > len(kernel["absent"]) or kernel["unknown"]


# A dev root on a tmpfs that has one node with another number and one with another mode.
DEVICES = """
place=$1; shift
mount -t tmpfs none "$place"
mkdir "$place/dev"
mknod "$place/dev/null" c 1 9
mknod -m 0640 "$place/dev/zero" c 1 5
"$@" || exit
"$@"
stat -c '%n %t:%T %a' "$place"/dev/null "$place"/dev/zero "$place"/dev/full
"""


def test_nodes_of_the_kernels_own_devices_are_made(tmp_path: Path) -> None:
    """What sysfs lists is made where it is missing or has another number, and modes stay."""
    if not Path("/sys/dev/char").exists():
        pytest.skip("no sysfs is mounted at /sys")
    where = (f"--driver-root={tmp_path}:{tmp_path}", "--host-mountinfo=/proc/self/mountinfo")
    command = [sys.executable, "-m", "devroot", "mknod", *where, "--subsystem=mem"]
    command += ["--name=null", "--name=zero", "--name=full"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", DEVICES, "sh", str(tmp_path), *command],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n1 created, 1 repaired, 1 unchanged\n" in done.stdout
    assert "\n3 unchanged\n" in done.stdout
    assert done.stdout.splitlines()[-3:] == [
        f"{tmp_path}/dev/null 1:3 666",
        f"{tmp_path}/dev/zero 1:5 640",
        f"{tmp_path}/dev/full 1:7 666",
    ]
