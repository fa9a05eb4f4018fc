"""Functions run in a child process, where they may give up rights or mount what they like."""

from __future__ import annotations

import ctypes
import os
import pickle
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import devroot

if TYPE_CHECKING:
    from collections.abc import Callable

ResultT = TypeVar("ResultT")

NOBODY: Final = 65534
MS_NOSYMFOLLOW: Final = 0x100

_CLONE_NEWNS: Final = 0x20000
_MS_BIND: Final = 0x1000
_MS_PRIVATE_REC: Final = 0x40000 | 0x4000


def environment() -> dict[str, str]:
    """Return what a programme runs with: this devroot, and no coverage.

    Measuring loads modules of its own, and has locks that a fork with threads takes along.
    """
    inherited = {name: text for name, text in os.environ.items() if "COVERAGE" not in name}
    return {**inherited, "PYTHONPATH": str(Path(devroot.__file__).parent.parent)}


class ChildError(Exception):
    """The function has raised in the child; the text is its traceback."""


def in_child(
    function: Callable[[], ResultT], *, own_mounts: bool = False, uid: int | None = None
) -> ResultT:
    """Return what *function* returns in a child process; it has to be picklable.

    Args:
        function: what to run.
        own_mounts: whether the child has a mount namespace of its own.
        uid: the user and group that the child becomes.

    Raises:
        ChildError: *function* has raised.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            if own_mounts:
                _own_mounts()
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            answer: tuple[bool, Any] = True, function()
        except BaseException:  # noqa: BLE001 - whatever it is, the parent has to know
            answer = False, traceback.format_exc()
        with open(writer, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    succeeded, result = pickle.loads(data)
    if not succeeded:
        raise ChildError(result)
    return result  # type: ignore[no-any-return]  # as the child made it


def mount(source: str, target: str, *, kind: str = "", flags: int = 0) -> None:
    """Mount *source* at *target*: a bind mount, unless *kind* says which file system."""
    flags |= 0 if kind else _MS_BIND
    _call("mount", os.fsencode(source), os.fsencode(target), kind.encode(), flags, None)


def unmount(target: str) -> None:
    """Unmount what is at *target*, at once."""
    _call("umount2", os.fsencode(target), 2)


def _own_mounts() -> None:
    _call("unshare", _CLONE_NEWNS)
    _call("mount", b"none", b"/", None, _MS_PRIVATE_REC, None)


def _call(name: str, *arguments: bytes | int | None) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
