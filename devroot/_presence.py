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

    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._evidence import Reach
    from devroot._filesystem import Directory, FileStatus

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
        reach: the reach of the place where it was found, if that was asked for. Nodes in one
            directory have its evidence where nothing sets them apart.

    .. versionadded:: 0.1.0
    """

    node: DeviceNode
    presence: Presence
    reason: str = ""
    reach: Reach | None = None

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        absent = self.presence is not Presence.OK and self.node.withheld
        left = f"; mknod leaves it alone: {self.node.withheld}" if absent else ""
        return f"{self.node.path} is {self.presence.value}{why}{left}"


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
        nodes: such as from `devroot.nvidia.required_nodes`.

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
    judge = _Judge(dev_root)
    return NodeSet(
        found=tuple(judge.judge(node, found[node.path], own.get(node.path)) for node in wanted)
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


class _Judge:
    """Says of what was found at each path what it means, with the reach of each directory once."""

    def __init__(self, dev_root: DevRoot) -> None:
        self._dev_root = dev_root
        self._shared: dict[str, tuple[Reach, ContainerPath] | None] = {}

    def judge(
        self,
        node: DeviceNode,
        there: FileStatus | OSError | None,
        own: FileStatus | OSError | None,
    ) -> NodePresence:
        """Return the answer for one node.

        Args:
            node: the node.
            there: what is at its path in the dev root.
            own: what is at its path in the container's own ``/dev``, if that is another one.
        """
        try:
            place = self._dev_root.container_path(node.path)
        except OutsideSubsetError as error:
            return NodePresence(node=node, presence=Presence.UNKNOWN, reason=str(error))
        if there is None:
            return self._elsewhere(node, own)
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
        return self._reaching(node)

    def _reaching(self, node: DeviceNode) -> NodePresence:
        """Say of a node that is in the dev root whether the host sees it."""
        reach = self._reach_of(node.path)
        if reach.verdict in self._dev_root.accept:
            return NodePresence(node=node, presence=Presence.OK, reach=reach)
        last = reach.evidence[-1].text
        return NodePresence(
            node=node,
            presence=Presence.PRIVATE if reach.verdict is Verdict.PRIVATE else Presence.UNKNOWN,
            reason=f"{reach.container_path} exists, but its reach is {reach.verdict.name}: {last}",
            reach=reach,
        )

    def _elsewhere(self, node: DeviceNode, own: FileStatus | OSError | None) -> NodePresence:
        """Say that a node is not in the dev root, and whether the container's ``/dev`` has it."""
        reason = f"{self._dev_root.container_path(node.path)} does not exist"
        if own is None or isinstance(own, OSError) or _difference(node, own):
            return NodePresence(node=node, presence=Presence.MISSING, reason=reason)
        place = _OWN_DEV / node.path.below_dev
        reach = examine(self._dev_root.view, place)
        private = reach.verdict is Verdict.PRIVATE
        return NodePresence(
            node=node,
            presence=Presence.PRIVATE if private else Presence.MISSING,
            reason=f"{reason}; {place} in this container does, whose reach is {reach.verdict.name}",
            reach=reach,
        )

    def _reach_of(self, path: DevicePath) -> Reach:
        """Return the reach of a node, from that of its directory where that is the same."""
        directory = path.below_dev.rpartition("/")[0]
        if directory not in self._shared:
            self._shared[directory] = self._reach_of_directory(path)
        shared = self._shared[directory]
        if shared is None or self._stands_apart(path, *shared):
            return self._dev_root.reach(path)
        reach, _ = shared
        host_paths = tuple(host_path / path.name for host_path in reach.host_paths)
        return attrs.evolve(
            reach,
            container_path=self._dev_root.container_path(path),
            host_path=host_paths[0] if host_paths else None,
            host_paths=host_paths,
        )

    def _reach_of_directory(self, path: DevicePath) -> tuple[Reach, ContainerPath] | None:
        """Return the reach and the place of a node's directory; None if it says nothing of it.

        A verdict that is not accepted is looked at for each node: a single file can be better.
        """
        dev_root = self._dev_root
        parent = next(iter(path.parents), None)
        if dev_root.names is not None and (parent is None or not dev_root.contains(parent)):
            return None
        reach = dev_root.reach(parent)
        if reach.verdict not in dev_root.accept:
            return None
        return reach, dev_root._located(reach.container_path)[0]  # noqa: SLF001 - of one library

    def _stands_apart(self, path: DevicePath, reach: Reach, directory: ContainerPath) -> bool:
        """Whether something is mounted, or was to be, on the single name of a node."""
        view, place = self._dev_root.view, directory / path.name
        mount = view.mountinfo.covering(place)
        if mount is None or mount.mount_point == place:
            return True
        declared = view.mounts if self._dev_root.declared is None else self._dev_root.declared
        for name in (place, self._dev_root.container_path(path)):
            asked = None if declared is None else declared.covering(name)
            if asked is not None and asked.container == name:
                return True
        host = view.host_mountinfo
        if host is None:
            return False
        for host_path in reach.host_paths:
            seen = host.covering(host_path / path.name)
            if seen is not None and seen.mount_point == host_path / path.name:
                return True
        return False


def _difference(node: DeviceNode, there: FileStatus) -> str:
    """Return what is there instead of the node; empty if it is the node."""
    if there.type is not node.file_type:
        return f"a {there.type.value}, not a {node.file_type.value}"
    if (there.major, there.minor) != node.number:
        return f"device {there.major}:{there.minor}, not {node.major}:{node.minor}"
    return ""
