"""How fast the paths of a large spec are transformed, against reading and writing its text.

Run it as a script, from the top of the project::

    PYTHONPATH=. python tests/benchmarks/bench_cdi.py

The contenders take turns, so that whatever else the machine does falls on all of them; a figure
is the median of its rounds. The script fails if a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from devroot import DeviceNode, Mount, MountTable
from devroot.cdi import described, device, edits, spec, to_container, to_host

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT: Final = 1.0
"""What a transform may cost at most, as a part of ``json.loads`` and ``json.dumps``."""

JSON: Final = "json.loads and json.dumps"
TO_HOST: Final = "to_host"
TO_CONTAINER: Final = "to_container"

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


def rounds_of(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each contender in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            gc.collect()
            start = time.perf_counter()
            result = run()
            times[name].append((time.perf_counter() - start) * 1000)
            del result
    return {name: statistics.median(found) for name, found in times.items()}


def read_and_write(text: str) -> str:
    """Return the text of what *text* says."""
    return json.dumps(json.loads(text))


def tell(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; return 1 if a ratio is above the limit."""
    parser = argparse.ArgumentParser(description="Time transforms of a large spec.")
    parser.add_argument("--nodes", type=int, default=20_000, help="how many device nodes")
    parser.add_argument("--rounds", type=int, default=9, help="how often each takes its turn")
    options = parser.parse_args(arguments)
    failed = False
    for each in (1, options.nodes):
        inside = large_spec(options.nodes, each=each)
        outside = to_host(inside, MOUNTS)
        text = json.dumps(inside)

        found = rounds_of(
            {
                JSON: partial(read_and_write, text),
                TO_HOST: partial(to_host, inside, MOUNTS),
                TO_CONTAINER: partial(to_container, outside, MOUNTS),
            },
            options.rounds,
        )
        size = f"{options.nodes} device nodes, {each} in a device"
        for name, milliseconds in found.items():
            tell(f"{milliseconds:8.1f} ms  {name}")
        for name in (TO_HOST, TO_CONTAINER):
            ratio = found[name] / found[JSON]
            failed |= ratio > LIMIT
            verdict = "above" if ratio > LIMIT else "within"
            tell(f"{ratio:8.2f}     {name} / {JSON}, {size}: {verdict} {LIMIT}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
