"""What to change when the kernel says no: a text for each errno and for what was being done."""

from __future__ import annotations

import enum
import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devroot._device import DeviceNode


class Doing(enum.Enum):
    """What was being done when the kernel refused it; the value completes "cannot"."""

    LOOK = "look at what is there"
    DIRECTORY = "make the directory"
    WORK = "make a working directory beside it"
    MAKE = "make the device node"
    LINK = "make the link"
    PUBLISH = "put it at its name"
    MEND = "mend mode or owner"
    REMOVE = "remove the node"
    END = "come to an end"


class DirectoryDeletedError(FileNotFoundError):
    """An open directory has no name any more; for use between these modules only."""


_DELETED: Final = (
    "this directory is stale: it was deleted on the host after it was mounted, so nothing can be"
    " made in it; it must be mounted anew: restart the pod, and mount a directory that the host"
    " does not delete, such as all of /dev"
)

_NEEDS: Final = {
    Doing.MAKE: (
        "mknod(2) needs CAP_MKNOD (run privileged, or add the capability MKNOD), the initial user"
        " namespace (no hostUsers: false, not rootless), and a device cgroup that allows to make"
        " {device} (the letter m in its rule)"
    ),
    Doing.MEND: (
        "this needs CAP_FOWNER for the mode and CAP_CHOWN for the owner, in a user namespace that"
        " maps the owner, and a file that is not immutable (lsattr)"
    ),
}
_REFUSED: Final = (
    "the process may not change this directory: it needs CAP_DAC_OVERRIDE and CAP_FOWNER here, a"
    " directory that is not immutable (lsattr), and a security policy that allows it"
)
_TEXTS: Final = {
    errno.EACCES: (
        "permission is denied: the process needs to be root with CAP_DAC_OVERRIDE, or a security"
        " policy (SELinux, AppArmor) forbids this and has to allow it"
    ),
    errno.EROFS: (
        "the mount is read-only here; mount it read-write (readOnly: false), or mount the host's"
        " directory read-write at another place"
    ),
    errno.ENOSPC: (
        "the file system is full; free some of its space or inodes (df, df -i), or give the tmpfs"
        " a larger size= or nr_inodes="
    ),
    errno.EDQUOT: "the owner's quota is used up; raise it, or remove something of the owner's",
    errno.EXDEV: (
        "the directory and the place beside it are two mounts, even if of one file system; mount"
        " the host's directory once and as a whole"
    ),
    errno.EBUSY: (
        "something is mounted at this name, as runtimes do with single devices; it is never"
        " replaced: do not give the container this device, or take the mount away"
    ),
    errno.EISDIR: "a directory is at this name, and it is never replaced; remove it first",
    errno.ENOTDIR: (
        "something stands where a directory is needed, and is neither followed nor replaced;"
        " remove it first"
    ),
    errno.ENAMETOOLONG: "a name has at most 255 bytes; choose a shorter one",
    errno.ENOENT: (
        "it vanished meanwhile: a mount was taken away, or the host removed a directory; make a"
        " new view (refresh) and try again"
    ),
    errno.EAGAIN: (
        "other processes keep changing this name; find out who, and let only one of them make it"
    ),
    errno.EMFILE: "this process has too many files open; close some, or raise its limit",
}
_TEXTS[errno.ELOOP] = _TEXTS[errno.ENOTDIR]


def advice(error: OSError, doing: Doing, *, node: DeviceNode | None = None) -> str:
    """Return what *error* means here and what to change.

    Args:
        error: what the kernel said; for an errno that is not known here its own text is given.
        doing: what was being done.
        node: the node that was being made, for the rule of a device cgroup.
    """
    number = error.errno or 0
    if isinstance(error, DirectoryDeletedError):
        text = _DELETED
    elif number == errno.EPERM:
        device = "the device" if node is None else f"'{node.type} {node.major}:{node.minor}'"
        text = _NEEDS.get(doing, _REFUSED).format(device=device)
    else:
        words = os.strerror(number) if number else str(error)
        text = _TEXTS.get(number) or error.strerror or words
    return f"cannot {doing.value}: {text}"
