"""Coordinates of a dendrogram, and the order of its leaves."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blockml.reports.axes import WIDTH, Axis, brief, scale_over


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """A linkage matrix prepared for drawing; node ``i < n`` is page ``i``, node ``n + j`` results from merge ``j``."""

    n: int
    children: list[tuple[int, int]]  #: (n - 1,) children of each merge in drawing order: the larger one first
    heights: list[float]
    sizes: list[int]
    starts: list[int]  #: (2 n - 1,) index of each node's first page among the leaves
    leaves: list[int]  #: (n,) pages in drawing order


def _tree(merges: ArrayLike) -> _Tree:
    rows = np.asarray(merges, dtype=np.float64).reshape(-1, 4)
    n = len(rows) + 1
    sizes, heights, first = [1] * n, [0.0] * n, list(range(n))
    children = []
    for a, b in rows[:, :2].astype(np.int64).tolist():
        # Chains, which single linkage tends to form, then start with their core, followed by the pages added later.
        large, small = (a, b) if (-sizes[a], first[a]) <= (-sizes[b], first[b]) else (b, a)
        children.append((large, small))
        sizes.append(sizes[a] + sizes[b])
        first.append(min(first[a], first[b]))
    heights += np.nan_to_num(rows[:, 2]).tolist()
    starts = [0] * (2 * n - 1)
    for node in range(2 * n - 2, n - 1, -1):  # parents follow their children
        large, small = children[node - n]
        starts[large], starts[small] = starts[node], starts[node] + sizes[large]
    leaves = [0] * n
    for page in range(n):
        leaves[starts[page]] = page
    return _Tree(n, children, heights, sizes, starts, leaves)


def leaf_order(merges: ArrayLike) -> list[int]:
    """Return the pages of a linkage matrix, (n - 1, 4) as in scipy, in an order in which no branches cross.

    Examples
    --------
    >>> leaf_order([[0, 2, 0.1, 2], [1, 3, 0.5, 3]])
    [0, 2, 1]
    """
    return _tree(merges).leaves


def page_order(labels: Sequence[int], leaves: Sequence[int] | None) -> list[int]:
    """Return the pages sorted by cluster; clusters and pages follow the order of the leaves, if given.

    Without leaves the largest cluster comes first.

    Examples
    --------
    >>> page_order([1, 0, 1, 1], None), page_order([1, 0, 1, 1], [1, 3, 2, 0])
    ([0, 2, 3, 1], [1, 3, 2, 0])
    """
    places = {page: place for place, page in enumerate(range(len(labels)) if leaves is None else leaves)}
    first: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for page, place in places.items():
        first.setdefault(labels[page], place)
        sizes[labels[page]] = sizes.get(labels[page], 0) + 1
    ranks = {label: (0 if leaves is not None else -sizes[label], first[label]) for label in first}
    return sorted(places, key=lambda page: (ranks[labels[page]], places[page]))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page, or a branch that is drawn as a single leaf."""

    y: float
    pages: tuple[int, ...]
    cluster: int | None  #: Common cluster of its pages; None if there are several
    wedge: str  #: SVG path that represents the branch, up to its last merge; empty for a page


@dataclass(frozen=True, slots=True)
class Dendrogram:
    """A tree of merges with its leaves below each other and distances to the right."""

    width: float
    height: float
    scale: Axis
    top: float
    bottom: float
    leaves: tuple[Leaf, ...]
    #: SVG path of the branches within each cluster; None is the key for branches between clusters
    branches: tuple[tuple[int | None, str], ...]
    threshold: float | None  #: Coordinate of the threshold


_TREE_LEFT, _TREE_RIGHT, _TREE_TOP, _TREE_ROW = 150.0, 358.0, 24.0, 15.0


def dendrogram(
    merges: ArrayLike, labels: Sequence[int], *, most: int, whole: bool, threshold: float | None
) -> Dendrogram:
    """Draw a tree of merges; if it has many leaves, lower branches are drawn as single leaves.

    The branch with the highest merge is split first, until the maximum number of leaves is reached. ``merges`` is a
    linkage matrix as in scipy, (n - 1, 4), ``labels`` the (n,) cluster of each page, ``most`` the maximum number of
    leaves. ``whole`` tells whether branches within one cluster are never split; ``threshold`` is the distance at which
    the tree was cut, if known.

    Examples
    --------
    >>> figure = dendrogram([[0, 2, 0.1, 2], [1, 3, 0.5, 3]], [0, 1, 0], most=9, whole=True, threshold=0.3)
    >>> [(leaf.pages, leaf.cluster) for leaf in figure.leaves], figure.branches
    ([((0, 2), 0), ((1,), 1)], ((None, 'M191.6 31.5H358V46.5H150'),))
    """
    tree = _tree(merges)
    n, root = tree.n, 2 * tree.n - 2
    shared: list[int | None] = list(labels)
    for a, b in tree.children:
        shared.append(shared[a] if shared[a] == shared[b] else None)
    queue = [(-tree.heights[root], root)]
    ends: list[int] = []
    split: list[int] = []
    while queue:
        _, node = heapq.heappop(queue)
        full = len(ends) + len(queue) + 2 > most
        if node < n or full or (whole and shared[node] is not None):
            ends.append(node)
            continue
        split.append(node)
        for child in tree.children[node - n]:
            heapq.heappush(queue, (-tree.heights[child], child))
    high = max(tree.heights[root], threshold or 0.0)
    scale = scale_over(0.0, high, _TREE_LEFT, _TREE_RIGHT)
    places: dict[int, tuple[float, float]] = {}
    leaves = []
    for row, node in enumerate(sorted(ends, key=lambda node: tree.starts[node])):
        x, y = scale.at(tree.heights[node]), _TREE_TOP + _TREE_ROW * (row + 0.5)
        places[node] = (x, y)
        size = tree.sizes[node]
        half = 2 + 4 * math.log(size) / math.log(n) if size > 1 else 0.0
        left = brief(_TREE_LEFT)
        wedge = f"M{left} {brief(y - half)}L{brief(x)} {brief(y)}L{left} {brief(y + half)}z" if size > 1 else ""
        pages = tuple(tree.leaves[tree.starts[node] : tree.starts[node] + size])
        leaves.append(Leaf(y, pages, shared[node], wedge))
    paths: dict[int | None, list[str]] = {}
    for node in sorted(split):
        (x_a, y_a), (x_b, y_b) = (places[child] for child in tree.children[node - n])
        x = scale.at(tree.heights[node])
        places[node] = (x, (y_a + y_b) / 2)
        paths.setdefault(shared[node], []).append(f"M{brief(x_a)} {brief(y_a)}H{brief(x)}V{brief(y_b)}H{brief(x_b)}")
    bottom = _TREE_TOP + _TREE_ROW * len(leaves)
    branches = tuple((cluster, "".join(parts)) for cluster, parts in paths.items())
    cut = None if threshold is None else scale.at(threshold)
    return Dendrogram(WIDTH, bottom + 4, scale, _TREE_TOP, bottom, tuple(leaves), branches, cut)
