"""The volumes that a fallback, a dev root or a driver root needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, final, runtime_checkable

import attrs

from devroot._dev_root import DevRoot, Refusal
from devroot._driver_root import DriverRoot, Fallback, RootFallback
from devroot._fallbacks import FirstOf
from devroot._mounts import Mount
from devroot._paths import HostPath, as_host_path
from devroot._reach import HOST_DEV
from devroot._view import ROOT
from devroot.errors import InvalidManifestError, InvalidMountError, PathKindError
from devroot.kubernetes._host_paths import type_for
from devroot.kubernetes._pod import Container, find_container
from devroot.kubernetes._table import (
    HOST_PATH_TYPES,
    HOST_TO_CONTAINER,
    NO_PROPAGATION,
    PodMount,
    mounts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

# What can be a directory, on which something can be mounted later.
_DIRECTORIES: Final = frozenset({"", "Directory", "DirectoryOrCreate"})
_LABEL_MAX: Final = 63  # a volume has a DNS label as its name, see RFC 1123
_NESTING_MAX: Final = 100  # levels of an object; those that Kubernetes knows need fewer than 20
_NOT_IN_LABEL: Final = re.compile(r"[^a-z0-9]+")


@runtime_checkable
class NeedsMounts(Protocol):
    """A fallback of one's own that says which mounts it needs.

    .. versionadded:: 0.1.0
    """

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The mounts; all of them are needed."""
        ...


@final
@attrs.frozen(kw_only=True)
class PodVolume:
    """A host path as a volume, and where a container mounts it.

    Attributes:
        name: of the volume: a DNS label.
        mount: the host path and the container path.
        type: what the host path has to be, such as ``DirectoryOrCreate``; empty for no check.
        propagation: ``HostToContainer`` or ``None``.

    .. versionadded:: 0.1.0
    """

    name: str
    mount: Mount
    type: str = ""
    propagation: str = NO_PROPAGATION

    @property
    def volume(self) -> dict[str, Any]:
        """The entry for ``volumes`` of the pod."""
        source = {"path": str(self.mount.host)}
        if self.type:
            source["type"] = self.type
        return {"name": self.name, "hostPath": source}

    @property
    def volume_mount(self) -> dict[str, Any]:
        """The entry for ``volumeMounts`` of the container."""
        entry: dict[str, Any] = {"name": self.name, "mountPath": str(self.mount.container)}
        if self.mount.read_only:
            entry["readOnly"] = True
        if self.propagation != NO_PROPAGATION:
            entry["mountPropagation"] = self.propagation
        return entry


@final
@attrs.frozen
class PodVolumes:
    """Volumes for a pod, with their mounts for one of its containers.

    Attributes:
        entries: one for each mount; those of one host path share a volume.

    .. versionadded:: 0.1.0
    """

    entries: tuple[PodVolume, ...]

    @property
    def volumes(self) -> list[dict[str, Any]]:
        """What to add to ``volumes`` of the pod, made anew each time."""
        return list({entry.name: entry.volume for entry in self.entries}.values())

    @property
    def volume_mounts(self) -> list[dict[str, Any]]:
        """What to add to ``volumeMounts`` of the container, made anew each time."""
        return [entry.volume_mount for entry in self.entries]


Types = Mapping[str, str] | Mapping[HostPath, str]
Needs = DevRoot | DriverRoot | Fallback | Mount | NeedsMounts | Refusal


def volumes(*needs: Needs, types: Types | None = None) -> PodVolumes:
    """Return the volumes with which these succeed.

    They are what a node needs that was never used before: a directory of the driver that does
    not exist yet is made by the kubelet (``DirectoryOrCreate``), and what is mounted on the host
    later is seen in the container (``HostToContainer``). A driver root is mounted read-only. The
    places of device nodes are not, for nodes are to be made there.

    Args:
        needs: a fallback (of a `FirstOf` the first one that needs a mount), a dev root, a
            driver root, a refusal (its remedies, those of a chain the first) or a mount. Several
            are put together.
        types: what host paths have to be, such as ``{"/dev/kfd": "CharDevice"}``, where that is
            not known here. Without a type nothing is checked, and containerd makes a directory
            of what is missing.

    Raises:
        InvalidMountError: no mount helps, as for a `RootFallback`; a mount has no host side, or
            a path that no manifest can hold; a type is none of Kubernetes'.
        PathKindError: something is none of these.

    .. versionadded:: 0.1.0
    """
    return _named(_wanted(needs, _known_types(types)), ())


def add_volumes(
    pod: Mapping[str, Any],
    *needs: Needs,
    container: str | None = None,
    types: Types | None = None,
) -> dict[str, Any]:
    """Return a copy of a Kubernetes object in which a container has the volumes for these.

    A volume of the same host path and type is used again. A mount of the same host path that is
    at its place already gets the propagation and the access that are needed.

    Args:
        pod: as for `mounts`; it is not changed.
        needs: as for `volumes`.
        container: as for `mounts`.
        types: as for `volumes`.

    Raises:
        InvalidManifestError: as from `mounts`; something else is mounted at such a place; or the
            object is nested too deep to be copied.
        InvalidMountError: as from `volumes`.
        PathKindError: as from `volumes`.

    .. versionadded:: 0.1.0
    """
    find_container(pod, container)
    made = cast("dict[str, Any]", _copy(pod))
    found = find_container(made, container)
    spec = cast("dict[str, Any]", found.pod.value)
    own = cast("dict[str, Any]", found.field.value)
    there = {one.mount.container: one for one in mounts_of(found) if one.location}
    missing: list[PodVolume] = []
    for entry in _wanted(needs, _known_types(types)):
        present = there.get(entry.mount.container)
        if present is None:
            missing.append(entry)
        else:
            _mend(found, present, entry)
    added = _named(missing, _names_taken(found), reuse=_reusable(found))
    known = {volume["name"] for volume in spec.get("volumes") or ()}
    new = [volume for volume in added.volumes if volume["name"] not in known]
    if new:
        spec["volumes"] = [*(spec.get("volumes") or ()), *new]
    if missing:
        own["volumeMounts"] = [*(own.get("volumeMounts") or ()), *added.volume_mounts]
    return made


def _copy(value: object, levels: int = _NESTING_MAX) -> object:
    """Return the same out of dictionaries and lists that nobody else has.

    Raises:
        InvalidManifestError: it is nested deeper than that many levels.
    """
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not levels:
        whole = ""
        reason = f"it is nested more than {_NESTING_MAX} deep"
        raise InvalidManifestError(whole, None, reason=reason)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {name: _copy(below, levels - 1) for name, below in fields.items()}
    return [_copy(below, levels - 1) for below in cast("list[object]", value)]


def _mend(container: Container, present: PodMount, wanted: PodVolume) -> None:
    """Give a mount that is there the access and the propagation that are needed."""
    (field,) = (
        field
        for field in container.field["volumeMounts"].items()
        if field.location == present.location
    )
    if present.mount.host != wanted.mount.host:
        raise field["mountPath"].error(reason=f"{wanted.mount} is needed there; free the place")
    entry = cast("dict[str, Any]", field.value)
    if not wanted.mount.read_only:
        entry.pop("readOnly", None)
    if present.propagation == NO_PROPAGATION != wanted.propagation:
        entry["mountPropagation"] = wanted.propagation
        entry.pop("recursiveReadOnly", None)  # which Kubernetes allows without propagation only


def _names_taken(container: Container) -> set[str]:
    names = {volume["name"].text() for volume in container.pod["volumes"].items()}
    return names.union(container.claims)


def _reusable(container: Container) -> dict[tuple[str, str], str]:
    """Return the names of the host paths of the pod, by path and type."""
    found: dict[tuple[str, str], str] = {}
    for volume in container.pod["volumes"].items():
        source = volume["hostPath"]
        if source.value is not None:
            path = str(source["path"].path(HostPath))
            found.setdefault((path, source["type"].text("")), volume["name"].text())
    return found


def _known_types(types: Types | None) -> Callable[[HostPath], str]:
    given = {as_host_path(path): type_ for path, type_ in (types or {}).items()}
    for path, type_ in given.items():
        if type_ and type_ not in HOST_PATH_TYPES:
            reason = f"the type {type_!r} is none of {', '.join(sorted(HOST_PATH_TYPES))}"
            raise InvalidMountError(str(path), reason=reason)
    return lambda path: given[path] if path in given else type_for(path)


def _wanted(needs: Iterable[Needs], type_of: Callable[[HostPath], str]) -> list[PodVolume]:
    """Return what is needed, each place once and without a name."""
    found: dict[Mount, PodVolume] = {}
    for need in needs:
        for mount in _mounts(need):
            host = mount.host
            if host is None:
                raise InvalidMountError(str(mount), reason="a volume needs the path on the host")
            _check_text(mount)
            type_ = type_of(host)
            if isinstance(need, DriverRoot) and not type_:
                type_ = "DirectoryOrCreate"
            propagation = HOST_TO_CONTAINER if type_ in _DIRECTORIES else NO_PROPAGATION
            found.setdefault(
                mount, PodVolume(name="", mount=mount, type=type_, propagation=propagation)
            )
    return list(found.values())


def _mounts(need: Needs) -> tuple[Mount, ...]:
    if isinstance(need, Mount):
        return (need,)
    if isinstance(need, DriverRoot):
        return () if need.container == ROOT else (attrs.evolve(need.mount, read_only=True),)
    if isinstance(need, DevRoot):
        return need.remedies or _mounts_of_dev_root(need)
    if isinstance(need, Refusal):
        return _remedies(need)
    return _mounts_of_fallback(need)


def _mounts_of_fallback(fallback: Fallback | NeedsMounts) -> tuple[Mount, ...]:
    if isinstance(fallback, NeedsMounts):
        return tuple(fallback.mounts)
    if isinstance(fallback, FirstOf):
        first = _first_mounts(fallback)
        if first:
            return first
        raise InvalidMountError(repr(fallback), reason="no mount helps any fallback in it")
    if isinstance(fallback, RootFallback):
        reason = (
            "it is the container's own /dev, which no mount makes the host's; use"
            " HostDevFallback('/host-dev'), or a subset, and mount that"
        )
        raise InvalidMountError(repr(fallback), reason=reason)
    raise PathKindError(fallback, wanted="fallback with a property mounts, a dev root or a Mount")


def _first_mounts(chain: FirstOf) -> tuple[Mount, ...]:
    """Return what the first fallback of a chain needs that needs any; nothing if none does."""
    for asked in chain.fallbacks:
        needed: tuple[Mount, ...] = ()
        if isinstance(asked, NeedsMounts):
            needed = tuple(asked.mounts)
        elif isinstance(asked, FirstOf):
            needed = _first_mounts(asked)
        if needed:
            return needed
    return ()


def _mounts_of_dev_root(dev_root: DevRoot) -> tuple[Mount, ...]:
    if dev_root.names is None:
        return (Mount(host=HOST_DEV, container=dev_root.dev),)
    return tuple(
        Mount(host=HostPath(str(name)), container=dev_root.container_path(name))
        for name in dev_root.names
    )


def _remedies(refusal: Refusal) -> tuple[Mount, ...]:
    for leaf in refusal.flat():
        if leaf.remedies:
            return leaf.remedies
    raise InvalidMountError(refusal.fallback, reason=f"no mount helps: {refusal.reason}")


def _check_text(mount: Mount) -> None:
    """Check that a manifest can hold both paths.

    Raises:
        InvalidMountError: it cannot.
    """
    if ":" in str(mount.container):
        reason = "Kubernetes forbids a colon in the path in the container"
        raise InvalidMountError(str(mount), reason=reason)
    try:
        str(mount).encode()
    except UnicodeEncodeError as error:
        reason = "a manifest is UTF-8 text, and this path is not"
        raise InvalidMountError(str(mount), reason=reason) from error


def _named(
    wanted: Iterable[PodVolume],
    taken: Iterable[str],
    *,
    reuse: Mapping[tuple[str, str], str] | None = None,
) -> PodVolumes:
    """Give each host path a name that no other has."""
    names = dict(reuse or {})
    used = {*taken}
    entries: list[PodVolume] = []
    for entry in wanted:
        key = (str(entry.mount.host), entry.type)
        if key not in names:
            names[key] = _free_name(key[0], used)
            used.add(names[key])
        entries.append(attrs.evolve(entry, name=names[key]))
    return PodVolumes(tuple(entries))


def _free_name(path: str, used: Collection[str]) -> str:
    name = _label(path, "")
    number = 2
    while name in used:
        name = _label(path, f"-{number}")
        number += 1
    return name


def _label(path: str, suffix: str) -> str:
    words = _NOT_IN_LABEL.sub("-", path.lower()).strip("-")
    most = _LABEL_MAX - len(suffix)
    return f"host-{words or 'root'}"[:most].rstrip("-") + suffix
