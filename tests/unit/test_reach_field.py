"""What the verdict says of set-ups that people ran, and where other rules went wrong."""

from __future__ import annotations

import attrs
import pytest

from devroot import ContainerView, HostPath, Verdict
from devroot.testing import TreeFileSystem
from tests._views import (
    DEV_LINE,
    DEVTMPFS,
    HOST_DEV_LINE,
    HOST_ROOT_LINE,
    RECORDED,
    ROOT_LINE,
    codes_of,
    mounts_of,
    reach_of,
    said,
    table_of,
    view_of,
)


def lines_of(folder: str) -> list[str]:
    """Return the lines of the container's table in a folder of ``field``."""
    return (RECORDED / "field" / folder / "container").read_text().splitlines()


def blockers_of(path: str, view: ContainerView) -> list[str]:
    """Return the codes of the blockers at a path."""
    return [blocker.code.value for blocker in reach_of(path, view).blockers]


def test_a_node_made_in_a_plugins_own_dev_is_not_on_the_host() -> None:
    """The bug for which this library exists: it looked right from inside."""
    view = view_of(*lines_of("plugin-pod"), mounts=["/home/kubernetes/bin/nvidia:/driver-root:ro"])
    assert said("/dev/nvidia-caps/nvidia-cap4323", view) == ("private", "runtime-dev", None)
    host_path = "/home/kubernetes/bin/nvidia/bin"
    assert said("/driver-root/bin", view) == ("declared", "declared", host_path)
    assert blockers_of("/driver-root/bin", view) == ["ro"]


def test_single_device_files_are_judged_one_by_one() -> None:
    """One answer for the whole of such a /dev is wrong, whichever it is."""
    lines = lines_of("gpu-pod")
    data = "/var/lib/kubelet/pods/u/volumes/my vol"
    view = view_of(*lines, mounts=[f"{data}:/data"])
    assert said("/dev", view) == ("private", "runtime-dev", None)
    assert said("/dev/nvidia0", view) == ("unknown", "devtmpfs-elsewhere", None)
    assert said("/dev/nvidia1", view) == ("private", "runtime-dev", None)
    assert said("/data/x", view) == ("declared", "declared", f"{data}/x")
    host = [
        "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw",
        "2 1 0:5 / /dev rw - devtmpfs udev rw",
        "3 1 9:127 / /var/lib rw - xfs /dev/md127 rw",
    ]
    view = view_of(*lines, host=host)
    assert said("/dev", view) == ("private", "not-on-host", None)
    assert said("/dev/nvidia0", view) == ("host", "joined", "/dev/nvidia0")
    assert said("/dev/nvidia1", view) == ("private", "not-on-host", None)
    assert said("/data/x", view) == ("host", "joined", f"{data}/x")
    view = view_of(*lines, mounts=["/dev/nvidia0:/dev/nvidia0"])
    assert said("/dev/nvidia0", view) == ("host", "devtmpfs", "/dev/nvidia0")


def test_a_sandbox_with_the_host_below_it() -> None:
    """Nodes there would be on the host, and cannot be made in this user namespace."""
    view = view_of(*lines_of("sandbox-in-user-namespace"), mounts=["/:/host"])
    view = attrs.evolve(view, initial_user_namespace=False)
    assert said("/host/dev/x", view) == ("host", "devtmpfs", "/dev/x")
    assert blockers_of("/host/dev/x", view) == ["user-namespace"]
    assert said("/host/dev/shm/x", view) == ("declared", "submount", "/dev/shm/x")
    store = reach_of("/host/nix/store/x", view)
    assert store.mount is not None
    assert store.mount.mount_id == 258
    assert [blocker.code.value for blocker in store.blockers] == ["ro", "user-namespace"]
    assert said("/dev/x", view) == ("private", "own-root", None)
    assert blockers_of("/dev/x", view) == ["nodev", "user-namespace"]


def test_a_share_of_the_hosts_own_is_no_kernel_of_its_own() -> None:
    """The host there is itself a virtual machine with a 9p share; its root is not one."""
    view = view_of(*lines_of("sandbox-in-user-namespace"), mounts=["/:/host"])
    assert said("/host/nix/.ro-store/x", view) == ("declared", "submount", "/nix/.ro-store/x")


def test_a_deleted_source_leads_nowhere() -> None:
    """A new directory of the same name would be another one."""
    lines = [*lines_of("deleted-source"), "1 0 8:1 / / rw - ext4 /dev/sda1 rw"]
    mounts = ["/home/user/m/m1:/home/user/m/m2"]
    host = [
        "500 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "501 500 0:52 / /home/user/m rw - tmpfs none rw",
    ]
    for view in (view_of(*lines, mounts=mounts), view_of(*lines, mounts=mounts, host=host)):
        assert said("/home/user/m/m2/x", view) == ("stale", "deleted-root", None)


def test_odd_names_are_decoded_once() -> None:
    """A blank is a blank, and a backslash with x2d after it is not a hyphen."""
    view = view_of(*lines_of("odd-names"), mounts=["/srv/foo bar:/mnt/foo bar"])
    assert said("/mnt/foo bar/dev", view) == ("declared", "declared", "/srv/foo bar/dev")
    name = "/run/credentials/systemd-cryptsetup@luks\\x2dvol.service"
    mount = reach_of(name, view).mount
    assert mount is not None
    assert mount.mount_id == 487


def test_a_driver_root_that_is_the_hosts_root_read_only() -> None:
    """The flag is of one mount; the devices below it can be made, and are the host's."""
    view = view_of(
        *lines_of("read-only-root"), mounts=["/var/run/cdi:/var/run/cdi", "/:/driver-root:ro"]
    )
    assert said("/driver-root/dev/nvidia0", view) == ("host", "devtmpfs", "/dev/nvidia0")
    assert blockers_of("/driver-root/dev/nvidia0", view) == []
    assert blockers_of("/driver-root/usr", view) == ["ro"]
    assert said("/dev/nvidia0", view) == ("private", "runtime-dev", None)
    assert codes_of(reach_of("/var/run/cdi/x.yaml", view))[1] == "not-there"


def test_a_driver_containers_dev_is_on_the_host_and_not_the_hosts_dev() -> None:
    """It is a tmpfs without nodev that the host sees below the driver root."""
    own = [
        ROOT_LINE,
        DEV_LINE,
        "20 10 0:70 / /driver-root rw master:3 - overlay overlay rw,lowerdir=/d",
        "21 20 0:71 / /driver-root/dev rw,nosuid master:4 - tmpfs tmpfs rw,size=65536k,mode=755",
        "22 21 0:72 / /driver-root/dev/shm rw,nosuid,nodev,noexec master:5 - tmpfs shm rw",
    ]
    host = [
        HOST_ROOT_LINE,
        HOST_DEV_LINE,
        "30 1 0:40 / /run rw shared:2 - tmpfs tmpfs rw,mode=755",
        "31 30 0:70 / /run/nvidia/driver rw shared:3 - overlay overlay rw,lowerdir=/d",
        "32 31 0:71 / /run/nvidia/driver/dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
        "33 32 0:72 / /run/nvidia/driver/dev/shm rw,nosuid,nodev,noexec shared:5 - tmpfs shm rw",
    ]
    mounts = ["/run/nvidia/driver:/driver-root"]
    place = "/run/nvidia/driver/dev/nvidiactl"
    view = view_of(*own, mounts=mounts)
    assert said("/driver-root/dev/nvidiactl", view) == ("declared", "submount", place)
    view = view_of(*own, mounts=mounts, host=host)
    reach = reach_of("/driver-root/dev/nvidiactl", view)
    assert (reach.verdict, reach.host_paths) == (Verdict.HOST, (HostPath(place),))
    assert reach.blockers == ()
    assert blockers_of("/driver-root/dev/shm/x", view) == ["nodev"]


def test_the_driver_container_itself_knows_its_dev_by_the_hosts_name() -> None:
    """Seen from inside, its own private /dev is on the host all the same."""
    view = view_of(
        "10 9 0:70 / / rw - overlay overlay rw,lowerdir=/d",
        "11 10 0:71 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
        host=[
            HOST_ROOT_LINE,
            "31 1 0:70 / /run/nvidia/driver rw - overlay overlay rw,lowerdir=/d",
            "32 31 0:71 / /run/nvidia/driver/dev rw - tmpfs tmpfs rw,size=65536k,mode=755",
        ],
    )
    expected = ("host", "joined", "/run/nvidia/driver/dev/nvidiactl")
    assert said("/dev/nvidiactl", view) == expected


def test_a_plugin_that_mounts_only_dri_has_only_dri_of_the_hosts_dev() -> None:
    """It is read-only there, and the rest of /dev is the container's own."""
    view = view_of(
        ROOT_LINE,
        DEV_LINE,
        f"12 11 0:6 /dri /dev/dri ro - {DEVTMPFS}",
        mounts=["/dev/dri:/dev/dri:ro", "/sys/class/drm:/sys/class/drm:ro"],
    )
    expected = ("host", "devtmpfs", "/dev/dri/renderD128")
    assert said("/dev/dri/renderD128", view) == expected
    assert blockers_of("/dev/dri/renderD128", view) == ["ro"]
    assert said("/dev/kfd", view) == ("private", "runtime-dev", None)


def test_a_plugin_that_mounts_no_dev_has_none_of_the_hosts() -> None:
    """That /sys is the host's says nothing of /dev."""
    view = view_of(ROOT_LINE, DEV_LINE, mounts=["/sys:/sys"])
    for path in ("/dev/dri/renderD128", "/dev/kfd"):
        assert said(path, view) == ("private", "runtime-dev", None)


def test_a_privileged_containers_dev_is_a_copy() -> None:
    """It has every node of the host and is still a tmpfs of its own."""
    files = TreeFileSystem(["char /dev/nvidia0 195:0", "char /dev/nvidiactl 195:255"])
    view = ContainerView(
        mountinfo=table_of(ROOT_LINE, DEV_LINE),
        mounts=mounts_of("/drv:/driver-root"),
        filesystem=files,
        initial_user_namespace=True,
        effective_capabilities=(1 << 41) - 1,
    )
    assert said("/dev/nvidia0", view) == ("private", "runtime-dev", None)
    assert blockers_of("/dev/nvidia0", view) == []


@pytest.mark.parametrize("kind", ["the node's", "the runtime's"])
def test_a_node_that_is_a_container_cannot_be_told_from_inside(kind: str) -> None:
    """A bind of the node's /dev and the runtime's own tmpfs give the very same line."""
    node = (
        "1 0 0:40 / / rw - overlay overlay rw,lowerdir=/n",
        "2 1 0:48 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
    )
    device = "0:48" if kind == "the node's" else "0:51"
    line = f"11 10 {device} / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755"
    inside = view_of(ROOT_LINE, line, mounts=["/dev:/dev"])
    assert said("/dev/x", inside) == ("unknown", "tmpfs-at-dev", "/dev/x")
    with_table = view_of(ROOT_LINE, line, mounts=["/dev:/dev"], host=node)
    expected = {
        "the node's": ("host", "joined", "/dev/x"),
        "the runtime's": ("private", "not-on-host", None),
    }
    assert said("/dev/x", with_table) == expected[kind]
