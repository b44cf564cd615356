"""Decision trees as flat arrays: prediction with numpy alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.predictors import TreeArguments, TreeColumns
from blockml.errors import ModelFormatError, UsageError
from blockml.features.page_matrix import PageMatrix
from blockml.predictors.log_odds import log_odds, sigmoid

__all__ = ["TREE_ARRAYS", "MeanTrees", "TreeEnsemble", "Trees", "joined", "side_by_side"]

#: More than any model here needs; bounds what a damaged or hostile file can make us do.
MAX_NODES = 50_000_000
#: Values of a matrix that the compiled twin can count.
MOST_VALUES = 2**31 - 1
#: Rows times trees looked at together: bounds memory at some 40 MB.
_TOGETHER = 1_000_000


@dataclass(frozen=True, eq=False)
class Trees:
    """One or more binary decision trees.

    Node ``i`` sends a row to ``left[i]`` if its value of column ``feature[i]`` is at most ``threshold[i]``, else to
    ``right[i]``. A leaf has ``feature[i] == -1`` and gives ``value[i]``. ``roots`` holds the first node of each tree;
    children come after their parent, inside the same tree. Prediction trusts that: trees from elsewhere are for
    :meth:`check` first. The arrays are not changed once they are here.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int32]

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sum of the leaf values that each row reaches.

        Parameters
        ----------
        matrix
            (n_rows, n_features) float32 without NaN. No rows are allowed.

        Returns
        -------
        NDArray[np.float64]
            (n_rows,).

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees ask for.

        Examples
        --------
        >>> stump = Trees(np.array([1, -1, -1], np.int32), np.array([.5, 0, 0]), np.array([1, -1, -1], np.int32),
        ...               np.array([2, -1, -1], np.int32), np.array([.4, .1, .9]), np.array([0], np.int32))
        >>> stump.predict(np.array([[7, 0], [7, 1]], np.float32)).tolist()
        [0.1, 0.9]
        """
        self.check_width(matrix)
        return self.sums(matrix, self._one_group, 1)[:, 0]

    def check_width(self, matrix: NDArray[np.float32]) -> None:
        """Check that a matrix of one row or more has all columns that the trees ask for.

        Raises
        ------
        UsageError
            It has fewer.
        """
        if len(matrix) and matrix.shape[1] <= self.last_column:
            raise UsageError(f"the trees ask for column {self.last_column}; the matrix has {matrix.shape[1]}")

    def sums(self, matrix: NDArray[np.float32], group: NDArray[np.int32], n_groups: int) -> NDArray[np.float64]:
        """Sums of the leaf values that each row reaches, over groups of trees.

        Parameters
        ----------
        matrix
            (n_rows, n_features) float32 without NaN, with all columns that the trees ask for.
        group
            (n_trees,) group of each tree, from 0.
        n_groups
            Number of groups.

        Returns
        -------
        NDArray[np.float64]
            (n_rows, n_groups).
        """
        total = np.zeros((len(matrix), n_groups), dtype=np.float64)
        if _kernel.compiled is not None and matrix.size <= MOST_VALUES:
            by_column = matrix.flags.f_contiguous
            laid_out = np.asarray(matrix.T if by_column else matrix, dtype=np.float32, order="C")
            _kernel.compiled.tree_sums(self.held(group), n_groups, laid_out, int(by_column), total)
            return total
        for rows, values in self._leaf_values(matrix):
            # One after the other: numpy would add up a single row in another order.
            for number, value in zip(group.tolist(), values, strict=True):
                total[rows, number] += value
        return total

    def held(self, group: NDArray[np.int32] | None = None) -> TreeArguments:
        """The trees as the compiled kernel takes them, with the group of each; all are of one if it isn't told."""
        return *self._columns, self._one_group if group is None else np.ascontiguousarray(group, np.int32), self._small

    @cached_property
    def _one_group(self) -> NDArray[np.int32]:
        return np.zeros(len(self.roots), dtype=np.int32)

    @cached_property
    def _columns(self) -> TreeColumns:
        """The arrays as the kernel takes them: made by hand or cut out of others, they may be of other types."""
        return (
            np.ascontiguousarray(self.feature, dtype=np.int32),
            np.ascontiguousarray(self.threshold, dtype=np.float64),
            np.ascontiguousarray(self.left, dtype=np.int32),
            np.ascontiguousarray(self.right, dtype=np.int32),
            np.ascontiguousarray(self.value, dtype=np.float64),
            np.ascontiguousarray(self.roots, dtype=np.int32),
        )

    @cached_property
    def _small(self) -> bytes:
        """The trees as the kernel goes through them fastest, if all are small; made once for all pages."""
        return _kernel.compiled.pack_small_trees(*self._columns) if _kernel.compiled is not None else b""

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Pickle the arrays alone: what is kept beside them is for the kernel of this machine."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def last_column(self) -> int:
        """The last column that they ask for; -1 for none."""
        return int(self.feature.max())

    def _leaf_values(self, matrix: NDArray[np.float32]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Value of the leaf that each row reaches in each tree, for some rows at a time.

        All trees go one level further in a round: hundreds of small trees one by one would cost a page many times what
        its numbers do.

        Yields
        ------
        rows, values
            Which rows, and (n_trees, n_rows) float64.
        """
        n_columns, n_trees = matrix.shape[1], len(self.roots)
        step = max(1, _TOGETHER // n_trees)
        for start in range(0, len(matrix), step):
            part = matrix[start : start + step]
            flat = np.ascontiguousarray(part).ravel()
            node = np.repeat(self.roots, len(part))
            row_start = np.tile(np.arange(len(part)) * n_columns, n_trees)
            active = np.flatnonzero(self.feature[node] >= 0)
            while len(active):  # rows in leaves drop out
                here = node[active]
                goes_left = flat[row_start[active] + self.feature[here]] <= self.threshold[here]
                there = np.where(goes_left, self.left[here], self.right[here])
                node[active] = there
                active = active[self.feature[there] >= 0]
            yield slice(start, start + len(part)), self.value[node].reshape(n_trees, len(part))

    def check(self, n_features: int) -> None:
        """Check that prediction can neither fail, loop nor read outside the arrays.

        Parameters
        ----------
        n_features
            Number of columns of the matrices it will see.

        Raises
        ------
        ModelFormatError
            It says which rule is broken.
        """
        if any(
            column.ndim != 1 for column in (self.feature, self.threshold, self.left, self.right, self.value, self.roots)
        ):
            raise ModelFormatError("tree arrays must have one dimension")
        n = len(self.feature)
        if not n == len(self.threshold) == len(self.left) == len(self.right) == len(self.value):
            raise ModelFormatError("tree arrays differ in length")
        if not 0 < n <= MAX_NODES:
            raise ModelFormatError(f"a model has 1 to {MAX_NODES} tree nodes, not {n}")
        roots = self.roots.astype(np.int64)  # differences of 32-bit integers could overflow
        if not len(roots) or roots[0] != 0 or roots[-1] >= n or (np.diff(roots) <= 0).any():
            raise ModelFormatError("tree roots must begin at 0 and rise")
        if (self.feature < -1).any() or (self.feature >= n_features).any():
            raise ModelFormatError(f"a tree asks for a feature outside 0 … {n_features - 1}")
        if not (np.isfinite(self.threshold).all() and np.isfinite(self.value).all()):
            raise ModelFormatError("thresholds and values must be finite")
        inner = np.flatnonzero(self.feature >= 0)
        stop = np.append(roots[1:], n)[np.searchsorted(roots, inner, side="right") - 1]
        for child in (self.left[inner], self.right[inner]):
            if (child <= inner).any() or (child >= stop).any():
                raise ModelFormatError("a child node must come after its parent, inside the same tree")
        children = np.concatenate([self.left[inner], self.right[inner]])
        if len(np.unique(children)) != len(children):
            raise ModelFormatError("a tree node has two parents")

    def max_depth(self) -> int:
        """Number of tests on the longest way from a root to a leaf."""
        depth = np.zeros(len(self.feature), dtype=np.int32)
        for node in np.flatnonzero(self.feature >= 0).tolist():
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return int(depth.max())


#: Names and types of the arrays of trees in a model file.
TREE_ARRAYS: Mapping[str, type[np.generic]] = {
    "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32, "value": np.float64,
    "roots": np.int32,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Boosted trees: the sum of the leaf values that a block reaches is its log odds."""

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
        """Make an ensemble of the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, dtype in TREE_ARRAYS.items():
            if name not in arrays:
                raise ModelFormatError(f"not a model file: it holds no {name}.npy of its trees")
            if arrays[name].dtype != np.dtype(dtype):
                raise ModelFormatError(f"the trees' array {name!r} has the wrong type, {np.dtype(dtype)} was expected")
        ensemble = cls(Trees(**{name: arrays[name] for name in TREE_ARRAYS}))
        ensemble.trees.check(n_columns)
        return ensemble


class MeanTrees(TreeEnsemble):
    """Decision trees whose leaf values are probabilities; the mean of those that a block reaches is its own."""

    kind: ClassVar[str] = "mean_trees"

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,)."""
        return log_odds(self.probabilities(page))

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of content for each block, (n_blocks,)."""
        return (self.trees.predict(page.values) / len(self.trees.roots)).astype(np.float32)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Make an ensemble of the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        ensemble = super().from_arrays(arrays, n_columns)
        if ((ensemble.trees.value < 0) | (ensemble.trees.value > 1)).any():
            raise ModelFormatError("leaf values that are averaged must be between 0 and 1")
        return ensemble


def joined(parts: Sequence[Trees]) -> Trees:
    """Put the trees of several ensembles into one, in order: its prediction is the sum of theirs.

    Examples
    --------
    >>> leaf = Trees(np.array([-1]), np.zeros(1), np.array([-1]), np.array([-1]), np.array([.25]), np.array([0]))
    >>> joined([leaf, leaf]).predict(np.zeros((1, 1), np.float32)).tolist()
    [0.5]
    """
    starts = np.cumsum([0, *[len(part.feature) for part in parts[:-1]]])
    return Trees(
        feature=np.concatenate([part.feature for part in parts]),
        threshold=np.concatenate([part.threshold for part in parts]),
        left=_moved([part.left for part in parts], starts),
        right=_moved([part.right for part in parts], starts),
        value=np.concatenate([part.value for part in parts]),
        roots=_moved([part.roots for part in parts], starts),
    )


def side_by_side(parts: Sequence[Trees]) -> tuple[Trees, NDArray[np.int32]]:
    """All trees of several ensembles one after another, and for each which of the ensembles it is of."""
    numbers = np.arange(len(parts), dtype=np.int32)
    return joined(parts), np.repeat(numbers, [len(trees.roots) for trees in parts])


def _moved(columns: Sequence[NDArray[np.int32]], starts: NDArray[np.intp]) -> NDArray[np.int32]:
    """Node numbers of each part, counted from where it starts; -1 stays."""
    moved = [np.where(column >= 0, column + start, -1) for column, start in zip(columns, starts, strict=True)]
    return np.concatenate(moved).astype(np.int32)
