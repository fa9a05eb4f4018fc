"""Joining a container's mount table with the host's: what it proves, and where it would lie."""

from __future__ import annotations

import pytest

from devroot import HostPath, MountTablesDisagreeError, Verdict
from tests._views import (
    DEV_LINE,
    DEVTMPFS,
    HOST_DEV_LINE,
    HOST_ROOT_LINE,
    HOST_SHM_LINE,
    RECORDED,
    ROOT_LINE,
    codes_of,
    reach_of,
    said,
    view_of,
)

HOST = (HOST_ROOT_LINE, HOST_DEV_LINE, HOST_SHM_LINE)
NOT_ON_HOST = ("private", "not-on-host", None)


# What is seen on the host, and where.


def test_the_host_path_is_mount_point_and_rest() -> None:
    """The rest of the path below the host mount's root follows its mount point."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /vol /data rw - ext4 /dev/sdb1 rw"]
    view = view_of(ROOT_LINE, "12 10 8:2 /vol/a /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x", view) == ("host", "joined", "/data/a")
    assert said("/x/b/c", view) == ("host", "joined", "/data/a/b/c")


def test_the_very_root_of_a_host_mount_is_its_mount_point() -> None:
    """Nothing is added where the roots are the same, nor on a root mount."""
    view = view_of(ROOT_LINE, "12 10 8:1 / /host rw - ext4 /dev/sda1 rw", host=HOST)
    assert said("/host", view) == ("host", "joined", "/")
    view = view_of(ROOT_LINE, f"12 10 0:6 / /x rw - {DEVTMPFS}", host=HOST)
    assert said("/x", view) == ("host", "joined", "/dev")


def test_roots_are_compared_by_component() -> None:
    """/vol does not hold /vol-old, nor the other way round."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /vol /data rw - ext4 /dev/sdb1 rw"]
    for root in ("/vol-old", "/vo", "/"):
        view = view_of(ROOT_LINE, f"12 10 8:2 {root} /x rw - ext4 /dev/sdb1 rw", host=host)
        assert said("/x", view) == NOT_ON_HOST


def test_nothing_but_slashes_is_taken_from_the_names() -> None:
    """Neither from the end of a root nor from the start of what lies below it."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /opt/NGX /data rw - ext4 /dev/sdb1 rw"]
    view = view_of(ROOT_LINE, "12 10 8:2 /opt/NGX /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/X11/y", view) == ("host", "joined", "/data/X11/y")


def test_a_part_of_a_wider_bind_is_on_the_host() -> None:
    """The container sees more of the file system than the host: only that part is proved."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /vol /data rw - ext4 /dev/sdb1 rw"]
    view = view_of(ROOT_LINE, "12 10 8:2 / /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/other", view) == NOT_ON_HOST
    assert said("/x/vol/a", view) == ("host", "joined", "/data/a")


def test_a_bind_of_a_bind_is_found_by_its_file_system() -> None:
    """However often it was bound, the root is a path in the file system."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /a /one rw - ext4 /dev/sda1 rw",
        "13 12 8:1 /a/b /one/two rw - ext4 /dev/sda1 rw",
        mounts=["/a:/one"],
        host=[HOST_ROOT_LINE, "5 1 8:1 /a/b/c /srv/c rw - ext4 /dev/sda1 rw"],
    )
    reach = reach_of("/one/two/c/d", view)
    assert reach.host_paths == (HostPath("/srv/c/d"), HostPath("/a/b/c/d"))


def test_every_host_path_is_given_the_declared_one_first() -> None:
    """Then the shorter ones, then by name."""
    host = [
        HOST_ROOT_LINE,
        "5 1 8:2 / /mnt/b/deep rw - ext4 /dev/sdb1 rw",
        "6 1 8:2 / /mnt/z rw - ext4 /dev/sdb1 rw",
        "7 1 8:2 / /mnt/a rw - ext4 /dev/sdb1 rw",
    ]
    line = "12 10 8:2 / /x rw - ext4 /dev/sdb1 rw"
    short_first = [HostPath(f"{top}/d") for top in ("/mnt/a", "/mnt/z", "/mnt/b/deep")]
    assert list(reach_of("/x/d", view_of(ROOT_LINE, line, host=host)).host_paths) == short_first
    declared = view_of(ROOT_LINE, line, host=host, mounts=["/mnt/b/deep:/x"])
    reach = reach_of("/x/d", declared)
    assert reach.host_path == HostPath("/mnt/b/deep/d")
    assert list(reach.host_paths) == [short_first[2], *short_first[:2]]
    assert "alias" not in codes_of(reach)


def test_a_declared_path_that_is_a_link_on_the_host_is_an_alias() -> None:
    """/var/run is a link to /run; the host's table knows no links, and its name is the true one."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:31 /cdi /cdi rw - tmpfs tmpfs rw,mode=755",
        mounts=["/var/run/cdi:/cdi"],
        host=[*HOST, "4 1 0:31 / /run rw - tmpfs tmpfs rw,mode=755"],
    )
    reach = reach_of("/cdi/x.yaml", view)
    assert reach.verdict is Verdict.HOST
    assert reach.host_paths == (HostPath("/run/cdi/x.yaml"),)
    assert codes_of(reach) == ["covered", "declared-as", "alias", "joined"]


def test_mounts_of_a_single_file_are_joined_as_well() -> None:
    """Field 4 is then the file, and nothing lies below it."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /f /etc/one rw - ext4 /dev/sdb1 rw"]
    view = view_of(ROOT_LINE, "12 10 8:2 /f /etc/two rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/etc/two", view) == ("host", "joined", "/etc/one")


def test_roots_that_are_no_paths_are_joined_when_they_are_the_same() -> None:
    """A namespace file such as net:[...] is one and the same wherever it is bound."""
    host = [HOST_ROOT_LINE, "5 1 0:4 net:[4026532008] /run/netns/a rw - nsfs nsfs rw"]
    view = view_of(ROOT_LINE, "12 10 0:4 net:[4026532008] /x rw - nsfs nsfs rw", host=host)
    assert said("/x", view) == ("host", "joined", "/run/netns/a")
    view = view_of(ROOT_LINE, "12 10 0:4 net:[4026532009] /x rw - nsfs nsfs rw", host=host)
    assert said("/x", view) == NOT_ON_HOST
    view = view_of(
        ROOT_LINE,
        "12 10 0:4 net:[4026532008] /x rw - nsfs nsfs rw",
        host=[HOST_ROOT_LINE, "5 1 0:4 / /nsfs rw - nsfs nsfs rw"],
    )
    assert said("/x", view) == NOT_ON_HOST


# What the host does not see.


def test_a_bind_of_the_root_alone_is_private_with_the_hosts_table_too() -> None:
    """The host sees its devtmpfs at /dev, not the directory below it."""
    view = view_of(
        ROOT_LINE,
        DEV_LINE,
        "12 10 8:1 / /driver-root rw - ext4 /dev/sda1 rw",
        mounts=["/:/driver-root"],
        host=HOST,
    )
    assert said("/driver-root/dev/nvidia-caps/x", view) == NOT_ON_HOST
    assert said("/driver-root/home/x", view) == ("host", "joined", "/home/x")


def test_a_bind_of_dev_alone_does_not_show_the_hosts_shm() -> None:
    """A file made below it lands where the host's tmpfs hides it."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 / /host-dev/dev rw - {DEVTMPFS}",
        mounts=["/dev:/host-dev/dev"],
        host=HOST,
    )
    assert said("/host-dev/dev/shm/x", view) == NOT_ON_HOST
    assert said("/host-dev/dev/shmem", view) == ("host", "joined", "/dev/shmem")


def test_a_fresh_devtmpfs_is_not_the_dev_of_a_host_with_a_tmpfs_there() -> None:
    """The host has the same devtmpfs too, but below the tmpfs at its /dev."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 / /dev rw - {DEVTMPFS}",
        mounts=["/dev:/dev"],
        host=[*HOST, "5 2 0:41 / /dev rw - tmpfs tmpfs rw,size=65536k,mode=755"],
    )
    assert said("/dev/nvidia-caps/x", view) == NOT_ON_HOST


def test_what_a_mount_further_up_hides_on_the_host_is_not_seen() -> None:
    """A later mount on an ancestor hides the mount that shows the place."""
    host = [
        HOST_ROOT_LINE,
        "5 1 8:2 / /mnt/data rw - ext4 /dev/sdb1 rw",
        "6 1 0:33 / /mnt rw - tmpfs tmpfs rw",
    ]
    view = view_of(ROOT_LINE, "12 10 8:2 / /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/d", view) == NOT_ON_HOST


def test_what_a_mount_further_down_hides_on_the_host_is_not_seen() -> None:
    """The same bind is partly seen and partly not."""
    host = [
        HOST_ROOT_LINE,
        "5 1 8:2 / /data rw - ext4 /dev/sdb1 rw",
        "6 5 0:33 / /data/cache rw - tmpfs tmpfs rw",
    ]
    view = view_of(ROOT_LINE, "12 10 8:2 / /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/cache/d", view) == NOT_ON_HOST
    assert said("/x/d", view) == ("host", "joined", "/data/d")


def test_another_directory_of_the_same_file_system_hides_as_well() -> None:
    """The host sees its /other there, though the device is the same."""
    host = [
        HOST_ROOT_LINE,
        "5 1 8:2 / /data rw - ext4 /dev/sdb1 rw",
        "6 5 8:2 /other /data/cache rw - ext4 /dev/sdb1 rw",
    ]
    view = view_of(ROOT_LINE, "12 10 8:2 / /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/cache/d", view) == NOT_ON_HOST
    reach = reach_of("/x/other/d", view)
    assert reach.host_paths == (HostPath("/data/cache/d"), HostPath("/data/other/d"))


def test_what_is_hidden_in_the_container_does_not_count() -> None:
    """The mount on top serves the path, not the bind of the host's directory below it."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw",
        "13 12 0:52 / /x rw - tmpfs tmpfs rw",
        mounts=["/a:/x"],
        host=HOST,
    )
    assert said("/x/d", view) == NOT_ON_HOST


def test_a_directory_that_was_deleted_on_the_host_leads_nowhere() -> None:
    """A host mount of a deleted directory is no way to one of the same name."""
    host = [HOST_ROOT_LINE, "5 1 8:2 /vol//deleted /data rw - ext4 /dev/sdb1 rw"]
    view = view_of(ROOT_LINE, "12 10 8:2 /vol /x rw - ext4 /dev/sdb1 rw", host=host)
    assert said("/x/d", view) == NOT_ON_HOST


def test_what_the_hosts_own_root_does_not_hold_is_not_seen() -> None:
    """Another subvolume of the host's disk is mounted nowhere on it."""
    host = ["1 0 0:25 /@ / rw - btrfs /dev/sda1 rw,subvolid=256,subvol=/@"]
    view = view_of(
        ROOT_LINE,
        "12 10 0:25 /@other/d /x rw - btrfs /dev/sda1 rw,subvolid=300,subvol=/@other",
        host=host,
    )
    assert said("/x/d", view) == NOT_ON_HOST


# Roots that cannot be compared.


@pytest.mark.parametrize(
    ("own", "host"), [("/../../..", "/"), ("/..", "/"), ("/", "/../.."), ("/a", "/..")]
)
def test_a_root_outside_what_the_reader_sees_is_not_joined(own: str, host: str) -> None:
    """Such a root is told from the reader's cgroup, so the place can be anywhere on the host."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:38 {own} /cg rw - cgroup2 cgroup2 rw",
        host=[HOST_ROOT_LINE, f"5 1 0:38 {host} /sys/fs/cgroup rw - cgroup2 cgroup2 rw"],
    )
    assert said("/cg/x", view) == ("unknown", "undecided", None)
    assert codes_of(reach_of("/cg/x", view)) == [
        "covered",
        "mounts-not-given",
        "outside",
        "undecided",
    ]


def test_a_root_outside_leaves_the_later_rules() -> None:
    """What was declared still counts."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:38 /.. /cg rw - cgroup2 cgroup2 rw",
        mounts=["/sys/fs/cgroup:/cg"],
        host=[HOST_ROOT_LINE],
    )
    assert said("/cg/x", view) == ("declared", "declared", "/sys/fs/cgroup/x")


def test_a_root_outside_elsewhere_does_not_hide_a_proof() -> None:
    """One host mount shows the place; that another one cannot be compared does not matter."""
    host = [
        HOST_ROOT_LINE,
        "5 1 0:38 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "6 1 0:38 / /own rw - cgroup2 cgroup2 rw",
    ]
    view = view_of(ROOT_LINE, "12 10 0:38 / /cg rw - cgroup2 cgroup2 rw", host=host)
    assert said("/cg/x", view) == ("host", "joined", "/own/x")


def test_a_name_that_starts_with_two_dots_is_inside() -> None:
    """/..data is a name, as in the volumes of config maps."""
    view = view_of(ROOT_LINE, "12 10 8:1 /..data /x rw - ext4 /dev/sda1 rw", host=HOST)
    assert said("/x/y", view) == ("host", "joined", "/..data/y")


def test_a_root_outside_is_not_mentioned_without_the_hosts_table() -> None:
    """Nothing was to be joined."""
    view = view_of(ROOT_LINE, "12 10 0:38 /.. /cg rw - cgroup2 cgroup2 rw")
    assert "outside" not in codes_of(reach_of("/cg/x", view))


# Two tables that are not of one moment.


def test_one_device_with_two_types_is_an_error() -> None:
    """A device number stands for one file system; no verdict is drawn from such tables."""
    with pytest.raises(MountTablesDisagreeError, match=r"0:41 is tmpfs in the one and proc"):
        view_of(
            ROOT_LINE,
            "12 10 0:41 / /x rw - tmpfs tmpfs rw",
            host=[HOST_ROOT_LINE, "5 1 0:41 / /proc rw - proc proc rw"],
        )


@pytest.mark.parametrize(
    "other",
    [
        "12 11 8:1 /a /x rw - ext4 /dev/sda1 rw",  # on another parent
        "12 10 8:2 /a /x rw - ext4 /dev/sdb1 rw",  # of another device
        "12 10 8:1 /b /x rw - ext4 /dev/sda1 rw",  # of another directory
        "12 10 8:1 /a//deleted /x rw - ext4 /dev/sda1 rw",
    ],
)
def test_one_mount_id_with_two_contents_is_an_error(other: str) -> None:
    """A mount ID is unique in the kernel while the mount exists."""
    with pytest.raises(MountTablesDisagreeError, match=r"mount 12 .* have the same ID"):
        view_of(ROOT_LINE, "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw", host=[HOST_ROOT_LINE, other])


def test_one_mount_id_with_one_content_is_one_mount_namespace() -> None:
    """A process after chroot(2) shares the host's mounts and sees them at other places."""
    host = [HOST_ROOT_LINE, "5 1 8:2 / /jail rw - ext4 /dev/sdb1 rw"]
    view = view_of("5 1 8:2 / / rw - ext4 /dev/sdb1 rw", host=host, mounts=["/jail:/"])
    assert said("/x", view) == ("host", "joined", "/jail/x")


def test_other_options_of_the_file_system_are_unknown() -> None:
    """The number was used again by another file system of the same type."""
    line = "12 10 0:41 / /x rw - tmpfs tmpfs rw,size=65536k"
    other = "5 1 0:41 / /y rw - tmpfs tmpfs rw,size=64k"
    view = view_of(ROOT_LINE, line, mounts=["/y:/x"], host=[HOST_ROOT_LINE, other])
    assert said("/x/z", view) == ("unknown", "other-options", None)


def test_other_options_do_not_hide_a_proof() -> None:
    """Where another mount of that number agrees, it is the one."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:41 / /x rw - tmpfs tmpfs rw,size=65536k",
        host=[
            HOST_ROOT_LINE,
            "5 1 0:41 / /y rw - tmpfs tmpfs rw,size=64k",
            "6 1 0:41 / /z rw - tmpfs tmpfs size=65536k,rw",
        ],
    )
    assert said("/x/a", view) == ("host", "joined", "/z/a")


def test_the_subvolume_among_the_options_does_not_matter() -> None:
    """A btrfs shows there which subvolume a mount starts in; it differs from mount to mount."""
    folder = RECORDED / "field" / "btrfs-node"
    own = (folder / "container").read_text().splitlines()
    host = (folder / "host").read_text().splitlines()
    place = "/var/lib/kubelet/pods/00000000-0000-0000-0000-000000000001/containers/compute/fa1d5b16"
    view = view_of(*own, host=host)
    assert said("/dev/termination-log", view) == ("host", "joined", place)
    assert said("/dev/termination-log", view_of(*own))[2] is None


def test_the_subvolume_of_the_bind_may_be_another_than_the_hosts() -> None:
    """The container's is inside the host's; the options that name them differ."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:25 /@/srv/sub /x rw - btrfs /dev/sda1 rw,subvolid=301,subvol=/@/srv/sub",
        host=["1 0 0:25 /@ / rw - btrfs /dev/sda1 rw,subvolid=256,subvol=/@"],
    )
    assert said("/x/d", view) == ("host", "joined", "/srv/sub/d")


# What is granted.


def test_nothing_is_joined_unless_the_hosts_table_is_granted() -> None:
    """Without it a bind of the host's directory is as good as its declaration."""
    lines = (ROOT_LINE, "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw")
    assert said("/x/d", view_of(*lines)) == ("unknown", "undecided", None)
    assert said("/x/d", view_of(*lines, mounts=["/a:/x"])) == ("declared", "declared", "/a/d")
    assert said("/x/d", view_of(*lines, host=HOST)) == ("host", "joined", "/a/d")


def test_the_answer_of_the_hosts_table_is_the_same_whatever_was_declared() -> None:
    """A declaration orders the host paths and proves nothing."""
    lines = (ROOT_LINE, DEV_LINE, "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw")
    for mounts in (None, [], ["/a:/x"], ["/wrong:/x"], [":/x"]):
        view = view_of(*lines, mounts=mounts, host=HOST)
        assert said("/x/d", view) == ("host", "joined", "/a/d")
        assert said("/dev/d", view) == NOT_ON_HOST
