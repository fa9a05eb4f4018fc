"""Look at each directory once, and say what is to be done about each node: `plan`."""

from __future__ import annotations

import errno
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import attrs

from devroot._evidence import EvidenceCode
from devroot._mknod._advice import Doing, advice
from devroot._mknod._jobs import ON_CONFLICT, MakeNodes
from devroot._mknod._places import Places, leftovers, require_alive
from devroot._mknod._steps import ACTING, Action, Group, Plan, Step, Steps, Work
from devroot._paths import DevicePath
from devroot._reach import blockers_of
from devroot.errors import InvalidNodeError, OutsideSubsetError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._bulk import Member
    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._filesystem import Directory, FileStatus
    from devroot._mknod._jobs import Job, OnConflict
    from devroot._paths import ContainerPath

_ANY_CHANGE: Final = {EvidenceCode.READ_ONLY: errno.EROFS}
_MAKING: Final = {
    **_ANY_CHANGE,
    EvidenceCode.NODEV: errno.EACCES,
    EvidenceCode.USER_NAMESPACE: errno.EPERM,
    EvidenceCode.NO_CAP_MKNOD: errno.EPERM,
}
"""What a blocker is called by the kernel; on ``nodev`` it is open(2) that says ``EACCES``."""


def plan(
    dev_root: DevRoot,
    nodes: Iterable[DeviceNode],
    *,
    on_conflict: OnConflict = "repair",
    touch_withheld: bool = False,
) -> Plan:
    """Say what `mknod` would do about each node; nothing is changed.

    Each directory is opened and listed once, and no link below the dev root's ``dev`` is
    followed.

    Args:
        dev_root: where the nodes are to be.
        nodes: the nodes; the same one twice counts once.
        on_conflict: what to do with something else at a name. ``"repair"`` replaces a symbolic
            link, a regular file, a fifo, a socket and a node of another type or number, and
            mends a wrong mode or owner in place; ``"keep"`` leaves them, and says so;
            ``"error"`` calls each a conflict. A directory and a mount are never replaced: they
            are always a conflict.
        touch_withheld: whether to make and change also nodes whose owner says that nobody else
            should (`DeviceNode.withheld`).

    Returns:
        The plan. A node is *blocked* if it lies outside the dev root's subset, if the mount is
        read-only, or if it would have to be made and the mount has ``nodev`` (it could be made,
        but not opened), the process is in a user namespace, or it lacks ``CAP_MKNOD``.

    Raises:
        InvalidNodeError: two nodes have one path, or *on_conflict* is another word.
        MountInfoError: the mount table lost lines that matter here; see `ContainerView.refresh`.

    .. versionadded:: 0.1.0
    """
    job = make_nodes(dev_root, on_conflict=on_conflict, touch_withheld=touch_withheld)
    with Places(dev_root.open_dev) as places:
        return make_plan(dev_root, nodes, job, places)


def make_nodes(dev_root: DevRoot, *, on_conflict: OnConflict, touch_withheld: bool) -> MakeNodes:
    """Return the job of having nodes there, as `plan` describes it.

    Raises:
        InvalidNodeError: *on_conflict* is another word.
    """
    if on_conflict not in ON_CONFLICT:
        field = "on_conflict"
        raise InvalidNodeError(field, on_conflict, reason=f"it is one of {', '.join(ON_CONFLICT)}")
    return MakeNodes(
        mountinfo=dev_root.view.mountinfo, on_conflict=on_conflict, touch_withheld=touch_withheld
    )


def make_plan(dev_root: DevRoot, nodes: Iterable[DeviceNode], job: Job, places: Places) -> Plan:
    """Say what *job* is to do about each node, after a look at their *places*.

    Raises:
        InvalidNodeError: two different nodes have one path.
        MountInfoError: as from `plan`.
    """
    planner = _Planner(dev_root, nodes, job)
    planner.run(places)
    return Plan(
        dev_root=dev_root,
        nodes=planner.nodes,
        new_directories=tuple(sorted(planner.new_directories)),
        work=Work(
            steps=Steps(nodes=planner.nodes, missing=planner.missing, told=planner.steps),
            groups=tuple(planner.groups),
            devices=planner.devices,
            leftovers=planner.leftovers,
            job=job,
        ),
    )


class _Planner:
    """The look at all directories, and what it has found so far."""

    def __init__(self, dev_root: DevRoot, nodes: Iterable[DeviceNode], job: Job) -> None:
        self._dev_root = dev_root
        self._job = job
        self._present: dict[tuple[str, ...], frozenset[str]] = {}
        self.nodes, self.groups = _arrange(nodes, job)
        self.steps: dict[int, Step] = {}
        self.missing: set[int] = set()
        self.devices: dict[tuple[str, ...], int] = {}
        self.leftovers: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.new_directories: set[DevicePath] = set()

    def run(self, places: Places) -> None:
        """Look at every group."""
        for group in self.groups:
            members = self._inside_subset(group)
            if members:
                self._look(places, group, members)

    def _inside_subset(self, group: Group) -> list[Member]:
        """Return the nodes of a group that the dev root shows; the others are blocked."""
        names = self._dev_root.names
        if names is None or _shows_all(self._dev_root, group):
            return group.members
        inside: list[Member] = []
        for member in group.members:
            index, _, node = member
            path = self._job.path(node)
            if self._dev_root.contains(path):
                inside.append(member)
            else:
                self.steps[index] = Step(
                    node=node,
                    path=path,
                    action=Action.BLOCKED,
                    reason=str(OutsideSubsetError(path, names=names)),
                    errno=errno.ENOENT,
                )
        return inside

    def _look(self, places: Places, group: Group, members: list[Member]) -> None:
        """Look at one directory and its nodes."""
        try:
            directory, present, missing = self._open(places, group)
        except OSError as error:
            self._refuse(members, error)
            return
        judge = _Judge(self._dev_root, self._job, group, directory, missing)
        there = [member for member in members if member[1] in present]
        if len(there) < len(members):
            absent = [member for member in members if member[1] not in present]
            self._look_at_absent(judge, directory, absent, missing)
        right = self._job.right(directory, there)
        for member, is_right in zip(there, right, strict=True):
            if not is_right:
                self._tell(judge, directory, member, present=True)

    def _look_at_absent(
        self,
        judge: _Judge,
        directory: Directory,
        members: list[Member],
        missing: tuple[DevicePath, ...],
    ) -> None:
        """Note what is to be done about nodes where nothing is."""
        creates, unblocked = self._job.creates, judge.unblocked
        for member in members:
            index, name, node = member
            if creates(node) and unblocked(name):
                self.missing.add(index)
                self.new_directories.update(missing)
            else:
                self._tell(judge, directory, member, present=False)

    def _tell(self, judge: _Judge, directory: Directory, member: Member, *, present: bool) -> None:
        """Look closely at one node, and note what is to be done about it."""
        index, name, node = member
        try:
            found = look(directory, name) if present else None
            step = judge.judge(self._job.decide(directory, name, found, node), name)
        except OSError as error:
            self._refuse([member], error)
        else:
            self.steps[index] = step

    def _open(
        self, places: Places, group: Group
    ) -> tuple[Directory, frozenset[str], tuple[DevicePath, ...]]:
        """Open the directories on the way to a group's own.

        Returns:
            The deepest one that exists, the names in the group's own directory, and which
            directories are missing.
        """
        depth = places.descend(group.names)
        *above, (names, directory) = places.trail()
        for each in above:
            self._list(*each)
        present = self._list(names, directory)
        if depth == len(group.names):
            return directory, present, ()
        self.devices[group.names] = self.devices[names]
        ends = range(depth + 1, len(group.names) + 1)
        missing = tuple(DevicePath("/".join(group.names[:end])) for end in ends)
        return directory, frozenset(), missing

    def _list(self, names: tuple[str, ...], directory: Directory) -> frozenset[str]:
        """Return the names in a directory, listed when it is met first."""
        if names not in self._present:
            self.devices[names] = require_alive(directory).device
            self._present[names] = present = frozenset(directory.names())
            working = leftovers(present)
            if working:
                self.leftovers[names] = working
        return self._present[names]

    def _refuse(self, members: Iterable[Member], error: OSError) -> None:
        """Let no step be taken for nodes whose place cannot be looked at."""
        in_the_way = error.errno in {errno.ENOTDIR, errno.ELOOP}
        for index, _, node in members:
            self.steps[index] = Step(
                node=node,
                path=self._job.path(node),
                action=Action.CONFLICT if in_the_way else Action.BLOCKED,
                reason=f"{error.filename}: {advice(error, Doing.LOOK)}",
                errno=error.errno or errno.EIO,
            )


class _Judge:
    """Says which changes in one directory are not possible, whatever is there."""

    def __init__(
        self,
        dev_root: DevRoot,
        job: Job,
        group: Group,
        directory: Directory,
        missing: tuple[DevicePath, ...],
    ) -> None:
        self._view = dev_root.view
        self._job = job
        self._place = directory.path
        self._outside = [path for path in missing if not dev_root.contains(path)]
        # A subset of single devices has a mount for each name, any other directory has one.
        self._is_uniform = _shows_all(dev_root, group)
        self._known: dict[bool, tuple[str, int] | None] = {}

    def unblocked(self, name: str) -> bool:
        """Whether the name can be made."""
        return self._blocker(name, making=self._job.makes_devices) is None

    def judge(self, step: Step, name: str) -> Step:
        """Return *step*, or that it is blocked."""
        if step.action not in ACTING:
            return step
        in_place = step.action is Action.REPAIR and step.in_place
        blocker = self._blocker(name, making=self._job.makes_devices and not in_place)
        if blocker is None:
            return step
        return attrs.evolve(step, action=Action.BLOCKED, reason=blocker[0], errno=blocker[1])

    def _blocker(self, name: str, *, making: bool) -> tuple[str, int] | None:
        """Return what stands in the way, and what the kernel calls it."""
        if not self._is_uniform:
            return self._ask(self._place / name, making=making)
        if making not in self._known:
            self._known[making] = self._ask(self._place, making=making)
        return self._known[making]

    def _ask(self, place: ContainerPath, *, making: bool) -> tuple[str, int] | None:
        if self._outside:
            reason = (
                f"the directory {self._outside[0]} is missing, and lies outside the subset that"
                " this dev root shows; is the subset mounted?"
            )
            return reason, errno.ENOENT
        counts = _MAKING if making else _ANY_CHANGE
        mount = self._view.mountinfo.covering(place)
        blockers = [each for each in blockers_of(self._view, mount) if each.code in counts]
        if not blockers:
            return None
        return "; ".join(each.text for each in blockers), counts[blockers[0].code]


def _shows_all(dev_root: DevRoot, group: Group) -> bool:
    """Whether the dev root shows the directory as a whole, not only single names in it."""
    return dev_root.names is None or (group.path is not None and dev_root.contains(group.path))


def look(directory: Directory, name: str) -> FileStatus | None:
    """Return the status of *name*; None if nothing is there."""
    try:
        return directory.lstat(name)
    except FileNotFoundError:
        return None


def _arrange(nodes: Iterable[DeviceNode], job: Job) -> tuple[tuple[DeviceNode, ...], list[Group]]:
    """Return the nodes, each once, and the groups of those in one directory, parents first."""
    groups: dict[str, Group] = {}
    by_path: dict[str, DeviceNode] = {}
    path_of = job.path
    last, members = None, []
    for node in nodes:
        below = path_of(node).below_dev
        if below in by_path:
            _require_equal(by_path[below], node, path_of(node))
            continue
        directory, _, name = below.rpartition("/")
        if directory != last:
            last = directory
            if directory not in groups:
                names = tuple(directory.split("/")) if directory else ()
                groups[directory] = Group(names=names)
            members = groups[directory].members
        members.append((len(by_path), name, node))
        by_path[below] = node
    return tuple(by_path.values()), sorted(groups.values(), key=attrgetter("names"))


def _require_equal(one: DeviceNode, other: DeviceNode, path: DevicePath) -> None:
    """Raise unless two nodes for one name are the same.

    Raises:
        InvalidNodeError: they are not.
    """
    if one != other:
        field = "path"
        reason = f"two nodes would have this name: {one}, and {other}"
        raise InvalidNodeError(field, str(path), reason=reason)
