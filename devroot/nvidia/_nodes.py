"""Names, minors and drivers of NVIDIA's device nodes.

The numbers are those of the open kernel modules and of nvidia-modprobe, which makes the nodes:
``nvidia-modprobe-utils.h`` for names and fixed minors, ``nv-caps-imex.c`` for IMEX channels,
``linux_nvswitch.c`` for switches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devroot._device import DeviceNode
from devroot._paths import DevicePath
from devroot.errors import InvalidNodeError
from devroot.nvidia._mig import check_number

if TYPE_CHECKING:
    from devroot.nvidia._parameters import FilePolicy

CAPABILITIES: Final = "nvidia-caps"
IMEX_CHANNELS: Final = "nvidia-caps-imex-channels"
NVLINK: Final = "nvidia-nvlink"
NVLINK_PERMISSIONS: Final = "driver/nvidia-nvlink/permissions"
NVSWITCH: Final = "nvidia-nvswitch"
NVSWITCH_DEVICES: Final = "driver/nvidia-nvswitch/devices"
NVSWITCH_PERMISSIONS: Final = "driver/nvidia-nvswitch/permissions"
UVM: Final = "nvidia-uvm"
VGPU: Final = "nvidia-vgpu-vfio"
GPUS: Final = "driver/nvidia/gpus"

GPU_MINOR_MAX: Final = 247  # NV_MINOR_DEVICE_NUMBER_REGULAR_MAX
NVSWITCH_MINOR_MAX: Final = 63  # NVSWITCH_DEVICE_INSTANCE_MAX is 64
CONTROL_MINOR: Final = 255
MODESET_MINOR: Final = 254

# The main driver was listed as nvidia-frontend before 550.40; since then it is listed as nvidia
# and, once more with the same major, as nvidiactl.
ALIASES: Final = {
    "nvidia": ("nvidia", "nvidia-frontend"),
    "nvidia-frontend": ("nvidia-frontend", "nvidia"),
    "nvidiactl": ("nvidiactl", "nvidia", "nvidia-frontend"),
    "nvidia-modeset": ("nvidia-modeset", "nvidia", "nvidia-frontend"),
}


def node(name: str, *, major: int, minor: int, policy: FilePolicy) -> DeviceNode:
    """Return the character device *name* below ``/dev``; *name* must be of this module's make."""
    return DeviceNode(
        path=DevicePath._of_normal(f"/dev/{name}"),  # noqa: SLF001 - normal as it is made here
        major=major,
        minor=minor,
        mode=policy.mode,
        uid=policy.uid,
        gid=policy.gid,
        withheld=policy.withheld,
    )


def check_minor(field: str, value: object, *, most: int) -> int:
    """Return *value* if it can be a minor up to *most*.

    Raises:
        InvalidNodeError: it is not an int, is negative or is greater.
    """
    number = check_number(field, value)
    if number > most:
        raise InvalidNodeError(field, value, reason=f"the driver has minors from 0 to {most}")
    return number
