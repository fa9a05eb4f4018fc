"""Specs from their parts, and the rules that all of them keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from devroot.cdi._fields import edits_faults, faults
from devroot.cdi._versions import EARLIEST, LATEST, lowest_version, needs, rank, version_faults
from devroot.errors import InvalidSpecError

if TYPE_CHECKING:
    from collections.abc import Iterable


NESTING_MAX: Final = 100
"""How deep a part of a spec can be nested; the specification itself needs 6 levels."""


def plain(value: object, levels: int = NESTING_MAX) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return a copy of *value* in the types that `json` gives, all the way down.

    Raises:
        InvalidSpecError: it is nested deeper than that many levels.
    """
    if isinstance(value, (str, int, bytes)):
        return value
    if not isinstance(value, (Mapping, Sequence)):
        return value
    if not levels:
        whole = ""
        raise InvalidSpecError(whole, None, reason=f"it is nested more than {NESTING_MAX} deep")
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {key: plain(item, levels - 1) for key, item in mapping.items()}
    return [plain(item, levels - 1) for item in cast("Sequence[object]", value)]


def edits(  # noqa: PLR0913 - one argument for each kind of edit
    *,
    env: Iterable[str] = (),
    device_nodes: Iterable[Mapping[str, Any]] = (),
    net_devices: Iterable[Mapping[str, Any]] = (),
    hooks: Iterable[Mapping[str, Any]] = (),
    mounts: Iterable[Mapping[str, Any]] = (),
    intel_rdt: Mapping[str, Any] | None = None,
    additional_gids: Iterable[int] = (),
) -> dict[str, Any]:
    """Return container edits: what a runtime changes in a workload's OCI config.

    Args:
        env: variables, each ``NAME=VALUE``.
        device_nodes: from `device_node` and `described`.
        net_devices: network devices, each with ``hostInterfaceName`` and ``name``.
        hooks: each with ``hookName`` and ``path``; ``args``, ``env`` and ``timeout`` (seconds)
            can be added.
        mounts: each with ``hostPath`` and ``containerPath``; ``options`` and ``type`` can be added.
        intel_rdt: Intel RDT parameters.
        additional_gids: more groups for the workload's process.

    Returns:
        The edits in the form of the specification, without those that are empty.

    Raises:
        InvalidSpecError: a field is unknown, or not as the specification wants it.

    .. versionadded:: 0.1.0
    """
    found: dict[str, Any] = {
        "env": list(env),
        "deviceNodes": [plain(node) for node in device_nodes],
        "netDevices": [plain(device) for device in net_devices],
        "hooks": [plain(hook) for hook in hooks],
        "mounts": [plain(mount) for mount in mounts],
        "intelRdt": plain(intel_rdt),
        "additionalGids": list(additional_gids),
    }
    filled = {name: value for name, value in found.items() if value not in ([], None)}
    for fault in edits_faults(filled, "containerEdits"):
        raise fault
    return filled


def device(
    name: str, edits: Mapping[str, Any], *, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a device for `spec`, which checks it.

    Args:
        name: what users call it after the kind, as in ``vendor.com/class=name``.
        edits: what it takes to use it, from `edits`.
        annotations: words about it for whoever reads the spec.

    .. versionadded:: 0.1.0
    """
    found: dict[str, Any] = {"name": name}
    if annotations:
        found["annotations"] = dict(annotations)
    return {**found, "containerEdits": plain(edits)}


def spec(  # noqa: PLR0913 - the parts of a spec, and two limits
    kind: str,
    devices: Iterable[Mapping[str, Any]],
    *,
    container_edits: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    at_least: str = EARLIEST,
    at_most: str = LATEST,
) -> dict[str, Any]:
    """Return a spec of the lowest version that its fields need, as a new dictionary.

    Args:
        kind: vendor and class, such as ``vendor.com/gpu``.
        devices: from `device`.
        container_edits: what any of the devices takes, from `edits`.
        annotations: words about the spec for whoever reads it.
        at_least: the lowest version to claim.
        at_most: the highest version that the runtimes at hand take: 0.5.0 for podman 4.3.

    Raises:
        InvalidSpecError: something is not as the specification wants it, or needs a higher
            version than *at_most*; it names the place.

    .. versionadded:: 0.1.0
    """
    found: dict[str, Any] = {"cdiVersion": at_least, "kind": kind}
    if annotations:
        found["annotations"] = dict(annotations)
    found["devices"] = [plain(one) for one in devices]
    if container_edits:
        found["containerEdits"] = plain(container_edits)
    for fault in faults(found):
        raise fault
    highest, lowest = rank(at_most, location="at_most"), rank(at_least, location="at_least")
    if lowest > highest:
        location = "at_least"
        raise InvalidSpecError(location, at_least, reason=f"it is above at_most, {at_most}")
    for version, where in needs(found):
        if rank(version) > highest:
            reason = f"this needs version {version}, and the runtimes take at most {at_most}"
            raise InvalidSpecError(where, None, reason=reason)
    found["cdiVersion"] = max(at_least, lowest_version(found), key=rank)
    for fault in version_faults(found):
        raise fault
    return found


def validate(spec: Mapping[str, Any]) -> None:
    """Do nothing if a spec is as the specification wants it, up to version 1.1.0.

    Args:
        spec: of any origin, such as ``json.loads`` of a file.

    Raises:
        InvalidSpecError: it is not; the error names the first place. `check` gives them all.

    .. versionadded:: 0.1.0
    """
    for fault in faults(spec):
        raise fault
    for fault in version_faults(spec):
        raise fault
