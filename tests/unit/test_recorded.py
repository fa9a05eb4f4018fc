"""Every recorded table gets its right verdict, and none a false proof, with any host's table."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    HostPath,
    MountInfoTable,
    MountTablesDisagreeError,
    Verdict,
    examine,
)
from devroot.testing import TreeFileSystem
from tests._views import RECORDED, mounts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot import Reach

ANSWERS: dict[str, dict[str, Any]] = json.loads((RECORDED / "answers.json").read_text())
MOMENTS = sorted(ANSWERS)
HOSTS = sorted(path.parent.name for path in RECORDED.glob("*/host"))
NO_FILES = TreeFileSystem()


@functools.cache
def own_table(moment: str) -> MountInfoTable[ContainerPath]:
    """Return the container's table of a moment."""
    return MountInfoTable.parse((RECORDED / moment / "container").read_bytes())


@functools.cache
def host_table(moment: str) -> MountInfoTable[HostPath]:
    """Return the host's table of a moment."""
    return MountInfoTable.parse((RECORDED / moment / "host").read_bytes(), paths=HostPath)


def view_in(moment: str, *, mounts: bool = False, host: str | None = None) -> ContainerView:
    """Return the view of a moment, with its mounts given or not, and with a host's table."""
    return ContainerView(
        mountinfo=own_table(moment),
        mounts=mounts_of(*ANSWERS[moment]["mounts"]) if mounts else None,
        host_mountinfo=None if host is None else host_table(host),
        filesystem=NO_FILES,
    )


def reach_in(moment: str, *, mounts: bool = False, host: str | None = None) -> Reach:
    """Return the reach of the path in question, with what is given as for `view_in`."""
    return examine(view_in(moment, mounts=mounts, host=host), path_of(moment))


def path_of(moment: str) -> ContainerPath:
    """Return the path in question."""
    return ContainerPath(ANSWERS[moment]["path"])


def host_path_of(moment: str) -> HostPath | None:
    """Return where the host of that moment sees the path, if it does."""
    text = ANSWERS[moment].get("host_path")
    return None if text is None else HostPath(text)


def right_verdict(moment: str, given: str) -> Verdict:
    """Return the right verdict with what is given."""
    return Verdict(ANSWERS[moment]["verdicts"][given])


def places_in(moment: str) -> Iterator[ContainerPath]:
    """Yield every visible mount point, and some names below it."""
    for mount in own_table(moment).visible():
        yield mount.mount_point
        for name in ("x", "shm/x"):
            yield mount.mount_point / name


def is_below_own_root_on_host(moment: str, path: ContainerPath) -> bool:
    """Whether the path lies where a bind of the host's / shows this container's own root."""
    table = own_table(moment)
    root = table.covering(ContainerPath("/"))
    assert root is not None
    mounts = map(table.covering, (path, *path.parents))
    return any(
        mount is not None and mount.device == root.device and mount.mount_id != root.mount_id
        for mount in mounts
    )


def test_every_recorded_table_has_its_answers() -> None:
    """The tables and the answers belong together, and there are as many as there should be."""
    assert sorted(path.parent.name for path in RECORDED.glob("*/container")) == MOMENTS
    assert len(MOMENTS) == 50
    assert len(HOSTS) == 47


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_verdict_with_the_mounts_given(moment: str) -> None:
    """What was asked for decides, as far as it can."""
    reach = reach_in(moment, mounts=True)
    assert reach.verdict is right_verdict(moment, "mounts given")
    if reach.verdict in {Verdict.HOST, Verdict.DECLARED}:
        assert reach.host_path == host_path_of(moment)


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_verdict_with_nothing_given(moment: str) -> None:
    """The process's own table proves nothing by itself."""
    reach = reach_in(moment)
    assert reach.verdict is right_verdict(moment, "mounts not given")
    assert reach.host_path is None


@pytest.mark.parametrize("moment", [name for name in MOMENTS if name in HOSTS])
def test_the_verdict_with_the_hosts_table_granted(moment: str) -> None:
    """It decides alone, whether the mounts are given or not."""
    for mounts in (True, False):
        reach = reach_in(moment, mounts=mounts, host=moment)
        assert reach.verdict is right_verdict(moment, "host table granted")
        assert reach.host_path == host_path_of(moment)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_host_table_of_another_moment_proves_nothing_false(moment: str) -> None:
    """Such tables are refused, or give an answer that is no proof, or a proof that is true.

    True is what the host of the container's own moment would say; and for a node, what its own
    table says of itself, which is the host's table of the containers in it.
    """
    for host in HOSTS:
        if host == moment:
            continue
        try:
            reach = reach_in(moment, host=host)
        except MountTablesDisagreeError:
            continue
        if reach.verdict is Verdict.HOST:
            itself = HostPath(str(path_of(moment))) if is_same_namespace(moment, host) else None
            assert reach.host_path in {itself, host_path_of(moment)} - {None}, host
        assert reach_in(moment, mounts=True, host=host).host_path == reach.host_path


def is_same_namespace(moment: str, host: str) -> bool:
    """Whether the two tables are of one mount namespace: they have the same root mount."""
    own = own_table(moment).covering(ContainerPath("/"))
    other = host_table(host).covering(HostPath("/"))
    assert own is not None
    assert other is not None
    return (own.mount_id, own.super_options) == (other.mount_id, other.super_options)


@pytest.mark.parametrize("moment", [name for name in MOMENTS if name.endswith("-node")])
def test_a_node_joined_with_its_own_table_is_the_host(moment: str) -> None:
    """For the containers in it the node is the host, and its /dev the host's /dev."""
    inside = [host for host in HOSTS if is_same_namespace(moment, host)]
    assert inside
    for host in inside:
        reach = reach_in(moment, host=host)
        assert (reach.verdict, reach.host_path) == (Verdict.HOST, HostPath(str(path_of(moment))))


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_place_is_proved_by_the_own_table_alone(moment: str) -> None:
    """Wherever one looks: without mounts and the host's table nothing is accepted."""
    view = view_in(moment)
    for place in places_in(moment):
        assert examine(view, place).verdict in {Verdict.UNKNOWN, Verdict.PRIVATE}


@pytest.mark.parametrize("moment", [name for name in MOMENTS if name in HOSTS])
def test_no_place_gets_an_answer_that_the_hosts_table_refutes(moment: str) -> None:
    """Wherever one looks: what is proved holds, what is private is, what is declared is there.

    What the mounts cannot tell is a bind of the host's / that shows this container's own root,
    with mounts in it that only the runtime saw.
    """
    by_mounts = view_in(moment, mounts=True)
    by_host = view_in(moment, host=moment)
    for place in places_in(moment):
        told, true = examine(by_mounts, place), examine(by_host, place)
        if told.verdict is Verdict.PRIVATE:
            assert true.verdict is Verdict.PRIVATE, place
        if told.verdict is Verdict.HOST or (
            told.verdict is Verdict.DECLARED and not is_below_own_root_on_host(moment, place)
        ):
            assert told.host_path in true.host_paths, place


@pytest.mark.parametrize("moment", [name for name in MOMENTS if name in HOSTS])
def test_the_declared_mounts_do_not_change_what_the_hosts_table_says(moment: str) -> None:
    """Wherever one looks, the set of host paths is the same."""
    by_both = view_in(moment, mounts=True, host=moment)
    by_host = view_in(moment, host=moment)
    for place in places_in(moment):
        with_mounts, without = examine(by_both, place), examine(by_host, place)
        assert with_mounts.verdict is without.verdict
        assert set(with_mounts.host_paths) == set(without.host_paths)


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_machine_at_another_moment_proves_nothing_but_devtmpfs(moment: str) -> None:
    """Of all that was mounted then and now, only devtmpfs is the same one."""
    try:
        reach = reach_in(moment, mounts=True, host="machine")
    except MountTablesDisagreeError:
        return
    if reach.verdict is Verdict.HOST:
        assert reach.mount is not None
        assert reach.mount.fstype == "devtmpfs"
        assert reach.host_path == host_path_of(moment)
