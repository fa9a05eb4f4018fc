"""`FakeContainer`: a container on a fake host, as a runtime makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._filesystem import FileType
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, as_container_path
from devroot._view import ContainerView
from devroot.testing import _runtime
from devroot.testing._atomic import atomic
from devroot.testing._machine import Machine
from devroot.testing._options import PLAIN, Flags
from devroot.testing._process import Process
from devroot.testing._runtime import Binding, ProcMask
from devroot.testing._vfs import Spot
from devroot.testing._walk import Place
from devroot.testing._wishes import Wishes, capability_bits, credentials, device_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from devroot.testing._limits import Limit
    from devroot.testing._procfs import ProcFiles
    from devroot.testing._world import World

HOST_PROC: Final = "/host-proc"
"""Where a container sees the host's ``/proc`` that is granted its mount table."""


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
        user: int = 0,
        group: int = 0,
        groups: Iterable[int] = (),
        capabilities: Collection[str] | None = None,
        device_cgroup: Iterable[str] | None = None,
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
                after a second colon, or a `Mount`. Options are ``ro``, ``rro`` (also what is
                mounted below), ``nosuid``, ``nodev``, ``noexec``, ``bind`` (what is mounted below
                does not come along; it does by default), ``rslave`` and ``rshared``. A `Mount`
                without a host side is a new tmpfs, or an empty file where the image has a file
                or the kubelet mounts one. What is missing on either side is made, as runtimes do.
            privileged: whether it has all capabilities and, in a ``/dev`` of its own, copies of
                the nodes that the host has now.
            user_namespace: whether it has a user namespace of its own, in which the host's
                100000 is its root. The host's nodes are then mounted to its ``/dev``.
            user: in whose name its process works, as its user namespace counts. Whoever is not
                root has no effective capabilities.
            group: the group, likewise.
            groups: the supplementary groups, likewise.
            capabilities: the names of its capabilities; by default those that runtimes give,
                ``MKNOD`` among them.
            device_cgroup: the nodes that its process may make, such as ``c 195:* rwm``; by
                default all, as runtimes have it.
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
            InvalidSceneError: there is no capability of that name, or another argument cannot be.
            NotModelledError: it is possible, but not modelled.
            OSError: a mount point cannot be made.
        """
        wishes = Wishes(
            mounts=tuple(Binding.of(mount) for mount in mounts),
            privileged=privileged,
            who=credentials(
                self._process.who,
                user_namespace=user_namespace,
                user=user,
                group=group,
                groups=groups,
                capabilities=capability_bits(capabilities, privileged=privileged),
            ),
            device_rules=device_rules(device_cgroup),
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

    def _kept_by_kubelet(self, binding: Binding) -> Place:
        """Return what the kubelet has at the source of a mount, made if it is missing."""
        path = binding.source
        if self._exists(path):
            return self._at(as_container_path(path))
        if binding.source_is_tmpfs:
            self.tmpfs(path)
        place = self._ready(path, directory=not binding.is_file)
        inode = place.inode
        inode.mode, inode.gid = binding.source_mode
        if binding.lacks and inode.is_directory:
            inode.lacks = binding.lacks
        elif binding.lacks:
            inode.live = _unknown(binding.lacks, binding.source)
        return place

    def pod(
        self,
        pod: Mapping[str, Any],
        *,
        container: str | None = None,
        host_mountinfo: bool = False,
        proc_mask: ProcMask = "",
    ) -> FakeContainer:
        """Start the container of a pod here, as the kubelet and a runtime would.

        Its volumes and their mounts, ``hostPID``, ``hostIPC``, ``hostUsers`` and its security
        contexts count. What the kubelet keeps on the host is below ``/var/lib/kubelet/pods``.

        Args:
            pod: a manifest, as for `devroot.kubernetes.mounts`.
            container: the name of the container; None for the only one.
            host_mountinfo: as for `container`.
            proc_mask: as for `container`.

        Raises:
            InvalidManifestError: there is no such container, or a field is not as it should be.
            InvalidSceneError: Kubernetes would not take it, or the kubelet would not start it, as
                when a ``hostPath`` is not of the type that the volume says.
            NotModelledError: a field is not modelled on which it depends what is in the container.
            OSError: a mount point cannot be made.
        """
        from devroot.testing._pods import wishes_of  # noqa: PLC0415 - not every test has a pod

        number = len(self.containers) + 1
        asked = wishes_of(pod, container, self.filesystem, unnamed=f"{self.name}-pod-{number}")
        wishes = Wishes(
            mounts=asked.mounts,
            privileged=asked.privileged,
            who=credentials(
                self._process.who,
                user=asked.user,
                group=asked.group,
                groups=asked.groups,
                capabilities=capability_bits(asked.capabilities, privileged=asked.privileged),
            ),
            host_mountinfo=host_mountinfo,
            host_pid=asked.host_pid,
            read_only=asked.read_only,
            proc_mask=proc_mask,
        )
        return self._start(wishes, asked.name)


def _unknown(limit: Limit, where: str) -> Callable[[Process | None], str]:
    """Return the content of a file whose content is not modelled."""

    def content(_: Process | None) -> str:
        raise limit.met(where)

    return content


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
        overlay.root.uid = overlay.root.gid = wishes.who.kept(0)
        pid = next(world.pids)
        world.mounts.mount(overlay, on._ready(_runtime.ROOTS.format(pid)).spot)  # noqa: SLF001 - likewise
        root = world.mounts.new_root(overlay)
        assert root.namespace is not None  # noqa: S101 - a root has one
        process = Process(
            namespace=root.namespace,
            root=Place(Spot(root, root.root)),
            pid=pid,
            who=wishes.who,
            device_rules=wishes.device_rules,
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
            volume = self._volume("tmpfs", "tmpfs", "size=65536k,mode=755")
            self._mount(volume, "/dev", _runtime.DEV)
            self.add(*_runtime.DEV_LINKS)
            self._add_nodes(on)
            if wishes.privileged and on.has("/dev"):
                there = on._at(ContainerPath("/dev")).spot  # noqa: SLF001 - of one family
                _runtime.copy_nodes(there, volume.root, volume)
        for name, fstype, source, flags in (
            ("pts", "devpts", "devpts", _runtime.DEV),
            ("mqueue", "mqueue", "mqueue", _runtime.PROC),
            ("shm", "tmpfs", "shm", _runtime.PROC),
        ):
            if not wishes.replaces(f"/dev/{name}"):
                self._mount(self._volume(fstype, source), f"/dev/{name}", flags)
        if not wishes.replaces("/sys"):
            self._mount(world.sysfs, "/sys", PLAIN if wishes.privileged else _runtime.SYS)

    def _add_nodes(self, on: Nesting) -> None:
        """Make the nodes of the specification; where that is forbidden, mount those of *on*."""
        for line in _runtime.DEV_NODES:
            path = line.split()[1]
            if self._process.who.initial:
                self.add(line)
            elif on.has(path):
                source = on._at(ContainerPath(path)).spot  # noqa: SLF001 - of one family
                at = self._ready(path, directory=False).spot
                made = self._world.mounts.bind(source, at)
                self._world.mounts.set_propagation(made, "private", recursive=False)

    def _guard_proc(self) -> None:
        """Cover what a runtime hides of ``/proc``, and protect what it makes read-only."""
        for name in ("bus", "sys"):
            self.bind(f"/proc/{name}", f"/proc/{name}", read_only=True)
        self.tmpfs("/proc/acpi", read_only=True)
        if self.has("/dev/null"):
            self.bind("/dev/null", "/proc/kcore")

    def _mount_binding(self, binding: Binding, on: Nesting) -> None:
        mount, mounts = binding.mount, self._world.mounts
        if mount.host is not None:
            source = on._ready(str(mount.host), directory=not binding.is_file).spot  # noqa: SLF001 - of one family
        elif binding.source:
            source = on._kept_by_kubelet(binding).spot  # noqa: SLF001 - likewise
        elif binding.is_file or self._is_file(mount.container):
            source = self._new_file("file", "").spot
        else:
            self.tmpfs(mount.container, read_only=mount.read_only)
            return
        at = self._ready(mount.container, directory=source.inode.is_directory).spot
        made = mounts.bind(source, at, recursive=binding.recursive)
        mounts.set_propagation(made, binding.propagation, recursive=True)
        flags = {name: True for name in ("nosuid", "nodev", "noexec") if getattr(binding, name)}
        if mount.read_only or binding.read_only:
            flags["read_only"] = True
        mounts.remount(made, attrs.evolve(made.flags, **flags))
        if binding.recursive_read_only:
            for each in made.tree():
                mounts.remount(each, attrs.evolve(each.flags, read_only=True))

    def _is_file(self, path: ContainerPath) -> bool:
        return self._exists(str(path)) and not self._at(path).inode.is_directory

    def _mask(self, mask: ProcMask) -> None:
        """Hide the driver's files as the GPU runtimes do, the older way or the newer."""
        directory, params = "/proc/driver/nvidia", "/proc/driver/nvidia/params"
        content = self._world.files.get("driver/nvidia/params")
        content = content.replace("ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0")
        if mask == "directory":
            self._mount(self._volume("tmpfs", "tmpfs", "mode=555"), directory, _runtime.PROC)
            self.file(params, content, mode=0o444)
            return
        at = self._at(ContainerPath(params)).spot
        self._world.mounts.bind(self._new_file("nvct-params", content).spot, at)

    def _new_file(self, name: str, content: str) -> Place:
        """Return a new file in a tmpfs of its own, which is mounted nowhere else."""
        volume = self._volume("tmpfs", "tmpfs")
        inode = volume.new(FileType.REGULAR, mode=0o444)
        inode.content = content.encode()
        inode.uid = inode.gid = self._who.kept(0)
        volume.root.add(name, inode)
        mount = self._world.mounts.new_root(volume)
        return Place(Spot(mount, volume.root.lookup(name)))
