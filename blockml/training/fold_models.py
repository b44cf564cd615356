"""Models of the folds of a cross-validation, each with everything that a model of its recipe has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from blockml.model import Model
from blockml.training.block_types import LabelledTypes, fit_block_types, select_rows
from blockml.training.cross_validation import CrossValidation
from blockml.training.prepare import PageKey, PreparedData

__all__ = ["FoldModel", "OutOfFold", "fold_models"]


@dataclass(frozen=True, slots=True, eq=False)
class FoldModel:
    """A model, and the pages of the fold that it has not been trained on."""

    pages: frozenset[PageKey]  #: Data set and id of each page.
    model: Model


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFold:
    """Models of all folds, which together test every page."""

    protocol: str  #: ``site`` or ``page``: what the folds keep together.
    folds: tuple[FoldModel, ...]

    def __str__(self) -> str:
        return f"out of fold, by {self.protocol}, {len(self.folds)} folds"


def fold_models(
    data: PreparedData, result: CrossValidation, *, name: str, more_types: Sequence[LabelledTypes] = (), seed: int = 0
) -> OutOfFold:
    """Complete the models of a cross-validation over pages or sites by P(article), block types and hashes.

    Parameters
    ----------
    data, result
        The pages, and their cross-validation.
    name
        Name of the models.
    more_types
        Pages of other data sets with the types of their blocks.
    seed
        Seed of training.
    """
    page_fold = result.page_fold
    assert page_fold is not None  # noqa: S101 (folds are over pages)
    keys, labelled = data.keys, [*more_types, *data.labelled_types()] if data.recipe.block_types else []
    folds = []
    for number, model in enumerate(result.models):
        tested = frozenset(keys[page] for page in np.flatnonzero(page_fold == number).tolist())
        types = None
        if labelled:
            types = fit_block_types(select_rows(data.recipe.features, labelled, seed=seed).without(tested), seed=seed)
        article = None if result.page_policy is None else result.page_policy.article_by_fold.get(number)
        hashes = data.training_hashes(without=tested)
        made = replace(model, name=name, article=article, block_types=types, training_hashes=hashes)
        folds.append(FoldModel(tested, made))
    return OutOfFold(result.protocol, tuple(folds))
