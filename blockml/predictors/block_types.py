"""Block types: what each block of a page is, main content or one of the parts beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError, UnknownNameError
from blockml.features.page_kind import is_forum
from blockml.features.page_matrix import PageMatrix
from blockml.page import Label
from blockml.page.lazy import LazySequence
from blockml.predictors.tree_ensemble import TreeEnsemble, Trees, side_by_side

__all__ = ["BlockTypeScores", "BlockTypes"]

#: By how much log odds must differ before rounding can't turn them.
_ROUNDING_MARGIN = 1e-3
_CONTENT = (Label.MAIN, Label.HEADING)


@dataclass(frozen=True, eq=False)
class BlockTypes:
    """Predicts the type of blocks."""

    kind: ClassVar[str] = "block_types"
    labels: tuple[Label, ...]
    """(k,) the types that are told apart, two or more."""
    trees: tuple[Trees, ...]
    """(k,) of each type: the sum of a row's leaf values is the logarithm of its probability but for a constant."""

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict the log odds of each type, (n_blocks, k), but for a constant of the row."""
        return self.sums(page.values)

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of each type, (n_blocks, k)."""
        return self.predict(page.values)

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Predict the probability of each type for each row.

        Parameters
        ----------
        matrix
            (n_rows, n_features) without NaN. No rows are allowed.

        Returns
        -------
        NDArray[np.float32]
            (n_rows, k) in [0, 1]; the sum of a row is 1.

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
        shares: NDArray[np.float32] = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
        return shares

    def sums(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n_rows, k) sums of leaf values, those that ``trees[i].predict(matrix)`` gives."""
        joint, label = self._joint
        joint.check_width(matrix)
        return joint.sums(matrix, label, len(self.trees))

    @cached_property
    def _joint(self) -> tuple[Trees, NDArray[np.int32]]:
        return side_by_side(self.trees)

    @cached_property
    def _rivals(self) -> tuple[Trees, NDArray[np.int32]] | None:
        """Trees of comments and of main content; None where not both are told apart."""
        if Label.COMMENT not in self.labels or Label.MAIN not in self.labels:
            return None
        return side_by_side([self.trees[self.labels.index(label)] for label in (Label.COMMENT, Label.MAIN)])

    def label(self, matrix: NDArray[np.float32]) -> tuple[Label, ...]:
        """Return the most probable type of each row; of equally probable ones the first."""
        return tuple([self.labels[number] for number in self.predict(matrix).argmax(axis=1).tolist()])

    def consistent_labels(
        self, matrix: NDArray[np.float32], kept: NDArray[np.bool_], comment_probability: float
    ) -> tuple[Label, ...]:
        """Return types that agree with a decision: what is kept is content, unless it is a comment; the rest is not.

        Parameters
        ----------
        matrix
            (n_rows, n_features).
        kept
            (n_rows,) the decision.
        comment_probability
            Probability from which on a block is a comment.
        """
        shares = self.predict(matrix)
        content = np.isin(self.labels, _CONTENT)
        inside = np.where(content, shares, -1.0).argmax(axis=1)
        outside = np.where(content, -1.0, shares).argmax(axis=1)
        chosen = np.where(kept & ~self._are_comments(shares, comment_probability), inside, outside)
        return tuple([self.labels[number] for number in chosen.tolist()])

    def _are_comments(self, shares: NDArray[np.float32], comment_probability: float) -> NDArray[np.bool_]:
        """(n_rows,) whether a block is a reader's comment, by its probabilities (n_rows, k)."""
        if Label.COMMENT not in self.labels:
            return np.zeros(len(shares), dtype=bool)
        found: NDArray[np.bool_] = shares[:, self.labels.index(Label.COMMENT)] >= np.float32(comment_probability)
        return found

    def comments(
        self, matrix: NDArray[np.float32], among: NDArray[np.bool_], comment_probability: float = 0.5
    ) -> NDArray[np.bool_] | None:
        """Find comments among some rows; all trees are walked only for rows where comments may win.

        Parameters
        ----------
        matrix
            (n_rows, n_features).
        among
            (n_rows,) the rows to look at.
        comment_probability
            Probability from which on a block is a comment.

        Returns
        -------
        NDArray[np.bool_] or None
            (n_rows,) which of them are comments; None if there are none.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees read.
        """
        if Label.COMMENT not in self.labels or not among.any():
            return None
        candidates = among
        if self._rivals is not None and comment_probability >= 0.5:
            # A block that is likelier main content than a comment has a probability below .5 of being one.
            trees, group = self._rivals
            trees.check_width(matrix)
            comment, main = trees.sums(matrix, group, 2).T
            candidates = among & (comment > main - _ROUNDING_MARGIN)
        (rows,) = candidates.nonzero()
        if not len(rows):
            return None
        found = np.zeros(len(matrix), dtype=bool)
        found[rows] = self._are_comments(self.predict(matrix[rows]), comment_probability)
        return found if found.any() else None

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the trees of all types one after another, the number of the type of each, and the types' names."""
        joint, label = self._joint
        names = np.array([str(name).encode() for name in self.labels])
        return {**TreeEnsemble(joint).to_arrays(), "label": np.asarray(label, np.int32), "names": names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Make block types of the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, dtype in (("label", np.dtype(np.int32)), ("names", None)):
            if name not in arrays or arrays[name].ndim != 1 or dtype not in (None, arrays[name].dtype):
                raise ModelFormatError(f"block types need an array {name!r} of one dimension")
        if arrays["names"].dtype.kind != "S":
            raise ModelFormatError("names of block types must be bytes")
        joint = TreeEnsemble.from_arrays(arrays, n_columns).trees
        legal, label = {str(item) for item in Label}, arrays["label"].astype(np.int64)
        names = [name.decode("ascii", "replace") for name in arrays["names"].tolist()]
        for name in names:
            if name not in legal:
                raise ModelFormatError(str(UnknownNameError("label", name, legal)))
        if len(names) < 2 or len(set(names)) < len(names):
            raise ModelFormatError("block types need two labels or more, each once")
        in_order = len(label) == len(joint.roots) and (label[0], label[-1]) == (0, len(names) - 1)
        if not in_order or not np.isin(np.diff(label), (0, 1)).all():
            raise ModelFormatError("trees of block types must be in the order of their labels, one or more for each")
        return cls(tuple(map(Label, names)), _split(joint, np.searchsorted(label, np.arange(len(names)))))


class BlockTypeScores:
    """Block types of one page, computed when they are first looked at: most users want the text alone.

    Parameters
    ----------
    types
        The predictor.
    page
        The page's features.
    """

    def __init__(self, types: BlockTypes, page: PageMatrix) -> None:
        self.types = types
        self.page = page

    def comments(self, among: NDArray[np.bool_], comment_probability: float) -> NDArray[np.bool_] | None:
        """Find comments among some blocks; none on forums, where what readers write is the content."""
        found = self.types.comments(self.page.values, among, comment_probability)
        return None if found is None or is_forum(self.page) else found

    def labels(self, kept: NDArray[np.bool_], comment_probability: float) -> Sequence[Label]:
        """(n_blocks,) the type of each block: see :meth:`BlockTypes.consistent_labels`."""
        compute = partial(self.types.consistent_labels, self.page.values, kept, comment_probability)
        return LazySequence(len(kept), compute)


def _split(joint: Trees, first: NDArray[np.intp]) -> tuple[Trees, ...]:
    """Undo ``side_by_side``: part ``i`` begins with tree ``first[i]``."""
    roots = joint.roots.astype(np.int64)
    borders = [*roots[first].tolist(), len(joint.feature)]
    ends = [*first[1:].tolist(), len(roots)]
    parts = []
    for number, begin in enumerate(first.tolist()):
        start, stop = borders[number], borders[number + 1]
        inner = joint.feature[start:stop] >= 0
        parts.append(
            Trees(
                feature=joint.feature[start:stop],
                threshold=joint.threshold[start:stop],
                left=np.where(inner, joint.left[start:stop] - start, -1).astype(np.int32),
                right=np.where(inner, joint.right[start:stop] - start, -1).astype(np.int32),
                value=joint.value[start:stop],
                roots=(roots[begin : ends[number]] - start).astype(np.int32),
            )
        )
    return tuple(parts)
