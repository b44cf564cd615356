"""Boosted trees, grown by scikit-learn and written as flat arrays.

Sources: Friedman 2001, *Greedy Function Approximation: A Gradient Boosting Machine*; Ke et al. 2017, *LightGBM*, whose
binned growing scikit-learn's HistGradientBoostingClassifier follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.predictors.tree_ensemble import Trees

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

__all__ = ["Boosting", "fit_boosted", "fit_boosted_classes"]

#: Most rows that cuts between values are found on: one of 255 quantiles of so many is off by a third of a bin at most
#: (standard error).
_SAMPLE = 200_000


class Boosting(TypedDict, total=False):
    """How boosted trees are grown; what is left out takes scikit-learn's default, which stands behind it."""

    n_trees: int
    """Rounds, from 1: one tree each, for several classes one for every class. 100."""
    leaves: int
    """Most leaves of a tree, from 2. 31."""
    rate: float
    """Share of each tree's step that is taken, above 0. 0.1."""
    min_leaf: int
    """Fewest rows in a leaf, whatever their weight, from 1. 20."""
    l2: float
    """Penalty on the squares of leaf values, in units of the mean row's weight, from 0. 0."""
    max_features: float
    """Share of the columns that a split chooses from, drawn anew for each, in (0, 1]. 1."""
    max_bins: int
    """Most different values of a column that are told apart, 2 to 255. 255."""
    seed: int
    """Decides which columns and rows are drawn. 0."""


_DEFAULTS: Boosting = {
    "n_trees": 100,
    "leaves": 31,
    "rate": 0.1,
    "min_leaf": 20,
    "l2": 0.0,
    "max_features": 1.0,
    "max_bins": 255,
    "seed": 0,
}


def fit_boosted(
    matrix: NDArray[np.float32], y: ArrayLike, weight: ArrayLike | None = None, **settings: Unpack[Boosting]
) -> Trees:
    """Grow boosted trees for two classes.

    Takes 8 bytes for each value of the matrix besides the matrix, and 8 more for each of at most 200,000 of its rows
    while it begins. The same trees come out whatever the number of threads.

    Parameters
    ----------
    matrix
        (n_rows, n_columns) finite numbers.
    y
        (n_rows,) 0 and 1, or False and True.
    weight
        (n_rows,) how much each row counts, from 0, in any unit; None: all the same.
    **settings
        See :class:`Boosting`.

    Returns
    -------
    Trees
        The sum of a row's leaf values is the logarithm of the odds of class 1. The first tree's leaves hold the odds
        that boosting starts from as well.

    Raises
    ------
    UsageError
        A setting is outside its range, shapes differ, a number is not finite, or a class is missing.
    UnknownNameError
        No such setting.

    Examples
    --------
    >>> trees = fit_boosted(np.arange(40, dtype=np.float32)[:, None], np.arange(40) > 29, n_trees=5, min_leaf=5)
    >>> len(trees.roots), (trees.predict(np.array([[3], [35]], np.float32)) > 0).tolist()
    (5, [False, True])
    """
    (trees,) = _grown(matrix, np.asarray(y).astype(np.int64), 2, weight, settings)
    return trees


def fit_boosted_classes(
    matrix: NDArray[np.float32], y: ArrayLike, weight: ArrayLike | None = None, **settings: Unpack[Boosting]
) -> tuple[Trees, ...]:
    """Grow boosted trees for three classes or more.

    Parameters
    ----------
    matrix, weight, **settings
        As in :func:`fit_boosted`.
    y
        (n_rows,) numbers of classes from 0, none left out.

    Returns
    -------
    tuple[Trees, ...]
        One per class. Their sums go through softmax to become probabilities.

    Raises
    ------
    UsageError, UnknownNameError
        As in :func:`fit_boosted`.

    Examples
    --------
    >>> rows = np.arange(90, dtype=np.float32)[:, None]
    >>> trees = fit_boosted_classes(rows, np.arange(90) // 30, n_trees=5, min_leaf=5)
    >>> np.argmax([item.predict(rows[[7, 40, 80]]) for item in trees], axis=0).tolist()
    [0, 1, 2]
    """
    classes = np.asarray(y).astype(np.int64)
    n_classes = int(classes.max(initial=0)) + 1
    if n_classes < 3:
        raise UsageError("two classes are for fit_boosted")
    return _grown(matrix, classes, n_classes, weight, settings)


def _grown(
    matrix: NDArray[np.float32], y: NDArray[np.int64], n_classes: int, weight: ArrayLike | None, settings: Boosting
) -> tuple[Trees, ...]:
    """Trees of each class; of two classes those of the second alone."""
    chosen = _checked(settings)
    if matrix.ndim != 2 or y.shape != matrix.shape[:1]:
        raise UsageError(f"{y.shape} classes don't fit a matrix of shape {matrix.shape}")
    if not len(y) or y.min() < 0 or y.max() >= n_classes or not np.bincount(y, minlength=n_classes).all():
        raise UsageError(f"training needs rows of each of the {n_classes} classes")
    weights = None if weight is None else _unit_mean(np.asarray(weight, dtype=np.float64), y, n_classes)
    edges = [_edges(column, chosen["max_bins"], chosen["seed"]) for column in matrix.T]
    learner = _learner(chosen).fit(_codes(matrix, edges), y, weights)
    return _exported(learner, edges)


def _checked(settings: Boosting) -> Boosting:
    """All settings, those given inside their ranges."""
    for name in settings:
        if name not in _DEFAULTS:
            raise UnknownNameError("setting", name, _DEFAULTS)
    chosen: Boosting = {**_DEFAULTS, **settings}
    if chosen["n_trees"] < 1 or chosen["leaves"] < 2 or chosen["min_leaf"] < 1 or not 2 <= chosen["max_bins"] <= 255:
        raise UsageError("boosting needs n_trees >= 1, leaves >= 2, min_leaf >= 1 and 2 <= max_bins <= 255")
    if not chosen["rate"] > 0 or not chosen["l2"] >= 0 or not 0 < chosen["max_features"] <= 1:
        raise UsageError("boosting needs rate > 0, l2 >= 0 and 0 < max_features <= 1")
    return chosen


def _unit_mean(weight: NDArray[np.float64], y: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Weights whose mean is 1, so that l2 and the least weight of a split mean the same in any unit."""
    if weight.shape != y.shape or not np.isfinite(weight).all() or (weight < 0).any():
        raise UsageError("weights are finite numbers from 0 on, one for each row")
    if not np.bincount(y, weight, minlength=n_classes).all():
        raise UsageError("training needs rows of each class whose weight is not 0")
    unit: NDArray[np.float64] = weight / weight.mean()
    return unit


def _edges(column: NDArray[np.float32], max_bins: int, seed: int) -> NDArray[np.float64]:
    """Rising cuts between the values of a column, at most ``max_bins - 1``: each halfway between two values.

    A column of few values is cut between all of them, any other into bins of as equal numbers of rows as can be.
    """
    if len(column) > _SAMPLE:
        drawn = np.random.default_rng(seed).choice(len(column), _SAMPLE, replace=False, shuffle=False)
        column = column[drawn]
    values, counts = np.unique(column, return_counts=True)
    if not np.isfinite(values).all():
        raise UsageError("the matrix holds numbers that are not finite")
    below = np.arange(len(values) - 1)
    if len(values) > max_bins:
        wanted = np.arange(1, max_bins) * (len(column) / max_bins)
        below = np.unique(np.minimum(np.searchsorted(np.cumsum(counts), wanted), len(values) - 2))
    wide = values.astype(np.float64)
    halfway: NDArray[np.float64] = (wide[below] + wide[below + 1]) / 2
    return halfway


def _codes(matrix: NDArray[np.float32], edges: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """(n_rows, n_columns) number of the bin that each value is in.

    scikit-learn would cut weighted rows by weighted quantiles, one sort for each cut. It takes float64 alone.
    """
    codes = np.empty(matrix.shape, dtype=np.float64, order="F")
    for number, cuts in enumerate(edges):
        column = matrix[:, number]
        if not np.isfinite(column).all():
            raise UsageError("the matrix holds numbers that are not finite")
        codes[:, number] = np.searchsorted(cuts, column)
    return codes


def _learner(settings: Boosting) -> HistGradientBoostingClassifier:
    """scikit-learn's learner with our names of its arguments."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # over a second to import

    return HistGradientBoostingClassifier(
        learning_rate=settings["rate"],
        max_iter=settings["n_trees"],
        max_leaf_nodes=settings["leaves"],
        max_depth=None,
        min_samples_leaf=settings["min_leaf"],
        l2_regularization=settings["l2"],
        max_features=settings["max_features"],
        max_bins=settings["max_bins"],
        early_stopping=False,  # it would draw a part of the rows, which may share pages with the others
        random_state=settings["seed"],
    )


def _exported(learner: HistGradientBoostingClassifier, edges: list[NDArray[np.float64]]) -> tuple[Trees, ...]:
    """Trees of each class of a learner that was fitted to codes, for the values that the codes stand for."""
    fitted: Any = learner
    baseline = np.ravel(fitted._baseline_prediction)  # noqa: SLF001 (no public way to the trees)
    rounds = fitted._predictors  # noqa: SLF001
    width = max(len(cuts) for cuts in edges)
    table = np.zeros((len(edges), max(width, 1)))
    for number, cuts in enumerate(edges):
        table[number, : len(cuts)] = cuts
    return tuple(
        _joined([item[number].nodes for item in rounds], float(baseline[number]), table)
        for number in range(len(baseline))
    )


def _joined(trees: list[Any], baseline: float, edges: NDArray[np.float64]) -> Trees:
    """One set of flat arrays; ``baseline`` goes into the leaves of the first tree.

    So the sum over trees runs in the order of scikit-learn's, and is the same to the last bit.
    """
    sizes = [len(nodes) for nodes in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    shift = np.repeat(starts, sizes)
    nodes = np.concatenate(trees)
    leaf = nodes["is_leaf"].astype(bool)
    column = np.where(leaf, 0, nodes["feature_idx"]).astype(np.intp)
    # A cut between two codes lies at or above the lower of them and below the upper.
    code = np.where(leaf, 0, np.floor(nodes["num_threshold"])).astype(np.intp)
    value = np.where(leaf, nodes["value"], 0.0)
    value[: sizes[0]] += np.where(leaf[: sizes[0]], baseline, 0.0)
    return Trees(
        feature=np.where(leaf, -1, column).astype(np.int32),
        threshold=np.where(leaf, 0.0, edges[column, code]),
        left=np.where(leaf, -1, nodes["left"] + shift).astype(np.int32),
        right=np.where(leaf, -1, nodes["right"] + shift).astype(np.int32),
        value=value,
        roots=starts.astype(np.int32),
    )
