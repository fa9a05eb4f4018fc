"""Programmes for the rooms that mypy and pyright must reject; never run.

Each wrong line is silenced for one rule of each checker, as in ``rejected.py``.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import assert_never

from devroot import (
    Action,
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevRoot,
    DriverRoot,
    HostPath,
    Result,
    SubsetFallback,
    Verdict,
    cdi,
    kubernetes,
    nvidia,
    oci,
    udev,
)


def ask_the_driver_wrongly(driver: nvidia.NvidiaDriver, view: ContainerView) -> None:
    """Channels are numbers, views are no paths, and MIG devices are told by keyword."""
    driver.imex_channels("0-15")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    driver.gpu("nvidia0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    nvidia.NvidiaDriver.read(view.proc)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    nvidia.NvidiaDriver.read(view, devices=HostPath("/proc/devices"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    nvidia.MigDevice(0, 1, 0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def search_the_wrong_root(dev_root: DevRoot, driver_root: DriverRoot) -> None:
    """Files are in a driver root, and what is found has no text for a path."""
    nvidia.DriverFiles(dev_root)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    nvidia.DriverFiles(driver_root, "/usr/lib64")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    open(nvidia.DriverFiles(driver_root).library("libcuda.so.1").host)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def pass_a_path_for_a_node(dev_root: DevRoot, nodes: list[DeviceNode]) -> None:
    """What is missing is asked of nodes, in a dev root."""
    nvidia.missing(dev_root, ["/dev/nvidia0"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    nvidia.missing(dev_root.container, nodes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def write_a_spec_elsewhere(view: ContainerView, spec: dict[str, Any], node: DeviceNode) -> None:
    """A spec is written in this container; what to do about an odd path is one of two words."""
    cdi.write("/var/run/cdi", spec)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cdi.write(view, spec, directory=HostPath("/var/run/cdi"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cdi.to_host(spec, kubernetes.mount_table({}), unmapped="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cdi.to_container(spec, kubernetes.mount_table({}), arguments="strip")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cdi.device_node(node, node)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def ask_for_volumes_of_nothing(pod: dict[str, Any]) -> None:
    """A text needs no mounts, and the driver root of a pod lies on the host."""
    kubernetes.volumes("/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kubernetes.add_volumes(pod, ContainerPath("/dev"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kubernetes.check(pod, driver_root=ContainerPath("/driver-root"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kubernetes.mount_table("pod.yaml")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def start_where_a_container_does_not() -> None:
    """Relative sources of a mount are below a directory of the host."""
    oci.volume("a:/b", cwd=ContainerPath("/"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    oci.mount_table({}, bundle=ContainerPath("/"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def misspell_a_filter(catalog: udev.DeviceCatalog, dev_root: DevRoot) -> None:
    """The filters have names, and a vendor is a number."""
    catalog.select(subsytem="drm")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    catalog.select(vendor="15b3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    catalog.by_number(226, 0, type="char")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    udev.watch(dev_root, "infiniband")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    SubsetFallback.of_devices(HostPath("/host-dev"), catalog)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def take_news_for_granted(event: udev.Event) -> None:
    """News may have no device, and no place on the host."""
    str(event.device.node)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    str(event.host_path.name)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def forget_an_action(action: Action, result: Result, presence: nvidia.Presence) -> None:
    """A match that lacks a case is found."""
    if action is Action.CREATE or action is Action.REPAIR:
        return
    assert_never(action)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    if result is Result.CREATED:  # type: ignore[unreachable]
        return
    assert_never(presence)


def accept_a_word(driver_root: DriverRoot) -> None:
    """What is accepted is a collection of verdicts, and not their names."""
    driver_root.dev_root(accept=Verdict.HOST)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    driver_root.dev_root(accept=["host"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
