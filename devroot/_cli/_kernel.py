"""The devices of the kernel that a command is about, and which of their nodes `mknod` leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot._cli._arguments import has_filters
from devroot._mknod import Outcome, Result
from devroot._presence import Presence
from devroot._presence import missing as missing_nodes
from devroot.errors import DeviceNotFoundError
from devroot.udev import DeviceCatalog, missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._presence import NodePresence
    from devroot._view import ContainerView


def catalog_of(arguments: argparse.Namespace, view: ContainerView) -> DeviceCatalog:
    """Return the devices that the filters let through, read from the files of sysfs.

    Raises:
        DevRootError: the kernel describes a node that cannot be.
        OSError: a directory or file of the sysfs cannot be looked into.
    """
    return DeviceCatalog.of_sysfs(arguments.sysfs, view=view).select(
        subsystem=arguments.subsystem,
        driver=arguments.driver,
        vendor=arguments.vendor,
        name=arguments.name,
    )


def devices_to_make(arguments: argparse.Namespace, view: ContainerView) -> DeviceCatalog | None:
    """Return the devices whose nodes are to be made; None if nobody asked for any.

    Raises:
        DeviceNotFoundError: the filters let none through.
        DevRootError: as from `catalog_of`; likewise `OSError`.
    """
    if not has_filters(arguments):
        return None
    catalog = catalog_of(arguments, view)
    if not catalog:
        sought = " ".join(("for", *_said(arguments)))
        raise DeviceNotFoundError(sought, unknown=catalog.unknown)
    return catalog


def _said(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the filters as they are written on the command line."""
    for option in ("subsystem", "driver", "name"):
        for pattern in getattr(arguments, option) or ():
            yield f"--{option} {pattern}"
    if arguments.vendor is not None:
        yield f"--vendor {arguments.vendor:#06x}"


def settled(dev_root: DevRoot, catalog: DeviceCatalog) -> dict[DeviceNode, Outcome]:
    """Return what becomes of nodes that are not touched, and why; the others are to be made.

    A node with the right type and number is right: rules of udev give nodes modes and owners that
    are in no record of the kernel. One that is there and that the host does not see, as with a
    mount on its single name, is not right, and nothing that is done to it here would help.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    outcomes: dict[DeviceNode, Outcome] = {}
    for one in missing(dev_root, catalog).found:
        node = one.node
        if one.presence is Presence.OK:
            outcomes[node] = Outcome(node=node, path=node.path, result=Result.UNCHANGED)
        elif _is_there_in_vain(dev_root, one):
            outcomes[node] = Outcome(
                node=node, path=node.path, result=Result.FAILED, reason=one.reason
            )
    return outcomes


def there_in_vain(dev_root: DevRoot, nodes: Iterable[DeviceNode]) -> dict[DeviceNode, Outcome]:
    """Return of which nodes only this container sees what is there; nothing done here would help.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    return {
        one.node: Outcome(
            node=one.node, path=one.node.path, result=Result.FAILED, reason=one.reason
        )
        for one in missing_nodes(dev_root, nodes).found
        if _is_there_in_vain(dev_root, one)
    }


def _is_there_in_vain(dev_root: DevRoot, one: NodePresence) -> bool:
    """Whether the dev root has the node, at a place whose reach is not accepted."""
    return (
        one.presence in {Presence.PRIVATE, Presence.UNKNOWN}
        and one.reach is not None
        and one.reach.container_path == dev_root.container_path(one.node.path)
    )
