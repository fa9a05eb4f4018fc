"""Mounts of an OCI config.json."""

from __future__ import annotations

from typing import Any

import pytest

from devroot import ContainerPath, HostPath, InvalidManifestError, InvalidPathError, oci

# As a CRI runtime writes it for a plugin with all of the host's /dev mounted aside.
CONFIG = {
    "ociVersion": "1.1.0",
    "root": {"path": "rootfs"},
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid"]},
        {
            "destination": "/dev",
            "type": "tmpfs",
            "source": "tmpfs",
            "options": ["nosuid", "strictatime", "mode=755", "size=65536k"],
        },
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
        {
            "destination": "/driver-root",
            "type": "bind",
            "source": "/opt/driver",
            "options": ["rbind", "rslave", "ro"],
        },
        {
            "destination": "/host-dev/dev",
            "type": "bind",
            "source": "/dev",
            "options": ["rbind", "rprivate", "rw"],
        },
    ],
}


def only(mount: dict[str, Any], **options: Any) -> str:  # noqa: ANN401 - those of mount_table
    """Return the text of the mount that is listed alone."""
    (found,) = oci.mount_table({"mounts": [mount]}, **options)
    return str(found)


def test_a_container() -> None:
    """Binds have a host side; what the runtime makes has none, and still covers its place."""
    table = oci.mount_table(CONFIG)
    assert [str(mount) for mount in table] == [
        "(not from a known host path):/proc",
        "(not from a known host path):/dev",
        "(not from a known host path):/sys:ro",
        "/opt/driver:/driver-root:ro",
        "/dev:/host-dev/dev",
    ]
    assert table.to_host(ContainerPath("/host-dev/dev/null")) == HostPath("/dev/null")
    covering = table.covering(ContainerPath("/dev/null"))
    assert covering is not None
    assert covering.host is None


def test_the_order_is_kept() -> None:
    """Mounts are taken as listed: a later one hides an earlier one below it."""
    inner = {"destination": "/a/b", "type": "bind", "source": "/inner"}
    outer = {"destination": "/a", "type": "bind", "source": "/outer"}
    path = ContainerPath("/a/b")
    assert oci.mount_table({"mounts": [outer, inner]}).to_host(path) == HostPath("/inner")
    assert oci.mount_table({"mounts": [inner, outer]}).to_host(path) == HostPath("/outer/b")


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"type": "none", "options": ["rbind"]}, "/s:/d"),
        ({"type": "none", "options": ["bind"]}, "/s:/d"),
        ({"options": ["bind"]}, "/s:/d"),
        ({"type": "bind"}, "/s:/d"),
        ({"type": "bind", "options": None}, "/s:/d"),
        ({"type": "overlay", "options": ["lowerdir=/s"]}, "(not from a known host path):/d"),
        ({}, "(not from a known host path):/d"),
        ({"type": "bind", "options": ["ro"]}, "/s:/d:ro"),
        ({"type": "bind", "options": ["ro", "rw"]}, "/s:/d"),
        ({"type": "bind", "options": ["rw", "ro"]}, "/s:/d:ro"),
        ({"type": "bind", "options": ["rro"]}, "/s:/d:ro"),
        ({"type": "bind", "options": ["rro", "rrw"]}, "/s:/d"),
        ({"type": "bind", "options": ["", "size=1"]}, "/s:/d"),
        ({"type": "bind", "destination": "d/e"}, "/s:/d/e"),
    ],
)
def test_what_is_a_bind(mount: dict[str, Any], expected: str) -> None:
    """A bind is one by its options or its type; of contrary options the last one counts."""
    assert only({"destination": "/d", "source": "/s", **mount}) == expected


def test_relative_sources() -> None:
    """A relative source starts at the bundle, which has to be known."""
    mount = {"destination": "/d", "type": "bind", "source": "./data"}
    assert only(mount, bundle="/run/bundle") == "/run/bundle/data:/d"
    assert only({**mount, "source": "."}, bundle=HostPath("/b")) == "/b:/d"
    with pytest.raises(InvalidManifestError, match=r"mounts\[0\]\.source is './data': .* bundle="):
        only(mount)
    with pytest.raises(InvalidPathError):
        only(mount, bundle="run")


def test_no_mounts() -> None:
    """A container without mounts has an empty table."""
    assert len(oci.mount_table({})) == 0


@pytest.mark.parametrize(
    ("mount", "location", "reason"),
    [
        ({"destination": ""}, "mounts[0].destination", "it is needed"),
        ({"destination": "/d/../e"}, "mounts[0].destination", "'..'"),
        ({"source": None}, "mounts[0].source", "it is needed"),
        ({"source": "/a/../b"}, "mounts[0].source", "'..'"),
        ({"source": "../b"}, "mounts[0].source", "'..'"),
        ({"options": "ro"}, "mounts[0].options", "give it as a list"),
        ({"options": [1]}, "mounts[0].options[0]", "give it as a string"),
        ({"type": 1}, "mounts[0].type", "give it as a string"),
    ],
)
def test_what_is_refused(mount: dict[str, Any], location: str, reason: str) -> None:
    """A field that is not as the specification wants it is named."""
    right = {"destination": "/d", "type": "bind", "source": "/s"}
    with pytest.raises(InvalidManifestError) as caught:
        oci.mount_table({"mounts": [{**right, **mount}]}, bundle="/b")
    assert caught.value.location == location
    assert reason in caught.value.reason
