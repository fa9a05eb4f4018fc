"""One step at a time: what a thread does to a fake is done when another one looks."""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

LOCK: Final = threading.RLock()
"""Held during every step that nobody is to see half done, in whichever fake; never by a hook."""

# A fork waits for the step that another thread takes, and so its copy is of whole steps, and free.
os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def atomic(method: Callable[P, R]) -> Callable[P, R]:
    """Make a method one step."""

    @functools.wraps(method)
    def whole(*arguments: P.args, **named: P.kwargs) -> R:
        with LOCK:
            return method(*arguments, **named)

    return whole
