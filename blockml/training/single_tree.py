"""Training of single trees with scikit-learn, and tuning of their threshold and shrinkage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.errors import UsageError
from blockml.features import site_pages
from blockml.features.feature_sets import feature_set, split_name
from blockml.features.site_pages import UNKNOWN
from blockml.predictors import Trees
from blockml.training.recipes import Recipe
from blockml.training.sklearn_learners import FlatTree
from blockml.training.splits import duplicate_groups, fold_pages
from blockml.training.table import BlockTable

_SITE_COLUMNS = frozenset(column.name for column in site_pages.COLUMNS)
#: Column that has a value if other pages of the site are known.
_GATE = "sitepages_0"


def fit_tree(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int = 0) -> FlatTree:
    """Grow a tree on block rows.

    If there are features of other pages of the site, the first test is whether they are known. The branch for pages
    without them is the tree that would be grown if they were unknown for all rows, so these pages lose nothing. The
    other branch is grown on all rows, because few pages may have them.

    ``matrix`` (n_rows, n_features) has the columns of the recipe's feature set, ``main`` (n_rows,) is the gold. The
    seed decides among equally good splits.

    Raises
    ------
    UsageError
        All or none of the rows are content.
    """
    if not len(main) or main.all() or not main.any():
        raise UsageError("training needs blocks of both classes, content and not content, also within each fold")
    grow = partial(recipe.tree_learner or _cart, seed=seed)
    columns = feature_set(recipe.features).columns
    of_site = np.array([split_name(name)[0] in _SITE_COLUMNS for name in columns])
    if not (matrix[:, of_site] != UNKNOWN).any():
        return grow(recipe, matrix, main)
    blanked = np.where(of_site, np.float32(UNKNOWN), matrix)
    return _gated(grow(recipe, blanked, main), grow(recipe, matrix, main), columns.index(_GATE))


def _gated(unknown: FlatTree, known: FlatTree, column: int) -> FlatTree:
    """Join two trees: rows go to the first where ``column`` is :data:`UNKNOWN`, else to the second.

    The root has the value of the first tree, so that shrinkage does not change that tree.
    """
    second = len(unknown.feature) + 1

    def children(first_root: int, of_unknown: NDArray[np.int32], of_known: NDArray[np.int32]) -> NDArray[np.int32]:
        shifted = np.where(of_unknown >= 0, of_unknown + 1, -1), np.where(of_known >= 0, of_known + second, -1)
        return np.concatenate([[first_root], *shifted]).astype(np.int32)

    return FlatTree(
        feature=np.concatenate([[column], unknown.feature, known.feature]).astype(np.int32),
        threshold=np.concatenate([[UNKNOWN / 2], unknown.threshold, known.threshold]),
        left=children(1, unknown.left, known.left),
        right=children(second, unknown.right, known.right),
        value=np.concatenate([unknown.value[:1], unknown.value, known.value]),
        weight=np.concatenate([unknown.weight[:1] + known.weight[:1], unknown.weight, known.weight]),
    )


def shrink(tree: FlatTree, shrinkage: float) -> FlatTree:
    """Shrink the value of each node towards those of its ancestors, more strongly for nodes with fewer rows.

    Leaves of about ten rows give scores near 0 and 1, which rank badly. With strength ``s`` the difference between a
    parent of weight ``n`` and its child is multiplied by ``1 / (1 + s / n)`` (Agarwal, Tan, Ronen, Singh and Yu 2022,
    *Hierarchical Shrinkage*). Tests do not change.

    Examples
    --------
    >>> import numpy as np
    >>> children = np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32)
    >>> feature, threshold, value = np.array([0, -1, -1], np.int32), np.zeros(3), np.array([.5, 0, 1])
    >>> stump = FlatTree(feature, threshold, *children, value, weight=np.array([20., 10, 10]))
    >>> shrink(stump, 20).value.tolist()
    [0.5, 0.25, 0.75]
    """
    if not shrinkage:
        return tree
    value = tree.value.copy()
    for node in np.flatnonzero(tree.feature >= 0).tolist():  # parents come before their children
        step = 1 / (1 + shrinkage / max(float(tree.weight[node]), 1.0))
        for child in (tree.left[node], tree.right[node]):
            value[child] = value[node] + step * (tree.value[child] - tree.value[node])
    return replace(tree, value=value)


def to_trees(tree: FlatTree, shrinkage: float = 0.0) -> Trees:
    """Shrink a fitted tree and convert it to the trees of a model."""
    shrunk = shrink(tree, shrinkage)
    return Trees(tree.feature, tree.threshold, tree.left, tree.right, shrunk.value, np.zeros(1, dtype=np.int32))


def _cart(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int) -> FlatTree:
    """Fit scikit-learn's tree, with binary splits by information gain."""
    from sklearn.tree import DecisionTreeClassifier  # takes over a second to import

    learner = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=int(recipe.parameters["min_leaf"]), random_state=seed
    )
    return FlatTree.from_sklearn(learner.fit(matrix, main))


#: Candidate values.
THRESHOLDS = np.round(np.arange(0.05, 0.96, 0.025), 3)
SHRINKAGES = (0.0, 30.0, 100.0, 300.0, 1000.0)
#: Number of folds of the training pages.
_INNER_FOLDS = 3


class Tuning(NamedTuple):
    """Chosen parameters."""

    threshold: float  #: Minimum score to keep a block.
    shrinkage: float  #: Strength of :func:`blockml.training.single_tree.shrink`.

    @property
    def policy(self) -> DecisionPolicy:
        """Policy of the single tree; cross-validation measures the same decision."""
        return DecisionPolicy(threshold=self.threshold)


def tune(table: BlockTable, recipe: Recipe, training: NDArray[np.bool_], seed: int = 0) -> Tuning:
    """Choose threshold and shrinkage by the mean page F1 on inner folds by site of the training rows (n_rows,).

    Values set in the recipe are not tuned. With pages of only one site, or without gold texts, the defaults are used:
    the majority in a leaf, 0.5, and no shrinkage.
    """
    thresholds = THRESHOLDS.tolist() if recipe.threshold is None else [recipe.threshold]
    shrinkages = SHRINKAGES if recipe.shrinkage is None else [recipe.shrinkage]
    pages = np.intersect1d(table.page_of_row[training], table.pages_with_text())
    chosen = [table.pages[page] for page in pages.tolist()]
    groups = duplicate_groups(chosen, [page.site for page in chosen])
    n_folds = min(_INNER_FOLDS, len(np.unique(groups)))
    if n_folds < 2:
        return Tuning(0.5 if recipe.threshold is None else recipe.threshold, shrinkages[0])  # the first is 0 or set
    if len(thresholds) == len(shrinkages) == 1:
        return Tuning(thresholds[0], shrinkages[0])
    inner = np.full(len(table.pages), -1, dtype=np.int64)
    inner[pages] = fold_pages(groups, n_folds, seed)
    inner_of_row = inner[table.page_of_row]
    scores = {shrinkage: np.zeros(len(table.main), dtype=np.float32) for shrinkage in shrinkages}
    for number in range(n_folds):
        rows = training & (inner_of_row != number)
        tree = fit_tree(recipe, table.matrix[rows], table.main[rows], seed)
        tested = inner_of_row == number
        for shrinkage, column in scores.items():
            column[tested] = to_trees(tree, shrinkage).predict(table.matrix[tested]).astype(np.float32)
    quality = {
        Tuning(threshold, shrinkage): table.page_f1(scores[shrinkage] >= np.float32(threshold), pages.tolist()).mean()
        for shrinkage, threshold in product(shrinkages, thresholds)
    }
    return max(quality, key=lambda tuning: quality[tuning])
