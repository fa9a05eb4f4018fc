"""The rules of the verdict: each decides in its turn, and not where one before it holds."""

from __future__ import annotations

from tests._views import (
    DEV_LINE,
    DEVTMPFS,
    HOST_DEV_LINE,
    HOST_ROOT_LINE,
    ROOT_LINE,
    codes_of,
    files_with_unlinked,
    reach_of,
    said,
    view_of,
)

HOST = (HOST_ROOT_LINE, HOST_DEV_LINE)
VIRTIOFS_ROOT = "10 9 0:50 / / rw - virtiofs kataShared rw"
WHOLE_ROOT = "12 10 8:1 / /driver-root rw - ext4 /dev/sda1 rw"


# 1. Stale.


def test_a_deleted_root_is_stale() -> None:
    """The kernel's own mark decides, though the mount was declared and is there."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 /nvidia-caps//deleted /host-dev/dev/nvidia-caps rw - {DEVTMPFS}",
        mounts=["/dev/nvidia-caps:/host-dev/dev/nvidia-caps"],
    )
    assert said("/host-dev/dev/nvidia-caps/x", view) == ("stale", "deleted-root", None)


def test_a_deleted_directory_is_stale_although_the_old_table_says_nothing() -> None:
    """The link count is looked at anew; a view is a snapshot, and its table may be old."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 /nvidia-caps /host-dev/dev/nvidia-caps rw - {DEVTMPFS}",
        mounts=["/dev/nvidia-caps:/host-dev/dev/nvidia-caps"],
        files=files_with_unlinked("/host-dev/dev/nvidia-caps"),
    )
    expected = ("stale", "no-links", None)
    assert said("/host-dev/dev/nvidia-caps", view) == expected
    assert said("/host-dev/dev/nvidia-caps/sub/x", view) == expected


def test_a_link_count_of_one_is_not_stale() -> None:
    """Some file systems, such as btrfs, do not count the links of directories."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:25 /@/a /x rw - btrfs /dev/sda1 rw",
        mounts=["/a:/x"],
        files=files_with_unlinked("/x", links=1),
    )
    assert said("/x/y", view) == ("declared", "declared", "/a/y")


def test_the_link_count_of_a_file_says_nothing() -> None:
    """What is in question is the directory that holds the file."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 /nvidia-caps /dev/nvidia-caps rw - {DEVTMPFS}",
        mounts=["/dev/nvidia-caps:/dev/nvidia-caps"],
        files=files_with_unlinked("/dev/nvidia-caps/x", "char /dev/nvidia-caps/x 234:1"),
    )
    assert said("/dev/nvidia-caps/x", view)[0] == "host"


def test_stale_comes_before_everything() -> None:
    """A deleted root decides even where it is the container's own root, on a kernel of its own."""
    view = view_of("10 9 0:50 /r//deleted / rw - virtiofs kataShared rw", host=HOST)
    assert said("/dev/x", view) == ("stale", "deleted-root", None)


# 2. The container's own root.


def test_the_own_root_is_private() -> None:
    """What no mount covers stays in the container."""
    assert said("/srv/x", view_of()) == ("private", "own-root", None)
    assert said("/", view_of()) == ("private", "own-root", None)


def test_the_own_root_is_private_whether_or_not_mounts_are_given() -> None:
    """The rule does not need to know what was asked for."""
    assert codes_of(reach_of("/srv/x", view_of())) == ["covered", "mounts-not-given", "own-root"]
    given = view_of(mounts=["/a:/b"])
    assert codes_of(reach_of("/srv/x", given)) == ["covered", "not-declared", "own-root"]


def test_a_declared_mount_that_is_not_there_leaves_the_own_root() -> None:
    """A mount that was asked for and never made does not make the directory the host's."""
    reach = reach_of("/host-dev/dev/nvidia-caps", view_of(mounts=["/dev:/host-dev/dev"]))
    assert codes_of(reach) == ["covered", "not-there", "own-root"]
    assert reach.host_path is None


def test_the_own_root_comes_before_the_join() -> None:
    """The host sees a container's overlay below its storage, and it is still the container's."""
    merged = "20 1 0:50 / /var/lib/c/merged rw - overlay overlay rw,lowerdir=/l,upperdir=/u"
    view = view_of(host=[*HOST, merged])
    assert said("/srv/x", view) == ("private", "own-root", None)


def test_a_declared_root_passes_the_own_root_by() -> None:
    """A container whose root is a bind of a host directory can say so."""
    view = view_of("10 9 8:1 /srv/root / rw - ext4 /dev/sda1 rw", mounts=["/srv/root:/"], host=HOST)
    assert said("/etc/x", view) == ("host", "joined", "/srv/root/etc/x")


# 3. A link that leads nowhere.


def test_below_a_link_that_leads_nowhere_nothing_is_known() -> None:
    """It comes before the join and devtmpfs, which would take the link for a free name."""
    files = ["link /dev/sub /run/x"]
    for host in (None, [HOST_ROOT_LINE, HOST_DEV_LINE]):
        view = view_of(
            ROOT_LINE,
            f"12 10 0:6 / /dev rw - {DEVTMPFS}",
            mounts=["/dev:/dev"],
            host=host,
            files=files,
        )
        assert said("/dev/sub/x", view) == ("unknown", "dangling-link", None)
        assert said("/dev/sub", view)[::2] == ("host", "/dev/sub")
        assert said("/dev/other/x", view)[::2] == ("host", "/dev/other/x")


def test_the_own_root_comes_before_a_link_that_leads_nowhere() -> None:
    """Whatever the link leads to, this place is the container's own."""
    view = view_of(ROOT_LINE, mounts=[], files=["link /srv /nowhere"])
    assert said("/srv/x", view) == ("private", "own-root", None)


# 4. A kernel of its own.


def test_a_kernel_of_its_own_is_unknown() -> None:
    """In a virtual machine a devtmpfs is the guest's, though it was declared."""
    for root in (
        VIRTIOFS_ROOT,
        "10 9 0:50 / / rw - 9p none rw,trans=fd",
        "10 9 0:50 / / rw - virtiofs myfs rw",
    ):
        view = view_of(root, f"12 10 0:6 / /dev rw - {DEVTMPFS}", mounts=["/dev:/dev"])
        assert said("/dev/x", view) == ("unknown", "own-kernel", "/dev/x")


def test_a_share_of_kata_tells_of_a_kernel_of_its_own() -> None:
    """The root can be a block device or an overlay there, and the volumes still are shared."""
    view = view_of(
        ROOT_LINE,
        "11 10 0:40 /v /srv rw - virtiofs kataShared rw",
        f"12 10 0:6 / /dev rw - {DEVTMPFS}",
        mounts=["/dev:/dev"],
    )
    assert said("/dev/x", view) == ("unknown", "own-kernel", "/dev/x")


def test_another_share_tells_nothing() -> None:
    """A volume on virtiofs or 9p is no sign by itself, nor is a name that merely contains it."""
    view = view_of(
        ROOT_LINE,
        "11 10 0:40 / /srv/kataShared rw - 9p my-kataShared rw",
        f"12 10 0:6 / /dev rw - {DEVTMPFS}",
        mounts=["/dev:/dev"],
    )
    assert said("/dev/x", view) == ("host", "devtmpfs", "/dev/x")


def test_a_kernel_of_its_own_comes_before_what_the_host_hides() -> None:
    """Nothing is known of the host there, not even that its /dev is a mount of its own."""
    view = view_of(VIRTIOFS_ROOT, WHOLE_ROOT, mounts=["/:/driver-root"])
    assert said("/driver-root/dev/x", view) == ("unknown", "own-kernel", "/dev/x")


def test_a_kernel_of_its_own_comes_before_the_join() -> None:
    """With hostPID, process 1 there is the guest's: its table proves nothing of the host."""
    view = view_of(
        VIRTIOFS_ROOT, f"12 10 0:6 / /dev rw - {DEVTMPFS}", mounts=["/dev:/dev"], host=HOST
    )
    assert said("/dev/x", view) == ("unknown", "own-kernel", "/dev/x")


# 5. The host's table.


def test_the_hosts_table_proves() -> None:
    """The host sees the same device at a place of its own: it is proved without any claim."""
    view = view_of(ROOT_LINE, f"12 10 0:6 / /x rw - {DEVTMPFS}", host=HOST)
    assert said("/x/nvidia0", view) == ("host", "joined", "/dev/nvidia0")


def test_the_hosts_table_disproves() -> None:
    """The host sees that device nowhere, whatever was declared."""
    view = view_of(ROOT_LINE, DEV_LINE, mounts=["/dev:/dev"], host=HOST)
    assert said("/dev/nvidia0", view) == ("private", "not-on-host", None)


# 6. What the host hides below its /dev.


def test_a_bind_of_the_root_alone_shows_what_the_host_hides() -> None:
    """Without its submounts, /dev in a bind of / is a directory that the host does not see."""
    view = view_of(ROOT_LINE, DEV_LINE, WHOLE_ROOT, mounts=["/:/driver-root"])
    assert said("/driver-root/dev", view) == ("private", "below-host-dev", None)
    assert said("/driver-root/dev/nvidia-caps/x", view) == ("private", "below-host-dev", None)


def test_the_rest_of_a_bind_of_the_root_is_not_hidden() -> None:
    """The rule is for /dev by whole components, not for names that start alike."""
    view = view_of(ROOT_LINE, WHOLE_ROOT, mounts=["/:/driver-root"])
    assert said("/driver-root/devices/x", view) == ("declared", "declared", "/devices/x")
    assert said("/driver-root", view) == ("declared", "declared", "/")


def test_a_bind_of_a_directory_on_the_host_is_not_hidden() -> None:
    """The bind of /dev itself shows what the host has mounted there."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /dev /host-dev/dev rw - ext4 /dev/sda1 rw",
        mounts=["/dev:/host-dev/dev"],
    )
    assert said("/host-dev/dev/x", view) == ("declared", "declared", "/dev/x")


def test_what_the_host_hides_comes_before_its_mounts_in_dev() -> None:
    """It is certain, whatever the host has at /dev/shm."""
    view = view_of(ROOT_LINE, WHOLE_ROOT, mounts=["/:/driver-root"])
    assert said("/driver-root/dev/shm/x", view) == ("private", "below-host-dev", None)


# 7. Mounts of the host below its /dev.


def test_a_mount_of_the_host_that_did_not_come_along_is_unknown() -> None:
    """A bind of /dev alone shows the directories below /dev/shm and the like, not the mounts."""
    for fstype in (DEVTMPFS, "tmpfs tmpfs rw"):
        view = view_of(
            ROOT_LINE, f"12 10 0:6 / /host-dev/dev rw - {fstype}", mounts=["/dev:/host-dev/dev"]
        )
        for name in ("pts", "shm", "mqueue", "hugepages"):
            expected = ("unknown", "host-mount", f"/dev/{name}/x")
            assert said(f"/host-dev/dev/{name}/x", view) == expected
        assert said("/host-dev/dev/shm", view) == ("unknown", "host-mount", "/dev/shm")
        assert said("/host-dev/dev/shmem", view)[0] != "unknown"


def test_a_mount_of_the_host_that_came_along_is_declared() -> None:
    """In a recursive bind the host's own /dev/shm lies over it."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 / /host/dev rw - {DEVTMPFS}",
        "13 12 0:30 / /host/dev/shm rw - tmpfs tmpfs rw",
        mounts=["/dev:/host/dev"],
    )
    assert said("/host/dev/shm/x", view) == ("declared", "submount", "/dev/shm/x")


def test_a_bind_of_what_devtmpfs_hides_is_not_proved() -> None:
    """A host that mounted /dev/shm after this container started hides what was bound."""
    view = view_of(ROOT_LINE, f"12 10 0:6 /shm /x rw - {DEVTMPFS}", mounts=["/dev/shm:/x"])
    assert said("/x/y", view) == ("unknown", "host-mount", "/dev/shm/y")


# 8. devtmpfs.


def test_devtmpfs_declared_at_its_place_is_proved() -> None:
    """A kernel has one devtmpfs, and a bind of /dev shows it only where the host sees it."""
    view = view_of(
        ROOT_LINE,
        f"12 10 0:6 /nvidia-caps /host-dev/dev/nvidia-caps rw - {DEVTMPFS}",
        mounts=["/dev/nvidia-caps:/host-dev/dev/nvidia-caps"],
    )
    expected = ("host", "devtmpfs", "/dev/nvidia-caps/nvidia-cap1")
    assert said("/host-dev/dev/nvidia-caps/nvidia-cap1", view) == expected


def test_a_name_in_devtmpfs_is_compared_as_a_whole() -> None:
    """Only the slash is taken off before it."""
    view = view_of(ROOT_LINE, f"12 10 0:6 / /x rw - {DEVTMPFS}", mounts=["/dev:/x"])
    assert said("/x/X0", view) == ("host", "devtmpfs", "/dev/X0")


def test_devtmpfs_below_a_declared_root_is_proved() -> None:
    """It came along with the recursive bind of /."""
    view = view_of(
        ROOT_LINE,
        WHOLE_ROOT,
        f"13 12 0:6 / /driver-root/dev rw - {DEVTMPFS}",
        mounts=["/:/driver-root"],
    )
    assert said("/driver-root/dev/nvidia0", view) == ("host", "devtmpfs", "/dev/nvidia0")


def test_devtmpfs_declared_elsewhere_is_unknown() -> None:
    """That the host shows it at the declared place does not follow."""
    view = view_of(ROOT_LINE, f"12 10 0:6 / /x rw - {DEVTMPFS}", mounts=["/srv/dev:/x"])
    assert said("/x/nvidia0", view) == ("unknown", "devtmpfs-elsewhere", "/srv/dev/nvidia0")


def test_devtmpfs_that_nobody_declared_is_unknown() -> None:
    """The host's /dev may be something else, with nothing of devtmpfs to be seen in it."""
    lines = (ROOT_LINE, f"12 10 0:6 / /dev rw - {DEVTMPFS}")
    for mounts in (None, [], [":/dev"]):
        view = view_of(*lines, mounts=mounts)
        assert said("/dev/nvidia0", view) == ("unknown", "devtmpfs-elsewhere", None)


def test_devtmpfs_at_dev_is_not_taken_for_a_runtimes_tmpfs() -> None:
    """The same lines but for the type: proved with devtmpfs, ambiguous with tmpfs."""
    kinds = {DEVTMPFS: ("host", "devtmpfs"), "tmpfs tmpfs rw": ("unknown", "tmpfs-at-dev")}
    for kind, expected in kinds.items():
        view = view_of(ROOT_LINE, f"12 10 0:6 / /dev rw - {kind}", mounts=["/dev:/dev"])
        assert said("/dev/x", view)[:2] == expected


# 9. A tmpfs at /dev.


def test_a_tmpfs_at_dev_that_nobody_asked_for_is_the_runtimes() -> None:
    """The mounts were given, all of them, and do not list it."""
    expected = ("private", "runtime-dev", None)
    assert said("/dev/nvidia-caps/x", view_of(mounts=[])) == expected
    assert said("/dev", view_of(mounts=["/a:/b"])) == expected


def test_a_tmpfs_at_dev_may_be_the_hosts_if_nobody_says_what_was_asked_for() -> None:
    """Without the mounts nothing tells it from a bind of a node's own tmpfs."""
    assert said("/dev/x", view_of()) == ("unknown", "tmpfs-at-dev", None)


def test_a_tmpfs_at_dev_that_was_asked_for_may_still_be_the_runtimes() -> None:
    """A bind of a node's tmpfs and the runtime's own have the same line."""
    view = view_of(mounts=["/dev:/dev"])
    assert said("/dev/x", view) == ("unknown", "tmpfs-at-dev", "/dev/x")


def test_a_second_mount_of_the_same_corroborates() -> None:
    """A runtime makes its own tmpfs once, so one that is mounted twice is the host's."""
    view = view_of(
        ROOT_LINE,
        DEV_LINE,
        "12 10 0:51 / /host-dev/dev rw - tmpfs tmpfs rw",
        mounts=["/dev:/dev", "/dev:/host-dev/dev"],
    )
    assert said("/dev/x", view) == ("declared", "corroborated", "/dev/x")


def test_a_second_mount_of_something_else_does_not_corroborate() -> None:
    """It must be declared from the same host path, be there, and show the same directory."""
    twice = ["/dev:/dev", "/dev:/host-dev/dev"]
    other_path = ["/dev:/dev", "/run/dev:/host-dev/dev"]
    for line, mounts in (
        ("12 10 0:52 / /host-dev/dev rw - tmpfs tmpfs rw", twice),  # another device
        ("12 10 0:51 /sub /host-dev/dev rw - tmpfs tmpfs rw", twice),  # another directory
        ("12 10 0:51 / /host-dev rw - tmpfs tmpfs rw", twice),  # at another place
        ("12 10 0:51 / /host-dev/dev rw - tmpfs tmpfs rw", other_path),
        ("12 10 0:51 / /host-dev/dev rw - tmpfs tmpfs rw", ["/dev:/dev", ":/host-dev/dev"]),
    ):
        view = view_of(ROOT_LINE, DEV_LINE, line, mounts=mounts)
        assert said("/dev/x", view) == ("unknown", "tmpfs-at-dev", "/dev/x")


def test_a_mount_with_no_host_side_at_dev_is_not_corroborated() -> None:
    """An emptyDir at /dev comes from no host path, so another one says nothing about it."""
    view = view_of(
        ROOT_LINE,
        DEV_LINE,
        "12 10 0:51 / /x rw - tmpfs tmpfs rw",
        mounts=[":/dev", ":/x"],
    )
    assert said("/dev/x", view) == ("unknown", "tmpfs-at-dev", None)


def test_only_the_whole_tmpfs_exactly_at_dev_is_taken_for_a_runtimes() -> None:
    """A directory of a tmpfs, or a tmpfs elsewhere, is not what runtimes make."""
    cases = {
        "12 10 0:51 /sub /dev rw - tmpfs tmpfs rw": "/dev",
        "12 10 0:51 / /host-dev/dev rw - tmpfs tmpfs rw": "/host-dev/dev",
        "12 10 8:1 / /dev rw - ext4 /dev/sda1 rw": "/dev",
    }
    for line, place in cases.items():
        view = view_of(ROOT_LINE, line, mounts=[f"/dev:{place}"])
        assert said(f"{place}/x", view) == ("declared", "declared", "/dev/x")
        assert said(f"{place}/x", view_of(ROOT_LINE, line, mounts=[])) == (
            "unknown",
            "undecided",
            None,
        )


# 10. What runtimes mount over a declared mount.


def test_a_mount_of_the_runtimes_over_a_declared_one_is_unknown() -> None:
    """With the host's /dev at /dev a container still gets a /dev/shm of its own."""
    for place in ("/dev/shm", "/dev/pts", "/dev/mqueue", "/dev/termination-log", "/dev/console"):
        view = view_of(
            ROOT_LINE,
            f"12 10 0:6 / /dev rw - {DEVTMPFS}",
            f"13 12 0:60 / {place} rw - tmpfs shm rw",
            mounts=["/dev:/dev"],
        )
        assert said(place, view) == ("unknown", "runtime-mount", place)


def test_what_lies_below_a_mount_of_the_runtimes_is_unknown() -> None:
    """They mount below /proc, /sys and /run/secrets, too."""
    for place in ("/proc/acpi", "/sys/fs/cgroup", "/run/secrets/kubernetes.io/serviceaccount"):
        top = "/" + place.split("/")[1]
        view = view_of(
            ROOT_LINE,
            f"12 10 0:61 / {top} rw - tmpfs tmpfs rw",
            f"13 12 0:60 / {place} rw - tmpfs tmpfs rw",
            mounts=[f"{top}:{top}"],
        )
        assert said(f"{place}/x", view) == ("unknown", "runtime-mount", f"{place}/x")
        assert said(f"{top}/x", view) == ("declared", "declared", f"{top}/x")


def test_a_mount_of_the_runtimes_that_was_declared_itself_is_declared() -> None:
    """Whoever asked for the host's /dev/shm got it."""
    view = view_of(
        ROOT_LINE,
        DEV_LINE,
        "13 11 0:30 / /dev/shm rw - tmpfs tmpfs rw",
        mounts=["/dev/shm:/dev/shm"],
    )
    assert said("/dev/shm/x", view) == ("declared", "declared", "/dev/shm/x")


# 11. Declared, or nothing decides.


def test_a_declared_mount_that_is_there_is_declared() -> None:
    """Nothing speaks against it, and nothing proves it."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /drv /driver-root ro - ext4 /dev/sda1 rw",
        mounts=["/drv:/driver-root"],
    )
    assert said("/driver-root/dev/x", view) == ("declared", "declared", "/drv/dev/x")


def test_a_mount_that_came_along_is_declared() -> None:
    """A driver container's dev is a tmpfs, propagated below its root."""
    view = view_of(
        ROOT_LINE,
        "12 10 0:70 / /driver-root rw - overlay overlay rw",
        "13 12 0:71 / /driver-root/dev rw - tmpfs tmpfs rw,size=65536k",
        mounts=["/run/nvidia/driver:/driver-root"],
    )
    expected = ("declared", "submount", "/run/nvidia/driver/dev/nvidiactl")
    assert said("/driver-root/dev/nvidiactl", view) == expected


def test_a_mount_that_nobody_declared_is_undecided() -> None:
    """With or without a list of mounts, nothing tells where it comes from."""
    line = "12 10 8:1 /drv /driver-root ro - ext4 /dev/sda1 rw"
    for mounts in (None, [], ["/a:/b"]):
        view = view_of(ROOT_LINE, line, mounts=mounts)
        assert said("/driver-root/x", view) == ("unknown", "undecided", None)


def test_a_declared_mount_with_no_host_side_is_undecided() -> None:
    """An emptyDir lies somewhere on the host, but nobody here knows where."""
    view = view_of(ROOT_LINE, "12 10 8:1 /e /volume rw - ext4 /dev/sda1 rw", mounts=[":/volume"])
    assert said("/volume/x", view) == ("unknown", "undecided", None)
    assert "no-host-side" in codes_of(reach_of("/volume/x", view))
