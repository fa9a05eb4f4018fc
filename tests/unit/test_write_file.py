"""Making a regular file through a handle: on the real file system, a faked os, and in memory."""

from __future__ import annotations

import errno
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from devroot._filesystem import FileType
from devroot._local import LocalFileSystem
from devroot._paths import ContainerPath
from devroot.errors import InvalidPathError
from devroot.testing import ProcessKilled, TreeFileSystem
from tests import _systems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devroot._filesystem import Directory
    from devroot.testing import Operation

ROOT = ContainerPath("/")


@pytest.fixture(params=["walk", "portable", _systems.FAKED_OS, _systems.TREE])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[_systems.System]:
    """Give a file system of each kind, with a file and a link that leads nowhere."""
    specs = ["file /file 0600\nold", "link /dangling nowhere", "dir /sub"]
    with _systems.opened(request.param, tmp_path, specs) as system:
        yield system


@pytest.fixture
def directory(system: _systems.System) -> Iterator[Directory]:
    """Give a handle on its root."""
    with system.filesystem.open_directory(system.root, "/") as directory:
        yield directory


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Directory]:
    """Give a handle on a new directory of the real file system."""
    with LocalFileSystem().open_directory(ContainerPath(str(tmp_path)), "/") as directory:
        yield directory


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o444, 0o777])
def test_content_and_mode_are_exact(
    system: _systems.System, directory: Directory, mode: int
) -> None:
    """The file has its content and exactly the mode that was asked for."""
    directory.write_file("new", b'{"a": 1}\n', mode=mode)
    status = directory.lstat("new")
    assert (status.type, status.mode, status.size) == (FileType.REGULAR, mode, 9)
    assert system.filesystem.read_bytes(system.root, "new") == b'{"a": 1}\n'


def test_the_umask_has_no_say(real: Directory) -> None:
    """A strict umask takes nothing from the mode, and a lax one adds nothing to it."""
    before = os.umask(0o077)
    try:
        real.write_file("strict", b"", mode=0o644)
        os.umask(0)
        real.write_file("lax", b"", mode=0o640)
    finally:
        os.umask(before)
    assert [real.lstat(name).mode for name in ("strict", "lax")] == [0o644, 0o640]


# A faked os follows a link that leads nowhere, whatever O_EXCL says.
@pytest.mark.parametrize("system", ["walk", "portable", _systems.TREE], indirect=True)
@pytest.mark.parametrize("name", ["file", "dangling", "sub"])
def test_nothing_is_replaced(directory: Directory, name: str) -> None:
    """A name that is taken is left alone, be it a link that leads nowhere."""
    before = directory.lstat(name)
    with pytest.raises(FileExistsError) as caught:
        directory.write_file(name, b"new", mode=0o644)
    assert caught.value.filename == f"{directory.path}/{name}"
    assert directory.lstat(name) == before
    assert "nowhere" not in directory.names()


def test_a_name_is_one_component(directory: Directory) -> None:
    """A path is no name."""
    with pytest.raises(InvalidPathError, match="slash"):
        directory.write_file("sub/new", b"", mode=0o644)


def test_a_large_file_is_whole(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the kernel takes in several pieces is whole in the end."""
    write = os.write

    def in_pieces(descriptor: int, data: memoryview) -> int:
        return write(descriptor, data[:3])

    monkeypatch.setattr(os, "write", in_pieces)
    real.write_file("new", b"0123456789", mode=0o644)
    monkeypatch.undo()
    assert LocalFileSystem().read_bytes(real.path, "new") == b"0123456789"


@pytest.mark.parametrize("call", ["write", "fchmod", "fsync"])
def test_what_could_not_be_completed_is_taken_away(
    real: Directory, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """A file whose disk is full, or that cannot be completed otherwise, does not stay."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space") as caught:
        real.write_file("new", b"x", mode=0o644)
    monkeypatch.undo()
    assert caught.value.filename == f"{real.path}/new"
    assert real.names() == []


def test_the_limit_on_file_sizes_is_an_error(real: Directory) -> None:
    """When the kernel itself refuses the content, nothing stays; see RLIMIT_FSIZE, setrlimit(2)."""
    resource = pytest.importorskip("resource")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            real.write_file("new", b"12345678", mode=0o644)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert real.names() == []


@pytest.mark.parametrize("operation", ["write_file", "write_file.data", "write_file.mode"])
def test_in_memory_a_failure_leaves_nothing(operation: str) -> None:
    """Each step can be made to fail, and then the file is not there."""
    tree = TreeFileSystem()
    tree.fail(operation, errno.ENOSPC)
    with tree.open_directory(ROOT, "/") as directory:
        with pytest.raises(OSError, match="No space"):
            directory.write_file("new", b"x", mode=0o644)
        assert directory.names() == []


def test_in_memory_somebody_elses_file_stays() -> None:
    """If the name is another file's by then, a failure does not take that away."""
    tree = TreeFileSystem()
    tree.fail("write_file.mode", errno.EPERM)

    def replace(operation: Operation) -> None:
        if operation.name == "write_file.mode":
            tree.remove("/new")
            tree.add("file /new 0600\ntheirs")

    tree.before(replace)
    with tree.open_directory(ROOT, "/") as directory:
        with pytest.raises(PermissionError):
            directory.write_file("new", b"x", mode=0o644)
        assert tree.read_bytes(ROOT, "new") == b"theirs"


@pytest.mark.parametrize(
    ("operation", "left"), [("write_file", []), ("write_file.data", [0]), ("write_file.mode", [1])]
)
def test_in_memory_a_killed_process_leaves_what_it_has_done(
    operation: str, left: list[int]
) -> None:
    """A process that is killed between the steps tidies nothing up, and no other may read it."""
    tree = TreeFileSystem()
    tree.fail(operation, ProcessKilled())
    with pytest.raises(ProcessKilled):
        tree.open_directory(ROOT, "/").write_file("new", b"x", mode=0o644)
    tree.restart()
    with tree.open_directory(ROOT, "/") as directory:
        found = list(map(directory.lstat, directory.names()))
    assert [(status.size, status.mode) for status in found] == [(size, 0o600) for size in left]


def test_a_closed_handle_makes_nothing(tmp_path: Path) -> None:
    """After `close` it is a bad descriptor, on the real file system and in memory."""
    for system in (LocalFileSystem(), TreeFileSystem([f"dir {tmp_path}"])):
        directory = system.open_directory(ContainerPath(str(tmp_path)), "/")
        directory.close()
        action = partial(directory.write_file, "new", b"", mode=0o644)
        with pytest.raises(OSError, match="Bad file descriptor"):
            action()
