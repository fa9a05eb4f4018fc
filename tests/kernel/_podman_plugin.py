"""A plugin that makes one node and writes the CDI spec of it; it runs in podman's container."""

from __future__ import annotations

import json
import sys
from typing import Any

from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DriverRoot,
    Fallback,
    HostDevFallback,
    Mount,
    MountTable,
    RootFallback,
    SubsetFallback,
    mknod,
)
from devroot.cdi import described, device, device_node, edits, spec, write
from devroot.errors import NotOnHostError

HOST_PROC = "/proc:/host-proc:ro"
"""The volume by which the host's mount table is granted."""

NODE = DeviceNode(path="nvidia-caps/nvidia-cap4323", major=235, minor=4323)


def fallback_of(words: list[Any] | None) -> Fallback:
    """Return the fallback: None, or the name of one with its arguments."""
    if words is None:
        return RootFallback()
    name, *arguments = words
    return HostDevFallback(*arguments) if name == "host" else SubsetFallback(*arguments)


def main(*, mounts: list[str], driver: str, fallback: list[Any] | None, how: str) -> dict[str, Any]:
    """Make the node, write the spec, and say what was refused on the way.

    Args:
        mounts: what this container was started with.
        driver: where the driver root is on the host.
        fallback: as `fallback_of` takes it.
        how: ``naive`` for a host path that nobody has checked, ``node`` for one that is, and
            ``described`` for no node at all.
    """
    table = MountTable(map(Mount.parse, (text.removesuffix(":rslave") for text in mounts)))
    granted = ContainerPath("/host-proc/1/mountinfo") if HOST_PROC in mounts else None
    view = ContainerView.of_process(mounts=table, host_mountinfo=granted)
    driver_root = DriverRoot(host=driver, container="/driver-root", view=view)
    dev_root = driver_root.dev_root(fallback=fallback_of(fallback))
    refused = ""
    try:
        node = device_node(dev_root, NODE)
    except NotOnHostError as error:
        refused = error.reach.verdict.name
        node = described(NODE)
    if how != "described":
        mknod(dev_root, [NODE])
    if how == "naive":
        node = {"path": str(NODE.path), "hostPath": str(NODE.path)}
    document = spec("vendor.com/class", [device("name", edits(device_nodes=[node]))])
    return {"dev_root": str(dev_root), "refused": refused, "file": write(view, document)}


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))  # noqa: T201 - to the host
