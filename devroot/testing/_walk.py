"""How a path text leads to a file inside a root, by the rules of path_resolution(7)."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs

from devroot._filesystem import FileType
from devroot._local import _walk
from devroot.testing._inodes import kernel_error
from devroot.testing._rights import SEARCH
from devroot.testing._vfs import Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot.testing._inodes import Inode
    from devroot.testing._process import Process
    from devroot.testing._vfs import VfsMount


@attrs.frozen(eq=False)
class Place:
    """A file as a mount shows it, with the way that led to it, every link on it followed.

    Attributes:
        spot: the mount and the entry.
        path: the text of the way.
        above: the place of the directory that holds it; None for the root of the walk.
    """

    spot: Spot
    path: str = "/"
    above: Place | None = None

    @property
    def mount(self) -> VfsMount:
        """The mount that shows it."""
        return self.spot.mount

    @property
    def inode(self) -> Inode:
        """The file."""
        return self.spot.entry.inode

    def path_of(self, name: str) -> str:
        """Return the text of the path of *name* in this place."""
        return f"{self.path.rstrip('/')}/{name}"

    def enter(self, name: str, process: Process | None = None) -> Place:
        """Return the place of *name* in this directory: what is mounted there, if anything.

        Args:
            name: in this directory.
            process: who looks it up; None for a test, which may do so anywhere.

        Raises:
            NotModelledError: Linux has names there that are not modelled, and this may be one.
            OSError: ``ENOENT``, ``ENAMETOOLONG``, ``EACCES``.
        """
        if process is not None:
            process.who.check(self.inode, SEARCH)
            self.inode.check_known(name, self.path_of(name))
        return Place(Spot(self.mount, self.inode.lookup(name)).top(), self.path_of(name), self)

    def back(self, root: Place) -> Place:
        """Return the place of ``..``, which at *root* is what is mounted on the root."""
        above = self.above or root
        return Place(above.spot.top(), above.path, above.above)


def walk(
    root: Place, unsafe_path: str, *, follow_last: bool = True, process: Process | None = None
) -> Place:
    """Return where *unsafe_path* leads, as if after chroot(2) to *root*.

    Args:
        root: a directory; ``..`` and absolute links stay inside it.
        unsafe_path: a text that `check` has passed. A slash at its end demands a directory, and
            the link before it is then followed in any case.
        follow_last: whether a link at the last component is followed.
        process: who walks, what it may look into, and what ``/proc/self`` is to it; None for a
            test, which may look anywhere.

    Raises:
        NotModelledError: as from `Place.enter`.
        OSError: ``ENOENT``, ``ENOTDIR``, ``ELOOP``, ``EACCES``, ``ENAMETOOLONG``, with
            ``filename`` set to the path that was reached.
    """
    place = root
    links = 0
    pending = list(_steps(unsafe_path))
    while pending:
        name = pending.pop()
        if not place.inode.is_directory:
            raise _error(errno.ENOTDIR, place.path)
        if not name:
            continue
        if name in {".", ".."}:
            _check_search(place, process)
            place = place.back(root) if name == ".." else place
            continue
        try:
            found = place.enter(name, process)
        except OSError as error:
            error.filename = place.path_of(name)
            raise
        if found.inode.type is FileType.SYMLINK and (pending or follow_last):
            links += 1
            if links > _walk.MAX_LINKS or found.inode.magic:
                raise _error(errno.ELOOP, found.path)
            if process is not None and process.protected_symlinks and not any(pending):
                _check_follows(found, place, process)
            target = found.inode.target_for(process)
            place = root if target.startswith("/") else place
            pending.extend(_steps(target))
        else:
            place = found
    return place


def _steps(text: str) -> Iterator[str]:
    """Yield the components of *text*, the last one first.

    An empty one at the end stands for a trailing slash.
    """
    names = text.split("/")
    last = len(names) - 1
    for index in range(last, -1, -1):
        if names[index] or (index == last and last):
            yield names[index]


def _check_search(place: Place, process: Process | None) -> None:
    if process is not None:
        try:
            process.who.check(place.inode, SEARCH)
        except OSError as error:
            error.filename = place.path
            raise


def _check_follows(link: Place, directory: Place, process: Process) -> None:
    try:
        process.who.check_follows(link.inode, directory.inode)
    except OSError as error:
        error.filename = link.path
        raise


def _error(number: int, filename: str) -> OSError:
    error = kernel_error(number)
    error.filename = filename
    return error
