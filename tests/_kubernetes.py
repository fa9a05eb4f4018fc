"""Pods for the tests, and the schemas of Kubernetes to hold them against."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from devroot import kubernetes

# Neither of them has types.
yaml: Any = import_module("yaml")
_validator: Any = import_module("kubernetes_validate")

DATA = Path(__file__).parent / "data/kubernetes"
VERSIONS: tuple[str, ...] = (_validator.utils.all_versions()[0], _validator.latest_version())


def plugin(name: str) -> dict[str, Any]:
    """Return the DaemonSet of a plugin in the field."""
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def pod_with(
    *mounts: dict[str, Any],
    volumes: list[dict[str, Any]] | None = None,
    container: dict[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a PodSpec
) -> dict[str, Any]:
    """Return a Pod with one container that has these volume mounts."""
    own = {"name": "plugin", "image": "plugin:1", **(container or {}), "volumeMounts": [*mounts]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "plugin"},
        "spec": {"containers": [own], "volumes": [*(volumes or [])], **spec},
    }


def host_path(name: str, path: str, kind: str = "") -> dict[str, Any]:
    """Return a volume with a host path."""
    return {"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}}


def validate(manifest: dict[str, Any], *, versions: tuple[str, ...] = VERSIONS) -> None:
    """Check a manifest against the oldest and the newest schema at hand, unknown fields refused.

    Args:
        manifest: a Kubernetes object.
        versions: of other schemas, for what the oldest one does not have.

    Raises:
        ValidationError: it is none of that kind.
    """
    for version in versions:
        _validator.validate(manifest, version, strict=True)


def start_options(pod: dict[str, Any], container: str | None = None) -> list[Any]:
    """Return the pod's own mounts for a container as a fake container takes them."""
    options: list[Any] = []
    for one in kubernetes.mounts(pod, container=container):
        if not one.location:
            continue
        if one.mount.host is None:
            options.append(one.mount)
            continue
        words = ["ro"] * one.mount.read_only
        words += ["rslave"] * (one.propagation == "HostToContainer")
        words += ["rshared"] * (one.propagation == "Bidirectional")
        text = f"{one.mount.host}:{one.mount.container}"
        options.append(":".join([text, ",".join(words)]) if words else text)
    return options
