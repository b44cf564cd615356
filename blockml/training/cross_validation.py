"""Cross-validation of recipes, with all tuning inside the training folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.evaluation import BlockScores, block_scores, bootstrap_mean, means_by
from blockml.evaluation.calibration import reliability, routing
from blockml.evaluation.importance import FoldImportance, LabelledBlocks, fold_importance, held_out_importance
from blockml.features import feature_set
from blockml.model import Model
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.training.ensemble import fit_predictors
from blockml.training.page_policy import HeldOut, PagePolicy, fit_page_policy
from blockml.training.recipes import Recipe
from blockml.training.single_tree import Tuning
from blockml.training.splits import PROTOCOLS, block_folds, page_folds
from blockml.training.table import BlockTable, RowMatrix

#: Of ensembles, whose policy decides, and of folds over blocks.
_UNTUNED = Tuning(0.5, 0.0)


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
    importance: tuple[FoldImportance, ...] = ()  #: Importance of columns on the test pages of each fold, for trees.
    page_fold: NDArray[np.int64] | None = None  #: (n_pages,) fold of each page; None for the protocol ``block``.
    models: tuple[Model, ...] = ()  #: Predictors and policy of each fold.

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
                unit: [item.row() for item in items] for unit, items in held_out_importance(self.importance).items()
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

    ``protocol`` is ``block``, ``page`` or ``site``, see :data:`blockml.training.PROTOCOLS`. The seed
    determines folds and training; the number of processes, ``jobs``, does not change the result.

    Raises
    ------
    UnknownNameError
        No such protocol.
    UsageError
        There are fewer pages or sites than folds, or the protocol is ``block`` for an ensemble.
    """
    check_protocols(recipe, [protocol], n_folds)
    pages = None if protocol == "block" else page_folds(table, protocol, n_folds, seed)
    fold = block_folds(table, n_folds, seed) if pages is None else pages[table.page_of_row]
    tasks = (joblib.delayed(_test_fold)(table, recipe, fold, pages, number, seed) for number in range(n_folds))
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M", return_as="generator") as parallel:
        results = list(tracked(parallel(tasks), progress, f"folds by {protocol}", n_folds))
    first, scores = np.zeros(len(table.main), dtype=np.float32), np.zeros(len(table.main), dtype=np.float32)
    threshold = np.zeros(len(table.main), dtype=np.float32)
    for number, result in enumerate(results):
        first[fold == number], scores[fold == number] = result.first, result.scores
        threshold[fold == number] = result.tuning.threshold
    policy = None
    if recipe.is_ensemble and pages is not None:
        policy = fit_page_policy(table, recipe, HeldOut(first, scores, pages), seed)
        scores = policy.scores
    return CrossValidation(
        protocol, scores, fold, tuple(result.tuning for result in results), scores >= threshold, policy,
        tuple(result.importance for result in results if result.importance is not None), pages,
        tuple(result.model for result in results),
    )  # fmt: skip


class _Fold(NamedTuple):
    """Model of a fold, and its scores of the rows of the fold."""

    model: Model
    first: NDArray[np.float32]  #: Scores by only the first predictor.
    scores: NDArray[np.float32]
    tuning: Tuning
    importance: FoldImportance | None


def _test_fold(
    table: BlockTable,
    recipe: Recipe,
    fold: NDArray[np.int64],
    page_fold: NDArray[np.int64] | None,
    number: int,
    seed: int,
) -> _Fold:
    """Train on the rows outside of a fold, and score those in it."""
    training = (fold != number) & table.trainable
    # Folds over blocks leave no whole pages for tuning, so the majority in a leaf decides, as in the paper.
    tuning = _UNTUNED if page_fold is None else None
    fitted = fit_predictors(table, recipe, training, seed, tuning=tuning)
    predictors, weights = fitted.ensemble.predictors, fitted.ensemble.weights
    model = fitted.model(recipe, seed)
    if page_fold is None:
        (tree,) = predictors.values()
        scores = tree.probabilities(RowMatrix(table.matrix[fold == number]))
        return _Fold(model, scores, scores, fitted.tuning or _UNTUNED, None)
    tested = np.flatnonzero(page_fold == number).tolist()
    nothing = np.zeros(0, dtype=np.float32)
    pairs = [fitted.ensemble.probabilities(table, page) for page in tested if len(table.pages[page].main)]
    rows = fold == number
    blocks = LabelledBlocks(
        feature_set(recipe.features).columns, tuple(table.page_matrix(page) for page in tested), table.known[rows],
        table.main[rows],
    )  # fmt: skip
    return _Fold(
        model, np.concatenate([nothing, *(first for first, _ in pairs)]),
        np.concatenate([nothing, *(average for _, average in pairs)]), fitted.tuning or _UNTUNED,
        fold_importance(predictors, weights, blocks, seed),
    )  # fmt: skip


def gaps(results: Mapping[str, CrossValidation], table: BlockTable) -> dict[str, float]:
    """Compute the differences of block F1 between each protocol and the stricter one after it.

    The first is the optimism of testing on blocks of known pages, the second the cost of unknown templates.
    """
    f1 = {name: result.block_scores(table).f1 for name, result in results.items()}
    pairs = (("block", "page"), ("page", "site"))
    return {f"{a} - {b}": round(f1[a] - f1[b], 4) for a, b in pairs if a in f1 and b in f1}
