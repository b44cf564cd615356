"""Page-level predictions from block probabilities: expected F1, features, and P(article).

Trees over one row of features predict whether the page is an article. They are trained on pages that the block
classifier was not trained on, where it is less certain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.features.page_context import BlockAmounts
from blockml.predictors.base import log_odds, sigmoid
from blockml.predictors.tree_ensemble import TreeEnsemble

__all__ = ["PAGE_FEATURES", "article_probability", "expected_f1", "page_features"]

PAGE_FEATURES = (
    "best_f1",  # expected F1 of the blocks that maximise it
    "threshold",  # log odds of the kept block with the lowest probability
    "kept",  # words kept / all words
    "words",  # logarithm of the words kept
    "pagewords",  # logarithm of the words of the page
    "unsure",  # words of blocks with a probability from .2 to .8 / words kept
    "agreement",  # F1 of the kept blocks against those that would be kept by the first predictor's scores
    "pieces",  # runs of adjacent kept blocks / kept blocks
    "links",  # linked words / words of the kept blocks
    "prose",  # words of running text / words of the kept blocks
    "pageprose",  # words of running text / words of the page
    "low",  # F1 of the kept blocks against those with a probability of at least .8
    "high",  # F1 of the kept blocks against those with a probability of at least .2
)

_UNSURE = (np.float32(0.2), np.float32(0.8))


def expected_f1(probabilities: NDArray[np.floating[Any]], words: NDArray[np.float64]) -> tuple[float, float]:
    """Find the threshold that maximises the expected F1 of the kept blocks.

    If blocks with ``k`` words and probability ``p`` are kept, expected F1 is approximately
    ``2 * sum(k * p) / (sum(k) + sum(all * p))`` (Lewis 1995; Ye, Chai, Lee and Chieu 2012, on plug-in rules for F1).

    Parameters
    ----------
    probabilities
        (n_blocks,) probability of being content.
    words
        (n_blocks,) words of each block.

    Returns
    -------
    threshold, f1
        The smallest probability of a kept block, and the expected F1 in [0, 1]; 1 and 0 if there are no words.

    Examples
    --------
    >>> threshold, f1 = expected_f1(np.array([.9, .4, .1]), np.array([100., 30., 500.]))
    >>> round(threshold, 2), round(f1, 3)
    (0.4, 0.723)
    """
    order = (-probabilities).argsort(kind="stable")
    likely = probabilities[order].astype(np.float64)
    amounts = words[order]
    # cumsum adds in order; the rounding of pairwise sums would depend on the number of blocks.
    hits = (amounts * likely).cumsum()
    if not len(order) or hits[-1] <= 0:
        return 1.0, 0.0
    quality = 2 * hits / (amounts.cumsum() + hits[-1])
    best = int(quality.argmax())
    return float(likely[best]), float(quality[best])


def page_features(
    amounts: BlockAmounts, first: NDArray[np.float32], probabilities: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Compute the features of one page.

    Parameters
    ----------
    amounts
        Numbers of words of its blocks.
    first, probabilities
        (n_blocks,) probabilities by the model's first predictor, and by the whole ensemble.

    Returns
    -------
    NDArray[np.float32]
        (len(PAGE_FEATURES),).
    """
    if _kernel.compiled is not None:
        features = np.empty(len(PAGE_FEATURES), dtype=np.float32)
        columns = np.ascontiguousarray(first), np.ascontiguousarray(probabilities)
        _kernel.compiled.page_features(*amounts, *columns, features)
        return features
    words, linked, prose = amounts
    threshold, f1 = expected_f1(probabilities, words)
    low, high = _UNSURE
    kept = probabilities >= np.float32(threshold)
    of_first = first >= np.float32(expected_f1(first, words)[0])
    unsure = (probabilities > low) & (probabilities < high)
    choices = np.array([np.ones_like(kept), kept, of_first, probabilities >= high, probabilities >= low, unsure])
    # Numbers of words are integers: their sums are exact in any order.
    sums = (choices[:, None] * np.array([words, kept * words, linked, prose])).sum(axis=2)
    (n_all, *_, n_prose), (n_kept, _, kept_links, kept_prose) = sums[:2].tolist()
    blocks = int(np.count_nonzero(kept))
    runs = int(np.count_nonzero(kept[1:] > kept[:-1])) + int(kept[:1].sum())
    least_kept, least_all = max(1.0, n_kept), max(1.0, n_all)
    # F1 of the decision against other sets of blocks.
    agreement, certain, likely = [2 * both / max(1.0, n_kept + n) for n, both in sums[2:5, :2].tolist()]
    row = (
        *(f1, float(log_odds(np.array([threshold]))[0]), least_kept / least_all),
        *(math.log1p(least_kept), math.log1p(least_all), float(sums[5, 0]) / least_kept, agreement),
        *(
            runs / max(1, blocks),
            kept_links / least_kept,
            kept_prose / least_kept,
            n_prose / least_all,
            certain,
            likely,
        ),
    )
    return np.array(row, dtype=np.float32)


def article_probability(
    article: TreeEnsemble, amounts: BlockAmounts, first: NDArray[np.float32], probabilities: NDArray[np.float32]
) -> float:
    """Predict the probability that a page is an article by trees over its :func:`page_features`."""
    row = page_features(amounts, first, probabilities)
    return float(sigmoid(article.trees.predict(row[None]))[0])
