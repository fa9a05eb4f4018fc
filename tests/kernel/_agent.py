"""A process in a mount namespace of its own that does what the test asks for; stdlib only.

It is started as the "host" of a test, becomes a container's first process by forking, and
speaks JSON lines over a Unix socket with an abstract name, which does not depend on mounts.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import shutil
import signal
import socket
import stat
import sys
import traceback
from typing import Any

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MS_SHARED = 1 << 20
MNT_DETACH = 2
CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1

# A tmpfs on a directory that every machine has: nothing in it outlives the namespace.
SCRATCH = "/run"

# What an OCI runtime puts into every /dev: name, major, minor.
DEVICES = (
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
)
LINKS = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
)
PROPAGATIONS = {"private": MS_PRIVATE, "rslave": MS_SLAVE | MS_REC, "rshared": MS_SHARED | MS_REC}

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(call: str, *args: object) -> None:
    """Call a function of the C library that answers 0 or sets errno."""
    if getattr(_libc, call)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}{args}: {os.strerror(number)}")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount *source* at *target*."""
    _checked(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )


def bind(source: str, target: str, *, recursive: bool, read_only: bool, propagation: str) -> None:
    """Mount *source* at *target* as a runtime does, making what is missing of the target."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))
    if propagation:
        mount("", target, flags=PROPAGATIONS[propagation])
    if read_only:
        mount("", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)


def fill_dev(dev: str, *, copies_from: str = "") -> None:
    """Mount a fresh tmpfs at *dev* with what a runtime puts there.

    With *copies_from*, every node below that directory is copied too, as for a privileged
    container.
    """
    mount("tmpfs", dev, kind="tmpfs", flags=MS_NOSUID | MS_NOEXEC, data="mode=755,size=65536k")
    for name, major, minor in DEVICES:
        make_node(f"{dev}/{name}", major=major, minor=minor)
    for name in ("pts", "shm"):
        os.mkdir(f"{dev}/{name}")
    mount(
        "devpts",
        f"{dev}/pts",
        kind="devpts",
        flags=MS_NOSUID | MS_NOEXEC,
        data="newinstance,ptmxmode=0666,mode=0620",
    )
    flags = MS_NOSUID | MS_NOEXEC | MS_NODEV
    mount("shm", f"{dev}/shm", kind="tmpfs", flags=flags, data="mode=1777,size=65536k")
    for name, target in LINKS:
        os.symlink(target, f"{dev}/{name}")
    if copies_from:
        copy_nodes(copies_from, dev)


def copy_nodes(source: str, target: str) -> None:
    """Make at *target* each device node that is below *source* and missing there."""
    for directory, names, files in os.walk(source):
        names[:] = [name for name in names if name not in {"pts", "shm", "mqueue"}]
        copy = os.path.join(target, os.path.relpath(directory, source))
        os.makedirs(copy, exist_ok=True)
        for name in files:
            status = os.lstat(f"{directory}/{name}")
            is_node = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
            if is_node and not os.path.lexists(f"{copy}/{name}"):
                os.mknod(f"{copy}/{name}", status.st_mode, status.st_rdev)
                os.chmod(f"{copy}/{name}", stat.S_IMODE(status.st_mode))


def make_node(path: str, *, major: int, minor: int) -> None:
    """Make a character device node that all may use."""
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    os.chmod(path, 0o666)


def make_host(*, dev: str) -> None:
    """Turn this namespace into a test's host: with scratch space, and a ``/dev`` of its own or not.

    Args:
        dev: ``private`` for a tmpfs that the machine does not see, ``real`` for what is there.
    """
    mount("tmpfs", SCRATCH, kind="tmpfs", data="mode=755")
    if dev == "private":
        fill_dev("/dev")


def start_container(*, address: str, spec: dict[str, Any]) -> None:
    """Start a container whose first process connects to *address* and serves it."""
    if os.fork():
        return
    # The child makes the namespaces; its child is the first process in them.
    try:
        connection = connect(address)
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            die_with_parent()
            _checked("unshare", CLONE_NEWNS | CLONE_NEWPID)
            if first := os.fork():
                connection.close()
                os.waitpid(first, 0)
                return
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            die_with_parent()
            enter_container(**spec)
        except BaseException:  # noqa: BLE001 - whatever it is, the test is told
            answer(connection, error=traceback.format_exc())
        else:
            answer(connection, result=None)
            serve(connection)
    finally:
        os._exit(0)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; see PR_SET_PDEATHSIG(2const)."""
    _checked("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def enter_container(
    *, root: str, dev: str, volumes: list[dict[str, Any]], needed: list[str], nests: bool
) -> None:
    """Make a container's file system at *root*, the way a runtime does, and move into it.

    Args:
        root: a directory in the scratch space; it is made.
        dev: ``private``, ``snapshot`` (of the host's, as for a privileged container), or
            ``none`` where the volumes bring one.
        volumes: arguments of `bind`.
        needed: directories that the test's Python comes from; those on another file system than
            ``/`` are not seen through the overlay and are mounted.
        nests: whether it will hold containers itself, and so needs scratch space.
    """
    for name in ("upper", "work", "root"):
        os.makedirs(f"{root}/{name}")
    layers = f"lowerdir=/,upperdir={root}/upper,workdir={root}/work"
    root = f"{root}/root"
    mount("overlay", root, kind="overlay", data=layers)
    os.makedirs(f"{root}/proc", exist_ok=True)
    os.makedirs(f"{root}/dev", exist_ok=True)
    mount("proc", f"{root}/proc", kind="proc", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if dev != "none":
        fill_dev(f"{root}/dev", copies_from="/dev" if dev == "snapshot" else "")
    if nests:
        mount("tmpfs", root + SCRATCH, kind="tmpfs", data="mode=755")
    for directory in needed:
        if os.stat(directory).st_dev != os.stat("/").st_dev:
            bind(directory, root + directory, recursive=True, read_only=False, propagation="")
    for volume in volumes:
        bind(volume.pop("source"), root + volume.pop("target"), **volume)
    old_root = os.open("/", os.O_DIRECTORY)
    os.chdir(root)
    _checked("pivot_root", b".", b".")
    os.fchdir(old_root)
    os.close(old_root)
    mount("", ".", flags=MS_SLAVE | MS_REC)  # or the host would lose shared mounts as well
    _checked("umount2", b".", MNT_DETACH)
    os.chdir("/")


def make_shared(*, path: str) -> None:
    """Make *path* a mount of its own whose submounts spread to its copies."""
    os.makedirs(path, exist_ok=True)
    mount(path, path, flags=MS_BIND)
    mount("", path, flags=MS_SHARED)


def publish_root(*, path: str) -> None:
    """Mount this container's whole root at *path*, as a driver container does."""
    os.makedirs(path, exist_ok=True)
    mount("/", path, flags=MS_BIND | MS_REC)


def mount_tmpfs(*, path: str) -> None:
    """Mount a fresh tmpfs at *path*."""
    os.makedirs(path, exist_ok=True)
    mount("tmpfs", path, kind="tmpfs", data="mode=755")


def make_directory(*, path: str) -> None:
    """Make *path* and what is missing above it."""
    os.makedirs(path, exist_ok=True)


def remove_tree(*, path: str) -> None:
    """Remove *path* with all that is in it."""
    shutil.rmtree(path)


def describe(*, path: str) -> str:
    """Return what is at *path* itself, such as ``c 235:4323 0666``; empty if nothing is."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    kind = stat.filemode(status.st_mode)[0]
    device = status.st_rdev
    number = f" {os.major(device)}:{os.minor(device)}" if kind in "bc" else ""
    return f"{kind}{number} {stat.S_IMODE(status.st_mode):04o}"


def mountinfo() -> str:
    """Return this process's table of mounts."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def connect(address: str) -> socket.socket:
    """Connect to the test."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect("\0" + address)
    return connection


def answer(connection: socket.socket, **message: object) -> None:
    """Send one answer."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def serve(connection: socket.socket) -> None:
    """Call the functions that the test names, until it closes the connection."""
    for line in connection.makefile("rb"):
        request = json.loads(line)
        try:
            module = importlib.import_module(request["module"] or __name__)
            result = getattr(module, request["function"])(**request["arguments"])
        except Exception:  # noqa: BLE001 - whatever it is, the test is told
            answer(connection, error=traceback.format_exc())
        else:
            answer(connection, result=result)


def main() -> None:
    """Serve the test that listens at the address given."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    connection = connect(sys.argv[1])
    answer(connection, result=None)
    serve(connection)


if __name__ == "__main__":
    main()
