"""FeatureExtractor and K-FeatureExtractor: parts of a page with most of a feature (Debnath et al. 2005).

A page is divided at its tables, divisions and sections; a text belongs to the innermost one. Parts without text
do not compete, because they have nothing to extract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Between, Extractor, Traits, parameter
from blockml.page import Nodes, Page
from blockml.page.subtrees import nearest, text_lengths

#: Elements that divide a page into parts: tables and divisions, and (our choice) cells and all kinds of sections.
CONTAINERS = frozenset("html body table td th div section article main aside header footer nav".split())

#: Desired features, as counts per node: characters of text, and elements.
FEATURES: Mapping[str, Callable[[Nodes], NDArray[np.generic]]] = {
    "text": text_lengths,
    "images": lambda nodes: nodes.named({"img"}),
    "scripts": lambda nodes: nodes.named({"script"}),
    "links": lambda nodes: nodes.named({"a"}),
    "lists": lambda nodes: nodes.named({"ul", "ol", "dl"}),
}


def _parts(page: Page, feature: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Divide a page into parts that contain text.

    Returns
    -------
    part, amounts
        (n_blocks,) index of each block's part, and (n_parts,) amount of the feature in each part.
    """
    nodes = page.nodes
    container = nearest(nodes, nodes.named(CONTAINERS)) + 1  # 0: outside of all parts
    amounts = np.bincount(container, FEATURES[feature](nodes), minlength=len(nodes) + 1)
    competing, part = np.unique(container[page.blocks.node], return_inverse=True)
    return part, amounts[competing].astype(np.float64)


@dataclass(eq=False, repr=False)
class FE(Extractor):
    """Keeps the part of the page with the largest share of the desired feature.

    Scores of other parts are relative to it, so that a lower threshold also keeps the next ones. Parts with equal
    shares are kept or removed together. If no part has the feature, all are kept.

    Parameters
    ----------
    feature
        The desired feature: a key of :data:`FEATURES`.

    Examples
    --------
    >>> import blockml
    >>> page = "<div>Menu</div><div>A longer text</div><div>Imprint</div>"
    >>> blockml.extract(page, model=FE()).text
    'A longer text'
    """

    name: ClassVar[str] = "fe"
    traits: ClassVar[Traits] = Traits("Debnath et al. 2005")

    feature: str = parameter("text", tuple(FEATURES))

    @property
    def default_threshold(self) -> float:
        """Score of the best part."""
        return 1.0

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the amount of the feature in its part, relative to the largest amount."""
        self.check()
        part, amounts = _parts(page, self.feature)
        largest = amounts.max(initial=0)
        shares = amounts / largest if largest else np.ones_like(amounts)
        return shares.astype(np.float32)[part]


@dataclass(eq=False, repr=False)
class KFE(Extractor):
    """Keeps the group of parts with the largest shares of the desired feature, out of ``k`` groups.

    Groups are found by k-means on the amount of the feature in each part.

    Parameters
    ----------
    feature
        The desired feature: a key of :data:`FEATURES`.
    k
        Number of groups; fewer if there are fewer distinct amounts. With one group everything is kept.

    Examples
    --------
    >>> import blockml
    >>> page = "<div>Menu</div><div>A longer text</div><div>A longer tail</div><div>Some more</div>"
    >>> print(blockml.extract(page, model=KFE()).text)
    A longer text
    A longer tail
    """

    name: ClassVar[str] = "kfe"
    traits: ClassVar[Traits] = FE.traits

    feature: str = parameter("text", tuple(FEATURES))
    k: int = parameter(3, Between(1, 10, whole=True))  # much, some and little; our choice

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score blocks of the first group 1, and all others 0."""
        self.check()
        part, amounts = _parts(page, self.feature)
        if not len(part):
            return np.zeros(0, dtype=np.float32)
        return (amounts >= _start_of_top_cluster(amounts, self.k)).astype(np.float32)[part]


def _start_of_top_cluster(values: NDArray[np.float64], k: int) -> float:
    """Return the smallest value in the topmost of the ``k`` clusters of a least-squares partition.

    On a line, clusters are intervals, and the best partition is found exactly by dynamic programming over the sorted
    values (Fisher 1958): nothing depends on starting points. d parts with different amounts of text have at least
    d²/2 characters, so that the d² steps are linear in the length of the page.

    Examples
    --------
    >>> _start_of_top_cluster(np.array([1.0, 2, 9, 10, 30]), 3), _start_of_top_cluster(np.array([4.0, 4]), 3)
    (30.0, 4.0)
    """
    distinct, counts = np.unique(values, return_counts=True)
    n, k = len(distinct), min(k, len(distinct))
    if k == 1:
        return float(distinct[0])
    weights, sums, squares = (np.append(0.0, np.cumsum(counts * distinct**power)) for power in (0, 1, 2))

    def scatter(first: NDArray[np.intp], stop: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the sum of squared distances of values ``first`` to ``stop - 1`` to their mean, for each pair."""
        total, weight = sums[stop] - sums[first], weights[stop] - weights[first]
        return np.asarray(squares[stop] - squares[first] - total**2 / weight)

    places = np.arange(n + 1)
    # Scatter of the first 1, 2, … n values in one cluster, then in two, and so on.
    least = scatter(places[:1], places[1:])
    for _ in range(k - 2):
        split = [least[: stop - 1] + scatter(places[1:stop], places[stop : stop + 1]) for stop in range(1, n + 1)]
        least = np.array([min(one, several.min(initial=one)) for one, several in zip(least, split, strict=True)])
    # Ties go to the lowest threshold, which gives the largest top cluster.
    return float(distinct[1 + int(np.argmin(least[:-1] + scatter(places[1:n], places[n:])))])
