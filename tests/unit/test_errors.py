"""Errors: each pickles and copies, is the built-in a caller expects, and is told apart."""

from __future__ import annotations

import copy
import errno
import inspect
import pickle
import re
from typing import TYPE_CHECKING

import pytest

from devroot import (
    ContainerPath,
    DeviceNode,
    DevicePath,
    Evidence,
    EvidenceCode,
    HostPath,
    Mount,
    Obstacle,
    PassedOver,
    Reach,
    Refusal,
    Report,
    Verdict,
    errors,
)
from devroot._mknod._steps import Steps
from devroot._presence import NodePresence, Presence
from devroot.cdi import UnmappedPath

if TYPE_CHECKING:
    from collections.abc import Callable

NODE = DeviceNode(path="nvidia0", major=195, minor=0)
REACH = Reach(
    container_path=ContainerPath("/dev"),
    verdict=Verdict.PRIVATE,
    evidence=(Evidence(EvidenceCode.OWN_ROOT, "it is the root of this container"),),
)
MOUNT = Mount(host="/dev", container="/host-dev/dev")

# For each error: one of them, the built-in that it also is, and words that its text must have.
EXAMPLES: list[tuple[errors.DevRootError, type[Exception], list[str]]] = [
    (
        errors.InvalidPathError("dev", kind="HostPath", reason="it is relative"),
        ValueError,
        ["'dev'", "HostPath", "it is relative"],
    ),
    (errors.PathKindError(HostPath("/x"), wanted="ContainerPath"), TypeError, ["HostPath('/x')"]),
    (errors.InvalidMountError("a:b", reason="write it so"), ValueError, ["'a:b'", "write it so"]),
    (
        errors.InvalidManifestError("spec.volumes[0].name", "x", reason="write it so"),
        ValueError,
        ["spec.volumes[0].name is 'x': write it so"],
    ),
    (errors.InvalidManifestError("", {}, reason="it is empty"), ValueError, ["object: it is"]),
    (
        errors.MountInfoError("it was cut", line_number=3, line="36 35"),
        ValueError,
        ["line 3", "it was cut", "36 35"],
    ),
    (errors.MountInfoError("it is empty"), ValueError, ["mountinfo: it is empty"]),
    (errors.MountTablesDisagreeError("0:5 is two"), ValueError, ["0:5 is two", "read both anew"]),
    (
        errors.NotModelledError("quotas", remedy="fill it up", where="/run"),
        NotImplementedError,
        ["/run: devroot.testing does not model quotas; fill it up"],
    ),
    (errors.NotModelledError("quotas", remedy="fill it up"), NotImplementedError, ["devroot.t"]),
    (
        errors.NotMountedError(HostPath("/dev"), nearest=(MOUNT,), reason="it is hidden"),
        LookupError,
        ["/dev", str(MOUNT), "it is hidden"],
    ),
    (errors.NotMountedError(ContainerPath("/dev")), LookupError, ["ContainerPath('/dev')"]),
    (
        errors.NotOnHostError(ContainerPath("/dev"), reach=REACH, remedies=(MOUNT,)),
        LookupError,
        ["/dev", "PRIVATE", "root of this container", str(MOUNT)],
    ),
    (errors.NotOnHostError(ContainerPath("/dev"), reach=REACH), LookupError, ["PRIVATE"]),
    (
        errors.OutsideSubsetError(DevicePath("nvidia0"), names=(DevicePath("nvidia-caps"),)),
        LookupError,
        ["/dev/nvidia0", "/dev/nvidia-caps"],
    ),
    (
        errors.NoDevRootError(
            ContainerPath("/driver-root"),
            refusals=(Refusal(fallback="Mine()", reason="not today", remedies=(MOUNT,)),),
        ),
        LookupError,
        ["/driver-root", "Mine(): not today", str(MOUNT)],
    ),
    (
        errors.MajorNotFoundError("nvidia-caps", section="character", known=("nvidia",)),
        LookupError,
        ["'nvidia-caps'", "character", "nvidia"],
    ),
    (errors.MajorNotFoundError("x", section="block"), LookupError, ["block", "'x'"]),
    (
        errors.DeviceNotFoundError("c 1:3", unknown=("a tmpfs is over /sys/dev",)),
        LookupError,
        ["c 1:3", "a tmpfs is over /sys/dev"],
    ),
    (errors.DeviceNotFoundError("/dev/x"), LookupError, ["has no device node /dev/x"]),
    (
        errors.UdevUnavailableError(reason="no such library"),
        ImportError,
        ["no such library", "libudev1", "systemd-libs", "eudev-libs", "of_sysfs"],
    ),
    (errors.InvalidNodeError("major", -1, reason="from 0"), ValueError, ["major=-1", "from 0"]),
    (
        errors.ProcFileError(ContainerPath("/proc/devices"), reason="line 3"),
        ValueError,
        ["/proc/devices", "line 3"],
    ),
    (
        errors.ProcMaskedError(ContainerPath("/proc/driver"), reason="a tmpfs is there"),
        LookupError,
        ["/proc/driver", "a tmpfs is there", "proc="],
    ),
    (
        errors.DriverRootError(errno.ENOENT, "is it mounted?", "/driver-root"),
        OSError,
        ["/driver-root", "is it mounted?", "ENOENT"],
    ),
    (
        errors.ProcUnavailableError(errno.EACCES, "no procfs", "/proc/self/mountinfo"),
        OSError,
        ["/proc/self/mountinfo", "no procfs", "EACCES"],
    ),
    (
        errors.AmbiguousMajorError("infiniband_verbs", section="character", majors=(231, 240)),
        LookupError,
        ["'infiniband_verbs'", "231, 240"],
    ),
    (
        errors.CapabilityNotFoundError(
            "mig/config", path=ContainerPath("/proc/c/mig/config"), known=("mig/monitor",)
        ),
        LookupError,
        ["'mig/config'", "/proc/c/mig/config", "mig/monitor"],
    ),
    (
        errors.DriverFileError(
            "libcuda.so.1",
            driver_root=ContainerPath("/driver-root"),
            passed_over=(
                PassedOver(path="/driver-root/x", obstacle=Obstacle.MISSING, reason="is not there"),
            ),
        ),
        FileNotFoundError,
        ["libcuda.so.1", "/driver-root/x", "is not there", "ENOENT"],
    ),
    (
        errors.DriverVersionError(
            ContainerPath("/driver-root"), found=(("580.1", ContainerPath("/driver-root/a")),)
        ),
        ValueError,
        ["580.1: /driver-root/a"],
    ),
    (errors.LdCacheError(reason="it is cut"), ValueError, ["ld.so.cache: it is cut"]),
    (
        errors.InvalidSceneError("chair /x", reason="no such type"),
        ValueError,
        ["chair /x", "no such"],
    ),
    (
        errors.InvalidSpecError("devices[0].name", "-", reason="it starts with a dash"),
        ValueError,
        ["devices[0].name", "'-'", "it starts with a dash"],
    ),
    (
        errors.UnmappedPathsError(
            (UnmappedPath(location="mounts[0].hostPath", path="/x", reason="/x is on no mount"),)
        ),
        LookupError,
        ["1 path has", "mounts[0].hostPath", "/x is on no mount"],
    ),
    (
        errors.NodesMissingError((NodePresence(node=NODE, presence=Presence.MISSING),)),
        LookupError,
        ["/dev/nvidia0 is missing"],
    ),
    (
        errors.NodeError(
            errno.EROFS,
            "mount it without ro",
            "/dev/nvidia0",
            report=Report(steps=Steps(nodes=(NODE,), missing=set(), told={})),
        ),
        OSError,
        ["/dev/nvidia0", "mount it without ro", "EROFS"],
    ),
]
IDS = [f"{type(error).__name__}{number}" for number, (error, _, _) in enumerate(EXAMPLES)]


def copied(error: object) -> object:
    """Return a copy of the error."""
    return copy.copy(error)


def pickled(error: object) -> object:
    """Return the error as another process would get it."""
    again: object = pickle.loads(pickle.dumps(error))
    return again


@pytest.mark.parametrize(("error", "builtin", "words"), EXAMPLES, ids=IDS)
def test_error(error: errors.DevRootError, builtin: type[Exception], words: list[str]) -> None:
    """It is the built-in that a caller would catch, and its text names what matters."""
    assert isinstance(error, builtin)
    assert [word for word in words if word not in str(error)] == []


@pytest.mark.parametrize(("error", "builtin", "words"), EXAMPLES, ids=IDS)
@pytest.mark.parametrize("again", [copied, pickled])
def test_error_survives_a_copy(
    error: errors.DevRootError,
    builtin: type[Exception],
    words: list[str],
    again: Callable[[object], object],
) -> None:
    """A copy, or one that came from another process, says and holds the same."""
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)
    if isinstance(error, OSError) and isinstance(other, OSError):
        assert (other.errno, other.filename) == (error.errno, error.filename)
    assert isinstance(other, builtin)
    assert words


def test_every_public_error_has_an_example() -> None:
    """No error is added without one here, so that each is tried; the base is never raised."""
    assert {type(error).__name__ for error, _, _ in EXAMPLES} == {*errors.__all__} - {
        "DevRootError"
    }


def test_every_public_error_is_documented() -> None:
    """Each is a DevRootError with a docstring that says since when it is there."""
    for name in errors.__all__:
        error = getattr(errors, name)
        assert issubclass(error, errors.DevRootError)
        assert ".. versionadded::" in (inspect.getdoc(error) or ""), name


def test_every_documented_attribute_is_there() -> None:
    """What the docstring says that an error keeps, it keeps."""
    for error, _, _ in EXAMPLES:
        lines = (inspect.getdoc(error) or "").partition("Attributes:\n")[2]
        documented = re.findall(r"^    (\w+): ", lines, re.MULTILINE)
        assert documented
        assert [name for name in documented if not hasattr(error, name)] == []


def test_an_error_number_without_a_name_is_still_told() -> None:
    """A number that this platform does not name makes no second error."""
    assert "[error: " in str(errors.DriverRootError(9999, "odd", "/x"))
