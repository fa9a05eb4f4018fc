"""Errors about device nodes, and about the kernel's own records of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot.errors._base import DevRootError, KernelError, bulleted

if TYPE_CHECKING:
    from devroot._mknod import Report
    from devroot._presence import NodePresence


class NodeError(KernelError):
    """At least one device node could not be made as asked; nothing else was stopped by it.

    Attributes:
        errno: of the first cause.
        filename: of the first cause.
        report: what became of every node.

    .. versionadded:: 0.1.0
    """

    _fields = ("number", "reason", "filename", "report")

    def __init__(self, number: int, reason: str, filename: str, *, report: Report) -> None:
        self.report = report
        super().__init__(number, reason, filename)


class NodesMissingError(DevRootError, LookupError):
    """A set of nodes is not complete, as far as the host is concerned.

    Attributes:
        absent: what was found of each node that is not there.

    .. versionadded:: 0.1.0
    """

    _fields = ("absent",)

    def __init__(self, absent: tuple[NodePresence, ...]) -> None:
        self.absent = absent
        nodes = "device node is" if len(absent) == 1 else "device nodes are"
        super().__init__(bulleted(f"{len(absent)} {nodes} not there:", map(str, absent)))


class DeviceNotFoundError(DevRootError, LookupError):
    """The kernel has no such device node, as far as can be seen.

    Attributes:
        sought: what was looked for, such as ``c 1:3``.
        unknown: what hides devices here, if anything does; then it may exist all the same.

    .. versionadded:: 0.1.0
    """

    _fields = ("sought", "unknown")

    def __init__(self, sought: str, *, unknown: tuple[str, ...] = ()) -> None:
        self.sought = sought
        self.unknown = unknown
        text = f"the catalogue has no device node {sought}"
        if unknown:
            text = bulleted(f"{text}, but it does not know all:", unknown)
        super().__init__(text)


class UdevUnavailableError(DevRootError, ImportError):
    """The shared library of udev, or the module that speaks to it, cannot be loaded.

    Attributes:
        reason: what the loader says.

    .. versionadded:: 0.1.0
    """

    _fields = ("reason",)

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"libudev.so.1 cannot be used: {reason}; install the package libudev1 (Debian,"
            " Ubuntu), systemd-libs (Fedora, RHEL), libudev1 (SUSE) or eudev-libs (Alpine), and"
            " the module pyudev. DeviceCatalog.of_sysfs() reads devices without it"
        )
