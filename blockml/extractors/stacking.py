"""Stacking: what several extractors make of a block and its neighbours, as the features of a trained classifier.

Wolpert 1992, *Stacked generalization*; here for the combination of heuristics that Gottron 2008 names as future work.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml import features
from blockml.extractors.base import Traits
from blockml.extractors.methods import METHODS
from blockml.extractors.supervised import Supervised
from blockml.features import FeatureSet, feature_set
from blockml.features.catalogue import split_name
from blockml.features.votes import VOTERS
from blockml.page import Page

__all__ = ["VOTES", "Stacking", "votes"]

#: Name of the feature set.
VOTES = "votes"


def votes(page: Page) -> NDArray[np.float32]:
    """Compute the feature set ``votes``.

    All extractors see the page as it is, whatever parsing they would choose for themselves. A neighbour that does not
    exist scores 0.

    Parameters
    ----------
    page
        A parsed page.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks, n_columns) scores of extractors, and features of the blocks.

    Examples
    --------
    >>> import blockml
    >>> from blockml.features import feature_set
    >>> matrix = votes(blockml.parse(f"<p><a href=/>Home</a></p><p>{'word ' * 60}</p>"))
    >>> matrix[:, feature_set("votes").columns.index("votenumwords_0")].tolist()
    [0.0, 1.0]
    """
    chosen = feature_set(VOTES)
    parts = [split_name(column) for column in chosen.columns]
    plain = tuple([name for name, (base, _, _) in zip(chosen.columns, parts, strict=True) if base not in VOTERS])
    of_blocks = iter(features.build(page, FeatureSet(VOTES, chosen.version, plain, chosen.source)).T)
    scores = {base: METHODS[name]().score(page) for base, name in VOTERS.items()}
    matrix = np.empty((len(page.blocks), len(parts)), dtype=np.float32)
    for position, (base, offset, _) in enumerate(parts):
        matrix[:, position] = _neighbours(scores[base], offset) if base in scores else next(of_blocks)
    return matrix


def _neighbours(values: NDArray[np.float32], offset: int) -> NDArray[np.float32]:
    """Values of the blocks ``offset`` further on; 0 beyond the ends."""
    n = len(values)
    padded = np.concatenate([np.zeros(abs(offset), np.float32), values, np.zeros(abs(offset), np.float32)])
    start = abs(offset) + offset
    return padded[start : start + n]


class Stacking(Supervised):
    """Scores blocks by a model that was trained on the scores of extractors.

    Train one with the recipe ``stacking``.

    Parameters
    ----------
    model
        The model; its feature set is ``votes``.
    threshold
        Replaces the model's own threshold, if given.
    """

    name: ClassVar[str] = "stacking"
    traits: ClassVar[Traits] = Traits(
        needs_training=True, needs_siblings=False, gives_probabilities=True, source="Wolpert 1992; Gottron 2008"
    )

    def score(self, page: Page) -> NDArray[np.float32]:
        """Probability of content for each block."""
        self.check()
        return self.model.score(votes(page))
