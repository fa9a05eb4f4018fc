"""The file systems that tests run against: one for each way to resolve a path, and the fakes."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import attrs
import pytest
from pyfakefs.fake_filesystem_unittest import Patcher
from pyfakefs.helpers import reset_ids, set_gid, set_uid

from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from devroot.testing import TreeFileSystem
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from devroot._filesystem import FileSystem

LOCAL: Final = ("openat2", "walk", "portable")
"""The ways that work on the real file system."""

LINKED: Final = tuple(f"{name}-linked" for name in LOCAL)
"""The same, with a root that is given through a symbolic link."""

FAKED_OS: Final = "portable-pyfakefs"
TREE: Final = "tree"
ALL: Final = (*LOCAL, *LINKED, FAKED_OS, TREE)


@attrs.frozen
class System:
    """A file system, and a root in it that holds a given tree."""

    filesystem: FileSystem
    root: ContainerPath

    def below(self, place: str) -> str:
        """Return the text of the path of *place*, which is given from the root."""
        return f"{self.root}{place}" if place != "/" else str(self.root)


def local(name: str) -> LocalFileSystem:
    """Return the real file system with this resolver; skip where the kernel has none."""
    if name == "walk":
        return LocalFileSystem(resolver="walk")
    if name == "portable":
        return LocalFileSystem(resolver="portable")
    filesystem = LocalFileSystem(resolver="openat2")
    try:
        filesystem.resolve(ContainerPath("/"), "/")
    except OSError as error:
        pytest.skip(f"openat2 is refused here: {os.strerror(error.errno or 0)}")
    return filesystem


def usable() -> list[LocalFileSystem]:
    """Return the real file system with each resolver that this kernel lets us use."""
    found: list[LocalFileSystem] = []
    for name in LOCAL:
        with suppress(pytest.skip.Exception):
            found.append(local(name))
    return found


@contextmanager
def opened(name: str, scratch: Path, specs: Iterable[str]) -> Generator[System, None, None]:
    """Give the system *name* with the tree *specs*, on the real one in the new dir *scratch*."""
    if name == TREE:
        yield System(TreeFileSystem(_moved("/r", specs)), ContainerPath("/r"))
        return
    if name == FAKED_OS:
        with Patcher():
            set_uid(0)  # only root can make a fifo there
            set_gid(0)
            try:
                os.mkdir("/r")
                build("/r", specs)
                yield System(LocalFileSystem(resolver="portable"), ContainerPath("/r"))
            finally:
                reset_ids()
        return
    resolver, _, linked = name.partition("-")
    filesystem = local(resolver)
    root = scratch / "r"
    root.mkdir()
    build(str(root), specs)
    if linked:
        (scratch / "link").symlink_to("r")
        root = scratch / "link"
    yield System(filesystem, ContainerPath(str(root)))


def _moved(base: str, specs: Iterable[str]) -> list[str]:
    """Return *specs* with each path below *base*, and the target of a second name too."""
    moved: list[str] = []
    for spec in specs:
        word, _, rest = spec.partition(" ")
        if word == "hard":
            rest = rest.replace(" ", f" {base}")
        quote = "'" if rest.startswith("'") else ""
        moved.append(f"{word} {quote}{base}{rest.removeprefix(quote)}")
    return moved
