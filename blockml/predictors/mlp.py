"""Small MLPs over all blocks of a page, with float or int16-quantised weights.

There are two hidden layers. The second one also reads means of the first one's units: over the page's blocks, over
its words, and over blocks of the same group. So an MLP scores a block in the context of its page and list, which
trees over single rows can't (Zaheer et al. 2017, *Deep Sets*).

Integer sums do not depend on their order, so they are equal on every machine, with any library and any number of
threads; and processors multiply twice as many int16 as floats at once. Weights are rounded as finely as possible while
every sum fits into 32 bits, for any page (compare Jacob et al. 2018, *Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference*, with 8 bits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.protocol import PackedMLP
from blockml.errors import ModelFormatError, UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.features.page_context import factorize
from blockml.features.page_matrix import PageMatrix
from blockml.page.lazy import cached_property
from blockml.predictors.base import log_odds, sigmoid

__all__ = [
    "BOUND",
    "MAX_TERMS",
    "MLP",
    "NO_WORDS",
    "FloatArray",
    "QuantizedMLP",
    "join_mlps",
    "quantize",
    "quantize_weights",
    "quantized_log_odds",
    "signed_logarithms",
]


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


FloatArray = NDArray[np.float32]
Int16 = NDArray[np.int16]

#: Standardised columns are clipped to ± this, so that no outlier dominates the sums (our choice).
BOUND = 4
#: The largest int16.
LARGEST = 2**15 - 1
#: Steps per unit of standardised columns. Finer steps leave fewer of a sum's 32 bits to the weights: of 2 ** 9 … 2 **
#: 13, this value came closest to floats.
INPUT_STEPS = 2**10
#: Steps per unit of activations, which are below 32; those of ``default`` reach 8 on WCXB.
UNIT_STEPS = 2**10
#: Bits by which sums of the first factor of an input layer are shifted to fit int16.
_SHIFT = 16
#: Bound of sums, with room for rounding by half a step of :data:`_SHIFT`.
_MAX_SUM = 2**31 - 2**_SHIFT
#: Maximum number of products per sum: their rounding errors must stay inside 32 bits, which twice as many would exceed.
MAX_TERMS = 2**15
#: Rows of a batch, and units of a layer that are averaged at once: both bound the memory of intermediate results.
_BATCH, _UNITS = 256, 16
#: Maximum number of words in a bag, whose vectors are summed in 32 bits.
_MAX_BAG_WORDS = 2**16


class QuantizedMLP(NamedTuple):
    """Quantised arrays of :class:`blockml.predictors.mlp.MLP`, with the same shapes and meanings."""

    center: FloatArray
    scale: FloatArray
    input_u: Int16
    input_v: Int16
    input_scale: FloatArray  #: (m · h,) value of one step of the sums of input columns.
    input_bias: FloatArray
    word_vectors: Int16
    known_words: NDArray[np.uint8]  #: (n_words,) 1 for non-zero vectors.
    word_projection: Int16
    word_scale: FloatArray  #: (m · h,) value of one step of the sums of word vectors.
    self_weights: Int16
    page_weights: Int16
    group_weights: Int16
    hidden_scale: FloatArray  #: (m, 1, k) value of one step of the sums of the hidden layer.
    hidden_bias: FloatArray
    output_weights: Int16
    output_scale: FloatArray  #: (m, 1, 1) value of one step of the sums of the output.
    output_bias: FloatArray


def quantize_weights(weights: NDArray[Any], bound: int) -> tuple[Int16, NDArray[np.float64]]:
    """Quantize weights to int16, with a power of two as the scale of each column.

    Parameters
    ----------
    weights
        (…, terms, k) values of half precision, so that their sums are exact and equal on every machine. At most
        :data:`MAX_TERMS` terms.
    bound
        Bound of the integers they are multiplied by.

    Returns
    -------
    weights, scale
        Integers (…, terms, k), and the value of one step (…, 1, k). No sum of products exceeds 32 bits.

    Examples
    --------
    >>> weights, scale = quantize_weights(np.array([[1.0], [-0.25]]), LARGEST)
    >>> weights.tolist(), (weights * scale).tolist()
    ([[16384], [-4096]], [[1.0], [-0.25]])
    """
    exact = weights.astype(np.float64)
    terms = exact.shape[-2]
    total = np.abs(exact).sum(axis=-2, keepdims=True)
    largest = np.abs(exact).max(axis=-2, keepdims=True, initial=0)
    # Rounding adds at most half a step to each term.
    room = np.minimum((_MAX_SUM / bound - terms) / np.maximum(total, 1e-30), (LARGEST - 1) / np.maximum(largest, 1e-30))
    scale = np.ldexp(1.0, -(np.frexp(room)[1] - 1).clip(-60, 60))
    return np.rint(exact / scale).astype(np.int16), scale


def quantize(arrays: Mapping[str, FloatArray]) -> QuantizedMLP:
    """Quantize the arrays of a :class:`blockml.predictors.mlp.MLP`, given by name."""
    self_weights, word_vectors, word_projection = (
        arrays[name] for name in ("self_weights", "word_vectors", "word_projection")
    )
    units = self_weights.shape[1]
    input_u, input_scale = quantize_weights(arrays["input_u"], BOUND * INPUT_STEPS)
    input_scale = input_scale[0] / INPUT_STEPS
    input_v = arrays["input_v"].astype(np.int16)
    if len(input_v):
        factor_scale = (input_scale * 2**_SHIFT)[:, None]
        input_v, input_scale = quantize_weights(arrays["input_v"] * factor_scale, LARGEST + 1)
    # Word vectors use the full range of int16 in each network; their means can't exceed it.
    members, size = word_projection.shape[:2]
    largest = np.abs(word_vectors).reshape(len(word_vectors), members, size).max(axis=(0, 2), initial=2.0**-40)
    vector_scale = np.ldexp(1.0, np.frexp(largest)[1] - 15)
    projection, word_scale = quantize_weights(word_projection * vector_scale[:, None, None], LARGEST)
    words = word_vectors / vector_scale.repeat(size).astype(np.float32)  # exact, because these are powers of two
    np.clip(np.rint(words, out=words), -LARGEST, LARGEST, out=words)
    hidden = np.concatenate([self_weights, arrays["page_weights"], arrays["group_weights"]], axis=1)
    hidden_weights, hidden_scale = quantize_weights(hidden / np.float32(UNIT_STEPS), LARGEST)
    output_weights, output_scale = quantize_weights(arrays["output_weights"] / np.float32(UNIT_STEPS), LARGEST)
    return QuantizedMLP(
        center=arrays["center"],
        scale=arrays["scale"],
        input_u=input_u,
        input_v=input_v,
        input_scale=input_scale.astype(np.float32).ravel(),
        input_bias=arrays["input_bias"],
        word_vectors=words.astype(np.int16),
        known_words=(word_vectors != 0).any(axis=1).astype(np.uint8),
        word_projection=projection,
        word_scale=word_scale.astype(np.float32).ravel(),
        self_weights=np.ascontiguousarray(hidden_weights[:, :units]),
        page_weights=np.ascontiguousarray(hidden_weights[:, units : 3 * units]),
        group_weights=np.ascontiguousarray(hidden_weights[:, 3 * units :]),
        hidden_scale=hidden_scale.astype(np.float32),
        hidden_bias=arrays["hidden_bias"],
        output_weights=output_weights,
        output_scale=output_scale.astype(np.float32),
        output_bias=arrays["output_bias"],
    )


def quantized_log_odds(
    mlp: QuantizedMLP,
    inputs: Callable[[slice], FloatArray],
    groups: Sequence[NDArray[np.integer[Any]]],
    n_words: NDArray[np.float64],
    words: AncestorWords,
) -> FloatArray:
    """Predict the log odds of the blocks of one page: the reference implementation of the compiled code.

    Integers are held in double precision, which represents all of them and their sums exactly.

    Parameters
    ----------
    mlp
        The quantised MLP.
    inputs
        Function that returns the standardised columns (r, f) of r of the n blocks; n is at least 1. Standardising all
        at once would take as much memory as the page's matrix.
    groups, n_words, words
        See :meth:`blockml.predictors.mlp.MLP.predict`.

    Returns
    -------
    NDArray[np.float32]
        (n,).

    Raises
    ------
    UsageError
        A bag has too many words.
    """
    members = len(mlp.self_weights)
    weights = np.rint(np.fmin(np.fmax(n_words, 0), 2**31 - 1))
    hidden = _input_layer(mlp, inputs, len(n_words), words)
    grouped = [factorize(numbers.astype(np.uint64)) for numbers in groups]
    log_odds = np.zeros((members, len(n_words)), dtype=np.float32)
    for member in range(members):  # one at a time, because their sums take more memory than the page
        sums = _hidden_sums(mlp, member, hidden[member], weights, grouped)
        scale, bias = mlp.hidden_scale[member], mlp.hidden_bias[member]
        for rows in _batches(len(sums)):
            last = _activation(sums[rows].astype(np.float32) * scale + bias)
            outputs = _product(last, mlp.output_weights[member])[:, 0].astype(np.float32)
            log_odds[member, rows] = outputs * mlp.output_scale[member, 0] + mlp.output_bias[member, 0]
    mean: FloatArray = np.cumsum(log_odds, axis=0)[-1] / np.float32(members)
    return mean


def _batches(n: int) -> list[slice]:
    """Return slices of at most :data:`_BATCH` of ``n`` rows, which bound the memory of intermediate results."""
    return [slice(start, start + _BATCH) for start in range(0, n, _BATCH)]


def _hidden_sums(
    mlp: QuantizedMLP,
    member: int,
    hidden: Int16,
    weights: NDArray[np.float64],
    grouped: Sequence[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]],
) -> NDArray[np.int32]:
    """Compute the sums of the hidden layer (n, k) of one network from the units of its input layer (n, h)."""
    units = hidden.shape[1]
    # Means over the page's blocks and over its words.
    totals = np.zeros(units)
    for rows in _batches(len(hidden)):
        totals += (hidden[rows].astype(np.float64) * weights[rows, None]).sum(axis=0)
    over_words = totals / max(float(weights.sum()), 1.0)
    page = np.rint(np.concatenate([hidden.mean(axis=0, dtype=np.float64), over_words]))[None]
    sums = _products(hidden, mlp.self_weights[member])
    sums += _products(page, mlp.page_weights[member])
    for number, (order, starts, group) in enumerate(grouped):
        sizes = np.diff(np.append(starts, len(order)))
        means = np.empty((len(starts), units), dtype=np.float32)
        for part in range(0, units, _UNITS):
            columns = slice(part, part + _UNITS)
            totals = np.add.reduceat(hidden[order, columns].astype(np.float64), starts, axis=0)
            means[:, columns] = _means(totals, sizes[:, None])
        contribution = _products(means, mlp.group_weights[member, number * units : (number + 1) * units])
        for rows in _batches(len(sums)):
            sums[rows] += contribution[group[rows]]
    return sums


def _input_layer(mlp: QuantizedMLP, inputs: Callable[[slice], FloatArray], n: int, words: AncestorWords) -> Int16:
    """Compute the units of the input layer, (m, n, h)."""
    members, units = mlp.self_weights.shape[:2]
    of_words = _word_sums(mlp, words) if len(mlp.word_vectors) else None
    hidden = np.empty((members, n, units), dtype=np.int16)
    for rows in _batches(n):
        sums = _product(np.rint(inputs(rows) * np.float32(INPUT_STEPS)).astype(np.float64), mlp.input_u)
        if len(mlp.input_v):
            sums = _product(np.floor((sums + 2 ** (_SHIFT - 1)) / 2**_SHIFT), mlp.input_v)
        values = sums.astype(np.float32) * mlp.input_scale + mlp.input_bias
        if of_words is not None:
            values += of_words[words.bag[rows]]
        hidden[:, rows] = _activation(values).reshape(len(values), members, units).swapaxes(0, 1)
    return hidden


def _word_sums(mlp: QuantizedMLP, words: AncestorWords) -> FloatArray:
    """Compute the contribution of each bag of words to the input layer, (n_bags, m · h)."""
    sizes, ends = np.diff(words.starts), words.starts[1:]
    if (sizes > _MAX_BAG_WORDS).any():
        raise UsageError(f"a block must have at most {_MAX_BAG_WORDS} ancestor words")
    contribution = np.empty((len(sizes), len(mlp.word_scale)), dtype=np.float32)
    for bags in _batches(len(sizes)):
        hashed_words = words.hashed_words[words.starts[bags.start] : ends[bags][-1]]
        vectors = np.concatenate([mlp.word_vectors[hashed_words], mlp.known_words[hashed_words, None]], axis=1)
        before = np.zeros((len(vectors) + 1, vectors.shape[1]))
        np.cumsum(vectors, axis=0, out=before[1:])
        last = ends[bags] - words.starts[bags.start]
        sums = before[last] - before[last - sizes[bags]]
        means = _means(sums[:, :-1], np.maximum(sums[:, -1:], 1)).reshape(len(last), len(mlp.word_projection), -1)
        projected = _product(means.swapaxes(0, 1), mlp.word_projection).swapaxes(0, 1).reshape(len(last), -1)
        contribution[bags] = projected.astype(np.float32) * mlp.word_scale
    return contribution


def _product(rows: NDArray[np.float64], weights: Int16) -> NDArray[np.float64]:
    """Multiply rows (…, n, f) with weights (…, f, k)."""
    # Uses numpy's own loops, because the libraries behind its matrix product would start threads.
    product: NDArray[np.float64] = np.einsum("...nf,...fk->...nk", rows, weights.astype(np.float64))
    return product


def _products(rows: NDArray[np.number[Any]], weights: Int16) -> NDArray[np.int32]:
    """Multiply rows (n, f) of integers with weights (f, k); no sum exceeds 32 bits."""
    product = np.empty((len(rows), weights.shape[1]), dtype=np.int32)
    for batch in _batches(len(rows)):
        product[batch] = _product(rows[batch].astype(np.float64), weights)
    return product


def _means(sums: NDArray[np.float64], counts: NDArray[np.number[Any]]) -> NDArray[np.float64]:
    """Divide in single precision, and round to integers."""
    return np.rint(sums.astype(np.float32) / counts.astype(np.float32)).astype(np.float64)


def _activation(values: FloatArray) -> NDArray[np.float64]:
    """Clip to [0, LARGEST / UNIT_STEPS] (a bounded ReLU), and round to steps."""
    bounded = np.minimum(np.maximum(values, 0), np.float32(LARGEST / UNIT_STEPS))
    return np.rint(bounded * np.float32(UNIT_STEPS)).astype(np.float64)
