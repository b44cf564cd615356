"""Tokens and scores of words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.errors import UnknownNameError, UsageError
from blockml.evaluation import WordScores, bag_scores, lcs_scores, shingle_scores, snippet_rates
from blockml.text.words import metric_tokens

GOLD = "the cat sat on the mat"
EXTRACTED = "menu the cat on mat the footer"
Metric = Callable[[str, str], WordScores]
METRICS: list[Metric] = [lcs_scores, bag_scores, shingle_scores]
texts = st.lists(st.sampled_from(["a", "b", "c", "d", "-"]), max_size=20).map(" ".join)


def test_word_tokens_are_lower_case_words() -> None:
    r"""Mode "w" returns the matches of \w+ in the lower-case text, in any script."""
    assert metric_tokens("Don't STOP: Ärger, snake_case 3.5!") == ["don", "t", "stop", "ärger", "snake_case", "3", "5"]
    assert metric_tokens(" -- ... ") == []


def test_white_space_tokens_keep_case_and_punctuation() -> None:
    """Mode "ws" splits only at Unicode white space, including the no-break space."""
    assert metric_tokens("Don't\u00a0STOP:\n ok", "ws") == ["Don't", "STOP:", "ok"]
    assert metric_tokens("  ", "ws") == []


def test_unknown_token_mode_names_the_legal_ones() -> None:
    """An unknown mode is refused, also by the metrics."""
    with pytest.raises(UnknownNameError, match="choose one of: w, ws"):
        metric_tokens("a", "words")
    with pytest.raises(UnknownNameError, match="'words'"):
        lcs_scores("a", "a", "words")


def test_lcs_example() -> None:
    """Four words are in the same order in the gold (six words) and in the output (seven words)."""
    assert lcs_scores(GOLD, EXTRACTED) == pytest.approx((0.571429, 0.666667, 0.615385), abs=1e-6)


def test_bag_example() -> None:
    """Five words are shared by the gold (six words) and the output (seven words)."""
    assert bag_scores(GOLD, EXTRACTED) == pytest.approx((0.714286, 0.833333, 0.769231), abs=1e-6)


def test_shingle_example() -> None:
    """Two of three 4-grams are shared."""
    assert shingle_scores("a b c d e f", "x a b c d e") == pytest.approx((2 / 3, 2 / 3, 2 / 3), abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_empty_rules(metric: Metric) -> None:
    """Two texts without words are equal, and if only one has none, all scores are 0."""
    assert metric("", " - ") == (1, 1, 1)
    assert metric("a b", "") == (0, 0, 0)
    assert metric("", "a b") == (0, 0, 0)
    assert metric("a b", "c d") == (0, 0, 0)


@pytest.mark.parametrize("metric", METRICS)
@given(gold=texts, extracted=texts)
def test_scores_are_symmetric_and_consistent(metric: Metric, gold: str, extracted: str) -> None:
    """Swapping the texts swaps precision and recall, F1 is their harmonic mean, and equal texts score 1."""
    precision, recall, f1 = metric(gold, extracted)
    assert metric(extracted, gold) == (recall, precision, f1)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall) if precision else 0)
    assert metric(gold, gold) == (1, 1, 1)


@given(texts, texts)
def test_bag_bounds_lcs_from_above(gold: str, extracted: str) -> None:
    """Scores that ignore the order of words are at least as high as those that don't."""
    ordered, bag = lcs_scores(gold, extracted), bag_scores(gold, extracted)
    assert all(low <= high for low, high in zip(ordered, bag, strict=True))


def test_lcs_and_bag_accept_a_mode() -> None:
    """In mode "ws" words that differ in punctuation or case are different; by default they are equal."""
    assert lcs_scores("A cat.", "a cat").f1 == bag_scores("A cat.", "a cat").f1 == 1
    assert lcs_scores("A cat.", "a cat", "ws").f1 == bag_scores("A cat.", "a cat", "ws").f1 == 0


def test_shingles_count_repetitions() -> None:
    """A repeated 2-gram counts as often as it occurs in both texts."""
    assert shingle_scores("a b a b a b", "a b a b", size=2) == pytest.approx((1, 3 / 5, 3 / 4))


def test_a_short_text_is_one_shorter_shingle() -> None:
    """A text of fewer words than a shingle is one shingle, which only matches an equal one."""
    assert shingle_scores("a b c", "a b c").f1 == 1
    assert shingle_scores("a b c", "a b").f1 == 0


def test_shingle_case_option() -> None:
    """Case matters unless ``lower`` is set."""
    assert shingle_scores("A b c d", "a b c d").f1 == 0
    assert shingle_scores("A b c d", "a b c d", lower=True).f1 == 1


def test_impossible_sizes_of_shingles_are_refused() -> None:
    """A shingle must have at least one word."""
    with pytest.raises(UsageError, match="size must be at least 1, got 0"):
        shingle_scores("a", "a", size=0)


def test_snippets_ignore_case_and_white_space() -> None:
    """Snippets are found in any case and across line breaks, but only as a whole."""
    text = "The  Cat\nsat\u00a0on the mat."
    assert snippet_rates(text, ["cat SAT", "on\tthe mat", "the dog"], ["the cat sat on", "menu"]) == (2 / 3, 1 / 2)


def test_no_snippets_give_no_rate() -> None:
    """Without snippets, or with only blank ones, there is no rate, and an empty text contains no snippet."""
    assert snippet_rates("text", [], [" "]) == (None, None)
    assert snippet_rates("", ["a"], ["b"]) == (0, 0)
