"""Many threads use the same objects at once, and each gets what it would get alone."""

from __future__ import annotations

import ast
import errno
import inspect
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

import devroot
from devroot import (
    ContainerPath,
    DeviceNode,
    DevRoot,
    DriverRoot,
    FileSystem,
    HostDevFallback,
    LocalFileSystem,
    MountInfoTable,
    mknod,
)
from devroot.cdi import write
from devroot.testing import FakeContainer, FakeHost, FakeUdev, Operation, TreeFileSystem
from devroot.udev import Change, DeviceCatalog, watch
from tests._threads import THREADS, at_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot import Report

ROUNDS = 20
CHANNELS = "nvidia-caps-imex-channels"
NODES = [DeviceNode(path=f"{CHANNELS}/channel{n}", major=510, minor=n) for n in range(16)]

# Every public name is asked for by every thread, each in an order of its own.
PROGRAMME = """
import json, random, sys, threading
sys.setswitchinterval(1e-6)
import devroot, importlib
names = [*devroot.__all__]
rooms = ["cdi", "kubernetes", "nvidia", "oci", "testing", "udev"]
barrier, said, found = threading.Barrier(8), [], []

def ask(number):
    chance = random.Random(number)
    mine, others = list(names), list(rooms)
    chance.shuffle(mine)
    chance.shuffle(others)
    barrier.wait()
    try:
        for room in others:
            module = importlib.import_module(f"devroot.{room}")
            for name in module.__all__:
                getattr(module, name)
        found.append({name: id(getattr(devroot, name)) for name in mine})
    except BaseException as error:
        said.append(repr(error))

threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
same = all(one == found[0] for one in found)
print(json.dumps([said, len(found), same, len(found[0])]))
"""


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a devtmpfs."""
    host = FakeHost()
    host.devtmpfs()
    return host


@pytest.fixture
def pod(host: FakeHost) -> FakeContainer:
    """Return a container that has the host's ``/dev`` mounted aside."""
    return host.container(mounts=["/dev:/host-dev/dev"])


def dev_root_of(pod: FakeContainer) -> DevRoot:
    """Return the dev root that shows the host's ``/dev`` in the container."""
    driver_root = DriverRoot(host="/", container="/", view=pod.view)
    return driver_root.dev_root(fallback=HostDevFallback("/host-dev"))


@pytest.mark.parametrize("attempt", range(5))
def test_names_are_loaded_by_many_threads(attempt: int) -> None:
    """Whoever asks for a name first, every thread gets the same object, and none gets an error."""
    del attempt
    environment = {**os.environ, "PYTHONPATH": str(Path(devroot.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMME],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [[], THREADS, True, len(devroot.__all__)]


def test_a_package_is_loaded_before_a_room_of_it() -> None:
    """No room loads a room of another package first: that waits for the package with a lock held.

    A thread that loads the package at the same time waits for that lock, and Python ends such a
    deadlock by giving one of the two a half-loaded module.
    """
    root = Path(devroot.__file__).parent
    files = {
        path: ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for path in root.rglob("*.py")
    }
    packages = {
        name.removesuffix(".__init__") for name in files.values() if name.endswith("__init__")
    }
    packages -= {"devroot", "devroot._cli", "devroot.testing"}  # these load no room of theirs
    for path, name in files.items():
        loaded: set[str] = set()
        for module in _imported(ast.parse(path.read_text(encoding="utf-8")).body):
            package = module.rpartition(".")[0]
            if package in packages and not f"{name}.".startswith(f"{package}."):
                assert package in loaded, f"{name} imports {module} before {package}"
            loaded.add(module)


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    """Yield what is imported at run time, in the order of the lines."""
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            yield str(statement.module)
        elif isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif not (isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)):
            for block in ("body", "orelse", "handlers", "finalbody"):
                yield from _imported(getattr(statement, block, []))


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


def test_the_same_nodes_are_made_on_a_fake(host: FakeHost, pod: FakeContainer) -> None:
    """Each node is made by one thread and right for all others, and nothing is left behind."""
    for _ in range(ROUNDS):
        dev_root = dev_root_of(pod)
        reports = at_once(partial(_make, dev_root))
        results = Counter(one.result.value for report in reports for one in report.outcomes)
        assert results == {"created": len(NODES), "unchanged": len(NODES) * (THREADS - 1)}
        for node in NODES:
            host.assert_on_host(node)
        with host.filesystem.open_directory(ContainerPath("/dev"), CHANNELS) as directory:
            assert sorted(directory.names()) == sorted(node.path.name for node in NODES)
        host.remove(f"/dev/{CHANNELS}")


def _make(dev_root: DevRoot, _thread: int) -> Report:
    return mknod(dev_root, NODES)


@pytest.mark.parametrize("kind", [FakeHost, FakeContainer, FakeUdev, TreeFileSystem])
def test_every_method_of_a_fake_is_one_step(kind: type) -> None:
    """A method that a test calls is atomic, unless it is a call of one that is, or an operation."""
    operations = {name for name in vars(FileSystem) if not name.startswith("_")}
    others = {"container", "pod", "monitor", "records", "within", "before", "fail", "restart"}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in operations | others:
            assert hasattr(method, "__wrapped__"), name


def test_a_scene_is_set_by_many_threads(host: FakeHost) -> None:
    """Directories that several threads need are made once, and every file is another one."""
    at_once(partial(_set_scene, host))
    names = itertools.product(range(50), range(THREADS))
    paths = [f"/a/b{directory}/c{thread}" for directory, thread in names]
    files = [host.filesystem.status(ContainerPath("/"), path) for path in paths]
    assert len({found.inode for found in files}) == len(paths)


def _set_scene(host: FakeHost, thread: int) -> None:
    for directory in range(50):
        host.file(f"/a/b{directory}/c{thread}")


def test_containers_are_started_by_many_threads(host: FakeHost) -> None:
    """Each has a name and mounts of its own."""
    containers = at_once(lambda _thread: host.container(mounts=["/dev:/host-dev/dev"]))
    assert len(host.containers) == THREADS
    assert len({container.name for container in containers}) == THREADS
    tables = [container.view.mountinfo for container in containers]
    assert len({mount.mount_id for table in tables for mount in table}) == sum(map(len, tables))


def test_a_fault_meets_one_thread(host: FakeHost) -> None:
    """Operations are counted over all threads, and exactly the one that was meant fails."""
    files = host.filesystem
    files.fail("status", errno.EIO, nth=THREADS * 25, times=1)

    def look(_thread: int) -> int:
        failed = 0
        for _ in range(50):
            try:
                files.status(ContainerPath("/"), "dev")
            except OSError as error:
                failed += error.errno == errno.EIO
        return failed

    assert sum(at_once(look)) == 1


def test_a_hook_waits_for_another_thread(host: FakeHost) -> None:
    """While a hook runs, others change the fake: that is what it is for."""
    waited: list[bool] = []

    def hook(_operation: Operation) -> None:
        other = Thread(target=host.file, args=("/by/another",), daemon=True)
        other.start()
        other.join(60)  # for ever, if the hook's own thread held the lock
        waited.append(other.is_alive())

    host.filesystem.before(hook)
    assert host.filesystem.status(ContainerPath("/"), "by").is_directory
    assert waited == [False]


def test_one_thread_has_the_lock(host: FakeHost) -> None:
    """Of many handles on one directory of a fake one gets its lock, and the next once it closes."""
    handles = [host.filesystem.open_directory(ContainerPath("/"), "dev") for _ in range(THREADS)]
    taken = at_once(lambda thread: handles[thread].try_lock())
    assert sum(taken) == 1
    handles[taken.index(True)].close()
    others = [handle for handle, had in zip(handles, taken, strict=True) if not had]
    assert others[0].try_lock()
    for handle in others:
        handle.close()


def test_news_comes_from_many_threads(host: FakeHost, pod: FakeContainer) -> None:
    """One thread watches and hears of each device that others plug in and pull out, once."""
    udev = FakeUdev(host, waits=True)
    added, removed = set[str](), set[str]()
    events = watch(dev_root_of(pod), DeviceCatalog.of_host(udev.within(pod)))

    def follow() -> None:
        with events:
            for event in events:
                assert event.node is not None
                seen = added if event.change is Change.ADDED else removed
                assert str(event.node.path) not in seen
                seen.add(str(event.node.path))
                if len(removed) == THREADS * 10:
                    return

    watcher = Thread(target=follow)
    watcher.start()
    at_once(partial(_plug, udev))
    watcher.join()
    assert added == removed == {f"/dev/x/{n}" for n in range(THREADS * 10)}
    assert events.poll(0) is None


def _plug(udev: FakeUdev, thread: int) -> None:
    for minor in range(thread * 10, thread * 10 + 10):
        udev.plug(f"x/{minor}", major=240, minor=minor, subsystem="x")
        udev.unplug(f"x/{minor}")


@pytest.mark.parametrize("refused", [False, True])
def test_one_file_system_for_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, refused: bool
) -> None:
    """Threads share the real file system, also while it learns that openat2 is refused."""
    if refused:
        monkeypatch.setattr("devroot._syscalls.openat2", _refuse)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("/a/file")
    for _ in range(ROUNDS):
        files, root = LocalFileSystem(), ContainerPath(str(tmp_path))
        found = at_once(partial(_look, files, root))
        assert found == [(root / "a/file", b"content", ["file"])] * THREADS


def _refuse(*_arguments: object, **_named: object) -> int:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def _look(
    files: LocalFileSystem, root: ContainerPath, _thread: int
) -> tuple[ContainerPath, bytes, list[str]]:
    with files.open_directory(root, "a") as opened:
        return files.resolve(root, "link"), files.read_bytes(root, "link"), opened.names()


def test_a_spec_is_written_by_many_threads(host: FakeHost) -> None:
    """The file is one that a thread has written, complete, and no other one is left."""
    host.directory("/var/run/cdi")
    node = {"path": "/dev/null", "hostPath": "/dev/null"}

    def publish(thread: int) -> str:
        edits = {"deviceNodes": [node], "env": [f"THREAD={thread}"]}
        device = {"name": "one", "containerEdits": edits}
        spec = {"cdiVersion": "0.5.0", "kind": "example.com/class", "devices": [device]}
        return write(host.view, spec)

    (name,) = set(at_once(publish))
    root = ContainerPath("/var/run/cdi")
    with host.filesystem.open_directory(root, "") as directory:
        assert directory.names() == [name]
    spec = json.loads(host.filesystem.read_bytes(root, name))
    assert spec["devices"][0]["containerEdits"]["env"][0] in {f"THREAD={n}" for n in range(THREADS)}
