"""Classes of users that stand in for those of devroot, and must be accepted; never run.

No base class is needed: what has the methods is a file system, a fallback or a source of devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import Self

from devroot import (
    ContainerPath,
    ContainerView,
    Directory,
    DriverRoot,
    Fallback,
    FileStatus,
    FileSystem,
    FileType,
    FirstOf,
    LocalFileSystem,
    Mount,
    Refusal,
)
from devroot.kubernetes import NeedsMounts, volumes
from devroot.udev import DeviceCatalog, Record, UdevContext, UdevMonitor, UdevNews

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType


class OwnDirectory:
    """A directory of an own file system."""

    path = ContainerPath("/")

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    def status(self) -> FileStatus:
        return FileStatus(type=FileType.DIRECTORY, mode=0o755)

    def names(self) -> list[str]:
        return []

    def lstat(self, name: str, /) -> FileStatus:
        raise FileNotFoundError(name)

    def read_link(self, name: str, /) -> str:
        raise FileNotFoundError(name)

    def open_directory(self, name: str, /) -> OwnDirectory:
        raise FileNotFoundError(name)

    def make_directory(self, name: str, /, *, mode: int, uid: int = 0, gid: int = 0) -> None: ...

    def make_node(  # noqa: PLR0913 - a device node is all of these
        self,
        name: str,
        /,
        *,
        type: FileType,
        major: int,
        minor: int,
        mode: int,
        uid: int = 0,
        gid: int = 0,
    ) -> None: ...

    def make_symlink(self, name: str, target: str, /) -> None: ...

    def write_file(self, name: str, data: bytes, /, *, mode: int) -> None: ...

    def mend(
        self,
        name: str,
        /,
        *,
        expected: FileStatus,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
    ) -> None: ...

    def link(self, name: str, to: Directory, to_name: str, /) -> None: ...

    def rename(self, name: str, to: Directory, to_name: str, /, *, replace: bool) -> None: ...

    def unlink(self, name: str, /) -> None: ...

    def remove_directory(self, name: str, /) -> None: ...

    def try_lock(self) -> bool:
        return True


class OwnFileSystem:
    """A file system that answers from somewhere else; its directories are of an own class too."""

    def resolve(self, root: ContainerPath, unsafe_path: str, /) -> ContainerPath:
        raise FileNotFoundError(root, unsafe_path)

    def open_directory(self, root: ContainerPath, unsafe_path: str, /) -> OwnDirectory:
        raise FileNotFoundError(root, unsafe_path)

    def status(self, root: ContainerPath, unsafe_path: str, /) -> FileStatus:
        raise FileNotFoundError(root, unsafe_path)

    def read_bytes(self, root: ContainerPath, unsafe_path: str, /) -> bytes:
        raise FileNotFoundError(root, unsafe_path)

    def read_link(self, root: ContainerPath, unsafe_path: str, /) -> str:
        raise FileNotFoundError(root, unsafe_path)


def look_elsewhere() -> list[FileSystem]:
    """Where a file system is wanted, either does."""
    own = OwnFileSystem()
    ContainerView.of_process(filesystem=own)
    ContainerView(filesystem=own)
    return [own, LocalFileSystem(), LocalFileSystem(resolver="walk")]


class OnlyRefuses:
    """A fallback whose answer is narrower than it might be, which is fine."""

    def dev_root(self, _driver_root: DriverRoot, _view: ContainerView, /) -> Refusal:
        return Refusal(fallback="mine", reason="not today")

    @property
    def mounts(self) -> tuple[Mount, ...]:
        return (Mount(host="/dev", container="/host-dev/dev"),)


def fall_back_and_ask_for_mounts() -> Fallback:
    """What says which mounts it needs gets volumes."""
    needs: NeedsMounts = OnlyRefuses()
    volumes(needs, OnlyRefuses())
    return FirstOf(OnlyRefuses())


class OwnMonitor:
    """A source of news."""

    unknown: tuple[str, ...] = ()

    def fileno(self) -> int:
        return -1

    def receive(self, _timeout: float | None, /) -> UdevNews | None:
        return UdevNews(action="add", record=Record(sysfs_path="/devices/x", properties={}))

    def close(self) -> None: ...


class OwnContext:
    """A source of devices, such as a test has."""

    unknown: tuple[str, ...] = ()

    def records(self) -> Iterable[Record]:
        return []

    def monitor(self) -> OwnMonitor:
        return OwnMonitor()


def list_own_devices() -> tuple[DeviceCatalog, UdevContext, UdevMonitor]:
    """A catalogue reads from either."""
    context = OwnContext()
    return DeviceCatalog.of_host(context), context, context.monitor()
