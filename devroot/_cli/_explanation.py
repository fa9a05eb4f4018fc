"""Ask for a dev root as a plugin would, and keep every answer on the way."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import attrs

from devroot._dev_root import DevRoot, Refusal
from devroot._driver_root import DriverRoot, Fallback, RootFallback
from devroot._evidence import ACCEPTED, EvidenceCode, Reach, Verdict
from devroot._fallbacks import FirstOf
from devroot._paths import ContainerPath, DevicePath
from devroot.errors import NoDevRootError, OutsideSubsetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from devroot._mounts import Mount
    from devroot._presence import NodeSet
    from devroot._view import ContainerView

DRIVER_ROOT: Final = "driver-root"
"""What stands for the driver root where a fallback could stand."""

_ALWAYS_SHOWN: Final = DevicePath("nvidia-caps")
_ASIDE: Final = "host-dev:/host-dev"


class State(enum.Enum):
    """What became of a place for the dev root; the values are part of the ``--json`` format."""

    TAKEN = "taken"
    REFUSED = "refused"
    NOT_ASKED = "not-asked"


@attrs.frozen(kw_only=True)
class Candidate:
    """The driver root or a fallback, and what it answered.

    Attributes:
        asked: ``driver-root``, or the fallback as it is written on the command line.
        state: what became of it.
        reason: why, in words.
        dev_root: what it gave, if anything.
        reach: of that, or what spoke against it.
        remedies: the mounts that would make it succeed.
    """

    asked: str
    state: State
    reason: str
    dev_root: DevRoot | None = None
    reach: Reach | None = None
    remedies: tuple[Mount, ...] = ()


@attrs.frozen(kw_only=True)
class Landing:
    """Where a device path would land.

    Attributes:
        device_path: the device path.
        container_path: where it is in this container; None if the dev root does not show it.
        reach: of that.
    """

    device_path: DevicePath
    container_path: ContainerPath | None = None
    reach: Reach | None = None


@attrs.frozen(kw_only=True)
class Remedy:
    """Mounts that would help, and the fallback with which they would.

    Attributes:
        fallback: as it is written on the command line; ``driver-root`` needs none.
        mounts: all of them are needed.
    """

    fallback: str
    mounts: tuple[Mount, ...]


@attrs.frozen(kw_only=True)
class Inventory:
    """Which of some device nodes a dev root has.

    Attributes:
        name: of whose nodes, as the ``--json`` format has it.
        title: the same, in words.
        found: what was found of each node; None if it cannot be told which there should be.
        unknown: why that cannot be told, or what may hide some of them, a sentence each.
    """

    name: str
    title: str
    found: NodeSet | None
    unknown: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Explanation:
    """Where the dev root is, and why.

    Attributes:
        driver_root: what was asked for.
        candidates: the driver root and each fallback, in the order in which they are asked.
        dev_root: the one that was chosen; None if there is none.
        reach: of that.
        landings: where device paths would land in it.
        remedies: mounts that would help, if the reach is not accepted; any one of them.
        advice: sentences that say what else would help.
        accept: the verdicts that are good enough.
        inventories: which nodes the dev root has and lacks; None if nobody asked.
    """

    driver_root: DriverRoot
    candidates: tuple[Candidate, ...]
    dev_root: DevRoot | None
    reach: Reach | None
    landings: tuple[Landing, ...]
    remedies: tuple[Remedy, ...] = ()
    advice: tuple[str, ...] = ()
    accept: frozenset[Verdict] = ACCEPTED
    inventories: tuple[Inventory, ...] | None = None

    @property
    def accepted(self) -> bool:
        """Whether a host path of this dev root may be handed out."""
        return self.reach is not None and self.reach.verdict in self.accept

    @property
    def view(self) -> ContainerView:
        """What the process sees."""
        return self.driver_root.view


class _Nothing:
    """The fallback that always refuses, to ask for the driver root alone."""

    def dev_root(self, _driver_root: DriverRoot, _view: ContainerView, /) -> Refusal:
        return Refusal(fallback="", reason="the driver root alone was asked for")


def explain(
    driver_root: DriverRoot,
    fallbacks: Sequence[tuple[str, Fallback]],
    *,
    accept: frozenset[Verdict] = ACCEPTED,
) -> Explanation:
    """Choose the dev root of *driver_root*, and say what led to it.

    Args:
        driver_root: the driver root.
        fallbacks: each with its text on the command line, in order; at least one.
        accept: the verdicts that are good enough.

    Raises:
        DriverRootError: the driver root does not exist, or is no directory.
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    each = [fallback for _, fallback in fallbacks]
    only = each[0] if len(each) == 1 else FirstOf(*each, accept=accept)
    chosen = _chosen(driver_root, only, accept)
    inquiry = _Inquiry(driver_root=driver_root, chosen=chosen, accept=accept)
    candidates = (inquiry.of_driver_root(), *inquiry.of_fallbacks(fallbacks))
    reach = None if chosen is None else chosen.reach()
    explanation = Explanation(
        driver_root=driver_root,
        candidates=candidates,
        dev_root=chosen,
        reach=reach,
        landings=() if chosen is None else tuple(_landings(chosen)),
        accept=accept,
    )
    if explanation.accepted:
        return explanation
    return attrs.evolve(
        explanation,
        remedies=tuple(_remedies(driver_root.view, candidates)),
        advice=tuple(_advice(driver_root.view, candidates)),
    )


def _chosen(
    driver_root: DriverRoot, fallback: Fallback, accept: frozenset[Verdict]
) -> DevRoot | None:
    try:
        return driver_root.dev_root(fallback=fallback, accept=accept)
    except NoDevRootError:
        return None


@attrs.define(kw_only=True)
class _Inquiry:
    """Asks each candidate in turn, until one was accepted.

    Attributes:
        driver_root: who needs a dev root.
        chosen: what the library has chosen.
        accept: the verdicts that are good enough.
        is_over: whether an answer was accepted.
    """

    driver_root: DriverRoot
    chosen: DevRoot | None
    accept: frozenset[Verdict]
    is_over: bool = False

    def of_driver_root(self) -> Candidate:
        """Ask the driver root itself."""
        found = _chosen(self.driver_root, _Nothing(), self.accept)
        if found is None:
            reason = "it has no dev directory"
            return Candidate(asked=DRIVER_ROOT, state=State.REFUSED, reason=reason)
        return self._judged(DRIVER_ROOT, found)

    def of_fallbacks(self, fallbacks: Sequence[tuple[str, Fallback]]) -> Iterable[Candidate]:
        """Ask the fallbacks."""
        for asked, fallback in fallbacks:
            if self.is_over:
                reason = "an earlier answer was accepted"
                yield Candidate(asked=asked, state=State.NOT_ASKED, reason=reason)
                continue
            answer = fallback.dev_root(self.driver_root, self.driver_root.view)
            if isinstance(answer, Refusal):
                yield Candidate(
                    asked=asked,
                    state=State.REFUSED,
                    reason=answer.reason,
                    reach=answer.reach,
                    remedies=answer.remedies,
                )
                continue
            yield self._judged(asked, answer)

    def _judged(self, asked: str, found: DevRoot) -> Candidate:
        reach = found.reach()
        taken = self.chosen is not None and found.origin == self.chosen.origin
        reason = f"{reach.container_path} is {reach.verdict.name}: {reach.evidence[-1].text}"
        self.is_over = reach.verdict in self.accept
        if taken and not self.is_over:
            reason = f"nothing better was found, but {reason}"
        return Candidate(
            asked=asked,
            state=State.TAKEN if taken else State.REFUSED,
            reason=reason,
            dev_root=found,
            reach=reach,
            remedies=found.remedies,
        )


def _landings(dev_root: DevRoot) -> Iterable[Landing]:
    paths = dict.fromkeys((_ALWAYS_SHOWN, *(dev_root.names or ())))
    return (landing_of(dev_root, path) for path in paths)


def landing_of(dev_root: DevRoot, path: DevicePath) -> Landing:
    """Return where *path* would land.

    Raises:
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    try:
        reach = dev_root.reach(path)
    except OutsideSubsetError:
        return Landing(device_path=path)
    return Landing(device_path=path, container_path=reach.container_path, reach=reach)


def _remedies(view: ContainerView, candidates: Iterable[Candidate]) -> Iterable[Remedy]:
    """Yield the mounts that would help and are not declared already."""
    declared = {(mount.host, mount.container) for mount in view.mounts or ()}
    seen: set[tuple[Mount, ...]] = set()
    for candidate in candidates:
        mounts = tuple(
            mount for mount in candidate.remedies if (mount.host, mount.container) not in declared
        )
        if mounts and mounts not in seen:
            seen.add(mounts)
            found = candidate.dev_root
            by_root = found is not None and found.origin == repr(RootFallback())
            yield Remedy(fallback=_ASIDE if by_root else candidate.asked, mounts=mounts)


def _advice(view: ContainerView, candidates: Iterable[Candidate]) -> Iterable[str]:
    """Yield what would help that is no mount."""
    reaches = [candidate.reach for candidate in candidates if candidate.reach is not None]
    verdicts = {
        reach.verdict for reach in reaches if reach.evidence[-1].code is not EvidenceCode.OWN_KERNEL
    }
    if Verdict.STALE in verdicts:
        yield "Restart the pod, so that what was deleted is mounted anew."
    if Verdict.UNKNOWN in verdicts and view.host_mountinfo is None:
        yield (
            "Grant the host's mount table, which decides: run the pod with hostPID: true, and add"
            " --host-mountinfo /proc/1/mountinfo."
        )
    if Verdict.UNKNOWN in verdicts and view.mounts is None:
        yield "Say what is mounted: add --mount HOST:CONTAINER for every mount of the container."
