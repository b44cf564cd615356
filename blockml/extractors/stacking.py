"""Stacking: what several extractors make of a block and its neighbours, as the features of a trained classifier.

Wolpert 1992, *Stacked generalization*; here for the combination of heuristics that Gottron 2008 names as future work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml import features
from blockml.extractors.methods import METHODS
from blockml.features import FeatureSet, feature_set, shift
from blockml.features.catalogue import split_name
from blockml.features.votes import VOTERS
from blockml.page import Page

__all__ = ["matrix", "votes"]

#: Name of the feature set.
_VOTES = "votes"


def matrix(page: Page, features_name: str) -> NDArray[np.float32]:
    """Compute any feature set: of blocks alone (:func:`blockml.features.build`), or with scores of extractors.

    Parameters
    ----------
    page
        A parsed page.
    features_name
        Name of the set.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks, n_columns).

    Raises
    ------
    UnknownNameError
        No such feature set.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one</p><p>two</p>")
    >>> matrix(page, "boilerpipe6").shape, matrix(page, "votes").shape
    ((2, 6), (2, 36))
    """
    return votes(page) if features_name == _VOTES else features.build(page, features_name)


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
    chosen = feature_set(_VOTES)
    parts = [split_name(column) for column in chosen.columns]
    plain = tuple([name for name, (base, _, _) in zip(chosen.columns, parts, strict=True) if base not in VOTERS])
    of_blocks = iter(features.build(page, FeatureSet(_VOTES, chosen.version, plain, chosen.source)).T)
    scores = {base: METHODS[name]().score(page) for base, name in VOTERS.items()}
    matrix = np.empty((len(page.blocks), len(parts)), dtype=np.float32)
    for position, (base, offset, _) in enumerate(parts):
        matrix[:, position] = shift(scores[base], offset, 0) if base in scores else next(of_blocks)
    return matrix
