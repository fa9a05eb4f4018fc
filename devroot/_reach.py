"""Whether a change below a container path is seen on the host: the question, and the answer.

What the rules look at is gathered here; the rules themselves are a room of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from devroot._evidence import Evidence, EvidenceCode, Reach, Verdict
from devroot._log import Event, is_heard, tell
from devroot._mounts import Mount, MountTable
from devroot._rules import HOST_DEV, Case, decide
from devroot._view import CAP_MKNOD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot._mountinfo import MountInfo
    from devroot._paths import ContainerPath
    from devroot._view import ContainerView

__all__ = ["HOST_DEV", "blockers_of", "examine", "examine_place"]


def examine(
    view: ContainerView, container_path: ContainerPath, *, declared: MountTable | None = None
) -> Reach:
    """Say whether a change at a path is seen on the host, and where.

    Links on the existing part of the path are followed inside the view first. The answer is for
    this path alone: a runtime binds single device files onto a private ``/dev``.

    Args:
        view: what the process sees.
        container_path: the path; it need not exist.
        declared: the declared mounts to go by instead of ``view.mounts``. While the view's own
            are not given, nothing follows from what *declared* does not list.

    Returns:
        The verdict with its evidence; never a guess presented as a proof.

    Raises:
        OSError: the existing part of the path cannot be followed (``EACCES``, ``ELOOP``).
        MountInfoError: a mount table lost lines that matter here.
        PathKindError: *container_path* is not a container path.

    .. versionadded:: 0.1.0
    """
    place, link = view._placed(container_path)  # noqa: SLF001 - of one library
    over = None if link == place else link  # a link at the path itself is replaced
    return examine_place(view, place, asked=container_path, declared=declared, over=over)


def examine_place(
    view: ContainerView,
    place: ContainerPath,
    *,
    asked: ContainerPath,
    declared: MountTable | None,
    over: ContainerPath | None = None,
) -> Reach:
    """Say the same as `examine` of a place whose links have been followed already.

    Args:
        view: as for `examine`.
        place: the place.
        asked: the path that was asked for.
        declared: as for `examine`.
        over: a link on the way to it that leads nowhere.
    """
    mount = view.mountinfo.covering(place)
    blockers = tuple(blockers_of(view, mount))
    if mount is None:
        text = f"the mount table lists no mount that serves {place}; the root may be no mount point"
        reach = Reach(
            container_path=asked,
            verdict=Verdict.UNKNOWN,
            evidence=(Evidence(EvidenceCode.NO_MOUNT, text),),
            blockers=blockers,
        )
        return _told(reach)
    table = _where_they_are(view, view.mounts if declared is None else declared)
    there, weighed = _declared_there(view, table, place, mount)
    case = Case(
        view=view,
        place=place,
        mount=mount,
        within=mount.place_of(place),
        declared=there,
        table=table,
        over=over,
    )
    covered = Evidence(EvidenceCode.COVERED, f"{mount} serves {place}")
    passed, finding = decide(case)
    reach = Reach(
        container_path=asked,
        verdict=finding.verdict,
        host_path=finding.host_paths[0] if finding.host_paths else None,
        host_paths=finding.host_paths,
        evidence=(covered, *weighed, *passed, *finding.evidence),
        blockers=blockers,
        mount=mount,
    )
    return _told(reach)


def _told(reach: Reach) -> Reach:
    if is_heard(Event.REACH):
        words = "; ".join(evidence.text for evidence in (*reach.evidence, *reach.blockers))
        where = "unknown" if reach.host_path is None else reach.host_path
        tell(Event.REACH, reach.container_path, reach.verdict.name, where, words)
    return reach


def _where_they_are(view: ContainerView, table: MountTable | None) -> MountTable | None:
    """Return the table with the links in its mount points followed, as a runtime did.

    ``/var/run/cdi`` is mounted at ``/run/cdi`` in an image where ``/var/run`` is a link.
    """
    if table is None or all(_is_mount_point(view, mount.container) for mount in table):
        return table
    return MountTable(_where_it_is(view, mount) for mount in table)


def _where_it_is(view: ContainerView, mount: Mount) -> Mount:
    if _is_mount_point(view, mount.container):
        return mount
    try:
        return attrs.evolve(mount, container=view.locate(mount.container))
    except OSError:  # what cannot be looked into here says nothing of other places
        return mount


def _is_mount_point(view: ContainerView, path: ContainerPath) -> bool:
    mount = view.mountinfo.covering(path)
    return mount is not None and mount.mount_point == path


def _declared_there(
    view: ContainerView,
    table: MountTable | None,
    place: ContainerPath,
    mount: MountInfo[ContainerPath],
) -> tuple[Mount | None, list[Evidence]]:
    """Return the declared mount that covers the place, if a mount really is there, and why."""
    declared = None if table is None else table.covering(place)
    if table is None or (declared is None and view.mounts is None):
        text = "nobody said which mounts were asked for"
        return None, [Evidence(EvidenceCode.MOUNTS_NOT_GIVEN, text)]
    if declared is None:
        text = f"the mounts that were asked for do not cover {place}"
        return None, [Evidence(EvidenceCode.NOT_DECLARED, text)]
    if not mount.mount_point.is_relative_to(declared.container):
        text = f"{declared} was asked for, but nothing is mounted at {declared.container}"
        return None, [Evidence(EvidenceCode.NOT_THERE, text)]
    if declared.host is None:
        text = f"what is mounted at {declared.container} is not from a known host path"
        return declared, [Evidence(EvidenceCode.NO_HOST_SIDE, text)]
    text = f"{declared} was asked for, which makes it host path {table.to_host(place)}"
    return declared, [Evidence(EvidenceCode.DECLARED_AS, text)]


def blockers_of(view: ContainerView, mount: MountInfo[ContainerPath] | None) -> Iterator[Evidence]:
    """Yield what stands in the way of making or opening a node on the mount."""
    if mount is not None and mount.read_only:
        text = f"{mount} is read-only, so nothing can be made there; mount it without ro"
        yield Evidence(EvidenceCode.READ_ONLY, text)
    if mount is not None and mount.nodev:
        text = f"{mount} has nodev, so device nodes on it cannot be opened; mount it without nodev"
        yield Evidence(EvidenceCode.NODEV, text)
    if view.initial_user_namespace is False:
        text = (
            "this is not the initial user namespace, where mknod(2) of a device fails whatever"
            " the capabilities; run the pod with hostUsers: true"
        )
        yield Evidence(EvidenceCode.USER_NAMESPACE, text)
    if view.effective_capabilities is not None and not view.effective_capabilities >> CAP_MKNOD & 1:
        text = "CAP_MKNOD is not effective; add MKNOD to the container's capabilities"
        yield Evidence(EvidenceCode.NO_CAP_MKNOD, text)
