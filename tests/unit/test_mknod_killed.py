"""Making device nodes in a process that is killed: at every step, and then once more."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot._mknod import char_links, mknod, remove
from devroot.testing import ProcessKilled
from tests._nodes import DEV, dev_root_of, files_of, listing, node, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devroot import DevRoot
    from devroot.testing import Operation

THERE = (
    "fifo nvidia1",
    "char nvidia2 195:2 0600 5:6",
    "char nvidia3 195:9 0640",
    "link nvidia4 nvidia1",
    "char nvidia5 195:5 0666",
    "dir caps 0750",
)
NODES = [
    *(node(f"nvidia{n}", 195, n) for n in range(6)),
    node("caps/one", 240, 1, mode=0o400),
    node("deep/er/two", 240, 2, gid=7),
]
COMPLETE = [
    "dir caps 0750",
    "char caps/one 240:1 0400",
    "dir deep 0755",
    "dir deep/er 0755",
    "char deep/er/two 240:2 0666 0:7",
    *(f"char nvidia{n} 195:{n} 0666" for n in range(6)),
]
ALLOWED = {*THERE, *COMPLETE, "fifo nvidia1 0644", "char nvidia2 195:2 0600"}
"""What may be at a real name at any time; the last one has its new owner and its old mode."""


def _raise_at(
    error: type[BaseException], step: int, count: Iterator[int], _operation: Operation
) -> None:
    if next(count) == step:
        raise error


def _kill_at(dev_root: DevRoot, step: int, act: Callable[[], object]) -> bool:
    """Kill the process at one of its operations; return whether it lived so long."""
    files_of(dev_root).before(partial(_raise_at, ProcessKilled, step, itertools.count()))
    try:
        act()
    except ProcessKilled:
        files_of(dev_root).restart()
        return True
    return False


def _real_names(dev_root: DevRoot) -> set[str]:
    """Return the files that have a real name, as lines."""
    lines = files_of(dev_root).listing()
    first = {line.split(" ")[1]: line.split(" ") for line in lines}
    real: set[str] = set()
    for line in lines:
        word, path, *rest = line.split(" ")
        if "/.devroot-" in path or not path.startswith(f"{DEV}/"):
            continue
        if word == "hard":  # its first name is that in the working directory
            word, _, *rest = first[rest[0]]
        real.add(" ".join([word, path.removeprefix(f"{DEV}/"), *rest]))
    return real


def test_a_run_that_is_killed_leaves_nothing_half_made() -> None:
    """Killed at any step, no real name is wrong in a new way, and the next run completes it."""
    step = 0
    for step in itertools.count():
        dev_root = dev_root_of(*THERE)
        if not _kill_at(dev_root, step, partial(mknod, dev_root, NODES)):
            break
        assert _real_names(dev_root) <= ALLOWED, f"killed at step {step}"

        mknod(dev_root, NODES)

        assert listing(dev_root) == COMPLETE, f"killed at step {step}"
    assert step > 60


def test_removing_and_linking_can_be_killed_too() -> None:
    """Killed at any step, the next run removes or links what is left, and leaves nothing else."""
    step = 0
    for step in itertools.count():
        dev_root = dev_root_of("char nvidia0 195:0", "char nvidia1 195:1", "link char/195:1 /no")
        lived = not _kill_at(dev_root, step, partial(_link_and_remove, dev_root))
        if not lived:
            mknod(dev_root, NODES[:2])
            _link_and_remove(dev_root)
        assert listing(dev_root) == [
            "dir char 0755",
            "link char/195:0 ../nvidia0",
            "link char/195:1 ../nvidia1",
        ]
        if lived:
            break
    assert step > 25


def _link_and_remove(dev_root: DevRoot) -> None:
    char_links(dev_root, NODES[:2])
    remove(dev_root, NODES[:2])


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_a_run_that_is_interrupted_cleans_up(interrupt: type[BaseException]) -> None:
    """An interrupt at any step leaves no working directory, and comes through."""
    step = 0
    for step in itertools.count():
        dev_root = dev_root_of(*THERE)
        files_of(dev_root).before(partial(_raise_at, interrupt, step, itertools.count()))
        try:
            mknod(dev_root, NODES)
        except interrupt:
            pass
        else:
            break
        mknod(dev_root, NODES)
        assert listing(dev_root) == COMPLETE
    assert step > 60


def test_the_next_run_in_the_same_directory_cleans_up() -> None:
    """Leftovers go even if all nodes are right by now and nothing is to be made."""
    dev_root = dev_root_of(
        "dir .devroot-0123456789abcdef 0700",
        "char .devroot-0123456789abcdef/3 1:3 0000",
        "dir caps/.devroot-fedcba9876543210 0700",
        "dir caps/.devroot-00000000000000ff 0755",
        "char caps/one 240:1 0666",
    )

    assert results(mknod(dev_root, [node("caps/one", 240, 1)])) == ["unchanged"]
    assert listing(dev_root) == ["dir caps 0755", "char caps/one 240:1 0666"]
