"""Another process that keeps two names changing places while the library works."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import pytest

from devroot import _syscalls

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

_RENAME_EXCHANGE: Final = 2  # of renameat2(2)

AT_LEAST: Final = 300
AT_MOST: Final = 2000
"""How often something is tried: until every outcome has been seen, within these bounds."""


def exchange(one: Path, other: Path) -> None:
    """Let the names *one* and *other* change places in one step."""
    names = os.fsencode(one), os.fsencode(other)
    top = os.open("/", os.O_PATH)
    try:
        _syscalls.renameat2(top, names[0], top, names[1], flags=_RENAME_EXCHANGE)
    finally:
        os.close(top)


@contextmanager
def swapping(one: Path, other: Path) -> Generator[None, None, None]:
    """Let another process do that all the time; in the end the names are where they were."""
    inode = os.lstat(one).st_ino
    try:
        exchange(one, other)
        exchange(one, other)
    except OSError as error:
        pytest.skip(f"two names cannot change places here: {error.strerror}")
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            top = os.open("/", os.O_PATH)
            names = os.fsencode(one), os.fsencode(other)
            while True:
                _syscalls.renameat2(top, names[0], top, names[1], flags=_RENAME_EXCHANGE)
        os._exit(1)
    try:
        yield
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the other process has failed"
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
        if os.lstat(one).st_ino != inode:
            exchange(one, other)


def tally(attempt: Callable[[], str], *, wanted: set[str]) -> Counter[str]:
    """Return how often *attempt* had which outcome, until all that are *wanted* were seen."""
    counts: Counter[str] = Counter()
    for number in range(AT_MOST):
        if number >= AT_LEAST and wanted <= set(counts):
            break
        counts[attempt()] += 1
    return counts
