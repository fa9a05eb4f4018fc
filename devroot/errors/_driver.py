"""Errors about a driver: its root, its files, and what it says below ``/proc``."""

from __future__ import annotations

import errno as errno_module
from typing import TYPE_CHECKING

from devroot.errors._base import DevRootError, KernelError, bulleted

if TYPE_CHECKING:
    from devroot._findings import PassedOver
    from devroot._paths import ContainerPath


class DriverRootError(KernelError):
    """The driver root is not a directory that can be looked into.

    Attributes:
        errno: ``ENOENT``, ``ENOTDIR``, ``ELOOP`` or ``EACCES``.
        filename: the driver root in the container.
        reason: what is wrong and what would be right.

    .. versionadded:: 0.1.0
    """


class DriverFileError(KernelError, FileNotFoundError):
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
        return bulleted(f"{super().__str__()}; what was looked at:", map(str, self.passed_over))


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
            bulleted(
                f"the libraries in the driver root {driver_root} are of several versions;"
                " remove what an earlier installation left behind:",
                (f"{version}: {path}" for version, path in found),
            )
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


class ProcUnavailableError(KernelError):
    """A file below ``/proc`` that is needed cannot be read.

    Attributes:
        errno: why; ``ENOENT`` where no procfs is mounted.
        filename: the file.
        reason: what is wrong and what would be right.

    .. versionadded:: 0.1.0
    """


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
