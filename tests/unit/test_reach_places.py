"""From a path to the place, its mount and its declared mount; and what blocks a node there."""

from __future__ import annotations

import errno
import re

import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    EvidenceCode,
    HostPath,
    MountInfoError,
    PathKindError,
    Verdict,
    examine,
)
from devroot._reach import examine_place
from devroot.testing import TreeFileSystem
from tests._views import (
    DEV_LINE,
    DEVTMPFS,
    ROOT_LINE,
    codes_of,
    files_with_unlinked,
    mounts_of,
    reach_of,
    said,
    view_of,
)

CAPS_LINE = f"12 10 0:6 /nvidia-caps /host-dev/dev/nvidia-caps rw - {DEVTMPFS}"
CAPS_MOUNT = "/dev/nvidia-caps:/host-dev/dev/nvidia-caps"


# From the path to the place.


def test_a_link_in_the_path_is_followed_first() -> None:
    """The mount at the link's target decides, not the one at the link."""
    view = view_of(
        ROOT_LINE,
        CAPS_LINE,
        mounts=[CAPS_MOUNT],
        files=["link /dev/nvidia-caps /host-dev/dev/nvidia-caps", "dir /host-dev/dev/nvidia-caps"],
    )
    reach = reach_of("/dev/nvidia-caps/x", view)
    assert (reach.verdict, reach.host_path) == (Verdict.HOST, HostPath("/dev/nvidia-caps/x"))
    assert reach.container_path == ContainerPath("/dev/nvidia-caps/x")
    assert str(reach.evidence[0]) == (
        "[covered] mount 12 (devtmpfs 0:6 /nvidia-caps at /host-dev/dev/nvidia-caps)"
        " serves /host-dev/dev/nvidia-caps/x"
    )


def test_a_mount_that_is_where_it_was_asked_for_costs_no_look() -> None:
    """Only where a mount is not found at its path are the links in that path followed."""

    class Looks(TreeFileSystem):
        def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
            looked.append(unsafe_path)
            return super().resolve(root, unsafe_path)

    looked: list[str] = []
    files = Looks(["dir /host-dev/dev/nvidia-caps", "dir /run/cdi", "link /var/run /run"])
    cdi = "13 10 8:1 /cdi /run/cdi rw - ext4 /dev/sda1 rw"
    for at, also in (("/run/cdi", []), ("/var/run/cdi", ["/var/run/cdi"])):
        view = view_of(ROOT_LINE, CAPS_LINE, cdi, mounts=[CAPS_MOUNT, f"/cdi:{at}"], files=files)
        looked.clear()
        reach_of("/host-dev/dev/nvidia-caps", view)
        assert [path for path in looked if not path.startswith("/host-dev")] == also


def test_a_link_that_leads_out_of_the_mount_leads_to_another_verdict() -> None:
    """Below a directory of the host, a link to the container's own files stays in it."""
    view = view_of(
        ROOT_LINE,
        CAPS_LINE,
        mounts=[CAPS_MOUNT],
        files=["link /host-dev/dev/nvidia-caps/here /srv", "dir /srv"],
    )
    assert said("/host-dev/dev/nvidia-caps/here/x", view) == ("private", "own-root", None)


def test_a_link_that_dangles_is_a_free_name_and_no_directory() -> None:
    """A node can take the link's own place; below it nothing can be made."""
    view = view_of(
        ROOT_LINE,
        CAPS_LINE,
        mounts=[CAPS_MOUNT],
        files=["link /host-dev/dev/nvidia-caps/x /nowhere"],
    )
    assert said("/host-dev/dev/nvidia-caps/x/y", view) == ("unknown", "dangling-link", None)
    assert said("/host-dev/dev/nvidia-caps/x", view) == ("host", "devtmpfs", "/dev/nvidia-caps/x")


def test_a_path_below_a_file_lies_on_the_mount_of_the_file() -> None:
    """Nothing can be made there, and the kernel will say so."""
    line = "12 10 8:1 /f /etc/f rw - ext4 /dev/sda1 rw"
    view = view_of(ROOT_LINE, line, mounts=["/f:/etc/f"], files=["file /etc/f"])
    assert said("/etc/f/x", view) == ("declared", "declared", "/f/x")


def test_links_that_loop_are_an_error() -> None:
    """There is no place, and so no verdict; the error is the kernel's."""
    view = view_of(files=["link /a b", "link /b a"])
    with pytest.raises(OSError, match=re.escape("/")) as caught:
        reach_of("/a/x", view)
    assert caught.value.errno == errno.ELOOP


def test_a_directory_that_cannot_be_looked_into_is_an_error() -> None:
    """Whether it holds links is not known, so the place is not known."""
    files = TreeFileSystem(["dir /secret"])
    files.fail("resolve", errno.EACCES, times=9)
    with pytest.raises(PermissionError):
        reach_of("/secret/x", view_of(files=files))


def test_the_status_of_the_place_may_be_out_of_reach() -> None:
    """The error of looking for a deleted directory is not taken for an absent one."""
    files = TreeFileSystem(["dir /secret"])
    files.fail("status", errno.EACCES, times=9)
    with pytest.raises(PermissionError):
        reach_of("/secret/x", view_of(files=files))


def test_where_nothing_exists_nothing_was_deleted() -> None:
    """The tables alone decide, as for a view that was built without files."""
    files = TreeFileSystem()
    files.fail("status", errno.ENOENT, times=9)
    view = view_of(ROOT_LINE, CAPS_LINE, mounts=[CAPS_MOUNT], files=files)
    assert said("/host-dev/dev/nvidia-caps/x", view)[:2] == ("host", "devtmpfs")


def test_a_link_as_the_place_itself_is_not_a_directory() -> None:
    """A node would replace it, so the directory that holds it counts, and not its target."""
    for files in (
        files_with_unlinked("/gone", "dir /gone", "link /here/x /gone"),
        TreeFileSystem(["link /here/x x"]),
    ):
        view = view_of(ROOT_LINE, "12 10 8:1 /a /here rw - ext4 /dev/sda1 rw", files=files)
        place = ContainerPath("/here/x")
        reach = examine_place(view, place, asked=place, declared=None)
        assert codes_of(reach)[-1] == "undecided"


def test_a_new_name_in_a_deleted_directory_is_stale() -> None:
    """The directory that would hold the node has no links left."""
    files = files_with_unlinked("/here")
    view = view_of(ROOT_LINE, "12 10 8:1 /a /here rw - ext4 /dev/sda1 rw", files=files)
    assert said("/here/x", view) == ("stale", "no-links", None)


def test_a_link_that_cannot_be_followed_does_not_hide_a_deleted_directory() -> None:
    """It stands at the name of the node, and the directory around it is gone on the host."""
    files = files_with_unlinked("/here", "dir /here", "link /here/x x")
    view = view_of(ROOT_LINE, "12 10 8:1 /a /here rw - ext4 /dev/sda1 rw", files=files)
    place = ContainerPath("/here/x")
    reach = examine_place(view, place, asked=place, declared=None)
    assert (reach.verdict, codes_of(reach)[-1]) == (Verdict.STALE, "no-links")


def test_what_cannot_be_looked_at_is_an_error() -> None:
    """Whether its directory lives is not known then, at the place or above it."""
    for path in ("/here/x", "/here"):
        files = TreeFileSystem(["dir /here/x"])
        files.fail("status", errno.EACCES, path=path)
        view = view_of(ROOT_LINE, "12 10 8:1 /a /here rw - ext4 /dev/sda1 rw", files=files)
        place = ContainerPath("/here/x" if path == "/here/x" else "/here/y")
        with pytest.raises(PermissionError):
            examine_place(view, place, asked=place, declared=None)


def test_only_a_container_path_can_be_examined() -> None:
    """A host path names a place that is not here, and a text does not say whose it is."""
    for path in (HostPath("/dev"), "/dev"):
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            examine(view_of(), path)  # type: ignore[arg-type] # that is the test


# The mount that serves it.


def test_a_process_whose_root_is_no_mount_point_is_unknown() -> None:
    """After chroot(2) to a plain directory the table lists no mount for most paths."""
    view = view_of("12 10 0:6 / /dev rw - devtmpfs udev rw", mounts=["/dev:/dev"])
    reach = reach_of("/srv/x", view)
    assert (reach.verdict, reach.mount, codes_of(reach)) == (Verdict.UNKNOWN, None, ["no-mount"])
    assert said("/dev/x", view) == ("host", "devtmpfs", "/dev/x")


def test_a_view_without_any_mounts_is_unknown() -> None:
    """Nothing was given, so nothing is known."""
    view = ContainerView(filesystem=TreeFileSystem())
    assert said("/dev", view) == ("unknown", "no-mount", None)


def test_a_table_that_lost_lines_is_an_error() -> None:
    """Which mount is on top cannot be told without the parents."""
    view = view_of(ROOT_LINE, "12 77 0:6 / /dev rw - devtmpfs udev rw")
    with pytest.raises(MountInfoError, match="names the parent 77"):
        reach_of("/dev/x", view)


def test_the_mount_is_part_of_the_answer() -> None:
    """Whoever wants to know more has the line that was used."""
    reach = reach_of("/dev/x", view_of())
    assert reach.mount is not None
    assert reach.mount.mount_id == 11


# The declared mount.


def test_a_declared_container_path_may_be_a_link_in_the_image() -> None:
    """A runtime mounts /var/run/cdi at /run/cdi where /var/run is a link."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /run/cdi /run/cdi rw - ext4 /dev/sda1 rw",
        mounts=["/etc/cdi:/var/run/cdi"],
        files=["link /var/run /run", "dir /run/cdi"],
    )
    for path in ("/var/run/cdi/x.yaml", "/run/cdi/x.yaml"):
        assert said(path, view) == ("declared", "declared", "/etc/cdi/x.yaml")


def test_a_declared_container_path_that_is_a_mount_point_stays() -> None:
    """What was mounted over a link's target is not what was declared at another place."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /a /one rw - ext4 /dev/sda1 rw",
        "13 10 8:1 /b /two rw - ext4 /dev/sda1 rw",
        mounts=["/a:/one", "/b:/link"],
        files=["link /link /two", "dir /one", "dir /two"],
    )
    assert said("/one/x", view) == ("declared", "declared", "/a/x")
    assert said("/two/x", view) == ("declared", "declared", "/b/x")


def test_a_declared_container_path_that_cannot_be_followed_fails_no_other_question() -> None:
    """A loop at one mount's place says nothing of the others."""
    view = view_of(
        ROOT_LINE,
        CAPS_LINE,
        mounts=["/a:/loop/x", CAPS_MOUNT],
        files=["link /loop loop", "dir /host-dev/dev/nvidia-caps"],
    )
    assert said("/host-dev/dev/nvidia-caps", view) == ("host", "devtmpfs", "/dev/nvidia-caps")


def test_the_later_of_two_declared_mounts_counts() -> None:
    """They are applied in their order, as the kernel would."""
    line = "12 10 8:1 /b /x rw - ext4 /dev/sda1 rw"
    view = view_of(ROOT_LINE, line, mounts=["/a:/x", "/b:/x"])
    assert said("/x/y", view) == ("declared", "declared", "/b/y")


def test_a_declared_mount_that_a_deeper_one_covers_gives_no_host_path() -> None:
    """The mount with no host side hides what the outer one would show."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw",
        "13 12 8:1 /e /x/y rw - ext4 /dev/sda1 rw",
        mounts=["/a:/x", ":/x/y"],
    )
    assert said("/x/y/z", view) == ("unknown", "undecided", None)
    assert said("/x/z", view) == ("declared", "declared", "/a/z")


def test_a_declared_mount_below_the_one_that_is_there_is_not_there() -> None:
    """The outer mount serves the path, so what was asked for within it was not made."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 /a /x rw - ext4 /dev/sda1 rw",
        mounts=["/a:/x", "/b:/x/y"],
    )
    assert codes_of(reach_of("/x/y/z", view)) == ["covered", "not-there", "undecided"]


def test_a_mount_that_is_not_there_leaves_the_runtimes_dev() -> None:
    """The private tmpfs serves the path, and nobody asked for it."""
    reach = reach_of("/dev/dri/card0", view_of(mounts=["/dev/dri:/dev/dri"]))
    assert codes_of(reach) == ["covered", "not-there", "runtime-dev"]
    assert reach.verdict is Verdict.PRIVATE


def test_other_declared_mounts_can_be_given_for_one_question() -> None:
    """They stand in for the view's own, which stay as they are."""
    view = view_of(ROOT_LINE, CAPS_LINE, mounts=["/wrong:/host-dev/dev/nvidia-caps"])
    place = ContainerPath("/host-dev/dev/nvidia-caps/x")
    assert examine(view, place).verdict is Verdict.UNKNOWN
    reach = examine(view, place, declared=mounts_of(CAPS_MOUNT))
    assert reach.host_path == HostPath("/dev/nvidia-caps/x")


def test_what_is_claimed_for_one_question_is_not_all_that_is_mounted() -> None:
    """While the view's own mounts are not given, nothing follows from a gap in the claims."""
    claims = mounts_of(CAPS_MOUNT)
    reach = examine(view_of(), ContainerPath("/dev/x"), declared=claims)
    assert codes_of(reach) == ["covered", "mounts-not-given", "tmpfs-at-dev"]
    given = examine(view_of(mounts=[]), ContainerPath("/dev/x"), declared=claims)
    assert codes_of(given) == ["covered", "not-declared", "runtime-dev"]


def test_the_evidence_names_the_mounts_and_paths() -> None:
    """A person can read why, in the order in which it was weighed."""
    reach = reach_of(
        "/host-dev/dev/nvidia-caps/x", view_of(ROOT_LINE, CAPS_LINE, mounts=[CAPS_MOUNT])
    )
    covered, declared, decided = (evidence.text for evidence in reach.evidence)
    mount = "mount 12 (devtmpfs 0:6 /nvidia-caps at /host-dev/dev/nvidia-caps)"
    assert covered == f"{mount} serves /host-dev/dev/nvidia-caps/x"
    assert declared == f"{CAPS_MOUNT} was asked for, which makes it host path /dev/nvidia-caps/x"
    assert "/dev/nvidia-caps/x was asked for: it is the host's /dev" in decided


# What stands in the way of a node.


def test_a_read_only_mount_is_a_blocker() -> None:
    """Of this mount alone: what is mounted below it keeps its own setting."""
    view = view_of(
        ROOT_LINE,
        "12 10 8:1 / /driver-root ro - ext4 /dev/sda1 rw",
        f"13 12 0:6 / /driver-root/dev rw - {DEVTMPFS}",
        mounts=["/:/driver-root"],
    )
    (blocker,) = reach_of("/driver-root/usr", view).blockers
    assert blocker.code is EvidenceCode.READ_ONLY
    assert "mount 12" in blocker.text
    assert reach_of("/driver-root/dev/nvidia0", view).blockers == ()


def test_a_read_only_file_system_is_a_blocker() -> None:
    """The mount can say rw where its file system does not."""
    view = view_of(ROOT_LINE, "12 10 8:1 / /x rw - ext4 /dev/sda1 ro,errors=continue")
    assert [blocker.code.value for blocker in reach_of("/x", view).blockers] == ["ro"]


def test_nodev_is_a_blocker_and_not_a_verdict() -> None:
    """The same devtmpfs is usable at one mount and not at another; it reaches the host at both."""
    for options, expected in (("rw,nosuid,nodev", ["nodev"]), ("rw,nosuid", [])):
        view = view_of(
            ROOT_LINE,
            f"12 10 0:6 /infiniband /dev/infiniband {options} - {DEVTMPFS}",
            mounts=["/dev/infiniband:/dev/infiniband"],
        )
        reach = reach_of("/dev/infiniband/uverbs0", view)
        assert reach.verdict is Verdict.HOST
        assert [blocker.code.value for blocker in reach.blockers] == expected


@pytest.mark.parametrize(
    ("initial", "capabilities", "expected"),
    [
        (None, None, []),
        (True, 1 << 27, []),
        (True, (1 << 41) - 1, []),
        (False, (1 << 41) - 1, ["user-namespace"]),
        (True, 0, ["no-cap-mknod"]),
        (True, (1 << 41) - 1 - (1 << 27), ["no-cap-mknod"]),
        (True, 1 << 26 | 1 << 28, ["no-cap-mknod"]),
        (False, 0, ["user-namespace", "no-cap-mknod"]),
    ],
)
def test_what_the_process_may_not_do_is_a_blocker(
    initial: bool | None,  # noqa: FBT001 - a row of the table
    capabilities: int | None,
    expected: list[str],
) -> None:
    """Of the capabilities only CAP_MKNOD, bit 27, counts; what is not known blocks nothing."""
    for lines in ((ROOT_LINE, DEV_LINE), ("12 10 8:1 / /srv rw - ext4 /dev/sda1 rw",)):
        table = view_of(*lines).mountinfo
        view = ContainerView(
            mountinfo=table,
            filesystem=TreeFileSystem(),
            initial_user_namespace=initial,
            effective_capabilities=capabilities,
        )
        reach = reach_of("/dev/x", view)
        assert [blocker.code.value for blocker in reach.blockers] == expected
