"""The NVIDIA files on a real kernel: what is mounted over procfs is seen as a mask."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests._children import environment

pytestmark = pytest.mark.kernel

PROGRAMME = """
import json, os, stat, subprocess, sys
from devroot import ContainerView, DevRoot, DeviceNode, Majors
from devroot.errors import ProcMaskedError, ProcUnavailableError
from devroot.nvidia import Parameters, missing
from devroot.nvidia._proc import is_kernel_file, mask

def mount(*words):
    subprocess.run(["mount", *words], check=True)

said = {}
view = ContainerView.of_process()
said["mem"] = Majors.read(view).character("mem")
said["devices"] = [is_kernel_file(view, "devices"), mask(view, "devices")]
try:
    Parameters.read(view)
except ProcUnavailableError as error:
    said["absent"] = error.errno
except ProcMaskedError as error:
    said["absent"] = str(error)

mount("-t", "tmpfs", "none", "/proc/driver")
view = ContainerView.of_process()
try:
    Parameters.read(view)
except ProcMaskedError as error:
    said["hidden"] = error.reason
os.makedirs("/proc/driver/nvidia")
with open("/proc/driver/nvidia/params", "w") as file:
    file.write("ModifyDeviceFiles: 1\\n")
parameters = Parameters.read(view)
said["copy"] = [parameters.is_kernel_file, parameters.modify_device_files, parameters.withheld]

mount("--bind", "/proc/driver/nvidia/params", "/proc/devices")
view = ContainerView.of_process()
said["replaced"] = [is_kernel_file(view, "devices"), mask(view, "devices")]

place = sys.argv[1]
mount("-t", "tmpfs", "none", place)
os.makedirs(place + "/dev/some")
os.mknod(place + "/dev/some/right", stat.S_IFCHR | 0o600, os.makedev(1, 3))
os.mknod(place + "/dev/some/wrong", stat.S_IFCHR | 0o600, os.makedev(1, 5))
nodes = [DeviceNode(path="some/" + name, major=1, minor=3) for name in ("right", "wrong", "none")]
found = missing(DevRoot(container=place, view=ContainerView.of_host()), nodes)
said["nodes"] = [one.presence.value for one in found.found]
said["host path"] = str(found.found[0].reach.host_path)
print(json.dumps(said))
"""


def test_mounts_over_proc_are_masks(tmp_path: Path) -> None:
    """A tmpfs over a directory of procfs, and a file over one of its files, are told from it."""
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("an NVIDIA driver is loaded here")
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", PROGRAMME, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    path = "/proc/driver/nvidia/params"
    masked = "a tmpfs is mounted over /proc/driver"
    assert said == {
        "mem": 1,
        "devices": [True, ""],
        "absent": errno.ENOENT,
        "hidden": masked,
        "copy": [
            False,
            True,
            f"whether the driver allows it cannot be known: {masked}, so {path} is not its own",
        ],
        "replaced": [False, "a tmpfs is mounted over /proc/devices"],
        "nodes": ["ok", "wrong", "missing"],
        "host path": f"{tmp_path}/dev/some/right",
    }
    assert list(tmp_path.iterdir()) == []
