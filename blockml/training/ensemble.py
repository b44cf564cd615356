"""Training of ensembles of boosted trees and small MLPs, and of the predictors of a recipe.

Trees see one block at a time, MLPs also the context of its page; their errors differ, so the mean of their log odds
is better than either (see research/studies/model-log.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.decision.policy import DecisionPolicy
from blockml.errors import UsageError
from blockml.features import feature_set
from blockml.features.ancestor_words import AncestorWords
from blockml.features.page_context import GROUPINGS
from blockml.model import Model
from blockml.predictors import PREDICTORS, MeanTrees, Predictor, TreeEnsemble, Trees
from blockml.predictors.base import average_predictors
from blockml.predictors.mlp import join_mlps
from blockml.progress import ProgressCallback, ignore_progress
from blockml.training.boosted_trees import fit_boosted, fit_lightgbm
from blockml.training.mlp_fit import TrainingPages, factorize_input, fit_mlp
from blockml.training.recipes import Recipe
from blockml.training.single_tree import Tuning, fit_tree, to_trees, tune
from blockml.training.table import BlockTable

__all__ = [
    "MAX_PAGE_ROWS",
    "Ensemble",
    "Fitted",
    "assembled",
    "check_splits",
    "fit_blocks",
    "fit_ensemble",
    "fit_model",
    "fit_predictors",
    "learning_rows",
    "training_pages",
]


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


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Trained predictors of main content, and what was chosen for them."""

    ensemble: Ensemble
    policy: DecisionPolicy
    parameters: Mapping[str, Any]  #: Name and parameters of the recipe, for the model file.
    tuning: Tuning | None = None  #: Threshold and shrinkage of a single tree.

    def model(self, recipe: Recipe, seed: int) -> Model:
        """Return the predictors as a model."""
        return assembled(recipe, self.ensemble, self.policy, self.parameters, seed)


def fit_predictors(
    table: BlockTable,
    recipe: Recipe,
    rows: NDArray[np.bool_],
    seed: int,
    *,
    tuning: Tuning | None = None,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Fitted:
    """Train the predictors of a recipe on some rows (n_rows,); a single tree is tuned on them, unless it is given."""
    parameters: dict[str, Any] = {"name": recipe.name, "learner": recipe.learner, **recipe.parameters}
    if recipe.is_ensemble:
        ensemble = fit_ensemble(table, recipe, rows, seed, jobs, progress)
        return Fitted(ensemble, recipe.policy, {**parameters, "n_mlps": recipe.n_mlps})
    chosen = tune(table, recipe, rows, seed) if tuning is None else tuning
    trees = to_trees(fit_tree(recipe, table.matrix[rows], table.main[rows], seed), chosen.shrinkage)
    ensemble = Ensemble({"tree": MeanTrees(trees)}, {"tree": 1.0})
    return Fitted(ensemble, chosen.policy, {**parameters, "shrinkage": chosen.shrinkage}, chosen)


def fit_model(
    table: BlockTable,
    recipe: Recipe,
    seed: int,
    jobs: int = 1,
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
) -> Model:
    """Train the recipe's predictors of main content on the trainable rows of a table."""
    fitted = fit_predictors(table, recipe, table.trainable, seed, jobs=jobs, progress=progress)
    if fitted.tuning is not None:
        report(f"threshold {fitted.tuning.threshold:g}, shrinkage {fitted.tuning.shrinkage:g}")
    return fitted.model(recipe, seed)


def assembled(
    recipe: Recipe, ensemble: Ensemble, policy: DecisionPolicy, parameters: Mapping[str, Any], seed: int
) -> Model:
    """Return the model of trained predictors."""
    return Model(
        name=recipe.name,
        version=blockml.__version__,
        features=recipe.features,
        features_hash=feature_set(recipe.features).hash,
        predictors=ensemble.predictors,
        weights=ensemble.weights,
        policy=policy,
        parsing=recipe.parsing,
        labels=tuple(sorted(recipe.main)),
        recipe=parameters,
        seed=seed,
    )


def check_splits(trees: Trees, table: BlockTable) -> None:
    """Raise UsageError if no tree has a split, because the model would give all blocks the same score."""
    if (trees.feature < 0).all():
        main = table.main[table.trainable]
        raise UsageError(
            f"the model would be a single leaf, which gives all blocks the same score: {int(main.sum())} of "
            f"{len(main)} blocks are content, too few or too similar to the others to learn from; train on more pages"
        )
