"""Training of the predictors of main content of a recipe, for a whole table or the training rows of a fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.decision.policy import DecisionPolicy
from blockml.errors import UsageError
from blockml.features import feature_set
from blockml.model import Model
from blockml.predictors import MeanTrees
from blockml.predictors.tree_ensemble import Trees
from blockml.progress import ProgressCallback, ignore_progress
from blockml.training.ensemble import Ensemble, fit_ensemble
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.table import BlockTable
from blockml.training.tuning import Tuning, tune

__all__ = ["Fitted", "assembled", "check_splits", "fit_model", "fit_predictors"]


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
