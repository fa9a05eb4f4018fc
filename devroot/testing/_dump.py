"""What is where, in words: the files and mounts of a host and its containers, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devroot._filesystem import FileType
from devroot.testing._runtime import TASKS
from devroot.testing._vfs import Spot, path_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devroot.testing._inodes import Inode
    from devroot.testing._process import Process
    from devroot.testing._vfs import VfsMount

Machines = list[tuple[str, "Process"]]
"""What is shown, by name: the host, and then containers."""

_WORDS: Final = {
    FileType.REGULAR: "file",
    FileType.DIRECTORY: "dir",
    FileType.CHARACTER: "c",
    FileType.BLOCK: "b",
    FileType.FIFO: "fifo",
    FileType.SOCKET: "socket",
}
_USUAL: Final = {FileType.REGULAR: 0o644, FileType.DIRECTORY: 0o755}
_PSEUDO: Final = frozenset({"proc", "sysfs"})
_ABSENT: Final = "-"
_MOST_OF_TARGET: Final = 24  # characters
_MOST_ROWS: Final = 26


def render(machines: Machines, *, below: str) -> str:
    """Return a table of *below*: a row for each path, a column for each machine."""
    return _table(machines, _rows(machines, below))


def render_around(machines: Machines, path: str) -> str:
    """Return a table of the file *path* with what is beside it and above it, below ``/dev``."""
    above, _, _ = path.rpartition("/")
    shown: list[_Row] = []
    left_out = 0
    for row in _rows(machines, "/dev"):
        if f"{path}/".startswith(f"{row[0]}/"):
            shown.append(row)
        elif row[0].rpartition("/")[0] == above:
            if len(shown) < _MOST_ROWS:
                shown.append(row)
            else:
                left_out += 1
    more = f"({left_out} more in {above} are left out)" if left_out else ""
    return "\n".join(filter(None, [_table(machines, shown), more]))


_Row = tuple[str, "list[str]"]


def _table(machines: Machines, rows: Sequence[_Row] | Iterator[_Row]) -> str:
    lines = [("", [name for name, _ in machines]), *rows]
    cells = [[path, *found] for path, found in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _rows(machines: Machines, below: str) -> Iterator[_Row]:
    """Yield each path from *below* on with what each machine has there."""
    path = below.rstrip("/")
    host = machines[0][1]
    spots = [_at(process, path) for _, process in machines]
    for at, found in _walk(spots, path):
        yield (
            at or "/",
            [
                _ABSENT if spot is None else _cell(spot, process, host)
                for spot, (_, process) in zip(found, machines, strict=True)
            ],
        )


def _at(process: Process, path: str) -> Spot | None:
    """Return what *process* sees at *path*; links are not followed."""
    spot = process.root.spot
    for name in filter(None, path.split("/")):
        entry = spot.inode.entries.get(name)
        if entry is None:
            return None
        spot = Spot(spot.mount, entry).top()
    return spot


def _walk(spots: list[Spot | None], path: str) -> Iterator[tuple[str, list[Spot | None]]]:
    yield path, spots
    names = {
        name
        for spot in spots
        if spot is not None
        and spot.mount.volume.fstype not in _PSEUDO
        and not path.endswith(f"/{TASKS}")  # the roots of containers, which have columns
        for name in spot.inode.entries
    }
    for name in sorted(names):
        yield from _walk([_below(spot, name) for spot in spots], f"{path}/{name}")


def _below(spot: Spot | None, name: str) -> Spot | None:
    if spot is None or name not in spot.inode.entries:
        return None
    return Spot(spot.mount, spot.inode.entries[name]).top()


def _cell(spot: Spot, process: Process, host: Process) -> str:
    words = [_described(spot.inode, process)]
    mount = spot.mount
    if spot.entry is mount.root and path_below(mount, process.root.spot) is not None:
        words.append(f"[{_mounted(mount, process, host)}]")
    return " ".join(words)


def _described(inode: Inode, process: Process) -> str:
    if inode.type is FileType.SYMLINK:
        cut = inode.target[: _MOST_OF_TARGET - 1] + "…"
        return f"-> {inode.target if len(inode.target) <= _MOST_OF_TARGET else cut}"
    words = [_WORDS[inode.type]]
    if inode.type in {FileType.CHARACTER, FileType.BLOCK}:
        words.append(f"{inode.major}:{inode.minor}")
    if inode.mode != _USUAL.get(inode.type):
        words.append(f"{inode.mode:04o}")
    owner = process.who.shown(inode.uid), process.who.shown(inode.gid)
    if owner != (0, 0):
        words.append("{}:{}".format(*owner))
    return " ".join(words)


def _mounted(mount: VfsMount, process: Process, host: Process) -> str:
    words = [mount.volume.fstype]
    place = "" if process is host else _on_host(mount, host)
    if place:
        words.append(f"host:{place}")
    elif mount.root.path != "/":
        words.append(mount.root.path)
    if mount.root.deleted:
        words.append("stale")
    if mount.read_only:
        words.append("ro")
    if mount.flags.nodev:
        words.append("nodev")
    return " ".join(words)


def _on_host(mount: VfsMount, host: Process) -> str:
    """Return the shortest path at which the host sees the root of *mount*; empty if none."""
    found: list[str] = []
    if mount.root.deleted:
        return ""
    for each in host.namespace.mounts:
        point = path_below(each, host.root.spot)
        if each.volume is mount.volume and point is not None and mount.root.is_below(each.root):
            rest = mount.root.path[len(each.root.path.rstrip("/")) :].rstrip("/")
            path = f"{point.rstrip('/')}{rest}" or "/"
            spot = _at(host, path)
            if spot is not None and spot.entry is mount.root:
                found.append(path)
    return min(found, key=lambda path: (len(path), path), default="")
