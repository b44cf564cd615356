"""The choice of blocks with the best expected F1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.predictors.page_features import expected_f1

#: Far enough from 0 and 1 that their log odds differ.
between = st.floats(2**-18, 1 - 2**-18, width=32)
pages = st.lists(st.tuples(between, st.integers(0, 300)), min_size=1, max_size=15)


@given(pages)
def test_no_other_threshold_is_better(rows: list[tuple[float, int]]) -> None:
    """The threshold's expected F1 is the highest among all probabilities of the page as thresholds."""
    probabilities, words = np.array([p for p, _ in rows], np.float32), np.array([n for _, n in rows], np.float64)
    threshold, f1 = expected_f1(probabilities, words)
    total = sum(p * n for p, n in rows)

    def expected(least: float) -> float:
        kept = [(p, n) for p, n in rows if p >= least]
        return 2 * sum(p * n for p, n in kept) / (sum(n for _, n in kept) + total)

    if not total:
        assert (threshold, f1) == (1, 0)
        return
    assert threshold in probabilities
    assert f1 == pytest.approx(expected(threshold))
    assert f1 == pytest.approx(max(expected(p) for p, _ in rows))
    assert 0 < f1 <= 1


def test_certain_pages_have_an_expected_f1_of_one() -> None:
    """A page of certain blocks has an expected F1 of 1, and a page without content or blocks has 0."""
    assert expected_f1(np.array([1.0, 0.0, 1.0]), np.array([5.0, 900.0, 1.0])) == (1.0, 1.0)
    assert expected_f1(np.zeros(2), np.ones(2)) == (1.0, 0.0)
    assert expected_f1(np.empty(0), np.empty(0)) == (1.0, 0.0)
