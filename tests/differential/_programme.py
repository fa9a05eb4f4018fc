"""Random programmes that drive the fake kernel and the real one, and compare after every step.

Both have a machine with two mount namespaces, each with a tmpfs at the same path. A programme
works in either of them with files that it holds open and with paths, and mounts things.
"""

from __future__ import annotations

import ctypes
import os
import stat
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from devroot._filesystem import Directory, FileStatus, FileType
from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from devroot.testing import FakeHost
from devroot.testing._inodes import kernel_error
from devroot.testing._options import Flags
from devroot.testing._procfs import device_number, numbers
from devroot.testing._rights import ROOT, Credentials
from tests.differential._users import MODES, OPEN_MODES, USERS, acting_as, is_set
from tests.kernel import _agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot.testing._container import Nesting
    from devroot.testing._peers import Propagation
    from devroot.testing._vfs import Spot, VfsMount

BASE: Final = "/run/devroot-differential"
"""Where both machines have their tmpfs; on the real one, only the two namespaces see it."""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_OPEN_TREE: Final = 428
_MOVE_MOUNT: Final = 429
_OPEN_TREE_CLONE: Final = 1
_AT_RECURSIVE: Final = 0x8000
_MOVE_MOUNT_F_EMPTY_PATH: Final = 4
_CLONE_NEWNS: Final = 0x20000
_KINDS: Final = {
    "private": _agent.MS_PRIVATE,
    "slave": _agent.MS_SLAVE,
    "shared": _agent.MS_SHARED,
}
_MOST_MOUNTS: Final = 40

NAMES: Final = st.sampled_from(["a", "b", "c"])
DEEP: Final = st.sampled_from(["a", "b", "c", "a", "b", "a/b", "b/c", "a/b/c", "a/a", "b/c/a"])
PATHS: Final = st.just("") | DEEP | DEEP | DEEP
UNSAFE: Final = st.lists(st.sampled_from(["a", "b", "c", "..", ".", ""]), max_size=5).map("/".join)
TARGETS: Final = st.sampled_from(["a", "b/c", "../a", ".", f"{BASE}/b", f"{BASE}/a/c", "c/"])
INDICES: Final = st.integers(0, 9)
SIDES: Final = st.sampled_from(["host", "container"])
Side = Literal["host", "container"]


def checked(number: int) -> int:
    """Return the result of a call of the C library, or raise its error."""
    if number < 0:
        raise kernel_error(ctypes.get_errno())
    return number


def setns(descriptor: int) -> None:
    """Enter a mount namespace."""
    checked(_LIBC.setns(descriptor, _CLONE_NEWNS))


class Real:
    """The real machine: two mount namespaces of this process, which is a child of the test's."""

    def __init__(self) -> None:
        os.makedirs("/run", exist_ok=True)
        checked(_LIBC.unshare(_CLONE_NEWNS))
        _agent.mount("", "/", flags=_agent.MS_PRIVATE | _agent.MS_REC)
        _agent.mount("tmpfs", "/run", kind="tmpfs", data="mode=755")
        os.mkdir(BASE)
        self.namespaces = {"host": os.open("/proc/self/ns/mnt", os.O_RDONLY)}
        checked(_LIBC.unshare(_CLONE_NEWNS))
        self.namespaces["container"] = os.open("/proc/self/ns/mnt", os.O_RDONLY)

    def enter(self, side: str) -> None:
        """Work in the namespace *side* from now on."""
        setns(self.namespaces[side])

    def begin(self) -> None:
        """Mount a new tmpfs on both sides."""
        for side in self.namespaces:
            self.enter(side)
            _agent.mount("tmpfs", BASE, kind="tmpfs", data="mode=755")

    def end(self) -> None:
        """Unmount all that a programme has mounted."""
        for side in self.namespaces:
            self.enter(side)
            while f" {BASE} " in self.table():
                checked(_LIBC.umount2(BASE.encode(), _agent.MNT_DETACH))

    def table(self) -> str:
        """Return the mount table of the namespace."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def tmpfs(self, path: str) -> None:
        """Mount a new tmpfs."""
        _mount("tmpfs", path, kind="tmpfs", data="mode=755")

    def bind(self, source: str, path: str, *, recursive: bool) -> None:
        """Mount *source* at *path* too."""
        _mount(source, path, flags=_agent.MS_BIND | (_agent.MS_REC if recursive else 0))

    def bind_across(self, source: str, path: str, *, recursive: bool) -> None:
        """Mount *source* of the host at *path* of the container."""
        self.enter("host")
        flags = _OPEN_TREE_CLONE | (_AT_RECURSIVE if recursive else 0)
        tree = checked(_LIBC.syscall(_OPEN_TREE, -100, source.encode(), flags))
        try:
            self.enter("container")
            checked(
                _LIBC.syscall(
                    _MOVE_MOUNT, tree, b"", -100, path.encode(), _MOVE_MOUNT_F_EMPTY_PATH | 0x10
                )
            )
        finally:
            os.close(tree)

    def remount(self, path: str, *, read_only: bool, nodev: bool) -> None:
        """Give the mount at *path* other options."""
        flags = _agent.MS_REMOUNT | _agent.MS_BIND
        flags |= (_agent.MS_RDONLY if read_only else 0) | (_agent.MS_NODEV if nodev else 0)
        _mount("", path, flags=flags)

    def unmount(self, path: str) -> None:
        """Unmount what is at *path*."""
        checked(_LIBC.umount2(path.encode(), _agent.MNT_DETACH))

    def propagation(self, path: str, kind: str, *, recursive: bool) -> None:
        """Change with whom the mount at *path* shares."""
        _mount("", path, flags=_KINDS[kind] | (_agent.MS_REC if recursive else 0))


def _mount(source: str, target: str, *, kind: str = "", flags: int = 0, data: str = "") -> None:
    try:
        _agent.mount(source, target, kind=kind, flags=flags, data=data)
    except OSError as error:
        raise kernel_error(error.errno or 0) from None


class Fake:
    """The same machine in memory."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.machines: dict[str, Nesting] = {
            "host": self.host,
            "container": self.host.container(capabilities=None, privileged=True),
        }
        self.mounts = self.host._world.mounts
        for machine in self.machines.values():
            machine._process.protected_hardlinks = is_set("protected_hardlinks")
            machine._process.protected_symlinks = is_set("protected_symlinks")
            machine.tmpfs(BASE)
            machine.propagation("/", "private", recursive=True)

    def at(self, side: str, path: str) -> Spot:
        """Return what is at *path*."""
        return self.machines[side]._at(ContainerPath(path)).spot

    def mount_at(self, side: str, path: str) -> VfsMount:
        """Return the mount whose root is at *path*."""
        spot = self.at(side, path)
        if spot.entry is not spot.mount.root:
            raise kernel_error(22)
        return spot.mount

    def tmpfs(self, side: str, path: str) -> None:
        """Mount a new tmpfs."""
        at = self.at(side, path)
        volume = self.host._world.volume("tmpfs", "tmpfs", "mode=755")
        self.mounts.mount(volume, at)

    def bind(self, side: str, source: str, path: str, *, recursive: bool) -> None:
        """Mount *source* at *path* too."""
        at = self.at(side, path)
        self.mounts.bind(self.at(side, source), at, recursive=recursive)

    def bind_across(self, source: str, path: str, *, recursive: bool) -> None:
        """Mount *source* of the host at *path* of the container."""
        found = self.at("host", source)
        at = self.at("container", path)
        try:
            self.mounts.bind(found, at, recursive=recursive)
        except NotADirectoryError:
            raise kernel_error(22) from None  # as move_mount(2) has it, unlike mount(2)

    def remount(self, side: str, path: str, *, read_only: bool, nodev: bool) -> None:
        """Give the mount at *path* other options."""
        self.mounts.remount(self.mount_at(side, path), Flags(read_only=read_only, nodev=nodev))

    def unmount(self, side: str, path: str) -> None:
        """Unmount what is at *path*."""
        self.mounts.unmount(self.mount_at(side, path))

    def propagation(self, side: str, path: str, kind: Propagation, *, recursive: bool) -> None:
        """Change with whom the mount at *path* shares."""
        self.mounts.set_propagation(self.mount_at(side, path), kind, recursive=recursive)

    def count(self) -> int:
        """Return how many mounts there are."""
        return sum(len(m._process.namespace.mounts) for m in self.machines.values())


class Names:
    """Gives what differs by machine the same names on both: numbers in the order of appearance."""

    def __init__(self) -> None:
        self._names: dict[object, int] = {}

    def of(self, value: object) -> int:
        """Return the name of *value*."""
        return self._names.setdefault(value, len(self._names))


@attrs.frozen
class Line:
    """What is compared of a line of mountinfo."""

    number: str
    parent: str
    device: str
    root: str
    point: str
    options: str
    tags: tuple[str, ...]
    kind: str


def read_table(text: str) -> list[Line]:
    """Return the mounts at the base and below."""
    lines: list[Line] = []
    for line in text.splitlines():
        head, _, tail = line.partition(" - ")
        number, parent, device, root, point, options, *tags = head.split(" ")
        if point == BASE or point.startswith(f"{BASE}/"):
            kind = tail.split(" ")[0]
            lines.append(Line(number, parent, device, root, point, options, tuple(tags), kind))
    return lines


def canonical(tables: dict[str, str]) -> list[object]:
    """Return both tables without numbers: as trees, with devices and peers by order."""
    devices, groups = Names(), Names()

    def render(lines: list[Line], parent: str, depth: int) -> list[object]:
        found: list[object] = []
        below = [line for line in lines if line.parent == parent]
        for line in sorted(below, key=lambda line: (line.point, line.root)):
            tags = tuple(
                sorted(f"{tag.split(':')[0]}:{groups.of(tag.split(':')[1])}" for tag in line.tags)
            )
            device = devices.of(line.device)
            found.append((depth, line.point, line.root, line.options, line.kind, device, tags))
            found += render(lines, line.number, depth + 1)
        return found

    result: list[object] = []
    for side, text in tables.items():
        lines = read_table(text)
        numbers = {line.number for line in lines}
        for outside in sorted({line.parent for line in lines} - numbers):
            result.append(side)
            result += render(lines, outside, 0)
    return result


@attrs.frozen(eq=False)
class Pair:
    """The same directory, held open on both machines, by the process on one side."""

    side: str
    fake: Directory
    real: Directory


class Programme(RuleBasedStateMachine):
    """What a programme can do."""

    handles: Bundle[Pair] = Bundle("handles")
    real: Real

    def __init__(self) -> None:
        super().__init__()
        self.fake = Fake()
        self.real.begin()
        self.local = LocalFileSystem()
        self.opened: list[Pair] = []
        self.user = ROOT

    def teardown(self) -> None:
        """Leave nothing behind."""
        for pair in self.opened:
            pair.real.close()
        self.real.end()

    # How answers are compared.

    def answer(self, action: Callable[[], object], *, paths: bool) -> object:
        """Return what came of *action*, in words that are the same on both machines."""
        try:
            result = action()
        except OSError as error:
            second = str(error.filename2 or "")
            where = str(error.filename), second if second.startswith(BASE) else ""
            return os.strerror(error.errno or 0), where if paths else ""
        return self.plain(result)

    def plain(self, result: object) -> object:
        """Return *result* without what differs by machine."""
        if isinstance(result, FileStatus):
            return attrs.evolve(result, device=0, inode=0)
        if isinstance(result, list):
            return sorted(map(str, cast("list[str]", result)))
        return result

    def compare(
        self,
        side: str,
        fake: Callable[[], object],
        real: Callable[[], object],
        *,
        paths: bool = True,
    ) -> None:
        """Do the same on both machines and compare the answers."""
        who = self.user if paths else ROOT
        process = self.fake.machines[side]._process
        process.who = who
        faked = self.answer(fake, paths=paths)
        process.who = ROOT
        self.real.enter(side)
        with acting_as(who):
            answered = self.answer(real, paths=paths)
        assert faked == answered, f"the fake says {faked}, the kernel {answered}"

    def both(self, action: Callable[[Directory], object], pair: Pair) -> None:
        """Do *action* with both handles and compare the answers."""
        self.compare(pair.side, lambda: action(pair.fake), lambda: action(pair.real))

    # Files.

    @rule(who=USERS)
    def become(self, who: Credentials) -> None:
        """Work on files as another user from now on."""
        self.user = who

    @initialize(
        target=handles,
        link=st.sampled_from(["", "private", "slave", "shared"]),
        modes=st.tuples(OPEN_MODES, OPEN_MODES),
        who=USERS,
    )
    def start(self, link: str, modes: tuple[int, int], who: Credentials) -> MultipleResults[Pair]:
        """Make a few files of several users on both sides, and open some directories on the host.

        With *link*, the container's ``a`` is the host's base, which shares its mounts.
        """
        bases = [self._opened(side, "") for side in ("container", "host")]
        for base in bases:
            for name, mode, gid in zip("ab", modes, (0, 2), strict=True):
                self.mkdir(base, name, mode, gid=gid)
            a, b = (self._opened(base.side, name) for name in "ab")
            self.mkdir(a, "b", 0o755)
            self.mkdir(b, "c", 0o755)
            fifo, file = FileType.FIFO, FileType.REGULAR
            self.mknod(pair=base, name="c", type=fifo, owner=(0, 0), mode=0o600)
            self.mknod(pair=a, name="a", type=file, owner=(1, 2), mode=0o4750)
            self.mknod(pair=b, name="a", type=file, owner=(3, 3), mode=0o666)
        if link:
            self.propagation("host", 0, "shared", recursive=False)
            self.bind_across("", "a", recursive=False)
            self.propagation("container", 1, cast("Propagation", link), recursive=False)
        self.user = who
        return multiple(bases[1], *(self._opened("host", name) for name in "ab"))

    def _opened(self, side: str, path: str) -> Pair:
        base = ContainerPath(BASE)
        fake = self.fake.machines[side].filesystem.open_directory(base, path)
        self.real.enter(side)
        pair = Pair(side, fake, self.local.open_directory(base, path))
        self.opened.append(pair)
        return pair

    @rule(target=handles, side=SIDES, path=PATHS)
    def open(self, side: str, path: str) -> Pair:
        """Open a directory; go on with the first handle if there is none."""
        opened: list[Directory] = []
        base = ContainerPath(BASE)

        def attempt(files: Any) -> str:  # noqa: ANN401 - either file system
            opened.append(files.open_directory(base, path))
            return str(opened[-1].path)

        try:
            self.compare(
                side,
                lambda: attempt(self.fake.machines[side].filesystem),
                lambda: attempt(self.local),
            )
        finally:
            if len(opened) == 2:
                self.opened.append(Pair(side, *opened))
        return self.opened[-1] if len(opened) == 2 else self.opened[0]

    @rule(pair=handles, name=NAMES, mode=MODES, ours=st.booleans())
    def mkdir(self, pair: Pair, name: str, mode: int, *, ours: bool = False, gid: int = 0) -> None:
        """Make a directory, which belongs to root or to whoever makes it."""
        uid, gid = (self.user.uid, self.user.gid) if ours else (0, gid)
        self.both(lambda d: d.make_directory(name, mode=mode, uid=uid, gid=gid), pair)

    @rule(
        pair=handles,
        name=NAMES,
        type=st.sampled_from([FileType.FIFO, FileType.CHARACTER, FileType.BLOCK, FileType.REGULAR]),
        owner=st.sampled_from([(0, 0), (1, 2), (1, 1), (3, 3)]),
        mode=st.sampled_from([0o600, 0o666, 0o4755, 0o2755, 0o2640]),
    )
    def mknod(
        self, *, pair: Pair, name: str, type: FileType, owner: tuple[int, int], mode: int
    ) -> None:
        """Make a node."""
        uid, gid = owner
        self.both(
            lambda d: d.make_node(name, type=type, major=195, minor=7, mode=mode, uid=uid, gid=gid),
            pair,
        )

    @rule(pair=handles, name=NAMES, mode=st.sampled_from([0o600, 0o644]))
    def write(self, pair: Pair, name: str, mode: int) -> None:
        """Make a regular file with content."""
        self.both(lambda d: d.write_file(name, b"content", mode=mode), pair)

    @rule(pair=handles, name=NAMES, text=TARGETS)
    def symlink(self, pair: Pair, name: str, text: str) -> None:
        """Make a symbolic link."""
        self.both(lambda d: d.make_symlink(name, text), pair)

    @rule(pair=handles, name=NAMES, to=handles, to_name=NAMES)
    def link(self, pair: Pair, name: str, to: Pair, to_name: str) -> None:
        """Give a file a second name."""
        self.compare(
            pair.side,
            lambda: pair.fake.link(name, to.fake, to_name),
            lambda: pair.real.link(name, to.real, to_name),
        )

    @rule(pair=handles, name=NAMES, to=handles, to_name=NAMES, replace=st.booleans())
    def rename(self, *, pair: Pair, name: str, to: Pair, to_name: str, replace: bool) -> None:
        """Move a file."""
        self.compare(
            pair.side,
            lambda: pair.fake.rename(name, to.fake, to_name, replace=replace),
            lambda: pair.real.rename(name, to.real, to_name, replace=replace),
        )

    @rule(pair=handles, name=NAMES)
    def unlink(self, pair: Pair, name: str) -> None:
        """Remove a file."""
        self.both(lambda d: d.unlink(name), pair)

    @rule(pair=handles, name=NAMES)
    def rmdir(self, pair: Pair, name: str) -> None:
        """Remove a directory."""
        self.both(lambda d: d.remove_directory(name), pair)

    @rule(
        pair=handles,
        name=NAMES,
        mode=st.sampled_from([None, None, 0o640, 0o2755, 0o777, 0o1777]),
        uid=st.sampled_from([None, None, 0, 1, 3]),
        gid=st.sampled_from([None, None, 0, 1, 2]),
    )
    def mend(
        self, *, pair: Pair, name: str, mode: int | None, uid: int | None, gid: int | None
    ) -> None:
        """Change mode and owner."""

        def change(directory: Directory) -> None:
            directory.mend(name, expected=directory.lstat(name), mode=mode, uid=uid, gid=gid)

        self.both(change, pair)

    @rule(pair=handles, name=NAMES)
    def look(self, pair: Pair, name: str) -> None:
        """Look at a name."""
        self.both(lambda d: d.lstat(name), pair)
        self.both(lambda d: d.read_link(name), pair)

    @rule(side=SIDES, path=UNSAFE)
    def follow(self, side: str, path: str) -> None:
        """Ask where a path leads and what is there."""
        root = ContainerPath(BASE)
        files = self.fake.machines[side].filesystem
        for ask in ("resolve", "status", "read_link", "read_bytes"):
            self.compare(
                side,
                lambda: getattr(files, ask)(root, path),  # noqa: B023 - called at once
                lambda: getattr(self.local, ask)(root, path),  # noqa: B023 - likewise
            )

    # Mounts.

    def mounting(self, side: str, fake: Callable[[], object], real: Callable[[], object]) -> None:
        """Do the same on both machines as root; an error of a mount names no path."""
        self.compare(side, fake, real, paths=False)

    def mounted(self, side: str, index: int, *, base: bool = True) -> str:
        """Return one of the mount points on *side*; without the base, unless it is covered."""
        points = [line.point for line in read_table(self.fake.machines[side].mountinfo())]
        if not base and points.count(BASE) == 1:
            points.remove(BASE)
        return sorted(points)[index % len(points)] if points else f"{BASE}/a"

    def there_is_room(self) -> bool:
        """Whether one more recursive bind stays within what can be looked at."""
        return self.fake.count() < _MOST_MOUNTS

    @rule(side=SIDES, path=PATHS)
    @precondition(there_is_room)
    def tmpfs(self, side: str, path: str) -> None:
        """Mount a new tmpfs."""
        place = f"{BASE}/{path}".rstrip("/")
        self.mounting(side, lambda: self.fake.tmpfs(side, place), lambda: self.real.tmpfs(place))

    @rule(side=SIDES, source=PATHS, path=PATHS, recursive=st.booleans())
    @precondition(there_is_room)
    def bind(self, side: str, source: str, path: str, *, recursive: bool) -> None:
        """Mount a directory or file at another place too."""
        shown, place = f"{BASE}/{source}".rstrip("/"), f"{BASE}/{path}".rstrip("/")
        self.mounting(
            side,
            lambda: self.fake.bind(side, shown, place, recursive=recursive),
            lambda: self.real.bind(shown, place, recursive=recursive),
        )

    @rule(source=PATHS, path=DEEP, recursive=st.booleans())
    @precondition(there_is_room)
    def bind_across(self, source: str, path: str, *, recursive: bool) -> None:
        """Mount what is on the host in the container."""
        shown, place = f"{BASE}/{source}".rstrip("/"), f"{BASE}/{path}"
        self.mounting(
            "host",
            lambda: self.fake.bind_across(shown, place, recursive=recursive),
            lambda: self.real.bind_across(shown, place, recursive=recursive),
        )

    @rule(side=SIDES, path=DEEP)
    def not_a_mount(self, side: str, path: str) -> None:
        """Unmount or change what may be no mount point."""
        place = f"{BASE}/{path}"
        self.mounting(
            side,
            lambda: self.fake.remount(side, place, read_only=False, nodev=False),
            lambda: self.real.remount(place, read_only=False, nodev=False),
        )
        self.mounting(
            side,
            lambda: self.fake.propagation(side, place, "slave", recursive=False),
            lambda: self.real.propagation(place, "slave", recursive=False),
        )
        self.mounting(
            side, lambda: self.fake.unmount(side, place), lambda: self.real.unmount(place)
        )

    @rule(side=SIDES, index=INDICES, read_only=st.booleans(), nodev=st.booleans())
    def remount(self, side: str, index: int, *, read_only: bool, nodev: bool) -> None:
        """Change the options of a mount."""
        place = self.mounted(side, index)
        self.mounting(
            side,
            lambda: self.fake.remount(side, place, read_only=read_only, nodev=nodev),
            lambda: self.real.remount(place, read_only=read_only, nodev=nodev),
        )

    @rule(side=SIDES, index=INDICES)
    def unmount(self, side: str, index: int) -> None:
        """Unmount."""
        place = self.mounted(side, index, base=False)
        self.mounting(
            side, lambda: self.fake.unmount(side, place), lambda: self.real.unmount(place)
        )

    @rule(
        side=SIDES,
        index=INDICES,
        kind=st.sampled_from(["private", "slave", "shared", "shared"]),
        recursive=st.booleans(),
    )
    def propagation(self, side: str, index: int, kind: Propagation, *, recursive: bool) -> None:
        """Change with whom a mount shares."""
        place = self.mounted(side, index)
        self.mounting(
            side,
            lambda: self.fake.propagation(side, place, kind, recursive=recursive),
            lambda: self.real.propagation(place, kind, recursive=recursive),
        )

    @rule(side=SIDES, other=SIDES, index=INDICES, to_name=NAMES)
    def disturb(self, side: str, other: str, index: int, to_name: str) -> None:
        """Try to remove, move or replace what something is mounted on, on this side or there."""
        above, _, name = self.mounted(other, index).rpartition("/")
        if not above.startswith(BASE):
            return
        files = self.fake.machines[side].filesystem

        def attempt(files: Any, step: int) -> object:  # noqa: ANN401 - either file system
            with files.open_directory(ContainerPath("/"), above) as directory:
                if step == 0:
                    return directory.unlink(name)
                if step == 1:
                    return directory.remove_directory(name)
                if step == 2:
                    return directory.rename(to_name, directory, name, replace=True)
                return directory.rename(name, directory, to_name, replace=False)

        for step in range(4):
            self.compare(
                side,
                lambda: attempt(files, step),  # noqa: B023 - called at once
                lambda: attempt(self.local, step),  # noqa: B023 - likewise
            )

    @rule(side=SIDES)
    @precondition(there_is_room)
    def bind_file(self, side: str) -> None:
        """Mount a file on itself."""
        place = f"{BASE}/c"
        self.mounting(
            side,
            lambda: self.fake.bind(side, place, place, recursive=False),
            lambda: self.real.bind(place, place, recursive=False),
        )

    # What holds after every step.

    @invariant()
    def tables_agree(self) -> None:
        """Both namespaces have the same mounts on both machines."""
        faked = {side: machine.mountinfo() for side, machine in self.fake.machines.items()}
        real: dict[str, str] = {}
        for side in faked:
            self.real.enter(side)
            real[side] = self.real.table()
        mine, true = canonical(faked), canonical(real)
        assert mine == true, "\n".join(["fake:", *map(str, mine), "kernel:", *map(str, true)])

    @invariant()
    def handles_agree(self) -> None:
        """Every directory that is held has the same names and status, and is of the same file."""
        seen: list[list[object]] = [[], []]
        names = Names(), Names()
        for pair in self.opened:
            for index, directory in enumerate((pair.fake, pair.real)):
                status = directory.status()
                seen[index].append(self.plain(status))
                seen[index].append(self.plain(directory.names()))
                seen[index].append(names[index].of((status.device, status.inode)))
        assert seen[0] == seen[1], f"the fake says {seen[0]}, the kernel {seen[1]}"


def self_check() -> None:
    """Check that the numbers of devices are computed as the kernel does."""
    status = os.stat("/dev")
    assert numbers(status.st_dev) == (os.major(status.st_dev), os.minor(status.st_dev))
    assert device_number(195, 4323) == os.makedev(195, 4323)
    assert stat.S_ISDIR(status.st_mode)
