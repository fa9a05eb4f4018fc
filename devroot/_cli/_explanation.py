"""Ask for a dev root as a plugin would, and keep every answer on the way."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import attrs

from devroot._dev_root import DevRoot, Refusal
from devroot._driver_root import DriverRoot, Fallback, RootFallback
from devroot._evidence import ACCEPTED, Reach, Verdict
from devroot._fallbacks import FirstOf
from devroot._paths import ContainerPath, DevicePath
from devroot.errors import NoDevRootError, OutsideSubsetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from devroot._mounts import Mount
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
    """

    driver_root: DriverRoot
    candidates: tuple[Candidate, ...]
    dev_root: DevRoot | None
    reach: Reach | None
    landings: tuple[Landing, ...]
    remedies: tuple[Remedy, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether a host path of this dev root may be handed out."""
        return self.reach is not None and self.reach.verdict in ACCEPTED

    @property
    def view(self) -> ContainerView:
        """What the process sees."""
        return self.driver_root.view


class _Nothing:
    """The fallback that always refuses, to ask for the driver root alone."""

    def dev_root(self, _driver_root: DriverRoot, _view: ContainerView, /) -> Refusal:
        return Refusal(fallback="", reason="the driver root alone was asked for")


def explain(driver_root: DriverRoot, fallbacks: Sequence[tuple[str, Fallback]]) -> Explanation:
    """Choose the dev root of *driver_root*, and say what led to it.

    Args:
        driver_root: the driver root.
        fallbacks: each with its text on the command line, in order; at least one.

    Raises:
        DriverRootError: the driver root does not exist, or is no directory.
        MountInfoError: a mount table lost lines that matter here.
        OSError: a directory on the way cannot be looked into.
    """
    only = fallbacks[0][1] if len(fallbacks) == 1 else FirstOf(*(each for _, each in fallbacks))
    chosen = _chosen(driver_root, only)
    own = _of_driver_root(driver_root, chosen)
    candidates = (own, *_of_fallbacks(driver_root, fallbacks, chosen, accepted=_is_accepted(own)))
    reach = None if chosen is None else chosen.reach()
    explanation = Explanation(
        driver_root=driver_root,
        candidates=candidates,
        dev_root=chosen,
        reach=reach,
        landings=() if chosen is None else tuple(_landings(chosen)),
    )
    if explanation.accepted:
        return explanation
    return attrs.evolve(
        explanation,
        remedies=tuple(_remedies(driver_root.view, candidates)),
        advice=tuple(_advice(driver_root.view, candidates)),
    )


def _chosen(driver_root: DriverRoot, fallback: Fallback) -> DevRoot | None:
    try:
        return driver_root.dev_root(fallback=fallback)
    except NoDevRootError:
        return None


def _of_driver_root(driver_root: DriverRoot, chosen: DevRoot | None) -> Candidate:
    found = _chosen(driver_root, _Nothing())
    if found is None:
        reason = "it has no dev directory"
        return Candidate(asked=DRIVER_ROOT, state=State.REFUSED, reason=reason)
    return _judged(DRIVER_ROOT, found, found.reach(), chosen)


def _of_fallbacks(
    driver_root: DriverRoot,
    fallbacks: Sequence[tuple[str, Fallback]],
    chosen: DevRoot | None,
    *,
    accepted: bool,
) -> Iterable[Candidate]:
    for asked, fallback in fallbacks:
        if accepted:
            reason = "an earlier answer was accepted"
            yield Candidate(asked=asked, state=State.NOT_ASKED, reason=reason)
            continue
        answer = fallback.dev_root(driver_root, driver_root.view)
        if isinstance(answer, Refusal):
            yield Candidate(
                asked=asked,
                state=State.REFUSED,
                reason=answer.reason,
                reach=answer.reach,
                remedies=answer.remedies,
            )
            continue
        candidate = _judged(asked, answer, answer.reach(), chosen)
        accepted = _is_accepted(candidate)
        yield candidate


def _judged(asked: str, found: DevRoot, reach: Reach, chosen: DevRoot | None) -> Candidate:
    taken = chosen is not None and found.origin == chosen.origin
    reason = f"{reach.container_path} is {reach.verdict.name}: {reach.evidence[-1].text}"
    if taken and reach.verdict not in ACCEPTED:
        reason = f"nothing better was found, but {reason}"
    return Candidate(
        asked=asked,
        state=State.TAKEN if taken else State.REFUSED,
        reason=reason,
        dev_root=found,
        reach=reach,
        remedies=found.remedies,
    )


def _is_accepted(candidate: Candidate) -> bool:
    return candidate.state is State.TAKEN and (
        candidate.reach is not None and candidate.reach.verdict in ACCEPTED
    )


def _landings(dev_root: DevRoot) -> Iterable[Landing]:
    paths = dict.fromkeys((_ALWAYS_SHOWN, *(dev_root.names or ())))
    for path in paths:
        try:
            reach = dev_root.reach(path)
        except OutsideSubsetError:
            yield Landing(device_path=path)
        else:
            yield Landing(device_path=path, container_path=reach.container_path, reach=reach)


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
    verdicts = {candidate.reach.verdict for candidate in candidates if candidate.reach is not None}
    if Verdict.STALE in verdicts:
        yield "Restart the pod, so that what was deleted is mounted anew."
    if Verdict.UNKNOWN in verdicts and view.host_mountinfo is None:
        yield (
            "Grant the host's mount table, which decides: run the pod with hostPID: true, and add"
            " --host-mountinfo /proc/1/mountinfo."
        )
    if Verdict.UNKNOWN in verdicts and view.mounts is None:
        yield "Say what is mounted: add --mount HOST:CONTAINER for every mount of the container."
