"""What all errors share: they pickle and copy, and some are errors of the kernel."""

from __future__ import annotations

import errno as errno_module
import os
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


def bulleted(first: str, rest: Iterable[str]) -> str:
    """Return *first* with the rest below it, a line each."""
    return "\n  - ".join([first, *rest])


class DevRootError(Exception):
    """The base of all errors of this package; each of them pickles and copies.

    .. versionadded:: 0.1.0
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{name: getattr(self, name) for name in self._fields}), ()


class KernelError(DevRootError, OSError):
    """An error with ``errno`` and ``filename`` whose text names the way out."""

    _fields: ClassVar[tuple[str, ...]] = ("number", "reason", "filename")

    def __init__(self, number: int, reason: str, filename: str) -> None:
        self.number = number
        self.reason = reason
        super().__init__(number, reason, filename)

    def __str__(self) -> str:
        name = errno_module.errorcode.get(self.errno or 0, "error")
        return f"{self.filename}: {self.strerror} [{name}: {os.strerror(self.errno or 0)}]"
