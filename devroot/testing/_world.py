"""One kernel: all that a fake host and its containers share."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from devroot.testing._inodes import Volume
from devroot.testing._limits import Limit
from devroot.testing._procfs import KernelFiles, ProcFiles, device_number
from devroot.testing._vfs import MountKernel

if TYPE_CHECKING:
    from devroot.testing._container import FakeContainer


class World:
    """One kernel: all that a host and its containers share."""

    def __init__(self) -> None:
        self.mounts: MountKernel = MountKernel()
        self.files: KernelFiles = KernelFiles()
        self.containers: list[FakeContainer] = []
        self.pids: itertools.count[int] = itertools.count(1000, 17)
        self._minors = itertools.count(30)
        size = "size=8192k,nr_inodes=2051834,mode=755"
        self.devtmpfs: Volume = self.volume("devtmpfs", "devtmpfs", size, number=(0, 5))
        self.sysfs: Volume = self.volume("sysfs", "sysfs", number=(0, 20))
        self.sysfs.root.lacks = Limit.SYS

    def number_from(self, *, mount_id: int, minor: int) -> None:
        """Give what is mounted from now on numbers from these on, as on a host long in use."""
        self.mounts.number_from(mount_id)
        self._minors = itertools.count(minor)

    def volume(
        self, fstype: str, source: str, options: str = "", *, number: tuple[int, int] | None = None
    ) -> Volume:
        """Return a new file system; by default its number is one that no other has."""
        major, minor = (0, next(self._minors)) if number is None else number
        device = device_number(major, minor)
        return Volume(device, fstype=fstype, source=source, options=options)

    def proc(self) -> ProcFiles:
        """Return a new ``/proc``, for a new PID namespace."""
        return ProcFiles(self.volume("proc", "proc"), self.files)
