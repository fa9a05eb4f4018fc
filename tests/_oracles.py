"""What the kernel itself says of a path inside a root, to hold the resolvers against."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devroot import _syscalls
from tests._children import in_child

if TYPE_CHECKING:
    from collections.abc import Iterable


def kernel_answer(root: str, path: str) -> tuple[int, str]:
    """Return the error number and the place that openat2(2) gives; one of them is nothing.

    It is asked until it is sure: a rename anywhere on the machine can make it unsure of ``..``.
    """
    held = os.open(root, os.O_PATH)
    try:
        while True:
            try:
                found = _syscalls.openat2(held, os.fsencode(path) or b"/", flags=os.O_PATH)
            except BlockingIOError:
                continue
            except OSError as error:
                return error.errno or 0, ""
            place = os.readlink(f"/proc/self/fd/{found}")
            os.close(found)
            return 0, place
    finally:
        os.close(held)


def chroot_answers(root: str, paths: Iterable[str]) -> list[tuple[int, str]]:
    """Return the same for each path, with the place as seen from *root*, after chroot(2) to it."""

    def answers() -> list[tuple[int, str]]:
        held = os.open("/proc/self/fd", os.O_RDONLY)
        os.chroot(root)
        os.chdir("/")
        return [_answer(held, path) for path in paths]

    return in_child(answers)


def _answer(proc: int, path: str) -> tuple[int, str]:
    try:
        found = os.open(path or "/", os.O_PATH)
    except OSError as error:
        return error.errno or 0, ""
    place = os.readlink(str(found), dir_fd=proc)
    os.close(found)
    return 0, place
