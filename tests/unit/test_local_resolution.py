"""Every way to resolve a path inside a root gives the answers of one table."""

from __future__ import annotations

import os
from contextlib import suppress
from errno import EINVAL, ENOTDIR
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot._filesystem import FileType
from devroot._paths import ContainerPath
from tests import _systems
from tests._oracles import chroot_answers, kernel_answer
from tests._resolution import CASES, LINKS, NOT_LINKS, TREE, Case
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests._systems import System

FOUND = [case for case in CASES if not case.error]
FAILED = [case for case in CASES if case.error]


@pytest.fixture(scope="module", params=_systems.ALL)
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """Give each system with the tree of the table."""
    with _systems.opened(request.param, tmp_path_factory.mktemp("tree"), TREE) as system:
        yield system


def failure(action: Callable[[], object]) -> OSError:
    """Return the error with which *action* fails."""
    try:
        result = action()
    except OSError as error:
        return error
    pytest.fail(f"it did not fail, but gave {result!r}")


@pytest.mark.parametrize("case", FOUND, ids=str)
def test_found(system: System, case: Case) -> None:
    """The path leads to the place, which has the status that the path shows."""
    place = system.filesystem.resolve(system.root, case.path)
    assert str(place) == system.below(case.place)
    status = system.filesystem.status(system.root, case.path)
    assert status == system.filesystem.status(ContainerPath("/"), str(place))


@pytest.mark.parametrize("case", FAILED, ids=str)
def test_failed(system: System, case: Case) -> None:
    """The path fails with the errno, naming the place that had been reached."""
    filesystem = system.filesystem
    for ask in (filesystem.resolve, filesystem.status, filesystem.read_bytes):
        failed = failure(partial(ask, system.root, case.path))
        assert (failed.errno, failed.filename) == (case.error, system.below(case.place))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_directories(system: System, case: Case) -> None:
    """A directory can be opened where the path leads; anything else is ``ENOTDIR``."""
    if case.error:
        expected: tuple[int, str] = case.error, system.below(case.place)
    else:
        kind = system.filesystem.status(system.root, case.path).type
        expected = 0 if kind is FileType.DIRECTORY else ENOTDIR, system.below(case.place)
    try:
        with system.filesystem.open_directory(system.root, case.path) as directory:
            found = 0, str(directory.path)
            same = directory.status() == system.filesystem.status(system.root, case.path)
    except OSError as error:
        found = error.errno or 0, error.filename
        same = True
    assert found == expected
    assert same


@pytest.mark.parametrize(("path", "target"), LINKS)
def test_links(system: System, path: str, target: str) -> None:
    """A link in the last place is read, whatever it leads to; those before it are followed."""
    assert system.filesystem.read_link(system.root, path) == target


@pytest.mark.parametrize("case", NOT_LINKS, ids=str)
def test_no_links(system: System, case: Case) -> None:
    """Anything else is ``EINVAL``; a slash at the end makes it what the link leads to."""
    failed = failure(lambda: system.filesystem.read_link(system.root, case.path))
    assert (failed.errno, failed.filename) == (case.error, system.below(case.place))


def test_content(system: System) -> None:
    """The content is that of the file at the end of all links."""
    assert system.filesystem.read_bytes(system.root, "three/mixed") == b"root"


@pytest.mark.parametrize(
    ("path", "place"),
    [("etc", "/etc"), ("run/fifo", "/run/fifo"), ("run/socket", "/run/socket"), ("root", "/")],
)
def test_no_content(system: System, path: str, place: str) -> None:
    """What is no regular file is ``EINVAL``, without waiting for somebody to write to it."""
    failed = failure(lambda: system.filesystem.read_bytes(system.root, path))
    assert (failed.errno, failed.filename) == (EINVAL, system.below(place))


@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_no_descriptor_is_left(tmp_path: Path, resolver: str) -> None:
    """Whether it succeeds or fails, nothing stays open but the directory that was asked for."""
    with _systems.opened(resolver, tmp_path, TREE) as system:
        filesystem, root = system.filesystem, system.root
        before = os.listdir("/proc/self/fd")
        for case in CASES:
            for ask in (
                filesystem.resolve,
                filesystem.status,
                filesystem.read_bytes,
                filesystem.read_link,
            ):
                with suppress(OSError):
                    ask(root, case.path)
            with suppress(OSError):
                directory = filesystem.open_directory(root, case.path)
                assert len(os.listdir("/proc/self/fd")) == len(before) + 1
                directory.close()
        assert os.listdir("/proc/self/fd") == before


def test_the_kernel_agrees(tmp_path: Path) -> None:
    """The table says what the kernel alone answers for every path."""
    with _systems.opened("openat2", tmp_path, TREE) as system:
        wrong = [
            (case, answer)
            for case in CASES
            if (answer := kernel_answer(str(system.root), case.path))
            != (case.error, "" if case.error else system.below(case.place))
        ]
    assert wrong == []


@pytest.mark.kernel
def test_chroot_agrees(tmp_path: Path) -> None:
    """The table says what a process finds that has made the root its own by chroot(2)."""
    build(str(tmp_path), TREE)

    expected = [(case.error, "" if case.error else case.place) for case in CASES]
    assert chroot_answers(str(tmp_path), [case.path for case in CASES]) == expected
