"""Sketches of texts, for finding near duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from blockml.text.hashing import stable_hash64

#: Words in a shingle and hashes in a sketch for finding near duplicates (Broder et al. 1997; sizes are our choice).
_SHINGLE, _SKETCH = 8, 64
#: Minimum share of common hashes of the sketches of near duplicates (our choice).
NEAR_DUPLICATES = 0.8
#: Number of smallest hashes of each sketch that the index looks up. Fewer than 1 in 10,000 near duplicates have none of
#: these in common.
_LOOKED_UP = 8
#: Maximum texts stored per hash; more texts than this share a hash because of a phrase of their site.
_MAX_HOLDERS = 100


def token_sketch(tokens: Sequence[str]) -> frozenset[int]:
    """Compute the smallest hashes of word shingles, whose overlap estimates that of the shingles of two pages."""
    if len(tokens) < _SHINGLE:
        return frozenset()
    index = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    values = stable_hash64(index)[[index[token] for token in tokens]]
    codes = np.zeros(len(tokens) - _SHINGLE + 1, dtype=np.uint64)
    for k in range(_SHINGLE):  # a polynomial over token hashes
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + values[k : k + len(codes)]
    codes ^= codes >> np.uint64(29)
    return frozenset(np.unique(codes * np.uint64(0xBF58476D1CE4E5B9))[:_SKETCH].tolist())


class DuplicateIndex:
    """Finds the first earlier text that a text nearly repeats; needs about 2 kB of memory per distinct text.

    Examples
    --------
    >>> index = DuplicateIndex()
    >>> words = "cats rule the world and nobody has ever told them otherwise so far".split()
    >>> index.first("a", token_sketch(words)), index.first("b", token_sketch(words)), index.first("c", frozenset())
    (None, 'a', None)
    """

    def __init__(self) -> None:
        self._sketches: list[tuple[str, frozenset[int]]] = []
        self._holders: dict[int, list[int]] = {}

    def first(self, text_id: str, sketch: Iterable[int]) -> str | None:
        """Return the id of the first text that this one nearly repeats; add a new text and return None."""
        values = frozenset(sketch)
        smallest = sorted(values)[:_LOOKED_UP]
        for number in sorted({number for value in smallest for number in self._holders.get(value, ())}):
            earlier, other = self._sketches[number]
            if len(values & other) >= NEAR_DUPLICATES * min(len(values), len(other)):
                return earlier
        for value in smallest:
            if len(holders := self._holders.setdefault(value, [])) < _MAX_HOLDERS:
                holders.append(len(self._sketches))
        if values:
            self._sketches.append((text_id, values))
        return None
