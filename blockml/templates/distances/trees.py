"""RTDM, a tree edit distance; costs are computed once per pair of distinct subtrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.templates.distances.base import MAX_NODES, Matrix, Metric, check_positive, check_size
from blockml.templates.distances.pairs import Mappings
from blockml.templates.distances.sketches import Codes, PageSketch, TagTree, mix, preorder_depths, run_codes

Norm = Literal["sum", "max"]


class Subtrees(NamedTuple):
    """Distinct subtrees of a page as columns, and a histogram of its names by depth; ``c`` distinct subtrees."""

    codes: Codes  #: (c,) hash of each subtree, sorted
    names: Codes  #: (c,) code of its root's name
    sizes: NDArray[np.int64]  #: (c,) number of its nodes
    starts: NDArray[np.int64]  #: (c + 1,) start of its children in ``children``
    children: NDArray[np.int64]  #: Children of each subtree in document order, as subtree indices
    roots: NDArray[np.int64]  #: Roots of the page in document order, as subtree indices
    levels: Codes  #: Sorted codes of the distinct pairs of depth and name
    counts: NDArray[np.int64]  #: Nodes per pair of depth and name

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the page."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class RestrictedTopDownMapping(Metric[Subtrees]):
    """Distance RTDM (Reis et al. 2004; Vieira et al. 2006; Gottron 2008): top-down tree edit distance.

    Nodes are mapped, in order, only to nodes whose parents are mapped to each other. A mapped node with another name
    costs 1; unmapped nodes are deleted or inserted with all descendants at 1 per node. The roots of a page are mapped
    in order too. The cost is O(n₁ · n₂) at worst, far less for pages that share subtrees.
    """

    name: ClassVar[str] = "rtdm"

    #: Divisor of the cost: ``sum`` of both sizes (range [0, 1]), their ``max`` (range [0, 2]) or None for the cost
    #: itself. The papers give none; our choice.
    norm: Norm | None = "sum"
    with_text: bool = False  #: Whether texts are nodes, all of one name
    #: Distance above which a pair gets ``inf`` and its computation stops early. Not usable for methods that need all
    #: distances.
    cutoff: float | None = None
    max_nodes: int = MAX_NODES  #: Largest page accepted, in nodes

    def __post_init__(self) -> None:
        if self.norm is not None and self.norm not in get_args(Norm):
            raise UnknownNameError("norm", str(self.norm), [*get_args(Norm), "None"])
        if not isinstance(self.with_text, bool):
            raise UsageError(f"with_text must be True or False, got {self.with_text!r}")
        number = isinstance(self.cutoff, int | float) and not isinstance(self.cutoff, bool)
        if self.cutoff is not None and not (number and self.cutoff >= 0):
            raise UsageError(f"cutoff must be None or a non-negative number, got {self.cutoff!r}")
        check_positive("max_nodes", self.max_nodes)

    def prepare(self, page: PageSketch) -> Subtrees:
        """Return the distinct subtrees; raise UsageError for more than ``max_nodes`` nodes."""
        tree = TagTree.of(page, with_text=self.with_text)
        check_size(self.name, len(tree.codes), self.max_nodes)
        return _subtrees(tree)

    def compare(self, a: Subtrees, b: Subtrees) -> float:
        """Return the distance of two pages, at least 0."""
        return float(self.block([a], [b])[0, 0])

    def block(self, rows: Sequence[Subtrees], columns: Sequence[Subtrees]) -> Matrix:
        """Return (rows, columns) distances; pairs of subtrees that many pages share are compared once."""
        mappings = Mappings()
        roots = [_add(page, mappings) for page in rows]
        others = roots if rows is columns else [_add(page, mappings) for page in columns]
        distances = np.zeros((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if rows is columns else 0, len(columns)):
                if roots[i] != others[j]:
                    a, b = row.n_nodes, columns[j].n_nodes
                    divisor = 1 if self.norm is None else max(a, b) if self.norm == "max" else a + b
                    limit = self._limit(divisor)
                    hopeless = limit < inf and _least_cost(row, columns[j]) > limit
                    cost = inf if hopeless else mappings.cost(roots[i], others[j], limit)
                    distances[i, j] = cost / divisor
        return distances

    def _limit(self, divisor: int) -> float:
        """Return the greatest cost whose distance is within the cutoff."""
        if self.cutoff is None:
            return inf
        # Rounding may be off by one in either direction; no cost comes near 2⁵³.
        limit = int(min(self.cutoff * divisor, 2.0**53)) + 1
        while limit / divisor > self.cutoff:
            limit -= 1
        return limit


def _subtrees(tree: TagTree) -> Subtrees:
    n = len(tree.codes)
    # Names and sizes in pre-order determine a tree.
    step = np.append(np.arange(1, n), -1)[:n]
    signs = run_codes(mix(tree.codes, tree.size.astype(np.uint64)), step, tree.size)
    codes, first, number = np.unique(signs, return_index=True, return_inverse=True)
    # Nodes sorted by parent: the roots (parent -1), the children of node 0, of node 1 ...
    by_parent = number[np.argsort(tree.parent, kind="stable")]
    n_children = np.bincount(tree.parent + 1, minlength=n + 1)
    starts_of = np.concatenate([[0], n_children.cumsum()])
    counts = n_children[first + 1]
    starts = np.concatenate([[0], counts.cumsum()])
    places = np.arange(starts[-1]) + np.repeat(starts_of[first + 1] - starts[:-1], counts)
    depths = preorder_depths(np.arange(n) + tree.size)
    levels, level_counts = np.unique(mix(tree.codes, depths.astype(np.uint64)), return_counts=True)
    roots = by_parent[: n_children[0]]
    return Subtrees(codes, tree.codes[first], tree.size[first], starts, by_parent[places], roots, levels, level_counts)


def _add(page: Subtrees, mappings: Mappings) -> tuple[int, ...]:
    """Add a page's subtrees and return the numbers of its roots."""
    starts, children = page.starts.tolist(), page.children.tolist()
    below = [children[start:stop] for start, stop in pairwise(starts)]
    numbers = mappings.add(page.codes.tolist(), page.names.tolist(), page.sizes.tolist(), below)
    return tuple(numbers[root] for root in page.roots.tolist())


def _least_cost(a: Subtrees, b: Subtrees) -> int:
    """Return a lower bound of the cost: nodes map within one depth, to equal names at no cost, to others at cost 1."""
    _, in_a, in_b = np.intersect1d(a.levels, b.levels, assume_unique=True, return_indices=True)
    shared = int(np.minimum(a.counts[in_a], b.counts[in_b]).sum())
    return max(a.n_nodes, b.n_nodes) - shared
