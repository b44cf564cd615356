"""Cross-validation of recipes, with all tuning inside the training folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.evaluation import BlockScores, block_scores, bootstrap_mean, means_by
from blockml.evaluation.calibration import reliability, routing
from blockml.evaluation.importance import FoldImportance, LabelledRows, fold_importance, held_out_importance
from blockml.features import feature_set
from blockml.predictors.tree_ensemble import MeanTrees
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.training.ensemble import fit_ensemble
from blockml.training.page_policy import HeldOut, PagePolicy, fit_page_policy
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.splits import PROTOCOLS, folds
from blockml.training.table import BlockTable
from blockml.training.tuning import Tuning, tune


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Out-of-fold scores of all blocks."""

    protocol: str
    scores: NDArray[np.float32]  #: (n_rows,) out-of-fold scores.
    fold: NDArray[np.int64]  #: (n_rows,) fold in which each row was tested.
    #: Parameters tuned on the training pages of each fold; defaults for the protocol ``block``.
    tunings: tuple[Tuning, ...]
    kept: NDArray[np.bool_]  #: (n_rows,) decision at the fold's threshold.
    page_policy: PagePolicy | None = None  #: Results of the page policy, for ensembles.
    importance: tuple[FoldImportance, ...] = ()  #: Importance of columns on the test rows of each fold, for trees.

    def block_scores(self, table: BlockTable) -> BlockScores:
        """Count blocks at threshold 0.5, pooled over all folds, as in WEKA and Kim et al. 2013."""
        known = table.known
        return block_scores(table.main[known], self.scores[known] >= np.float32(0.5))

    def page_f1(self, table: BlockTable) -> NDArray[np.float64]:
        """Compute the bag-of-words F1 of every page with a gold text, at its fold's threshold."""
        return table.page_f1(self.kept, table.pages_with_text())

    def summary(self, table: BlockTable) -> dict[str, object]:
        """Summarise results, for reports and model files."""
        pooled = self.block_scores(table)
        rows = [(self.fold == fold) & table.known for fold in range(len(self.tunings))]
        per_fold = np.array([block_scores(table.main[r], self.scores[r] >= np.float32(0.5)).f1 for r in rows])
        names = ("precision", "recall", "f1", "weighted_f1")
        result: dict[str, object] = {
            "protocol": self.protocol,
            "folds": len(self.tunings),
            "block": {
                **{name: round(getattr(pooled, name), 4) for name in names},
                "f1_fold_mean": round(float(per_fold.mean()), 4),
                "f1_fold_sd": round(float(per_fold.std(ddof=1)), 4),
            },
        }
        if self.protocol != "block" and self.importance:
            result["importance"] = {
                unit: [
                    [item.name, item.n_columns, *np.round([item.impurity, item.drop, item.spread], 4).tolist()]
                    for item in items
                ]
                for unit, items in held_out_importance(self.importance).items()
            }
        if self.protocol != "block" and (scored := table.pages_with_text()):
            f1 = self.page_f1(table)
            types = [table.pages[number].page_type or "unknown" for number in scored]
            result["thresholds"] = [tuning.threshold for tuning in self.tunings]
            result["shrinkages"] = [tuning.shrinkage for tuning in self.tunings]
            result["page_bag_f1"] = _interval(f1)
            datasets = [table.pages[number].dataset for number in scored]
            for name, keys in (("type", types), ("dataset", datasets)):
                result[f"page_bag_f1_by_{name}"] = {
                    key: {"f1": round(mean, 4), "pages": count}
                    for key, (mean, count) in sorted(means_by(f1, keys).items())
                }
            usable = np.array([table.pages[number].usable for number in scored])
            if not usable.all() and usable.any():
                result["page_bag_f1_usable"] = _interval(f1[usable])
            if self.page_policy is not None:
                # Calibration of block probabilities (weighted by words) and of the predicted F1 of pages.
                words = np.concatenate([page.words for page in table.pages])
                known = table.known & (words > 0)
                bins = reliability(self.page_policy.probabilities[known], table.main[known], words[known])
                found = routing(self.page_policy.predicted_f1[scored], f1)
                result["reliability"] = [[round(value, 4) for value in row] for row in bins]
                columns = ("correlation", "worst", "others")
                result["confidence"] = {name: round(getattr(found, name), 4) for name in columns}
        return result


def _interval(f1: NDArray[np.float64]) -> dict[str, float]:
    """Compute the mean with a 95 % bootstrap interval, for a summary."""
    interval = bootstrap_mean(f1)
    return {name: round(float(getattr(interval, name)), 4) for name in ("mean", "low", "high")}


def check_protocols(recipe: Recipe, protocols: Sequence[str], n_folds: int) -> None:
    """Raise UnknownNameError or UsageError if a recipe can't be cross-validated with these protocols and folds."""
    for protocol in protocols:
        check_name("protocol", protocol, PROTOCOLS)
    if protocols and n_folds < 2:
        raise UsageError(f"cross-validation needs at least 2 folds, got {n_folds}")
    if recipe.is_ensemble and "block" in protocols:
        raise UsageError("ensembles are tested on whole pages, so their protocols are page and site")


def cross_validate(
    table: BlockTable,
    recipe: Recipe,
    protocol: str = "site",
    *,
    n_folds: int = 10,
    seed: int = 0,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> CrossValidation:
    """Cross-validate a recipe.

    Trains on the trainable rows of the training folds and tests on all rows of the test fold, so that pages with gold
    defects are tested but not trained on.

    ``protocol`` is ``block``, ``page`` or ``site``, see :data:`blockml.training.splits.PROTOCOLS`. The seed
    determines folds and training; the number of processes, ``jobs``, does not change the result.

    Raises
    ------
    UnknownNameError
        No such protocol.
    UsageError
        There are fewer pages or sites than folds, or the protocol is ``block`` for an ensemble.
    """
    check_protocols(recipe, [protocol], n_folds)
    fold = folds(table, protocol, n_folds, seed)
    if recipe.is_ensemble:
        return _cross_validate_ensemble(table, recipe, protocol, fold, seed, jobs, progress)
    tasks = (joblib.delayed(_test_fold)(table, recipe, fold, number, protocol, seed) for number in range(n_folds))
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M", return_as="generator") as parallel:
        results: list[tuple[NDArray[np.float32], Tuning, FoldImportance | None]] = list(
            tracked(parallel(tasks), progress, f"folds by {protocol}", n_folds)
        )
    scores = np.empty(len(table.main), dtype=np.float32)
    kept = np.empty(len(table.main), dtype=bool)
    for number, (values, tuning, _) in enumerate(results):
        scores[fold == number] = values
        kept[fold == number] = values >= np.float32(tuning.threshold)
    importance = tuple([found for *_, found in results if found is not None])
    return CrossValidation(protocol, scores, fold, tuple(found[1] for found in results), kept, importance=importance)


def _cross_validate_ensemble(
    table: BlockTable,
    recipe: Recipe,
    protocol: str,
    fold: NDArray[np.int64],
    seed: int,
    jobs: int,
    progress: ProgressCallback,
) -> CrossValidation:
    """Cross-validate probabilities of blocks, then the page policy."""
    page_fold = np.zeros(len(table.pages), dtype=np.int64)
    page_fold[table.page_of_row] = fold
    numbers = np.unique(fold).tolist()
    tasks = (joblib.delayed(_test_ensemble)(table, recipe, page_fold, number, seed) for number in numbers)
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M", return_as="generator") as parallel:
        results = list(tracked(parallel(tasks), progress, f"folds by {protocol}", len(numbers)))
    alone, combined = np.zeros(len(table.main), dtype=np.float32), np.zeros(len(table.main), dtype=np.float32)
    for number, (first, of_all, _) in zip(numbers, results, strict=True):
        alone[fold == number], combined[fold == number] = first, of_all
    policy = fit_page_policy(table, recipe, HeldOut(alone, combined, page_fold), seed)
    tunings = (Tuning(0.5, 0.0),) * len(numbers)
    importance = tuple([found for *_, found in results if found is not None])
    return CrossValidation(protocol, policy.scores, fold, tunings, policy.scores >= np.float32(0.5), policy, importance)


def _test_ensemble(
    table: BlockTable, recipe: Recipe, page_fold: NDArray[np.int64], number: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], FoldImportance | None]:
    """Predict probabilities for the rows of a test fold with only the first predictor, and with the ensemble."""
    of_row = page_fold[table.page_of_row]
    ensemble = fit_ensemble(table, recipe, (of_row != number) & table.trainable, seed)
    found = [ensemble.probabilities(table, page) for page in np.flatnonzero(page_fold == number).tolist()]
    importance = _importance(table, recipe, next(iter(ensemble.predictors.values())), of_row == number, seed)
    return np.concatenate([first for first, _ in found]), np.concatenate([of_all for _, of_all in found]), importance


def _importance(
    table: BlockTable, recipe: Recipe, predictor: object, tested: NDArray[np.bool_], seed: int
) -> FoldImportance | None:
    """Measure the importance of columns on the rows of a test fold."""
    rows = tested & table.known
    columns = feature_set(recipe.features).columns
    return fold_importance(predictor, LabelledRows(columns, table.matrix[rows], table.main[rows]), seed)


def _test_fold(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], number: int, protocol: str, seed: int
) -> tuple[NDArray[np.float32], Tuning, FoldImportance | None]:
    """Score the rows of a test fold with a tree tuned and grown on the others."""
    training = (fold != number) & table.trainable
    # Folds over blocks leave no whole pages for tuning, so the majority in a leaf decides, as in the paper.
    tuning = Tuning(0.5, 0.0) if protocol == "block" else tune(table, recipe, training, seed)
    trees = to_trees(fit_tree(recipe, table.matrix[training], table.main[training], seed), tuning.shrinkage)
    scores = trees.predict(table.matrix[fold == number]).astype(np.float32)
    importance = None if protocol == "block" else _importance(table, recipe, MeanTrees(trees), fold == number, seed)
    return scores, tuning, importance


def gaps(results: Mapping[str, CrossValidation], table: BlockTable) -> dict[str, float]:
    """Compute the differences of block F1 between each protocol and the stricter one after it.

    The first is the optimism of testing on blocks of known pages, the second the cost of unknown templates.
    """
    f1 = {name: result.block_scores(table).f1 for name, result in results.items()}
    pairs = (("block", "page"), ("page", "site"))
    return {f"{a} - {b}": round(f1[a] - f1[b], 4) for a, b in pairs if a in f1 and b in f1}
