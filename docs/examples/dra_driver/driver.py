"""A DRA driver that gives the channels of a device to pods, on the framework kubernetes-pydra."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import Any

from deployment import DRIVER, DRIVER_ROOT, FALLBACK, PLUGIN, REGISTRY
from kubernetes import client, config
from pydra.core.server import DraNodeServer

from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevRoot,
    DriverRoot,
    Majors,
    cdi,
    mknod,
)

KIND = f"{DRIVER}/channel"
CHANNELS = 8


def channels_of(view: ContainerView) -> dict[str, DeviceNode]:
    """Return the nodes by the names of their devices; the kernel says which major they have."""
    major = Majors.read(view).character("example-channels")
    return {
        f"channel{minor}": DeviceNode(
            path=f"example-channels/channel{minor}", major=major, minor=minor
        )
        for minor in range(CHANNELS)
    }


def find_dev_root(view: ContainerView) -> DevRoot:
    """Return where the nodes go, by the mounts that the view has."""
    driver_root = DriverRoot(
        host=os.environ["DRIVER_ROOT"], container=DRIVER_ROOT.container, view=view
    )
    dev_root = driver_root.dev_root(fallback=FALLBACK)
    dev_root.require_reach()
    return dev_root


class ChannelDriver(DraNodeServer):
    """Makes the nodes of a claim on the host, and writes a CDI spec for it."""

    def __init__(
        self, view: ContainerView, channels: dict[str, DeviceNode], claims: client.ResourceV1Api
    ) -> None:
        super().__init__(
            DRIVER,
            socket_path=f"{PLUGIN}/dra.sock",
            registration_socket_path=f"{REGISTRY}/{DRIVER}-reg.sock",
        )
        self.view = view
        self.channels = channels
        self.claims = claims

    def get_devices(self) -> list[str]:
        """Return the devices that the scheduler can choose from."""
        return list(self.channels)

    async def prepare_hardware(self, claim_uid: str, namespace: str, name: str) -> list[str]:
        """Return what the runtime is to give to the pod; an error goes to the kubelet."""
        return await asyncio.to_thread(self.prepare, claim_uid, namespace, name)

    async def unprepare_hardware(self, claim_uid: str, namespace: str, name: str) -> None:
        """Take the spec of a claim away; the nodes stay, they are the host's."""
        cdi.remove(self.view.refresh(), cdi.file_name(KIND, transient_id=claim_uid))

    def prepare(self, uid: str, namespace: str, name: str) -> list[str]:
        """Make the nodes, then the spec: a kubelet that asks again gets the same answer."""
        dev_root = find_dev_root(self.view.refresh())  # mounts may have changed since
        chosen = self.allocated(uid, namespace, name)
        nodes = [self.channels[device] for device in chosen]
        mknod(dev_root, nodes)
        devices = [
            cdi.device(device, cdi.edits(device_nodes=[cdi.device_node(dev_root, node)]))
            for device, node in zip(chosen, nodes, strict=True)
        ]
        file = cdi.file_name(KIND, transient_id=uid)
        cdi.write(dev_root.view, cdi.spec(KIND, devices), name=file)
        return [cdi.qualified_name(KIND, device) for device in chosen]

    def allocated(self, uid: str, namespace: str, name: str) -> list[str]:
        """Return the devices of this driver that the scheduler has chosen for a claim."""
        claim: Any = self.claims.read_namespaced_resource_claim(name, namespace)
        if claim.metadata.uid != uid:
            message = f"the claim {namespace}/{name} is another one by now: {claim.metadata.uid}"
            raise LookupError(message)
        results = claim.status.allocation.devices.results
        return [result.device for result in results if result.driver == DRIVER]


async def main() -> None:
    """Serve the kubelet until the pod is to end."""
    logging.basicConfig(level=logging.INFO)
    view = ContainerView.of_process(host_mountinfo=ContainerPath("/host-proc/1/mountinfo"))
    find_dev_root(view)  # or the pod ends here, and its log says which volume is missing
    config.load_config()
    driver = ChannelDriver(view, channels_of(view), client.ResourceV1Api())
    serving = asyncio.create_task(driver.serve())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    asyncio.run(main())
