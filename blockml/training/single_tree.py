"""Rows in, trees out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features import site_pages
from blockml.features.feature_sets import COLUMNS, feature_set, split_name
from blockml.features.site_pages import UNKNOWN
from blockml.predictors.tree_ensemble import Trees
from blockml.training.recipes import Recipe
from blockml.training.tree_arrays import FlatTree, pessimistic_prune

__all__ = ["fit_tree", "shrink", "to_trees"]

_SIBLINGS = frozenset(column.name for column in site_pages.COLUMNS)
#: Known just where siblings are.
_GATE = "sitepages_0"


def fit_tree(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int = 0) -> FlatTree:
    """Grow a tree on block rows.

    Where features tell about siblings the tree has two parts, and its first test is whether any are known. The part for
    pages without siblings is what would be grown if none were known of any row: so such pages lose nothing. The other
    part is grown on all rows as they are, for pages with siblings may be few.

    Parameters
    ----------
    recipe
        Which learner, with which parameters.
    matrix
        (n_rows, n_features) of the recipe's feature set.
    main
        (n_rows,) gold.
    seed
        Decides between equally good splits.

    Raises
    ------
    UsageError
        The rows are all content, or none is.
    """
    if not len(main) or main.all() or not main.any():
        raise UsageError("training needs blocks of both kinds, content and not")
    grow = partial(_cart, seed=seed) if recipe.learner == "cart" else _c45
    columns = feature_set(recipe.features).columns
    about = np.array([split_name(name)[0] in _SIBLINGS for name in columns])
    if not (matrix[:, about] != UNKNOWN).any():
        return grow(recipe, matrix, main)
    blind = np.where(about, np.float32(UNKNOWN), matrix)
    return _forked(grow(recipe, blind, main), grow(recipe, matrix, main), columns.index(_GATE))


def _forked(unknown: FlatTree, known: FlatTree, column: int) -> FlatTree:
    """One tree of two: rows go to the first where ``column`` is :data:`UNKNOWN`, else to the second.

    The root has the value of the first, which shrinkage then leaves as it is.
    """
    n = len(unknown.feature)
    inner = [
        np.where(part.feature >= 0, children + shift, -1).astype(np.int32)
        for part, children, shift in (
            (unknown, unknown.left, 1),
            (known, known.left, n + 1),
            (unknown, unknown.right, 1),
            (known, known.right, n + 1),
        )
    ]
    return FlatTree(
        feature=np.concatenate([[column], unknown.feature, known.feature]).astype(np.int32),
        threshold=np.concatenate([[UNKNOWN / 2], unknown.threshold, known.threshold]),
        left=np.concatenate([[1], *inner[:2]]).astype(np.int32),
        right=np.concatenate([[n + 1], *inner[2:]]).astype(np.int32),
        value=np.concatenate([unknown.value[:1], unknown.value, known.value]),
        weight=np.concatenate([unknown.weight[:1] + known.weight[:1], unknown.weight, known.weight]),
    )


def shrink(tree: FlatTree, shrinkage: float) -> FlatTree:
    """Draw the value of each node towards those of its ancestors, the more the fewer rows it rests on.

    A leaf of ten rows says little, and a tree grown to such leaves gives scores near 0 and 1 that rank badly. With
    strength ``s`` a step from a parent of weight ``n`` to its child counts ``1 / (1 + s / n)``; 0 changes nothing
    (Agarwal, Tan, Ronen, Singh and Yu 2022, *Hierarchical Shrinkage*). The tests in the tree stay as they are.

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
    """Write a fitted tree as the trees of a model."""
    shrunk = shrink(tree, shrinkage)
    return Trees(tree.feature, tree.threshold, tree.left, tree.right, shrunk.value, np.zeros(1, dtype=np.int32))


def _cart(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], seed: int) -> FlatTree:
    """Fit scikit-learn's tree: binary splits by information gain, where C4.5 branches by value and gain ratio."""
    from sklearn.tree import DecisionTreeClassifier  # over a second to import

    learner = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=int(recipe.parameters["min_leaf"]), random_state=seed
    )
    tree = FlatTree.from_sklearn(learner.fit(matrix, main))
    confidence = float(recipe.parameters["confidence"])
    # Above 0.5 pruning would only merge leaves that decide alike at 0.5; their different scores are worth keeping.
    return tree if confidence > 0.5 else pessimistic_prune(tree, confidence)


def _c45(recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_]) -> FlatTree:
    """Fit C4.5, which sees nominal attributes whole, and write its tree for the one-hot matrix."""
    from blockml.training.c45 import C45Tree

    columns = feature_set(recipe.features).columns
    parts = [split_name(name) for name in columns]
    attributes = list(dict.fromkeys((base, offset) for base, offset, _ in parts))
    whole = np.zeros((len(matrix), len(attributes)))
    numeric: dict[int, int] = {}
    one_hot: dict[tuple[int, int], int] = {}
    for column, (base, offset, code) in enumerate(parts):
        attribute = attributes.index((base, offset))
        if code is None:
            numeric[attribute] = column
            whole[:, attribute] = matrix[:, column]
        else:
            one_hot[attribute, code] = column
            whole[matrix[:, column] > 0, attribute] = code
    nominal = tuple(i for i, (base, _) in enumerate(attributes) if COLUMNS[base].values)
    learner = C45Tree(
        min_leaf=recipe.parameters["min_leaf"], confidence=recipe.parameters["confidence"], nominal=nominal
    )
    return learner.fit(whole, main).to_binary(numeric, one_hot)
