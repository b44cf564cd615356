"""Protocol of predictors, which compute log odds of blocks from a page's feature matrix, and their average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix
from blockml.predictors.log_odds import average_log_odds, sigmoid

__all__ = ["Predictor", "average_predictors"]


class Predictor(Protocol):
    """A trained predictor. A new kind of model needs one such class and one entry in ``PREDICTORS``."""

    kind: ClassVar[str]  #: Name in model files: a key of :data:`blockml.predictors.PREDICTORS`.

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict the log odds of each block.

        Returns
        -------
        NDArray[np.float64]
            (n_blocks,) for content, or (n_blocks, n_classes) for each class up to an additive constant per row.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the predictor reads.
        """

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict probabilities: (n_blocks,) of content, or (n_blocks, n_classes) of each class."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a model file, by name."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Build a predictor from untrusted arrays.

        Parameters
        ----------
        arrays
            Arrays of :meth:`to_arrays`.
        n_columns
            Number of columns of the feature matrices.

        Raises
        ------
        ModelFormatError
            An array is missing, has the wrong type or shape, or would make prediction fail, loop or read out of bounds.
        """


def average_predictors(
    predictors: Mapping[str, Predictor], weights: Mapping[str, float], page: PageMatrix
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Predict the blocks of a page by the weighted mean of log odds.

    Parameters
    ----------
    predictors
        Predictors of main content by name.
    weights
        Weight of each predictor, in the same order; their sum is 1.
    page
        Features of the page.

    Returns
    -------
    first, average
        (n_blocks,) probabilities by the first predictor only, and by all of them.
    """
    if len(predictors) == 1:
        (only,) = predictors.values()
        probabilities = only.probabilities(page)
        return probabilities, probabilities
    odds = [predictor.log_odds(page) for predictor in predictors.values()]
    return sigmoid(odds[0]), average_log_odds(odds, list(weights.values()))
