"""How fast device nodes are made and looked at, against plain loops and one process for each.

It needs root, and a mount namespace of its own, where it works on a new tmpfs; so it leaves no
trace, however it ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Final

from devroot import ContainerView, DeviceNode, DevRoot, mknod
from tests.benchmarks._peers import MissingError, programme, run
from tests.benchmarks._rows import Comparison, compared
from tests.benchmarks._timing import Clock, Contender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks._rows import Row
    from tests.benchmarks._timing import Effort

CHANNELS: Final = "nvidia-caps-imex-channels"
MAJOR: Final = 240
NVIDIA_MAJOR: Final = 195

_NODES: Final = 2048
_MANY: Final = 65_536
_FEW: Final = 64
_RUNS: Final = 32
_GPUS: Final = 8
_CREATE: Final = "`mknod` makes 2,048 nodes"

LOOPS: Final = {
    Comparison(
        name="mknod.create",
        what=_CREATE,
        against="a loop of `os.mknod`, `os.chmod` and `os.chown`,"
        " which is neither atomic nor can be run twice",
        limit=2,
    ): ("create", "plain"),
    Comparison(
        name="mknod.again",
        what="`mknod` finds 2,048 nodes as they should be",
        against="a loop of `os.lstat` over the same nodes",
        limit=2,
    ): ("again", "lstat"),
}
SIZES: Final = {
    Comparison(
        name="mknod.many",
        what="cost of a node where 65,536 are made in one run",
        against="where 64 are made in a run",
        limit=1.5,
    ): ("many", "few"),
    Comparison(
        name="mknod.few",
        what="cost of a node where 64 are made in a run",
        against="where 65,536 are made in one run",
        limit=1.5,
    ): ("few", "many"),
}
PROCESSES: Final = Comparison(
    name="mknod.processes",
    what=_CREATE,
    against="one process of coreutils' `mknod` for each",
    limit=0.05,
    clock=Clock.WALL,
)
NVIDIA_MODPROBE: Final = Comparison(
    name="mknod.nvidia-modprobe",
    what="`mknod` makes 8 nodes of GPUs",
    against="a process of `nvidia-modprobe` for the same",
    clock=Clock.WALL,
)
COMPARISONS: Final = (*LOOPS, *SIZES, PROCESSES, NVIDIA_MODPROBE)


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
    command = programme("mknod")
    for minor in range(count):
        path = f"{directory}/channel{minor}"
        subprocess.run([command, "-m", "666", path, "c", str(MAJOR), str(minor)], check=True)


def make_each(dev_root: DevRoot, groups: list[list[DeviceNode]]) -> None:
    """Make each group of nodes in a run of its own."""
    for group in groups:
        mknod(dev_root, group)


def empty(directory: str) -> None:
    """Remove all that is in a directory."""
    for name in os.listdir(directory):
        shutil.rmtree(f"{directory}/{name}")


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the rows, or that there are none without root."""
    if os.geteuid() != 0:
        yield from (each.left_out("it needs root, to make device nodes") for each in COMPARISONS)
        return
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", place], check=True)
        try:
            os.mkdir(f"{place}/dev")
            yield from measure_on(place, effort)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


def measure_on(place: str, effort: Effort) -> Iterator[Row]:
    """Yield the rows, with the dev root *place* to work on."""
    dev_root = DevRoot(container=place, view=ContainerView.of_process())
    dev = f"{place}/dev"
    directory = f"{dev}/{CHANNELS}"
    count = effort.size_of(_NODES)
    wanted, many = nodes(count), nodes(effort.size_of(_MANY))
    few = [nodes(_FEW, f"few-{number}") for number in range(effort.size_of(_RUNS))]
    anew = partial(empty, dev)

    def there() -> None:
        mknod(dev_root, wanted)

    create = Contender(act=there, before=anew)
    loops = {
        "create": create,
        "plain": Contender(act=partial(plain, directory, count), before=anew),
        "again": Contender(act=there, before=there),
        "lstat": Contender(act=partial(look, directory, count), before=there),
    }
    yield from compared(LOOPS, loops, rounds=effort.rounds_of(20))
    sizes = {
        "many": Contender(act=partial(mknod, dev_root, many), before=anew, units=len(many)),
        "few": Contender(act=partial(make_each, dev_root, few), before=anew, units=len(few) * _FEW),
    }
    yield from compared(SIZES, sizes, rounds=effort.rounds_of(5))
    try:
        programme("mknod")
    except MissingError as missing:
        yield PROCESSES.left_out(str(missing))
    else:
        each = Contender(act=partial(processes, directory, count), before=anew)
        pair = {"create": create, "processes": each}
        yield from compared({PROCESSES: ("create", "processes")}, pair, rounds=effort.rounds_of(3))
    yield from against_nvidia_modprobe(dev_root, rounds=effort.rounds_of(15))


def against_nvidia_modprobe(dev_root: DevRoot, *, rounds: int) -> Iterator[Row]:
    """Yield the row of NVIDIA's tool, if it is installed and works here.

    It knows only ``/dev``, which the dev root covers meanwhile; and it needs the driver.
    """
    gpus = [
        DeviceNode(path=f"nvidia{minor}", major=NVIDIA_MAJOR, minor=minor) for minor in range(_GPUS)
    ]
    dev = str(dev_root.dev)

    def anew() -> None:
        for node in gpus:
            if os.path.lexists(f"{dev}/{node.path.name}"):
                os.unlink(f"{dev}/{node.path.name}")

    try:
        words = [f"--create-nvidia-device-file={node.minor}" for node in gpus]
        command = partial(run, programme("nvidia-modprobe"), *words)
        subprocess.run(["mount", "--bind", dev, "/dev"], check=True)
        try:
            command()
            pair = {
                "devroot": Contender(act=partial(mknod, dev_root, gpus), before=anew),
                "peer": Contender(act=command, before=anew),
            }
            found = [*compared({NVIDIA_MODPROBE: ("devroot", "peer")}, pair, rounds=rounds)]
        finally:
            subprocess.run(["umount", "--lazy", "/dev"], check=True)
        yield from found
    except MissingError as missing:
        yield NVIDIA_MODPROBE.left_out(str(missing))
