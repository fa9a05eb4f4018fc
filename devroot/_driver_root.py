"""Driver roots: where the driver is, and which dev root belongs to it, with what `Fallback`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, final, runtime_checkable

import attrs

from devroot._dev_root import DevRoot, Refusal, tell_refusal
from devroot._evidence import ACCEPTED, Verdict
from devroot._find import LD_SO_CACHE, SYSTEM_DIRECTORIES, Search, require_root
from devroot._log import Event, tell
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath, as_container_path, as_host_path
from devroot._reach import HOST_DEV
from devroot._view import ROOT, ContainerView
from devroot.errors import InvalidMountError, NoDevRootError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from devroot._evidence import Reach
    from devroot._findings import DriverFile, Findings

    Examined = tuple[DevRoot, Reach] | Refusal


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


EXAMINING: Final[dict[type, Callable[[Any, DriverRoot, ContainerView], Examined]]] = {}
"""How to ask the fallbacks of this library, and none that is derived from them or wraps them.

They have looked at the reach of their answer to refuse it or not, so nobody need look again.
"""


def ask(fallback: Fallback, driver_root: DriverRoot, view: ContainerView) -> Examined:
    """Return what a fallback answers, and the reach of a dev root, which is looked at once."""
    examine = EXAMINING.get(type(fallback))
    if examine is not None:
        return examine(fallback, driver_root, view)
    answer = fallback.dev_root(driver_root, view)
    return answer if isinstance(answer, Refusal) else (answer, answer.reach())


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
        found = self._choose(RootFallback() if fallback is None else fallback, frozenset(accept))
        tell(Event.DEV_ROOT_CHOSEN, found, self.container, found.origin)
        return found

    def _choose(self, fallback: Fallback, accepted: frozenset[Verdict]) -> DevRoot:
        own = self._own_dev_root(accepted)
        if own is not None and own.reach().verdict in accepted:
            return own
        if own is None:
            answer = fallback.dev_root(self, self.view)
            if isinstance(answer, Refusal):
                tell_refusal(answer)
                raise NoDevRootError(self.container, refusals=answer.flat())
            return attrs.evolve(answer, accept=accepted)
        examined = ask(fallback, self, self.view)
        if isinstance(examined, Refusal):
            tell_refusal(examined)
            return own
        if examined[1].verdict not in accepted:
            return own
        return attrs.evolve(examined[0], accept=accepted)

    def _own_dev_root(self, accept: frozenset[Verdict]) -> DevRoot | None:
        """Return the driver root as a dev root, if it has a ``dev`` directory."""
        files = self.view.filesystem
        try:
            is_directory = files.status(self.container, "/dev").is_directory
        except OSError as error:
            require_root(files, self.container, self.host)
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                return None
            raise
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
