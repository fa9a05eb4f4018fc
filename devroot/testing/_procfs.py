"""``/proc`` in memory: live files of the processes, and what the drivers of the kernel say."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from devroot._filesystem import FileType
from devroot.testing._inodes import Inode, Volume, kernel_error
from devroot.testing._limits import Limit
from devroot.testing._vfs import path_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot.testing._process import Process
    from devroot.testing._vfs import Spot, VfsMount

INITIAL_USER_NAMESPACE: Final = 4026531837
"""PROC_USER_INIT_INO of include/linux/proc_ns.h."""

_OTHER_USER_NAMESPACE: Final = 4026532573
_ESCAPED: Final = {" ": r"\040", "\t": r"\011", "\n": r"\012", "\\": r"\134"}


class KernelFiles:
    """What the kernel shows in every ``/proc``, whichever processes that one lists."""

    def __init__(self) -> None:
        self._contents: dict[str, str] = {}
        self._everywhere: list[ProcFiles] = []

    def put(self, path: str, content: str) -> None:
        """Let the file *path*, given below ``/proc``, have this content."""
        self._contents[path] = content
        for files in self._everywhere:
            files.put(path, content)

    def get(self, path: str) -> str:
        """Return the content of *path*; empty if there is none."""
        return self._contents.get(path, "")

    def drop(self, path: str) -> None:
        """Let the file *path*, or all that is below the directory *path*, be no more."""
        for known in [name for name in self._contents if f"{name}/".startswith(f"{path}/")]:
            del self._contents[known]
        for files in self._everywhere:
            files.drop(path)

    def show_in(self, files: ProcFiles) -> None:
        """Show all of it in *files*, from now on."""
        self._everywhere.append(files)
        for path, content in self._contents.items():
            files.put(path, content)


class ProcFiles:
    """One instance of procfs: that of one PID namespace.

    Attributes:
        volume: the file system.
    """

    def __init__(self, volume: Volume, kernel_files: KernelFiles) -> None:
        self.volume = volume
        self._pids: dict[Process, int] = {}
        volume.root.mode, volume.root.lacks = 0o555, Limit.PROC
        link = volume.new(FileType.SYMLINK, mode=0o777)
        link.live = self._self
        volume.root.add("self", link)
        for name in ("acpi", "bus", "sys"):
            self._directory(name).lacks = Limit.PROC
        self._directory("driver")
        for name in ("kcore", "keys"):
            self._live(name, _unknown)
        kernel_files.show_in(self)

    def add(self, process: Process, pid: int) -> None:
        """List *process* by the number *pid*."""
        who = process.who
        self._pids[process] = pid
        self._live(f"{pid}/mountinfo", lambda _: mountinfo(process))
        self._live(f"{pid}/status", lambda reader: _status(process, pid, reader or process))
        for name in ("uid_map", "gid_map"):
            self.put(f"{pid}/{name}", f"{0:10} {who.first:10} {who.count:10}\n")
        link = self.volume.new(FileType.SYMLINK, mode=0o777)
        link.magic, link.live = True, lambda reader: _user_namespace(process, reader or process)
        ns = self._directory(f"{pid}/ns")
        ns.add("user", link)
        ns.mode = 0o511
        top = self._directory(str(pid))
        for inode in (top, *(inode for _, inode in top.walk())):
            inode.uid, inode.gid = who.uid, who.gid
            inode.lacks = Limit.PROC if inode.is_directory else None

    def put(self, path: str, content: str) -> None:
        """Let the file *path* have this content."""
        self._live(path, lambda _: content)

    def drop(self, path: str) -> None:
        """Let the file *path*, or the directory *path* with all that is in it, be no more."""
        above, _, name = path.rpartition("/")
        directory = self._directory(above)
        directory.absent.add(name)
        if directory.has(name):
            inode = directory.child(name)
            for below in tuple(inode.entries):
                self.drop(f"{path}/{below}")
            directory.drop(name)

    def _self(self, process: Process | None) -> str:
        for each, pid in self._pids.items():
            if each is process:
                return str(pid)
        raise kernel_error(errno.ENOENT)

    def _live(self, path: str, content: Callable[[Process | None], str]) -> None:
        self._file(path).live = content

    def _file(self, path: str) -> Inode:
        above, _, name = path.rpartition("/")
        directory = self._directory(above)
        if not directory.has(name):
            directory.add(name, self.volume.new(FileType.REGULAR, mode=0o444))
        return directory.child(name)

    def _directory(self, path: str) -> Inode:
        directory = self.volume.root
        for name in filter(None, path.split("/")):
            if not directory.has(name):
                directory.add(name, self.volume.new(FileType.DIRECTORY, mode=0o555))
            directory = directory.child(name)
        return directory


def mountinfo(process: Process) -> str:
    """Return the mount table of *process* as text; proc_pid_mountinfo(5)."""
    lines: list[str] = []
    for mount in sorted(process.namespace.mounts, key=lambda mount: mount.id):
        point = path_below(mount, process.root.spot)
        if point is not None:
            lines.append(_line(mount, point, process.root.spot))
    return "".join(lines)


def _line(mount: VfsMount, point: str, reader: Spot) -> str:
    volume = mount.volume
    root = mount.root.path + ("//deleted" if mount.root.deleted else "")
    tags: list[str] = []
    if mount.group is not None:
        tags.append(f"shared:{mount.group}")
    if mount.master is not None:
        tags.append(f"master:{mount.master}")
        dominant = mount.kernel.dominant_of(mount, reader)
        if dominant not in {None, mount.master}:
            tags.append(f"propagate_from:{dominant}")
    words = [
        str(mount.id),
        str(mount.parent_id),
        "{}:{}".format(*numbers(volume.device)),
        _escape(root),
        _escape(point),
        str(mount.flags),
        *tags,
        "-",
        volume.fstype,
        _escape(volume.source),
        ",".join(["ro" if volume.read_only else "rw", *filter(None, [volume.options])]),
    ]
    return " ".join(words) + "\n"


def device_number(major: int, minor: int) -> int:
    """Return the number that stat(2) gives on Linux for *major* and *minor* (decimal)."""
    return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)


def numbers(device: int) -> tuple[int, int]:
    """Return major and minor (decimal) of a number that stat(2) gives on Linux."""
    return device >> 8 & 0xFFF, (device & 0xFF) | (device >> 12 & ~0xFF)


def _escape(text: str) -> str:
    return "".join(_ESCAPED.get(character, character) for character in text)


def _status(process: Process, pid: int, reader: Process) -> str:
    who = process.who
    uid, gid = ("\t".join([str(reader.who.shown(each))] * 4) for each in (who.uid, who.gid))
    groups = " ".join(str(reader.who.shown(each)) for each in sorted(who.groups))
    return (
        f"Name:\tplugin\nPid:\t{pid}\nUid:\t{uid}\nGid:\t{gid}\nGroups:\t{groups} \n"
        f"CapInh:\t0000000000000000\nCapPrm:\t{who.capabilities:016x}\n"
        f"CapEff:\t{who.capabilities:016x}\nCapBnd:\t{who.bounding:016x}\n"
    )


def _user_namespace(process: Process, reader: Process) -> str:
    """Return what the link of the user namespace says to *reader*; see namespaces(7).

    Raises:
        OSError: ``EACCES`` if it may not look into the process.
    """
    if reader is not process and not reader.who.may_inspect(process.who):
        raise kernel_error(errno.EACCES)
    number = INITIAL_USER_NAMESPACE if process.who.initial else _OTHER_USER_NAMESPACE
    return f"user:[{number}]"


def _unknown(_: Process | None) -> str:
    raise Limit.PROC.met()
