"""Devices from the files of sysfs, below any root and without libudev.

sysfs(5) has a link for each device that has a number, in ``dev/char`` and ``dev/block``. It leads
to the device's directory, whose file ``uevent`` says what the kernel says in its messages, and
whose link ``subsystem`` ends in the name of that. A directory above with a ``uevent`` file is a
device too.
"""

from __future__ import annotations

import errno
import posixpath
from typing import TYPE_CHECKING, Final

from devroot._paths import as_container_path
from devroot._view import ContainerView
from devroot.udev._context import Record
from devroot.udev._hidden import hidden
from devroot.udev._pyudev import PyudevMonitor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._filesystem import FileSystem
    from devroot._paths import ContainerPath
    from devroot.udev._context import UdevMonitor

_LINKS: Final = ("/dev/block", "/dev/char")
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENODEV})
_TOPS: Final = frozenset({"/", "/devices", "/devices/virtual"})


class SysfsContext:
    """Knows the devices that a sysfs lists; news comes from the kernel of this process.

    Args:
        sysfs: the root of the sysfs.
        view: whose files and mounts these are; by default those of this process.
    """

    def __init__(self, sysfs: str | ContainerPath, *, view: ContainerView | None = None) -> None:
        self._sysfs = as_container_path(sysfs)
        self._view = ContainerView.of_process() if view is None else view
        self.unknown = hidden(self._view, self._sysfs)

    def records(self) -> Iterable[Record]:
        """Return the devices that have a node."""
        reader = Reader(self._view.filesystem, self._sysfs)
        for directory in _LINKS:
            for name in reader.names(directory):
                record = reader.record_at(f"{directory}/{name}")
                if record is not None:
                    yield record

    def monitor(self) -> UdevMonitor:
        """Return a new monitor."""
        return PyudevMonitor()


class Reader:
    """Reads devices below one sysfs root, each parent once."""

    def __init__(self, files: FileSystem, sysfs: ContainerPath) -> None:
        self._files = files
        self._sysfs = sysfs
        self._known: dict[str, Record | None] = {}

    def names(self, directory: str) -> list[str]:
        """Return what is in a directory; nothing if there is none."""
        try:
            with self._files.open_directory(self._sysfs, directory) as opened:
                return opened.names()
        except (FileNotFoundError, NotADirectoryError):
            return []

    def record_at(self, link: str) -> Record | None:
        """Return the device to which a link leads; None if it is gone by now."""
        try:
            target = self._files.read_link(self._sysfs, link)
        except FileNotFoundError:
            return None
        return self.record(posixpath.normpath(posixpath.join(posixpath.dirname(link), target)))

    def record(self, sysfs_path: str) -> Record | None:
        """Return the device at *sysfs_path* with its parents; None if there is none."""
        found = self._alone(sysfs_path)
        if found is None:
            return None
        return Record(
            sysfs_path=sysfs_path, properties=found.properties, parents=self.parents(sysfs_path)
        )

    def parents(self, sysfs_path: str) -> tuple[Record, ...]:
        """Return the devices above *sysfs_path*, the nearest first."""
        found: list[Record] = []
        above = posixpath.dirname(sysfs_path)
        while above not in _TOPS:
            if above not in self._known:
                self._known[above] = self._alone(above)
            parent = self._known[above]
            if parent is not None:
                found.append(parent)
            above = posixpath.dirname(above)
        return tuple(found)

    def _alone(self, sysfs_path: str) -> Record | None:
        try:
            data = self._files.read_bytes(self._sysfs, f"{sysfs_path}/uevent")
        except OSError as error:
            if error.errno in _GONE:  # ENODEV: it went while it was read
                return None
            raise
        text = data.decode("utf-8", "surrogateescape")
        said = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)
        try:
            subsystem = self._files.read_link(self._sysfs, f"{sysfs_path}/subsystem")
        except FileNotFoundError:
            subsystem = ""
        return Record(
            sysfs_path=sysfs_path, properties={**said, "SUBSYSTEM": posixpath.basename(subsystem)}
        )
