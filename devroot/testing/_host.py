"""`FakeHost`: a host in memory, with its mounts, its driver and its containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from devroot._paths import DevicePath, HostPath
from devroot._view import ContainerView
from devroot.errors import InvalidSceneError
from devroot.testing import _dump
from devroot.testing._atomic import atomic
from devroot.testing._container import Nesting
from devroot.testing._driver import DriverSpec, devices
from devroot.testing._options import PLAIN
from devroot.testing._process import Process
from devroot.testing._runtime import DEV_NODES
from devroot.testing._vfs import Spot
from devroot.testing._walk import Place
from devroot.testing._world import World

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._device import DeviceNode
    from devroot._paths import ContainerPath
    from devroot.nvidia import MigDevice
    from devroot.testing._container import FakeContainer
    from devroot.testing._devices import FakeDevice
    from devroot.testing._machine import Path

_DIRECTORIES: Final = (
    "dir /dev",
    "dir /etc",
    "dir /home",
    "dir /proc",
    "dir /run",
    "dir /sys",
    "dir /tmp 1777",
    "dir /usr/bin",
    "dir /usr/lib64",
    "dir /var/lib",
    "link /var/run /run",
)


class FakeHost(Nesting):
    """A host in memory: files, device nodes, mounts, a driver, and containers that see some of it.

    It follows Linux and needs neither Linux nor root. It starts with a root file system of a
    disk, shared as systemd makes it, with the usual directories, ``/proc``, ``/sys`` and a tmpfs
    at ``/run``; the rest is for the test to make. What it does not model is listed in the
    documentation of the testing kit.

    Args:
        specs: files to start with, as lines of a `TreeFileSystem`.

    Attributes:
        name: for messages and dumps.
        containers: those that were started on it.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_driver",)

    _kind: ClassVar[type[HostPath | ContainerPath]] = HostPath

    def __init__(self, specs: Iterable[str] = ()) -> None:
        world = World()
        disk = world.volume("ext4", "/dev/sda1", number=(8, 1))
        root = world.mounts.new_root(disk)
        world.mounts.set_propagation(root, "shared", recursive=False)
        assert root.namespace is not None  # noqa: S101 - a root has one
        place = Place(Spot(root, root.root))
        process = Process(namespace=root.namespace, root=place)
        proc = world.proc()
        super().__init__("host", world, process, proc)
        self._driver: DriverSpec | None = None
        proc.add(process, 1)
        world.files.put("devices", devices([]))
        self.add(*_DIRECTORIES)
        self._mount(proc.volume, "/proc", flags=PLAIN)
        self._mount(world.sysfs, "/sys", flags=PLAIN)
        self.tmpfs("/run")
        self.add(*specs)

    def __repr__(self) -> str:
        return f"<FakeHost with {len(self.containers)} containers>"

    @property
    def view(self) -> ContainerView:
        """The view of a process that runs on the host itself."""
        return ContainerView.of_host(filesystem=self.filesystem)

    @atomic
    def devtmpfs(self, path: Path = "/dev") -> None:
        """Mount the kernel's devtmpfs at *path*, with the nodes that every kernel has.

        Raises:
            OSError: ``ENOTDIR`` if *path* is no directory.
        """
        super().devtmpfs(path)
        known = self._world.devtmpfs.root.entries
        base = str(path).rstrip("/")
        for line in DEV_NODES:
            word, node, *rest = line.split()
            name = node.removeprefix("/dev/")
            if name not in known:
                self.add(" ".join([word, f"{base}/{name}", *rest]))

    @atomic
    def nvidia_driver(  # noqa: PLR0913 - a driver is all of these
        self,
        root: Path = "/",
        *,
        version: str = "580.65.06",
        gpus: int = 1,
        imex_channels: int = 0,
        mig: Iterable[MigDevice] = (),
        mode: int = 0o666,
        uid: int = 0,
        gid: int = 0,
        modify_device_files: bool = True,
        files: bool = True,
        nodes: bool = True,
    ) -> None:
        """Install and load NVIDIA's driver: files below *root*, ``/proc``, and device nodes.

        Majors are 195 for the main driver, 509 for ``nvidia-uvm``, 510 for IMEX channels and 511
        for ``nvidia-caps``. Called again, it is a driver that was updated or reconfigured.

        Args:
            root: the driver root, which has no ``dev`` unless it is ``/``.
            version: before 550.40 the main driver is called ``nvidia-frontend``.
            gpus: how many there are (at most 32).
            imex_channels: how many there are; with any, the capability ``fabric-imex-mgmt`` (minor
                4323) is there as well.
            mig: the MIG devices that exist; their minors follow from their IDs.
            mode: permission bits (octal) for nodes: ``DeviceFileMode``.
            uid: owner for nodes: ``DeviceFileUID``.
            gid: group for nodes: ``DeviceFileGID``.
            modify_device_files: whether others than the driver may make and change nodes.
            files: whether the driver's files are put below *root*.
            nodes: whether the usual nodes are made in the host's ``/dev``.

        Raises:
            InvalidSceneError: the version or a MIG device is not possible.
            OSError: a directory on the way is none.
        """
        if not 0 <= gpus <= 32:  # noqa: PLR2004 - as many GPUs have minors for MIG
            call = f"nvidia_driver(gpus={gpus})"
            raise InvalidSceneError(call, reason="there can be from 0 to 32")
        self._driver = spec = DriverSpec(
            version=version,
            gpus=gpus,
            imex_channels=imex_channels,
            mig=tuple(mig),
            mode=mode,
            uid=uid,
            gid=gid,
            modify=modify_device_files,
        )
        self._world.files.drop("driver")
        for path, content in spec.proc():
            self._world.files.put(path, content)
        wanted = list(spec.tree(str(self._own(root)))) if files else []
        for line in [*wanted, *(spec.nodes() if nodes else ())]:
            if line.startswith(("file ", "dir ")) or not self._exists(line.split()[1]):
                self.add(line)

    @atomic
    def driver_files(self, root: Path, *, nodes: bool = True) -> list[str]:
        """Return the files of the driver that is loaded, below another root, as lines of a scene.

        They are for a container to `add`: a driver container, or a node that is a container.

        Args:
            root: the driver root, as that container sees it.
            nodes: whether the nodes in ``/dev`` are among them.

        Raises:
            InvalidSceneError: no driver is loaded.
        """
        if self._driver is None:
            call = f"driver_files({str(root)!r})"
            raise InvalidSceneError(call, reason="no driver is loaded; call nvidia_driver first")
        return [*self._driver.tree(str(root)), *(self._driver.nodes() if nodes else ())]

    @atomic
    def proc_file(self, path: str, content: str | None) -> None:
        """Let the kernel say *content* in the file *path*, given below ``/proc``; None: no more."""
        if content is None:
            self._world.files.drop(path)
        else:
            self._world.files.put(path, content)

    # Assertions.

    @atomic
    def assert_on_host(self, node: DeviceNode | str) -> FakeDevice:
        """Assert that the host has a device node, and exactly *node* if that is one.

        Args:
            node: the node, or its path.

        Raises:
            AssertionError: it does not; the text shows what all sides have there.
        """
        path = _device_path(node)
        try:
            found = self.device(path)
        except OSError as error:
            words = f"{error.strerror}: {path}"
            raise self._failed(words, path) from None
        if not isinstance(node, str):
            wanted = f"{node.type} {node.major}:{node.minor} {node.mode:04o} {node.uid}:{node.gid}"
            if str(found) != wanted:
                words = f"{path} is {found} on the host, and not {wanted}"
                raise self._failed(words, path)
        return found

    @atomic
    def assert_not_on_host(self, node: DeviceNode | str) -> None:
        """Assert that the host has nothing at the path of *node*.

        Raises:
            AssertionError: it has; the text shows what all sides have there.
        """
        path = _device_path(node)
        if self._exists(path):
            words = f"the host has {path}"
            raise self._failed(words, path)

    @atomic
    def tree(self, below: Path = "/", *, containers: Iterable[FakeContainer] | None = None) -> str:
        """Return what the host and its containers have at *below*, side by side.

        There is a row for each path and a column for each machine: the host, then the containers
        by name. Nodes have their numbers, modes and owners, and what is mounted somewhere stands
        in brackets: the file system, where the host sees it, and its options. ``-`` is nothing.
        What is in ``/proc`` and ``/sys`` is left out, and so are the containers' roots on the host.

        Args:
            below: the directory, the same on all of them.
            containers: which of them to show; by default all, nested ones included.
        """
        return _dump.render(self._machines(containers), below=str(below))

    def _machines(self, containers: Iterable[FakeContainer] | None = None) -> _dump.Machines:
        shown = self._world.containers if containers is None else containers
        found = [(each.name, each._process) for each in shown]  # noqa: SLF001 - of one family
        return [(self.name, self._process), *sorted(found, key=lambda machine: machine[0])]

    def _failed(self, words: str, path: str) -> AssertionError:
        parts = [words, _dump.render_around(self._machines(), path)]
        for each in self._world.containers:
            parts += [f"mounts of {each.name}:", each.mountinfo()]
        return AssertionError("\n".join(parts))


def _device_path(node: DeviceNode | str) -> str:
    return str(DevicePath(node) if isinstance(node, str) else node.path)
