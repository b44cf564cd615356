"""Thresholds and confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.decision import confidence, decide
from blockml.errors import UsageError
from blockml.page import Reason

scores_lists = st.lists(st.floats(0, 1, width=32), max_size=20)


@given(scores_lists, st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_keeps_less(values: list[float], one: float, other: float) -> None:
    """What is kept at a threshold is kept at every lower one."""
    scores = np.array(values, dtype=np.float32)
    low, high = sorted((one, other))
    assert not (decide(scores, high).kept & ~decide(scores, low).kept).any()


@given(scores_lists)
def test_threshold_zero_keeps_all(values: list[float]) -> None:
    """Every score reaches 0."""
    assert decide(np.array(values, dtype=np.float32), 0).kept.all()


@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.3, 0.7, 1 / 3, 1.0])
def test_score_equal_to_the_threshold_is_kept(threshold: float) -> None:
    """Scores are float32, so the threshold is rounded to it."""
    score = np.float32(threshold)
    scores = np.array([np.nextafter(score, np.float32(0)), score], dtype=np.float32)
    decision = decide(scores, threshold)
    assert decision.kept.tolist() == [False, True]
    assert decision.reasons == (Reason.SCORE_BELOW_THRESHOLD, Reason.SCORE_REACHES_THRESHOLD)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, math.inf])
def test_thresholds_outside_the_range_are_refused(threshold: float) -> None:
    """The message names the range."""
    with pytest.raises(UsageError, match="between 0 and 1"):
        decide(np.zeros(1, np.float32), threshold)


def test_no_blocks() -> None:
    """Nothing to decide is no error."""
    none = np.empty(0, np.float32)
    decision = decide(none, 0.5)
    assert (decision.kept.shape, decision.reasons) == ((0,), ())
    assert decision.kept.dtype == np.bool_
    assert confidence(none, decision.kept, np.empty(0, np.int32)) == 0


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans(), st.integers(0, 1000)), max_size=20))
def test_confidence_is_the_expected_share_of_right_words(rows: list[tuple[float, bool, int]]) -> None:
    """Each word is right with the probability of its block's decision."""
    scores, kept, words = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    got = confidence(scores.astype(np.float32), kept.astype(bool), words.astype(np.int32))
    total = sum(row[2] for row in rows)
    right = sum((score if keep else 1 - score) * n for score, keep, n in rows)
    assert got == pytest.approx(right / total if total else 0, abs=1e-5)
    assert 0 <= got <= 1


def test_preformatted_text_is_decided_as_a_whole() -> None:
    """Pieces of one code block share a decision, by the mean score of their words; two blocks don't."""
    page = blockml.parse("<pre></pre><pre>a b c <b>d</b></pre><p>x</p><pre><i>e</i> f<pre>g</pre></pre>")
    assert page.blocks.texts == ("a b c", "d", "x", "e", "f", "g")
    scores = np.array([0.8, 0.1, 0.3, 0.9, 0.1, 0.2], np.float32)
    decision = decide(scores, 0.5, page)
    assert decision.kept.tolist() == [True, True, False, False, False, False]
    assert decision.reasons == (
        Reason.SCORE_REACHES_THRESHOLD,
        Reason.KEPT_WITH_ITS_CODE,
        Reason.SCORE_BELOW_THRESHOLD,
        Reason.REMOVED_WITH_ITS_CODE,
        Reason.SCORE_BELOW_THRESHOLD,
        Reason.SCORE_BELOW_THRESHOLD,
    )
    assert decide(scores, 0.5).kept.tolist() == [True, False, False, True, False, False]
