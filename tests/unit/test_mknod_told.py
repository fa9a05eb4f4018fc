"""What the log says of many nodes at once: each at its own place, and no place asked for twice."""

from __future__ import annotations

import logging

import pytest

from devroot import DevicePath
from devroot._mknod import mknod
from devroot._mknod._tell import _Teller
from tests._nodes import channels, dev_root_of, node
from tests._views import mounts_of

ALL_OF_DEV = mounts_of("/dev:/host-dev/dev")


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    """Listen to everything."""
    caplog.set_level(logging.DEBUG, logger="devroot")


def _places(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return where each node is on the host, as the log has it."""
    return [text.split(", on the host ")[1] for text in caplog.messages if text[:5] == "made "]


def test_nodes_that_are_right_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """However many there are, one line tells of them."""
    mknod(
        dev_root_of("char nvidia0 195:0", "char nvidia1 195:1"), [node(), node("nvidia1", 195, 1)]
    )

    assert caplog.messages[-1] == "right already in /host-dev/dev: 2"


@pytest.mark.parametrize("names", [None, ["nvidia-caps-imex-channels"]])
def test_a_directory_is_asked_for_once(
    names: list[str] | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All nodes in it are told by what was answered then."""
    asked: list[DevicePath | None] = []
    reach = _Teller._reach

    def note(teller: _Teller, path: DevicePath | None) -> str:
        asked.append(path)
        return reach(teller, path)

    monkeypatch.setattr(_Teller, "_reach", note)
    nodes = channels(3) if names else [*channels(3), node(), node("nvidia1", 195, 1)]
    mknod(dev_root_of(names=names, mounts=ALL_OF_DEV), nodes)

    directory = DevicePath("nvidia-caps-imex-channels")
    assert asked == ([directory] if names else [directory, None])
    assert _places(caplog) == [str(each.path) for each in nodes]


def test_each_of_some_single_devices_has_its_own_place(caplog: pytest.LogCaptureFixture) -> None:
    """The answer for one of them is not that for another."""
    nodes = [node(), node("nvidia1", 195, 1)]
    mknod(dev_root_of(names=["nvidia0", "nvidia1"], mounts=ALL_OF_DEV), nodes)

    assert _places(caplog) == ["/dev/nvidia0", "/dev/nvidia1"]


def test_a_place_that_is_not_accepted_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """What was declared is no proof, so the verdict stands for it."""
    mknod(dev_root_of(mounts=mounts_of("/srv/dev:/host-dev/dev")), [node()])

    assert _places(caplog) == ["UNKNOWN"]
