"""What a pod asks for, as the kubelet tells it to the runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from devroot._filesystem import FileType
from devroot._paths import ContainerPath
from devroot.errors import InvalidSceneError
from devroot.kubernetes import _pod, _table
from devroot.testing._runtime import CAPABILITY_BITS, DEFAULT_CAPABILITIES, Binding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devroot._filesystem import FileSystem
    from devroot._manifest import Field
    from devroot.kubernetes._table import PodMount
    from devroot.testing._vfs import Propagation

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
    "File": FileType.REGULAR,
    "Socket": FileType.SOCKET,
}
"""The types of a hostPath that have to be there before; the others are made."""

_DIRECTORIES_OF_RUNTIMES: Final = ("/dev/shm", "/var/run/secrets")  # noqa: S108 - compared with


@attrs.frozen(kw_only=True)
class PodWishes:
    """What the pod says of one container; the names are those of `FakeHost.container`."""

    name: str
    mounts: tuple[Binding, ...]
    privileged: bool
    user_namespace: bool
    capabilities: frozenset[str] | None
    host_pid: bool
    read_only: bool


def wishes_of(pod: Mapping[str, Any], container: str | None, host: FileSystem) -> PodWishes:
    """Return what *container* of *pod* asks for on a host with these files.

    Raises:
        InvalidManifestError: it has no such container, or a field is not as it should be.
        InvalidSceneError: the kubelet would not start it, for a ``hostPath`` is of another type.
    """
    found = _pod.find_container(pod, container)
    context = found.field["securityContext"]
    privileged = context["privileged"].flag() or False
    names = _names(context["capabilities"]["add"]), _names(context["capabilities"]["drop"])
    capabilities = None
    if not privileged:
        kept = frozenset[str]() if "ALL" in names[1] else DEFAULT_CAPABILITIES - names[1]
        added = frozenset(CAPABILITY_BITS) if "ALL" in names[0] else names[0]
        capabilities = kept | added
    return PodWishes(
        name=found.name,
        mounts=tuple(_binding(one, host) for one in _table.mounts_of(found)),
        privileged=privileged,
        user_namespace=found.pod["hostUsers"].flag() is False,
        capabilities=capabilities,
        host_pid=found.pod["hostPID"].flag() or False,
        read_only=context["readOnlyRootFilesystem"].flag() or False,
    )


def _names(field: Field) -> frozenset[str]:
    return frozenset(name.text().upper().removeprefix("CAP_") for name in field.items())


def _binding(one: PodMount, host: FileSystem) -> Binding:
    path = str(one.mount.container)
    wanted = _TYPES.get(one.type)
    if wanted is not None and one.mount.host is not None:
        _check_type(str(one.mount.host), wanted, one, host)
    return Binding(
        mount=one.mount,
        propagation=_PROPAGATIONS[one.propagation],
        is_file=one.type == "FileOrCreate"
        or not (one.volume or path.startswith(_DIRECTORIES_OF_RUNTIMES)),
    )


def _check_type(path: str, wanted: FileType, one: PodMount, host: FileSystem) -> None:
    try:
        found = host.status(_ROOT, path).type.value
    except OSError:
        found = "nothing"
    if found != wanted.value:
        reason = f"the kubelet does not start it: on the host, {path} is {found}, no {wanted.value}"
        raise InvalidSceneError(one.volume_location, reason=reason)
