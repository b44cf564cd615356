"""Confusion matrix of block labels, with precision, recall and F1 of each label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.evaluation.metrics import BlockScores, checked_weights


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Confusion matrix of blocks (or of their words); the matrices of several pages are added with ``+``.

    Examples
    --------
    >>> table = confusion(["main", "main", "comment"], ["main", "comment", "comment"], ["main", "comment"])
    >>> table.counts.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> table.of("comment").precision, table.of("comment").recall, round(table.macro_f1, 3)
    (0.5, 1.0, 0.667)
    """

    labels: tuple[str, ...]  #: (k,) labels of the rows and columns
    counts: NDArray[np.float64]  #: (k, k) weight of the blocks by true label (row) and predicted label (column)

    def of(self, label: str) -> BlockScores:
        """Return the scores of one label against all others.

        Raises UsageError for a label that is not in :attr:`labels`.
        """
        if label not in self.labels:
            raise UsageError(f"unknown label {label!r}; the labels are {', '.join(self.labels)}")
        i = self.labels.index(label)
        tp = float(self.counts[i, i])
        fp, fn = float(self.counts[:, i].sum()) - tp, float(self.counts[i].sum()) - tp
        return BlockScores(tp, fp, fn, float(self.counts.sum()) - tp - fp - fn)

    @property
    def accuracy(self) -> float:
        """Share of correct labels, in [0, 1]; 1 for an empty table."""
        total = float(self.counts.sum())
        return float(np.trace(self.counts)) / total if total else 1.0

    @property
    def macro_f1(self) -> float:
        """Unweighted mean F1 of the labels that occur, in [0, 1]; 1 for an empty table."""
        scores = [self.of(label).f1 for label, n in zip(self.labels, self.counts.sum(axis=1), strict=True) if n]
        return float(np.mean(scores)) if scores else 1.0

    def rows(self) -> list[dict[str, object]]:
        """Return one row per true label: weight, precision, recall, F1 and the share predicted as each label."""
        rows: list[dict[str, object]] = []
        for label, line in zip(self.labels, self.counts, strict=True):
            scores = self.of(label)
            rows.append(
                {"label": label, "n": float(line.sum())}
                | {name: round(getattr(scores, name), 3) for name in ("precision", "recall", "f1")}
                | {
                    f"as {other}": round(float(n / max(line.sum(), 1e-12)), 3)
                    for other, n in zip(self.labels, line, strict=True)
                }
            )
        return rows

    def __add__(self, other: Confusion) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.labels != other.labels:
            raise UsageError("confusion matrices of different labels can't be added")
        return Confusion(self.labels, self.counts + other.counts)


def confusion(truth: ArrayLike, predicted: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> Confusion:
    """Count blocks by true and predicted label.

    Raises UsageError if the arrays differ in length, a label isn't among ``labels``, or a weight is negative or not
    finite. ``truth`` and ``predicted`` are (n_blocks,) names of labels, ``labels`` the (k,) labels in the order of the
    table, and ``weights`` the (n_blocks,) finite, non-negative weight of each block, such as its number of words; None:
    all 1.
    """
    names, true, found = (tuple(map(str, np.asarray(given).tolist())) for given in (labels, truth, predicted))
    if len(true) != len(found):
        raise UsageError(f"{len(true)} true labels, but {len(found)} predicted ones")
    if unknown := {*true, *found} - set(names):
        raise UsageError(f"labels are {', '.join(names)}, not {', '.join(sorted(unknown))}")
    mass = np.ones(len(true)) if weights is None else checked_weights(weights, len(true))
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    cells = np.array([(index[a], index[b]) for a, b in zip(true, found, strict=True)], dtype=np.intp).reshape(-1, 2)
    np.add.at(counts, (cells[:, 0], cells[:, 1]), mass)
    return Confusion(names, counts)
