"""The usual start of a plugin, between marks; and what traces it inside a container.

As a script it is the plugin. A mark is a look at a path that nobody has, so that it stands out in
a trace of the system calls.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Final, Literal, cast

MARK: Final = "/devroot-mark-"
LOG: Final = "/calls"


def trace(*, fallback: bool, resolver: str) -> str:
    """Return the system calls of the start, as strace(1) tells them, with paths of descriptors."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # strace and its child inherit what is ignored
    script = [sys.executable, __file__, "fallback" if fallback else "own", resolver]
    subprocess.run(["strace", "-qq", "-y", "-s", "200", "-o", LOG, *script], check=True)
    with open(LOG, encoding="utf-8", errors="replace") as log:
        return log.read()


def mark(name: str) -> None:
    """Leave a mark in the trace."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(f"{MARK}{name}")


def start(fallback: str, resolver: str) -> None:
    """Take a view, find the dev root, plan two nodes; all that is needed is loaded before."""
    from devroot import (  # noqa: PLC0415 - the agent does not need it
        ContainerPath,
        ContainerView,
        DeviceNode,
        DriverRoot,
        FirstOf,
        HostDevFallback,
        LocalFileSystem,
        SubsetFallback,
        plan,
    )

    names = ["nvidia-caps", "nvidia-caps-imex-channels"]
    nodes = [
        DeviceNode(path="nvidia-caps/nvidia-cap4323", major=235, minor=4323),
        DeviceNode(path="nvidia-caps-imex-channels/channel0", major=234, minor=0),
    ]
    files = LocalFileSystem(resolver=cast("Literal['openat2', 'walk']", resolver))
    files.status(ContainerPath("/"), "/")

    mark("view")
    view = ContainerView.of_process(filesystem=files)
    mark("dev-root")
    driver_root = DriverRoot(host="/run/nvidia/driver", container="/driver-root", view=view)
    dev_root = driver_root.dev_root(
        fallback=FirstOf(HostDevFallback("/"), SubsetFallback("/host-dev", names))
    )
    mark("plan")
    planned = plan(dev_root, nodes)
    mark("end")

    place = "/host-dev" if fallback == "fallback" else "/driver-root"
    assert dev_root.container == ContainerPath(place)
    assert [step.action.value for step in planned.steps] == ["create", "create"]


if __name__ == "__main__":
    start(*sys.argv[1:])
