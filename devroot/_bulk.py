"""Many device nodes at once: the quick way for the common case, in which nothing is in the way.

Both functions answer for each node whether all is well, and never why not. Whoever gets a no
takes the way that looks closely, and that one says what is wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devroot._device import DeviceNode
    from devroot._filesystem import Directory, FileStatus

    Member = tuple[int, str, DeviceNode]
    """The place of a node among all, its name in its directory, and the node."""

_NODE: Final = "node"


class BulkDirectory(Protocol):
    """What a `Directory` has beside its own operations if it has a quick way; it need not."""

    def right_nodes(self, nodes: Sequence[Member], /) -> list[bool]:
        """Say of each name whether exactly that node is there; False also in doubt."""
        ...

    def publish_nodes(self, nodes: Sequence[Member], to: Directory, /) -> list[int]:
        """Make each node complete in this directory, and then link it to its name in *to*.

        Nobody else may look into this directory. What could not be linked is not left in it.

        Returns:
            The positions of the nodes for which that did not work, in order.
        """
        ...


def right_nodes(directory: Directory, nodes: Sequence[Member]) -> list[bool]:
    """Say of each name in *directory* whether exactly that node is there; False also in doubt."""
    quick = _quick_way(directory)
    if quick is not None:
        return quick.right_nodes(nodes)
    return [_is_right(directory, name, node) for _, name, node in nodes]


def publish_nodes(work: Directory, nodes: Sequence[Member], to: Directory) -> list[int]:
    """Make each node complete in *work*, where nobody else looks, and link it to its name in *to*.

    Returns:
        The positions of the nodes for which that did not work, in order.
    """
    quick = _quick_way(work)
    if quick is not None:
        return quick.publish_nodes(nodes, to)
    return [
        position
        for position, (_, name, node) in enumerate(nodes)
        if not _is_published(work, name, node, to)
    ]


def _quick_way(directory: Any) -> BulkDirectory | None:  # noqa: ANN401 - whatever it has more
    """Return the directory if it has a quick way; runtime_checkable would take its time."""
    return directory if hasattr(directory, "publish_nodes") else None


def make_node(directory: Directory, name: str, node: DeviceNode) -> None:
    """Make *name* the complete node.

    Raises:
        OSError: as from `Directory.make_node`.
    """
    directory.make_node(
        name,
        type=node.file_type,
        major=node.major,
        minor=node.minor,
        mode=node.mode,
        uid=node.uid,
        gid=node.gid,
    )


def differences(found: FileStatus, node: DeviceNode) -> tuple[str, ...]:
    """Return in what *found* is not the node: ``type`` alone, or number, mode and owner."""
    if found.type is not node.file_type:
        return ("type",)
    different: list[str] = []
    if found.major != node.major or found.minor != node.minor:
        different.append("number")
    if found.mode != node.mode:
        different.append("mode")
    if found.uid != node.uid or found.gid != node.gid:
        different.append("owner")
    return tuple(different)


def _is_right(directory: Directory, name: str, node: DeviceNode) -> bool:
    try:
        return not differences(directory.lstat(name), node)
    except OSError:
        return False


def _is_published(work: Directory, name: str, node: DeviceNode, to: Directory) -> bool:
    try:
        make_node(work, _NODE, node)
        work.link(_NODE, to, name)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            work.unlink(_NODE)
    return True
