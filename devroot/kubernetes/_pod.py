"""Where the pod is in a Kubernetes object, and its containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from devroot._manifest import Field

# From the outside in: a CronJob, a workload such as a DaemonSet, a PodTemplate, a Pod or a pod
# template, and a PodSpec by itself.
_PLACES: Final = (
    ("spec", "jobTemplate", "spec", "template", "spec"),
    ("spec", "template", "spec"),
    ("template", "spec"),
    ("spec",),
    (),
)
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")


@final
@attrs.frozen(kw_only=True)
class Container:
    """One container of a pod.

    Attributes:
        pod: the spec of the pod.
        field: the container.
        kind: in which list of the pod it is, such as ``initContainers``.
        claims: the names of the volumes that a StatefulSet makes for the pod.
    """

    pod: Field
    field: Field
    kind: str
    claims: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.field["name"].text()


def find_container(manifest: Mapping[str, Any], name: str | None) -> Container:
    """Return the container *name*; the only one of ``containers`` if that is None.

    Raises:
        InvalidManifestError: there is no pod in *manifest*, or no such container in it.
    """
    whole = Field(value=manifest)
    pod = _find_pod(whole)
    claims = tuple(
        claim["metadata"]["name"].text() for claim in whole["spec"]["volumeClaimTemplates"].items()
    )
    known = [
        Container(pod=pod, field=field, kind=kind, claims=claims)
        for kind in _KINDS
        for field in pod[kind].items()
    ]
    if name is None:
        found = [container for container in known if container.kind == "containers"]
        if len(found) == 1:
            return found[0]
        raise pod["containers"].error(reason=f"say which container is meant: {_names(known)}")
    for container in known:
        if container.name == name:
            return container
    raise pod["containers"].error(reason=f"there is no {name!r}; there are {_names(known)}")


def _find_pod(whole: Field) -> Field:
    whole.mapping()
    for names in _PLACES:
        field = whole
        for name in names:
            # What is not an object on the way is not the way.
            field = field[name] if isinstance(field.value, Mapping) else Field(value=None)
        if isinstance(field.value, Mapping) and "containers" in field.mapping():
            return field
    raise whole.error(
        reason="it has no containers; give a Pod, a pod template, or what has one, as a DaemonSet"
    )


def _names(known: list[Container]) -> str:
    return ", ".join(container.name for container in known) or "none"
