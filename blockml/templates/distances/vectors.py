"""TV, a distance between tag counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.templates.distances.base import Matrix, Metric, Progress
from blockml.templates.distances.hashing import Codes
from blockml.templates.distances.sets import products
from blockml.templates.distances.sketches import PageSketch
from blockml.text.hashing import stable_hash64

__all__ = ["ELEMENTS", "TagVector"]

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


class Counts(NamedTuple):
    """Occurrences of each element name in a page: (k,) sorted codes of the names and (k,) counts."""

    codes: Codes
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class TagVector(Metric[Counts]):
    """Distance TV (Cruz et al. 1998; Gottron 2008): Euclidean distance of element counts; unbounded.

    Unknown element names are ignored; elements are counted, not tags (our choice). Cost O(n₁ + n₂).
    """

    name: ClassVar[str] = "tv"

    def prepare(self, page: PageSketch) -> Counts:
        """Count the known element names."""
        counts = np.bincount(page.tag, minlength=len(page.names))
        known = np.array([element in ELEMENTS for element in page.elements()], dtype=bool) & (counts > 0)
        codes = stable_hash64(page.names)[known]
        order = np.argsort(codes)
        return Counts(codes[order], counts[known][order])

    def compare(self, a: Counts, b: Counts) -> float:
        """Return the distance of two vectors, at least 0."""
        _, in_a, in_b = np.intersect1d(a.codes, b.codes, assume_unique=True, return_indices=True)
        shared = int(a.counts[in_a] @ b.counts[in_b])
        return sqrt(int(a.counts @ a.counts) + int(b.counts @ b.counts) - 2 * shared)

    def matrix(self, features: Sequence[Counts], *, jobs: int = 1, progress: Progress = iter) -> Matrix:
        """Return the (n, n) distances of all pairs, as one sparse product in one process."""
        del jobs
        weights = [page.counts.astype(np.float64) for page in features]
        shared = products([page.codes for page in features], weights, progress)
        squares = np.diagonal(shared)
        distances: Matrix = np.sqrt(squares[:, None] + squares - 2 * shared)
        return distances
