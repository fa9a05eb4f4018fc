"""Resolution inside a root in one system call, where the kernel and its filters let us."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

from devroot import _syscalls
from devroot._local._handle import held_path
from devroot._local._walk import join, place
from devroot._log import Event, tell

if TYPE_CHECKING:
    from devroot._paths import ContainerPath

RETRIES: Final = 128
"""How often the kernel is asked at most while it answers ``EAGAIN``."""

_REFUSALS: Final = {errno.ENOSYS, errno.EPERM, errno.EINVAL}
"""What a kernel or a seccomp filter answers that does not know the call."""

_DELETED: Final = " (deleted)"


class Support:
    """What was learnt of openat2(2) in this process; a copy in another one learns anew.

    Only that it is not supported is remembered: a filter can also come later.

    Attributes:
        refused: the error number with which it is not supported; 0 as far as is known.
        retries: how often it answered ``EAGAIN``.
    """

    __slots__ = ("refused", "retries")

    def __init__(self) -> None:
        self.refused = 0
        self.retries = 0

    def __reduce__(self) -> tuple[type[Support], tuple[()]]:
        return Support, ()


def lookup(root: ContainerPath, path: bytes, flags: int, support: Support) -> int | None:
    """Return a descriptor of what *path* leads to inside *root*, or None if it cannot be had so.

    None says nothing of the path: a walk finds it, or finds what is wrong and where.

    Raises:
        OSError: *root* cannot be opened as a directory.
    """
    if support.refused:
        return None
    base = os.open(str(root), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for _ in range(RETRIES):
            try:
                return _syscalls.openat2(base, path, flags=flags | os.O_PATH | os.O_CLOEXEC)
            except BlockingIOError:
                support.retries += 1
            except OSError as error:
                if error.errno in _REFUSALS:
                    support.refused = _refusal(base)
                    if support.refused:
                        tell(Event.OPENAT2_REFUSED, os.strerror(support.refused))
                return None
        tell(Event.OPENAT2_UNSURE, os.fsdecode(path), root)
        return None
    finally:
        os.close(base)


def _refusal(base: int) -> int:
    """Return the error number with which even the root itself is refused; 0 if it is not.

    So a file system in the tree cannot make the call look unsupported by its own errors.
    """
    try:
        os.close(_syscalls.openat2(base, b"/", flags=os.O_PATH | os.O_CLOEXEC))
    except OSError as error:
        return (error.errno or 0) if error.errno in _REFUSALS else 0
    return 0


def place_of(descriptor: int, root: ContainerPath) -> ContainerPath | None:
    """Return where the file that *descriptor* holds lies below *root*, or None if that is unsure.

    The kernel knows where it lies without links, see proc_pid_fd(5). If *root* is a path through
    a link, the kernel is asked for it in the same way.
    """
    try:
        found = os.readlink(held_path(descriptor))
        if found.endswith(_DELETED):
            return None
        if _is_below(found, str(root)):
            return place(found)
        base = os.open(str(root), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            top = os.readlink(held_path(base))
        finally:
            os.close(base)
    except OSError:
        return None
    if not _is_below(found, top):
        return None
    return place(join(root, found[len(top) :].lstrip("/")))


def _is_below(place: str, top: str) -> bool:
    """Whether *place* is *top* or lies below it, by whole components."""
    return place.startswith(top) and (
        len(place) == len(top) or top == "/" or place[len(top)] == "/"
    )
