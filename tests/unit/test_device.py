"""What a device node may be."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from devroot._device import DeviceNode
from devroot._filesystem import FileType
from devroot._paths import ContainerPath, DevicePath
from devroot.errors import InvalidNodeError, PathKindError


def _node(**changes: Any) -> DeviceNode:  # noqa: ANN401 - wrong values are given on purpose
    fields: dict[str, Any] = {"path": "/dev/nvidia0", "major": 195, "minor": 0}
    return DeviceNode(**{**fields, **changes})


def test_a_node_has_the_defaults_of_most_device_nodes() -> None:
    """A node is a character device with mode 0666 that root owns, unless it is said."""
    node = _node()

    assert (node.type, node.mode, node.uid, node.gid, node.withheld) == ("c", 0o666, 0, 0, "")


@pytest.mark.parametrize("path", ["/dev/nvidia0", "nvidia0", DevicePath("/dev/nvidia0")])
def test_the_path_is_canonical(path: str | DevicePath) -> None:
    """However the path is spelled, the node lies at one place below /dev."""
    assert _node(path=path).path == DevicePath("/dev/nvidia0")


def test_a_node_in_one_line() -> None:
    """The text of a node holds all that mknod, chmod and chown would be told."""
    node = _node(path="sda", type="b", major=8, minor=1, mode=0o60, uid=7, gid=6)

    assert str(node) == "/dev/sda b 8:1 0060 7:6"
    assert node.summary() == "b 8:1 0060 7:6"


def test_the_number_is_the_pair() -> None:
    """The number of a node is its major and its minor number."""
    assert _node(major=240, minor=4323).number == (240, 4323)


@pytest.mark.parametrize(("letter", "kind"), [("c", FileType.CHARACTER), ("b", FileType.BLOCK)])
def test_the_file_type(letter: str, kind: FileType) -> None:
    """The letter stands for the file type."""
    assert _node(type=letter).file_type is kind


def test_a_node_as_json() -> None:
    """A node goes into JSON with its mode in octal, which is how people read it."""
    assert _node(withheld="by the driver", mode=0o660).to_dict() == {
        "path": "/dev/nvidia0",
        "type": "c",
        "major": 195,
        "minor": 0,
        "mode": "0660",
        "uid": 0,
        "gid": 0,
        "withheld": "by the driver",
    }


def test_nodes_are_values() -> None:
    """Equal nodes are one key, and copies and pickles are equal."""
    node = _node()

    assert {node, _node(path="nvidia0")} == {node}
    assert node != _node(minor=1)
    assert copy.copy(node) == pickle.loads(pickle.dumps(node)) == node


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("major", (0, 4095)),
        ("minor", (0, 2**20 - 1)),
        ("mode", (0, 0o777)),
        ("uid", (0, 2**32 - 2)),
        ("gid", (0, 2**32 - 2)),
    ],
)
def test_the_limits_are_included(field: str, values: tuple[int, int]) -> None:
    """The lowest and the highest number that the kernel takes are taken."""
    assert tuple(getattr(_node(**{field: value}), field) for value in values) == values


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("type", "u", "it is 'c' for a character or 'b' for a block device"),
        ("type", FileType.BLOCK, "it is 'c' for a character or 'b' for a block device"),
        ("type", ["c"], "it is 'c' for a character or 'b' for a block device"),
        ("major", -1, "it is a whole number from 0 to 4095"),
        ("major", 4096, "it is a whole number from 0 to 4095"),
        ("major", "195", "it is a whole number from 0 to 4095"),
        ("major", True, "it is a whole number from 0 to 4095"),
        ("minor", -9, "it is a whole number from 0 to 1048575"),
        ("minor", 2**20, "it is a whole number from 0 to 1048575"),
        ("minor", 1.0, "it is a whole number from 0 to 1048575"),
        ("mode", 0o1666, "it is a whole number from 0 to 0o777"),
        ("mode", 0o20666, "it is a whole number from 0 to 0o777"),
        ("mode", None, "it is a whole number from 0 to 0o777"),
        ("uid", -1, "it is a whole number from 0 to 4294967294"),
        ("uid", 2**32 - 1, "it is a whole number from 0 to 4294967294"),
        ("gid", 2**32 - 1, "it is a whole number from 0 to 4294967294"),
        ("withheld", None, "it is the reason as a text, empty if there is none"),
        ("withheld", True, "it is the reason as a text, empty if there is none"),
        ("path", "", "it is empty"),
        ("path", "/dev", "a device node has a name below /dev"),
        ("path", "/etc/passwd", "a device node has a name below /dev"),
        (
            "path",
            "../etc/passwd",
            "it holds '..'; resolve it first, for a link may stand before it",
        ),
        ("path", "nul\0", "it holds a NUL"),
        ("path", "nvidia\ud800", "no byte stands for its lone surrogate '\\ud800'"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object, reason: str) -> None:
    """What cannot be is refused with the field, its value and what would be right."""
    with pytest.raises(InvalidNodeError) as caught:
        _node(**{field: value})

    assert (caught.value.field, caught.value.value) == (field, value)
    assert caught.value.reason == reason


def test_a_path_of_another_kind_is_refused() -> None:
    """A container path is no device path, even if its text starts with /dev."""
    with pytest.raises(PathKindError):
        _node(path=ContainerPath("/dev/nvidia0"))
