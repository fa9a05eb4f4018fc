"""What one process sees of the files in memory: a `FileSystem`, with faults on demand."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devroot._filesystem import FileStatus, FileType
from devroot._local import _walk
from devroot._paths import ContainerPath
from devroot.testing._handles import TreeDirectory
from devroot.testing._inodes import kernel_error
from devroot.testing._rights import READ, SEARCH
from devroot.testing._scene import Scene
from devroot.testing._walk import Place, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from devroot.testing._faults import Operation
    from devroot.testing._process import Process
    from devroot.testing._rights import Credentials


class ProcessFileSystem(Scene):
    """The files in memory, as one process sees them; a `FileSystem`.

    `FakeContainer.view` has one. It answers with the errors of Linux for this process: its
    mounts, its user and groups, its capabilities and its user namespace. What would depend on
    something that is not modelled is a `NotModelledError`.

    Besides, it has the methods by which a test makes and removes files: those are not the
    process's work, and meet neither hooks nor faults.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_process",)

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def _top(self) -> Place:
        return self._process.root

    @property
    def _who(self) -> Credentials:
        return self._process.who

    def __repr__(self) -> str:
        return f"<ProcessFileSystem of process {self._process.pid}>"

    def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
        """Return where *unsafe_path* leads inside *root*, every link followed."""
        with self._walking("resolve", root, unsafe_path) as place:
            return ContainerPath(place.path)

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> TreeDirectory:
        """Open the directory to which *unsafe_path* leads inside *root*."""
        with self._walking("open_directory", root, unsafe_path) as place:
            if not place.inode.is_directory:
                raise kernel_error(errno.ENOTDIR)
            self._process.who.check(place.inode, READ | SEARCH)
            return TreeDirectory(self._process, place)

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        """Return the status of the file to which *unsafe_path* leads inside *root*."""
        with self._walking("status", root, unsafe_path) as place:
            return self._process.who.status(place.inode)

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        """Return the content of the regular file to which *unsafe_path* leads inside *root*."""
        with self._walking("read_bytes", root, unsafe_path) as place:
            if place.inode.type is not FileType.REGULAR:
                raise kernel_error(errno.EINVAL)
            self._process.who.check(place.inode, READ)
            return place.inode.read(self._process)

    def read_link(self, root: ContainerPath, unsafe_path: str, /) -> str:
        """Return the target of the link at *unsafe_path*, whose last component is not followed."""
        with self._walking("read_link", root, unsafe_path, follow_last=False) as place:
            if place.inode.type is not FileType.SYMLINK:
                raise kernel_error(errno.EINVAL)
            return place.inode.target_for(self._process)

    def before(self, hook: Callable[[Operation], object]) -> None:
        """Call *hook* before every operation from now on, to play whoever else is at work.

        It may change the tree, raise (then the operation does not take place), or take note.
        """
        self._process.faults.watch(hook)

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
            operation: as `Operation.name` has it.
            error: an errno, or an exception to raise as it is; `ProcessKilled` is a process
                that ends there without tidying up.
            path: count only operations with this `Operation.path`.
            nth: the first call that fails, counted from 1 and from now on.
            times: how many calls in a row fail.

        Raises:
            InvalidSceneError: there is no such operation, or a number is below 1.
        """
        self._process.faults.add(operation, error, path=path, nth=nth, times=times)

    def restart(self) -> None:
        """Go on as a new process, after `ProcessKilled` or instead of the one at work.

        The handles of the old one are closed, and so its locks are given back.
        """
        self._process.incarnation = object()

    @contextmanager
    def _walking(
        self, operation: str, root: ContainerPath, unsafe_path: str, *, follow_last: bool = True
    ) -> Generator[Place]:
        _walk.check(root, unsafe_path)
        names = [name for name in f"{root}/{unsafe_path}".split("/") if name not in {"", "."}]
        with self._process.doing(operation, "/" + "/".join(names)):
            process = self._process
            start = Place(walk(process.root, f"{root}/", process=process).spot, str(root))
            place = walk(start, unsafe_path, follow_last=follow_last, process=process)
            try:
                yield place
            except OSError as error:
                error.filename = place.path
                raise
