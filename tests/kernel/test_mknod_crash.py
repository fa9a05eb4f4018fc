"""Device nodes made by a process that is killed at a system call: at each of them, in turn.

strace(1) kills it on entering the call, which then is not carried out. The process is forked
with everything loaded and stops; strace attaches, and what it counts is the run alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from devroot import DeviceNode, _syscalls
from devroot._mknod import char_links, mknod, remove
from tests._children import unmount
from tests._kernel_nodes import LONG, dev_root_at, mount, on_tmpfs, tree
from tests._trees import build
from tests.conftest import IN_CI

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.kernel

# What was there, and may be seen until the run is complete.
THERE: Final = {
    "char /changed 240:1 0600 5:6": "c 240:1 0600 5:6",
    "char /none 240:2 0000": "c 240:2 0000 0:0",
    "char /number 240:9 0640": "c 240:9 0640 0:0",
    "block /block 240:4 0640": "b 240:4 0640 0:0",
    "file /file 0600": "file 0600 0:0",
    "fifo /fifo 0600": "fifo 0600 0:0",
    "socket /socket 0600": "socket 0600 0:0",
    "link /link file": "link file",
    "link /dangling /nowhere": "link /nowhere",
    "char /right 240:10 0666": "c 240:10 0666 0:0",
    "dir /caps 0750": "dir 0750 0:0",
}
NODES: Final = [
    DeviceNode(path=path, major=240, minor=minor)
    for minor, path in enumerate(
        [
            "missing",
            "changed",
            "none",
            "number",
            "block",
            "file",
            "fifo",
            "socket",
            "link",
            "dangling",
            "right",
            "caps/one",
            "new/er/two",
        ]
    )
]
DIRECTORIES: Final = {"caps": "dir 0750 0:0", "new": "dir 0755 0:0", "new/er": "dir 0755 0:0"}
COMPLETE: Final = DIRECTORIES | {
    str(node.path.below_dev): f"c 240:{node.minor} 0666 0:0" for node in NODES
}
BEFORE: Final = {spec.split(" ")[1].lstrip("/"): described for spec, described in THERE.items()}
HALF: Final = {"changed": "c 240:1 0600 0:0"}
"""The one state in between: the owner is mended, and the mode is the old one still."""

_CHANGES: Final = "mkdirat|mkdir|mknodat|mknod|linkat|symlinkat|renameat|renameat2|rename|unlinkat"
_CALL: Final = re.compile(r"(\w+)\(")
_MEMORY: Final = {"brk", "mmap", "munmap", "mremap", "madvise", "mprotect", "futex"}
"""Calls that change nothing, and of which not every run has the same number."""

if shutil.which("strace") is None:
    if IN_CI:
        raise RuntimeError("CI runs the crash tests, which need strace")  # noqa: EM101, TRY003
    pytest.skip("needs strace", allow_module_level=True)


@pytest.fixture(autouse=True)
def _known_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel refuse what this strace cannot name, so that it can kill at every call."""
    command = ["strace", "-e", "trace=fchmodat2", "true"]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        monkeypatch.setattr(_syscalls, "fchmodat2", _syscalls._unknown_here)


def _traced(act: Callable[[], object], log: Path, *options: str) -> bool:
    """Run *act* in a child process under strace; return whether it lived to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.kill(os.getpid(), signal.SIGSTOP)
            act()
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, os.WUNTRACED)
    command = ["strace", "-qq", "-o", str(log), *options, "-p", str(child)]
    with subprocess.Popen(command) as strace:
        status = Path(f"/proc/{child}/status")
        while "TracerPid:\t0\n" in status.read_text() and strace.poll() is None:
            time.sleep(0.001)
        os.kill(child, signal.SIGCONT)
        _, how = os.waitpid(child, 0)
        strace.wait()
    assert strace.returncode == 0 or os.WIFSIGNALED(how)
    return os.WIFEXITED(how) and os.WEXITSTATUS(how) == 0


def _calls(act: Callable[[], object], log: Path) -> list[tuple[str, int]]:
    """Return each system call of *act* from the first change on: its name, and the how manieth."""
    assert _traced(act, log)
    seen: Counter[str] = Counter()
    calls: list[tuple[str, int]] = []
    changed = False
    for line in log.read_text(errors="replace").splitlines():
        match = _CALL.match(line)
        if match:
            name = match[1]
            seen[name] += 1
            changed = changed or re.fullmatch(_CHANGES, name) is not None
            if changed and not name.startswith("exit"):
                calls.append((name, seen[name]))
    return calls


def _set_the_scene(dev: str, there: list[str]) -> None:
    for name in os.listdir(dev):
        path = f"{dev}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    build(dev, there)


def _real_names(dev: str) -> dict[str, str]:
    return {name: what for name, what in tree(dev).items() if ".devroot-" not in name}


def _kill_everywhere(root: str, log: Path, *, every: int = 1) -> tuple[int, int]:
    """Kill a run at every so manieth call; return at how many, and how often it was killed."""
    dev = f"{root}/dev"
    run = partial(mknod, dev_root_at(root), NODES)
    _set_the_scene(dev, list(THERE))
    run()  # what is loaded on first use is loaded now
    _set_the_scene(dev, list(THERE))
    calls = _calls(run, log)[::every]
    killed = 0
    for name, count in calls:
        _set_the_scene(dev, list(THERE))
        inject = f"inject={name}:signal=KILL:when={count}"
        lived = _traced(run, log, "-e", f"trace={name}", "-e", inject)
        assert not lived or name in _MEMORY, f"{name} {count} was not reached"
        killed += not lived
        for path, what in _real_names(dev).items():
            allowed = {BEFORE.get(path), COMPLETE.get(path), HALF.get(path)}
            assert what in allowed, f"killed at {name} {count}: {path} is {what}"
        assert not BEFORE.keys() - _real_names(dev).keys(), f"killed at {name} {count}"

        run()

        assert tree(dev) == COMPLETE, f"killed at {name} {count}"
    return len(calls), killed


def test_a_run_killed_at_every_call(tmp_path: Path) -> None:
    """No call leaves a real name half-made, and the next run completes all without leftovers."""
    place = tmp_path / "place"
    place.mkdir()

    calls, killed = on_tmpfs(place, partial(_kill_everywhere, log=tmp_path / "log"))

    assert calls > 100
    assert killed > 0.9 * calls


def test_a_run_on_an_overlay_killed(tmp_path: Path) -> None:
    """On an overlay the same holds; the long form kills at every call, the other at some."""
    place = tmp_path / "place"
    place.mkdir()

    def act(path: str) -> tuple[int, int]:
        build(path, ["dir /lower/dev", "dir /upper", "dir /work", "dir /merged"])
        options = f"lowerdir={path}/lower,upperdir={path}/upper,workdir={path}/work"
        mount("-t", "overlay", "-o", options, "overlay", f"{path}/merged")
        try:
            return _kill_everywhere(f"{path}/merged", tmp_path / "log", every=1 if LONG else 9)
        finally:
            unmount(f"{path}/merged")

    calls, killed = on_tmpfs(place, act)

    assert killed > 0.9 * calls > 10


def test_removing_and_linking_killed_at_every_call(tmp_path: Path) -> None:
    """A run that removes or links can be killed anywhere, and the next one completes it."""
    place = tmp_path / "place"
    place.mkdir()
    nodes = [DeviceNode(path=f"x{n}", major=240, minor=n) for n in range(3)]
    there = [f"char /x{n} 240:{n} 0666" for n in range(3)] + ["link /char/240:1 /nowhere"]
    linked = {"char": "dir 0755 0:0"} | {f"char/240:{n}": f"link ../x{n}" for n in range(3)}

    def both(root: str) -> None:
        char_links(dev_root_at(root), nodes)
        remove(dev_root_at(root), nodes)

    def act(path: str) -> tuple[int, int]:
        dev = f"{path}/dev"
        log = tmp_path / "log"
        _set_the_scene(dev, there)
        calls = _calls(partial(both, path), log)
        calls = [call for call in calls if call[0] not in _MEMORY][:: 1 if LONG else 3]
        for name, count in calls:
            _set_the_scene(dev, there)
            inject = f"inject={name}:signal=KILL:when={count}"
            assert not _traced(partial(both, path), log, "-e", f"trace={name}", "-e", inject)
            mknod(dev_root_at(path), nodes)
            both(path)
            assert tree(dev) == linked, f"killed at {name} {count}"
        return len(calls), len(calls)

    assert on_tmpfs(place, act)[0] > 20
