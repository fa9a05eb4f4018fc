"""``ld.so.cache``: every format and byte order is read, and nothing in it is trusted."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from devroot import _ldcache
from devroot._ldcache import SIZE_MAX, LdCache
from devroot.errors import LdCacheError
from tests._ldcaches import FORMS, I386, library, written

DATA = Path(__file__).parents[1] / "data" / "ldcache"
NVML = library("libnvidia-ml.so.1", "/usr/lib64/libnvidia-ml.so.1")
CUDA = library("libcuda.so.1", "/opt/nvidia/lib64/libcuda.so.1")
# Where things stand in what `written` makes of one entry.
HEADER = 48
ENTRY = 24
OLD_HEADER = 16
OLD_ENTRY = 12


def patched(data: bytes, at: int, value: int) -> bytes:
    """Return the data with a number of 32 bits replaced."""
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


def reason_of(data: bytes) -> str:
    """Return why a cache is refused."""
    with pytest.raises(LdCacheError) as caught:
        LdCache.parse(data)
    return caught.value.reason


@pytest.mark.parametrize("name", ["new", "compat", "old"])
def test_cache_that_ldconfig_wrote(name: str) -> None:
    """Each format of a real ldconfig lists the same libraries; only the new one knows hwcaps."""
    cache = LdCache.parse((DATA / f"{name}.cache").read_bytes())
    assert [(entry.name, entry.path, entry.flags) for entry in cache.entries] == [
        ("libz.so.1", "/usr/lib64/glibc-hwcaps/x86-64-v3/libz.so.1.3", 0x0303),
        ("libz.so.1", "/usr/lib64/libz.so.1", 0x0303),
        ("libnvidia-ml.so.1", "/opt/nvidia/lib64/libnvidia-ml.so.1", 0x0303),
        ("libcuda.so.1", "/opt/nvidia/lib64/libcuda.so.1", 0x0303),
    ]
    particular = [entry.hwcap != 0 for entry in cache.entries]
    assert particular == [name != "old", False, False, False]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_byte_orders(form: str, order: str) -> None:
    """A cache of a machine with the other byte order says the same."""
    assert LdCache.parse(written([NVML, CUDA], form=form, order=order)).entries == (NVML, CUDA)


@pytest.mark.parametrize("native", [("<", ">"), (">", "<")])
@pytest.mark.parametrize("order", ["<", ">"])
def test_byte_order_that_nobody_says(
    native: tuple[str, ...], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before glibc 2.33 the header did not tell; then the order that makes sense is taken."""
    monkeypatch.setitem(_ldcache._BYTE_ORDERS, 0, native)
    data = written([NVML, CUDA], order=order, mark=0)
    assert LdCache.parse(data).entries == (NVML, CUDA)


@pytest.mark.parametrize("alignment", [8, 4])
@pytest.mark.parametrize("count", [1, 2])
def test_new_format_within_the_old_one(alignment: int, count: int) -> None:
    """The new format starts where the writer's compiler aligns it, which i386 does by 4."""
    entries = (NVML, CUDA)[:count]
    data = written(entries, form="both", alignment=alignment)
    assert LdCache.parse(data).entries == entries


def test_new_format_wins_over_the_old_one() -> None:
    """Where both are there, only the new one knows which processor a library is for."""
    entry = library("libz.so.1", "/x/libz.so.1", hwcap=1 << 62)
    assert LdCache.parse(written([entry], form="both")).entries == (entry,)


@pytest.mark.parametrize("form", FORMS)
def test_empty_cache(form: str) -> None:
    """A cache may list nothing."""
    assert LdCache.parse(written([], form=form)) == LdCache(())


@pytest.mark.parametrize("form", FORMS)
def test_names_that_are_no_text_survive(form: str) -> None:
    """A path is bytes, and what is not UTF-8 in it comes back unchanged."""
    entry = library("lib\udcff.so", "/x\udcfe/lib\udcff.so")
    assert LdCache.parse(written([entry], form=form)).entries == (entry,)


def test_lookup_takes_the_whole_name() -> None:
    """Neither a prefix nor a wildcard is a name."""
    cache = LdCache((NVML, CUDA))
    assert cache.lookup("libcuda.so.1") == (CUDA,)
    assert cache.lookup("libcuda.so") == ()
    assert cache.lookup("libcuda*") == ()


def test_lookup_puts_particular_processors_last() -> None:
    """A library for any processor comes first, and then the order is that of the file."""
    particular = library("libz.so.1", "/v3/libz.so.1", hwcap=1)
    first = library("libz.so.1", "/a/libz.so.1")
    second = library("libz.so.1", "/b/libz.so.1")
    cache = LdCache((particular, first, NVML, second))
    assert cache.lookup("libz.so.1") == (first, second, particular)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (0x0303, ""),
        (0x0A03, ""),
        (0x0301, ""),
        (0x1003, ""),
        (I386, "32 bits (i386"),
        (0x0803, "x32"),
        (0x0903, "ARM with hardware floats"),
        (0x0000, "not an ELF library"),
        (0x0302, "not an ELF library"),
    ],
)
def test_libraries_of_another_abi(flags: int, words: str) -> None:
    """What a program of 64 bits cannot load is told from what it can."""
    other = library("libx.so", "/x/libx.so", flags=flags).other_abi
    assert words in other
    assert bool(words) == bool(other)


def test_directories_are_those_of_libraries_that_can_be_loaded() -> None:
    """Each comes once, in the order of the file; the root is a directory, too."""
    entries = (
        library("liba.so", "/lib64/liba.so"),
        library("libb.so", "/lib/libb.so", flags=I386),
        library("libc.so", "/libc.so"),
        library("libd.so", "/lib64/libd.so"),
    )
    assert LdCache(entries).directories() == ("/lib64", "/")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"glibc-ld.so.cache2.0" + bytes(64)])
def test_unknown_format(data: bytes) -> None:
    """Another file, and another version of the format, are not guessed at."""
    assert "no known format" in reason_of(data)


@pytest.mark.parametrize("form", FORMS)
def test_every_cut_is_noticed(form: str) -> None:
    """However many bytes are lacking at the end, the cache is refused."""
    data = written([NVML, CUDA], form=form)
    for length in range(len(data)):
        assert reason_of(data[:length])


def test_cut_among_the_entries_says_how_many_there_should_be() -> None:
    """The reason names what the header claims and what there is."""
    assert reason_of(written([NVML, CUDA])[:60]) == "it was cut: 60 bytes do not hold the 2 entries"
    old = written([NVML, CUDA], form="old")
    assert reason_of(old[:39]) == "it was cut: 39 bytes do not hold the 2 entries"


def test_too_large_a_file_is_not_looked_at() -> None:
    """Whoever controls the tree cannot fill this process's memory."""
    assert "more than any real one" in reason_of(bytes(SIZE_MAX + 1))


def test_writer_marks_a_cache_as_invalid() -> None:
    """A byte order of 1 is glibc's mark for a cache that must not be used."""
    assert "invalid" in reason_of(written([NVML], mark=1))


@pytest.mark.parametrize("field", [4, 8])
@pytest.mark.parametrize("offset", [0, HEADER, HEADER + ENTRY - 1, 2**31, 2**32 - 1])
def test_offset_outside_of_the_strings(field: int, offset: int) -> None:
    """A name or a path that would be read from elsewhere makes the whole cache an error."""
    data = patched(written([NVML]), HEADER + field, offset)
    assert "a string is said to be at" in reason_of(data)


def test_offset_beyond_the_strings_of_the_old_format() -> None:
    """Its strings go to the end of the file, and not further."""
    data = written([NVML], form="old")
    strings = len(data) - OLD_HEADER - OLD_ENTRY
    assert "a string is said to be at" in reason_of(patched(data, OLD_HEADER + 4, strings))


def test_string_that_does_not_end_among_the_strings() -> None:
    """The last string needs its NUL before the end that the header gives, too."""
    data = written([NVML])
    length = len(data) - HEADER - ENTRY
    assert "does not end" in reason_of(patched(data, 24, length - 1) + bytes(8))


def test_string_longer_than_any_path() -> None:
    """No path is longer than PATH_MAX."""
    longest = library("libx.so", "/" + "x" * 4094)
    assert LdCache.parse(written([longest])).entries == (longest,)
    assert "does not end" in reason_of(written([library("libx.so", "/" + "x" * 4095)]))


def test_strings_that_overlap_without_end() -> None:
    """Many entries on one long string would be far more in memory than in the file."""
    long = library("libx.so", "/" + "x" * 4000)
    data = written([long] + [library("", "") for _ in range(100)])
    strings = HEADER + 101 * ENTRY
    for number in range(1, 101):
        data = patched(data, HEADER + number * ENTRY + 8, strings + len("libx.so") + 1)
    assert reason_of(data) == "its strings overlap"


def test_name_that_is_the_end_of_its_path() -> None:
    """What ldconfig writes shares the bytes of a name with the path that ends in it."""
    data = written([NVML])
    path = data.index(b"/usr/lib64/")
    shared = patched(data, HEADER + 4, path + len("/usr/lib64/"))
    assert LdCache.parse(shared).entries == (NVML,)
