"""Agreement of a detected template with the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError

__all__ = ["NodeScores", "node_scores"]


@dataclass(frozen=True, slots=True)
class NodeScores:
    """Agreement of detected with true template nodes."""

    n_retrieved: int
    """Nodes detected."""
    n_gold: int
    """Nodes of the true template."""
    n_common: int
    """Nodes in both."""
    precision: float
    """Share of detected nodes that are true; 1 if both sets are empty."""
    recall: float
    """Share of true nodes that were detected; 1 if both sets are empty."""
    f1: float
    """Harmonic mean of precision and recall."""


def node_scores(retrieved: NDArray[np.bool_], gold: NDArray[np.bool_]) -> NodeScores:
    """Compute precision, recall and F1 of two (n,) masks of template nodes, as Alarte et al. evaluate theirs.

    Examples
    --------
    >>> scores = node_scores(np.array([True, True, False]), np.array([True, False, False]))
    >>> scores.precision, scores.recall, round(scores.f1, 6)
    (0.5, 1.0, 0.666667)
    """
    found, true = np.asarray(retrieved, dtype=bool), np.asarray(gold, dtype=bool)
    if found.ndim != 1 or found.shape != true.shape:
        raise UsageError(f"{found.shape} retrieved nodes, but {true.shape} nodes of the true template")
    n_found, n_true, n_common = int(found.sum()), int(true.sum()), int((found & true).sum())
    nothing = float(n_found == n_true == 0)
    return NodeScores(
        n_retrieved=n_found,
        n_gold=n_true,
        n_common=n_common,
        precision=n_common / n_found if n_found else nothing,
        recall=n_common / n_true if n_true else nothing,
        f1=2 * n_common / (n_found + n_true) if n_found + n_true else 1.0,
    )
