"""Errors about where things are: mount tables, the way to the host, dev roots."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from devroot.errors._base import DevRootError, bulleted

if TYPE_CHECKING:
    from devroot._dev_root import Refusal
    from devroot._evidence import Reach
    from devroot._mounts import Mount
    from devroot._paths import ContainerPath, DevicePath, HostPath
    from devroot.cdi._transform import UnmappedPath


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
        remedies: the mounts that would help, all of them together.
        advice: what would help that is no mount; empty if nothing is known.

    .. versionadded:: 0.1.0
    """

    _fields = ("path", "reach", "remedies", "advice")

    def __init__(
        self,
        path: ContainerPath,
        *,
        reach: Reach,
        remedies: tuple[Mount, ...] = (),
        advice: str = "",
    ) -> None:
        self.path = path
        self.reach = reach
        self.remedies = remedies
        self.advice = advice
        text = bulleted(
            f"{path} is not accepted as a place on the host: {reach.verdict.name}",
            [evidence.text for evidence in reach.evidence],
        )
        if remedies:
            what = (
                "a mount that would do" if len(remedies) == 1 else "mounts that would do together"
            )
            text += f"\n  {what}: {', '.join(map(str, remedies))}"
        if advice:
            text += f"\n  {advice}"
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
            bulleted(
                f"no dev root for the driver root {driver_root}: it has no dev directory, and",
                map(str, refusals),
            )
        )


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
        shown = [str(one) for one in unmapped[: self._SHOWN]]
        if len(unmapped) > self._SHOWN:
            shown.append(f"and {len(unmapped) - self._SHOWN} more")
        paths = "path has" if len(unmapped) == 1 else "paths have"
        super().__init__(
            bulleted(f"{len(unmapped)} {paths} no counterpart on the other side:", shown)
        )
