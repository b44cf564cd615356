"""Corrections: keys of blocks, and arrays of model files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import blockml
from blockml.errors import ModelFormatError
from blockml.features import matrix
from blockml.features.page_context import PageContext
from blockml.predictors import Correction
from blockml.predictors.correction import block_keys

HTML = "<div class='post Post-12'><p>One two</p><p>Three 44</p></div><p>Three 45</p><a href=/>x</a>"


def test_keys_ignore_numbers_and_case() -> None:
    """Digits and case don't change a block's key, and equal texts share a key."""
    found = block_keys(PageContext(blockml.parse(HTML)))
    other = block_keys(PageContext(blockml.parse(HTML.replace("Post-12", "post-977").replace("Three", "three"))))
    assert found.keys.tolist() == other.keys.tolist()
    texts = found.keys[found.starts[1:] - 1]
    assert len(texts) == 4
    assert texts[1] == texts[2]


def test_a_correction_sums_weights(implementation: str) -> None:
    """Each key counts once per block that has it, in both implementations of the page context."""
    assert implementation in ("python", "compiled")
    page = matrix(blockml.parse(HTML), "boilerpipe6")
    keys = block_keys(page.context)
    text = keys.keys[keys.starts[2] - 1]
    place = keys.keys[0]
    chosen = np.array(sorted([text, place]), dtype=np.uint64)
    weights = np.where(chosen == text, 4.0, 1.0)
    found = Correction(chosen, weights, -0.5).log_odds(page)
    expected = [
        -0.5 + 4.0 * (text in own) + np.count_nonzero(own == place) for own in np.split(keys.keys, keys.starts[1:-1])
    ]
    assert found.tolist() == expected
    assert Correction(chosen[:0], weights[:0], 2.0).log_odds(page).tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": np.array([2, 1], np.uint64)}, "must be in ascending order"),
        ({"keys": np.array([1, 2])}, "'keys' is missing"),
        ({"weights": np.array([1.0])}, "one weight per key"),
        ({"weights": np.array([1.0, np.nan])}, "within"),
        ({"bias": np.array([1.0, 2.0])}, "one bias"),
        ({"bias": np.array(1.0)}, "'bias' is missing"),
    ],
)
def test_damaged_arrays_are_refused(changes: dict[str, NDArray[Any]], message: str) -> None:
    """Every array of a correction in a model file is checked."""
    good = Correction(np.array([1, 2], np.uint64), np.array([0.5, 1.0]), 0.0).to_arrays()
    assert Correction.from_arrays(good, 3).weights.tolist() == [0.5, 1.0]
    with pytest.raises(ModelFormatError, match=message):
        Correction.from_arrays({**good, **changes}, 3)
