"""Hashes that are equal in every process, and sketches of texts for finding near duplicates."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Words in a shingle and hashes in a sketch for finding near duplicates (Broder et al. 1997; sizes are our choice).
_SHINGLE, _SKETCH = 8, 64
#: Odd factors of the permutations of MinHash, modulo 2**64, and of the mixing.
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F,
     0xE7037ED1A0B428DB], dtype=np.uint64,
)  # fmt: skip
_MIX = np.uint64(0xBF58476D1CE4E5B9)
#: Maximum tokens read for MinHash (our choice: boilerplate is at the end, if anywhere).
_MAX_TOKENS = 2_000
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
    return frozenset(np.unique(_shingles(values))[:_SKETCH].tolist())


def min_hashes(tokens: Sequence[str]) -> NDArray[np.uint32]:
    """Compute the smallest hash of a text's word shingles under each of six permutations, (6,): 24 bytes.

    If the Jaccard similarity of two texts' shingles is ``s``, each entry is equal with probability ``s``. Faster
    and smaller than :func:`token_sketch`, for millions of texts; only the first 2,000 tokens count. A text with fewer
    tokens than a shingle is one shingle.

    Examples
    --------
    >>> text = "cats rule the world and nobody has ever asked them to".split()
    >>> int((min_hashes(text) == min_hashes(text)).sum()), int((min_hashes(text) == min_hashes(["dogs"])).sum())
    (6, 0)
    """
    if not tokens:
        return np.zeros(len(_FACTORS), dtype=np.uint32)
    crc = zlib.crc32
    hashes = np.array([crc(token.encode("utf-8", "replace")) for token in tokens[:_MAX_TOKENS]], dtype=np.uint64)
    codes = _shingles(hashes)
    return np.asarray(((codes[:, None] * _FACTORS) >> np.uint64(32)).min(axis=0), dtype=np.uint32)


def _shingles(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash of each shingle, given the hashes of the tokens: a polynomial over them, mixed."""
    size = min(_SHINGLE, len(values))
    codes = np.zeros(len(values) - size + 1, dtype=np.uint64)
    for k in range(size):
        codes = codes * _FACTORS[0] + values[k : k + len(codes)]
    codes ^= codes >> np.uint64(29)
    return codes * _MIX


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


def stable_hash64(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Compute a 64-bit hash of each text that does not depend on the process or machine.

    The probability of a collision among a million texts is 3e-8.

    Returns
    -------
    NDArray[np.uint64]
        (n,) first eight bytes of BLAKE2b over the UTF-8 text, little-endian.

    Examples
    --------
    >>> [hex(key) for key in stable_hash64(["Home", "", "Home"]).tolist()]
    ['0x35a31db0b6780e40', '0xb4b2797457a0a6e4', '0x35a31db0b6780e40']
    """
    from hashlib import blake2b  # loads OpenSSL, which extraction doesn't need

    # Texts of hand-made pages may contain lone surrogates, which UTF-8 cannot encode.
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
