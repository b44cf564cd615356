"""Equal top-down mapping of one tree to another (Alarte et al. 2014, definitions 3.1 and 3.2, algorithm 2).

A mapping is a set of pairs of nodes: one-to-one, of equal nodes only, and closed upwards, so that the parents of a
pair are a pair. Nothing recurses: pairs whose children are still to be mapped wait on a stack.

What keeps the work small, in this order. Below a pair whose sub-trees are the same in all respects, each node is
mapped to its own likeness without comparing anything else, which is what the greedy choice would give as well.
Children are compared only with children of the same name and, if texts have to be equal, text. Where even so more
than ``MAX_PAIRS`` pairs are left, a child meets only those that stand up to ``BAND`` steps away, counted from the
front or from the back of both lists, and those that share its id or its class names and attributes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.templates.mapping.similarity import PRESETS, Comparison, NodeEquality, Side
from blockml.templates.mapping.tree import Tree

__all__ = ["MATCHINGS", "map_trees"]

#: How the children of a pair are paired, by name.
MATCHINGS = ("greedy", "optimal")

#: Pairs of children that are all compared: 300 by 300. Our choice.
MAX_PAIRS = 90_000

#: Steps that two children of longer lists may stand apart. Our choice.
BAND = 50

#: Pairs of children that are compared in any list: where it would be more, the band is narrower. Our choice.
MAX_BAND_PAIRS = 1_000_000

#: Fewer pairs are scored one by one: below it, arrays cost more than they save. Our choice.
_FEW_PAIRS = 24

#: Children from which on a node is very wide (authors' public implementation).
_WIDE = 200

#: Base of the hashes of rows that follow each other. Any odd number will do; this one is 2**64 by the golden ratio.
_BASE = 0x9E3779B97F4A7C15

_Pairs = list[tuple[int, int]]
_Index = NDArray[np.intp]


def map_trees(
    a: Tree,
    b: Tree,
    equality: str | NodeEquality = PRESETS["hybex"],
    *,
    matching: str = "greedy",
    group: int | None = None,
) -> NDArray[np.int32]:
    """Map one tree to another.

    The first roots are mapped if they have one name. Of the children of a pair, the two that are most alike are
    mapped first, then the next two of those that are left, as long as they are equal; ties go to the first in
    document order.

    Parameters
    ----------
    a, b
        The trees, whole or restricted.
    equality
        When nodes are equal: a key of :data:`PRESETS`, or settings of its own.
    matching
        ``greedy``, as above and in the public implementation, or ``optimal``: the pairing of each list of children
        with the largest sum of similarities. Lists too long to compare all pairs are paired greedily even then.
    group
        Cut the children of a very wide pair (one has more than 200 children, at least half of them of one name) into
        runs of this length, and map the first run to the first, the second to the second and so on. The public
        implementation has 20; off by default.

    Returns
    -------
    NDArray[np.int32]
        (n_a,) row of ``b`` that each row of ``a`` is mapped to; -1 without one.

    Raises
    ------
    UnknownNameError
        No such equality or matching.
    UsageError
        Runs shorter than 1.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.mapping.tree import tree_of
    >>> one, two = (tree_of(blockml.parse(f"<p>{text}</p><p id=foot>end</p>")) for text in ("old", "new"))
    >>> map_trees(one, two).tolist()
    [0, 1, 2, 3, -1, 5, 6]
    """
    if matching not in MATCHINGS:
        raise UnknownNameError("matching", matching, MATCHINGS)
    if group is not None and group < 1:
        raise UsageError(f"runs of children have one at least, not {group}")
    partner = np.full(len(a), -1, dtype=np.int32)
    comparison = Comparison(a, b, equality)
    if not len(a) or not len(b) or a.name(0) != b.name(0):
        return partner
    mapper = _Mapper(comparison, matching, group)
    same_below = _Likeness(comparison)
    ends_a, ends_b = a.end.tolist(), b.end.tolist()
    waiting: _Pairs = [(0, 0)]
    # Content after the first </html> has roots of its own.
    waiting += mapper.pairs(_children(ends_a, ends_a[0], len(a)), _children(ends_b, ends_b[0], len(b)))
    while waiting:
        i, j = waiting.pop()
        partner[i] = j
        end_a, end_b = ends_a[i], ends_b[j]
        if end_a == i + 1 or end_b == j + 1:
            continue
        if same_below(i, j):
            partner[i + 1 : end_a] = np.arange(j + 1, end_b)
        else:
            waiting += mapper.pairs(_children(ends_a, i + 1, end_a), _children(ends_b, j + 1, end_b))
    return partner


def _children(ends: list[int], first: int, stop: int) -> list[int]:
    """Rows from ``first`` on that follow each other as siblings."""
    rows = []
    while first < stop:
        rows.append(first)
        first = ends[first]
    return rows


class _Mapper:
    """Pairs the children of two nodes."""

    def __init__(self, comparison: Comparison, matching: str, group: int | None) -> None:
        self._comparison = comparison
        self._kinds_a, self._kinds_b = comparison.kinds()
        self._in_order = comparison.is_uniform
        self._choose: Callable[[NDArray[np.float64]], _Pairs] | None = _optimal if matching == "optimal" else None
        self._group = group

    def pairs(self, rows_a: list[int], rows_b: list[int]) -> _Pairs:
        """Pairs of two lists of siblings."""
        step = self._group
        if not step or not (_is_wide(self._comparison.a, rows_a) or _is_wide(self._comparison.b, rows_b)):
            return self._by_kind(rows_a, rows_b)
        found: _Pairs = []
        for start in range(0, min(len(rows_a), len(rows_b)), step):
            found += self._by_kind(rows_a[start : start + step], rows_b[start : start + step])
        return found

    def _by_kind(self, rows_a: list[int], rows_b: list[int]) -> _Pairs:
        """Pairs of two lists: rows of different kinds are never equal, so each kind is paired alone."""
        if len(rows_a) == len(rows_b) == 1:
            return self._some(rows_a, rows_b) if self._kinds_a[rows_a[0]] == self._kinds_b[rows_b[0]] else []
        of_kind: dict[int, list[int]] = defaultdict(list)
        for row in rows_b:
            of_kind[self._kinds_b[row]].append(row)
        mine: dict[int, list[int]] = defaultdict(list)
        for row in rows_a:
            if (kind := self._kinds_a[row]) in of_kind:
                mine[kind].append(row)
        return [pair for kind, rows in mine.items() for pair in self._some(rows, of_kind[kind])]

    def _some(self, rows_a: list[int], rows_b: list[int]) -> _Pairs:
        """Pairs of two lists of one kind."""
        if self._in_order:
            return list(zip(rows_a, rows_b, strict=False))
        comparison = self._comparison
        n_pairs, n_most = len(rows_a) * len(rows_b), min(len(rows_a), len(rows_b))
        if n_pairs == 1:
            return [(rows_a[0], rows_b[0])] if comparison.score(rows_a[0], rows_b[0]) >= comparison.limit else []
        if self._choose and n_pairs <= MAX_PAIRS:
            left, right = np.repeat(rows_a, len(rows_b)), np.tile(rows_b, len(rows_a))
            scores = comparison.scores(left, right)
            scores[scores < comparison.limit] = 0
            return [(rows_a[x], rows_b[y]) for x, y in self._choose(scores.reshape(len(rows_a), -1))]
        if n_pairs <= _FEW_PAIRS:
            found = [(-comparison.score(x, y), x, y) for x in rows_a for y in rows_b]
            return _disjoint([(x, y) for score, x, y in sorted(found) if -score >= comparison.limit], n_most)
        left, right, scores = _equal(comparison, *_candidates(comparison, rows_a, rows_b))
        best_first = np.lexsort((right, left, -scores))
        return _disjoint(zip(left[best_first].tolist(), right[best_first].tolist(), strict=True), n_most)


def _is_wide(side: Side, rows: list[int]) -> bool:
    """Whether these are the children of a very wide node."""
    return len(rows) > _WIDE and 2 * int(np.bincount(side.tag[rows]).max()) >= len(rows)


def _disjoint(pairs: Iterable[tuple[int, int]], n_most: int) -> _Pairs:
    """The pairs that share no row with an earlier one that was taken, ``n_most`` at most."""
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


def _optimal(scores: NDArray[np.float64]) -> _Pairs:
    """The pairs of positive score with the largest sum."""
    from scipy.optimize import linear_sum_assignment

    left, right = linear_sum_assignment(scores, maximize=True)
    chosen = scores[left, right] > 0
    return list(zip(left[chosen].tolist(), right[chosen].tolist(), strict=True))


def _candidates(comparison: Comparison, rows_a: Sequence[int], rows_b: Sequence[int]) -> tuple[_Index, _Index]:
    """Pairs to compare: all of them if they aren't too many, else those in reach of each other."""
    n_a, n_b = len(rows_a), len(rows_b)
    own, others = np.array(rows_a, dtype=np.intp), np.array(rows_b, dtype=np.intp)
    if n_a * n_b <= MAX_PAIRS:
        return np.repeat(own, n_b), np.tile(others, n_a)
    band = min(BAND, max(1, MAX_BAND_PAIRS // (4 * n_a)))
    steps = np.arange(-band, band + 1)
    places = np.arange(n_a)[:, None]
    from_front, from_back = places + steps, places + n_b - n_a + steps
    reach = np.concatenate([from_front, from_back], axis=1)
    left = np.repeat(np.arange(n_a), reach.shape[1])
    right = reach.reshape(-1)
    legal = (right >= 0) & (right < n_b)
    joined = _joined(comparison, rows_a, rows_b)
    return (np.concatenate([own[left[legal]], joined[:, 0]]), np.concatenate([others[right[legal]], joined[:, 1]]))


def _equal(comparison: Comparison, left: _Index, right: _Index) -> tuple[_Index, _Index, NDArray[np.float64]]:
    """The pairs of equal rows and their scores; in chunks, so that what is computed on the way stays small."""
    scores = np.empty(len(left))
    for start in range(0, len(left), MAX_PAIRS):
        chunk = slice(start, start + MAX_PAIRS)
        scores[chunk] = comparison.scores(left[chunk], right[chunk])
    equal = scores >= comparison.limit
    return left[equal], right[equal], scores[equal]


def _joined(comparison: Comparison, rows_a: Sequence[int], rows_b: Sequence[int]) -> _Index:
    """(n, 2) pairs that share an id, or class names and attributes: the first of a kind with the first, and so on."""
    pairs: _Pairs = []
    for look in (_ids, _looks):
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for row, key in zip(rows_b, look(comparison.b, rows_b), strict=True):
            waiting[key].append(row)
        for row, key in zip(rows_a, look(comparison.a, rows_a), strict=True):
            if key is not None and waiting.get(key):
                pairs.append((row, waiting[key].popleft()))
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def _ids(side: Side, rows: Sequence[int]) -> list[int | None]:
    return [None if key < 0 else key for key in side.ids[rows].tolist()]


def _looks(side: Side, rows: Sequence[int]) -> list[tuple[int, int] | None]:
    looks = zip(side.classes[rows].tolist(), side.attributes[rows].tolist(), strict=True)
    return [look if look[1] > 0 else None for look in looks]


class _Likeness:
    """Tells whether all that is below one row is the same as below a row of the other tree."""

    def __init__(self, comparison: Comparison) -> None:
        self._usable = comparison.knows_itself
        self._labels_a, self._sums_a = _summed(comparison.a)
        self._labels_b, self._sums_b = _summed(comparison.b)
        self._ends_a, self._ends_b = comparison.a.tree.end.tolist(), comparison.b.tree.end.tolist()
        self._n_children_a = comparison.a.tree.n_children.tolist()
        self._n_children_b = comparison.b.tree.n_children.tolist()
        self._powers = _powers(max(len(self._labels_a), len(self._labels_b))).tolist()

    def __call__(self, i: int, j: int) -> bool:
        """Whether it is; what the two rows are themselves doesn't matter."""
        end_a, end_b = self._ends_a[i], self._ends_b[j]
        if not self._usable or end_a - i != end_b - j or self._n_children_a[i] != self._n_children_b[j]:
            return False
        # Sums over stretches of labels, each times a power that grows with its row, lifted to the same power.
        sum_a = self._sums_a[end_a] - self._sums_a[i + 1]
        sum_b = self._sums_b[end_b] - self._sums_b[j + 1]
        if (sum_a * self._powers[max(j - i, 0)] - sum_b * self._powers[max(i - j, 0)]) % 2**64:
            return False
        return bool((self._labels_a[i + 1 : end_a] == self._labels_b[j + 1 : end_b]).all())


def _summed(side: Side) -> tuple[NDArray[np.uint64], list[int]]:
    """(n,) a hash of all that a row is, and (n + 1,) sums of them times powers, modulo 2**64."""
    tree = side.tree
    size = tree.end - np.arange(len(tree))
    labels = np.zeros(len(tree), dtype=np.uint64)
    columns = (side.tag, side.ids, side.classes, side.attributes, tree.texts, tree.n_children, tree.position, size)
    for column in columns:
        labels = (labels ^ column.astype(np.uint64)) * np.uint64(_BASE)
        labels ^= labels >> np.uint64(29)
    return labels, [0, *np.cumsum(labels * _powers(len(tree)), dtype=np.uint64).tolist()]


def _powers(n: int) -> NDArray[np.uint64]:
    """(n,) powers of the base, from 0 on, modulo 2**64."""
    powers = np.full(n, _BASE, dtype=np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)
