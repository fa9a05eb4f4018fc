"""The driver's files below ``/proc``: read them, and tell what is hidden from what is not there.

A container runtime that gives GPUs to a container changes what ``/proc/driver/nvidia`` shows:
the older way is a tmpfs over the directory with a few files bound back, the newer one replaces
``params`` alone. The mount table shows both, and it is what is trusted here. That a file of
procfs has the size 0 is weaker evidence and used only where there is no mount table.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from devroot.errors import ProcFileError, ProcMaskedError, ProcUnavailableError

if TYPE_CHECKING:
    from devroot._paths import ContainerPath
    from devroot._view import ContainerView

_FIELD: Final = re.compile(r"([^:]+):(.*)", re.DOTALL)
_UNSIGNED: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_UNSIGNED_MAX: Final = (1 << 32) - 1


def mask(view: ContainerView, below: str) -> str:
    """Return what is mounted over *below* in ``/proc``, in words; empty if nothing is known to be.

    A proc root that is itself no procfs, as mock set-ups give one, masks nothing: its owner
    chose it whole.
    """
    mount = view.mountinfo.covering(view.proc / below)
    if mount is None or mount.fstype == "proc":
        return ""
    whole = view.mountinfo.covering(view.proc)
    if whole is not None and whole.mount_id == mount.mount_id:
        return ""
    return f"a {mount.fstype} is mounted over {mount.mount_point}"


def is_kernel_file(view: ContainerView, below: str) -> bool | None:
    """Return whether *below* in ``/proc`` is the kernel's own file; None if nothing decides."""
    mount = view.mountinfo.covering(view.proc / below)
    if mount is not None:
        return mount.fstype == "proc"
    # A file of procfs has the size 0; see proc(5) and stat(2).
    return False if view.filesystem.status(view.proc, below).size else None


def read(view: ContainerView, below: str) -> bytes:
    """Return the content of *below* in ``/proc``.

    Raises:
        FileNotFoundError: it is not there, and nothing is known to hide it.
        ProcMaskedError: it cannot be had, and something hides it.
        ProcUnavailableError: it cannot be read for another reason.
    """
    try:
        return view.filesystem.read_bytes(view.proc, below)
    except OSError as error:
        raise _explained(view, below, error) from error


def read_needed(view: ContainerView, below: str, *, reason: str) -> bytes:
    """Return the content of *below* in ``/proc``, which must be there.

    Raises:
        ProcMaskedError: it cannot be had, and something hides it.
        ProcUnavailableError: it is not there, for *reason*, or cannot be read.
    """
    try:
        return read(view, below)
    except FileNotFoundError as error:
        raise ProcUnavailableError(errno.ENOENT, reason, str(view.proc / below)) from error


def names(view: ContainerView, below: str) -> list[str]:
    """Return the names in the directory *below* in ``/proc``, sorted.

    Raises:
        FileNotFoundError: it is not there, and nothing is known to hide it.
        ProcMaskedError: something hides it, even if it can be listed: names may be missing.
        ProcUnavailableError: it cannot be listed for another reason.
    """
    hidden = mask(view, below)
    if hidden:
        raise ProcMaskedError(view.proc / below, reason=hidden)
    try:
        with view.filesystem.open_directory(view.proc, below) as directory:
            return sorted(directory.names())
    except OSError as error:
        raise _explained(view, below, error) from error


def names_needed(view: ContainerView, below: str, *, reason: str) -> list[str]:
    """Return the names in the directory *below* in ``/proc``, which must be there, sorted.

    Raises:
        ProcMaskedError: something hides it.
        ProcUnavailableError: it is not there, for *reason*, or cannot be listed.
    """
    try:
        return names(view, below)
    except FileNotFoundError as error:
        raise ProcUnavailableError(errno.ENOENT, reason, str(view.proc / below)) from error


def _explained(view: ContainerView, below: str, error: OSError) -> Exception:
    path = view.proc / below
    hidden = mask(view, below)
    if not hidden and error.errno in {errno.EACCES, errno.EPERM}:
        hidden = "reading it is not permitted to this process"
    if hidden:
        return ProcMaskedError(path, reason=hidden)
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return FileNotFoundError(errno.ENOENT, "it does not exist", str(path))
    return ProcUnavailableError(error.errno or 0, "the driver's file cannot be read", str(path))


def lines(data: bytes, *, path: ContainerPath) -> list[tuple[int, str]]:
    """Return the lines that are not empty, each with its number from 1.

    Raises:
        ProcFileError: there is none.
    """
    text = data.decode("utf-8", "surrogateescape")
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line]
    if not numbered:
        raise ProcFileError(path, reason="it is empty; the driver's never is")
    return numbered


def fields(data: bytes, *, path: ContainerPath) -> dict[str, str]:
    """Return the values in the lines ``NAME: VALUE``, without the blanks around them.

    Raises:
        ProcFileError: the file is empty, a line is of another form, or a name comes twice.
    """
    found: dict[str, str] = {}
    for number, line in lines(data, path=path):
        match = _FIELD.fullmatch(line)
        if match is None:
            raise ProcFileError(path, reason=f"line {number}, {line!r}, is not 'NAME: VALUE'")
        name = match[1].strip(" \t")
        if name in found:
            raise ProcFileError(path, reason=f"line {number} gives {name} a second time")
        found[name] = match[2].strip(" \t")
    return found


def unsigned(text: str) -> int | None:
    """Return the number that *text* is, as the kernel prints an unsigned int; None if it is none.

    The numbers are decimal, those that stand for permission bits too: 438 is 0o666.
    """
    if _UNSIGNED.fullmatch(text) is None or int(text) > _UNSIGNED_MAX:
        return None
    return int(text)


def number(
    found: dict[str, str],
    name: str,
    *,
    default: int,
    path: ContainerPath,
    most: int = _UNSIGNED_MAX,
) -> int:
    """Return the field *name* as a number.

    Raises:
        ProcFileError: it is no decimal number, or more than *most*.
    """
    text = found.get(name)
    if text is None:
        return default
    value = unsigned(text)
    if value is None or value > most:
        reason = f"{name} is {text!r}, which is no decimal number from 0 to {most}"
        raise ProcFileError(path, reason=reason)
    return value
