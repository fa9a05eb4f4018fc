"""What holds for every mount table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot._mountinfo import MountInfo
from devroot._mounttree import MountInfoTable
from devroot._paths import ContainerPath, HostPath
from devroot.errors import MountInfoError
from tests.property.strategies import (
    ModelMount,
    MountModel,
    mount_infos,
    mount_models,
    paths_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.property

GOOD = b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"

pieces = st.sampled_from(
    [b" ", b"/", b"\\040", b"\\000", b"..", b"-", b":", b"\n", b"\r", b"+", b"_"]
)


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    """Give a line of which a part was replaced."""
    line = draw(mount_infos()).render() if draw(st.booleans()) else GOOD
    start = draw(st.integers(0, len(line)))
    end = draw(st.integers(start, min(start + 4, len(line))))
    return line[:start] + draw(pieces | st.binary(max_size=3)) + line[end:]


lines = damaged_lines() | damaged_lines() | st.just(GOOD) | st.binary(max_size=30)


def is_line(line: bytes) -> bool:
    """Return whether a line can be decoded."""
    try:
        MountInfo.from_line(line, paths=ContainerPath)
    except MountInfoError:
        return False
    return True


def padded(data: bytes) -> bytes:
    """Return the same table with so many lines before it that it counts as large."""
    filler = b"1 1 0:1 / / rw - rootfs rootfs rw,size=" + b"0" * 200 + b"\n"
    return filler * 100 + data


def ids(mounts: Iterable[MountInfo[ContainerPath] | ModelMount]) -> list[int]:
    """Return the IDs of mounts, in order."""
    return sorted(mount.mount_id for mount in mounts)


def data_of(draw: st.DataObject, mounts: list[ModelMount]) -> bytes:
    """Return the lines of mounts in any order, for the order says nothing."""
    return b"".join(mount.line() + b"\n" for mount in draw.draw(st.permutations(mounts)))


@given(mount_infos())
def test_a_line_says_all_of_a_mount(mount: MountInfo[ContainerPath]) -> None:
    """A mount that was written as a line is read from it unchanged."""
    line = mount.render()

    assert b"\n" not in line
    assert MountInfo.from_line(line, paths=ContainerPath) == mount


@given(st.lists(mount_infos(), max_size=5), st.sampled_from([b"", b"\n"]))
def test_a_table_gives_its_text_back(mounts: list[MountInfo[ContainerPath]], end: bytes) -> None:
    """A table renders the very bytes that were parsed, and its records are those written."""
    table = MountInfoTable.of(mounts, paths=ContainerPath)
    data = table.render().removesuffix(b"\n") + (end if mounts else b"")
    again = MountInfoTable.parse(data)

    assert again.render() == data
    assert MountInfoTable.parse(again.render()) == again
    assert list(again) == list(table) == mounts


@given(st.lists(lines, min_size=1, max_size=4))
def test_a_small_table_is_refused_at_once(chosen: list[bytes]) -> None:
    """A table is parsed exactly if each of its lines can be; otherwise a bad one is named."""
    data = b"\n".join(chosen) + b"\n"
    single = data.split(b"\n")[:-1]
    faults = [number for number, line in enumerate(single, 1) if not is_line(line)]
    if all(line.endswith(b"\r") for line in single):
        faults.append(1)

    if faults:
        with pytest.raises(MountInfoError) as caught:
            MountInfoTable.parse(data)
        assert caught.value.line_number in faults
        assert f"line {caught.value.line_number}:" in str(caught.value)
    else:
        assert len(list(MountInfoTable.parse(data))) == len(single)


@given(st.lists(lines, min_size=1, max_size=3))
def test_a_large_table_names_the_line_when_it_is_decoded(chosen: list[bytes]) -> None:
    """A large table is refused with the line, or decodes, or names the line that does not."""
    data = padded(b"\n".join(chosen) + b"\n")
    faults = [number for number, line in enumerate(data.split(b"\n")[:-1], 1) if not is_line(line)]

    if faults:
        with pytest.raises(MountInfoError) as caught:
            list(MountInfoTable.parse(data))
        assert caught.value.line_number in faults
    else:
        assert len(list(MountInfoTable.parse(data))) == data.count(b"\n")


@given(mount_models(), st.data())
def test_a_path_is_served_as_in_the_kernel(model: MountModel, data: st.DataObject) -> None:
    """A slow model that keeps spots on mounts, as the kernel does, finds the same mount."""
    table = MountInfoTable.parse(data_of(data, model.listed()))
    assert table.is_whole

    for path in [*(mount.point for mount in model.mounts), data.draw(paths_in(model)), "/"]:
        served = model.covering(path)
        found = table.covering(ContainerPath(path))
        if served is model.root and model.hidden_root:
            assert found is None
        else:
            assert found is not None
            assert found.mount_id == served.mount_id


@given(mount_models(), st.data())
def test_what_is_visible_is_what_some_path_leads_to(model: MountModel, data: st.DataObject) -> None:
    """The visible mounts, and those below a path, are the ones that the model finds."""
    table = MountInfoTable.parse(data_of(data, model.listed()))
    path = ContainerPath(data.draw(paths_in(model)))
    seen = [mount for mount in model.listed() if model.covering(mount.point) is mount]
    inside = [
        mount
        for mount in seen
        if ContainerPath(mount.point) != path and ContainerPath(mount.point).is_relative_to(path)
    ]

    assert ids(table.visible()) == ids(seen)
    assert ids(table.below(path)) == ids(inside)


@given(mount_models(), st.data())
def test_lost_lines_never_give_a_wrong_answer(model: MountModel, data: st.DataObject) -> None:
    """If mounts were lost on which others lie, a path gets the right answer or none."""
    # A mount that nothing lies on leaves no trace, and a root with nothing but mounts at "/" on
    # it is taken for one of them: these lines stay.
    listed = model.listed()
    lost = data.draw(st.sets(st.sampled_from(listed)) if listed else st.just(set[ModelMount]()))
    left = [mount for mount in model.listed() if mount not in lost]
    traced = {mount for kept in left if kept.point != "/" for mount in ancestors(kept)}
    left = [mount for mount in model.listed() if mount in left or mount not in traced]
    table = MountInfoTable.parse(data_of(data, left), paths=HostPath)

    for path in [*(mount.point for mount in model.mounts), data.draw(paths_in(model)), "/"]:
        served = model.covering(path)
        try:
            found = table.covering(HostPath(path))
        except MountInfoError:
            assert not table.is_whole
            continue
        assert (found is None) == (served not in left)
        assert found is None or found.mount_id == served.mount_id


def ancestors(mount: ModelMount) -> list[ModelMount]:
    """Return the mounts on which a mount lies, directly or not."""
    found: list[ModelMount] = []
    while mount.parent is not None and mount.parent not in found:
        found.append(mount.parent)
        mount = mount.parent
    return found
