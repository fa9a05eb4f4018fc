"""Volumes for fallbacks, dev roots and driver roots: what they say, and that they do."""

from __future__ import annotations

import copy
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot import (
    ContainerPath,
    DeviceNode,
    DevRoot,
    DriverRoot,
    FirstOf,
    HostDevFallback,
    HostPath,
    InvalidManifestError,
    InvalidMountError,
    Mount,
    MountTable,
    NoDevRootError,
    PathKindError,
    Refusal,
    RootFallback,
    SubsetFallback,
    Verdict,
    kubernetes,
    mknod,
)
from devroot.testing import FakeHost
from tests._kubernetes import host_path, plugin, pod_with, start_options, validate

if TYPE_CHECKING:
    from devroot import ContainerView
    from devroot.testing import FakeContainer

CAPS = SubsetFallback("/host-dev", ["nvidia-caps", "nvidia-caps-imex-channels"])
NODE = DeviceNode(path="nvidia-caps/nvidia-cap4323", major=511, minor=4323, mode=0o400)


@pytest.fixture
def host() -> FakeHost:
    """Return a host whose driver the cloud provider has installed, never used so far."""
    made = FakeHost()
    made.devtmpfs()
    made.nvidia_driver("/home/kubernetes/bin/nvidia", imex_channels=1, nodes=False)
    return made


def started(host: FakeHost, pod: dict[str, Any]) -> FakeContainer:
    """Start the container of a pod as a kubelet does: what is missing is made, or it is refused."""
    for volume in pod["spec"]["template"]["spec"]["volumes"]:
        path, kind = volume["hostPath"]["path"], volume["hostPath"].get("type", "")
        if kind == "Directory":
            assert host.filesystem.status(ContainerPath("/"), path).is_directory
        elif not host.has(path):
            assert kind in {"", "DirectoryOrCreate"}
            host.directory(path)
    return host.container(mounts=start_options(pod))


def driver_root_in(view: ContainerView) -> DriverRoot:
    """Return the driver root of these tests."""
    return DriverRoot(host="/home/kubernetes/bin/nvidia", container="/driver-root", view=view)


def test_a_subset() -> None:
    """A subset has a volume for each name, which the kubelet makes where it is missing."""
    needed = kubernetes.volumes(CAPS)
    assert needed.volumes == [
        {
            "name": "host-dev-nvidia-caps",
            "hostPath": {"path": "/dev/nvidia-caps", "type": "DirectoryOrCreate"},
        },
        {
            "name": "host-dev-nvidia-caps-imex-channels",
            "hostPath": {"path": "/dev/nvidia-caps-imex-channels", "type": "DirectoryOrCreate"},
        },
    ]
    assert needed.volume_mounts == [
        {
            "name": "host-dev-nvidia-caps",
            "mountPath": "/host-dev/dev/nvidia-caps",
            "mountPropagation": "HostToContainer",
        },
        {
            "name": "host-dev-nvidia-caps-imex-channels",
            "mountPath": "/host-dev/dev/nvidia-caps-imex-channels",
            "mountPropagation": "HostToContainer",
        },
    ]


def test_all_of_dev() -> None:
    """The host's /dev is there on every node."""
    needed = kubernetes.volumes(HostDevFallback("/host-dev"))
    assert needed.volumes == [host_path("host-dev", "/dev", "Directory")]
    assert needed.volume_mounts == [
        {
            "name": "host-dev",
            "mountPath": "/host-dev/dev",
            "mountPropagation": "HostToContainer",
        }
    ]


def test_a_driver_root(host: FakeHost) -> None:
    """A driver root is mounted read-only, sees later mounts, and need not be there yet."""
    driver_root = driver_root_in(host.view)
    needed = kubernetes.volumes(driver_root)
    assert needed.volumes == [
        host_path("host-home-kubernetes-bin-nvidia", str(driver_root.host), "DirectoryOrCreate")
    ]
    assert needed.volume_mounts == [
        {
            "name": "host-home-kubernetes-bin-nvidia",
            "mountPath": "/driver-root",
            "readOnly": True,
            "mountPropagation": "HostToContainer",
        }
    ]


def test_the_hosts_root_as_driver_root(host: FakeHost) -> None:
    """The host's root is always there; in code that runs on the host it is no mount at all."""
    aside = DriverRoot(host="/", container="/driver-root", view=host.view)
    assert kubernetes.volumes(aside).volumes == [host_path("host-root", "/", "Directory")]
    here = DriverRoot(host="/", container="/", view=host.view)
    assert kubernetes.volumes(here) == kubernetes.PodVolumes(())


def test_the_first_of_a_chain_that_needs_a_mount() -> None:
    """Of a chain the volumes of the first fallback are enough; the root needs none."""
    chain = FirstOf(RootFallback(), FirstOf(CAPS, HostDevFallback("/")))
    assert kubernetes.volumes(chain) == kubernetes.volumes(CAPS)


class Own:
    """A fallback of a user's own, which says nothing of mounts."""

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Refuse."""
        del driver_root, view
        return Refusal(fallback="Own", reason="it always does")


class OwnWithout(Own):
    """Another one, which says that it needs no mount."""

    mounts: tuple[Mount, ...] = ()


@pytest.mark.parametrize("own", [Own(), OwnWithout(), FirstOf(OwnWithout())])
def test_a_fallback_that_needs_no_mount_is_passed_over(own: Own | FirstOf) -> None:
    """In a chain the next one that needs any says which, wherever the other stands."""
    assert kubernetes.volumes(FirstOf(own, CAPS)) == kubernetes.volumes(CAPS)
    assert kubernetes.volumes(FirstOf(CAPS, own)) == kubernetes.volumes(CAPS)
    with pytest.raises(InvalidMountError, match="no mount helps any fallback in it"):
        kubernetes.volumes(FirstOf(own))


@pytest.mark.parametrize("fallback", [RootFallback(), FirstOf(RootFallback()), FirstOf()])
def test_no_mount_helps(fallback: RootFallback | FirstOf) -> None:
    """No volume makes the container's own /dev the host's, and it is said what would do."""
    with pytest.raises(InvalidMountError, match="no mount"):
        kubernetes.volumes(fallback)


def test_dev_roots(host: FakeHost) -> None:
    """A dev root needs the mounts that it names itself, else those of what it shows."""
    whole = DevRoot(container="/p", view=host.view)
    assert kubernetes.volumes(whole) == kubernetes.volumes(HostDevFallback("/p"))
    part = DevRoot(container="/host-dev", view=host.view, names=CAPS.names)
    assert kubernetes.volumes(part) == kubernetes.volumes(CAPS)
    root = driver_root_in(host.container(mounts=["/home/kubernetes/bin/nvidia:/driver-root"]).view)
    assert kubernetes.volumes(root.dev_root()) == kubernetes.volumes(HostDevFallback("/host-dev"))


def test_refusals() -> None:
    """A refusal needs its remedies, those of a chain the first that there are."""
    nothing = Refusal(fallback="a", reason="not today")
    mount = Mount(host="/dev", container="/b/dev")
    other = Mount(host="/dev", container="/c/dev")
    chain = Refusal(
        fallback="FirstOf",
        reason="none",
        refusals=(
            nothing,
            Refusal(fallback="b", reason="not there", remedies=(mount,)),
            Refusal(fallback="c", reason="not there", remedies=(other,)),
        ),
    )
    assert kubernetes.volumes(chain) == kubernetes.volumes(mount)
    with pytest.raises(InvalidMountError, match="no mount helps: not today"):
        kubernetes.volumes(nothing)


class _Mine:
    """A fallback of a plugin's own."""

    mounts = (Mount(host="/opt/dev", container="/mine/dev", read_only=True),)

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot:
        return DevRoot(container="/mine", view=view, declared=driver_root.declared(*self.mounts))


class _Silent:
    """A fallback that does not say what it needs."""

    def dev_root(self, _driver_root: DriverRoot, view: ContainerView, /) -> DevRoot:
        return DevRoot(container="/", view=view)


def test_a_fallback_of_ones_own() -> None:
    """A fallback of one's own says what it needs in a property; nothing is guessed."""
    (entry,) = kubernetes.volumes(_Mine()).entries
    assert (entry.volume, entry.volume_mount) == (
        host_path("host-opt-dev", "/opt/dev"),
        {
            "name": "host-opt-dev",
            "mountPath": "/mine/dev",
            "readOnly": True,
            "mountPropagation": "HostToContainer",
        },
    )
    with pytest.raises(PathKindError, match="property mounts"):
        kubernetes.volumes(_Silent())


def test_several_together() -> None:
    """Several are put together: each place once, and one volume for a host path."""
    needed = kubernetes.volumes(CAPS, HostDevFallback("/a"), HostDevFallback("/b"), CAPS)
    assert [volume["name"] for volume in needed.volumes] == [
        "host-dev-nvidia-caps",
        "host-dev-nvidia-caps-imex-channels",
        "host-dev",
    ]
    assert len(needed.volume_mounts) == 4


def test_a_type_that_is_not_known() -> None:
    """A name whose kind is not known has no type, unless the caller says it."""
    fallback = SubsetFallback("/p", ["kfd", "nvidia-caps/nvidia-cap1"])
    for volume in kubernetes.volumes(fallback).volumes:
        assert "type" not in volume["hostPath"]
    types = {"/dev/kfd": "CharDevice", "/dev/nvidia-caps/nvidia-cap1": ""}
    first, second = kubernetes.volumes(fallback, types=types).entries
    (again, _) = kubernetes.volumes(fallback, types={HostPath("/dev/kfd"): "CharDevice"}).entries
    assert again == first
    assert (first.type, first.propagation) == ("CharDevice", "None")
    assert first.volume_mount == {"name": "host-dev-kfd", "mountPath": "/p/dev/kfd"}
    assert (second.type, second.propagation) == ("", "HostToContainer")
    with pytest.raises(InvalidMountError, match="the type 'Dir' is none of BlockDevice,"):
        kubernetes.volumes(fallback, types={"/dev/kfd": "Dir"})


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        (Mount(host=None, container="/a"), "needs the path on the host"),
        (Mount(host="/a", container="/a:b"), "forbids a colon"),
        (Mount(host="/\udcff", container="/a"), "is UTF-8 text"),
    ],
)
def test_mounts_that_no_pod_can_have(mount: Mount, reason: str) -> None:
    """A mount without a host side, and a path that no manifest can hold, is refused."""
    with pytest.raises(InvalidMountError, match=reason):
        kubernetes.volumes(mount)


names = st.text(alphabet="aB0-_./é", min_size=1, max_size=80).filter(
    lambda text: ".." not in text.split("/")
)
given_mounts = st.lists(
    st.builds(
        Mount,
        host=names.map(lambda name: f"/{name}"),
        container=names.map(lambda name: f"/{name}"),
        read_only=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda mount: mount.container,
)


@pytest.mark.property
@given(given_mounts, st.sets(st.sampled_from(["host-a", "host-root", "host-b"])))
def test_round_trip(mounts: list[Mount], taken: set[str]) -> None:
    """Whatever the paths, names are unique DNS labels, and the pod is valid and has the mounts."""
    pod = pod_with(volumes=[{"name": name, "emptyDir": {}} for name in sorted(taken)])
    made = kubernetes.add_volumes(pod, *mounts)
    found = [volume["name"] for volume in made["spec"]["volumes"]]
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?", name) for name in found)
    validate(made)
    again = {one.mount for one in kubernetes.mounts(made) if one.location}
    assert again == set(mounts)


def test_added_to_a_daemon_set(host: FakeHost) -> None:
    """A fallback that was refused succeeds with its volumes, on a node never used before."""
    pod = plugin("dra-provided-driver")
    driver_root = driver_root_in(started(host, pod).view)
    with pytest.raises(NoDevRootError):
        driver_root.dev_root(fallback=CAPS)
    mended = kubernetes.add_volumes(pod, CAPS)
    validate(mended)
    assert pod == plugin("dra-provided-driver")

    view = started(host, mended).view
    dev_root = driver_root_in(view).dev_root(fallback=CAPS)
    assert dev_root.require_reach().verdict is Verdict.HOST
    mknod(dev_root, [NODE])
    host.assert_on_host(NODE)


@pytest.mark.parametrize(
    "fallback",
    [
        CAPS,
        HostDevFallback("/host-dev"),
        HostDevFallback("/"),
        SubsetFallback("/p", ["nvidia-caps"]),
        FirstOf(SubsetFallback("/p", ["nvidia-caps"]), HostDevFallback("/host-dev")),
    ],
    ids=repr,
)
@pytest.mark.parametrize("by", ["fallback", "refusal", "dev root"])
def test_every_fallback_succeeds(host: FakeHost, fallback: Any, by: str) -> None:  # noqa: ANN401 - any fallback
    """Each fallback reaches the host with the volumes for it, its refusal or its dev root."""
    pod = plugin("dra-provided-driver")
    view = started(host, pod).view
    refusal = fallback.dev_root(driver_root_in(view), view)
    assert isinstance(refusal, Refusal)
    needs: Any = refusal if by == "refusal" else fallback
    mended = kubernetes.add_volumes(pod, needs)
    view = started(host, mended).view
    dev_root = driver_root_in(view).dev_root(fallback=fallback)
    if by == "dev root":
        again = kubernetes.add_volumes(pod, dev_root)
        assert again == mended
    assert dev_root.require_reach().verdict in {Verdict.HOST, Verdict.DECLARED}
    mknod(dev_root, [NODE])
    host.assert_on_host(NODE)


def test_the_table_of_the_mended_pod(host: FakeHost) -> None:
    """A view can be given the mended pod's table: it says the same as the container's own."""
    mended = kubernetes.add_volumes(plugin("dra-provided-driver"), CAPS)
    view = attrs.evolve(started(host, mended).view, mounts=kubernetes.mount_table(mended))
    dev_root = driver_root_in(view).dev_root(fallback=CAPS)
    assert dev_root.host_path(NODE.path) == HostPath("/dev/nvidia-caps/nvidia-cap4323")


def test_volumes_are_used_again() -> None:
    """A volume of the same path and type is used again, and other names are left alone."""
    pod = pod_with(
        {"name": "mine", "mountPath": "/elsewhere"},
        volumes=[
            {"name": "cache", "emptyDir": {}},
            host_path("mine", "/dev/", "Directory"),
            host_path("host-dev-nvidia-caps", "/dev/nvidia-caps"),
        ],
    )
    made = kubernetes.add_volumes(pod, HostDevFallback("/p"), CAPS)
    assert [volume["name"] for volume in made["spec"]["volumes"]] == [
        "cache",
        "mine",
        "host-dev-nvidia-caps",
        "host-dev-nvidia-caps-2",
        "host-dev-nvidia-caps-imex-channels",
    ]
    own = made["spec"]["containers"][0]["volumeMounts"]
    assert [(mount["name"], mount["mountPath"]) for mount in own] == [
        ("mine", "/elsewhere"),
        ("mine", "/p/dev"),
        ("host-dev-nvidia-caps-2", "/host-dev/dev/nvidia-caps"),
        ("host-dev-nvidia-caps-imex-channels", "/host-dev/dev/nvidia-caps-imex-channels"),
    ]
    validate(made)


def test_nothing_to_add() -> None:
    """What is there already is not added again, and a second time changes nothing."""
    pod = pod_with()
    once = kubernetes.add_volumes(pod, CAPS)
    assert kubernetes.add_volumes(once, CAPS) == once
    assert kubernetes.add_volumes(pod) == pod


def test_a_mount_that_is_there_is_mended() -> None:
    """A mount of the right path at its place becomes writable and gets its propagation."""
    pod = pod_with(
        {
            "name": "caps",
            "mountPath": "/host-dev/dev/nvidia-caps/",
            "readOnly": True,
            "recursiveReadOnly": "IfPossible",
        },
        {"name": "dev", "mountPath": "/p/dev", "mountPropagation": "Bidirectional"},
        {"name": "lib", "mountPath": "/lib", "readOnly": True},
        volumes=[
            host_path("caps", "/dev/nvidia-caps"),
            host_path("dev", "/dev"),
            host_path("lib", "/usr/lib"),
        ],
    )
    before = copy.deepcopy(pod)
    library = Mount(host="/usr/lib", container="/lib", read_only=True)
    needs = (SubsetFallback("/host-dev", ["nvidia-caps"]), HostDevFallback("/p"), library)
    made = kubernetes.add_volumes(pod, *needs)
    assert made["spec"]["containers"][0]["volumeMounts"] == [
        {
            "name": "caps",
            "mountPath": "/host-dev/dev/nvidia-caps/",
            "mountPropagation": "HostToContainer",
        },
        {"name": "dev", "mountPath": "/p/dev", "mountPropagation": "Bidirectional"},
        {
            "name": "lib",
            "mountPath": "/lib",
            "readOnly": True,
            "mountPropagation": "HostToContainer",
        },
    ]
    assert made["spec"]["volumes"] == before["spec"]["volumes"]
    assert pod == before


def test_a_place_that_is_taken() -> None:
    """Something else at such a place is an error that names the field."""
    pod = pod_with(
        {"name": "x", "mountPath": "/host-dev/dev"}, volumes=[{"name": "x", "emptyDir": {}}]
    )
    with pytest.raises(InvalidManifestError) as caught:
        kubernetes.add_volumes(pod, HostDevFallback("/host-dev"))
    assert caught.value.location == "spec.containers[0].volumeMounts[0].mountPath"
    assert "/dev:/host-dev/dev is needed there" in caught.value.reason


def test_objects_that_cannot_be_changed() -> None:
    """Mappings and tuples will do: the copy is made of dictionaries and lists."""
    spec = {"containers": ({"name": "a"},), "nodeSelector": MappingProxyType({"gpu": "yes"})}
    made = kubernetes.add_volumes(MappingProxyType({"spec": spec}), HostDevFallback("/p"))
    assert made["spec"]["nodeSelector"] == {"gpu": "yes"}
    assert kubernetes.mount_table(made).to_host(ContainerPath("/p/dev")) == HostPath("/dev")


@pytest.mark.parametrize("levels", [98, 99, 10**5])
def test_an_object_that_is_nested_without_end(levels: int) -> None:
    """It is refused as such, however deep it is, and does not use up the stack."""
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    pod = {"spec": {"containers": [{"name": "a"}], "unknown": value}}
    if levels == 98:
        assert kubernetes.add_volumes(pod, HostDevFallback("/p"))["spec"]["unknown"] == value
    else:
        with pytest.raises(InvalidManifestError, match="nested more than 100 deep"):
            kubernetes.add_volumes(pod, HostDevFallback("/p"))


def test_names_of_claims_are_taken() -> None:
    """A volume that a StatefulSet claims keeps its name."""
    manifest = {
        "spec": {
            "template": {"spec": {"containers": [{"name": "a"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "host-dev"}}],
        }
    }
    made = kubernetes.add_volumes(manifest, HostDevFallback("/p"))
    (volume,) = made["spec"]["template"]["spec"]["volumes"]
    assert volume["name"] == "host-dev-2"


def test_tables_of_mended_pods() -> None:
    """The table of a mended pod maps the dev root's paths, and hides nothing of them."""
    made = kubernetes.add_volumes(pod_with(), CAPS, HostDevFallback("/all"))
    table = kubernetes.mount_table(made)
    assert isinstance(table, MountTable)
    path = HostPath("/dev/nvidia-caps/nvidia-cap1")
    assert [str(place) for place in table.to_container_all(path)] == [
        "/all/dev/nvidia-caps/nvidia-cap1",
        "/host-dev/dev/nvidia-caps/nvidia-cap1",
    ]
