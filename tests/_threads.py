"""Threads that do the same thing at the same moment, and what each of them got."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")

THREADS = 8

needs_whole_forks = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="without the GIL a fork copies the locks of Python's own objects as other threads hold"
    " them, and can wait for ever in whatever it calls",
)
"""For tests that fork while other threads are at work."""


@contextmanager
def hasty() -> Generator[None]:
    """Let threads take turns as often as the interpreter can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def at_once(act: Callable[[int], T], *, threads: int = THREADS) -> list[T]:
    """Return what *act* returns in each of some threads, which all start it at once.

    Args:
        act: what each does; it is given a number from 0 on.
        threads: how many there are.

    Raises:
        BaseException: what the first of them raised, by number.
    """
    barrier = threading.Barrier(threads)
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            barrier.wait()
            results[number] = act(number)
        except BaseException as error:  # noqa: BLE001 - it is raised in the test's own thread
            errors[number] = error

    with hasty():
        running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    for number in sorted(errors):
        raise errors[number]
    return [results[number] for number in range(threads)]
