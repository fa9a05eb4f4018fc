"""How fast device nodes are made and looked at, against plain loops and one process for each.

Run it as root, as a script, from the top of the project::

    PYTHONPATH=. python tests/benchmarks/bench_mknod.py

It works on a tmpfs in a mount namespace of its own and leaves no trace. The contenders take
turns; a figure is the median of its rounds, in time of the CPU, user and system, so that a busy
machine changes it less. Only the ratios within one run mean anything. The script fails if one is
above its limit.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from devroot import ContainerView, DeviceNode, DevRoot, mknod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_INSIDE: Final = "DEVROOT_BENCHMARK_PLACE"
CHANNELS: Final = "nvidia-caps-imex-channels"
MAJOR: Final = 240

PLAIN: Final = "plain loop of mknod, chmod, chown"
PROCESSES: Final = "one mknod process for each node"
CREATE: Final = "devroot, all are made"
LSTAT: Final = "plain loop of lstat"
AGAIN: Final = "devroot, all are right"
FEW: Final = "devroot, 64 nodes are made in each of 32 runs"
MANY: Final = "devroot, 65536 nodes are made"


@attrs.frozen
class Limit:
    """What the ratio of two contenders may be at most."""

    contender: str
    against: str
    most: float


LIMITS: Final = (
    Limit(CREATE, PLAIN, 2.0),
    Limit(CREATE, PROCESSES, 0.05),
    Limit(AGAIN, LSTAT, 2.0),
    Limit(MANY, FEW, 1.5),
    Limit(FEW, MANY, 1.5),
)


def nodes(count: int, directory: str = CHANNELS) -> list[DeviceNode]:
    """Return so many IMEX channels."""
    return [
        DeviceNode(path=f"{directory}/channel{minor}", major=MAJOR, minor=minor)
        for minor in range(count)
    ]


def plain(directory: str, count: int) -> None:
    """Make nodes as one would write it down: not atomic, and only once."""
    os.mkdir(directory)
    for minor in range(count):
        path = f"{directory}/channel{minor}"
        os.mknod(path, 0o020666, os.makedev(MAJOR, minor))
        os.chmod(path, 0o666)
        os.chown(path, 0, 0)


def look(directory: str, count: int) -> None:
    """Look at each node."""
    for minor in range(count):
        os.lstat(f"{directory}/channel{minor}")


def processes(directory: str, count: int) -> None:
    """Make each node by the command that people are told to run."""
    os.mkdir(directory)
    for minor in range(count):
        path = f"{directory}/channel{minor}"
        subprocess.run(["mknod", "-m", "666", path, "c", str(MAJOR), str(minor)], check=True)


def make_each(dev_root: DevRoot, groups: list[list[DeviceNode]]) -> None:
    """Make each group of nodes in a run of its own."""
    for group in groups:
        mknod(dev_root, group)


def spent() -> float:
    """Return the seconds of CPU that this process and its children have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(act: Callable[[], object], count: int) -> float:
    """Return the microseconds that *act* takes for each node."""
    gc.collect()
    gc.disable()
    begin = spent()
    act()
    taken = spent() - begin
    gc.enable()
    return taken / count * 1e6


def measure(place: str, count: int, *, rounds: int) -> dict[str, float]:
    """Return the microseconds for each node of every contender."""
    dev_root = DevRoot(container=place, view=ContainerView.of_process())
    directory = f"{place}/dev/{CHANNELS}"
    wanted, many = nodes(count), nodes(65536)
    few = [nodes(64, f"few-{number}") for number in range(32)]
    times: dict[str, list[float]] = {}

    def take(name: str, act: Callable[[], object], size: int, *, anew: bool = True) -> None:
        if anew:
            shutil.rmtree(directory, ignore_errors=True)
        times.setdefault(name, []).append(timed(act, size))

    for _ in range(rounds):
        take(PLAIN, partial(plain, directory, count), count)
        take(LSTAT, partial(look, directory, count), count, anew=False)
        take(CREATE, partial(mknod, dev_root, wanted), count)
        take(AGAIN, partial(mknod, dev_root, wanted), count, anew=False)
    for _ in range(max(1, rounds // 10)):
        take(PROCESSES, partial(processes, directory, count), count)
        take(MANY, partial(mknod, dev_root, many), len(many))
        for _ in range(3):
            take(FEW, partial(make_each, dev_root, few), 32 * 64)
            for number in range(32):
                shutil.rmtree(f"{place}/dev/few-{number}")
    return {name: statistics.median(each) for name, each in times.items()}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure, print a table, and return 1 if a ratio is above its limit."""
    parser = argparse.ArgumentParser(description="Measure the making of device nodes.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2048)
    options = parser.parse_args(None if arguments is None else list(arguments))
    figures = measure(os.environ[_INSIDE], options.nodes, rounds=options.rounds)
    out = sys.stdout.write
    for name, figure in figures.items():
        out(f"{figure:8.1f} us  {name}\n")
    missed = 0
    for limit in LIMITS:
        ratio = figures[limit.contender] / figures[limit.against]
        missed += ratio > limit.most
        verdict = "above" if ratio > limit.most else "within"
        out(f"{ratio:8.2f}     {limit.contender} / {limit.against}: {verdict} {limit.most}\n")
    return 1 if missed else 0


def outside() -> int:
    """Run this script again in a mount namespace of its own, with a tmpfs to work on."""
    with tempfile.TemporaryDirectory() as scratch:
        script = 'mount -t tmpfs -o mode=755 tmpfs "$1"; mkdir "$1/dev"; shift; exec "$@"'
        command = ["unshare", "--mount", "sh", "-ec", script, "sh", scratch]
        environment = {**os.environ, _INSIDE: scratch}
        again = [sys.executable, __file__, *sys.argv[1:]]
        return subprocess.run([*command, *again], env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main() if _INSIDE in os.environ else outside())
