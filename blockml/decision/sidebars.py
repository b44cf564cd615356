"""Sidebars: elements with a name of sidebars, whose improbable blocks are removed next to other content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.page.lazy import Lazy

__all__ = ["without_sidebars"]

#: Words in sidebars, as a multiple of those that stay, beyond which the name is wrong (our choice).
_MAX_REMOVED = 3


def without_sidebars(
    scores: NDArray[np.float32],
    probabilities: NDArray[np.float32],
    words: NDArray[np.float64],
    in_sidebars: Lazy[NDArray[np.bool_]],
    min_probability: float,
) -> NDArray[np.float32]:
    """Lower the scores of improbable blocks in sidebars below 0.5, if enough words elsewhere are kept.

    Parameters
    ----------
    scores, probabilities, words
        (n_blocks,) scores so far, probabilities of being content, and numbers of words.
    in_sidebars
        (n_blocks,) which blocks are in sidebars; computed only if an improbable block is kept.
    min_probability
        Minimum probability of a kept block in a sidebar.

    Examples
    --------
    >>> scores, inside = np.array([.9, .6, .8], np.float32), np.array([False, True, True])
    >>> without_sidebars(scores, scores, np.ones(3), Lazy(lambda: inside), .7).round(2).tolist()
    [0.8999999761581421, 0.4300000071525574, 0.800000011920929]
    """
    kept, improbable = scores >= np.float32(0.5), probabilities < np.float32(min_probability)
    if not np.count_nonzero(kept & improbable):
        return scores
    inside = in_sidebars.value
    if not np.count_nonzero(inside):  # the usual case
        return scores
    removed = inside & improbable
    if not words[kept & ~inside].any() or words[kept & removed].sum() > _MAX_REMOVED * words[kept & ~removed].sum():
        return scores
    # Below 0.5, in the order of their probabilities.
    lowered = np.minimum(scores, probabilities / np.float32(2 * min_probability))
    return np.where(removed, lowered, scores)
