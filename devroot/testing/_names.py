"""What the kernel lets one do with the names of one file system.

The answers are those of Linux on a tmpfs. Both sides of an operation are of one file system; the
caller sees to that. As in the room of inodes, an error is `OSError` with ``errno`` alone.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from devroot._filesystem import FileType
from devroot._local import _walk
from devroot.testing._devices import WHITEOUT
from devroot.testing._inodes import MADE_BY_KERNEL, kernel_error
from devroot.testing._rights import WRITE

if TYPE_CHECKING:
    from devroot.testing._inodes import Entry, Inode
    from devroot.testing._rights import Credentials


def link(inode: Inode, target: Inode, to_name: str, *, who: Credentials | None) -> None:
    """Give *inode* the second name *to_name* in *target*, which is known to be free.

    As linkat(2) does, without following a symbolic link. Without *who*, it is the test itself
    that does so, which may do anything.

    Raises:
        OSError: ``EACCES`` if *who* may not; ``EPERM`` if it is a directory.
    """
    if who is not None:
        who.check_changes(target)
        check_made_by_processes(target)
    if inode.is_directory:
        raise kernel_error(errno.EPERM)
    target.add(to_name, inode)


def unlink(directory: Inode, name: str, *, namespace: object, who: Credentials) -> None:
    """Remove *name* from *directory* as unlinkat(2) does.

    Raises:
        OSError: ``ENOENT``; ``EACCES`` or ``EPERM`` if *who* may not; ``EISDIR`` if it is a
            directory; ``EBUSY`` if something is mounted on it in *namespace*.
    """
    entry = directory.lookup(name)
    who.check_removes(directory, entry.inode)
    if entry.inode.is_directory:
        raise kernel_error(errno.EISDIR)
    check_made_by_processes(directory)
    entry.check_not_busy(namespace)
    directory.drop(name)


def remove_directory(directory: Inode, name: str, *, namespace: object, who: Credentials) -> None:
    """Remove the empty directory *name* from *directory*, by rmdir(2).

    Raises:
        OSError: ``ENOENT``, ``ENOTDIR``, ``ENOTEMPTY``; ``EACCES`` or ``EPERM`` if *who* may
            not; ``EBUSY`` if something is mounted on it in *namespace*.
    """
    entry = directory.lookup(name)
    who.check_removes(directory, entry.inode)
    if not entry.inode.is_directory:
        raise kernel_error(errno.ENOTDIR)
    check_made_by_processes(directory)
    entry.check_not_busy(namespace)
    if entry.inode.entries:
        raise kernel_error(errno.ENOTEMPTY)
    directory.drop(name)


def rename(  # noqa: C901, PLR0913 - renameat2(2) checks as much, and has as many
    source: Inode,
    name: str,
    target: Inode,
    to_name: str,
    *,
    replace: bool,
    namespace: object,
    who: Credentials | None,
) -> None:
    """Move *name* in *source* to *to_name* in *target*, by renameat2(2).

    Without *who*, it is the test itself that does so, which may do anything.

    Raises:
        OSError: ``ENOENT``; ``EEXIST`` unless *replace*; ``EINVAL`` if a directory would move
            into itself; ``EACCES`` or ``EPERM`` if *who* may not; ``ENOTDIR``, ``EISDIR`` or
            ``ENOTEMPTY`` if what is there cannot be replaced; ``EBUSY`` if something is mounted
            on either in *namespace*.
    """
    entry = source.lookup(name)
    inode = entry.inode
    there = target.lookup(to_name) if target.has(to_name) else None
    if there is not None and not replace:
        raise kernel_error(errno.EEXIST)
    if inode.is_directory and inode.contains(target):
        raise kernel_error(errno.EINVAL)
    if there is not None:
        if there.inode.is_directory and there.inode.contains(source):
            raise kernel_error(errno.ENOTEMPTY)
        if there.inode is inode:
            return  # two names of one file: rename(2) does nothing
    if who is not None:
        who.check_removes(source, inode)
        _check_replaces(target, there, who)
    if there is not None:
        _check_kinds(inode, there.inode)
    if who is not None:
        check_made_by_processes(source)
        if source is not target and inode.is_directory:
            who.check(inode, WRITE)  # for what is its ".." changes
    for each in filter(None, (there, entry)):
        each.check_not_busy(namespace)
    if there is not None:
        if there.inode.entries:
            raise kernel_error(errno.ENOTEMPTY)
        target.drop(to_name)
    target.take(entry, to_name)


def _check_replaces(target: Inode, there: Entry | None, who: Credentials) -> None:
    if there is None:
        who.check_changes(target)
    else:
        who.check_removes(target, there.inode)


def _check_kinds(inode: Inode, existing: Inode) -> None:
    """Check that one can take the place of the other: two directories, or none.

    Raises:
        OSError: ``ENOTDIR``, ``EISDIR``.
    """
    if inode.is_directory and not existing.is_directory:
        raise kernel_error(errno.ENOTDIR)
    if existing.is_directory and not inode.is_directory:
        raise kernel_error(errno.EISDIR)


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


def check_makes(
    directory: Inode, type: FileType, number: tuple[int, int], who: Credentials
) -> None:
    """Check that *who* may make such a file in *directory*.

    Raises:
        OSError: ``EACCES`` or ``EPERM``.
    """
    if directory.volume.fstype in MADE_BY_KERNEL:
        raise kernel_error(errno.EACCES if type is FileType.REGULAR else errno.EPERM)
    if (type, *number) == WHITEOUT:
        if directory.volume.fstype == "overlay":
            raise kernel_error(errno.EPERM)
    elif type in {FileType.CHARACTER, FileType.BLOCK}:
        who.check_makes_devices()


def check_made_by_processes(directory: Inode) -> None:
    """Check that the names in *directory* are not for the kernel alone to make.

    Raises:
        OSError: ``EPERM``, as where a file system has no such operation.
    """
    if directory.volume.fstype in MADE_BY_KERNEL:
        raise kernel_error(errno.EPERM)
