"""The distance between trees: restricted top-down mapping.

A page becomes its distinct subtrees, and a cost is computed once for two of them, wherever and on whichever pages they
stand. Nothing recurses: tables that wait for the cost of two subtrees lie on a stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.templates.distances.base import MAX_NODES, Matrix, Metric, check_count, check_size
from blockml.templates.distances.hashing import Codes, mix, run_codes
from blockml.templates.distances.mappings import Mappings
from blockml.templates.distances.sketches import PageSketch, Tree

__all__ = ["RestrictedTopDownMapping", "Subtrees"]

Norm = Literal["sum", "max"]


class Subtrees(NamedTuple):
    """The distinct subtrees of a page, as columns, and how often each name stands at each depth.

    ``c`` is the number of distinct subtrees.
    """

    codes: Codes
    """(c,) code of each subtree, rising."""
    names: Codes
    """(c,) code of its root's name."""
    sizes: NDArray[np.int64]
    """(c,) its nodes."""
    starts: NDArray[np.int64]
    """(c + 1,) where its children start in ``children``."""
    children: NDArray[np.int64]
    """Children of each subtree in document order, as indices of subtrees."""
    roots: NDArray[np.int64]
    """Roots of the page, in document order, as indices of subtrees."""
    levels: Codes
    """Codes of the distinct pairs of depth and name, rising."""
    counts: NDArray[np.int64]
    """How often each occurs."""

    @property
    def n_nodes(self) -> int:
        """Nodes of the page."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class RestrictedTopDownMapping(Metric[Subtrees]):
    """RTDM (Reis et al. 2004; Vieira et al. 2006; Gottron 2008): cost of editing one tree into the other, from above.

    Nodes are mapped to nodes whose parents are mapped to each other, in order. A mapped node with another name costs
    1; what is not mapped is deleted or inserted with all below it and costs 1 per node. Roots are mapped to each other,
    by the same rule if a page has several.

    O(n₁ · n₂) at worst; far less for pages that share subtrees.
    """

    name: ClassVar[str] = "rtdm"

    norm: Norm | None = "sum"
    """What the cost is divided by: the ``sum`` of both sizes (in [0, 1]), the larger of them (``max``; in [0, 2]), or
    nothing. The papers name none; our choice."""
    with_text: bool = False
    """Whether texts are nodes, all of one name."""
    cutoff: float | None = None
    """Give up on a pair as soon as its distance must be greater than this; it is ``inf`` then. Makes matrices faster of
    which only the small distances matter. Not to be given to methods that need all distances."""
    max_nodes: int = MAX_NODES
    """Largest page that is not refused."""

    def __post_init__(self) -> None:
        if self.norm is not None and self.norm not in get_args(Norm):
            raise UnknownNameError("norm", str(self.norm), [*get_args(Norm), "None"])
        if not isinstance(self.with_text, bool):
            raise UsageError(f"with_text must be True or False, not {self.with_text!r}")
        number = isinstance(self.cutoff, int | float) and not isinstance(self.cutoff, bool)
        if self.cutoff is not None and not (number and self.cutoff >= 0):
            raise UsageError(f"cutoff must be None or a number from 0 on, not {self.cutoff!r}")
        check_count("max_nodes", self.max_nodes)

    def prepare(self, page: PageSketch) -> Subtrees:
        """Give the page's distinct subtrees.

        Raises
        ------
        UsageError
            The page has more than ``max_nodes`` nodes.
        """
        tree = Tree.of(page, with_text=self.with_text)
        check_size(self.name, len(tree.codes), self.max_nodes)
        return _subtrees(tree)

    def compare(self, a: Subtrees, b: Subtrees) -> float:
        """Distance of two pages, from 0 on."""
        return float(self.block([a], [b])[0, 0])

    def block(self, rows: Sequence[Subtrees], columns: Sequence[Subtrees]) -> Matrix:
        """(rows, columns) distances; pairs of subtrees that many pages have are compared once."""
        mappings = Mappings()
        roots = [_add(page, mappings) for page in rows]
        others = roots if rows is columns else [_add(page, mappings) for page in columns]
        distances = np.zeros((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if rows is columns else 0, len(columns)):
                if roots[i] != others[j]:
                    whole = self._whole(row.n_nodes, columns[j].n_nodes)
                    limit = self._limit(whole)
                    hopeless = limit < inf and _least_cost(row, columns[j]) > limit
                    cost = inf if hopeless else mappings.cost(roots[i], others[j], limit)
                    distances[i, j] = cost / whole
        return distances

    def _whole(self, a: int, b: int) -> int:
        """Give what costs are divided by."""
        return 1 if self.norm is None else max(a, b) if self.norm == "max" else a + b

    def _limit(self, whole: int) -> float:
        """Greatest cost whose distance is not beyond the cutoff."""
        if self.cutoff is None:
            return inf
        # Rounding may be off by one in either direction; no cost comes near 2⁵³.
        limit = int(min(self.cutoff * whole, 2.0**53)) + 1
        while limit / whole > self.cutoff:
            limit -= 1
        return limit


def _subtrees(tree: Tree) -> Subtrees:
    n = len(tree.codes)
    # Names and sizes in pre-order tell a tree in full.
    step = np.append(np.arange(1, n), -1)[:n]
    signs = run_codes(mix(tree.codes, tree.size.astype(np.uint64)), step, tree.size)
    codes, first, number = np.unique(signs, return_index=True, return_inverse=True)
    # Nodes sorted by parent: the roots, whose parent is -1, then the children of node 0, of node 1 ...
    by_parent = number[np.argsort(tree.parent, kind="stable")]
    n_children = np.bincount(tree.parent + 1, minlength=n + 1)
    starts_of = np.concatenate([[0], n_children.cumsum()])
    counts = n_children[first + 1]
    starts = np.concatenate([[0], counts.cumsum()])
    places = np.arange(starts[-1]) + np.repeat(starts_of[first + 1] - starts[:-1], counts)
    levels, level_counts = np.unique(mix(tree.codes, _depths(tree).astype(np.uint64)), return_counts=True)
    return Subtrees(
        codes,
        tree.codes[first],
        tree.size[first],
        starts,
        by_parent[places],
        by_parent[: n_children[0]],
        levels,
        level_counts,
    )


def _depths(tree: Tree) -> NDArray[np.int64]:
    n = len(tree.size)
    ended = np.bincount(np.arange(n) + tree.size, minlength=n + 1)[:n].cumsum()
    depths: NDArray[np.int64] = np.arange(n) - ended
    return depths


def _add(page: Subtrees, mappings: Mappings) -> tuple[int, ...]:
    """Make a page's subtrees known and give the numbers of its roots."""
    starts, children = page.starts.tolist(), page.children.tolist()
    numbers = mappings.add(
        page.codes.tolist(),
        page.names.tolist(),
        page.sizes.tolist(),
        [children[start:stop] for start, stop in pairwise(starts)],
    )
    return tuple(numbers[root] for root in page.roots.tolist())


def _least_cost(a: Subtrees, b: Subtrees) -> int:
    """Bound the cost of a mapping from below: it maps nodes of one depth, and those of other names at cost 1."""
    _, in_a, in_b = np.intersect1d(a.levels, b.levels, assume_unique=True, return_indices=True)
    alike = int(np.minimum(a.counts[in_a], b.counts[in_b]).sum())
    return max(a.n_nodes, b.n_nodes) - alike
