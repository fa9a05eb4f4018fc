"""Programmes that mypy and pyright must accept; never run.

Each function stands for code that a user writes, with the types that the user is told.
"""

from __future__ import annotations

from typing_extensions import assert_type

from devroot import ContainerPath, DevicePath, HostPath


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
