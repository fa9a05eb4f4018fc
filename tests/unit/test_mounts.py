"""Declared mounts, and the way between host paths and container paths through them."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any, Final

import pytest

from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import InvalidMountError, InvalidPathError, NotMountedError, PathKindError
from tests._views import mounts_of

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER: Final = "/home/kubernetes/bin/nvidia:/driver-root"
FORM: Final = "write HOST:CONTAINER, or HOST:CONTAINER:ro"


def on_host(table: MountTable, path: str) -> str | None:
    """Return the host path behind a container path, if there is one."""
    try:
        return str(table.to_host(ContainerPath(path)))
    except NotMountedError:
        return None


def in_container(table: MountTable, path: str) -> list[str]:
    """Return all container paths at which a host path appears."""
    return [str(place) for place in table.to_container_all(HostPath(path))]


def why_not(table: MountTable, path: HostPath | ContainerPath) -> NotMountedError:
    """Return the error for a path that has no other side."""
    if isinstance(path, HostPath):
        with pytest.raises(NotMountedError) as caught:
            table.to_container(path)
    else:
        with pytest.raises(NotMountedError) as caught:
            table.to_host(path)
    assert caught.value.path == path
    return caught.value


# One mount.


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("/dev:/host-dev/dev", Mount(host="/dev", container="/host-dev/dev")),
        ("/a:/b:ro", Mount(host="/a", container="/b", read_only=True)),
        ("/a:/b:rw", Mount(host="/a", container="/b")),
        ("//a/./b/:/c/", Mount(host="/a/b", container="/c")),
    ],
)
def test_a_mount_from_text(text: str, mount: Mount) -> None:
    """It is what container engines take after ``-v``, with an access mode or without."""
    assert Mount.parse(text) == mount
    assert Mount.parse(str(mount)) == mount


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", FORM),
        ("/a", FORM),
        ("/a:/b:rx", FORM),
        ("/a:/b:ro:z", FORM),
        ("a:/b", "'a' cannot be a HostPath: it is relative; "),
        ("/a:b", "'b' cannot be a ContainerPath: it is relative; "),
        (":/b", "'' cannot be a HostPath: it is empty"),
        ("/a:/b/..", "'/b/..' cannot be a ContainerPath: it holds '..'"),
    ],
)
def test_what_is_no_mount(text: str, reason: str) -> None:
    """The error shows the text and says what would do."""
    with pytest.raises(InvalidMountError) as caught:
        Mount.parse(text)
    assert caught.value.text == text
    assert caught.value.reason.startswith(reason)


def test_the_sides_are_converted() -> None:
    """Strings become paths of their side; a path of the other side is refused."""
    mount = Mount(host="/a/", container="/b/")

    assert (mount.host, mount.container) == (HostPath("/a"), ContainerPath("/b"))
    with pytest.raises(InvalidPathError):
        Mount(host="a", container="/b")
    with pytest.raises(PathKindError):
        Mount(host=ContainerPath("/a"), container="/b")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PathKindError):
        Mount(host="/a", container=HostPath("/b"))  # type: ignore[arg-type]  # on purpose


def test_a_mount_in_one_line() -> None:
    """The text is the one that would be parsed; a side that nobody knows is said to be so."""
    assert str(Mount(host="/a", container="/b", read_only=True)) == "/a:/b:ro"
    assert str(Mount(host=None, container="/b")) == "(not from a known host path):/b"


# From the container to the host.


def test_the_rest_of_the_path_is_kept() -> None:
    """Below a mount both sides have the same names."""
    table = mounts_of(DRIVER, "/dev:/host-dev/dev")

    assert on_host(table, "/driver-root") == "/home/kubernetes/bin/nvidia"
    assert on_host(table, "/driver-root/lib64/x") == "/home/kubernetes/bin/nvidia/lib64/x"
    assert on_host(table, "/host-dev/dev/nvidia-caps/nvidia-cap1") == "/dev/nvidia-caps/nvidia-cap1"


def test_matching_is_by_component() -> None:
    """A name that starts like a mount point is another name."""
    assert on_host(mounts_of("/a:/driver"), "/driver-backup") is None
    assert in_container(mounts_of("/driver:/a"), "/driver-backup") == []


@pytest.mark.parametrize(
    ("mount", "pairs"),
    [
        ("/:/", [("/", "/"), ("/a/b", "/a/b")]),
        ("/:/host", [("/host", "/"), ("/host/a", "/a"), ("/", None), ("/a", None)]),
        ("/sub:/", [("/", "/sub"), ("/a", "/sub/a")]),
    ],
)
def test_roots_on_either_side(mount: str, pairs: list[tuple[str, str | None]]) -> None:
    """The root mounted at a subdirectory, and a subdirectory mounted at the root."""
    table = mounts_of(mount)
    for path, host_path in pairs:
        assert on_host(table, path) == host_path
        if host_path is not None:
            assert in_container(table, host_path) == [path]


def test_a_mount_inside_another() -> None:
    """The deeper one serves what is at it and below, the other one the rest."""
    table = mounts_of("/a:/m", "/b:/m/x", "/c:/m/x/y")

    paths = ["/m", "/m/w", "/m/x", "/m/x/w", "/m/x/y", "/m/x/y/w"]
    assert [on_host(table, path) for path in paths] == ["/a", "/a/w", "/b", "/b/w", "/c", "/c/w"]


def test_a_later_mount_hides() -> None:
    """One on the same path, and all below one on an ancestor, are not seen any more."""
    table = mounts_of("/a:/m/x", "/b:/m/x", "/c:/m/x/y", "/d:/m", "/e:/m/z")

    paths = ["/m/x", "/m/x/y", "/m/z"]
    assert [on_host(table, path) for path in paths] == ["/d/x", "/d/x/y", "/e"]
    assert table.covering(ContainerPath("/m/x/y")) == Mount.parse("/d:/m")
    assert in_container(table, "/a") == in_container(table, "/b") == in_container(table, "/c") == []
    assert in_container(table, "/d/z") == []


def test_a_mount_without_a_host_side() -> None:
    """It has no host path, and hides what is below it all the same."""
    table = mounts_of("/a:/m", ":/m/empty", "/b:/m/empty/x")

    assert on_host(table, "/m/empty") is None
    assert on_host(table, "/m/empty/w") is None
    assert on_host(table, "/m/empty/x/w") == "/b/w"
    assert in_container(table, "/a/empty/w") == []
    assert in_container(table, "/a/w") == ["/m/w"]


def test_a_single_file() -> None:
    """A device file mounted on a file is a mount like any other."""
    table = mounts_of(":/dev", "/dev/nvidia0:/dev/nvidia0", "/dev/nvidiactl:/dev/nvidiactl:ro")

    assert on_host(table, "/dev/nvidia0") == "/dev/nvidia0"
    assert on_host(table, "/dev/nvidia1") is None
    assert in_container(table, "/dev/nvidiactl") == ["/dev/nvidiactl"]
    assert in_container(table, "/dev") == []


def test_nothing_covers_an_empty_table() -> None:
    """Then there is no host path, and none comes near."""
    assert MountTable().covering(ContainerPath("/")) is None
    assert why_not(MountTable(), ContainerPath("/a")).nearest == ()
    assert why_not(MountTable(), HostPath("/a")).nearest == ()


# From the host to the container.


def test_a_host_path_mounted_at_several_places() -> None:
    """Every place is an answer, the shortest the first, and those of one length by their names."""
    table = mounts_of("/dev:/x/y/dev", "/dev/dri:/z", "/:/host", "/dev:/b/dev", "/dev:/a/dev")

    assert in_container(table, "/dev/dri/card0") == [
        "/z/card0",
        "/a/dev/dri/card0",
        "/b/dev/dri/card0",
        "/host/dev/dri/card0",
        "/x/y/dev/dri/card0",
    ]
    assert in_container(mounts_of("/dev:/z", "/dev:/x/y"), "/dev") == ["/z", "/x/y"]
    assert table.to_container(HostPath("/dev/dri")) == ContainerPath("/z")
    assert table.to_container(HostPath("/etc")) == ContainerPath("/host/etc")


def test_two_mounts_that_show_the_same_at_one_place() -> None:
    """A place is given once, even if the mount above would show the same there."""
    table = mounts_of("/a:/m", "/a/x:/m/x")
    assert in_container(table, "/a/x/y") == ["/m/x/y"]


# The errors.


def test_the_nearest_mounts_are_named() -> None:
    """Those that share the longest way with the path come first, three at most."""
    table = mounts_of(DRIVER, "/a/b:/m/n", "/a/b/c:/m/n2", "/a/x:/m/o", "/q:/z")

    near = why_not(table, ContainerPath("/m/p"))
    assert [str(mount) for mount in near.nearest] == ["/a/b:/m/n", "/a/b/c:/m/n2", "/a/x:/m/o"]
    near = why_not(table, HostPath("/a/b2"))
    assert [str(mount) for mount in near.nearest] == ["/a/b:/m/n", "/a/b/c:/m/n2", "/a/x:/m/o"]
    near = why_not(table, HostPath("/home/kubernetes/bin"))
    assert near.nearest[0] == Mount.parse(DRIVER)
    assert f"the nearest: {DRIVER}" in str(near)


def test_what_has_no_host_side_is_near_no_host_path() -> None:
    """It shows nothing of the host."""
    table = mounts_of(":/x", "/a:/m", ":/y")
    assert why_not(table, HostPath("/b")).nearest == (Mount.parse("/a:/m"),)


def test_position_counts_only_from_the_root() -> None:
    """Names that agree after the ways have parted do not make a mount nearer."""
    table = mounts_of("/x/b/c/d:/1", "/a/y:/2")
    assert str(why_not(table, HostPath("/a/b/c/d")).nearest[0]) == "/a/y:/2"


def test_what_is_hidden_is_said_to_be() -> None:
    """A host path that is mounted, but seen nowhere, is told from one that is not mounted."""
    for table in (mounts_of("/a:/m", ":/m/x"), mounts_of("/a/x:/m/x", ":/m")):
        error = why_not(table, HostPath("/a/x/y"))
        assert error.reason == "what is mounted later or further down hides it"
        assert error.nearest[0].host in {HostPath("/a"), HostPath("/a/x")}
    nearer = [f"/a/x/y/{n}:/n/{n}" for n in range(4)]
    assert "hides" in str(why_not(mounts_of("/a:/m", ":/m/x", *nearer), HostPath("/a/x/y")))
    assert why_not(mounts_of("/a:/m"), HostPath("/b")).reason == ""


def test_a_mount_from_nowhere_is_named() -> None:
    """Of a path on a mount without a host side the error says which mount that is."""
    error = why_not(mounts_of("/a:/m", ":/m/x"), ContainerPath("/m/x/y"))
    assert "the mount at /m/x is not from a known host path" in str(error)


def test_paths_of_the_wrong_side_are_refused() -> None:
    """A path of the other side is not silently looked up by its text."""
    table = mounts_of("/a:/m")
    calls: list[tuple[Callable[[Any], object], object, str]] = [
        (table.to_host, HostPath("/m"), "ContainerPath"),
        (table.covering, "/m", "ContainerPath"),
        (table.to_container, ContainerPath("/a"), "HostPath"),
        (table.to_container_all, "/a", "HostPath"),
        (lambda mount: MountTable([mount]), "/a:/m", "Mount"),
    ]
    for call, given, wanted in calls:
        with pytest.raises(PathKindError) as caught:
            call(given)
        assert (caught.value.value, caught.value.wanted) == (given, wanted)


# Pods and engines in the field.


def test_the_root_of_the_host_below_a_driver_root() -> None:
    """The pod of a DRA driver: ``hostPath: /`` at /driver-root, and its own /dev beside it."""
    registry, plugins = "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/plugins"
    table = mounts_of(
        *(f"{path}:{path}" for path in (registry, plugins, "/var/run/cdi")), "/:/driver-root:ro"
    )

    assert on_host(table, "/driver-root/dev/nvidia0") == "/dev/nvidia0"
    assert on_host(table, "/dev/nvidia0") is None
    assert on_host(table, "/var/run/cdi/x.yaml") == "/var/run/cdi/x.yaml"
    assert in_container(table, "/var/run/cdi") == ["/var/run/cdi", "/driver-root/var/run/cdi"]


def test_plugins_that_mount_a_part_of_dev_or_none() -> None:
    """One vendor mounts /dev/dri read-only, another none of /dev at all."""
    sockets = "/var/lib/kubelet/device-plugins:/var/lib/kubelet/device-plugins"
    part = mounts_of("/dev/dri:/dev/dri:ro", "/sys/class/drm:/sys/class/drm:ro", sockets)
    none = mounts_of(sockets, "/sys:/sys")

    assert on_host(part, "/dev/dri/renderD128") == "/dev/dri/renderD128"
    assert on_host(part, "/dev/kfd") is None
    found = part.covering(ContainerPath("/dev/dri/renderD128"))
    assert found is not None
    assert found.read_only
    assert on_host(none, "/dev/dri/renderD128") is None
    assert on_host(none, "/dev/kfd") is None
    assert on_host(none, "/sys/class/kfd") == "/sys/class/kfd"


# Tables of all sizes, and as values.


def test_a_table_of_many_mounts() -> None:
    """Each mount maps both ways among ten thousand others."""
    table = MountTable(
        Mount(host=f"/h/{n % 97}/{n}", container=f"/c/{n % 89}/{n}") for n in range(10_000)
    )
    for n in range(0, 10_000, 997):
        assert on_host(table, f"/c/{n % 89}/{n}/x") == f"/h/{n % 97}/{n}/x"
        assert in_container(table, f"/h/{n % 97}/{n}/x") == [f"/c/{n % 89}/{n}/x"]


def test_a_deep_mount() -> None:
    """Paths of thousands of components are mapped like any other."""
    deep = "/a" * 3000
    table = mounts_of(f"/h:{deep}")

    assert on_host(table, deep + "/x") == "/h/x"
    assert in_container(table, "/h/x") == [deep + "/x"]
    assert why_not(table, ContainerPath("/a")).nearest == (Mount.parse(f"/h:{deep}"),)


def test_tables_are_values() -> None:
    """Equal are tables of the same mounts in the same order; copies and pickles are equal to it."""
    table = mounts_of("/a:/m", "/b:/m/x")

    assert copy.copy(table) == pickle.loads(pickle.dumps(table)) == table
    assert {table, mounts_of("/a:/m", "/b:/m/x")} == {table}
    assert hash(table) != hash(mounts_of("/a:/m"))
    assert table != mounts_of("/b:/m/x", "/a:/m")
    assert table != [*table]
    assert [str(mount) for mount in table] == ["/a:/m", "/b:/m/x"]
    assert len(table) == 2
    assert repr(mounts_of("/a:/m")).startswith("MountTable([Mount(host=HostPath('/a'), ")
