"""The mounts of a process as the kernel sees them: a tree, by which a path finds its mount.

A table is read as bytes and split at newlines alone. Each line is checked when the table is
parsed, and decoded when somebody asks for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, cast, final, overload

from devroot._mountinfo import MountInfo, refusal, unescape
from devroot._paths import ContainerPath, KindT, PathT
from devroot.errors import MountInfoError, PathKindError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devroot._filesystem import FileSystem

_READ_ATTEMPTS: Final = 3
_SPACES_AFTER_HYPHEN: Final = 2


@final
class MountInfoTable(Generic[PathT]):
    """All mounts that one process sees.

    What is visible follows from the parent IDs, as in the kernel, and not from the order of the
    lines: the walk starts at the process's root mount and, at each component, steps onto the
    mount whose parent it stands on. So a mount that lies below a later mount on an ancestor, or
    below another one on the same mount point, is not found.

    Args:
        data: the content of a mountinfo file. The last newline may be missing.
        paths: whose view the file describes: `ContainerPath` for this process's own,
            `HostPath` for that of the host's PID 1.

    Raises:
        MountInfoError: a line cannot be parsed; it names the line.

    .. versionadded:: 0.1.0
    """

    __slots__ = (
        "_by_device",
        "_children",
        "_data",
        "_kind",
        "_lines",
        "_numbers",
        "_orphans",
        "_records",
        "_root",
    )

    # A mount is named by the number of its line. `_children` leads from a mount's ID and a mount
    # point, as bytes and decoded, to the mount that lies there on that mount.
    _data: bytes
    _kind: type[PathT]
    _lines: list[bytes]
    _numbers: dict[bytes, int]
    _children: dict[tuple[bytes, bytes], int]
    _root: int | None
    _orphans: dict[bytes, int]
    _by_device: dict[bytes, list[int]]
    _records: dict[int, MountInfo[PathT]]

    def __init__(self, data: bytes, *, paths: type[PathT]) -> None:
        self._data = data
        self._kind = paths
        self._records = {}
        self._by_device = {}
        self._lines = lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if b"\r" in data:
            _refuse_carriage_returns(lines)
        self._numbers = numbers = {}
        self._children = children = {}
        roots: list[tuple[bytes, bytes, int]] = []
        escaped = b"\\" in data
        # What this loop does not look at is checked when the line is decoded. It is the price of
        # every table, so it stays close to that of splitting the lines.
        for number, line in enumerate(lines):
            try:
                mount_id, parent_id, device, _, point, rest = line.split(b" ", 5)
                after_hyphen = rest.index(b" - ") + 3
            except ValueError as error:
                raise refusal(line, number + 1) from error
            if (
                rest.count(b" ", after_hyphen) < _SPACES_AFTER_HYPHEN
                or not (mount_id.isdigit() and parent_id.isdigit())
                or b":" not in device
                or point[:1] != b"/"
            ):
                raise refusal(line, number + 1)
            if escaped:
                point = unescape(point)
            numbers[mount_id] = number
            children[parent_id, point] = number
            if point == b"/":
                roots.append((mount_id, parent_id, number))
        self._find_root(roots)

    def _find_root(self, roots: list[tuple[bytes, bytes, int]]) -> None:
        """Find the process's root mount, and mounts whose parent the table does not list.

        The root mount's parent is not listed, for it lies outside the process's root; where it is
        rootfs, it is its own parent. Another mount at ``/`` lies on top of the root mount, and a
        look-up that starts at the root does not step onto it, path_resolution(7).
        """
        numbers, children = self._numbers, self._children
        self._root = None
        for mount_id, parent_id, number in roots:
            if parent_id == mount_id:
                del children[parent_id, b"/"]
            if self._root is None and (parent_id == mount_id or parent_id not in numbers):
                self._root = number
        lost = [key for key in children if key[0] not in numbers]
        if self._root is None:
            # The root is a directory that is no mount point: its mount is not listed, and all
            # that lies on it names it as the parent.
            self._orphans = {}
            for key in lost:
                children[b"", key[1]] = children[key]
        else:
            self._orphans = {
                point: number
                for parent_id, point in lost
                if (number := children[parent_id, point]) != self._root
            }

    @overload
    @classmethod
    def parse(cls, data: bytes) -> MountInfoTable[ContainerPath]: ...

    @overload
    @classmethod
    def parse(cls, data: bytes, *, paths: type[KindT]) -> MountInfoTable[KindT]: ...

    @classmethod
    def parse(cls, data: bytes, *, paths: type[Any] = ContainerPath) -> MountInfoTable[Any]:
        """Return the table that *data* holds, by default in this process's view.

        Args:
            data: as for the class.
            paths: as for the class.

        Raises:
            MountInfoError: a line cannot be parsed; it names the line.
        """
        return MountInfoTable(data, paths=paths)

    @classmethod
    def of(cls, mounts: Iterable[MountInfo[KindT]], *, paths: type[KindT]) -> MountInfoTable[KindT]:
        """Return the table that lists *mounts*, in their order.

        Args:
            mounts: the mounts, each in the view that *paths* names.
            paths: as for `parse`.

        Raises:
            MountInfoError: a mount cannot be written as a line.
        """
        return MountInfoTable(b"".join(mount.render() + b"\n" for mount in mounts), paths=paths)

    @classmethod
    def read(
        cls, filesystem: FileSystem, root: ContainerPath, unsafe_path: str, *, paths: type[KindT]
    ) -> MountInfoTable[KindT]:
        """Return the table in the mountinfo file to which *unsafe_path* leads inside *root*.

        A table that lost lines, because mounts came and went while it was read (before Linux
        5.8), is read again, up to three times in all.

        Args:
            filesystem: through which the file is read.
            root: where the path starts, such as ``/proc``.
            unsafe_path: such as ``self/mountinfo``.
            paths: as for `parse`.

        Raises:
            MountInfoError: a line cannot be parsed.
            OSError: the file cannot be read.
        """
        for _ in range(_READ_ATTEMPTS - 1):
            table = MountInfoTable.parse(filesystem.read_bytes(root, unsafe_path), paths=paths)
            if table.is_whole:
                return table
        return MountInfoTable.parse(filesystem.read_bytes(root, unsafe_path), paths=paths)

    @property
    def is_whole(self) -> bool:
        """Whether the parent of every mount but the root's is listed."""
        return not self._orphans

    def _record(self, number: int) -> MountInfo[PathT]:
        record = self._records.get(number)
        if record is None:
            try:
                record = MountInfo.from_line(self._lines[number], paths=self._kind)
            except MountInfoError as error:
                raise MountInfoError(
                    error.reason, line_number=number + 1, line=error.line
                ) from error
            self._records[number] = record
        return record

    def covering(self, path: PathT) -> MountInfo[PathT] | None:
        """Return the mount that serves *path*, which need not exist and has no links.

        Its cost depends on the depth of the path and not on the size of the table.

        Args:
            path: in the view of the process whose table this is.

        Returns:
            The visible mount at or above the path; None if the table does not list it, because
            the process's root is no mount point.

        Raises:
            MountInfoError: the table lost the parent of a mount at or above the path, so it
                cannot be told which of them is visible; read it again.
            PathKindError: *path* is in another view than the table.
        """
        if type(path) is not self._kind:
            raise PathKindError(path, wanted=self._kind.__name__)
        number = self._walk(bytes(path))
        return None if number is None else self._record(number)

    def _walk(self, path: bytes) -> int | None:
        """Step from the root mount to the one that covers *path*, as a look-up in the kernel."""
        number = self._root
        mount_id = b"" if number is None else self._id(number)
        children = self._children
        end = 0 if path != b"/" else -1
        while end != -1:
            end = path.find(b"/", end + 1)
            prefix = path if end == -1 else path[:end]
            if prefix in self._orphans:
                raise self._lost_parent(self._orphans[prefix])
            while (child := children.get((mount_id, prefix))) is not None:
                number = child
                mount_id = self._id(child)
        return number

    def _id(self, number: int) -> bytes:
        return self._lines[number].split(b" ", 1)[0]

    def _lost_parent(self, number: int) -> MountInfoError:
        mount = self._record(number)
        return MountInfoError(
            f"mount {mount.mount_id} names the parent {mount.parent_id}, which the table does not"
            " list, so mounts were lost while it was read; read it again",
            line_number=number + 1,
            line=self._lines[number].decode("utf-8", "backslashreplace"),
        )

    def visible(self) -> Iterator[MountInfo[PathT]]:
        """Yield each mount that some path leads to, in the order of the lines.

        Raises:
            MountInfoError: as from `covering`.
        """
        for number, mount in enumerate(self):
            if self._walk(bytes(mount.mount_point)) == number:
                yield mount

    def below(self, path: PathT) -> Iterator[MountInfo[PathT]]:
        """Yield the visible mounts whose mount point lies below *path*, itself excluded.

        Raises:
            MountInfoError: as from `covering`.
        """
        for mount in self.visible():
            if mount.mount_point != path and mount.mount_point.is_relative_to(path):
                yield mount

    def with_device(self, device: tuple[int, int]) -> tuple[MountInfo[PathT], ...]:
        """Return every mount, visible or not, of the file system with this device number.

        Args:
            device: major and minor number (decimal).
        """
        if not self._by_device:
            for number, line in enumerate(self._lines):
                self._by_device.setdefault(line.split(b" ", 3)[2], []).append(number)
        return tuple(map(self._record, self._by_device.get(b"%d:%d" % device, ())))

    def names_source(self, source: str) -> bool:
        """Whether a mount has the source *source*, a text without blanks and backslashes."""
        return f" {source} ".encode() in self._data and any(
            mount.source == source for mount in self
        )

    def render(self) -> bytes:
        """Return the text of the table, byte for byte as it was parsed."""
        return self._data

    def __iter__(self) -> Iterator[MountInfo[PathT]]:
        return map(self._record, range(len(self._lines)))

    def __len__(self) -> int:
        return len(self._lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MountInfoTable):
            return NotImplemented
        table = cast("MountInfoTable[PathT]", other)
        return (self._kind, self._data) == (table._kind, table._data)

    def __hash__(self) -> int:
        return hash((self._kind, self._data))

    def __repr__(self) -> str:
        return f"<MountInfoTable[{self._kind.__name__}] of {len(self)} mounts>"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(MountInfoTable.parse, paths=self._kind), (self._data,)


def _refuse_carriage_returns(lines: list[bytes]) -> None:
    """Refuse lines that end in CRLF; a carriage return elsewhere is part of a name."""
    for number, line in enumerate(lines):
        if line.endswith(b"\r"):
            reason = "it ends in a carriage return, which the kernel never writes"
            raise MountInfoError(
                reason,
                line_number=number + 1,
                line=line.decode("utf-8", "backslashreplace"),
            )
