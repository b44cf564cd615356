"""Stable 64-bit hashes of runs of names: paths to the root, shingles of a sequence, subtrees in pre-order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: 64-bit hashes of names or runs.
Codes = NDArray[np.uint64]

#: Indices of elements.
Places = NDArray[np.int64]

# Odd multipliers with random-looking bits: the golden ratio's and the two of splitmix64 (Steele, Lea and Flood 2014).
_LEFT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(left: Codes, right: Codes) -> Codes:
    """Hash each ordered pair of codes (arrays of one shape) with the finaliser of splitmix64.

    A polynomial hash modulo 2⁶⁴ would not do: some long runs of two names collide for any base.
    """
    mixed: Codes = left * _LEFT
    mixed += right
    mixed ^= mixed >> _SHIFTS[0]
    mixed *= _FIRST
    mixed ^= mixed >> _SHIFTS[1]
    mixed *= _SECOND
    mixed ^= mixed >> _SHIFTS[2]
    return mixed


def run_codes(codes: Codes, step: Places, lengths: Places) -> Codes:
    """Hash the run of codes that starts at each place; equal runs have equal hashes wherever they are.

    Takes the (n,) code of each place, the (n,) index of the next place, -1 at the end of a run, and the (n,) number of
    places per run, its start included; a run of length 0 hashes to 0.

    Notes
    -----
    Doubling: round k joins runs of 2ᵏ places from two halves and appends one to each run whose length has that binary
    digit, in O(n log(longest run)).

    Examples
    --------
    >>> import numpy as np
    >>> from blockml.text.hashing import stable_hash64
    >>> codes, descending = stable_hash64("abba"), np.array([4, 3, 2, 1])
    >>> forth = run_codes(codes, np.array([1, 2, 3, -1]), descending)
    >>> back = run_codes(codes, np.array([-1, 0, 1, 2]), descending[::-1])
    >>> (forth == back[::-1]).tolist()
    [True, True, True, True]
    """
    n = len(codes)
    result = np.zeros(n, dtype=np.uint64)
    # A sentinel after the last place: index -1 leads there and stays there.
    block = np.append(codes, np.uint64(0))
    jump = np.append(step, -1)
    at = np.arange(n)
    left = lengths.astype(np.int64)
    while left.any():
        odd = np.flatnonzero(left & 1)
        if len(odd):
            places = at[odd]
            result[odd] = mix(result[odd], block[places])
            at[odd] = jump[places]
        left >>= 1
        block = mix(block, block[jump])
        jump = jump[jump]
    return result
