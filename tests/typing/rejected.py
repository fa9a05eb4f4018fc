"""Programmes that mypy and pyright must reject; never run.

Each wrong line is silenced for one rule of each checker. Both report a silencing that is not
needed, so the day that a checker accepts one of these lines, the check of types fails.
"""

from __future__ import annotations

import os

from typing_extensions import assert_never

import devroot
from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevicePath,
    DevRoot,
    DriverRoot,
    HostPath,
    Mount,
    MountInfoTable,
    MountTable,
    Verdict,
    examine,
    mknod,
)


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


def compare(host: HostPath, container: ContainerPath) -> None:
    """Paths are ordered within their own kind."""
    bool(host < container)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownArgumentType]


def map_the_wrong_way(mounts: MountTable, host: HostPath, container: ContainerPath) -> None:
    """Each direction of the mapping takes the kind that it starts from."""
    mounts.to_host(host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mounts.to_host("/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mounts.to_container(container)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Mount(host=container, container="/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Mount(host="/dev", container=host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def look_with_the_wrong_table(data: bytes, host: HostPath) -> None:
    """A table of one view is not asked for a path of the other, and stands for no other."""
    own = MountInfoTable.parse(data)
    own.covering(host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ContainerView(host_mountinfo=own)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ContainerView.of_process(host_mountinfo=host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def ask_of_the_wrong_place(view: ContainerView, dev_root: DevRoot, host: HostPath) -> None:
    """What is examined is a place in this container; what is asked of a dev root is a device."""
    examine(view, host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    examine(view, "/dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    dev_root.container_path(host)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    DriverRoot(host="/", container=host, view=view)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def forget_a_verdict(verdict: Verdict) -> str:
    """A match that lacks a verdict is found."""
    match verdict:
        case Verdict.HOST | Verdict.DECLARED:
            return "on the host"
        case Verdict.PRIVATE | Verdict.STALE:
            return "not on the host"
        case _:
            assert_never(verdict)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def forget_one_and_say_nothing(verdict: Verdict) -> str:  # type: ignore[return]  # pyright: ignore[reportReturnType]
    """So is one that has nothing for the rest."""
    match verdict:  # pyright: ignore[reportMatchNotExhaustive]
        case Verdict.HOST | Verdict.DECLARED | Verdict.UNKNOWN:
            return "perhaps"
        case Verdict.PRIVATE:
            return "not on the host"


def be_no_fallback(driver_root: DriverRoot) -> None:
    """What lacks the method of a fallback is none."""
    driver_root.dev_root(fallback="/host-dev")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def misspell(dev_root: DevRoot, node: DeviceNode) -> None:
    """What to do about a conflict is one of three words."""
    mknod(dev_root, [node], on_conflict="replace")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def import_what_is_not_there() -> None:
    """Names are loaded on first use; one that does not exist is found without running it."""
    str(devroot.no_such_name)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
