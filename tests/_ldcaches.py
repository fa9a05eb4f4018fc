"""An ``ld.so.cache`` as ldconfig(8) would write it, in each of its formats."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from devroot._ldcache import LdCacheEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

X86_64: Final = 0x0303
I386: Final = 0x0003

FORMS: Final = ("new", "old", "both")
_MARKS: Final = {"<": 2, ">": 3}


def library(name: str, path: str, *, flags: int = X86_64, hwcap: int = 0) -> LdCacheEntry:
    """Return an entry; by default, one for x86-64."""
    return LdCacheEntry(name=name, path=path, flags=flags, hwcap=hwcap)


def written(
    entries: Iterable[LdCacheEntry],
    *,
    form: str = "new",
    order: str = "<",
    mark: int | None = None,
    alignment: int = 8,
) -> bytes:
    """Return the content of a cache.

    Args:
        entries: what it lists.
        form: ``new``, ``old``, or ``both`` for the new one within the old one.
        order: ``<`` for little endian, ``>`` for big endian.
        mark: what the new header says of the order; None for what is so.
        alignment: by how many bytes the new format is aligned within the old one.
    """
    listed = tuple(entries)
    if form == "old":
        strings, places = _strings(listed)
        return _old(listed, places, order=order) + strings
    start = 48 + 24 * len(listed)
    strings, places = _strings(listed, base=start)
    stated = _MARKS[order] if mark is None else mark
    new = struct.pack(
        f"{order}20sIIB19x", b"glibc-ld.so.cache1.1", len(listed), len(strings), stated
    )
    for entry, (name, path) in zip(listed, places, strict=True):
        new += struct.pack(f"{order}IIIIQ", entry.flags, name, path, 0, entry.hwcap)
    if form == "new":
        return new + strings
    head = 16 + 12 * len(listed)
    padding = -head % alignment
    old_places = [(name + padding, path + padding) for name, path in places]
    return _old(listed, old_places, order=order) + bytes(padding) + new + strings


def _old(entries: tuple[LdCacheEntry, ...], places: list[tuple[int, int]], *, order: str) -> bytes:
    data = struct.pack(f"{order}11sxI", b"ld.so-1.7.0", len(entries))
    for entry, (name, path) in zip(entries, places, strict=True):
        data += struct.pack(f"{order}III", entry.flags, name, path)
    return data


def _strings(
    entries: tuple[LdCacheEntry, ...], *, base: int = 0
) -> tuple[bytes, list[tuple[int, int]]]:
    """Return all strings, and where the name and the path of each entry are."""
    data = b""
    places: list[tuple[int, int]] = []
    for entry in entries:
        name = base + len(data)
        data += _encoded(entry.name)
        places.append((name, base + len(data)))
        data += _encoded(entry.path)
    return data, places


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\0"
