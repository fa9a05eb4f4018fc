"""Classes that are almost what devroot asks for, and must be rejected; never run.

Each wrong line is silenced for one rule of each checker, as in ``rejected.py``.
"""

from __future__ import annotations

from devroot import (
    ContainerPath,
    ContainerView,
    DevRoot,
    DriverRoot,
    FileStatus,
    FirstOf,
    HostPath,
    LocalFileSystem,
)
from devroot.kubernetes import volumes
from devroot.testing import FakeHost, FakeUdev, TreeFileSystem
from devroot.udev import DeviceCatalog


class AnswersNone:
    """A fallback that says neither where the dev root is nor why it is nowhere."""

    def dev_root(self, _driver_root: DriverRoot, _view: ContainerView, /) -> DevRoot | None:
        return None


class AsksForMore:
    """A fallback that wants what nobody gives it."""

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, _retries: int, /) -> DevRoot:
        return DevRoot(container=driver_root.container, view=view)


class ReadsTheHost:
    """A file system whose paths are those of the host."""

    def resolve(self, root: HostPath, _unsafe_path: str, /) -> HostPath:
        return root

    def open_directory(self, root: HostPath, unsafe_path: str, /) -> None: ...

    def status(self, root: HostPath, unsafe_path: str, /) -> FileStatus:
        raise FileNotFoundError(root, unsafe_path)

    def read_bytes(self, _root: HostPath, _unsafe_path: str, /) -> bytes:
        return b""

    def read_link(self, _root: HostPath, unsafe_path: str, /) -> str:
        return unsafe_path


def pass_for_a_fallback(driver_root: DriverRoot) -> None:
    """What answers otherwise, or asks for more, is no fallback."""
    driver_root.dev_root(fallback=AnswersNone())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    FirstOf(AsksForMore())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    volumes(AnswersNone())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def pass_for_a_file_system() -> None:
    """What takes host paths is no file system of a container, and a resolver is one of four."""
    ContainerView(filesystem=ReadsTheHost())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ContainerView(filesystem="/")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    LocalFileSystem(resolver="slow")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    LocalFileSystem().status(HostPath("/"), "dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    LocalFileSystem().status(ContainerPath("/"), ContainerPath("/dev"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def make_nodes_anyhow() -> None:
    """A file is changed with all that is wanted said by name."""
    with LocalFileSystem().open_directory(ContainerPath("/"), "dev") as directory:
        directory.rename("a", directory, "b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        directory.make_directory("a", 0o755)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        directory.rename("a", "/dev", "b", replace=False)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def pass_for_a_host(fake_host: FakeHost) -> None:
    """A fake is told in its own terms."""
    fake_host.container(proc_mask="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fake_host.device("/dev/x", major=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    FakeUdev(fake_host.container()).unplug("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    TreeFileSystem().file(HostPath("/x"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    DeviceCatalog.of_host(fake_host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
