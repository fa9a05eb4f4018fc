"""With whom a mount shares what is mounted on it: peer groups, and their masters and slaves.

The rules are those of mount_namespaces(7) and the kernel's documentation of shared subtrees.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot.testing._vfs import VfsMount

Propagation = Literal["private", "slave", "shared"]


class Peers:
    """The peer groups of one kernel."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._shared: dict[int, list[VfsMount]] = {}
        self._slaves: dict[int, list[VfsMount]] = {}

    def of(self, group: int) -> tuple[VfsMount, ...]:
        """Return the mounts of a group."""
        return tuple(self._shared[group])

    def slaves_of(self, group: int) -> tuple[VfsMount, ...]:
        """Return the mounts that receive what is mounted on those of a group."""
        return tuple(self._slaves.get(group, ()))

    def reached_from(self, mount: VfsMount) -> Iterator[VfsMount]:
        """Yield all that a change on *mount* spreads to, itself excluded."""
        if mount.group is None:
            return
        seen = {mount.group}
        pending = [mount.group]
        while pending:
            group = pending.pop(0)
            for peer in self._shared[group]:
                if peer is not mount:
                    yield peer
            for slave in self.slaves_of(group):
                if slave.group is None:
                    yield slave
                elif slave.group not in seen:
                    seen.add(slave.group)
                    pending.append(slave.group)

    def share(self, mount: VfsMount) -> None:
        """Give *mount* a group of its own, unless it has one."""
        if mount.group is None:
            self.join(mount, next(self._numbers))

    def join(self, mount: VfsMount, group: int) -> None:
        """Let *mount* be one of a group."""
        mount.group = group
        self._shared.setdefault(group, []).append(mount)

    def enslave(self, mount: VfsMount, master: int) -> None:
        """Let *mount* receive what is mounted on those of the group *master*."""
        mount.master = master
        self._slaves.setdefault(master, []).append(mount)

    def set(self, mount: VfsMount, kind: Propagation) -> None:
        """Change with whom *mount* shares; the last of a group leaves its slaves its master."""
        if kind == "shared":
            self.share(mount)
            return
        group, master = mount.group, mount.master
        if group is not None:
            mount.group = None
            self._shared[group].remove(mount)
            left = self._shared[group]
            if left:
                master = group
            else:
                del self._shared[group]
                for slave in self._slaves.pop(group, []):
                    slave.master = None
                    if master is not None:
                        self.enslave(slave, master)
        if kind == "private":
            self._free(mount)
        elif master is not None and master != mount.master:
            self._free(mount)
            self.enslave(mount, master)

    def above(self, mount: VfsMount) -> Iterator[tuple[int, tuple[VfsMount, ...]]]:
        """Yield the groups from which *mount* receives, its master first, each with its mounts."""
        master = mount.master
        while master is not None:
            members = self.of(master)
            yield master, members
            master = members[0].master

    def _free(self, mount: VfsMount) -> None:
        if mount.master is not None:
            self._slaves[mount.master].remove(mount)
            mount.master = None
