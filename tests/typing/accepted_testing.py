"""Tests of a plugin that must be accepted, fixtures included; never run."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import assert_type

from devroot import (
    ContainerPath,
    ContainerView,
    Directory,
    DriverRoot,
    FileSystem,
    HostPath,
    MountInfoTable,
    MountTable,
)
from devroot.testing import (
    FakeContainer,
    FakeDevice,
    FakeHost,
    FakeUdev,
    Operation,
    ProcessFileSystem,
    ProcessKilled,
    Scenario,
    TreeDirectory,
    TreeFileSystem,
    scenario,
    scenario_names,
)
from devroot.udev import Device, DeviceCatalog, UdevContext


def test_a_plugin(
    fake_host: FakeHost, devroot_scenario: Callable[[str], Scenario]
) -> ContainerView:
    """What the fixtures give is typed, and so is all that is made from it."""
    fake_host.nvidia_driver("/run/nvidia/driver", gpus=2)
    container = fake_host.container(mounts=["/dev:/host-dev/dev"], privileged=True)
    assert_type(container, FakeContainer)
    assert_type(container.view, ContainerView)
    assert_type(fake_host.device("/dev/null"), FakeDevice)
    assert_type(fake_host.device("/dev/x", major=1, minor=3, type="c"), FakeDevice)
    assert_type(container.container(mounts=[]), FakeContainer)
    return devroot_scenario("gke").view


def use_a_scenario() -> None:
    """A scenario has all that a plugin is told."""
    scene = scenario(scenario_names()[0])
    assert_type(scene, Scenario)
    assert_type(scene.host, FakeHost | FakeContainer)
    assert_type(scene.mounts, MountTable)
    assert_type(scene.driver_root, DriverRoot)
    assert_type(scene.host_mountinfo, MountInfoTable[HostPath] | None)


def inject_faults(files: ProcessFileSystem) -> None:
    """An operation fails by number or by exception, and a hook sees each one."""
    files.fail("make_node", 28, path="/dev/x", nth=2)
    files.fail("link", ProcessKilled())

    def note(operation: Operation) -> str:
        return operation.name

    files.before(note)
    seam: FileSystem = files
    assert_type(files.open_directory(ContainerPath("/"), "dev"), TreeDirectory)
    directory: Directory = files.open_directory(ContainerPath("/"), "dev")
    ContainerView(filesystem=seam)
    directory.close()
    tree: FileSystem = TreeFileSystem(["dir /dev", "char /dev/null 1:3 0666"])
    ContainerView(filesystem=tree)


def plug_devices(fake_host: FakeHost, container: FakeContainer) -> None:
    """Fake devices are listed as those of the kernel are."""
    fake = FakeUdev(fake_host, capacity=1)
    assert_type(fake.plug("dri/card0", major=226, minor=0, subsystem="drm"), Device)
    assert_type(fake.within(container), UdevContext)
    DeviceCatalog.of_host(fake)
