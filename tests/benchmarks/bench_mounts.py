"""How fast mount tables are parsed and asked, against what they replace and at other sizes.

Run it as a script, from the top of the project::

    PYTHONPATH=. python tests/benchmarks/bench_mounts.py

The contenders of a ratio take turns in short rounds, each time in another order, so that whatever
else the machine does falls on all of them; a figure is the median of the ratios of the rounds. The
garbage collector works as in any program. The script fails if a figure is above its limit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import attrs

from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT_ID: Final = 25
SIZES: Final = (10, 10_000, 50_000)


@attrs.frozen
class Ratio:
    """Two contenders, and what the ratio of the first to the second may be at most.

    Attributes:
        name: what the ratio tells.
        most: its limit.
        contender: does the thing, as often as it says.
        against: does the other thing, as often.
        repeats: how often each is called in a round.
    """

    name: str
    most: float
    contender: Callable[[], object]
    against: Callable[[], object]
    repeats: int = attrs.field(default=1, kw_only=True)


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


def split(data: bytes) -> None:
    """Split each line at blanks and keep nothing: the least that any reader does."""
    for line in data.split(b"\n"):
        line.split()


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
    paths = [point / "dev/nvidia0" for point in random.Random(1).sample(on_root, 9)]

    def ask() -> None:
        for path in paths:
            table.covering(path)

    return ask


def mapped_by(size: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return what maps a path below each of ten mounts to the host, and what maps it back."""
    table = mounts_of(size)
    paths = [mount.container / "dev/nvidia0" for mount in random.Random(1).sample(list(table), 10)]
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


def parsed(data: bytes) -> Callable[[], object]:
    """Return what parses a table and asks it for one path."""
    path = ContainerPath("/var/lib/kubelet/pods/x")
    return lambda: MountInfoTable.parse(data).covering(path)


def ratios() -> list[Ratio]:
    """Return what is measured, but for the growth with the size of a table."""
    few, many, _ = map(mountinfo_of, SIZES)
    to_host, to_container = mapped_by(10_000)
    to_host_of_ten, to_container_of_ten = mapped_by(10)
    by_table, by_hand = with_pathlib()
    return [
        Ratio("to_host: 10,000 mounts / 10", 1.5, to_host, to_host_of_ten, repeats=50),
        Ratio(
            "to_container: 10,000 mounts / 10", 1.5, to_container, to_container_of_ten, repeats=50
        ),
        Ratio("to_host / pathlib by hand", 0.4, by_table, by_hand, repeats=500),
        Ratio("covering: 10,000 mounts / 10", 1.5, asked_of(many), asked_of(few), repeats=50),
        Ratio(
            "parse 10,000 lines / split them",
            3,
            lambda: MountInfoTable.parse(many),
            lambda: split(many),
        ),
        Ratio("parse 10,000 and ask / split them", 3, parsed(many), lambda: split(many)),
    ]


def measure(calls: list[Callable[[], object]], *, rounds: int, repeats: int) -> list[list[float]]:
    """Return for each round the seconds that the calls take, in their order."""
    times = [[0.0] * len(calls) for _ in range(rounds)]
    for turn, row in enumerate(times):
        for number in random.Random(turn).sample(range(len(calls)), len(calls)):
            call = calls[number]
            begin = time.process_time()
            for _ in range(repeats):
                call()
            row[number] = time.process_time() - begin
    return times


def growth(rounds: int) -> float:
    """Return how parsing grows with the size of a table, against how splitting does."""
    _, many, most = map(mountinfo_of, SIZES)
    calls: list[Callable[[], object]] = [
        lambda: MountInfoTable.parse(most),
        lambda: MountInfoTable.parse(many),
        lambda: split(most),
        lambda: split(many),
    ]
    times = measure(calls, rounds=rounds, repeats=1)
    return statistics.median((a / b) / (c / d) for a, b, c, d in times)


def figures(rounds: int) -> Iterable[tuple[str, float, float]]:
    """Yield the name of each ratio, what it is, and what it may be at most."""
    for ratio in ratios():
        calls = [ratio.contender, ratio.against]
        times = measure(calls, rounds=rounds, repeats=ratio.repeats)
        yield ratio.name, statistics.median(one / other for one, other in times), ratio.most
    name = "growth of parse from 10,000 to 50,000 lines / that of split"
    yield name, growth(max(rounds // 3, 1)), 1.3


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure, print a line for each ratio, and return 1 if one is above its limit."""
    parser = argparse.ArgumentParser(description="Measure mount tables.")
    parser.add_argument("--rounds", type=int, default=75)
    options = parser.parse_args(None if arguments is None else list(arguments))
    missed = 0
    for name, figure, most in figures(options.rounds):
        missed += figure > most
        verdict = "above" if figure > most else "within"
        sys.stdout.write(f"{figure:6.2f}  {verdict} {most:g}  {name}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
