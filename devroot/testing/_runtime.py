"""How a container runtime makes a container: its root, its ``/proc``, its ``/dev``, its mounts.

The defaults are those of the OCI runtime specification and of the runtimes that implement it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import attrs

from devroot._filesystem import FileType
from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath
from devroot.errors import InvalidMountError, InvalidSceneError
from devroot.testing._limits import Limit
from devroot.testing._options import Flags
from devroot.testing._vfs import Spot

if TYPE_CHECKING:
    from collections.abc import Collection

    from devroot.testing._inodes import Inode, Volume
    from devroot.testing._peers import Propagation

ProcMask = Literal["", "directory", "params"]

_CAPABILITIES: Final = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE"
    " NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO"
    " SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME"
    " SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG"
    " WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
)
CAPABILITY_BITS: Final = {name: bit for bit, name in enumerate(_CAPABILITIES.split())}
"""The capabilities of linux/capability.h, by their bits."""

DEFAULT_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "NET_RAW",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
"""What containerd gives to a container that asks for nothing: 0xa80425fb."""

DEV_NODES: Final = (
    "char /dev/full 1:7 0666",
    "char /dev/null 1:3 0666",
    "char /dev/random 1:8 0666",
    "char /dev/tty 5:0 0666",
    "char /dev/urandom 1:9 0666",
    "char /dev/zero 1:5 0666",
)
DEV_LINKS: Final = (
    "link /dev/core /proc/kcore",
    "link /dev/fd /proc/self/fd",
    "link /dev/ptmx pts/ptmx",
    "link /dev/stderr /proc/self/fd/2",
    "link /dev/stdin /proc/self/fd/0",
    "link /dev/stdout /proc/self/fd/1",
)
IMAGE: Final = (
    "dir /dev",
    "file /etc/hostname",
    "file /etc/hosts\n127.0.0.1 localhost\n",
    "file /etc/resolv.conf",
    "dir /proc",
    "dir /run",
    "dir /sys",
    "dir /tmp 1777",
    "dir /var",
    "link /var/run /run",
)
NOT_COPIED: Final = frozenset({"fd", "mqueue", "pts", "shm"})
"""What a runtime passes over when it copies the host's nodes for a privileged container."""

FILES_OF_RUNTIMES: Final = frozenset(
    {"/dev/termination-log", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}
)
"""What the kubelet and the runtime mount files on."""

TASKS: Final = "io.containerd.runtime.v2.task"
ROOTS: Final = f"/run/containerd/{TASKS}/k8s.io/{{}}/rootfs"
"""Where a host shows the root of a container, by a number for each."""

PROC: Final = Flags(nosuid=True, nodev=True, noexec=True)
DEV: Final = Flags(nosuid=True, noexec=True)
SYS: Final = Flags(read_only=True, nosuid=True, nodev=True, noexec=True)

_OPTIONS: Final = frozenset(
    {
        *("ro", "rro", "rw", "bind", "rbind", "relatime"),
        *("suid", "nosuid", "dev", "nodev", "exec", "noexec"),
    }
)
_NOT_MODELLED: Final = {
    **dict.fromkeys(("unbindable", "runbindable"), Limit.UNBINDABLE),
    **dict.fromkeys(("idmap", "ridmap", "U"), Limit.IDMAP),
    **dict.fromkeys(("z", "Z"), Limit.LABELS),
    **dict.fromkeys(
        ("O", "copy", "nocopy", "atime", "noatime", "diratime", "nodiratime"),
        Limit.MOUNT_OPTIONS,
    ),
    **dict.fromkeys(("strictatime", "nosymfollow", "cached", "delegated"), Limit.MOUNT_OPTIONS),
}
_PROPAGATIONS: Final[dict[str, Propagation]] = {
    "private": "private",
    "rprivate": "private",
    "slave": "slave",
    "rslave": "slave",
    "shared": "shared",
    "rshared": "shared",
}


@attrs.frozen(kw_only=True)
class Binding:
    """A mount that a container asks for, with the options that a runtime takes.

    Attributes:
        mount: what is declared.
        read_only: whether it is read-only although that is not declared.
        recursive: whether what is mounted below the host path comes along.
        recursive_read_only: whether that is read-only as well.
        nosuid: whether set-ID bits have no effect on it.
        nodev: whether device nodes on it cannot be opened.
        noexec: whether programmes on it cannot be run.
        propagation: with whom it shares what is mounted on it later.
        is_file: whether it is a file, if it is made.
        source: where it is on the host, if it is not the user who says so.
        source_is_tmpfs: whether that is a tmpfs.
        source_mode: permission bits (octal) of it, and its group, if it is made.
        lacks: what is in it on Linux and not here; None if there is nothing.
    """

    mount: Mount
    read_only: bool = False
    recursive: bool = True
    recursive_read_only: bool = False
    nosuid: bool = False
    nodev: bool = False
    noexec: bool = False
    propagation: Propagation = "private"
    is_file: bool = False
    source: str = ""
    source_is_tmpfs: bool = False
    source_mode: tuple[int, int] = (0o755, 0)
    lacks: Limit | None = None

    @classmethod
    def of(cls, mount: str | Mount) -> Binding:
        """Return what *mount* says: ``HOST:CONTAINER[:OPTION,...]``, or a `Mount`.

        Raises:
            InvalidMountError: it is not of that form.
            NotModelledError: it is, and has an option of runtimes that is not modelled.
        """
        if isinstance(mount, Mount):
            return cls(mount=mount, is_file=str(mount.container) in FILES_OF_RUNTIMES)
        host, *rest = mount.split(":")
        words = set(rest[1].split(",")) if len(rest) == 2 else set[str]()  # noqa: PLR2004 - path and options
        if len(rest) not in {1, 2}:
            raise InvalidMountError(mount, reason="write HOST:CONTAINER, or HOST:CONTAINER:OPTION")
        for word in sorted(words & set(_NOT_MODELLED)):
            raise _NOT_MODELLED[word].met(mount)
        known = {*_OPTIONS, *_PROPAGATIONS}
        if words - known:
            reason = f"{', '.join(sorted(words - known))}: there are {', '.join(sorted(known))}"
            raise InvalidMountError(mount, reason=reason)
        propagation: Propagation = "private"
        for word in words & set(_PROPAGATIONS):
            propagation = _PROPAGATIONS[word]
        return cls(
            mount=Mount(
                host=HostPath(host),
                container=ContainerPath(rest[0]),
                read_only=bool(words & {"ro", "rro"}),
            ),
            recursive="bind" not in words,
            recursive_read_only="rro" in words,
            nosuid="nosuid" in words,
            nodev="nodev" in words,
            noexec="noexec" in words,
            propagation=propagation,
        )


def capability_bits(names: Collection[str]) -> int:
    """Return the effective set with the capabilities *names*, with or without ``CAP_``.

    Raises:
        InvalidSceneError: there is none of that name.
    """
    bits = 0
    for name in names:
        short = name.upper().removeprefix("CAP_")
        if short not in CAPABILITY_BITS:
            known = ", ".join(sorted(CAPABILITY_BITS))
            call = f"capabilities={sorted(names)}"
            raise InvalidSceneError(call, reason=f"{name!r} is none of {known}")
        bits |= 1 << CAPABILITY_BITS[short]
    return bits


def copy_nodes(source: Spot, target: Inode, volume: Volume) -> None:
    """Make in *target* each device node that is seen below *source* and missing there."""
    for name, entry in source.inode.entries.items():
        below = Spot(source.mount, entry).top()
        inode = below.inode
        if name in NOT_COPIED:
            continue
        if inode.is_directory:
            target.add(name, volume.new(FileType.DIRECTORY, mode=inode.mode))
            copy_nodes(below, target.child(name), volume)
        elif inode.type in {FileType.CHARACTER, FileType.BLOCK} and not target.has(name):
            copy = volume.new(inode.type, mode=inode.mode)
            copy.uid, copy.gid = inode.uid, inode.gid
            copy.major, copy.minor = inode.major, inode.minor
            target.add(name, copy)
