"""``ld.so.cache``, whatever it holds: what was written is read, and nothing else than errors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devroot._ldcache import LdCache, LdCacheEntry
from devroot.errors import LdCacheError
from tests._ldcaches import FORMS, written

pytestmark = pytest.mark.property

# In the old format, a library called as the new one's magic starts it, for glibc's loader too.
TEXTS = (
    st.binary(max_size=40)
    .map(lambda data: data.replace(b"\0", b""))
    .filter(lambda data: b"glibc-ld.so.cache1.1" not in data)
    .map(lambda data: data.decode("utf-8", "surrogateescape"))
)
ENTRIES = st.builds(
    LdCacheEntry,
    name=TEXTS,
    path=TEXTS,
    flags=st.integers(0, 2**32 - 1),
    hwcap=st.integers(0, 2**64 - 1),
)
LISTS = st.lists(ENTRIES, max_size=6)


@given(entries=LISTS, form=st.sampled_from(FORMS), order=st.sampled_from("<>"))
def test_what_is_written_is_read(entries: list[LdCacheEntry], form: str, order: str) -> None:
    """Every format gives back all entries; the old one has no hwcaps."""
    cache = LdCache.parse(written(entries, form=form, order=order))
    known = [
        (entry.name, entry.path, entry.flags, 0 if form == "old" else entry.hwcap)
        for entry in entries
    ]
    read = [(entry.name, entry.path, entry.flags, entry.hwcap) for entry in cache.entries]
    assert read == known


@given(
    entries=LISTS,
    form=st.sampled_from(FORMS),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8),
    length=st.integers(0, 600),
)
def test_spoilt_caches_give_errors_and_nothing_foreign(
    entries: list[LdCacheEntry], form: str, changes: list[tuple[int, int]], length: int
) -> None:
    """Whichever bytes are changed or lost, all that is read stands in the file as a string."""
    data = bytearray(written(entries, form=form))
    for at, value in changes:
        if at < len(data):
            data[at] = value
    spoilt = bytes(data[:length])
    with contextlib.suppress(LdCacheError):
        for entry in LdCache.parse(spoilt).entries:
            for text in (entry.name, entry.path):
                assert text.encode("utf-8", "surrogateescape") + b"\0" in spoilt


@given(
    data=st.binary(max_size=200), form=st.sampled_from((b"glibc-ld.so.cache1.1", b"ld.so-1.7.0"))
)
def test_anything_after_the_magic_is_an_error_or_a_cache(data: bytes, form: bytes) -> None:
    """No content makes another exception than the one that is documented."""
    with contextlib.suppress(LdCacheError):
        assert isinstance(LdCache.parse(form + data), LdCache)
