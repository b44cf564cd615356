"""Names and runs of them to 64-bit numbers that are the same in every process and on every run.

Paths, shingles and subtrees are all runs: from an element, step by step, along the way up or along a sequence. So one
function hashes them all, in as many rounds over whole columns as the longest run has binary digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Places", "mix", "run_codes"]

#: 64-bit codes of names or runs.
Codes = NDArray[np.uint64]

#: Indices of elements.
Places = NDArray[np.int64]

# Odd multipliers whose bits look random: that of the golden ratio and the two of the mixer splitmix64 (Steele, Lea and
# Flood 2014). Its two rounds of shift and multiply spread every input bit over all output bits.
_LEFT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(left: Codes, right: Codes) -> Codes:
    """Code of each ordered pair of codes; arrays of one shape.

    Not a polynomial: those that wrap around at 64 bits give some long runs of two names the same code, whatever the
    base.
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
    """Code of the run that starts at each place and goes on from place to place.

    Runs with the same codes in the same order get the same code, wherever they lie; different runs get different ones,
    but for an accident of one in 2⁶⁴ per pair.

    Parameters
    ----------
    codes
        (n,) uint64, code of each place.
    step
        (n,) index of the place that comes after each one; -1 where no run goes on.
    lengths
        (n,) how many places each run has, its start included; not more than there are. 0 gives the code of nothing.

    Returns
    -------
    numpy.ndarray of uint64, shape (n,)

    Notes
    -----
    Round k puts runs of 2ᵏ places together from two of half the length, and adds one to each run whose length has
    that binary digit: O(n log(longest run)), so deep trees cost little more than flat ones.

    Examples
    --------
    >>> import numpy as np
    >>> there, back = np.array([1, 2, 3, -1]), np.array([-1, 0, 1, 2])
    >>> from blockml.text.hashing import stable_hash64
    >>> codes = stable_hash64("abba")
    >>> forth = run_codes(codes, there, np.array([4, 3, 2, 1]))
    >>> (forth == run_codes(codes, back, np.array([1, 2, 3, 4]))[::-1]).tolist()
    [True, True, True, True]
    """
    n = len(codes)
    result = np.zeros(n, dtype=np.uint64)
    # One place more stands for "behind the last": index -1 leads there, and it stays.
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
