"""The seam between the library and the file system: two protocols and the records they speak.

Everything that the library reads goes through a `FileSystem`, and everything that it changes
through a `Directory` handle that was opened inside a root. `LocalFileSystem` is the real one;
a test gives another.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from devroot._paths import ContainerPath


class FileType(enum.Enum):
    """The type of a file, as in the file type field of inode(7).

    .. versionadded:: 0.1.0
    """

    REGULAR = "regular file"
    DIRECTORY = "directory"
    SYMLINK = "symbolic link"
    CHARACTER = "character device"
    BLOCK = "block device"
    FIFO = "fifo"
    SOCKET = "socket"


@attrs.frozen(kw_only=True)
class FileStatus:
    """What inode(7) says of a file.

    Attributes:
        type: the file's type.
        mode: permission, set-ID and sticky bits (octal, at most 0o7777), without the type.
        uid: the owner's user ID, as this process's user namespace shows it.
        gid: the owner's group ID, likewise.
        major: major number (decimal) of a device node; 0 for anything else.
        minor: minor number (decimal) of a device node; 0 for anything else.
        links: the number of hard links; 0 for a directory that was deleted.
        size: bytes.
        device: number of the file system that holds the file (``st_dev``).
        inode: number of the inode in that file system.

    .. versionadded:: 0.1.0
    """

    type: FileType
    mode: int
    uid: int = 0
    gid: int = 0
    major: int = 0
    minor: int = 0
    links: int = 1
    size: int = 0
    device: int = 0
    inode: int = 0

    @property
    def is_directory(self) -> bool:
        """Whether this is a directory."""
        return self.type is FileType.DIRECTORY

    def same_file(self, other: FileStatus) -> bool:
        """Whether *other* describes the same inode of the same file system."""
        return (self.device, self.inode) == (other.device, other.inode)


class Directory(Protocol):
    """An open directory: a handle that stays on its inode wherever names move to.

    Every *name* is a single component, never empty, ``.``, ``..`` or with a slash; another one
    raises `InvalidPathError`. No operation follows a symbolic link at *name*. Errors of the
    kernel are `OSError` with ``errno`` and with ``filename`` set to the path of the name.

    .. versionadded:: 0.1.0
    """

    @property
    def path(self) -> ContainerPath:
        """Where the directory was found when it was opened; it may have moved since."""
        ...

    def close(self) -> None:
        """Give the handle back; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    def status(self) -> FileStatus:
        """Return what the directory itself is now; ``links`` is 0 once it was deleted."""
        ...

    def names(self) -> list[str]:
        """Return the names in the directory, without ``.`` and ``..``, in no order."""
        ...

    def lstat(self, name: str, /) -> FileStatus:
        """Return the status of *name* itself, a symbolic link included."""
        ...

    def read_link(self, name: str, /) -> str:
        """Return the target of the symbolic link *name*."""
        ...

    def open_directory(self, name: str, /) -> Directory:
        """Open the directory *name*.

        Raises:
            NotADirectoryError: *name* is something else, a symbolic link included.
        """
        ...

    def make_directory(self, name: str, /, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Make the directory *name* with exactly this mode and owner, whatever the umask.

        It takes several system calls, so the name is complete only at the end: make it in a
        directory that nobody else looks into, and publish it by `rename`.
        """
        ...

    def make_node(  # noqa: PLR0913 - a device node is all of these
        self,
        name: str,
        /,
        *,
        type: FileType,
        major: int,
        minor: int,
        mode: int,
        uid: int = 0,
        gid: int = 0,
    ) -> None:
        """Make the device node *name* with exactly this mode and owner, whatever the umask.

        It takes several system calls, so the name is complete only at the end: make it in a
        directory that nobody else looks into, and publish it by `link` or `rename`.
        """
        ...

    def make_symlink(self, name: str, target: str, /) -> None:
        """Make *name* a symbolic link to the text *target*."""
        ...

    def write_file(self, name: str, data: bytes, /, *, mode: int) -> None:
        """Make the regular file *name* with this content and exactly this mode, whatever the umask.

        The owner is who makes it. When it returns, the content is on the disk (fsync(2)), where
        there is one. It takes several system calls, so the name is complete only at the end: make
        it under a name that nobody looks for, and publish it by `rename`.

        Raises:
            FileExistsError: *name* exists, be it as a link that leads nowhere.
        """
        ...

    def mend(
        self,
        name: str,
        /,
        *,
        expected: FileStatus,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
    ) -> None:
        """Set the mode or owner of *name* in place, if it still is the file *expected*.

        The file is held by a descriptor from the check to the change, so a swap of the name in
        between changes nothing else. ACL and security labels stay.

        Raises:
            OSError: ``ESTALE`` if *name* is another file by now.
        """
        ...

    def link(self, name: str, to: Directory, to_name: str, /) -> None:
        """Give the file *name* a second name in *to*; never replaces.

        Raises:
            FileExistsError: *to_name* exists.
        """
        ...

    def rename(self, name: str, to: Directory, to_name: str, /, *, replace: bool) -> None:
        """Move *name* to *to_name* in *to* in one step.

        With ``replace=False`` it never replaces (``RENAME_NOREPLACE`` of renameat2(2)).

        Raises:
            FileExistsError: *to_name* exists and ``replace`` is false.
        """
        ...

    def unlink(self, name: str, /) -> None:
        """Remove the name of anything but a directory."""
        ...

    def remove_directory(self, name: str, /) -> None:
        """Remove the empty directory *name*."""
        ...

    def try_lock(self) -> bool:
        """Take the directory's exclusive flock(2) lock, without waiting; `close` gives it back.

        Returns:
            Whether this handle now holds it.
        """
        ...


class FileSystem(Protocol):
    """What a process can see of files.

    *root* is a container path that is looked up as any process would. *unsafe_path* is text
    that somebody else chose: it is resolved as if after chroot(2) to *root*, so absolute links
    and ``..`` stay inside, 40 links are followed at most, and a trailing slash demands a
    directory. Whether it starts with a slash makes no difference.

    Errors are `OSError` with ``errno`` and ``filename``: ``ENOENT``, ``ENOTDIR``, ``ELOOP``,
    ``EACCES``, ``ENAMETOOLONG``; a NUL in *unsafe_path* is `InvalidPathError`.

    .. versionadded:: 0.1.0
    """

    def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
        """Return where *unsafe_path* leads inside *root*, every link followed.

        Races: the answer is true of one moment. Whoever acts on the place opens it instead.
        """
        ...

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> Directory:
        """Open the directory to which *unsafe_path* leads inside *root*."""
        ...

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """Return the status of the file to which *unsafe_path* leads inside *root*."""
        ...

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        """Return the content of the regular file to which *unsafe_path* leads inside *root*.

        Raises:
            OSError: ``EINVAL`` if it is not a regular file; it is then not opened for reading.
        """
        ...

    def read_link(self, root: ContainerPath, unsafe_path: str, /) -> str:
        """Return the target of the link at *unsafe_path*, whose last component is not followed.

        This also reads the magic links of proc(5), such as ``self/ns/user``.
        """
        ...
