"""Set-ups that look the same from inside: what is said of them, and what more decides.

Some of these answers are wrong for one of the two. They are here because the documentation says
so: a process cannot know better, and whoever relies on an answer should know how far it goes.
"""

from __future__ import annotations

from devroot import ContainerPath, DevRoot, examine
from devroot.testing import FakeHost
from tests._views import DEV_LINE, HOST_DEV_LINE, HOST_ROOT_LINE, ROOT_LINE, said, view_of

HOST = (HOST_ROOT_LINE, HOST_DEV_LINE)
DRIVER = "/drv:/driver-root"
DRIVER_LINE = "12 10 8:1 /drv /driver-root rw - ext4 /dev/sda1 rw"


def test_a_directory_that_the_host_renamed_has_its_new_name_in_new_tables() -> None:
    """A mount follows its directory, and a snapshot and a declaration keep the old name."""
    host = FakeHost(["dir /old"])
    pod = host.container(mounts=["/old:/data"], host_mountinfo=True)
    before = pod.view

    host.move("/old", "/new")

    path = ContainerPath("/data")
    assert str(examine(before, path).host_path) == "/old"
    after = examine(before.refresh(), path)
    assert (str(after.host_path), after.evidence[-2].code.value) == ("/new", "alias")


def test_an_overlay_over_a_directory_of_the_host_is_no_bind_of_it() -> None:
    """It shows the same files, and what is changed goes to its upper layer."""
    line = "12 10 0:70 / /driver-root rw - overlay overlay rw,lowerdir=/drv,upperdir=/u,workdir=/w"
    alone = view_of(ROOT_LINE, DEV_LINE, line, mounts=[DRIVER])
    assert said("/driver-root/x", alone) == ("declared", "declared", "/drv/x")
    granted = view_of(ROOT_LINE, DEV_LINE, line, mounts=[DRIVER], host=HOST)
    assert said("/driver-root/x", granted) == ("private", "not-on-host", None)


def test_an_overlay_that_the_host_has_is_joined_as_any_file_system() -> None:
    """Its number is its own, whatever its layers are."""
    line = "12 10 0:70 /drv /driver-root rw - overlay overlay rw,lowerdir=/l"
    host = ("1 0 0:70 / / rw - overlay overlay rw,lowerdir=/l", HOST_DEV_LINE)
    view = view_of(ROOT_LINE, DEV_LINE, line, host=host)
    assert said("/driver-root/x", view) == ("host", "joined", "/drv/x")


def test_an_idmapped_mount_is_the_same_place() -> None:
    """Whose a file is there is another question, which no verdict answers."""
    line = DRIVER_LINE.replace(" rw - ", " rw,idmapped - ")
    view = view_of(ROOT_LINE, DEV_LINE, line, mounts=[DRIVER], host=HOST)
    assert said("/driver-root/x", view) == ("host", "joined", "/drv/x")


def test_what_a_container_mounted_below_a_declared_mount_looks_as_if_it_came_along() -> None:
    """Only the host's table tells that the host has no such mount."""
    line = "13 12 0:71 / /driver-root/x rw - tmpfs tmpfs rw"
    alone = view_of(ROOT_LINE, DEV_LINE, DRIVER_LINE, line, mounts=[DRIVER])
    assert said("/driver-root/x/y", alone) == ("declared", "submount", "/drv/x/y")
    granted = view_of(ROOT_LINE, DEV_LINE, DRIVER_LINE, line, mounts=[DRIVER], host=HOST)
    assert said("/driver-root/x/y", granted) == ("private", "not-on-host", None)


def test_a_directory_that_the_host_has_covered_since_is_declared_all_the_same() -> None:
    """The container's mount shows what lies below; a new host table says so, an old one not."""
    host = FakeHost(["dir /data"])
    pod = host.container(mounts=["/data:/data"], host_mountinfo=True)
    without = host.container(mounts=["/data:/data"])
    before = pod.view

    host.tmpfs("/data")

    path = ContainerPath("/data/x")
    assert examine(without.view, path).verdict.value == "declared"
    assert examine(before, path).verdict.value == "host"
    assert examine(before.refresh(), path).verdict.value == "private"


def test_the_table_of_a_pause_container_is_taken_for_the_hosts() -> None:
    """Process 1 of a shared process namespace has one more container's table; nothing tells."""
    shared = "12 11 0:72 / /dev/shm rw - tmpfs shm rw"
    pause = ("1 0 0:73 / / rw - overlay overlay rw", "3 1 0:72 / /dev/shm rw - tmpfs shm rw")
    view = view_of(ROOT_LINE, DEV_LINE, shared, host=pause)
    assert said("/dev/shm/x", view) == ("host", "joined", "/dev/shm/x")


def test_a_later_file_system_with_the_same_number_and_options_is_taken_for_the_first() -> None:
    """Tables of two moments can have it, so both are to be read at one."""
    own = "12 10 0:74 / /data rw - tmpfs tmpfs rw"
    later = "3 1 0:74 / /srv rw - tmpfs tmpfs rw"
    view = view_of(ROOT_LINE, DEV_LINE, own, host=(*HOST, later))
    assert said("/data/x", view) == ("host", "joined", "/srv/x")


def test_two_mounts_of_one_share_can_be_two_file_systems() -> None:
    """What is made in the one appears in the other by way of the server, which no table tells."""
    own = "12 10 0:75 / /data rw - nfs4 server:/export rw,vers=4.2"
    theirs = "3 1 0:76 / /srv rw - nfs4 server:/export rw,vers=4.2"
    view = view_of(ROOT_LINE, DEV_LINE, own, mounts=["/srv:/data"], host=(*HOST, theirs))
    assert said("/data/x", view) == ("private", "not-on-host", None)


def test_a_lost_line_of_a_mount_that_nothing_lies_on_leaves_no_trace() -> None:
    """The path seems to be on the mount below, which before Linux 5.8 could happen."""
    line = "13 12 0:71 / /driver-root/x rw - tmpfs tmpfs rw"
    whole = view_of(ROOT_LINE, DEV_LINE, DRIVER_LINE, line, host=HOST)
    assert said("/driver-root/x/y", whole) == ("private", "not-on-host", None)
    lost = view_of(ROOT_LINE, DEV_LINE, DRIVER_LINE, host=HOST)
    assert lost.mountinfo.is_whole
    assert said("/driver-root/x/y", lost) == ("host", "joined", "/drv/x/y")


def test_the_same_names_numbers_and_modes_are_no_sign() -> None:
    """A privileged container's copies of the nodes differ from the host's in nothing but place."""
    host = FakeHost()
    host.devtmpfs("/dev")
    host.nvidia_driver("/")
    copies = host.container(privileged=True)
    mounted = host.container(mounts=["/dev:/dev"])

    assert copies.device("/dev/nvidia0") == mounted.device("/dev/nvidia0")
    assert DevRoot(container="/", view=copies.view).reach().verdict.value == "private"
    assert DevRoot(container="/", view=mounted.view).reach().verdict.value == "host"
