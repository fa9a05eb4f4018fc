"""The mounts of a process as the kernel sees them: a tree, by which a path finds its mount.

A table is read as bytes and split at newlines alone. Parsing takes from each line what look-ups
depend on; the rest of a large table is decoded line by line, when somebody asks for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, final, overload

from devroot._log import Event, tell
from devroot._mountinfo import MountInfo, device_of, refusal, unescape
from devroot._paths import ContainerPath, KindT, PathT
from devroot.errors import MountInfoError, PathKindError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from devroot._filesystem import FileSystem

_READ_ATTEMPTS: Final = 3

# Tables written by hand are small, and the kernel does not err.
_SMALL: Final = 16 * 1024
_SLASH: Final = ord("/")
_UNUSUAL: Final = re.compile(rb"/(?:[/\0]|\.(?:[/\0]|\.[/\0]))")
"""What no mount point of the kernel has, a NUL being its end; no look-up would find it."""

_NOTHING: Final[dict[bytes, bytes]] = {}

_NO_PARENT: Final = "it names the parent %s, which the table does not list"
_TWICE: Final = "its ID or its place is listed twice"
_NO_ROOT: Final = "it does not tell which of its mounts is the root"


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
        MountInfoError: a line cannot be parsed; it names the line. In a table of more than 16 KiB
            what no look-up depends on is checked when the line is decoded, and raises the same.

    .. versionadded:: 0.1.0
    """

    __slots__ = (
        "_by_device",
        "_children",
        "_count",
        "_data",
        "_doubt",
        "_kind",
        "_offsets",
        "_records",
        "_start",
    )

    # A mount is named by its ID as the file writes it. `_offsets` leads from there to the offset
    # of its line, `_children` to what lies on it: from a mount point to the ID of the mount there.
    _data: bytes
    _kind: type[PathT]
    _count: int
    _offsets: dict[bytes, int]
    _children: dict[bytes, dict[bytes, bytes]]
    _start: bytes
    _doubt: tuple[int | None, str] | None
    _records: dict[int, MountInfo[PathT]]
    _by_device: dict[tuple[int, int], list[int]]

    def __init__(self, data: bytes, *, paths: type[PathT]) -> None:
        self._data = data
        self._kind = paths
        self._records = {}
        self._by_device = {}
        if b"\r" in data and 0 < data.count(b"\n") == data.count(b"\r\n"):
            # A single line may end so, for a carriage return can be part of a name.
            reason = "like every line, it ends in a carriage return, which the kernel never writes"
            raise MountInfoError(reason, line_number=1, line=_shown(self._line(0)))
        self._count = data.count(b"\n") + (data[-1:] not in {b"\n", b""})
        self._offsets = offsets = {}
        children: defaultdict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        self._children = children
        escaped = b"\\" in data
        offset, line, rootfs = 0, b"", b""
        # Every table pays for this loop, so it takes from a line only what look-ups need, and
        # keeps no line: to keep them would cost as much as to split them.
        try:
            for line in BytesIO(data):
                mount_id, parent_id, _, _, point, _ = line.split(b" ", 5)
                if point[0] != _SLASH:
                    raise ValueError  # noqa: TRY301 - a call for each line would cost too much
                if escaped:
                    point = unescape(point)
                offsets[mount_id] = offset
                if mount_id == parent_id and point == b"/":
                    rootfs = mount_id
                else:
                    children[parent_id][point] = mount_id
                offset += len(line)
        except (ValueError, IndexError) as error:
            raise refusal(self._line(offset), self._number(offset)) from error
        # A look-up starts at the root and steps onto none of the mounts there.
        on_root = {on: group.pop(b"/") for on, group in children.items() if b"/" in group}
        points = b"\0".join([*chain.from_iterable(children.values()), b""])
        if len(data) <= _SMALL or _UNUSUAL.search(points):
            for _ in self:  # the first line that cannot be decoded raises
                pass
        else:  # a text that was cut ends in the middle of its last line
            self._record(offset - len(line))
        self._start = rootfs or self._find_start(on_root)
        self._doubt = self._find_doubt(len(on_root) + bool(rootfs))

    def _find_start(self, on_root: dict[bytes, bytes]) -> bytes:
        """Return the ID of the mount where a look-up starts, which need not be listed.

        The parent of the root mount is not listed, because it lies outside the process's root. If
        the root is a directory that is no mount point, its mount is not listed either, and all
        that lies on it names it as the parent. Other mounts at ``/`` lie on the root mount, and a
        look-up that starts there does not step onto them, path_resolution(7).

        More than one parent is not listed where lines were lost. It does not matter which of them
        is taken then, for `_find_doubt` meets the others.
        """
        unlisted = sorted(self._children.keys() - self._offsets.keys())
        for on in unlisted:
            if on in on_root and not self._children[on]:
                del self._children[on]
                return on_root[on]
        return unlisted[0] if unlisted else b""

    def _find_doubt(self, at_root: int) -> tuple[int | None, str] | None:
        """Return why the lines cannot be of one moment, with one that shows it; None if they can.

        In a table of one moment no parent but one is unlisted. Where lines were lost, the root's
        own can be among them, so that a mount which lies on it is taken for it. Nothing that such
        a table says is certain.

        Args:
            at_root: how many mounts are at the root.
        """
        offsets, children = self._offsets, self._children
        if self._count and not self._start:
            return None, _NO_ROOT
        lost = children.keys() - offsets.keys() - {self._start}
        places = at_root + sum(map(len, children.values()))
        if not lost and len(offsets) == places == self._count:
            return None
        seen: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
        for offset in self._each_offset():
            mount_id, parent_id, _, _, point, _ = self._line(offset).split(b" ", 5)
            if parent_id in lost:
                return offset, _NO_PARENT % _shown(parent_id)
            mount = (mount_id, parent_id, unescape(point))
            place = mount if mount_id == parent_id else mount[1:]  # rootfs lies on nothing
            # Of two lines for one mount or one place only one can be true; a repeated line can.
            if any(seen.setdefault(key, mount) != mount for key in (mount[:1], place)):
                return offset, _TWICE
        return None

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
        listed = list(mounts)
        table = MountInfoTable(b"".join(mount.render() + b"\n" for mount in listed), paths=paths)
        for number, (mount, read) in enumerate(zip(listed, table, strict=True), 1):
            if mount != read:
                raise refusal(mount.render(), number)
        return table

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
            tell(Event.TABLES_REREAD, f"{unsafe_path} has lost lines")
        return MountInfoTable.parse(filesystem.read_bytes(root, unsafe_path), paths=paths)

    @property
    def is_whole(self) -> bool:
        """Whether the lines fit each other, so that they can be of one moment.

        They do not if a parent besides that of the root is not listed, or one ID is listed at two
        places. Mounts that nothing else is mounted on can be lost without a trace.
        """
        return self._doubt is None

    def _each_offset(self) -> Iterator[int]:
        offset = 0
        for line in BytesIO(self._data):
            yield offset
            offset += len(line)

    def _line(self, offset: int) -> bytes:
        end = self._data.find(b"\n", offset)
        return self._data[offset:] if end == -1 else self._data[offset:end]

    def _number(self, offset: int) -> int:
        return self._data.count(b"\n", 0, offset) + 1

    def _record(self, offset: int) -> MountInfo[PathT]:
        record = self._records.get(offset)
        if record is None:
            try:
                record = MountInfo.from_line(self._line(offset), paths=self._kind)
            except MountInfoError as error:
                raise refusal(self._line(offset), self._number(offset)) from error
            self._records[offset] = record
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
            MountInfoError: mounts came and went while the table was read, so that it cannot be
                told which of them serves a path (see `is_whole`); read it again.
            PathKindError: *path* is in another view than the table.
        """
        place = self._place(path)
        offset = self._offsets.get(self._walk(place))
        return None if offset is None else self._record(offset)

    def visible(self) -> Iterator[MountInfo[PathT]]:
        """Return each mount that some path leads to, in the order of the lines.

        Raises:
            MountInfoError: as from `covering`.
        """
        self._require_whole()
        offsets = self._visible_below(b"/")
        if self._start in self._offsets:
            offsets.append(self._offsets[self._start])
        return map(self._record, sorted(offsets))

    def below(self, path: PathT) -> Iterator[MountInfo[PathT]]:
        """Return the visible mounts whose mount point lies below *path*, itself excluded.

        Raises:
            MountInfoError: as from `covering`.
            PathKindError: as from `covering`.
        """
        place = self._place(path)
        return map(self._record, sorted(self._visible_below(place)))

    def _place(self, path: PathT) -> bytes:
        """Return the bytes of a path that is in this view, if the table can tell of any."""
        if type(path) is not self._kind:
            raise PathKindError(path, wanted=self._kind.__name__)
        self._require_whole()
        return bytes(path)

    def _require_whole(self) -> None:
        if self._doubt is not None:
            offset, why = self._doubt
            reason = f"{why}, so mounts came and went while it was read; read it again"
            if offset is None:
                raise MountInfoError(reason)
            line = _shown(self._line(offset))
            raise MountInfoError(reason, line_number=self._number(offset), line=line)

    def _walk(self, place: bytes) -> bytes:
        """Step from the root to the mount that serves *place*, as a look-up in the kernel does."""
        mount_id = self._start
        above = self._children.get(mount_id, _NOTHING)
        end = 0
        while above and end != -1:
            end = place.find(b"/", end + 1)
            prefix = place if end == -1 else place[:end]
            while prefix in above:
                mount_id = above[prefix]
                above = self._children.get(mount_id, _NOTHING)
        return mount_id

    def _visible_below(self, place: bytes) -> list[int]:
        inside = place if place == b"/" else place + b"/"
        offsets: list[int] = []
        for group in self._children.values():
            for point, mount_id in group.items():
                if point.startswith(inside) and self._walk(point) == mount_id:
                    offsets.append(self._offsets[mount_id])
        return offsets

    def with_device(self, device: tuple[int, int]) -> tuple[MountInfo[PathT], ...]:
        """Return every mount, visible or not, of the file system with this device number.

        Args:
            device: major and minor number (decimal).
        """
        return tuple(map(self._record, self._offsets_with(device)))

    def _offsets_with(self, device: tuple[int, int]) -> Sequence[int]:
        if not self._by_device:
            by_device: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
            for offset in self._each_offset():
                try:
                    by_device[device_of(self._line(offset).split(b" ", 3)[2])].append(offset)
                except ValueError:
                    self._record(offset)  # which raises, and says what is wrong with the line
            self._by_device = by_device  # only now, for other threads take it as it is
        return self._by_device.get(device, ())

    def _last_with_device(self, device: tuple[int, int]) -> MountInfo[PathT] | None:
        offsets = self._offsets_with(device)
        return self._record(offsets[-1]) if offsets else None

    def _with_id(self, mount_id: int) -> MountInfo[PathT] | None:
        offset = self._offsets.get(b"%d" % mount_id)
        return None if offset is None else self._record(offset)

    def names_source(self, source: str) -> bool:
        """Whether a mount has the source *source*, a text without blanks and backslashes."""
        return f" {source} ".encode() in self._data and any(
            mount.source == source for mount in self
        )

    def render(self) -> bytes:
        """Return the text of the table, byte for byte as it was parsed."""
        return self._data

    def __iter__(self) -> Iterator[MountInfo[PathT]]:
        return map(self._record, self._each_offset())

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self._kind, self._data) == (other._kind, other._data)

    def __hash__(self) -> int:
        return hash((self._kind, self._data))

    def __repr__(self) -> str:
        return f"<MountInfoTable[{self._kind.__name__}] of {len(self)} mounts>"

    def __reduce__(self) -> tuple[object, ...]:
        return partial(MountInfoTable.parse, paths=self._kind), (self._data,)


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
