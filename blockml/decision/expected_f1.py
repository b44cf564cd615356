"""The choice of blocks whose expected F1 is best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["expected_f1"]


def expected_f1(probabilities: NDArray[np.floating[Any]], words: NDArray[np.float64]) -> tuple[float, float]:
    """Find the threshold at which the kept blocks have the best expected F1.

    Blocks are kept from the most probable one on; with ``k`` words of probability ``p`` kept, F1 is about
    ``2 * sum(k * p) / (sum(k) + sum(all * p))`` (Lewis 1995; Ye, Chai, Lee and Chieu 2012, on plug-in rules for F1).

    Parameters
    ----------
    probabilities
        (n_blocks,) of being content.
    words
        (n_blocks,) words of each.

    Returns
    -------
    threshold, f1
        The smallest probability that is kept, and the expected F1 in [0, 1]. Without blocks or words: 1 and 0.

    Examples
    --------
    >>> threshold, f1 = expected_f1(np.array([.9, .4, .1]), np.array([100., 30., 500.]))
    >>> round(threshold, 2), round(f1, 3)
    (0.4, 0.723)
    """
    order = (-probabilities).argsort(kind="stable")
    likely = probabilities[order].astype(np.float64)
    amounts = words[order]
    # Added in order: pairwise sums would depend on the number of blocks in the last bit.
    hits = (amounts * likely).cumsum()
    if not len(order) or hits[-1] <= 0:
        return 1.0, 0.0
    quality = 2 * hits / (amounts.cumsum() + hits[-1])
    best = int(quality.argmax())
    return float(likely[best]), float(quality[best])
