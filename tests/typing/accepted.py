"""Programmes that mypy and pyright must accept; never run.

Each function stands for code that a user writes, with the types that the user is told.
"""

from __future__ import annotations

from typing_extensions import assert_never, assert_type

from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevicePath,
    DevRoot,
    DriverRoot,
    Fallback,
    FirstOf,
    HostDevFallback,
    HostPath,
    MountInfo,
    MountInfoTable,
    MountTable,
    Reach,
    Refusal,
    RootFallback,
    SubsetFallback,
    Verdict,
    examine,
    mknod,
)


def open_what_is_here(path: ContainerPath) -> bytes:
    """A container path is what ``open()`` takes."""
    with open(path, "rb") as file:
        return file.read()


def keep_the_kind(host: HostPath, container: ContainerPath) -> None:
    """What is made from a path is a path of the same kind."""
    assert_type(host / "dev", HostPath)
    assert_type(host.parent, HostPath)
    assert_type(host.parents, tuple[HostPath, ...])
    assert_type(container / "dev", ContainerPath)
    assert_type(container.parent, ContainerPath)
    assert_type(sorted([container]), list[ContainerPath])


def name_a_device() -> None:
    """A device path has its own kind, and its text is a string."""
    path = DevicePath("nvidia0")
    assert_type(path, DevicePath)
    assert_type(str(path), str)
    assert_type(path.below_dev, str)


def cross_over(mounts: MountTable, host: HostPath, container: ContainerPath) -> None:
    """Mapping through mounts changes the kind, and says so."""
    assert_type(mounts.to_host(container), HostPath)
    assert_type(mounts.to_container(host), ContainerPath)
    assert_type(mounts.to_container_all(host), tuple[ContainerPath, ...])


def read_tables(data: bytes) -> None:
    """A mount table knows whose view it describes."""
    own = MountInfoTable.parse(data)
    host = MountInfoTable.parse(data, paths=HostPath)
    assert_type(own, MountInfoTable[ContainerPath])
    assert_type(host, MountInfoTable[HostPath])
    assert_type(own.covering(ContainerPath("/dev")), MountInfo[ContainerPath] | None)
    assert_type(host.covering(HostPath("/dev")), MountInfo[HostPath] | None)


def tell(reach: Reach) -> str:
    """The verdicts are closed: a match that has them all needs no other branch."""
    assert_type(reach.host_path, HostPath | None)
    verdict = reach.verdict
    match verdict:
        case Verdict.HOST | Verdict.DECLARED:
            return "on the host"
        case Verdict.UNKNOWN:
            return "who knows"
        case Verdict.PRIVATE | Verdict.STALE:
            return "not on the host"
        case _:
            assert_never(verdict)


class OwnFallback:
    """A fallback is any object with this method; no base class is needed."""

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Use the driver root, whatever it has."""
        if driver_root.container == ContainerPath("/"):
            return Refusal(fallback="own", reason="the driver root is this container")
        return DevRoot(container=driver_root.container, view=view)


def fall_back() -> list[Fallback]:
    """All of these are fallbacks."""
    subset = SubsetFallback("/host-dev", ["nvidia-caps", DevicePath("/dev/dri")])
    return [RootFallback(), HostDevFallback(), FirstOf(subset, OwnFallback()), OwnFallback()]


def make_nodes(view: ContainerView) -> None:
    """Strings do wherever the parameter's name says whose path it is."""
    driver_root = DriverRoot(host="/", container=ContainerPath("/driver-root"), view=view)
    dev_root = driver_root.dev_root(fallback=SubsetFallback("/host-dev", ["nvidia-caps"]))
    node = DeviceNode(path="nvidia-caps/nvidia-cap1", major=235, minor=1)
    mknod(dev_root, [node], on_conflict="keep", dry_run=True)
    assert_type(dev_root.container_path("nvidia0"), ContainerPath)
    assert_type(dev_root.host_path(node.path), HostPath)
    assert_type(examine(view, dev_root.dev), Reach)
