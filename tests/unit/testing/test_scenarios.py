"""The scenarios: each a container and a host of one kernel and moment."""

from __future__ import annotations

import pytest

from devroot import (
    ContainerPath,
    FileType,
    FirstOf,
    HostDevFallback,
    HostPath,
    RootFallback,
    SubsetFallback,
    Verdict,
    errors,
)
from devroot._cli._arguments import parse_fallback
from devroot.nvidia import NvidiaDriver
from devroot.testing import Scenario, scenario, scenario_names

ROOT = ContainerPath("/")
NAMES = ["nvidia-caps", "nvidia-caps-imex-channels"]


@pytest.fixture
def gke() -> Scenario:
    """Return the scenario in which the host provides the driver."""
    return scenario("gke")


@pytest.mark.parametrize("name", scenario_names())
def test_the_files_are_there(name: str) -> None:
    """Every mount point of the container exists in its files, and every line is of the format."""
    scene = scenario(name)
    mounts = list(scene.view.mountinfo)
    assert len(mounts) > 10
    for mount in mounts:
        scene.filesystem.status(ROOT, str(mount.mount_point))


@pytest.mark.parametrize("name", scenario_names())
def test_every_declared_mount_is_made(name: str) -> None:
    """What the pod asks for is in the container's table, with the host's path in the host's."""
    scene = scenario(name)
    view = scene.view
    points = {mount.mount_point for mount in view.mountinfo}
    for mount in scene.mounts:
        assert view.locate(mount.container) in points
        assert mount.host is not None


@pytest.mark.parametrize(
    ("name", "verdict", "dev_root"),
    [
        ("gke", Verdict.HOST, "/host-dev"),
        ("host-root", Verdict.HOST, "/driver-root"),
        ("operator", Verdict.HOST, "/driver-root"),
        ("kind", Verdict.UNKNOWN, "/"),
        ("talos", Verdict.HOST, "/host-dev"),
        ("wsl", Verdict.PRIVATE, "/"),
        ("openshift-crio", Verdict.HOST, "/host-dev"),
        ("mig", Verdict.HOST, "/host-dev"),
        ("imex", Verdict.HOST, "/host-dev"),
    ],
)
def test_the_fallback_gives_the_verdict(name: str, verdict: Verdict, dev_root: str) -> None:
    """With the fallback that fits, each scene has the verdict that it is there to show."""
    scene = scenario(name)
    found = scene.driver_root.dev_root(fallback=parse_fallback(scene.fallback))
    assert (found.reach().verdict, str(found.container)) == (verdict, dev_root)


@pytest.mark.parametrize("name", scenario_names())
def test_the_verdict_is_true(name: str) -> None:
    """What is made where the verdict is `HOST` is on the host, and only then."""
    scene = scenario(name)
    dev_root = scene.driver_root.dev_root(fallback=parse_fallback(scene.fallback))
    directory = dev_root.dev if dev_root.names is None else dev_root.container_path("nvidia-caps")
    with scene.filesystem.open_directory(ROOT, str(directory)) as opened:
        opened.make_node("made", type=FileType.CHARACTER, major=1, minor=3, mode=0o600)
    reach = dev_root.reach() if dev_root.names is None else dev_root.reach("nvidia-caps")
    if reach.verdict is Verdict.HOST:
        assert reach.host_path is not None
        assert scene.host.device(f"{reach.host_path}/made").number == (1, 3)
    elif reach.verdict is Verdict.PRIVATE:
        assert not scene.host.has("/dev/made")


@pytest.mark.parametrize("name", scenario_names())
def test_there_is_a_title(name: str) -> None:
    """Each scene says in a few words what it is."""
    assert 20 < len(scenario(name).title) < 100


def test_a_scene_can_be_changed(gke: Scenario) -> None:
    """Every call gives a new scene, so that one test does not see what another did."""
    gke.container.unmount("/driver-root")
    assert not gke.container.has("/driver-root/bin")
    assert scenario("gke").filesystem.status(ROOT, "driver-root").is_directory


def test_an_unknown_name() -> None:
    """A slip in the name is answered with the names that there are."""
    with pytest.raises(errors.InvalidSceneError, match="no such scenario; there are gke"):
        scenario("gce")


def test_gke_root_fallback_is_private(gke: Scenario) -> None:
    """The bug: with the fallback ``/`` a node would be made where the host does not see it."""
    dev_root = gke.driver_root.dev_root(fallback=RootFallback())
    assert dev_root.container == ROOT
    assert dev_root.reach().verdict is Verdict.PRIVATE
    with pytest.raises(errors.NotOnHostError):
        dev_root.host_path("nvidia-caps/nvidia-cap4323")


def test_gke_subset_reaches_the_host(gke: Scenario) -> None:
    """The way out: the host's directories, mounted aside."""
    fallback = FirstOf(HostDevFallback("/"), SubsetFallback("/host-dev", NAMES))
    dev_root = gke.driver_root.dev_root(fallback=fallback)
    node = NvidiaDriver.read(gke.view).fabric_imex_mgmt()
    assert (node.major, node.minor, node.mode) == (511, 4323, 0o400)
    assert dev_root.require_reach().verdict is Verdict.HOST
    assert dev_root.host_path(node.path) == HostPath("/dev/nvidia-caps/nvidia-cap4323")
    assert dev_root.container_path(node.path) == ContainerPath(
        "/host-dev/dev/nvidia-caps/nvidia-cap4323"
    )


def test_gke_drivers_join(gke: Scenario) -> None:
    """The nodes that are there have the numbers that ``/proc`` tells."""
    driver = NvidiaDriver.read(gke.view)
    config = driver.capability("mig/config")
    status = gke.filesystem.status(ContainerPath("/host-dev"), str(config.path))
    assert (status.major, status.minor, status.mode) == (config.major, config.minor, config.mode)
    assert [node.minor for node in driver.imex_channels(range(2))] == [0, 1]
    assert gke.view.initial_user_namespace is True
    assert gke.view.effective_capabilities == 0xA80425FB


def test_gke_mounts_are_found_through_links(gke: Scenario) -> None:
    """``/var/run`` is a link in the container, and the mount asked for there is found."""
    reach = gke.driver_root.view
    assert reach.locate(ContainerPath("/var/run/cdi")) == ContainerPath("/run/cdi")
