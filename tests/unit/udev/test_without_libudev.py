"""An image without libudev: one clear error where it is needed, and nothing else is touched."""

from __future__ import annotations

import json
import subprocess
import sys

from tests._children import environment

# The loader finds no libudev, as in an image that has none; all the rest is as it is.
PROGRAMME = """
import ctypes.util, importlib, json, pkgutil, sys

find = ctypes.util.find_library
ctypes.util.find_library = lambda name: None if name == "udev" else find(name)

import devroot
for module in pkgutil.walk_packages(devroot.__path__, "devroot."):
    if not module.name.endswith(("__main__", "pytest_plugin")):
        importlib.import_module(module.name)
said = {"loaded by importing": "pyudev" in sys.modules}

from devroot.udev import DeviceCatalog, missing, watch
for name, call in {
    "of_host": DeviceCatalog.of_host,
    "watch": lambda: watch(None),
}.items():
    try:
        call()
    except devroot.UdevUnavailableError as error:
        said[name] = [isinstance(error, ImportError), str(error)]

from devroot.testing import FakeHost, FakeUdev, scenario
from devroot.nvidia import NvidiaDriver
scene = scenario("gke")
fallback = devroot.SubsetFallback("/host-dev", ["nvidia-caps", "nvidia-caps-imex-channels"])
dev_root = scene.driver_root.dev_root(fallback=fallback)
driver = NvidiaDriver.read(dev_root.view)
said["made"] = len(devroot.mknod(dev_root, driver.imex_channels(range(3))).created)

host = FakeHost()
host.devtmpfs("/dev")
udev = FakeUdev(host)
udev.plug("kfd", major=511, minor=0, subsystem="kfd")
pod = host.container(mounts=["/dev:/host-dev/dev"])
catalog = DeviceCatalog.of_sysfs(view=pod.view)
said["files"] = list(map(str, catalog.nodes))
dev_root = devroot.DriverRoot(host="/", container="/", view=pod.view).dev_root(
    fallback=devroot.HostDevFallback("/host-dev")
)
said["complete"] = missing(dev_root, catalog).complete
with watch(dev_root, DeviceCatalog.of_host(udev)) as events:
    udev.unplug("kfd")
    said["fake"] = [str(event) for event in events]

try:
    watch(dev_root, catalog)
except devroot.UdevUnavailableError:
    said["watch of files"] = "needs it"
from devroot.__main__ import main
said["explain"] = main(["explain", "--scenario", "gke", "--json"])
print("\\0" + json.dumps(said))
"""


def test_everything_else_works() -> None:
    """Only the catalog of udev and its news need the library; the error names the package."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAMME],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.rpartition("\0")[2])
    for name in ("of_host", "watch"):
        is_import_error, text = said.pop(name)
        assert is_import_error
        assert "No library named udev" in text
        assert "install the package libudev1" in text
    assert said == {
        "loaded by importing": False,
        "made": 3,
        "files": ["/dev/kfd c 511:0 0600 0:0"],
        "complete": True,
        "fake": ["removed /dev/kfd c 511:0 0600 0:0"],
        "watch of files": "needs it",
        "explain": 0,
    }
