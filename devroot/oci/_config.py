"""The mounts of an OCI ``config.json``; see config.md of the OCI runtime specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devroot._manifest import Field
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath, as_host_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_BIND: Final = frozenset({"bind", "rbind"})


def mount_table(config: Mapping[str, Any], *, bundle: str | HostPath | None = None) -> MountTable:
    """Return the mounts of a container as a table, in the order in which they are listed.

    A mount is a bind if its options or its type say so, and then its source is a host path. Any
    other, such as the ``tmpfs`` that runtimes put at ``/dev``, is a mount without a host side. A
    destination that is relative is taken from the root, as the specification wants it.

    Args:
        config: the content of a ``config.json``, in which a runtime finds its order.
        bundle: the directory of the bundle on the host, from which relative sources start.

    Raises:
        InvalidManifestError: a field that matters here is not as the specification wants it; a
            source is relative and *bundle* is not given; a path holds ``..``.
        InvalidPathError: *bundle* is not possible.

    .. versionadded:: 0.1.0
    """
    start = None if bundle is None else as_host_path(bundle)
    return MountTable(_mount(field, start) for field in Field(value=config)["mounts"].items())


def _mount(field: Field, bundle: HostPath | None) -> Mount:
    options = [option.text("") for option in field["options"].items()]
    host: HostPath | None = None
    if field["type"].text("") == "bind" or _BIND.intersection(options):
        host = _source(field["source"], bundle)
    at = field["destination"].text()
    return Mount(
        host=host,
        container=field["destination"].path(ContainerPath, at if at[0] == "/" else f"/{at}"),
        read_only=_last(options, "ro", "rw") or _last(options, "rro", "rrw"),
    )


def _source(field: Field, bundle: HostPath | None) -> HostPath:
    text = field.text()
    if text[0] == "/":
        return field.path(HostPath)
    if bundle is None:
        raise field.error(reason="it is relative; give as bundle= the directory of the bundle")
    return field.path(bundle.__truediv__)


def _last(options: list[str], yes: str, no: str) -> bool:
    """Whether the last one of two contrary options is *yes*."""
    said = [option for option in options if option in {yes, no}]
    return said[-1:] == [yes]
