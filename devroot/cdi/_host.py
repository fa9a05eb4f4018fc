"""What is at a host path, looked at from a container through what is mounted there."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, final

from devroot._view import ROOT
from devroot.errors import NotMountedError

if TYPE_CHECKING:
    from devroot._filesystem import FileStatus, FileSystem
    from devroot._mounts import MountTable
    from devroot._paths import ContainerPath, HostPath

_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Unseen(Exception):  # noqa: N818 - it is no error, and leaves this room as a problem
    """A host path cannot be looked at from here; the text says why."""


@final
class HostFiles:
    """The host's files as far as a mount table shows them.

    Args:
        filesystem: the files of the container.
        mounts: which of the host's are where; None if nobody says.
    """

    def __init__(self, filesystem: FileSystem, mounts: MountTable | None) -> None:
        self._filesystem = filesystem
        self._mounts = mounts

    def status(self, path: HostPath, *, follow_last: bool) -> FileStatus | None:
        """Return the status of the host's file; None if there is none.

        Links on the way are followed inside the mount that shows the path.

        Args:
            path: on the host.
            follow_last: whether a link at the path itself is followed, too.

        Raises:
            Unseen: no mount shows it, or it cannot be looked at.
            OSError: for want of descriptors or memory.
        """
        if self._mounts is None:
            message = f"nobody said where {path} of the host is mounted in this container"
            raise Unseen(message)
        try:
            place = self._mounts.to_container(path)
        except NotMountedError as error:
            message = f"{path} of the host is not mounted in this container"
            raise Unseen(message) from error
        mount = self._mounts.covering(place)
        root = ROOT if mount is None or mount.container == place else mount.container
        try:
            return self._look(root, place, follow_last=follow_last)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in _EXHAUSTED:
                raise
            message = f"{path} of the host cannot be looked at: {error}"
            raise Unseen(message) from error

    def _look(self, root: ContainerPath, place: ContainerPath, *, follow_last: bool) -> FileStatus:
        below = place.relative_to(root)
        if follow_last or below == ".":
            return self._filesystem.status(root, below)
        parent, _, name = below.rpartition("/")
        with self._filesystem.open_directory(root, f"/{parent}") as directory:
            return directory.lstat(name)
