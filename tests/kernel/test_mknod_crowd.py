"""Many processes at the same device nodes, on the real kernel."""

from __future__ import annotations

import errno
import os
import pickle
import random
import signal
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from devroot import DeviceNode, NodeError, _syscalls
from devroot._mknod import mknod
from devroot._syscalls import renameat2
from tests._kernel_nodes import LONG, dev_root_at, on_tmpfs, tree
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.kernel

MAKERS: Final = 8
_RENAME_EXCHANGE: Final = 2  # renameat2(2)
NODES: Final = [
    DeviceNode(path=f"nvidia-caps-imex-channels/channel{n}", major=240, minor=n)
    for n in range(2048)
]
COMPLETE: Final = {"nvidia-caps-imex-channels": "dir 0755 0:0"} | {
    node.path.below_dev: f"c 240:{node.minor} 0666 0:0" for node in NODES
}


def _start(act: Callable[[], Any], gate: tuple[int, int]) -> tuple[int, int]:
    """Run *act* in a child process once the gate opens; return it and where its answer comes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(gate[1])  # else the gate would never open
            os.read(gate[0], 1)
            with open(writer, "wb") as stream:
                pickle.dump(act(), stream)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    return child, reader


def _all_at_once(acts: list[Callable[[], Any]]) -> list[Any]:
    """Run each in a process of its own, all at the same time, and return what they return."""
    gate = os.pipe()
    children = [_start(act, gate) for act in acts]
    os.close(gate[1])
    answers: list[Any] = []
    for child, reader in children:
        with open(reader, "rb") as stream:
            data = stream.read()
        assert os.waitpid(child, 0)[1] == 0
        answers.append(pickle.loads(data))
    os.close(gate[0])
    return answers


def _make(place: str) -> Counter[str] | NodeError:
    """Make the nodes, and return how many had which result."""
    try:
        report = mknod(dev_root_at(place), NODES)
    except NodeError as error:
        return error
    return Counter(outcome.result.value for outcome in report.outcomes)


def _delete_some(place: str, rounds: int, seed: int) -> int:
    """Delete nodes at random while others make them; return how many."""
    chance = random.Random(seed)
    directory = f"{place}/dev/nvidia-caps-imex-channels"
    deleted = 0
    for _ in range(rounds):
        try:
            os.unlink(f"{directory}/channel{chance.randrange(len(NODES))}")
        except FileNotFoundError:
            continue
        deleted += 1
    return deleted


@pytest.mark.parametrize("attempt", range(10 if LONG else 1))
def test_eight_processes_make_the_same_nodes(tmp_path: Path, attempt: int) -> None:
    """All of them end well, each node was made by one of them, and nothing is left behind."""
    del attempt

    def act(place: str) -> None:
        answers = _all_at_once([partial(_make, place)] * MAKERS)
        assert not [answer for answer in answers if isinstance(answer, NodeError)]
        total = sum(answers, Counter[str]())
        assert set(total) <= {"created", "unchanged"}
        assert total["created"] == len(NODES)
        assert total["unchanged"] == len(NODES) * (MAKERS - 1)
        assert tree(f"{place}/dev") == COMPLETE

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("attempt", range(10 if LONG else 1))
def test_eight_processes_repair_the_same_nodes(tmp_path: Path, attempt: int) -> None:
    """Whatever is at the names, eight processes that repair it at once all end well."""
    kinds = ["fifo {} 0600", "char {} 240:5000 0666", "link {} nowhere", "char {} 240:%d 0000"]
    some = NODES[:256]

    def act(place: str) -> None:
        specs = [
            kinds[(node.minor + attempt) % 4].format(f"/{node.path.below_dev}") for node in some
        ]
        build(f"{place}/dev", [spec.replace("%d", str(n)) for n, spec in enumerate(specs)])
        answers = _all_at_once([partial(_make, place)] * MAKERS)
        assert not [answer for answer in answers if isinstance(answer, NodeError)]
        assert tree(f"{place}/dev") == COMPLETE

    on_tmpfs(tmp_path, act)


@pytest.mark.parametrize("attempt", range(10 if LONG else 1))
def test_eight_processes_make_what_another_deletes(tmp_path: Path, attempt: int) -> None:
    """All end without an error or with a typed one; what is there is complete, and soon all is."""

    def act(place: str) -> None:
        acts: list[Callable[[], Any]] = [partial(_make, place)] * MAKERS
        rounds = 40000 if LONG else 8000
        *answers, deleted = _all_at_once([*acts, partial(_delete_some, place, rounds, attempt)])
        for answer in answers:
            if isinstance(answer, NodeError):
                assert answer.errno in {errno.EAGAIN, errno.ENOENT}
            else:
                assert set(answer) <= {"created", "unchanged", "repaired"}
        left = tree(f"{place}/dev")
        assert left.items() <= COMPLETE.items()
        assert len(COMPLETE) - len(left) <= deleted

        mknod(dev_root_at(place), NODES)

        assert tree(f"{place}/dev") == COMPLETE

    on_tmpfs(tmp_path, act)


@pytest.mark.race
def test_a_mode_is_never_set_through_a_link(tmp_path: Path) -> None:
    """A process that swaps the node for a link to its victim never gets the victim changed."""
    node = DeviceNode(path="nvidia0", major=195, minor=0)

    def act(place: str) -> None:
        dev = f"{place}/dev"
        build(place, ["file /victim 0600", "char /dev/nvidia0 195:0 0600"])
        swapper = os.fork()
        if swapper == 0:
            _swap_for_ever(dev, f"{place}/victim")
        try:
            results: Counter[str] = Counter()
            for _ in range(20000 if LONG else 600):
                try:
                    report = mknod(dev_root_at(place), [node])
                except NodeError as error:
                    report = error.report
                results[report.outcomes[0].result.value] += 1
                found = os.lstat(f"{place}/victim")
                assert (found.st_mode & 0o7777, found.st_uid) == (0o600, 0)
        finally:
            os.kill(swapper, signal.SIGKILL)
            _, how = os.waitpid(swapper, 0)
        assert os.WIFSIGNALED(how), "the other process has failed"
        sys.stderr.write(f"{dict(results)}\n")
        assert results["repaired"]
        mknod(dev_root_at(place), [node])
        assert not [name for name in tree(dev) if ".devroot-" in name]

    on_tmpfs(tmp_path, act)


def _swap_for_ever(dev: str, victim: str) -> None:
    """Put a node with another mode and a link to *victim* at the name, in turns."""
    try:
        while True:
            os.symlink(victim, f"{dev}/swap")
            os.rename(f"{dev}/swap", f"{dev}/nvidia0")
            os.mknod(f"{dev}/swap", 0o020600, os.makedev(195, 0))
            os.rename(f"{dev}/swap", f"{dev}/nvidia0")
    finally:
        os._exit(1)


@pytest.mark.race
@pytest.mark.parametrize("refused", [False, True])
def test_no_mode_is_set_through_a_link_in_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, refused: bool
) -> None:
    """Root elsewhere, whom a mode of 0700 does not keep out, gets no victim changed either."""
    if refused:  # as by a kernel before 6.6
        monkeypatch.setattr(_syscalls, "fchmodat2", _syscalls._unknown_here)

    def act(place: str) -> None:
        directory = f"{place}/dev/nvidia-caps-imex-channels"
        build(place, ["file /victim 0600", "dir /dev/nvidia-caps-imex-channels"])
        swapper = os.fork()
        if swapper == 0:
            _swap_what_is_made(directory, f"{place}/victim", told=f"{place}/swapped")
        try:
            for number in range(1000):
                _make(place)
                found = os.lstat(f"{place}/victim")
                assert (found.st_mode & 0o7777, found.st_uid) == (0o600, 0)
                for name in os.listdir(directory):
                    if not name.startswith(".devroot-"):
                        os.unlink(f"{directory}/{name}")
                if number >= (200 if LONG else 4) and os.path.exists(f"{place}/swapped"):
                    break
        finally:
            os.kill(swapper, signal.SIGKILL)
            _, how = os.waitpid(swapper, 0)
        assert os.WIFSIGNALED(how), "the other process has failed"
        assert os.path.exists(f"{place}/swapped")
        mknod(dev_root_at(place), NODES)
        assert tree(f"{place}/dev") == COMPLETE

    on_tmpfs(tmp_path, act)


def _swap_what_is_made(directory: str, victim: str, *, told: str) -> None:
    """Put a link to *victim* in the place of each node that is being completed; tell it once."""
    try:
        while True:
            for name in os.listdir(directory):
                if name.startswith(".devroot-"):
                    with suppress(OSError):
                        _swap_while_it_is_there(f"{directory}/{name}", victim, told)
    finally:
        os._exit(1)


def _swap_while_it_is_there(working: str, victim: str, told: str) -> None:
    """Raise once the working directory is gone."""
    held = os.open(working, os.O_RDONLY)
    try:
        while True:
            os.symlink(victim, "swap", dir_fd=held)
            os.rename("swap", "node", src_dir_fd=held, dst_dir_fd=held)
            if not os.path.exists(told):
                os.mknod(told)
    finally:
        os.close(held)


@pytest.mark.race
def test_nothing_is_made_outside_when_directories_are_swapped(tmp_path: Path) -> None:
    """A process that swaps the directory for a link to outside gets nothing made there."""
    nodes = [DeviceNode(path=f"caps/x{n}", major=240, minor=n) for n in range(4)]

    def act(place: str) -> None:
        dev = f"{place}/dev"
        build(place, ["dir /outside", "dir /dev/caps", "link /dev/link ../outside"])
        swapper = os.fork()
        if swapper == 0:
            _exchange_for_ever(dev)
        try:
            results: Counter[str] = Counter()
            for _ in range(20000 if LONG else 600):
                try:
                    report = mknod(dev_root_at(place), nodes)
                except NodeError as error:
                    report = error.report
                results.update(outcome.result.value for outcome in report.outcomes)
                assert os.listdir(f"{place}/outside") == []
        finally:
            os.kill(swapper, signal.SIGKILL)
            _, how = os.waitpid(swapper, 0)
        assert os.WIFSIGNALED(how), "the other process has failed"
        sys.stderr.write(f"{dict(results)}\n")
        assert results["created"] + results["unchanged"]
        assert results["failed"]

    on_tmpfs(tmp_path, act)


def _exchange_for_ever(dev: str) -> None:
    """Let the directory and the link change places, again and again."""
    try:
        here = os.open(dev, os.O_RDONLY)
        while True:
            renameat2(here, b"caps", here, b"link", flags=_RENAME_EXCHANGE)
    finally:
        os._exit(1)
