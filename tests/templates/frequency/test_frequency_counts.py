"""Keys and counts."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.templates.frequency import Counts
from blockml.templates.frequency.counts import places, ranges, summed
from blockml.text.sketches import stable_hash64

small_keys = st.lists(st.integers(0, 20) | st.just(2**64 - 1)).map(lambda keys: np.array(keys, dtype=np.uint64))


@given(st.lists(st.text()))
def test_keys_are_the_first_bytes_of_blake2b(texts: list[str]) -> None:
    """The key of any text, even with lone surrogates, is the first bytes of BLAKE2b, equal in every process."""
    keys = stable_hash64(texts)
    assert keys.dtype == np.uint64
    for text, key in zip(texts, keys.tolist(), strict=True):
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        assert key == sum(byte << (8 * place) for place, byte in enumerate(digest))
    assert stable_hash64(["\ud800"]).shape == (1,)


@given(st.lists(small_keys, max_size=5), small_keys)
def test_counts_against_a_counter(pages: list[NDArray[np.uint64]], asked: NDArray[np.uint64]) -> None:
    """Pages are counted once per key, whether in one step or in many."""
    counter = Counter(key for page in pages for key in set(page.tolist()))
    parts = [Counts.of_page(page) for page in pages]
    counts = Counts.combined(parts)
    assert dict(zip(counts.keys.tolist(), counts.pages.tolist(), strict=True)) == counter
    assert counts.keys.tolist() == sorted(counter)
    assert len(counts) == len(counter)
    assert counts.of(asked).tolist() == [counter[key] for key in asked.tolist()]
    assert counts.of(asked).dtype == np.int32
    merged = Counts.combined([])
    for part in parts:
        merged = Counts.combined([merged, part])
    np.testing.assert_array_equal(merged.keys, counts.keys)
    np.testing.assert_array_equal(merged.pages, counts.pages)


def test_helpers_accept_empty_arrays() -> None:
    """Helpers return empty arrays for empty arrays."""
    none, some = np.zeros(0, dtype=np.uint64), np.array([7, 7], dtype=np.uint64)
    assert places(none, some).tolist() == [-1, -1]
    assert places(some[:1], none).tolist() == []
    keys, (sums,) = summed(none, [np.zeros(0, dtype=np.int64)])
    assert (keys.tolist(), sums.tolist()) == ([], [])
    assert ranges(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).tolist() == []
    assert ranges(np.array([4, 9, 2]), np.array([1, 0, 2])).tolist() == [4, 2, 3]
