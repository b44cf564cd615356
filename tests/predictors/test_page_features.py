"""Features of a whole page: one page by hand, and any page."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.decision import predicted_f1
from blockml.features.page_context import BlockAmounts
from blockml.predictors.page_features import PAGE_FEATURES, expected_f1, page_features


def amounts(words: list[float], linked: list[float], prose: list[float]) -> BlockAmounts:
    """Return word counts of blocks."""
    return BlockAmounts(*(np.array(values, np.float64) for values in (words, linked, prose)))


def named(row: NDArray[np.float32]) -> dict[str, float]:
    """Return the values of a row by their names."""
    return dict(zip(PAGE_FEATURES, row.tolist(), strict=True))


def test_a_row_by_hand() -> None:
    """The features of four blocks, two of which are kept, equal those computed by hand."""
    blocks = amounts([10, 100, 20, 50], [10, 5, 20, 0], [0, 100, 0, 50])
    final, alone = np.array([0.1, 0.7, 0.3, 0.9], np.float32), np.array([0.01, 0.02, 0.01, 0.95], np.float32)
    hits = 0.9 * 50 + 0.7 * 100
    assert named(page_features(blocks, alone, final)) == pytest.approx(
        {
            "best_f1": 2 * hits / (150 + hits + 0.3 * 20 + 0.1 * 10),
            "threshold": math.log(0.7 / 0.3),
            "kept": 150 / 180,
            "words": math.log(151),
            "pagewords": math.log(181),
            "unsure": 120 / 150,
            "agreement": 2 * 50 / (150 + 50),
            "pieces": 2 / 2,
            "links": 5 / 150,
            "prose": 1,
            "pageprose": 150 / 180,
            "low": 2 * 50 / (150 + 50),
            "high": 2 * 150 / (150 + 170),
        },
        rel=1e-5,
    )


def test_neighbours_are_one_piece() -> None:
    """Neighbouring kept blocks are one piece."""
    final = np.array([0.9, 0.9, 0.01, 0.9, 0.9, 0.9], np.float32)
    blocks = amounts([1.0] * 6, [1.0] * 6, [1.0] * 6)
    assert named(page_features(blocks, final, final))["pieces"] == pytest.approx(2 / 5)


@given(
    st.lists(
        st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32), st.integers(0, 400), st.integers(0, 400)),
        max_size=20,
    )
)
def test_any_page_has_a_row(blocks: list[tuple[float, float, int, int]]) -> None:
    """The row of any page, even one without blocks or words, is finite, and its shares are in [0, 1]."""
    words, part = [float(block[2]) for block in blocks], [float(min(block[2:])) for block in blocks]
    alone, final = (np.array([block[place] for block in blocks], np.float32) for place in (0, 1))
    row = page_features(amounts(words, part, part), alone, final)
    assert row.shape == (len(PAGE_FEATURES),)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    found = named(row)
    for name in ("best_f1", "kept", "agreement", "pieces", "links", "prose", "pageprose", "low", "high"):
        assert 0 <= found[name] <= 1, name
    threshold, best = expected_f1(final, np.array(words))
    assert found["best_f1"] == pytest.approx(best, rel=1e-6)
    assert predicted_f1(final, final >= np.float32(threshold), np.array(words)) == pytest.approx(best)
    assert predicted_f1(final, alone > np.float32(0.5), np.array(words)) <= best + 1e-9
