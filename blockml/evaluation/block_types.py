"""How well labels of blocks are told apart: a confusion matrix, and precision, recall and F1 of each label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.evaluation.blocks import BlockScores

__all__ = ["Confusion", "confusion"]


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Blocks (or their words) by true and predicted label; those of several pages are added with ``+``.

    Examples
    --------
    >>> table = confusion(["main", "main", "comment"], ["main", "comment", "comment"], ["main", "comment"])
    >>> table.counts.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> table.of("comment").precision, table.of("comment").recall, round(table.macro_f1, 3)
    (0.5, 1.0, 0.667)
    """

    labels: tuple[str, ...]
    """(k,)."""
    counts: NDArray[np.float64]
    """(k, k) true label by predicted label."""

    def of(self, label: str) -> BlockScores:
        """Scores of one label against all others.

        Raises
        ------
        UsageError
            No such label.
        """
        if label not in self.labels:
            raise UsageError(f"no label {label!r} was counted, only {', '.join(self.labels)}")
        i = self.labels.index(label)
        hits = float(self.counts[i, i])
        wrong, missed = float(self.counts[:, i].sum()) - hits, float(self.counts[i].sum()) - hits
        return BlockScores(hits, wrong, missed, float(self.counts.sum()) - hits - wrong - missed)

    @property
    def accuracy(self) -> float:
        """Share whose label is right; 1 if there are none."""
        total = float(self.counts.sum())
        return float(np.trace(self.counts)) / total if total else 1.0

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occur, each counting the same; 1 if there are none."""
        scores = [self.of(label).f1 for label, n in zip(self.labels, self.counts.sum(axis=1), strict=True) if n]
        return float(np.mean(scores)) if scores else 1.0

    def rows(self) -> list[dict[str, object]]:
        """One row per true label: how many, precision, recall, F1, and the share predicted as each label."""
        return [
            {
                "label": label,
                "n": float(line.sum()),
                "precision": round(self.of(label).precision, 3),
                "recall": round(self.of(label).recall, 3),
                "f1": round(self.of(label).f1, 3),
            }
            | {
                f"as {other}": round(float(n / max(line.sum(), 1e-12)), 3)
                for other, n in zip(self.labels, line, strict=True)
            }
            for label, line in zip(self.labels, self.counts, strict=True)
        ]

    def __add__(self, other: Confusion) -> Confusion:
        if not isinstance(other, Confusion):
            return NotImplemented
        if self.labels != other.labels:
            raise UsageError("confusions of different labels can't be added")
        return Confusion(self.labels, self.counts + other.counts)


def confusion(truth: ArrayLike, predicted: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> Confusion:
    """Count predicted labels by true ones.

    Parameters
    ----------
    truth, predicted
        (n_blocks,) labels by name.
    labels
        (k,) all labels there are, in the order of the table.
    weights
        (n_blocks,) weight of each block, such as its number of words, finite and not negative; None: all 1.

    Raises
    ------
    UsageError
        The arrays differ in length, a label isn't among ``labels``, or a weight is no such number.

    Examples
    --------
    >>> confusion(["main", "footer"], ["main", "main"], ["main", "footer"], weights=[7, 2]).counts.tolist()
    [[7.0, 0.0], [2.0, 0.0]]
    """
    names = tuple(str(label) for label in np.asarray(labels).tolist())
    places = {name: number for number, name in enumerate(names)}
    true, said = ([str(label) for label in np.asarray(given).tolist()] for given in (truth, predicted))
    if len(true) != len(said):
        raise UsageError(f"{len(true)} true labels, but {len(said)} predicted ones")
    if unknown := {*true, *said} - set(names):
        raise UsageError(f"labels are {', '.join(names)}, not {', '.join(sorted(unknown))}")
    mass = np.ones(len(true)) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != (len(true),) or not np.isfinite(mass).all() or (mass < 0).any():
        raise UsageError(f"weights must be {len(true)} finite numbers that are not negative")
    cell = [places[one] * len(names) + places[other] for one, other in zip(true, said, strict=True)]
    counts = np.bincount(np.array(cell, dtype=np.intp), mass, minlength=len(names) ** 2).astype(np.float64)
    return Confusion(names, counts.reshape(len(names), len(names)))
