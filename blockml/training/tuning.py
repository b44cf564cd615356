"""Tuning of threshold and shrinkage of single trees, on folds of the training pages."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.splits import duplicate_groups, fold_pages
from blockml.training.table import BlockTable

#: Candidate values.
THRESHOLDS = np.round(np.arange(0.05, 0.96, 0.025), 3)
SHRINKAGES = (0.0, 30.0, 100.0, 300.0, 1000.0)
#: Number of folds of the training pages.
_INNER_FOLDS = 3


class Tuning(NamedTuple):
    """Chosen parameters."""

    threshold: float  #: Minimum score to keep a block.
    shrinkage: float  #: Strength of :func:`blockml.training.single_tree.shrink`.

    @property
    def policy(self) -> DecisionPolicy:
        """Policy of the single tree; cross-validation measures the same decision."""
        return DecisionPolicy(threshold=self.threshold)


def tune(table: BlockTable, recipe: Recipe, training: NDArray[np.bool_], seed: int = 0) -> Tuning:
    """Choose threshold and shrinkage by the mean page F1 on inner folds by site of the training rows (n_rows,).

    Values set in the recipe are not tuned. With pages of only one site, or without gold texts, the defaults are used:
    the majority in a leaf, 0.5, and no shrinkage.
    """
    thresholds = THRESHOLDS.tolist() if recipe.threshold is None else [recipe.threshold]
    shrinkages = SHRINKAGES if recipe.shrinkage is None else [recipe.shrinkage]
    pages = np.intersect1d(table.page_of_row[training], table.pages_with_text())
    chosen = [table.pages[page] for page in pages.tolist()]
    groups = duplicate_groups(chosen, [page.site for page in chosen])
    n_folds = min(_INNER_FOLDS, len(np.unique(groups)))
    if n_folds < 2:
        return Tuning(0.5 if recipe.threshold is None else recipe.threshold, shrinkages[0])  # the first is 0 or set
    if len(thresholds) == len(shrinkages) == 1:
        return Tuning(thresholds[0], shrinkages[0])
    inner = np.full(len(table.pages), -1, dtype=np.int64)
    inner[pages] = fold_pages(groups, n_folds, seed)
    inner_of_row = inner[table.page_of_row]
    scores = {shrinkage: np.zeros(len(table.main), dtype=np.float32) for shrinkage in shrinkages}
    for number in range(n_folds):
        rows = training & (inner_of_row != number)
        tree = fit_tree(recipe, table.matrix[rows], table.main[rows], seed)
        tested = inner_of_row == number
        for shrinkage, column in scores.items():
            column[tested] = to_trees(tree, shrinkage).predict(table.matrix[tested]).astype(np.float32)
    quality = {
        Tuning(threshold, shrinkage): table.page_f1(scores[shrinkage] >= np.float32(threshold), pages.tolist()).mean()
        for shrinkage, threshold in product(shrinkages, thresholds)
    }
    return max(quality, key=lambda tuning: quality[tuning])
