"""Random programmes of mounts, each in a mount namespace of its own, and what the kernel says.

`run_mountinfo` compares the process's own mount table with the mount IDs of opened paths;
`run_mounts` compares a table of declared mounts with the inodes that paths lead to.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Final, Literal

from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import NotMountedError
from tests.kernel import _agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devroot._mountinfo import MountInfo

Root = Literal["mount", "directory", "pivot", "covered"]

ROOTS: Final[tuple[Root, ...]] = ("mount", "directory", "pivot", "covered")
"""Where a process's root can be: on a mount point, on a directory that is none, at the root of
the namespace, or on a mount that hides the one which the processes before it have as their root.
"""

SCRATCH: Final = "/run"
STEPS: Final = 14
DEPTH: Final = 3

_NAMES: Final = ("a", "b c", "d\\e", "#", "\t\n", "a\u2028\rb", "\udcff", "...", "\\040", "deleted")
_MOVE: Final = 0x2000
_UNBINDABLE: Final = 1 << 17
_PROPAGATIONS: Final = (_agent.MS_PRIVATE, _agent.MS_SLAVE, _agent.MS_SHARED, _UNBINDABLE)


def joined(*parts: str) -> str:
    """Return the path below ``/`` or below another path that these names lead to."""
    return "/".join(part.rstrip("/") for part in parts) or "/"


def make_tree(base: str, names: Iterable[str], *, depth: int = DEPTH) -> None:
    """Make directories of these names in each other below *base*, with a file in each."""
    with open(joined(base, "file"), "xb"):
        pass
    for name in names if depth else ():
        directory = joined(base, name)
        os.mkdir(directory)
        make_tree(directory, names, depth=depth - 1)


def paths_below(base: str, names: Iterable[str], *, depth: int = DEPTH) -> Iterator[str]:
    """Yield *base* and every path of these names below it, existing or not."""
    yield base
    yield joined(base, "file")
    for name in names if depth else ():
        yield from paths_below(joined(base, name), names, depth=depth - 1)


def make_tmpfs(path: str) -> None:
    """Mount a tmpfs."""
    _agent.mount("none", path, kind="tmpfs")


def enter(root: Root) -> None:
    """Make an empty root and move into it."""
    make_tmpfs(SCRATCH)
    place = SCRATCH
    if root == "directory":
        place = joined(SCRATCH, "root")
        os.mkdir(place)
    elif root == "covered":
        os.mkdir(joined(SCRATCH, "old"))
        make_tmpfs(SCRATCH)
    os.chdir(place)
    if root == "pivot":
        _agent._checked("pivot_root", b".", b".")
        _agent._checked("umount2", b".", _agent.MNT_DETACH)
    else:
        os.chroot(".")
    os.chdir("/")
    # A table in which all mounts are at "/" does not tell whether its root is one of them.
    os.mkdir("/always")
    make_tmpfs("/always")


class Programme:
    """One process's mounts, and the steps that made them.

    Args:
        seed: of all that is random.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.root = self.dice.choice(ROOTS)
        self.names = tuple(self.dice.sample(_NAMES, 2))
        self.steps: list[str] = []
        self._proc = os.open("/proc/self/", os.O_PATH)
        enter(self.root)
        make_tree("/", self.names)
        self.paths = [*paths_below("/", self.names), "/always"]

    def step(self) -> None:
        """Do one random thing; that the kernel refuses it is an outcome like any other."""
        does = self.dice.choice(
            [
                *[self._mount_tmpfs, self._bind, self._bind_file] * 3,
                *[self._unmount, self._move, self._propagate] * 2,
                self._rename,
                self._remove,
                self._cover_root,
            ]
        )
        try:
            self.steps.append(does())
        except OSError as error:
            self.steps.append(f"{does.__name__} fails: {error}")

    def _directory(self) -> str:
        return self.dice.choice(
            [path for path in self.paths[2:-1] if os.path.isdir(path)] or ["/x"]
        )

    def _file(self) -> str:
        return self.dice.choice([path for path in self.paths if os.path.isfile(path)] or ["/x"])

    def _mount_point(self) -> str:
        points = [str(mount.mount_point) for mount in self.table()]
        return self.dice.choice([path for path in points if path not in {"/", "/always"}] or ["/x"])

    def _mount_tmpfs(self) -> str:
        path = self._directory()
        make_tmpfs(path)
        make_tree(path, self.names, depth=2)
        return f"tmpfs at {path!r}"

    def _bind(self) -> str:
        source, target = self.dice.choice([self._directory(), "/"]), self._directory()
        recursive = self.dice.choice([0, _agent.MS_REC])
        _agent.mount(source, target, flags=_agent.MS_BIND | recursive)
        return f"{'rbind' if recursive else 'bind'} of {source!r} at {target!r}"

    def _bind_file(self) -> str:
        source, target = self._file(), self._file()
        _agent.mount(source, target, flags=_agent.MS_BIND)
        return f"bind of the file {source!r} at {target!r}"

    def _unmount(self) -> str:
        path, flags = self._mount_point(), self.dice.choice([0, _agent.MNT_DETACH])
        _agent._checked("umount2", os.fsencode(path), flags)
        return f"umount of {path!r} with flags {flags}"

    def _move(self) -> str:
        source, target = self._mount_point(), self._directory()
        _agent.mount(source, target, flags=_MOVE)
        return f"move of {source!r} to {target!r}"

    def _propagate(self) -> str:
        path, kind = self._mount_point(), self.dice.choice(_PROPAGATIONS)
        _agent.mount("", path, flags=kind)
        return f"propagation of {path!r} by {kind:#x}"

    def _rename(self) -> str:
        source = self._directory()
        target = joined(os.path.dirname(source), "new")
        os.rename(source, target)
        self.paths[-1:-1] = paths_below(target, self.names, depth=1)
        return f"rename of {source!r} to {target!r}"

    def _remove(self) -> str:
        path = self._directory()
        os.unlink(joined(path, "file"))
        os.rmdir(path)
        return f"removal of {path!r}"

    def _cover_root(self) -> str:
        make_tmpfs("/")
        return "tmpfs at '/'"

    def _read(self, name: str) -> bytes:
        """Return a file of this process's directory in procfs, which the root does not show."""
        with open(os.open(name, os.O_RDONLY, dir_fd=self._proc), "rb") as file:
            return file.read()

    def table(self) -> MountInfoTable[ContainerPath]:
        """Return this process's mounts."""
        return MountInfoTable.parse(self._read("mountinfo"))

    def look(self, path: str) -> tuple[int, tuple[int, int]]:
        """Return the mount that a path or its nearest existing ancestor is on, and its inode."""
        for ancestor in (ContainerPath(path), *ContainerPath(path).parents):
            try:
                held = os.open(ancestor, os.O_PATH | os.O_NOFOLLOW)
            except (FileNotFoundError, NotADirectoryError):
                continue
            try:
                status = os.fstat(held)
                lines = self._read(f"fdinfo/{held}").splitlines()
            finally:
                os.close(held)
            (mount_id,) = (int(line[7:]) for line in lines if line.startswith(b"mnt_id:"))
            return mount_id, (status.st_dev, status.st_ino)
        raise AssertionError

    def differences(self) -> Iterator[str]:
        """Say where the table and the kernel disagree."""
        table = self.table()
        listed = {mount.mount_id: mount for mount in table}
        if not table.is_whole:
            yield "the table is not whole"
            return
        places: dict[tuple[tuple[int, int], str], tuple[int, int]] = {}
        for path in {*self.paths, *(str(mount.mount_point) for mount in table)}:
            mount_id, inode = self.look(path)
            found = table.covering(ContainerPath(path))
            if (found and found.mount_id) != (mount_id if mount_id in listed else None):
                yield f"{path!r} is on mount {mount_id}, not on {found}"
            elif found is not None and not found.deleted and os.path.exists(path):
                if inode[0] != os.makedev(*found.device):
                    yield f"{path!r} has device {inode[0]}, not that of {found}"
                place = found.device, found.place_of(ContainerPath(path))
                if places.setdefault(place, inode) != inode:
                    yield f"{path!r} is another file than the one at {place} before"
        yield from self._differences_of_sets(table)

    def _differences_of_sets(self, table: MountInfoTable[ContainerPath]) -> Iterator[str]:
        def on_top(mount: MountInfo[ContainerPath]) -> bool:
            return self.look(str(mount.mount_point))[0] == mount.mount_id

        seen = [mount for mount in table if on_top(mount)]
        if list(table.visible()) != seen:
            yield f"the kernel shows {seen}"
        for path in ("/", "/a", "/always"):
            inside = [
                mount
                for mount in seen
                if str(mount.mount_point) != path
                and mount.mount_point.is_relative_to(ContainerPath(path))
            ]
            if list(table.below(ContainerPath(path))) != inside:
                yield f"the kernel shows {inside} below {path!r}"


def run_mountinfo(seed: int) -> str:
    """Run a programme; return what went wrong with the steps that led there, or nothing."""
    programme = Programme(seed)
    for _ in range(STEPS):
        programme.step()
        faults = list(programme.differences())
        if faults:
            steps = "\n  ".join(programme.steps)
            found = "\n  ".join(faults)
            return f"programme {seed} in a root of kind {programme.root}:\n  {steps}\n{found}"
    return ""


def run_mounts(seed: int) -> str:
    """Mount random directories and files of a host's tree; return what `MountTable` gets wrong."""
    dice = random.Random(seed)
    names = tuple(dice.sample(_NAMES, 2))
    make_tmpfs(SCRATCH)
    host, container = joined(SCRATCH, "host"), joined(SCRATCH, "container")
    for base in (host, container):
        os.mkdir(base)
        make_tmpfs(base)
        make_tree(base, names)
    host_paths = [path[len(host) :] or "/" for path in paths_below(host, names)]
    inodes = {path: inode_of(joined(host, path)) for path in host_paths}
    mounts: list[Mount] = []
    for _ in range(dice.randrange(1, 9)):
        source = dice.choice([None, *host_paths])
        target = dice.choice(list(paths_below("/", names)))
        place = joined(container, target)
        try:
            if source is None:
                make_tmpfs(place)
                make_tree(place, names, depth=1)
            else:
                _agent.mount(joined(host, source), place, flags=_agent.MS_BIND)
        except OSError:
            continue
        mounts.append(Mount(host=source, container=target))
    faults = list(faults_of(MountTable(mounts), inodes, container, names))
    return "\n".join([f"programme {seed}:", *map(str, mounts), *faults]) if faults else ""


def inode_of(path: str) -> tuple[int, int]:
    """Return what tells a file from all others."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def faults_of(
    table: MountTable, inodes: dict[str, tuple[int, int]], container: str, names: Iterable[str]
) -> Iterator[str]:
    """Say where a table and the inodes that paths lead to disagree."""
    on_host = {inode: path for path, inode in inodes.items()}
    places: dict[str, set[ContainerPath]] = {path: set() for path in inodes}
    for path in paths_below("/", names, depth=2 * DEPTH):
        try:
            inode = inode_of(joined(container, path))
        except (FileNotFoundError, NotADirectoryError):
            continue
        expected = on_host.get(inode)
        try:
            found = str(table.to_host(ContainerPath(path)))
        except NotMountedError:
            found = None
        if found != expected:
            yield f"{path!r} leads to {expected!r}, not to {found!r}"
        if expected is not None:
            places[expected].add(ContainerPath(path))
    for path, expected_places in places.items():
        found_places = table.to_container_all(HostPath(path))
        if set(found_places) != expected_places:
            yield f"{path!r} appears at {expected_places}, not at {found_places}"
