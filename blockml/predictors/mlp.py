"""Small MLPs over all blocks of a page.

There are two hidden layers. The second one also reads means of the first one's units: over the page's blocks, over
its words, and over blocks of the same group. So an MLP scores a block in the context of its page and list, which
trees over single rows can't (Zaheer et al. 2017, *Deep Sets*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.protocol import PackedMLP
from blockml.errors import ModelFormatError, UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.features.page_matrix import PageMatrix
from blockml.page.cached import cached_property
from blockml.predictors.log_odds import log_odds, sigmoid
from blockml.predictors.quantized_mlp import BOUND, MAX_TERMS, FloatArray, QuantizedMLP, quantize, quantized_log_odds

__all__ = ["MLP", "NO_WORDS", "join_mlps", "signed_logarithms"]

#: Ancestor words of a page without blocks.
NO_WORDS = AncestorWords(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
#: Bounds of an MLP: required by the compiled code, and protection against damaged and hostile model files.
_MAX_PARAMETERS, _MAX_WEIGHT, _MAX_GROUPINGS, _MAX_UNITS = 20_000_000, 1e6, 8, 2**14
#: Arrays in single precision. All others are weights, which are rounded to half precision in memory too, so that
#: saving and loading does not change an MLP.
_SINGLE_PRECISION = ("center", "scale")
#: The bits of a float of about sqrt(1/2), and the number of mantissa bits.
_ROOT, _MANTISSA = 0x3F3504F3, 23


def signed_logarithms(matrix: FloatArray) -> FloatArray:
    """Compute sign(x) · log(1 + abs(x)), which compresses large amounts and hardly changes shares."""
    values = np.abs(matrix)
    values += np.float32(1)
    np.log(values, out=values)
    return np.copysign(values, matrix, out=values)


def _logarithms(x: FloatArray) -> FloatArray:
    """Compute natural logarithms of numbers >= 1, identical on every machine and to the compiled code.

    Training uses those of numpy, which are faster and may differ in the last bit.
    """
    one = np.float32(1)
    power = (x.view(np.int32) - np.int32(_ROOT)) >> _MANTISSA
    rest = (x.view(np.int32) - (power << _MANTISSA)).view(np.float32)
    s = (rest - one) / (rest + one)
    square, total = s * s, np.full(x.shape, one / np.float32(9))
    for k in (7, 5, 3, 1):
        total = total * square + one / np.float32(k)
    logarithms: FloatArray = power.astype(np.float32) * np.float32(0.6931472) + np.float32(2) * s * total
    return logarithms


@dataclass(frozen=True, eq=False)
class MLP:
    """One or more networks with the same inputs, whose log odds are averaged. The arrays must not be modified.

    There are ``m`` networks with ``f`` columns, ``d`` components of each word vector, and layers of ``h`` and ``k``
    units.
    """

    kind: ClassVar[str] = "mlp"
    center: FloatArray  #: (f,) subtracted from the signed logarithm of each column.
    scale: FloatArray  #: (f,) factors applied next, at least 0; 0 for unused columns.
    input_u: FloatArray  #: (f, m · h) weights of the input layer; (f, r) with a second factor :attr:`input_v`.
    input_bias: FloatArray  #: (m · h,).
    #: (:data:`~blockml.features.ancestor_words.N_HASHED_WORDS`, m · d) a vector for each hashed word, 0 for words
    #: that were rare in training; (0, 0) for MLPs without words.
    word_vectors: FloatArray
    #: (m, d, h) weights of the input layer for the mean vector of a block's ancestor words.
    word_projection: FloatArray
    self_weights: FloatArray  #: (m, h, k) weights of the hidden layer for the block itself.
    page_weights: FloatArray  #: (m, 2 · h, k) for the means over the page's blocks and over its words.
    group_weights: FloatArray  #: (m, n_groupings · h, k) for the means over the block's group in each grouping.
    hidden_bias: FloatArray  #: (m, 1, k).
    output_weights: FloatArray  #: (m, k, 1) weights of the log odds.
    output_bias: FloatArray  #: (m, 1, 1).
    #: (r, m · h) second factor of the input weights; (0, 0) without factors. Units of the input layer are correlated,
    #: so a low-rank product approximates their weights with fewer multiplications.
    input_v: FloatArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))

    @property
    def n_groupings(self) -> int:
        """Number of groupings of blocks."""
        return int(self.group_weights.shape[1] // self.self_weights.shape[1])

    @property
    def reads_words(self) -> bool:
        """Whether it reads ancestor words."""
        return len(self.word_vectors) > 0

    def __getstate__(self) -> dict[str, FloatArray]:
        """Pickle only the arrays, not their quantised and packed forms."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def scaled(self, matrix: FloatArray) -> FloatArray:
        """Compute the inputs of the first layer, (n, f): signed logarithms, standardised and clipped."""
        return self._standardised(signed_logarithms(matrix))

    def _standardised(self, logarithms: FloatArray) -> FloatArray:
        """Standardise and clip signed logarithms (n, f), in place."""
        logarithms -= self.center
        logarithms *= self.scale
        return np.clip(logarithms, -BOUND, BOUND, out=logarithms)

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,), clipped to those of the probabilities 1e-6 and 1 - 1e-6."""
        return log_odds(self.probabilities(page))

    def probabilities(self, page: PageMatrix) -> FloatArray:
        """Predict the probability of content for each block, (n_blocks,)."""
        words = page.ancestor_words if self.reads_words and len(page.values) else None
        return self.predict(page.values, page.block_groups, page.amounts.words, words)

    def predict(
        self,
        matrix: FloatArray,
        groups: Sequence[NDArray[np.integer[Any]]],
        n_words: NDArray[np.number[Any]],
        words: AncestorWords | None = None,
    ) -> FloatArray:
        """Predict the probability of content for each block of one page.

        Parameters
        ----------
        matrix
            (n, f) numbers, all blocks of the page; zero blocks are allowed. NaN counts as 0.
        groups
            (n,) group number of each block, for each grouping of training, in order.
        n_words
            (n,) words of each block's text. Negative numbers and NaN count as 0.
        words
            Ancestor words of the blocks, if :attr:`reads_words`.

        Returns
        -------
        NDArray[np.float32]
            (n,) in [0, 1].

        Raises
        ------
        UsageError
            The number of columns or groupings differs from training, or ancestor words are missing.

        Examples
        --------
        >>> one, none = np.ones((1, 1, 1), np.float32), np.zeros((0, 0), np.float32)
        >>> mlp = MLP(one[0, 0] - 1, one[0, 0], one[0], one[0, 0], none, np.zeros((1, 0, 1), np.float32), one,
        ...           np.zeros((1, 2, 1), np.float32), one, one - 1, one, one - 3)
        >>> scores = mlp.predict(np.array([[0], [1], [2]], np.float32), [np.array([0, 1, 1])], np.ones(3))
        >>> (100 * scores).round().tolist()
        [50.0, 83.0, 88.0]
        """
        if matrix.shape[1] != len(self.center) or len(groups) != self.n_groupings:
            raise UsageError(
                f"the MLP takes {len(self.center)} columns and {self.n_groupings} groupings, "
                f"not {matrix.shape[1]} and {len(groups)}"
            )
        if not len(matrix):
            return np.zeros(0, dtype=np.float32)
        if self.reads_words and words is None:
            raise UsageError("the MLP needs the ancestor words of each block")
        columns = np.ascontiguousarray(matrix.T, dtype=np.float32)
        amounts = np.ascontiguousarray(n_words, dtype=np.float64)
        words = NO_WORDS if words is None else words
        if _kernel.compiled is None:
            odds = quantized_log_odds(self.quantized, partial(self._exact_inputs, columns), groups, amounts, words)
            return sigmoid(odds.astype(np.float64))
        probabilities = np.empty(len(matrix), dtype=np.float32)
        arrays: _kernel.Arrays = {
            "columns": columns,
            "starts": np.ascontiguousarray(words.starts, dtype=np.int64),
            "hashed_words": np.ascontiguousarray(words.hashed_words, dtype=np.int32),
            "bag": np.ascontiguousarray(words.bag, dtype=np.int64),
            "groups": np.array(groups, dtype=np.int64),
            "n_words": amounts,
            "probabilities": probabilities,
        }
        _kernel.compiled.mlp_probabilities(self._packed, arrays)
        return probabilities

    def _exact_inputs(self, columns: FloatArray, rows: slice) -> FloatArray:
        """Compute inputs of the first layer (r, f) of r rows of columns (f, n), with the compiled code's logarithms."""
        values = columns[:, rows].T
        values = np.where(np.isnan(values), np.float32(0), values)
        return self._standardised(np.copysign(_logarithms(np.abs(values) + np.float32(1)), values))

    @cached_property
    def _packed(self) -> PackedMLP:
        """Copy for the compiled code, which must be available."""
        arrays = {name: np.ascontiguousarray(array) for name, array in self._quantized()._asdict().items()}
        return cast("_kernel.Compiled", _kernel.compiled).pack_mlp(arrays)

    @cached_property
    def quantized(self) -> QuantizedMLP:
        """The MLP with int16 weights, which is used for prediction."""
        return self._quantized()

    def _quantized(self) -> QuantizedMLP:
        return quantize({name: array.astype(np.float32, copy=False) for name, array in self.__getstate__().items()})

    def calibrated(self, slope: float, offset: float) -> MLP:
        """Return an MLP whose log odds are ``slope`` times these plus ``offset``."""
        bias = self.output_bias * np.float32(slope) + np.float32(offset)
        return replace(self, output_weights=self.output_weights * np.float32(slope), output_bias=bias).rounded()

    def rounded(self) -> MLP:
        """Return the MLP with weights in half precision, as a model file holds them."""
        return self.from_arrays(self.to_arrays(), len(self.center))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays by name, weights in half precision."""
        return {name: array.astype(_dtype(name)) for name, array in self.__getstate__().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> MLP:
        """Build an MLP from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for item in fields(cls):
            if item.name not in arrays:
                raise ModelFormatError(f"an MLP lacks the array {item.name!r}")
            if arrays[item.name].dtype != _dtype(item.name):
                expected = _dtype(item.name)
                raise ModelFormatError(f"the MLP's array {item.name!r} must be of type {expected}")
        if sum(arrays[item.name].size for item in fields(cls)) > _MAX_PARAMETERS:
            raise ModelFormatError(f"an MLP must have at most {_MAX_PARAMETERS} parameters")
        mlp = cls(**{item.name: arrays[item.name].astype(np.float32) for item in fields(cls)})
        mlp.check(n_columns)
        return mlp

    def check(self, n_features: int) -> None:
        """Check that prediction on matrices of ``n_features`` columns can't fail and gives finite numbers.

        Raises
        ------
        ModelFormatError
            A rule is broken; the message names it.
        """
        arrays = self.__getstate__()
        if self.input_v.ndim != 2:
            raise ModelFormatError("the second factor of an MLP must have two dimensions")
        layers = (self.self_weights, self.group_weights, self.word_projection)
        if any(array.ndim != 3 for array in layers) or not self.self_weights.size:
            raise ModelFormatError("weights of the hidden layer of an MLP must have three dimensions")
        (m, h, k), d, f, r = self.self_weights.shape, self.word_projection.shape[1], n_features, len(self.input_v)
        wanted = {
            "center": (f,), "scale": (f,), "input_u": (f, r or m * h), "input_v": (r, m * h if r else 0),
            "input_bias": (m * h,),
            "word_vectors": (N_HASHED_WORDS if d else 0, m * d), "word_projection": (m, d, h),
            "page_weights": (m, 2 * h, k), "group_weights": (m, self.n_groupings * h, k),
            "hidden_bias": (m, 1, k), "output_weights": (m, k, 1),
            "output_bias": (m, 1, 1),
        }  # fmt: skip
        for name, shape in wanted.items():
            if arrays[name].shape != shape:
                raise ModelFormatError(f"the MLP's array {name!r} has the shape {arrays[name].shape}, not {shape}")
        if not f or self.n_groupings > _MAX_GROUPINGS or max(m, h, k, d, r) > _MAX_UNITS:
            raise ModelFormatError(
                f"an MLP must have columns, at most {_MAX_GROUPINGS} groupings, and at most {_MAX_UNITS} networks, "
                "units, factors and components of word vectors"
            )
        if max(f, (3 + self.n_groupings) * h) > MAX_TERMS:
            raise ModelFormatError(f"a unit of an MLP must have at most {MAX_TERMS} inputs")
        if sum(array.size for array in arrays.values()) > _MAX_PARAMETERS:
            raise ModelFormatError(f"an MLP must have at most {_MAX_PARAMETERS} parameters")
        if not all((np.abs(array) <= _MAX_WEIGHT).all() for array in arrays.values()) or (self.scale < 0).any():
            raise ModelFormatError(
                f"parameters of an MLP must be finite and within ± {_MAX_WEIGHT:.0f}, its scale not negative"
            )


def _dtype(name: str) -> np.dtype[Any]:
    """Return the type of an array in model files."""
    return np.dtype(np.float32 if name in _SINGLE_PRECISION else np.float16)


def join_mlps(mlps: Sequence[MLP]) -> MLP:
    """Join MLPs with equal inputs and sizes: the log odds of the result are the mean of theirs.

    Raises
    ------
    UsageError
        No MLPs, different inputs or sizes, or an input layer in two factors.
    """
    if not mlps:
        raise UsageError("join_mlps needs at least one MLP")
    first, *others = mlps
    inner = ("self_weights", "group_weights", "word_projection")
    for other in others:
        same_inputs = all(np.array_equal(getattr(first, name), getattr(other, name)) for name in _SINGLE_PRECISION)
        same_sizes = all(getattr(first, name).shape[1:] == getattr(other, name).shape[1:] for name in inner)
        if not same_inputs or not same_sizes or len(first.input_v) or len(other.input_v):
            raise UsageError("MLPs can only be joined if their inputs and sizes are equal and they have no factors")
    names = [item.name for item in fields(MLP) if item.name not in _SINGLE_PRECISION]
    last_axis = ("input_u", "word_vectors")
    joined = {name: np.concatenate([getattr(m, name) for m in mlps], axis=int(name in last_axis)) for name in names}
    return replace(first, **joined)
