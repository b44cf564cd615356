"""Block metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.errors import UsageError
from blockml.evaluation import BlockScores, block_scores

labels = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30)
counts = st.builds(BlockScores, *[st.integers(0, 50)] * 4)


def test_counts_and_scores_of_one_page() -> None:
    """Three of four main blocks are found, with one false alarm."""
    truth = np.array([int(c) for c in "1110000001"], dtype=bool)
    predicted = np.array([int(c) for c in "1100010001"], dtype=bool)
    scores = block_scores(truth, predicted)
    assert scores == BlockScores(tp=3, fp=1, fn=1, tn=5)
    assert (scores.precision, scores.recall, scores.f1) == (0.75, 0.75, 0.75)
    assert scores.other_f1 == pytest.approx(0.833333, abs=1e-6)
    assert scores.weighted_f1 == pytest.approx(0.8, abs=1e-6)


def test_the_weighted_score_hides_missed_main_content() -> None:
    """With the counts of Kim et al. 2013 (section 4.3), F1 of .5 for main and .9 for other blocks average to .84."""
    # With F_main = .5 the errors are 2 tp, and with F_other = .9 tn is 4.5 times the errors; all sum up to 84,198.
    tp = 84_198 / 12
    scores = BlockScores(tp=tp, fp=70_989 - 9 * tp, fn=13_209 - tp, tn=9 * tp)
    assert (scores.f1, scores.other_f1) == pytest.approx((0.5, 0.9))
    assert scores.weighted_f1 == pytest.approx(0.837248, abs=1e-6)


@pytest.mark.parametrize(
    ("precision", "recall", "f1"),
    [(0.858, 0.778, 0.8160), (0.873, 0.827, 0.8494), (0.793, 0.521, 0.6288), (0.837, 0.795, 0.8155)],
)
def test_f1_is_the_harmonic_mean(precision: float, recall: float, f1: float) -> None:
    """The precision and recall in table 3 of Kim et al. 2013 give the F1 in that table."""
    scores = BlockScores(tp=1, fp=1 / precision - 1, fn=1 / recall - 1)
    assert (scores.precision, scores.recall) == pytest.approx((precision, recall))
    assert scores.f1 == pytest.approx(f1, abs=5e-5)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (BlockScores(), (1, 1, 1, 1)),
        (BlockScores(tn=4), (1, 1, 1, 1)),
        (BlockScores(fp=2, tn=2), (0, 0, 0, 2 / 3)),
        (BlockScores(fn=2, tn=2), (0, 0, 0, 1 / 3)),
        (BlockScores(fp=1, fn=1), (0, 0, 0, 0)),
        (BlockScores(tp=3), (1, 1, 1, 1)),
    ],
)
def test_empty_classes(scores: BlockScores, expected: tuple[float, ...]) -> None:
    """If nothing is predicted and nothing relevant, the scores are perfect; any other 0/0 is 0."""
    assert (scores.precision, scores.recall, scores.f1, scores.weighted_f1) == pytest.approx(expected)


@given(labels)
def test_counts_equal_a_plain_loop(pairs: list[tuple[bool, bool]]) -> None:
    """Counts are integers and equal those of a loop over the pairs."""
    scores = block_scores([t for t, _ in pairs], [p for _, p in pairs])
    expected = [pairs.count(pair) for pair in [(True, True), (False, True), (True, False), (False, False)]]
    assert [scores.tp, scores.fp, scores.fn, scores.tn] == expected
    assert isinstance(scores.tp, int)


@given(labels)
def test_swapping_truth_and_prediction_swaps_precision_and_recall(pairs: list[tuple[bool, bool]]) -> None:
    """Swapping truth and prediction swaps precision and recall, and keeps F1."""
    truth, predicted = [t for t, _ in pairs], [p for _, p in pairs]
    there, back = block_scores(truth, predicted), block_scores(predicted, truth)
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)


@given(counts, counts)
def test_adding_pools_the_counts(a: BlockScores, b: BlockScores) -> None:
    """Adding scores adds their counts, and ``BlockScores()`` is neutral."""
    assert a + b == b + a == BlockScores(a.tp + b.tp, a.fp + b.fp, a.fn + b.fn, a.tn + b.tn)
    assert sum([a, b], BlockScores()) == a + b


def test_only_scores_can_be_added() -> None:
    """Adding a number to scores raises a TypeError."""
    with pytest.raises(TypeError):
        BlockScores(1, 2, 3, 4) + 1  # type: ignore[operator]


def test_word_weights_are_summed() -> None:
    """With words as weights, a long paragraph counts more than a short menu item."""
    scores = block_scores([1, 1, 0, 0], [1, 0, 1, 0], weights=[100, 20, 3, 0])
    assert scores == BlockScores(tp=100.0, fp=3.0, fn=20.0, tn=0.0)
    assert isinstance(scores.tp, float)


@pytest.mark.parametrize(
    ("truth", "predicted", "weights", "message"),
    [
        ([True], [True, False], None, "truth has 1 labels but predicted has 2"),
        ([[True]], [[True]], None, "truth must be a one-dimensional array"),
        ([True], [2], None, "predicted must be a one-dimensional array of booleans"),
        ([True], [float("nan")], None, "predicted must be"),
        ([True], [True], [1.0, 2.0], "weights must be 1 finite numbers"),
        ([True], [True], [-1.0], "not negative"),
        ([True], [True], [float("inf")], "finite"),
    ],
)
def test_unusable_arrays_are_refused(truth: Any, predicted: Any, weights: Any, message: str) -> None:
    """Arrays of the wrong shape or type are refused with what is expected."""
    with pytest.raises(UsageError, match=message):
        block_scores(truth, predicted, weights)
