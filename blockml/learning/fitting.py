"""Rows in, trees out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.catalogue import COLUMNS, feature_set, split_name
from blockml.learning.pruning import FlatTree, pessimistic_prune
from blockml.learning.recipes import Recipe
from blockml.trees import Trees

__all__ = ["fit_trees"]


def fit_trees(
    recipe: Recipe,
    matrix: NDArray[np.float32],
    main: NDArray[np.bool_],
    n_words: NDArray[np.int32],
    seed: int = 0,
) -> Trees:
    """Learn from block rows.

    Parameters
    ----------
    recipe
        Which learner, with which parameters.
    matrix
        (n_rows, n_features) of the recipe's feature set.
    main
        (n_rows,) gold.
    n_words
        (n_rows,) words of each block, for recipes that weigh blocks by them.
    seed
        Decides between equally good splits.

    Raises
    ------
    UsageError
        The rows are all content, or none is.
    """
    if not len(main) or main.all() or not main.any():
        raise UsageError("training needs blocks of both kinds, content and not")
    weight = np.sqrt(n_words, dtype=np.float64) if recipe.parameters["weights"] == "sqrt-words" else None
    if recipe.learner == "cart":
        tree = _cart(recipe, matrix, main, weight, seed)
    else:
        tree = _c45(recipe, matrix, main, weight)
    value = tree.value
    if recipe.parameters["laplace"]:
        value = (value * tree.weight + 1) / (tree.weight + 2)
    return Trees(tree.feature, tree.threshold, tree.left, tree.right, value, np.zeros(1, dtype=np.int32))


def _cart(
    recipe: Recipe,
    matrix: NDArray[np.float32],
    main: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    seed: int,
) -> FlatTree:
    """Fit scikit-learn's tree: binary splits by information gain, where C4.5 branches by value and gain ratio."""
    from sklearn.tree import DecisionTreeClassifier  # over a second to import

    learner = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=int(recipe.parameters["min_leaf"]), random_state=seed
    )
    tree = FlatTree.from_sklearn(learner.fit(matrix, main, sample_weight=weight))
    confidence = float(recipe.parameters["confidence"])
    # Above 0.5 pruning would only merge leaves that decide alike at 0.5; their different scores are worth keeping.
    return tree if confidence > 0.5 else pessimistic_prune(tree, confidence)


def _c45(
    recipe: Recipe, matrix: NDArray[np.float32], main: NDArray[np.bool_], weight: NDArray[np.float64] | None
) -> FlatTree:
    """Fit C4.5, which sees nominal attributes whole, and write its tree for the one-hot matrix."""
    from blockml.learning.c45 import C45Tree

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
    return learner.fit(whole, main, sample_weight=weight).to_binary(numeric, one_hot)
