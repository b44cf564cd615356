"""What each block of a page is, main content or one of the areas beside it: boosted trees for each label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError, UnknownNameError
from blockml.page import Label
from blockml.predictors.tree_ensemble import Trees, side_by_side

__all__ = ["ARRAYS", "COMMENT", "BlockTypes", "PredictedTypes"]

#: Arrays of a file that holds areas, and their types. ``areas_label`` has the number of the label of each tree.
ARRAYS: Mapping[str, type[np.generic]] = {
    "areas_feature": np.int32,
    "areas_threshold": np.float64,
    "areas_left": np.int32,
    "areas_right": np.int32,
    "areas_value": np.float64,
    "areas_roots": np.int32,
    "areas_label": np.int32,
}

#: Probability from which on a block is a comment. On L3S-GN1 (621 pages, never learnt from) precision is .906 and
#: recall .408 there, in words; .7 gives .907 and .214 (``benchmarks/block_types.py comments``).
COMMENT = 0.5
#: By how much log odds must differ before rounding can't turn them.
SURE = 1e-3


@dataclass(frozen=True, eq=False)
class BlockTypes:
    """Tells the label of blocks by their features."""

    labels: tuple[Label, ...]
    """(k,) what is told apart, two labels or more."""
    trees: tuple[Trees, ...]
    """(k,) of each label: the sum of a row's leaf values is the logarithm of its probability but for a constant."""

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability of each label for each row.

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
            The matrix has fewer columns than the trees ask for.

        Examples
        --------
        >>> def leaf(value: float) -> Trees:
        ...     end = np.array([-1], np.int32)
        ...     return Trees(end, np.zeros(1), end, end, np.array([value]), np.array([0], np.int32))
        >>> areas = BlockTypes((Label.MAIN, Label.COMMENT), (leaf(0), leaf(np.log(3))))
        >>> areas.predict(np.zeros((1, 2), np.float32)).tolist()
        [[0.25, 0.75]]
        """
        sums = self.logits(matrix)
        odds = np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf))
        shares: NDArray[np.float32] = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
        return shares

    def logits(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n_rows, k) sums of leaf values, those that ``trees[i].predict(matrix)`` gives; see :meth:`predict`."""
        joint, label = self._joint
        joint.check_width(matrix)
        return joint.sums(matrix, label, len(self.trees))

    @cached_property
    def _joint(self) -> tuple[Trees, NDArray[np.int32]]:
        return side_by_side(self.trees)

    def label(self, matrix: NDArray[np.float32]) -> tuple[Label, ...]:
        """Return the most probable label of each row; of equally probable ones the first."""
        return tuple([self.labels[number] for number in self.predict(matrix).argmax(axis=1).tolist()])

    def agreeing_labels(self, matrix: NDArray[np.float32], kept: NDArray[np.bool_]) -> tuple[Label, ...]:
        """Labels that agree with a decision: what is kept is content, unless it is a comment, and the rest is not.

        Parameters
        ----------
        matrix
            (n_rows, n_features).
        kept
            (n_rows,) the decision.
        """
        shares = self.predict(matrix)
        content = np.isin(self.labels, (Label.MAIN, Label.HEADING))
        inside = np.where(content, shares, -1.0).argmax(axis=1)
        outside = np.where(content, -1.0, shares).argmax(axis=1)
        chosen = np.where(kept & ~self.comments(shares), inside, outside)
        return tuple([self.labels[number] for number in chosen.tolist()])

    def comments(self, shares: NDArray[np.float32]) -> NDArray[np.bool_]:
        """(n_rows,) whether a block is a reader's comment rather than not, by its probabilities (n_rows, k)."""
        if Label.COMMENT not in self.labels:
            return np.zeros(len(shares), dtype=bool)
        found: NDArray[np.bool_] = shares[:, self.labels.index(Label.COMMENT)] >= COMMENT
        return found

    @property
    def rivals(self) -> tuple[Trees, ...]:
        """Trees of comments and of main content; none where not both are told apart.

        What is likelier main content than a comment is no comment, whatever the other labels' trees say.
        """
        if Label.COMMENT not in self.labels or Label.MAIN not in self.labels:
            return ()
        return tuple([self.trees[self.labels.index(label)] for label in (Label.COMMENT, Label.MAIN)])

    def find_comments(
        self, matrix: NDArray[np.float32], among: NDArray[np.bool_], sums: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """(n_rows,) :meth:`comments` among some rows, with most of the trees left alone.

        Parameters
        ----------
        matrix
            (n_rows, n_features).
        among
            (n_rows,) which rows are asked about.
        sums
            (n_rows, 2) sums of leaf values of :attr:`rivals`; (n_rows, 0) where there are none.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the trees ask for.
        """
        found = np.zeros(len(matrix), dtype=bool)
        if Label.COMMENT not in self.labels:
            return found
        (rows,) = (among & (sums[:, 0] > sums[:, 1] - SURE) if sums.shape[1] else among).nonzero()
        if len(rows):
            found[rows] = self.comments(self.predict(matrix[rows]))
        return found

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
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise ModelFormatError("areas need two labels or more, each once")
        if len(self.trees) != len(self.labels):
            raise ModelFormatError("areas need trees for each of their labels")
        for trees in self.trees:
            trees.check(n_features)

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Write the trees as the arrays of a model file, :data:`ARRAYS`; the labels go into its header."""
        joint, label = self._joint
        columns = {
            f"areas_{name}": getattr(joint, name)
            for name in ("feature", "threshold", "left", "right", "value", "roots")
        }
        return {name: np.asarray(column, ARRAYS[name]) for name, column in (columns | {"areas_label": label}).items()}

    @classmethod
    def from_arrays(cls, labels: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> BlockTypes:
        """Read what :meth:`to_arrays` wrote, whoever wrote it; :meth:`check` has still to be called.

        Parameters
        ----------
        labels
            The labels in the order of the trees.
        arrays
            Holds all of :data:`ARRAYS`; others are left alone.

        Raises
        ------
        ModelFormatError
            An array is missing or of the wrong type or shape, a label is unknown or has no trees.
        """
        legal = {str(label) for label in Label}
        for name in labels:
            if name not in legal:
                raise ModelFormatError(str(UnknownNameError("label", str(name), legal)))
        for name, dtype in ARRAYS.items():
            if name not in arrays or arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != 1:
                raise ModelFormatError(f"areas need {name}, one row of {np.dtype(dtype)}")
        found = {name.removeprefix("areas_"): arrays[name].astype(dtype) for name, dtype in ARRAYS.items()}
        roots, label, n = found["roots"], found["label"], len(found["feature"])
        if not len(roots) or roots[0] != 0 or roots[-1] >= n or (np.diff(roots) <= 0).any():
            raise ModelFormatError("tree roots of areas must begin at 0 and rise")
        if any(len(found[name]) != n for name in ("threshold", "left", "right", "value")):
            raise ModelFormatError("tree arrays of areas differ in length")
        steps = np.diff(label)
        if (
            len(label) != len(roots)
            or label[0] != 0
            or label[-1] != len(labels) - 1
            or not np.isin(steps, (0, 1)).all()
        ):
            raise ModelFormatError("trees of areas must stand in the order of their labels, one or more for each")
        return cls(tuple(map(Label, labels)), _parted(found, roots, np.searchsorted(label, np.arange(len(labels)))))


class PredictedTypes(Sequence[Label]):
    """Labels of the blocks of one page, worked out when they are first looked at: most users want the text alone.

    Parameters
    ----------
    areas
        What tells them.
    matrix
        (n_blocks, n_features).
    kept
        (n_blocks,) the decision that they agree with; see :meth:`BlockTypes.agreeing_labels`.
    """

    def __init__(self, areas: BlockTypes, matrix: NDArray[np.float32], kept: NDArray[np.bool_]) -> None:
        self._tell: Callable[[], tuple[Label, ...]] | None = partial(areas.agreeing_labels, matrix, kept)
        self._n = len(kept)
        self._labels: tuple[Label, ...] = ()

    def _labels_of_page(self) -> tuple[Label, ...]:
        """All of them; what they are worked out from is let go."""
        if (tell := self._tell) is not None:
            self._labels = tell()
            self._tell = None
        return self._labels

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Label, ...]: ...
    def __getitem__(self, index: int | slice) -> Label | tuple[Label, ...]:
        return self._labels_of_page()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | PredictedTypes) and self._labels_of_page() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._labels_of_page())

    def __repr__(self) -> str:
        return repr(self._labels_of_page())

    def __reduce__(self) -> tuple[type[tuple[Label, ...]], tuple[tuple[Label, ...]]]:
        return tuple, (self._labels_of_page(),)  # pickled without the matrix


def _parted(columns: Mapping[str, NDArray[Any]], roots: NDArray[Any], first: NDArray[np.intp]) -> tuple[Trees, ...]:
    """Undo ``BlockTypes._joint``; part ``i`` begins with tree ``first[i]``."""
    borders = [*roots[first].tolist(), len(columns["feature"])]
    ends = [*first[1:].tolist(), len(roots)]
    parts = []
    for number, begin in enumerate(first.tolist()):
        start, stop = borders[number], borders[number + 1]
        cut = {name: columns[name][start:stop] for name in ("feature", "threshold", "left", "right", "value")}
        inner = cut["feature"] >= 0
        # A child outside its part would be found by Trees.check, after this as before.
        children = {name: np.where(inner, cut[name] - start, -1).astype(np.int32) for name in ("left", "right")}
        own_roots = (roots[begin : ends[number]] - start).astype(np.int32)
        parts.append(Trees(**(cut | children), roots=own_roots))
    return tuple(parts)
