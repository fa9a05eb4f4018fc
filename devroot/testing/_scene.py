"""How a test sets the scene: files are made and removed by somebody who may do anything."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devroot._filesystem import FileType
from devroot._paths import ContainerPath, as_container_path
from devroot.testing import _names, _specs
from devroot.testing._atomic import atomic
from devroot.testing._inodes import kernel_error
from devroot.testing._specs import DEFAULT_MODES, Spec
from devroot.testing._walk import walk

if TYPE_CHECKING:
    from collections.abc import Generator

    from devroot.testing._inodes import Entry, Inode
    from devroot.testing._rights import Credentials
    from devroot.testing._walk import Place


class Scene:
    """Files that a test makes, below the directory that it starts from.

    Nothing of this meets hooks or faults, capabilities or read-only mounts: it is the other side.

    .. versionadded:: 0.1.0
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _top(self) -> Place: ...

        @property
        def _who(self) -> Credentials: ...

    @atomic
    def add(self, *specs: str) -> None:
        """Make the files that the lines describe; see `TreeFileSystem`."""
        for spec in specs:
            self._put(_specs.parse(spec))

    @atomic
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

    @atomic
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

    @atomic
    def symlink(self, path: str | ContainerPath, target: str) -> None:
        """Make a symbolic link to the text *target*.

        Raises:
            OSError: ``EEXIST`` if anything is there; ``ENOENT`` if *target* is empty.
        """
        self._put(Spec(path=str(path), type=FileType.SYMLINK, mode=0o777, target=target))

    @atomic
    def fifo(self, path: str | ContainerPath, *, mode: int = 0o644) -> None:
        """Make a fifo.

        Raises:
            OSError: ``EEXIST`` if anything is there.
        """
        self._put(Spec(path=str(path), type=FileType.FIFO, mode=mode))

    @atomic
    def socket(self, path: str | ContainerPath, *, mode: int = 0o755) -> None:
        """Make a socket that nobody listens to.

        Raises:
            OSError: ``EEXIST`` if anything is there.
        """
        self._put(Spec(path=str(path), type=FileType.SOCKET, mode=mode))

    @atomic
    def hard_link(self, path: str | ContainerPath, existing: str | ContainerPath) -> None:
        """Give the file *existing* the second name *path*.

        Raises:
            OSError: ``ENOENT``; ``EEXIST`` if anything is at *path*; ``EPERM`` if *existing*
                is a directory.
        """
        self._put(Spec(path=str(path), type=None, target=str(existing)))

    @atomic
    def remove(self, path: str | ContainerPath) -> None:
        """Remove a name and, if it is a directory, all that is in it.

        A handle that somebody has on a directory stays, and says that its ``links`` are 0.

        Raises:
            OSError: ``ENOENT``; ``EBUSY`` for the root, and if something is mounted there or
                below.
        """
        with self._setting(as_container_path(path)) as (place, name):
            _check_no_mount(place.inode.lookup(name), self._top.mount.namespace)
            _drop(place.inode, name)

    @atomic
    def move(self, path: str | ContainerPath, to: str | ContainerPath) -> None:
        """Move a name, replacing what is at *to*, as rename(2) does.

        Raises:
            OSError: ``ENOENT``, ``EINVAL``, ``EISDIR``, ``ENOTDIR``, ``ENOTEMPTY``; ``EXDEV``
                from one mount to another; ``EBUSY`` for the root and for a mount point.
        """
        with (
            self._setting(as_container_path(path)) as (source, name),
            self._setting(as_container_path(to)) as (target, to_name),
        ):
            if source.mount is not target.mount:
                raise kernel_error(errno.EXDEV)
            namespace = self._top.mount.namespace
            _names.rename(
                source.inode,
                name,
                target.inode,
                to_name,
                replace=True,
                namespace=namespace,
                who=None,
            )

    @contextmanager
    def _setting(self, path: ContainerPath) -> Generator[tuple[Place, str]]:
        """Give the directory in which *path* is, made if it is missing, and the last name."""
        with self._about(path):
            if not path.name:
                raise kernel_error(errno.EBUSY)
            yield self._made(path.parent), path.name

    @contextmanager
    def _about(self, path: ContainerPath) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.filename is None:
                error.filename = str(path)
            raise

    def _made(self, path: ContainerPath) -> Place:
        if path.name:
            place = self._made(path.parent)
            if not place.inode.has(path.name):
                mode = DEFAULT_MODES[FileType.DIRECTORY]
                made = place.mount.volume.new(FileType.DIRECTORY, mode=mode)
                made.uid = made.gid = self._who.kept(0)
                place.inode.add(path.name, made)
        return self._at(path, directory=True)

    def _at(self, path: ContainerPath, *, directory: bool = False) -> Place:
        """Return what is at *path*, every link on the way followed."""
        return walk(self._top, f"{path}/" if directory else str(path))

    def _put(self, spec: Spec) -> Inode:
        path = as_container_path(spec.path)
        if spec.type is FileType.DIRECTORY and not path.name:
            self._complete(self._top.inode, spec)
            return self._top.inode
        with self._setting(path) as (place, name):
            directory = place.inode
            if spec.type is None:
                return self._put_second_name(spec, place, name)
            if spec.type is FileType.SYMLINK:
                _names.check_target(spec.target)
            if spec.type in {FileType.DIRECTORY, FileType.REGULAR} and directory.has(name):
                inode = place.enter(name).inode
                if inode.type is not spec.type:
                    raise kernel_error(errno.EEXIST)
            else:
                directory.check_free(name)
                inode = place.mount.volume.new(spec.type, mode=spec.mode)
                directory.add(name, inode)
            self._complete(inode, spec)
            return inode

    def _complete(self, inode: Inode, spec: Spec) -> None:
        inode.mode = spec.mode
        inode.uid, inode.gid = self._who.kept(spec.uid), self._who.kept(spec.gid)
        inode.major, inode.minor = spec.major, spec.minor
        inode.target, inode.content, inode.live = spec.target, spec.content, None

    def _put_second_name(self, spec: Spec, place: Place, name: str) -> Inode:
        source = as_container_path(spec.target)
        found = self._at(source.parent, directory=True).enter(source.name)
        place.inode.check_free(name)
        if found.mount is not place.mount:
            raise kernel_error(errno.EXDEV)
        _names.link(found.inode, place.inode, name, who=None)
        return found.inode


def _check_no_mount(entry: Entry, namespace: object) -> None:
    """Check that nothing is mounted on *entry* or below.

    Raises:
        OSError: ``EBUSY``.
    """
    entry.check_not_busy(namespace)
    for below in entry.inode.entries.values():
        _check_no_mount(below, namespace)


def _drop(directory: Inode, name: str) -> None:
    inode = directory.child(name)
    for below in tuple(inode.entries):
        _drop(inode, below)
    directory.drop(name)
