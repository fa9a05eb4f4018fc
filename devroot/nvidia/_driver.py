"""`NvidiaDriver`: every node of the NVIDIA driver, from what the driver says in ``/proc``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from devroot._majors import Majors
from devroot.errors import CapabilityNotFoundError, ProcFileError, ProcMaskedError
from devroot.nvidia import _capabilities, _imex, _nodes, _proc
from devroot.nvidia._mig import MigMinors, access, check_number
from devroot.nvidia._parameters import FilePolicy, Parameters, policy_for, read_policy, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._device import DeviceNode
    from devroot._paths import ContainerPath
    from devroot._view import ContainerView
    from devroot.nvidia._mig import MigDevice

_DEFAULTS = FilePolicy()
_MIG_ACCESS_MODE = 0o444  # of every instance's node, as the driver creates them


@attrs.frozen(kw_only=True)
class NvidiaDriver:
    """The NVIDIA driver that is loaded, and the device nodes that belong to it.

    Majors and parameters are read once, by `read`. Capabilities, GPUs and MIG come and go, so
    each call reads them anew.

    Nodes have the owner and mode that the driver asks for. Where it wants nobody to make or
    change a node, or where that cannot be known because a container runtime hides the answer,
    ``withheld`` of the node says so; number and place are right all the same.

    Attributes:
        view: through which the files below ``/proc`` are read.
        majors: the drivers' major numbers.
        parameters: what the main kernel module was told.

    .. versionadded:: 0.1.0
    """

    view: ContainerView = attrs.field(repr=False)
    majors: Majors
    parameters: Parameters

    @classmethod
    def read(
        cls,
        view: ContainerView,
        *,
        devices: ContainerPath | None = None,
        parameters: Parameters | None = None,
    ) -> NvidiaDriver:
        """Return the driver that the view's ``/proc`` shows.

        Args:
            view: what this process sees. Give the host's ``/proc`` as its ``proc`` where the
                container's own is masked.
            devices: another file than ``/proc/devices``, as mock set-ups have one.
            parameters: parameters to use instead of reading them.

        Raises:
            ProcUnavailableError: a file is not there (is the kernel module loaded?) or cannot be
                read.
            ProcMaskedError: the parameters are hidden.
            ProcFileError: a file is not of its format.
        """
        majors = Majors.read(view, devices=devices)
        known = Parameters.read(view) if parameters is None else parameters
        return cls(view=view, majors=majors, parameters=known)

    def major(self, name: str) -> int:
        """Return the major (decimal) of the driver *name*, such as ``nvidia-uvm``.

        The main driver has an old and a new name in ``/proc/devices``; each stands for the other.

        Raises:
            MajorNotFoundError: it is not registered, under none of its names.
            AmbiguousMajorError: it has several majors.
        """
        for alias in _nodes.ALIASES.get(name, ()):
            if self.majors.characters(alias):
                return self.majors.character(alias)
        return self.majors.character(name)

    def nvidiactl(self) -> DeviceNode:
        """Return ``/dev/nvidiactl``, minor 255 of the main driver.

        Raises:
            MajorNotFoundError: the main driver is not registered.
        """
        return self._main("nvidiactl", _nodes.CONTROL_MINOR)

    def modeset(self) -> DeviceNode:
        """Return ``/dev/nvidia-modeset``, minor 254 of the main driver.

        Raises:
            MajorNotFoundError: the main driver is not registered.
        """
        return self._main("nvidia-modeset", _nodes.MODESET_MINOR)

    def uvm(self) -> DeviceNode:
        """Return ``/dev/nvidia-uvm``, minor 0 of its own driver.

        No parameter rules owner and mode of this node and `uvm_tools`: they are 0666 and root's.

        Raises:
            MajorNotFoundError: the kernel module ``nvidia-uvm`` is not loaded.
        """
        return self._own("nvidia-uvm", driver=_nodes.UVM, minor=0, policy=_DEFAULTS)

    def uvm_tools(self) -> DeviceNode:
        """Return ``/dev/nvidia-uvm-tools``, minor 1 of the driver ``nvidia-uvm``.

        Raises:
            MajorNotFoundError: the kernel module ``nvidia-uvm`` is not loaded.
        """
        return self._own("nvidia-uvm-tools", driver=_nodes.UVM, minor=1, policy=_DEFAULTS)

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        """Return the four nodes that belong to no single GPU.

        These are `nvidiactl`, `modeset`, `uvm` and `uvm_tools`.

        Raises:
            MajorNotFoundError: a kernel module is not loaded.
        """
        return self.nvidiactl(), self.modeset(), self.uvm(), self.uvm_tools()

    def gpu(self, minor: int) -> DeviceNode:
        """Return the node of the GPU with the device minor *minor* (decimal, 0 to 247).

        The device minor need not be the index that nvidia-smi shows.

        Raises:
            InvalidNodeError: *minor* is out of range.
            MajorNotFoundError: the main driver is not registered.
        """
        number = _nodes.check_minor("gpu", minor, most=_nodes.GPU_MINOR_MAX)
        return self._main(f"nvidia{number}", number, driver="nvidia")

    def gpus(self) -> tuple[DeviceNode, ...]:
        """Return the node of every GPU that the driver has, by minor.

        The minors are the ``Device Minor`` of ``/proc/driver/nvidia/gpus/*/information``.

        Raises:
            ProcMaskedError: that directory is hidden, even if some of it shows.
            ProcUnavailableError: it is not there or cannot be read.
            ProcFileError: a GPU's file has no ``Device Minor``, or two have the same.
            MajorNotFoundError: the main driver is not registered.
        """
        minors: dict[int, ContainerPath] = {}
        for name in self._names(_nodes.GPUS):
            below = f"{_nodes.GPUS}/{name}/information"
            path = self.view.proc / below
            data = _proc.read_needed(self.view, below, reason="the GPU has gone; read anew")
            minor = _device_minor(data, path=path)
            if minor in minors:
                reason = f"Device Minor {minor} is that of {minors[minor]} too"
                raise ProcFileError(path, reason=reason)
            minors[minor] = path
        return tuple(self.gpu(minor) for minor in sorted(minors))

    def capability(self, name: str) -> DeviceNode:
        """Return the node of a capability, ``/dev/nvidia-caps/nvidia-capMINOR``.

        Args:
            name: such as ``fabric-imex-mgmt``, ``fabric-mgmt``, ``mig/config`` or
                ``gpu0/mig/gi1/access``: its place below ``/proc/driver/nvidia/capabilities``,
                except that ``fabric-mgmt`` is below ``/proc/driver/nvidia-nvlink/capabilities``.

        Raises:
            CapabilityNotFoundError: the driver has none of that name.
            InvalidPathError: *name* is no relative path of plain names.
            ProcMaskedError: it is hidden, so it cannot be known.
            ProcUnavailableError: its file cannot be read.
            ProcFileError: its file does not say a minor, or is not of the format.
            MajorNotFoundError: the driver ``nvidia-caps`` is not registered.
        """
        found = _capabilities.read(self.view, name)
        return self._capability(found.minor, found.policy)

    def capability_path(self, name: str) -> ContainerPath:
        """Return the file below ``/proc`` that describes the capability *name*.

        Raises:
            InvalidPathError: *name* is no relative path of plain names.
        """
        return self.view.proc / _capabilities.below_proc(name)

    def fabric_imex_mgmt(self) -> DeviceNode:
        """Return the node of the capability ``fabric-imex-mgmt``; see `capability`."""
        return self.capability(_capabilities.FABRIC_IMEX_MGMT)

    def fabric_mgmt(self) -> DeviceNode:
        """Return the node of the capability ``fabric-mgmt``; see `capability`."""
        return self.capability(_capabilities.FABRIC_MGMT)

    def mig_config(self) -> DeviceNode:
        """Return the node of the capability ``mig/config``; see `capability`."""
        return self.capability(_capabilities.MIG_CONFIG)

    def mig_monitor(self) -> DeviceNode:
        """Return the node of the capability ``mig/monitor``; see `capability`."""
        return self.capability(_capabilities.MIG_MONITOR)

    def mig_capability(self, *, gpu: int, gi: int, ci: int | None = None) -> DeviceNode:
        """Return the access node of a GPU instance, or of a compute instance in it.

        The driver describes it once the instance was made; see `mig_device_nodes` for before.

        Args:
            gpu: device minor of the GPU (decimal).
            gi: ID of the GPU instance (decimal).
            ci: ID of the compute instance (decimal); None for the GPU instance itself.

        Raises:
            InvalidNodeError: a number is none, or is negative.
            CapabilityNotFoundError: there is no such instance; and what `capability` raises.
        """
        return self.capability(access(gpu=gpu, gi=gi, ci=ci))

    def mig_minors(self) -> MigMinors:
        """Return the minors of all instances that there could be.

        Raises:
            ProcMaskedError: ``/proc/driver/nvidia-caps/mig-minors`` is hidden.
            ProcUnavailableError: it is not there or cannot be read.
            ProcFileError: it is not of the format.
        """
        return MigMinors.read(self.view)

    def mig_device_nodes(
        self, device: MigDevice, *, minors: MigMinors | None = None
    ) -> tuple[DeviceNode, ...]:
        """Return the three nodes that a MIG device needs: GPU, GPU instance, compute instance.

        The numbers come from ``mig-minors``, so they can be had before the instance is made, and
        where ``/proc/driver/nvidia`` is masked. The instance's own file adds the mode and
        whether its node is withheld, if it is there.

        Args:
            device: the MIG device.
            minors: from `mig_minors`, to read them once for many devices.

        Raises:
            CapabilityNotFoundError: there can be no such instance.
            ProcFileError: the two sources name different minors; and what `mig_minors` and
                `capability` raise.
            MajorNotFoundError: a driver is not registered.
        """
        if minors is None:
            minors = self.mig_minors()
        names = (
            access(gpu=device.gpu, gi=device.gi),
            access(gpu=device.gpu, gi=device.gi, ci=device.ci),
        )
        return self.gpu(device.gpu), *(self._mig_access(name, minors) for name in names)

    def imex_channel(self, channel: int) -> DeviceNode:
        """Return the node of an IMEX channel, ``/dev/nvidia-caps-imex-channels/channelN``.

        Args:
            channel: number (decimal) below ``ImexChannelCount``; it is the minor as well.

        Raises:
            InvalidNodeError: there is no such channel; it says which there are.
            MajorNotFoundError: the driver ``nvidia-caps-imex-channels`` is not registered.
        """
        return self.imex_channels((channel,))[0]

    def imex_channels(self, channels: Iterable[int] | None = None) -> tuple[DeviceNode, ...]:
        """Return the nodes of IMEX channels, in the order given.

        Args:
            channels: their numbers (decimal); by default all that the driver has. Where it does
                not report ``ImexChannelCount``, that is its default, 2048.

        Raises:
            InvalidNodeError: there is no such channel; it says which there are.
            MajorNotFoundError: the driver ``nvidia-caps-imex-channels`` is not registered.
        """
        wanted = _imex.checked(channels, self.parameters)
        return _imex.nodes(wanted, self.parameters, major=self.major) if wanted else ()

    def nvlink(self) -> DeviceNode:
        """Return ``/dev/nvidia-nvlink``, minor 0 of its own driver.

        Its mode is in ``/proc/driver/nvidia-nvlink/permissions``.

        Raises:
            MajorNotFoundError: the driver ``nvidia-nvlink`` is not registered.
            ProcUnavailableError: the permissions cannot be read.
            ProcFileError: they are not of the format.
        """
        policy = read_policy(self.view, _nodes.NVLINK_PERMISSIONS)
        return self._own("nvidia-nvlink", driver=_nodes.NVLINK, minor=0, policy=policy)

    def nvswitchctl(self) -> DeviceNode:
        """Return ``/dev/nvidia-nvswitchctl``, minor 255 of the driver ``nvidia-nvswitch``.

        Its mode and that of the switches is in ``/proc/driver/nvidia-nvswitch/permissions``.

        Raises:
            MajorNotFoundError: the driver ``nvidia-nvswitch`` is not registered.
            ProcUnavailableError: the permissions cannot be read.
            ProcFileError: they are not of the format.
        """
        return self._nvswitch("nvidia-nvswitchctl", _nodes.CONTROL_MINOR)

    def nvswitch(self, minor: int) -> DeviceNode:
        """Return the node of an NVSwitch, ``/dev/nvidia-nvswitchN``.

        Args:
            minor: number of the switch (decimal, 0 to 63).

        Raises:
            InvalidNodeError: *minor* is out of range; and what `nvswitchctl` raises.
        """
        number = _nodes.check_minor("nvswitch", minor, most=_nodes.NVSWITCH_MINOR_MAX)
        return self._nvswitch(f"nvidia-nvswitch{number}", number)

    def nvswitches(self) -> tuple[DeviceNode, ...]:
        """Return the nodes of all NVSwitches.

        The driver lists its switches by PCI address, in ``/proc/driver/nvidia-nvswitch/devices``,
        and says nowhere which minor each has. It takes the lowest free one, so *n* switches have
        the minors from 0 to *n* - 1, unless one was unbound since.

        Raises:
            ProcMaskedError: that directory is hidden, even if some of it shows.
            ProcUnavailableError: it is not there; and what `nvswitch` raises.
        """
        return tuple(map(self.nvswitch, range(len(self._names(_nodes.NVSWITCH_DEVICES)))))

    def vgpu(self, minor: int) -> DeviceNode:
        """Return the node of a virtual GPU on its host, ``/dev/nvidia-vgpuN``.

        Args:
            minor: number of the virtual GPU (decimal); it is the minor of ``nvidia-vgpu-vfio``.

        Raises:
            InvalidNodeError: *minor* is out of range.
            MajorNotFoundError: the driver ``nvidia-vgpu-vfio`` is not registered.
        """
        number = check_number("vgpu", minor)
        return self._own(
            f"nvidia-vgpu{number}",
            driver=_nodes.VGPU,
            minor=number,
            policy=policy_for(self.parameters),
        )

    def _main(self, name: str, minor: int, *, driver: str | None = None) -> DeviceNode:
        policy = policy_for(self.parameters)
        return self._own(name, driver=driver or name, minor=minor, policy=policy)

    def _own(self, name: str, *, driver: str, minor: int, policy: FilePolicy) -> DeviceNode:
        return _nodes.node(name, major=self.major(driver), minor=minor, policy=policy)

    def _nvswitch(self, name: str, minor: int) -> DeviceNode:
        policy = read_policy(self.view, _nodes.NVSWITCH_PERMISSIONS)
        return self._own(name, driver=_nodes.NVSWITCH, minor=minor, policy=policy)

    def _capability(self, minor: int, policy: FilePolicy) -> DeviceNode:
        name = f"{_nodes.CAPABILITIES}/nvidia-cap{minor}"
        return self._own(name, driver=_nodes.CAPABILITIES, minor=minor, policy=policy)

    def _mig_access(self, name: str, minors: MigMinors) -> DeviceNode:
        minor = minors.minor(name)
        path = self.capability_path(name)
        try:
            found = _capabilities.read(self.view, name)
        except CapabilityNotFoundError:
            return self._capability(minor, FilePolicy(mode=_MIG_ACCESS_MODE))
        except ProcMaskedError as error:
            withheld = unknown(path, error.reason)
            return self._capability(minor, FilePolicy(mode=_MIG_ACCESS_MODE, withheld=withheld))
        if found.minor != minor:
            reason = f"its DeviceFileMinor is {found.minor}, but {minors.path} says {minor}"
            raise ProcFileError(path, reason=reason)
        return self._capability(minor, found.policy)

    def _names(self, below: str) -> list[str]:
        return _proc.names_needed(self.view, below, reason="is the kernel module loaded?")


def _device_minor(data: bytes, *, path: ContainerPath) -> int:
    for _, line in _proc.lines(data, path=path):
        name, _, value = line.partition(":")
        if name.strip(" \t") == "Device Minor":
            found = {"Device Minor": value.strip(" \t")}
            most = _nodes.GPU_MINOR_MAX
            return _proc.number(found, "Device Minor", default=0, path=path, most=most)
    raise ProcFileError(path, reason="it has no field 'Device Minor'")
