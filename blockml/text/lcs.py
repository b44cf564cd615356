"""Longest common subsequences (LCS): their length, and the alignment of a page with its gold text.

Both use the bit-parallel recurrence of Crochemore et al. 2001 and Hyyrö 2004 on Python's long integers, with one bit
per token of one sequence and one integer expression per token of the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

# Multiplier of the n-gram hash: large and odd, so that adjacent token codes spread over 64 bits.
_HASH_BASE = 1_000_003

# Length of the longest n-grams that anchor a large alignment; word 4-grams are the usual shingles (Broder et al. 1997).
_ANCHOR_SIZE = 4

_Ids = NDArray[np.int64]


class _Run(NamedTuple):
    """Consecutive page tokens matched to consecutive gold tokens."""

    page: int
    gold: int
    length: int


class _Piece(NamedTuple):
    """Positions of page and gold text that remain to be aligned with each other."""

    page: _Ids
    gold: _Ids
    anchor_size: int


def lcs_length(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Compute the length of a longest common subsequence.

    Parameters
    ----------
    a, b
        Sequences of hashable tokens; a string counts as the sequence of its characters.

    Returns
    -------
    int
        Between 0 and the length of the shorter sequence.

    Notes
    -----
    Tokens that occur on only one side and the common prefix and suffix are removed first. The time is
    O(len(a) · len(b) / w) for integers with w bits per digit.

    Examples
    --------
    >>> lcs_length("the cat sat on the mat".split(), "menu the cat on mat the footer".split())
    4
    """
    shared = set(a) & set(b)
    shorter, longer = sorted(([token for token in sequence if token in shared] for sequence in (a, b)), key=len)
    removed = 0
    for _ in range(2):  # the common prefix, then that of the reversed sequences, which is the common suffix
        prefix = next((i for i, (s, t) in enumerate(zip(shorter, longer, strict=False)) if s != t), len(shorter))
        shorter, longer = shorter[prefix:][::-1], longer[prefix:][::-1]
        removed += prefix
    if not shorter:
        return removed
    last_row = deque(_rows(shorter, longer), maxlen=1).pop()
    return removed + len(shorter) - last_row.bit_count()


def lcs_alignment(
    page: Sequence[Hashable], gold: Sequence[Hashable], *, max_cells: int = 400_000_000
) -> NDArray[np.int32]:
    """Align the tokens of a page with those of its gold text, in order and with as many matches as possible.

    Among alignments with the same number of matches, one with long runs is chosen (a run is a sequence of consecutive
    page tokens matched to consecutive gold tokens), so that a title is matched next to the article rather than in the
    breadcrumb. Runs are lengthened at the cost of their neighbours while the sum of squared run lengths grows, to a
    local optimum.

    Parameters
    ----------
    page, gold
        Sequences of hashable tokens.
    max_cells
        Maximum product of page tokens and gold tokens (counting only tokens that occur on both sides) for an exact
        alignment, which takes about ``max_cells / 8`` bytes. Larger inputs are cut at word 4-grams that are unique on
        both sides (the longest increasing chain, as in a patience diff), pieces that are still too large at unique 3-,
        2- and 1-grams, and finally into equal shares of page and gold. The number of matches may then be below the
        optimum.

    Returns
    -------
    numpy.ndarray of int32, shape (len(page),)
        Index of the gold token matched to each page token, or -1; strictly increasing over the matches.

    Raises
    ------
    UsageError
        ``max_cells`` is below 1.

    Notes
    -----
    O(n · m / w) time for integers with w bits per digit up to ``max_cells``, near-linear above.

    Examples
    --------
    >>> lcs_alignment("home title x y title body text end".split(), "title body text".split()).tolist()
    [-1, -1, -1, -1, 0, 1, 2, -1]
    """
    if max_cells < 1:
        raise UsageError(f"max_cells must be at least 1, got {max_cells}")
    numbers: dict[Hashable, int] = {}
    page_ids, gold_ids = ([numbers.setdefault(token, len(numbers)) for token in tokens] for tokens in (page, gold))
    matches = sorted(_matches(np.array(page_ids, dtype=np.int64), np.array(gold_ids, dtype=np.int64), max_cells))
    alignment = np.full(len(page_ids), -1, dtype=np.int32)
    for start, gold_start, length in _lengthen(_runs(matches), page_ids, gold_ids):
        alignment[start : start + length] = np.arange(gold_start, gold_start + length)
    return alignment


def _rows(bits: Sequence[Hashable], tokens: Sequence[Hashable]) -> Iterator[int]:
    """Yield the LCS row after each token; its bit j is 0 where the LCS grows from ``bits[:j]`` to ``bits[:j + 1]``."""
    masks: dict[Hashable, int] = {}
    for j, token in enumerate(bits):
        masks[token] = masks.get(token, 0) | 1 << j
    row = full = (1 << len(bits)) - 1
    for token in tokens:
        hits = row & masks.get(token, 0)
        row = ((row + hits) | (row ^ hits)) & full
        yield row


def _matches(page: _Ids, gold: _Ids, max_cells: int) -> Iterator[tuple[int, int]]:
    """Yield the matched pairs of positions piece by piece, with the pieces in any order."""
    pending = [_Piece(np.arange(len(page)), np.arange(len(gold)), _ANCHOR_SIZE)]
    while pending:
        piece = pending.pop()
        in_page = piece.page[np.isin(page[piece.page], gold[piece.gold])]
        in_gold = piece.gold[np.isin(gold[piece.gold], page[piece.page])]
        cells = len(in_page) * len(in_gold)
        if cells <= max_cells:
            yield from _exact_matches(page, gold, in_page, in_gold)
            continue
        size = piece.anchor_size
        if size > 0:
            cuts = _anchors(page[in_page], gold[in_gold], size)
        else:
            # k equal shares on both sides have cells / k² each; this is the smallest k for which that is few enough.
            shares = int(np.ceil(np.sqrt(cells / max_cells)))
            cuts = [(len(in_page) * k // shares, len(in_gold) * k // shares) for k in range(1, shares)]
        for (i, j), (next_i, next_j) in pairwise([(0, 0), *cuts, (len(in_page), len(in_gold))]):
            if next_i - i == next_j - j == 1:  # the most frequent piece: one pair in a run of anchors
                if page[in_page[i]] == gold[in_gold[j]]:
                    yield int(in_page[i]), int(in_gold[j])
            else:
                pending.append(_Piece(in_page[i:next_i], in_gold[j:next_j], max(size - 1, 0)))


def _exact_matches(page: _Ids, gold: _Ids, in_page: _Ids, in_gold: _Ids) -> Iterator[tuple[int, int]]:
    """Yield the matches of an LCS of two selections of positions, last match first.

    Equal tokens are matched from the end, so that the later of two equal copies is matched: headings are repeated
    before the text rather than after it.
    """
    page_tokens, gold_tokens = page[in_page].tolist(), gold[in_gold].tolist()
    rows = list(_rows(gold_tokens, page_tokens))
    i, j = len(page_tokens) - 1, len(gold_tokens) - 1
    while i >= 0 and j >= 0:
        if page_tokens[i] == gold_tokens[j]:
            yield int(in_page[i]), int(in_gold[j])
            i -= 1
            j -= 1
        elif rows[i] >> j & 1:
            j -= 1
        else:
            i -= 1


def _anchors(page: _Ids, gold: _Ids, size: int) -> list[tuple[int, int]]:
    """Return the longest chain, increasing on both sides, of positions of n-grams that are unique on both sides."""
    page_grams, page_at = _single_grams(page, size)
    gold_grams, gold_at = _single_grams(gold, size)
    _, left, right = np.intersect1d(page_grams, gold_grams, assume_unique=True, return_indices=True)
    pairs = sorted(zip(page_at[left].tolist(), gold_at[right].tolist(), strict=True))
    # Patience sorting: ends[k] is the last pair of the chain of k + 1 pairs with the smallest last gold position.
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        k = bisect_left(tails, at)
        tails[k : k + 1] = [at]
        ends[k : k + 1] = [number]
        before.append(ends[k - 1] if k else -1)
    chain = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _single_grams(tokens: _Ids, size: int) -> tuple[_Ids, _Ids]:
    """Return the codes and the start positions of the n-grams that occur once.

    The code is a polynomial hash modulo 2**64; a collision may give a poor cut, but no wrong match.
    """
    count = max(len(tokens) - size + 1, 0)
    codes = np.zeros(count, dtype=np.int64)
    for k in range(size):
        codes = codes * _HASH_BASE + tokens[k : k + count]
    grams, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return grams[counts == 1], first[counts == 1]


def _runs(matches: Iterable[tuple[int, int]]) -> list[_Run]:
    """Group matches, given in page order, into maximal runs."""
    runs: list[_Run] = []
    for i, j in matches:
        last = runs[-1] if runs else None
        if last and (i - last.page, j - last.gold) == (last.length, last.length):
            runs[-1] = last._replace(length=last.length + 1)
        else:
            runs.append(_Run(i, j, 1))
    return runs


def _lengthen(runs: list[_Run], page: list[int], gold: list[int]) -> list[_Run]:
    """Move tokens between neighbouring runs, in both directions, until the sum of squared lengths stops growing."""
    page_back, gold_back = page[::-1], gold[::-1]
    while True:
        leftward = _grow_left(runs, page, gold)
        rightward = _grow_left(_mirrored(leftward, len(page), len(gold)), page_back, gold_back)
        both = _mirrored(rightward, len(page), len(gold))
        if both == runs:
            return runs
        runs = both


def _mirrored(runs: list[_Run], page_length: int, gold_length: int) -> list[_Run]:
    """Return the runs in the reversed sequences."""
    return [
        _Run(page_length - run.page - run.length, gold_length - run.gold - run.length, run.length)
        for run in reversed(runs)
    ]


def _grow_left(runs: list[_Run], page: list[int], gold: list[int]) -> list[_Run]:
    """Lengthen each run to the left, into unmatched tokens and into tokens of the runs before it."""
    grown = [_Run(0, 0, 0)]  # sentinel that ends the growth
    for run in runs:
        longer = run
        while True:
            shorter, longer = _shifted(grown.pop(), longer, page, gold)
            if shorter.length or not grown:
                grown.append(shorter)
                break
        grown.append(longer)
    return grown[1:]


def _shifted(last: _Run, run: _Run, page: list[int], gold: list[int]) -> tuple[_Run, _Run]:
    """Lengthen a run to the left, and shorten the run before it if that increases the sum of squared lengths.

    Taking ``taken`` tokens drops at most as many matches of the run before, because all others are further left on both
    sides.
    """
    free = min(run.page - last.page, run.gold - last.gold) - last.length
    limit = free + last.length
    taken = 0
    while taken < limit and page[run.page - taken - 1] == gold[run.gold - taken - 1]:
        taken += 1
    dropped = max(taken - free, 0)
    squares = (last.length - dropped) ** 2 + (run.length + taken) ** 2
    if dropped and squares <= last.length**2 + (run.length + free) ** 2:
        taken, dropped = free, 0
    return (last._replace(length=last.length - dropped), _Run(run.page - taken, run.gold - taken, run.length + taken))
