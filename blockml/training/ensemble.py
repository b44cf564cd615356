"""Training of ensembles of boosted trees, or another predictor, and small MLPs.

Trees see one block at a time, MLPs also the context of its page; their errors differ, so the mean of their log odds
is better than either (see research/studies/model-log.md).
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
from blockml.predictors import PREDICTORS, MeanTrees, Predictor, TreeEnsemble
from blockml.predictors.base import average_predictors
from blockml.predictors.mlp import join_mlps
from blockml.progress import ProgressCallback, ignore_progress
from blockml.training.hist_gradient_boosting import fit_boosted
from blockml.training.lightgbm_trees import fit_lightgbm
from blockml.training.mlp_fit import TrainingPages, factorize_input, fit_mlp
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.table import BlockTable

#: Maximum number of rows per page to train on, drawn at random and weighted to represent the rest. Training on all
#: rows would add .001 of page F1 and take twice the time.
MAX_PAGE_ROWS = 400
#: Slope and offset that calibrate the log odds of MLPs on unseen pages, which are too extreme because of the loss,
#: soft F1. Measured on WCXB with folds by site (research/studies/model-log.md).
_CALIBRATION = (0.59, -0.03)
#: Rank of the joint input layer of all MLPs, determined on every 37th row. With 48 factors before 3 · 64 units, two
#: fifths of the products remain (research/studies/model-log.md, experiment 37).
_FACTORS, _EVERY = 48, 37


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Predictors of main content, and their weights in the average."""

    predictors: Mapping[str, Predictor]
    weights: Mapping[str, float]

    def probabilities(self, table: BlockTable, page: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Predict probabilities (n_blocks,) of the first predictor, and of the ensemble, for one page."""
        return average_predictors(self.predictors, self.weights, table.page_matrix(page))


def learning_rows(
    table: BlockTable, training: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose and weight rows to train on: blocks by the square root of their number of words, and all pages equally.

    Pages have equal weight because the F1 of a page does not depend on its length. Square roots are a compromise
    between weights by words, which long blocks would dominate, and equal weights.
    """
    words = np.concatenate([page.words for page in table.pages])
    weight = np.where(training, np.sqrt(words + 1), 0.0)
    per_page = np.bincount(table.page_of_row, weight, minlength=len(table.pages))
    size = np.bincount(table.page_of_row, training, minlength=len(table.pages))
    drawn = np.minimum(1, MAX_PAGE_ROWS / np.maximum(size, 1))[table.page_of_row]
    chosen = training & (np.random.default_rng(seed).random(len(training)) < drawn)
    weight /= drawn * np.maximum(per_page, 1e-9)[table.page_of_row]
    rows = np.flatnonzero(chosen)
    return rows, weight[rows] / weight[rows].mean()


def _fit_first(
    recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], weight: NDArray[np.float64], seed: int
) -> Predictor:
    """Train the recipe's first predictor: boosted trees, or any predictor with a method ``fit``."""
    if recipe.is_boosted:
        fit_trees = fit_lightgbm if recipe.learner == "lightgbm" else fit_boosted
        return TreeEnsemble(fit_trees(matrix, main, weight, seed=seed, **recipe.parameters))
    fit = getattr(PREDICTORS[recipe.learner], "fit", None)
    if fit is None:
        raise UsageError(f"predictors of kind {recipe.learner!r} can't be fitted")
    predictor: Predictor = fit(matrix, main, weight, seed=seed, **recipe.parameters)
    return predictor


def fit_blocks(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int = 0) -> Predictor:
    """Train a recipe's first predictor on blocks of equal weight, without knowledge of their pages.

    Parameters
    ----------
    recipe
        The recipe; a single tree is shrunk by its shrinkage, if it has one.
    matrix
        (n_blocks, n_features) features of the recipe's feature set.
    main
        (n_blocks,) whether each block is content.
    seed
        Seed of training.
    """
    if recipe.is_ensemble:
        return _fit_first(recipe, matrix, main, np.ones(len(main)), seed)
    return MeanTrees(to_trees(fit_tree(recipe, matrix, main, seed), recipe.shrinkage or 0.0))


def fit_ensemble(
    table: BlockTable,
    recipe: Recipe,
    training: NDArray[np.bool_],
    seed: int = 0,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Ensemble:
    """Train the recipe's first predictor, and MLPs if it has any, on the rows ``training`` (n_rows,).

    Only the MLPs after the first are trained on the pages of supplementary data sets. Those teach them unusual pages;
    the first two predictors keep the ensemble's idea of ordinary ones (research/studies/model-log.md, experiment 103).

    The seed determines the draws of rows and columns and the initial weights; the number of processes, ``jobs``, does
    not change the result. Shortened variants are included in training. Raises UsageError if all or none of the rows are
    content.
    """
    table, training = table.with_variants(training)
    ordinary = training & ~table.supplementary
    main = table.main[ordinary]
    if not len(main) or main.all() or not main.any():
        raise UsageError("training needs blocks of both classes, content and not content, also within each fold")
    rows, weight = learning_rows(table, ordinary, seed)
    progress("model", 0, 1 + recipe.n_mlps)
    first = _fit_first(recipe, table.matrix[rows], table.main[rows], weight, seed)
    progress("model", 1, 1 + recipe.n_mlps)
    name = "trees" if recipe.is_boosted else recipe.learner
    if not recipe.n_mlps:
        return Ensemble({name: first}, {name: 1.0})
    pages = training_pages(table)
    chosen = [np.unique(table.page_of_row[rows]) for rows in (ordinary, training)]
    tasks = (
        joblib.delayed(fit_mlp)(pages, chosen[min(number, 1)], typical=chosen[1], seed=seed + number)
        for number in range(recipe.n_mlps)
    )
    members = []
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M", return_as="generator") as parallel:
        for member in parallel(tasks):
            members.append(member)
            progress("model", 1 + len(members), 1 + recipe.n_mlps)
    sample = table.matrix[np.flatnonzero(training)[::_EVERY]]
    mlp = factorize_input(join_mlps(members), sample, _FACTORS) if len(sample) > 1 else join_mlps(members)
    weights = {name: 1 - recipe.mlp_weight, "mlp": recipe.mlp_weight}
    return Ensemble({name: first, "mlp": mlp.calibrated(*_CALIBRATION)}, weights)


def training_pages(table: BlockTable) -> TrainingPages:
    """Return the table in the form that MLPs are trained on."""
    return TrainingPages(
        table.matrix,
        table.main,
        np.concatenate([page.words for page in table.pages]),
        table.starts,
        [np.concatenate([page.groups[number] for page in table.pages]) for number in range(len(GROUPINGS))],
        AncestorWords.join([page.ancestor_words for page in table.pages if page.ancestor_words is not None]),
        table.known,
    )
