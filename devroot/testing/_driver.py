"""A driver of NVIDIA as a host has it: its tree, what it says in ``/proc``, and its nodes.

Names and numbers are those of the open kernel modules and of nvidia-modprobe; the tree is that
of an installation below one directory, as a host or a driver container has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from devroot.errors import InvalidSceneError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot.nvidia import MigDevice

MAIN_MAJOR: Final = 195  # NV_MAJOR_DEVICE_NUMBER
_NVSWITCH: Final = 507
_UVM: Final = 509
_IMEX: Final = 510
_CAPS: Final = 511

MIG_CONFIG: Final = 1
MIG_MONITOR: Final = 2
FABRIC_IMEX: Final = 4323
_INSTANCES: Final = 15  # GPU instances of a GPU that have minors
_COMPUTE: Final = 8  # compute instances of each
_FIRST_INSTANCE: Final = 3

_VERSION: Final = re.compile(r"[0-9]{3,4}(\.[0-9]{1,3}){1,2}", re.ASCII)
_NEW_NAMES: Final = (550, 40)  # the first version whose main driver is no longer nvidia-frontend

_LIBRARIES: Final = (
    "libcuda",
    "libnvidia-ml",
    "libnvidia-ptxjitcompiler",
    "libnvidia-cfg",
)
_PROGRAMMES: Final = ("nvidia-smi", "nvidia-imex", "nvidia-imex-ctl", "nvidia-modprobe")


@attrs.frozen(kw_only=True)
class DriverSpec:
    """What is to be installed; see `FakeHost.nvidia_driver`."""

    version: str
    gpus: int
    imex_channels: int
    mig: tuple[MigDevice, ...]
    mode: int
    uid: int
    gid: int
    modify: bool

    def __attrs_post_init__(self) -> None:
        if _VERSION.fullmatch(self.version) is None:
            call = f"nvidia_driver(version={self.version!r})"
            raise InvalidSceneError(call, reason="write it as in 580.65.06")
        for device in self.mig:
            if device.gpu >= self.gpus or device.gi >= _INSTANCES or device.ci >= _COMPUTE:
                call = f"nvidia_driver(mig={device})"
                reason = f"{self.gpus} GPUs have {_INSTANCES} GPU instances of {_COMPUTE} each"
                raise InvalidSceneError(call, reason=reason)

    @property
    def has_new_names(self) -> bool:
        """Whether the main driver is listed as ``nvidia``, and not as ``nvidia-frontend``."""
        numbers = [int(number) for number in self.version.split(".")]
        return (numbers[0], numbers[1]) >= _NEW_NAMES

    def tree(self, root: str) -> Iterator[str]:
        """Yield the files of the driver below *root*, as lines of a scene."""
        base = root.rstrip("/")
        lib, bin_ = f"{base}/lib64", f"{base}/bin"
        if not base:
            lib, bin_ = "/usr/lib64", "/usr/bin"
        for name in _LIBRARIES:
            yield f"file {lib}/{name}.so.{self.version} 0755"
            yield f"link {lib}/{name}.so.1 {name}.so.{self.version}"
        yield f"link {lib}/libcuda.so libcuda.so.1"
        for name in _PROGRAMMES:
            yield f"file {bin_}/{name} 0755"

    def proc(self) -> Iterator[tuple[str, str]]:
        """Yield the files below ``/proc``, each with its content."""
        yield (
            "driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {self.version}\n",
        )
        yield "driver/nvidia/params", self._params()
        for minor in range(self.gpus):
            yield f"driver/nvidia/gpus/{_pci(minor)}/information", _information(minor)
        yield "driver/nvidia/capabilities/mig/config", self._capability(MIG_CONFIG, 0o400)
        yield "driver/nvidia/capabilities/mig/monitor", self._capability(MIG_MONITOR, 0o444)
        if self.imex_channels:
            yield (
                "driver/nvidia/capabilities/fabric-imex-mgmt",
                self._capability(FABRIC_IMEX, 0o400),
            )
        for device in self.mig:
            mig = f"driver/nvidia/capabilities/gpu{device.gpu}/mig/gi{device.gi}"
            minor = gi_minor(device)
            yield f"{mig}/access", self._capability(minor, 0o444)
            yield (
                f"{mig}/ci{device.ci}/access",
                self._capability(minor + 1 + device.ci, 0o444),
            )
        yield "driver/nvidia-caps/mig-minors", "".join(self._mig_minors())
        yield "devices", self._devices()

    def nodes(self) -> Iterator[str]:
        """Yield the nodes that the driver and its tools make at start, as lines of a scene."""
        owner = f"{self.mode:04o} {self.uid}:{self.gid}"
        for minor in range(self.gpus):
            yield f"char /dev/nvidia{minor} {MAIN_MAJOR}:{minor} {owner}"
        yield f"char /dev/nvidiactl {MAIN_MAJOR}:255 {owner}"
        yield f"char /dev/nvidia-modeset {MAIN_MAJOR}:254 {owner}"
        yield f"char /dev/nvidia-uvm {_UVM}:0 0666"
        yield f"char /dev/nvidia-uvm-tools {_UVM}:1 0666"
        yield f"char /dev/nvidia-caps/nvidia-cap{MIG_CONFIG} {_CAPS}:{MIG_CONFIG} 0400"
        yield f"char /dev/nvidia-caps/nvidia-cap{MIG_MONITOR} {_CAPS}:{MIG_MONITOR} 0444"
        made: set[int] = set()
        for device in self.mig:
            minor = gi_minor(device)
            made |= {minor, minor + 1 + device.ci}
        for minor in sorted(made):
            yield f"char /dev/nvidia-caps/nvidia-cap{minor} {_CAPS}:{minor} 0444"
        if self.imex_channels:
            yield "dir /dev/nvidia-caps-imex-channels"

    def _params(self) -> str:
        return (
            "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\n"
            f"ModifyDeviceFiles: {int(self.modify)}\n"
            f"DeviceFileUID: {self.uid}\nDeviceFileGID: {self.gid}\nDeviceFileMode: {self.mode}\n"
            "InitializeSystemMemoryAllocations: 1\nEnableStreamMemOPs: 0\n"
            f"ImexChannelCount: {self.imex_channels}\nCreateImexChannel0: 0\n"
            'RegistryDwords: ""\n'
        )

    def _capability(self, minor: int, mode: int) -> str:
        return (
            f"DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\n"
            f"DeviceFileModify: {int(self.modify)}\n"
        )

    def _mig_minors(self) -> Iterator[str]:
        yield f"config {MIG_CONFIG}\nmonitor {MIG_MONITOR}\n"
        minor = _FIRST_INSTANCE
        for gpu in range(self.gpus):
            for gi in range(_INSTANCES):
                yield f"gpu{gpu}/gi{gi}/access {minor}\n"
                for ci in range(_COMPUTE):
                    yield f"gpu{gpu}/gi{gi}/ci{ci}/access {minor + 1 + ci}\n"
                minor += 1 + _COMPUTE

    def _devices(self) -> str:
        if self.has_new_names:
            main = [(MAIN_MAJOR, name) for name in ("nvidia", "nvidia-modeset", "nvidiactl")]
        else:
            main = [(MAIN_MAJOR, "nvidia-frontend")]
        drivers = [*main, (_NVSWITCH, "nvidia-nvswitch"), (_UVM, "nvidia-uvm")]
        if self.imex_channels:
            drivers.append((_IMEX, "nvidia-caps-imex-channels"))
        drivers.append((_CAPS, "nvidia-caps"))
        return devices(drivers)


def devices(drivers: list[tuple[int, str]]) -> str:
    """Return ``/proc/devices`` with these character device drivers among those of any host."""
    base = [(1, "mem"), (4, "tty"), (5, "/dev/tty"), (5, "/dev/console"), (5, "/dev/ptmx")]
    lines = [f"{major:3} {name}\n" for major, name in [*base, (10, "misc"), (136, "pts"), *drivers]]
    blocks = "  7 loop\n  8 sd\n253 device-mapper\n259 blkext\n"
    return f"Character devices:\n{''.join(lines)}\nBlock devices:\n{blocks}"


def gi_minor(device: MigDevice) -> int:
    """Return the minor (decimal) of the access capability of the GPU instance."""
    return _FIRST_INSTANCE + (device.gpu * _INSTANCES + device.gi) * (1 + _COMPUTE)


def _pci(minor: int) -> str:
    return f"0000:{0x17 + minor:02x}:00.0"


def _information(minor: int) -> str:
    return (
        f"Model: \t\t NVIDIA GB200\nIRQ:   \t\t {100 + minor}\n"
        f"GPU UUID: \t GPU-00000000-0000-0000-0000-{minor:012d}\n"
        f"Bus Location: \t {_pci(minor)}\nDevice Minor: \t {minor}\n"
    )
