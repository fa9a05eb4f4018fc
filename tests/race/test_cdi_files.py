"""Several writers of one spec file, and a runtime that reads it all the time."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from devroot import ContainerPath, DeviceNode, LocalFileSystem
from devroot.cdi import described, device, edits, spec, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.race

ROUNDS = 30
SIZES = (1, 40, 200)


def spec_of(devices: int) -> dict[str, Any]:
    """Return a spec with so many devices."""
    node = described(DeviceNode(path="x", major=235, minor=1))
    return spec(
        "vendor.com/class", [device(f"x{n}", edits(device_nodes=[node])) for n in range(devices)]
    )


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """Whenever it looks, the file is one of those that were written, whole."""
    where = ContainerPath(str(tmp_path))
    failures: list[BaseException] = []

    def write_often(found: dict[str, Any]) -> None:
        try:
            for _ in range(ROUNDS):
                with LocalFileSystem().open_directory(where, "/") as directory:
                    write(directory, found)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test fails with it
            failures.append(error)

    threads = [threading.Thread(target=write_often, args=(spec_of(size),)) for size in SIZES]
    with LocalFileSystem().open_directory(where, "/") as directory:
        name = write(directory, spec_of(SIZES[0]))
    for thread in threads:
        thread.start()
    seen: set[int] = set()
    while any(thread.is_alive() for thread in threads):
        seen.add(len(json.loads((tmp_path / name).read_text("utf-8"))["devices"]))
    for thread in threads:
        thread.join()
    assert failures == []
    assert seen <= set(SIZES)
    assert [path.name for path in tmp_path.iterdir()] == [name]
