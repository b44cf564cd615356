"""Small neural nets over all blocks of a page: prediction with numpy alone.

Each block passes two layers. Between them it meets the others: the second layer also sees the mean of the first one
over the whole page, over the page's words, and over the blocks that are built alike. So a net judges a block by what
kind of page and what kind of list it is in, as trees that see one row at a time can't (Zaheer et al. 2017, *Deep
Sets*, on layers that see the mean of a set).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.errors import ModelFormatError, UsageError
from blockml.features.tokens import BUCKETS, Bags
from blockml.pools import group_means, means

__all__ = ["Net", "join", "signed_logarithms"]

FloatArray = NDArray[np.float32]

#: Standardised columns are held between ± this: a page unlike all of training must not drown the rest (our choice).
_BOUND = 4.0
#: Columns of weights that one row is multiplied with at once: too few for threads (OpenBLAS shares products of a row
#: from 9,216 weights on).
_FEW = 16
_NOTHING = np.zeros((0, 0), dtype=np.float32)
#: Bounds of what a damaged or hostile file can make us do; real nets are far from them.
_MOST_NUMBERS, _LARGEST = 20_000_000, 1e6
#: Arrays that files hold as they are. The others are weights, which nets hold rounded to half precision, so that a net
#: that was saved and read is the same.
_EXACT: Mapping[str, type[np.generic]] = {"centre": np.float32, "scale": np.float32}


def signed_logarithms(matrix: FloatArray) -> FloatArray:
    """sign(x) · log(1 + abs(x)) of each value: amounts of all sizes get comparable, shares hardly change."""
    values = np.abs(matrix)
    values += np.float32(1)
    np.log(values, out=values)
    return np.copysign(values, matrix, out=values)


def _row_product(row: FloatArray, weights: FloatArray) -> FloatArray:
    """(1, k) product of one row (1, f) with weights (f, k), the same whatever threads there are.

    Of a larger one OpenBLAS may share out the terms of each sum among threads, and so round it otherwise.
    """
    width = weights.shape[1]
    whole = width - width % _FEW
    parts = weights[:, :whole].reshape(len(weights), -1, _FEW).swapaxes(0, 1)
    product: FloatArray = (row @ parts).reshape(1, whole)
    return product if whole == width else np.concatenate([product, row @ weights[:, whole:]], axis=1)


def _active(
    product: FloatArray, page: FloatArray, *groups: tuple[FloatArray, NDArray[np.int64]], means: FloatArray = _NOTHING
) -> FloatArray:
    """What a layer gives (m, n, h): its product, the page's row (m, 1, h) and the row of each group, cut off at 0.

    Groups are (m, n_groups, h), and the group (n,) of each block. ``means`` (m, h) get the means over all blocks.
    """
    if kernel.compiled is not None and product.dtype == np.float32:
        parts = tuple([(np.ascontiguousarray(rows), np.ascontiguousarray(of, np.int64)) for rows, of in groups])
        # A single unit numpy adds up pairwise.
        at_once = means if product.shape[2] > 1 else _NOTHING
        kernel.compiled.activate(page, parts, len(product), product, at_once)
        if means is not at_once:
            product.mean(axis=1, out=means)
        return product
    product += page
    for rows, group in groups:
        product += rows.take(group, axis=1)
    np.maximum(product, 0, out=product)
    if len(means):
        product.mean(axis=1, out=means)
    return product


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """One or more nets with the same inputs, whose log odds are averaged.

    ``m`` is their number, ``f`` columns go in, each word has ``d`` numbers, and the layers have ``h`` and ``k`` units.
    """

    centre: FloatArray
    """(f,) what is taken off the signed logarithm of each column."""
    scale: FloatArray
    """(f,) what it is then multiplied with, from 0; 0 for columns that aren't used."""
    first: FloatArray
    """(f, m · h) weights of the first layer; (f, r) where :attr:`mix` goes on with what comes out."""
    first_bias: FloatArray
    """(m · h,)."""
    words: FloatArray
    """(:data:`~blockml.features.tokens.BUCKETS`, m · d) a vector for each word, 0 for words that training didn't see
    often enough; of shape (0, 0) for nets that see no words."""
    lift: FloatArray
    """(m, d, h) weights of the first layer for the mean vector of a block's words."""
    own: FloatArray
    """(m, h, k) weights of the second layer for the block itself."""
    page: FloatArray
    """(m, 2 · h, k) for the means over the page's blocks and over its words."""
    alike: FloatArray
    """(m, ways · h, k) for the means over blocks that are alike, in one or more ways."""
    second_bias: FloatArray
    """(m, 1, k)."""
    out: FloatArray
    """(m, k, 1) weights of the log odds."""
    out_bias: FloatArray
    """(m, 1, 1)."""
    mix: FloatArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    """(r, m · h) a second factor of the first layer's weights; (0, 0) where there is none. Units of the first layer are
    much alike, of one net and of several: with fewer numbers between, there is less to multiply."""

    @property
    def ways(self) -> int:
        """Number of ways to be alike."""
        return int(self.alike.shape[1] // self.own.shape[1])

    @property
    def reads_words(self) -> bool:
        """Whether it sees words of tags and classes."""
        return len(self.words) > 0

    def scaled(self, matrix: FloatArray) -> FloatArray:
        """(n, f) columns as the first layer takes them: signed logarithms, standardised, bounded."""
        return self._scaled(matrix, slice(None))

    def _scaled(self, matrix: FloatArray, columns: NDArray[np.intp] | slice) -> FloatArray:
        """The same of some columns."""
        values = signed_logarithms(matrix)
        values -= self.centre[columns]
        values *= self.scale[columns]
        return np.clip(values, -_BOUND, _BOUND, out=values)

    def _input(self, matrix: FloatArray) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
        """A page's :meth:`scaled` columns, those apart that are the same in all rows.

        As all that is said of the page as a whole is: what comes of them is worked out once.

        Returns
        -------
        constant, varying, ready
            (1, f) of all rows, 0 where they differ; (k,) places of columns where they do; (n, k) those columns.
        """
        columns = np.ascontiguousarray(matrix.T, dtype=np.float32)
        f, n = columns.shape
        if kernel.compiled is None:
            varying = np.flatnonzero((columns != columns[:, :1]).any(axis=1)).astype(np.int64, copy=False)
            constant = self.scaled(columns[:, :1].T)
            constant[:, varying] = 0
            return constant, varying, self._scaled(columns[varying].T, varying)
        places, amounts = np.empty(f, dtype=np.int64), np.empty(f * (n + 1), dtype=np.float32)
        k = kernel.compiled.net_amounts(columns, n, places, amounts)
        values = amounts[: f + k * n]
        np.log(values, out=values)
        kernel.compiled.standardise(columns, n, places[:k], self.centre, self.scale, _BOUND, values)
        return values[None, :f], places[:k], values[f:].reshape(k, n).T

    def predict(
        self,
        matrix: FloatArray,
        groups: Sequence[NDArray[np.integer[Any]]],
        n_words: NDArray[np.number[Any]],
        bags: Bags | None = None,
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
            Words of tags and classes above each block, of :func:`blockml.features.tokens.bags`; a net that was trained
            without them needs none.

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
        >>> net = Net(one[0, 0] - 1, one[0, 0], one[0], one[0, 0], none, none[None], one,
        ...           np.zeros((1, 2, 1), np.float32), one, one - 1, one, one - 3)
        >>> scores = net.predict(np.array([[0], [1], [2]], np.float32), [np.array([0, 1, 1])], np.ones(3))
        >>> (100 * scores).round().tolist()
        [50.0, 83.0, 88.0]
        """
        if matrix.shape[1] != len(self.centre) or len(groups) != self.ways:
            raise UsageError(
                f"the net takes {len(self.centre)} columns and {self.ways} ways to be alike, "
                f"not {matrix.shape[1]} and {len(groups)}"
            )
        if not len(matrix):
            return np.zeros(0, dtype=np.float32)
        units = self.own.shape[1]
        hidden, mean = self._hidden(matrix, bags)
        share = n_words.astype(np.float32)
        share /= max(float(np.add.reduce(share)), 1.0)
        page = np.concatenate([mean, share @ hidden], axis=1)
        of_groups = []
        for way, numbers in enumerate(groups):
            pooled, group = group_means(hidden, numbers)
            of_groups.append((pooled @ self.alike[:, way * units : (way + 1) * units], group))
        second = _active(hidden @ self.own, page[:, None] @ self.page + self.second_bias, *of_groups)
        odds = np.add.reduce(second @ self.out + self.out_bias, axis=0)[:, 0]
        odds /= len(self.out)
        # The logistic function, written so that it can't overflow.
        probabilities: FloatArray = np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(0.5) * odds)
        return probabilities

    def _hidden(self, matrix: FloatArray, bags: Bags | None) -> tuple[FloatArray, FloatArray]:
        """(m, n, h) what the first layer gives, and (m, h) its means."""
        members, units = self.own.shape[:2]
        constant, varying, ready = self._input(matrix)
        fixed, bias = _row_product(constant, self.first), self.first_bias.reshape(members, 1, units)
        if len(self.mix):
            mix = self.mix.reshape(-1, members, units).swapaxes(0, 1)
            sums: FloatArray = ready @ self.first[varying]
            product: FloatArray = sums @ mix
            page: FloatArray = fixed @ mix + bias
        else:
            first = self.first.reshape(-1, members, units).swapaxes(0, 1)
            product, page = ready @ first[:, varying], fixed.reshape(members, 1, units) + bias
        groups = []
        if self.reads_words:
            if bags is None:
                raise UsageError("the net needs the words of tags and classes above each block")
            words = means(self.words, bags)
            groups.append((words.reshape(len(words), members, -1).swapaxes(0, 1) @ self.lift, bags.bag))
        mean = np.empty((members, units), dtype=np.float32)
        return _active(product, page, *groups, means=mean), mean

    def calibrated(self, slope: float, offset: float) -> Net:
        """The net whose log odds are these times ``slope`` plus ``offset``."""
        bias = self.out_bias * np.float32(slope) + np.float32(offset)
        return self.from_arrays(replace(self, out=self.out * np.float32(slope), out_bias=bias).arrays())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name as files hold them, weights in half precision."""
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: array.astype(_EXACT.get(name, np.float16)) for name, array in held.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Net:
        """The net of such arrays; :meth:`check` one from a file before use.

        Raises
        ------
        ModelFormatError
            An array is missing or of another type.
        """
        held: dict[str, NDArray[Any]] = {}
        for item in fields(cls):
            kind = np.dtype(_EXACT.get(item.name, np.float16))
            if item.name not in arrays:
                raise ModelFormatError(f"a net lacks the array {item.name!r}")
            if arrays[item.name].dtype != kind:
                raise ModelFormatError(f"the net's array {item.name!r} has the wrong type, {kind} was expected")
            held[item.name] = arrays[item.name].astype(np.float32)
        return cls(**held)

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
        if self.mix.ndim != 2:
            raise ModelFormatError("a net's factors have two dimensions")
        if any(array.ndim != 3 for array in (self.own, self.alike, self.lift)) or not self.own.size:
            raise ModelFormatError("a net's second layer has weights of three dimensions")
        (m, h, k), d, f, r = self.own.shape, self.lift.shape[1], n_features, len(self.mix)
        wanted = {
            "centre": (f,), "scale": (f,), "first": (f, r or m * h), "mix": (r, m * h if r else 0),
            "first_bias": (m * h,),
            "words": (BUCKETS if d else 0, m * d), "lift": (m, d, h), "page": (m, 2 * h, k),
            "alike": (m, self.ways * h, k), "second_bias": (m, 1, k), "out": (m, k, 1), "out_bias": (m, 1, 1),
        }  # fmt: skip
        for name, shape in wanted.items():
            if held[name].shape != shape:
                raise ModelFormatError(f"the net's array {name!r} has the shape {held[name].shape}, not {shape}")
        if sum(array.size for array in held.values()) > _MOST_NUMBERS:
            raise ModelFormatError(f"a net has at most {_MOST_NUMBERS} numbers")
        if not all((np.abs(array) <= _LARGEST).all() for array in held.values()) or (self.scale < 0).any():
            raise ModelFormatError(
                f"the net's numbers must be finite, ± {_LARGEST:.0f} at most, its scale not negative"
            )


def join(nets: Sequence[Net]) -> Net:
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
        sizes = [(net.own.shape[1:], net.alike.shape[1:], net.lift.shape[1:]) for net in (first, other)]
        if not same or sizes[0] != sizes[1] or len(first.mix) or len(other.mix):
            raise UsageError(
                "only nets without factors that take the same inputs, and have the same sizes, can be joined"
            )
    names = [item.name for item in fields(Net) if item.name not in _EXACT]
    side_by_side = ("first", "words")
    return replace(
        first,
        **{
            name: np.concatenate([getattr(net, name) for net in nets], axis=int(name in side_by_side)) for name in names
        },
    )
