"""Equal top-down mapping of one tree to another (Alarte et al. 2014, definitions 3.1 and 3.2, algorithm 2).

A mapping is a set of pairs of equal nodes: one-to-one, and closed under parents. Trees are mapped level by level, so
that nothing recurses and the children of many pairs are compared at once.

Three measures bound the work. Below a pair with identical subtrees each node is mapped to its counterpart without
comparisons, like the greedy choice would. Children are compared only with children of equal name and, if texts must be
equal, text. If more than ``MAX_PAIRS`` pairs remain, a child is compared only with those at most ``BAND`` positions
away, counted from either end, and with those of the same id or the same class names and attributes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.templates.frequency.counts import ranges
from blockml.templates.mapping.similarity import EQUALITIES, NodeComparison, NodeEquality, Side
from blockml.templates.mapping.tree import Tree

#: Matchings of the children of a pair.
MATCHINGS = ("greedy", "optimal")

#: Maximum pairs of children for comparing all of them: 300 by 300. Our choice.
MAX_PAIRS = 90_000

#: Maximum distance in position at which children of longer lists are compared. Our choice.
BAND = 50

#: Maximum pairs of children compared in any list; for longer lists the band is narrower. Our choice.
MAX_BAND_PAIRS = 1_000_000

#: Number of pairs, of several lists of children, that are compared at once. Our choice.
_AT_ONCE = 4096

#: Base of rolling hashes, any odd number; this one is 2**64 divided by the golden ratio.
_BASE = 0x9E3779B97F4A7C15

_Pairs = list[tuple[int, int]]
_Lists = tuple[list[int], list[int]]
_Index = NDArray[np.intp]


def map_trees(
    a: Tree, b: Tree, equality: str | NodeEquality = EQUALITIES["hybex"], *, matching: str = "greedy"
) -> NDArray[np.int32]:
    """Map one tree to another.

    The first roots are mapped if their names are equal. Of the children of a pair, the two most similar are mapped
    first, then the next two of the rest, while they are equal; ties go to the first in document order. Returns the
    (n_a,) rows of ``b`` that the rows of ``a`` are mapped to; -1 without one. Raises UnknownNameError for an unknown
    equality or matching.

    Parameters
    ----------
    a, b
        Trees, whole or restricted.
    equality
        Equality of nodes: a key of :data:`EQUALITIES`, or settings.
    matching
        ``greedy``, as above and in the public implementation, or ``optimal``: the matching of two lists of children
        with the largest sum of similarities. Lists too long to compare all pairs are always matched greedily.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.mapping.tree import tree_of
    >>> one, two = (tree_of(blockml.parse(f"<p>{text}</p><p id=foot>end</p>")) for text in ("old", "new"))
    >>> map_trees(one, two).tolist()
    [0, 1, 2, 3, -1, 5, 6]
    """
    check_name("matching", matching, MATCHINGS)
    partner = np.full(len(a), -1, dtype=np.int32)
    comparison = NodeComparison(a, b, equality)
    if not len(a) or not len(b) or a.name(0) != b.name(0):
        return partner
    mapper = _Mapper(comparison, matching)
    same_below = _SameBelow(comparison)
    ends_a, ends_b = a.end.tolist(), b.end.tolist()
    # Content after the first </html> has its own roots.
    level = [(0, 0), *mapper.pairs([(_children(ends_a, ends_a[0], len(a)), _children(ends_b, ends_b[0], len(b)))])]
    while level:
        below: list[_Lists] = []
        for i, j in level:
            partner[i] = j
            end_a, end_b = ends_a[i], ends_b[j]
            if end_a == i + 1 or end_b == j + 1:
                continue
            if same_below(i, j):
                partner[i + 1 : end_a] = np.arange(j + 1, end_b)
            else:
                below.append((_children(ends_a, i + 1, end_a), _children(ends_b, j + 1, end_b)))
        level = mapper.pairs(below)
    return partner


def _children(ends: list[int], first: int, stop: int) -> list[int]:
    """Return the siblings starting at row ``first``."""
    rows = []
    while first < stop:
        rows.append(first)
        first = ends[first]
    return rows


class _Mapper:
    """Matches the children of pairs of nodes."""

    def __init__(self, comparison: NodeComparison, matching: str) -> None:
        self._comparison = comparison
        self._kinds_a, self._kinds_b = comparison.kinds()
        self._is_optimal = matching == "optimal"

    def pairs(self, siblings: Iterable[_Lists]) -> _Pairs:
        """Match pairs of lists of siblings, kind by kind, because rows of different kinds are never equal."""
        found: _Pairs = []
        batch: list[_Lists] = []
        n_waiting = 0
        for rows_a, rows_b in chain.from_iterable(map(self._by_kind, siblings)):
            n_pairs = len(rows_a) * len(rows_b)
            if self._is_optimal and 1 < n_pairs <= MAX_PAIRS:
                found += self._optimal(rows_a, rows_b)
            elif n_pairs > MAX_PAIRS:
                found += self._greedy([(rows_a, rows_b)], *_near_pairs(self._comparison, rows_a, rows_b))
            else:
                batch.append((rows_a, rows_b))
                n_waiting += n_pairs
                if n_waiting >= _AT_ONCE:
                    found += self._greedy(batch, *_all_pairs(batch))
                    batch, n_waiting = [], 0
        return found + self._greedy(batch, *_all_pairs(batch)) if batch else found

    def _by_kind(self, siblings: _Lists) -> Iterator[_Lists]:
        """Yield the rows of each kind that both lists have."""
        of_kind: dict[int, list[int]] = defaultdict(list)
        for row in siblings[1]:
            of_kind[self._kinds_b[row]].append(row)
        mine: dict[int, list[int]] = defaultdict(list)
        for row in siblings[0]:
            if (kind := self._kinds_a[row]) in of_kind:
                mine[kind].append(row)
        return ((rows, of_kind[kind]) for kind, rows in mine.items())

    def _optimal(self, rows_a: list[int], rows_b: list[int]) -> _Pairs:
        """Match two lists of one kind with the largest sum of similarities."""
        from scipy.optimize import linear_sum_assignment

        scores = self._comparison.scores(*_all_pairs([(rows_a, rows_b)]))
        scores[scores < self._comparison.limit] = 0
        table = scores.reshape(len(rows_a), -1)
        left, right = linear_sum_assignment(table, maximize=True)
        return [(rows_a[x], rows_b[y]) for x, y in zip(left, right, strict=True) if table[x, y] > 0]

    def _greedy(self, lists: Sequence[_Lists], left: _Index, right: _Index) -> _Pairs:
        """Match lists of one kind each, given the pairs to compare, the most similar first."""
        scores = np.empty(len(left))
        for start in range(0, len(left), MAX_PAIRS):  # in chunks, to bound the memory
            chunk = slice(start, start + MAX_PAIRS)
            scores[chunk] = self._comparison.scores(left[chunk], right[chunk])
        equal = scores >= self._comparison.limit
        left, right, scores = left[equal], right[equal], scores[equal]
        best_first = np.lexsort((right, left, -scores))
        n_most = sum(min(len(rows_a), len(rows_b)) for rows_a, rows_b in lists)
        return _disjoint(zip(left[best_first].tolist(), right[best_first].tolist(), strict=True), n_most)


def _disjoint(pairs: Iterable[tuple[int, int]], n_most: int) -> _Pairs:
    """Select at most ``n_most`` pairs greedily, so that no two share a row."""
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    taken = []
    for x, y in pairs:
        if x not in taken_a and y not in taken_b:
            taken.append((x, y))
            taken_a.add(x)
            taken_b.add(y)
            if len(taken) == n_most:
                break
    return taken


def _all_pairs(lists: Sequence[_Lists]) -> tuple[_Index, _Index]:
    """Return all pairs of rows of each pair of lists."""
    left = np.array([row for rows_a, _ in lists for row in rows_a], dtype=np.intp)
    of_list = np.repeat(np.arange(len(lists)), [len(rows_a) for rows_a, _ in lists])
    right = np.array([row for _, rows_b in lists for row in rows_b], dtype=np.intp)
    sizes = np.array([len(rows_b) for _, rows_b in lists])
    starts = (np.cumsum(sizes) - sizes)[of_list]
    return np.repeat(left, sizes[of_list]), right[ranges(starts, sizes[of_list])]


def _near_pairs(comparison: NodeComparison, rows_a: Sequence[int], rows_b: Sequence[int]) -> tuple[_Index, _Index]:
    """Return the pairs of rows of long lists that are within the band, or have equal attributes."""
    n_a, n_b = len(rows_a), len(rows_b)
    own, others = np.array(rows_a, dtype=np.intp), np.array(rows_b, dtype=np.intp)
    band = min(BAND, max(1, MAX_BAND_PAIRS // (4 * n_a)))
    steps = np.arange(-band, band + 1)
    places = np.arange(n_a)[:, None]
    from_front, from_back = places + steps, places + n_b - n_a + steps
    reach = np.concatenate([from_front, from_back], axis=1)
    left = np.repeat(np.arange(n_a), reach.shape[1])
    right = reach.reshape(-1)
    legal = (right >= 0) & (right < n_b)
    joined = _joined(comparison, rows_a, rows_b)
    return np.concatenate([own[left[legal]], joined[:, 0]]), np.concatenate([others[right[legal]], joined[:, 1]])


def _joined(comparison: NodeComparison, rows_a: Sequence[int], rows_b: Sequence[int]) -> _Index:
    """Return (n, 2) pairs of rows that share an id, or class names and attributes.

    Of several rows with the same ones, the first of each list form a pair, then the second, and so on.
    """

    def keys(side: Side, rows: Sequence[int]) -> Iterator[tuple[int, Hashable]]:
        columns = (rows, side.ids[rows].tolist(), side.classes[rows].tolist(), side.attributes[rows].tolist())
        for row, own_id, classes, attributes in zip(*columns, strict=True):
            if own_id >= 0:
                yield row, own_id
            if attributes > 0:
                yield row, (classes, attributes)

    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for row, key in keys(comparison.b, rows_b):
        waiting[key].append(row)
    pairs = [(row, waiting[key].popleft()) for row, key in keys(comparison.a, rows_a) if waiting.get(key)]
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


class _SameBelow:
    """Tests whether the descendants of a row of each tree are identical."""

    def __init__(self, comparison: NodeComparison) -> None:
        self._usable = comparison.equates_identical
        self._labels_a, self._sums_a = _summed(comparison.a)
        self._labels_b, self._sums_b = _summed(comparison.b)
        self._ends_a, self._ends_b = comparison.a.tree.end.tolist(), comparison.b.tree.end.tolist()
        self._n_children_a = comparison.a.tree.n_children.tolist()
        self._n_children_b = comparison.b.tree.n_children.tolist()
        self._powers = _powers(max(len(self._labels_a), len(self._labels_b))).tolist()

    def __call__(self, i: int, j: int) -> bool:
        """Return whether the descendants are identical; the two rows themselves may differ."""
        end_a, end_b = self._ends_a[i], self._ends_b[j]
        if not self._usable or end_a - i != end_b - j or self._n_children_a[i] != self._n_children_b[j]:
            return False
        # Rolling hashes of the two stretches, multiplied up to the same power of the base.
        sum_a = self._sums_a[end_a] - self._sums_a[i + 1]
        sum_b = self._sums_b[end_b] - self._sums_b[j + 1]
        if (sum_a * self._powers[max(j - i, 0)] - sum_b * self._powers[max(i - j, 0)]) % 2**64:
            return False
        return bool((self._labels_a[i + 1 : end_a] == self._labels_b[j + 1 : end_b]).all())


def _summed(side: Side) -> tuple[NDArray[np.uint64], list[int]]:
    """Return (n,) hashes of the rows, and (n + 1,) cumulative sums of these times powers of the base, modulo 2**64."""
    tree = side.tree
    size = tree.end - np.arange(len(tree))
    labels = np.zeros(len(tree), dtype=np.uint64)
    columns = (side.tag, side.ids, side.classes, side.attributes, tree.texts, tree.n_children, tree.position, size)
    for column in columns:
        labels = (labels ^ column.astype(np.uint64)) * np.uint64(_BASE)
        labels ^= labels >> np.uint64(29)
    return labels, [0, *np.cumsum(labels * _powers(len(tree)), dtype=np.uint64).tolist()]


def _powers(n: int) -> NDArray[np.uint64]:
    """Return (n,) powers of the base modulo 2**64."""
    powers = np.full(n, _BASE, dtype=np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)
