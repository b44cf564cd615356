"""Trees that judge whole pages, grown on pages that the block classifier had not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.decision.page_features import PAGE_FEATURES, PREDICTED_F1, page_features
from blockml.decision.policy import score_blocks
from blockml.predictors.log_odds import sigmoid
from blockml.predictors.tree_ensemble import TreeEnsemble, Trees
from blockml.training.hist_gradient_boosting import Boosting
from blockml.training.lightgbm_trees import fit_leafwise
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable

__all__ = ["HeldOut", "PagePolicy", "fit_page_policy"]

#: A thousand rows and a dozen columns bear small trees only (our choice).
_SMALL: Boosting = {"n_trees": 60, "leaves": 6, "rate": 0.08, "min_leaf": 25, "l2": 5.0, "max_features": 0.6}
#: Page type that is an article.
_ARTICLE = "article"


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Probabilities of blocks from predictors that were not trained on their page."""

    first: NDArray[np.float32]
    """(n_rows,) of the first predictor alone."""
    probabilities: NDArray[np.float32]
    """(n_rows,) of all predictors together."""
    fold: NDArray[np.int64]
    """(n_pages,) fold of each page."""


@dataclass(frozen=True, slots=True, eq=False)
class PagePolicy:
    """What was learnt about pages, and what it gives for those it was learnt from, each by trees of other folds."""

    article: TreeEnsemble | None
    p_article: NDArray[np.float32]
    """(n_pages,) probability of being an article."""
    probabilities: NDArray[np.float32]
    """(n_rows,) of blocks being content, as they went in."""
    scores: NDArray[np.float32]
    """(n_rows,) scores of blocks, for the model's threshold."""
    predicted_f1: NDArray[np.float64]
    """(n_pages,) F1 that the probabilities predict."""


def fit_page_policy(table: BlockTable, recipe: Recipe, held_out: HeldOut, seed: int = 0) -> PagePolicy:
    """Learn what an article is, and score blocks by the recipe's policy.

    Parameters
    ----------
    table
        All pages.
    recipe
        Its policy.
    held_out
        Probabilities of all blocks.
    seed
        Decides draws.
    """
    n_pages = len(table.pages)
    rows = np.zeros((n_pages, len(PAGE_FEATURES)), dtype=np.float32)
    for page, item in enumerate(table.pages):
        here = table.rows_of(page)
        rows[page] = page_features(item.amounts, held_out.first[here], held_out.probabilities[here])
    trained = np.zeros(n_pages, dtype=bool)
    trained[np.unique(table.page_of_row[table.trainable])] = True
    kinds = np.array([page.page_type or "" for page in table.pages])
    article, p_article = None, np.zeros(n_pages, dtype=np.float32)
    if recipe.policy.article_penalty and len(np.unique(kinds[trained & (kinds != "")] == _ARTICLE)) == 2:
        trees, p_article = _crossed(rows, kinds == _ARTICLE, trained & (kinds != ""), held_out.fold, seed)
        article = TreeEnsemble(trees)
    scores = held_out.probabilities.copy()
    for page, item in enumerate(table.pages):
        here = table.rows_of(page)
        likely = None if article is None else float(p_article[page])
        if recipe.policy.rule == "expected_f1":
            scores[here] = score_blocks(recipe.policy, scores[here], item.policy_columns, likely)
    return PagePolicy(article, p_article, held_out.probabilities, scores, rows[:, PREDICTED_F1].astype(np.float64))


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
            said[fold == number] = sigmoid(grown(others).predict(rows[fold == number]))
    return grown(trained), said
