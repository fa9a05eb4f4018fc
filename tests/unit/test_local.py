"""`LocalFileSystem`: which way it takes, and what it makes of the odd corners of a real kernel."""

from __future__ import annotations

import copy
import os
import pickle
import resource
import select
import shutil
import stat
import sys
from errno import (
    EACCES,
    EAGAIN,
    EILSEQ,
    EINVAL,
    EIO,
    ELOOP,
    EMFILE,
    ENAMETOOLONG,
    ENOENT,
    ENOSYS,
    ENOTDIR,
    EOPNOTSUPP,
    EPERM,
    ESTALE,
)
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devroot import _syscalls
from devroot._filesystem import FileType
from devroot._local import LocalFileSystem
from devroot._local import _handle as _local_handle
from devroot._local import _openat2 as _local_openat2
from devroot._local import _walk as _local_walk
from devroot._local._handle import LocalDirectory
from devroot._local._portable import PortableDirectory
from devroot._local._walk import DescriptorTrail
from devroot._paths import ContainerPath, HostPath
from devroot.errors import InvalidPathError, PathKindError
from tests import _systems
from tests._children import MS_NOSYMFOLLOW, NOBODY, in_child, mount
from tests._trees import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devroot._filesystem import FileSystem

PROC = ContainerPath("/proc")
TREE = ("file /d/f\ncontent", "link /l d/f", "dir /e")


@pytest.fixture(params=_systems.LOCAL)
def each(request: pytest.FixtureRequest) -> LocalFileSystem:
    """Give the real file system with each resolver."""
    return _systems.local(request.param)


@pytest.fixture(params=["openat2", "walk"])
def held(request: pytest.FixtureRequest) -> LocalFileSystem:
    """Give the real file system with each resolver that works by descriptors."""
    return _systems.local(request.param)


@pytest.fixture
def root(tmp_path: Path) -> ContainerPath:
    """Give a root with the tree above."""
    place = tmp_path / "r"
    place.mkdir()
    build(str(place), TREE)
    return ContainerPath(str(place))


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Path]:
    """Give a new directory into which everybody may look."""
    # The parents of tmp_path are for its owner alone.
    place = Path(f"/tmp/{tmp_path.name}-{os.getpid()}")
    place.mkdir(mode=0o755)
    yield place
    shutil.rmtree(place)


def failing(number: int) -> OSError:
    """Return what `os` raises for *number*."""
    return OSError(number, os.strerror(number))


def error_of(action: Callable[[], object]) -> tuple[int | None, str | None]:
    """Return errno and filename of the error with which *action* fails."""
    with pytest.raises(OSError, check=lambda error: error.errno is not None) as caught:
        action()
    return caught.value.errno, caught.value.filename


class Kernel:
    """A stand-in for openat2 that counts its calls, and fails as it is told.

    Attributes:
        calls: the paths that were asked for.
        error: the error number of each call; 0 to pass it on.
        for_root: the same for the path ``/``, of which the answers can differ.
        after: is called when a file was opened.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, error: int, for_root: int = 0) -> None:
        self.calls: list[bytes] = []
        self.error = error
        self.for_root = for_root
        self.after: Callable[[], object] = lambda: None
        self._real = _syscalls.openat2
        monkeypatch.setattr(_syscalls, "openat2", self)

    def __call__(self, root: int, path: bytes, *, flags: int) -> int:
        """Answer as `_syscalls.openat2` does, or as told."""
        self.calls.append(path)
        if number := self.for_root if path == b"/" else self.error:
            raise failing(number)
        descriptor = self._real(root, path, flags=flags)
        self.after()
        return descriptor


def test_resolvers() -> None:
    """There are four, and any other is refused."""
    for name in ("auto", "openat2", "walk", "portable"):
        assert LocalFileSystem(resolver=name).resolver == name
    assert LocalFileSystem() == LocalFileSystem(resolver="auto")
    other: Any = "chroot"
    with pytest.raises(ValueError, match="chroot"):
        LocalFileSystem(resolver=other)


def test_value(root: ContainerPath) -> None:
    """It is a value: equal, hashable, copied and pickled by its resolver alone."""
    filesystem = LocalFileSystem()
    filesystem.resolve(root, "l")
    for other in (
        LocalFileSystem(),
        copy.copy(filesystem),
        copy.deepcopy(filesystem),
        pickle.loads(pickle.dumps(filesystem)),
    ):
        assert other == filesystem
        assert hash(other) == hash(filesystem)
    assert filesystem != LocalFileSystem(resolver="walk")
    assert repr(filesystem) == "LocalFileSystem(resolver='auto')"


@pytest.mark.parametrize("number", [ENOSYS, EPERM, EINVAL])
def test_unsupported(root: ContainerPath, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Where openat2 is refused as such the walk answers, and the refusal is remembered."""
    kernel = Kernel(monkeypatch, error=number, for_root=number)
    filesystem = LocalFileSystem()
    assert filesystem.resolve(root, "l") == root / "d/f"
    assert kernel.calls == [b"l", b"/"]
    assert filesystem.read_bytes(root, "l") == b"content"
    assert kernel.calls == [b"l", b"/"]


def test_support_is_not_copied(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another process, and in another object, the kernel is asked anew."""
    kernel = Kernel(monkeypatch, error=ENOSYS, for_root=ENOSYS)
    filesystem = LocalFileSystem()
    filesystem.resolve(root, "l")
    for other in (LocalFileSystem(), pickle.loads(pickle.dumps(filesystem))):
        kernel.calls.clear()
        other.resolve(root, "l")
        assert kernel.calls == [b"l", b"/"]


@pytest.mark.parametrize("number", [ENOSYS, EPERM, EINVAL])
def test_demanded(root: ContainerPath, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Who demands openat2 is told, each time, that it is refused."""
    Kernel(monkeypatch, error=number, for_root=number)
    filesystem = LocalFileSystem(resolver="openat2")
    for _ in range(2):
        with pytest.raises(OSError, match='choose resolver="auto"') as caught:
            filesystem.resolve(root, "l")
        assert (caught.value.errno, caught.value.filename) == (number, str(root))


@pytest.mark.parametrize("number", [ENOSYS, EPERM, EINVAL, EIO])
@pytest.mark.parametrize("for_root", [0, EMFILE])
def test_errors_of_a_file_system(
    root: ContainerPath, monkeypatch: pytest.MonkeyPatch, number: int, for_root: int
) -> None:
    """An error that is not that of the root is not taken for a refusal."""
    filesystem = _systems.local("openat2")
    kernel = Kernel(monkeypatch, error=number, for_root=for_root)
    assert filesystem.resolve(root, "l") == root / "d/f"
    kernel.error = 0
    kernel.calls.clear()
    assert filesystem.resolve(root, "l") == root / "d/f"
    assert kernel.calls == [b"l"]
    assert filesystem._support.refused == 0


def test_busy_for_a_while(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the kernel is unsure it is asked again, and that is counted."""
    filesystem = _systems.local("openat2")
    kernel = Kernel(monkeypatch, error=EAGAIN)

    def ask(directory: int, path: bytes, *, flags: int) -> int:
        if len(kernel.calls) == 5:
            kernel.error = 0
        return kernel(directory, path, flags=flags)

    monkeypatch.setattr(_syscalls, "openat2", ask)
    assert filesystem.resolve(root, "l") == root / "d/f"
    assert filesystem._support.retries == 5
    assert len(kernel.calls) == 6


def test_busy_for_good(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked so often and not more; then the walk answers, and nothing is remembered."""
    kernel = Kernel(monkeypatch, error=EAGAIN)
    filesystem = LocalFileSystem()
    assert filesystem.resolve(root, "l") == root / "d/f"
    assert len(kernel.calls) == filesystem._support.retries == _local_openat2.RETRIES == 128
    assert filesystem._support.refused == 0


def test_without_o_path(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no ``O_PATH``, plain paths are the way."""
    monkeypatch.delattr(os, "O_PATH")
    with LocalFileSystem().open_directory(root, "d") as directory:
        assert type(directory) is PortableDirectory
    assert LocalFileSystem().read_bytes(root, "l") == b"content"
    assert LocalFileSystem().read_link(root, "l") == "d/f"
    assert LocalFileSystem().status(root, "l").size == 7


def test_handles(root: ContainerPath, held: LocalFileSystem) -> None:
    """Otherwise a directory is held by a descriptor that a new programme does not inherit."""
    with held.open_directory(root, "d") as directory:
        assert isinstance(directory, LocalDirectory)
        assert not os.get_inheritable(directory._descriptor)


@pytest.mark.parametrize("place", ["/nowhere", "/proc/self/exe"])
def test_places_without_procfs(
    root: ContainerPath, held: LocalFileSystem, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Without procfs a place is found by the walk."""
    monkeypatch.setattr(_local_handle, "_HELD_FILES", place)
    assert held.resolve(root, "l") == root / "d/f"
    with held.open_directory(root, "d/.") as directory:
        assert directory.path == root / "d"
    assert held.status(root, "l").size == 7


def test_content_without_procfs(
    root: ContainerPath, held: LocalFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without procfs no file is read, for only so it is sure which one that would be."""
    monkeypatch.setattr(_local_handle, "_HELD_FILES", "/nowhere")
    expected = EOPNOTSUPP, str(root / "l")
    assert error_of(partial(held.read_bytes, root, "/l")) == expected


def test_gone_meanwhile(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is deleted just after it was found is ``ENOENT``, and not a strange name."""
    kernel = Kernel(monkeypatch, error=0)
    kernel.after = lambda: os.unlink(root / "d/f")
    filesystem = _systems.local("openat2")
    os.close(os.open(root / "d/f", os.O_CREAT))
    expected = ENOENT, str(root / "d/f")
    assert error_of(partial(filesystem.resolve, root, "l")) == expected


@pytest.mark.parametrize("outside", ["outside", "r-beside"])
def test_moved_out_meanwhile(
    root: ContainerPath, monkeypatch: pytest.MonkeyPatch, outside: str
) -> None:
    """A directory that leaves the root just after it was found is not an answer."""
    filesystem = _systems.local("openat2")
    kernel = Kernel(monkeypatch, error=0)
    kernel.after = lambda: os.rename(root / "d", root.parent / outside)
    expected = ENOENT, str(root / "d")
    assert error_of(partial(filesystem.resolve, root, "d")) == expected


def test_there_again_meanwhile(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the walk finds what openat2 did not find, that is an answer."""
    Kernel(monkeypatch, error=ENOENT)
    assert LocalFileSystem(resolver="openat2").resolve(root, "l") == root / "d/f"


@pytest.mark.parametrize("unsafe_path", ["", "x"])
def test_roots(each: FileSystem, root: ContainerPath, unsafe_path: str) -> None:
    """A root that is no directory, or missing, is an error that names the root."""
    os.symlink("loop", root / "loop")
    for name, number in (("nowhere", ENOENT), ("d/f", ENOTDIR), ("l", ENOTDIR), ("loop", ELOOP)):
        for ask in (each.resolve, each.open_directory, each.status, each.read_bytes):
            expected = number, str(root / name)
            assert error_of(partial(ask, root / name, unsafe_path)) == expected


def test_root_of_the_process(each: FileSystem, root: ContainerPath) -> None:
    """From the root of all, every path is what the kernel makes of it."""
    top = ContainerPath("/")
    assert each.resolve(top, "") == top
    assert each.resolve(top, f"{root}/d/../d/f") == root / "d/f"
    assert each.read_bytes(top, f"..{root}/d/f") == b"content"
    with each.open_directory(top, str(root)) as directory:
        assert directory.path == root


def test_wrong_kinds(each: FileSystem, root: ContainerPath) -> None:
    """A host path is not looked up here, and neither is text as a root or bytes as a path."""
    wrong: list[Any] = [HostPath(str(root)), str(root)]
    path: Any = b"l"
    for ask in (each.resolve, each.open_directory, each.status, each.read_bytes, each.read_link):
        for other in wrong:
            with pytest.raises(PathKindError, match="ContainerPath is wanted"):
                ask(other, "l")
        with pytest.raises(PathKindError, match="str is wanted"):
            ask(root, path)
        for text in ("d\0/f", "\0", "d/\ud800"):
            with pytest.raises(InvalidPathError, match="path inside a root"):
                ask(root, text)


def test_too_long(each: FileSystem, root: ContainerPath) -> None:
    """A path of 4096 bytes is too long, counted in bytes."""
    assert error_of(partial(each.status, root, "\xe4" * 2048))[0] == ENAMETOOLONG
    assert each.resolve(root, "/" * 4094 + "d") == root / "d"


# What the kernel has besides directories, files and links.


def test_magic_links(held: FileSystem) -> None:
    """A link that leads elsewhere than its text is not followed, and named."""
    me = f"/proc/{os.getpid()}"
    reader, writer = os.pipe()
    for path, place in (
        ("self/exe", "exe"),
        ("self/cwd", "cwd"),
        ("self/cwd/x", "cwd"),
        ("self/root/etc", "root"),
        ("self/ns/user", "ns/user"),
        (f"self/fd/{reader}", f"fd/{reader}"),
        (f"self/fd/{writer}/", f"fd/{writer}"),
    ):
        assert error_of(partial(held.resolve, PROC, path)) == (ELOOP, f"{me}/{place}")
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("target", "size", "blocks", "magic"),
    [
        ("/usr/bin/python3", 0, 0, True),
        ("/dev/pts/0", 64, 0, True),
        ("pipe:[4242]", 64, 0, True),
        ("(unreachable)/x", 0, 0, True),
        ("4242", 0, 0, False),  # /proc/self
        ("self/mounts", 11, 0, False),
        ("../../devices/virtual/mem/null", 0, 0, False),  # sysfs
        ("/usr/lib", 8, 0, False),  # a tmpfs without a limit
        ("/usr/lib", 0, 1000, False),  # a daemon of FUSE that does not tell
        ("/\udcff", 2, 0, False),
    ],
)
def test_what_is_magic(target: str, size: int, blocks: int, magic: bool) -> None:  # noqa: FBT001
    """A magic link is told by its target, its size and the size of its file system together."""
    link = os.stat_result((0o120777, 0, 0, 0, 0, 0, size, 0, 0, 0))
    system = os.statvfs_result((4096, 4096, blocks, 0, 0, 0, 0, 0, 0, 255))
    assert _local_walk._is_magic(link, target, system) is magic


def test_reading_magic_links(each: FileSystem) -> None:
    """As the last component such a link can be read."""
    assert each.read_link(PROC, "self/ns/user") == os.readlink("/proc/self/ns/user")
    assert each.read_link(PROC, "self/exe") == os.readlink("/proc/self/exe")


def test_plain_links_of_procfs(each: FileSystem) -> None:
    """The other links of procfs are followed, though some claim to have no length."""
    assert each.resolve(PROC, "self") == PROC / str(os.getpid())
    assert each.resolve(PROC, "mounts") == PROC / f"{os.getpid()}/mounts"
    assert each.resolve(PROC, "thread-self/..") == PROC / f"{os.getpid()}/task"


def test_links_of_sysfs(each: FileSystem) -> None:
    """So are those of sysfs."""
    if not os.path.islink("/sys/dev/char/1:3"):
        pytest.skip("there is no sysfs with the null device here")
    sys = ContainerPath("/sys")
    place = os.path.realpath("/sys/dev/char/1:3")
    assert str(each.resolve(sys, "dev/char/1:3")) == place
    assert each.read_bytes(sys, "dev/char/1:3/dev") == b"1:3\n"


def test_files_of_procfs(each: FileSystem) -> None:
    """A file that claims to be empty is read to its end."""
    assert each.status(PROC, "self/mountinfo").size == 0
    assert each.read_bytes(PROC, "self/cmdline") == Path("/proc/self/cmdline").read_bytes()
    assert each.read_bytes(PROC, "self/mountinfo").endswith(b"\n")


def test_large_files(each: FileSystem, root: ContainerPath) -> None:
    """A file is read to its end, whatever its size."""
    data = os.urandom(1000) * 3000
    Path(root / "large").write_bytes(data)
    Path(root / "none").touch()
    assert each.read_bytes(root, "large") == data
    assert each.read_bytes(root, "none") == b""


def test_read_the_file_that_was_found(
    held: FileSystem, root: ContainerPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another file takes the name before the first byte is read, that is not read."""
    read_held = _local_handle.read_held

    def swap_then_read(descriptor: int) -> bytes:
        os.rename(root / "d/f", root / "moved")
        os.symlink("/etc/passwd", root / "d/f")
        return read_held(descriptor)

    monkeypatch.setattr("devroot._local._system.read_held", swap_then_read)
    assert held.read_bytes(root, "l") == b"content"


def test_portable_notices_a_swap(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """By paths alone, a swap is noticed before a byte is read, if nothing worse."""
    filesystem = _systems.local("portable")
    os_open = os.open

    def swap_then_open(path: str, flags: int) -> int:
        os.rename(path, root / "moved")
        Path(path).write_bytes(b"other")
        return os_open(path, flags)

    monkeypatch.setattr(os, "open", swap_then_open)
    expected = ESTALE, str(root / "d/f")
    assert error_of(partial(filesystem.read_bytes, root, "l")) == expected


def test_never_waits(
    held: FileSystem, root: ContainerPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that would keep its reader waiting, as ``/proc/kmsg``, is ``EAGAIN``."""
    os_read = os.read

    def read(descriptor: int, size: int) -> bytes:
        assert not os.get_blocking(descriptor)
        os_read(descriptor, size)
        raise failing(EAGAIN)

    monkeypatch.setattr(os, "read", read)
    expected = EAGAIN, str(root / "d/f")
    assert error_of(partial(held.read_bytes, root, "l")) == expected


def test_gone_before_it_is_read(
    held: FileSystem, root: ContainerPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be opened any more, as one of a process that has ended, is missing."""
    os_open = os.open

    def fail_to_reopen(path: str, flags: int, **options: Any) -> int:  # noqa: ANN401 - passed on
        if flags & os.O_NOCTTY:
            raise failing(ENOENT)
        return os_open(path, flags, **options)

    monkeypatch.setattr(os, "open", fail_to_reopen)
    expected = ENOENT, str(root / "d/f")
    assert error_of(partial(held.read_bytes, root, "l")) == expected


class Poll:
    """A stand-in for `select.poll` that says that a file has changed, as often as it is told."""

    changes = 0

    def register(self, descriptor: int, mask: int) -> None:
        """Take a file that is open."""
        os.fstat(descriptor)
        assert mask == select.POLLERR | select.POLLPRI

    def poll(self, timeout: int) -> list[tuple[int, int]]:
        """Say whether it has changed."""
        assert timeout == 0
        Poll.changes -= 1
        return [(0, select.POLLPRI)] if Poll.changes >= 0 else []


@pytest.mark.parametrize(("changes", "reads"), [(0, 1), (3, 4), (1000, _local_handle.REREADS)])
def test_read_anew(
    held: FileSystem,
    root: ContainerPath,
    monkeypatch: pytest.MonkeyPatch,
    changes: int,
    reads: int,
) -> None:
    """A file that changes while it is read is read anew, so often and not more."""
    contents = [b"%d" % number for number in range(reads)]
    pending = iter([part for content in contents for part in (content, b"")])

    def read(_descriptor: int, _size: int) -> bytes:
        return next(pending)

    monkeypatch.setattr(os, "read", read)
    monkeypatch.setattr(select, "poll", Poll)
    monkeypatch.setattr(Poll, "changes", changes)
    assert held.read_bytes(root, "l") == contents[-1]
    assert next(pending, None) is None


@pytest.mark.kernel
def test_mountinfo_of_one_moment(held: FileSystem, root: ContainerPath) -> None:
    """A mount that comes while the table is read is in it."""

    def table() -> bytes:
        os_read = os.read
        places = iter(["d", "e"])

        def read_then_mount(descriptor: int, size: int) -> bytes:
            data = os_read(descriptor, size)
            for place in places:
                mount("tmpfs", str(root / place), kind="tmpfs")
                break
            return data

        os.read = read_then_mount
        return held.read_bytes(PROC, "thread-self/mountinfo")

    read = in_child(table, own_mounts=True).decode()
    assert f" {root}/d " in read
    assert f" {root}/e " in read


@pytest.mark.kernel
def test_devices_are_not_opened(each: FileSystem, root: ContainerPath) -> None:
    """A device node is not opened to be read, not even to find that there is no such device."""
    for kind in ("char", "block"):
        build(str(root), [f"{kind} /{kind} 4095:1 0666"])
        assert error_of(partial(each.read_bytes, root, kind)) == (EINVAL, str(root / kind))
        assert each.status(root, kind).major == 4095


def outcome(action: Callable[[], object]) -> tuple[int, str | None]:
    """Return errno and filename of the error with which *action* fails; 0 and None without one."""
    try:
        action()
    except OSError as error:
        return error.errno or 0, error.filename
    return 0, None


@pytest.mark.kernel
def test_rights(public: Path) -> None:
    """Without the rights of root every way is allowed what the kernel allows."""
    build(
        str(public),
        [
            "file /open/f",
            "link /open/up ../closed/d/f",
            "file /closed/d/f",
            "dir /closed 0700",
            "dir /list-only/d",
            "dir /list-only 0744",
        ],
    )
    paths = ["open/f", "open/up", "closed", "closed/", "closed/.", "closed/..", "closed/d"]
    paths += ["closed/none", "list-only/d", "list-only/..", "open/../closed/./x"]
    root = ContainerPath(str(public))

    def kernel() -> list[int]:
        return [outcome(partial(os.stat, f"{root}/{path}"))[0] for path in paths]

    def answers(filesystem: FileSystem) -> list[tuple[int, str | None]]:
        return [outcome(partial(filesystem.status, root, path)) for path in paths]

    expected = in_child(kernel, uid=NOBODY)
    assert expected.count(EACCES) == 8
    first, *others = (in_child(partial(answers, way), uid=NOBODY) for way in _systems.usable())
    assert [number for number, _ in first] == expected
    assert all(other == first for other in others)


@pytest.mark.kernel
def test_secrets(public: Path, each: FileSystem) -> None:
    """A file that this user may not read is ``EACCES``, and named."""
    build(str(public), ["file /secret 0600", "link /l secret"])
    root = ContainerPath(str(public))
    answer = partial(outcome, partial(each.read_bytes, root, "l"))
    assert in_child(answer, uid=NOBODY) == (EACCES, f"{public}/secret")


@pytest.mark.parametrize(
    ("mode", "owners", "setting", "refused"),
    [
        (0o1777, (1, 2), b"1\n", True),
        (0o1777, (1, 2), b"2\n", True),
        (0o1777, (1, 2), None, True),
        (0o1777, (1, 2), b"0\n", False),
        (0o1777, (1, 1), b"1\n", False),
        (0o1777, (1, 3), b"1\n", False),
        (0o1775, (1, 2), b"1\n", False),
        (0o0777, (1, 2), b"1\n", False),
    ],
)
@pytest.mark.parametrize("me", [3])
def test_protection(  # noqa: PLR0913, PLR0917 - the columns of a table
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: int,
    owners: tuple[int, int],
    setting: bytes | None,
    refused: bool,  # noqa: FBT001
    me: int,
) -> None:
    """A link is refused in a shared sticky directory, if it is neither its owner's nor ours."""
    file = tmp_path / "setting"
    monkeypatch.setattr(_local_walk, "_PROTECTED_LINKS", str(file))
    monkeypatch.setattr(os, "geteuid", lambda: me)
    if setting is not None:
        file.write_bytes(setting)
    parent, link = (os.stat_result((mode, 0, 0, 0, owner, 0, 0, 0, 0, 0)) for owner in owners)
    assert _local_walk.is_protected(link, parent) is refused


@pytest.mark.parametrize("room", ["walk", "portable"])
def test_protected_link(root: ContainerPath, monkeypatch: pytest.MonkeyPatch, room: str) -> None:
    """What is so protected is not followed as the last link, and can be read."""

    def is_protected(link: os.stat_result, parent: os.stat_result) -> bool:
        return stat.S_ISLNK(link.st_mode) and stat.S_ISDIR(parent.st_mode)

    monkeypatch.setattr(f"devroot._local._{room}.is_protected", is_protected)
    os.symlink("d", root / "directory")
    filesystem = _systems.local(room)
    assert error_of(partial(filesystem.resolve, root, "l")) == (EACCES, str(root / "l"))
    assert filesystem.read_link(root, "l") == "d/f"
    assert filesystem.resolve(root, "directory/f") == root / "d/f"


def test_search(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory in which nothing may be looked up fails for ``.`` and ``..``, too."""
    os_stat = os.stat

    def refuse(path: str, **options: Any) -> os.stat_result:  # noqa: ANN401 - passed on
        if path.endswith("."):
            raise failing(EACCES)
        return os_stat(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    for name in ("walk", "portable"):
        for path in ("d/.", "d/.."):
            expected = EACCES, str(root / "d")
            assert error_of(partial(_systems.local(name).resolve, root, path)) == expected


@pytest.mark.kernel
@pytest.mark.parametrize("setting", ["0\n", "1\n", None])
def test_protected_links(
    public: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    """In a shared sticky directory a link of somebody else is not followed at the end of a path.

    That is, unless the machine has switched it off.
    """
    build(str(public), ["file /f", "dir /shared/d 0755", "dir /shared 1777", "dir /sticky 1755"])
    os.chown(public / "sticky", 2, 2)
    for directory in ("shared", "sticky"):
        for owner, name in ((0, "root"), (1, "daemon"), (NOBODY, "own")):
            os.symlink("..", public / directory / name)
            os.lchown(public / directory / name, owner, owner)
    file = public / "setting"
    monkeypatch.setattr(_local_walk, "_PROTECTED_LINKS", str(file))
    if setting is not None:
        file.write_text(setting)

    def answers(name: str) -> list[int | str | None]:
        filesystem = _systems.local(name)
        found: list[int | str | None] = []
        for path in ("shared/root", "shared/daemon", "shared/own", "shared/daemon/f"):
            try:
                found.append(str(filesystem.resolve(ContainerPath(str(public)), path)))
            except OSError as error:
                found.append(error.errno)
        for link in ("root", "daemon", "own"):
            place = filesystem.resolve(ContainerPath(str(public)), f"sticky/{link}")
            found.append(str(place))
        return found

    top = str(public)
    refused = top if setting == "0\n" else EACCES
    expected = [top, refused, top, f"{top}/f", top, top, top]
    for name in ("walk", "portable"):
        assert in_child(partial(answers, name), uid=NOBODY) == expected


@pytest.mark.kernel
def test_protected_links_of_this_machine(public: Path) -> None:
    """The walk refuses to follow a link in a shared sticky directory just when the kernel does."""
    build(str(public), ["file /f", "link /shared/l ../f", "dir /shared 1777"])
    os.lchown(public / "shared/l", 1, 1)
    root = ContainerPath(str(public))

    def answer(filesystem: FileSystem) -> str:
        try:
            return str(filesystem.resolve(root, "shared/l"))
        except PermissionError as error:
            return f"refused: {error.filename}"

    def kernel() -> str:
        try:
            os.close(os.open(public / "shared/l", os.O_PATH))
        except PermissionError:
            return f"refused: {public}/shared/l"
        return f"{public}/f"

    expected = in_child(kernel, uid=NOBODY)
    for filesystem in _systems.usable():
        assert in_child(partial(answer, filesystem), uid=NOBODY) == expected


@pytest.mark.kernel
def test_mounts_without_links(held: FileSystem, root: ContainerPath) -> None:
    """On a mount with ``nosymfollow`` no link is followed, and all can be read."""

    def answers() -> list[object]:
        mount("tmpfs", str(root / "e"), kind="tmpfs", flags=MS_NOSYMFOLLOW)
        build(str(root / "e"), ["dir /d", "link /l d"])
        found: list[object] = [held.read_link(root, "e/l"), str(held.resolve(root, "e/d"))]
        for path in ("e/l", "e/l/x"):
            try:
                found.append(held.resolve(root, path))
            except OSError as error:
                found += [error.errno, error.filename]
        return found

    link = str(root / "e/l")
    expected = ["d", str(root / "e/d"), ELOOP, link, ELOOP, link]
    assert in_child(answers, own_mounts=True) == expected


@pytest.mark.kernel
def test_mounts(each: FileSystem, root: ContainerPath) -> None:
    """A mount in the root is part of it, ``..`` out of it included, and one over it hides it."""

    def answers() -> list[object]:
        outside = str(root.parent / "outside")
        build(outside, ["dir /sub", "link /up ../d/f", "link /top /l", "link /sub/out ../.."])
        mount(outside, str(root / "e"))
        found: list[object] = [
            str(each.resolve(root, path))
            for path in ("e/sub", "e/sub/../..", "e/up", "e/top", "e/sub/out", "e/../e/sub/out/e")
        ]
        with each.open_directory(root, "e/sub/..") as directory:
            found += [str(directory.path), sorted(directory.names())]
        mount("tmpfs", str(root), kind="tmpfs")
        build(str(root), ["dir /new", "link /l new"])
        found += [str(each.resolve(root, "l"))]
        try:
            each.resolve(root, "d")
        except OSError as error:
            found += [error.filename]
        return found

    assert in_child(answers, own_mounts=True) == [
        str(root / "e/sub"),
        str(root),
        str(root / "d/f"),
        str(root / "d/f"),
        str(root),
        str(root / "e"),
        str(root / "e"),
        ["sub", "top", "up"],
        str(root / "new"),
        str(root / "d"),
    ]


# Long ways.


def test_deep_paths(held: FileSystem, root: ContainerPath) -> None:
    """As deep as a path can be, and back, a walk needs only a few descriptors."""
    depth = 500
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=here)
        here, above = os.open("a", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/proc/self/fd")) + _local_walk.HELD + 8
    for back in (0, 1, 31, 32, 33, 64, 499, 500, 600):
        place = root / "/".join("a" * max(depth - back, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
        try:
            assert held.resolve(root, "a/" * depth + "../" * back) == place
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with pytest.raises(FileNotFoundError) as caught:
        held.resolve(root, "a/" * depth + "../" * 490 + "b")
    assert caught.value.filename == str(root / ("a/" * 10 + "b"))


def test_places_beyond_path_max(root: ContainerPath) -> None:
    """A place can have a longer path than can be given to the kernel; plain paths cannot follow."""
    name = "n" * 250
    here = os.open(root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        os.symlink("/".join([name] * 10), "ten", dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    place = root / "/".join([name] * 20)
    for filesystem in (LocalFileSystem(), LocalFileSystem(resolver="walk")):
        assert filesystem.resolve(root, "ten/ten") == place
        with filesystem.open_directory(root, "ten/ten") as directory:
            assert directory.path == place
            assert directory.names() == []
    portable = _systems.local("portable")
    assert error_of(partial(portable.resolve, root, "ten/ten"))[0] == ENAMETOOLONG


def test_moved_on_the_way(root: ContainerPath) -> None:
    """If a directory far up has become a link meanwhile, that is not followed on the way back."""
    depth = _local_walk.HELD + 2
    os.makedirs(root / "/".join("a" * depth))
    with DescriptorTrail(root) as trail:
        for _ in range(depth):
            trail.enter("a")
        os.rename(root / "a", root / "b")
        os.symlink("b", root / "a")

        def back() -> None:
            for _ in range(depth):
                trail.up()

        assert error_of(back) == (ENOTDIR, str(root / "a"))


@pytest.mark.parametrize(
    ("now", "kind"), [("dir /x", FileType.DIRECTORY), ("link /x d/f", FileType.REGULAR)]
)
def test_another_kind_meanwhile(
    root: ContainerPath, monkeypatch: pytest.MonkeyPatch, now: str, kind: FileType
) -> None:
    """If a name changes its kind between two looks, the second one counts."""
    os_open = os.open

    def open_then_change(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "x" and flags & os.O_DIRECTORY:
            build(str(root), [now])
            raise failing(ENOTDIR)
        return os_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_then_change)
    assert _systems.local("walk").status(root, "x").type is kind


def test_gone_between_two_looks(root: ContainerPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a name goes away between two looks it is ``ENOENT``."""
    os_open = os.open

    def open_then_remove(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        try:
            return os_open(path, flags, dir_fd=dir_fd)
        except NotADirectoryError:
            os.unlink(root / "d/f")
            raise

    monkeypatch.setattr(os, "open", open_then_remove)
    expected = ENOENT, str(root / "d/f")
    assert error_of(partial(_systems.local("walk").resolve, root, "d/f")) == expected


@pytest.mark.parametrize("resolver", ["walk", "portable"])
def test_unreadable_link(
    root: ContainerPath, monkeypatch: pytest.MonkeyPatch, resolver: str
) -> None:
    """A link that cannot be read is named."""

    def refuse(*_arguments: object, **_options: object) -> str:
        raise failing(EIO)

    monkeypatch.setattr(os, "readlink", refuse)
    expected = EIO, str(root / "l")
    assert error_of(partial(_systems.local(resolver).resolve, root, "l")) == expected


def test_a_locale_of_another_encoding(
    root: ContainerPath, monkeypatch: pytest.MonkeyPatch, each: LocalFileSystem
) -> None:
    """A name that Python would take for another than mount tables do is refused on every way."""
    build(str(root), ["dir /\xe9", "dir /plain", "link /link \xe9", "link /other plain"])
    assert each.resolve(root, "link") == root / "\xe9"
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")

    assert each.resolve(root, "other") == root / "plain"
    with each.open_directory(root, "plain") as directory:
        asked: list[Callable[[], object]] = [
            lambda: each.resolve(root, "\xe9"),
            lambda: each.resolve(root, "link"),
            lambda: each.status(root, "\udcff"),
            lambda: each.status(root / "\xe9", "/"),
            lambda: directory.lstat("\xe9"),
        ]
        refusal = r"names of files are iso8859-1 .* PYTHONUTF8=1"
        for ask in asked:
            with pytest.raises(OSError, match=refusal) as caught:
                ask()
            assert caught.value.errno == EILSEQ
