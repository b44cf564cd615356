"""Data of all measurements of the default model: labelled pages, and predictions out of fold.

Trees and nets are grown once for each fold and say what they think of the pages that they have not seen. From that
every variant follows: the predictors that are averaged, and the rule by which blocks are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset
from blockml.datasets.gold_defects import INVALID_FOR_EVALUATION, INVALID_FOR_TRAINING, REPLACED, gold_defects
from blockml.predictors.log_odds import average_log_odds, log_odds, sigmoid
from blockml.predictors.mlp import MLP
from blockml.training.ensemble import fit_ensemble
from blockml.training.page_policy import HeldOut, PagePolicy, fit_page_policy
from blockml.training.recipes import Recipe
from blockml.training.splits import folds
from blockml.training.table import BlockTable, build_table

Table = list[dict[str, object]]
"""Rows of results, all with the same columns."""
Probabilities = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Predictions of trees and MLPs for blocks of pages that they were not trained on."""

    fold: NDArray[np.int64]
    """(n_pages,)."""
    odds: NDArray[np.float64]
    """(n_rows,) log odds by the trees."""
    nets: Probabilities
    """(n_nets, n_rows)."""
    net_share: float
    """Weight of the nets beside the trees."""

    @property
    def trees(self) -> Probabilities:
        """(n_rows,) by the trees alone."""
        return sigmoid(self.odds)

    def net(self, *numbers: int) -> Probabilities:
        """(n_rows,) by some of the nets."""
        return sigmoid(log_odds(self.nets[list(numbers)]).mean(axis=0))

    def both(self, *numbers: int, net_share: float | None = None) -> Probabilities:
        """(n_rows,) by trees and some of the nets, whose weight may be another one."""
        share = self.net_share if net_share is None else net_share
        return average_log_odds([self.odds, log_odds(self.net(*numbers))], [1 - share, share])

    @property
    def all_nets(self) -> tuple[int, ...]:
        """Numbers of the nets."""
        return tuple(range(len(self.nets)))


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Pages, and what was found out about them so far."""

    dataset: Dataset
    table: BlockTable
    recipe: Recipe
    groups: Mapping[str, NDArray[np.bool_]]
    """(n_pages,) of each group of pages that is measured: all, and those whose gold is right."""
    n_folds: int
    seed: int
    jobs: int
    known: dict[tuple[int, int, float], Judged] = field(default_factory=dict)
    """Results of cross-validation by seed, number of MLPs and share of the sites."""

    @classmethod
    def opened(cls, dataset: Dataset, recipe: Recipe, *, n_folds: int, seed: int, jobs: int) -> Study:
        """Measure all pages of a data set."""
        found = gold_defects(dataset, jobs=jobs)
        table = build_table([without_defects(dataset, found)], recipe, jobs=jobs)
        return cls(dataset, table, recipe, measured_groups(dataset, table, found), n_folds, seed, jobs)

    def judged(self, seed: int, nets: int, share: float = 1.0) -> Judged:
        """Cross-validate, by site, trees and so many nets that learn from a share of the training sites."""
        for (other, more, part), judged in self.known.items():
            if (other, part) == (seed, share) and more >= nets:
                return replace(judged, nets=judged.nets[:nets])
        fresh = cross_judged(
            self.table, replace(self.recipe, n_mlps=nets), self.folds(seed), seed=seed, jobs=self.jobs, share=share
        )
        self.known[seed, nets, share] = fresh
        return fresh

    def folds(self, seed: int) -> NDArray[np.int64]:
        """(n_pages,) fold of each page."""
        fold = np.zeros(len(self.table.pages), dtype=np.int64)
        fold[self.table.page_of_row] = folds(self.table, "site", self.n_folds, seed)
        return fold

    def whole(
        self, judged: Judged, recipe: Recipe, alone: Probabilities, final: Probabilities, seed: int
    ) -> PagePolicy:
        """Apply the policy of a recipe to probabilities: scores of blocks, and a predicted F1 for each page."""
        return fit_page_policy(self.table, recipe, HeldOut(alone, final, judged.fold), seed)

    def f1(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n_pages,) bag-of-words F1 of each page; NaN where the gold is no whole text."""
        scores = np.full(len(self.table.pages), np.nan)
        pages = self.table.pages_with_text()
        scores[pages] = self.table.page_f1(kept, pages)
        return scores


def without_defects(dataset: Dataset, found: Mapping[str, tuple[str, ...]]) -> Dataset:
    """As :func:`blockml.datasets.gold_defects.filtered` gives it, of defects that are known already."""
    passed = REPLACED | (INVALID_FOR_EVALUATION - INVALID_FOR_TRAINING)
    pages = [
        replace(page, flags=tuple([name for name in found.get(page.id, ()) if name not in passed]))
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))


def measured_groups(
    dataset: Dataset, table: BlockTable, found: Mapping[str, tuple[str, ...]]
) -> dict[str, NDArray[np.bool_]]:
    """(n_pages,) pages that a mean is taken over, by name: all, and without those whose gold is known to be wrong."""
    measured = np.zeros(len(dataset), dtype=bool)
    measured[table.pages_with_text()] = True
    flagged = np.array([bool(page.flags) for page in dataset.pages])
    unfit = np.array([not INVALID_FOR_EVALUATION.isdisjoint(found.get(page.id, ())) for page in dataset.pages])
    return {"all": measured, "not flagged": measured & ~flagged, "fit": measured & ~unfit}


def cross_judged(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], *, seed: int, jobs: int, share: float = 1.0
) -> Judged:
    """Train the recipe's predictors for each fold on the pages of the others, or on a share of their sites."""
    numbers = np.unique(fold).tolist()
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        parts = parallel(joblib.delayed(_judge_fold)(table, recipe, fold, number, seed, share) for number in numbers)
    odds, nets = np.zeros(len(table.main)), np.zeros((recipe.n_mlps, len(table.main)), dtype=np.float32)
    for number, (by_trees, by_nets) in zip(numbers, parts, strict=True):
        here = fold[table.page_of_row] == number
        odds[here], nets[:, here] = by_trees, by_nets
    return Judged(fold, odds, nets, recipe.mlp_weight)


def training_rows(
    table: BlockTable, fold: NDArray[np.int64], number: int, seed: int = 0, share: float = 1.0
) -> NDArray[np.bool_]:
    """(n_rows,) training rows of a fold. A smaller share of the sites is part of a larger one."""
    outside = fold != number
    if share < 1:
        sites = sorted({page.site for page, chosen in zip(table.pages, outside.tolist(), strict=True) if chosen})
        drawn = np.random.default_rng(seed).permutation(len(sites))[: max(1, round(share * len(sites)))]
        some = {sites[i] for i in drawn.tolist()}
        outside = outside & np.array([page.site in some for page in table.pages])
    rows: NDArray[np.bool_] = outside[table.page_of_row] & table.trainable
    return rows


def _judge_fold(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], number: int, seed: int, share: float
) -> tuple[NDArray[np.float64], Probabilities]:
    """Predict the rows of one fold by trees and each MLP."""
    ensemble = fit_ensemble(table, recipe, training_rows(table, fold, number, seed, share), seed)
    mlp = ensemble.predictors.get("mlp")
    members = split(mlp) if isinstance(mlp, MLP) else []
    odds, nets = [], []
    for page in np.flatnonzero(fold == number).tolist():
        rows = table.page_matrix(page)
        odds.append(ensemble.predictors["trees"].log_odds(rows))
        said = [net.probabilities(rows) for net in members]
        nets.append(np.array(said, dtype=np.float32).reshape(len(members), len(rows.values)))
    return np.concatenate(odds), np.concatenate(nets, axis=1)


def split(net: MLP) -> list[MLP]:
    """The nets that one was joined of: the reverse of :func:`blockml.predictors.mlp.join`."""
    members, units = net.self_weights.shape[:2]
    vector = net.word_projection.shape[1]
    return [
        replace(
            net,
            input_u=net.input_u if len(net.input_v) else net.input_u[:, i * units : (i + 1) * units],
            input_v=net.input_v[:, i * units : (i + 1) * units],
            input_bias=net.input_bias[i * units : (i + 1) * units],
            word_vectors=net.word_vectors[:, i * vector : (i + 1) * vector],
            **{
                name: getattr(net, name)[i : i + 1]
                for name in (
                    *("word_projection", "self_weights", "page_weights", "group_weights", "hidden_bias"),
                    *("output_weights", "output_bias"),
                )
            },
        )
        for i in range(members)
    ]
