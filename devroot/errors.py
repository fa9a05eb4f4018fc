"""Every error that devroot raises on purpose.

Each one is a `DevRootError` and also the built-in that a caller would expect. Each says what
was given, what is wrong with it and what would be right, and keeps those as attributes.
"""

from __future__ import annotations

import errno as errno_module
import os
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._dev_root import Refusal
    from devroot._evidence import Reach
    from devroot._findings import PassedOver
    from devroot._mounts import Mount
    from devroot._paths import ContainerPath, DevicePath, HostPath
    from devroot._presence import NodePresence
    from devroot._report import Report
    from devroot.cdi._transform import UnmappedPath

__all__ = [
    "AmbiguousMajorError",
    "CapabilityNotFoundError",
    "DevRootError",
    "DeviceNotFoundError",
    "DriverFileError",
    "DriverRootError",
    "DriverVersionError",
    "InvalidManifestError",
    "InvalidMountError",
    "InvalidNodeError",
    "InvalidPathError",
    "InvalidSceneError",
    "InvalidSpecError",
    "LdCacheError",
    "MajorNotFoundError",
    "MountInfoError",
    "MountTablesDisagreeError",
    "NoDevRootError",
    "NodeError",
    "NodesMissingError",
    "NotMountedError",
    "NotOnHostError",
    "OutsideSubsetError",
    "PathKindError",
    "ProcFileError",
    "ProcMaskedError",
    "ProcUnavailableError",
    "UdevUnavailableError",
    "UnmappedPathsError",
]


def _lines(first: str, rest: Iterable[str]) -> str:
    return "\n  - ".join([first, *rest])


class DevRootError(Exception):
    """The base of all errors of this package; each of them pickles and copies.

    .. versionadded:: 0.1.0
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{name: getattr(self, name) for name in self._fields}), ()


class InvalidPathError(DevRootError, ValueError):
    """A text is not a path of the kind that is wanted.

    Attributes:
        text: what was given.
        kind: what was wanted, such as ``HostPath``.
        reason: what is wrong with the text.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "kind", "reason")

    def __init__(self, text: str, *, kind: str, reason: str) -> None:
        self.text = text
        self.kind = kind
        self.reason = reason
        super().__init__(f"{text!r} cannot be a {kind}: {reason}")


class PathKindError(DevRootError, TypeError):
    """A path of one kind was given where another kind belongs.

    Attributes:
        value: what was given.
        wanted: the name of the type that belongs there.

    .. versionadded:: 0.1.0
    """

    _fields = ("value", "wanted")

    def __init__(self, value: object, *, wanted: str) -> None:
        self.value = value
        self.wanted = wanted
        super().__init__(f"a {wanted} is wanted here, not {value!r}")


class InvalidMountError(DevRootError, ValueError):
    """A declared mount is not possible, or contradicts another one.

    Attributes:
        text: the mount as it was given.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "reason")

    def __init__(self, text: str, *, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"mount {text!r}: {reason}")


class InvalidManifestError(DevRootError, ValueError):
    """A Kubernetes object or an OCI ``config.json`` is not as it has to be.

    Attributes:
        location: the field, such as ``spec.volumes[0].hostPath.path``; empty for the whole.
        value: what is there.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("location", "value", "reason")

    def __init__(self, location: str, value: object, *, reason: str) -> None:
        self.location = location
        self.value = value
        self.reason = reason
        shown = f" is {value!r}" if isinstance(value, (str, int, float)) else ""
        super().__init__(f"{location or 'the object'}{shown}: {reason}")


class MountInfoError(DevRootError, ValueError):
    """A mountinfo table cannot be understood; see proc_pid_mountinfo(5).

    Attributes:
        reason: what is wrong.
        line_number: the offending line, counted from 1; None if it is the table as a whole.
        line: the text of that line; None likewise.

    .. versionadded:: 0.1.0
    """

    _fields = ("reason", "line_number", "line")

    def __init__(
        self, reason: str, *, line_number: int | None = None, line: str | None = None
    ) -> None:
        self.reason = reason
        self.line_number = line_number
        self.line = line
        where = "mountinfo" if line_number is None else f"mountinfo line {line_number}"
        shown = "" if line is None else f": {line!r}"
        super().__init__(f"{where}: {reason}{shown}")


class MountTablesDisagreeError(DevRootError, ValueError):
    """The process's and the host's mountinfo are not of one kernel and one moment.

    Attributes:
        reason: the two facts that cannot both hold.

    .. versionadded:: 0.1.0
    """

    _fields = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the process's and the host's mountinfo are not of one kernel and moment: {reason};"
            " read both anew, the host's from the procfs of the host that runs this container"
        )


class LdCacheError(DevRootError, ValueError):
    """A file is no ``ld.so.cache`` that can be trusted; see ldconfig(8).

    Attributes:
        reason: what is wrong with it.

    .. versionadded:: 0.1.0
    """

    _fields = ("reason",)

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"ld.so.cache: {reason}")


class DriverVersionError(DevRootError, ValueError):
    """The libraries that a program would load are of different versions of the driver.

    Attributes:
        driver_root: where the driver root is in the container.
        found: each version with the library whose name tells it.

    .. versionadded:: 0.1.0
    """

    _fields = ("driver_root", "found")

    def __init__(
        self, driver_root: ContainerPath, *, found: tuple[tuple[str, ContainerPath], ...]
    ) -> None:
        self.driver_root = driver_root
        self.found = found
        super().__init__(
            _lines(
                f"the libraries in the driver root {driver_root} are of several versions;"
                " remove what an earlier installation left behind:",
                (f"{version}: {path}" for version, path in found),
            )
        )


class NotMountedError(DevRootError, LookupError):
    """No mount that is known shows this path on the other side.

    Attributes:
        path: what was asked for.
        nearest: the mounts that came nearest, the best first.
        reason: why the nearest one does not do, if there is more to say; else empty.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "nearest", "reason")

    def __init__(
        self, path: HostPath | ContainerPath, *, nearest: tuple[Mount, ...] = (), reason: str = ""
    ) -> None:
        self.path = path
        self.nearest = nearest
        self.reason = reason
        text = f"no declared mount shows {path!r} on the other side"
        if reason:
            text += f": {reason}"
        if nearest:
            text += "; the nearest: " + ", ".join(map(str, nearest))
        super().__init__(text)


class NotOnHostError(DevRootError, LookupError):
    """It is not accepted that a change at this path is seen on the host.

    Attributes:
        path: the container path.
        reach: the verdict with its evidence.
        remedies: mounts any one of which would help.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "reach", "remedies")

    def __init__(
        self, path: ContainerPath, *, reach: Reach, remedies: tuple[Mount, ...] = ()
    ) -> None:
        self.path = path
        self.reach = reach
        self.remedies = remedies
        text = _lines(
            f"{path} is not accepted as a place on the host: {reach.verdict.name}",
            [evidence.text for evidence in reach.evidence],
        )
        if remedies:
            text += "\n  a mount that would do: " + ", or ".join(map(str, remedies))
        super().__init__(text)


class OutsideSubsetError(DevRootError, LookupError):
    """A device path lies outside the subset of ``/dev`` that a dev root shows.

    Attributes:
        path: the device path that was asked for.
        names: what the dev root shows.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "names")

    def __init__(self, path: DevicePath, *, names: tuple[DevicePath, ...]) -> None:
        self.path = path
        self.names = names
        super().__init__(
            f"{path} lies outside the subset of this dev root, which shows"
            f" {', '.join(map(str, names))}; add its directory to the subset and to the mounts"
        )


class NoDevRootError(DevRootError, LookupError):
    """Neither the driver root nor any fallback gives a dev root.

    Attributes:
        driver_root: where the driver root is in the container.
        refusals: what each fallback answered, with the mounts that would mend it.

    .. versionadded:: 0.1.0
    """

    _fields = ("driver_root", "refusals")

    def __init__(self, driver_root: ContainerPath, *, refusals: tuple[Refusal, ...]) -> None:
        self.driver_root = driver_root
        self.refusals = refusals
        super().__init__(
            _lines(
                f"no dev root for the driver root {driver_root}: it has no dev directory, and",
                map(str, refusals),
            )
        )


class MajorNotFoundError(DevRootError, LookupError):
    """``/proc/devices`` does not list a driver.

    Attributes:
        name: the driver's name that was looked for.
        section: ``character`` or ``block``.
        known: the names that come near, if any.
        path: the file that was read, if it was another one than ``/proc/devices``.

    .. versionadded:: 0.1.0
    """

    _fields = ("name", "section", "known", "path")

    def __init__(
        self,
        name: str,
        *,
        section: str,
        known: tuple[str, ...] = (),
        path: ContainerPath | None = None,
    ) -> None:
        self.name = name
        self.section = section
        self.known = known
        self.path = path
        near = f" (it lists {', '.join(known)})" if known else ""
        super().__init__(
            f"{path or '/proc/devices'} lists no {section} device driver {name!r}{near};"
            " is the kernel module loaded?"
        )


class AmbiguousMajorError(DevRootError, LookupError):
    """``/proc/devices`` lists a driver with several majors where one was asked for.

    Attributes:
        name: the driver's name.
        section: ``character`` or ``block``.
        majors: all of its majors (decimal), in the order of the file.

    .. versionadded:: 0.1.0
    """

    _fields = ("name", "section", "majors")

    def __init__(self, name: str, *, section: str, majors: tuple[int, ...]) -> None:
        self.name = name
        self.section = section
        self.majors = majors
        super().__init__(
            f"the {section} device driver {name!r} has several majors:"
            f" {', '.join(map(str, majors))}; ask for all of them and choose"
        )


class CapabilityNotFoundError(DevRootError, LookupError):
    """The driver has no such capability, and nothing hides that part of ``/proc``.

    Attributes:
        name: the capability that was looked for, such as ``mig/config``.
        path: the file that would describe it.
        known: what is there instead, if that is known.

    .. versionadded:: 0.1.0
    """

    _fields = ("name", "path", "known")

    def __init__(self, name: str, *, path: ContainerPath, known: tuple[str, ...] = ()) -> None:
        self.name = name
        self.path = path
        self.known = known
        there = f"; there are {', '.join(known)}" if known else ""
        super().__init__(f"the driver has no capability {name!r} ({path}){there}")


class DeviceNotFoundError(DevRootError, LookupError):
    """The kernel has no such device node, as far as can be seen.

    Attributes:
        sought: what was looked for, such as ``c 1:3``.
        unknown: what hides devices here, if anything does; then it may exist all the same.

    .. versionadded:: 0.1.0
    """

    _fields = ("sought", "unknown")

    def __init__(self, sought: str, *, unknown: tuple[str, ...] = ()) -> None:
        self.sought = sought
        self.unknown = unknown
        text = f"the catalog has no device node {sought}"
        if unknown:
            text = _lines(f"{text}, but it does not know all:", unknown)
        super().__init__(text)


class UdevUnavailableError(DevRootError, ImportError):
    """The shared library of udev, or the module that speaks to it, cannot be loaded.

    Attributes:
        reason: what the loader says.

    .. versionadded:: 0.1.0
    """

    _fields = ("reason",)

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"libudev.so.1 cannot be used: {reason}; install the package libudev1 (Debian,"
            " Ubuntu), systemd-libs (Fedora, RHEL), libudev1 (SUSE) or eudev-libs (Alpine), and"
            " the module pyudev. DeviceCatalog.of_sysfs() reads devices without it"
        )


class InvalidNodeError(DevRootError, ValueError):
    """A device node cannot be as described.

    Attributes:
        field: the field that is wrong.
        value: its value.
        reason: what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("field", "value", "reason")

    def __init__(self, field: str, value: object, *, reason: str) -> None:
        self.field = field
        self.value = value
        self.reason = reason
        super().__init__(f"{field}={value!r}: {reason}")


class InvalidSceneError(DevRootError, ValueError):
    """What a test asks of `devroot.testing` cannot be understood.

    Attributes:
        text: the line or the call.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "reason")

    def __init__(self, text: str, *, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"{text}: {reason}")


class InvalidSpecError(DevRootError, ValueError):
    """A CDI spec, or a part of one, is not as the specification wants it.

    Attributes:
        location: the part, such as ``devices[0].containerEdits.deviceNodes[2].minor``; empty for
            the spec as a whole.
        value: what is there.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("location", "value", "reason")

    def __init__(self, location: str, value: object, *, reason: str) -> None:
        self.location = location
        self.value = value
        self.reason = reason
        where = location or "the spec"
        shown = f" is {value!r}" if isinstance(value, (str, int, float)) else ""
        super().__init__(f"{where}{shown}: {reason}")


class UnmappedPathsError(DevRootError, LookupError):
    """Paths in a CDI spec are on no mount that is known, so they mean nothing on the other side.

    Attributes:
        unmapped: each of them, with its location in the spec and why.

    .. versionadded:: 0.1.0
    """

    _fields = ("unmapped",)
    _SHOWN: ClassVar[int] = 20

    def __init__(self, unmapped: tuple[UnmappedPath, ...]) -> None:
        self.unmapped = unmapped
        lines = [str(one) for one in unmapped[: self._SHOWN]]
        if len(unmapped) > self._SHOWN:
            lines.append(f"and {len(unmapped) - self._SHOWN} more")
        paths = "path has" if len(unmapped) == 1 else "paths have"
        super().__init__(
            _lines(f"{len(unmapped)} {paths} no counterpart on the other side:", lines)
        )


class NodesMissingError(DevRootError, LookupError):
    """A set of nodes is not complete, as far as the host is concerned.

    Attributes:
        absent: what was found of each node that is not there.

    .. versionadded:: 0.1.0
    """

    _fields = ("absent",)

    def __init__(self, absent: tuple[NodePresence, ...]) -> None:
        self.absent = absent
        nodes = "device node is" if len(absent) == 1 else "device nodes are"
        super().__init__(_lines(f"{len(absent)} {nodes} not there:", map(str, absent)))


class ProcFileError(DevRootError, ValueError):
    """A file below ``/proc`` does not say what it should.

    Attributes:
        path: the file.
        reason: what is wrong with it.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "reason")

    def __init__(self, path: ContainerPath, *, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class ProcMaskedError(DevRootError, LookupError):
    """What is asked for is hidden: something else is mounted over this part of ``/proc``.

    Masked is not absent: the host may well have it.

    Attributes:
        path: the file or directory that was looked for.
        reason: what hides it.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "reason")

    def __init__(self, path: ContainerPath, *, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path} cannot be known here: {reason};"
            " mount the host's /proc aside and give it as proc="
        )


class _OSError(DevRootError, OSError):
    """An error with ``errno`` and ``filename`` whose text names the way out."""

    def __init__(self, number: int, reason: str, filename: str) -> None:
        super().__init__(number, reason, filename)

    def __str__(self) -> str:
        name = errno_module.errorcode.get(self.errno or 0, "error")
        return f"{self.filename}: {self.strerror} [{name}: {os.strerror(self.errno or 0)}]"


class DriverRootError(_OSError):
    """The driver root is not a directory that can be looked into.

    Attributes:
        errno: ``ENOENT``, ``ENOTDIR``, ``ELOOP`` or ``EACCES``.
        filename: the driver root in the container.
        reason: what is wrong and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("number", "reason", "filename")

    def __init__(self, number: int, reason: str, filename: str) -> None:
        self.number = number
        self.reason = reason
        super().__init__(number, reason, filename)


class DriverFileError(_OSError, FileNotFoundError):
    """There is no such regular file in the driver root, at least in no place that was looked at.

    Attributes:
        errno: ``ENOENT``.
        filename: what was looked for.
        driver_root: where the driver root is in the container.
        passed_over: every candidate and why it is not the file, in the order of the search.

    .. versionadded:: 0.1.0
    """

    _fields = ("name", "driver_root", "passed_over")

    def __init__(
        self, name: str, *, driver_root: ContainerPath, passed_over: tuple[PassedOver, ...]
    ) -> None:
        self.name = name
        self.driver_root = driver_root
        self.passed_over = passed_over
        reason = f"no such regular file in the driver root {driver_root}"
        super().__init__(errno_module.ENOENT, reason, name)

    def __str__(self) -> str:
        if not self.passed_over:
            return f"{super().__str__()}; no place was given to look at"
        return _lines(f"{super().__str__()}; what was looked at:", map(str, self.passed_over))


class ProcUnavailableError(_OSError):
    """A file below ``/proc`` that is needed cannot be read.

    Attributes:
        errno: why; ``ENOENT`` where no procfs is mounted.
        filename: the file.
        reason: what is wrong and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("number", "reason", "filename")

    def __init__(self, number: int, reason: str, filename: str) -> None:
        self.number = number
        self.reason = reason
        super().__init__(number, reason, filename)


class NodeError(_OSError):
    """At least one device node could not be made as asked; nothing else was stopped by it.

    Attributes:
        errno: of the first cause.
        filename: of the first cause.
        report: what became of every node.

    .. versionadded:: 0.1.0
    """

    _fields = ("number", "reason", "filename", "report")

    def __init__(self, number: int, reason: str, filename: str, *, report: Report) -> None:
        self.number = number
        self.reason = reason
        self.report = report
        super().__init__(number, reason, filename)
