"""Scenes that are ready to use: a container and its host, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from devroot._driver_root import DriverRoot
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot._view import ContainerView
from devroot.errors import InvalidSceneError
from devroot.testing._scenes import SCENES

if TYPE_CHECKING:
    from devroot._mounts import MountTable
    from devroot.testing._container import FakeContainer
    from devroot.testing._files import ProcessFileSystem
    from devroot.testing._host import FakeHost


def scenario_names() -> tuple[str, ...]:
    """Return the names that `scenario` takes.

    .. versionadded:: 0.1.0
    """
    return tuple(SCENES)


@attrs.frozen(kw_only=True)
class Scenario:
    """A container on its host, with all that is needed to ask where its dev root is.

    Attributes:
        name: by which it was asked for.
        title: what it is, in a few words.
        driver_root_host: where the driver is on the host.
        driver_root_container: where the container sees it.
        fallback: a fallback that fits, as ``python -m devroot explain --fallback`` takes it.
        host: a `FakeHost`, or the `FakeContainer` that is the plugin's host, as in kind.
        container: the plugin's `FakeContainer`.
        granted: whether the container's `view` has the host's mount table.

    .. versionadded:: 0.1.0
    """

    name: str
    title: str
    driver_root_host: HostPath
    driver_root_container: ContainerPath
    fallback: str
    host: FakeHost | FakeContainer
    container: FakeContainer
    granted: bool

    @property
    def mounts(self) -> MountTable:
        """Every mount that the pod asks for."""
        return self.container.mounts

    @property
    def host_mountinfo(self) -> MountInfoTable[HostPath] | None:
        """The mount table of the host at this moment; None if it is not granted."""
        if not self.granted:
            return None
        return MountInfoTable[HostPath].parse(self.host.mountinfo().encode(), paths=HostPath)

    @property
    def filesystem(self) -> ProcessFileSystem:
        """What the container sees."""
        return self.container.filesystem

    @property
    def view(self) -> ContainerView:
        """The container's view as it is now, with the host's table if it is granted."""
        return ContainerView.of_process(
            mounts=self.mounts, host_mountinfo=self.host_mountinfo, filesystem=self.filesystem
        )

    @property
    def driver_root(self) -> DriverRoot:
        """The driver root in the container's view."""
        return DriverRoot(
            host=self.driver_root_host, container=self.driver_root_container, view=self.view
        )


def scenario(name: str) -> Scenario:
    """Return a new scene that a test can change as it likes.

    The scenes are described in the documentation of the testing kit. In ``gke``, the driver is
    provided by the host at ``/home/kubernetes/bin/nvidia`` and mounted read-only at
    ``/driver-root``, without a ``dev``; the container's ``/dev`` is the runtime's own tmpfs, and
    the host's ``/dev/nvidia-caps`` and ``/dev/nvidia-caps-imex-channels`` are mounted below
    ``/host-dev``.

    Args:
        name: one of `scenario_names`.

    Raises:
        InvalidSceneError: there is none of that name.

    .. versionadded:: 0.1.0
    """
    try:
        scene = SCENES[name]()
    except KeyError:
        call = f"scenario({name!r})"
        reason = f"no such scenario; there are {', '.join(SCENES)}"
        raise InvalidSceneError(call, reason=reason) from None
    host, container = scene.driver_root
    return Scenario(
        name=name,
        title=scene.title,
        driver_root_host=HostPath(host),
        driver_root_container=ContainerPath(container),
        fallback=scene.fallback,
        host=scene.host,
        container=scene.container,
        granted=scene.granted,
    )
