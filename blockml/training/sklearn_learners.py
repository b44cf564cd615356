"""Fitted classifiers of scikit-learn as predictors: trees as flat arrays, forests, boosted trees and linear models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.predictors import LinearModel, MeanTrees, Predictor, TreeEnsemble, Trees
from blockml.predictors.tree_ensemble import joined

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

__all__ = ["DoubleArray", "FlatTree", "IntArray", "boosted_trees", "check_learner", "to_predictor"]


_Affine = tuple[NDArray[np.float64], NDArray[np.float64]]
_Cuts = Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.float64]]


def check_learner(estimator: Any) -> None:  # noqa: ANN401 (scikit-learn has no types)
    """Check that a classifier, which need not be fitted yet, can be written into a model file.

    Raises
    ------
    UsageError
        It can't; the message says why.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> check_learner(KNeighborsClassifier())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    blockml.errors.UsageError: KNeighborsClassifier can't be written into a model file; the classes that can are: ...
    """
    *scalers, learner = _steps(estimator)
    wrong = [step for step in scalers if type(step).__name__ not in _SCALERS]
    wrong += [] if type(learner).__name__ in _LEARNERS else [learner]
    if wrong:
        raise UsageError(
            f"{type(wrong[0]).__name__} can't be written into a model file; the classes that can are: "
            f"{', '.join(sorted(_LEARNERS))}, optionally after {', '.join(sorted(_SCALERS))} in a pipeline"
        )
    for name, legal in _PARAMETERS.get(type(learner).__name__, {}).items():
        if (value := learner.get_params()[name]) not in legal:
            raise UsageError(
                f"{type(learner).__name__} with {name}={value!r} can't be written into a model file; {name} must be "
                f"one of: {', '.join(map(repr, legal))}"
            )


def to_predictor(estimator: Any, n_columns: int) -> Predictor:  # noqa: ANN401 (scikit-learn has no types)
    """Convert a classifier that was fitted to rows of ``n_columns`` columns with the classes False and True."""
    *scalers, learner = _steps(estimator)
    scale, shift = np.ones(n_columns), np.zeros(n_columns)
    for step in scalers:
        factor, offset = _SCALERS[type(step).__name__](step)
        scale, shift = scale * factor, shift * factor + offset
    return _LEARNERS[type(learner).__name__](learner, (scale, shift))


def _steps(estimator: Any) -> list[Any]:  # noqa: ANN401
    """Return the steps of a pipeline, the classifier last; a pipeline also lists the step names as parameters."""
    steps = getattr(estimator, "steps", None)
    return [estimator] if steps is None else [step for _, step in steps if step not in (None, "passthrough")]


def _standard(step: Any) -> _Affine:  # noqa: ANN401
    return _affine(step.scale_, step.mean_ if step.with_mean else None)


def _affine(scale: Any, center: Any) -> _Affine:  # noqa: ANN401
    factor = 1 / np.asarray(1.0 if scale is None else scale, dtype=np.float64)
    return factor, -np.asarray(0.0 if center is None else center, dtype=np.float64) * factor


def _linear(learner: Any, scaled: _Affine) -> Predictor:  # noqa: ANN401
    weights = np.ravel(learner.coef_).astype(np.float64)
    return LinearModel(weights * scaled[0], float(np.ravel(learner.intercept_)[0] + weights @ scaled[1]))


def _mean_trees(learner: Any, scaled: _Affine) -> Predictor:  # noqa: ANN401
    members = getattr(learner, "estimators_", [learner])
    trees = []
    for member in members:
        counts = member.tree_.value[:, 0, :]
        column = list(learner.classes_).index(True)
        trees.append(_tree(member.tree_, counts[:, column] / counts.sum(axis=1), scaled))
    return MeanTrees(joined(trees))


def _gradient_boosting(learner: Any, scaled: _Affine) -> Predictor:  # noqa: ANN401
    prior = 0.0
    if learner.init != "zero":
        share = float(learner.init_.class_prior_[1])
        prior = math.log(share / (1 - share))
    stages = [stage.tree_ for stage in learner.estimators_[:, 0]]
    values = [learner.learning_rate * tree.value[:, 0, 0] for tree in stages]
    values[0] = values[0] + prior
    return TreeEnsemble(joined([_tree(tree, value, scaled) for tree, value in zip(stages, values, strict=True)]))


def _tree(tree: Any, value: NDArray[np.float64], scaled: _Affine) -> Trees:  # noqa: ANN401
    """Copy a scikit-learn tree with other node values."""
    return _copied(tree.children_left < 0, tree.feature, tree.threshold, tree.children_left, tree.children_right, value,
                   _unscaled(scaled))  # fmt: skip


def _unscaled(scaled: _Affine) -> _Cuts:
    """Return a function from columns and cuts of scaled values to cuts of the original ones."""
    scale, shift = (np.broadcast_to(part, len(scaled[0])) for part in scaled)
    # A cut at infinity only separates missing values.
    return lambda column, cut: np.clip((cut - shift[column]) / scale[column], -_FAR, _FAR)


def _copied(
    leaf: NDArray[np.bool_],
    feature: NDArray[Any],
    threshold: NDArray[np.float64],
    left: NDArray[Any],
    right: NDArray[Any],
    value: NDArray[np.float64],
    cuts: _Cuts,
) -> Trees:
    column = np.where(leaf, 0, feature).astype(np.intp)
    return Trees(
        feature=np.where(leaf, -1, column).astype(np.int32),
        threshold=np.where(leaf, 0.0, cuts(column, np.where(leaf, 0.0, threshold))),
        left=np.where(leaf, -1, left).astype(np.int32),
        right=np.where(leaf, -1, right).astype(np.int32),
        value=np.where(leaf, value, 0.0),
        roots=np.zeros(1, dtype=np.int32),
    )


def boosted_trees(learner: Any, cuts: _Cuts) -> tuple[Trees, ...]:  # noqa: ANN401
    """Copy the trees of each class of a HistGradientBoostingClassifier, or of the second of two classes.

    ``cuts`` returns the thresholds to write, given columns and thresholds of the learner. The leaves of the first tree
    include the prior, so that sums are computed in scikit-learn's order.
    """
    classes = []
    for number, prior in enumerate(np.ravel(learner._baseline_prediction).tolist()):  # noqa: SLF001 (no public way)
        trees: list[Trees] = []
        for stage in learner._predictors:  # noqa: SLF001
            nodes = stage[number].nodes
            leaf, value = nodes["is_leaf"].astype(bool), nodes["value"] + (0.0 if trees else prior)
            tests = nodes["feature_idx"], nodes["num_threshold"]
            trees.append(_copied(leaf, *tests, nodes["left"], nodes["right"], value, cuts))
        classes.append(joined(trees))
    return tuple(classes)


def _hist_gradient_boosting(learner: Any, scaled: _Affine) -> Predictor:  # noqa: ANN401
    return TreeEnsemble(*boosted_trees(learner, _unscaled(scaled)))


#: Largest threshold.
_FAR = 1e300
#: Factor and offset of fitted scalers, by class.
_SCALERS: Mapping[str, Callable[[Any], _Affine]] = {
    "StandardScaler": _standard,
    "RobustScaler": lambda step: _affine(step.scale_, step.center_),
    "MinMaxScaler": lambda step: (step.scale_, step.min_),
    "MaxAbsScaler": lambda step: _affine(step.scale_, None),
}
#: Predictors of fitted classifiers, by class.
_LEARNERS: Mapping[str, Callable[[Any, _Affine], Predictor]] = {
    **dict.fromkeys(
        ("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "LinearDiscriminantAnalysis"), _linear
    ),
    **dict.fromkeys(
        ("DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"), _mean_trees
    ),
    "GradientBoostingClassifier": _gradient_boosting,
    "HistGradientBoostingClassifier": _hist_gradient_boosting,
}
#: Legal values of parameters of classifiers, by class.
_PARAMETERS: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "SGDClassifier": {"loss": ("log_loss",)},
    "GradientBoostingClassifier": {"loss": ("log_loss",), "init": (None, "zero")},
    "HistGradientBoostingClassifier": {"categorical_features": (None, "from_dtype")},
}


IntArray: TypeAlias = NDArray[np.int32]
DoubleArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """A binary two-class decision tree as parallel arrays (n_nodes,).

    Node 0 is the root, and children come after their parent. A row goes left iff ``row[feature] <= threshold``.
    """

    feature: IntArray  #: Column of the test, −1 at leaves.
    threshold: DoubleArray  #: Threshold of the test, 0 at leaves.
    left: IntArray  #: Left child, −1 at leaves.
    right: IntArray  #: Right child, −1 at leaves.
    #: Probability of class 1, also at inner nodes: its share of the training weight at the node, or at the parent if
    #: the node has none.
    value: DoubleArray
    weight: DoubleArray  #: Training weight at the node.

    @classmethod
    def from_sklearn(cls, estimator: DecisionTreeClassifier) -> Self:
        """Copy a scikit-learn decision tree, fitted for one output and at most two classes.

        The second class is class 1; a single class is class 1 iff it equals 1. Probabilities equal those of
        scikit-learn for every float64 matrix: it rounds features to float32 before comparing them, so thresholds are
        moved to where the rounding changes sides.

        Raises
        ------
        UsageError
            More than two classes, or several outputs.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> tree = FlatTree.from_sklearn(DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 1]))
        >>> tree.left.tolist(), tree.right.tolist(), tree.value.round(3).tolist(), tree.weight.tolist()
        ([1, -1, -1], [2, -1, -1], [0.667, 0.0, 1.0], [3.0, 1.0, 2.0])
        """
        if estimator.n_outputs_ != 1 or len(estimator.classes_) > 2:
            raise UsageError("the tree must be fitted for one output and at most two classes")
        tree: Any = estimator.tree_
        inner = tree.children_left >= 0
        value = tree.value[:, 0, 1] if len(estimator.classes_) == 2 else np.full(inner.size, estimator.classes_[0] == 1)
        return cls(
            feature=np.where(inner, tree.feature, -1).astype(np.int32),
            threshold=np.where(inner, _undo_float32(tree.threshold), 0.0),
            left=tree.children_left.astype(np.int32),
            right=tree.children_right.astype(np.int32),
            value=value.astype(np.float64),
            weight=tree.weighted_n_node_samples.astype(np.float64),
        )


def _undo_float32(threshold: DoubleArray) -> DoubleArray:
    """Find the largest float64 that is at most the threshold after rounding to float32."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2.0
    return np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))
