"""What a pod asks for, as the kubelet tells it to the runtime.

Where the kubelet and containerd keep what they mount is as their sources have it (pkg/kubelet and
pkg/volume of Kubernetes, internal/cri of containerd).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._filesystem import FileType
from devroot._manifest import Field
from devroot._paths import ContainerPath
from devroot.errors import InvalidSceneError
from devroot.kubernetes import _pod, _table
from devroot.testing._limits import Limit
from devroot.testing._runtime import (
    CAPABILITY_BITS,
    DEFAULT_CAPABILITIES,
    FILES_OF_RUNTIMES,
    Binding,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devroot._filesystem import FileSystem
    from devroot._mounts import Mount
    from devroot.kubernetes._pod import Container
    from devroot.kubernetes._table import PodMount
    from devroot.testing._peers import Propagation

_ROOT: Final = ContainerPath("/")
_PROPAGATIONS: Final[dict[str, Propagation]] = {
    "None": "private",
    "HostToContainer": "slave",
    "Bidirectional": "shared",
}
_TYPES: Final = {
    "BlockDevice": FileType.BLOCK,
    "CharDevice": FileType.CHARACTER,
    "Directory": FileType.DIRECTORY,
    "DirectoryOrCreate": FileType.DIRECTORY,
    "File": FileType.REGULAR,
    "FileOrCreate": FileType.REGULAR,
    "Socket": FileType.SOCKET,
}
"""What is to be there, for the types of a hostPath; the kubelet makes what may be created."""

_FILLED: Final = {
    "configMap": "configmap",
    "downwardAPI": "downward-api",
    "projected": "projected",
    "secret": "secret",
}
"""Volumes that the kubelet fills, by the names of their plugins; all but the first are tmpfs."""

_SANDBOX: Final = "io.containerd.grpc.v1.cri/sandboxes"
_SHM: Final = "/dev/shm"  # noqa: S108 - where a runtime mounts it
_RECURSIVE: Final = frozenset({"Disabled", "IfPossible", "Enabled"})
_EVERYBODY: Final = 0o777
_SHARED: Final = 0o1777
_GROUP: Final = 0o2770


@attrs.frozen(kw_only=True)
class PodWishes:
    """What the pod says of one container; the names are those of `FakeHost.container`."""

    name: str
    mounts: tuple[Binding, ...]
    privileged: bool
    user: int
    group: int
    groups: frozenset[int]
    capabilities: frozenset[str] | None
    host_pid: bool
    read_only: bool


def wishes_of(
    pod: Mapping[str, Any], container: str | None, host: FileSystem, *, unnamed: str
) -> PodWishes:
    """Return what *container* of *pod* asks for on a host with these files.

    Args:
        pod: the manifest.
        container: the name of the container; None for the only one.
        host: the files of the host.
        unnamed: what a pod without a name is called.

    Raises:
        InvalidManifestError: it has no such container, or a field is not as it should be.
        InvalidSceneError: the kubelet would not start it.
        NotModelledError: it would depend on a field that is not modelled what it is like.
    """
    found = _pod.find_container(pod, container)
    _check_modelled(found)
    context = found.field["securityContext"]
    privileged = context["privileged"].flag() or False
    names = _names(context["capabilities"]["add"]), _names(context["capabilities"]["drop"])
    capabilities = None
    if not privileged:
        kept = frozenset[str]() if "ALL" in names[1] else DEFAULT_CAPABILITIES - names[1]
        added = frozenset(CAPABILITY_BITS) if "ALL" in names[0] else names[0]
        capabilities = kept | added
    user = _number(_of_both(found, "runAsUser"))
    _check_root(found, user)
    of_pod = found.pod["securityContext"]
    groups = {_number(each) for each in of_pod["supplementalGroups"].items()}
    volume_group = of_pod["fsGroup"]
    if volume_group.value is not None:
        groups.add(_number(volume_group))
    places = _Places(
        name=_name_of(pod) or unnamed,
        container=found,
        host=host,
        group=None if volume_group.value is None else _number(volume_group),
        privileged=privileged,
    )
    return PodWishes(
        name=found.name,
        mounts=tuple(places.binding(one) for one in _table.mounts_of(found)),
        privileged=privileged,
        user=user,
        group=_number(_of_both(found, "runAsGroup")),
        groups=frozenset(groups),
        capabilities=capabilities,
        host_pid=found.pod["hostPID"].flag() or False,
        read_only=context["readOnlyRootFilesystem"].flag() or False,
    )


def _check_modelled(container: Container) -> None:
    """Check that the pod says nothing that is not modelled.

    Raises:
        NotModelledError: it does.
    """
    pod, own = container.pod, container.field
    _check_security(container)
    if pod["os"]["name"].text("linux") != "linux":
        raise Limit.WINDOWS.met(pod["os"]["name"].location)
    for field, limit in (
        (pod["runtimeClassName"], Limit.RUNTIME_CLASS),
        (pod["shareProcessNamespace"], Limit.PROCESS_NAMESPACE),
        (own["volumeDevices"], Limit.RAW_DEVICES),
        (own["resources"]["claims"], Limit.DEVICES_OF_CLAIMS),
    ):
        if field.value:
            raise limit.met(field.location)
    if pod["hostUsers"].flag() is False:
        raise Limit.IDMAP.met(pod["hostUsers"].location)
    for amounts in (own["resources"]["limits"], own["resources"]["requests"]):
        for name in amounts.mapping():
            if "/" in name:
                where = f"{amounts.location}.{name}"
                raise Limit.DEVICES_OF_CLAIMS.met(where)


def _check_security(container: Container) -> None:
    labels = _of_both(container, "seLinuxOptions")
    if labels.value:
        raise Limit.LABELS.met(labels.location)
    for profile in ("seccompProfile", "appArmorProfile"):
        kind = _of_both(container, profile)["type"]
        if kind.text("") == "Localhost":
            raise Limit.LABELS.met(kind.location)
    proc = container.field["securityContext"]["procMount"]
    if proc.text("Default") != "Default":
        raise Limit.PROC_MOUNT.met(proc.location)


def _check_root(container: Container, user: int) -> None:
    """Check that the kubelet starts it although it may have to be started as somebody else.

    Raises:
        InvalidSceneError: it does not.
    """
    field = _of_both(container, "runAsNonRoot")
    if field.flag() and not user:
        reason = "the kubelet does not start it: its user is root; write runAsUser as well"
        raise InvalidSceneError(field.location, reason=reason)


def _of_both(container: Container, name: str) -> Field:
    """Return a field of the container's security context, or else of the pod's."""
    own = container.field["securityContext"][name]
    return container.pod["securityContext"][name] if own.value is None else own


def _number(field: Field) -> int:
    if field.value is None:
        return 0
    if not isinstance(field.value, int) or isinstance(field.value, bool):
        raise field.error(reason="give it as a number")
    return field.value


def _names(field: Field) -> frozenset[str]:
    return frozenset(name.text().upper().removeprefix("CAP_") for name in field.items())


def _name_of(pod: Mapping[str, Any]) -> str:
    """Return what stands for the unique ID of the pod; empty if it has neither that nor a name."""
    field = Field(value=pod)["metadata"]
    words = field["namespace"].text(""), field["name"].text("")
    return field["uid"].text("") or "-".join(filter(None, words if words[1] else ()))


@attrs.frozen(kw_only=True)
class _Places:
    """Where on the host is what a container of a pod has mounted."""

    name: str
    container: Container
    host: FileSystem
    group: int | None
    privileged: bool

    def binding(self, one: PodMount) -> Binding:
        """Return a mount of the pod as the kubelet asks the runtime for it.

        Raises:
            InvalidSceneError: the kubelet would not start the container.
            NotModelledError: the kind of the volume is not modelled.
        """
        if one.propagation == "Bidirectional" and not self.privileged:
            reason = "Kubernetes takes Bidirectional from privileged containers only"
            field = f"{one.location}.mountPropagation"
            raise InvalidSceneError(field, reason=reason)
        if not one.volume:
            return self._of_runtime(one.mount)
        made = attrs.evolve(
            self._of_kind(one),
            propagation=_PROPAGATIONS[one.propagation],
            recursive_read_only=self._is_recursive_read_only(one),
        )
        # What is mounted below a subPath does not come along: the kubelet binds it by itself.
        return attrs.evolve(made, recursive=False) if one.sub_path else made

    def _of_kind(self, one: PodMount) -> Binding:
        if one.mount.host is not None:
            if one.type:
                path = self._volume(one.volume)["hostPath"]["path"].text()
                _check_type(path, one, self.host)
            return Binding(mount=one.mount, is_file=one.type == "FileOrCreate")
        if one.kind == "hostPath" or (one.sub_path and one.kind != "emptyDir"):
            raise Limit.SUB_PATH_EXPRESSION.met(one.location)
        volumes = f"/var/lib/kubelet/pods/{self.name}/volumes/kubernetes.io~"
        if one.kind == "emptyDir":
            field = self._volume(one.volume)["emptyDir"]
            base = f"{volumes}empty-dir/{one.volume}"
            if self._is_expression(one):
                raise Limit.SUB_PATH_EXPRESSION.met(one.location)
            return self._kept(
                one.mount,
                f"{base}/{one.sub_path}".rstrip("/"),
                mode=_EVERYBODY,
                is_tmpfs=field["medium"].text("") == "Memory",
            )
        if one.kind not in _FILLED:
            raise Limit.VOLUME_KINDS.met(one.volume_location or one.location)
        return attrs.evolve(
            self._kept(
                one.mount,
                f"{volumes}{_FILLED[one.kind]}/{one.volume}",
                mode=_EVERYBODY if one.kind == "configMap" else _SHARED,
                is_tmpfs=one.kind != "configMap",
            ),
            read_only=True,
            lacks=Limit.VOLUME_CONTENT,
        )

    def _of_runtime(self, mount: Mount) -> Binding:
        """Return a mount that is in every container."""
        path = str(mount.container)
        if mount.host is not None:
            return Binding(mount=mount)
        if path == _SHM:
            return self._kept(
                mount, f"/run/containerd/{_SANDBOX}/{self.name}/shm", mode=_SHARED, is_tmpfs=True
            )
        kubelet = f"/var/lib/kubelet/pods/{self.name}"
        if path.startswith("/var/run/secrets/"):
            token = f"{kubelet}/volumes/kubernetes.io~projected/kube-api-access"
            made = self._kept(mount, token, mode=_SHARED, is_tmpfs=True)
            return attrs.evolve(made, lacks=Limit.VOLUME_CONTENT)
        if path in FILES_OF_RUNTIMES and path.startswith("/etc/"):
            source = f"/var/lib/containerd/{_SANDBOX}/{self.name}/{mount.container.name}"
            if path == "/etc/hosts":
                source = f"{kubelet}/etc-hosts"
            return Binding(mount=mount, is_file=True, source=source, lacks=Limit.RUNTIME_FILES)
        log = f"{kubelet}/containers/{self.container.name}/termination-log"
        return Binding(mount=mount, is_file=True, source=log)

    def _kept(self, mount: Mount, source: str, *, mode: int, is_tmpfs: bool) -> Binding:
        """Return the mount of a directory that the kubelet has made."""
        owned = (mode, 0) if self.group is None else (mode | _GROUP, self.group)
        return Binding(mount=mount, source=source, source_is_tmpfs=is_tmpfs, source_mode=owned)

    def _volume(self, name: str) -> Field:
        (found,) = (
            volume
            for volume in self.container.pod["volumes"].items()
            if volume["name"].text() == name
        )
        return found

    def _mount(self, one: PodMount) -> Field:
        (found,) = (
            field
            for field in self.container.field["volumeMounts"].items()
            if field.location == one.location
        )
        return found

    def _is_expression(self, one: PodMount) -> bool:
        return bool(self._mount(one)["subPathExpr"].text(""))

    def _is_recursive_read_only(self, one: PodMount) -> bool:
        field = self._mount(one)["recursiveReadOnly"]
        if field.text("Disabled", among=_RECURSIVE) == "Disabled":
            return False
        if not one.mount.read_only or one.propagation != "None":
            reason = "Kubernetes takes it with readOnly and without mountPropagation only"
            raise InvalidSceneError(field.location, reason=reason)
        return True


def _check_type(path: str, one: PodMount, host: FileSystem) -> None:
    """Check that a host path is of the type that its volume says, or can be made.

    Raises:
        InvalidSceneError: it is not, or the directory is missing in which a file is to be made.
    """
    wanted = _TYPES[one.type]
    found = _type_of(path, host)
    if found is None and one.type == "DirectoryOrCreate":
        return
    if found is None and one.type == "FileOrCreate":
        path = path.rpartition("/")[0] or "/"
        wanted, found = FileType.DIRECTORY, _type_of(path, host)
    if found is not wanted:
        there = "nothing" if found is None else found.value
        reason = f"the kubelet does not start it: on the host, {path} is {there}, no {wanted.value}"
        raise InvalidSceneError(one.volume_location, reason=reason)


def _type_of(path: str, host: FileSystem) -> FileType | None:
    try:
        return host.status(_ROOT, path).type
    except OSError:
        return None
