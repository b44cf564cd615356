"""Distances between sets of codes, between tag counts (TV) and between tag sequences (LCTS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.templates.distances.metric import MAX_NODES, Matrix, Metric, check_positive, check_size
from blockml.templates.distances.page_sketch import Codes, PageSketch, path_codes, run_codes, tag_sequence
from blockml.text.lcs import lcs_length
from blockml.text.sketches import stable_hash64

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


#: Elements that a tag vector counts: those of the HTML standard and those of earlier versions and browsers.
ELEMENTS = frozenset(
    """
    a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark math menu meta
    meter nav noscript object ol optgroup option output p picture pre progress q rp rt ruby s samp script search section
    select slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th thead time
    title tr track u ul var video wbr
    acronym applet basefont bgsound big blink center dir font frame frameset image isindex keygen listing marquee
    menuitem multicol nextid nobr noembed noframes param plaintext rb rtc spacer strike tt xmp
    """.split()
)


class TagCounts(NamedTuple):
    """Occurrences of each element name in a page: (k,) sorted codes of the names and (k,) counts."""

    codes: Codes
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class TagVector(Metric[TagCounts]):
    """Distance TV (Cruz et al. 1998; Gottron 2008): Euclidean distance of element counts; unbounded.

    Unknown element names are ignored; elements are counted, not tags (our choice). Cost O(n₁ + n₂).
    """

    name: ClassVar[str] = "tv"

    def prepare(self, page: PageSketch) -> TagCounts:
        """Count the known element names."""
        counts = np.bincount(page.tag, minlength=len(page.names))
        known = np.array([element in ELEMENTS for element in page.elements()], dtype=bool) & (counts > 0)
        codes = stable_hash64(page.names)[known]
        order = np.argsort(codes)
        return TagCounts(codes[order], counts[known][order])

    def compare(self, a: TagCounts, b: TagCounts) -> float:
        """Return the distance of two vectors, at least 0."""
        _, in_a, in_b = np.intersect1d(a.codes, b.codes, assume_unique=True, return_indices=True)
        shared = int(a.counts[in_a] @ b.counts[in_b])
        return sqrt(int(a.counts @ a.counts) + int(b.counts @ b.counts) - 2 * shared)

    def matrix(
        self, features: Sequence[TagCounts], *, jobs: int = 1, progress: ProgressCallback = ignore_progress
    ) -> Matrix:
        """Return the (n, n) distances of all pairs, as one sparse product in one process."""
        del jobs
        weights = [page.counts.astype(np.float64) for page in features]
        shared = products([page.codes for page in features], weights, progress)
        squares = np.diagonal(shared)
        return np.sqrt(squares[:, None] + squares - 2 * shared)


@dataclass(frozen=True)
class LongestCommonTagSubsequence(Metric[Codes]):
    """Distance LCTS (Gottron 2008): 1 - LCS / max(t₁, t₂) over start and end tags; 0 for two pages without tags.

    Cost O(t₁ · t₂ / w) with integers of w bits.
    """

    name: ClassVar[str] = "lcts"

    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        check_positive("max_nodes", self.max_nodes)

    def prepare(self, page: PageSketch) -> Codes:
        """Return the tag sequence; raise UsageError for more than ``max_nodes`` elements."""
        check_size(self.name, len(page), self.max_nodes)
        return tag_sequence(page)

    def compare(self, a: Codes, b: Codes) -> float:
        """Return the distance of two tag sequences, in [0, 1]."""
        if not (len(a) and len(b)):
            return float(len(a) != len(b))
        return 1 - lcs_length(a.tolist(), b.tolist()) / max(len(a), len(b))
