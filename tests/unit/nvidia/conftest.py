"""Views of recorded driver states, built from the files in ``tests/data/nvidia``."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.testing import TreeFileSystem

DATA = Path(__file__).parents[2] / "data" / "nvidia"


class Recorded(Protocol):
    """Gives the view of a recorded state."""

    def __call__(
        self, name: str, /, *specs: str, mountinfo: str = "", proc: str = "/proc"
    ) -> ContainerView:
        """Return the view of the folder *name* and, besides, the files of *specs*.

        Its mount table is that of the folder *mountinfo*; by default it is empty. The folder's
        ``proc`` is at *proc*.
        """
        raise NotImplementedError


def _view(name: str, /, *specs: str, mountinfo: str = "", proc: str = "/proc") -> ContainerView:
    folder = DATA / name
    tree = TreeFileSystem()
    for place in sorted((folder / "proc").rglob("*")):
        if place.is_file():
            below = place.relative_to(folder / "proc").as_posix()
            tree.file(f"{proc}/{below}", place.read_bytes(), mode=0o444)
    listing = folder / "tree.txt"
    if listing.exists():
        tree.add(*listing.read_text("utf-8").splitlines())
    tree.add(*specs)
    table = (DATA / mountinfo / "mountinfo").read_bytes() if mountinfo else b""
    return ContainerView(
        filesystem=tree,
        mountinfo=MountInfoTable[ContainerPath].parse(table),
        proc=ContainerPath(proc),
    )


@pytest.fixture
def recorded() -> Recorded:
    """Return what gives the view of a recorded state."""
    return _view


@pytest.fixture
def data() -> Path:
    """Return the folder of the recorded states."""
    return DATA
