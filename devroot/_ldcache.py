"""Parse ``ld.so.cache``, in which ldconfig(8) lists shared libraries; this module does no I/O.

The file is somebody else's, so nothing in it is trusted: every count and every offset is checked
against the data, and one that does not fit makes the whole file an error. The formats are those
of glibc's ``sysdeps/generic/dl-cache.h``:

- the one of glibc 2.2 and later, ``glibc-ld.so.cache1.1``: a header of 48 bytes, entries of 24,
  the strings. Offsets of strings count from the header. Since glibc 2.33 the header says which
  byte order it is in.
- the one before, ``ld.so-1.7.0``: a header of 16 bytes, entries of 12, the strings, from the
  first of which offsets count.
- both, the new one after the entries of the old one, aligned as the writer's compiler aligns it.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot.errors import LdCacheError

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_MAX: Final = 4 * 2**20
"""Bytes that are read at most; a cache of 10,000 libraries has about 1.5 million."""

_STRING_MAX: Final = 4096
"""Bytes of a name or path with the NUL at its end; ``PATH_MAX`` of limits.h(0p)."""

_SHARING_MAX: Final = 4
"""How often a byte belongs to a string on average at most; ldconfig lets a name be the end of
its path, and so twice."""

_OLD_MAGIC: Final = b"ld.so-1.7.0"
_OLD_HEADER: Final = 16
_OLD_ENTRY: Final = "III"
_NEW_MAGIC: Final = b"glibc-ld.so.cache1.1"
_NEW_HEADER: Final = 48
_NEW_ENTRY: Final = "IIIIQ"
_NEW_ALIGNMENTS: Final = (8, 4)
"""Where the new format starts after the old one: by 8 bytes, on i386 by 4."""

_BYTE_ORDER_AT: Final = 28
_BYTE_ORDER_MASK: Final = 3
_NATIVE_FIRST: Final = ("<", ">") if sys.byteorder == "little" else (">", "<")
_BYTE_ORDERS: Final[dict[int, tuple[str, ...]]] = {0: _NATIVE_FIRST, 1: (), 2: ("<",), 3: (">",)}
"""What the bits in the new header mean: not said, invalid, little endian, big endian."""

# sysdeps/generic/ldconfig.h: the low byte of an entry's flags is the kind of library, the rest
# says for which ABI of the architecture it is.
_KIND_MASK: Final = 0x00FF
_ELF_KINDS: Final = (0x0001, 0x0003)
_ABI_MASK: Final = 0xFF00
_ABIS_OF_32_BITS: Final = {
    0x0000: "i386 or the like",
    0x0600: "MIPS n32",
    0x0800: "x32",
    0x0900: "ARM with hardware floats",
    0x0B00: "ARM with software floats",
    0x0C00: "MIPS o32 of 2008",
    0x0D00: "MIPS n32 of 2008",
}


@final
@attrs.frozen(kw_only=True)
class LdCacheEntry:
    """A library in the cache.

    Attributes:
        name: by which programs ask for it, such as ``libnvidia-ml.so.1``.
        path: where it is, as seen from the root for which ldconfig ran.
        flags: its kind and ABI, ``FLAG_*`` of glibc.
        hwcap: what the processor must have for it; 0 for nothing in particular.
    """

    name: str
    path: str
    flags: int
    hwcap: int = 0

    @property
    def other_abi(self) -> str:
        """What makes it useless to a program of 64 bits, in words; empty if nothing does."""
        if self.flags & _KIND_MASK not in _ELF_KINDS:
            return "not an ELF library"
        abi = _ABIS_OF_32_BITS.get(self.flags & _ABI_MASK)
        return "" if abi is None else f"a library of 32 bits ({abi})"


@final
@attrs.frozen
class LdCache:
    """The libraries that ldconfig(8) found.

    Attributes:
        entries: all of them, in the order of the file.
    """

    entries: tuple[LdCacheEntry, ...]

    @classmethod
    def parse(cls, data: bytes) -> LdCache:
        """Return the cache that a file with this content is.

        Raises:
            LdCacheError: the content is of no known format, was cut, or contradicts itself.
        """
        if len(data) > SIZE_MAX:
            reason = f"it has {len(data)} bytes, more than any real one ({SIZE_MAX})"
            raise LdCacheError(reason=reason)
        if data.startswith(_NEW_MAGIC):
            return cls(tuple(_new_entries(data)))
        if data.startswith(_OLD_MAGIC):
            return cls(tuple(_old_entries(data)))
        raise LdCacheError(
            reason=f"it starts with {data[: len(_NEW_MAGIC)]!r}, which is no known format"
        )

    def lookup(self, name: str) -> tuple[LdCacheEntry, ...]:
        """Return the libraries of this name, those for any processor before the others.

        Otherwise they are in the order of the file, in which ldconfig puts 64-bit libraries
        first.
        """
        found = [entry for entry in self.entries if entry.name == name]
        return tuple(sorted(found, key=lambda entry: entry.hwcap != 0))

    def directories(self) -> tuple[str, ...]:
        """Return the directories of all libraries for programs of 64 bits, each once."""
        paths = (entry.path for entry in self.entries if not entry.other_abi)
        return tuple(dict.fromkeys(path.rpartition("/")[0] or "/" for path in paths))


class _Strings:
    """The strings of a cache, each checked when it is asked for.

    Args:
        data: the content of the file.
        base: from where offsets count.
        start: where the first string starts.
        end: where the last one ends.
    """

    __slots__ = ("_base", "_data", "_end", "_left", "_start")

    def __init__(self, data: bytes, *, base: int, start: int, end: int) -> None:
        self._data = data
        self._base = base
        self._start = start
        self._end = end
        self._left = _SHARING_MAX * (end - start)

    def at(self, offset: int) -> str:
        """Return the string at *offset*.

        Raises:
            LdCacheError: it does not start and end among the strings, or they overlap so much
                that they would fill the memory.
        """
        first = self._base + offset
        if not self._start <= first < self._end:
            reason = f"a string is said to be at {first}, not from {self._start} to {self._end}"
            raise LdCacheError(reason=reason)
        last = self._data.find(b"\0", first, min(self._end, first + _STRING_MAX))
        if last < 0:
            raise LdCacheError(reason=f"the string at {first} does not end")
        self._left -= last - first
        if self._left < 0:
            raise LdCacheError(reason="its strings overlap")
        return self._data[first:last].decode("utf-8", "surrogateescape")


def _new_entries(data: bytes) -> Iterator[LdCacheEntry]:
    """Yield the entries of the new format, whose header is at the start of *data*."""
    if len(data) < _NEW_HEADER:
        raise LdCacheError(reason="it was cut in its header")
    orders = _BYTE_ORDERS[data[_BYTE_ORDER_AT] & _BYTE_ORDER_MASK]
    if not orders:
        raise LdCacheError(reason="its writer says that it is invalid")
    claims: list[int] = []
    for order in orders:
        number, length = struct.unpack_from(f"{order}II", data, len(_NEW_MAGIC))
        start = _NEW_HEADER + number * struct.calcsize(order + _NEW_ENTRY)
        if start + length <= len(data):
            break
        claims.append(number)
    else:
        raise _cut(data, claims)
    strings = _Strings(data, base=0, start=start, end=start + length)
    entries = memoryview(data)[_NEW_HEADER:start]
    for flags, name, path, _, hwcap in struct.iter_unpack(order + _NEW_ENTRY, entries):
        yield LdCacheEntry(name=strings.at(name), path=strings.at(path), flags=flags, hwcap=hwcap)


def _old_entries(data: bytes) -> Iterator[LdCacheEntry]:
    """Yield the entries of the new format that stands within the old one, else of the old one."""
    if len(data) < _OLD_HEADER:
        raise LdCacheError(reason="it was cut in its header")
    claims: list[int] = []
    for order in _NATIVE_FIRST:
        (number,) = struct.unpack_from(f"{order}I", data, _OLD_HEADER - 4)
        start = _OLD_HEADER + number * struct.calcsize(order + _OLD_ENTRY)
        if start <= len(data):
            break
        claims.append(number)
    else:
        raise _cut(data, claims)
    for alignment in _NEW_ALIGNMENTS:
        new = -(-start // alignment) * alignment
        if data.startswith(_NEW_MAGIC, new):
            yield from _new_entries(data[new:])
            return
    strings = _Strings(data, base=start, start=start, end=len(data))
    entries = memoryview(data)[_OLD_HEADER:start]
    for flags, name, path in struct.iter_unpack(order + _OLD_ENTRY, entries):
        yield LdCacheEntry(name=strings.at(name), path=strings.at(path), flags=flags)


def _cut(data: bytes, claims: list[int]) -> LdCacheError:
    return LdCacheError(
        reason=f"it was cut: {len(data)} bytes do not hold the {min(claims)} entries"
    )
