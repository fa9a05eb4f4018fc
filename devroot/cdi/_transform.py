"""A spec's paths from the container's side to the host's, and back.

Which text of a spec is whose path:

* ``hostPath`` of a device node, or its ``path`` where that is not given, is the host's; so is
  ``hostPath`` of a bind mount;
* ``path`` of a device node and ``containerPath`` of a mount are the workload's;
* the path of a hook is the host's, for the OCI runtime specification ("POSIX-platform Hooks")
  resolves it in the runtime namespace; only that of ``startContainer`` is the workload's;
* arguments and variables of hooks are anybody's: they are left alone unless the caller says whose
  they are. The ``env`` of container edits is the workload's and always left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast, final

import attrs

from devroot.cdi._fields import is_bind_mount
from devroot.cdi._mapping import container_mapper, host_mapper, stripper
from devroot.cdi._spec import plain
from devroot.cdi._versions import HOST_PATH, VERSIONS, rank
from devroot.errors import (
    InvalidPathError,
    InvalidSpecError,
    NotMountedError,
    UnmappedPathsError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devroot._mounts import MountTable
    from devroot._paths import ContainerPath
    from devroot.cdi._mapping import Mapper

_WORKLOADS_HOOK: Final = "startContainer"
_NOT_A_PATH: Final = "it is an absolute path"
_NESTED: Final = frozenset({dict, list})


@final
@attrs.frozen(kw_only=True)
class UnmappedPath:
    """A path in a spec that is on no known mount.

    Attributes:
        location: where in the spec, such as ``devices[0].containerEdits.mounts[1].hostPath``.
        path: the text there.
        reason: why it has no counterpart.

    .. versionadded:: 0.1.0
    """

    location: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.location}: {self.reason}"


def to_host(
    spec: dict[str, Any],
    mounts: MountTable,
    *,
    unmapped: Literal["error", "keep"] = "error",
    strip: Iterable[str | ContainerPath] = (),
    arguments: Literal["keep", "map", "strip"] = "keep",
) -> dict[str, Any]:
    """Return a spec that was generated in this container as the host has to read it.

    Every host path is taken to the host by the mount that covers it, by whole components; ``//``,
    ``.`` and a trailing slash go. A device node without ``hostPath`` is given one if its ``path``
    is another place on the host, and then ``cdiVersion`` is raised to 0.5.0 if need be. All else
    stays as it is, unknown fields included.

    With ``unmapped="keep"`` a second time changes nothing more, unless the host side of a mount
    lies below the container side of another one: such a path is then both, and which it is in
    this spec, its text does not tell.

    Args:
        spec: as from ``json.loads``; it is not changed, and shares nothing with the result.
        mounts: what this container has from the host, all of it.
        unmapped: what to do about a path on none of them, which the host has not or has
            something else at: raise, or leave it as it is.
        strip: directories of this container that no workload should know, such as that of the
            driver root. A workload's path below one loses it: with ``/driver-root``,
            ``/driver-root/lib64/libcuda.so.1`` becomes ``/lib64/libcuda.so.1``.
        arguments: what to do about paths in ``args`` and ``env`` of hooks: ``"keep"`` them, take
            them to the host (``"map"``, if they are on a mount), or ``"strip"`` them as the
            workload's. That is each text that is a path or has one after ``=``; of ``A::B`` the
            left side is mapped, and both are stripped; so is each part of ``A:B`` after ``=``.

    Raises:
        UnmappedPathsError: a path is on no mount; it lists all of them.
        InvalidSpecError: a path is relative or holds ``..`` or a NUL; it is refused rather than
            guessed, because a link can stand before ``..``. Or the spec has another form.
        PathKindError: *mounts* or *strip* is of another kind.

    .. versionadded:: 0.1.0
    """
    cut = stripper(strip)
    if unmapped not in {"error", "keep"} or arguments not in {"keep", "map", "strip"}:
        raise _unknown_choice(unmapped, arguments)
    mapper = host_mapper(mounts)
    text = {"keep": None, "map": mapper, "strip": cut}[arguments]
    work = _Transform(mapper, strip=cut, argument=text, both=arguments == "strip")
    return work.run(spec, keep=unmapped == "keep")


def to_container(
    spec: dict[str, Any],
    mounts: MountTable,
    *,
    unmapped: Literal["error", "keep"] = "error",
    arguments: Literal["keep", "map"] = "keep",
) -> dict[str, Any]:
    """Return a spec of the host with its host paths as this container sees them.

    It is the way back from `to_host`. A host path that appears at several places becomes the
    shortest; one that a deeper mount hides does not appear.

    Args:
        spec: as for `to_host`.
        mounts: as for `to_host`.
        unmapped: what to do about a host path that does not appear in this container.
        arguments: as for `to_host`.

    Raises:
        UnmappedPathsError: as from `to_host`; `InvalidSpecError` and `PathKindError` likewise.

    .. versionadded:: 0.1.0
    """
    if unmapped not in {"error", "keep"} or arguments not in {"keep", "map"}:
        raise _unknown_choice(unmapped, arguments)
    mapper = container_mapper(mounts)
    argument = mapper if arguments == "map" else None
    return _Transform(mapper, argument=argument).run(spec, keep=unmapped == "keep")


def _unknown_choice(unmapped: object, arguments: object) -> ValueError:
    message = f"unmapped={unmapped!r}, arguments={arguments!r}: there is no such choice"
    return ValueError(message)


def _items(value: object, location: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidSpecError(location, value, reason="it is a list")
    return cast("list[object]", value)


def _fields(value: object, location: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSpecError(location, value, reason="it is an object")
    return cast("dict[str, Any]", value)


class _Transform:
    """One run over one spec."""

    def __init__(
        self,
        mapper: Mapper,
        *,
        strip: Mapper | None = None,
        argument: Mapper | None = None,
        both: bool = False,
    ) -> None:
        self._mapper = mapper
        self._strip = strip
        self._argument = argument
        self._both = both
        self._unmapped: list[UnmappedPath] = []
        self._needs_host_path = False

    def run(self, spec: dict[str, Any], *, keep: bool) -> dict[str, Any]:
        """Return the new spec.

        Raises:
            UnmappedPathsError: a path is unmapped, and not to be kept.
        """
        found = dict(_fields(spec, ""))
        if "devices" in found:
            found["devices"] = [
                self._device(device, f"devices[{index}]")
                for index, device in enumerate(_items(found["devices"], "devices"))
            ]
        for name, value in found.items():
            if name == "containerEdits":
                found[name] = self._edits(value, name)
            elif name != "devices":
                found[name] = plain(value)
        if self._unmapped and not keep:
            raise UnmappedPathsError(tuple(self._unmapped))
        version = found.get("cdiVersion")
        if self._needs_host_path and version in VERSIONS and rank(version) < rank(HOST_PATH):
            found["cdiVersion"] = HOST_PATH
        return found

    def _device(self, device: object, location: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in _fields(device, location).items():
            if name == "containerEdits":
                found[name] = self._edits(value, f"{location}.{name}")
            else:
                found[name] = plain(value)
        return found

    def _edits(self, edits: object, location: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in _fields(edits, location).items():
            where = f"{location}.{name}"
            if name == "deviceNodes":
                found[name] = self._nodes(_items(value, where), where)
            elif name == "mounts":
                found[name] = list(self._mounts(_items(value, where), where))
            elif name == "hooks":
                found[name] = list(self._hooks(_items(value, where), where))
            else:
                found[name] = plain(value)
        return found

    def _nodes(self, nodes: list[Any], location: str) -> list[dict[str, Any]]:
        """Return device nodes; this is where large specs are large."""
        mapper, strip = self._mapper, self._strip
        done: list[dict[str, Any]] = []
        for node in nodes:
            try:
                new = node.copy() if _NESTED.isdisjoint(map(type, node.values())) else plain(node)
                path = new["path"]
                source = new.get("hostPath") or path
                target = mapper(source)
            except (AttributeError, KeyError, TypeError, LookupError, ValueError):
                new, target = self._odd_node(node, f"{location}[{len(done)}]")
                path = new["path"]
            if strip is not None:
                path = new["path"] = self._workloads(path, f"{location}[{len(done)}].path")
            if new.get("hostPath"):
                new["hostPath"] = target
            elif target != path:
                new["hostPath"] = target
                self._needs_host_path = True
            done.append(new)
        return done

    def _odd_node(self, node: object, location: str) -> tuple[dict[str, Any], str]:
        """Return a copy of a node and its host path; or say what is wrong with it."""
        new: dict[str, Any] = plain(_fields(node, location))
        if not isinstance(new.get("path"), str):
            place = f"{location}.path"
            raise InvalidSpecError(place, new.get("path"), reason=_NOT_A_PATH)
        field = "hostPath" if new.get("hostPath") else "path"
        return new, self._mapped(new[field], f"{location}.{field}")

    def _mounts(self, mounts: list[object], location: str) -> Iterator[dict[str, Any]]:
        for index, mount in enumerate(mounts):
            where = f"{location}[{index}]"
            old = _fields(mount, where)
            new: dict[str, Any] = plain(old)
            if "hostPath" in new and is_bind_mount(new):
                new["hostPath"] = self._mapped(new["hostPath"], f"{where}.hostPath")
            if self._strip is not None and "containerPath" in new:
                place = f"{where}.containerPath"
                new["containerPath"] = self._workloads(new["containerPath"], place)
                if new["containerPath"] == "/" != old["containerPath"]:
                    reason = "nothing can be mounted over the root of a workload"
                    raise InvalidSpecError(place, old["containerPath"], reason=reason)
            yield new

    def _hooks(self, hooks: list[object], location: str) -> Iterator[dict[str, Any]]:
        for index, hook in enumerate(hooks):
            where = f"{location}[{index}]"
            new: dict[str, Any] = plain(_fields(hook, where))
            workloads = new.get("hookName") == _WORKLOADS_HOOK
            if "path" in new:
                take = self._workloads if workloads else self._mapped
                new["path"] = take(new["path"], f"{where}.path")
            if self._argument is not None and (self._both or not workloads):
                for name in ("args", "env"):
                    if name in new:
                        texts = _items(new[name], f"{where}.{name}")
                        new[name] = [self._in_text(text, name) for text in texts]
            yield new

    def _mapped(self, text: object, location: str) -> str:
        """Return the path *text* on the other side, or as it is if it has no place there."""
        if not isinstance(text, str):
            raise InvalidSpecError(location, text, reason=_NOT_A_PATH)
        try:
            return self._mapper(text)
        except NotMountedError as error:
            self._unmapped.append(UnmappedPath(location=location, path=text, reason=str(error)))
            return text
        except InvalidPathError as error:
            raise InvalidSpecError(location, text, reason=error.reason) from error

    def _workloads(self, text: object, location: str) -> str:
        """Return a path of the workload without a directory that it should not know."""
        if not isinstance(text, str):
            raise InvalidSpecError(location, text, reason=_NOT_A_PATH)
        try:
            return text if self._strip is None else self._strip(text)
        except InvalidPathError as error:
            raise InvalidSpecError(location, text, reason=error.reason) from error

    def _in_text(self, text: object, name: str) -> object:
        """Return an argument or a variable with the paths in it changed, where there are any."""
        if not isinstance(text, str):
            return text
        before, equals, value = text.rpartition("=") if name == "args" else text.partition("=")
        if not equals and name == "env":
            return text
        left, double, right = value.partition("::")
        if double:
            right = self._one(right) if self._both else right
            value = f"{self._one(left)}::{right}"
        elif equals:
            value = ":".join(map(self._one, value.split(":")))
        else:
            value = self._one(value)
        return f"{before}{equals}{value}"

    def _one(self, text: str) -> str:
        """Return a text on the other side if it is a path that has a place there."""
        if self._argument is None or not text.startswith("/"):
            return text
        try:
            return self._argument(text)
        except (NotMountedError, InvalidPathError):
            return text
