"""Data of all measurements of the default model: labelled pages, and out-of-fold predictions.

Trees and MLPs are trained once for each fold. Variants differ in the averaged predictors and in the decision rule, so
they are computed from these predictions without training again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset
from blockml.datasets.validation import INVALID_FOR_EVALUATION, INVALID_FOR_TRAINING, REPLACED, gold_defects
from blockml.predictors import log_odds, sigmoid
from blockml.predictors.base import average_log_odds
from blockml.predictors.mlp import MLP
from blockml.training import BlockTable, HeldOut, PagePolicy, Recipe, build_table, fit_ensemble, fit_page_policy, folds

Table = list[dict[str, object]]
"""Rows of a table, all with equal columns."""
Probabilities = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Out-of-fold predictions of trees and MLPs for blocks."""

    fold: NDArray[np.int64]
    """(n_pages,) fold in which each page was predicted."""
    odds: NDArray[np.float64]
    """(n_rows,) log odds of the trees."""
    mlps: Probabilities
    """(n_mlps, n_rows) probabilities by each MLP."""
    mlp_weight: float
    """Weight of the MLPs, in [0, 1]; the rest is that of the trees."""

    @property
    def trees(self) -> Probabilities:
        """(n_rows,) probabilities by only the trees."""
        return sigmoid(self.odds)

    def mlp(self, *numbers: int) -> Probabilities:
        """(n_rows,) probabilities by some of the MLPs."""
        return sigmoid(log_odds(self.mlps[list(numbers)]).mean(axis=0))

    def both(self, *numbers: int, mlp_weight: float | None = None) -> Probabilities:
        """(n_rows,) probabilities by trees and some of the MLPs, optionally with another weight."""
        share = self.mlp_weight if mlp_weight is None else mlp_weight
        return average_log_odds([self.odds, log_odds(self.mlp(*numbers))], [1 - share, share])

    @property
    def all_mlps(self) -> tuple[int, ...]:
        """Indices of the MLPs."""
        return tuple(range(len(self.mlps)))


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Labelled pages with cached results."""

    dataset: Dataset
    table: BlockTable
    recipe: Recipe
    groups: Mapping[str, NDArray[np.bool_]]
    """(n_pages,) masks of the evaluated groups of pages: all, not flagged, with valid gold."""
    n_folds: int
    seed: int
    jobs: int
    known: dict[tuple[int, int, float], Predictions] = field(default_factory=dict)
    """Results of cross-validation by seed, number of MLPs and share of the sites."""

    @classmethod
    def opened(cls, dataset: Dataset, recipe: Recipe, *, n_folds: int, seed: int, jobs: int) -> Study:
        """Compute the features of all pages of a data set."""
        found = gold_defects(dataset, jobs=jobs)
        table = build_table([without_defects(dataset, found)], recipe, jobs=jobs)
        return cls(dataset, table, recipe, measured_groups(dataset, table, found), n_folds, seed, jobs)

    def predictions(self, seed: int, mlps: int, share: float = 1.0) -> Predictions:
        """Cross-validate trees and MLPs by site, trained on a share of the training sites."""
        for (other, more, part), predictions in self.known.items():
            if (other, part) == (seed, share) and more >= mlps:
                return replace(predictions, mlps=predictions.mlps[:mlps])
        fresh = cross_predictions(
            self.table, replace(self.recipe, n_mlps=mlps), self.folds(seed), seed=seed, jobs=self.jobs, share=share
        )
        self.known[seed, mlps, share] = fresh
        return fresh

    def folds(self, seed: int) -> NDArray[np.int64]:
        """Return (n_pages,) fold of each page, grouped by site."""
        fold = np.zeros(len(self.table.pages), dtype=np.int64)
        fold[self.table.page_of_row] = folds(self.table, "site", self.n_folds, seed)
        return fold

    def whole(
        self, predictions: Predictions, recipe: Recipe, alone: Probabilities, final: Probabilities, seed: int
    ) -> PagePolicy:
        """Apply the policy of a recipe to probabilities: scores of blocks, and a predicted F1 for each page."""
        return fit_page_policy(self.table, recipe, HeldOut(alone, final, predictions.fold), seed)

    def f1(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n_pages,) bag-of-words F1 of each page; NaN without a complete gold text."""
        scores = np.full(len(self.table.pages), np.nan)
        pages = self.table.pages_with_text()
        scores[pages] = self.table.page_f1(kept, pages)
        return scores


def without_defects(dataset: Dataset, found: Mapping[str, tuple[str, ...]]) -> Dataset:
    """Filter pages as :func:`blockml.datasets.validation.filtered` does, given their defects."""
    passed = REPLACED | (INVALID_FOR_EVALUATION - INVALID_FOR_TRAINING)
    pages = [
        replace(page, flags=tuple([name for name in found.get(page.id, ()) if name not in passed]))
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))


def measured_groups(
    dataset: Dataset, table: BlockTable, found: Mapping[str, tuple[str, ...]]
) -> dict[str, NDArray[np.bool_]]:
    """Return masks of the groups of pages by name: all, not flagged, and with valid gold, (n_pages,) each."""
    measured = np.zeros(len(dataset), dtype=bool)
    measured[table.pages_with_text()] = True
    flagged = np.array([bool(page.flags) for page in dataset.pages])
    unfit = np.array([not INVALID_FOR_EVALUATION.isdisjoint(found.get(page.id, ())) for page in dataset.pages])
    return {"all": measured, "not flagged": measured & ~flagged, "fit": measured & ~unfit}


def cross_predictions(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], *, seed: int, jobs: int, share: float = 1.0
) -> Predictions:
    """Train the recipe's predictors for each fold on the other folds, or on a share of their sites."""
    numbers = np.unique(fold).tolist()
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        parts = parallel(joblib.delayed(_predict_fold)(table, recipe, fold, number, seed, share) for number in numbers)
    odds, mlps = np.zeros(len(table.main)), np.zeros((recipe.n_mlps, len(table.main)), dtype=np.float32)
    for number, (by_trees, by_mlps) in zip(numbers, parts, strict=True):
        here = fold[table.page_of_row] == number
        odds[here], mlps[:, here] = by_trees, by_mlps
    return Predictions(fold, odds, mlps, recipe.mlp_weight)


def training_rows(
    table: BlockTable, fold: NDArray[np.int64], number: int, seed: int = 0, share: float = 1.0
) -> NDArray[np.bool_]:
    """(n_rows,) training rows of a fold; smaller shares of the sites are subsets of larger ones."""
    outside = fold != number
    if share < 1:
        sites = sorted({page.site for page, chosen in zip(table.pages, outside.tolist(), strict=True) if chosen})
        drawn = np.random.default_rng(seed).permutation(len(sites))[: max(1, round(share * len(sites)))]
        some = {sites[i] for i in drawn.tolist()}
        outside = outside & np.array([page.site in some for page in table.pages])
    rows: NDArray[np.bool_] = outside[table.page_of_row] & table.trainable
    return rows


def _predict_fold(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], number: int, seed: int, share: float
) -> tuple[NDArray[np.float64], Probabilities]:
    """Predict the rows of one fold by trees and each MLP."""
    ensemble = fit_ensemble(table, recipe, training_rows(table, fold, number, seed, share), seed)
    mlp = ensemble.predictors.get("mlp")
    members = split(mlp) if isinstance(mlp, MLP) else []
    odds, mlps = [], []
    for page in np.flatnonzero(fold == number).tolist():
        rows = table.page_matrix(page)
        odds.append(ensemble.predictors["trees"].log_odds(rows))
        said = [mlp.probabilities(rows) for mlp in members]
        mlps.append(np.array(said, dtype=np.float32).reshape(len(members), len(rows.values)))
    return np.concatenate(odds), np.concatenate(mlps, axis=1)


def split(mlp: MLP) -> list[MLP]:
    """Split a joined MLP into its members: the reverse of :func:`blockml.predictors.mlp.join_mlps`."""
    members, units = mlp.self_weights.shape[:2]
    vector = mlp.word_projection.shape[1]
    return [
        replace(
            mlp,
            input_u=mlp.input_u if len(mlp.input_v) else mlp.input_u[:, i * units : (i + 1) * units],
            input_v=mlp.input_v[:, i * units : (i + 1) * units],
            input_bias=mlp.input_bias[i * units : (i + 1) * units],
            word_vectors=mlp.word_vectors[:, i * vector : (i + 1) * vector],
            **{
                name: getattr(mlp, name)[i : i + 1]
                for name in (
                    *("word_projection", "self_weights", "page_weights", "group_weights", "hidden_bias"),
                    *("output_weights", "output_bias"),
                )
            },
        )
        for i in range(members)
    ]
