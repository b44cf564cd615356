"""Linear models: the log odds of a block are a weighted sum of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError, UsageError
from blockml.features.page_matrix import PageMatrix
from blockml.predictors.log_odds import sigmoid

__all__ = ["LinearModel"]

#: Largest absolute weight, so that sums stay finite.
_MAX_WEIGHT = 1e12


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Weights of the columns, (n_columns,), and the log odds of a row of zeros."""

    kind: ClassVar[str] = "linear"
    weights: NDArray[np.float64]
    intercept: float

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,)."""
        values = page.values
        if values.shape[1] < len(self.weights):
            raise UsageError(f"the linear model reads {len(self.weights)} columns; the matrix has {values.shape[1]}")
        total = np.full(len(values), self.intercept)
        for column in np.flatnonzero(self.weights).tolist():  # not a matrix product, which depends on the machine
            total += self.weights[column] * values[:, column]
        return total

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Predict the probability of content for each block, (n_blocks,)."""
        return sigmoid(self.log_odds(page))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return weights and intercept."""
        return {"weights": np.asarray(self.weights, dtype=np.float64), "intercept": np.array([self.intercept])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:
        """Build the model from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, shape in (("weights", (n_columns,)), ("intercept", (1,))):
            array = arrays.get(name)
            if array is None or array.dtype != np.dtype(np.float64) or array.shape != shape:
                raise ModelFormatError(f"the linear model's {name} must be 64-bit numbers of shape {shape}")
            if not (np.abs(array) <= _MAX_WEIGHT).all():  # NaN is not
                raise ModelFormatError(f"the linear model's {name} must be within ± {_MAX_WEIGHT:g}")
        return cls(arrays["weights"], float(arrays["intercept"][0]))
