"""The system calls that Python lacks, as ctypes tables and nothing else.

``ctypes`` is loaded on the first call, so that importing this module costs nothing. Each call
raises `OSError` as the functions of `os` do; ``ENOSYS`` also where this architecture's number of
the call is not known here.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_IN_ROOT: Final = 0x10
RENAME_NOREPLACE: Final = 1

_OPENAT2: Final = 437
"""The number of openat2(2); the calls since Linux 5.1 have one number on most architectures."""

_FCHMODAT2: Final = 452
"""The number of fchmodat2(2), likewise."""

_AT_SYMLINK_NOFOLLOW: Final = 0x100

_NUMBERED_APART: Final = ("alpha", "ia64", "mips")
"""The architectures on which every number has an offset."""

_RENAMEAT2: Final = {
    "aarch64": 276,
    "armv6l": 382,
    "armv7l": 382,
    "i386": 353,
    "i686": 353,
    "loongarch64": 276,
    "ppc64": 357,
    "ppc64le": 357,
    "riscv64": 276,
    "s390x": 347,
    "x86_64": 316,
}
"""The number of renameat2(2) by machine, for a C library without the function."""


def openat2(root: int, path: bytes, *, flags: int) -> int:
    """Open *path* as if after chroot(2) to the directory *root*.

    See openat2(2); no magic link of proc(5) is followed on the way.

    Args:
        root: a descriptor of the directory.
        path: the path to look up in it, without a NUL.
        flags: ``O_*`` flags; one that the kernel does not know is ``EINVAL`` here.

    Returns:
        A descriptor, close-on-exec if *flags* say so.

    Raises:
        OSError: ``EAGAIN`` if a rename or mount elsewhere made the kernel unsure whether ``..``
            stayed inside; anything that openat(2) raises. No ``filename`` is set.
    """
    return _openat2()(root, path, flags)


def renameat2(source: int, name: bytes, target: int, to_name: bytes, *, flags: int) -> None:
    """Move *name* in *source* to *to_name* in *target*, as renameat2 in rename(2) says.

    Args:
        source: a descriptor of the directory that holds *name*.
        name: the name now.
        target: a descriptor of the directory that shall hold *to_name*.
        to_name: the name afterwards.
        flags: ``RENAME_*`` flags.

    Raises:
        OSError: ``EEXIST`` if *to_name* exists and *flags* hold ``RENAME_NOREPLACE``; ``EINVAL``
            if the file system does not know the flags. No ``filename`` is set.
    """
    _renameat2()(source, name, target, to_name, flags)


def fchmodat2(directory: int, name: bytes, mode: int) -> None:
    """Set the mode of *name* itself in *directory*, see fchmodat2 in chmod(2); since Linux 6.6.

    Args:
        directory: a descriptor of the directory that holds *name*.
        name: the name; a symbolic link is not followed.
        mode: permission bits, without the file type.

    Raises:
        OSError: ``EOPNOTSUPP`` if it is a symbolic link; anything that chmod(2) raises. No
            ``filename`` is set.
    """
    _fchmodat2()(directory, name, mode)


@functools.cache
def _openat2() -> Callable[[int, bytes, int], int]:
    import ctypes  # noqa: PLC0415 - only those who need the call pay for ctypes

    if os.uname().machine.startswith(_NUMBERED_APART):
        return _unknown_here

    class OpenHow(ctypes.Structure):
        """``struct open_how`` of openat2(2)."""

        _fields_ = (
            ("flags", ctypes.c_uint64),
            ("mode", ctypes.c_uint64),
            ("resolve", ctypes.c_uint64),
        )

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.POINTER(OpenHow),
        ctypes.c_size_t,
    )
    size = ctypes.sizeof(OpenHow)

    @functools.cache
    def how(flags: int) -> ctypes._Pointer[OpenHow]:
        return ctypes.pointer(OpenHow(flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS))

    def call(root: int, path: bytes, flags: int) -> int:
        descriptor: int = syscall(_OPENAT2, root, path, how(flags), size)
        if descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return descriptor

    return call


@functools.cache
def _fchmodat2() -> Callable[[int, bytes, int], int]:
    import ctypes  # noqa: PLC0415 - only those who need the call pay for ctypes

    if os.uname().machine.startswith(_NUMBERED_APART):
        return _unknown_here
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
        ctypes.c_uint,
    )

    def call(directory: int, name: bytes, mode: int) -> int:
        result: int = syscall(_FCHMODAT2, directory, name, mode, _AT_SYMLINK_NOFOLLOW)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    return call


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int]:
    import ctypes  # noqa: PLC0415 - only those who need the call pay for ctypes

    library = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    leading: tuple[int, ...] = ()
    try:
        function = library.renameat2  # glibc has it since 2.28
    except AttributeError:
        machine = os.uname().machine
        foreign = machine.endswith("64") and sys.maxsize < 2**32  # a 32-bit process
        if machine not in _RENAMEAT2 or foreign:
            return _unknown_here
        leading = (_RENAMEAT2[machine],)
        function = library.syscall
        function.restype = ctypes.c_long
        function.argtypes = (ctypes.c_long, *arguments)
    else:
        function.restype = ctypes.c_int
        function.argtypes = arguments

    def call(source: int, name: bytes, target: int, to_name: bytes, flags: int) -> int:
        result: int = function(*leading, source, name, target, to_name, flags)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    return call


def _unknown_here(*_arguments: object) -> int:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
