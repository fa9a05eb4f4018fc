"""What a run is for, node by node: to have the nodes there, or to have them gone."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import attrs

from devroot._bulk import differences, make_node, right_nodes
from devroot._filesystem import FileType
from devroot._mknod._advice import Doing
from devroot._mknod._steps import Action, Step
from devroot.errors import MountInfoError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devroot._bulk import Member
    from devroot._device import DeviceNode
    from devroot._filesystem import Directory, FileStatus
    from devroot._mounttree import MountInfoTable
    from devroot._paths import ContainerPath, DevicePath

OnConflict = Literal["repair", "error", "keep"]
"""What to do with something else at the name of a node."""

ON_CONFLICT: Final = ("repair", "error", "keep")
_DEVICES: Final = frozenset({FileType.CHARACTER, FileType.BLOCK})


class Job(Protocol):
    """What the engine asks of a kind of run; it knows nothing about directories and races."""

    @property
    def makes_devices(self) -> bool:
        """Whether what it makes are device nodes, which mknod(2) and ``nodev`` can forbid."""
        ...

    @property
    def doing(self) -> Doing:
        """What `make` does, for the text of an error."""
        ...

    def path(self, node: DeviceNode) -> DevicePath:
        """Return the name that is changed for *node*."""
        ...

    def right(self, directory: Directory, nodes: Sequence[Member]) -> list[bool]:
        """Say of each name, which was there a moment ago, whether it is right; False in doubt."""
        ...

    def creates(self, node: DeviceNode) -> bool:
        """Whether a node that is missing is simply made, so that it can be made with many."""
        ...

    def decide(
        self, directory: Directory, name: str, found: FileStatus | None, node: DeviceNode
    ) -> Step:
        """Return what to do about *name*, where *found* was seen."""
        ...

    def make(self, directory: Directory, name: str, node: DeviceNode) -> None:
        """Make *name* complete in a working directory."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for, as JSON can hold it."""
        ...


@attrs.frozen(kw_only=True)
class MakeNodes:
    """Have each node there, exactly as described."""

    mountinfo: MountInfoTable[ContainerPath]
    on_conflict: OnConflict = "repair"
    touch_withheld: bool = False
    makes_devices: bool = attrs.field(default=True, init=False)
    doing: Doing = attrs.field(default=Doing.MAKE, init=False)

    def path(self, node: DeviceNode) -> DevicePath:
        """Return the node's own name."""
        return node.path

    def creates(self, node: DeviceNode) -> bool:
        """Whether nobody withholds the node."""
        return self.touch_withheld or not node.withheld

    def right(self, directory: Directory, nodes: Sequence[Member]) -> list[bool]:
        """Say of each name whether it is exactly the node; False in doubt."""
        return right_nodes(directory, nodes)

    def decide(
        self, directory: Directory, name: str, found: FileStatus | None, node: DeviceNode
    ) -> Step:
        """Return what to do about *name*, where *found* was seen."""
        if found is None:
            if not self.creates(node):
                return _step(node, Action.WITHHELD, reason=f"it is missing; {node.withheld}")
            return _step(node, Action.CREATE)
        different = differences(found, node)
        action, reason, number = Action.KEEP, "", 0
        if different:
            action, reason, number = self._treat(directory, name, found, node, different)
        return _step(node, action, differences=different, reason=reason, errno=number, found=found)

    def _treat(
        self,
        directory: Directory,
        name: str,
        found: FileStatus,
        node: DeviceNode,
        different: tuple[str, ...],
    ) -> tuple[Action, str, int]:
        there = f"{describe(found)} is there"
        if not self.creates(node):
            return Action.WITHHELD, f"{there}; {node.withheld}", 0
        if found.is_directory:
            reason = f"{there}, and is never replaced; remove it first"
            return Action.CONFLICT, reason, errno.EISDIR
        replaced = different[0] in {"type", "number"}
        if replaced and is_mount(self.mountinfo, directory.path / name):
            reason = (
                f"{there} because it is mounted at this name, as runtimes do with single devices;"
                " it is never replaced: do not give the container this device"
            )
            return Action.CONFLICT, reason, errno.EBUSY
        if self.on_conflict == "error":
            reason = f"{there}; remove it, or allow it to be repaired"
            return Action.CONFLICT, reason, errno.EEXIST
        return (Action.KEEP if self.on_conflict == "keep" else Action.REPAIR), there, 0

    def make(self, directory: Directory, name: str, node: DeviceNode) -> None:
        """Make *name* the complete node in a working directory."""
        make_node(directory, name, node)

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for, as JSON can hold it."""
        return {
            "job": "mknod",
            "on_conflict": self.on_conflict,
            "touch_withheld": self.touch_withheld,
        }


@attrs.frozen(kw_only=True)
class RemoveNodes:
    """Have each node gone, and touch nothing else: type and number decide."""

    touch_withheld: bool = False
    makes_devices: bool = attrs.field(default=False, init=False)
    doing: Doing = attrs.field(default=Doing.REMOVE, init=False)

    def path(self, node: DeviceNode) -> DevicePath:
        """Return the node's own name."""
        return node.path

    def creates(self, node: DeviceNode) -> bool:
        """Make nothing."""
        del node
        return False

    def right(self, directory: Directory, nodes: Sequence[Member]) -> list[bool]:
        """Say that nothing is right, for the names are there."""
        del directory
        return [False] * len(nodes)

    def decide(
        self, directory: Directory, name: str, found: FileStatus | None, node: DeviceNode
    ) -> Step:
        """Return what to do about *name*, where *found* was seen."""
        del directory, name
        if found is None:
            return _step(node, Action.KEEP, reason="nothing is there")
        different = differences(found, node)
        if different[:1] in {("type",), ("number",)}:
            reason = f"{describe(found)} is there, which is not this node"
            return _step(node, Action.KEEP, differences=different, reason=reason, found=found)
        if node.withheld and not self.touch_withheld:
            return _step(node, Action.WITHHELD, reason=node.withheld, found=found)
        return _step(node, Action.REMOVE, found=found)

    def make(self, directory: Directory, name: str, node: DeviceNode) -> None:
        """Make nothing, for no step of this job creates."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for, as JSON can hold it."""
        return {"job": "remove", "touch_withheld": self.touch_withheld}


def describe(found: FileStatus) -> str:
    """Return what was found, in words: ``character device 195:0 0666 0:0``, ``a fifo``."""
    if found.type not in _DEVICES:
        return f"a {found.type.value}"
    return (
        f"{found.type.value} {found.major}:{found.minor} {found.mode:04o} {found.uid}:{found.gid}"
    )


def is_mount(mountinfo: MountInfoTable[ContainerPath], path: ContainerPath) -> bool:
    """Whether something is mounted at *path*, as far as the table says; the kernel knows best."""
    with suppress(MountInfoError):  # a table with lost lines; then EBUSY will tell
        mount = mountinfo.covering(path)
        return mount is not None and mount.mount_point == path
    return False


def _step(  # noqa: PLR0913 - a step is all of these
    node: DeviceNode,
    action: Action,
    *,
    differences: tuple[str, ...] = (),
    reason: str = "",
    errno: int = 0,
    found: FileStatus | None = None,
) -> Step:
    return Step(
        node=node,
        path=node.path,
        action=action,
        differences=differences,
        reason=reason,
        errno=errno,
        found=found,
    )
