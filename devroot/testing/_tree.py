"""`TreeFileSystem`: a file system in memory, with what pyfakefs and a temporary folder lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from devroot._filesystem import FileType
from devroot.testing import _specs
from devroot.testing._atomic import atomic
from devroot.testing._files import ProcessFileSystem
from devroot.testing._inodes import Volume
from devroot.testing._process import Process
from devroot.testing._specs import DEFAULT_MODES, DEVICE_TYPES, Spec
from devroot.testing._vfs import MountKernel, Spot
from devroot.testing._walk import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._paths import ContainerPath

_DEVICE: Final = 0x2A
"""``st_dev`` of a tree, unless it is said: major 0 as for any file system in memory, minor 42."""


class TreeFileSystem(ProcessFileSystem):
    """One directory tree in memory; a `FileSystem` for tests, on any operating system.

    It has directories, files, links, device nodes, fifos and sockets with owner, mode, inode
    number and link count, and answers with the errors of Linux. No root, no GPU and no real
    ``/dev`` is needed, and nothing is patched: give it to a `ContainerView`.

    Each line describes a file; missing parents are made. A line starts with the type and the
    path, and quotes are those of a shell::

        dir    /dev/nvidia-caps 0755 0:0
        file   /etc/hostname 0644 0:0
        link   /lib usr/lib
        char   /dev/null 1:3 0666 0:0
        block  /dev/sda 8:0 0660 0:6
        fifo   /run/queue 0600
        socket /run/agent.sock 0600
        hard   /dev/zero2 /dev/zero

    Mode (octal) and owner (``UID:GID``) can be left out. The content of a ``file`` is what
    follows the first line of its text.

    What it does not model, and what then happens:

    * mounts: there is one file system, and no operation gives ``EXDEV``, except with a handle
      of another tree, or ``EROFS``;
    * other users: the process is root, with every capability and the umask 0022, so that
      ``EACCES``, and ``EPERM`` but for a second name of a directory, come from `fail` only;
    * the magic links of proc(5): there is no procfs in it;
    * times, ACLs and extended attributes, which no protocol asks for.

    Args:
        specs: the lines, in the order in which they are to take effect.
        device: the number of the file system (``st_dev``).

    Raises:
        InvalidSceneError: a line cannot be understood.
        OSError: a line contradicts one before it, as from the method for its type.

    .. versionadded:: 0.1.0
    """

    __slots__ = ()

    def __init__(self, specs: Iterable[str] = (), *, device: int = _DEVICE) -> None:
        mount = MountKernel().new_root(Volume(device))
        assert mount.namespace is not None  # noqa: S101 - a root mount has one
        top = Place(Spot(mount, mount.root))
        super().__init__(Process(namespace=mount.namespace, root=top))
        self.add(*specs)

    def __repr__(self) -> str:
        return f"<TreeFileSystem of {len(self.listing())} files>"

    @atomic
    def device(  # noqa: PLR0913 - a device node is all of these
        self,
        path: str | ContainerPath,
        *,
        major: int,
        minor: int,
        type: Literal["c", "b"] = "c",
        mode: int = 0o666,
        uid: int = 0,
        gid: int = 0,
    ) -> None:
        """Make a device node.

        Raises:
            OSError: ``EEXIST`` if anything is there.
        """
        self._put(
            Spec(
                path=str(path),
                type=DEVICE_TYPES[type],
                mode=mode,
                uid=uid,
                gid=gid,
                major=major,
                minor=minor,
            )
        )

    @atomic
    def listing(self) -> list[str]:
        """Return every file as the line that describes it, in the order of the paths.

        ``TreeFileSystem(tree.listing())`` is an equal tree.
        """
        root = self._top.inode
        lines: list[str] = []
        first: dict[int, str] = {}
        if (root.mode, root.uid, root.gid) != (DEFAULT_MODES[FileType.DIRECTORY], 0, 0):
            lines.append(_specs.render("/", root))
        for path, inode in root.walk():
            if inode.number in first:
                lines.append(_specs.render_second_name(path, first[inode.number]))
            else:
                first[inode.number] = path
                lines.append(_specs.render(path, inode))
        return lines
