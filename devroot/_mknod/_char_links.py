"""Links to device nodes by number, ``/dev/char/195:0`` and ``/dev/block/8:0``: `char_links`.

udev makes them for devices that sysfs knows, see udev(7). A driver that does without sysfs has
none, and systemd, which looks a container's devices up by number, then cannot allow them.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._filesystem import FileType
from devroot._mknod._advice import Doing
from devroot._mknod._jobs import describe
from devroot._mknod._make import run
from devroot._mknod._steps import Action, Step
from devroot._paths import DevicePath

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from devroot._bulk import Member
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._filesystem import Directory, FileStatus
    from devroot._mknod._report import Report

_DIRECTORIES: Final = {"c": "char", "b": "block"}


def char_links(dev_root: DevRoot, nodes: Iterable[DeviceNode], *, dry_run: bool = False) -> Report:
    """Have a link by number to each device node, ``/dev/char/195:0`` to ``../nvidia0``.

    A link is right if it leads to a device of that type and number, however it is spelled; a
    wrong or dangling one is replaced in one step. Anything else at the name is a conflict,
    unless it is the device itself. A node that is not there gets no link.

    Args:
        dev_root: where the nodes are; a subset needs the names ``char`` and ``block`` too.
        nodes: the nodes, each of another number; those that are withheld as well, for the link
            does not touch them.
        dry_run: whether only to say what a run would aim at.

    Returns:
        What became of the link to each node; `Outcome.path` is the link's.

    Raises:
        NodeError: at least one link is not as it should be; it has the report.
        InvalidNodeError: two nodes have one number.
        MountInfoError: as from `plan`.

    .. versionadded:: 0.1.0
    """
    return run(dev_root, nodes, LinkNodes(dev_root), dry_run=dry_run)


@attrs.frozen
class LinkNodes:
    """Have a link by number to each node; a `Job`."""

    _dev_root: DevRoot
    makes_devices: bool = attrs.field(default=False, init=False)
    doing: Doing = attrs.field(default=Doing.LINK, init=False)

    def path(self, node: DeviceNode) -> DevicePath:
        """Return the name of the link."""
        return DevicePath(f"{_DIRECTORIES[node.type]}/{node.major}:{node.minor}")

    def right(self, directory: Directory, nodes: Sequence[Member]) -> list[bool]:
        """Leave it to `decide`, which has to look at the node as well."""
        del directory
        return [False] * len(nodes)

    def creates(self, node: DeviceNode) -> bool:
        """Leave it to `decide`, likewise."""
        del node
        return False

    def decide(
        self, directory: Directory, name: str, found: FileStatus | None, node: DeviceNode
    ) -> Step:
        """Return what to do about *name*, where *found* was seen."""
        del directory, name
        if not self._leads_to(node.path, node):
            reason = f"{node.path} is not {node.summary()}, or not there; make it first"
            return self._step(node, Action.CONFLICT, reason=reason, errno=errno.ENOENT)
        if found is None:
            return self._step(node, Action.CREATE)
        if self._leads_to(self.path(node), node):
            return self._step(node, Action.KEEP, found=found)
        if found.type is FileType.SYMLINK:
            reason = "the link there leads elsewhere, or nowhere"
            return self._step(
                node, Action.REPAIR, differences=("target",), reason=reason, found=found
            )
        reason = f"{describe(found)} is there, and only a link is replaced; remove it first"
        return self._step(
            node,
            Action.CONFLICT,
            differences=("type",),
            reason=reason,
            errno=errno.EEXIST,
            found=found,
        )

    def make(self, directory: Directory, name: str, node: DeviceNode) -> None:
        """Make *name* the link; its target is relative to the directory it will be in."""
        directory.make_symlink(name, f"../{node.path.below_dev}")

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for, as JSON can hold it."""
        return {"job": "char_links"}

    def _leads_to(self, path: DevicePath, node: DeviceNode) -> bool:
        """Whether *path* leads to the device, with every link followed inside the dev root."""
        files = self._dev_root.view.filesystem
        try:
            found = files.status(self._dev_root.container, str(path))
        except OSError:
            return False
        return (found.type, found.major, found.minor) == (node.file_type, *node.number)

    def _step(self, node: DeviceNode, action: Action, **more: Any) -> Step:  # noqa: ANN401 - of Step
        return Step(node=node, path=self.path(node), action=action, **more)
