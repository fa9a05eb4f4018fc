"""The versions of the CDI specification, and which of them a spec needs.

Runtimes refuse a spec of a version that they do not know, whatever is in it: podman 4.3 takes
nothing above 0.5.0. So a spec should claim no more than it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from devroot.cdi._fields import faults
from devroot.errors import InvalidSpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS: Final = (
    "0.1.0",
    "0.2.0",
    "0.3.0",
    "0.4.0",
    "0.5.0",
    "0.6.0",
    "0.7.0",
    "0.8.0",
    "1.0.0",
    "1.1.0",
)
"""The released versions of the specification, the oldest first."""

EARLIEST: Final = "0.3.0"
"""The least that a spec is given: the first version that has this form of a spec."""

LATEST: Final = VERSIONS[-1]
HOST_PATH: Final = "0.5.0"
"""The version that a device node with a ``hostPath`` needs."""

_GONE: Final = ("enableCMT", "enableMBM")  # from 1.1.0 on
_NEW_RDT: Final = ("schemata", "enableMonitoring")


def rank(version: object, *, location: str = "cdiVersion") -> int:
    """Return the place of a version in the order of versions.

    Raises:
        InvalidSpecError: there is no such version.
    """
    if version not in VERSIONS:
        reason = f"there is no such version; there are {', '.join(VERSIONS)}"
        raise InvalidSpecError(location, version, reason=reason)
    return VERSIONS.index(version)


def _edits(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all container edits of a spec with their locations."""
    for where, edits in (
        ("containerEdits", spec.get("containerEdits")),
        *(
            (f"devices[{index}].containerEdits", device.get("containerEdits"))
            for index, device in enumerate(spec.get("devices", ()))
        ),
    ):
        if edits:
            yield where, edits


def needs(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each version above the earliest that something in a spec needs, and where that is."""
    if "." in str(spec.get("kind", "")).rpartition("/")[2]:
        yield "0.6.0", "kind"
    if spec.get("annotations"):
        yield "0.6.0", "annotations"
    for index, device in enumerate(spec.get("devices", ())):
        if device.get("name", "")[:1].isdigit():
            yield "0.5.0", f"devices[{index}].name"
        if device.get("annotations"):
            yield "0.6.0", f"devices[{index}].annotations"
    for where, edits in _edits(spec):
        yield from _edits_need(edits, where)


def _edits_need(edits: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    for index, mount in enumerate(edits.get("mounts", ())):
        if mount.get("type"):
            yield "0.4.0", f"{where}.mounts[{index}].type"
    for index, node in enumerate(edits.get("deviceNodes", ())):
        if node.get("hostPath"):
            yield HOST_PATH, f"{where}.deviceNodes[{index}].hostPath"
    if "intelRdt" in edits:
        yield "0.7.0", f"{where}.intelRdt"
    if edits.get("additionalGids"):
        yield "0.7.0", f"{where}.additionalGids"
    for name in _NEW_RDT:
        if name in edits.get("intelRdt", {}):
            yield "1.1.0", f"{where}.intelRdt.{name}"
    if "netDevices" in edits:
        yield "1.1.0", f"{where}.netDevices"


def minimum_version(spec: Mapping[str, Any]) -> str:
    """Return the lowest version of the CDI specification that has all that a spec uses.

    Args:
        spec: its own ``cdiVersion`` is not looked at.

    Returns:
        ``0.3.0`` or above: ``type`` of a mount needs 0.4.0; ``hostPath`` of a device node, and a
        device's name that starts with a digit, 0.5.0; annotations, and a dot in the class, 0.6.0;
        ``intelRdt`` and ``additionalGids`` 0.7.0; ``netDevices``, and ``schemata`` or
        ``enableMonitoring`` of ``intelRdt``, 1.1.0.

    Raises:
        InvalidSpecError: it is not of the form of a spec; the error names the first place.

    .. versionadded:: 0.1.0
    """
    given: object = spec
    for fault in faults({**spec, "cdiVersion": LATEST} if isinstance(given, Mapping) else given):
        raise fault
    return lowest_version(spec)


def lowest_version(spec: Mapping[str, Any]) -> str:
    """Return what `minimum_version` does, of a spec that is known to be of the form of one."""
    return max((version for version, _ in needs(spec)), default=EARLIEST, key=rank)


def version_faults(spec: Mapping[str, Any]) -> Iterator[InvalidSpecError]:
    """Yield what a spec holds that its own version does not have."""
    try:
        own = rank(spec["cdiVersion"])
    except InvalidSpecError as error:
        yield error
        return
    for version, where in needs(spec):
        if rank(version) > own:
            reason = f"this needs version {version}, and the spec is of {spec['cdiVersion']}"
            yield InvalidSpecError(where, None, reason=reason)
    if own >= rank("1.1.0"):
        for where, edits in _edits(spec):
            for name in _GONE:
                if name in edits.get("intelRdt", {}):
                    reason = "there is no such field from version 1.1.0 on"
                    yield InvalidSpecError(f"{where}.intelRdt.{name}", None, reason=reason)
