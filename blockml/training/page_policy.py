"""Training of the page policy (P(article) and scores) from held-out block probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import predicted_f1
from blockml.decision.rules import score_blocks
from blockml.predictors import sigmoid
from blockml.predictors.page_features import PAGE_FEATURES, page_features
from blockml.predictors.tree_ensemble import TreeEnsemble
from blockml.training.boosted_trees import Boosting, fit_lightgbm
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable

#: Small trees, for a thousand rows and a dozen columns (our choice).
_SMALL: Boosting = {"n_trees": 60, "leaves": 6, "rate": 0.08, "min_leaf": 25, "l2": 5.0, "max_features": 0.6}
_ARTICLE = "article"


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Probabilities of blocks by predictors that were not trained on their page."""

    first: NDArray[np.float32]  #: (n_rows,) probabilities by only the first predictor.
    probabilities: NDArray[np.float32]  #: (n_rows,) probabilities by the ensemble.
    fold: NDArray[np.int64]  #: (n_pages,) fold of each page.


@dataclass(frozen=True, slots=True, eq=False)
class PagePolicy:
    """Trees of P(article), and the policy's results on the training pages with trees from the other folds."""

    article: TreeEnsemble | None
    article_by_fold: Mapping[int, TreeEnsemble]  #: Trees from the other folds, which predicted the pages of each fold.
    p_article: NDArray[np.float32]  #: (n_pages,) probability of an article.
    probabilities: NDArray[np.float32]  #: (n_rows,) held-out probabilities of content.
    scores: NDArray[np.float32]  #: (n_rows,) scores of blocks.
    predicted_f1: NDArray[np.float64]  #: (n_pages,) F1 of the kept blocks, predicted from the probabilities.


def fit_page_policy(table: BlockTable, recipe: Recipe, held_out: HeldOut, seed: int = 0) -> PagePolicy:
    """Train trees of P(article), and score blocks with the recipe's policy from held-out probabilities."""
    n_pages = len(table.pages)
    rows = np.zeros((n_pages, len(PAGE_FEATURES)), dtype=np.float32)
    for page, item in enumerate(table.pages):
        its_rows = table.rows_of(page)
        rows[page] = page_features(item.amounts, held_out.first[its_rows], held_out.probabilities[its_rows])
    trained = np.zeros(n_pages, dtype=bool)
    trained[np.unique(table.page_of_row[table.trainable])] = True
    types = np.array([page.page_type or "" for page in table.pages])
    article, p_article = None, np.zeros(n_pages, dtype=np.float32)
    by_fold: Mapping[int, TreeEnsemble] = {}
    if recipe.policy.article_penalty and len(np.unique(types[trained & (types != "")] == _ARTICLE)) == 2:
        article, by_fold, p_article = _cross_fit(rows, types == _ARTICLE, trained & (types != ""), held_out.fold, seed)
    scores, predicted = held_out.probabilities.copy(), np.zeros(n_pages)
    for page, item in enumerate(table.pages):
        its_rows, likely = table.rows_of(page), None if article is None else float(p_article[page])
        if recipe.policy.rule == "expected_f1":
            scores[its_rows] = score_blocks(recipe.policy, scores[its_rows], item.policy_columns, likely)
        kept = scores[its_rows] >= np.float32(recipe.policy.threshold)
        predicted[page] = predicted_f1(held_out.probabilities[its_rows], kept, item.words)
    return PagePolicy(article, by_fold, p_article, held_out.probabilities, scores, predicted)


def _cross_fit(
    rows: NDArray[np.float32],
    target: NDArray[np.generic],
    trained: NDArray[np.bool_],
    fold: NDArray[np.int64],
    seed: int,
) -> tuple[TreeEnsemble, dict[int, TreeEnsemble], NDArray[np.float32]]:
    """Grow trees on all training pages and outside of each fold, and predict each page with those of the other folds.

    If the other folds have no training pages, the mean of the target is predicted.
    """

    def grow(chosen: NDArray[np.bool_]) -> TreeEnsemble:
        settings: Boosting = {**_SMALL, "seed": seed}
        return TreeEnsemble(fit_lightgbm(rows[chosen], target[chosen], np.ones(int(chosen.sum())), **settings))

    by_fold = {}

    predicted = np.full(len(rows), target[trained].astype(np.float64).mean(), dtype=np.float32)
    for number in np.unique(fold).tolist():
        others = trained & (fold != number)
        if np.count_nonzero(others) > 1:
            by_fold[number] = grow(others)
            predicted[fold == number] = sigmoid(by_fold[number].trees.predict(rows[fold == number]))
    return grow(trained), by_fold, predicted
