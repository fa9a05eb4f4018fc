"""One mount of a process, as a line of ``/proc/PID/mountinfo`` says; proc_pid_mountinfo(5)."""

from __future__ import annotations

import re
from typing import Final, Generic, final

import attrs

from devroot._paths import KindT, PathT
from devroot.errors import MountInfoError

_DELETED: Final = "//deleted"
_OUTSIDE: Final = "/.."

_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2})")
_SPECIAL: Final = re.compile(rb"[ \t\n\\]")


def unescape(field: bytes) -> bytes:
    r"""Decode the three-digit octal escapes once; any other backslash stands for itself."""
    if b"\\" not in field:
        return field
    return _ESCAPE.sub(lambda match: bytes((int(match[1], 8),)), field)


def _escape(field: bytes) -> bytes:
    return _SPECIAL.sub(lambda match: b"\\%03o" % match[0][0], field)


def _number(digits: bytes) -> int:
    # int() takes signs, blanks, underscores and zeros in front as well.
    if not digits.isdigit() or (digits[:1] == b"0" and digits != b"0"):
        raise ValueError
    return int(digits)


def device_of(field: bytes) -> tuple[int, int]:
    """Return the numbers in the field ``MAJOR:MINOR``.

    Raises:
        ValueError: they are none.
    """
    major, minor = field.split(b":")
    return _number(major), _number(minor)


def _text(field: bytes) -> str:
    return unescape(field).decode("utf-8", "surrogateescape")


def _field(text: str) -> bytes:
    return _escape(text.encode("utf-8", "surrogateescape"))


@final
@attrs.frozen(kw_only=True)
class MountInfo(Generic[PathT]):
    """One mount, as proc_pid_mountinfo(5) describes it.

    Attributes:
        mount_id: field 1, decimal; unique in the kernel while the mount exists, then used again.
        parent_id: field 2, the mount on which this one is mounted; decimal.
        major: field 3, the major number of ``st_dev`` for files below it; decimal.
        minor: field 3, the minor number likewise; decimal.
        root: field 4, the directory or file *of that file system* that is mounted here: not a
            host path (on btrfs it starts with the subvolume). ``/../..`` lies outside what the
            reader may see; ``net:[4026531993]`` is not a path at all.
        deleted: whether the kernel says that *root* was deleted (``//deleted`` in the field).
        mount_point: field 5, where the reader of the table sees it.
        options: field 6, the options of this mount, such as ``ro`` and ``nodev``.
        optional_fields: field 7, such as ``shared:1`` and ``master:2``; unknown ones are kept.
        fstype: field 9, the file system type.
        source: field 10, what was mounted, in words of the file system; may be empty.
        super_options: field 11, the options of the file system, the same at all its mounts.

    .. versionadded:: 0.1.0
    """

    mount_id: int
    parent_id: int
    major: int
    minor: int
    root: str
    mount_point: PathT
    options: tuple[str, ...] = ("rw",)
    optional_fields: tuple[str, ...] = ()
    fstype: str
    source: str = "none"
    super_options: str = "rw"
    deleted: bool = False

    @classmethod
    def from_line(cls, line: bytes, *, paths: type[KindT]) -> MountInfo[KindT]:
        """Return the mount that one line describes.

        Args:
            line: the line without its newline.
            paths: whose view the mount point is in.

        Raises:
            MountInfoError: the line is not of the format.
        """
        try:
            mount_id, parent_id, device, root, point, rest = line.split(b" ", 5)
            head, _, tail = rest.partition(b" - ")
            fstype, source, super_options = tail.split(b" ", 2)
            major, minor = device_of(device)
            options, *optional_fields = head.split(b" ")
            mount_point = paths.from_bytes(unescape(point))
            ids = _number(mount_id), _number(parent_id)
        except ValueError as error:
            raise refusal(line) from error
        if not (root and options and all(optional_fields) and fstype and super_options):
            raise refusal(line)
        if bytes(mount_point) != unescape(point):  # as in "/a/": no look-up would find it
            raise refusal(line)
        root_text = _text(root)
        return MountInfo(
            mount_id=ids[0],
            parent_id=ids[1],
            major=major,
            minor=minor,
            root=root_text.removesuffix(_DELETED),
            deleted=root_text.endswith(_DELETED),
            mount_point=mount_point,
            options=tuple(_text(options).split(",")),
            optional_fields=tuple(map(_text, optional_fields)),
            fstype=_text(fstype),
            source=_text(source),
            super_options=_text(super_options),
        )

    @property
    def device(self) -> tuple[int, int]:
        """Major and minor number (decimal) of the file system."""
        return self.major, self.minor

    @property
    def read_only(self) -> bool:
        """Whether this mount or its whole file system is read-only."""
        return "ro" in self.options or self.super_options.split(",", 1)[0] == "ro"

    @property
    def nodev(self) -> bool:
        """Whether device nodes on this mount cannot be opened (mount(8), ``nodev``)."""
        return "nodev" in self.options

    @property
    def is_outside(self) -> bool:
        """Whether the root lies outside what the reader may see (``/..`` of a namespace)."""
        return self.root == _OUTSIDE or self.root.startswith(_OUTSIDE + "/")

    def place_of(self, path: PathT) -> str:
        """Return where *path*, which this mount covers, lies in the mounted file system.

        Like the root it starts from, the text is no path of the host.
        """
        below = path.relative_to(self.mount_point)
        return self.root if below == "." else f"{self.root.rstrip('/')}/{below}"

    def render(self) -> bytes:
        """Return the line that describes this mount, without a newline."""
        root = self.root + (_DELETED if self.deleted else "")
        return b"%d %d %d:%d %s %s %s - %s %s %s" % (
            self.mount_id,
            self.parent_id,
            self.major,
            self.minor,
            _field(root),
            _escape(bytes(self.mount_point)),
            b" ".join(map(_field, (",".join(self.options), *self.optional_fields))),
            _field(self.fstype),
            _field(self.source),
            _field(self.super_options),
        )

    def __str__(self) -> str:
        return (
            f"mount {self.mount_id} ({self.fstype} {self.major}:{self.minor}"
            f" {self.root}{_DELETED if self.deleted else ''} at {self.mount_point})"
        )


def refusal(line: bytes, number: int | None = None) -> MountInfoError:
    """Return the error that says what is wrong with a line."""
    fields = line.split(b" ")
    if len(fields) < 10:  # noqa: PLR2004 - six fields, the hyphen and three fields
        reason = f"it has {len(fields)} of at least 10 fields; was it cut?"
    elif b"-" not in fields[6:]:
        reason = "no lone hyphen ends its optional fields"
    else:
        reason = (
            "it does not read 'ID PARENT MAJOR:MINOR ROOT /MOUNT/POINT OPTIONS"
            " [OPTIONAL ...] - TYPE SOURCE SUPER_OPTIONS'"
        )
    return MountInfoError(reason, line_number=number, line=line.decode("utf-8", "backslashreplace"))
