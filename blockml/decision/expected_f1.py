"""Keep the blocks that maximise expected F1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["expected_f1"]


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
        The smallest probability of a kept block, and the expected F1 in [0, 1]; 1 and 0 without words.

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
