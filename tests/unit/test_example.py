"""The way through the house, from the mounts to a node on the host, as a plugin writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot import (
    ContainerPath,
    ContainerView,
    DriverRoot,
    FirstOf,
    HostDevFallback,
    HostPath,
    SubsetFallback,
    Verdict,
    mknod,
)
from devroot.nvidia import NvidiaDriver
from devroot.testing import scenario

if TYPE_CHECKING:
    import pytest


def test_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container of the kind that it is for, the example runs as written, and once more.

    Nobody says what is mounted, and the host's mount table is not granted.
    """
    files = scenario("gke").filesystem
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: files)

    view = ContainerView.of_process()
    driver_root = DriverRoot(
        host="/home/kubernetes/bin/nvidia", container="/driver-root", view=view
    )

    dev_root = driver_root.dev_root(
        fallback=FirstOf(
            SubsetFallback("/host-dev", ["nvidia-caps", "nvidia-caps-imex-channels"]),
            HostDevFallback("/"),
        )
    )
    reach = dev_root.require_reach()

    driver = NvidiaDriver.read(view)
    nodes = [driver.fabric_imex_mgmt(), *driver.imex_channels(range(2048))]
    report = mknod(dev_root, nodes)

    container_path = dev_root.container_path(nodes[0].path)
    host_path = dev_root.host_path(nodes[0].path)

    assert (view.mounts, view.host_mountinfo) == (None, None)
    assert reach.verdict is Verdict.HOST
    assert len(report.created) == len(nodes) == 2049
    assert container_path == ContainerPath("/host-dev/dev/nvidia-caps/nvidia-cap4323")
    assert host_path == HostPath("/dev/nvidia-caps/nvidia-cap4323")
    made = files.status(ContainerPath("/"), str(container_path))
    assert (made.major, made.minor, made.mode) == (511, 4323, 0o400)
    again = mknod(dev_root, nodes)
    assert (len(again.unchanged), again.created, again.repaired) == (2049, (), ())


def test_the_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a fallback the same plugin gets the private ``/dev``, and is told so."""
    files = scenario("gke").filesystem
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: files)
    view = ContainerView.of_process(mounts=scenario("gke").mounts)
    driver_root = DriverRoot(
        host="/home/kubernetes/bin/nvidia", container="/driver-root", view=view
    )
    dev_root = driver_root.dev_root()
    assert dev_root.container == ContainerPath("/")
    assert dev_root.reach().verdict is Verdict.PRIVATE
