"""Carry out a plan: complete each thing where nobody looks, and publish it in one step."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import attrs

from devroot._bulk import publish_nodes
from devroot._mknod._advice import DirectoryDeletedError, Doing, advice
from devroot._mknod._places import ATTEMPTS, os_error, require_alive, sweep
from devroot._mknod._plan import look
from devroot._mknod._report import Ending, Report, Result, ending_of
from devroot._mknod._steps import ACTING, Action, work_of
from devroot.errors import NodeError

if TYPE_CHECKING:
    from devroot._bulk import Member
    from devroot._filesystem import Directory, FileStatus
    from devroot._mknod._places import Place, Places
    from devroot._mknod._steps import Group, Plan, Step

_CREATED: Final = Ending(Result.CREATED)
_REMOVED: Final = Ending(Result.REMOVED)
_CHANGED: Final = (
    "it is not as it was when the plan was made, so nothing was done about it; plan again"
)
_MOUNTS_CHANGED: Final = (
    "another file system is here than when the plan was made: a mount came or went; make a new"
    " view (refresh) and plan again"
)


def carry_out(plan: Plan, places: Places, *, fresh: bool) -> Report:
    """Act upon each node that needs it, and raise if one of them failed.

    Args:
        plan: what to do.
        places: where; they are closed then.
        fresh: whether the plan was made a moment ago. Then whatever changed since is dealt with
            as the plan would have done; else nothing is done that the plan does not say.

    Raises:
        NodeError: a node failed, or this run left something behind; it has the report.
    """
    run = _Run(plan, places, fresh=fresh)
    run.sweep()
    run.settle()
    places.close()
    own = tuple(places.left_behind)
    report = Report(
        steps=work_of(plan).steps,
        leftovers=tuple(f"{error.filename}: {error.strerror}" for error in (*run.abandoned, *own)),
        endings=run.endings,
    )
    run.complain(report, own)
    return report


class _Run:
    """One run over a plan.

    Attributes:
        endings: how each node ended that was acted upon.
        abandoned: why something that another run left could not be cleaned up.
    """

    def __init__(self, plan: Plan, places: Places, *, fresh: bool) -> None:
        self._plan = plan
        self._places = places
        self._work = work_of(plan)
        self._steps = self._work.steps
        self._job = self._work.job
        self._fresh = fresh
        self._causes: dict[int, OSError] = {}
        self._doing = Doing.LOOK
        self._name = ""
        self._made = False
        self.endings: dict[int, Ending] = {}
        self.abandoned: list[OSError] = []

    def sweep(self) -> None:
        """Remove working directories of runs that were killed; see `sweep`."""
        for names, working in sorted(self._work.leftovers.items()):
            for name in working:
                try:
                    sweep(self._places.enter(names).directory, name)
                except OSError as error:
                    self.abandoned.append(error)

    def settle(self) -> None:
        """Act upon every node that needs it."""
        steps = self._steps
        acting = steps.missing | {
            index for index, step in steps.told.items() if step.action in ACTING
        }
        for group in self._work.groups if acting or not self._fresh else ():
            members = group.members
            if self._fresh:
                members = [member for member in members if member[0] in acting]
            else:
                members = [member for member in members if self._may_act(member[0])]
            if members:
                self._settle_group(group, members)

    def complain(self, report: Report, left_behind: tuple[OSError, ...]) -> None:
        """Raise if a node failed, or if this run left something behind.

        Raises:
            NodeError: so it is.
        """
        failed = report.first_failure()
        if failed is not None:
            index, outcome = failed
            filename = str(self._plan.dev_root.dev / outcome.path.below_dev)
            raise NodeError(
                outcome.errno, outcome.reason, filename, report=report
            ) from self._causes.get(index)
        for error in left_behind:
            reason = (
                "no node failed, but the working directory could not be removed"
                f" ({error.strerror}); the next run tries again"
            )
            raise NodeError(
                error.errno or errno.EIO, reason, str(error.filename), report=report
            ) from error

    def _may_act(self, index: int) -> bool:
        """Whether an old plan does not rule it out that something is done about the node."""
        action = self._steps.action(index)
        return action in ACTING or action is Action.KEEP

    def _settle_group(self, group: Group, members: list[Member]) -> None:
        """Act upon the nodes of one directory."""
        make = any(self._steps.action(index) is Action.CREATE for index, _, _ in members)
        try:
            place = self._places.enter(group.names, make=make)
            _require_device(place.directory, self._work.devices[group.names])
        except OSError as error:
            doing = Doing.DIRECTORY if make else Doing.LOOK
            for index, _, _ in members:
                self._fail(index, error, doing)
            return
        done = self._create_many(place, members)
        for index, name, _ in members:
            if index not in done:
                self._settle(place, index, name)

    def _create_many(self, place: Place, members: list[Member]) -> set[int]:
        """Make what is missing the quick way; whatever that cannot do is left to `_settle`."""
        missing = self._steps.missing
        made = [member for member in members if member[0] in missing]
        try:
            failed = publish_nodes(place.work, made, place.directory) if made else []
        except OSError:
            return set()
        done = {index for index, _, _ in made} - {made[position][0] for position in failed}
        self.endings.update(dict.fromkeys(done, _CREATED))
        return done

    def _settle(self, place: Place, index: int, name: str) -> None:
        """Act upon one node, again and again while others change the name."""
        planned = self._steps[index]
        self._name = str(index)
        try:
            step = planned if self._fresh else self._look_again(place, name, planned)
            for _ in range(ATTEMPTS):
                ending = self._act(place, name, step)
                if ending is not None:
                    self.endings[index] = ending
                    return
                step = self._look_again(place, name, planned)
            self._doing = Doing.END
            raise os_error(errno.EAGAIN, place.directory, name)
        except OSError as error:
            self._fail(index, error, self._doing, place)
        finally:
            if self._made:
                self._made = False
                with suppress(OSError):  # closing the working directory tries again, and tells
                    place.work.unlink(self._name)

    def _act(self, place: Place, name: str, step: Step) -> Ending | None:
        """Take a step; None if what is at the name is not what the step is for."""
        if step.action is Action.CREATE:
            work = self._completed(place, step)
            try:
                work.link(self._name, place.directory, name)
            except FileExistsError:
                return None
            return _CREATED
        if step.action is Action.REPAIR:
            done = (self._mend if step.in_place else self._replace)(place, name, step)
            return Ending(Result.REPAIRED, step.differences, step.reason) if done else None
        if step.action is Action.REMOVE:
            return _REMOVED if self._remove(place, name, step) else None
        return ending_of(step)

    def _completed(self, place: Place, step: Step) -> Directory:
        """Return the working directory, in which what is to be published is complete."""
        self._doing = Doing.WORK
        work = place.work
        if not self._made:
            self._doing = self._job.doing
            self._job.make(work, self._name, step.node)
            self._made = True
        self._doing = Doing.PUBLISH
        return work

    def _replace(self, place: Place, name: str, step: Step) -> bool:
        work = self._completed(place, step)
        if not _same(look(place.directory, name), step.found):
            return False
        try:
            work.rename(self._name, place.directory, name, replace=True)
        except IsADirectoryError:
            return False
        self._made = False
        return True

    def _mend(self, place: Place, name: str, step: Step) -> bool:
        self._doing = Doing.MEND
        found = look(place.directory, name)
        if found is None or not _same(found, step.found):
            return False
        node, owner = step.node, "owner" in step.differences
        try:
            place.directory.mend(
                name,
                expected=found,
                mode=node.mode if "mode" in step.differences else None,
                uid=node.uid if owner else None,
                gid=node.gid if owner else None,
            )
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ESTALE}:
                return False
            raise
        return True

    def _remove(self, place: Place, name: str, step: Step) -> bool:
        self._doing = Doing.REMOVE
        if not _same(look(place.directory, name), step.found):
            return False
        try:
            place.directory.unlink(name)
        except (FileNotFoundError, IsADirectoryError):
            return False
        return True

    def _look_again(self, place: Place, name: str, planned: Step) -> Step:
        """Return what is to be done now; from an old plan nothing that it did not say."""
        self._doing = Doing.LOOK
        found = look(place.directory, name)
        step = self._job.decide(place.directory, name, found, planned.node)
        if self._fresh or step.action not in ACTING:
            return step
        if step.action is Action.CREATE:
            foreseen = planned.action in {Action.CREATE, Action.REPAIR}
        else:
            foreseen = planned.action is step.action and _same(found, planned.found)
        if foreseen:
            return step
        return attrs.evolve(step, action=Action.CONFLICT, reason=_CHANGED, errno=errno.ESTALE)

    def _fail(self, index: int, error: OSError, doing: Doing, place: Place | None = None) -> None:
        """Note that a node failed, and what to change."""
        where = f"{error.filename}: " if place is None else ""
        if place is not None and error.errno == errno.ENOENT:
            try:
                require_alive(place.directory)
            except DirectoryDeletedError as deleted:
                error = deleted
        node = self._steps.nodes[index]
        self._causes[index] = error
        self.endings[index] = Ending(
            Result.FAILED,
            reason=where + advice(error, doing, node=node),
            errno=error.errno or errno.EIO,
        )


def _same(found: FileStatus | None, expected: FileStatus | None) -> bool:
    """Whether *found* is the very file that was expected, whatever its mode and owner."""
    return (
        found is not None
        and expected is not None
        and found.same_file(expected)
        and (found.type, found.major, found.minor)
        == (expected.type, expected.major, expected.minor)
    )


def _require_device(directory: Directory, device: int) -> None:
    """Make sure that a directory is there still, and on the file system of the plan.

    Raises:
        OSError: ``ENOENT`` or ``ESTALE``.
    """
    if require_alive(directory).device != device:
        raise OSError(errno.ESTALE, _MOUNTS_CHANGED, str(directory.path))
