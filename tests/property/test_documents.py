"""Pods, OCI configurations and options of engines in which anything stands somewhere."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot import Mount, MountTable
from devroot.errors import InvalidManifestError, InvalidMountError
from devroot.kubernetes import check
from devroot.kubernetes import mount_table as mount_table_of_pod
from devroot.oci import mount_option, mount_table, volume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

pytestmark = pytest.mark.property

ODD: Final = ("", "/", "/a/../b", "..", "/\0", "/\udcff", "\ud800", "None", "bind", "a:b", ",")
SCALARS: Final = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(ODD)
    | st.text(max_size=4)
)
ANYTHING: Final = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "path", "spec", "", "\ud800"]), inner)
    ),
    max_leaves=8,
)
POD: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "plugin"},
    "spec": {
        "template": {
            "spec": {
                "hostPID": True,
                "containers": [
                    {
                        "name": "plugin",
                        "securityContext": {
                            "privileged": False,
                            "capabilities": {"add": ["MKNOD"]},
                        },
                        "volumeMounts": [
                            {"name": "dev", "mountPath": "/host-dev/dev", "subPath": "a"},
                            {
                                "name": "driver",
                                "mountPath": "/driver-root",
                                "readOnly": True,
                                "mountPropagation": "HostToContainer",
                            },
                            {"name": "scratch", "mountPath": "/tmp/x"},
                        ],
                    }
                ],
                "volumes": [
                    {"name": "dev", "hostPath": {"path": "/dev", "type": "Directory"}},
                    {"name": "driver", "hostPath": {"path": "/opt/driver"}},
                    {"name": "scratch", "emptyDir": {}},
                ],
            }
        }
    },
}
CONFIGURATION: Final[dict[str, Any]] = {
    "ociVersion": "1.2.0",
    "root": {"path": "rootfs", "readonly": True},
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {
            "destination": "/host-dev/dev",
            "type": "bind",
            "source": "/dev",
            "options": ["rbind", "ro"],
        },
    ],
}
WORDS: Final = st.sampled_from(
    [
        "type=",
        "bind",
        "tmpfs",
        "volume",
        "source=",
        "src=",
        "target=",
        "dst=",
        "readonly",
        "ro",
        "rw",
        "true",
        "O",
        "z",
        ":",
        ",",
        "=",
        "/a",
        "/",
        "..",
        "\0",
        "\udcff",
        '"',
    ]
)
OPTIONS: Final = st.lists(WORDS | st.text(max_size=3), max_size=10).map("".join)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a document: what holds it, and its key there."""
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[object]", value))
    for key, item in items:
        yield value, key
        yield from places(item)


@st.composite
def spoilt(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with anything at one to three of its places."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(changed))))
        holder[key] = draw(ANYTHING)
    return changed


def test_the_documents_are_right_as_they_are() -> None:
    """What is spoilt below is read before."""
    assert len(mount_table_of_pod(POD)) > 3
    assert check(POD) == check(copy.deepcopy(POD))
    assert [str(mount.container) for mount in mount_table(CONFIGURATION)] == [
        "/proc",
        "/host-dev/dev",
    ]


def outcome(read: Callable[[Any], object], given: object) -> object:
    """Return what *read* says of what is given: an answer, or its error."""
    try:
        return read(given)
    except (InvalidManifestError, InvalidMountError) as error:
        return error


@given(spoilt(POD))
def test_any_pod_is_read_or_refused(pod: dict[str, Any]) -> None:
    """A pod has a mount table, or an error that names the field; it is never changed."""
    before = repr(pod)
    assert isinstance(outcome(mount_table_of_pod, pod), (MountTable, InvalidManifestError))
    assert isinstance(outcome(check, pod), (tuple, InvalidManifestError))
    assert repr(pod) == before


@given(spoilt(CONFIGURATION))
def test_any_configuration_is_read_or_refused(configuration: dict[str, Any]) -> None:
    """So has an OCI configuration."""
    before = repr(configuration)
    assert isinstance(outcome(mount_table, configuration), (MountTable, InvalidManifestError))
    assert repr(configuration) == before


@pytest.mark.parametrize("parse", [volume, mount_option])
@given(option=OPTIONS)
def test_any_option_is_read_or_refused(parse: Callable[[str], object], option: str) -> None:
    """The value of an option is a mount, or an error that has the text."""
    answer = outcome(parse, option)
    assert isinstance(answer, (Mount, InvalidMountError))
    assert not isinstance(answer, InvalidMountError) or answer.text == option
