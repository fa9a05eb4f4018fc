"""The options ``--volume`` and ``--mount`` of ``docker run`` and ``podman run``."""

from __future__ import annotations

import csv
import re
from typing import Final

from devroot._mounts import Mount
from devroot._paths import ContainerPath, HostPath, as_host_path
from devroot.errors import InvalidMountError, InvalidPathError

_VOLUME_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")

# Options of --volume, those of one line excluding each other; see docker-run(1), podman-run(1).
_GROUPS: Final = (
    frozenset({"ro", "rw", "rro", "ro-non-recursive", "ro-force-recursive"}),
    frozenset({"z", "Z"}),
    frozenset(
        prefix + word
        for prefix in ("", "r")
        for word in ("private", "shared", "slave", "unbindable")
    ),
    frozenset({"bind", "rbind"}),
    frozenset({"copy", "nocopy"}),
    frozenset({"dev", "nodev"}),
    frozenset({"exec", "noexec"}),
    frozenset({"suid", "nosuid"}),
    frozenset({"consistent", "cached", "delegated", "default"}),
    frozenset({"U"}),
    frozenset({"O"}),
    frozenset({"idmap"}),
    frozenset({"upperdir"}),
    frozenset({"workdir"}),
)
_WITH_VALUE: Final = frozenset({"idmap", "upperdir", "workdir"})
_READ_ONLY: Final = _GROUPS[0] - {"rw"}

# Keys of --mount, by what they are called here.
_SOURCE: Final = "source"
_TARGET: Final = "target"
_READONLY: Final = "readonly"
_ALIASES: Final = {
    "src": _SOURCE,
    "dst": _TARGET,
    "destination": _TARGET,
    "ro": _READONLY,
    "read-only": _READONLY,
}
_FLAGS: Final = frozenset({_READONLY, "rw", "rro", "readwrite"})
_PASSED_OVER: Final = frozenset(
    {
        *(option for group in _GROUPS for option in group if option not in _READ_ONLY),
        "bind-create-src",
        "bind-nonrecursive",
        "bind-propagation",
        "bind-recursive",
        "chown",
        "consistency",
        "image-subpath",
        "no-dereference",
        "notmpcopyup",
        "relabel",
        "subpath",
        "tmpcopyup",
        "tmpfs-mode",
        "tmpfs-options",
        "tmpfs-size",
        "volume-driver",
        "volume-label",
        "volume-nocopy",
        "volume-opt",
        "volume-subpath",
    }
)
_REPEATABLE: Final = frozenset({"volume-label", "volume-opt", "tmpfs-options"})
_NOT_FROM_HOST: Final = frozenset(
    {"artifact", "cluster", "devpts", "image", "ramfs", "tmpfs", "volume"}
)
_TRUE: Final = frozenset({"1", "t", "true"})
_FALSE: Final = frozenset({"0", "f", "false"})


def volume(text: str, *, cwd: str | HostPath | None = None) -> Mount:
    """Return the mount of an option ``--volume`` (``-v``) of Docker or podman.

    ``SOURCE:TARGET[:OPTIONS]``, or ``TARGET`` alone for an anonymous volume. A source is a host
    path if it starts with ``/`` or ``.``; else it is the name of a volume, whose host path nobody
    here knows. With podman's ``O`` the source is the lower layer of an overlay: what is changed
    in the container never gets there, so that this is a mount without a host side too.

    Runtimes mount several of them sorted by the number of components of the target.

    Args:
        text: what stands behind ``--volume``.
        cwd: the directory on the host in which the command was run, from which a source that
            starts with ``.`` is taken.

    Raises:
        InvalidMountError: the text is not of that form; an option is unknown, or contradicts
            another; a source is relative and *cwd* is not given; a path holds ``..``.
        InvalidPathError: *cwd* is not possible.

    .. versionadded:: 0.1.0
    """
    source, target, said = _split_volume(text)
    options = _checked_options(text, said)
    host: HostPath | None = None
    if source[:1] in {"/", "."}:
        host = _host_path(text, source, cwd)
    elif source and not _VOLUME_NAME.fullmatch(source):
        raise _error(text, f"{source!r} is no path (/ or . comes first) and no volume's name")
    return Mount(
        host=None if "O" in options else host,
        container=_target(text, target),
        read_only=bool(_READ_ONLY & options),
    )


def mount_option(text: str, *, cwd: str | HostPath | None = None) -> Mount:
    """Return the mount of an option ``--mount`` of Docker or podman.

    ``type=bind,source=HOST,target=CONTAINER,readonly`` and so on: fields of a line of CSV, in any
    order. Only ``type=bind`` has a host side. (A ``type=volume`` with ``volume-opt=o=bind`` has
    one that is not in a mount's own text if the volume exists already; it counts as unknown.)

    Args:
        text: what stands behind ``--mount``.
        cwd: as for `volume`.

    Raises:
        InvalidMountError: the text is not of that form; a key is unknown, or is given twice; a
            source is relative and *cwd* is not given; a path holds ``..``.
        InvalidPathError: *cwd* is not possible.

    .. versionadded:: 0.1.0
    """
    fields = _fields(text)
    kind = fields.get("type", "volume")
    host: HostPath | None = None
    if kind == "bind":
        source = fields.get(_SOURCE, "")
        if not source:
            raise _error(text, "a bind needs source=HOST")
        host = _host_path(text, source, cwd)
    elif kind not in _NOT_FROM_HOST:
        known = ", ".join(sorted({"bind", *_NOT_FROM_HOST}))
        raise _error(text, f"type={kind} is not one mount; the types are {known}")
    return Mount(
        host=host,
        container=_target(text, fields.get(_TARGET, "")),
        read_only=_is_read_only(text, fields),
    )


def _split_volume(text: str) -> tuple[str, str, str]:
    """Return source, target and options; empty where there are none."""
    parts = text.split(":")
    if len(parts) == 1:
        return "", text, ""
    if len(parts) > 3 or not parts[0]:  # noqa: PLR2004 - source, target and options
        raise _error(text, "write SOURCE:TARGET, or SOURCE:TARGET:OPTIONS")
    source, target, *rest = parts
    return source, target, ",".join(rest)


def _checked_options(text: str, said: str) -> frozenset[str]:
    options = [option.partition("=") for option in said.split(",")] if said else []
    for group in _GROUPS:
        both = [name for name, _, _ in options if name in group]
        if len(both) > 1:
            raise _error(text, f"{' and '.join(both)} exclude each other; give one of them, once")
    for name, equals, _ in options:
        known = any(name in group for group in _GROUPS)
        if not known or (equals and name not in _WITH_VALUE):
            raise _error(text, f"there is no option {name + equals!r}")
    return frozenset(name for name, _, _ in options)


def _fields(text: str) -> dict[str, str]:
    try:
        (line,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError) as error:
        raise _error(text, f"it is no line of CSV: {error}") from error
    found: dict[str, str] = {}
    for part in line:
        key, equals, value = part.partition("=")
        name = _ALIASES.get(key.lower(), key if key in _PASSED_OVER else key.lower())
        if name not in {"type", _SOURCE, _TARGET} | _FLAGS | _PASSED_OVER:
            raise _error(text, f"there is no key {key!r}")
        if name in found and name not in _REPEATABLE:
            raise _error(text, f"{key!r} is given twice")
        found[name] = value if equals or name not in _FLAGS else "true"
    return found


def _is_read_only(text: str, fields: dict[str, str]) -> bool:
    said = {name: _boolean(text, name, fields[name]) for name in sorted(_FLAGS & set(fields))}
    if len(said) > 1:
        raise _error(text, f"{' and '.join(said)} exclude each other; give one of them")
    return any(value is (name in {_READONLY, "rro"}) for name, value in said.items())


def _boolean(text: str, name: str, value: str) -> bool:
    if value.lower() not in _TRUE | _FALSE:
        raise _error(text, f"{name}={value} is neither true nor false")
    return value.lower() in _TRUE


def _host_path(text: str, source: str, cwd: str | HostPath | None) -> HostPath:
    start = None if cwd is None else as_host_path(cwd)
    if start is None and source[0] != "/":
        raise _error(text, f"{source!r} is relative; give as cwd= where the command was run")
    try:
        return HostPath(source) if start is None or source[0] == "/" else start / source
    except InvalidPathError as error:
        raise _error(text, str(error)) from error


def _target(text: str, target: str) -> ContainerPath:
    try:
        path = ContainerPath(target)
    except InvalidPathError as error:
        raise _error(text, str(error)) from error
    if path == ContainerPath("/"):
        raise _error(text, "nothing can be mounted at the container's root")
    return path


def _error(text: str, reason: str) -> InvalidMountError:
    return InvalidMountError(text, reason=reason)
