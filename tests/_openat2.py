"""Run the whole suite on a kernel that refuses openat2(2).

With ``DEVROOT_TEST_OPENAT2`` set to the name of an error, such as ``ENOSYS`` of an old kernel or
``EPERM`` of an old container runtime, a seccomp filter lets every openat2 of the tests, and of
all processes that they start, fail with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

import pytest

VARIABLE: Final = "DEVROOT_TEST_OPENAT2"

_OPENAT2: Final = 437
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2

# Instructions and answers of a filter, see seccomp(2).
_LOAD_WORD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_FAIL_WITH: Final = 0x0005_0000
_ALLOW: Final = 0x7FFF_0000


class _Instruction(ctypes.Structure):
    """``struct sock_filter``."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Programme(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def obey() -> str:
    """Refuse openat2 if the environment says so, and return a line that says so, too."""
    name = os.environ.get(VARIABLE, "")
    if not name:
        return ""
    number = getattr(errno, name, None)
    if number is None:
        message = f"{VARIABLE} is to be the name of an error, such as ENOSYS, and not {name!r}"
        raise pytest.UsageError(message)
    refuse(number)
    return f"openat2: {name}, by a filter"


def refuse(number: int) -> None:
    """Let openat2 fail with *number* in this process and all that it starts from now on."""
    instructions = (_Instruction * 4)(
        _Instruction(_LOAD_WORD, 0, 0, 0),  # struct seccomp_data starts with the call's number
        _Instruction(_JUMP_IF_EQUAL, 0, 1, _OPENAT2),
        _Instruction(_RETURN, 0, 0, _FAIL_WITH | number),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    )
    programme = _Programme(len(instructions), instructions)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0)  # without it only root may set a filter
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(programme))


def _prctl(option: int, first: int, second: int) -> None:
    call = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if call(option, ctypes.c_ulong(first), ctypes.c_ulong(second), zero, zero) != 0:
        message = f"a filter is not possible here: {os.strerror(ctypes.get_errno())}"
        raise pytest.UsageError(message)
