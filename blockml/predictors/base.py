"""Protocol of predictors: log odds of blocks from the feature matrix of their page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix

__all__ = ["Predictor"]


class Predictor(Protocol):
    """A trained predictor. A new kind of model is one class like this, and one entry in ``PREDICTORS``."""

    kind: ClassVar[str]  #: Name in model files: a key of :data:`blockml.predictors.PREDICTORS`.

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict the log odds of each block.

        Returns
        -------
        NDArray[np.float64]
            (n_blocks,) of content, or (n_blocks, n_classes) of each class up to an additive constant per row.

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
            An array is missing or of the wrong type or shape, or prediction could fail, loop or read outside of it.
        """
