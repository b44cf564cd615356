"""Block types: main content, heading, comment, navigation and so on, predicted for each block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError, UnknownNameError
from blockml.features.page_matrix import PageMatrix
from blockml.page import Label
from blockml.page.lazy import cached_property
from blockml.predictors.base import log_odds
from blockml.predictors.tree_ensemble import TreeEnsemble, Trees, joined_by_class

__all__ = ["BlockTypes"]

#: Difference of log odds beyond which rounding can't change their order.
_ROUNDING_MARGIN = 1e-3
#: Log odds of the probability 0.
_LEAST_LOG_ODDS = float(log_odds(np.zeros(())))
#: Maximum characters of the name of a type in a model file.
_MOST_CHARACTERS = 40


@dataclass(frozen=True, eq=False)
class BlockTypes:
    """Predicts the type of blocks."""

    kind: ClassVar[str] = "block_types"
    labels: tuple[Label, ...]  #: (k,) the types, two or more.
    #: (k,) trees of each type: the sum of leaf values is the log probability up to a constant per row.
    trees: tuple[Trees, ...]

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict the log odds of each type, (n_blocks, k), up to an additive constant per row."""
        return self.sums(page.values)

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of each type, (n_blocks, k)."""
        return self.predict(page.values)

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Predict the probability of each type for each row.

        Parameters
        ----------
        matrix
            (n_rows, n_features) without NaN; zero rows are allowed.

        Returns
        -------
        NDArray[np.float32]
            (n_rows, k) in [0, 1]; rows sum to 1.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees read.

        Examples
        --------
        >>> def leaf(value: float) -> Trees:
        ...     end = np.array([-1], np.int32)
        ...     return Trees(end, np.zeros(1), end, end, np.array([value]), np.array([0], np.int32))
        >>> types = BlockTypes((Label.MAIN, Label.COMMENT), (leaf(0), leaf(np.log(3))))
        >>> types.predict(np.zeros((1, 2), np.float32)).tolist()
        [[0.25, 0.75]]
        """
        sums = self.sums(matrix)
        odds = np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf))
        probabilities: NDArray[np.float32] = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
        return probabilities

    def sums(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sum leaf values by type, (n_rows, k): column ``i`` equals ``trees[i].predict(matrix)``."""
        joint, label = self._joint
        joint.check_width(matrix)
        return joint.sums(matrix, label, len(self.trees))

    @cached_property
    def _joint(self) -> tuple[Trees, NDArray[np.int32]]:
        return joined_by_class(self.trees)

    @cached_property
    def _comment_and_main(self) -> tuple[Trees, NDArray[np.int32]] | None:
        """Trees of comments and of main content; None without either."""
        if Label.COMMENT not in self.labels or Label.MAIN not in self.labels:
            return None
        return joined_by_class([self.trees[self.labels.index(label)] for label in (Label.COMMENT, Label.MAIN)])

    def label(self, matrix: NDArray[np.float32]) -> tuple[Label, ...]:
        """Return the most probable type of each row, the first of equally probable ones."""
        return tuple([self.labels[number] for number in self.predict(matrix).argmax(axis=1).tolist()])

    def comment_probabilities(
        self, matrix: NDArray[np.float32], among: NDArray[np.bool_], least: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Predict the probability of being a comment, evaluating all trees only where it may reach ``least``.

        Parameters
        ----------
        matrix
            (n_rows, n_features).
        among
            (n_rows,) whether to predict each row.
        least
            Least probability of interest, one number or (n_rows,).

        Returns
        -------
        NDArray[np.float32]
            (n_rows,) probabilities; -1 for other rows, and for rows that can't reach it.
        """
        found = np.full(len(matrix), -1, dtype=np.float32)
        if Label.COMMENT not in self.labels or not np.count_nonzero(among):
            return found
        if self._comment_and_main is not None:
            # The odds of being a comment are at most the ratio of the probabilities of comments and of main content.
            # Evaluating these few trees on all rows costs less than copying the rows.
            trees, classes = self._comment_and_main
            trees.check_width(matrix)
            sums = trees.sums(matrix, classes, 2)
            bounds = np.maximum(sums[:, 0] - sums[:, 1] + _ROUNDING_MARGIN, _LEAST_LOG_ODDS)
            among = among & (bounds >= log_odds(least))
        (rows,) = among.nonzero()
        if len(rows):
            found[rows] = self.predict(_rows_of(matrix, rows))[:, self.labels.index(Label.COMMENT)]
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the trees of all types, the index of the type of each tree, and the names of the types."""
        joint, label = self._joint
        names = np.array([str(name).encode() for name in self.labels])
        return {**TreeEnsemble(joint).to_arrays(), "label": np.asarray(label, np.int32), "names": names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Build the predictor from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, dtype in (("label", np.dtype(np.int32)), ("names", None)):
            if name not in arrays or arrays[name].ndim != 1 or dtype not in (None, arrays[name].dtype):
                raise ModelFormatError(f"block types need an array {name!r} of one dimension")
        if arrays["names"].dtype.kind != "S":
            raise ModelFormatError("names of block types must be bytes")
        joint = TreeEnsemble.from_arrays(arrays, n_columns).trees
        legal = {str(item) for item in Label}
        if len(arrays["names"]) > len(legal) or arrays["names"].dtype.itemsize > _MOST_CHARACTERS:
            raise ModelFormatError(f"block types have at most {len(legal)} names of {_MOST_CHARACTERS} bytes")
        if len(arrays["label"]) != len(joint.roots):
            raise ModelFormatError("block types need the label of each tree")
        label = arrays["label"].astype(np.int64)
        names = [name.decode("ascii", "replace") for name in arrays["names"].tolist()]
        for name in names:
            if name not in legal:
                raise ModelFormatError(str(UnknownNameError("label", name, legal)))
        if len(names) < 2 or len(set(names)) < len(names):
            raise ModelFormatError("block types must have at least two different labels")
        in_order = (label[0], label[-1]) == (0, len(names) - 1)
        if not in_order or not np.isin(np.diff(label), (0, 1)).all():
            raise ModelFormatError("trees of block types must be in the order of their labels, at least one each")
        return cls(tuple(map(Label, names)), _split(joint, label))


def _rows_of(matrix: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return some rows, stored by column like the matrix of a page."""
    return matrix.T.take(rows, axis=1).T


def _split(joint: Trees, label: NDArray[np.int64]) -> tuple[Trees, ...]:
    """Undo ``joined_by_class``, given the class of each tree, (n_trees,)."""
    stops = np.append(joint.roots, len(joint.feature)).astype(np.int64)[1:]
    parts = []
    for number in range(int(label[-1]) + 1):
        (trees,) = np.nonzero(label == number)
        start = int(joint.roots[trees[0]])
        nodes = slice(start, int(stops[trees[-1]]))
        inner = joint.feature[nodes] >= 0
        parts.append(
            Trees(
                feature=joint.feature[nodes],
                threshold=joint.threshold[nodes],
                left=np.where(inner, joint.left[nodes] - start, -1).astype(np.int32),
                right=np.where(inner, joint.right[nodes] - start, -1).astype(np.int32),
                value=joint.value[nodes],
                roots=(joint.roots[trees] - start).astype(np.int32),
            )
        )
    return tuple(parts)
