"""What is where, in words: the files and mounts of a host and its containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot._filesystem import FileType
from devroot.testing._procfs import numbers
from devroot.testing._vfs import Spot, path_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot.testing._handles import Process
    from devroot.testing._inodes import Inode
    from devroot.testing._vfs import VfsMount

_LETTERS = {FileType.CHARACTER: "c", FileType.BLOCK: "b"}


def render(machines: list[tuple[str, Process]], *, below: str) -> str:
    """Return what each of the machines sees at *below*, one after the other."""
    return "\n".join(
        "\n".join([f"{name}:", *(f"  {line}" for line in _of(process, below))])
        for name, process in machines
    )


def _of(process: Process, below: str) -> Iterator[str]:
    """Yield a line for each file, with what is mounted on it."""
    start = process.root.spot
    path = ""
    for name in filter(None, below.split("/")):
        entry = start.inode.entries.get(name)
        if entry is None:
            yield f"{below} is not there"
            return
        path += f"/{name}"
        start = Spot(start.mount, entry).top()
    yield from _lines(start, path, process)


def _lines(spot: Spot, path: str, process: Process) -> Iterator[str]:
    yield f"{path}{_described(spot.inode)}{_mounted(spot, process)}"
    if spot.mount.volume.fstype in {"proc", "sysfs"}:
        return
    for name, entry in sorted(spot.inode.entries.items()):
        yield from _lines(Spot(spot.mount, entry).top(), f"{path}/{name}", process)


def _described(inode: Inode) -> str:
    if inode.is_directory:
        return "/"
    if inode.type is FileType.SYMLINK:
        return f" -> {inode.target}"
    if inode.type in _LETTERS:
        owner = f" {inode.uid}:{inode.gid}" if inode.uid or inode.gid else ""
        letter = _LETTERS[inode.type]
        return f" {letter} {inode.major}:{inode.minor} {inode.mode:04o}{owner}"
    return "" if inode.type is FileType.REGULAR else f" ({inode.type.value})"


def _mounted(spot: Spot, process: Process) -> str:
    mount = spot.mount
    if spot.entry is not mount.root or path_below(mount, process.root.spot) is None:
        return ""
    return f"  [{described_mount(mount)}]"


def described_mount(mount: VfsMount) -> str:
    """Return a mount in few words."""
    volume = mount.volume
    major, minor = numbers(volume.device)
    words = [volume.fstype, f"{major}:{minor}"]
    if mount.root.path != "/" or mount.root.deleted:
        words.append(mount.root.path + (" deleted" if mount.root.deleted else ""))
    words += [name for name in ("read_only", "nodev") if getattr(mount.flags, name)]
    return " ".join(words)
