"""What a fork, a new process of `multiprocessing` and an exec find of devroot's objects."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devroot import ContainerPath, ContainerView, LocalFileSystem
from devroot._mknod import _places
from devroot.testing import FakeHost, FakeUdev
from tests._children import environment, in_child
from tests._threads import needs_whole_forks

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot._local._system import Resolver

ROOT = ContainerPath("/")
CHILDREN = 8

# A fake host that three threads change all the time, and forks that change it too.
FORKS = """
import json, os, signal, threading, warnings
signal.alarm(300)  # a fork that takes a lock with it would wait for ever
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
from devroot import DeviceNode, DriverRoot, HostDevFallback, mknod
from devroot.testing import FakeHost

host = FakeHost()
host.devtmpfs()
pod = host.container(mounts=["/dev:/host-dev/dev"])
stop = threading.Event()

def change(number):
    while not stop.is_set():
        host.file(f"/a/{number}/b")
        host.remove(f"/a/{number}")
        make(f"x/{number}")

def make(path):
    driver_root = DriverRoot(host="/", container="/", view=pod.view)
    dev_root = driver_root.dev_root(fallback=HostDevFallback("/host-dev"))
    return len(mknod(dev_root, [DeviceNode(path=path, major=1, minor=3)]).outcomes)

threads = [threading.Thread(target=change, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
ends = []
for number in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        host.file("/only/there")
        made = make("y")
        host.assert_on_host("/dev/y")
        os._exit(0 if made == 1 and "/only" in host.tree() else 1)
    ends.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([ends, host.has("/only"), host.has("/dev/y")]))
"""

# Records go to other processes by pickle, however these are started.
METHODS = """
import json, multiprocessing, sys
from devroot import ContainerPath, ContainerView, DeviceNode, HostPath, Mount, MountTable, examine
from devroot.udev import DeviceCatalog

def work(asked):
    view, node, path, catalog = asked
    assert set(catalog.refresh().nodes) or not catalog
    own = view.refresh()
    reach = examine(own, path)
    read = own.filesystem.read_bytes(ContainerPath("/"), "proc/self/stat")
    return [str(node), reach.verdict.value, reach.evidence == examine(view, path).evidence,
            int(read.split()[0]) != PARENT, view.mountinfo == own.mountinfo]

PARENT = int(sys.argv[1])

if __name__ == "__main__":
    table = MountTable([Mount(host=HostPath("/dev"), container=ContainerPath("/host-dev/dev"))])
    view = ContainerView.of_process(mounts=table)
    asked = view, DeviceNode(path="x", major=1, minor=3), ContainerPath("/proc"), \
        DeviceCatalog.of_sysfs(view=view)
    found = {}
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(2) as pool:
            found[method] = pool.map(work, [asked] * 4)
    print(json.dumps(found))
"""

QUIET = """
import atexit, json, threading
later = []
register = atexit.register
atexit.register = lambda function, *rest, **named: (
    later.append(function.__module__), register(function, *rest, **named))[1]
import devroot
from devroot import DeviceNode, DevRoot, cdi, mknod
from devroot.testing import FakeHost, FakeUdev
from devroot.udev import DeviceCatalog

host = FakeHost()
host.devtmpfs()
dev_root = DevRoot(container="/", view=host.view)
mknod(dev_root, [DeviceNode(path="x", major=1, minor=3)])
devroot.ContainerView.of_process().refresh()
DeviceCatalog.of_host(FakeUdev(host))
for name in devroot.__all__:
    getattr(devroot, name)
own = [module for module in later if module.startswith("devroot")]
print(json.dumps([threading.active_count(), own]))
"""

# What an exec'd programme has of descriptors, apart from the one with which it looks.
LISTING = """
import json, os
listing = os.open("/proc/self/fd", os.O_RDONLY)
print(json.dumps(sorted(set(map(int, os.listdir(listing))) - {listing})))
"""

needs_procfs = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="a procfs tells what a process has open"
)


def run(programme: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a programme with this devroot and unmeasured, and return how it ended."""
    command = [sys.executable, *(["-c", programme] if "\n" in programme else [programme])]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, env=environment(), check=False
    )


@needs_whole_forks
def test_a_fork_meets_no_lock() -> None:
    """A fork while threads are at work on a fake has a whole copy, and can change that alone."""
    done = run(FORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [[0] * 20, False, False]


@needs_procfs
def test_a_fork_uses_what_it_inherits() -> None:
    """A view, its file system and what it has learnt serve a child process as they are."""
    view = ContainerView.of_process()
    files, pid = view.filesystem, os.getpid()
    assert isinstance(files, LocalFileSystem)
    assert files.read_bytes(ROOT, "proc/self/stat").split()[0] == str(pid).encode()

    def look() -> tuple[bool, bool]:
        own = view.refresh()
        stat = own.filesystem.read_bytes(ROOT, "proc/self/stat")
        return own.mountinfo == view.mountinfo, stat.split()[0] == str(os.getpid()).encode()

    assert in_child(look) == (True, True)


def test_forks_choose_other_names() -> None:
    """Working directories of a parent and its forks have different names: no seed is inherited."""
    names = {in_child(_places._new_name) for _ in range(CHILDREN)}
    assert len(names | {_places._new_name()}) == CHILDREN + 1


@needs_procfs
def test_every_start_method_of_multiprocessing(tmp_path: Path) -> None:
    """Views, paths, nodes and verdicts reach worker processes, and are worth the same there."""
    script = tmp_path / "script.py"
    script.write_text(METHODS)
    done = run(str(script), str(os.getpid()))
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found) >= {"fork", "spawn"}
    for answers in found.values():
        assert len(answers) == 4
        for node, verdict, same, elsewhere, table in answers:
            assert (node, same, elsewhere, table) == ("/dev/x c 1:3 0666 0:0", True, True, True)
            assert verdict in {"private", "unknown"}


def inherited() -> set[int]:
    """Return the descriptors that a programme gets which is started without closing any."""
    done = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, close_fds=False, check=True
    )
    return set(json.loads(done.stdout))


@needs_procfs
@pytest.mark.parametrize("resolver", ["auto", "walk", "portable"])
def test_no_handle_gets_into_another_programme(tmp_path: Path, resolver: Resolver) -> None:
    """Handles that are open, locked or not, are closed by exec."""
    (tmp_path / "a").mkdir()
    files, root = LocalFileSystem(resolver=resolver), ContainerPath(str(tmp_path))
    before = inherited()
    with files.open_directory(root, "") as top, top.open_directory("a") as below:
        assert below.try_lock()
        assert inherited() == before


@needs_procfs
def test_no_news_gets_into_another_programme() -> None:
    """Nor does the descriptor of a watch on a fake."""
    before = inherited()
    monitor = FakeUdev(FakeHost()).monitor()
    assert inherited() == before
    monitor.close()


@needs_procfs
@pytest.mark.parametrize("resolver", ["auto", "walk"])
def test_no_descriptor_is_open_to_an_exec_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resolver: Resolver
) -> None:
    """Another thread may exec at any time: each descriptor is closed on exec from its first day."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("/a/file")
    before, flags = set(map(int, os.listdir("/proc/self/fd"))), list[int]()

    def seen(name: str) -> None:
        real = getattr(os, name)

        def look(*arguments: object, **named: object) -> object:
            for descriptor in set(map(int, os.listdir("/proc/self/fd"))) - before:
                try:
                    flags.append(fcntl.fcntl(descriptor, fcntl.F_GETFD))
                except OSError:  # that of the list itself
                    continue
            return real(*arguments, **named)

        monkeypatch.setattr(os, name, look)

    for name in ("fstat", "readlink", "read", "mkdir", "rename", "fsync", "close"):
        seen(name)
    files, root = LocalFileSystem(resolver=resolver), ContainerPath(str(tmp_path))
    assert files.read_bytes(root, "link") == b"content"
    assert files.resolve(root, "link") == root / "a/file"
    with files.open_directory(root, "a") as directory:
        directory.write_file("b", b"x", mode=0o600)
        directory.make_directory("c", mode=0o700, uid=os.getuid(), gid=os.getgid())
        directory.rename("b", directory, "file", replace=True)
    assert len(flags) > 10
    assert set(flags) == {fcntl.FD_CLOEXEC}


@needs_procfs
def test_a_lock_is_shared_with_a_fork(tmp_path: Path) -> None:
    """A handle that a fork inherits holds the same lock, until both have closed it."""
    files, root = LocalFileSystem(), ContainerPath(str(tmp_path))
    reader, writer = os.pipe()
    handle = files.open_directory(root, "")
    assert handle.try_lock()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        os._exit(0)
    handle.close()
    with files.open_directory(root, "") as other:
        assert not other.try_lock()
    os.write(writer, b"!")
    os.waitpid(child, 0)
    with files.open_directory(root, "") as other:
        assert other.try_lock()
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("resolver", ["auto", "portable"])
@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_open_directory_stays_where_it_is(
    tmp_path: Path, resolver: Resolver, act: Callable[[object], object]
) -> None:
    """It cannot be pickled or copied: its descriptor would be closed twice, or be another file."""
    files = LocalFileSystem(resolver=resolver)
    with files.open_directory(ContainerPath(str(tmp_path)), "") as handle:
        with pytest.raises(TypeError, match="cannot be pickled or copied; open it again"):
            act(handle)
        assert handle.names() == []


def test_nothing_is_done_behind_the_back() -> None:
    """Loading and using devroot starts no thread, and leaves nothing to be done at exit."""
    done = run(QUIET)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [1, []]
