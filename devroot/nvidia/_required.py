"""Which nodes a workload needs for the devices that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._device import DeviceNode
    from devroot.nvidia._driver import NvidiaDriver
    from devroot.nvidia._mig import MigDevice


def required_nodes(  # noqa: PLR0913 - one argument for each kind of device
    driver: NvidiaDriver,
    *,
    gpus: Iterable[int] | None = None,
    mig_devices: Iterable[MigDevice] = (),
    imex_channels: Iterable[int] = (),
    capabilities: Iterable[str] = (),
    modeset: bool = False,
) -> tuple[DeviceNode, ...]:
    """Return every node that CUDA needs for these devices, each once.

    That is ``nvidiactl``, ``nvidia-uvm`` and ``nvidia-uvm-tools`` in any case. The kernel
    modules make none of them, so a fresh machine has none; see `missing` for what is there.

    Args:
        driver: the driver.
        gpus: device minors (decimal); by default those of all GPUs, but none if *mig_devices*
            are given.
        mig_devices: MIG devices, each with its GPU and its two access nodes.
        imex_channels: numbers of IMEX channels (decimal).
        capabilities: names of capabilities, as for `NvidiaDriver.capability`.
        modeset: whether ``nvidia-modeset`` is needed as well, as it is for display.

    Raises:
        DevRootError: what the driver's methods for the single nodes raise.

    .. versionadded:: 0.1.0
    """
    partitions = tuple(mig_devices)
    nodes = [driver.nvidiactl(), driver.uvm(), driver.uvm_tools()]
    if modeset:
        nodes.append(driver.modeset())
    if gpus is not None:
        nodes += map(driver.gpu, gpus)
    elif not partitions:
        nodes += driver.gpus()
    if partitions:
        minors = driver.mig_minors()
        for device in partitions:
            nodes += driver.mig_device_nodes(device, minors=minors)
    nodes += map(driver.capability, capabilities)
    nodes += driver.imex_channels(imex_channels)
    return tuple(dict.fromkeys(nodes))
