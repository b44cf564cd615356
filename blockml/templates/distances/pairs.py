"""Restricted top-down mappings between subtrees: their costs, and the nodes that they pair."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import accumulate
from math import inf

import numpy as np
from numpy.typing import NDArray

from blockml.templates.distances.sketches import PageSketch, TagTree, mix, run_codes

_Ints = NDArray[np.int64]


def mapped_elements(a: PageSketch, b: PageSketch) -> NDArray[np.int32]:
    """Return the (n_a,) elements of ``b`` that those of ``a`` are mapped to by RTDM, −1 for none.

    Among equally cheap mappings, one with late pairs is chosen. Names of mapped elements may differ; elements without a
    partner are deleted or inserted with all their descendants.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.distances import sketch
    >>> one, two = (sketch(blockml.parse(html)) for html in ("<ul><li>a<li>b</ul><p>c", "<ol><li>a</ol><p>c"))
    >>> mapped_elements(one, two).tolist()
    [0, 1, 2, 3, -1, 4, 5]
    """
    partner = np.full(len(a), -1, dtype=np.int32)
    mappings = Mappings()
    numbers_a, numbers_b = _numbered(a, mappings), _numbered(b, mappings)
    size_a, size_b = _sizes(a).tolist(), _sizes(b).tolist()
    children_a, children_b = _children(a), _children(b)
    waiting = [(children_a[-1], children_b[-1])]
    while waiting:
        rows, columns = waiting.pop()
        for x, y in _aligned(rows, columns, numbers_a, numbers_b, size_a, size_b, mappings):
            partner[x] = y
            if numbers_a[x] == numbers_b[y]:
                partner[x : x + size_a[x]] = np.arange(y, y + size_b[y])
            else:
                waiting.append((children_a[x], children_b[y]))
    return partner


def _aligned(
    rows: Sequence[int],
    columns: Sequence[int],
    numbers_a: Sequence[int],
    numbers_b: Sequence[int],
    size_a: Sequence[int],
    size_b: Sequence[int],
    mappings: Mappings,
) -> list[tuple[int, int]]:
    """Return the pairs of two lists of siblings in a mapping of least cost."""
    deleted = np.concatenate([[0], np.cumsum([size_a[x] for x in rows])]).astype(np.int64)
    inserted = np.concatenate([[0], np.cumsum([size_b[y] for y in columns])]).astype(np.int64)
    best = np.empty((len(rows) + 1, len(columns) + 1), dtype=np.int64)
    best[0], best[:, 0] = inserted, deleted
    known: dict[tuple[int, int], int] = {}

    def cost(i: int, j: int) -> int:
        pair = numbers_a[rows[i]], numbers_b[columns[j]]
        if pair not in known:
            known[pair] = int(mappings.cost([pair[0]], [pair[1]])) if pair[0] != pair[1] else 0
        return known[pair]

    for i in range(len(rows)):
        for j in range(len(columns)):
            apart = min(best[i, j + 1] + size_a[rows[i]], best[i + 1, j] + size_b[columns[j]])
            best[i + 1, j + 1] = min(apart, best[i, j] + cost(i, j))
    pairs = []
    i, j = len(rows), len(columns)
    while i and j:
        together = best[i - 1, j - 1] + cost(i - 1, j - 1)
        # Mapping at the cost of deleting and inserting both does not count as a mapping.
        gains = cost(i - 1, j - 1) < size_a[rows[i - 1]] + size_b[columns[j - 1]]
        if gains and best[i, j] == together:
            i, j = i - 1, j - 1
            pairs.append((rows[i], columns[j]))
        elif best[i, j] == best[i - 1, j] + size_a[rows[i - 1]]:
            i -= 1
        else:
            j -= 1
    return pairs


def _sizes(page: PageSketch) -> _Ints:
    """Return (n,) numbers of elements of each subtree."""
    return page.end.astype(np.int64) - np.arange(len(page))


def _children(page: PageSketch) -> dict[int, list[int]]:
    """Return the children of each element in document order; the roots at −1."""
    found: dict[int, list[int]] = {row: [] for row in range(-1, len(page))}
    for row, parent in enumerate(page.parent.tolist()):
        found[parent].append(row)
    return found


def _numbered(page: PageSketch, mappings: Mappings) -> list[int]:
    """Add the distinct subtrees of a page and return the number of each element's subtree."""
    tree = TagTree.of(page, with_text=False)
    n = len(tree.codes)
    step = np.append(np.arange(1, n), -1)[:n]
    signs = run_codes(mix(tree.codes, tree.size.astype(np.uint64)), step, tree.size)
    codes, first, number = np.unique(signs, return_index=True, return_inverse=True)
    children = _children(page)
    below = [[int(number[child]) for child in children[int(row)]] for row in first]
    numbers = mappings.add(codes.tolist(), tree.codes[first].tolist(), tree.size[first].tolist(), below)
    return [numbers[place] for place in number.tolist()]


# Number of children above which a row of the table is computed as an array; for fewer, NumPy's overhead exceeds the
# cost of a loop (measured).
_WIDE = 80

# Cached costs, about 150 bytes each. Our choice.
_MAX_COSTS = 2_000_000

#: Dynamic-programming table as a coroutine: yields (subtree, subtree, limit) to request a cost, returns its own cost.
_Table = Generator[tuple[int, int, float], float, float]


class Mappings:
    """Numbered distinct subtrees and a cache of the costs of mapping them to each other.

    Lives for the comparisons of one block of a matrix. Pending tables wait on a stack, so nothing recurses.
    """

    __slots__ = ("_beyond", "_children", "_costs", "_names", "_numbers", "_sizes")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._names: list[int] = []
        self._sizes: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._costs: dict[tuple[int, int], float] = {}
        self._beyond: dict[tuple[int, int], float] = {}  # lower bounds of costs that exceeded a limit

    def add(
        self, codes: Sequence[int], names: Sequence[int], sizes: Sequence[int], children: Sequence[Sequence[int]]
    ) -> list[int]:
        """Return the number of each subtree, numbering new ones.

        ``codes``, ``names`` and ``sizes`` hold the hash, root name and node count of each distinct subtree of a page;
        ``children`` the indices of its children among them.
        """
        new = []
        numbers = []
        for index, code in enumerate(codes):
            number = self._numbers.setdefault(code, len(self._numbers))
            if number == len(self._names):
                new.append(index)
                self._names.append(names[index])
                self._sizes.append(sizes[index])
            numbers.append(number)
        self._children.extend(tuple(numbers[child] for child in children[index]) for index in new)
        return numbers

    def cost(self, a: Sequence[int], b: Sequence[int], limit: float = inf) -> float:
        """Return the integer cost of mapping one sequence of subtrees to another; ``inf`` if it exceeds ``limit``."""
        tables: list[_Table] = []  # each waits for the one after it
        requests: list[tuple[int, int, float]] = []  # pairs of subtrees and their limits
        started = self._start(a, b, limit)
        while True:
            answer = None
            if not isinstance(started, (int, float)):
                tables.append(started)
            elif not requests:
                return started
            else:
                answer = self._store(*requests.pop(), started)
            try:
                x, y, limit = next(tables[-1]) if answer is None else tables[-1].send(answer)
            except StopIteration as done:
                tables.pop()
                started = done.value
            else:
                requests.append((x, y, limit))
                started = self._start(self._children[x], self._children[y], limit - (self._names[x] != self._names[y]))

    def _store(self, x: int, y: int, limit: float, cost_below: float) -> float:
        """Add the cost of the roots to that of their children, and cache it."""
        cost = cost_below + (self._names[x] != self._names[y])
        kept, value = (self._costs, cost) if cost < inf else (self._beyond, limit)
        if len(kept) >= _MAX_COSTS:
            kept.clear()
        kept[(x, y) if x < y else (y, x)] = value
        return cost

    def _start(self, a: Sequence[int], b: Sequence[int], limit: float) -> _Table | float:
        """Start the table of two sequences of children, or return the cost if it needs no table.

        Equal subtrees at either end are mapped to each other: no mapping is cheaper, because the sizes of two subtrees
        differ by at most the cost of their mapping.
        """
        shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
        most = len(shorter)
        first = 0
        while first < most and shorter[first] == longer[first]:
            first += 1
        most -= first
        last = 0
        while last < most and shorter[-1 - last] == longer[-1 - last]:
            last += 1
        shorter = shorter[first : len(shorter) - last]
        longer = longer[first : len(longer) - last]
        sizes = self._sizes
        before = [0, *accumulate([sizes[y] for y in longer])]
        if abs(sum([sizes[x] for x in shorter]) - before[-1]) > limit:
            return inf
        if not shorter:
            return before[-1]
        rows = self._wide_rows if len(longer) >= _WIDE else self._rows
        return rows(shorter, longer, before, limit)

    def _rows(self, shorter: Sequence[int], longer: Sequence[int], before: list[int], limit: float) -> _Table:
        """Fill the table with two rows in memory; request only costs that can lower the minimum."""
        sizes, names, children, costs, beyond = self._sizes, self._names, self._children, self._costs, self._beyond
        columns = [(y, sizes[y], names[y]) for y in longer]
        rest = sum([sizes[x] for x in shorter]) - before[-1]
        above: list[float] = [*before]
        for x in shorter:
            size, name, has_children = sizes[x], names[x], bool(children[x])
            mapped = above[0]
            best = mapped + size
            row = [best]
            for (y, other_size, other_name), upper in zip(columns, above[1:], strict=True):
                # Inner loop: calling min() would double its time.
                best += other_size
                if upper + size < best:  # noqa: PLR1730
                    best = upper + size
                if x == y:
                    if mapped < best:  # noqa: PLR1730
                        best = mapped
                elif mapped + (abs(size - other_size) or 1) < best:
                    if has_children and children[y]:
                        pair = (x, y) if x < y else (y, x)
                        cost = costs.get(pair)
                        if cost is None:
                            known = limit < inf and beyond.get(pair, -1) >= limit - mapped
                            cost = inf if known else (yield x, y, limit - mapped)
                    else:  # a leaf: everything below the other node is deleted or inserted
                        cost = (name != other_name) + size + other_size - 2
                    if mapped + cost < best:  # noqa: PLR1730
                        best = mapped + cost
                row.append(best)
                mapped = upper
            above = row
            rest -= size
            if limit < inf and min([cost + abs(rest + done) for cost, done in zip(row, before, strict=True)]) > limit:
                return inf
        return above[-1] if above[-1] <= limit else inf

    def _wide_rows(self, shorter: Sequence[int], longer: Sequence[int], before: list[int], limit: float) -> _Table:
        """Fill the table row by row as arrays, from the costs of all pairs of distinct subtrees."""
        rows, row_of = np.unique(shorter, return_inverse=True)
        columns, column_of = np.unique(longer, return_inverse=True)
        costs = yield from self._all_costs(rows.tolist(), columns.tolist(), limit)
        done = np.array(before, dtype=np.float64)
        above = done
        sizes = [self._sizes[x] for x in shorter]
        rest = sum(sizes)
        for size, x in zip(sizes, row_of.tolist(), strict=True):
            row = above + size
            np.minimum(row[1:], above[:-1] + costs[x][column_of], out=row[1:])
            # Cheapest run of insertions from the left.
            above = np.minimum.accumulate(row - done) + done
            rest -= size
            if limit < inf and (above + np.abs(rest - done[-1] + done)).min() > limit:
                return inf
        return int(above[-1]) if above[-1] <= limit else inf

    def _all_costs(
        self, rows: list[int], columns: list[int], limit: float
    ) -> Generator[tuple[int, int, float], float, NDArray[np.float64]]:
        """Return (rows, columns) costs of mapping distinct subtrees."""
        names, sizes = ([column[k] for k in rows + columns] for column in (self._names, self._sizes))
        name_of, size_of = np.array(names, dtype=np.uint64), np.array(sizes, dtype=np.float64)
        n = len(rows)
        # Exact where either subtree is a leaf.
        costs: NDArray[np.float64] = (name_of[:n, None] != name_of[n:]) + size_of[:n, None] + size_of[n:] - 2
        inner = [(j, y) for j, y in enumerate(columns) if self._children[y]]
        for i, x in enumerate(rows):
            for j, y in inner if self._children[x] else ():
                pair = (x, y) if x < y else (y, x)
                cost = self._costs.get(pair)
                if cost is None and x != y:
                    cost = inf if self._beyond.get(pair, -1) >= limit else (yield x, y, limit)
                costs[i, j] = cost or 0
        costs[np.equal.outer(rows, columns)] = 0
        return costs
