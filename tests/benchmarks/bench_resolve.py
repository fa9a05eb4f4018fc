"""How fast a path is resolved inside a root, against what it replaces and against the limit.

Run it as a script, from the top of the project::

    PYTHONPATH=. python tests/benchmarks/bench_resolve.py

The contenders take turns in short rounds, each time in another order, so that whatever else the
machine does falls on all of them; a figure is the median of its rounds. Only the ratios within
one run mean anything. The script fails if one is above its limit.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Final

import attrs

from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATH: Final = "/lib/vendor/current/a/b/libx.so.1"
"""Six components; ``lib`` and ``current`` are links."""

PLACE: Final = "/usr/lib/vendor/550/a/b/libx.so.1"
LINKS: Final = {"/lib": "usr/lib", "/usr/lib/vendor/current": "550"}

# asm-generic/unistd.h, include/uapi/linux/openat2.h
_OPENAT2: Final = 437
_RESOLVE_IN_ROOT: Final = 0x10

REALPATH: Final = "os.path.realpath, not in the root"
WITH_OPENAT2: Final = "devroot with openat2"
WITH_WALK: Final = "devroot with the walk"
PORTABLE: Final = "devroot in portable mode"
BARE: Final = "bare openat2 and readlink"
BARE_HELD: Final = "the same, with the root held open"


@attrs.frozen
class Limit:
    """What the ratio of two contenders may be at most."""

    contender: str
    against: str
    most: float


LIMITS: Final = (
    Limit(WITH_OPENAT2, REALPATH, 0.5),
    Limit(WITH_WALK, REALPATH, 2.5),
    Limit(WITH_OPENAT2, BARE, 1.6),
)


class OpenHow(ctypes.Structure):
    """``struct open_how`` of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def bare(path: bytes) -> Callable[[int], str]:
    """Return what resolves *path* in the directory that a descriptor holds, and nothing more."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.POINTER(OpenHow),
        ctypes.c_size_t,
    )
    how = ctypes.pointer(OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT))
    size = ctypes.sizeof(OpenHow)

    def resolve(root: int) -> str:
        descriptor: int = syscall(_OPENAT2, root, path, how, size)
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), "openat2 is refused here")
        place = os.readlink(f"/proc/self/fd/{descriptor}")
        os.close(descriptor)
        return place

    return resolve


def contenders(root: str, held: int) -> dict[str, Callable[[], object]]:
    """Return what is measured: each resolves `PATH` in *root*, which *held* holds open."""
    whole = root + PATH
    path = ContainerPath(root)
    systems = [LocalFileSystem(resolver=name) for name in ("openat2", "walk", "portable")]
    by_openat2, by_walk, portable = systems
    in_held = bare(PATH.encode())

    def in_opened() -> str:
        descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return in_held(descriptor)
        finally:
            os.close(descriptor)

    return {
        REALPATH: lambda: os.path.realpath(whole),
        WITH_OPENAT2: lambda: by_openat2.resolve(path, PATH),
        WITH_WALK: lambda: by_walk.resolve(path, PATH),
        PORTABLE: lambda: portable.resolve(path, PATH),
        BARE: in_opened,
        BARE_HELD: lambda: in_held(held),
    }


def measure(
    calls: dict[str, Callable[[], object]], *, rounds: int, repeats: int
) -> dict[str, float]:
    """Return the microseconds that a call of each takes."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds):
        start = turn % len(names)
        for name in (*names[start:], *names[:start]):
            call = calls[name]
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            times[name].append((time.perf_counter() - begin) / repeats)
    return {name: statistics.median(each) * 1e6 for name, each in times.items()}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure, print a table, and return 1 if a ratio is above its limit."""
    parser = argparse.ArgumentParser(description="Measure resolution inside a root.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=50, help="calls of each in a round")
    options = parser.parse_args(None if arguments is None else list(arguments))
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.realpath(scratch)
        os.makedirs(root + os.path.dirname(PLACE))
        with open(root + PLACE, "xb"):
            pass
        for link, target in LINKS.items():
            os.symlink(target, root + link)
        held = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        calls = contenders(root, held)
        for name, call in calls.items():
            if str(call()) != root + PLACE:
                message = f"{name} gives {call()}"
                raise AssertionError(message)
        measure(calls, rounds=2, repeats=options.repeats)  # everything is loaded and cached then
        gc.disable()
        figures = measure(calls, rounds=options.rounds, repeats=options.repeats)
        gc.enable()
        os.close(held)
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


if __name__ == "__main__":
    raise SystemExit(main())
