"""Boosted trees and small nets over the blocks of pages, and what they say together.

Trees see one block at a time, nets see the page that it stands in, and both err differently: the mean of their log odds
is better than either (see docs/model-log.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.ancestor_words import AncestorWords
from blockml.features.block_groups import GROUPINGS
from blockml.predictors import PREDICTORS, Predictor, TreeEnsemble
from blockml.predictors.log_odds import average_log_odds
from blockml.predictors.mlp import join
from blockml.training.hist_gradient_boosting import fit_boosted
from blockml.training.lightgbm_trees import fit_leafwise
from blockml.training.mlp_fit import NetPages, factorize_input, fit_net
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable

__all__ = ["Ensemble", "fit_ensemble"]

#: Rows of a page that are learnt from; of longer pages as many are drawn, and count for the others. All rows bring
#: .001 of page F1 for twice the time.
MOST_ROWS = 400
#: Slope and offset that make the log odds of nets those of unseen pages: soft F1 drives them too far apart. Measured
#: on WCXB, folds by site (docs/model-log.md).
_CALIBRATION = (0.59, -0.03)
#: Numbers between the columns and the first layers of all nets; and every so many rows suffice to find them. With 48
#: before 3 · 64 units, two fifths of that layer's products are left (docs/model-log.md, round 37).
_FACTORS, _EVERY = 48, 37


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Predictors of main content, and their weights in the average."""

    predictors: Mapping[str, Predictor]
    weights: Mapping[str, float]

    def probabilities(self, table: BlockTable, page: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(n_blocks,) probabilities of the first predictor alone, and of all together, for one page."""
        rows = table.page_matrix(page)
        first, *others = self.predictors.values()
        alone = first.probabilities(rows)
        if not others:
            return alone, alone
        odds = [predictor.log_odds(rows) for predictor in self.predictors.values()]
        return alone, average_log_odds(odds, list(self.weights.values()))


def learning_rows(
    table: BlockTable, training: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows to learn from and what each counts: words count by their square root, and all pages the same.

    A page's F1 is a share, whatever the page's length. Square roots lie between counting words, which a long block
    would win alone, and counting blocks.
    """
    words = np.concatenate([page.words for page in table.pages])
    weight = np.where(training, np.sqrt(words + 1), 0.0)
    per_page = np.bincount(table.page_of_row, weight, minlength=len(table.pages))
    size = np.bincount(table.page_of_row, training, minlength=len(table.pages))
    drawn = np.minimum(1, MOST_ROWS / np.maximum(size, 1))[table.page_of_row]
    chosen = training & (np.random.default_rng(seed).random(len(training)) < drawn)
    weight /= drawn * np.maximum(per_page, 1e-9)[table.page_of_row]
    rows = np.flatnonzero(chosen)
    return rows, weight[rows] / weight[rows].mean()


def grow(
    recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], weight: NDArray[np.float64], seed: int
) -> Predictor:
    """Train the recipe's first predictor: boosted trees, or whatever kind of predictor can be fitted."""
    if recipe.learner == "lightgbm":
        return TreeEnsemble(fit_leafwise(matrix, main, weight, seed=seed, **recipe.parameters))
    if recipe.learner == "boosted":
        return TreeEnsemble(fit_boosted(matrix, main, weight, seed=seed, **recipe.parameters))
    fit = getattr(PREDICTORS[recipe.learner], "fit", None)
    if fit is None:
        raise UsageError(f"predictors of kind {recipe.learner!r} can't be fitted")
    predictor: Predictor = fit(matrix, main, weight, seed=seed, **recipe.parameters)
    return predictor


def fit_ensemble(
    table: BlockTable, recipe: Recipe, training: NDArray[np.bool_], seed: int = 0, jobs: int = 1
) -> Ensemble:
    """Train boosted trees, or another predictor that the recipe names, and MLPs if the recipe has any.

    Parameters
    ----------
    table
        All pages.
    recipe
        What is trained.
    training
        (n_rows,) rows that may be learnt from.
    seed
        Decides draws of rows and columns, and what MLPs start from.
    jobs
        Processes; the result does not depend on it.

    Raises
    ------
    UsageError
        The rows are all content, or none is.
    """
    main = table.main[training]
    if not len(main) or main.all() or not main.any():
        raise UsageError("training needs blocks of both kinds, content and not")
    rows, weight = learning_rows(table, training, seed)
    first = grow(recipe, table.matrix[rows], table.main[rows], weight, seed)
    name = "trees" if recipe.is_boosted else recipe.learner
    if not recipe.n_mlps:
        return Ensemble({name: first}, {name: 1.0})
    pages = net_pages(table)
    chosen = np.unique(table.page_of_row[training])
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        members = parallel(
            joblib.delayed(fit_net)(pages, chosen, seed=seed + number) for number in range(recipe.n_mlps)
        )
    sample = table.matrix[np.flatnonzero(training)[::_EVERY]]
    mlp = factorize_input(join(members), sample, _FACTORS) if len(sample) > 1 else join(members)
    weights = {name: 1 - recipe.mlp_weight, "mlp": recipe.mlp_weight}
    return Ensemble({name: first, "mlp": mlp.calibrated(*_CALIBRATION)}, weights)


def net_pages(table: BlockTable) -> NetPages:
    """The table as nets learn from it."""
    ways = range(len(GROUPINGS))
    return NetPages(
        table.matrix,
        table.main,
        np.concatenate([page.words for page in table.pages]),
        table.starts,
        [np.concatenate([page.groups[way] for page in table.pages]) for way in ways],
        AncestorWords.join([page.bags for page in table.pages if page.bags is not None]),
    )
