"""Prediction for a page: the weighted average of a model's predictors, P(article) and block types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Prediction
from blockml.decision.page_features import BlockAmounts, page_features
from blockml.features.page_matrix import PageMatrix
from blockml.model.model import Model
from blockml.predictors.block_types import BlockTypeScores
from blockml.predictors.log_odds import average_log_odds, log_odds, sigmoid


def score_page(model: Model, page: PageMatrix, correction: NDArray[np.float64] | None = None) -> Prediction:
    """Score the blocks of a page by the features that the model was trained on.

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
    first, *others = model.predictors.values()
    if others:
        odds = [predictor.log_odds(page) for predictor in model.predictors.values()]
        alone, probabilities = sigmoid(odds[0]), average_log_odds(odds, list(model.weights.values()))
    else:
        alone = probabilities = first.probabilities(page)
    uncorrected = probabilities
    if correction is None and model.correction is not None:
        correction = model.correction.log_odds(page)
    if correction is not None:
        probabilities = sigmoid(log_odds(uncorrected) + correction)
    types = None if model.block_types is None else BlockTypeScores(model.block_types, page)
    if model.policy.rule != "expected_f1":
        return Prediction(probabilities, block_types=types)
    context = page.context
    amounts = BlockAmounts(context.words, context.linked, context.prose)
    p_article = None
    if model.article is not None:
        row = page_features(amounts, alone, uncorrected)  # its trees were trained on probabilities without a correction
        p_article = float(sigmoid(model.article.trees.predict(row[None]))[0])
    return Prediction(probabilities, context=context, p_article=p_article, block_types=types)
