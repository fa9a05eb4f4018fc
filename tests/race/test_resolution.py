"""Nothing outside the root is ever found, opened or changed, whatever names change places.

The tallies show how often each outcome came. They depend on the machine, so only the outcomes
that must not come are a failure.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from devroot._filesystem import FileType
from devroot._paths import ContainerPath
from tests import _systems
from tests._trees import build
from tests.race._swapper import swapping, tally

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devroot._filesystem import Directory
    from devroot._local import LocalFileSystem

pytestmark = pytest.mark.race

TREE: Final = (
    "file /outside/secret 0600\noutside",
    "dir /outside/sub/deep",
    "file /outside/sub/secret 0600\noutside",
    "dir /r/swap/sub/deep",
    "file /r/swap/sub/secret\ninside",
    "file /r/swap/secret\ninside",
    "fifo /r/fifo 0600",
)
ME: Final = {"uid": os.geteuid(), "gid": os.getegid()}


@attrs.frozen
class Scene:
    """A root that somebody else shuffles, and what lies beside it."""

    filesystem: LocalFileSystem
    top: Path
    forbidden: dict[int, str]

    @property
    def root(self) -> ContainerPath:
        """The root."""
        return ContainerPath(str(self.top / "r"))

    def check(self, inode: int) -> None:
        """Fail if the file with this number lies outside."""
        assert inode not in self.forbidden, f"escaped to {self.forbidden[inode]}"


def files_below(place: Path) -> dict[int, str]:
    """Return the number and path of each file below *place*, itself included."""
    found = {os.stat(place).st_ino: str(place)}
    for above, directories, files in os.walk(place):
        for name in (*directories, *files):
            found[os.lstat(os.path.join(above, name)).st_ino] = os.path.join(above, name)
    return found


@pytest.fixture(params=["openat2", "walk"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """Give a root and what lies beside it; afterwards nothing outside has changed."""
    filesystem = _systems.local(request.param)
    build(str(tmp_path), TREE)
    outside = files_below(tmp_path / "outside")
    yield Scene(filesystem, tmp_path, outside)
    assert files_below(tmp_path / "outside") == outside
    assert (tmp_path / "outside/secret").read_text() == "outside"
    assert os.stat(tmp_path / "outside/secret").st_mode & 0o777 == 0o600


@pytest.fixture
def report(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], scene: Scene
) -> Callable[[Counter[str]], None]:
    """Give a function that shows a tally, even of a test that passes."""

    def show(counts: Counter[str]) -> None:
        retries = scene.filesystem._support.retries
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        with capsys.disabled():
            print(f"\n  {request.node.name}: {words}; asked again {retries} times")  # noqa: T201

    return show


def attempt(action: Callable[[], str]) -> str:
    """Return what *action* says, or the name of its error."""
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


TRAPS: Final = {
    "absolute": "{top}/outside",
    "relative": "../outside",
    "further up": "../../../../../../../../../../{top}/outside",
    "root": "/",
}
"""What the link says with which a directory changes places."""
PATHS: Final = [
    "swap/secret",
    "swap/sub/secret",
    "swap/sub/../secret",
    "swap/sub/deep/../../secret",
    "swap/../swap/sub/../secret",
]


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("path", PATHS)
def test_link_out(
    scene: Scene, report: Callable[[Counter[str]], None], trap: str, path: str
) -> None:
    """A directory that is a link to outside every other moment never leads there."""
    (scene.top / "r/trap").symlink_to(TRAPS[trap].format(top=scene.top))

    def look() -> str:
        place = scene.filesystem.resolve(scene.root, path)
        assert place.is_relative_to(scene.root)
        scene.check(scene.filesystem.status(scene.root, path).inode)
        assert scene.filesystem.read_bytes(scene.root, path) == b"inside"
        return "inside"

    with swapping(scene.top / "r/swap", scene.top / "r/trap"):
        report(tally(partial(attempt, look), wanted={"inside", "ENOENT"}))


@pytest.mark.parametrize("path", PATHS[1:])
def test_moved_out(scene: Scene, report: Callable[[Counter[str]], None], path: str) -> None:
    """``..`` in a directory that is moved out of the root meanwhile leads to where it was."""
    forbidden = {
        inode: place for inode, place in scene.forbidden.items() if "/outside/sub" not in place
    }

    def look() -> str:
        status = scene.filesystem.status(scene.root, path)
        assert status.inode not in forbidden, f"escaped to {forbidden[status.inode]}"
        return "inside"

    with swapping(scene.top / "r/swap", scene.top / "outside/sub"):
        report(tally(partial(attempt, look), wanted={"inside", "ENOENT"}))


def change(directory: Directory) -> None:
    """Make one of each in *directory*, and remove it again."""
    if os.geteuid() == 0:
        kind, major, minor = FileType.CHARACTER, 1, 3
    else:
        kind, major, minor = FileType.FIFO, 0, 0
    directory.make_node("node", type=kind, major=major, minor=minor, mode=0o666, **ME)
    directory.make_directory("directory", mode=0o755, **ME)
    directory.make_symlink("link", "node")
    assert {"node", "directory", "link"} <= set(directory.names())
    directory.mend("node", expected=directory.lstat("node"), mode=0o600)
    directory.unlink("node")
    directory.unlink("link")
    directory.remove_directory("directory")


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("path", ["swap", "swap/sub", "swap/sub/deep/.."])
def test_changes(
    scene: Scene, report: Callable[[Counter[str]], None], trap: str, path: str
) -> None:
    """What is made in a directory is made inside, wherever its path leads by then."""
    (scene.top / "r/trap").symlink_to(TRAPS[trap].format(top=scene.top))

    def make() -> str:
        with scene.filesystem.open_directory(scene.root, path) as directory:
            scene.check(directory.status().inode)
            change(directory)
        return "inside"

    with swapping(scene.top / "r/swap", scene.top / "r/trap"):
        always_there = trap == "root" and path == "swap"
        wanted = {"inside"} if always_there else {"inside", "ENOENT"}
        report(tally(partial(attempt, make), wanted=wanted))


def test_names(scene: Scene, report: Callable[[Counter[str]], None]) -> None:
    """A name that is a link to outside every other moment is not followed by any change."""
    (scene.top / "r/trap").symlink_to(scene.top / "outside/secret")

    def mend() -> str:
        status = root.lstat("fifo")
        root.mend("fifo", expected=status, mode=0o600 if status.mode & 0o004 else 0o604)
        return status.type.value

    with (
        scene.filesystem.open_directory(scene.root, "/") as root,
        swapping(scene.top / "r/fifo", scene.top / "r/trap"),
    ):
        report(tally(partial(attempt, mend), wanted={"fifo", "ELOOP", "ESTALE"}))


def test_directory_names(scene: Scene, report: Callable[[Counter[str]], None]) -> None:
    """A name that is a link to outside every other moment is never opened as a directory there."""
    (scene.top / "r/trap").symlink_to(scene.top / "outside")

    def look() -> str:
        with root.open_directory("swap") as directory:
            scene.check(directory.status().inode)
        return "inside"

    with (
        scene.filesystem.open_directory(scene.root, "/") as root,
        swapping(scene.top / "r/swap", scene.top / "r/trap"),
    ):
        report(tally(partial(attempt, look), wanted={"inside", "ENOTDIR"}))
