"""Paths: normal form, kinds that never mix, and what a pathlib user reaches for."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot import ContainerPath, DevicePath, HostPath, InvalidPathError, PathKindError
from devroot._paths import as_container_path, as_device_path, as_host_path

ROOTED = [HostPath, ContainerPath]
KINDS = [HostPath, ContainerPath, DevicePath]

names = (
    st.binary(min_size=1)
    .map(lambda data: data.translate(None, b"/\0").decode("utf-8", "surrogateescape"))
    .filter(lambda name: name not in {"", ".", ".."})
)
DOTS = "it holds '..'; resolve it first, for a link may stand before it"


def says(error: InvalidPathError) -> tuple[str, str, str]:
    """Return all that the error says: the text, the kind that was wanted, what is wrong."""
    return error.text, error.kind, error.reason


absolute = st.lists(names, max_size=6).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize("kind", ROOTED)
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/.", "/"),
        ("/dev/", "/dev"),
        ("//dev//nvidia0/.", "/dev/nvidia0"),
        ("/a/./b", "/a/b"),
        ("/...", "/..."),
        ("/a b\n", "/a b\n"),
    ],
)
def test_normal_form(kind: type[HostPath | ContainerPath], text: str, normal: str) -> None:
    """Doubled slashes, dots and a trailing slash go; nothing else does."""
    assert str(kind(text)) == normal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("/dev/\0", "it holds a NUL"),
        ("/dev/../etc", DOTS),
        ("/..", DOTS),
    ],
)
def test_impossible_texts_are_refused_by_name(
    kind: type[HostPath | ContainerPath | DevicePath], text: str, reason: str
) -> None:
    """The error names the text, the kind that was wanted and what is wrong."""
    with pytest.raises(InvalidPathError) as caught:
        kind(text)
    assert isinstance(caught.value, ValueError)
    assert says(caught.value) == (text, kind.__name__, reason)
    assert caught.value.kind in str(caught.value)


@pytest.mark.parametrize("kind", ROOTED)
def test_relative_text_is_refused(kind: type[HostPath | ContainerPath]) -> None:
    """There is no current directory on the other side to which it could be relative."""
    with pytest.raises(InvalidPathError) as caught:
        kind("dev/null")
    reason = "it is relative; give the path from the root, such as /dev"
    assert says(caught.value) == ("dev/null", kind.__name__, reason)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [b"/dev/null", None, 7, PurePosixPath("/dev/null")])
def test_other_types_are_refused(
    kind: type[HostPath | ContainerPath | DevicePath], value: object
) -> None:
    """Only text makes a path, so that no path changes its kind by accident."""
    with pytest.raises(PathKindError) as caught:
        kind(value)  # type: ignore[arg-type] # what is tested
    assert isinstance(caught.value, TypeError)
    assert (caught.value.value, caught.value.wanted) == (value, kind.__name__)


def test_a_path_does_not_make_a_path_of_another_kind() -> None:
    """A host path cannot be turned into a container path by its constructor, or back."""
    with pytest.raises(PathKindError):
        ContainerPath(HostPath("/dev"))  # type: ignore[arg-type] # what is tested
    with pytest.raises(PathKindError):
        HostPath(ContainerPath("/dev"))  # type: ignore[arg-type] # what is tested


def test_equal_only_to_their_own_kind() -> None:
    """The same text on the two sides is two different paths."""
    assert HostPath("/dev") == HostPath("/dev/")
    assert HostPath("/dev") != ContainerPath("/dev")
    assert DevicePath("/dev/null") != ContainerPath("/dev/null")
    assert HostPath("/dev") != "/dev"
    assert len({HostPath("/dev"), ContainerPath("/dev"), HostPath("//dev")}) == 2


def test_ordered_by_component() -> None:
    """As in pathlib, what lies below a directory comes before its longer-named sibling."""
    in_order = [HostPath(text) for text in ("/", "/a", "/a/b", "/a/b c", "/a/c", "/a-b", "/b")]
    assert sorted(set(in_order)) == in_order
    for place, path in enumerate(in_order):
        for other_place, other in enumerate(in_order):
            assert (path < other) is (place < other_place)
            assert (path <= other) is (place <= other_place)
            assert (path > other) is (place > other_place)
            assert (path >= other) is (place >= other_place)


def test_different_paths_rarely_share_a_hash() -> None:
    """A set of many paths stays as quick as a set of their texts."""
    texts = [f"/dev/nvidia{number}" for number in range(1000)]
    assert len({hash(ContainerPath(text)) for text in texts}) > 900


@pytest.mark.parametrize("comparison", ["__lt__", "__le__", "__gt__", "__ge__"])
def test_not_ordered_across_kinds(comparison: str) -> None:
    """There is no order between the two sides."""
    assert getattr(HostPath("/a"), comparison)(ContainerPath("/b")) is NotImplemented
    with pytest.raises(TypeError):
        assert HostPath("/a") < ContainerPath("/b")  # type: ignore[operator] # what is tested


@pytest.mark.parametrize("kind", KINDS)
def test_immutable(kind: type[HostPath | ContainerPath | DevicePath]) -> None:
    """Neither the text nor any new attribute can be set or deleted."""
    path = kind("/dev/null")
    with pytest.raises(AttributeError, match="immutable"):
        path._text = "/etc"
    with pytest.raises(AttributeError, match="immutable"):
        path.note = ""  # type: ignore[union-attr] # what is tested
    with pytest.raises(AttributeError, match="immutable"):
        del path._text
    assert str(path) == "/dev/null"


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_copies_and_shows_itself(kind: type[HostPath | ContainerPath | DevicePath]) -> None:
    """A path goes between processes, and its repr is the call that makes it."""
    path = kind("/dev/dri/card0")
    assert pickle.loads(pickle.dumps(path)) == path
    assert copy.deepcopy(path) == path
    assert repr(path) == f"{kind.__name__}('/dev/dri/card0')"


def test_only_a_container_path_can_be_opened() -> None:
    """What the host sees is not here: opening a host path is a type error."""
    assert os.fspath(ContainerPath("/dev/null")) == "/dev/null"
    with pytest.raises(TypeError):
        open(HostPath("/dev/null"))  # type: ignore[call-overload] # noqa: SIM115
    with pytest.raises(TypeError):
        os.fspath(DevicePath("null"))  # type: ignore[call-overload]


def test_bytes_that_are_not_utf_8_survive() -> None:
    """A name is bytes to the kernel, and comes back as it was."""
    path = HostPath.from_bytes(b"/run/\xff")
    assert bytes(path) == b"/run/\xff"
    assert str(path) == "/run/\udcff"
    assert bytes(path / "x") == b"/run/\xff/x"


@given(absolute)
def test_bytes_round_trip(text: str) -> None:
    """Every path that a text can name comes back from its bytes."""
    path = ContainerPath(text.encode("utf-8", "replace").decode())
    assert ContainerPath.from_bytes(bytes(path)) == path


@given(absolute)
def test_agrees_with_pathlib(text: str) -> None:
    """Parts, name, parent and parents are those of PurePosixPath."""
    path, pure = HostPath(text), PurePosixPath(text)
    assert path.parts == pure.parts
    assert path.name == pure.name
    assert str(path.parent) == str(pure.parent)
    assert [str(parent) for parent in path.parents] == [str(parent) for parent in pure.parents]


@given(absolute, st.lists(names, max_size=4))
def test_join_and_relative_to_are_inverse(text: str, below: list[str]) -> None:
    """What was added to a path is what leads from it to the sum."""
    base = ContainerPath(text)
    path = base / "/".join(below)
    assert path.is_relative_to(base)
    assert base / path.relative_to(base) == path


@given(absolute, absolute)
def test_is_relative_to_compares_components(first: str, second: str) -> None:
    """A path lies below another if that one is among its ancestors, and else does not."""
    path, other = HostPath(first), HostPath(second)
    assert path.is_relative_to(other) == (other in (path, *path.parents))


def test_a_longer_name_is_no_child() -> None:
    """/driver-backup does not lie below /driver, though its text starts with it."""
    assert not HostPath("/driver-backup").is_relative_to(HostPath("/driver"))
    assert not HostPath("/opt/NG").is_relative_to(HostPath("/opt/NGX"))
    assert HostPath("/opt/NGX/lib").is_relative_to(HostPath("/opt/NGX"))
    with pytest.raises(InvalidPathError) as caught:
        HostPath("/driver-backup").relative_to(HostPath("/driver"))
    reason = "it does not lie below /driver"
    assert says(caught.value) == ("/driver-backup", "HostPath", reason)


def test_relation_across_kinds() -> None:
    """Nothing lies below a path of the other side; asking for the way there is a type error."""
    assert not HostPath("/a/b").is_relative_to(ContainerPath("/a"))  # type: ignore[arg-type]
    other = ContainerPath("/a")
    with pytest.raises(PathKindError) as caught:
        HostPath("/a/b").relative_to(other)  # type: ignore[arg-type] # what is tested
    assert (caught.value.value, caught.value.wanted) == (other, "HostPath")


def test_relative_to_itself() -> None:
    """The way to itself is a dot, which adds nothing."""
    path = ContainerPath("/dev")
    assert path.relative_to(path) == "."
    assert path / "." is path
    assert ContainerPath("/dev/null").relative_to(ContainerPath("/")) == "dev/null"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/etc", "only a relative path can be added to /dev/a"),
        ("../etc", DOTS),
        ("a\0", "it holds a NUL"),
        ("a\ud800b", r"no byte stands for its lone surrogate '\ud800'"),
    ],
)
def test_only_a_relative_path_can_be_added(
    kind: type[HostPath | ContainerPath | DevicePath], text: str, reason: str
) -> None:
    """An absolute text would replace the path, as in pathlib; here it is an error."""
    with pytest.raises(InvalidPathError) as caught:
        _ = kind("/dev/a") / text
    assert says(caught.value) == (text, kind.__name__, reason)


def test_only_text_can_be_added() -> None:
    """A path of any kind is no text."""
    below = HostPath("/x")
    with pytest.raises(PathKindError) as caught:
        _ = ContainerPath("/dev") / below  # type: ignore[operator] # what is tested
    assert (caught.value.value, caught.value.wanted) == (below, "str")


@pytest.mark.parametrize("text", ["nvidia0", "/dev/nvidia0", "./nvidia0", "//dev//nvidia0/"])
def test_device_path_has_one_form(text: str) -> None:
    """The name below /dev and the whole path are the same device path."""
    path = DevicePath(text)
    assert str(path) == "/dev/nvidia0"
    assert path.below_dev == "nvidia0"
    assert path.name == "nvidia0"
    assert path == DevicePath("nvidia0")


@pytest.mark.parametrize("text", ["/dev", "/", "/etc/passwd", "/device/x", "."])
def test_device_path_lies_below_dev(text: str) -> None:
    """/dev itself, and anything elsewhere, is no device path."""
    with pytest.raises(InvalidPathError) as caught:
        DevicePath(text)
    reason = "a device node has a name below /dev"
    assert says(caught.value) == (text, "DevicePath", reason)


def test_device_path_relations() -> None:
    """Its parents end below /dev, and it can be joined and compared like the others."""
    path = DevicePath("dri/by-path/card0")
    assert path.parents == (DevicePath("dri/by-path"), DevicePath("dri"))
    assert DevicePath("null").parents == ()
    assert path == DevicePath("dri") / "by-path/card0"
    assert path.is_relative_to(DevicePath("dri"))
    assert path.relative_to(DevicePath("dri")) == "by-path/card0"


def test_converters_take_text_and_their_own_kind_only() -> None:
    """A parameter that says whose path it takes accepts a string, and no path of another kind."""
    assert as_host_path("/a") == as_host_path(HostPath("/a")) == HostPath("/a")
    assert as_container_path("/a") == as_container_path(ContainerPath("/a"))
    assert as_device_path("a") == as_device_path(DevicePath("a"))
    with pytest.raises(PathKindError):
        as_host_path(ContainerPath("/a"))  # type: ignore[arg-type] # what is tested
    with pytest.raises(PathKindError):
        as_container_path(HostPath("/a"))  # type: ignore[arg-type] # what is tested
    with pytest.raises(PathKindError):
        as_device_path(HostPath("/dev/a"))  # type: ignore[arg-type] # what is tested


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code_point", [0xD800, 0xDC2F, 0xDC7F, 0xDD00, 0xDFFF])
def test_surrogates_that_are_no_byte(
    kind: type[HostPath | ContainerPath | DevicePath], code_point: int
) -> None:
    """A lone surrogate that stands for no byte is refused at once, and not by a later call."""
    with pytest.raises(InvalidPathError, match=rf"no byte .*\\u{code_point:x}"):
        kind(f"/dev/a{chr(code_point)}")
    with pytest.raises(InvalidPathError, match="no byte"):
        _ = kind("/dev/a") / f"b{chr(code_point)}"


@pytest.mark.parametrize("kind", KINDS)
def test_one_path_for_the_same_bytes(kind: type[HostPath | ContainerPath | DevicePath]) -> None:
    """Escaped bytes that together are a character are the same path as that character."""
    escaped = "/dev/\udcc3\udca9\udcff"
    assert kind(escaped) == kind("/dev/\xe9\udcff") == kind.from_bytes(b"/dev/\xc3\xa9\xff")
    assert kind("/dev/a") / "\udcc3\udca9" == kind("/dev/a/\xe9")


@given(absolute)
def test_a_path_comes_back_from_its_bytes(text: str) -> None:
    """Every path that is accepted has bytes, and is the path of these bytes."""
    path = HostPath(text)
    assert HostPath.from_bytes(bytes(path)) == path
