"""Distances between sets of 64-bit codes: paths, shingles of paths, shingles of the tag sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.templates.distances.base import Matrix, Metric, check_positive
from blockml.templates.distances.hashing import Codes, run_codes
from blockml.templates.distances.sketches import PageSketch, path_codes, tag_sequence

# Rows of the matrix computed at a time. Our choice.
_ROWS = 256


@dataclass(frozen=True)
class SetMetric(Metric[Codes]):
    """Distance 1 - |A ∩ B| / max(|A|, |B|) of sorted codes; 0 for two empty sets, 1 if only one is empty."""

    def compare(self, a: Codes, b: Codes) -> float:
        """Return the distance of two sets, in [0, 1]."""
        larger = max(len(a), len(b))
        return 1 - len(np.intersect1d(a, b, assume_unique=True)) / larger if larger else 0.0

    def matrix(
        self, features: Sequence[Codes], *, jobs: int = 1, progress: ProgressCallback = ignore_progress
    ) -> Matrix:
        """Return the (n, n) distances of all pairs in [0, 1], as one sparse product in one process."""
        del jobs
        sizes = np.array([len(codes) for codes in features], dtype=np.int64)
        weights = [np.ones(len(codes)) for codes in features]
        shared = products(features, weights, progress)
        return 1 - np.where(sizes[:, None] + sizes == 0, 1.0, shared / np.maximum.outer(sizes, sizes).clip(min=1))


@dataclass(frozen=True)
class CommonPaths(SetMetric):
    """Distance CP (Joshi et al. 2003; Gottron 2008): paths of names from the root to childless elements. O(n₁ + n₂)."""

    name: ClassVar[str] = "cp"

    def prepare(self, page: PageSketch) -> Codes:
        """Return the codes of the paths."""
        return np.unique(path_codes(page)[page.leaves()])


@dataclass(frozen=True)
class CommonPathShingles(SetMetric):
    """Distance CPS (Buttler 2004; Gottron 2008): runs of ``q`` names on those paths; a shorter path is one shingle.

    Cost O((n₁ + n₂) log q).
    """

    name: ClassVar[str] = "cps"

    # The papers give no length; with 3, a path adds parent and grandparent to a tag. Our choice.
    q: int = 3

    def __post_init__(self) -> None:
        check_positive("q", self.q)

    def prepare(self, page: PageSketch) -> Codes:
        """Return the codes of the shingles."""
        whole = page.depths() + 1 >= self.q  # every element lies on some path, so each run of q names is a shingle
        return np.unique(path_codes(page, self.q)[whole | page.leaves()])


@dataclass(frozen=True)
class CommonTagSequenceShingles(SetMetric):
    """Distance CTSS (Gottron 2008): runs of ``q`` consecutive start and end tags; a shorter page has no shingle.

    Cost O((t₁ + t₂) log q).
    """

    name: ClassVar[str] = "ctss"

    # The papers give no length. Our choice.
    q: int = 8

    def __post_init__(self) -> None:
        check_positive("q", self.q)

    def prepare(self, page: PageSketch) -> Codes:
        """Return the codes of the shingles."""
        tags = tag_sequence(page)
        count = max(len(tags) - self.q + 1, 0)
        step = np.append(np.arange(1, len(tags)), -1)[: len(tags)]
        lengths = np.zeros(len(tags), dtype=np.int64)
        lengths[:count] = self.q
        return np.unique(run_codes(tags, step, lengths)[:count])


def products(features: Sequence[Codes], weights: Sequence[NDArray[np.float64]], progress: ProgressCallback) -> Matrix:
    """Return (n, n) scalar products of the weights of shared codes; exact, since integer sums stay below 2⁵³."""
    from scipy.sparse import csr_array

    n = len(features)
    sums = np.zeros((n, n))
    if not any(len(codes) for codes in features):
        return sums
    columns = np.unique(np.concatenate(features), return_inverse=True)[1]
    starts = np.concatenate([[0], np.cumsum([len(codes) for codes in features])])
    table = csr_array((np.concatenate(weights), columns, starts), shape=(n, int(columns.max()) + 1))
    transposed = table.T.tocsr()
    starts_of_rows = range(0, n, _ROWS)
    for start in tracked(starts_of_rows, progress, "distances", len(starts_of_rows)):
        sums[start : start + _ROWS] = (table[start : start + _ROWS] @ transposed).toarray()
    return sums
