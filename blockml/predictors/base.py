"""Protocol of predictors, probabilities and log odds.

Exponentials and logarithms are computed by sums, products and quotients only, which are equal on every machine;
numpy's functions differ in the last bit between processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.features.page_matrix import PageMatrix

__all__ = ["Predictor", "average_log_odds", "average_predictors", "log_odds", "sigmoid"]


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


#: Probabilities are clipped to this distance from 0 and 1, so that log odds stay finite.
_MIN_PROBABILITY = 1e-6
#: The logarithm of 2 in two parts. The first lacks low bits, so that products with small integers are exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
#: The bits of a double of about sqrt(1/2), and the number of mantissa bits.
_ROOT, _MANTISSA = 0x3FE6A09E00000000, 52
#: Terms of the series: the remainder is below the last bit.
_EXPONENTIAL_TERMS, _LOGARITHM_TERMS = 14, 11
#: Log odds are clipped to this absolute value.
_MAX_LOG_ODDS = 700.0


def log_odds(probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Compute log odds of probabilities, clipped to [1e-6, 1 - 1e-6].

    Examples
    --------
    >>> log_odds(np.array([.5, 1.])).round(2).tolist()
    [0.0, 13.82]
    """
    if _kernel.compiled is not None:
        odds = np.empty(probabilities.shape, dtype=np.float64)
        _kernel.compiled.log_odds(np.ascontiguousarray(probabilities, dtype=np.float64), odds)
        return odds
    inside = np.fmin(np.fmax(probabilities.astype(np.float64), _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)  # NaN: 1e-6
    return _logarithm(inside / (1 - inside))


def sigmoid(odds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Compute probabilities of log odds, without overflow.

    Examples
    --------
    >>> sigmoid(np.array([0., 1000.])).tolist()
    [0.5, 1.0]
    """
    if _kernel.compiled is not None:
        probabilities = np.empty(odds.shape, dtype=np.float32)
        _kernel.compiled.sigmoid(np.ascontiguousarray(odds, dtype=np.float64), probabilities)
        return probabilities
    inside = np.fmin(np.fmax(odds, -_MAX_LOG_ODDS), _MAX_LOG_ODDS)  # NaN: -700
    return (1 / (1 + _exponential(-inside))).astype(np.float32)


def average_log_odds(odds: Sequence[NDArray[np.float64]], weights: Sequence[float]) -> NDArray[np.float32]:
    """Average log odds with weights, and return the probabilities.

    Parameters
    ----------
    odds
        Log odds (n_blocks,) of each predictor.
    weights
        Weight of each; their sum is 1.

    Examples
    --------
    >>> average_log_odds([np.array([-2.0, 0.0]), np.zeros(2)], [.5, .5]).round(2).tolist()
    [0.27000001072883606, 0.5]
    """
    mean = weights[0] * odds[0]
    for weight, others in zip(weights[1:], odds[1:], strict=True):
        mean = mean + weight * others
    return sigmoid(mean)


def _logarithm(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute natural logarithms of positive numbers."""
    shift = (x.view(np.int64) - _ROOT) >> _MANTISSA
    rest, power = (x.view(np.int64) - (shift << _MANTISSA)).view(np.float64), shift.astype(np.float64)
    s = (rest - 1) / (rest + 1)
    square, total = s * s, np.zeros(x.shape)
    for k in range(_LOGARITHM_TERMS - 1, -1, -1):
        total = total * square + 1.0 / (2 * k + 1)
    return power * _LN2_HIGH + (2 * s * total + power * _LN2_LOW)


def _exponential(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute exponentials of numbers within ± :data:`_MAX_LOG_ODDS`."""
    whole = np.rint(x * _PER_LN2)
    rest, total = (x - whole * _LN2_HIGH) - whole * _LN2_LOW, np.ones(x.shape)
    for k in range(_EXPONENTIAL_TERMS - 1, 0, -1):
        total = 1 + total * (rest * (1.0 / k))
    powers: NDArray[np.float64] = np.ldexp(total, whole.astype(np.int64))
    return powers
