"""A Python without the global interpreter lock: devroot leaves it so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import attrs
import pytest

import devroot

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
VERSIONS = ("3.13t", "3.14t", "3.15t")

# Python switches the lock on for good when a module is loaded that does not say it can do without.
PROGRAMME = """
import importlib, json, pkgutil, sys
import devroot
modules = [module.name for module in pkgutil.walk_packages(devroot.__path__, "devroot.")]
for module in modules:
    if not module.endswith("__main__"):
        importlib.import_module(module)
for name in devroot.__all__:
    getattr(devroot, name)
from devroot.testing import scenario
from devroot.nvidia import NvidiaDriver
from devroot.udev import DeviceCatalog
scene = scenario("gke")
fallback = devroot.SubsetFallback("/host-dev", ["nvidia-caps", "nvidia-caps-imex-channels"])
dev_root = scene.driver_root.dev_root(fallback=fallback)
made = devroot.mknod(dev_root, NvidiaDriver.read(dev_root.view).imex_channels(range(3))).created
devroot.ContainerView.of_process()
try:
    DeviceCatalog.of_host()
except devroot.UdevUnavailableError:
    pass
print(json.dumps([len(modules) > 100, len(made), sys._is_gil_enabled()]))
"""


def interpreter() -> str | None:
    """Return a Python that can do without the lock: this one, one on the path, or pyenv's."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return sys.executable
    for version in VERSIONS:
        found = shutil.which(f"python{version}")
        if found is not None and "/shims/" not in found:
            return found
        for path in sorted(PYENV.glob(f"versions/{version[:-1]}*t/bin/python")):
            return str(path)
    return None


def test_no_module_enables_the_lock() -> None:
    """Every module can be imported, and used, while threads really run at the same time."""
    python = interpreter()
    if python is None:
        pytest.skip("there is no free-threaded Python here, such as python3.13t")
    # What devroot needs is plain Python, and serves any version.
    places = [Path(devroot.__file__).parent.parent, Path(attrs.__file__).parent.parent]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, places))
    done = subprocess.run(
        [python, "-W", "error", "-c", PROGRAMME],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [True, 3, False]
