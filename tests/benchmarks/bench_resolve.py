"""How fast a path is resolved inside a root, against what it replaces and against the limit."""

from __future__ import annotations

import ctypes
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Final

from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from tests.benchmarks._rows import Comparison, compared
from tests.benchmarks._timing import Contender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks._rows import Row
    from tests.benchmarks._timing import Effort

PATH: Final = "/lib/vendor/current/a/b/libx.so.1"
"""Six components; ``lib`` and ``current`` are links."""

PLACE: Final = "/usr/lib/vendor/550/a/b/libx.so.1"
LINKS: Final = {"/lib": "usr/lib", "/usr/lib/vendor/current": "550"}

# asm-generic/unistd.h, include/uapi/linux/openat2.h
_OPENAT2: Final = 437
_RESOLVE_IN_ROOT: Final = 0x10

_REALPATH: Final = "`os.path.realpath`, which leaves the root"
_PATHLIB: Final = "`pathlib.Path.resolve`, which leaves the root"
_BARE: Final = "a bare `openat2` through ctypes and `os.readlink` of its descriptor"
_OPENAT2_HERE: Final = "`LocalFileSystem` by `openat2`"


PAIRS: Final = {
    Comparison(name="resolve.realpath", what=_OPENAT2_HERE, against=_REALPATH, limit=0.5): (
        "openat2",
        "realpath",
    ),
    Comparison(name="resolve.pathlib", what=_OPENAT2_HERE, against=_PATHLIB): (
        "openat2",
        "pathlib",
    ),
    Comparison(name="resolve.bare", what=_OPENAT2_HERE, against=_BARE, limit=1.6): (
        "openat2",
        "bare",
    ),
    Comparison(
        name="resolve.held", what=_OPENAT2_HERE, against="the same, with the root held open"
    ): ("openat2", "held"),
    Comparison(
        name="resolve.walk", what="`LocalFileSystem` by the walk", against=_REALPATH, limit=2.5
    ): ("walk", "realpath"),
    Comparison(
        name="resolve.walk-openat2", what="`LocalFileSystem` by the walk", against="by `openat2`"
    ): ("walk", "openat2"),
    Comparison(
        name="resolve.portable", what="`LocalFileSystem` in portable mode", against=_REALPATH
    ): ("portable", "realpath"),
}
COMPARISONS: Final = tuple(PAIRS)


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


def calls_in(root: str, held: int) -> dict[str, Callable[[], object]]:
    """Return what is measured: each resolves `PATH` in *root*, which *held* holds open."""
    whole = root + PATH
    path = ContainerPath(root)
    as_path = pathlib.Path(whole)
    by_openat2, by_walk, portable = (
        LocalFileSystem(resolver="openat2"),
        LocalFileSystem(resolver="walk"),
        LocalFileSystem(resolver="portable"),
    )
    in_held = bare(PATH.encode())

    def in_opened() -> str:
        descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return in_held(descriptor)
        finally:
            os.close(descriptor)

    return {
        "realpath": lambda: os.path.realpath(whole),
        "pathlib": as_path.resolve,
        "openat2": lambda: by_openat2.resolve(path, PATH),
        "walk": lambda: by_walk.resolve(path, PATH),
        "portable": lambda: portable.resolve(path, PATH),
        "bare": in_opened,
        "held": lambda: in_held(held),
    }


def refusals(calls: dict[str, Callable[[], object]]) -> Iterator[tuple[str, str]]:
    """Yield which contenders do not work here, and why; the others give the right place."""
    for name, call in calls.items():
        try:
            place = str(call())
        except OSError as error:
            yield name, f"openat2 is refused here: {error.strerror}"
        else:
            if not place.endswith(PLACE):
                message = f"{name} gives {place}"
                raise AssertionError(message)


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the rows, once each contender has been seen to give the right place."""
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.realpath(scratch)
        os.makedirs(root + os.path.dirname(PLACE))
        with open(root + PLACE, "xb"):
            pass
        for link, target in LINKS.items():
            os.symlink(target, root + link)
        held = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            calls = calls_in(root, held)
            refused = dict(refusals(calls))
            pairs = {one: pair for one, pair in PAIRS.items() if not refused.keys() & {*pair}}
            contenders = {
                name: Contender(act=call, repeats=50)
                for name, call in calls.items()
                if name not in refused
            }
            found = compared(pairs, contenders, rounds=effort.rounds_of(200))
            for comparison, pair in PAIRS.items():
                reasons = [refused[name] for name in pair if name in refused]
                yield comparison.left_out(reasons[0]) if reasons else next(found)
        finally:
            os.close(held)
