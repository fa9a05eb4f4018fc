"""Driver roots and dev roots: where the driver is, and where the host's device nodes are."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, Protocol, final, runtime_checkable

import attrs

from devroot._evidence import ACCEPTED, BEST_FIRST, Reach, Verdict
from devroot._find import LD_SO_CACHE, SYSTEM_DIRECTORIES, Search, require_root
from devroot._mounts import Mount, MountTable
from devroot._paths import (
    ContainerPath,
    DevicePath,
    HostPath,
    as_container_path,
    as_device_path,
    as_host_path,
)
from devroot._reach import HOST_DEV, examine_place
from devroot._view import ROOT, ContainerView
from devroot.errors import (
    DriverRootError,
    InvalidMountError,
    NoDevRootError,
    NotOnHostError,
    OutsideSubsetError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from devroot._filesystem import Directory
    from devroot._findings import DriverFile, Findings

_NOT_LOOKED_INTO: Final = "the driver root cannot be looked into"


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


@final
@attrs.frozen(kw_only=True)
class DevRoot:
    """A directory P with device nodes in ``P/dev``, and what is known of where they are.

    Attributes:
        container: P.
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
    names: tuple[DevicePath, ...] | None = None
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
            raise NotOnHostError(reach.container_path, reach=reach, remedies=self.remedies)
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
            return self._examine(self.container_path(path), follow_last=False)
        if self.names is None:
            return self._examine(self.dev, follow_last=True)
        parts = tuple(self.reach(name) for name in self.names)
        worst = max(parts, key=lambda part: BEST_FIRST.index(part.verdict))
        return attrs.evolve(worst, parts=parts)

    def _examine(self, path: ContainerPath, *, follow_last: bool) -> Reach:
        # Links below P stay inside P; those on the way to P are the container's own.
        inside = self.view.locate(path, root=self.container, follow_last=follow_last)
        place = self.view.locate(inside, follow_last=False)
        return examine_place(self.view, place, asked=path, declared=self.declared)

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
            raise NotOnHostError(reach.container_path, reach=reach, remedies=self.remedies)
        return reach

    def open_dev(self) -> Directory:
        """Open ``P/dev``, links in it followed inside P.

        Raises:
            OSError: it cannot be opened.
        """
        return self.view.filesystem.open_directory(self.container, "/dev")

    def __str__(self) -> str:
        shown = "" if self.names is None else f" (only {', '.join(map(str, self.names))})"
        return f"{self.container}{shown}"


@runtime_checkable
class Fallback(Protocol):
    """What to use as the dev root when the driver root has none that is accepted.

    .. versionadded:: 0.1.0
    """

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Return a dev root, or say why there is none.

        Args:
            driver_root: the driver root that needs it; its `DriverRoot.declared` adds what the
                fallback claims to the declared mounts.
            view: what the process sees.
        """
        ...


@final
@attrs.frozen
class RootFallback:
    """The dev root ``/``: this container's own ``/dev``, whatever that is.

    It always answers, and is what plugins do that do not ask; the reach of the answer says what
    that costs.

    .. versionadded:: 0.1.0
    """

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot:
        """Return the dev root ``/``."""
        return DevRoot(
            container=ROOT,
            view=view,
            declared=driver_root.declared(),
            remedies=(Mount(host=HOST_DEV, container=ROOT / "host-dev/dev"),),
            origin=repr(self),
        )


@final
@attrs.frozen(kw_only=True)
class DriverRoot:
    """A directory that holds a driver installation, on the host and in this container.

    It declares its own pair of paths as a mount. (One whose container side is ``/`` declares
    nothing: a container's root is no mount of the host's.)

    Attributes:
        host: where the installation is on the host, such as ``/run/nvidia/driver``.
        container: where this container sees it.
        view: what the process sees.

    Raises:
        InvalidMountError: the view's mounts say that another host path is at *container*.
        InvalidPathError: a path is not possible.
        PathKindError: a path is of the other side.

    .. versionadded:: 0.1.0
    """

    host: HostPath = attrs.field(converter=as_host_path)
    container: ContainerPath = attrs.field(converter=as_container_path)
    view: ContainerView

    def __attrs_post_init__(self) -> None:
        for mount in self.view.mounts or ():
            if mount.container == self.container and mount.host != self.host:
                reason = (
                    f"the driver root is said to be {self.host} on the host; give the same host"
                    " path in both places"
                )
                raise InvalidMountError(str(mount), reason=reason)

    @property
    def mount(self) -> Mount:
        """The mount that the driver root declares."""
        return Mount(host=self.host, container=self.container)

    def declared(self, *claims: Mount) -> MountTable | None:
        """Return the declared mounts: the driver root's own and the view's.

        Args:
            claims: what a fallback says is mounted. It counts only while nobody gave the view's
                mounts: a table that is given is complete.

        Returns:
            The table; None if there is nothing to say.
        """
        own = () if self.container == ROOT else (self.mount,)
        given = self.view.mounts
        if given is None:
            return MountTable((*own, *claims)) if own or claims else None
        if given.covering(self.container) is None:
            return MountTable((*own, *given))
        return given

    def dev_root(
        self,
        *,
        fallback: Fallback | None = None,
        accept: Collection[Verdict] = ACCEPTED,
    ) -> DevRoot:
        """Return the directory in which this driver's device nodes are.

        That is the driver root itself if it has a ``dev`` directory whose reach is accepted,
        else what the fallback gives if that is accepted, else the driver root if it has a
        ``dev``, else what the fallback gives all the same; its reach then says what is wrong.

        Args:
            fallback: what to ask; `RootFallback` by default.
            accept: the verdicts that are good enough, here and later in `DevRoot.host_path`.

        Raises:
            DriverRootError: the driver root does not exist, or is no directory.
            NoDevRootError: there is no ``dev`` in the driver root, and the fallback refused.
            OSError: a directory on the way cannot be looked into.
        """
        accepted = frozenset(accept)
        own = self._own_dev_root(accepted)
        if own is not None and own.reach().verdict in accepted:
            return own
        asked = RootFallback() if fallback is None else fallback
        answer = asked.dev_root(self, self.view)
        if isinstance(answer, DevRoot):
            answer = attrs.evolve(answer, accept=accepted)
            if own is None or answer.reach().verdict in accepted:
                return answer
        elif own is None:
            raise NoDevRootError(self.container, refusals=answer.flat())
        return own

    def _own_dev_root(self, accept: frozenset[Verdict]) -> DevRoot | None:
        """Return the driver root as a dev root, if it has a ``dev`` directory."""
        files = self.view.filesystem
        try:
            files.open_directory(self.container, "/").close()
        except OSError as error:
            reason = f"{_NOT_LOOKED_INTO}; is {self.host} mounted there?"
            raise DriverRootError(error.errno or errno.EIO, reason, str(self.container)) from error
        try:
            is_directory = files.status(self.container, "/dev").is_directory
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not is_directory:
            return None
        return DevRoot(
            container=self.container,
            view=self.view,
            declared=self.declared(),
            remedies=(Mount(host=HOST_DEV, container=self.container / "dev"),),
            accept=accept,
            origin="the driver root",
        )

    def resolve(self, unsafe_path: str) -> ContainerPath:
        """Return where *unsafe_path* leads inside the driver root, every link followed.

        Args:
            unsafe_path: a path as the driver's own files write it: from the driver root. ``..``
                stops there, and an absolute link starts there.

        Raises:
            InvalidPathError: *unsafe_path* holds a NUL.
            OSError: it leads to nothing; see `FileSystem.resolve`, with its ``Races``.
        """
        return self.view.filesystem.resolve(self.container, unsafe_path)

    def to_host(self, path: ContainerPath) -> HostPath:
        """Return the host path of a place in the driver root, by the declared mounts.

        That is a matter of text: resolve the path first, for the host takes its links otherwise.

        Args:
            path: the driver root in this container, or a path below it.

        Raises:
            InvalidPathError: *path* does not lie in the driver root.
            NotMountedError: a mount whose host side nobody knows is declared there.
        """
        below = path.relative_to(self.container)
        declared = self.declared()
        if declared is None or declared.covering(path) is None:
            return self.host / below
        return declared.to_host(path)

    def find(
        self,
        name: str,
        *,
        directories: Iterable[str] = SYSTEM_DIRECTORIES,
        cache: str | None = LD_SO_CACHE,
    ) -> DriverFile:
        """Return the first regular file of this name, every link followed inside the driver root.

        Where each kind of the NVIDIA driver's files is, `devroot.nvidia.DriverFiles` knows.

        Args:
            name: taken as it is, wildcards too. It can have several components, such as
                ``vulkan/icd.d/nvidia_icd.json``. One that starts with a slash is a path from the
                driver root, and nothing else is looked at. ``..`` stops at the driver root.
            directories: where to look, in this order, as seen from the driver root.
            cache: an ``ld.so.cache`` in the driver root that is asked last, for a name of one
                component; None for none. A broken one is passed over.

        Raises:
            DriverFileError: there is none; a `FileNotFoundError` that lists every candidate.
            DriverRootError: the driver root does not exist, or is no directory.
            InvalidPathError: *name* is empty or no file can have it.
            OSError: ``EMFILE``, ``ENFILE`` or ``ENOMEM``: the search was cut short.
            PathKindError: *name* or a directory is not a string.

        Races: the answer is true of one moment.
        """
        return self._search().find(name, directories=directories, cache=cache)

    def find_all(
        self,
        pattern: str,
        *,
        directories: Iterable[str] = SYSTEM_DIRECTORIES,
        cache: str | None = LD_SO_CACHE,
    ) -> Findings:
        """Return all regular files that match a pattern, every link followed likewise.

        They come in the order of the directories. In a directory, numbers in the names count as
        numbers and the greatest comes first, so that the newest version does; the rest is in the
        order of the alphabet. A file that several names lead to comes once, with the first.

        Args:
            pattern: names as glob(7) has them, each within one component: ``*``, ``?``,
                ``[ab]``, ``[!ab]``. A leading dot is matched by a dot only. A pattern that starts
                with a slash is one from the driver root, and nothing else is looked at.
            directories: where to look, in this order, as seen from the driver root. Wildcards
                mean nothing in them.
            cache: an ``ld.so.cache`` in the driver root, whose libraries' directories are looked
                into last; None for none. A broken one is passed over.

        Returns:
            What was found, which can be nothing; `Findings.require` raises then.

        Raises:
            DriverRootError: as from `find`; `InvalidPathError`, `OSError` and `PathKindError`
                likewise.

        Races: the answer is true of one moment.
        """
        return self._search().find_all(pattern, directories=directories, cache=cache)

    def _search(self) -> Search:
        require_root(self.view.filesystem, self.container, self.host)
        return Search(filesystem=self.view.filesystem, root=self.container, to_host=self.to_host)
