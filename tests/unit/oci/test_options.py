"""The options --volume and --mount of Docker and podman."""

from __future__ import annotations

import pytest

from devroot import HostPath, InvalidMountError, InvalidPathError, oci

UNKNOWN = "(not from a known host path)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/dev:/host-dev/dev", "/dev:/host-dev/dev"),
        ("/dev:/host-dev/dev:ro", "/dev:/host-dev/dev:ro"),
        ("/dev:/host-dev/dev:rw", "/dev:/host-dev/dev"),
        ("/dev:/host-dev/dev:", "/dev:/host-dev/dev"),
        ("/opt//driver/:/driver-root/:Z,ro,rslave", "/opt/driver:/driver-root:ro"),
        ("/a:/b:z", "/a:/b"),
        ("/a:/b:rshared", "/a:/b"),
        ("/a:/b:rbind,nodev,noexec,nosuid,nocopy,cached,U", "/a:/b"),
        ("/a:/b:idmap", "/a:/b"),
        ("/a:/b:idmap=uids=0-1-10#,rro", "/a:/b:ro"),
        ("/a:/b:ro-non-recursive", "/a:/b:ro"),
        ("/a:/b:O", f"{UNKNOWN}:/b"),
        ("/a:/b:O,upperdir=/u,workdir=/w", f"{UNKNOWN}:/b"),
        ("cache:/var/cache", f"{UNKNOWN}:/var/cache"),
        ("my_cache.1:/var/cache:ro", f"{UNKNOWN}:/var/cache:ro"),
        ("/var/cache", f"{UNKNOWN}:/var/cache"),
    ],
)
def test_volumes(text: str, expected: str) -> None:
    """A path is a host path; a volume with a name or without one, and an overlay, have none."""
    assert str(oci.volume(text)) == expected


def test_relative_sources() -> None:
    """A source that starts with a dot is taken from where the command was run."""
    assert str(oci.volume("./data:/data", cwd="/home/me")) == "/home/me/data:/data"
    assert str(oci.volume(".:/data", cwd=HostPath("/home/me"))) == "/home/me:/data"
    option = "type=bind,src=data,dst=/data"
    assert str(oci.mount_option(option, cwd="/home/me")) == "/home/me/data:/data"
    assert str(oci.volume("/abs:/data", cwd="/home/me")) == "/abs:/data"
    with pytest.raises(InvalidMountError, match="is relative; give as cwd= where"):
        oci.volume("./a:/b")
    with pytest.raises(InvalidMountError, match="is relative; give as cwd= where"):
        oci.mount_option(option)
    with pytest.raises(InvalidPathError):
        oci.volume("./a:/b", cwd="home")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("a", "it is relative"),
        (":/b", "write SOURCE:TARGET"),
        ("/a:/b:ro:x", "write SOURCE:TARGET"),
        ("/a:b", "it is relative"),
        ("/a:", "it is empty"),
        ("/a:/", "at the container's root"),
        ("/a:ro", "it is relative"),
        ("/a/../b:/c", "'..'"),
        ("/a:/b/../c", "'..'"),
        ("~/a:/b", "'~/a' is no path"),
        ("a/b:/c", "'a/b' is no path"),
        ("/a:/b:readonly", "there is no option 'readonly'"),
        ("/a:/b:ro,,z", "there is no option ''"),
        ("/a:/b:ro=true", "there is no option 'ro='"),
        ("/a:/b:ro,rw", "ro and rw exclude each other"),
        ("/a:/b:z,Z", "z and Z exclude each other"),
        ("/a:/b:shared,rslave", "shared and rslave exclude each other"),
        ("/a:/b:ro,ro", "ro and ro exclude each other; give one of them, once"),
    ],
)
def test_volumes_that_are_refused(text: str, reason: str) -> None:
    """What Docker and podman refuse is an error with the text and what is wrong in it."""
    with pytest.raises(InvalidMountError) as caught:
        oci.volume(text)
    assert caught.value.text == text
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type=bind,source=/dev,target=/p/dev", "/dev:/p/dev"),
        ("type=bind,src=/dev,dst=/p/dev,readonly", "/dev:/p/dev:ro"),
        ("readonly,destination=/p/dev,type=bind,Source=/dev", "/dev:/p/dev:ro"),
        ("type=bind,src=/a,dst=/b,ro", "/a:/b:ro"),
        ("type=bind,src=/a,dst=/b,ro=true", "/a:/b:ro"),
        ("type=bind,src=/a,dst=/b,readonly=1", "/a:/b:ro"),
        ("type=bind,src=/a,dst=/b,readonly=False", "/a:/b"),
        ("type=bind,src=/a,dst=/b,rw", "/a:/b"),
        ("type=bind,src=/a,dst=/b,rw=false", "/a:/b:ro"),
        ("type=bind,src=/a,dst=/b,rro", "/a:/b:ro"),
        ("type=bind,src=/a,dst=/b,bind-propagation=rslave,bind-nonrecursive", "/a:/b"),
        ("type=bind,src=/a,dst=/b,relabel=shared,U=true,z", "/a:/b"),
        ('type=bind,"src=/a,b",dst=/c', "/a,b:/c"),
        ("type=bind,src=/a=b,dst=/c", "/a=b:/c"),
        ("type=volume,src=cache,dst=/c", f"{UNKNOWN}:/c"),
        ("src=cache,dst=/c,volume-opt=type=none,volume-opt=o=bind", f"{UNKNOWN}:/c"),
        ("dst=/c,ro", f"{UNKNOWN}:/c:ro"),
        ("type=tmpfs,dst=/c,tmpfs-size=1m,tmpfs-mode=1777", f"{UNKNOWN}:/c"),
        ("type=image,src=i,dst=/c", f"{UNKNOWN}:/c"),
    ],
)
def test_mount_options(text: str, expected: str) -> None:
    """Fields come in any order and by any of their names, and only a bind has a host path."""
    assert str(oci.mount_option(text)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("type=bind,src=/a", "it is empty"),
        ("type=bind,dst=/a", "a bind needs source=HOST"),
        ("type=bind,src=,dst=/a", "a bind needs source=HOST"),
        ("type=bind,src=/a,dst=b", "it is relative"),
        ("type=bind,src=/a,dst=/", "at the container's root"),
        ("type=bind,src=/a/..,dst=/b", "'..'"),
        ("type=glob,src=/a*,dst=/b", "type=glob is not one mount; the types are artifact, bind,"),
        ("type=bind,src=/a,dst=/b,writable", "there is no key 'writable'"),
        ("type=bind,src=/a,source=/b,dst=/c", "'source' is given twice"),
        ("type=bind,src=/a,dst=/b,ro=yes", "readonly=yes is neither true nor false"),
        ("type=bind,src=/a,dst=/b,ro,rw", "readonly and rw exclude each other"),
        ('type=bind,"src=/a', "it is no line of CSV"),
        ("type=bind\nsrc=/a", "it is no line of CSV"),
    ],
)
def test_mount_options_that_are_refused(text: str, reason: str) -> None:
    """A field that is unknown, missing, repeated or wrong is named."""
    with pytest.raises(InvalidMountError) as caught:
        oci.mount_option(text)
    assert caught.value.text == text
    assert reason in caught.value.reason
