"""Faults on demand: an operation fails, or somebody else acts just before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot._paths import ContainerPath, as_container_path
from devroot.errors import InvalidSceneError
from devroot.testing._atomic import LOCK
from devroot.testing._inodes import kernel_error

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATIONS: Final = frozenset(
    {
        "link",
        "lstat",
        "make_directory",
        "make_directory.mode",
        "make_directory.owner",
        "make_node",
        "make_node.mode",
        "make_node.owner",
        "make_symlink",
        "mend",
        "mend.mode",
        "mend.owner",
        "names",
        "open_directory",
        "read_bytes",
        "read_link",
        "remove_directory",
        "rename",
        "resolve",
        "status",
        "try_lock",
        "unlink",
        "write_file",
        "write_file.data",
        "write_file.mode",
    }
)
"""What can be watched and made to fail: the methods of `FileSystem` and `Directory`.

A method that takes several system calls has several: ``make_node.owner`` comes when the name
is there, and has neither its owner nor its mode yet.
"""


class ProcessKilled(BaseException):
    """The process under test was killed here, as by SIGKILL: it does nothing any more.

    No handler of errors catches it by accident, and what tidies up on the way out has no effect:
    until `TreeFileSystem.restart`, every operation raises it again.

    .. versionadded:: 0.1.0
    """


@attrs.frozen(kw_only=True)
class Operation:
    """One step that is about to be taken.

    Attributes:
        name: the method of `FileSystem` or `Directory`, such as ``make_node``; a later step of
            the same method is ``make_node.owner`` or ``make_node.mode``.
        path: what it is about to be done to: for a `Directory`, the path at which the handle
            was opened with the name added; for a `FileSystem`, the root with the unsafe path
            added as text, ``..`` and links and all.
        to: the second path of ``link`` and ``rename``, else None.

    .. versionadded:: 0.1.0
    """

    name: str
    path: str
    to: str | None = None


@attrs.define(eq=False)
class _Fault:
    error: int | BaseException
    operation: str
    path: str | None
    nth: int
    times: int
    seen: int = 0

    def meet(self, operation: Operation) -> BaseException | None:
        """Return what to raise at this operation, if anything."""
        if operation.name != self.operation or self.path not in {None, operation.path}:
            return None
        self.seen += 1
        if not self.nth <= self.seen < self.nth + self.times:
            return None
        if isinstance(self.error, BaseException):
            return self.error
        error = kernel_error(self.error)
        error.filename = operation.path
        return error


class Faults:
    """What is to happen before operations, in the order in which it was asked for."""

    def __init__(self) -> None:
        self._hooks: list[Callable[[Operation], object]] = []
        self._faults: list[_Fault] = []

    def watch(self, hook: Callable[[Operation], object]) -> None:
        """Call *hook* before every operation from now on."""
        self._hooks.append(hook)

    def add(
        self,
        operation: str,
        error: int | BaseException,
        *,
        path: str | ContainerPath | None,
        nth: int,
        times: int,
    ) -> None:
        """Let an operation fail; see `TreeFileSystem.fail`."""
        call = f"fail({operation!r})"
        if operation not in OPERATIONS:
            known = ", ".join(sorted(OPERATIONS))
            raise InvalidSceneError(call, reason=f"no such operation; there are {known}")
        if nth < 1 or times < 1:
            raise InvalidSceneError(call, reason="nth and times are counted from 1")
        text = None if path is None else str(as_container_path(path))
        self._faults.append(_Fault(error, operation, text, nth, times))

    def meet(self, name: str, path: str, to: str | None = None) -> None:
        """Run the hooks, and raise the first fault that is due."""
        operation = Operation(name=name, path=path, to=to)
        for hook in tuple(self._hooks):
            hook(operation)
        with LOCK:  # each operation is counted once, whoever takes it
            due = [error for fault in self._faults if (error := fault.meet(operation))]
        if due:
            raise due[0]
