"""Decision trees as flat arrays, and predictors made of them: boosted and averaged trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.protocol import PackedTrees
from blockml.errors import ModelFormatError, UsageError
from blockml.features.page_matrix import PageMatrix
from blockml.page.lazy import cached_property
from blockml.predictors.base import log_odds, sigmoid

__all__ = ["TREE_ARRAYS", "MeanTrees", "TreeEnsemble", "Trees", "joined", "joined_by_class"]

#: Maximum number of nodes, against damaged and hostile model files.
_MAX_NODES = 50_000_000
#: Largest absolute leaf value, so that sums over all trees stay finite.
_MAX_LEAF_VALUE = 1e6
#: Maximum number of matrix values whose offsets fit into the 32-bit integers of the compiled code.
_MAX_VALUES = 2**31 - 1
#: Rows times trees of a batch in the reference implementation: limits its memory to about 2 MB.
_BATCH = 50_000

#: Names and types of the arrays of trees in a model file.
TREE_ARRAYS: Mapping[str, type[np.generic]] = {
    "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32, "value": np.float64,
    "roots": np.int32,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trees:
    """One or more binary decision trees.

    Node ``i`` sends a row to ``left[i]`` if its value in column ``feature[i]`` is at most ``threshold[i]``, else to
    ``right[i]``. A leaf has ``feature[i] == -1`` and the value ``value[i]``. ``roots`` holds the first node of each
    tree; children come after their parent, inside the same tree. Prediction relies on that: call :meth:`check` first
    on untrusted trees. The arrays must not be modified.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int32]

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sum the leaf values that each row reaches, (n_rows,).

        Parameters
        ----------
        matrix
            (n_rows, n_features) float32 without NaN; zero rows are allowed.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees read.

        Examples
        --------
        >>> stump = Trees(np.array([1, -1, -1], np.int32), np.array([.5, 0, 0]), np.array([1, -1, -1], np.int32),
        ...               np.array([2, -1, -1], np.int32), np.array([.4, .1, .9]), np.array([0], np.int32))
        >>> stump.predict(np.array([[7, 0], [7, 1]], np.float32)).tolist()
        [0.1, 0.9]
        """
        self.check_width(matrix)
        return self.sums(matrix, np.zeros(len(self.roots), dtype=np.int32), 1)[:, 0]

    def check_width(self, matrix: NDArray[np.float32]) -> None:
        """Raise UsageError if a non-empty matrix lacks columns that the trees read."""
        if len(matrix) and matrix.shape[1] <= self.last_column:
            raise UsageError(f"the trees read column {self.last_column}; the matrix has {matrix.shape[1]}")

    def sums(self, matrix: NDArray[np.float32], classes: NDArray[np.int32], n_classes: int) -> NDArray[np.float64]:
        """Sum the leaf values that each row reaches, by class.

        Parameters
        ----------
        matrix
            (n_rows, n_features) float32 without NaN, with all columns that the trees read.
        classes
            (n_trees,) class of each tree, from 0.
        n_classes
            Number of classes.

        Returns
        -------
        NDArray[np.float64]
            (n_rows, n_classes).
        """
        total = np.zeros((len(matrix), n_classes), dtype=np.float64)
        if _kernel.compiled is not None and matrix.size <= _MAX_VALUES:
            by_column = matrix.flags.f_contiguous
            values = np.asarray(matrix.T if by_column else matrix, dtype=np.float32, order="C")
            of_trees = np.ascontiguousarray(classes, np.int32)
            _kernel.compiled.tree_sums(self._packed, int(by_column), (of_trees, values, total))
            return total
        for rows, leaf_values in self._leaf_values(matrix):
            # Tree by tree, in the order of the compiled code, because numpy sums a single row in another order.
            for tree_class, value in zip(classes.tolist(), leaf_values, strict=True):
                total[rows, tree_class] += value
        return total

    @cached_property
    def _packed(self) -> PackedTrees:
        """Trees in the format of the compiled code, which must be available; packed once for all pages."""
        arrays = {name: np.ascontiguousarray(getattr(self, name), dtype) for name, dtype in TREE_ARRAYS.items()}
        return cast("_kernel.Compiled", _kernel.compiled).pack_trees(arrays)

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Pickle only the arrays, because packed trees depend on the compiled code of this machine."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def last_column(self) -> int:
        """Last column that the trees read; -1 if all are leaves."""
        return int(self.feature.max())

    def _leaf_values(self, matrix: NDArray[np.float32]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield slices of rows, and the values (n_trees, n_rows) of the leaves they reach in each tree.

        All trees descend one level per iteration, because a loop over hundreds of small trees would be several times
        slower.
        """
        n_columns, n_trees = matrix.shape[1], len(self.roots)
        step = max(1, _BATCH // n_trees)
        for start in range(0, len(matrix), step):
            part = matrix[start : start + step]
            flat = np.ascontiguousarray(part).ravel()
            node = np.repeat(self.roots, len(part))
            row_start = np.tile(np.arange(len(part)) * n_columns, n_trees)
            active = np.flatnonzero(self.feature[node] >= 0)
            while len(active):  # drop the rows that have reached a leaf
                here = node[active]
                goes_left = flat[row_start[active] + self.feature[here]] <= self.threshold[here]
                there = np.where(goes_left, self.left[here], self.right[here])
                node[active] = there
                active = active[self.feature[there] >= 0]
            yield slice(start, start + len(part)), self.value[node].reshape(n_trees, len(part))

    def check(self, n_features: int) -> None:
        """Check that prediction on matrices of ``n_features`` columns can't fail, loop or read outside the arrays.

        Raises
        ------
        ModelFormatError
            A rule is broken; the message names it.
        """
        if any(getattr(self, name).ndim != 1 for name in TREE_ARRAYS):
            raise ModelFormatError("tree arrays must have one dimension")
        n = len(self.feature)
        if not n == len(self.threshold) == len(self.left) == len(self.right) == len(self.value):
            raise ModelFormatError("tree arrays differ in length")
        if not 0 < n <= _MAX_NODES:
            raise ModelFormatError(f"a model must have 1 to {_MAX_NODES} tree nodes, not {n}")
        if len(self.roots) > n:
            raise ModelFormatError(f"a model must have at most as many trees as nodes, not {len(self.roots)}")
        roots = self.roots.astype(np.int64)  # differences of 32-bit integers could overflow
        if not len(roots) or roots[0] != 0 or roots[-1] >= n or (np.diff(roots) <= 0).any():
            raise ModelFormatError("tree roots must start at 0 and ascend")
        if (self.feature < -1).any() or (self.feature >= n_features).any():
            raise ModelFormatError(f"a tree reads a feature outside 0 … {n_features - 1}")
        if not (np.isfinite(self.threshold).all() and (np.abs(self.value) <= _MAX_LEAF_VALUE).all()):
            raise ModelFormatError(f"thresholds must be finite, and leaf values within ± {_MAX_LEAF_VALUE:.0f}")
        inner = np.flatnonzero(self.feature >= 0)
        stop = np.append(roots[1:], n)[np.searchsorted(roots, inner, side="right") - 1]
        for child in (self.left[inner], self.right[inner]):
            if (child <= inner).any() or (child >= stop).any():
                raise ModelFormatError("a child node must come after its parent, inside the same tree")
        children = np.concatenate([self.left[inner], self.right[inner]])
        if (np.bincount(children, minlength=1) > 1).any():
            raise ModelFormatError("a tree node has two parents")

    def max_depth(self) -> int:
        """Count the tests on the longest path from a root to a leaf."""
        depth = np.zeros(len(self.feature), dtype=np.int32)
        for node in np.flatnonzero(self.feature >= 0).tolist():
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return int(depth.max())


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Boosted trees: the log odds of a block are the sum of the leaf values that it reaches."""

    kind: ClassVar[str] = "tree_ensemble"
    trees: Trees

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,)."""
        return self.trees.predict(page.values)

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of content for each block, (n_blocks,)."""
        return sigmoid(self.log_odds(page))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the trees."""
        return {name: np.asarray(getattr(self.trees, name), dtype=dtype) for name, dtype in TREE_ARRAYS.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Build the ensemble from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, dtype in TREE_ARRAYS.items():
            if name not in arrays:
                raise ModelFormatError(f"not a model file: {name}.npy of its trees is missing")
            if arrays[name].dtype != np.dtype(dtype):
                raise ModelFormatError(f"the trees' array {name!r} must be of type {np.dtype(dtype)}")
        ensemble = cls(Trees(**{name: arrays[name] for name in TREE_ARRAYS}))
        ensemble.trees.check(n_columns)
        return ensemble


class MeanTrees(TreeEnsemble):
    """Decision trees whose leaf values are probabilities: a block gets the mean of those it reaches."""

    kind: ClassVar[str] = "mean_trees"

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,)."""
        return log_odds(self.probabilities(page))

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of content for each block, (n_blocks,)."""
        return (self.trees.predict(page.values) / len(self.trees.roots)).astype(np.float32)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Build the ensemble from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        ensemble = super().from_arrays(arrays, n_columns)
        if ((ensemble.trees.value < 0) | (ensemble.trees.value > 1)).any():
            raise ModelFormatError("leaf values that are averaged must be between 0 and 1")
        return ensemble


def joined(parts: Sequence[Trees]) -> Trees:
    """Concatenate the trees of several ensembles: the prediction is the sum of their predictions.

    Examples
    --------
    >>> leaf = Trees(np.array([-1]), np.zeros(1), np.array([-1]), np.array([-1]), np.array([.25]), np.array([0]))
    >>> joined([leaf, leaf]).predict(np.zeros((1, 1), np.float32)).tolist()
    [0.5]
    """
    starts = np.cumsum([0, *[len(part.feature) for part in parts[:-1]]])
    columns = {name: [getattr(part, name) for part in parts] for name in TREE_ARRAYS}
    for name in ("left", "right", "roots"):  # node numbers; -1 stays
        shifted = [np.where(c >= 0, c + start, -1) for c, start in zip(columns[name], starts, strict=True)]
        columns[name] = [c.astype(np.int32) for c in shifted]
    return Trees(**{name: np.concatenate(parts_of_column) for name, parts_of_column in columns.items()})


def joined_by_class(parts: Sequence[Trees]) -> tuple[Trees, NDArray[np.int32]]:
    """Concatenate ensembles, one for each class; the second result is the class of each tree."""
    return joined(parts), np.repeat(np.arange(len(parts), dtype=np.int32), [len(trees.roots) for trees in parts])
