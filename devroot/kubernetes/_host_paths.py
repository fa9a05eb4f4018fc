"""What is known of host paths before a node is seen: which exist, and which are directories."""

from __future__ import annotations

from typing import Final

from devroot._paths import HostPath
from devroot._reach import HOST_DEV
from devroot.nvidia import _nodes

HOST_ROOT: Final = HostPath("/")
HOST_PROC: Final = HostPath("/proc")
_RUN: Final = (HostPath("/run"), HostPath("/var/run"))

# Names in /dev that are directories wherever they exist; see Documentation/admin-guide/devices.txt
# of the kernel, and the names that its drivers give to their nodes.
_DIRECTORIES: Final = frozenset(
    {
        "accel",
        "bus",
        "char",
        "dma_heap",
        "dri",
        "infiniband",
        "input",
        "mapper",
        "net",
        "snd",
        "vfio",
        _nodes.CAPABILITIES,
        _nodes.IMEX_CHANNELS,
    }
)


def is_below_dev(path: HostPath) -> bool:
    """Whether *path* is a proper part of the host's ``/dev``."""
    return path != HOST_DEV and path.is_relative_to(HOST_DEV)


def is_below_run(path: HostPath) -> bool:
    """Whether *path* is in a directory that is empty after every boot."""
    return any(path != run and path.is_relative_to(run) for run in _RUN)


def is_known_directory(path: HostPath) -> bool:
    """Whether a path in the host's ``/dev`` is a directory wherever it exists."""
    return path.parent == HOST_DEV and path.name in _DIRECTORIES


def type_for(path: HostPath) -> str:
    """Return the ``hostPath`` type with which a pod starts on a fresh node; empty for none.

    The kubelet makes a missing directory with mode 0755 and owner 0:0, as drivers do.
    """
    if path in {HOST_ROOT, HOST_DEV}:
        return "Directory"
    return "DirectoryOrCreate" if is_known_directory(path) else ""
