"""What a fake host and a fake container have in common: files, file systems and mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, overload

import attrs

from devroot._filesystem import FileType
from devroot._paths import ContainerPath, HostPath, as_container_path
from devroot.errors import InvalidSceneError, PathKindError
from devroot.testing._atomic import atomic
from devroot.testing._devices import FakeDevice, record
from devroot.testing._files import ProcessFileSystem
from devroot.testing._inodes import Volume, kernel_error
from devroot.testing._limits import Limit
from devroot.testing._options import PLAIN, Flags
from devroot.testing._procfs import ProcFiles, mountinfo
from devroot.testing._scene import Scene
from devroot.testing._specs import DEVICE_TYPES, Spec

if TYPE_CHECKING:
    from devroot.testing._peers import Propagation
    from devroot.testing._process import Process
    from devroot.testing._rights import Credentials
    from devroot.testing._vfs import MountKernel, VfsMount
    from devroot.testing._walk import Place
    from devroot.testing._world import World

Path = str | ContainerPath | HostPath
"""A path in the machine whose method it is given to."""


class Machine(Scene):
    """A host or a container.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_proc", "_process", "_world", "name")

    _kind: ClassVar[type[HostPath | ContainerPath]] = ContainerPath

    def __init__(self, name: str, world: World, process: Process, proc: ProcFiles) -> None:
        self.name: str = name
        self._world = world
        self._process = process
        self._proc = proc

    @property
    def _top(self) -> Place:
        return self._process.root

    @property
    def _who(self) -> Credentials:
        return self._process.who

    @property
    def filesystem(self) -> ProcessFileSystem:
        """The files as a process here sees them; also for hooks and faults."""
        return ProcessFileSystem(self._process)

    @atomic
    def mountinfo(self) -> str:
        """Return the mount table of a process here, as text."""
        return mountinfo(self._process)

    # Device nodes.

    @overload
    def device(self, path: Path) -> FakeDevice: ...

    @overload
    def device(
        self,
        path: Path,
        *,
        major: int,
        minor: int,
        type: Literal["c", "b"] = "c",
        mode: int = 0o666,
        uid: int = 0,
        gid: int = 0,
    ) -> FakeDevice: ...

    @atomic
    def device(  # noqa: PLR0913 - a device node is all of these
        self,
        path: Path,
        *,
        major: int | None = None,
        minor: int | None = None,
        type: Literal["c", "b"] = "c",
        mode: int = 0o666,
        uid: int = 0,
        gid: int = 0,
    ) -> FakeDevice:
        """Return the device node at *path*, which is made first if numbers are given.

        Raises:
            FileNotFoundError: there is none; it says which container has one there.
            InvalidSceneError: what is there is no device, or one number is missing.
            OSError: ``EEXIST`` if a node is to be made and anything is there.
        """
        text = str(path)
        if major is not None and minor is not None:
            kind = DEVICE_TYPES[type]
            self._put(
                Spec(path=text, type=kind, mode=mode, uid=uid, gid=gid, major=major, minor=minor)
            )
        elif major is not None or minor is not None:
            call = f"device({text!r})"
            raise InvalidSceneError(call, reason="give major and minor, or neither")
        try:
            inode = self._at(self._own(path)).inode
        except OSError as error:
            raise self._no_device(text, error.errno or 0) from error
        return record(text, inode, self._who)

    @atomic
    def has(self, path: Path) -> bool:
        """Whether anything is at *path*, links followed."""
        return self._exists(str(self._own(path)))

    def _own(self, path: Path) -> ContainerPath:
        """Return *path* for the walk, if it is not one of the other side.

        Raises:
            PathKindError: it is.
        """
        if not isinstance(path, str | self._kind):
            raise PathKindError(path, wanted=self._kind.__name__)
        return as_container_path(str(path))

    def _exists(self, path: str) -> bool:
        try:
            self._at(as_container_path(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _no_device(self, path: str, number: int) -> OSError:
        error = kernel_error(number)
        elsewhere = [
            f"{container.name} has one at {found}"
            for container in self._world.containers
            if container is not self
            for found in container.places_of(path)
        ]
        words = "; ".join([f"{self.name} has no such device node", *elsewhere])
        return type(error)(number, words, path)

    # File systems and mounts.

    @atomic
    def tmpfs(
        self, path: Path, *, read_only: bool = False, nodev: bool = False, mode: int = 0o755
    ) -> None:
        """Mount a new tmpfs at *path*, over what is there; missing directories are made.

        Args:
            path: a directory.
            read_only: whether nothing can be changed through this mount.
            nodev: whether device nodes on it cannot be opened.
            mode: permission bits of its root (octal).

        Raises:
            OSError: ``ENOTDIR`` if *path* is no directory; and, as from every method that
                follows a path, ``ELOOP`` and its like.
        """
        volume = self._volume("tmpfs", "tmpfs", f"mode={mode:o}")
        volume.root.mode = mode
        self._mount(volume, path, Flags(read_only=read_only, nodev=nodev))

    @atomic
    def devtmpfs(self, path: Path = "/dev") -> None:
        """Mount the kernel's devtmpfs at *path*: the one that there is, wherever it is mounted.

        Raises:
            OSError: as from `tmpfs`.
        """
        self._mount(self._world.devtmpfs, path, Flags(nosuid=True))

    @atomic
    def overlay(self, path: Path, *, read_only: bool = False) -> None:
        """Mount a new, empty overlay at *path*; its layers cannot be seen.

        Raises:
            OSError: as from `tmpfs`.
        """
        volume = self._volume("overlay", "overlay", "lowerdir=/l,upperdir=/u,workdir=/w")
        self._mount(volume, path, Flags(read_only=read_only))

    @atomic
    def disk(
        self, path: Path, *, source: str, major: int, minor: int, fstype: str = "ext4"
    ) -> None:
        """Mount a new, empty file system of a disk at *path*.

        Args:
            path: a directory.
            source: the disk, as mountinfo is to show it.
            major: the disk's major number (decimal).
            minor: the disk's minor number (decimal).
            fstype: the type of the file system.

        Raises:
            OSError: as from `tmpfs`.
        """
        volume = self._volume(fstype, source, number=(major, minor))
        self._mount(volume, path, PLAIN)

    @atomic
    def bind(  # noqa: PLR0913 - a mount is all of these
        self,
        source: Path,
        target: Path,
        *,
        recursive: bool = False,
        read_only: bool = False,
        nodev: bool = False,
        propagation: Propagation | None = None,
    ) -> None:
        """Mount *source*, a directory or a file, at *target* as well; what is missing is made.

        Args:
            source: what is to be seen there.
            target: the mount point.
            recursive: whether what is mounted below *source* comes along.
            read_only: whether nothing can be changed through this mount; those below it keep
                their own setting.
            nodev: whether device nodes on it cannot be opened.
            propagation: with whom it shares what is mounted on it later; by default it is as
                with *source*.

        Raises:
            InvalidSceneError: there is no such *propagation*.
            NotModelledError: it is ``unbindable``.
            OSError: ``ENOTDIR`` if one is a directory and the other is not.
        """
        if propagation is not None:
            _check_propagation(propagation)
        found = self._ready(source).spot
        at = self._ready(target, directory=found.inode.is_directory).spot
        mount = self._world.mounts.bind(found, at, recursive=recursive)
        _adjust(self._world.mounts, mount, read_only, nodev, propagation)

    @atomic
    def remount(self, path: Path, *, read_only: bool = False, nodev: bool = False) -> None:
        """Change the options of the mount at *path*, not of its file system.

        Raises:
            OSError: ``EINVAL`` if *path* is no mount point.
        """
        mount = self._mount_at(path)
        self._world.mounts.remount(
            mount, attrs.evolve(mount.flags, read_only=read_only, nodev=nodev)
        )

    @atomic
    def unmount(self, path: Path) -> None:
        """Unmount what is at *path* with all that is mounted below, used or not.

        Raises:
            OSError: ``EINVAL`` if *path* is no mount point; ``EBUSY`` if it is the root.
        """
        self._world.mounts.unmount(self._mount_at(path))

    @atomic
    def propagation(self, path: Path, kind: Propagation, *, recursive: bool = False) -> None:
        """Change with whom the mount at *path* shares what is mounted on it.

        Raises:
            InvalidSceneError: there is no such *kind*.
            NotModelledError: it is ``unbindable``.
            OSError: ``EINVAL`` if *path* is no mount point.
        """
        _check_propagation(kind)
        self._world.mounts.set_propagation(self._mount_at(path), kind, recursive=recursive)

    @atomic
    def fill(self, path: Path, *, full: bool = True) -> None:
        """Let the file system at *path* be full, or no longer: nothing can be made in it."""
        self._at(self._own(path)).mount.volume.full = full

    @atomic
    def freeze(self, path: Path, *, read_only: bool = True) -> None:
        """Let the whole file system at *path* be read-only, or no longer, at all its mounts."""
        self._at(self._own(path)).mount.volume.read_only = read_only

    def _volume(
        self, fstype: str, source: str, options: str = "", *, number: tuple[int, int] | None = None
    ) -> Volume:
        """Return a new file system that belongs to the root user here."""
        volume = self._world.volume(fstype, source, options, number=number)
        volume.root.uid = volume.root.gid = self._who.kept(0)
        return volume

    def _mount(self, volume: Volume, path: Path, flags: Flags) -> VfsMount:
        return self._world.mounts.mount(volume, self._ready(path).spot, flags=flags)

    def _mount_at(self, path: Path) -> VfsMount:
        place = self._at(self._own(path))
        if place.spot.entry is not place.mount.root:
            error = kernel_error(22)
            error.filename = str(path)
            raise error
        return place.mount

    def _ready(self, path: Path, *, directory: bool = True) -> Place:
        """Return what is at *path*, which is made if it is missing."""
        place = self._own(path)
        if not self._exists(str(place)):
            kind = FileType.DIRECTORY if directory else FileType.REGULAR
            self._put(Spec(path=str(place), type=kind, mode=0o755 if directory else 0o644))
        return self._at(place)


def _check_propagation(kind: str) -> None:
    """Check that *kind* is one of those that there are.

    Raises:
        InvalidSceneError: it is not.
        NotModelledError: it is ``unbindable``.
    """
    if kind == "unbindable":
        raise Limit.UNBINDABLE.met()
    known = ("private", "slave", "shared")
    if kind not in known:
        call = f"propagation {kind!r}"
        raise InvalidSceneError(call, reason=f"there are {', '.join(known)}")


def _adjust(
    mounts: MountKernel,
    mount: VfsMount,
    read_only: bool,  # noqa: FBT001 - it is passed on
    nodev: bool,  # noqa: FBT001 - likewise
    propagation: Propagation | None,
) -> None:
    flags = mount.flags
    mounts.remount(
        mount,
        attrs.evolve(flags, read_only=flags.read_only or read_only, nodev=flags.nodev or nodev),
    )
    if propagation is not None:
        mounts.set_propagation(mount, propagation, recursive=True)
