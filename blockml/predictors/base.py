"""The protocol of predictors: a page's feature matrix in, log odds of its blocks out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix

__all__ = ["Predictor"]


class Predictor(Protocol):
    """A trained predictor. A model of another kind is one class like this, and one entry of ``PREDICTORS``."""

    kind: ClassVar[str]
    """Name in model files: a key of :data:`blockml.predictors.PREDICTORS`."""

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict the log odds of each block.

        Returns
        -------
        NDArray[np.float64]
            (n_blocks,) of being content, or (n_blocks, n_classes) of each class but for a constant of the row.

        Raises
        ------
        UsageError
            The matrix has fewer columns than the predictor reads.
        """

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict probabilities: (n_blocks,) of being content, or (n_blocks, n_classes) of each class."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name, as a model file holds them."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Make a predictor of arrays that may come from anywhere.

        Parameters
        ----------
        arrays
            What :meth:`to_arrays` gave.
        n_columns
            Number of columns of the matrices that it will see.

        Raises
        ------
        ModelFormatError
            An array is missing or of the wrong type or shape, or prediction could fail, loop or read outside of it.
        """
