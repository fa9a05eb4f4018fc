"""What holds for every table of declared mounts."""

from __future__ import annotations

import itertools
from typing import Final

import pytest
from hypothesis import given

from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import NotMountedError
from tests.property.strategies import container_paths, host_paths, mount_lists

pytestmark = pytest.mark.property

DEPTH: Final = 5

EVERY_CONTAINER_PATH: Final = [
    ContainerPath("/" + "/".join(names))
    for depth in range(DEPTH + 1)
    for names in itertools.product("ab", repeat=depth)
]
"""All paths of the names that the mounts use, one component deeper than they go."""


def covering(mounts: list[Mount], path: ContainerPath) -> Mount | None:
    """Return the mount that serves a path: the last one made at it or above it."""
    found = None
    for mount in mounts:
        if path.is_relative_to(mount.container):
            found = mount
    return found


def on_host(mounts: list[Mount], path: ContainerPath) -> HostPath | None:
    """Return what a path is on the host: what its mount shows, plus the rest of the way."""
    mount = covering(mounts, path)
    if mount is None or mount.host is None:
        return None
    rest = path.relative_to(mount.container)
    return mount.host if rest == "." else mount.host / rest


@given(mount_lists(), container_paths)
def test_to_host_is_what_the_last_mount_shows(mounts: list[Mount], path: ContainerPath) -> None:
    """A path leads to the host by the last mount made at or above it, or nowhere."""
    table = MountTable(mounts)
    expected = on_host(mounts, path)

    assert table.covering(path) is covering(mounts, path)
    if expected is None:
        with pytest.raises(NotMountedError) as caught:
            table.to_host(path)
        assert caught.value.path == path
        assert set(caught.value.nearest) <= set(mounts)
    else:
        assert table.to_host(path) == expected


@given(mount_lists(), host_paths)
def test_to_container_is_every_place_that_leads_back(mounts: list[Mount], path: HostPath) -> None:
    """A host path appears at all container paths that lead to it, and nowhere else."""
    table = MountTable(mounts)
    expected = {place for place in EVERY_CONTAINER_PATH if on_host(mounts, place) == path}
    found = table.to_container_all(path)

    assert len(found) == len(set(found))
    # A place can lie deeper than all that were tried, if a short path is mounted far down.
    assert {place for place in found if len(place.parts) <= DEPTH + 1} == expected
    assert [len(place.parts) for place in found] == sorted(len(place.parts) for place in found)
    assert all(table.to_host(place) == path for place in found)
    if found:
        assert table.to_container(path) == found[0]
    else:
        with pytest.raises(NotMountedError) as caught:
            table.to_container(path)
        assert caught.value.path == path
        assert set(caught.value.nearest) <= set(mounts)


@given(mount_lists(), container_paths)
def test_the_two_are_inverse(mounts: list[Mount], path: ContainerPath) -> None:
    """Whatever path leads to the host is among the places where that host path appears."""
    table = MountTable(mounts)
    if on_host(mounts, path) is not None:
        assert path in table.to_container_all(table.to_host(path))


@given(mount_lists())
def test_a_table_is_a_value(mounts: list[Mount]) -> None:
    """Tables of the same mounts are equal and hash alike; every mount survives as text."""
    assert MountTable(mounts) == MountTable(tuple(mounts))
    assert hash(MountTable(mounts)) == hash(MountTable(list(mounts)))
    assert [Mount.parse(str(mount)) for mount in mounts if mount.host is not None] == [
        mount for mount in mounts if mount.host is not None
    ]
