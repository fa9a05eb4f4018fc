"""Which driver has which major number: ``/proc/devices``.

The file is described in proc_devices(5), and written by ``fs/proc/devices.c`` of the kernel: the
line ``Character devices:``, one line ``%3d NAME`` for each registered region, an empty line, the
line ``Block devices:`` and the same again. A kernel without block devices writes no second
section.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from devroot._paths import ContainerPath
from devroot.errors import (
    AmbiguousMajorError,
    MajorNotFoundError,
    PathKindError,
    ProcFileError,
    ProcUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot._view import ContainerView

_ROOT: Final = ContainerPath("/")
_PROC_DEVICES: Final = ContainerPath("/proc/devices")
_SECTIONS: Final = {b"Character devices:": "character", b"Block devices:": "block"}
_LINE: Final = re.compile(rb" *([0-9]{1,4}) (.+)")
_MAJOR_MAX: Final = (1 << 12) - 1  # 12 bits of a dev_t, MINORBITS 20 in the kernel's kdev_t.h
_NEAR: Final = 5  # so many names help a reader; more hide the one that was meant
_ALIKE: Final = 3  # so many first letters in common make a name come near


def _parse_line(line: bytes) -> tuple[int, str] | None:
    match = _LINE.fullmatch(line)
    if match is None or int(match[1]) > _MAJOR_MAX:
        return None
    return int(match[1]), match[2].decode("utf-8", "surrogateescape")


@attrs.frozen(kw_only=True)
class Majors:
    """The drivers that a kernel has registered, with their major numbers.

    Character and block devices are numbered apart. One driver can have several majors and one
    major several drivers. Names are compared whole: ``nvidia-caps`` is not
    ``nvidia-caps-imex-channels``.

    Attributes:
        character_devices: major (decimal, 0 to 4095) and name of each character device driver,
            in the order of the file.
        block_devices: the same of each block device driver.
        path: the file that they were read from.

    .. versionadded:: 0.1.0
    """

    character_devices: tuple[tuple[int, str], ...] = ()
    block_devices: tuple[tuple[int, str], ...] = ()
    path: ContainerPath = _PROC_DEVICES

    @classmethod
    def parse(cls, data: bytes | str, *, path: ContainerPath = _PROC_DEVICES) -> Majors:
        """Return the majors in the content of a ``/proc/devices`` file.

        Args:
            data: the content. Either section may be missing, and so may the last newline.
            path: where it comes from, for errors.

        Raises:
            ProcFileError: it is empty, or a line is not of the format; it names the line.
        """
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        sections: dict[str, list[tuple[int, str]]] = {"character": [], "block": []}
        section: list[tuple[int, str]] | None = None
        for number, line in enumerate(data.split(b"\n"), 1):
            if line in _SECTIONS:
                section = sections[_SECTIONS[line]]
            elif line:
                entry = _parse_line(line)
                if entry is None or section is None:
                    shown = line.decode("utf-8", "backslashreplace")
                    wanted = (
                        "no section line such as 'Character devices:' stands before it"
                        if entry
                        else "it is not 'MAJOR NAME' with a decimal major of at most 4095"
                    )
                    raise ProcFileError(path, reason=f"line {number}, {shown!r}: {wanted}")
                section.append(entry)
        if section is None:
            raise ProcFileError(path, reason="it is empty; the kernel's lists at least 'mem'")
        return cls(
            character_devices=tuple(sections["character"]),
            block_devices=tuple(sections["block"]),
            path=path,
        )

    @classmethod
    def read(cls, view: ContainerView, *, devices: ContainerPath | None = None) -> Majors:
        """Return the majors that this kernel has now.

        Args:
            view: through which the file is read.
            devices: another file to read, as mock set-ups give one where the kernel module is
                not there; by default ``devices`` in the view's ``/proc``.

        Raises:
            PathKindError: *devices* is not a `ContainerPath`.
            ProcUnavailableError: the file cannot be read.
            ProcFileError: it is empty or not of the format.
        """
        if devices is not None and not isinstance(devices, ContainerPath):
            raise PathKindError(devices, wanted="ContainerPath")
        root, below = (view.proc, "devices") if devices is None else (_ROOT, str(devices))
        path = devices or view.proc / "devices"
        try:
            data = view.filesystem.read_bytes(root, below)
        except OSError as error:
            reason = "the list of device drivers cannot be read; is a procfs mounted there?"
            raise ProcUnavailableError(error.errno or 0, reason, str(path)) from error
        return cls.parse(data, path=path)

    def characters(self, name: str) -> tuple[int, ...]:
        """Return every character device major of the driver *name*; none is an answer too."""
        return _majors(self.character_devices, name)

    def blocks(self, name: str) -> tuple[int, ...]:
        """Return every block device major of the driver *name*; none is an answer too."""
        return _majors(self.block_devices, name)

    def character(self, name: str) -> int:
        """Return the character device major of the driver *name*.

        Raises:
            MajorNotFoundError: no such character device driver is registered.
            AmbiguousMajorError: it has several majors.
        """
        return self._only(self.character_devices, name, section="character")

    def block(self, name: str) -> int:
        """Return the block device major of the driver *name*.

        Raises:
            MajorNotFoundError: no such block device driver is registered.
            AmbiguousMajorError: it has several majors.
        """
        return self._only(self.block_devices, name, section="block")

    def names_of_character(self, major: int) -> tuple[str, ...]:
        """Return the names of the drivers at the character device major *major*."""
        return _unique(name for number, name in self.character_devices if number == major)

    def names_of_block(self, major: int) -> tuple[str, ...]:
        """Return the names of the drivers at the block device major *major*."""
        return _unique(name for number, name in self.block_devices if number == major)

    def _only(self, entries: tuple[tuple[int, str], ...], name: str, *, section: str) -> int:
        majors = _majors(entries, name)
        major = next(iter(majors), None)
        if major is None:
            raise MajorNotFoundError(
                name, section=section, known=_near(entries, name), path=self.path
            )
        if len(majors) > 1:
            raise AmbiguousMajorError(name, section=section, majors=majors)
        return major


def _majors(entries: tuple[tuple[int, str], ...], name: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(major for major, listed in entries if listed == name))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _near(entries: tuple[tuple[int, str], ...], name: str) -> tuple[str, ...]:
    """Return the listed names that begin most like *name*, the nearest first."""
    alike = {listed: _letters_in_common(listed, name) for _, listed in entries}
    near = [listed for listed, length in alike.items() if length >= _ALIKE]
    return tuple(sorted(near, key=lambda listed: (-alike[listed], listed))[:_NEAR])


def _letters_in_common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
