"""Contributions of families of features to the score of each block, by occlusion.

A family's contribution is the log odds of the block minus its log odds if the family's columns had their median over
the blocks of the page. It is defined for any predictor. Contributions do not add up to the log odds, because families
interact.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from copy import copy

import numpy as np
from numpy.typing import NDArray

from blockml.features.ancestor_words import AncestorWords
from blockml.features.feature_sets import COLUMNS, feature_set, split_name
from blockml.features.page_matrix import PageMatrix
from blockml.model.model import Model
from blockml.predictors import MLP

#: Names of contributions without columns: ancestor words of a block, which MLPs read, and the weights of an adaptation.
ANCESTOR_WORDS, CORRECTION = "ancestor words", "adaptation"


def changed_matrix(page: PageMatrix, values: NDArray[np.float32], words: AncestorWords | None) -> PageMatrix:
    """Return the features of a page with other values and, unless None, other ancestor words."""
    made = copy(page)
    vars(made).update(values=np.asfortranarray(values), **({} if words is None else {"ancestor_words": words}))
    return made


def contributions(model: Model, page: PageMatrix) -> dict[str, NDArray[np.float64]]:
    """Compute the contribution of each family of features to the log odds of each block.

    Parameters
    ----------
    model
        The model.
    page
        Features of a page, computed by the model's feature set.

    Returns
    -------
    dict
        (n_blocks,) differences of log odds by family name, largest first.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import page_matrix
    >>> model = blockml.load("kim2013").model
    >>> page = blockml.parse(f"<a href=/>Home</a><p>{'Cats rule the world. ' * 9}</p><a href=/>Up</a>")
    >>> sorted(contributions(model, page_matrix(page, model.features)))
    ['distances', 'link density', 'parent tag', 'word density']
    """
    if not len(page.values):
        return {}
    reads_words = any(isinstance(item, MLP) and item.reads_words for item in model.predictors.values())
    words = page.ancestor_words if reads_words else None
    whole = _log_odds(model, changed_matrix(page, page.values, words))
    found = {}
    values = page.values.copy(order="F")
    for family, places in _families(model.features).items():
        values[:, places] = np.median(values[:, places], axis=0)
        found[family] = whole - _log_odds(model, changed_matrix(page, values, words))
        values[:, places] = page.values[:, places]
    if words is not None:
        usual = np.bincount(words.bag).argmax()
        same = AncestorWords(words.starts, words.hashed_words, np.full_like(words.bag, usual))
        found[ANCESTOR_WORDS] = whole - _log_odds(model, changed_matrix(page, page.values, same))
    if model.correction is not None:
        found[CORRECTION] = model.correction.log_odds(page)
    size = {family: float(np.abs(values).mean()) for family, values in found.items()}
    return {family: found[family] for family in sorted(found, key=lambda family: -size[family])}


def _log_odds(model: Model, page: PageMatrix) -> NDArray[np.float64]:
    """Average the log odds of the model's predictors of main content."""
    parts = [model.weights[name] * predictor.log_odds(page) for name, predictor in model.predictors.items()]
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


#: Family names of columns that belong to no module, by the prefix of the column name.
_OTHERS: Mapping[str, str] = {
    "wd": "word density",
    "ld": "link density",
    "parent": "parent tag",
    "dist": "distances",
    "site": "other pages of the site",
    "vote": "other extractors",
}


@functools.cache
def _families(features: str) -> Mapping[str, tuple[int, ...]]:
    """Return the columns of each family of a feature set."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(feature_set(features).columns):
        base = split_name(name)[0]
        column = COLUMNS[base]
        if column.family is not None:
            family = column.family.__module__.rpartition(".")[2].replace("_", " ")
        else:
            family = next((text for start, text in _OTHERS.items() if base.startswith(start)), "others")
        places.setdefault(family, []).append(place)
    return {family: tuple(found) for family, found in places.items()}
