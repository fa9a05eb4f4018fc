"""A plugin tested on a fake host: what a plugin author writes."""

from __future__ import annotations

import attrs
import pytest

import devroot.testing
from devroot import (
    ContainerView,
    DriverRoot,
    Fallback,
    NotOnHostError,
    RootFallback,
    SubsetFallback,
    mknod,
)
from devroot.nvidia import NvidiaDriver
from devroot.testing import FakeHost


@attrs.frozen
class MyPlugin:
    """A plugin that makes the node of the fabric's capability."""

    view: ContainerView
    fallback: Fallback = attrs.field(factory=lambda: SubsetFallback("/host-dev", ["nvidia-caps"]))

    def prepare(self) -> str:
        """Make the node, and return the host path for the runtime."""
        driver_root = DriverRoot(
            host="/home/kubernetes/bin/nvidia", container="/driver-root", view=self.view
        )
        dev_root = driver_root.dev_root(fallback=self.fallback)
        node = NvidiaDriver.read(self.view).fabric_imex_mgmt()
        mknod(dev_root, [node])
        return str(dev_root.host_path(node.path))


@pytest.fixture
def fake_host() -> FakeHost:
    """Return a new host."""
    return FakeHost()


def test_plugin_makes_its_node_on_the_host(fake_host: FakeHost) -> None:
    """A node that is made in a subset mounted aside is on the host."""
    fake_host.devtmpfs("/dev")
    fake_host.nvidia_driver("/home/kubernetes/bin/nvidia", version="580.65.06", imex_channels=2048)
    pod = fake_host.container(
        mounts=[
            "/home/kubernetes/bin/nvidia:/driver-root:ro",
            "/dev/nvidia-caps:/host-dev/dev/nvidia-caps",
        ]
    )
    assert MyPlugin(view=pod.view).prepare() == "/dev/nvidia-caps/nvidia-cap4323"
    assert fake_host.device("/dev/nvidia-caps/nvidia-cap4323").number == (511, 4323)


def test_plugin_with_the_bug_fails(fake_host: FakeHost) -> None:
    """A node that is made in the container's own ``/dev`` is not on the host, and it is told."""
    fake_host.devtmpfs("/dev")
    fake_host.nvidia_driver("/home/kubernetes/bin/nvidia", imex_channels=2048)
    pod = fake_host.container(mounts=["/home/kubernetes/bin/nvidia:/driver-root:ro"])
    with pytest.raises(NotOnHostError):
        MyPlugin(pod.view, RootFallback()).prepare()
    with pytest.raises(FileNotFoundError, match="host-container-1 has one at /dev/nvidia-caps/"):
        fake_host.device("/dev/nvidia-caps/nvidia-cap4323")


def test_an_unknown_name() -> None:
    """A name that the kit does not have fails as it does for any other module."""
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(devroot.testing, "no_such_name")  # noqa: B009 - the type checkers know as well
