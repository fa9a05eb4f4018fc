"""Make device nodes, each in one atomic step, and remove them: `mknod`, `apply`, `remove`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devroot._mknod._jobs import RemoveNodes
from devroot._mknod._places import Places
from devroot._mknod._plan import make_nodes, make_plan
from devroot._mknod._report import Report
from devroot._mknod._steps import work_of
from devroot._mknod._tell import carry_out_and_tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._mknod._jobs import Job, OnConflict
    from devroot._mknod._steps import Plan


def mknod(
    dev_root: DevRoot,
    nodes: Iterable[DeviceNode],
    *,
    on_conflict: OnConflict = "repair",
    touch_withheld: bool = False,
    dry_run: bool = False,
) -> Report:
    """Have device nodes below a dev root, exactly as described; nothing happens to right ones.

    A node appears at its name complete, with number, mode and owner, in one atomic step; the
    umask does not matter. Missing directories on the way are made 0755 and root's, likewise in
    one step. A wrong mode or owner alone is mended in place, so ACLs, labels and binds of the
    node stay; replacing a node takes it from under binds that others have on it. Two processes
    that make the same nodes at once both succeed. One failure stops nothing else.

    Args:
        dev_root: where. Whether the host sees what is made there is not asked here; see
            `DevRoot.require_reach`.
        nodes: the nodes; the same one twice counts once.
        on_conflict: what to do with something else at a name, see `plan`.
        touch_withheld: whether to make and change also nodes whose owner says that nobody else
            should.
        dry_run: whether to stop after the plan. The report then says what a run would aim at,
            and nothing is raised for nodes that would fail.

    Returns:
        What became of each node. Withheld and kept nodes are told there, and are no error.

    Raises:
        NodeError: at least one node is not as described; it has the report.
        InvalidNodeError: as from `plan`; likewise `MountInfoError`.

    Privileges: ``CAP_MKNOD`` in the initial user namespace, and ``CAP_CHOWN``, ``CAP_FOWNER``
    and ``CAP_DAC_OVERRIDE`` where the owner or the directory is not this process's.

    Races: what is at a name is looked at again just before it is replaced. What another process
    puts there in the last moment, between that look and rename(2), is replaced too, except for a
    directory or a mount, which the kernel refuses to replace.

    .. versionadded:: 0.1.0
    """
    job = make_nodes(dev_root, on_conflict=on_conflict, touch_withheld=touch_withheld)
    return run(dev_root, nodes, job, dry_run=dry_run)


def apply(plan: Plan) -> Report:
    """Carry a plan out, however old it is.

    Each node is looked at again. One that is right by now is left alone. What the plan did not
    see is not touched: a step is taken only if what it replaces, mends or removes still is the
    very file that the plan found, and nothing is made that the plan did not say. Anything else
    fails with ``ESTALE``, and the way out is a new plan.

    Args:
        plan: from `plan`.

    Returns:
        What became of each node.

    Raises:
        NodeError: at least one node is not as described; it has the report.

    .. versionadded:: 0.1.0
    """
    with Places(plan.dev_root.open_dev) as places:
        return carry_out_and_tell(plan, places, fresh=False)


def remove(
    dev_root: DevRoot,
    nodes: Iterable[DeviceNode],
    *,
    touch_withheld: bool = False,
    dry_run: bool = False,
) -> Report:
    """Remove what is exactly these device nodes, and nothing else.

    Type and number decide; mode and owner do not, for the node is still the same. Anything else
    at the name is left and reported as *kept*, with the reason. Directories stay, empty or not.

    Args:
        dev_root: where.
        nodes: the nodes; the same one twice counts once.
        touch_withheld: whether to remove also nodes whose owner says that nobody else should
            change them.
        dry_run: whether only to say what a run would aim at.

    Returns:
        What became of each node; those that were not there are *unchanged*.

    Raises:
        NodeError: at least one node could not be removed; it has the report.
        InvalidNodeError: two different nodes have one path.
        MountInfoError: as from `plan`.

    Races: what is at a name is looked at just before it is removed. A file that another process
    puts there in the last moment, between that look and unlink(2), is removed instead, except
    for a directory or a mount.

    .. versionadded:: 0.1.0
    """
    job = RemoveNodes(touch_withheld=touch_withheld)
    return run(dev_root, nodes, job, dry_run=dry_run)


def run(dev_root: DevRoot, nodes: Iterable[DeviceNode], job: Job, *, dry_run: bool) -> Report:
    """Plan *job* for the nodes and carry it out, going on where things change meanwhile.

    Raises:
        NodeError: as from `mknod`; likewise its other errors.
    """
    with Places(dev_root.open_dev) as places:
        plan = make_plan(dev_root, nodes, job, places)
        if dry_run:
            return Report(steps=work_of(plan).steps, dry_run=True)
        return carry_out_and_tell(plan, places, fresh=True)
