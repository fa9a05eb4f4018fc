"""What a plugin does with the library; the tests call these functions inside its container."""

from __future__ import annotations

import errno
from typing import Any

import attrs

from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevRoot,
    DriverRoot,
    Fallback,
    FirstOf,
    HostDevFallback,
    Mount,
    MountTable,
    NodeError,
    NoDevRootError,
    NotOnHostError,
    OutsideSubsetError,
    RootFallback,
    SubsetFallback,
    examine,
    mknod,
)

MAJOR = 235
MINOR = 4323


@attrs.define
class _Memory:
    """What the plugin keeps between two calls."""

    view: ContainerView = attrs.field(factory=ContainerView)
    dev_root: DevRoot | None = None

    def chosen(self) -> DevRoot:
        """Return the dev root that `choose` has found."""
        assert self.dev_root is not None
        return self.dev_root


_memory = _Memory()


def look(*, mounts: list[str] | None, host_mountinfo: str) -> None:
    """Take a view of what the process can see."""
    given = None if mounts is None else MountTable(map(Mount.parse, mounts))
    host = ContainerPath(host_mountinfo) if host_mountinfo else None
    _memory.view = ContainerView.of_process(mounts=given, host_mountinfo=host)


def look_again() -> None:
    """Take a new view, and keep the dev root that was chosen."""
    _memory.view = _memory.view.refresh()
    _memory.dev_root = attrs.evolve(_memory.chosen(), view=_memory.view)


def _fallback(words: list[str]) -> Fallback:
    """Return the fallback that *words* call, the names of a subset among them."""
    kind, *names = words
    if kind == "root":
        return RootFallback()
    if kind == "host-dev":
        return HostDevFallback("/")
    subset = SubsetFallback("/host-dev", names)
    return subset if kind == "subset" else FirstOf(HostDevFallback("/"), subset)


def choose(*, host: str, container: str, fallback: list[str]) -> dict[str, Any]:
    """Find the dev root of the driver root *host* at *container*, or say why there is none."""
    driver_root = DriverRoot(host=host, container=container, view=_memory.view)
    try:
        _memory.dev_root = driver_root.dev_root(fallback=_fallback(fallback))
    except NoDevRootError as error:
        return {
            "error": str(error),
            "refused": [refusal.fallback for refusal in error.refusals],
            "remedies": [str(mount) for refusal in error.refusals for mount in refusal.remedies],
        }
    return {"dev_root": str(_memory.dev_root.container)}


def reach(*, path: str) -> dict[str, Any]:
    """Say what is known of *path* in the dev root."""
    dev_root = _memory.chosen()
    try:
        handed_out = str(dev_root.host_path(path))
    except NotOnHostError:
        handed_out = "NotOnHostError"
    try:
        dev_root.require_reach()
    except NotOnHostError:
        required = False
    else:
        required = True
    found = dev_root.reach(path)
    container_path = dev_root.container_path(path)
    return {
        "verdict": found.verdict.name,
        "host_path": None if found.host_path is None else str(found.host_path),
        "blockers": [blocker.code.value for blocker in found.blockers],
        "container_path": str(container_path),
        "required": required,
        "handed_out": handed_out,
        "without_claims": examine(_memory.view, container_path).verdict.name,
    }


def make(*, path: str) -> str:
    """Make the device node *path*; say what became of it, or the error's number and text."""
    node = DeviceNode(path=path, major=MAJOR, minor=MINOR, mode=0o666)
    try:
        report = mknod(_memory.chosen(), [node])
    except NodeError as error:
        return f"{errno.errorcode[error.errno or 0]}: {error}"
    return f"{len(report.created)} created, {len(report.unchanged)} unchanged"


def outside(*, path: str) -> list[str]:
    """Say which methods of the dev root refuse *path* because its subset does not have it."""
    dev_root = _memory.chosen()
    refused: list[str] = []
    for name in ("container_path", "host_path", "reach", "require_reach"):
        try:
            getattr(dev_root, name)(path)
        except OutsideSubsetError:
            refused.append(name)
    return refused
