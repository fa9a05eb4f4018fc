"""The system calls that Python lacks."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from errno import EEXIST, EINVAL, ELOOP, ENOENT, ENOSYS, EOPNOTSUPP, EPERM
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from devroot import _syscalls
from tests import _systems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = (_syscalls._fchmodat2, _syscalls._openat2, _syscalls._renameat2)


@pytest.fixture
def afresh() -> Iterator[None]:
    """Let the tables be made anew for this test, and again for the next one."""
    for table in TABLES:
        table.cache_clear()
    yield
    for table in TABLES:
        table.cache_clear()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    """Give a descriptor of a directory with the file a, the directory b and the link up."""
    (tmp_path / "a").touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "up").symlink_to("/b")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let this be a machine of the kind *name*."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=name))


def rename(directory: int, name: str, to_name: str) -> None:
    """Rename within *directory* without replacing."""
    names = os.fsencode(name), os.fsencode(to_name)
    flags = _syscalls.RENAME_NOREPLACE
    _syscalls.renameat2(directory, names[0], directory, names[1], flags=flags)


def test_ctypes_is_loaded_on_first_use() -> None:
    """Importing the module does not import ctypes."""
    programme = "import sys, devroot._syscalls; sys.exit('ctypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", programme], check=False).returncode == 0


def test_openat2(directory: int, tmp_path: Path) -> None:
    """A path and a link that start at the root start in the directory."""
    _systems.local("openat2")
    found = _syscalls.openat2(directory, b"/up", flags=os.O_PATH | os.O_CLOEXEC)
    assert os.readlink(f"/proc/self/fd/{found}") == str(tmp_path / "b")
    assert not os.get_inheritable(found)
    os.close(found)


@pytest.mark.parametrize(
    ("path", "flags", "number"),
    [(b"none", os.O_PATH, ENOENT), (b"a", 1 << 40, EINVAL), (b"", os.O_PATH, ENOENT)],
)
def test_openat2_fails(directory: int, path: bytes, flags: int, number: int) -> None:
    """Its errors are OSErrors with the number of the kernel and its text."""
    _systems.local("openat2")
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        _syscalls.openat2(directory, path, flags=flags)
    assert caught.value.errno == number


def test_openat2_and_magic_links() -> None:
    """A link of procfs that leads to a file without a look at its path is not followed."""
    _systems.local("openat2")
    proc = os.open("/proc", os.O_PATH)
    with pytest.raises(OSError, match=os.strerror(ELOOP)):
        _syscalls.openat2(proc, b"self/exe", flags=os.O_PATH)
    os.close(proc)


@pytest.mark.parametrize("name", ["mips64", "alpha", "ia64"])
def test_openat2_has_another_number(
    afresh: None, monkeypatch: pytest.MonkeyPatch, directory: int, name: str
) -> None:
    """On machines that count system calls in their own way it is not called at all."""
    del afresh
    machine(monkeypatch, name)
    with pytest.raises(OSError, match=os.strerror(ENOSYS)):
        _syscalls.openat2(directory, b"a", flags=os.O_PATH)


def fchmodat2(directory: int, name: bytes, mode: int) -> None:
    """Set a mode, where this kernel and its filters let us."""
    try:
        _syscalls.fchmodat2(directory, name, mode)
    except OSError as error:
        if error.errno in {ENOSYS, EPERM}:
            pytest.skip(f"fchmodat2 is refused here: {error}")
        raise


def test_fchmodat2(directory: int) -> None:
    """A file gets the mode, whatever the umask, and a link says that it has none."""
    fchmodat2(directory, b"a", 0o606)
    assert os.stat("a", dir_fd=directory).st_mode & 0o7777 == 0o606

    mode = os.stat("b", dir_fd=directory).st_mode
    for name, number in ((b"up", EOPNOTSUPP), (b"none", ENOENT)):
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            _syscalls.fchmodat2(directory, name, 0o606)
        assert caught.value.errno == number
    assert os.stat("b", dir_fd=directory).st_mode == mode


@pytest.mark.parametrize("name", ["mips64", "alpha", "ia64"])
def test_fchmodat2_has_another_number(
    afresh: None, monkeypatch: pytest.MonkeyPatch, directory: int, name: str
) -> None:
    """On machines that count system calls in their own way it is not called at all."""
    del afresh
    machine(monkeypatch, name)
    with pytest.raises(OSError, match=os.strerror(ENOSYS)):
        _syscalls.fchmodat2(directory, b"a", 0o606)


def test_renameat2(directory: int) -> None:
    """A name moves, but not to one that exists."""
    rename(directory, "a", "c")
    with pytest.raises(FileExistsError) as caught:
        rename(directory, "c", "b")
    assert caught.value.errno == EEXIST
    assert sorted(os.listdir(directory)) == ["b", "c", "up"]


def without_renameat2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the C library be one that has no renameat2."""
    library = ctypes.CDLL

    def load(*arguments: Any, **options: Any) -> object:  # noqa: ANN401 - passed on
        return SimpleNamespace(syscall=library(*arguments, **options).syscall)

    monkeypatch.setattr(ctypes, "CDLL", load)


def test_renameat2_by_number(afresh: None, monkeypatch: pytest.MonkeyPatch, directory: int) -> None:
    """Without a function in the C library it is called by its number on this machine."""
    del afresh
    if os.uname().machine not in _syscalls._RENAMEAT2:
        pytest.skip(f"its number on {os.uname().machine} is not known here")
    without_renameat2(monkeypatch)
    test_renameat2(directory)


@pytest.mark.parametrize(("name", "maxsize"), [("pdp11", 2**63 - 1), ("x86_64", 2**31 - 1)])
def test_renameat2_without_a_number(
    afresh: None, monkeypatch: pytest.MonkeyPatch, directory: int, name: str, maxsize: int
) -> None:
    """On other machines, and in a 32-bit process, whose numbers differ, it is not called."""
    del afresh
    without_renameat2(monkeypatch)
    machine(monkeypatch, name)
    monkeypatch.setattr(sys, "maxsize", maxsize)
    with pytest.raises(OSError, match=os.strerror(ENOSYS)):
        rename(directory, "a", "c")
    assert "a" in os.listdir(directory)
