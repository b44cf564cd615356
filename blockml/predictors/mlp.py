"""Small neural nets over all blocks of a page: prediction.

Each block passes two layers. Between them it meets the others: the second layer also sees the mean of the first one
over the whole page, over the page's words, and over the blocks that are built alike. So a net judges a block by what
kind of page and what kind of list it is in, as trees that see one row at a time can't (Zaheer et al. 2017, *Deep
Sets*, on layers that see the mean of a set).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.predictors import PackedMLP
from blockml.errors import ModelFormatError, UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.features.page_matrix import PageMatrix
from blockml.predictors.log_odds import log_odds, sigmoid
from blockml.predictors.quantized_mlp import BOUND, MOST_TERMS, QuantizedMLP, quantize, quantized_log_odds

__all__ = ["MLP", "join", "signed_logarithms"]

FloatArray = NDArray[np.float32]

NO_BAGS = AncestorWords(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
#: Bounds of what a damaged or hostile file can make us do; real nets are far from them.
_MOST_NUMBERS, _LARGEST = 20_000_000, 1e6
_MOST_WAYS, _MOST_UNITS = 8, 2**14  # and what the kernel takes at most
#: Arrays that files hold as they are. The others are weights, which nets hold rounded to half precision, so that a net
#: that was saved and read is the same.
_EXACT: Mapping[str, type[np.generic]] = {"center": np.float32, "scale": np.float32}


def signed_logarithms(matrix: FloatArray) -> FloatArray:
    """sign(x) · log(1 + abs(x)) of each value: amounts of all sizes get comparable, shares hardly change."""
    values = np.abs(matrix)
    values += np.float32(1)
    np.log(values, out=values)
    return np.copysign(values, matrix, out=values)


#: About the root of a half, as the bits of a float; and how many bits are behind its exponent.
_ROOT, _MANTISSA = 0x3F3504F3, 23


def _logarithms(x: FloatArray) -> FloatArray:
    """Natural logarithms of numbers from 1, the same on every machine, as the kernel makes them.

    Training takes numpy's own, which are faster and may differ in the last bit.
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
    """One or more nets with the same inputs, whose log odds are averaged. Arrays stay as they are once they are used.

    ``m`` is their number, ``f`` columns go in, each word has ``d`` numbers, and the layers have ``h`` and ``k`` units.
    """

    kind: ClassVar[str] = "mlp"
    center: FloatArray
    """(f,) what is taken off the signed logarithm of each column."""
    scale: FloatArray
    """(f,) what it is then multiplied with, from 0; 0 for columns that aren't used."""
    input_u: FloatArray
    """(f, m · h) weights of the first layer; (f, r) where :attr:`input_v` goes on with what comes out."""
    input_bias: FloatArray
    """(m · h,)."""
    word_vectors: FloatArray
    """(:data:`~blockml.features.ancestor_words.N_HASHED_WORDS`, m · d) a vector for each word, 0 for words that
    training didn't see often enough; of shape (0, 0) for nets that see no words."""
    word_projection: FloatArray
    """(m, d, h) weights of the first layer for the mean vector of a block's words."""
    self_weights: FloatArray
    """(m, h, k) weights of the second layer for the block itself."""
    page_weights: FloatArray
    """(m, 2 · h, k) for the means over the page's blocks and over its words."""
    group_weights: FloatArray
    """(m, ways · h, k) for the means over blocks that are alike, in one or more ways."""
    hidden_bias: FloatArray
    """(m, 1, k)."""
    output_weights: FloatArray
    """(m, k, 1) weights of the log odds."""
    output_bias: FloatArray
    """(m, 1, 1)."""
    input_v: FloatArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    """(r, m · h) a second factor of the first layer's weights; (0, 0) where there is none. Units of the first layer are
    much alike, of one net and of several: with fewer numbers between, there is less to multiply."""

    @property
    def n_groupings(self) -> int:
        """Number of ways to be alike."""
        return int(self.group_weights.shape[1] // self.self_weights.shape[1])

    @property
    def reads_words(self) -> bool:
        """Whether it sees words of tags and classes."""
        return len(self.word_vectors) > 0

    def __getstate__(self) -> dict[str, FloatArray]:
        """What is pickled: the arrays, not what was made of them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def scaled(self, matrix: FloatArray) -> FloatArray:
        """(n, f) columns as the first layer takes them: signed logarithms, standardised, bounded."""
        return self._standardised(signed_logarithms(matrix))

    def _standardised(self, logarithms: FloatArray) -> FloatArray:
        """The same of signed logarithms (n, f), in place."""
        logarithms -= self.center
        logarithms *= self.scale
        return np.clip(logarithms, -BOUND, BOUND, out=logarithms)

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Predict log odds of content, (n_blocks,), within those of the probabilities 1e-6 and 1 - 1e-6."""
        return log_odds(self.probabilities(page))

    def probabilities(self, page: PageMatrix) -> FloatArray:
        """Predict the probability of content for each block, (n_blocks,)."""
        words = page.ancestor_words if self.reads_words and len(page.values) else None
        return self.predict(page.values, page.block_groups, page.words, words)

    def predict(
        self,
        matrix: FloatArray,
        groups: Sequence[NDArray[np.integer[Any]]],
        n_words: NDArray[np.number[Any]],
        bags: AncestorWords | None = None,
    ) -> FloatArray:
        """Probability of content for each block of one page.

        Parameters
        ----------
        matrix
            (n, f) finite numbers, all blocks of the page. No blocks are allowed.
        groups
            For each way to be alike that the net was trained with, in the same order: (n,) number of each block's
            group.
        n_words
            (n,) words of each block's text, from 0.
        bags
            Words of tags and classes above each block, see :mod:`blockml.features.ancestor_words`; a net that was
            trained without them needs none.

        Returns
        -------
        NDArray[np.float32]
            (n,) in [0, 1].

        Raises
        ------
        UsageError
            The matrix has other columns, there are other ways to be alike than in training, or bags are missing.

        Examples
        --------
        >>> one, none = np.ones((1, 1, 1), np.float32), np.zeros((0, 0), np.float32)
        >>> net = MLP(one[0, 0] - 1, one[0, 0], one[0], one[0, 0], none, np.zeros((1, 0, 1), np.float32), one,
        ...           np.zeros((1, 2, 1), np.float32), one, one - 1, one, one - 3)
        >>> scores = net.predict(np.array([[0], [1], [2]], np.float32), [np.array([0, 1, 1])], np.ones(3))
        >>> (100 * scores).round().tolist()
        [50.0, 83.0, 88.0]
        """
        self.check_input(matrix, len(groups))
        if not len(matrix):
            return np.zeros(0, dtype=np.float32)
        if self.reads_words and bags is None:
            raise UsageError("the net needs the words of tags and classes above each block")
        columns = np.ascontiguousarray(matrix.T, dtype=np.float32)
        amounts = np.ascontiguousarray(n_words, dtype=np.float64)
        numbers = tuple([np.ascontiguousarray(group, dtype=np.int64) for group in groups])
        here = columns, numbers, amounts, NO_BAGS if bags is None else bags
        if _kernel.compiled is not None:
            return self._compiled(_kernel.compiled, *here)
        rows = self._standardised(np.copysign(_logarithms(np.abs(columns.T) + np.float32(1)), columns.T))
        return sigmoid(quantized_log_odds(self._whole, rows, *here[1:]).astype(np.float64))

    def check_input(self, matrix: FloatArray, n_ways: int) -> None:
        """Check that a matrix has the columns that the net takes, and so many ways to be alike are those it knows.

        Raises
        ------
        UsageError
            It has others, or there are others.
        """
        if matrix.shape[1] != len(self.center) or n_ways != self.n_groupings:
            raise UsageError(
                f"the net takes {len(self.center)} columns and {self.n_groupings} ways to be alike, "
                f"not {matrix.shape[1]} and {n_ways}"
            )

    def _compiled(
        self,
        compiled: _kernel.Compiled,
        columns: FloatArray,
        groups: tuple[NDArray[np.int64], ...],
        n_words: NDArray[np.float64],
        bags: AncestorWords,
    ) -> FloatArray:
        """(n,) probabilities by the compiled kernel."""
        starts, bag = (np.ascontiguousarray(numbers, dtype=np.int64) for numbers in (bags.starts, bags.bag))
        words = starts, np.ascontiguousarray(bags.hashed_words, dtype=np.int32), bag
        probabilities = np.empty(columns.shape[1], dtype=np.float32)
        compiled.mlp_probabilities(self.held, columns, *words, groups, n_words, probabilities)
        return probabilities

    @cached_property
    def held(self) -> PackedMLP:
        """The net as the compiled kernel takes it; asked for only where there is one."""
        (m, h, k), d = self.self_weights.shape, self.word_projection.shape[1]
        sizes = len(self.center), m, h, k, d, self.n_groupings, len(self.word_vectors), len(self.input_v)
        arrays = tuple([np.ascontiguousarray(array) for array in self._whole])
        return cast("_kernel.Compiled", _kernel.compiled).pack_mlp(sizes, arrays)

    @cached_property
    def _whole(self) -> QuantizedMLP:
        return quantize(**{item.name: getattr(self, item.name).astype(np.float32) for item in fields(self)})

    def calibrated(self, slope: float, offset: float) -> MLP:
        """The net whose log odds are these times ``slope`` plus ``offset``."""
        bias = self.output_bias * np.float32(slope) + np.float32(offset)
        return replace(self, output_weights=self.output_weights * np.float32(slope), output_bias=bias).rounded()

    def rounded(self) -> MLP:
        """Return the MLP with weights in half precision, as a model file holds them."""
        return self._of_arrays(self.to_arrays())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name as files hold them, weights in half precision."""
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: array.astype(_EXACT.get(name, np.float16)) for name, array in held.items()}

    @classmethod
    def _of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> MLP:
        """Make an MLP of arrays of the right types, whose shapes and values are still to be checked."""
        held: dict[str, NDArray[Any]] = {}
        for item in fields(cls):
            kind = np.dtype(_EXACT.get(item.name, np.float16))
            if item.name not in arrays:
                raise ModelFormatError(f"an MLP lacks the array {item.name!r}")
            if arrays[item.name].dtype != kind:
                raise ModelFormatError(f"the MLP's array {item.name!r} has the wrong type, {kind} was expected")
            held[item.name] = arrays[item.name].astype(np.float32)
        return cls(**held)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> MLP:
        """Make an MLP of the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        net = cls._of_arrays(arrays)
        net.check(n_columns)
        return net

    def check(self, n_features: int) -> None:
        """Check that prediction can't fail, and gives numbers.

        Parameters
        ----------
        n_features
            Number of columns of the matrices it will see.

        Raises
        ------
        ModelFormatError
            It says which rule is broken.
        """
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.input_v.ndim != 2:
            raise ModelFormatError("a net's factors have two dimensions")
        three = (self.self_weights, self.group_weights, self.word_projection)
        if any(array.ndim != 3 for array in three) or not self.self_weights.size:
            raise ModelFormatError("a net's second layer has weights of three dimensions")
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
            if held[name].shape != shape:
                raise ModelFormatError(f"the net's array {name!r} has the shape {held[name].shape}, not {shape}")
        if not f or self.n_groupings > _MOST_WAYS or max(m, h, k, d, r) > _MOST_UNITS:
            raise ModelFormatError(
                f"a net has columns, at most {_MOST_WAYS} ways to be alike, and at most {_MOST_UNITS} of anything else"
            )
        if max(f, (3 + self.n_groupings) * h) > MOST_TERMS:
            raise ModelFormatError(f"a unit of a net adds up {MOST_TERMS} numbers at most")
        if sum(array.size for array in held.values()) > _MOST_NUMBERS:
            raise ModelFormatError(f"a net has at most {_MOST_NUMBERS} numbers")
        if not all((np.abs(array) <= _LARGEST).all() for array in held.values()) or (self.scale < 0).any():
            raise ModelFormatError(
                f"the net's numbers must be finite, ± {_LARGEST:.0f} at most, its scale not negative"
            )


def join(nets: Sequence[MLP]) -> MLP:
    """One net of several that take the same inputs alike; its log odds are the mean of theirs.

    Raises
    ------
    UsageError
        There is none, or they differ in their inputs or sizes.
    """
    if not nets:
        raise UsageError("there is no net to join")
    first, *others = nets
    for other in others:
        same = all(np.array_equal(getattr(first, name), getattr(other, name)) for name in _EXACT)
        sizes = [
            tuple(array.shape[1:] for array in (net.self_weights, net.group_weights, net.word_projection))
            for net in (first, other)
        ]
        if not same or sizes[0] != sizes[1] or len(first.input_v) or len(other.input_v):
            raise UsageError(
                "only nets without factors that take the same inputs, and have the same sizes, can be joined"
            )
    names = [item.name for item in fields(MLP) if item.name not in _EXACT]
    side_by_side = ("input_u", "word_vectors")
    return replace(
        first,
        **{
            name: np.concatenate([getattr(net, name) for net in nets], axis=int(name in side_by_side)) for name in names
        },
    )
