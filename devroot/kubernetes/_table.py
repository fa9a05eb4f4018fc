"""The mounts of a pod's container, in the order in which a runtime makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import attrs

from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath
from devroot.kubernetes._pod import Container, find_container

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devroot._manifest import Field

HOST_PATH: Final = "hostPath"
HOST_PATH_TYPES: Final = frozenset(
    {
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    }
)
NO_PROPAGATION: Final = "None"
HOST_TO_CONTAINER: Final = "HostToContainer"
PROPAGATIONS: Final = frozenset({NO_PROPAGATION, HOST_TO_CONTAINER, "Bidirectional"})

_HOSTS: Final = ContainerPath("/etc/hosts")
_SHM: Final = ContainerPath("/dev/shm")  # noqa: S108 - where a runtime mounts it
_BY_RUNTIME: Final = (ContainerPath("/etc/hostname"), ContainerPath("/etc/resolv.conf"))
_TOKEN: Final = ContainerPath("/var/run/secrets/kubernetes.io/serviceaccount")
_TERMINATION_LOG: Final = "/dev/termination-log"


@final
@attrs.frozen(kw_only=True)
class PodMount:
    """A mount of a pod's container, with all that the pod says of it.

    Attributes:
        mount: what is mounted where.
        volume: the name of the volume; empty for what the kubelet or the runtime mounts in every
            container.
        kind: the kind of the volume, such as ``hostPath`` or ``emptyDir``; empty likewise.
        type: what a ``hostPath`` has to be, such as ``DirectoryOrCreate``; empty if nothing is
            said or it is another kind.
        propagation: ``None``, ``HostToContainer`` or ``Bidirectional``.
        sub_path: the ``subPath`` or ``subPathExpr`` as it is written; empty if there is none.
        location: where the pod says so, such as ``spec.containers[0].volumeMounts[1]``; empty if
            it does not.
        volume_location: where its volume is, such as ``spec.volumes[0]``; empty likewise.

    .. versionadded:: 0.1.0
    """

    mount: Mount
    volume: str = ""
    kind: str = ""
    type: str = ""
    propagation: str = NO_PROPAGATION
    sub_path: str = ""
    location: str = ""
    volume_location: str = ""


def mounts(pod: Mapping[str, Any], *, container: str | None = None) -> tuple[PodMount, ...]:
    """Return the mounts of a container, in the order in which a runtime makes them.

    Runtimes sort them by the number of components of the mount path and keep the order of the
    pod otherwise (``orderedMounts`` in containerd, CRI-O and Docker). A mount path that is
    relative is taken from the root, as the kubelet does.

    Besides the pod's own mounts there are those that hide files in every container, none of them
    from a host path that is known: ``/etc/hosts``, the termination log and the service account's
    token from the kubelet (the token unless ``automountServiceAccountToken`` is false), and
    ``/etc/hostname``, ``/etc/resolv.conf`` and ``/dev/shm`` from the runtime. With ``hostIPC``
    the last one is the host's ``/dev/shm``. What a runtime has below ``/proc`` and ``/sys``, in
    the image's ``VOLUME`` or from a device plugin is not in a pod.

    Args:
        pod: a Pod, a pod template, a PodSpec, or an object that has a pod template: a DaemonSet,
            a Deployment, a StatefulSet, a ReplicaSet, a Job, a CronJob.
        container: the name of the container, init and ephemeral ones included; None for the only
            one of ``containers``.

    Raises:
        InvalidManifestError: the object has no such container, or a field that matters here is
            not as Kubernetes wants it. (``..`` in a path is refused there as well.)

    .. versionadded:: 0.1.0
    """
    return mounts_of(find_container(pod, container))


def mounts_of(container: Container) -> tuple[PodMount, ...]:
    """Return the same as `mounts` for a container that was found."""
    volumes = {volume["name"].text(): volume for volume in container.pod["volumes"].items()}
    own = [
        _own_mount(field, volumes, container.claims)
        for field in container.field["volumeMounts"].items()
    ]
    taken = {one.mount.container for one in own}
    found = [*_before(container, taken), *own, *_after(container, taken)]
    return tuple(sorted(found, key=lambda one: str(one.mount.container).count("/")))


def mount_table(pod: Mapping[str, Any], *, container: str | None = None) -> MountTable:
    """Return the mounts of a container as a table, in the order in which a runtime makes them.

    A volume other than a ``hostPath``, and a ``hostPath`` with a ``subPathExpr``, is a mount
    without a host side: it hides what is below it. Which mounts there are besides the pod's own
    says `mounts`, which also keeps what a table has no room for.

    Args:
        pod: as for `mounts`.
        container: as for `mounts`.

    Raises:
        InvalidManifestError: as from `mounts`.

    .. versionadded:: 0.1.0
    """
    return MountTable(one.mount for one in mounts(pod, container=container))


def _own_mount(field: Field, volumes: Mapping[str, Field], claims: tuple[str, ...]) -> PodMount:
    name = field["name"].text()
    volume = volumes.get(name)
    if volume is None and name not in claims:
        known = ", ".join((*volumes, *claims)) or "none"
        raise field["name"].error(reason=f"the pod has no such volume; there are {known}")
    kind = "persistentVolumeClaim" if volume is None else _kind(volume)
    sub_path, expression = field["subPath"].text(""), field["subPathExpr"].text("")
    if sub_path and expression:
        raise field["subPathExpr"].error(reason="give this or subPath, not both")
    host: HostPath | None = None
    type_ = ""
    if volume is not None and kind == HOST_PATH:
        type_ = volume[HOST_PATH]["type"].text("", among=HOST_PATH_TYPES)
        root = volume[HOST_PATH]["path"].path(HostPath)
        if not expression:
            host = field["subPath"].path(root.__truediv__, sub_path)
    at = field["mountPath"].text()
    container = field["mountPath"].path(ContainerPath, at if at[0] == "/" else f"/{at}")
    return PodMount(
        mount=Mount(host=host, container=container, read_only=field["readOnly"].flag() or False),
        volume=name,
        kind=kind,
        type=type_,
        propagation=field["mountPropagation"].text(NO_PROPAGATION, among=PROPAGATIONS),
        sub_path=sub_path or expression,
        location=field.location,
        volume_location="" if volume is None else volume.location,
    )


def _kind(volume: Field) -> str:
    kinds = [
        name for name, value in volume.mapping().items() if name != "name" and value is not None
    ]
    if len(kinds) > 1:
        raise volume.error(reason=f"a volume is of one kind, and this one is {' and '.join(kinds)}")
    return kinds[0] if kinds else "emptyDir"


def _before(container: Container, taken: set[ContainerPath]) -> Iterator[PodMount]:
    """Yield what the runtime adds before the pod's own mounts, unless one is at that path."""
    for path in _BY_RUNTIME:
        if path not in taken:
            yield PodMount(mount=Mount(host=None, container=path))
    if _SHM not in taken:
        host = str(_SHM) if container.pod["hostIPC"].flag() else None
        yield PodMount(mount=Mount(host=host, container=_SHM))


def _after(container: Container, taken: set[ContainerPath]) -> Iterator[PodMount]:
    """Yield what admission and the kubelet add behind the pod's own mounts."""
    wanted = container.pod["automountServiceAccountToken"].flag() is not False
    if wanted and container.kind != "ephemeralContainers" and _TOKEN not in taken:
        yield PodMount(mount=Mount(host=None, container=_TOKEN, read_only=True))
    if _HOSTS not in taken:
        yield PodMount(mount=Mount(host=None, container=_HOSTS))
    field = container.field["terminationMessagePath"]
    text = field.text(_TERMINATION_LOG)
    path = field.path(ContainerPath, text if text[0] == "/" else f"/{text}")
    yield PodMount(mount=Mount(host=None, container=path))
