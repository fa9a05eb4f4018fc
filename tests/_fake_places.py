"""Fake hosts and containers with the interface of the real ones, for the same tests."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from typing_extensions import Self

from devroot._filesystem import FileType
from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.testing import FakeHost
from tests.kernel import _plugin

if TYPE_CHECKING:
    from devroot.testing._container import Nesting
    from tests.kernel._harness import Volume

_LETTERS: Final = {
    FileType.REGULAR: "-",
    FileType.DIRECTORY: "d",
    FileType.SYMLINK: "l",
    FileType.CHARACTER: "c",
    FileType.BLOCK: "b",
}


class FakePlace:
    """A fake host or container, of which is asked what is asked of the agent in a real one."""

    def __init__(self, machine: Nesting) -> None:
        self.machine = machine
        self.memory = _plugin._Memory()

    def call(self, function: str, *, module: str = "", **arguments: Any) -> Any:  # noqa: ANN401
        """Do what the agent's function does, or call a function of the plugin."""
        if not module:
            return getattr(self, function)(**arguments)
        reads = SimpleNamespace(
            of_process=partial(ContainerView.of_process, filesystem=self.machine.filesystem)
        )
        with (
            patch.object(_plugin, "_memory", self.memory),
            patch.object(_plugin, "ContainerView", reads),
        ):
            return getattr(_plugin, function)(**arguments)

    def describe(self, path: str) -> str:
        """Return what is at *path* itself, such as ``c 235:4323 0666``; empty if nothing is."""
        parent, _, name = path.rpartition("/")
        try:
            with self.machine.filesystem.open_directory(ContainerPath("/"), parent) as directory:
                status = directory.lstat(name)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        is_device = status.type in {FileType.CHARACTER, FileType.BLOCK}
        number = f" {status.major}:{status.minor}" if is_device else ""
        return f"{_LETTERS[status.type]}{number} {status.mode:04o}"

    def container(self, *volumes: Volume, dev: str = "private", nests: bool = False) -> FakePlace:
        """Start a container here."""
        container = self.machine.container(
            mounts=[_as_text(volume) for volume in volumes], privileged=dev == "snapshot"
        )
        assert container.has("/dev/null") or dev == "none"
        if nests:
            container.tmpfs("/run")
        return FakePlace(container)

    def make_directory(self, *, path: str) -> None:
        """Make *path* and what is missing above it."""
        if not self.machine.has(path):
            self.machine.directory(path)

    def make_node(self, *, path: str, major: int, minor: int) -> None:
        """Make a character device node that all may use."""
        self.machine.device(path, major=major, minor=minor, mode=0o666)

    def remove_tree(self, *, path: str) -> None:
        """Remove *path* with all that is in it."""
        self.machine.remove(path)

    def make_shared(self, *, path: str) -> None:
        """Make *path* a mount of its own whose submounts spread to its copies."""
        self.machine.bind(path, path, propagation="shared")

    def publish_root(self, *, path: str) -> None:
        """Mount this container's whole root at *path*, as a driver container does."""
        self.machine.bind("/", path, recursive=True)


class FakeRoom(FakePlace):
    """A fake host, for a ``with`` statement.

    Args:
        dev: ``private`` for a tmpfs as ``/dev``, ``real`` for devtmpfs.
    """

    def __init__(self, *, dev: str = "private") -> None:
        host = FakeHost()
        if dev == "real":
            host.devtmpfs("/dev")
        else:
            host.tmpfs("/dev")
        super().__init__(host)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _as_text(volume: Volume) -> str:
    options = ["ro" if volume.read_only else "rw", "rbind" if volume.recursive else "bind"]
    options += [volume.propagation] if volume.propagation else []
    return f"{volume.source}:{volume.target}:{','.join(options)}"
