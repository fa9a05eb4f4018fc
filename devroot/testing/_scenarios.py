"""Scenes that are ready to use: a container and its host, by name."""

from __future__ import annotations

from typing import Final

import attrs

from devroot._mounts import Mount, MountTable
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot._roots import DriverRoot
from devroot._view import ContainerView
from devroot.errors import InvalidSceneError
from devroot.testing._gke import GKE
from devroot.testing._tree import TreeFileSystem

_RECORDINGS: Final = {"gke": GKE}


def scenario_names() -> tuple[str, ...]:
    """Return the names that `scenario` takes.

    .. versionadded:: 0.1.0
    """
    return tuple(_RECORDINGS)


@attrs.frozen(kw_only=True)
class Scenario:
    """A container on its host, with all that is needed to ask where its dev root is.

    The files are those that the container sees, mounts included, in one tree: what is made
    below a mount does not appear elsewhere.

    Attributes:
        name: by which it was asked for.
        title: what it is, in a few words.
        driver_root_host: where the driver is on the host.
        driver_root_container: where the container sees it.
        fallback: a fallback that fits, as ``python -m devroot explain --fallback`` takes it.
        mounts: every mount that the pod asks for.
        host_mountinfo: the mount table of the host at the same moment.
        filesystem: what the container sees.

    .. versionadded:: 0.1.0
    """

    name: str
    title: str
    driver_root_host: HostPath
    driver_root_container: ContainerPath
    fallback: str
    mounts: MountTable
    host_mountinfo: MountInfoTable[HostPath]
    filesystem: TreeFileSystem

    @property
    def view(self) -> ContainerView:
        """The container's view, read from the scenario's ``/proc``; the host's table is granted."""
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

    ``gke``: the driver is provided by the host at ``/home/kubernetes/bin/nvidia`` and mounted
    read-only at ``/driver-root``, without a ``dev``. The container's ``/dev`` is the runtime's
    own tmpfs; the host's ``/dev/nvidia-caps`` and ``/dev/nvidia-caps-imex-channels`` are mounted
    below ``/host-dev``.

    Args:
        name: one of `scenario_names`.

    Raises:
        InvalidSceneError: there is none of that name.

    .. versionadded:: 0.1.0
    """
    try:
        recording = _RECORDINGS[name]
    except KeyError:
        call = f"scenario({name!r})"
        reason = f"no such scenario; there are {', '.join(_RECORDINGS)}"
        raise InvalidSceneError(call, reason=reason) from None
    return Scenario(
        name=name,
        title=recording.title,
        driver_root_host=HostPath(recording.driver_root_host),
        driver_root_container=ContainerPath(recording.driver_root_container),
        fallback=recording.fallback,
        mounts=MountTable(map(Mount.parse, recording.mounts)),
        host_mountinfo=MountInfoTable[HostPath].parse(
            recording.host_mountinfo.encode(), paths=HostPath
        ),
        filesystem=TreeFileSystem(recording.files),
    )
