"""`FakeContainer`: a container on a fake host, as a runtime makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._filesystem import FileType
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath
from devroot._view import ContainerView
from devroot.testing import _runtime
from devroot.testing._atomic import atomic
from devroot.testing._handles import ALL_CAPABILITIES, Process
from devroot.testing._machine import Machine, World
from devroot.testing._runtime import Binding, ProcMask
from devroot.testing._vfs import PLAIN, Flags, Spot
from devroot.testing._walk import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from devroot.testing._procfs import ProcFiles

HOST_PROC: Final = "/host-proc"
"""Where a container sees the host's ``/proc`` that is granted its mount table."""


@attrs.frozen(kw_only=True)
class Wishes:
    """What a container is to be; see `Nesting.container`."""

    mounts: tuple[Binding, ...] = ()
    privileged: bool = False
    user_namespace: bool = False
    capabilities: int = 0
    host_mountinfo: bool = False
    host_pid: bool = False
    read_only: bool = False
    proc_mask: ProcMask = ""
    declared: bool = True

    def replaces(self, path: str) -> bool:
        """Whether a mount that is asked for takes the place of a default one at *path*.

        A mount at ``/dev`` takes the place of all that is mounted below, as with Docker.
        """
        points = {str(binding.mount.container) for binding in self.mounts}
        return path in points or (path.startswith("/dev/") and "/dev" in points)


def _bits(capabilities: Collection[str] | None, *, privileged: bool) -> int:
    """Return the mask of these capabilities; None is what a runtime gives."""
    if privileged and capabilities is None:
        return ALL_CAPABILITIES
    names = _runtime.DEFAULT_CAPABILITIES if capabilities is None else capabilities
    return _runtime.capability_bits(names)


class Nesting(Machine):
    """A machine on which containers can be started.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("containers",)

    def __init__(self, name: str, world: World, process: Process, proc: ProcFiles) -> None:
        super().__init__(name, world, process, proc)
        self.containers: list[FakeContainer] = []

    def container(  # noqa: PLR0913 - a container is all of these
        self,
        *,
        mounts: Iterable[str | Mount] = (),
        privileged: bool = False,
        user_namespace: bool = False,
        capabilities: Collection[str] | None = None,
        host_mountinfo: bool = False,
        host_pid: bool = False,
        read_only: bool = False,
        proc_mask: ProcMask = "",
        declared: bool = True,
        name: str = "",
    ) -> FakeContainer:
        """Start a container here.

        Args:
            mounts: what it asks for, mounted in this order: ``HOST:CONTAINER`` with options
                after a second colon, or a `Mount`. Options are ``ro``, ``nodev``, ``bind`` (what
                is mounted below does not come along; it does by default), ``rslave`` and
                ``rshared``. A `Mount` without a host side is a new tmpfs. What is missing on
                either side is made, as runtimes do.
            privileged: whether it has all capabilities and, in a ``/dev`` of its own, copies of
                the nodes that the host has now.
            user_namespace: whether it has a user namespace of its own.
            capabilities: the names of its capabilities; by default those that runtimes give,
                ``MKNOD`` among them.
            host_mountinfo: whether it may read the mount table of this machine; unless it has
                its PID namespace, its ``/proc`` is mounted for that at ``/host-proc``.
            host_pid: whether it shares the PID namespace.
            read_only: whether its root is read-only.
            proc_mask: how a GPU runtime masks ``/proc/driver/nvidia``: ``directory`` for a tmpfs
                over it, ``params`` for that file alone.
            declared: whether its view is told the mounts.
            name: for messages and dumps.

        Raises:
            InvalidMountError: a mount is not of the form.
            InvalidSceneError: there is no capability of that name.
            OSError: a mount point cannot be made.
        """
        wishes = Wishes(
            mounts=tuple(Binding.of(mount) for mount in mounts),
            privileged=privileged,
            user_namespace=user_namespace,
            capabilities=_bits(capabilities, privileged=privileged),
            host_mountinfo=host_mountinfo,
            host_pid=host_pid,
            read_only=read_only,
            proc_mask=proc_mask,
            declared=declared,
        )
        return self._start(wishes, name)

    @atomic
    def _start(self, wishes: Wishes, name: str) -> FakeContainer:
        if wishes.host_mountinfo and not wishes.host_pid:
            granted = Binding.of(f"/proc:{HOST_PROC}:ro")
            wishes = attrs.evolve(wishes, mounts=(*wishes.mounts, granted))
        number = len(self.containers) + 1
        container = FakeContainer(name or f"{self.name}-container-{number}", self, wishes)
        self.containers.append(container)
        self._world.containers.append(container)
        return container

    def pod(
        self,
        pod: Mapping[str, Any],
        *,
        container: str | None = None,
        host_mountinfo: bool = False,
        proc_mask: ProcMask = "",
    ) -> FakeContainer:
        """Start the container of a pod here, as the kubelet and a runtime would.

        Its volume mounts with their propagation, ``hostPID``, ``hostUsers`` and of its security
        context ``privileged``, ``capabilities`` and ``readOnlyRootFilesystem`` count. Volumes
        other than a ``hostPath`` are new and empty.

        Args:
            pod: a manifest, as for `devroot.kubernetes.mounts`.
            container: the name of the container; None for the only one.
            host_mountinfo: as for `container`.
            proc_mask: as for `container`.

        Raises:
            InvalidManifestError: there is no such container, or a field is not as it should be.
            InvalidSceneError: the kubelet would not start it, because a ``hostPath`` is not of
                the type that the volume says.
            OSError: a mount point cannot be made.
        """
        from devroot.testing._pods import wishes_of  # noqa: PLC0415 - not every test has a pod

        asked = wishes_of(pod, container, self.filesystem)
        wishes = Wishes(
            mounts=asked.mounts,
            privileged=asked.privileged,
            user_namespace=asked.user_namespace,
            capabilities=_bits(asked.capabilities, privileged=asked.privileged),
            host_mountinfo=host_mountinfo,
            host_pid=asked.host_pid,
            read_only=asked.read_only,
            proc_mask=proc_mask,
        )
        return self._start(wishes, asked.name)


class FakeContainer(Nesting):
    """A container on a `FakeHost`; made by `FakeHost.container`.

    Its methods change what is in it from the outside, whatever its own process may do. It can
    hold containers itself, as a kind node does.

    Attributes:
        name: for messages and dumps.
        containers: those that were started in it.

    .. versionadded:: 0.1.0
    """

    __slots__ = ("_wishes",)

    def __init__(self, name: str, on: Nesting, wishes: Wishes) -> None:
        self._wishes = wishes
        world = on._world  # noqa: SLF001 - of one family
        overlay = world.volume("overlay", "overlay", "lowerdir=/l,upperdir=/u,workdir=/w")
        root = world.mounts.new_root(overlay)
        assert root.namespace is not None  # noqa: S101 - a root has one
        process = Process(
            namespace=root.namespace,
            root=Place(Spot(root, root.root)),
            pid=next(world.pids),
            capabilities=wishes.capabilities,
            initial_user_namespace=not wishes.user_namespace,
        )
        proc = on._proc if wishes.host_pid else world.proc()  # noqa: SLF001 - of one family
        super().__init__(name, world, process, proc)
        self.add(*_runtime.IMAGE)
        if not wishes.host_pid:
            proc.add(process, 1)
        on._proc.add(process, process.pid)  # noqa: SLF001 - of one family
        self._mount_defaults(on)
        for binding in wishes.mounts:
            self._mount_binding(binding, on)
        if not (wishes.privileged or wishes.replaces("/proc")):
            self._guard_proc()
        if wishes.proc_mask:
            self._mask(wishes.proc_mask)
        world.mounts.remount(root, Flags(read_only=wishes.read_only))

    def __repr__(self) -> str:
        return f"<FakeContainer {self.name}>"

    @property
    def mounts(self) -> MountTable:
        """The mounts that it asked for."""
        return MountTable(binding.mount for binding in self._wishes.mounts)

    @property
    def view(self) -> ContainerView:
        """A view of it now, read from its own ``/proc``; `ContainerView.refresh` works."""
        granted = None
        if self._wishes.host_mountinfo:
            proc = "/proc" if self._wishes.host_pid else HOST_PROC
            granted = ContainerPath(f"{proc}/1/mountinfo")
        return ContainerView.of_process(
            mounts=self.mounts if self._wishes.declared else None,
            host_mountinfo=granted,
            filesystem=self.filesystem,
        )

    @atomic
    def places_of(self, device_path: str) -> list[str]:
        """Return where a node of that canonical path is here, in ``/dev`` or mounted aside."""
        roots = {"/", *(str(binding.mount.container) for binding in self._wishes.mounts)}
        found: list[str] = []
        for root in sorted(roots):
            names = root.split("/")
            for depth in range(1, len(names) + 1):
                path = "/".join(names[:depth]).rstrip("/") + device_path
                if path not in found and self._exists(path):
                    found.append(path)
        return found

    def _mount_defaults(self, on: Nesting) -> None:
        wishes, world = self._wishes, self._world
        if not wishes.replaces("/proc"):
            self._mount(self._proc.volume, "/proc", _runtime.PROC)
        if not wishes.replaces("/dev"):
            volume = world.volume("tmpfs", "tmpfs", "size=65536k,mode=755")
            self._mount(volume, "/dev", _runtime.DEV)
            self.add(*_runtime.DEV_NODES, *_runtime.DEV_LINKS)
            if wishes.privileged and on.has("/dev"):
                there = on._at(ContainerPath("/dev")).spot  # noqa: SLF001 - of one family
                _runtime.copy_nodes(there, volume.root, volume)
        for name, fstype, source, flags in (
            ("pts", "devpts", "devpts", _runtime.DEV),
            ("mqueue", "mqueue", "mqueue", _runtime.PROC),
            ("shm", "tmpfs", "shm", _runtime.PROC),
        ):
            if not wishes.replaces(f"/dev/{name}"):
                self._mount(world.volume(fstype, source), f"/dev/{name}", flags)
        if not wishes.replaces("/sys"):
            self._mount(world.sysfs, "/sys", PLAIN if wishes.privileged else _runtime.SYS)

    def _guard_proc(self) -> None:
        """Cover what a runtime hides of ``/proc``, and protect what it makes read-only."""
        for name in ("bus", "sys"):
            self.bind(f"/proc/{name}", f"/proc/{name}", read_only=True)
        self.tmpfs("/proc/acpi", read_only=True)
        if self.has("/dev/null"):
            self.bind("/dev/null", "/proc/kcore")

    def _mount_binding(self, binding: Binding, on: Nesting) -> None:
        mount, mounts = binding.mount, self._world.mounts
        is_directory = not binding.is_file
        if mount.host is None and is_directory:
            self.tmpfs(mount.container, read_only=mount.read_only)
            return
        if mount.host is None:
            source = self._new_file("file", "").spot
        else:
            source = on._ready(str(mount.host), directory=is_directory).spot  # noqa: SLF001 - of one family
        at = self._ready(mount.container, directory=source.inode.is_directory).spot
        made = mounts.bind(source, at, recursive=binding.recursive)
        mounts.set_propagation(made, binding.propagation, recursive=True)
        flags = attrs.evolve(
            made.flags,
            read_only=made.flags.read_only or mount.read_only,
            nodev=made.flags.nodev or binding.nodev,
        )
        mounts.remount(made, flags)

    def _mask(self, mask: ProcMask) -> None:
        """Hide the driver's files as the GPU runtimes do, the older way or the newer."""
        directory, params = "/proc/driver/nvidia", "/proc/driver/nvidia/params"
        content = self._world.files.get("driver/nvidia/params")
        content = content.replace("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0")
        if mask == "directory":
            self._mount(self._world.volume("tmpfs", "tmpfs", "mode=555"), directory, _runtime.PROC)
            self.file(params, content, mode=0o444)
            return
        at = self._at(ContainerPath(params)).spot
        self._world.mounts.bind(self._new_file("nvct-params", content).spot, at)

    def _new_file(self, name: str, content: str) -> Place:
        """Return a new file in a tmpfs of its own, which is mounted nowhere else."""
        volume = self._world.volume("tmpfs", "tmpfs")
        inode = volume.new(FileType.REGULAR, mode=0o444)
        inode.content = content.encode()
        volume.root.add(name, inode)
        mount = self._world.mounts.new_root(volume)
        return Place(Spot(mount, volume.root.lookup(name)))
