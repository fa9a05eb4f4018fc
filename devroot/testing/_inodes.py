"""Inodes in memory: files, the names that they have, and the file systems that hold them.

Nothing here knows a path: errors are `OSError` with ``errno`` alone, and whoever knows the path
adds it.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Final, Protocol

import attrs

from devroot._filesystem import FileStatus, FileType
from devroot.testing._limits import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devroot.testing._process import Process

NAME_MAX: Final = 255
"""The longest name in a directory, in bytes; see limits.h(0p) and path_resolution(7)."""

MAJOR_MAX: Final = 2**12 - 1
MINOR_MAX: Final = 2**20 - 1
"""The kernel's dev_t has 12 bits of major and 20 bits of minor (MINORBITS in linux/kdev_t.h)."""

SET_UID: Final = 0o4000
SET_GID: Final = 0o2000

MADE_BY_KERNEL: Final = {"devpts": 0, "mqueue": 40, "proc": 0, "sysfs": 0}
"""File systems whose names the kernel makes and no process, and the size of their directories."""

_LIMIT: Final = re.compile(r"size=([0-9]+)k")


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
        volume: the file system.
        mode: permission, set-ID and sticky bits (octal, at most 0o7777).
        major: major number (decimal) of a device node, else 0.
        minor: minor number (decimal) of a device node, else 0.
        content: of a regular file.
        target: of a symbolic link.
        entries: of a directory.
        live: what gives the content or the target to the process that asks, as in procfs.
        magic: whether it is a link of procfs that leads elsewhere than its text says.
        lacks: what a directory has on Linux and not here; None if there is nothing.
        absent: names that it does not have on Linux either.
        names: how many names lead here; a directory has at most one.
        locked_by: which handle of which process holds the exclusive flock(2) lock.
    """

    type: FileType
    number: int
    volume: Volume
    mode: int
    uid: int = 0
    gid: int = 0
    major: int = 0
    minor: int = 0
    content: bytes = b""
    target: str = ""
    entries: dict[str, Entry] = attrs.field(factory=dict[str, "Entry"])
    live: Callable[[Process | None], str] | None = None
    magic: bool = False
    lacks: Limit | None = None
    absent: set[str] = attrs.field(factory=set[str])
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
    def is_regular(self) -> bool:
        """Whether this is a regular file."""
        return self.type is FileType.REGULAR

    @property
    def links(self) -> int:
        """What stat(2) says: a directory counts its own ``.`` and the ``..`` of each child."""
        if not self.is_directory or not self.names:
            return self.names
        return 2 + sum(entry.inode.is_directory for entry in self.entries.values())

    @property
    def size(self) -> int:
        """What stat(2) says in bytes."""
        if self.is_directory:
            return self.volume.size_of_directory(len(self.entries))
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
            device=self.volume.device,
            inode=self.number,
        )

    def read(self, process: Process) -> bytes:
        """Return the content of a regular file for *process*."""
        if self.live is None:
            return self.content
        return self.live(process).encode("utf-8", "surrogateescape")

    def target_for(self, process: Process | None) -> str:
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

    def check_known(self, name: str, path: str) -> None:
        """Check that it is modelled whether *name* is here; a number is a process or nothing.

        Raises:
            NotModelledError: it is not.
        """
        known = name in self.entries or name in self.absent or name.isdigit()
        if self.lacks and not known:
            raise self.lacks.met(path)

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
        self.absent.add(name)
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
        return Inode(type=type, number=self._last, volume=self, mode=mode)

    def size_of_directory(self, names: int) -> int:
        """Return what stat(2) says in bytes of a directory with so many names.

        A tmpfs counts 20 for each and for ``.`` and ``..`` (BOGO_DIRENT_SIZE in mm/shmem.c); a disk
        gives a block.
        """
        if self.fstype in {"tmpfs", "devtmpfs"}:
            return 20 * (names + 2)
        return MADE_BY_KERNEL.get(self.fstype, 4096)

    def check_room(self, size: int) -> None:
        """Check that it does not depend on a limit whether *size* bytes more fit in.

        Raises:
            NotModelledError: it does.
        """
        limit = _LIMIT.search(self.options)
        if limit is None or not size:
            return
        files = {inode.number: inode.size for _, inode in self.root.walk() if inode.is_regular}
        if size + sum(files.values()) > int(limit[1]) * 1024:
            raise Limit.SIZE.met()
