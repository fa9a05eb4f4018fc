"""An explanation as a document for programmes: the format is described in the reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from devroot._presence import Presence

if TYPE_CHECKING:
    from devroot._cli._explanation import Candidate, Explanation, Inventory, Landing
    from devroot._dev_root import DevRoot
    from devroot._evidence import Evidence, Reach
    from devroot._mounts import Mount

SCHEMA: Final = 1
"""Grows when a field goes or changes its meaning; new fields can come at any time."""


def render(explanation: Explanation, *, version: str) -> str:
    """Return the explanation as one JSON document that ends with a newline."""
    return dump(document_of(explanation, version=version))


def dump(document: dict[str, Any]) -> str:
    """Return the text of a document, which ends with a newline."""
    return json.dumps(document, indent=2) + "\n"


def document_of(explanation: Explanation, *, version: str) -> dict[str, Any]:
    """Return the explanation as JSON can hold it."""
    view, inventories = explanation.view, explanation.inventories
    return {
        "schema": SCHEMA,
        "devroot": version,
        "accepted": explanation.accepted,
        "driver_root": {
            "host": str(explanation.driver_root.host),
            "container": str(explanation.driver_root.container),
        },
        "mounts": None if view.mounts is None else [_mount(mount) for mount in view.mounts],
        "host_mountinfo": view.host_mountinfo is not None,
        "candidates": [_candidate(candidate) for candidate in explanation.candidates],
        "dev_root": _dev_root(explanation.dev_root),
        "reach": _reach(explanation.reach),
        "paths": [place_of(landing) for landing in explanation.landings],
        "remedies": [
            {
                "fallback": remedy.fallback,
                "mounts": [_mount(mount) for mount in remedy.mounts],
            }
            for remedy in explanation.remedies
        ],
        "advice": list(explanation.advice),
        "nodes": None
        if inventories is None
        else {each.name: _inventory(each) for each in inventories},
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "asked": candidate.asked,
        "state": candidate.state.value,
        "reason": candidate.reason,
        "dev_root": _dev_root(candidate.dev_root),
        "reach": _reach(candidate.reach),
        "remedies": [_mount(mount) for mount in candidate.remedies],
    }


def place_of(landing: Landing) -> dict[str, Any]:
    """Return where a device path lands as JSON can hold it."""
    return {
        "device_path": str(landing.device_path),
        "container_path": _text(landing.container_path),
        "reach": _reach(landing.reach),
    }


def _inventory(inventory: Inventory) -> dict[str, Any]:
    found = inventory.found
    return {
        "unknown": list(inventory.unknown),
        "total": None if found is None else len(found.found),
        "absent": [
            {
                "device_path": str(one.node.path),
                "presence": one.presence.value,
                "reason": one.reason,
            }
            for one in (() if found is None else found.found)
            if one.presence is not Presence.OK
        ],
    }


def _dev_root(dev_root: DevRoot | None) -> dict[str, Any] | None:
    if dev_root is None:
        return None
    names = dev_root.names
    return {
        "container": str(dev_root.container),
        "dev": str(dev_root.dev),
        "names": None if names is None else list(map(str, names)),
    }


def _reach(reach: Reach | None) -> dict[str, Any] | None:
    if reach is None:
        return None
    return {
        "container_path": str(reach.container_path),
        "verdict": reach.verdict.value,
        "host_path": _text(reach.host_path),
        "host_paths": list(map(str, reach.host_paths)),
        "evidence": [_evidence(each) for each in reach.evidence],
        "blockers": [_evidence(each) for each in reach.blockers],
        "parts": [_reach(part) for part in reach.parts],
    }


def _evidence(evidence: Evidence) -> dict[str, str]:
    return {"code": evidence.code.value, "text": evidence.text}


def _mount(mount: Mount) -> dict[str, Any]:
    return {
        "host": _text(mount.host),
        "container": str(mount.container),
        "read_only": mount.read_only,
    }


def _text(path: object) -> str | None:
    return None if path is None else str(path)
