"""Views from a few lines of mountinfo, for tests of what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot._reach import examine
from devroot._view import ContainerView
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._evidence import Reach
    from devroot._filesystem import FileStatus

RECORDED: Final = Path(__file__).parent / "data" / "recorded"

ROOT_LINE: Final = "10 9 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u"
DEV_LINE: Final = "11 10 0:51 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755"
HOST_ROOT_LINE: Final = "1 0 8:1 / / rw - ext4 /dev/sda1 rw"
HOST_DEV_LINE: Final = "2 1 0:6 / /dev rw,nosuid - devtmpfs udev rw,size=4096k"
HOST_SHM_LINE: Final = "3 2 0:30 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw"
DEVTMPFS: Final = "devtmpfs udev rw,size=4096k"


def table_of(*lines: str) -> MountInfoTable[ContainerPath]:
    """Return a process's own table with these lines."""
    return MountInfoTable.parse("".join(f"{line}\n" for line in lines).encode())


def host_table_of(*lines: str) -> MountInfoTable[HostPath]:
    """Return a host's table with these lines."""
    return MountInfoTable.parse("".join(f"{line}\n" for line in lines).encode(), paths=HostPath)


def mounts_of(*mounts: str) -> MountTable:
    """Return the table of mounts: ``HOST:CONTAINER``, or ``:CONTAINER`` with no host side."""
    return MountTable(
        Mount(host=None, container=text[1:]) if text[0] == ":" else Mount.parse(text)
        for text in mounts
    )


def view_of(
    *lines: str,
    mounts: Iterable[str] | None = None,
    host: Iterable[str] | None = None,
    files: Iterable[str] | TreeFileSystem = (),
) -> ContainerView:
    """Return a view.

    Args:
        lines: of the process's own table; its root mount and private ``/dev`` if there are none.
        mounts: all that were asked for, as `mounts_of` takes them.
        host: the lines of the host's table, if it is granted.
        files: the files, as `TreeFileSystem` takes them.
    """
    return ContainerView(
        mountinfo=table_of(*(lines or (ROOT_LINE, DEV_LINE))),
        mounts=None if mounts is None else mounts_of(*mounts),
        host_mountinfo=None if host is None else host_table_of(*host),
        filesystem=files if isinstance(files, TreeFileSystem) else TreeFileSystem(files),
    )


def reach_of(path: str, view: ContainerView) -> Reach:
    """Return the reach of a container path."""
    return examine(view, ContainerPath(path))


def codes_of(reach: Reach) -> list[str]:
    """Return the codes of the evidence; the last one decided."""
    return [evidence.code.value for evidence in reach.evidence]


def said(path: str, view: ContainerView) -> tuple[str, str, str | None]:
    """Return the verdict, the code that decided and the host path, all as text."""
    reach = reach_of(path, view)
    host_path = None if reach.host_path is None else str(reach.host_path)
    return reach.verdict.value, codes_of(reach)[-1], host_path


class _LinkCount(TreeFileSystem):
    """Files of which one has another link count than the tree would give it."""

    def __init__(self, path: str, links: int, specs: Iterable[str]) -> None:
        super().__init__(specs)
        self._changed = ContainerPath(path)
        self._links = links

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """Return the status, with the link count of that one file."""
        status = super().status(root, unsafe_path)
        if self.resolve(root, unsafe_path) == self._changed:
            return attrs.evolve(status, links=self._links)
        return status


def files_with_unlinked(path: str, *specs: str, links: int = 0) -> TreeFileSystem:
    """Return files in which *path*, a directory if need be, lost its links while mounted there.

    Args:
        path: the file.
        specs: the files, as `TreeFileSystem` takes them.
        links: another link count.
    """
    return _LinkCount(path, links, specs or [f"dir {path}"])
