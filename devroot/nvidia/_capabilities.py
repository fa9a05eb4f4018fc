"""The driver's capabilities: files below ``/proc`` that each stand for one device node.

Each file says which minor of ``nvidia-caps`` opens the capability, with which mode, and whether
user space may make the node: ``DeviceFileMinor``, ``DeviceFileMode``, ``DeviceFileModify``, all
decimal (``nv-caps.c`` of the open kernel modules). The owner is root; no field says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot._device import MINOR_MAX
from devroot.errors import CapabilityNotFoundError, InvalidPathError, ProcFileError, ProcMaskedError
from devroot.nvidia import _proc
from devroot.nvidia._parameters import FilePolicy, distrusted, policy_of

if TYPE_CHECKING:
    from devroot._paths import ContainerPath
    from devroot._view import ContainerView

FABRIC_IMEX_MGMT: Final = "fabric-imex-mgmt"
FABRIC_MGMT: Final = "fabric-mgmt"
MIG_CONFIG: Final = "mig/config"
MIG_MONITOR: Final = "mig/monitor"

_DIRECTORY: Final = "driver/nvidia/capabilities"
# Registered by the NVLink core and not by the GPU driver (nvlink_caps.c).
_ELSEWHERE: Final = {FABRIC_MGMT: "driver/nvidia-nvlink/capabilities"}
_MODE: Final = 0o400  # the driver's own for management; only mock set-ups leave the field out


@attrs.frozen(kw_only=True)
class Capability:
    """What a capability's file says.

    Attributes:
        minor: minor (decimal) of ``nvidia-caps``.
        policy: mode, owner and why its node is withheld.
    """

    minor: int
    policy: FilePolicy


def below_proc(name: str) -> str:
    """Return where below ``/proc`` the capability *name* is described.

    Raises:
        InvalidPathError: *name* is no relative path of plain names.
    """
    if not isinstance(name, str):
        raise InvalidPathError(repr(name), kind="capability", reason="it is not a string")
    if "\0" in name or any(part in {"", ".", ".."} for part in name.split("/")):
        raise InvalidPathError(
            name,
            kind="capability",
            reason=f"give its name below {_DIRECTORY}, such as {MIG_CONFIG}",
        )
    return f"{_ELSEWHERE.get(name, _DIRECTORY)}/{name}"


def parse(data: bytes, *, path: ContainerPath, masked: str = "") -> Capability:
    """Return what the content of a capability's file says.

    Args:
        data: the content.
        path: the file.
        masked: what hides the kernel's file, if this is another one.

    Raises:
        ProcFileError: there is no ``DeviceFileMinor``, a number is none, or it is not a file of
            the format.
    """
    found = _proc.fields(data, path=path)
    if "DeviceFileMinor" not in found:
        raise ProcFileError(path, reason="it has no field DeviceFileMinor; is it a capability?")
    policy = policy_of(found, path=path, mode=_MODE)
    return Capability(
        minor=_proc.number(found, "DeviceFileMinor", default=0, path=path, most=MINOR_MAX),
        policy=distrusted(policy, path=path, masked=masked),
    )


def read(view: ContainerView, name: str) -> Capability:
    """Return what the driver says of the capability *name* now.

    Raises:
        CapabilityNotFoundError: the driver has none of that name.
        InvalidPathError: *name* is no relative path of plain names.
        ProcMaskedError: it is hidden, so it cannot be known.
        ProcUnavailableError: its file cannot be read.
        ProcFileError: its file is not of the format.
    """
    below = below_proc(name)
    path = view.proc / below
    try:
        data = _proc.read(view, below)
    except FileNotFoundError as error:
        known = _siblings(view, below)
        raise CapabilityNotFoundError(name, path=path, known=known) from error
    return parse(data, path=path, masked=_proc.mask(view, below))


def _siblings(view: ContainerView, below: str) -> tuple[str, ...]:
    directory = below[: below.rfind("/")]
    try:
        return tuple(_proc.names(view, directory))
    except (OSError, ProcMaskedError):
        return ()
