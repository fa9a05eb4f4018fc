"""Mounts in memory: what stands where in each mount namespace, and how it spreads to others.

The rules are those of mount(2), mount_namespaces(7) and the kernel's documentation of shared
subtrees. As in the room of inodes, an error is `OSError` with ``errno`` alone.
"""

from __future__ import annotations

import errno
import itertools
from typing import TYPE_CHECKING, Final

import attrs

from devroot.testing._inodes import Entry, Inode, Volume, kernel_error
from devroot.testing._options import PLAIN, Flags
from devroot.testing._peers import Peers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot.testing._peers import Propagation

ROOT_ID: Final = 1
"""The ID of the mount below the root of the host: the kernel's rootfs, which no table lists."""


@attrs.define(eq=False, repr=False)
class Namespace:
    """A mount namespace: which mounts belong together.

    Attributes:
        mounts: every mount in it, in the order in which they came.
    """

    mounts: list[VfsMount] = attrs.field(factory=list["VfsMount"])


@attrs.define(eq=False, repr=False, kw_only=True)
class VfsMount:
    """One mount.

    Attributes:
        id: the number that mountinfo shows.
        volume: the file system.
        root: what of it is seen at the mount point.
        flags: the options of this mount.
        namespace: where it belongs; None once it is unmounted.
        parent: the mount on which it stands; None for the root of a namespace.
        point: the entry on which it stands.
        group: the peers with which it shares mounts; None unless it is shared.
        master: the peers from which it receives mounts; None unless it is a slave.
        kernel: keeps the books.
    """

    id: int
    volume: Volume
    root: Entry
    flags: Flags = PLAIN
    namespace: Namespace | None = None
    parent: VfsMount | None = None
    point: Entry | None = None
    group: int | None = None
    master: int | None = None
    kernel: MountKernel

    @property
    def parent_id(self) -> int:
        """The number of the parent that mountinfo shows; a root has one that no table lists."""
        return ROOT_ID if self.parent is None else self.parent.id

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed through it."""
        return self.flags.read_only or self.volume.read_only

    def check_writable(self) -> None:
        """Check that something can be changed through it.

        Raises:
            OSError: ``EROFS``.
        """
        if self.read_only:
            raise kernel_error(errno.EROFS)

    def on(self, entry: Entry) -> VfsMount | None:
        """Return the mount that stands on *entry* as this mount shows it."""
        for mounted in entry.mounted:
            if isinstance(mounted, VfsMount) and mounted.parent is self:
                return mounted
        return None

    def children(self) -> list[VfsMount]:
        """Return the mounts that stand on this one, in the order in which they came."""
        namespace = self.namespace
        return [] if namespace is None else [m for m in namespace.mounts if m.parent is self]

    def tree(self) -> Iterator[VfsMount]:
        """Yield this mount and all that stand on it, each before those on it."""
        yield self
        for child in self.children():
            yield from child.tree()

    def stand(self, parent: VfsMount, point: Entry) -> None:
        """Stand on *point* of *parent* from now on."""
        if self.point is not None:
            self.point.mounted.remove(self)
        self.parent, self.point = parent, point
        point.mounted.append(self)

    def leave(self) -> None:
        """Go, with all that stands on it; what others have of it stays."""
        for mount in list(self.tree()):
            mount.go()

    def go(self) -> None:
        """Go alone."""
        self.kernel.peers.set(self, "private")
        if self.point is not None:
            self.point.mounted.remove(self)
        if self.namespace is not None:
            self.namespace.mounts.remove(self)
        self.namespace = self.parent = self.point = None


@attrs.frozen(eq=False)
class Spot:
    """A file as one mount shows it: what the kernel calls a path."""

    mount: VfsMount
    entry: Entry

    @property
    def inode(self) -> Inode:
        """The file."""
        return self.entry.inode

    def top(self) -> Spot:
        """Return what is seen there: the root of the uppermost mount that stands there, if any."""
        spot = self
        while (mount := spot.mount.on(spot.entry)) is not None:
            spot = Spot(mount, mount.root)
        return spot


class MountKernel:
    """The mounts of one kernel, in all namespaces.

    Attributes:
        peers: which of them share what is mounted on them.
    """

    def __init__(self) -> None:
        self._ids = itertools.count(24)
        self.peers: Peers = Peers()

    def number_from(self, mount_id: int) -> None:
        """Give the next mount the ID *mount_id*, and later ones those after it."""
        self._ids = itertools.count(mount_id)

    def new_root(self, volume: Volume, *, flags: Flags = PLAIN) -> VfsMount:
        """Return the root mount of a new namespace."""
        namespace = Namespace()
        mount = self._new(volume, volume.root.entry, flags)
        mount.namespace = namespace
        namespace.mounts.append(mount)
        return mount

    def mount(self, volume: Volume, at: Spot, *, flags: Flags = PLAIN) -> VfsMount:
        """Mount a file system at *at*, over what is mounted there.

        Raises:
            OSError: ``ENOTDIR``, ``ENOENT`` as from `attach`.
        """
        mount = self._new(volume, volume.root.entry, flags)
        self.attach([mount], at)
        return mount

    def bind(self, source: Spot, at: Spot, *, recursive: bool = False) -> VfsMount:
        """Mount *source*, which may be a file, at *at* as well.

        Args:
            source: what is to be seen there; it can be of another namespace, as for a runtime
                that has opened it before it entered the container's.
            at: the mount point, a directory if *source* is one, else none.
            recursive: whether what is mounted below *source* comes along.

        Raises:
            OSError: as from `attach`.
        """
        copies = self.copies(source.mount, source.entry, recursive=recursive)
        self.attach(copies, at)
        return copies[0]

    def attach(self, tree: list[VfsMount], at: Spot) -> None:
        """Let the new mounts *tree* stand at *at*, the first of them with the others on it.

        Raises:
            OSError: ``ENOTDIR`` if one is a directory and the other is not; ``ENOENT`` if the
                mount point was deleted.
        """
        at = at.top()
        problem = 0
        if at.entry.deleted:
            problem = errno.ENOENT
        elif at.inode.is_directory != tree[0].root.inode.is_directory:
            problem = errno.ENOTDIR
        if problem:
            for mount in tree:
                mount.go()
            raise kernel_error(problem)
        if at.mount.group is not None:
            for mount in tree:
                self.peers.share(mount)
        targets = list(self._receivers(at.mount, at.entry, tree))
        self._settle(tree, at.mount, at.entry)
        for mount, copied in targets:
            self._tuck(copied, mount, at.entry)

    def unmount(self, mount: VfsMount) -> None:
        """Unmount *mount* and all that stands on it, used or not, as ``MNT_DETACH`` does.

        Raises:
            OSError: ``EBUSY`` if it is a root.
        """
        if mount.parent is None:
            raise kernel_error(errno.EBUSY)
        going = list(mount.tree())
        spread = self._spread(going)
        for each in spread:
            over = each.on(each.root)
            if over is not None and over not in spread and over not in going:
                assert each.parent is not None  # noqa: S101 - it was found on its parent
                assert each.point is not None  # noqa: S101 - likewise
                over.stand(each.parent, each.point)
        for each in (*reversed(going), *spread):
            each.go()

    def _spread(self, going: list[VfsMount]) -> list[VfsMount]:
        """Return what goes elsewhere with *going*: copies on which nothing else stands."""
        spread: list[VfsMount] = []
        for mount in going:
            assert mount.parent is not None  # noqa: S101 - a root does not go
            assert mount.point is not None  # noqa: S101 - likewise
            for peer in self.peers.reached_from(mount.parent):
                child = peer.on(mount.point)
                if child is not None and child not in going and child not in spread:
                    spread.append(child)
        while used := [each for each in spread if _is_used(each, [*going, *spread])]:
            for each in used:
                spread.remove(each)
        return spread

    def remount(self, mount: VfsMount, flags: Flags) -> None:
        """Give this mount, not its file system, other options."""
        mount.flags = flags

    def set_propagation(self, mount: VfsMount, kind: Propagation, *, recursive: bool) -> None:
        """Change with whom *mount* shares what is mounted on it."""
        for each in list(mount.tree()) if recursive else [mount]:
            self.peers.set(each, kind)

    def copies(self, mount: VfsMount, root: Entry, *, recursive: bool) -> list[VfsMount]:
        """Return copies of *mount*, seen from *root* on, and of what stands on it there."""
        copies = [self._copy(mount, root)]
        if recursive:
            self._copy_children(mount, copies[0], copies, root)
        return copies

    def dominant_of(self, mount: VfsMount, root: Spot) -> int | None:
        """Return the nearest group above *mount* that has a member which *root* shows.

        That is ``propagate_from`` of proc_pid_mountinfo(5), where it is not the master.
        """
        namespace = root.mount.namespace
        for group, members in self.peers.above(mount):
            for each in members:
                if each.namespace is namespace and path_below(each, root) is not None:
                    return group
        return None

    def _new(self, volume: Volume, root: Entry, flags: Flags) -> VfsMount:
        return VfsMount(id=next(self._ids), volume=volume, root=root, flags=flags, kernel=self)

    def _copy(self, mount: VfsMount, root: Entry) -> VfsMount:
        copy = self._new(mount.volume, root, mount.flags)
        if mount.group is not None:
            self.peers.join(copy, mount.group)
        if mount.master is not None:
            self.peers.enslave(copy, mount.master)
        return copy

    def _copy_children(
        self, mount: VfsMount, copy: VfsMount, copies: list[VfsMount], below: Entry | None
    ) -> None:
        for child in mount.children():
            point = child.point
            assert point is not None  # noqa: S101 - a child stands on something
            if below is None or point.is_below(below):
                copied = self._copy(child, child.root)
                copied.stand(copy, point)
                copies.append(copied)
                self._copy_children(child, copied, copies, None)

    def _settle(self, tree: list[VfsMount], parent: VfsMount, point: Entry) -> None:
        tree[0].stand(parent, point)
        namespace = parent.namespace
        assert namespace is not None  # noqa: S101 - nothing is mounted on what is unmounted
        for mount in tree:
            mount.namespace = namespace
            namespace.mounts.append(mount)

    def _tuck(self, tree: list[VfsMount], parent: VfsMount, point: Entry) -> None:
        """Let a tree that came by propagation stand below what stands there already."""
        over = parent.on(point)
        self._settle(tree, parent, point)
        if over is not None:
            top = tree[0]
            while (upper := top.on(top.root)) is not None:
                top = upper
            over.stand(top, top.root)

    def _receivers(
        self, parent: VfsMount, point: Entry, tree: list[VfsMount]
    ) -> Iterator[tuple[VfsMount, list[VfsMount]]]:
        """Yield whom a new mount on *parent* spreads to, with the copies for them."""
        if parent.group is None:
            return
        for peer in self.peers.of(parent.group):
            if peer is not parent and peer.namespace is not None and point.is_below(peer.root):
                yield peer, self._twins(tree)
        yield from self._to_slaves(parent.group, point, tree)

    def _to_slaves(
        self, group: int, point: Entry, tree: list[VfsMount]
    ) -> Iterator[tuple[VfsMount, list[VfsMount]]]:
        done: set[int] = set()
        for slave in self.peers.slaves_of(group):
            if slave.group is None:
                if slave.namespace is not None and point.is_below(slave.root):
                    yield slave, self._slave_copies(tree, shared=False)
            elif slave.group not in done:
                done.add(slave.group)
                first: list[VfsMount] | None = None
                for peer in self.peers.of(slave.group):
                    if peer.namespace is not None and point.is_below(peer.root):
                        if first is None:
                            first = self._slave_copies(tree, shared=True)
                            yield peer, first
                        else:
                            yield peer, self._twins(first)
                yield from self._to_slaves(slave.group, point, tree if first is None else first)

    def _twins(self, tree: list[VfsMount]) -> list[VfsMount]:
        return self._copied(tree, [self._copy(mount, mount.root) for mount in tree])

    def _slave_copies(self, tree: list[VfsMount], *, shared: bool) -> list[VfsMount]:
        copies: list[VfsMount] = []
        for mount in tree:
            copy = self._new(mount.volume, mount.root, mount.flags)
            assert mount.group is not None  # noqa: S101 - it spreads
            self.peers.enslave(copy, mount.group)
            if shared:
                self.peers.share(copy)
            copies.append(copy)
        return self._copied(tree, copies)

    def _copied(self, tree: list[VfsMount], copies: list[VfsMount]) -> list[VfsMount]:
        of = dict(zip(map(id, tree), copies, strict=True))
        for mount, copy in zip(tree[1:], copies[1:], strict=True):
            assert mount.point is not None  # noqa: S101 - it stands on another of the tree
            copy.stand(of[id(mount.parent)], mount.point)
        return copies


def path_below(mount: VfsMount, root: Spot) -> str | None:
    """Return where *mount* is seen from *root*; None if it is not.

    It is not if its mount point was moved out of what the parent shows.
    """
    spot = Spot(mount, mount.root)
    names: list[str] = []
    while (spot.mount, spot.entry) != (root.mount, root.entry):
        if spot.entry is spot.mount.root:
            parent, point = spot.mount.parent, spot.mount.point
            assert parent is not None  # noqa: S101 - the root is reached before
            assert point is not None  # noqa: S101 - likewise
            spot = Spot(parent, point)
            continue
        parent_inode = spot.entry.parent
        if parent_inode is None:
            return None
        names.append(spot.entry.name)
        spot = Spot(spot.mount, parent_inode.entry)
    return "/" + "/".join(reversed(names))


def _is_used(mount: VfsMount, going: list[VfsMount]) -> bool:
    """Whether something that stays stands on *mount*, except over the whole of it."""
    return any(child not in going and child.point is not mount.root for child in mount.children())
