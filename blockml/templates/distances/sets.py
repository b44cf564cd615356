"""Distances between sets: paths, shingles of paths, shingles of tags.

A page becomes a sorted array of distinct 64-bit codes. All sizes of intersections are then one sparse product.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.templates.distances.base import Matrix, Metric, Progress, check_count
from blockml.templates.distances.hashing import Codes, run_codes
from blockml.templates.distances.sketches import PageSketch, path_codes, tag_sequence

__all__ = ["CommonPathShingles", "CommonPaths", "CommonTagSequenceShingles", "SetMetric", "products"]

# Rows of the matrix that are computed at a time: enough that numpy is busy, few enough that progress shows. Our choice.
_ROWS = 256


@dataclass(frozen=True)
class SetMetric(Metric[Codes]):
    """1 − |A ∩ B| / max(|A|, |B|); 0 for two empty sets, 1 for an empty and another one (our choice)."""

    @abstractmethod
    def prepare(self, page: PageSketch) -> Codes:
        """Give the set as a sorted array of distinct codes."""

    def compare(self, a: Codes, b: Codes) -> float:
        """Distance of two sets, in [0, 1]."""
        larger = max(len(a), len(b))
        if not larger:
            return 0.0
        return 1 - len(np.intersect1d(a, b, assume_unique=True)) / larger

    def matrix(self, features: Sequence[Codes], *, jobs: int = 1, progress: Progress = iter) -> Matrix:
        """(n, n) distances of all pairs, in [0, 1]; in one process, for it takes little time."""
        del jobs
        sizes = np.array([len(codes) for codes in features], dtype=np.int64)
        weights = [np.ones(len(codes)) for codes in features]
        shared = products(features, weights, progress)
        return 1 - np.where(sizes[:, None] + sizes == 0, 1.0, shared / np.maximum.outer(sizes, sizes).clip(min=1))


@dataclass(frozen=True)
class CommonPaths(SetMetric):
    """CP (Joshi et al. 2003; Gottron 2008): paths of element names from a root to the elements without elements.

    O(n₁ + n₂).
    """

    name: ClassVar[str] = "cp"

    def prepare(self, page: PageSketch) -> Codes:
        """Give the codes of the page's paths."""
        return np.unique(path_codes(page)[page.leaves()])


@dataclass(frozen=True)
class CommonPathShingles(SetMetric):
    """CPS (Buttler 2004; Gottron 2008): runs of ``q`` names on those paths; a shorter path is a shingle as a whole.

    O(n₁ + n₂) for any ``q`` up to a factor of its binary digits.
    """

    name: ClassVar[str] = "cps"

    # The papers name no length; a parent and its parent are what a path adds to a tag. Our choice.
    q: int = 3

    def __post_init__(self) -> None:
        check_count("q", self.q)

    def prepare(self, page: PageSketch) -> Codes:
        """Give the codes of the page's shingles."""
        whole = page.depths() + 1 >= self.q  # some path goes through every element, so each such run is one of its
        return np.unique(path_codes(page, self.q)[whole | page.leaves()])


@dataclass(frozen=True)
class CommonTagSequenceShingles(SetMetric):
    """CTSS (Gottron 2008): runs of ``q`` consecutive tags, start tags and end tags; a shorter page has none.

    O(t₁ + t₂) for any ``q`` up to a factor of its binary digits.
    """

    name: ClassVar[str] = "ctss"

    # The papers name no length; any threshold of a published one belongs to an unknown length. Our choice.
    q: int = 8

    def __post_init__(self) -> None:
        check_count("q", self.q)

    def prepare(self, page: PageSketch) -> Codes:
        """Give the codes of the page's shingles."""
        tags = tag_sequence(page)
        count = max(len(tags) - self.q + 1, 0)
        step = np.append(np.arange(1, len(tags)), -1)[: len(tags)]
        lengths = np.zeros(len(tags), dtype=np.int64)
        lengths[:count] = self.q
        return np.unique(run_codes(tags, step, lengths)[:count])


def products(features: Sequence[Codes], weights: Sequence[NDArray[np.float64]], progress: Progress) -> Matrix:
    """(n, n) sums of products of the weights of the codes that two pages share.

    Weights are whole numbers, so the sums are exact (below 2⁵³).
    """
    from scipy.sparse import csr_array

    n = len(features)
    sums = np.zeros((n, n))
    if not any(len(codes) for codes in features):
        return sums
    columns = np.unique(np.concatenate(features), return_inverse=True)[1]
    starts = np.concatenate([[0], np.cumsum([len(codes) for codes in features])])
    table = csr_array((np.concatenate(weights), columns, starts), shape=(n, int(columns.max()) + 1))
    transposed = table.T.tocsr()
    for start in progress(range(0, n, _ROWS)):
        sums[start : start + _ROWS] = (table[start : start + _ROWS] @ transposed).toarray()
    return sums
