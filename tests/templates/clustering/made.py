"""Distance matrices for the tests of clustering."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.clustering import Clustering

_X = ".1 .2 .8 .9 .15 .85 .9 .7 .95 .3".split()


def example() -> NDArray[np.float64]:
    """Return the five items of most examples, whose true groups are {0, 1, 2} and {3, 4}."""
    return square(np.array(_X, dtype=np.float64))


def square(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, n) distances from those of all pairs, row by row."""
    n = int((1 + np.sqrt(1 + 8 * len(pairs))) // 2)
    matrix: NDArray[np.float64] = np.zeros((n, n), dtype=np.float64)
    matrix[np.triu_indices(n, 1)] = pairs
    matrix.T[np.triu_indices(n, 1)] = pairs
    return matrix


def groups_apart(
    truth: NDArray[np.int64], within: tuple[float, float], apart: tuple[float, float], seed: int = 0
) -> NDArray[np.float64]:
    """Return random distances from one range inside groups and from another between them."""
    rng = np.random.default_rng(seed)
    same = truth[:, None] == truth
    drawn = np.where(same, rng.uniform(*within, same.shape), rng.uniform(*apart, same.shape))
    return square(drawn[np.triu_indices(len(truth), 1)])


def plane(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points of the plane, spread differently along both axes, and their distances."""
    points = np.random.default_rng(seed).normal(size=(n, 2)) * [3, 1]
    return points, np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


@st.composite
def matrices(draw: st.DrawFn, least: int = 0, most: int = 12, *, tied: bool | None = None) -> NDArray[np.float64]:
    """Draw distance matrices with many equal distances or with hardly any."""
    n = draw(st.integers(least, most))
    few = draw(st.booleans()) if tied is None else tied
    # Binary fractions, so that their sums and means are exact.
    values = st.integers(0, 4) if few else st.integers(0, 1 << 20)
    pairs = draw(npst.arrays(np.int64, n * (n - 1) // 2, elements=values))
    return square(pairs / (4 if few else 1 << 20)) if n > 1 else np.zeros((n, n))


#: Values that every method refuses as a distance matrix, and a part of the message.
UNUSABLE: list[tuple[Any, str]] = [
    ([[0, 1], [2, 0]], "symmetric"),
    ([[0, -1], [-1, 0]], "must be non-negative"),
    ([[0, float("nan")], [float("nan"), 0]], "finite"),
    ([[0, float("inf")], [float("inf"), 0]], "finite"),
    ([[1, 0], [0, 1]], "diagonal"),
    ([[0, 1, 2], [1, 0, 2]], "square"),
    ([0, 1], "square"),
    ([[0, 1], [1]], "numbers"),
    ([["a"]], "numbers"),
]


class Merge(NamedTuple):
    """A merge of two clusters, each named by its smallest member."""

    first: int
    second: int
    distance: float
    size: int


def merge_list(clustering: Clustering) -> list[Merge]:
    """List the merges that led to a clustering, in order; raise UsageError if it is not hierarchical.

    Examples
    --------
    >>> from blockml.templates.clustering import single_linkage
    >>> merge_list(single_linkage([[0, 0.5, 0.2], [0.5, 0, 0.4], [0.2, 0.4, 0]], threshold=0.3))
    [Merge(first=0, second=2, distance=0.2, size=2)]
    """
    if clustering.merges is None:
        raise UsageError("only a hierarchical clustering has a list of merges")
    n = len(clustering)
    smallest = list(range(n))
    merges = []
    for left, right, distance, size in clustering.merges[: n - clustering.n_clusters].tolist():
        first, second = sorted((smallest[int(left)], smallest[int(right)]))
        smallest.append(first)
        merges.append(Merge(first, second, distance, int(size)))
    return merges
