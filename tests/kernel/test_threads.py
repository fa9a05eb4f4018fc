"""Threads and forks at the same device nodes, on the real kernel."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from devroot import ContainerPath, ContainerView, DeviceNode, mknod, remove
from devroot._mknod._places import leftovers
from tests._children import environment, mount
from tests._kernel_nodes import dev_root_at, on_tmpfs, tree
from tests._threads import THREADS, at_once, needs_whole_forks

pytestmark = pytest.mark.kernel

ROUNDS: Final = 10
NODES: Final = [DeviceNode(path=f"caps/cap{n}", major=511, minor=n) for n in range(16)]
COMPLETE: Final = {"caps": "dir 0755 0:0"} | {
    node.path.below_dev: f"c 511:{node.minor} 0666 0:0" for node in NODES
}
_CLONE_FS: Final = 0x200
_CLONE_NEWNS: Final = 0x20000


def _results(place: str, _thread: int = 0) -> Counter[str]:
    """Make the nodes, and return how many had which result."""
    return Counter(one.result.value for one in mknod(dev_root_at(place), NODES).outcomes)


def test_the_same_nodes_from_many_threads(tmp_path: Path) -> None:
    """Each node is made by one thread and right for all others, and nothing is left behind."""

    def act(place: str) -> None:
        for _ in range(ROUNDS):
            total = sum(at_once(partial(_results, place)), Counter[str]())
            assert total == {"created": len(NODES), "unchanged": len(NODES) * (THREADS - 1)}
            assert tree(f"{place}/dev") == COMPLETE
            remove(dev_root_at(place), NODES)
            os.rmdir(f"{place}/dev/caps")

    on_tmpfs(tmp_path, act)


# A process whose threads make and remove nodes all the time, and forks that make others.
FORKS: Final = """
import json, os, sys, threading, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
from devroot import ContainerPath, ContainerView, DeviceNode, DevRoot, mknod, remove

dev_root = DevRoot(container=ContainerPath(sys.argv[1]), view=ContainerView.of_process())
stop, rounds = threading.Event(), []

def nodes(directory):
    return [DeviceNode(path=f"{directory}/cap{n}", major=511, minor=n) for n in range(16)]

def work(number):
    while not stop.is_set():
        mknod(dev_root, nodes(f"own{number}"))
        remove(dev_root, nodes(f"own{number}"))
        rounds.append(number)

threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
created = []
for _ in range(20):
    reader, writer = os.pipe()
    if os.fork() == 0:
        outcomes = mknod(dev_root, nodes("caps")).outcomes
        os.write(writer, bytes([sum(one.result.value == "created" for one in outcomes)]))
        os._exit(0)
    os.close(writer)
    created += os.read(reader, 1)
    os.close(reader)
    os.wait()
while len(set(rounds)) < 3 and all(thread.is_alive() for thread in threads):
    time.sleep(0.01)
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([created, sorted(set(rounds))]))
"""


@needs_whole_forks
def test_forks_of_a_process_with_threads(tmp_path: Path) -> None:
    """A fork makes nodes whatever the threads of its parent were doing, and they go on."""

    def act(place: str) -> None:
        command = [sys.executable, "-W", "error", "-c", FORKS, place]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == [[len(NODES)] + [0] * 19, [0, 1, 2]]
        assert leftovers(os.listdir(f"{place}/dev")) == ()

    on_tmpfs(tmp_path, act)


def test_every_descriptor_is_closed_on_exec(tmp_path: Path) -> None:
    """At no moment while nodes are made could another thread's exec take a descriptor along."""

    def act(place: str) -> None:
        flags = list[int]()
        dev_root = dev_root_at(place)
        before = set(map(int, os.listdir("/proc/self/fd")))

        def seen(name: str) -> None:
            real = getattr(os, name)

            def look(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as of any call
                for descriptor in set(map(int, os.listdir("/proc/self/fd"))) - before:
                    try:
                        flags.append(fcntl.fcntl(descriptor, fcntl.F_GETFD))
                    except OSError:  # that of the list itself
                        continue
                return real(*arguments, **named)

            setattr(os, name, look)

        for name in ("mknod", "link", "mkdir", "lstat", "chmod", "rmdir"):
            seen(name)
        os.mknod(f"{place}/dev/odd", 0o020600)
        mknod(dev_root, [*NODES, DeviceNode(path="odd", major=1, minor=3)])
        assert len(flags) > len(NODES)
        assert set(flags) == {fcntl.FD_CLOEXEC}

    on_tmpfs(tmp_path, act)


def test_a_fork_keeps_a_crashed_parents_place(tmp_path: Path) -> None:
    """While a fork has its descriptors, what a crash left stays and is in nobody's way."""

    def act(place: str) -> None:
        gate, life = os.pipe(), os.pipe()
        parent = os.fork()
        if parent == 0:
            os.link = partial(_die_with_a_fork, gate)
            mknod(dev_root_at(place), NODES)
        assert os.waitpid(parent, 0)[1] == signal.SIGKILL
        os.close(life[1])
        assert _results(place) == {"created": len(NODES)}
        assert len(leftovers(os.listdir(f"{place}/dev/caps"))) == 1
        os.close(gate[1])
        assert os.read(life[0], 1) == b""  # the fork has ended, too
        assert _results(place) == {"unchanged": len(NODES)}
        assert tree(f"{place}/dev") == COMPLETE

    on_tmpfs(tmp_path, act)


def _die_with_a_fork(gate: tuple[int, int], *_arguments: object, **_named: object) -> None:
    """End as by SIGKILL, leaving a fork that ends when the gate is closed."""
    if os.fork() == 0:
        os.close(gate[1])
        os.read(gate[0], 1)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_view_is_that_of_the_main_thread(tmp_path: Path) -> None:
    """A thread that alone has another mount namespace does not see its mounts in a view."""

    def look(place: str) -> tuple[bool, bool]:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FS | _CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "unshare")
        mount("none", place, kind="tmpfs")
        path = ContainerPath(place)
        own = f" {place} " in Path("/proc/thread-self/mountinfo").read_text()
        covering = ContainerView.of_process().mountinfo.covering(path)
        return own, covering is not None and covering.mount_point == path

    def act(place: str) -> None:
        seen = list[tuple[bool, bool]]()
        os.mkdir(f"{place}/below")
        thread = threading.Thread(target=lambda: seen.append(look(f"{place}/below")))
        thread.start()
        thread.join()
        assert seen == [(True, False)]

    on_tmpfs(tmp_path, act)
