"""Confusion matrices of labels, compared with counting one block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from blockml.errors import UsageError
from research.benchmarks.confusion import confusion

LABELS = ["main", "comment", "footer"]
pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 9)), max_size=40)


@given(pairs)
def test_scores_are_those_of_scikit_learn(blocks: list[tuple[str, str, int]]) -> None:
    """Scores equal scikit-learn's with and without weights, wherever scikit-learn defines them."""
    truth, said, weights = ([block[i] for block in blocks] for i in range(3))
    for weight in (None, weights):
        table = confusion(truth, said, LABELS, weight)
        if not any(weights):
            continue
        assert np.array_equal(table.counts, confusion_matrix(truth, said, labels=LABELS, sample_weight=weight))
        expected = precision_recall_fscore_support(
            truth, said, labels=LABELS, sample_weight=weight, zero_division=np.nan
        )
        for i, label in enumerate(LABELS):
            scores = table.of(label)
            for got, wanted in zip((scores.precision, scores.recall, scores.f1), expected, strict=False):
                assert np.isnan(wanted[i]) or got == pytest.approx(wanted[i])


@given(pairs, pairs)
def test_confusions_can_be_added(one: list[tuple[str, str, int]], other: list[tuple[str, str, int]]) -> None:
    """The sum of the confusions of two pages is the confusion of all their blocks."""

    def counted(blocks: list[tuple[str, str, int]]) -> Any:
        return confusion([b[0] for b in blocks], [b[1] for b in blocks], LABELS, [b[2] for b in blocks])

    assert np.array_equal((counted(one) + counted(other)).counts, counted(one + other).counts)


def test_rows_and_means() -> None:
    """A label that doesn't occur is left out of the mean."""
    table = confusion(["main", "main", "main", "comment"], ["main", "main", "comment", "comment"], LABELS)
    assert table.accuracy == 0.75
    assert table.macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)
    row = table.rows()[0]
    assert row["label"] == "main"
    assert (row["n"], row["precision"], row["recall"], row["f1"]) == (3, 1, 0.667, 0.8)
    assert (row["as main"], row["as comment"], row["as footer"]) == (0.667, 0.333, 0)
    assert confusion([], [], LABELS).accuracy == confusion([], [], LABELS).macro_f1 == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (["main"], [], LABELS),
        (["mane"], ["main"], LABELS),
        (["main"], ["mane"], LABELS),
        (["main"], ["main"], LABELS, [-1]),
        (["main"], ["main"], LABELS, [np.nan]),
        (["main"], ["main"], LABELS, [1, 2]),
    ],
)
def test_invalid_labels_and_weights_are_refused(arguments: Any) -> None:
    """Wrong lengths, labels and weights are refused."""
    with pytest.raises(UsageError):
        confusion(*arguments)


def test_unknown_label_and_other_tables() -> None:
    """Unknown labels, and sums with tables of other labels, are refused."""
    table = confusion(["main"], ["main"], LABELS)
    with pytest.raises(UsageError, match="unknown label 'other'"):
        table.of("other")
    with pytest.raises(UsageError, match="can't be added"):
        table + confusion([], [], ["main"])
