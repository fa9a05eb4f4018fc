"""The directories of a dev root that a run works in, and the working directory inside each.

What is made is completed where nobody else looks: in a directory with mode 0700 inside the
target directory, so that it is on the same mount and can be published by one system call. The
maker holds it by a flock(2) lock. A lock ends with its process and the forks of that, however
they end, so whoever gets the lock of a working directory knows that nobody works in it any more,
and removes it. A new directory has such a name too until it is complete and gets its own.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final, final

from devroot._log import Event, tell
from devroot._mknod._advice import DirectoryDeletedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Self

    from devroot._filesystem import Directory, FileStatus

_PREFIX: Final = ".devroot-"
_NAME: Final = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{16}")
_WORKING_MODE: Final = 0o700
_DIRECTORY_MODE: Final = 0o755

ATTEMPTS: Final = 64
"""How often to try again when another process was faster, before that is an error.

Each attempt fails only if somebody acted on the very name in between, so that an honest crowd
never comes near it.
"""


def _new_name() -> str:
    return _PREFIX + os.urandom(8).hex()


def leftovers(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the *names* in a directory that are of working directories, in order."""
    alike = [name for name in names if name.startswith(_PREFIX)]  # there can be many others
    return tuple(sorted(name for name in alike if _NAME.fullmatch(name)))


def sweep(directory: Directory, name: str) -> None:
    """Remove the working directory *name*, unless somebody still works in it.

    Only a directory is touched that has the name, the owner and a mode that this library gives
    it. Whoever made it cannot lose it: it is locked from the moment when its maker has looked
    whether it still is there.

    Raises:
        OSError: it could not be removed.
    """
    with suppress(FileNotFoundError):  # its maker, or another cleaner, was faster
        found = directory.lstat(name)
        if (
            not found.is_directory
            or found.uid not in {0, os.geteuid()}
            or (found.mode & 0o077 and found.mode != _DIRECTORY_MODE)
        ):
            return
        with directory.open_directory(name) as abandoned:
            if abandoned.try_lock() and directory.lstat(name).same_file(abandoned.status()):
                _remove(directory, name, abandoned)
                tell(Event.LEFTOVER_REMOVED, directory.path / name)


def _remove(directory: Directory, name: str, opened: Directory) -> None:
    """Remove a working directory with what is in it: finished and half-made nodes and links."""
    try:
        directory.remove_directory(name)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        for each in opened.names():
            opened.unlink(each)
        directory.remove_directory(name)


def _discard(directory: Directory, name: str) -> None:
    """Remove an empty directory, if nobody else did."""
    with suppress(FileNotFoundError):
        directory.remove_directory(name)


@final
class Workplace:
    """The working directory of this run inside a target directory."""

    __slots__ = ("_name", "_target", "directory")

    def __init__(self, target: Directory) -> None:
        """Make it, and hold it.

        Raises:
            OSError: it cannot be made in *target*.
        """
        self._target = target
        for _ in range(ATTEMPTS):
            self._name = _new_name()
            if self._make():
                taken = self._take()
                if taken is not None:
                    self.directory = taken
                    return
        raise os_error(errno.EAGAIN, target, self._name)

    def _make(self) -> bool:
        """Make the directory; False if it was there, or somebody's `sweep` took it at once."""
        try:
            self._target.make_directory(self._name, mode=_WORKING_MODE)
        except FileExistsError:
            return False
        except FileNotFoundError:
            require_alive(self._target)
            return False
        except BaseException:
            _discard(self._target, self._name)
            raise
        return True

    def _take(self) -> Directory | None:
        """Open and lock the directory; None if somebody's `sweep` got hold of it first."""
        with suppress(FileNotFoundError), ExitStack() as undo:
            undo.callback(_discard, self._target, self._name)
            directory = undo.enter_context(self._target.open_directory(self._name))
            if directory.try_lock() and directory.status().links:
                undo.pop_all()
                return directory
        return None

    def close(self) -> None:
        """Remove it with all that is in it.

        Raises:
            OSError: that failed, and something is left behind.
        """
        with self.directory:
            _remove(self._target, self._name, self.directory)


@final
class Place:
    """A directory of the dev root that is open, with its working directory once one is needed."""

    __slots__ = ("_left_behind", "_refusal", "_work", "directory")

    def __init__(self, directory: Directory, left_behind: list[OSError]) -> None:
        """Take the open *directory* over; what cannot be cleaned up is added to *left_behind*."""
        self.directory = directory
        self._left_behind = left_behind
        self._work: Workplace | None = None
        self._refusal: tuple[int, str, str] | None = None

    @property
    def work(self) -> Directory:
        """The working directory; made now, if it was not yet.

        Raises:
            OSError: it cannot be made; the same for everybody who asks.
        """
        if self._refusal is not None:
            raise OSError(*self._refusal)
        if self._work is None:
            try:
                self._work = Workplace(self.directory)
            except OSError as error:
                self._refusal = (error.errno or errno.EIO, str(error.strerror), error.filename)
                raise
        return self._work.directory

    def make_directory(self, name: str) -> None:
        """Make the directory *name*, 0755 and root's whatever the umask; another's will do too.

        It is complete before it gets its name. Nobody holds it until then: if somebody's `sweep`
        takes it for a leftover, this does nothing, and has to be done again.

        Raises:
            OSError: it cannot be made.
        """
        new = _new_name()
        try:
            self.directory.make_directory(new, mode=_DIRECTORY_MODE)
            self.directory.rename(new, self.directory, name, replace=False)
        except BaseException as error:
            try:
                _discard(self.directory, new)
            except OSError as left:
                self._left_behind.append(left)
            if isinstance(error, FileNotFoundError):
                require_alive(self.directory)
            elif not isinstance(error, FileExistsError):
                raise

    def close(self) -> None:
        """Remove the working directory and give the handle back."""
        with self.directory:
            if self._work is not None:
                self._clean_up(self._work)

    def _clean_up(self, work: Workplace) -> None:
        try:
            work.close()
        except OSError as error:
            self._left_behind.append(error)


@final
class Places:
    """The open directories from ``dev`` down to the one at hand.

    Whoever enters directories in the order of their paths opens each once.

    Attributes:
        left_behind: what could not be cleaned up so far.
    """

    def __init__(self, open_dev: Callable[[], Directory]) -> None:
        """Know how to open ``dev``, which is done when the first directory is entered."""
        self._open_dev = open_dev
        self._stack: list[Place] = []
        self._names: list[str] = []
        self.left_behind: list[OSError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give all handles back, and remove the working directories."""
        self._leave(-1)

    def descend(self, names: tuple[str, ...]) -> int:
        """Open the directories to which *names* lead from ``dev``, following no link.

        Returns:
            How many of the names exist; those are open now, and no others.

        Raises:
            OSError: one of them cannot be opened, or is no directory.
        """
        if not self._stack:
            self._push(self._open_dev())
        common = 0
        for ours, theirs in zip(self._names, names, strict=False):
            if ours != theirs:
                break
            common += 1
        self._leave(common)
        for name in names[common:]:
            try:
                directory = self._stack[-1].directory.open_directory(name)
            except FileNotFoundError:
                break
            self._push(directory, name)
        return len(self._names)

    def trail(self) -> Iterator[tuple[tuple[str, ...], Directory]]:
        """Yield each directory that is open, ``dev`` first, and the names that lead to it."""
        for depth, place in enumerate(self._stack):
            yield tuple(self._names[:depth]), place.directory

    def enter(self, names: tuple[str, ...], *, make: bool = False) -> Place:
        """Open the directory to which *names* lead from ``dev``, following no link.

        Args:
            names: of the directories on the way.
            make: whether to make those that are missing.

        Raises:
            OSError: one of them cannot be opened, is no directory, or cannot be made.
        """
        for _ in range(len(names) + ATTEMPTS):
            depth = self.descend(names)
            here = self._stack[-1]
            if depth == len(names):
                return here
            name = names[depth]
            if not make:
                raise os_error(errno.ENOENT, here.directory, name)
            here.make_directory(name)
        raise os_error(errno.EAGAIN, self._stack[-1].directory, names[len(self._names)])

    def _push(self, directory: Directory, *name: str) -> None:
        self._stack.append(Place(directory, self.left_behind))
        self._names += name

    def _leave(self, depth: int) -> None:
        """Close what is deeper than *depth*."""
        while len(self._stack) > depth + 1:
            try:
                self._stack.pop().close()
            except BaseException:
                self._leave(depth)
                raise
        del self._names[max(depth, 0) :]


def os_error(number: int, directory: Directory, name: str) -> OSError:
    """Return the `OSError` subclass for *number* about a name in *directory*."""
    return OSError(number, os.strerror(number), str(directory.path / name))


def require_alive(directory: Directory) -> FileStatus:
    """Return the status of an open directory, and make sure that it still has a name.

    Raises:
        DirectoryDeletedError: it was deleted.
    """
    status = directory.status()
    if status.links == 0:
        number = errno.ENOENT
        raise DirectoryDeletedError(number, os.strerror(number), str(directory.path))
    return status
