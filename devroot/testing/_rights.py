"""Who may do what to a file: path_resolution(7), capabilities(7), chown(2), user_namespaces(7)."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import attrs

from devroot._view import CAP_MKNOD
from devroot.testing._inodes import SET_GID, SET_UID, kernel_error

if TYPE_CHECKING:
    from devroot._filesystem import FileStatus
    from devroot.testing._inodes import Inode

READ: Final = 4
WRITE: Final = 2
SEARCH: Final = 1
"""What is wanted of a file, as the bits of its mode have it for one class."""

CAP_CHOWN: Final = 0
CAP_DAC_OVERRIDE: Final = 1
CAP_DAC_READ_SEARCH: Final = 2
CAP_FOWNER: Final = 3
CAP_FSETID: Final = 4
CAP_SYS_PTRACE: Final = 19
ALL_CAPABILITIES: Final = 2**41 - 1
"""The effective set of a process that may do anything; see linux/capability.h."""

EVERY_ID: Final = 2**32 - 1
OVERFLOW_ID: Final = 65534
"""As whose a process sees what belongs to nobody in its user namespace; user_namespaces(7)."""

_STICKY: Final = 0o1000
_STICKY_SHARED: Final = 0o1002
_GROUP_EXECUTE: Final = 0o010


@attrs.frozen(kw_only=True)
class Credentials:
    """In whose name a process works; see credentials(7).

    IDs are those of the initial user namespace, as the kernel keeps them.

    Attributes:
        uid: the effective user.
        gid: the effective group.
        groups: the supplementary groups.
        capabilities: the effective set, as a number with a bit for each.
        bounding: the bounding set, likewise.
        first: which user and group the first ones of its user namespace are.
        count: how many there are in it.
        initial: whether that is the initial user namespace.
    """

    uid: int = 0
    gid: int = 0
    groups: frozenset[int] = frozenset()
    capabilities: int = ALL_CAPABILITIES
    bounding: int = ALL_CAPABILITIES
    first: int = 0
    count: int = EVERY_ID
    initial: bool = True

    def may(self, capability: int) -> bool:
        """Whether it has a capability in the initial user namespace."""
        return self.initial and self._has(capability)

    def may_to(self, capability: int, inode: Inode) -> bool:
        """Whether it has a capability over a file, whose owner has to be of its namespace."""
        return self._has(capability) and self._knows(inode.uid) and self._knows(inode.gid)

    def is_in(self, gid: int) -> bool:
        """Whether it belongs to a group."""
        return gid == self.gid or gid in self.groups

    def shown(self, number: int) -> int:
        """Return the user or group *number* as its namespace counts."""
        return number - self.first if self._knows(number) else OVERFLOW_ID

    def status(self, inode: Inode) -> FileStatus:
        """Return what stat(2) says of a file."""
        status = inode.status()
        if self.initial:
            return status
        return attrs.evolve(status, uid=self.shown(status.uid), gid=self.shown(status.gid))

    def kept(self, number: int) -> int:
        """Return the user or group *number* of its namespace as the kernel keeps it.

        Raises:
            OSError: ``EINVAL`` if its namespace has no such ID.
        """
        if number >= self.count:
            raise kernel_error(errno.EINVAL)
        return number + self.first

    def check(self, inode: Inode, wanted: int) -> None:
        """Check that it may do what is *wanted* to a file, by mode, owner and capability.

        Raises:
            OSError: ``EACCES``.
        """
        granted = inode.mode
        if self.uid == inode.uid:
            granted >>= 6
        elif self.is_in(inode.gid):
            granted >>= 3
        if not wanted & ~granted:
            return
        only_looks = not wanted & WRITE
        if only_looks and self.may_to(CAP_DAC_READ_SEARCH, inode):
            return
        if not self.may_to(CAP_DAC_OVERRIDE, inode):
            raise kernel_error(errno.EACCES)

    def check_changes(self, directory: Inode) -> None:
        """Check that it may make and remove names in *directory*.

        Raises:
            OSError: ``EACCES``.
        """
        self.check(directory, WRITE | SEARCH)

    def check_removes(self, directory: Inode, inode: Inode) -> None:
        """Check that it may take a name of *inode* out of *directory*, which may be sticky.

        Raises:
            OSError: ``EACCES``; ``EPERM`` if it is another's, in a sticky directory of another.
        """
        self.check_changes(directory)
        if not directory.mode & _STICKY or self.uid in {inode.uid, directory.uid}:
            return
        self._require(CAP_FOWNER, inode)

    def check_links(self, inode: Inode) -> None:
        """Check that it may give a file a second name, where ``protected_hardlinks`` is on.

        Raises:
            OSError: ``EPERM`` if it is another's and is special, has a set-ID bit, or cannot be
                read and written by it; proc_sys_fs(5).
        """
        if self._owns(inode):
            return
        both = SET_GID | _GROUP_EXECUTE
        risky = inode.mode & SET_UID or inode.mode & both == both
        if risky or not inode.is_regular:
            raise kernel_error(errno.EPERM)
        try:
            self.check(inode, READ | WRITE)
        except PermissionError:
            raise kernel_error(errno.EPERM) from None

    def check_follows(self, link: Inode, directory: Inode) -> None:
        """Check that it may follow a trailing link, where ``protected_symlinks`` is on.

        Raises:
            OSError: ``EACCES`` if it is another's, in a sticky directory that all may write to
                and that is not the owner's of the link; proc_sys_fs(5).
        """
        if directory.mode & _STICKY_SHARED != _STICKY_SHARED:
            return
        if link.uid not in {self.uid, directory.uid}:
            raise kernel_error(errno.EACCES)

    def check_makes_devices(self) -> None:
        """Check that it may make device nodes, by mknod(2).

        Raises:
            OSError: ``EPERM``.
        """
        if not self.may(CAP_MKNOD):
            raise kernel_error(errno.EPERM)

    def own(self, inode: Inode, *, uid: int | None, gid: int | None) -> None:
        """Change the owner as chown(2) does: on a file, the set-ID bits go.

        Raises:
            OSError: ``EPERM``.
        """
        if uid is not None or not (
            self.uid == inode.uid and gid is not None and (self.is_in(gid) or gid == inode.gid)
        ):
            self._require(CAP_CHOWN, inode)
        mode = inode.mode if inode.is_directory else self._without_set_id(inode)
        new_gid = inode.gid if gid is None else gid
        if mode != inode.mode:
            self._require_owner(inode)
            mode = self._allowed(inode, mode, new_gid)
        inode.uid = inode.uid if uid is None else uid
        inode.gid, inode.mode = new_gid, mode

    def set_mode(self, inode: Inode, mode: int) -> None:
        """Change the mode as chmod(2) does.

        Raises:
            OSError: ``EPERM``.
        """
        self._require_owner(inode)
        inode.mode = self._allowed(inode, mode, inode.gid)

    def give_to_itself(self, inode: Inode, directory: Inode) -> None:
        """Make a new file its own, or of the group of a set-group-ID *directory*; inode(7)."""
        inode.uid, inode.gid = self.uid, self.gid
        if directory.mode & SET_GID:
            inode.gid = directory.gid
            if inode.is_directory:
                inode.mode |= SET_GID
            elif inode.mode & _GROUP_EXECUTE:
                inode.mode = self._allowed(inode, inode.mode, inode.gid)

    def may_inspect(self, other: Credentials) -> bool:
        """Whether it may look into a process of *other*; ``PTRACE_MODE_READ`` of ptrace(2)."""
        if self._has(CAP_SYS_PTRACE) and (self.initial or self.first == other.first):
            return True
        return (self.uid, self.gid, self.first) == (other.uid, other.gid, other.first) and not (
            other.capabilities & ~self.capabilities
        )

    def _has(self, capability: int) -> bool:
        return bool(self.capabilities >> capability & 1)

    def _knows(self, number: int) -> bool:
        return self.first <= number < self.first + self.count

    def _require(self, capability: int, inode: Inode) -> None:
        if not self.may_to(capability, inode):
            raise kernel_error(errno.EPERM)

    def _owns(self, inode: Inode) -> bool:
        """Whether it is the owner of a file, or may act like one."""
        return self.uid == inode.uid or (self._has(CAP_FOWNER) and self._knows(inode.uid))

    def _require_owner(self, inode: Inode) -> None:
        if not self._owns(inode):
            raise kernel_error(errno.EPERM)

    def _without_set_id(self, inode: Inode) -> int:
        mode = inode.mode & ~SET_UID
        if mode & _GROUP_EXECUTE or not self._is_trusted(inode, inode.gid):
            mode &= ~SET_GID
        return mode

    def _allowed(self, inode: Inode, mode: int, gid: int) -> int:
        """Return *mode* without the set-group-ID bit, if it may not give that."""
        return mode if self._is_trusted(inode, gid) else mode & ~SET_GID

    def _is_trusted(self, inode: Inode, gid: int) -> bool:
        return self.is_in(gid) or self.may_to(CAP_FSETID, inode)


ROOT: Final = Credentials()
"""A process that may do anything."""
