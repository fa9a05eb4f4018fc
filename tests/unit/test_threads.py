"""Many threads use the same objects at once, and each gets what it would get alone."""

from __future__ import annotations

from functools import partial

from devroot import ContainerPath, MountInfoTable
from tests._threads import at_once

ROUNDS = 20


def test_mounts_by_device() -> None:
    """The index by device that a mount table makes on first use is complete for every thread."""
    lines = [b"1 0 8:1 / / rw - ext4 d rw"]
    lines += [b"%d 1 0:%d / /m%d rw - tmpfs t rw" % (n, n, n) for n in range(2, 400)]
    data = b"\n".join(lines) + b"\n"
    for _ in range(ROUNDS):
        table = MountInfoTable.parse(data, paths=ContainerPath)
        found = at_once(partial(_count, table))
        assert found == [1] * len(found)


def _count(table: MountInfoTable[ContainerPath], _thread: int) -> int:
    return len(table.with_device((0, 399)))
