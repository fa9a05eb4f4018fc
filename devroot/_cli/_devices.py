"""The command ``devices``: what the kernel has, and where this container and the host have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._cli._arguments import parse_fallback
from devroot._cli._kernel import catalog_of
from devroot._driver_root import DriverRoot
from devroot._fallbacks import FirstOf
from devroot._mounts import MountTable
from devroot._view import ContainerView
from devroot.udev import missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from devroot._dev_root import DevRoot
    from devroot._evidence import Reach
    from devroot._paths import ContainerPath, HostPath
    from devroot._presence import NodePresence
    from devroot.udev import Device, DeviceCatalog

SCHEMA: Final = 1
"""Grows when a field goes or changes its meaning; new fields can come at any time."""


@attrs.frozen(kw_only=True)
class Row:
    """A device, and where its node is."""

    device: Device
    found: NodePresence
    container_path: ContainerPath | None
    reach: Reach | None
    host_path: HostPath | None


def run_devices(arguments: argparse.Namespace, *, version: str) -> tuple[int, str]:
    """Return the exit status and what to print.

    Raises:
        DevRootError: what the arguments name cannot be read, or no fallback gives a dev root.
        OSError: a directory on the way cannot be looked into.
    """
    view = ContainerView.of_process(
        mounts=MountTable(arguments.mount) if arguments.mount else None,
        host_mountinfo=arguments.host_mountinfo,
        proc=arguments.proc,
    )
    catalog = catalog_of(arguments, view)
    fallbacks = arguments.fallback or [("root", parse_fallback("root"))]
    dev_root = DriverRoot(host="/", container="/", view=view).dev_root(
        fallback=FirstOf(*(fallback for _, fallback in fallbacks))
    )
    rows = [
        _row(dev_root, device, found)
        for device, found in zip(catalog, missing(dev_root, catalog).found, strict=True)
    ]
    if arguments.json:
        return 0, _render_json(dev_root, catalog, rows, version=version)
    return 0, "".join(f"{line}\n" for line in _lines(dev_root, catalog, rows))


def _row(dev_root: DevRoot, device: Device, found: NodePresence) -> Row:
    path = device.node.path
    if not dev_root.contains(path):
        return Row(device=device, found=found, container_path=None, reach=None, host_path=None)
    place, reach = dev_root.container_path(path), found.reach
    if reach is None or reach.container_path != place:  # that of a node elsewhere
        reach = dev_root.reach(path)
    return Row(
        device=device,
        found=found,
        container_path=place,
        reach=reach,
        host_path=reach.host_path if reach.verdict in dev_root.accept else None,
    )


def _lines(dev_root: DevRoot, catalog: DeviceCatalog, rows: list[Row]) -> Iterator[str]:
    yield f"Dev root   {dev_root}"
    yield f"Devices    {len(rows)}"
    for reason in catalog.unknown:
        yield f"Unknown    {reason}"
    for row in rows:
        device = row.device
        yield ""
        words = [device.subsystem, device.driver, "" if device.pci is None else device.pci.name]
        yield f"{device.node} {' '.join(filter(None, words))}"
        if row.container_path is None or row.reach is None:
            yield "  outside the subset that this dev root shows"
            continue
        yield f"  here  {row.container_path} ({row.found.presence.value})"
        host = f"nowhere ({row.reach.verdict.name})"
        if row.host_path is not None:
            host = f"{row.host_path} ({row.reach.verdict.name})"
        elif row.reach.verdict.name == "UNKNOWN":
            host = "nobody knows (UNKNOWN)"
        yield f"  host  {host}"


def _render_json(
    dev_root: DevRoot, catalog: DeviceCatalog, rows: list[Row], *, version: str
) -> str:
    names = dev_root.names
    document = {
        "schema": SCHEMA,
        "devroot": version,
        "dev_root": {
            "container": str(dev_root.container),
            "dev": str(dev_root.dev),
            "names": None if names is None else list(map(str, names)),
        },
        "unknown": list(catalog.unknown),
        "devices": list(map(_device, rows)),
    }
    return json.dumps(document, indent=2) + "\n"


def _device(row: Row) -> dict[str, Any]:
    device, pci = row.device, row.device.pci
    node = device.node.to_dict()
    del node["withheld"]  # a matter of a driver's parameters, of which the kernel says nothing
    return {
        **node,
        "mode_known": device.mode_known,
        "subsystem": device.subsystem,
        "driver": device.driver,
        "sysfs_path": device.sysfs_path,
        "pci": None
        if pci is None
        else {
            "address": pci.name,
            "vendor": f"{pci.vendor:#06x}" if pci.vendor is not None else None,
            "product": f"{pci.product:#06x}" if pci.product is not None else None,
        },
        "presence": row.found.presence.value,
        "reason": row.found.reason,
        "container_path": _text(row.container_path),
        "host_path": _text(row.host_path),
        "verdict": None if row.reach is None else row.reach.verdict.value,
    }


def _text(path: object) -> str | None:
    return None if path is None else str(path)
