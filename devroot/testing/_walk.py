"""How a path text leads to a file inside a root, by the rules of path_resolution(7)."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import attrs

from devroot._filesystem import FileType
from devroot._local_walk import MAX_LINKS
from devroot.testing._inodes import Inode, kernel_error

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen(eq=False)
class Place:
    """A file together with the way that led to it, every link on it followed.

    Attributes:
        inode: the file.
        path: the text of the way.
        above: the place of the directory that holds it; None for the root of the walk.
    """

    inode: Inode
    path: str = "/"
    above: Place | None = None

    def path_of(self, name: str) -> str:
        """Return the text of the path of *name* in this place."""
        return f"{self.path.rstrip('/')}/{name}"

    def enter(self, name: str) -> Place:
        """Return the place of *name* in this directory.

        Raises:
            OSError: ``ENOENT`` or ``ENAMETOOLONG``, with the path that was reached.
        """
        path = self.path_of(name)
        try:
            return Place(self.inode.child(name), path, self)
        except OSError as error:
            error.filename = path
            raise


def walk(root: Place, unsafe_path: str, *, follow_last: bool = True) -> Place:
    """Return where *unsafe_path* leads, as if after chroot(2) to *root*.

    Args:
        root: a directory; ``..`` and absolute links stay inside it.
        unsafe_path: a text that `check` has passed. A slash at its end demands a directory, and
            the link before it is then followed in any case.
        follow_last: whether a link at the last component is followed.

    Raises:
        OSError: ``ENOENT``, ``ENOTDIR``, ``ELOOP``, ``ENAMETOOLONG``, with ``filename`` set to
            the path that was reached.
    """
    place = root
    links = 0
    pending = list(_steps(unsafe_path))
    while pending:
        name = pending.pop()
        if not place.inode.is_directory:
            raise _error(errno.ENOTDIR, place.path)
        if name in {"", "."}:
            continue
        if name == "..":
            place = place.above or root
            continue
        found = place.enter(name)
        if found.inode.type is FileType.SYMLINK and (pending or follow_last):
            links += 1
            if links > MAX_LINKS:
                raise _error(errno.ELOOP, found.path)
            target = found.inode.target
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


def _error(number: int, filename: str) -> OSError:
    error = kernel_error(number)
    error.filename = filename
    return error
