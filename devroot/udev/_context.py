"""The seam between this room and whoever knows the kernel's devices: libudev, sysfs, or a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen(kw_only=True)
class Record:
    """A device as the kernel describes it.

    Attributes:
        sysfs_path: its place below the sysfs root, such as ``/devices/virtual/mem/null``; the
            kernel calls it ``DEVPATH``.
        properties: what its ``uevent`` file says, and its ``SUBSYSTEM``.
        parents: the devices that it belongs to, the nearest first; their own ``parents`` are
            empty.

    .. versionadded:: 0.1.0
    """

    sysfs_path: str
    properties: Mapping[str, str]
    parents: tuple[Record, ...] = ()


@attrs.frozen(kw_only=True)
class UdevNews:
    """What the kernel has said of one device.

    Attributes:
        action: ``add``, ``remove``, ``change``, ``move``, ``bind`` and others.
        record: the device; after ``remove`` its parents can be gone as well.

    .. versionadded:: 0.1.0
    """

    action: str
    record: Record


class UdevMonitor(Protocol):
    """Hears what the kernel says, from the moment when it was made.

    .. versionadded:: 0.1.0
    """

    @property
    def unknown(self) -> tuple[str, ...]:
        """Why it may hear nothing; empty if nothing speaks against it."""
        ...

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is news or an error."""
        ...

    def receive(self, timeout: float | None, /) -> UdevNews | None:
        """Wait for one piece of news, for at most *timeout* seconds; None waits for ever.

        Returns:
            The news; None if there was none in time.

        Raises:
            EOFError: there will never be any more.
            OSError: ``ENOBUFS`` if news was lost because nobody read it in time. What is still
                to be read is older than what was lost.
        """
        ...

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        ...


class UdevContext(Protocol):
    """Knows the kernel's devices.

    .. versionadded:: 0.1.0
    """

    @property
    def unknown(self) -> tuple[str, ...]:
        """Why it may not know all of them; empty if nothing speaks against it."""
        ...

    def records(self) -> Iterable[Record]:
        """Return the devices that have a node, as they are now, in no order."""
        ...

    def monitor(self) -> UdevMonitor:
        """Return a new monitor."""
        ...
