"""How fast the paths of a large spec are transformed, against reading and writing its text."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from devroot import DeviceNode, Mount, MountTable
from devroot.cdi import described, device, edits, spec, to_container, to_host
from tests.benchmarks._peers import MissingError, programme, run
from tests.benchmarks._rows import Comparison, compared
from tests.benchmarks._timing import Clock, Contender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks._rows import Row
    from tests.benchmarks._timing import Effort

_NODES: Final = 20_000
_JSON: Final = "`json.loads` and `json.dumps` of the text"
_MANY: Final = "a device for each node"
_ONE: Final = "one device with all nodes"

MANY: Final = {
    Comparison(name="cdi.to-host", what=f"`to_host`, {_MANY}", against=_JSON, limit=1): (
        "to_host",
        "json",
    ),
    Comparison(name="cdi.to-container", what=f"`to_container`, {_MANY}", against=_JSON, limit=1): (
        "to_container",
        "json",
    ),
}
ONE: Final = {
    Comparison(name="cdi.to-host-one", what=f"`to_host`, {_ONE}", against=_JSON, limit=1): (
        "to_host",
        "json",
    ),
    Comparison(
        name="cdi.to-container-one", what=f"`to_container`, {_ONE}", against=_JSON, limit=1
    ): ("to_container", "json"),
}
NVIDIA_CTK: Final = Comparison(
    name="cdi.nvidia-ctk",
    what=f"`json.loads`, `to_host` and `json.dumps`, {_MANY}",
    against="a process of `nvidia-ctk cdi transform root`",
    clock=Clock.WALL,
)
COMPARISONS: Final = (*MANY, *ONE, NVIDIA_CTK)

MOUNTS: Final = MountTable(
    [
        Mount(host="/home/kubernetes/bin/nvidia", container="/driver-root", read_only=True),
        Mount(host="/dev", container="/host-dev/dev"),
        Mount(host="/var/lib/kubelet/plugins", container="/var/lib/kubelet/plugins"),
    ]
)


def large_spec(nodes: int, *, each: int = 1) -> dict[str, Any]:
    """Return a spec of a container with so many complete device nodes, *each* in a device."""
    made: list[dict[str, Any]] = []
    for minor in range(nodes):
        path = f"/dev/nvidia-caps-imex-channels/channel{minor}"
        node = described(DeviceNode(path=path, major=234, minor=minor))
        made.append({"hostPath": f"/host-dev{path}", **node})
    devices = [
        device(f"channel{start}", edits(device_nodes=made[start : start + each]))
        for start in range(0, nodes, each)
    ]
    return spec("vendor.com/channel", devices)


def read_and_write(text: str) -> str:
    """Return the text of what *text* says."""
    return json.dumps(json.loads(text))


def transform(text: str) -> str:
    """Return the text of a spec for the host."""
    return json.dumps(to_host(json.loads(text), MOUNTS))


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the rows."""
    nodes, rounds = effort.size_of(_NODES), effort.rounds_of(9)
    for pairs, each in ((MANY, 1), (ONE, nodes)):
        inside = large_spec(nodes, each=each)
        text = json.dumps(inside)
        contenders = {
            "json": Contender(act=partial(read_and_write, text)),
            "to_host": Contender(act=partial(to_host, inside, MOUNTS)),
            "to_container": Contender(act=partial(to_container, to_host(inside, MOUNTS), MOUNTS)),
        }
        yield from compared(pairs, contenders, rounds=rounds)
    yield from against_nvidia_ctk(json.dumps(large_spec(nodes)), rounds=rounds)


def against_nvidia_ctk(text: str, *, rounds: int) -> Iterator[Row]:
    """Yield the row of the command that people are told to run, if it is installed."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(f"{text}\n")
        file.flush()
        try:
            words = ("cdi", "transform", "root", "--from=/host-dev", "--to=/", "--input")
            command = partial(run, programme("nvidia-ctk"), *words, file.name)
            command()
        except MissingError as missing:
            yield NVIDIA_CTK.left_out(str(missing))
            return
        contenders = {
            "devroot": Contender(act=partial(transform, text)),
            "nvidia-ctk": Contender(act=command),
        }
        yield from compared({NVIDIA_CTK: ("devroot", "nvidia-ctk")}, contenders, rounds=rounds)
