"""Who works on the files: users with few rights, on the real kernel and in memory alike."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from devroot._view import CAP_MKNOD
from devroot.testing._inodes import kernel_error
from devroot.testing._rights import (
    ALL_CAPABILITIES,
    CAP_CHOWN,
    CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH,
    CAP_FOWNER,
    CAP_FSETID,
    ROOT,
    Credentials,
)

if TYPE_CHECKING:
    from collections.abc import Generator

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_VERSION: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3


def _bits(*capabilities: int) -> int:
    return sum(1 << each for each in capabilities)


USERS: Final = st.sampled_from(
    [
        ROOT,
        ROOT,
        ROOT,
        Credentials(uid=1, gid=1, capabilities=0),
        Credentials(uid=1, gid=2, capabilities=0),
        Credentials(uid=2, gid=1, groups=frozenset({2}), capabilities=0),
        Credentials(uid=3, gid=3, capabilities=_bits(CAP_DAC_READ_SEARCH)),
        Credentials(uid=3, gid=3, capabilities=_bits(CAP_FOWNER)),
        Credentials(uid=1, gid=3, capabilities=_bits(CAP_DAC_OVERRIDE, CAP_MKNOD)),
        Credentials(uid=3, gid=2, capabilities=_bits(CAP_CHOWN, CAP_DAC_OVERRIDE)),
        Credentials(capabilities=0),
        Credentials(capabilities=_bits(CAP_FSETID, CAP_FOWNER, CAP_DAC_READ_SEARCH)),
        Credentials(capabilities=ALL_CAPABILITIES & ~_bits(CAP_DAC_OVERRIDE)),
    ]
)
OPEN_MODES: Final = st.sampled_from([0o755, 0o777, 0o1777, 0o3770, 0o2775, 0o770, 0o750])
MODES: Final = st.sampled_from(
    [0o755, 0o755, 0o755, 0o700, 0o2775, 0o1777, 0o777, 0o711, 0o744, 0o2070, 0o5773, 0]
)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def _set_effective(wanted: int) -> None:
    """Let the process have *wanted*, as far as it is permitted; capset(2)."""
    header, data = _Header(_VERSION, 0), (_Data * 2)()
    if _LIBC.capget(ctypes.byref(header), data) != 0:
        raise kernel_error(ctypes.get_errno())
    for index, each in enumerate(data):
        each.effective = wanted >> 32 * index & each.permitted
    if _LIBC.capset(ctypes.byref(header), data) != 0:
        raise kernel_error(ctypes.get_errno())


@contextmanager
def acting_as(who: Credentials) -> Generator[None]:
    """Let this process, which is root, work in the name of *who*."""
    os.setgroups(sorted(who.groups))
    os.setegid(who.gid)
    os.seteuid(who.uid)
    _set_effective(who.capabilities)
    try:
        yield
    finally:
        _set_effective(ALL_CAPABILITIES)
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])


def is_set(name: str) -> bool:
    """Return whether a setting of the kernel for files is on; proc_sys_fs(5)."""
    return Path("/proc/sys/fs", name).read_text("ascii").strip() != "0"
