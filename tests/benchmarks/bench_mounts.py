"""How fast mount tables are parsed and asked, against what they replace and at other sizes."""

from __future__ import annotations

import os
import random
import tempfile
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from devroot import ContainerView, Reach, Verdict, examine
from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot.testing import TreeFileSystem
from tests.benchmarks._peers import MissingError, library, programme, run
from tests.benchmarks._rows import Comparison, compared
from tests.benchmarks._timing import Clock, Contender, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks._rows import Row
    from tests.benchmarks._timing import Effort

ROOT_ID: Final = 25
FEW: Final = 10
MANY: Final = 10_000
MOST: Final = 50_000

_SPLIT: Final = "`line.split()` of each of them"
_FILE_AND_ASK: Final = "which of the 10,000 mounts in a file serves a path, by `MountInfoTable`"

TO_HOST: Final = Comparison(
    name="mounts.to-host",
    what="`MountTable.to_host` among 10,000 mounts",
    against="among 10",
    limit=1.5,
)
TO_CONTAINER: Final = Comparison(
    name="mounts.to-container",
    what="`MountTable.to_container` among 10,000 mounts",
    against="among 10",
    limit=1.5,
)
PATHLIB: Final = Comparison(
    name="mounts.pathlib",
    what="`MountTable.to_host` of a ready `ContainerPath`",
    against="`host / path.relative_to(root)` of ready `PurePosixPath`s",
    limit=0.4,
)
COVERING: Final = Comparison(
    name="mounts.covering",
    what="`MountInfoTable.covering` among 10,000 mounts",
    against="among 10",
    limit=1.5,
)
PARSE: Final = Comparison(
    name="mounts.parse",
    what="`MountInfoTable.parse` of 10,000 lines",
    against=_SPLIT,
    limit=3,
)
PARSE_AND_ASK: Final = Comparison(
    name="mounts.parse-and-ask",
    what="`MountInfoTable.parse` of 10,000 lines, and one question",
    against=_SPLIT,
    limit=3,
)
HOST_TABLE: Final = Comparison(
    name="mounts.verdict",
    what="parsing the host's table of 10,000 mounts, a view with it, and one verdict",
    against=_SPLIT,
    limit=8,
)
GROWTH: Final = Comparison(
    name="mounts.growth",
    what="growth of `MountInfoTable.parse` from 10,000 to 50,000 lines",
    against="that of `line.split()`",
    limit=1.3,
)
PSUTIL: Final = Comparison(
    name="mounts.psutil",
    what=_FILE_AND_ASK,
    against="by `psutil.disk_partitions(all=True)`, of whose answer the longest prefix is taken",
)
PSUTIL_ALL: Final = Comparison(
    name="mounts.psutil-all",
    what="all 10,000 mounts in a file with every field, by `MountInfoTable`",
    against="with four fields, by `psutil.disk_partitions(all=True)`",
)
FINDMNT: Final = Comparison(
    name="mounts.findmnt",
    what=_FILE_AND_ASK,
    against="by a process of `findmnt`",
    clock=Clock.WALL,
)
COMPARISONS: Final = (
    TO_HOST,
    TO_CONTAINER,
    PATHLIB,
    COVERING,
    PARSE,
    PARSE_AND_ASK,
    HOST_TABLE,
    GROWTH,
    PSUTIL,
    PSUTIL_ALL,
    FINDMNT,
)


def mountinfo_of(size: int) -> bytes:
    """Return a table like that of a node: volumes of pods, with a mount in every tenth."""
    root = b"%d 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard"
    lines = [root % ROOT_ID]
    for number in range(30, 29 + size):
        parent, point = (
            ROOT_ID,
            b"/var/lib/kubelet/pods/%08x-0000-4000-8000-0000000000/volumes" % number,
        )
        if number % 10 == 0 and number > 30:
            parent, point = number - 1, points_below(number - 1)
        lines.append(
            b"%d %d 0:%d / %s/kubernetes.io~projected/token rw,relatime shared:%d"
            b" - tmpfs tmpfs rw,size=1048576k,inode64" % (number, parent, number, point, number)
        )
    return b"\n".join(lines) + b"\n"


def points_below(number: int) -> bytes:
    """Return where the mount *number* is, but for the names that every mount point ends with."""
    return (
        b"/var/lib/kubelet/pods/%08x-0000-4000-8000-0000000000/volumes"
        b"/kubernetes.io~projected/token" % number
    )


def mtab_of(data: bytes) -> bytes:
    """Return the same mounts in the format of ``/proc/self/mounts``, proc_pid_mounts(5)."""
    lines: list[bytes] = []
    for line in data.splitlines():
        _, _, _, _, point, options, *_, fstype, source, more = line.split(b" ")
        lines.append(b"%s %s %s %s,%s 0 0\n" % (source, point, fstype, options, more))
    return b"".join(lines)


def split(data: bytes) -> None:
    """Split each line at blanks and keep nothing: the least that any reader does."""
    for line in data.split(b"\n"):
        line.split()


def parsed(data: bytes) -> Callable[[], object]:
    """Return what parses a table and asks it for one path."""
    path = ContainerPath("/var/lib/kubelet/pods/x")
    return lambda: MountInfoTable.parse(data).covering(path)


def judged(data: bytes) -> Callable[[], object]:
    """Return what gives a verdict by the host's table, in a container that shows the host's dev."""
    host_data = data + b"9000000 %d 9:6 / /dev rw - devtmpfs udev rw\n" % ROOT_ID
    table = MountInfoTable.parse(
        b"9000001 9 9:9 / / rw - overlay overlay rw\n"
        b"9000002 9000001 9:6 / /host-dev/dev rw - devtmpfs udev rw\n"
    )
    path = ContainerPath("/host-dev/dev/nvidia0")
    files = TreeFileSystem(["dir /host-dev/dev"])

    def ask() -> Reach:
        host = MountInfoTable.parse(host_data, paths=HostPath)
        return examine(ContainerView(mountinfo=table, host_mountinfo=host, filesystem=files), path)

    assert ask().verdict is Verdict.HOST
    return ask


def read_table(file: str) -> MountInfoTable[ContainerPath]:
    """Return the table in a file."""
    with open(file, "rb") as stream:
        return MountInfoTable.parse(stream.read())


def mounts_of(size: int) -> MountTable:
    """Return declared mounts, all but one of them of pods' volumes."""
    driver = Mount(host="/home/kubernetes/bin/nvidia", container="/driver-root")
    pods = (
        Mount(host=f"/var/lib/pods/{n}/volume", container=f"/data/pods/{n}/volume")
        for n in range(size - 1)
    )
    return MountTable([driver, *pods])


def asked_of(data: bytes) -> Callable[[], object]:
    """Return what asks a table for a path below each of nine of its mounts, all equally deep."""
    table = MountInfoTable.parse(data)
    on_root = [mount.mount_point for mount in table if mount.parent_id == ROOT_ID]
    paths = [point / "dev/nvidia0" for point in random.Random(1).choices(on_root, k=9)]

    def ask() -> None:
        for path in paths:
            table.covering(path)

    return ask


def mapped_by(size: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return what maps a path below each of ten mounts to the host, and what maps it back."""
    table = mounts_of(size)
    mounts = random.Random(1).choices(list(table), k=10)
    paths = [mount.container / "dev/nvidia0" for mount in mounts]
    host_paths = [table.to_host(path) for path in paths]

    def to_host() -> None:
        for path in paths:
            table.to_host(path)

    def to_container() -> None:
        for path in host_paths:
            table.to_container(path)

    return to_host, to_container


def with_pathlib() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return one mapping, and the two calls that map a path by hand through a single mount."""
    text = "/driver-root/dev/nvidia-caps/nvidia-cap4323"
    table = mounts_of(10)
    path = ContainerPath(text)
    host, below, root = map(PurePosixPath, ("/home/kubernetes/bin/nvidia", text, "/driver-root"))
    assert table.to_host(path) == HostPath(str(host / below.relative_to(root)))
    return lambda: table.to_host(path), lambda: host / below.relative_to(root)


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the rows."""
    size, rounds = effort.size_of(MANY), effort.rounds_of(75)
    many = mountinfo_of(size)
    to_host, to_container = mapped_by(size)
    to_host_of_few, to_container_of_few = mapped_by(FEW)
    for comparison, (one, other), repeats in (
        (TO_HOST, (to_host, to_host_of_few), 50),
        (TO_CONTAINER, (to_container, to_container_of_few), 50),
        (PATHLIB, with_pathlib(), 500),
        (COVERING, (asked_of(many), asked_of(mountinfo_of(FEW))), 50),
        (PARSE, (partial(MountInfoTable.parse, many), partial(split, many)), 1),
        (PARSE_AND_ASK, (parsed(many), partial(split, many)), 1),
        (HOST_TABLE, (judged(many), partial(split, many)), 1),
    ):
        contenders = {
            "one": Contender(act=one, repeats=repeats),
            "other": Contender(act=other, repeats=repeats),
        }
        yield from compared({comparison: ("one", "other")}, contenders, rounds=rounds)
    yield growth(many, mountinfo_of(effort.size_of(MOST)), rounds=effort.rounds_of(25))
    yield from against_peers(many, rounds=effort.rounds_of(15))


def growth(many: bytes, most: bytes, *, rounds: int) -> Row:
    """Return how parsing grows with the size of a table, against how splitting does."""
    contenders = {
        "parse most": Contender(act=partial(MountInfoTable.parse, most)),
        "parse many": Contender(act=partial(MountInfoTable.parse, many)),
        "split most": Contender(act=partial(split, most)),
        "split many": Contender(act=partial(split, many)),
    }
    seconds = take_turns(contenders, rounds=rounds, clock=GROWTH.clock)
    turns = zip(*(seconds[name] for name in contenders), strict=True)
    return GROWTH.figure((a / b) / (c / d) for a, b, c, d in turns)


def against_peers(data: bytes, *, rounds: int) -> Iterator[Row]:
    """Yield the rows of other readers of mount tables, each if it is installed."""
    with tempfile.TemporaryDirectory() as proc:
        os.mkdir(f"{proc}/self")
        file = f"{proc}/self/mountinfo"
        for name, content in (("mountinfo", data), ("mounts", mtab_of(data))):
            with open(f"{proc}/self/{name}", "xb") as stream:
                stream.write(content)
        point = read_table(file).with_device((0, 30))[0].mount_point

        def serving() -> ContainerPath | None:
            mount = read_table(file).covering(point)
            return None if mount is None else mount.mount_point

        assert serving() == point
        for comparison, ours, find in (
            (PSUTIL, serving, partial(psutil_serving, proc, str(point))),
            (PSUTIL_ALL, lambda: list(read_table(file)), partial(psutil_all, proc)),
            (FINDMNT, serving, partial(findmnt_at, file, str(point))),
        ):
            try:
                theirs = find()
                theirs()
            except MissingError as missing:
                yield comparison.left_out(str(missing))
                continue
            contenders = {"devroot": Contender(act=ours), "peer": Contender(act=theirs)}
            yield from compared({comparison: ("devroot", "peer")}, contenders, rounds=rounds)


def psutil_all(proc: str) -> Callable[[], list[Any]]:
    """Return what lets psutil list the mounts in the table below *proc*."""
    psutil = library("psutil")

    def listed() -> list[Any]:
        usual, psutil.PROCFS_PATH = psutil.PROCFS_PATH, proc
        try:
            mounts: list[Any] = psutil.disk_partitions(all=True)
        finally:
            psutil.PROCFS_PATH = usual
        return mounts

    return listed


def psutil_serving(proc: str, path: str) -> Callable[[], str]:
    """Return what finds the mount of a path with psutil, as its users do it."""
    listed = psutil_all(proc)

    def serving() -> str:
        points: Iterator[str] = (mount.mountpoint for mount in listed())
        above = (point for point in points if f"{path}/".startswith(f"{point.rstrip('/')}/"))
        return max(above, key=len)

    assert serving() == path
    return serving


def findmnt_at(file: str, point: str) -> Callable[[], None]:
    """Return what lets findmnt look for a mount point in a table."""
    words = ("--kernel", "--raw", "--noheadings", "--tab-file", file, "--mountpoint", point)
    return partial(run, programme("findmnt"), *words)
