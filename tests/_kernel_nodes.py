"""Dev roots on file systems of a mount namespace that ends with the test."""

from __future__ import annotations

import os
import stat
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from devroot import ContainerView, DevRoot
from tests._children import in_child

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ResultT = TypeVar("ResultT")

LONG: Final = bool(os.environ.get("DEVROOT_LONG"))
"""Whether there is time for the long form of tests that can go on for ever."""

_LETTERS: Final = {
    stat.S_IFCHR: "c",
    stat.S_IFBLK: "b",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFREG: "file",
}


def mount(*words: str) -> None:
    """Mount what the words say, as the command of this name does."""
    subprocess.run(["mount", *words], check=True)


def on_tmpfs(place: Path, act: Callable[[str], ResultT], *, options: str = "mode=755") -> ResultT:
    """Return what *act* returns in a mount namespace with a tmpfs at *place*, given its path."""
    return in_child(partial(_on_tmpfs, str(place), act, options), own_mounts=True)


def _on_tmpfs(place: str, act: Callable[[str], ResultT], options: str) -> ResultT:
    mount("-t", "tmpfs", "-o", options, "tmpfs", place)
    os.mkdir(f"{place}/dev")
    return act(place)


def dev_root_at(path: str) -> DevRoot:
    """Return a dev root as this process sees it now."""
    return DevRoot(container=path, view=ContainerView.of_process())


def describe(path: str) -> str:
    """Return what is at *path*: ``c 195:0 0666 0:0``, ``dir 0755 0:0``, ``link TARGET``."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    letter = _LETTERS[stat.S_IFMT(found.st_mode)]
    if letter == "link":
        return f"link {os.readlink(path)}"
    number = f" {os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" if letter in "cb" else ""
    mode = stat.S_IMODE(found.st_mode)
    return f"{letter}{number} {mode:04o} {found.st_uid}:{found.st_gid}"


def tree(path: str) -> dict[str, str]:
    """Return what is below *path*, by relative path."""
    found: dict[str, str] = {}
    for directory, directories, files in os.walk(path):
        for name in directories + files:
            full = f"{directory}/{name}"
            found[os.path.relpath(full, path)] = describe(full)
    return found
