"""Inodes in memory, and what the kernel lets one do with the names of one file system.

Nothing here knows a path: errors are `OSError` with ``errno`` alone, and whoever knows the path
adds it. The answers are those of Linux on a tmpfs. Both sides of an operation are of one file
system; the caller sees to that.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final, Protocol

import attrs

from devroot._filesystem import FileStatus, FileType
from devroot._local import _walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME_MAX: Final = 255
"""The longest name in a directory, in bytes; see limits.h(0p) and path_resolution(7)."""

MAJOR_MAX: Final = 2**12 - 1
MINOR_MAX: Final = 2**20 - 1
"""The kernel's dev_t has 12 bits of major and 20 bits of minor (MINORBITS in linux/kdev_t.h)."""

_SET_UID: Final = 0o4000
_SET_GID: Final = 0o2000
_GROUP_EXECUTE: Final = 0o010


def kernel_error(number: int) -> OSError:
    """Return the `OSError` of an errno; the caller adds the file name."""
    return OSError(number, os.strerror(number))


def encoded_length(text: str) -> int:
    """Return how many bytes the kernel sees of *text*."""
    return len(text.encode("utf-8", "surrogateescape"))


class Mounted(Protocol):
    """A mount, as far as the name on which it stands needs to know it."""

    @property
    def namespace(self) -> object:
        """The mount namespace that it belongs to."""
        ...

    def leave(self) -> None:
        """Go, with all that is mounted on it, because its mount point is no more."""
        ...


@attrs.define(eq=False, repr=False)
class Entry:
    """A name in a directory and the file it leads to: what the kernel calls a dentry.

    Attributes:
        inode: the file.
        parent: the directory; None for the root of a file system.
        name: in that directory.
        deleted: whether the name was removed; the entry may still be held, or be mounted.
        mounted: the mounts that stand on it, in every mount namespace.
    """

    inode: Inode
    parent: Inode | None = None
    name: str = ""
    deleted: bool = False
    mounted: list[Mounted] = attrs.field(factory=list["Mounted"])

    @property
    def path(self) -> str:
        """Where it is in its file system, or was when it was removed."""
        if self.parent is None:
            return "/"
        return f"{self.parent.entry.path.rstrip('/')}/{self.name}"

    def is_below(self, other: Entry) -> bool:
        """Whether this is *other*, or lies below it."""
        return self is other or (self.parent is not None and self.parent.entry.is_below(other))

    def check_not_busy(self, namespace: object) -> None:
        """Check that nothing is mounted on it in *namespace*.

        Raises:
            OSError: ``EBUSY``.
        """
        if any(mount.namespace is namespace for mount in self.mounted):
            raise kernel_error(errno.EBUSY)


@attrs.define(eq=False, kw_only=True, repr=False)
class Inode:
    """One file, whatever names it has.

    Attributes:
        number: of the inode in its file system.
        device: of the file system (``st_dev``).
        mode: permission, set-ID and sticky bits (octal, at most 0o7777).
        major: major number (decimal) of a device node, else 0.
        minor: minor number (decimal) of a device node, else 0.
        content: of a regular file.
        target: of a symbolic link.
        entries: of a directory.
        live: what gives the content or the target to the process that asks, as in procfs.
        names: how many names lead here; a directory has at most one.
        locked_by: which handle of which process holds the exclusive flock(2) lock.
    """

    type: FileType
    number: int
    device: int
    mode: int
    uid: int = 0
    gid: int = 0
    major: int = 0
    minor: int = 0
    content: bytes = b""
    target: str = ""
    entries: dict[str, Entry] = attrs.field(factory=dict[str, "Entry"])
    live: Callable[[object], str] | None = None
    names: int = 0
    locked_by: tuple[object, object] | None = None
    _entry: Entry | None = None

    @property
    def entry(self) -> Entry:
        """The entry of a directory, which has one name; that of the root has none."""
        if self._entry is None:
            self._entry = Entry(self)
        return self._entry

    @property
    def is_directory(self) -> bool:
        """Whether this is a directory."""
        return self.type is FileType.DIRECTORY

    @property
    def links(self) -> int:
        """What stat(2) says: a directory counts its own ``.`` and the ``..`` of each child."""
        if not self.is_directory or not self.names:
            return self.names
        return 2 + sum(entry.inode.is_directory for entry in self.entries.values())

    @property
    def size(self) -> int:
        """What stat(2) says in bytes; 0 for a directory, where it differs by file system."""
        return len(self.content) or encoded_length(self.target)

    def status(self) -> FileStatus:
        """Return what stat(2) says."""
        return FileStatus(
            type=self.type,
            mode=self.mode,
            uid=self.uid,
            gid=self.gid,
            major=self.major,
            minor=self.minor,
            links=self.links,
            size=self.size,
            device=self.device,
            inode=self.number,
        )

    def own(self, *, uid: int | None, gid: int | None) -> None:
        """Change the owner as chown(2) does: on a file, the set-ID bits go."""
        self.uid = self.uid if uid is None else uid
        self.gid = self.gid if gid is None else gid
        if not self.is_directory:
            self.mode &= ~_SET_UID
            if self.mode & _GROUP_EXECUTE:
                self.mode &= ~_SET_GID

    def belong_to(self, directory: Inode) -> None:
        """Take the group of a set-group-ID *directory*, as what is made in it does, inode(7)."""
        if directory.mode & _SET_GID:
            self.gid = directory.gid
            if self.is_directory:
                self.mode |= _SET_GID

    def read(self, process: object) -> bytes:
        """Return the content of a regular file for *process*."""
        if self.live is None:
            return self.content
        return self.live(process).encode("utf-8", "surrogateescape")

    def target_for(self, process: object) -> str:
        """Return the target of a symbolic link for *process*."""
        return self.target if self.live is None else self.live(process)

    def child(self, name: str) -> Inode:
        """Return the file *name* in this directory; see `lookup`."""
        return self.lookup(name).inode

    def lookup(self, name: str) -> Entry:
        """Return the entry *name* of this directory.

        Raises:
            OSError: ``ENOENT``, also in a directory that was deleted; ``ENAMETOOLONG``.
        """
        if not self.names:
            raise kernel_error(errno.ENOENT)
        if encoded_length(name) > NAME_MAX:
            raise kernel_error(errno.ENAMETOOLONG)
        try:
            return self.entries[name]
        except KeyError:
            raise kernel_error(errno.ENOENT) from None

    def check_free(self, name: str) -> None:
        """Check that *name* can be made in this directory.

        Raises:
            OSError: ``ENOENT`` if this directory was deleted; ``ENAMETOOLONG``; ``EEXIST``.
        """
        if self.has(name):
            raise kernel_error(errno.EEXIST)

    def has(self, name: str) -> bool:
        """Whether *name* exists in this directory.

        Raises:
            OSError: ``ENOENT`` if this directory was deleted; ``ENAMETOOLONG``.
        """
        try:
            self.child(name)
        except FileNotFoundError:
            if not self.names:
                raise
            return False
        return True

    def add(self, name: str, inode: Inode) -> None:
        """Give *inode* the name *name*, which is known to be free."""
        self.entries[name] = entry = Entry(inode, self, name)
        if inode.is_directory:
            inode._entry = entry
        inode.names += 1

    def drop(self, name: str) -> None:
        """Take the name *name* away, which is known to exist, and what is mounted on it."""
        entry = self.entries.pop(name)
        entry.inode.names -= 1
        entry.deleted = True
        for mount in tuple(entry.mounted):
            mount.leave()

    def take(self, entry: Entry, name: str) -> None:
        """Move *entry* here, with all that is mounted on it; *name* is known to be free."""
        assert entry.parent is not None  # noqa: S101 - a root is in no directory
        del entry.parent.entries[entry.name]
        entry.parent, entry.name = self, name
        self.entries[name] = entry

    def contains(self, other: Inode) -> bool:
        """Whether *other* is this directory or lies below it."""
        return other.entry.is_below(self.entry)

    def walk(self, path: str = "") -> Iterator[tuple[str, Inode]]:
        """Yield every name below this directory with its path, in the order of the names."""
        for name, entry in sorted(self.entries.items()):
            yield f"{path}/{name}", entry.inode
            yield from entry.inode.walk(f"{path}/{name}")


@attrs.define(eq=False)
class Volume:
    """One file system: it numbers the inodes and holds the root directory.

    Attributes:
        device: what ``st_dev`` says of every file in it.
        fstype: as mountinfo names it.
        source: likewise.
        options: likewise, without ``rw`` and ``ro``.
        read_only: whether nothing in it can be changed.
        full: whether nothing more can be made in it.
    """

    device: int
    fstype: str = attrs.field(default="tmpfs", kw_only=True)
    source: str = attrs.field(default="tmpfs", kw_only=True)
    options: str = attrs.field(default="", kw_only=True)
    read_only: bool = attrs.field(default=False, kw_only=True)
    full: bool = attrs.field(default=False, kw_only=True)
    _last: int = 0
    root: Inode = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.root = self.new(FileType.DIRECTORY, mode=0o755)
        self.root.names = 1

    def new(self, type: FileType, *, mode: int) -> Inode:
        """Return a new inode that has no name yet.

        Raises:
            OSError: ``ENOSPC`` if the file system is full.
        """
        if self.full:
            raise kernel_error(errno.ENOSPC)
        self._last += 1
        return Inode(type=type, number=self._last, device=self.device, mode=mode)


def link(inode: Inode, target: Inode, to_name: str) -> None:
    """Give *inode* the second name *to_name* in *target*, which is known to be free.

    As linkat(2) does, without following a symbolic link.

    Raises:
        OSError: ``EPERM`` if it is a directory.
    """
    if inode.is_directory:
        raise kernel_error(errno.EPERM)
    target.add(to_name, inode)


def unlink(directory: Inode, name: str, *, namespace: object = None) -> None:
    """Remove *name* from *directory* as unlinkat(2) does.

    Raises:
        OSError: ``ENOENT``; ``EISDIR`` if it is a directory; ``EBUSY`` if something is mounted
            on it in *namespace*.
    """
    entry = directory.lookup(name)
    if entry.inode.is_directory:
        raise kernel_error(errno.EISDIR)
    entry.check_not_busy(namespace)
    directory.drop(name)


def remove_directory(directory: Inode, name: str, *, namespace: object = None) -> None:
    """Remove the empty directory *name* from *directory*, by rmdir(2).

    Raises:
        OSError: ``ENOENT``, ``ENOTDIR``, ``ENOTEMPTY``; ``EBUSY`` if something is mounted on it
            in *namespace*.
    """
    entry = directory.lookup(name)
    if not entry.inode.is_directory:
        raise kernel_error(errno.ENOTDIR)
    entry.check_not_busy(namespace)
    if entry.inode.entries:
        raise kernel_error(errno.ENOTEMPTY)
    directory.drop(name)


def rename(  # noqa: PLR0913 - renameat2(2) has as many
    source: Inode,
    name: str,
    target: Inode,
    to_name: str,
    *,
    replace: bool,
    namespace: object = None,
) -> None:
    """Move *name* in *source* to *to_name* in *target*, by renameat2(2).

    Raises:
        OSError: ``ENOENT``; ``EEXIST`` unless *replace*; ``EINVAL`` if a directory would move
            into itself; ``ENOTDIR``, ``EISDIR`` or ``ENOTEMPTY`` if what is there
            cannot be replaced; ``EBUSY`` if something is mounted on either in *namespace*.
    """
    entry = source.lookup(name)
    inode = entry.inode
    there = target.lookup(to_name) if target.has(to_name) else None
    if there is not None and not replace:
        raise kernel_error(errno.EEXIST)
    if inode.is_directory and inode.contains(target):
        raise kernel_error(errno.EINVAL)
    if there is not None:
        existing = there.inode
        if existing.is_directory and existing.contains(source):
            raise kernel_error(errno.ENOTEMPTY)
        if existing is inode:
            return  # two names of one file: rename(2) does nothing
        if inode.is_directory and not existing.is_directory:
            raise kernel_error(errno.ENOTDIR)
        if existing.is_directory and not inode.is_directory:
            raise kernel_error(errno.EISDIR)
        there.check_not_busy(namespace)
    entry.check_not_busy(namespace)
    if there is not None:
        if there.inode.entries:
            raise kernel_error(errno.ENOTEMPTY)
        target.drop(to_name)
    target.take(entry, to_name)


def check_target(target: str) -> None:
    """Refuse what symlink(2) does not take as a target.

    Raises:
        InvalidPathError: it holds a NUL, or a character that no file name can hold.
        OSError: ``ENOENT`` if it is empty; ``ENAMETOOLONG`` from 4096 bytes on.
    """
    data = _walk.encode(target, kind="target of a link")
    if not data:
        raise kernel_error(errno.ENOENT)
    if len(data) >= _walk.PATH_MAX:
        raise kernel_error(errno.ENAMETOOLONG)
