"""Programmes that mypy and pyright must reject; never run.

Each wrong line is silenced for one rule of each checker. Both report a silencing that is not
needed, so the day that a checker accepts one of these lines, the check of types fails.
"""

from __future__ import annotations

import os

from devroot import ContainerPath, DevicePath, HostPath


def takes_container_path(path: ContainerPath) -> None:
    """Stand for any function that acts on a path in this container."""


def takes_host_path(path: HostPath) -> None:
    """Stand for any function that writes a path into a document for the host."""


def open_what_is_elsewhere(path: HostPath) -> None:
    """A host path names a place that is not here."""
    open(path)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    os.stat(path)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def mix_up(host: HostPath, container: ContainerPath, device: DevicePath) -> None:
    """No kind of path does for another one, and no string does for either."""
    takes_container_path(host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    takes_container_path(device)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    takes_container_path("/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    takes_host_path(container)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    takes_host_path("/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    host.relative_to(container)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    _ = host < container  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
    _ = host / container  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
