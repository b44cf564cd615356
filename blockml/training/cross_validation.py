"""Out-of-fold scores of a recipe, with everything that is tuned tuned inside the training folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.evaluation import BlockScores, block_scores, bootstrap_mean, means_by
from blockml.evaluation.calibration import reliability, routing
from blockml.training.ensemble import fit_ensemble
from blockml.training.page_policy import HeldOut, PagePolicy, fit_page_policy
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.splits import folds
from blockml.training.table import BlockTable
from blockml.training.tuning import Tuning, tune

__all__ = ["CrossValidation", "cross_validate", "gaps"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """What cross-validation found; every number is of blocks or pages that the model had not seen."""

    protocol: str
    scores: NDArray[np.float32]
    """(n_rows,) out-of-fold scores."""
    fold: NDArray[np.int64]
    """(n_rows,) fold in which each row was tested."""
    tunings: tuple[Tuning, ...]
    """What was tuned for each fold on its training pages; nothing if the protocol is ``block``."""
    kept: NDArray[np.bool_]
    """(n_rows,) decision at the fold's threshold."""
    page_policy: PagePolicy | None = None
    """What was learnt about whole pages, where the recipe does that."""

    def block_scores(self, table: BlockTable) -> BlockScores:
        """Counts at the majority threshold 0.5 pooled over all folds, as WEKA and Kim et al. 2013 report them."""
        known = table.known
        return block_scores(table.main[known], self.scores[known] >= np.float32(0.5))

    def block_scores_per_fold(self, table: BlockTable) -> list[BlockScores]:
        """Counts at 0.5 of each fold."""
        rows = [(self.fold == fold) & table.known for fold in range(len(self.tunings))]
        return [block_scores(table.main[chosen], self.scores[chosen] >= np.float32(0.5)) for chosen in rows]

    def page_f1(self, table: BlockTable) -> NDArray[np.float64]:
        """Bag-of-words F1 of every page with a gold text, at its fold's threshold."""
        return table.page_f1(self.kept, table.pages_with_text())

    def summary(self, table: BlockTable) -> dict[str, object]:
        """Numbers for reports and model files."""
        pooled = self.block_scores(table)
        per_fold = np.array([scores.f1 for scores in self.block_scores_per_fold(table)])
        result: dict[str, object] = {
            "protocol": self.protocol,
            "folds": len(self.tunings),
            "block": {
                "precision": round(pooled.precision, 4),
                "recall": round(pooled.recall, 4),
                "f1": round(pooled.f1, 4),
                "weighted_f1": round(pooled.weighted_f1, 4),
                "f1_fold_mean": round(float(per_fold.mean()), 4),
                "f1_fold_sd": round(float(per_fold.std(ddof=1)), 4),
            },
        }
        if self.protocol != "block" and (scored := table.pages_with_text()):
            f1 = self.page_f1(table)
            interval = bootstrap_mean(f1)
            types = [table.pages[number].page_type or "unknown" for number in scored]
            result["thresholds"] = [tuning.threshold for tuning in self.tunings]
            result["shrinkages"] = [tuning.shrinkage for tuning in self.tunings]
            result["page_bag_f1"] = {name: round(float(getattr(interval, name)), 4) for name in ("mean", "low", "high")}
            result["page_bag_f1_by_type"] = {
                key: {"f1": round(mean, 4), "pages": count}
                for key, (mean, count) in sorted(means_by(f1, types).items())
            }
            usable = np.array([table.pages[number].usable for number in scored])
            if not usable.all() and usable.any():
                rest = bootstrap_mean(f1[usable])
                result["page_bag_f1_usable"] = {
                    name: round(float(getattr(rest, name)), 4) for name in ("mean", "low", "high")
                }
            if self.page_policy is not None:
                result |= self._trust(table, self.page_policy, f1, scored)
        return result

    def _trust(
        self, table: BlockTable, learnt: PagePolicy, f1: NDArray[np.float64], scored: list[int]
    ) -> dict[str, object]:
        """How well probabilities of blocks and foretold scores of pages come true."""
        words = np.concatenate([page.words for page in table.pages])
        known = table.known & (words > 0)
        bins = reliability(learnt.probabilities[known], table.main[known], words[known])
        found = routing(learnt.predicted_f1[scored], f1)
        return {
            "reliability": [[round(value, 4) for value in row] for row in bins],
            "confidence": {name: round(getattr(found, name), 4) for name in ("correlation", "worst", "others")},
        }


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
        ``block``, ``page`` or ``site``: see :data:`blockml.training.splits.PROTOCOLS`.
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
    if recipe.is_ensemble:
        return _cross_validate_ensemble(table, recipe, protocol, fold, seed, jobs)
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        results: list[tuple[NDArray[np.float32], Tuning]] = parallel(
            joblib.delayed(_test_fold)(table, recipe, fold, number, protocol, seed) for number in range(n_folds)
        )
    scores = np.empty(len(table.main), dtype=np.float32)
    kept = np.empty(len(table.main), dtype=bool)
    for number, (values, tuning) in enumerate(results):
        scores[fold == number] = values
        kept[fold == number] = values >= np.float32(tuning.threshold)
    return CrossValidation(protocol, scores, fold, tuple(tuning for _, tuning in results), kept)


def _cross_validate_ensemble(
    table: BlockTable, recipe: Recipe, protocol: str, fold: NDArray[np.int64], seed: int, jobs: int
) -> CrossValidation:
    """Cross-validate blocks' probabilities first, then what judges whole pages by them."""
    if protocol == "block":
        raise UsageError("boosted trees are tested on whole pages: protocols page and site")
    of_page = np.zeros(len(table.pages), dtype=np.int64)
    of_page[table.page_of_row] = fold
    numbers = np.unique(fold).tolist()
    with joblib.Parallel(n_jobs=jobs, max_nbytes="1M") as parallel:
        parts = parallel(joblib.delayed(_test_ensemble)(table, recipe, of_page, number, seed) for number in numbers)
    alone, final = np.zeros(len(table.main), dtype=np.float32), np.zeros(len(table.main), dtype=np.float32)
    for number, (trees, both) in zip(numbers, parts, strict=True):
        alone[fold == number], final[fold == number] = trees, both
    learnt = fit_page_policy(table, recipe, HeldOut(alone, final, of_page), seed)
    tunings = (Tuning(0.5, 0.0),) * len(numbers)
    return CrossValidation(protocol, learnt.scores, fold, tunings, learnt.scores >= np.float32(0.5), learnt)


def _test_ensemble(
    table: BlockTable, recipe: Recipe, of_page: NDArray[np.int64], number: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Probabilities of one test fold's rows: of trees alone, and of all together."""
    ensemble = fit_ensemble(table, recipe, (of_page[table.page_of_row] != number) & table.trainable, seed)
    found = [ensemble.probabilities(table, page) for page in np.flatnonzero(of_page == number).tolist()]
    return np.concatenate([first for first, _ in found]), np.concatenate([both for _, both in found])


def _test_fold(
    table: BlockTable, recipe: Recipe, fold: NDArray[np.int64], number: int, protocol: str, seed: int
) -> tuple[NDArray[np.float32], Tuning]:
    """Scores of one test fold, and what was tuned on the other folds."""
    training = (fold != number) & table.trainable
    # Folds over blocks leave no whole pages to tune on; there the leaves vote as in the paper.
    tuning = Tuning(0.5, 0.0) if protocol == "block" else tune(table, recipe, training, seed)
    trees = to_trees(fit_tree(recipe, table.matrix[training], table.main[training], seed), tuning.shrinkage)
    return trees.predict(table.matrix[fold == number]).astype(np.float32), tuning


def gaps(results: Mapping[str, CrossValidation], table: BlockTable) -> dict[str, float]:
    """How much block F1 each protocol loses against the laxer one before it.

    The first gap is what testing on blocks of known pages pretends, the second what unknown templates cost.
    """
    f1 = {name: result.block_scores(table).f1 for name, result in results.items()}
    pairs = (("block", "page"), ("page", "site"))
    return {f"{a} - {b}": round(f1[a] - f1[b], 4) for a, b in pairs if a in f1 and b in f1}
