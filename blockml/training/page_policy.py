"""Trees that judge whole pages, grown on pages that the block classifier had not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.decision.page_policy import EXPECTED, likeness, page_row, page_scores
from blockml.predictors.tree_ensemble import Trees
from blockml.training.hist_gradient_boosting import Boosting
from blockml.training.lightgbm_trees import fit_leafwise
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable

__all__ = ["Unseen", "WholePages", "fit_whole_pages"]

#: A thousand rows and a dozen columns bear small trees only (our choice).
_SMALL: Boosting = {"n_trees": 60, "leaves": 6, "rate": 0.08, "min_leaf": 25, "l2": 5.0, "max_features": 0.6}
#: Page type that is an article.
_ARTICLE = "article"


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """Probabilities of blocks from classifiers that had not seen their page."""

    alone: NDArray[np.float32]
    """(n_rows,) of the trees alone."""
    final: NDArray[np.float32]
    """(n_rows,) of trees and nets together."""
    fold: NDArray[np.int64]
    """(n_pages,) fold of each page."""


@dataclass(frozen=True, slots=True, eq=False)
class WholePages:
    """What was learnt about pages, and what it gives for those it was learnt from, each by trees of other folds."""

    article: Trees | None
    likeness: NDArray[np.float32]
    """(n_pages,) probability of being an article."""
    probabilities: NDArray[np.float32]
    """(n_rows,) of blocks being content, as they went in."""
    scores: NDArray[np.float32]
    """(n_rows,) scores of blocks, what the model's threshold is for."""
    foretold: NDArray[np.float64]
    """(n_pages,) F1 that the probabilities promise."""


def fit_whole_pages(table: BlockTable, recipe: Recipe, unseen: Unseen, seed: int = 0) -> WholePages:
    """Learn what an article is, and score blocks by it.

    Parameters
    ----------
    table
        All pages.
    recipe
        Says how much more careful to be with articles, and how blocks are chosen.
    unseen
        Probabilities of all blocks.
    seed
        Decides draws.
    """
    n_pages = len(table.pages)
    rows = np.array([_row(table, unseen, page) for page in range(n_pages)])
    trained = np.zeros(n_pages, dtype=bool)
    trained[np.unique(table.page_of_row[table.trainable])] = True
    kinds = np.array([page.page_type or "" for page in table.pages])
    article, alike = None, np.zeros(n_pages, dtype=np.float32)
    if recipe.article_caution and len(np.unique(kinds[trained & (kinds != "")] == _ARTICLE)) == 2:
        article, alike = _crossed(rows, kinds == _ARTICLE, trained & (kinds != ""), unseen.fold, seed)
    scores = np.empty_like(unseen.final)
    for page, item in enumerate(table.pages):
        here = table.rows_of(page)
        likely = None if article is None else float(alike[page])
        scores[here] = page_scores(
            recipe, unseen.final[here], item.words, item.linked, item.prose, item.line, likely, item.copies
        )
    return WholePages(article, alike, unseen.final, scores, rows[:, EXPECTED].astype(np.float64))


def _row(table: BlockTable, unseen: Unseen, page: int) -> NDArray[np.float32]:
    here, item = table.rows_of(page), table.pages[page]
    return page_row(item.words, item.linked, item.prose, unseen.alone[here], unseen.final[here])


def _crossed(
    rows: NDArray[np.float32],
    target: NDArray[np.generic],
    trained: NDArray[np.bool_],
    fold: NDArray[np.int64],
    seed: int,
) -> tuple[Trees, NDArray[np.float32]]:
    """Trees grown on all pages that may be learnt from; and what trees of the other folds say of each page.

    A fold whose other folds teach nothing gets what all pages say in the mean.
    """

    def grown(chosen: NDArray[np.bool_]) -> Trees:
        weight = np.ones(int(chosen.sum()))
        settings: Boosting = {**_SMALL, "seed": seed}
        return fit_leafwise(rows[chosen], target[chosen], weight, **settings)

    said = np.full(len(rows), target[trained].astype(np.float64).mean(), dtype=np.float32)
    for number in np.unique(fold):
        others = trained & (fold != number)
        if np.count_nonzero(others) > 1:
            said[fold == number] = likeness(grown(others), rows[fold == number])
    return grown(trained), said
