"""The tree in memory answers as the kernel does, whatever is done to it.

One random programme drives a `TreeFileSystem` and a `LocalFileSystem` in a new directory, and
every answer is compared: result, errno and path of the error, status and names.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType] - not annotated there
)

from devroot._filesystem import Directory, FileStatus, FileType
from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from devroot.errors import InvalidPathError
from devroot.testing import TreeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._filesystem import FileSystem

pytestmark = pytest.mark.property

ROOT: Final = ContainerPath("/")
NAMES: Final = st.sampled_from([*("abc" * 6), "n" * 255, "n" * 256, "ä" * 128, "", "..", "a/b"])
TARGETS: Final = st.sampled_from(
    ["a", "b/c", "/a", "..", "/", "a/", "../../b/.", "nowhere", "", "x" * 4096]
)
PATHS: Final = st.lists(st.sampled_from(["a", "b", "c", "..", ".", ""]), max_size=5).map("/".join)


def may_make_devices() -> bool:
    """Whether this process can make device nodes and give files away."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            os.mknod(f"{scratch}/node", 0o600 | 0o020000, os.makedev(1, 3))
            os.chown(f"{scratch}/node", 1, 1)
        except OSError:
            return False
    return True


PRIVILEGED: Final = may_make_devices()
TYPES: Final = st.sampled_from(
    [
        FileType.REGULAR,
        FileType.FIFO,
        FileType.SOCKET,
        FileType.DIRECTORY,
        *([FileType.CHARACTER, FileType.BLOCK] if PRIVILEGED else []),
    ]
)
OWNERS: Final = st.sampled_from([(0, 0), (1, 2)] if PRIVILEGED else [(os.geteuid(), os.getegid())])
MODES: Final = st.sampled_from([0o600, 0o644, 0o666, 0o755, 0o1777, 0o2770, 0o4711, 0o6777])
DIRECTORY_MODES: Final = st.sampled_from([0o700, 0o755, 0o1777, 0o2775])


@attrs.frozen(eq=False)
class Pair:
    """The same directory on both sides."""

    fake: Directory
    real: Directory


class Programme(RuleBasedStateMachine):
    """What a programme can do with directories that it holds open."""

    handles: Bundle[Pair] = Bundle("handles")

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.base = str(Path(self.scratch.name).resolve())
        self.tree = TreeFileSystem()
        self.local = LocalFileSystem()
        self.opened: list[Pair] = []

    def teardown(self) -> None:
        """Leave nothing behind."""
        for pair in self.opened:
            pair.real.close()
        self.scratch.cleanup()

    def answer(self, action: Callable[[], object]) -> object:
        """Return what came of *action*, in words that are the same on both sides."""
        try:
            result = action()
        except OSError as error:
            second = str(error.filename2 or "")
            paths = [
                str(error.filename).removeprefix(self.base) or "/",
                second.removeprefix(self.base) if second.startswith("/") else "",
            ]
            return error.errno, paths
        except InvalidPathError as error:
            return str(error)
        return self.plain(result)

    def plain(self, result: object) -> object:
        """Return *result* without what differs by file system."""
        if isinstance(result, FileStatus):
            links, size = (result.links, result.size)
            if result.is_directory:
                links, size = (min(links, 1), 0)
            return attrs.evolve(result, device=0, inode=0, links=links, size=size)
        if isinstance(result, ContainerPath):
            return str(result).removeprefix(self.base) or "/"
        if isinstance(result, list):
            return sorted(map(str, cast("list[str]", result)))
        return result

    def compare(self, fake: Callable[[], object], real: Callable[[], object]) -> None:
        """Do the same on both sides and compare the answers."""
        assert self.answer(fake) == self.answer(real)

    def both(self, action: Callable[[Directory], object], pair: Pair) -> None:
        """Do *action* with both handles and compare the answers."""
        self.compare(lambda: action(pair.fake), lambda: action(pair.real))

    def everywhere(self, action: Callable[[FileSystem, ContainerPath], object]) -> None:
        """Ask both file systems and compare the answers."""
        self.compare(
            lambda: action(self.tree, ROOT), lambda: action(self.local, ContainerPath(self.base))
        )

    @initialize(target=handles)
    def start(self) -> MultipleResults[Pair]:
        """Start with a few files, and with two directories open."""
        base = ContainerPath(self.base)
        os.chmod(self.base, 0o755)
        uid, gid = (0, 0) if PRIVILEGED else (os.geteuid(), os.getegid())
        root = Pair(self.tree.open_directory(ROOT, ""), self.local.open_directory(base, ""))
        self.opened.append(root)

        def populate(directory: Directory) -> None:
            for name in "ab":
                directory.make_directory(name, mode=0o755, uid=uid, gid=gid)
            directory.make_node(
                "c", type=FileType.REGULAR, major=0, minor=0, mode=0o6755, uid=uid, gid=gid
            )
            with directory.open_directory("b") as below:
                directory.link("c", below, "a")
                below.make_directory("b", mode=0o755, uid=uid, gid=gid)
                below.make_symlink("c", "../a")

        self.both(populate, root)
        inner = Pair(root.fake.open_directory("b"), root.real.open_directory("b"))
        self.opened.append(inner)
        return multiple(root, inner)

    @rule(target=handles, pair=handles, name=NAMES)
    def open_directory(self, pair: Pair, name: str) -> Pair:
        """Open a directory in a directory; go on with the first if there is none."""
        opened: list[Directory] = []

        def attempt(directory: Directory) -> str:
            opened.append(directory.open_directory(name))
            return "open"

        try:
            self.both(attempt, pair)
        finally:
            if len(opened) == 2:
                self.opened.append(Pair(*opened))
        return self.opened[-1] if opened else pair

    @rule(pair=handles, name=NAMES, mode=DIRECTORY_MODES, owner=OWNERS)
    def make_directory(self, pair: Pair, name: str, mode: int, owner: tuple[int, int]) -> None:
        """Make a directory."""
        uid, gid = owner
        self.both(lambda d: d.make_directory(name, mode=mode, uid=uid, gid=gid), pair)

    @rule(pair=handles, name=NAMES, type=TYPES, mode=MODES, owner=OWNERS, minor=st.integers(0, 3))
    def make_node(  # noqa: PLR0913 - a node is all of these
        self,
        *,
        pair: Pair,
        name: str,
        type: FileType,
        mode: int,
        owner: tuple[int, int],
        minor: int,
    ) -> None:
        """Make a node of any type."""
        uid, gid = owner
        self.both(
            lambda d: d.make_node(
                name, type=type, major=195, minor=minor, mode=mode, uid=uid, gid=gid
            ),
            pair,
        )

    @rule(pair=handles, name=NAMES, text=TARGETS)
    def make_symlink(self, pair: Pair, name: str, text: str) -> None:
        """Make a symbolic link."""
        self.both(lambda d: d.make_symlink(name, text), pair)

    @rule(pair=handles, name=NAMES, to=handles, to_name=NAMES)
    def link(self, pair: Pair, name: str, to: Pair, to_name: str) -> None:
        """Give a file a second name."""
        self.compare(
            lambda: pair.fake.link(name, to.fake, to_name),
            lambda: pair.real.link(name, to.real, to_name),
        )

    @rule(pair=handles, name=NAMES, to=handles, to_name=NAMES, replace=st.booleans())
    def rename(self, pair: Pair, name: str, to: Pair, to_name: str, *, replace: bool) -> None:
        """Move a file."""
        self.compare(
            lambda: pair.fake.rename(name, to.fake, to_name, replace=replace),
            lambda: pair.real.rename(name, to.real, to_name, replace=replace),
        )

    @rule(pair=handles, name=NAMES)
    def unlink(self, pair: Pair, name: str) -> None:
        """Remove a file."""
        self.both(lambda d: d.unlink(name), pair)

    @rule(pair=handles, name=NAMES)
    def remove_directory(self, pair: Pair, name: str) -> None:
        """Remove a directory."""
        self.both(lambda d: d.remove_directory(name), pair)

    @rule(
        pair=handles,
        name=NAMES,
        other=handles,
        other_name=NAMES,
        mode=st.none() | DIRECTORY_MODES,
        owner=OWNERS,
        same=st.booleans(),
    )
    def mend(  # noqa: PLR0913 - a change is all of these
        self,
        *,
        pair: Pair,
        name: str,
        other: Pair,
        other_name: str,
        mode: int | None,
        owner: tuple[int, int],
        same: bool,
    ) -> None:
        """Change mode and owner of a file if it is the one that another name leads to."""
        uid, gid = owner
        if same:
            other, other_name = pair, name

        def change(directory: Directory, beside: Directory) -> None:
            expected = beside.lstat(other_name)
            directory.mend(name, expected=expected, mode=mode, uid=uid, gid=gid)

        self.compare(lambda: change(pair.fake, other.fake), lambda: change(pair.real, other.real))

    @rule(pair=handles, name=NAMES)
    def look(self, pair: Pair, name: str) -> None:
        """Look at a name and at the directory itself."""
        self.both(lambda d: d.lstat(name), pair)
        self.both(lambda d: d.read_link(name), pair)
        self.both(lambda d: d.status(), pair)

    @rule(pair=handles)
    def lock(self, pair: Pair) -> None:
        """Take the lock of a directory, or see that another handle has it."""
        self.both(lambda d: d.try_lock(), pair)

    @rule(pair=handles)
    def close(self, pair: Pair) -> None:
        """Close a handle, which may be closed already."""
        self.both(lambda d: d.close(), pair)

    @rule(path=PATHS)
    def follow(self, path: str) -> None:
        """Ask where a path leads and what is there."""
        self.everywhere(lambda files, root: files.resolve(root, path))
        self.everywhere(lambda files, root: files.status(root, path))
        self.everywhere(lambda files, root: files.read_link(root, path))
        self.everywhere(lambda files, root: files.read_bytes(root, path))

    @invariant()
    def names_agree(self) -> None:
        """Every directory that is held has the same names, deleted or not."""
        for pair in self.opened:
            self.both(lambda d: d.names(), pair)


def test_the_tree_agrees_with_the_kernel() -> None:
    """No random programme tells the tree in memory from a real directory."""
    run_state_machine_as_test(Programme)
