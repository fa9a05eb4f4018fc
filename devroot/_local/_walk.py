"""Follow a path inside a root, component by component, as chroot(2) would have it.

One algorithm, `follow`, goes along a `Trail`, which is the place that it has reached.
`DescriptorTrail` holds the directories on the way by descriptors, so nothing that another process
renames meanwhile leads it out of the root.
"""

from __future__ import annotations

import abc
import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Final

from devroot._paths import ContainerPath
from devroot.errors import InvalidPathError, PathKindError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

MAX_LINKS: Final = 40
"""How many links are followed at most; ``MAXSYMLINKS`` of the kernel, see path_resolution(7)."""

PATH_MAX: Final = 4096
"""Bytes of a path with the NUL at its end, see ``PATH_MAX`` in limits.h(0p)."""

HELD: Final = 32
"""How many directories a walk holds open at most, so that a deep path does not use up all."""

_NOSYMFOLLOW: Final = 0x2000
"""``ST_NOSYMFOLLOW`` of statfs(2): a mount on which no link is followed."""

_STICKY_SHARED: Final = stat.S_ISVTX | stat.S_IWOTH
_PROTECTED_LINKS: Final = "/proc/sys/fs/protected_symlinks"


def check(root: ContainerPath, unsafe_path: str) -> bytes:
    """Return *unsafe_path* as the kernel takes it; an empty one means the root.

    Raises:
        InvalidPathError: *unsafe_path* holds a NUL, or a character that no file name can hold.
        OSError: ``ENAMETOOLONG`` if it has `PATH_MAX` bytes or more; ``EILSEQ`` as from
            `require_utf8`.
        PathKindError: *root* is not a container path, or *unsafe_path* not a string.
    """
    if not isinstance(root, ContainerPath):
        raise PathKindError(root, wanted="ContainerPath")
    require_utf8(str(root))
    data = encode(unsafe_path, kind="path inside a root")
    if len(data) >= PATH_MAX:
        raise os_error(errno.ENAMETOOLONG, join(root, unsafe_path.lstrip("/")))
    return data or b"/"


def encode(text: str, *, kind: str) -> bytes:
    """Return *text* as a system call takes it.

    Raises:
        InvalidPathError: it holds a NUL, or a character that no file name can hold.
        OSError: ``EILSEQ`` as from `require_utf8`.
        PathKindError: it is not a string.
    """
    if not isinstance(text, str):
        raise PathKindError(text, wanted="str")
    require_utf8(text)
    if "\0" in text:
        raise InvalidPathError(text, kind=kind, reason="it holds a NUL")
    try:
        return os.fsencode(text)
    except UnicodeEncodeError as error:
        reason = f"no file name can hold {text[error.start]!r}"
        raise InvalidPathError(text, kind=kind, reason=reason) from None


def require_utf8(text: str) -> None:
    """Refuse a name that is not ASCII where Python would take it for another than mount tables do.

    These are read as UTF-8, and `os` goes by `sys.getfilesystemencoding`, which a locale of an
    older encoding makes another one.

    Raises:
        OSError: ``EILSEQ``; the text says what to set.
    """
    if not text.isascii() and (encoding := sys.getfilesystemencoding()) != "utf-8":
        reason = f"names of files are {encoding} in this locale; set PYTHONUTF8=1"
        raise os_error(errno.EILSEQ, text, reason)


def place(text: str) -> ContainerPath:
    """Return a place that was found, whose text is made of names that the kernel knows.

    Raises:
        OSError: ``EILSEQ`` as from `require_utf8`.
    """
    require_utf8(text)
    return ContainerPath._of_normal(text)  # noqa: SLF001 - of one library


def join(root: ContainerPath, relative: str) -> str:
    """Return the text of *relative* below *root*; of *root* itself if there is nothing below."""
    text = str(root)
    if not relative:
        return text
    return f"{text}{relative}" if text == "/" else f"{text}/{relative}"


def os_error(number: int, filename: str, text: str = "") -> OSError:
    """Return the subclass of `OSError` for *number*, with *text* or else the usual one."""
    return OSError(number, text or os.strerror(number), filename)


class Trail(abc.ABC):
    """The place inside a root that a walk has reached: a directory, or a leaf in it.

    Attributes:
        root: where the walk starts, and what it never leaves.
        names: the directories that were entered on the way from there.
        leaf: the name of something else in the last of them, or None.
    """

    __slots__ = ("leaf", "names", "root")

    def __init__(self, root: ContainerPath) -> None:
        self.root = root
        self.names: list[str] = []
        self.leaf: str | None = None

    @property
    def text(self) -> str:
        """The path of the place."""
        names = self.names if self.leaf is None else [*self.names, self.leaf]
        return join(self.root, "/".join(names))

    @property
    def path(self) -> ContainerPath:
        """The path of the place."""
        return place(self.text)

    def error(self, number: int) -> OSError:
        """Return an error that names the place."""
        return os_error(number, self.text)

    @abc.abstractmethod
    def enter(self, name: str) -> int:
        """Go to *name* itself: a directory becomes the place, anything else is a leaf in it.

        Returns:
            The file type of *name*, as ``stat.S_IFMT`` gives it.
        """

    @abc.abstractmethod
    def search(self) -> None:
        """Raise ``EACCES`` if nothing may be looked up in the directory."""

    @abc.abstractmethod
    def up(self) -> None:
        """Go back to the directory that this one was entered from; the root is its own."""

    @abc.abstractmethod
    def follow_leaf(self, *, trailing: bool) -> str:
        """Leave the leaf, a link, and return its target; go to the root if that is absolute.

        Args:
            trailing: whether the link is the last component of what is left of the path.
        """


def follow(
    trail: Trail, unsafe_path: str, *, last_link: bool = True, directory: bool = False
) -> None:
    """Take *trail* along *unsafe_path*.

    Args:
        trail: it starts at its root.
        unsafe_path: the path; a slash at its end demands a directory.
        last_link: whether a link as the last component is followed; a slash after it does so too.
        directory: whether a directory is demanded anyway.

    Raises:
        OSError: as path_resolution(7) has it, with the place that was reached as ``filename``.
    """
    directory = directory or unsafe_path.endswith("/")
    pending = _components(unsafe_path)
    links = 0
    while pending:
        name = pending.pop()
        if name in {".", ".."}:
            trail.search()
            if name == "..":
                trail.up()
            continue
        kind = trail.enter(name)
        if kind == stat.S_IFDIR:
            continue
        last = not pending
        if kind == stat.S_IFLNK and (last_link or directory or not last):
            links += 1
            if links > MAX_LINKS:
                raise trail.error(errno.ELOOP)
            target = trail.follow_leaf(trailing=last)
            directory = directory or (last and target.endswith("/"))
            pending += _components(target)
        elif directory or not last:
            raise trail.error(errno.ENOTDIR)


def _components(path: str) -> list[str]:
    """Return the names in *path*, the first one last."""
    return [name for name in reversed(path.split("/")) if name]


class DescriptorTrail(Trail):
    """A place that is held by a descriptor, and so are the directories on the way to it.

    ``..`` goes back to the directory that was entered, wherever that has been moved to, and so
    never above the root. Of a deep path only the last `HELD` directories stay open; those before
    are entered anew, from the root and without following a link, if ``..`` leads back to them.
    """

    __slots__ = ("_held", "_leaf_descriptor", "_leaf_status")

    _leaf_status: os.stat_result

    def __init__(self, root: ContainerPath) -> None:
        super().__init__(root)
        self._leaf_descriptor = -1
        self._held = [os.open(str(root), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._drop_leaf()
        while self._held:
            os.close(self._held.pop())

    def take(self) -> int:
        """Return the descriptor of the place, which is the caller's from now on."""
        if self._leaf_descriptor < 0:
            return self._held.pop()
        descriptor, self._leaf_descriptor = self._leaf_descriptor, -1
        return descriptor

    def enter(self, name: str) -> int:
        """See `Trail.enter`; both looks are at the name itself, the second one decides."""
        try:
            self._enter_directory(name)
        except NotADirectoryError:
            return self._enter_any(name)
        except OSError as error:
            raise self._named(error, name) from None
        return stat.S_IFDIR

    def search(self) -> None:
        """See `Trail.search`."""
        try:
            os.stat(".", dir_fd=self._held[-1])
        except OSError as error:
            raise self._named(error) from None

    def up(self) -> None:
        """See `Trail.up`."""
        if not self.names:
            return
        self.names.pop()
        os.close(self._held.pop())
        if self.names and len(self._held) == 1:
            names, self.names = self.names, []
            for name in names:
                try:
                    self._enter_directory(name)
                except OSError as error:
                    raise self._named(error, name) from None

    def follow_leaf(self, *, trailing: bool) -> str:
        """See `Trail.follow_leaf`; refuses what the kernel would not follow either."""
        link = self._leaf_status
        if trailing and is_protected(link, os.fstat(self._held[-1])):
            raise self.error(errno.EACCES)
        try:
            target = os.readlink("", dir_fd=self._leaf_descriptor)
        except OSError as error:
            raise self._named(error) from None
        system = os.fstatvfs(self._leaf_descriptor)
        if system.f_flag & _NOSYMFOLLOW or _is_magic(link, target, system):
            raise self.error(errno.ELOOP)
        self._drop_leaf()
        if target.startswith("/"):
            self.names.clear()
            while len(self._held) > 1:
                os.close(self._held.pop())
        return target

    def _enter_directory(self, name: str) -> None:
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._hold(os.open(name, flags, dir_fd=self._held[-1]), name)

    def _enter_any(self, name: str) -> int:
        flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=self._held[-1])
        except OSError as error:
            raise self._named(error, name) from None
        status = os.fstat(descriptor)
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFDIR:  # it has become one since the first look
            self._hold(descriptor, name)
        else:
            self.leaf, self._leaf_descriptor, self._leaf_status = name, descriptor, status
        return kind

    def _hold(self, descriptor: int, name: str) -> None:
        self.names.append(name)
        self._held.append(descriptor)
        if len(self._held) > HELD:
            os.close(self._held.pop(1))

    def _drop_leaf(self) -> None:
        self.leaf = None
        if self._leaf_descriptor >= 0:
            os.close(self._leaf_descriptor)
            self._leaf_descriptor = -1

    def _named(self, error: OSError, leaf: str | None = None) -> OSError:
        if leaf is not None:
            self.leaf = leaf
        error.filename = self.text
        return error


def is_protected(link: os.stat_result, parent: os.stat_result) -> bool:
    """Whether ``protected_symlinks`` of proc_sys_fs(5) forbids to follow *link* in *parent*.

    The kernel asks this of trailing links alone. A setting that cannot be read counts as on.
    """
    if parent.st_mode & _STICKY_SHARED != _STICKY_SHARED:
        return False
    if link.st_uid in {os.geteuid(), parent.st_uid}:
        return False
    try:
        with open(_PROTECTED_LINKS, "rb") as setting:
            return setting.read().strip() != b"0"
    except OSError:
        return True


def _is_magic(link: os.stat_result, target: str, system: os.statvfs_result) -> bool:
    """Whether *link* is a magic link of proc(5), which leads elsewhere than *target* says.

    There is no direct question for it. Such a link lies in a file system without blocks, has a
    size that is not its target's, and a target that is absolute, ``(unreachable)`` or a kind and
    number such as ``user:[4026531837]``; the plain links of procfs and sysfs are none of these.
    """
    return (
        system.f_blocks == 0
        and link.st_size != len(os.fsencode(target))
        and (target[:1] in {"/", "("} or ":[" in target)
    )
