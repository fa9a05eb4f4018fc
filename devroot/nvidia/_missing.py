"""Which of the nodes that are needed are there: on the host, and not just in this container."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot._evidence import Verdict
from devroot._paths import ContainerPath, DevicePath
from devroot._reach import examine
from devroot.errors import NodesMissingError, OutsideSubsetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from devroot._device import DeviceNode
    from devroot._evidence import Reach
    from devroot._filesystem import Directory, FileStatus
    from devroot._roots import DevRoot

_ROOT: Final = ContainerPath("/")
_OWN_DEV: Final = ContainerPath("/dev")


@final
class Presence(enum.Enum):
    """Whether a node is there, as far as the host is concerned.

    .. versionadded:: 0.1.0
    """

    OK = "ok"
    """Type and number are right, and the reach of its place is accepted."""

    MISSING = "missing"
    """Nothing has its name in the dev root."""

    WRONG = "wrong"
    """Something else has its name: no device, one of another type or number, or a link."""

    PRIVATE = "private"
    """It is there in this container, where the host does not see it."""

    UNKNOWN = "unknown"
    """It cannot be told: a subset does not show it, or nothing proves that the host sees it."""


@final
@attrs.frozen(kw_only=True)
class NodePresence:
    """What was found of one node.

    Attributes:
        node: the node that is needed.
        presence: the answer.
        reason: why, unless it is there.
        reach: the reach of the place where it was found, if that was asked for.

    .. versionadded:: 0.1.0
    """

    node: DeviceNode
    presence: Presence
    reason: str = ""
    reach: Reach | None = None

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"{self.node.path} is {self.presence.value}{why}"


@final
@attrs.frozen(kw_only=True)
class NodeSet:
    """What was found of a set of nodes, in the order in which they were given.

    Attributes:
        found: one answer for each node.

    .. versionadded:: 0.1.0
    """

    found: tuple[NodePresence, ...]

    @property
    def complete(self) -> bool:
        """Whether every node is there for the host."""
        return all(one.presence is Presence.OK for one in self.found)

    @property
    def ok(self) -> tuple[DeviceNode, ...]:
        """The nodes that are there."""
        return self.having(Presence.OK)

    @property
    def missing(self) -> tuple[DeviceNode, ...]:
        """The nodes whose name is free, to be made."""
        return self.having(Presence.MISSING)

    @property
    def wrong(self) -> tuple[DeviceNode, ...]:
        """The nodes whose name something else has."""
        return self.having(Presence.WRONG)

    @property
    def private(self) -> tuple[DeviceNode, ...]:
        """The nodes that only this container sees."""
        return self.having(Presence.PRIVATE)

    @property
    def unknown(self) -> tuple[DeviceNode, ...]:
        """The nodes of which nothing is known."""
        return self.having(Presence.UNKNOWN)

    def having(self, presence: Presence) -> tuple[DeviceNode, ...]:
        """Return the nodes with this answer."""
        return tuple(one.node for one in self.found if one.presence is presence)

    def require_complete(self) -> None:
        """Do nothing if every node is there for the host.

        Raises:
            NodesMissingError: one is not; it says of each why.
        """
        absent = tuple(one for one in self.found if one.presence is not Presence.OK)
        if absent:
            raise NodesMissingError(absent)


def missing(dev_root: DevRoot, nodes: Iterable[DeviceNode]) -> NodeSet:
    """Say which of *nodes* are there, as far as the host is concerned; nothing is changed.

    Only type and number are compared: another mode or owner is a local policy and no defect.
    A link at the name or on the way is not followed. A node that is not in the dev root is
    looked for in the container's own ``/dev`` as well, where many libraries make it.

    Args:
        dev_root: where the nodes should be.
        nodes: such as from `required_nodes`.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way to ``/`` or to the dev root cannot be looked into.

    .. versionadded:: 0.1.0
    """
    wanted = tuple(nodes)
    found = _look(wanted, dev_root.open_dev)
    absent = tuple(node for node in wanted if found[node.path] is None)
    files, own = dev_root.view.filesystem, {}
    if absent and dev_root.container != _ROOT:
        own = _look(absent, lambda: files.open_directory(_ROOT, str(_OWN_DEV)))
    return NodeSet(
        found=tuple(_judge(dev_root, node, found[node.path], own.get(node.path)) for node in wanted)
    )


def _look(
    nodes: Iterable[DeviceNode], open_dev: Callable[[], Directory]
) -> dict[DevicePath, FileStatus | OSError | None]:
    """Return what is at each path; None for nothing. Each directory is opened once."""
    groups: dict[str, list[DevicePath]] = {}
    for node in nodes:
        directory, _, _ = node.path.below_dev.rpartition("/")
        groups.setdefault(directory, []).append(node.path)
    found: dict[DevicePath, FileStatus | OSError | None] = {}
    for directory, paths in groups.items():
        try:
            with _descend(open_dev(), directory) as opened:
                for path in paths:
                    found[path] = _status(opened, path)
        except FileNotFoundError:
            found.update(dict.fromkeys(paths))
        except OSError as error:
            found.update(dict.fromkeys(paths, error))
    return found


def _descend(directory: Directory, below: str) -> Directory:
    """Return the directory *below*, closing those on the way."""
    for name in below.split("/") if below else ():
        with directory as parent:
            directory = parent.open_directory(name)
    return directory


def _status(directory: Directory, path: DevicePath) -> FileStatus | OSError | None:
    try:
        return directory.lstat(path.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error


def _judge(
    dev_root: DevRoot,
    node: DeviceNode,
    there: FileStatus | OSError | None,
    own: FileStatus | OSError | None,
) -> NodePresence:
    try:
        place = dev_root.container_path(node.path)
    except OutsideSubsetError as error:
        return NodePresence(node=node, presence=Presence.UNKNOWN, reason=str(error))
    if there is None:
        return _elsewhere(dev_root, node, own)
    if isinstance(there, OSError):
        wrong = isinstance(there, NotADirectoryError)
        return NodePresence(
            node=node,
            presence=Presence.WRONG if wrong else Presence.UNKNOWN,
            reason=f"{place} cannot be looked at: {there}",
        )
    difference = _difference(node, there)
    if difference:
        reason = f"{place} is {difference}"
        return NodePresence(node=node, presence=Presence.WRONG, reason=reason)
    return _reaching(dev_root, node)


def _reaching(dev_root: DevRoot, node: DeviceNode) -> NodePresence:
    """Say of a node that is in the dev root whether the host sees it."""
    reach = dev_root.reach(node.path)
    if reach.verdict in dev_root.accept:
        return NodePresence(node=node, presence=Presence.OK, reach=reach)
    last = reach.evidence[-1].text
    return NodePresence(
        node=node,
        presence=Presence.PRIVATE if reach.verdict is Verdict.PRIVATE else Presence.UNKNOWN,
        reason=f"{reach.container_path} exists, but its reach is {reach.verdict.name}: {last}",
        reach=reach,
    )


def _elsewhere(
    dev_root: DevRoot, node: DeviceNode, own: FileStatus | OSError | None
) -> NodePresence:
    """Say that a node is not in the dev root, and whether it is in the container's own ``/dev``."""
    reason = f"{dev_root.container_path(node.path)} does not exist"
    if own is None or isinstance(own, OSError) or _difference(node, own):
        return NodePresence(node=node, presence=Presence.MISSING, reason=reason)
    place = _OWN_DEV / node.path.below_dev
    reach = examine(dev_root.view, place)
    private = reach.verdict is Verdict.PRIVATE
    return NodePresence(
        node=node,
        presence=Presence.PRIVATE if private else Presence.MISSING,
        reason=f"{reason}; {place} in this container does, whose reach is {reach.verdict.name}",
        reach=reach,
    )


def _difference(node: DeviceNode, there: FileStatus) -> str:
    """Return what is there instead of the node; empty if it is the node."""
    if there.type is not node.file_type:
        return f"a {there.type.value}, not a {node.file_type.value}"
    if (there.major, there.minor) != node.number:
        return f"device {there.major}:{there.minor}, not {node.major}:{node.minor}"
    return ""
