"""Which nodes a dev root has: those of the NVIDIA driver, and those that the kernel lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot._cli._explanation import Inventory
from devroot._presence import missing
from devroot.errors import DevRootError
from devroot.nvidia import NvidiaDriver, required_nodes
from devroot.udev import DeviceCatalog

if TYPE_CHECKING:
    from devroot._cli._explanation import Explanation
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._view import ContainerView


def take_stock(explanation: Explanation) -> tuple[Inventory, ...]:
    """Return which nodes the dev root of an explanation has, as far as that can be told.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    return tuple(
        _inventory(explanation.dev_root, name, title, *needed(explanation.view))
        for name, title, needed in (
            ("nvidia", "Nodes that CUDA needs of the NVIDIA driver", _nodes_of_nvidia),
            ("kernel", "Nodes of devices that the kernel lists in /sys", _nodes_of_kernel),
        )
    )


def _inventory(
    dev_root: DevRoot | None,
    name: str,
    title: str,
    nodes: tuple[DeviceNode, ...] | None,
    unknown: tuple[str, ...],
) -> Inventory:
    if dev_root is None:
        reason = "there is no dev root to look into"
        return Inventory(name=name, title=title, found=None, unknown=(reason,))
    found = None if nodes is None else missing(dev_root, nodes)
    return Inventory(name=name, title=title, found=found, unknown=unknown)


def _nodes_of_nvidia(view: ContainerView) -> tuple[tuple[DeviceNode, ...] | None, tuple[str, ...]]:
    try:
        return required_nodes(NvidiaDriver.read(view)), ()
    except DevRootError as error:
        return None, (str(error),)


def _nodes_of_kernel(view: ContainerView) -> tuple[tuple[DeviceNode, ...] | None, tuple[str, ...]]:
    try:
        catalog = DeviceCatalog.of_sysfs(view=view)
    except (DevRootError, OSError) as error:
        return None, (str(error),)
    # Every kernel has devices, so an empty list says that they are not shown.
    unknown = catalog.unknown or (() if catalog else ("no device is listed there",))
    return (catalog.nodes if catalog else None), unknown
