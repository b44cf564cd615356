"""Out-of-fold scores of a recipe, with everything that is tuned tuned inside the training folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.evaluation import BlockScores, block_scores, bootstrap_mean, means_by
from blockml.learning.fitting import fit_trees
from blockml.learning.recipes import Recipe
from blockml.learning.splits import duplicate_groups, fold_pages, folds
from blockml.learning.table import BlockTable

__all__ = ["CrossValidation", "cross_validate", "tune_threshold"]

#: Thresholds that tuning tries.
GRID = np.round(np.arange(0.05, 0.96, 0.025), 3)
#: Folds inside the training pages that choose the threshold.
_INNER_FOLDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """What cross-validation found; every number is of blocks or pages that the model had not seen."""

    protocol: str
    scores: NDArray[np.float32]
    """(n_rows,) out-of-fold scores."""
    fold: NDArray[np.int64]
    """(n_rows,) fold in which each row was tested."""
    thresholds: tuple[float, ...]
    """Threshold of each fold, chosen on its training pages; 0.5 if the protocol is ``block``."""
    kept: NDArray[np.bool_]
    """(n_rows,) decision at the fold's threshold."""

    def block_scores(self, table: BlockTable) -> BlockScores:
        """Counts at the majority threshold 0.5 pooled over all folds, as WEKA and Kim et al. 2013 report them."""
        return block_scores(table.main, self.scores >= np.float32(0.5))

    def block_scores_per_fold(self, table: BlockTable) -> list[BlockScores]:
        """Counts at 0.5 of each fold."""
        return [
            block_scores(table.main[self.fold == fold], self.scores[self.fold == fold] >= np.float32(0.5))
            for fold in range(len(self.thresholds))
        ]

    def page_f1(self, table: BlockTable) -> NDArray[np.float64]:
        """Bag-of-words F1 of every page at its fold's threshold."""
        return table.page_f1(self.kept, range(len(table.pages)))

    def summary(self, table: BlockTable) -> dict[str, object]:
        """Numbers for reports and model files."""
        pooled = self.block_scores(table)
        per_fold = np.array([scores.f1 for scores in self.block_scores_per_fold(table)])
        result: dict[str, object] = {
            "protocol": self.protocol,
            "folds": len(self.thresholds),
            "block": {
                "precision": round(pooled.precision, 4),
                "recall": round(pooled.recall, 4),
                "f1": round(pooled.f1, 4),
                "weighted_f1": round(pooled.weighted_f1, 4),
                "f1_fold_mean": round(float(per_fold.mean()), 4),
                "f1_fold_sd": round(float(per_fold.std(ddof=1)), 4),
            },
        }
        if self.protocol != "block":
            f1 = self.page_f1(table)
            interval = bootstrap_mean(f1)
            types = [page.page_type or "unknown" for page in table.pages]
            result["thresholds"] = [round(float(value), 3) for value in self.thresholds]
            result["page_bag_f1"] = {name: round(float(getattr(interval, name)), 4) for name in ("mean", "low", "high")}
            result["page_bag_f1_by_type"] = {
                key: {"f1": round(mean, 4), "pages": count}
                for key, (mean, count) in sorted(means_by(f1, types).items())
            }
        return result


def cross_validate(
    table: BlockTable, recipe: Recipe, protocol: str = "site", *, n_folds: int = 10, seed: int = 0, jobs: int = 1
) -> CrossValidation:
    """Cross-validate a recipe.

    Models are trained on the trainable rows of the training folds and tested on all rows of the test fold, so pages
    with known gold defects count in the result and teach nothing.

    Parameters
    ----------
    table
        The pages.
    recipe
        What is trained.
    protocol
        ``block``, ``page`` or ``site``: see :data:`blockml.learning.splits.PROTOCOLS`.
    n_folds
        Number of folds.
    seed
        Decides the folds and ties.
    jobs
        Processes; the result does not depend on it.

    Raises
    ------
    UnknownNameError
        No such protocol.
    UsageError
        Fewer pages or sites than folds.
    """
    fold = folds(table, protocol, n_folds, seed)
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        results: list[tuple[NDArray[np.float32], float]] = parallel(
            joblib.delayed(_test_fold)(table, recipe, fold, number, protocol, seed) for number in range(n_folds)
        )
    scores = np.empty(len(table.main), dtype=np.float32)
    kept = np.empty(len(table.main), dtype=bool)
    for number, (values, threshold) in enumerate(results):
        scores[fold == number] = values
        kept[fold == number] = values >= np.float32(threshold)
    return CrossValidation(protocol, scores, fold, tuple(threshold for _, threshold in results), kept)


def _test_fold(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], number: int, protocol: str, seed: int
) -> tuple[NDArray[np.float32], float]:
    """Scores of one test fold and the threshold chosen on the other folds."""
    training = (fold != number) & table.trainable
    threshold = recipe.threshold
    if threshold is None:
        threshold = 0.5 if protocol == "block" else tune_threshold(table, recipe, training, seed)
    trees = fit_trees(recipe, table.matrix[training], table.main[training], table.n_words[training], seed)
    return trees.predict(table.matrix[fold == number]).astype(np.float32), threshold


def tune_threshold(table: BlockTable, recipe: Recipe, training: NDArray[np.bool_], seed: int = 0) -> float:
    """Threshold with the best mean page F1 on inner folds, by site, of the training pages.

    Parameters
    ----------
    training
        (n_rows,) rows that may be looked at.
    """
    pages = np.unique(table.page_of_row[training])
    chosen = [table.pages[page] for page in pages.tolist()]
    groups = duplicate_groups(chosen, [page.site for page in chosen])
    n_folds = min(_INNER_FOLDS, len(np.unique(groups)))
    if n_folds < 2:
        return 0.5
    inner = np.full(len(table.pages), -1, dtype=np.int64)
    inner[pages] = fold_pages(groups, n_folds, seed)
    inner_of_row = inner[table.page_of_row]
    scores = np.zeros(len(table.main), dtype=np.float32)
    for number in range(n_folds):
        rows = training & (inner_of_row != number)
        trees = fit_trees(recipe, table.matrix[rows], table.main[rows], table.n_words[rows], seed)
        tested = inner_of_row == number
        scores[tested] = trees.predict(table.matrix[tested]).astype(np.float32)
    means = [float(table.page_f1(scores >= np.float32(threshold), pages.tolist()).mean()) for threshold in GRID]
    return float(GRID[int(np.argmax(means))])


def gaps(results: Mapping[str, CrossValidation], table: BlockTable) -> dict[str, float]:
    """How much block F1 each protocol loses against the laxer one before it.

    The first gap is what testing on blocks of known pages pretends, the second what unknown templates cost.
    """
    f1 = {name: result.block_scores(table).f1 for name, result in results.items()}
    pairs = (("block", "page"), ("page", "site"))
    return {f"{a} - {b}": round(f1[a] - f1[b], 4) for a, b in pairs if a in f1 and b in f1}
