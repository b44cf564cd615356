"""Boosted trees, grown by scikit-learn or LightGBM and copied to flat arrays.

Sources: Friedman 2001, *Greedy Function Approximation: A Gradient Boosting Machine*; Ke et al. 2017, *LightGBM*, whose
binned growing scikit-learn's HistGradientBoostingClassifier follows.

LightGBM takes a fifth of the time of scikit-learn on the same rows, which makes cross-validation of the released
model affordable. It is only needed for training.

Source: Ke et al. 2017, *LightGBM: A Highly Efficient Gradient Boosting Decision Tree*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError, check_name, install_hint
from blockml.predictors import Trees
from blockml.predictors.tree_ensemble import joined
from blockml.training.sklearn_learners import boosted_trees

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier


#: Maximum number of rows for finding cuts: with this many, the standard error of one of 255 quantiles is a third of a
#: bin.
MAX_SAMPLE = 200_000


class Boosting(TypedDict, total=False):
    """Settings of boosted trees. Each comment ends with the default, which is scikit-learn's."""

    n_trees: int  #: Number of rounds, at least 1; each adds one tree, or one per class if there are several. 100.
    leaves: int  #: Maximum number of leaves of a tree, at least 2. 31.
    rate: float  #: Learning rate, above 0. 0.1.
    min_leaf: int  #: Minimum number of rows in a leaf, at least 1. 20.
    l2: float  #: Penalty on the squares of leaf values, in units of the mean row weight, at least 0. 0.
    max_features: float  #: Share of the columns drawn for each split, in (0, 1]. 1.
    max_bins: int  #: Maximum number of bins per column, 2 to 255. 255.
    seed: int  #: Seed for drawing columns and rows. 0.


_DEFAULTS: Boosting = {
    "n_trees": 100, "leaves": 31, "rate": 0.1, "min_leaf": 20, "l2": 0.0, "max_features": 1.0, "max_bins": 255,
    "seed": 0,
}  # fmt: skip


def fit_boosted(
    matrix: NDArray[np.float32], y: ArrayLike, weight: ArrayLike | None = None, **settings: Unpack[Boosting]
) -> Trees:
    """Grow boosted trees for two classes: the sum of leaf values is the log odds of class 1.

    Needs 8 bytes per value of the matrix in addition to the matrix itself, and 8 more for each value of at most
    200,000 rows while it finds cuts. The trees do not depend on the number of threads.

    Takes finite numbers (n_rows, n_columns), classes (n_rows,), 0 or 1, and non-negative weights (n_rows,) in any unit;
    None means equal weights. For settings see :class:`Boosting`. The leaves of the first tree include the prior log
    odds.

    Raises
    ------
    UsageError
        A setting is out of range, shapes differ, a number is not finite, or a class is missing.
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
    """Grow boosted trees for three or more classes, one ensemble each: probabilities are the softmax of their sums.

    ``y`` (n_rows,) holds class numbers from 0 without gaps; everything else is as in :func:`fit_boosted`.

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
        raise UsageError("fit_boosted_classes needs three or more classes; for two, use fit_boosted")
    return _grown(matrix, classes, n_classes, weight, settings)


def _grown(
    matrix: NDArray[np.float32], y: NDArray[np.int64], n_classes: int, weight: ArrayLike | None, settings: Boosting
) -> tuple[Trees, ...]:
    """Grow the trees of each class, or of the second of two classes."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn brings it

    chosen = _checked(settings)
    if matrix.ndim != 2 or y.shape != matrix.shape[:1]:
        raise UsageError(f"{y.shape} classes don't fit a matrix of shape {matrix.shape}")
    if not len(y) or y.min() < 0 or y.max() >= n_classes or not np.bincount(y, minlength=n_classes).all():
        raise UsageError(f"training needs rows of each of the {n_classes} classes")
    weights = None
    if weight is not None:
        weights = np.asarray(weight, dtype=np.float64)
        if weights.shape != y.shape or not np.isfinite(weights).all() or (weights < 0).any():
            raise UsageError("weights must be finite numbers >= 0, one for each row")
        if not np.bincount(y, weights, minlength=n_classes).all():
            raise UsageError("training needs rows with non-zero weight in each class")
        weights = weights / weights.mean()  # so that l2 has the same effect for any unit
    edges = [bin_edges(column, chosen["max_bins"], chosen["seed"]) for column in matrix.T]
    with threadpool_limits(1, user_api="openmp"):  # threads wait busily for each other, at every node of every tree
        learner = _learner(chosen).fit(_codes(matrix, edges), y, weights)
    table = np.zeros((len(edges), max([1, *map(len, edges)])))
    for number, cuts in enumerate(edges):
        table[number, : len(cuts)] = cuts
    # A cut between two codes is at or above the lower one and below the upper one.
    return boosted_trees(learner, lambda column, cut: table[column, np.floor(cut).astype(np.intp)])


def _checked(settings: Boosting) -> Boosting:
    """Check settings, and add defaults."""
    for name in settings:
        check_name("setting", name, _DEFAULTS)
    chosen: Boosting = {**_DEFAULTS, **settings}
    if chosen["n_trees"] < 1 or chosen["leaves"] < 2 or chosen["min_leaf"] < 1 or not 2 <= chosen["max_bins"] <= 255:
        raise UsageError("boosting needs n_trees >= 1, leaves >= 2, min_leaf >= 1 and 2 <= max_bins <= 255")
    if not chosen["rate"] > 0 or not chosen["l2"] >= 0 or not 0 < chosen["max_features"] <= 1:
        raise UsageError("boosting needs rate > 0, l2 >= 0 and 0 < max_features <= 1")
    return chosen


def bin_edges(column: NDArray[np.float32], max_bins: int, seed: int) -> NDArray[np.float64]:
    """Find ascending cuts of a column, at most ``max_bins - 1``, each halfway between two values.

    A column with few values is cut between all of them, others into bins with about equal numbers of rows.
    """
    if len(column) > MAX_SAMPLE:
        drawn = np.random.default_rng(seed).choice(len(column), MAX_SAMPLE, replace=False, shuffle=False)
        column = column[drawn]
    values, counts = np.unique(column, return_counts=True)
    if not np.isfinite(values).all():
        raise UsageError("the matrix must hold finite numbers")
    below = np.arange(len(values) - 1)
    if len(values) > max_bins:
        wanted = np.arange(1, max_bins) * (len(column) / max_bins)
        below = np.unique(np.minimum(np.searchsorted(np.cumsum(counts), wanted), len(values) - 2))
    wide = values.astype(np.float64)
    return (wide[below] + wide[below + 1]) / 2


def _codes(matrix: NDArray[np.float32], edges: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the bin number of each value, (n_rows, n_columns), in float64 as scikit-learn requires.

    scikit-learn itself would cut weighted rows at weighted quantiles, with one sort per cut.
    """
    codes = np.empty(matrix.shape, dtype=np.float64, order="F")
    for number, cuts in enumerate(edges):
        column = matrix[:, number]
        if not np.isfinite(column).all():
            raise UsageError("the matrix must hold finite numbers")
        codes[:, number] = np.searchsorted(cuts, column)
    return codes


def _learner(settings: Boosting) -> HistGradientBoostingClassifier:
    """Translate settings for scikit-learn's learner."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes over a second to import

    return HistGradientBoostingClassifier(
        learning_rate=settings["rate"],
        max_iter=settings["n_trees"],
        max_leaf_nodes=settings["leaves"],
        max_depth=None,
        min_samples_leaf=settings["min_leaf"],
        l2_regularization=settings["l2"],
        max_features=float(settings["max_features"]),  # scikit-learn rejects integers here
        max_bins=settings["max_bins"],
        early_stopping=False,  # early stopping would validate on rows of training pages
        random_state=settings["seed"],
    )


#: Trees are equal on every run, for any number of threads, and zeros and missing values are not treated specially.
_FIXED: Mapping[str, Any] = {
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "use_missing": False,
    "verbose": -1,
    # Stochastic boosting (Friedman 2002): each tree sees a random part of the rows.
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
}
#: LightGBM's names for the settings.
_NAMES: Mapping[str, str] = {
    "leaves": "num_leaves",
    "rate": "learning_rate",
    "min_leaf": "min_data_in_leaf",
    "l2": "lambda_l2",
    "max_features": "feature_fraction",
    "max_bins": "max_bin",
    "seed": "seed",
}


def check_lightgbm() -> None:
    """Raise UsageError if LightGBM is not installed."""
    try:
        import lightgbm  # noqa: F401 (whether it can be imported)
    except ImportError:
        raise UsageError(f"this recipe is trained with LightGBM; {install_hint('boost')}") from None


def fit_lightgbm(
    matrix: NDArray[np.float32], target: NDArray[np.generic], weight: NDArray[np.float64], **settings: Unpack[Boosting]
) -> Trees:
    """Grow boosted trees whose leaf values add up to the log odds of class 1.

    Takes finite numbers (n_rows, n_columns), the target (n_rows,), 0 or 1, and weights (n_rows,). For settings see
    :class:`blockml.training.boosted_trees.Boosting`; each tree draws its columns, and 70 % of the rows.

    Raises
    ------
    UsageError
        LightGBM is not installed, shapes differ, or there are fewer than two rows.

    Examples
    --------
    >>> rows = np.arange(200, dtype=np.float32)[:, None]  # doctest: +SKIP
    >>> trees = fit_lightgbm(rows, rows[:, 0] > 99, np.ones(200), n_trees=5)  # doctest: +SKIP
    >>> (trees.predict(rows[[3, 180]]) > 0).tolist()  # doctest: +SKIP
    [False, True]
    """
    check_lightgbm()
    import lightgbm

    if not len(matrix) == len(target) == len(weight):
        raise UsageError(f"{len(target)} targets and {len(weight)} weights for {len(matrix)} rows")
    if len(matrix) < 2:
        raise UsageError("boosting needs at least two rows")
    n_trees = settings.get("n_trees", 100)
    chosen = {**_FIXED, **{_NAMES[name]: value for name, value in settings.items() if name != "n_trees"}}
    chosen["objective"] = "binary"
    rows = lightgbm.Dataset(matrix, np.asarray(target, dtype=np.float64), weight=weight, params=chosen)
    booster = lightgbm.train(chosen, rows, n_trees)
    return joined([_copied_lightgbm(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]])


def _copied_lightgbm(root: Mapping[str, Any]) -> Trees:
    """Copy one tree, with its nodes in breadth-first order."""
    nodes = [root]
    rows: list[tuple[int, float, int, int, float]] = []
    for node in nodes:  # grows in the loop: children come after their parent
        if "split_feature" in node:
            rows.append((node["split_feature"], node["threshold"], len(nodes), len(nodes) + 1, 0.0))
            nodes += [node["left_child"], node["right_child"]]
        else:
            rows.append((-1, 0.0, -1, -1, node["leaf_value"]))
    types = (np.int32, np.float64, np.int32, np.int32, np.float64)
    feature, threshold, left, right, value = (
        np.array(c, dtype=t) for c, t in zip(zip(*rows, strict=True), types, strict=True)
    )
    return Trees(feature, threshold, left, right, value, np.zeros(1, dtype=np.int32))
