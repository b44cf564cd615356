"""Linear models, and corrections of a model's log odds on pages of one site or kind.

A site repeats its templates, so the tags, classes and ids of a block's ancestors and its repeated texts are the most
informative. Each of them is a key with a weight; the correction of a block is the sum of the weights of its keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError, UsageError
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import PageMatrix
from blockml.page import Nodes
from blockml.predictors.base import sigmoid
from blockml.text.sketches import stable_hash64
from blockml.text.words import lazy_pattern

__all__ = ["BlockKeys", "Correction", "LinearModel", "block_keys"]


#: Number of nearest ancestors whose tags, classes and ids are keys, and how many of them form a place (our choice).
_LEVELS, _SIGNATURE = 6, 3
#: Maximum number of classes per element, and of characters per text or class (our choice, to limit abnormal pages).
_MOST_CLASSES, _MOST_CHARACTERS = 8, 100
_DIGITS = lazy_pattern(r"\d+")
#: Bounds of a correction in a model file.
_MOST_KEYS, _MOST_WEIGHT = 1_000_000, 1e6


@dataclass(frozen=True, slots=True, eq=False)
class BlockKeys:
    """Keys of the blocks of a page: block ``i`` has ``keys[starts[i] : starts[i + 1]]``, the last one of its text."""

    starts: NDArray[np.int64]  #: (n_blocks + 1,)
    hashes: NDArray[np.uint64]  #: Distinct hashes of places and texts.
    index: NDArray[np.int64]  #: (n_keys,) index of each key in ``hashes``.

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Hash of each key, (n_keys,)."""
        return self.hashes[self.index]

    @property
    def block(self) -> NDArray[np.int64]:
        """Block of each key."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def block_keys(context: PageContext) -> BlockKeys:
    """Compute the keys of each block: its ancestors' tags, classes and ids, its place among links, and its text.

    Examples
    --------
    >>> import blockml
    >>> found = block_keys(PageContext(blockml.parse("<p class=a>one<p class=a>two<p>one")))
    >>> first, second, third = np.split(found.keys, found.starts[1:-1])
    >>> len(np.intersect1d(first, second)), len(np.intersect1d(first, third))
    (12, 7)
    """
    nodes, blocks = context.nodes, context.blocks
    numbers: dict[str, int] = defaultdict(count().__next__)  # of the keys
    elements, chains = _Elements(nodes), dict[int, tuple[tuple[str, ...], ...]]()
    places: dict[tuple[tuple[str, ...], ...], tuple[list[int], str]] = {}  # keys and place of blocks in these elements
    found: list[int] = []
    starts = [0]
    linked = (2 * context.linked >= context.words) & (context.linked > 0)
    for parent, is_linked, text in zip(blocks.parent.tolist(), linked.tolist(), blocks.texts, strict=True):
        if parent not in chains:
            around = (parent, *nodes.ancestors(parent, _LEVELS - 1)) if parent >= 0 else ()
            chains[parent] = tuple([elements[node] for node in around])
        above = chains[parent]
        if above not in places:
            place = " ".join([keys[-1] for keys in above[:_SIGNATURE]])
            near = [f"parent {key}" for keys in above[:1] for key in keys]
            every = [*dict.fromkeys(chain.from_iterable(above)), *near, f"place {place}"]
            places[above] = [numbers[key] for key in every], place
        keys, place = places[above]
        found += keys
        found += numbers[f"links {is_linked} {place}"], numbers[f"text {_folded(text)}"]
        starts.append(len(found))
    return BlockKeys(np.array(starts, dtype=np.int64), stable_hash64(numbers), np.array(found, dtype=np.int64))


class _Elements(dict[int, tuple[str, ...]]):
    """Keys of the elements of a page, shared by elements with the same tag, class and id."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._known: dict[tuple[str, str, str], tuple[str, ...]] = {}

    def __missing__(self, node: int) -> tuple[str, ...]:
        attributes = self._nodes.attributes[node]
        described = self._nodes.name(node), attributes.get("class", ""), attributes.get("id", "")
        if described not in self._known:
            self._known[described] = _element_keys(*described)
        self[node] = keys = self._known[described]
        return keys


def _element_keys(tag: str, classes: str, identifier: str) -> tuple[str, ...]:
    """Return the tag, class and id names, and finally all of them together; numbers are replaced by 0."""
    names = sorted({_folded(name) for name in classes.split()[:_MOST_CLASSES]})
    parts = [f".{name}" for name in names]
    if identifier:
        parts.append(f"#{_folded(identifier)}")
    return (tag, *parts, f"<{tag}{''.join(parts)}")


def _folded(text: str) -> str:
    """Normalise case, white space and numbers of a text."""
    return " ".join(_DIGITS.sub("0", text[:_MOST_CHARACTERS].casefold()).split())


@dataclass(frozen=True, eq=False)
class Correction:
    """Weights of keys and a bias, added to the log odds of a model's other predictors."""

    kind: ClassVar[str] = "correction"
    keys: NDArray[np.uint64]  #: (n_keys,) ascending
    weights: NDArray[np.float64]  #: (n_keys,)
    bias: float

    def log_odds(self, page: PageMatrix) -> NDArray[np.float64]:
        """Compute the correction of each block, (n_blocks,)."""
        return self.of_keys(block_keys(page.context))

    def of_keys(self, found: BlockKeys) -> NDArray[np.float64]:
        """Compute the correction of blocks with these keys, (n_blocks,)."""
        n = len(found.starts) - 1
        if not len(self.keys):
            return np.full(n, self.bias)
        place = np.minimum(np.searchsorted(self.keys, found.hashes), len(self.keys) - 1)
        values = np.where(self.keys[place] == found.hashes, self.weights[place], 0.0)[found.index]
        return np.asarray(np.bincount(found.block, values, minlength=n) + self.bias, dtype=np.float64)

    def probabilities(self, page: PageMatrix) -> NDArray[np.float32]:
        """Compute the probabilities whose log odds are the correction, (n_blocks,)."""
        return sigmoid(self.log_odds(page))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return keys, weights and bias."""
        return {"keys": self.keys, "weights": self.weights, "bias": np.array([self.bias])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Self:  # noqa: ARG003 (the protocol's)
        """Build the correction from the arrays of a model file: see :class:`blockml.predictors.base.Predictor`."""
        for name, dtype in (("keys", np.uint64), ("weights", np.float64), ("bias", np.float64)):
            if name not in arrays or arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != 1:
                raise ModelFormatError(f"the correction's array {name!r} is missing, or is not one-dimensional {dtype}")
        keys, weights, bias = arrays["keys"], arrays["weights"], arrays["bias"]
        if len(keys) != len(weights) or len(bias) != 1 or len(keys) > _MOST_KEYS:
            raise ModelFormatError("a correction needs one weight per key, and one bias")
        if (keys[1:] <= keys[:-1]).any():
            raise ModelFormatError("keys of a correction must be in ascending order")
        if not (np.abs(np.append(weights, bias)) <= _MOST_WEIGHT).all():
            raise ModelFormatError(f"weights of a correction must be within ± {_MOST_WEIGHT:.0f}")
        return cls(keys, weights, float(bias[0]))


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
