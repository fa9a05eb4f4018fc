"""`TreeFileSystem`: a file system in memory, with what pyfakefs and a temporary folder lack."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from devroot._filesystem import FileStatus, FileType
from devroot._local_walk import check
from devroot._paths import ContainerPath, as_container_path
from devroot.testing import _inodes, _specs
from devroot.testing._handles import Kernel, TreeDirectory
from devroot.testing._inodes import Inode, Volume, kernel_error
from devroot.testing._specs import DEFAULT_MODES, Spec
from devroot.testing._walk import Place, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from devroot.testing._faults import Operation

_DEVICE: Final = 0x2A
"""``st_dev`` of a tree, unless it is said: major 0 as for any file system in memory, minor 42."""

_DEVICE_TYPES: Final = {"c": FileType.CHARACTER, "b": FileType.BLOCK}


class TreeFileSystem:
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
    * permissions: the caller has every capability and the umask 0022; ``EACCES``, and ``EPERM``
      but for a second name of a directory, come from `fail` only;
    * the magic links of proc(5): `read_link` gives their text, following one is ``ENOENT``;
    * the size of a directory, which is 0; times, ACLs and extended attributes, which no
      protocol asks for.

    Args:
        specs: the lines, in the order in which they are to take effect.
        device: the number of the file system (``st_dev``).

    Raises:
        InvalidSceneError: a line cannot be understood.
        OSError: a line contradicts one before it, as from the method for its type.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_kernel", "_top")

    def __init__(self, specs: Iterable[str] = (), *, device: int = _DEVICE) -> None:
        volume = Volume(device)
        self._kernel = Kernel(volume)
        self._top = Place(volume.root)
        self.add(*specs)

    def __repr__(self) -> str:
        return f"<TreeFileSystem of {len(self.listing())} files>"

    # What the protocol asks for.

    def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
        """Return where *unsafe_path* leads inside *root*, every link followed."""
        with self._walking("resolve", root, unsafe_path) as place:
            return ContainerPath(place.path)

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> TreeDirectory:
        """Open the directory to which *unsafe_path* leads inside *root*."""
        with self._walking("open_directory", root, unsafe_path) as place:
            if not place.inode.is_directory:
                raise kernel_error(errno.ENOTDIR)
            return TreeDirectory(self._kernel, place.inode, place.path)

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """Return the status of the file to which *unsafe_path* leads inside *root*."""
        with self._walking("status", root, unsafe_path) as place:
            return place.inode.status()

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        """Return the content of the regular file to which *unsafe_path* leads inside *root*."""
        with self._walking("read_bytes", root, unsafe_path) as place:
            if place.inode.type is not FileType.REGULAR:
                raise kernel_error(errno.EINVAL)
            return place.inode.content

    def read_link(self, root: ContainerPath, unsafe_path: str, /) -> str:
        """Return the target of the link at *unsafe_path*, whose last component is not followed."""
        with self._walking("read_link", root, unsafe_path, follow_last=False) as place:
            if place.inode.type is not FileType.SYMLINK:
                raise kernel_error(errno.EINVAL)
            return place.inode.target

    # How a test sets the scene. None of this meets hooks or faults: it is the other side.

    def add(self, *specs: str) -> None:
        """Make the files that the lines describe; see the class."""
        for spec in specs:
            self._put(_specs.parse(spec))

    def directory(
        self, path: str | ContainerPath, *, mode: int = 0o755, uid: int = 0, gid: int = 0
    ) -> None:
        """Make a directory, or give the one that is there this mode and owner.

        Raises:
            OSError: ``EEXIST`` if something else is there, a symbolic link included; and, as
                from every method here, ``ENOTDIR``, ``ELOOP``, ``ENAMETOOLONG`` or, across a
                dangling link, ``ENOENT``.
        """
        self._put(Spec(path=str(path), type=FileType.DIRECTORY, mode=mode, uid=uid, gid=gid))

    def file(
        self,
        path: str | ContainerPath,
        content: str | bytes = b"",
        *,
        mode: int = 0o644,
        uid: int = 0,
        gid: int = 0,
    ) -> None:
        """Make a regular file, or give the one that is there this content, mode and owner.

        Raises:
            OSError: ``EEXIST`` if something else is there.
        """
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        regular = FileType.REGULAR
        self._put(Spec(path=str(path), type=regular, mode=mode, uid=uid, gid=gid, content=data))

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
                type=_DEVICE_TYPES[type],
                mode=mode,
                uid=uid,
                gid=gid,
                major=major,
                minor=minor,
            )
        )

    def symlink(self, path: str | ContainerPath, target: str) -> None:
        """Make a symbolic link to the text *target*.

        Raises:
            OSError: ``EEXIST`` if anything is there; ``ENOENT`` if *target* is empty.
        """
        self._put(Spec(path=str(path), type=FileType.SYMLINK, mode=0o777, target=target))

    def fifo(self, path: str | ContainerPath, *, mode: int = 0o644) -> None:
        """Make a fifo.

        Raises:
            OSError: ``EEXIST`` if anything is there.
        """
        self._put(Spec(path=str(path), type=FileType.FIFO, mode=mode))

    def socket(self, path: str | ContainerPath, *, mode: int = 0o755) -> None:
        """Make a socket that nobody listens to.

        Raises:
            OSError: ``EEXIST`` if anything is there.
        """
        self._put(Spec(path=str(path), type=FileType.SOCKET, mode=mode))

    def hard_link(self, path: str | ContainerPath, existing: str | ContainerPath) -> None:
        """Give the file *existing* the second name *path*.

        Raises:
            OSError: ``ENOENT``; ``EEXIST`` if anything is at *path*; ``EPERM`` if *existing*
                is a directory.
        """
        self._put(Spec(path=str(path), type=None, target=str(existing)))

    def remove(self, path: str | ContainerPath) -> None:
        """Remove a name and, if it is a directory, all that is in it.

        A handle that somebody has on a directory stays, and says that its ``links`` are 0.

        Raises:
            OSError: ``ENOENT``; ``EBUSY`` for the root.
        """
        with self._setting(as_container_path(path)) as (directory, name):
            _drop(directory, name)

    def move(self, path: str | ContainerPath, to: str | ContainerPath) -> None:
        """Move a name, replacing what is at *to*, as rename(2) does.

        Raises:
            OSError: ``ENOENT``, ``EINVAL``, ``EISDIR``, ``ENOTDIR``, ``ENOTEMPTY``; ``EBUSY``
                for the root.
        """
        with (
            self._setting(as_container_path(path)) as (source, name),
            self._setting(as_container_path(to)) as (target, to_name),
        ):
            _inodes.rename(source, name, target, to_name, replace=True)

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

    # Faults on demand.

    def before(self, hook: Callable[[Operation], object]) -> None:
        """Call *hook* before every operation from now on, to play whoever else is at work.

        It may change the tree, raise (then the operation does not take place), or take note.
        """
        self._kernel.faults.watch(hook)

    def fail(
        self,
        operation: str,
        error: int | BaseException,
        *,
        path: str | ContainerPath | None = None,
        nth: int = 1,
        times: int = 1,
    ) -> None:
        """Let an operation fail.

        Args:
            operation: the `name` of an `Operation`.
            error: an errno, or an exception to raise as it is; `ProcessKilled` is a process
                that ends there without tidying up.
            path: count only operations with this `path`.
            nth: the first call that fails, counted from 1 and from now on.
            times: how many calls in a row fail.

        Raises:
            InvalidSceneError: there is no such operation, or a number is below 1.
        """
        self._kernel.faults.add(operation, error, path=path, nth=nth, times=times)

    def restart(self) -> None:
        """Go on as a new process, after `ProcessKilled` or instead of the one at work.

        The handles of the old one are closed, and so its locks are given back.
        """
        self._kernel.process = object()

    @contextmanager
    def _walking(
        self, operation: str, root: ContainerPath, unsafe_path: str, *, follow_last: bool = True
    ) -> Generator[Place]:
        check(root, unsafe_path)
        names = [name for name in f"{root}/{unsafe_path}".split("/") if name not in {"", "."}]
        with self._kernel.doing(operation, "/" + "/".join(names)):
            start = Place(walk(self._top, f"{root}/").inode, str(root))
            place = walk(start, unsafe_path, follow_last=follow_last)
            try:
                yield place
            except OSError as error:
                error.filename = place.path
                raise

    @contextmanager
    def _setting(self, path: ContainerPath) -> Generator[tuple[Inode, str]]:
        """Give the directory in which *path* is, made if it is missing, and the last name."""
        try:
            if not path.name:
                raise kernel_error(errno.EBUSY)
            yield self._made(path.parent), path.name
        except OSError as error:
            if error.filename is None:
                error.filename = str(path)
            raise

    def _made(self, path: ContainerPath) -> Inode:
        if path.name:
            directory = self._made(path.parent)
            if not directory.has(path.name):
                mode = DEFAULT_MODES[FileType.DIRECTORY]
                directory.add(path.name, self._kernel.volume.new(FileType.DIRECTORY, mode=mode))
        return walk(self._top, f"{path}/").inode

    def _put(self, spec: Spec) -> None:
        path = as_container_path(spec.path)
        if spec.type is FileType.DIRECTORY and not path.name:
            _complete(self._top.inode, spec)
            return
        with self._setting(path) as (directory, name):
            if spec.type is None:
                source = as_container_path(spec.target)
                _inodes.link(
                    walk(self._top, f"{source.parent}/").inode, source.name, directory, name
                )
                return
            if spec.type is FileType.SYMLINK:
                _inodes.check_target(spec.target)
            if spec.type in {FileType.DIRECTORY, FileType.REGULAR} and directory.has(name):
                inode = directory.child(name)
                if inode.type is not spec.type:
                    raise kernel_error(errno.EEXIST)
            else:
                directory.check_free(name)
                inode = self._kernel.volume.new(spec.type, mode=spec.mode)
                directory.add(name, inode)
            _complete(inode, spec)


def _complete(inode: Inode, spec: Spec) -> None:
    inode.mode, inode.uid, inode.gid = spec.mode, spec.uid, spec.gid
    inode.major, inode.minor = spec.major, spec.minor
    inode.target, inode.content = spec.target, spec.content


def _drop(directory: Inode, name: str) -> None:
    inode = directory.child(name)
    for below in tuple(inode.entries):
        _drop(inode, below)
    directory.drop(name)
