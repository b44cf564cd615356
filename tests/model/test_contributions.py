"""Contributions of feature families: differences of log odds that can be computed by hand."""

from __future__ import annotations

import numpy as np

import blockml
from blockml.extractors import page_matrix
from blockml.model.contributions import CORRECTION, contributions
from blockml.predictors import Correction, log_odds
from blockml.predictors.correction import block_keys
from tests.models import small_model

HTML = "<p>" + "a long line of words " * 12 + "</p><p>one</p><p>two</p>"


def test_a_family_that_decides_has_the_whole_difference() -> None:
    """The only family that the small model reads, word density, contributes the whole difference."""
    model = small_model()
    page = page_matrix(blockml.parse(HTML, **model.parsing.options()), model.features)
    (predictor,) = model.predictors.values()
    found = contributions(model, page)
    assert set(found) == {"word density", "link density"}
    assert found["link density"].tolist() == [0, 0, 0]
    scores = predictor.probabilities(page)
    median = page.values.copy()
    places = [place for place, name in enumerate(page.columns) if name.startswith("wd")]
    median[:, places] = np.median(median[:, places], axis=0)
    leaf = predictor.probabilities(type(page)(median, page.columns, page.context))
    assert np.allclose(found["word density"], log_odds(scores) - log_odds(leaf))
    assert found["word density"][0] > 0


def test_empty_pages_and_corrections() -> None:
    """A page without blocks has no contributions, and a site correction is a contribution by itself."""
    model = small_model()
    assert contributions(model, page_matrix(blockml.parse(""), model.features)) == {}
    page = page_matrix(blockml.parse(HTML), model.features)
    keys = np.unique(block_keys(page.context).keys[:1])
    adapted = small_model(correction=Correction(keys, np.array([2.5]), 0.5))
    assert contributions(adapted, page)[CORRECTION].tolist() == [3.0, 3.0, 3.0]
