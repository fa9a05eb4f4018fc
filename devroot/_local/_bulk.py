"""The quick way for many device nodes in a real directory: the system calls and little else."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from devroot import _syscalls
from devroot._local._directory import NamedDirectory, check_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devroot._bulk import Member
    from devroot._filesystem import Directory

_FORMATS: Final = {"c": stat.S_IFCHR, "b": stat.S_IFBLK}
_NODE: Final = "node"
_REFUSALS: Final = {errno.ENOSYS, errno.EPERM, errno.EINVAL}


class BulkNamedDirectory(NamedDirectory):
    """A directory that is held by a descriptor, with the quick ways of `BulkDirectory`."""

    __slots__ = ()

    def right_nodes(self, nodes: Sequence[Member], /) -> list[bool]:
        """See `BulkDirectory.right_nodes`: one lstat(2) for each."""
        lstat, makedev, dir_fd = os.lstat, os.makedev, self._dir_fd
        right: list[bool] = []
        for _, name, node in nodes:
            if "/" in name:
                check_name(name)
            try:
                found = lstat(name, dir_fd=dir_fd)
            except OSError:
                right.append(False)
            else:
                right.append(
                    found.st_rdev == makedev(node.major, node.minor)
                    and found.st_mode == _FORMATS[node.type] | node.mode
                    and found.st_uid == node.uid
                    and found.st_gid == node.gid
                )
        return right

    def publish_nodes(self, nodes: Sequence[Member], to: Directory, /) -> list[int]:
        """See `BulkDirectory.publish_nodes`: four system calls for most nodes.

        Owner and mode are set by name, but never through a link: nobody else should look into
        this directory, and another container's root can all the same. The mode is
        set always, because another thread can change the umask at any time. The owner is set if
        it is not the one that the kernel gave the first node: all that one thread makes in one
        directory belongs to the same user and group, see mknod(2).
        """
        if not isinstance(to, BulkNamedDirectory):
            return list(range(len(nodes)))
        source = cast("int", self._dir_fd)
        target = to._dir_fd  # noqa: SLF001 - of one class
        mknod, link, unlink, makedev = os.mknod, os.link, os.unlink, os.makedev
        at_once = True
        owner: tuple[int, int] | None = None
        failed: list[int] = []
        for position, (_, name, node) in enumerate(nodes):
            if "/" in name:
                check_name(name)
            mode = node.mode
            device = makedev(node.major, node.minor)
            try:
                mknod(_NODE, _FORMATS[node.type] | mode, device, dir_fd=source)
                if owner is None:
                    made = os.lstat(_NODE, dir_fd=source)
                    owner = made.st_uid, made.st_gid
                if owner != (node.uid, node.gid):
                    os.chown(_NODE, node.uid, node.gid, dir_fd=source, follow_symlinks=False)
                at_once = at_once and _chmod_at_once(source, mode)
                if not at_once:
                    os.chmod(_NODE, mode, dir_fd=source, follow_symlinks=False)
                link(_NODE, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                unlink(_NODE, dir_fd=source)
            except (OSError, ValueError):  # Python's word for a link, or a C library that cannot
                failed.append(position)
                with suppress(OSError):
                    unlink(_NODE, dir_fd=source)
        return failed


def _chmod_at_once(directory: int, mode: int) -> bool:
    """Set the mode of the node in one system call; False if that call is refused here.

    Raises:
        OSError: it cannot be set; ``EOPNOTSUPP`` if somebody put a link in the node's place.
    """
    try:
        _syscalls.fchmodat2(directory, _NODE.encode(), mode)
    except OSError as error:
        if error.errno in _REFUSALS:
            return False
        raise
    return True
