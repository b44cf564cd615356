"""Types of the compiled functions of decisions."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["DecisionKernel"]


class DecisionKernel(Protocol):
    """Compiled functions of decisions; columns are (n_blocks,)."""

    @staticmethod
    def page_features(
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        first: NDArray[np.float32],
        probabilities: NDArray[np.float32],
        features: NDArray[np.float32],
        /,
    ) -> None:
        """Write the features of a page: :func:`blockml.decision.page_features.page_features`."""

    @staticmethod
    def policy_scores(
        probabilities: NDArray[np.float32],
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        line: NDArray[np.int64],
        text: NDArray[np.int64],
        context: NDArray[np.int64],
        numbers: tuple[float, ...],
        scores: NDArray[np.float32],
        /,
    ) -> None:
        """Write scores: :func:`blockml.decision.policy.score_blocks`; lines are numbered from 0 without gaps."""
