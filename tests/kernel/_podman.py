"""Podman on a test's host: a plugin in one container writes a CDI spec, a workload gets the device.

The functions run in the namespace of that host, or of a container that stands for a kind node.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import devroot

HERE = Path(__file__).parent
BASE = "/run/podman-test"
SPECS = "/run/cdi"
DRIVER = f"{BASE}/kubernetes/bin/nvidia"
SUBSET = "/dev/nvidia-caps"
DEVICE = f"{SUBSET}/nvidia-cap4323"
LIMIT = 600  # seconds for one container, on whatever machine

CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
log_driver = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
"""


def set_up() -> None:
    """Make what podman and the plugin need in the scratch space."""
    # crun 1.8 refuses version 1 of cgroups with a tree of version 2 beside it.
    if os.path.ismount("/sys/fs/cgroup/unified"):
        subprocess.run(["umount", "/sys/fs/cgroup/unified"], check=True)
    for directory in (SPECS, DRIVER, f"{BASE}/tmp"):
        os.makedirs(directory, exist_ok=True)
    with open(f"{BASE}/containers.conf", "w", encoding="utf-8") as file:
        file.write(CONFIGURATION)


def podman(*arguments: str) -> tuple[int, str]:
    """Run a container whose root is an overlay of this host's; return its status and output."""
    command = ["podman", "--root", f"{BASE}/root", "--runroot", f"{BASE}/runroot"]
    command += ["--runtime", "crun", "run", "--rm", "--network", "none", "--cgroups=disabled"]
    environment = {
        **os.environ,
        "CONTAINERS_CONF": f"{BASE}/containers.conf",
        "TMPDIR": f"{BASE}/tmp",
        "LC_ALL": "C",
    }
    # The agent ignores the end of its children, and then nobody learns their status.
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    finally:
        signal.signal(signal.SIGCHLD, before)
    return done.returncode, done.stdout


def python(options: list[str], *words: str) -> tuple[int, str]:
    """Run this Python in a container; it can come from other file systems than ``/``."""
    source = str(Path(devroot.__file__).parent.parent)
    needed = sorted({sys.prefix, sys.base_prefix, source, str(HERE)})
    outside = [path for path in needed if os.stat(path).st_dev != os.stat("/").st_dev]
    volumes = [word for path in outside for word in ("-v", f"{path}:{path}:ro")]
    environment = ["--env", f"PYTHONPATH={source}", "--env", "PYTHONDONTWRITEBYTECODE=1"]
    return podman(*options, *volumes, *environment, "--rootfs", "/:O", sys.executable, *words)


def observe(
    *, volumes: list[str], options: list[str], fallback: list[Any] | None, how: str
) -> dict[str, Any]:
    """Run a plugin and then a workload that asks for its device.

    Args:
        volumes: of the plugin besides the driver's and that for specs, as ``-v`` takes them.
        options: more options of podman for the plugin.
        fallback: for the plugin, see there.
        how: what it writes, see there.

    Returns:
        ``plugin``: what it said; ``host``: what is at the device's path on the host; ``spec``: its
        text; ``workload``: what that printed or why it did not start.
    """
    subprocess.run(["rm", "-rf", "--", SUBSET, *Path(SPECS).iterdir()], check=True)
    os.makedirs(SUBSET)
    mounted = [f"{DRIVER}:/driver-root:ro", f"{SPECS}:/var/run/cdi", *volumes]
    words = [word for volume in mounted for word in ("-v", volume)]
    request = json.dumps({"mounts": mounted, "driver": DRIVER, "fallback": fallback, "how": how})
    plugin = str(HERE / "_podman_plugin.py")
    status, output = python(["--cap-add", "MKNOD", *words, *options], plugin, request)
    if status:
        message = f"the plugin has failed: {output}"
        raise RuntimeError(message)
    (spec,) = Path(SPECS).glob("*.json")
    found = {
        "plugin": json.loads(output.splitlines()[-1]),
        "host": _described(DEVICE),
        "mode": stat.S_IMODE(spec.stat().st_mode),
        "spec": json.loads(spec.read_text("utf-8")),
        "workload": podman(
            *("--device", "vendor.com/class=name", "--rootfs", "/:O"),
            *("stat", "-c", "%F %t:%T %a %u:%g", DEVICE),
        )[1].strip(),
    }
    subprocess.run(["rm", "-rf", "--", SUBSET], check=True)
    return found


def given(*, spec: dict[str, Any], command: list[str]) -> tuple[int, str]:
    """Run a workload that asks for the first device of a spec that was written by other means."""
    subprocess.run(["rm", "-rf", "--", *Path(SPECS).iterdir()], check=True)
    Path(SPECS, "given.json").write_text(json.dumps(spec), "utf-8")
    return workload(device=f"{spec['kind']}={spec['devices'][0]['name']}", command=command)


def workload(*, device: str, command: list[str]) -> tuple[int, str]:
    """Run a workload that asks for a device of the specs that are there."""
    return podman("--device", device, "--rootfs", "/:O", *command)


def _described(path: str) -> str:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ""
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return f"{number} {stat.S_IMODE(status.st_mode):04o}"


def in_node(*, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the cases inside a privileged container with its own ``/dev``, such as a kind node is."""
    status, output = python(["--privileged"], str(HERE / "_podman.py"), json.dumps(cases))
    if status:
        message = f"the node has failed: {output}"
        raise RuntimeError(message)
    found: list[dict[str, Any]] = json.loads(output.splitlines()[-1])
    return found


def _main() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    set_up()
    cases: list[dict[str, Any]] = json.loads(sys.argv[1])
    print(json.dumps([observe(**case) for case in cases]))  # noqa: T201 - to the host


if __name__ == "__main__":
    _main()
