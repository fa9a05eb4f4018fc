"""Every field of a CDI spec, and what it may hold.

The table follows the CDI specification up to version 1.1.0. Runtimes refuse a spec with a field
that they do not know, so one that is not in the table is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from devroot.cdi._names import check_annotation, check_device_name, split_kind
from devroot.errors import InvalidSpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[object, str], Iterator[InvalidSpecError]]
    """Yields what is wrong with a value at a location."""

HOOKS: Final = (
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
)
"""The names of hooks; see "POSIX-platform Hooks" in config.md of the OCI runtime specification."""

_INT64_MAX: Final = 2**63 - 1
_UINT32_MAX: Final = 2**32 - 1
_MODE_MAX: Final = 0o777
_CLOSID_MAX: Final = 4095
_ANNOTATIONS_MAX: Final = 256 * 1024
_NOT_JSON: Final = "JSON cannot hold it: it has bytes that are not UTF-8"


def is_bind_mount(mount: dict[str, Any]) -> bool:
    """Whether the ``hostPath`` of a mount is a path, and not the name of a file system.

    A mount of another type, such as tmpfs, has no place on the host.
    """
    options: object = mount.get("options")
    names = cast("list[object]", options) if isinstance(options, list) else []
    return mount.get("type", "") in ("", "bind", "none") or "bind" in names or "rbind" in names


def _text(value: object, location: str) -> Iterator[InvalidSpecError]:
    if not isinstance(value, str):
        yield InvalidSpecError(location, value, reason="it is a text")
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        yield InvalidSpecError(location, value, reason=_NOT_JSON)


def _filled(value: object, location: str) -> Iterator[InvalidSpecError]:
    if value == "":
        yield InvalidSpecError(location, value, reason="it is empty")
    yield from _text(value, location)


def _path(value: object, location: str) -> Iterator[InvalidSpecError]:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        yield InvalidSpecError(location, value, reason="it is an absolute path")
    else:
        yield from _text(value, location)


def _optional_path(value: object, location: str) -> Iterator[InvalidSpecError]:
    if value != "":
        yield from _path(value, location)


def _whole(least: int, most: int, what: str = "") -> Check:
    def check(value: object, location: str) -> Iterator[InvalidSpecError]:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            reason = what or f"it is a whole number from {least} to {most}"
            yield InvalidSpecError(location, value, reason=reason)

    return check


def _flag(value: object, location: str) -> Iterator[InvalidSpecError]:
    if not isinstance(value, bool):
        yield InvalidSpecError(location, value, reason="it is true or false")


def _one_of(*values: str) -> Check:
    def check(value: object, location: str) -> Iterator[InvalidSpecError]:
        if value not in values:
            reason = f"it is one of {', '.join(map(repr, values))}"
            yield InvalidSpecError(location, value, reason=reason)

    return check


def _permissions(value: object, location: str) -> Iterator[InvalidSpecError]:
    if not isinstance(value, str) or value.strip("rwm"):
        yield InvalidSpecError(location, value, reason="it consists of 'r', 'w' and 'm'")


def _variable(value: object, location: str) -> Iterator[InvalidSpecError]:
    if isinstance(value, str) and value.find("=") < 1:
        yield InvalidSpecError(location, value, reason="it is a name, '=' and a value")
    yield from _text(value, location)


def _closid(value: object, location: str) -> Iterator[InvalidSpecError]:
    yield from _text(value, location)
    if not isinstance(value, str) or value == "/":
        return
    if len(value) > _CLOSID_MAX or value in {".", ".."} or {"/", "\n"} & set(value):
        yield InvalidSpecError(location, value, reason="it is the name of a directory")


def _list(check_item: Check) -> Check:
    def check(value: object, location: str) -> Iterator[InvalidSpecError]:
        if not isinstance(value, list):
            yield InvalidSpecError(location, value, reason="it is a list")
            return
        for index, item in enumerate(cast("list[object]", value)):
            yield from check_item(item, f"{location}[{index}]")

    return check


def _annotations(value: object, location: str) -> Iterator[InvalidSpecError]:
    if not isinstance(value, dict):
        yield InvalidSpecError(location, value, reason="it is an object")
        return
    size = 0
    for key, text in cast("dict[object, object]", value).items():
        try:
            check_annotation(key, location)
        except InvalidSpecError as error:
            yield error
        yield from _text(text, f"{location}[{key!r}]")
        size += len(str(key)) + len(str(text))
    if size > _ANNOTATIONS_MAX:
        reason = f"all annotations together have at most {_ANNOTATIONS_MAX} characters"
        yield InvalidSpecError(location, None, reason=reason)


def _object(fields: dict[str, Check], *required: str) -> Check:
    def check(value: object, location: str) -> Iterator[InvalidSpecError]:
        if not isinstance(value, dict):
            yield InvalidSpecError(location, value, reason="it is an object")
            return
        found = cast("dict[str, object]", value)
        for name in required:
            if name not in found:
                yield InvalidSpecError(_below(location, name), None, reason="it is missing")
        for name, item in found.items():
            below = _below(location, name)
            if name in fields:
                yield from fields[name](item, below)
            else:
                reason = f"there is no such field; there are {', '.join(fields)}"
                yield InvalidSpecError(below, None, reason=reason)

    return check


def _below(location: str, name: str) -> str:
    return f"{location}.{name}" if location else name


_NODE_FIELDS: Final[dict[str, Check]] = {
    "path": _path,
    "hostPath": _optional_path,
    "type": _one_of("", "b", "c", "u", "p"),
    "major": _whole(0, _INT64_MAX),
    "minor": _whole(0, _INT64_MAX),
    "fileMode": _whole(
        0, _MODE_MAX, f"it is a decimal number of permission bits, at most {_MODE_MAX} (0777)"
    ),
    "permissions": _permissions,
    "uid": _whole(0, _UINT32_MAX),
    "gid": _whole(0, _UINT32_MAX),
}
_NET_DEVICE_FIELDS: Final[dict[str, Check]] = {"hostInterfaceName": _filled, "name": _filled}
_MOUNT_FIELDS: Final[dict[str, Check]] = {
    "hostPath": _filled,
    "containerPath": _path,
    "options": _list(_text),
    "type": _text,
}
_HOOK_FIELDS: Final[dict[str, Check]] = {
    "hookName": _one_of(*HOOKS),
    "path": _path,
    "args": _list(_text),
    "env": _list(_variable),
    "timeout": _whole(1, _INT64_MAX, "it is a whole number of seconds, at least 1"),
}
_RDT_FIELDS: Final[dict[str, Check]] = {
    "closID": _closid,
    "l3CacheSchema": _text,
    "memBwSchema": _text,
    "enableCMT": _flag,
    "enableMBM": _flag,
    "schemata": _list(_text),
    "enableMonitoring": _flag,
}
_check_mount_fields = _object(_MOUNT_FIELDS, "hostPath", "containerPath")
_check_net_device = _object(_NET_DEVICE_FIELDS, "hostInterfaceName", "name")


def _mount(value: object, location: str) -> Iterator[InvalidSpecError]:
    yield from _check_mount_fields(value, location)
    if isinstance(value, dict):
        mount = cast("dict[str, Any]", value)
        if mount.get("hostPath") and is_bind_mount(mount):
            yield from _path(mount["hostPath"], f"{location}.hostPath")


def _net_devices(value: object, location: str) -> Iterator[InvalidSpecError]:
    yield from _list(_check_net_device)(value, location)
    devices = cast("list[object]", value) if isinstance(value, list) else []
    found = [cast("dict[str, object]", device) for device in devices if isinstance(device, dict)]
    for name in _NET_DEVICE_FIELDS:
        names = [str(device.get(name)) for device in found]
        for double in sorted({one for one in names if names.count(one) > 1}):
            reason = f"two network devices have the {name} {double!r}"
            yield InvalidSpecError(location, None, reason=reason)


_EDITS_FIELDS: Final[dict[str, Check]] = {
    "env": _list(_variable),
    "deviceNodes": _list(_object(_NODE_FIELDS, "path")),
    "netDevices": _net_devices,
    "hooks": _list(_object(_HOOK_FIELDS, "hookName", "path")),
    "mounts": _list(_mount),
    "intelRdt": _object(_RDT_FIELDS),
    "additionalGids": _list(_whole(0, _UINT32_MAX)),
}
_check_edits = _object(_EDITS_FIELDS)


def _device_name(value: object, location: str) -> Iterator[InvalidSpecError]:
    try:
        check_device_name(value, location)
    except InvalidSpecError as error:
        yield error


def _kind(value: object, location: str) -> Iterator[InvalidSpecError]:
    try:
        split_kind(value, location=location)
    except InvalidSpecError as error:
        yield error


def _device_edits(value: object, location: str) -> Iterator[InvalidSpecError]:
    yield from _check_edits(value, location)
    if not isinstance(value, dict) or "intelRdt" in value:
        return
    if not any(cast("dict[str, object]", value).values()):
        yield InvalidSpecError(location, None, reason="it is empty, and a device edits something")


_check_device = _object(
    {"name": _device_name, "annotations": _annotations, "containerEdits": _device_edits},
    "name",
    "containerEdits",
)


def _devices(value: object, location: str) -> Iterator[InvalidSpecError]:
    yield from _list(_check_device)(value, location)
    if not isinstance(value, list):
        return
    if not value:
        yield InvalidSpecError(location, None, reason="it is empty, and a spec has a device")
    seen: set[object] = set()
    for index, device in enumerate(cast("list[object]", value)):
        name = cast("dict[str, object]", device).get("name") if isinstance(device, dict) else None
        if isinstance(name, str) and name in seen:
            reason = "another device has this name"
            yield InvalidSpecError(f"{location}[{index}].name", name, reason=reason)
        seen.add(name if isinstance(name, str) else None)


_check_spec = _object(
    {
        "cdiVersion": _filled,
        "kind": _kind,
        "annotations": _annotations,
        "devices": _devices,
        "containerEdits": _check_edits,
    },
    "cdiVersion",
    "kind",
    "devices",
)


def faults(spec: object) -> Iterator[InvalidSpecError]:
    """Yield every field that is not as the specification wants it; the version is left aside."""
    return _check_spec(spec, "")


def edits_faults(edits: object, location: str) -> Iterator[InvalidSpecError]:
    """Yield likewise what is wrong with container edits alone."""
    return _check_edits(edits, location)
