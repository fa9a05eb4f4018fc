"""Plugins in real containers: where their dev root is, whether it reaches the host, and proof.

Each case is run with the host's mount table granted and not, and with the list of the plugin's
mounts given and not. Whatever is called `HOST` is checked by making a node in the container and
looking for it on the host.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pytest

from tests.kernel._harness import Host, Place, Volume, device_directory, has_devtmpfs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel._harness import Container

pytestmark = pytest.mark.kernel

DRIVER = Volume("/run/kubernetes/bin/nvidia", "/driver-root", read_only=True)
DRIVER_ROOT = (DRIVER.source, DRIVER.target)
NODE = "c 235:4323 0666"


@attrs.frozen
class Told:
    """What the plugin is told: one column of the table of cases."""

    granted: bool
    given: bool

    def __str__(self) -> str:
        return f"{'granted' if self.granted else 'not-granted'}-{'given' if self.given else 'none'}"

    def verdict(self, *, granted: str, given: str, none: str) -> str:
        """Return the right verdict of the three."""
        if self.granted:
            return granted
        return given if self.given else none


TOLD = [Told(granted, given) for granted in (True, False) for given in (True, False)]
every_told = pytest.mark.parametrize("told", TOLD, ids=str)


@attrs.define
class Setting:
    """A host, the name of the directory below its ``/dev`` that the plugin needs, and its kind."""

    host: Host
    subset: str
    real: bool

    @property
    def device(self) -> str:
        """The device node that the plugin makes."""
        return f"/dev/{self.subset}/nvidia-cap4323"


@pytest.fixture(params=["tmpfs", "devtmpfs"])
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    """Give a host whose ``/dev`` is a tmpfs, and the machine's own devtmpfs."""
    real = request.param == "devtmpfs"
    if real and not has_devtmpfs():
        pytest.skip("the machine's /dev is not devtmpfs")
    with ExitStack() as stack:
        subset = stack.enter_context(device_directory()) if real else "nvidia-caps"
        host = stack.enter_context(Host(dev="real" if real else "private"))
        host.call("make_directory", path=f"/dev/{subset}")
        yield Setting(host, subset, real)


@attrs.define
class Plugin:
    """A plugin container, and the dev root that the plugin found in it, if any."""

    container: Container
    device: str
    found: dict[str, Any]

    def call(self, function: str, **arguments: object) -> Any:  # noqa: ANN401 - what JSON can say
        """Call one of the plugin's functions in its container."""
        return self.container.call(function, module="_plugin", **arguments)

    def ask(self) -> dict[str, Any]:
        """Ask what is known of the device node in the dev root."""
        return {**self.found, **self.call("reach", path=self.device)}


def start_plugin(  # noqa: PLR0913 - a plugin is all of these
    place: Place,
    told: Told,
    *volumes: Volume,
    device: str,
    fallback: tuple[str, ...] = ("root",),
    driver_root: tuple[str, str] = DRIVER_ROOT,
    dev: Literal["private", "snapshot", "none"] = "private",
    image: str = "",
) -> Plugin:
    """Start a plugin, which finds its dev root; unless told otherwise, its driver root has none.

    *image* is a directory that the container's own image has.
    """
    if driver_root == DRIVER_ROOT:
        place.call("make_directory", path=DRIVER.source)
        volumes = (DRIVER, *volumes)
    if told.granted:
        volumes = (*volumes, Volume("/proc", "/host-proc"))
    plugin = Plugin(place.container(*volumes, dev=dev), device, {})
    if image:
        plugin.container.call("make_directory", path=image)
    plugin.call(
        "look",
        mounts=[str(volume) for volume in volumes] if told.given else None,
        host_mountinfo="/host-proc/1/mountinfo" if told.granted else "",
    )
    host, container = driver_root
    plugin.found = plugin.call("choose", host=host, container=container, fallback=fallback)
    return plugin


def assert_makes(plugin: Plugin) -> None:
    """Assert that the plugin makes its node, and finds it made the second time."""
    assert plugin.call("make", path=plugin.device) == "1 created, 0 unchanged"
    assert plugin.call("make", path=plugin.device) == "0 created, 1 unchanged"


def assert_on_host(answer: dict[str, Any], place: Place, host_path: str) -> None:
    """Assert that an accepted answer gives out the one path at which the host has the node."""
    assert answer["host_path"] == host_path
    assert answer["handed_out"] == host_path
    assert answer["required"]
    assert place.describe(host_path) == NODE


def assert_not_on_host(answer: dict[str, Any], place: Place, device: str) -> None:
    """Assert that an answer that is not accepted gives out nothing, and the host has no node."""
    assert answer["handed_out"] == "NotOnHostError"
    assert not answer["required"]
    assert place.describe(device) == ""


def assert_nothing_from_nothing(answer: dict[str, Any], told: Told) -> None:
    """Assert that without mounts and without the host's table nothing is proved or declared."""
    if not told.granted and not told.given:
        assert answer["without_claims"] not in {"HOST", "DECLARED"}


@every_told
def test_a_own_dev_is_private(setting: Setting, told: Told) -> None:
    """A: with only the driver root mounted, the fallback ``/`` makes a node that stays here."""
    plugin = start_plugin(setting.host, told, device=setting.device)
    answer = plugin.ask()
    assert answer["dev_root"] == "/"
    assert answer["verdict"] == told.verdict(granted="PRIVATE", given="PRIVATE", none="UNKNOWN")
    assert_makes(plugin)
    assert plugin.container.describe(setting.device) == NODE
    assert_not_on_host(answer, setting.host, setting.device)
    assert_nothing_from_nothing(answer, told)


@every_told
def test_b_host_dev_over_dev(setting: Setting, told: Told) -> None:
    """B: the host's ``/dev`` over the container's own; a tmpfs there could be the runtime's too."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume("/dev", "/dev"),
        device=setting.device,
        fallback=("host-dev",),
        dev="none",
    )
    answer = plugin.ask()
    alone = "HOST" if setting.real else "UNKNOWN"
    assert answer["dev_root"] == "/"
    assert answer["verdict"] == told.verdict(granted="HOST", given=alone, none=alone)
    assert_makes(plugin)
    assert setting.host.describe(setting.device) == NODE
    if answer["verdict"] == "HOST":
        assert_on_host(answer, setting.host, setting.device)
    else:
        assert answer["handed_out"] == "NotOnHostError"
    assert_nothing_from_nothing(answer, told)


@every_told
@pytest.mark.parametrize("whole", [False, True], ids=["c-subset", "c2-whole-dev"])
def test_c_subset_aside(setting: Setting, told: Told, *, whole: bool) -> None:
    """C, C2: the required part of the host's ``/dev``, or all of it, mounted aside."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume("/dev", "/host-dev/dev")
        if whole
        else Volume(f"/dev/{setting.subset}", f"/host-dev/dev/{setting.subset}"),
        device=setting.device,
        fallback=("subset", setting.subset),
    )
    answer = plugin.ask()
    alone = "HOST" if setting.real else "DECLARED"
    assert answer["dev_root"] == "/host-dev"
    assert answer["verdict"] == told.verdict(granted="HOST", given=alone, none=alone)
    assert answer["container_path"] == f"/host-dev{setting.device}"
    assert_makes(plugin)
    assert_on_host(answer, setting.host, setting.device)
    assert_nothing_from_nothing(answer, told)


@every_told
def test_c_elsewhere_stays_elsewhere(setting: Setting, told: Told) -> None:
    """C: what lies outside the subset is refused, and what is made in the own ``/dev`` stays."""
    elsewhere = f"/dev/{setting.subset}-elsewhere"
    plugin = start_plugin(
        setting.host,
        told,
        Volume(f"/dev/{setting.subset}", f"/host-dev/dev/{setting.subset}"),
        device=elsewhere,
        fallback=("subset", setting.subset),
    )
    refused = plugin.call("outside", path=elsewhere)
    assert refused == ["container_path", "host_path", "reach", "require_reach"]
    plugin.container.call("make_node", path=elsewhere, major=195, minor=0)
    assert plugin.container.describe(elsewhere) == "c 195:0 0666"
    assert setting.host.describe(elsewhere) == ""


@every_told
def test_e_host_root_with_its_mounts(setting: Setting, told: Told) -> None:
    """E: the host's ``/`` with all that is mounted below it is driver root and dev root."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume("/", "/driver-root"),
        device=setting.device,
        driver_root=("/", "/driver-root"),
    )
    answer = plugin.ask()
    alone = "HOST" if setting.real else "DECLARED"
    assert answer["dev_root"] == "/driver-root"
    assert answer["verdict"] == told.verdict(granted="HOST", given=alone, none=alone)
    assert_makes(plugin)
    assert_on_host(answer, setting.host, setting.device)
    assert_nothing_from_nothing(answer, told)


@every_told
def test_e2_host_root_without_its_mounts(setting: Setting, told: Told) -> None:
    """E2: the host's ``/`` alone shows a ``dev`` that the host hides below its own ``/dev``."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume("/", "/driver-root", recursive=False),
        device=setting.device,
        driver_root=("/", "/driver-root"),
    )
    answer = plugin.ask()  # no node is made: it would stay in the machine's root file system
    assert answer["dev_root"] == "/driver-root"
    assert answer["verdict"] == "PRIVATE"
    assert_not_on_host(answer, setting.host, setting.device)
    assert_nothing_from_nothing(answer, told)


@every_told
def test_o_driver_container(told: Told) -> None:
    """O: a driver container's root, spread to the host, has a ``dev`` that the host sees there."""
    with Host() as host:
        host.call("make_shared", path="/run/nvidia")
        driver = host.container(Volume("/run/nvidia", "/run/nvidia", propagation="rshared"))
        driver.call("publish_root", path="/run/nvidia/driver")
        plugin = start_plugin(
            host,
            told,
            Volume("/run/nvidia/driver", "/driver-root", propagation="rslave"),
            device="/dev/nvidia-caps/nvidia-cap4323",
            driver_root=("/run/nvidia/driver", "/driver-root"),
        )
        answer = plugin.ask()
        assert answer["dev_root"] == "/driver-root"
        assert answer["verdict"] == told.verdict(granted="HOST", given="DECLARED", none="DECLARED")
        assert_makes(plugin)
        assert_on_host(answer, host, "/run/nvidia/driver/dev/nvidia-caps/nvidia-cap4323")
        assert driver.describe("/dev/nvidia-caps/nvidia-cap4323") == NODE
        assert host.describe("/dev/nvidia-caps/nvidia-cap4323") == ""
        assert_nothing_from_nothing(answer, told)


@every_told
def test_p_privileged_snapshot(told: Told) -> None:
    """P: a privileged container has copies of the host's nodes, and is not the host's for it."""
    device = "/dev/nvidia-caps/nvidia-cap4323"
    with Host() as host:
        host.call("make_directory", path="/dev/nvidia-caps")
        host.call("make_node", path="/dev/nvidia-caps/nvidia-cap1", major=235, minor=1)
        plugin = start_plugin(host, told, device=device, dev="snapshot")
        assert plugin.container.describe("/dev/nvidia-caps/nvidia-cap1") == "c 235:1 0666"
        answer = plugin.ask()
        assert answer["verdict"] == told.verdict(granted="PRIVATE", given="PRIVATE", none="UNKNOWN")
        assert_makes(plugin)
        assert_not_on_host(answer, host, device)
        assert_nothing_from_nothing(answer, told)


@pytest.fixture
def node() -> Iterator[tuple[Host, Container]]:
    """Give a container that is a host itself, as in kind, and the host that it runs on."""
    with Host() as host:
        container = host.container(nests=True)
        container.call("make_directory", path="/dev/nvidia-caps")
        yield host, container


@every_told
def test_n_a_in_a_node(node: tuple[Host, Container], told: Told) -> None:
    """N: in a node that is a container, the plugin's own ``/dev`` is private as anywhere."""
    host, place = node
    device = "/dev/nvidia-caps/nvidia-cap4323"
    plugin = start_plugin(place, told, device=device)
    answer = plugin.ask()
    assert answer["verdict"] == told.verdict(granted="PRIVATE", given="PRIVATE", none="UNKNOWN")
    assert_makes(plugin)
    assert_not_on_host(answer, place, device)
    assert host.describe(device) == ""
    assert_nothing_from_nothing(answer, told)


@every_told
def test_n_b_in_a_node(node: tuple[Host, Container], told: Told) -> None:
    """N: the node's ``/dev`` and a runtime's own look the same; only the node's table tells."""
    host, place = node
    device = "/dev/nvidia-caps/nvidia-cap4323"
    plugin = start_plugin(
        place, told, Volume("/dev", "/dev"), device=device, fallback=("host-dev",), dev="none"
    )
    answer = plugin.ask()
    assert answer["verdict"] == told.verdict(granted="HOST", given="UNKNOWN", none="UNKNOWN")
    assert_makes(plugin)
    assert place.describe(device) == NODE
    assert host.describe(device) == ""
    if told.granted:
        assert_on_host(answer, place, device)
    assert_nothing_from_nothing(answer, told)


@every_told
def test_n_c_in_a_node(node: tuple[Host, Container], told: Told) -> None:
    """N: a subset aside is declared, and with the node's table proved, for the node."""
    host, place = node
    device = "/dev/nvidia-caps/nvidia-cap4323"
    plugin = start_plugin(
        place,
        told,
        Volume("/dev/nvidia-caps", "/host-dev/dev/nvidia-caps"),
        device=device,
        fallback=("subset", "nvidia-caps"),
    )
    answer = plugin.ask()
    assert answer["verdict"] == told.verdict(granted="HOST", given="DECLARED", none="DECLARED")
    assert_makes(plugin)
    assert_on_host(answer, place, device)
    assert host.describe(device) == ""
    assert_nothing_from_nothing(answer, told)


@every_told
def test_f_takes_the_subset(setting: Setting, told: Told) -> None:
    """F: where only the subset is mounted, the chain passes over the own ``/dev`` and takes it."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume(f"/dev/{setting.subset}", f"/host-dev/dev/{setting.subset}"),
        device=setting.device,
        fallback=("first", setting.subset),
    )
    answer = plugin.ask()
    alone = "HOST" if setting.real else "DECLARED"
    assert answer["dev_root"] == "/host-dev"
    assert answer["verdict"] == told.verdict(granted="HOST", given=alone, none=alone)
    assert_makes(plugin)
    assert_on_host(answer, setting.host, setting.device)
    assert_nothing_from_nothing(answer, told)


@every_told
@pytest.mark.parametrize("in_image", [False, True], ids=["no-directory", "directory-in-image"])
def test_f_says_what_is_missing(setting: Setting, told: Told, *, in_image: bool) -> None:
    """F: where neither is mounted, both refusals are told, with the mounts that would mend them.

    A directory of that name in the image is no mount. While nothing is known, the container's
    ``/dev`` may be the host's: the answer is that it is unknown, and nothing is given out.
    """
    plugin = start_plugin(
        setting.host,
        told,
        device=setting.device,
        fallback=("first", setting.subset),
        image=f"/host-dev/dev/{setting.subset}" if in_image else "",
    )
    if not told.granted and not told.given:
        answer = plugin.ask()
        assert answer["verdict"] == "UNKNOWN"
        assert_not_on_host(answer, setting.host, setting.device)
        return
    assert plugin.found["refused"] == [
        "HostDevFallback('/')",
        f"SubsetFallback('/host-dev', ['{setting.subset}'])",
    ]
    assert plugin.found["remedies"] == [
        "/dev:/dev",
        f"/dev/{setting.subset}:/host-dev/dev/{setting.subset}",
    ]
    for words in plugin.found["refused"] + plugin.found["remedies"]:
        assert words in plugin.found["error"]


@every_told
@pytest.mark.parametrize("looks_again", [True, False], ids=["new-view", "old-view"])
def test_s_stale_subset(setting: Setting, told: Told, *, looks_again: bool) -> None:
    """S: a subset that the host has deleted and made anew is stale, also in an older view."""
    path = f"/dev/{setting.subset}"
    fallback = ("subset", setting.subset)
    plugin = start_plugin(
        setting.host,
        told,
        Volume(path, f"/host-dev{path}"),
        device=setting.device,
        fallback=fallback,
    )
    assert_makes(plugin)
    setting.host.call("remove_tree", path=path)
    setting.host.call("make_directory", path=path)
    if looks_again:
        plugin.call("look_again")

    answer = plugin.ask()
    assert answer["verdict"] == "STALE"
    assert_not_on_host(answer, setting.host, setting.device)
    made = plugin.call("make", path=setting.device)
    assert made.startswith("ENOENT: ")
    assert "deleted" in made
    assert setting.host.describe(setting.device) == ""

    host, container = DRIVER_ROOT
    found = plugin.call("choose", host=host, container=container, fallback=fallback)
    assert "STALE" in found["error"]
    assert found["remedies"] == [f"{path}:/host-dev{path}"]


@every_told
def test_read_only_is_per_mount(setting: Setting, told: Told) -> None:
    """A read-only bind of the host's ``/`` leaves the ``/dev`` that came along writable."""
    plugin = start_plugin(
        setting.host,
        told,
        Volume("/", "/driver-root", read_only=True),
        device=setting.device,
        driver_root=("/", "/driver-root"),
    )
    assert plugin.ask()["blockers"] == []
    assert_makes(plugin)
    assert setting.host.describe(setting.device) == NODE


@every_told
def test_read_only_subset_is_told(setting: Setting, told: Told) -> None:
    """A read-only subset reaches the host all the same; that nothing can be made is told apart."""
    path = f"/dev/{setting.subset}"
    plugin = start_plugin(
        setting.host,
        told,
        Volume(path, f"/host-dev{path}", read_only=True),
        device=setting.device,
        fallback=("subset", setting.subset),
    )
    answer = plugin.ask()
    assert answer["required"]
    assert answer["blockers"] == ["ro"]
    assert plugin.call("make", path=setting.device).startswith("EROFS: ")
    assert setting.host.describe(setting.device) == ""


@every_told
def test_single_device_file(setting: Setting, told: Told) -> None:
    """A device file that a runtime binds onto a private ``/dev`` is the host's; the rest is not."""
    given = f"{setting.device}-given"
    setting.host.call("make_node", path=given, major=235, minor=1)
    plugin = start_plugin(setting.host, told, Volume(given, given), device=given)
    answer = plugin.ask()
    alone = "HOST" if setting.real else "DECLARED"
    assert answer["verdict"] == told.verdict(granted="HOST", given=alone, none="UNKNOWN")
    assert_nothing_from_nothing(answer, told)
    if told.granted or told.given:
        assert answer["handed_out"] == given
        beside = plugin.call("reach", path=setting.device)
        assert beside["verdict"] == "PRIVATE"
        assert beside["handed_out"] == "NotOnHostError"
