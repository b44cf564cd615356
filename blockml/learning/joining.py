"""Several ensembles of trees as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.trees import Trees

__all__ = ["joined"]


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


def _moved(columns: Sequence[NDArray[np.int32]], starts: NDArray[np.intp]) -> NDArray[np.int32]:
    """Node numbers of each part, counted from where it starts; -1 stays."""
    moved = [np.where(column >= 0, column + start, -1) for column, start in zip(columns, starts, strict=True)]
    return np.concatenate(moved).astype(np.int32)
