"""A process: who works on the files, and from where it sees them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from devroot.testing._atomic import LOCK
from devroot.testing._faults import Faults, ProcessKilled
from devroot.testing._rights import ROOT, Credentials

if TYPE_CHECKING:
    from collections.abc import Generator

    from devroot.testing._devices import DeviceRules
    from devroot.testing._vfs import Namespace
    from devroot.testing._walk import Place


@attrs.define(eq=False, kw_only=True)
class Process:
    """Who works on the files, and what all its handles share.

    Attributes:
        namespace: its mount namespace.
        root: its root directory.
        pid: its number, which ``/proc/self`` leads to (decimal).
        who: in whose name it works.
        device_rules: what its device cgroup allows; None for everything.
        protected_hardlinks: whether the kernel's setting of that name is on, proc_sys_fs(5).
        protected_symlinks: likewise.
        faults: what is to go wrong.
        incarnation: stands for the process while it lives; None while there is none.
    """

    namespace: Namespace
    root: Place
    pid: int = 1
    who: Credentials = ROOT
    device_rules: DeviceRules | None = None
    protected_hardlinks: bool = True
    protected_symlinks: bool = True
    faults: Faults = attrs.field(factory=Faults)
    incarnation: object = attrs.field(factory=object)

    @contextmanager
    def doing(self, operation: str, path: str, to: str | None = None) -> Generator[None]:
        """Let faults and hooks come first, then do one step that nobody else sees half done.

        An error of the kernel leaves with the path in it.

        Raises:
            ProcessKilled: the process is killed now, or was and does nothing any more.
        """
        if self.incarnation is None:
            raise ProcessKilled
        try:
            self.faults.meet(operation, path, to)
        except ProcessKilled:
            self.incarnation = None
            raise
        with LOCK:
            try:
                yield
            except OSError as error:
                if error.filename is None:
                    error.filename = path
                    error.filename2 = to
                raise
