"""Longest common subsequences and the alignment of a page with its gold text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from blockml.errors import UsageError
from blockml.text.lcs import _single_grams, lcs_alignment, lcs_length
from blockml.text.words import metric_tokens

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

# Few distinct tokens give many equally good alignments; the longer lists cross the digit borders of long integers.
few_tokens = st.lists(st.sampled_from("abc"), max_size=30)
more_tokens = st.lists(st.integers(0, 12), max_size=90)


def slow_lcs_length(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return the length by the textbook algorithm."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, s in enumerate(a):
        for j, t in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if s == t else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def matches_of(
    page: Sequence[Hashable], gold: Sequence[Hashable], max_cells: int = 40_000_000
) -> list[tuple[int, int]]:
    """Align two texts, check that the alignment is valid, and return its matches."""
    alignment = lcs_alignment(page, gold, max_cells=max_cells)
    assert alignment.dtype == np.int32
    assert alignment.shape == (len(page),)
    matches = [(i, j) for i, j in enumerate(alignment.tolist()) if j != -1]
    assert all(page[i] == gold[j] for i, j in matches)
    assert all(j < next_j for (_, j), (_, next_j) in pairwise(matches))
    return matches


def run_lengths(matches: list[tuple[int, int]]) -> list[int]:
    """Return the lengths of the stretches that are consecutive on both sides."""
    lengths = [1] if matches else []
    for (i, j), (next_i, next_j) in pairwise(matches):
        if (next_i - i, next_j - j) == (1, 1):
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


@given(few_tokens, few_tokens)
def test_length_equals_the_textbook_table(a: list[str], b: list[str]) -> None:
    """The bit-parallel length equals that of the quadratic dynamic programme."""
    assert lcs_length(a, b) == slow_lcs_length(a, b)


@given(more_tokens, more_tokens)
def test_length_equals_rapidfuzz(a: list[int], b: list[int]) -> None:
    """Longer sequences agree with an independent implementation, in either order of arguments."""
    expected = LCSseq.similarity(a, b)
    assert lcs_length(a, b) == expected
    assert lcs_length(b, a) == expected


def test_length_across_many_digits() -> None:
    """Sequences of thousands of tokens, where carries cross the digits of long integers, stay exact."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(40, size=3000).tolist(), rng.integers(40, size=2500).tolist()
    assert lcs_length(a, b) == LCSseq.similarity(a, b)


def test_length_accepts_any_hashable() -> None:
    """Strings count as characters, and tokens of several types may be mixed."""
    assert lcs_length("banana", "atana") == 4
    assert lcs_length([("a", 1), None, 2], [None, 2, ("a", 1)]) == 2


def test_length_of_empty_and_equal_sequences() -> None:
    """Empty sequences and sequences without common tokens have the length 0, and equal ones their full length."""
    assert lcs_length([], []) == 0
    assert lcs_length("abc", "") == 0
    assert lcs_length("abc", "xyz") == 0
    assert lcs_length("abc", "abc") == 3


@given(few_tokens, few_tokens)
def test_alignment_is_valid_and_longest(page: list[str], gold: list[str]) -> None:
    """An alignment matches equal tokens in order, as many as the LCS has."""
    assert len(matches_of(page, gold)) == slow_lcs_length(page, gold)


@given(more_tokens, more_tokens)
def test_longer_alignment_is_valid_and_longest(page: list[int], gold: list[int]) -> None:
    """Longer alignments are as long as those of an independent implementation."""
    assert len(matches_of(page, gold)) == LCSseq.similarity(page, gold)


@pytest.mark.parametrize(
    ("page", "gold", "expected"),
    [
        ("home title x y title body text end", "title body text", [4, 5, 6]),
        ("title x title body text", "title body text", [2, 3, 4]),
        ("body text more z more footer", "gold body text more", [0, 1, 2]),
        ("the x big y cat z the big cat sat", "the big cat sat", [6, 7, 8, 9]),
        ("cat sat on mat x on y mat", "the cat sat on mat", [0, 1, 2, 3]),
    ],
)
def test_repeated_words_are_matched_where_they_are_contiguous(page: str, gold: str, expected: list[int]) -> None:
    """A repeated word is matched where it continues a longer run, on either side of the run."""
    assert [i for i, _ in matches_of(page.split(), gold.split())] == expected


def test_repeated_gold_words_are_matched_where_they_are_contiguous() -> None:
    """A repeated gold word is aligned at its occurrence next to the following matched word."""
    assert matches_of(["a", "c"], ["a", "b", "a", "c"]) == [(0, 2), (1, 3)]


def test_of_two_equal_title_copies_the_later_one_is_matched() -> None:
    """A title that touches no other match is taken from the heading, not from the breadcrumb before it."""
    page = ["big", "title", "home", "big", "title", "date", "body", "text"]
    assert [i for i, _ in matches_of(page, ["big", "title", "body", "text"])] == [3, 4, 6, 7]


@given(few_tokens, few_tokens)
def test_no_shift_between_neighbouring_runs_is_left(page: list[str], gold: list[str]) -> None:
    """A run cannot take the token next to it from a neighbouring run that is not longer."""
    matches = matches_of(page, gold)
    lengths = run_lengths(matches)
    ends = np.cumsum(lengths).tolist()
    for k in range(1, len(lengths)):
        left, right = matches[ends[k - 1] - 1], matches[ends[k - 1]]
        if lengths[k - 1] <= lengths[k]:
            assert page[right[0] - 1] != gold[right[1] - 1]
        if lengths[k - 1] >= lengths[k]:
            assert page[left[0] + 1 : left[0] + 2] != gold[left[1] + 1 : left[1] + 2]


def test_block_labels_from_gold_text() -> None:
    """A block is main content if half of its tokens are matched, which a teaser of single words is not."""
    blocks = ["home news", "cats rule", "cats are great and furry", "about cats", "copyright"]
    owners = np.array([k for k, block in enumerate(blocks) for _ in block.split()])
    gold = "cats rule cats are great and very furry"
    matched = lcs_alignment(" ".join(blocks).split(), metric_tokens(gold)) >= 0
    scores = np.bincount(owners, weights=matched) / np.bincount(owners)
    assert matched.sum() == 7
    assert scores.tolist() == [0, 1, 1, 0, 0]


@pytest.mark.parametrize(("page", "gold"), [("", ""), ("a b", ""), ("", "a b"), ("a b", "c d")])
def test_nothing_in_common_aligns_nothing(page: str, gold: str) -> None:
    """Without common tokens every page token gets -1."""
    assert lcs_alignment(page.split(), gold.split()).tolist() == [-1] * len(page.split())


@given(more_tokens, more_tokens, st.integers(1, 300))
@example(page=[0] * 5 + [1] * 5, gold=[1] * 5 + [0] * 5, max_cells=1)
def test_cut_alignment_stays_valid(page: list[int], gold: list[int], max_cells: int) -> None:
    """However small the exact pieces are, the alignment is valid and not longer than the LCS."""
    assert len(matches_of(page, gold, max_cells)) <= LCSseq.similarity(page, gold)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_cut_alignment_of_equal_sequences_is_complete(tokens: list[int], start: int, stop: int) -> None:
    """A sequence aligned with itself, or a stretch of unique tokens within a page, is matched in full when cut."""
    assert len(matches_of(tokens, tokens, 1)) == len(tokens)
    page = list(range(40))
    assert len(matches_of(page, page[start:stop], 1)) == len(page[start:stop])


def test_anchors_recover_a_text_with_inserted_noise() -> None:
    """Cut at unique 4-grams, a text with inserted noise keeps every match and all its long runs."""
    rng = np.random.default_rng(7)
    gold = rng.integers(400, size=1500).tolist()
    page = rng.integers(400, size=800).tolist()
    for start in range(0, len(gold), 50):
        page += gold[start : start + 50] + rng.integers(400, size=start % 17).tolist()
    page += rng.integers(400, size=800).tolist()
    matches = matches_of(page, gold, 10_000)
    assert len(matches) == len(gold)
    assert sum(length for length in run_lengths(matches) if length >= 50) == len(gold)


def test_crossing_anchors_are_dropped() -> None:
    """Of two passages that were swapped, the longer one is matched."""
    first, second = list(range(60)), list(range(100, 130))
    matches = matches_of(first + second, second + first, 100)
    assert matches == [(i, i + 30) for i in range(60)]


def test_shorter_ngrams_anchor_where_longer_ones_do_not() -> None:
    """Unique pairs cut a text in which longer n-grams differ everywhere."""
    gold = [token for k in range(50) for token in (k, -k - 1, "a", "b")]
    page = ["b", "a"] * 1000 + [token for k in range(50) for token in (k, -k - 1, "b", "a")]
    assert len(matches_of(page, gold, 1000)) == lcs_length(page, gold)


def test_repeated_ngrams_are_not_anchors() -> None:
    """Only n-grams that occur once are anchors, with their positions."""
    _, positions = _single_grams(np.array([1, 2, 1, 2, 3]), 2)
    assert sorted(positions.tolist()) == [1, 3]


def test_max_cells_below_one_is_refused() -> None:
    """A maximum of no cells is refused, because such a piece cannot contain a match."""
    with pytest.raises(UsageError, match="max_cells must be at least 1"):
        lcs_alignment("a", "a", max_cells=0)
