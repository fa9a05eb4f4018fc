"""Dev roots: a directory in which device nodes are, and what is known of where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from devroot._evidence import ACCEPTED, BEST_FIRST, EvidenceCode, Reach, Verdict
from devroot._log import Event, tell
from devroot._paths import ContainerPath, DevicePath, HostPath, as_container_path, as_device_path
from devroot._reach import examine_place
from devroot._view import ROOT
from devroot.errors import InvalidPathError, NotOnHostError, OutsideSubsetError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from devroot._filesystem import Directory
    from devroot._mounts import Mount, MountTable
    from devroot._view import ContainerView

    _Located = tuple[ContainerPath, ContainerPath | None]


def as_verdicts(verdicts: Collection[Verdict]) -> frozenset[Verdict]:
    """Return *verdicts* as a set."""
    return frozenset(verdicts)


@final
@attrs.frozen(kw_only=True)
class Refusal:
    """Why a fallback gives no dev root.

    Attributes:
        fallback: which one, as it was written.
        reason: why not.
        reach: the verdict that spoke against it, if one did.
        remedies: the mounts that would make it succeed.
        refusals: the refusals of the fallbacks that it asked in turn.

    .. versionadded:: 0.1.0
    """

    fallback: str
    reason: str
    reach: Reach | None = None
    remedies: tuple[Mount, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def flat(self) -> tuple[Refusal, ...]:
        """Return the refusals that stand for themselves, those of a chain one by one."""
        if not self.refusals:
            return (self,)
        return tuple(leaf for refusal in self.refusals for leaf in refusal.flat())

    def __str__(self) -> str:
        text = f"{self.fallback}: {self.reason}"
        if self.remedies:
            text += f"; mount {', '.join(map(str, self.remedies))}"
        return text


def as_names(names: Iterable[str | DevicePath]) -> tuple[DevicePath, ...]:
    """Return the names of a subset of ``/dev``, each once.

    Raises:
        InvalidPathError: one is no device path, or there is none.
        PathKindError: one is another kind of path.
    """
    if isinstance(names, str):
        raise InvalidPathError(
            names, kind="list of device paths", reason=f"write [{names!r}], a list of names"
        )
    paths = tuple(dict.fromkeys(map(as_device_path, names)))
    if not paths:
        raise InvalidPathError("[]", kind="subset of /dev", reason="it has no names")  # noqa: EM101
    return paths


def _as_names_or_none(
    names: Iterable[str | DevicePath] | None,
) -> tuple[DevicePath, ...] | None:
    return None if names is None else as_names(names)


def tell_refusal(refusal: Refusal) -> None:
    """Say in the log why there is no dev root; a chain says nothing, for its parts have."""
    if not refusal.refusals:
        tell(Event.FALLBACK_REFUSED, refusal.fallback, refusal.reason)


@final
@attrs.frozen(kw_only=True)
class DevRoot:
    """A directory P with device nodes in ``P/dev``, and what is known of where they are.

    Attributes:
        container: the directory P.
        view: in which it was found.
        names: the paths below ``/dev`` that it shows, if it is a subset; None for all.
        declared: the declared mounts that its reach goes by; None for the view's own.
        remedies: mounts that would make its nodes reach the host.
        accept: the verdicts that are good enough to give out a host path.
        origin: where it comes from, in words.

    .. versionadded:: 0.1.0
    """

    container: ContainerPath = attrs.field(converter=as_container_path)
    view: ContainerView
    names: tuple[DevicePath, ...] | None = attrs.field(default=None, converter=_as_names_or_none)
    declared: MountTable | None = None
    remedies: tuple[Mount, ...] = ()
    accept: frozenset[Verdict] = attrs.field(default=ACCEPTED, converter=as_verdicts)
    origin: str = "the caller"

    @property
    def dev(self) -> ContainerPath:
        """``P/dev``."""
        return self.container / "dev"

    def contains(self, path: str | DevicePath) -> bool:
        """Whether *path* is in the part of ``/dev`` that this dev root shows.

        Raises:
            InvalidPathError: *path* is no path of a device node.
        """
        device_path = as_device_path(path)
        return self.names is None or any(map(device_path.is_relative_to, self.names))

    def container_path(self, path: str | DevicePath) -> ContainerPath:
        """Return where the device path *path* is in this container, whatever its reach.

        Raises:
            InvalidPathError: *path* is no path of a device node.
            OutsideSubsetError: the dev root does not show it.
        """
        device_path = as_device_path(path)
        if self.names is not None and not self.contains(device_path):
            raise OutsideSubsetError(device_path, names=self.names)
        return self.dev / device_path.below_dev

    def host_path(self, path: str | DevicePath) -> HostPath:
        """Return where the host sees the device path *path*.

        Raises:
            InvalidPathError: *path* is no path of a device node.
            OutsideSubsetError: the dev root does not show it.
            NotOnHostError: its reach is not accepted, or its host path is not known; given to a
                runtime, such a path is the one that it cannot find.
            OSError: as from `reach`.
        """
        reach = self.require_reach(path)
        if reach.host_path is None:
            raise self._refusal_of(reach)
        return reach.host_path

    def reach(self, path: str | DevicePath | None = None) -> Reach:
        """Say whether a change is seen on the host, and where.

        The file system is looked at anew; the mount tables are those of the view.

        Args:
            path: a device path. A link at its last name is not followed, for a node would
                replace it. None asks for ``dev`` as a whole: for a subset that is the worst
                answer among its names, with each of them in ``parts``.

        Raises:
            InvalidPathError: *path* is no path of a device node.
            OutsideSubsetError: the dev root does not show it.
            MountInfoError: a mount table lost lines that matter here.
            OSError: a directory on the way cannot be looked into.
        """
        if path is not None:
            return self._examine_name(self.container_path(path), {})
        if self.names is None:
            return self._examine(*self._located(self.dev), asked=self.dev)
        directories: dict[ContainerPath, _Located] = {}
        parts = tuple(
            self._examine_name(self.container_path(name), directories) for name in self.names
        )
        worst = max(parts, key=lambda part: BEST_FIRST.index(part.verdict))
        return attrs.evolve(worst, parts=parts)

    def _examine_name(
        self, path: ContainerPath, directories: dict[ContainerPath, _Located]
    ) -> Reach:
        """Examine a name below ``dev``; *directories* holds where its directory is, once known."""
        parent = path.parent
        if parent not in directories:
            directories[parent] = self._located(parent)
        directory, over = directories[parent]
        return self._examine(directory / path.name, over, asked=path)

    def _located(self, path: ContainerPath) -> _Located:
        """Return where a directory below P is, and a link on the way that leads nowhere, if any.

        Links below P stay inside P, those on the way to P are the container's own. A link below P
        that leads nowhere inside P is not followed at all, wherever it would lead outside.
        """
        inside, over = self.view._placed(path, root=self.container)  # noqa: SLF001 - of one library
        if self.container == ROOT:
            return inside, over
        return self.view.locate(self.container) / inside.relative_to(self.container), over

    def _examine(
        self, place: ContainerPath, over: ContainerPath | None, *, asked: ContainerPath
    ) -> Reach:
        return examine_place(self.view, place, asked=asked, declared=self.declared, over=over)

    def require_reach(
        self, path: str | DevicePath | None = None, *, accept: Collection[Verdict] | None = None
    ) -> Reach:
        """Return the reach of *path*, as `reach` does, if its verdict is accepted.

        Args:
            path: as for `reach`.
            accept: the verdicts to accept instead of ``self.accept``.

        Raises:
            NotOnHostError: the verdict is another one.
            OSError: as from `reach`; likewise its other errors.
        """
        reach = self.reach(path)
        if reach.verdict not in (self.accept if accept is None else accept):
            raise self._refusal_of(reach)
        return reach

    def _refusal_of(self, reach: Reach) -> NotOnHostError:
        """Return the error for a reach that is not accepted, with what would help."""
        codes = {evidence.code for evidence in reach.evidence}
        remedies, advice = self.remedies, ""
        if reach.verdict is Verdict.STALE:
            remedies, advice = (), "start the container again, so that it is mounted anew"
        elif reach.verdict is Verdict.UNKNOWN:
            if EvidenceCode.DECLARED_AS in codes:
                remedies = ()  # it is mounted already
            if self.view.host_mountinfo is None and EvidenceCode.OWN_KERNEL not in codes:
                advice = (
                    "the host's mount table decides: run the pod with hostPID: true, and read the"
                    " view with host_mountinfo=ContainerPath('/proc/1/mountinfo')"
                )
        return NotOnHostError(reach.container_path, reach=reach, remedies=remedies, advice=advice)

    def open_dev(self) -> Directory:
        """Open ``P/dev``, links in it followed inside P.

        Raises:
            OSError: it cannot be opened.
        """
        return self.view.filesystem.open_directory(self.container, "/dev")

    def __str__(self) -> str:
        shown = "" if self.names is None else f" (only {', '.join(map(str, self.names))})"
        return f"{self.container}{shown}"
