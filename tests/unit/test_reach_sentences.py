"""What a person reads of a verdict: for each reason the whole sentence, with what it names."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from devroot import ContainerPath, EvidenceCode
from tests._views import (
    DEV_LINE,
    DEVTMPFS,
    HOST_DEV_LINE,
    HOST_ROOT_LINE,
    ROOT_LINE,
    files_with_unlinked,
    reach_of,
    view_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot import ContainerView

EXT4: Final = "ext4 /dev/sdb1 rw"
DEVTMPFS_AT_DEV: Final = f"12 10 0:6 / /dev rw - {DEVTMPFS}"
DISK_AT_X: Final = f"12 10 8:2 / /x rw - {EXT4}"
DISK_ON_HOST: Final = (HOST_ROOT_LINE, f"5 1 8:2 / /data rw - {EXT4}")
AGAIN: Final = "mount it anew, for instance by restarting the pod, or mount its parent directory"

CASES: Final = [
    (
        view_of(ROOT_LINE, f"12 10 0:6 /a//deleted /x rw - {DEVTMPFS}", mounts=["/dev/a:/x"]),
        "/x/y",
        [
            "[covered] mount 12 (devtmpfs 0:6 /a//deleted at /x) serves /x/y",
            "[declared-as] /dev/a:/x was asked for, which makes it host path /dev/a/y",
            f"[deleted-root] /a was deleted after it was mounted; {AGAIN}",
        ],
    ),
    (
        view_of(
            ROOT_LINE,
            f"12 10 0:6 /a /x rw - {DEVTMPFS}",
            mounts=["/dev/a:/x"],
            files=files_with_unlinked("/x"),
        ),
        "/x/y",
        [
            "[covered] mount 12 (devtmpfs 0:6 /a at /x) serves /x/y",
            "[declared-as] /dev/a:/x was asked for, which makes it host path /dev/a/y",
            f"[no-links] /x has no links left: it was deleted while it was mounted; {AGAIN}",
        ],
    ),
    (
        view_of(mounts=["/a:/b"]),
        "/srv/x",
        [
            "[covered] mount 10 (overlay 0:50 / at /) serves /srv/x",
            "[not-declared] the mounts that were asked for do not cover /srv/x",
            "[own-root] it is the root of this container, where no mount from the host covers it",
        ],
    ),
    (
        view_of(mounts=["/dev:/x"]),
        "/x/y",
        [
            "[covered] mount 10 (overlay 0:50 / at /) serves /x/y",
            "[not-there] /dev:/x was asked for, but nothing is mounted at /x",
            "[own-root] it is the root of this container, where no mount from the host covers it",
        ],
    ),
    (
        view_of(ROOT_LINE, DEVTMPFS_AT_DEV, mounts=["/dev:/dev"], files=["link /dev/a /run/x"]),
        "/dev/a/b",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /dev) serves /dev/a/b",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/a/b",
            (
                "[dangling-link] /dev/a is a link that leads nowhere here, so nothing can be made"
                " below it, and the host may follow it to another place; mount what it leads to,"
                " or name that place"
            ),
        ],
    ),
    (
        view_of("10 9 0:50 / / rw - 9p none rw", DEVTMPFS_AT_DEV, mounts=["/dev:/dev"]),
        "/dev/x",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /dev) serves /dev/x",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/x",
            "[own-kernel] the root is 9p, so the container may have a kernel of its own",
        ],
    ),
    (
        view_of(ROOT_LINE, "11 10 0:40 /v /srv rw - virtiofs kataShared rw", DEVTMPFS_AT_DEV),
        "/dev/x",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /dev) serves /dev/x",
            "[mounts-not-given] nobody said which mounts were asked for",
            (
                "[own-kernel] a mount has the source kataShared, so the container has a kernel of"
                " its own"
            ),
        ],
    ),
    (
        view_of(ROOT_LINE, DISK_AT_X, host=DISK_ON_HOST),
        "/x/y",
        [
            "[covered] mount 12 (ext4 8:2 / at /x) serves /x/y",
            "[mounts-not-given] nobody said which mounts were asked for",
            "[joined] the host's mount table shows this place at /data/y",
        ],
    ),
    (
        view_of(ROOT_LINE, DISK_AT_X, mounts=["/link:/x"], host=DISK_ON_HOST),
        "/x/y",
        [
            "[covered] mount 12 (ext4 8:2 / at /x) serves /x/y",
            "[declared-as] /link:/x was asked for, which makes it host path /link/y",
            "[alias] the host's table knows it by another name than /link/y, which may hold a link",
            "[joined] the host's mount table shows this place at /data/y",
        ],
    ),
    (
        view_of(ROOT_LINE, DEV_LINE, mounts=["/dev:/dev"], host=[HOST_ROOT_LINE, HOST_DEV_LINE]),
        "/dev/x",
        [
            "[covered] mount 11 (tmpfs 0:51 / at /dev) serves /dev/x",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/x",
            "[not-on-host] the host's mount table shows this place at no host path",
        ],
    ),
    (
        view_of(
            ROOT_LINE,
            "12 10 0:41 / /x rw - tmpfs tmpfs rw,size=65536k",
            mounts=["/y:/x"],
            host=[HOST_ROOT_LINE, "5 1 0:41 / /y rw - tmpfs tmpfs rw,size=64k"],
        ),
        "/x/z",
        [
            "[covered] mount 12 (tmpfs 0:41 / at /x) serves /x/z",
            "[declared-as] /y:/x was asked for, which makes it host path /y/z",
            (
                "[other-options] the host has a file system of the same number at /y/z, but with"
                " other options, so the two tables may be of different moments"
            ),
        ],
    ),
    (
        view_of(
            ROOT_LINE,
            "12 10 0:38 /.. /cg rw - cgroup2 cgroup2 rw",
            mounts=[":/cg"],
            host=[HOST_ROOT_LINE],
        ),
        "/cg/x",
        [
            "[covered] mount 12 (cgroup2 0:38 /.. at /cg) serves /cg/x",
            "[no-host-side] what is mounted at /cg is not from a known host path",
            (
                "[outside] a root of this file system lies outside what this process may see,"
                " here or there"
            ),
            "[undecided] nothing tells whether the host sees it",
        ],
    ),
    (
        view_of(ROOT_LINE, "12 10 8:1 / /r rw - ext4 /dev/sda1 rw", mounts=["/:/r"]),
        "/r/dev/x",
        [
            "[covered] mount 12 (ext4 8:1 / at /r) serves /r/dev/x",
            "[declared-as] /:/r was asked for, which makes it host path /dev/x",
            (
                "[below-host-dev] the bind of / at /r shows the directory that the host hides"
                " below its /dev; bind / recursively (rbind), or /dev as well"
            ),
        ],
    ),
    (
        view_of(ROOT_LINE, f"12 10 0:6 / /x rw - {DEVTMPFS}", mounts=["/dev:/x"]),
        "/x/shm/y",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /x) serves /x/shm/y",
            "[declared-as] /dev:/x was asked for, which makes it host path /dev/shm/y",
            (
                "[host-mount] hosts have a mount of their own at /dev/shm, and this can be what"
                " it hides"
            ),
        ],
    ),
    (
        view_of(ROOT_LINE, DEVTMPFS_AT_DEV, mounts=["/dev:/dev"]),
        "/dev/x",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /dev) serves /dev/x",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/x",
            "[devtmpfs] devtmpfs has one instance, and /dev/x was asked for: it is the host's /dev",
        ],
    ),
    (
        view_of(ROOT_LINE, DEVTMPFS_AT_DEV),
        "/dev/x",
        [
            "[covered] mount 12 (devtmpfs 0:6 / at /dev) serves /dev/x",
            "[mounts-not-given] nobody said which mounts were asked for",
            "[devtmpfs-elsewhere] it is devtmpfs, but nothing tells where the host shows it",
        ],
    ),
    (
        view_of(mounts=[]),
        "/dev/x",
        [
            "[covered] mount 11 (tmpfs 0:51 / at /dev) serves /dev/x",
            "[not-declared] the mounts that were asked for do not cover /dev/x",
            "[runtime-dev] it is a tmpfs at /dev that nobody asked for: the runtime's own",
        ],
    ),
    (
        view_of(),
        "/dev/x",
        [
            "[covered] mount 11 (tmpfs 0:51 / at /dev) serves /dev/x",
            "[mounts-not-given] nobody said which mounts were asked for",
            "[tmpfs-at-dev] a tmpfs at /dev can be the runtime's own as well as the host's",
        ],
    ),
    (
        view_of(
            ROOT_LINE,
            DEV_LINE,
            "12 10 0:51 / /x rw - tmpfs tmpfs rw",
            mounts=["/dev:/dev", "/dev:/x"],
        ),
        "/dev/x",
        [
            "[covered] mount 11 (tmpfs 0:51 / at /dev) serves /dev/x",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/x",
            "[corroborated] /dev:/x shows the same file system, so the one at /dev is the host's",
        ],
    ),
    (
        view_of(
            ROOT_LINE,
            DEVTMPFS_AT_DEV,
            "13 12 0:60 / /dev/shm rw - tmpfs shm rw",
            mounts=["/dev:/dev"],
        ),
        "/dev/shm/x",
        [
            "[covered] mount 13 (tmpfs 0:60 / at /dev/shm) serves /dev/shm/x",
            "[declared-as] /dev:/dev was asked for, which makes it host path /dev/shm/x",
            "[runtime-mount] runtimes mount their own at /dev/shm, so it may not be /dev/shm/x",
        ],
    ),
    (
        view_of(ROOT_LINE, DISK_AT_X, mounts=["/a:/x"]),
        "/x/y",
        [
            "[covered] mount 12 (ext4 8:2 / at /x) serves /x/y",
            "[declared-as] /a:/x was asked for, which makes it host path /a/y",
            "[declared] a mount is there as asked for; /a/y is not proved",
        ],
    ),
    (
        view_of(ROOT_LINE, DISK_AT_X, f"13 12 8:3 / /x/y rw - {EXT4}", mounts=["/a:/x"]),
        "/x/y/z",
        [
            "[covered] mount 13 (ext4 8:3 / at /x/y) serves /x/y/z",
            "[declared-as] /a:/x was asked for, which makes it host path /a/y/z",
            "[submount] a mount that came along below /x; /a/y/z is not proved",
        ],
    ),
    (
        view_of(f"12 10 8:2 / /y rw - {EXT4}"),
        "/x",
        [
            (
                "[no-mount] the mount table lists no mount that serves /x; the root may be no"
                " mount point"
            ),
        ],
    ),
]
BLOCKERS: Final = [
    (
        "[ro] mount 12 (ext4 8:2 / at /x) is read-only, so nothing can be made there; mount it"
        " without ro"
    ),
    (
        "[nodev] mount 12 (ext4 8:2 / at /x) has nodev, so device nodes on it cannot be opened;"
        " mount it without nodev"
    ),
    (
        "[user-namespace] this is not the initial user namespace, where mknod(2) of a device"
        " fails whatever the capabilities; run the pod with hostUsers: true"
    ),
    "[no-cap-mknod] CAP_MKNOD is not effective; add MKNOD to the container's capabilities",
]


def codes_in(sentences: Iterable[str]) -> list[str]:
    """Return the codes at the starts of sentences."""
    return [sentence[1:].split("]")[0] for sentence in sentences]


@pytest.mark.parametrize(
    ("view", "path", "sentences"), CASES, ids=["+".join(codes_in(case[2])) for case in CASES]
)
def test_the_reasons_are_sentences_that_name_paths_and_mounts(
    view: ContainerView, path: str, sentences: list[str]
) -> None:
    """Whoever asks why is told what was found, where, and what to do if that can be mended."""
    reach = reach_of(path, view)
    assert [str(evidence) for evidence in reach.evidence] == sentences
    assert reach.container_path == ContainerPath(path)
    assert reach.host_paths == (() if reach.host_path is None else (reach.host_path,))


def test_what_stands_in_the_way_is_a_sentence_too() -> None:
    """It names the mount where one is to blame, and what to change."""
    view = attrs.evolve(
        view_of(ROOT_LINE, f"12 10 8:2 / /x ro,nodev - {EXT4}"),
        initial_user_namespace=False,
        effective_capabilities=0,
    )
    assert [str(blocker) for blocker in reach_of("/x/y", view).blockers] == BLOCKERS


def test_every_reason_has_its_sentence_here() -> None:
    """None is left out, so that no sentence changes unseen."""
    sentences = itertools.chain(BLOCKERS, *(case[2] for case in CASES))
    assert set(codes_in(sentences)) == {code.value for code in EvidenceCode}
