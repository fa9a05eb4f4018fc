"""The fallbacks: the host's ``/dev`` mounted at ``P/dev``, the required subset of it, a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from devroot._dev_root import DevRoot, Refusal, as_names, as_verdicts, tell_refusal
from devroot._driver_root import EXAMINING, ask
from devroot._evidence import ACCEPTED, Verdict
from devroot._mounts import Mount
from devroot._paths import ContainerPath, DevicePath, HostPath, as_container_path
from devroot._reach import HOST_DEV
from devroot._view import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from devroot._device import DeviceNode
    from devroot._driver_root import DriverRoot, Examined, Fallback
    from devroot._evidence import Reach
    from devroot._view import ContainerView

_HOPELESS = frozenset({Verdict.PRIVATE, Verdict.STALE})


def _judge(found: DevRoot, *, fallback: Fallback) -> Examined:
    """Return the dev root unless it is certain that its nodes do not reach the host."""
    reach = found.reach()
    if reach.verdict in _HOPELESS:
        return _refuse(found, reach, fallback=fallback)
    return found, reach


def _without_reach(examined: Examined) -> DevRoot | Refusal:
    return examined if isinstance(examined, Refusal) else examined[0]


def _refuse(found: DevRoot, reach: Reach, *, fallback: Fallback) -> Refusal:
    return Refusal(
        fallback=repr(fallback),
        reason=f"{reach.container_path} is {reach.verdict.name}: {reach.evidence[-1].text}",
        reach=reach,
        remedies=found.remedies,
    )


def _missing(
    container: ContainerPath,
    view: ContainerView,
    *,
    fallback: Fallback,
    remedies: tuple[Mount, ...],
) -> Refusal | None:
    """Refuse if there is no directory ``P/dev``, saying so if the host's ``/dev`` is P itself."""
    dev = container / "dev"
    try:
        if view.filesystem.status(container, "/dev").is_directory:
            return None
        reason = f"{dev} is not a directory"
    except (FileNotFoundError, NotADirectoryError):
        reason = f"there is no directory {dev}"
    if _shows_host_dev(container, view):
        reason = (
            f"the host's /dev is mounted at {container} itself, but a dev root holds its nodes in"
            f" a directory called dev: mount it at {dev}"
        )
        remedies = (Mount(host=HOST_DEV, container=dev),)
    return Refusal(fallback=repr(fallback), reason=reason, remedies=remedies)


def _shows_host_dev(container: ContainerPath, view: ContainerView) -> bool:
    mount = view.mountinfo.covering(container)
    declared = None if view.mounts is None else view.mounts.covering(container)
    return (
        mount is not None
        and mount.mount_point == container
        and (mount.fstype == "devtmpfs" or (declared is not None and declared.host == HOST_DEV))
    )


@final
@attrs.frozen
class HostDevFallback:
    """The host's ``/dev``, mounted at ``P/dev``; P is ``/`` where it covers the container's own.

    Over the container's own ``/dev`` it has a price: every library in the container that makes
    nodes then makes them on the host, and CRI-O refuses privileged containers whose device paths
    exist on the host.

    Attributes:
        container: the directory P.

    .. versionadded:: 0.1.0
    """

    container: ContainerPath = attrs.field(default=ROOT, converter=as_container_path)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The one mount that it needs."""
        return (Mount(host=HOST_DEV, container=self.container / "dev"),)

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Return P, unless it has no ``dev`` or that certainly does not reach the host."""
        return _without_reach(self._examined(driver_root, view))

    def _examined(self, driver_root: DriverRoot, view: ContainerView, /) -> Examined:
        refusal = _missing(self.container, view, fallback=self, remedies=self.mounts)
        if refusal is not None:
            return refusal
        found = DevRoot(
            container=self.container,
            view=view,
            declared=driver_root.declared(*self.mounts),
            remedies=self.mounts,
            origin=repr(self),
        )
        return _judge(found, fallback=self)

    def __repr__(self) -> str:
        return f"HostDevFallback({str(self.container)!r})"


def subset_of(nodes: Iterable[DeviceNode], *, exact: bool) -> tuple[DevicePath, ...]:
    """Return the names below ``/dev`` that show *nodes*: see `SubsetFallback.of_devices`."""
    paths = [node.path for node in nodes]
    if not exact:
        paths = [path.parents[-1] if path.parents else path for path in paths]
    return tuple(dict.fromkeys(paths))


@final
@attrs.frozen
class SubsetFallback:
    """Only the required part of the host's ``/dev``, mounted aside.

    Each name is mounted at ``P/dev/NAME``, or all of the host's ``/dev`` at ``P/dev``. The
    container's own ``/dev`` stays its own. A mounted directory goes stale if the host deletes it
    and makes it anew.

    Attributes:
        container: P, such as ``/host-dev``.
        names: paths below ``/dev`` that the dev root shows, such as ``nvidia-caps``.

    Raises:
        InvalidPathError: a path is not possible, or there is no name.
        PathKindError: P is a host path.

    .. versionadded:: 0.1.0
    """

    container: ContainerPath = attrs.field(converter=as_container_path)
    names: tuple[DevicePath, ...] = attrs.field(converter=as_names)

    @classmethod
    def of_devices(
        cls, container: str | ContainerPath, nodes: Iterable[DeviceNode], *, exact: bool = False
    ) -> SubsetFallback:
        """Return the fallback that shows these nodes.

        Args:
            container: P, such as ``/host-dev``.
            nodes: such as the ``nodes`` of a `devroot.udev.DeviceCatalog`.
            exact: whether the names are the nodes themselves. By default each is the first
                directory below ``/dev`` on the way to the node, where there is one: a mounted
                directory also shows the nodes that come later, and a mounted node goes stale
                with its device.

        Raises:
            InvalidPathError: *container* is not possible, or there is no node.
            PathKindError: *container* is a host path.
        """
        return cls(container, subset_of(nodes, exact=exact))

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The mounts that it needs, one for each name."""
        return tuple(
            Mount(host=HostPath(str(name)), container=self.container / "dev" / name.below_dev)
            for name in self.names
        )

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Return P for the names, unless one of them certainly does not reach the host."""
        return _without_reach(self._examined(driver_root, view))

    def _examined(self, driver_root: DriverRoot, view: ContainerView, /) -> Examined:
        refusal = _missing(self.container, view, fallback=self, remedies=self.mounts)
        if refusal is not None:
            return refusal
        dev = self.container / "dev"
        mount = view.mountinfo.covering(dev)
        whole = mount is not None and mount.mount_point == dev
        claims = (Mount(host=HOST_DEV, container=dev),) if whole else self.mounts
        found = DevRoot(
            container=self.container,
            view=view,
            names=self.names,
            declared=driver_root.declared(*claims),
            remedies=self.mounts,
            origin=repr(self),
        )
        return _judge(found, fallback=self)

    def __repr__(self) -> str:
        return f"SubsetFallback({str(self.container)!r}, {[name.below_dev for name in self.names]})"


@final
@attrs.frozen(init=False)
class FirstOf:
    """The first fallback whose dev root is accepted.

    If none is, the first one whose reach is unknown, else the refusals of all.

    Args:
        fallbacks: what to ask, in order.
        accept: the verdicts that are good enough.

    Attributes:
        fallbacks: what to ask, in order.
        accept: the verdicts that are good enough.

    .. versionadded:: 0.1.0
    """

    fallbacks: tuple[Fallback, ...]
    accept: frozenset[Verdict]

    def __init__(self, *fallbacks: Fallback, accept: Collection[Verdict] = ACCEPTED) -> None:
        object.__setattr__(self, "fallbacks", fallbacks)
        object.__setattr__(self, "accept", as_verdicts(accept))

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Ask the fallbacks in order."""
        return _without_reach(self._examined(driver_root, view))

    def _examined(self, driver_root: DriverRoot, view: ContainerView, /) -> Examined:
        unknown: tuple[DevRoot, Reach] | None = None
        refusals: list[Refusal] = []
        for fallback in self.fallbacks:
            examined = ask(fallback, driver_root, view)
            if isinstance(examined, Refusal):
                tell_refusal(examined)
                refusals.append(examined)
                continue
            found, reach = examined
            if reach.verdict in self.accept:
                return examined
            if reach.verdict is Verdict.UNKNOWN and unknown is None:
                unknown = examined
            refused = _refuse(found, reach, fallback=fallback)
            tell_refusal(refused)
            refusals.append(refused)
        if unknown is not None:
            return unknown
        return Refusal(
            fallback=repr(self), reason="no fallback is accepted", refusals=tuple(refusals)
        )

    def __repr__(self) -> str:
        return f"FirstOf({', '.join(map(repr, self.fallbacks))})"


for kind in (HostDevFallback, SubsetFallback, FirstOf):
    EXAMINING[kind] = kind._examined  # noqa: SLF001 - of this module
