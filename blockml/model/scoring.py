"""Prediction for a page: weighted average of a model's predictors, P(article) and block types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.decision.prediction import Prediction
from blockml.features.page_matrix import PageMatrix
from blockml.model.model import Model
from blockml.predictors.base import average_predictors
from blockml.predictors.log_odds import log_odds, sigmoid
from blockml.predictors.page_features import article_probability


def score_page(model: Model, page: PageMatrix, correction: NDArray[np.float64] | None = None) -> Prediction:
    """Score the blocks of a page from its features.

    Parameters
    ----------
    model
        The model.
    page
        Features of the page.
    correction
        (n_blocks,) added to the log odds; by default that of the model, if it was adapted.

    Raises
    ------
    UsageError
        The matrix has fewer columns than a predictor reads.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import page_matrix
    >>> model = blockml.load("default").model
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world, and nobody has ever asked them to do so.</p>")
    >>> found = score_page(model, page_matrix(page, model.features))
    >>> found.scores.shape, 0 <= found.p_article <= 1
    ((2,), True)
    """
    first, probabilities = average_predictors(model.predictors, model.weights, page)
    p_article = None
    if model.article is not None and model.policy.rule == "expected_f1":
        # The trees of P(article) were trained on probabilities without a correction.
        p_article = article_probability(model.article, page.context.amounts, first, probabilities)
    if correction is None and model.correction is not None:
        correction = model.correction.log_odds(page)
    if correction is not None:
        probabilities = sigmoid(log_odds(probabilities) + correction)
    return Prediction(probabilities, matrix=page, p_article=p_article, block_types=model.block_types)
