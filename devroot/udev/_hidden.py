"""What hides devices and the kernel's messages of them from this process, as far as can be told."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final

from devroot._paths import ContainerPath
from devroot._view import INITIAL_USER_NAMESPACE, ContainerView
from devroot.errors import MountInfoError, ProcUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSFS: Final = ContainerPath("/sys")

# Where devices with numbers are looked for; file systems of their own belong below the others.
_DEVICES: Final = ("block", "bus", "class", "dev", "devices")

_NS_GET_USERNS: Final = 0xB701  # ioctl_nsfs(2), since Linux 4.9
_OWN_NETWORK: Final = "/proc/self/ns/net"
_OWN_USER: Final = "/proc/self/ns/user"
_WHY: Final = "the kernel sends its messages to those that belong to the initial user namespace"


def hidden(view: ContainerView, sysfs: ContainerPath) -> tuple[str, ...]:
    """Return what is known to hide devices below the sysfs root *sysfs*."""
    return tuple(_hiding(view, sysfs))


def hidden_from_process() -> tuple[str, ...]:
    """Return what is known to hide devices in this process's ``/sys``."""
    try:
        return hidden(ContainerView.of_process(), SYSFS)
    except (MountInfoError, ProcUnavailableError) as error:
        return (f"what is mounted at {SYSFS} cannot be told: {error}",)


def _hiding(view: ContainerView, sysfs: ContainerPath) -> Iterator[str]:
    try:
        mount = view.mountinfo.covering(view.locate(sysfs))
        if mount is None or mount.fstype != "sysfs":
            there = "nothing" if mount is None else mount.fstype
            yield f"{there} is mounted at {sysfs}, and no sysfs"
            return
        root = mount.mount_point
        for below in view.mountinfo.below(sysfs):
            if any(below.mount_point.is_relative_to(root / name) for name in _DEVICES):
                yield f"{below.fstype} is mounted over {below.mount_point}"
    except MountInfoError as error:
        yield f"what is mounted at {sysfs} cannot be told: {error}"


def deafness() -> tuple[str, ...]:
    """Return why the kernel's messages may not come to this process.

    Since Linux 4.18 they are sent to every network namespace whose owner is the initial user
    namespace, and to no other one (``uevent_net_init`` in ``lib/kobject_uevent.c``).
    """
    try:
        if os.readlink(_OWN_USER) != INITIAL_USER_NAMESPACE:
            return (
                f"this process has a user namespace of its own, and of network namespaces {_WHY}",
            )
        owner = _owner_of_network()
    except OSError as error:
        return (f"whose network namespace this is cannot be told: {error}; {_WHY}",)
    if owner != INITIAL_USER_NAMESPACE:
        return (f"this network namespace belongs to {owner}, and {_WHY}",)
    return ()


def _owner_of_network() -> str:
    """Return the user namespace that owns this network namespace, as its link in ``/proc`` reads.

    Raises:
        OSError: ``EPERM`` if it is out of sight.
    """
    own = os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)
    try:
        owner = fcntl.ioctl(own, _NS_GET_USERNS)
    finally:
        os.close(own)
    try:
        return f"user:[{os.fstat(owner).st_ino}]"
    finally:
        os.close(owner)
