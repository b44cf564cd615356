"""RTDM, a tree edit distance: its costs, computed once per pair of distinct subtrees, and the nodes that it pairs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError
from blockml.templates.distances.metric import MAX_NODES, Matrix, Metric, check_positive, check_size
from blockml.templates.distances.page_sketch import Codes, PageSketch, mix, run_codes

Norm = Literal["sum", "max"]


class Subtrees(NamedTuple):
    """Distinct subtrees of a page as columns; ``c`` distinct subtrees."""

    codes: Codes  #: (c,) hash of each subtree, sorted
    names: Codes  #: (c,) code of its root's name
    sizes: NDArray[np.int64]  #: (c,) number of its nodes
    starts: NDArray[np.int64]  #: (c + 1,) start of its children in ``children``
    children: NDArray[np.int64]  #: Children of each subtree in document order, as subtree indices
    roots: NDArray[np.int64]  #: Roots of the page in document order, as subtree indices
    of_elements: NDArray[np.int64]  #: Subtree of each element of the page, as subtree indices


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
    max_nodes: int = MAX_NODES  #: Largest page accepted, in nodes

    def __post_init__(self) -> None:
        if self.norm is not None and self.norm not in get_args(Norm):
            raise UnknownNameError("norm", str(self.norm), [*get_args(Norm), "None"])
        check_positive("max_nodes", self.max_nodes)

    def prepare(self, page: PageSketch) -> Subtrees:
        """Return the distinct subtrees; raise UsageError for more than ``max_nodes`` nodes."""
        check_size(self.name, len(page), self.max_nodes)
        return _subtrees(page)

    def compare(self, a: Subtrees, b: Subtrees) -> float:
        """Return the distance of two pages, at least 0."""
        return float(self.block([a], [b])[0, 0])

    def block(self, rows: Sequence[Subtrees], columns: Sequence[Subtrees]) -> Matrix:
        """Return (rows, columns) distances; pairs of subtrees that many pages share are compared once."""
        mappings = Mappings()
        roots = [_numbered(page, page.roots, mappings) for page in rows]
        others = roots if rows is columns else [_numbered(page, page.roots, mappings) for page in columns]
        distances = np.zeros((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if rows is columns else 0, len(columns)):
                if roots[i] != others[j]:
                    a, b = len(row.of_elements), len(columns[j].of_elements)
                    divisor = 1 if self.norm is None else max(a, b) if self.norm == "max" else a + b
                    distances[i, j] = mappings.cost(roots[i], others[j]) / divisor
        return distances


def _subtrees(page: PageSketch) -> Subtrees:
    n = len(page)
    names, sizes, parent = page.codes(), _sizes(page), page.parent.astype(np.int64)
    # Names and sizes in pre-order determine a tree.
    step = np.append(np.arange(1, n), -1)[:n]
    signs = run_codes(mix(names, sizes.astype(np.uint64)), step, sizes)
    codes, first, number = np.unique(signs, return_index=True, return_inverse=True)
    # Elements sorted by parent: the roots (parent -1), the children of element 0, of element 1 ...
    by_parent = number[np.argsort(parent, kind="stable")]
    n_children = np.bincount(parent + 1, minlength=n + 1)
    starts_of = np.concatenate([[0], n_children.cumsum()])
    counts = n_children[first + 1]
    starts = np.concatenate([[0], counts.cumsum()])
    places = np.arange(starts[-1]) + np.repeat(starts_of[first + 1] - starts[:-1], counts)
    roots = by_parent[: n_children[0]]
    return Subtrees(codes, names[first], sizes[first], starts, by_parent[places], roots, number)


def _numbered(page: Subtrees, wanted: NDArray[np.int64], mappings: Mappings) -> tuple[int, ...]:
    """Add a page's subtrees and return the numbers of the wanted ones."""
    starts, children = page.starts.tolist(), page.children.tolist()
    below = [children[start:stop] for start, stop in pairwise(starts)]
    numbers = mappings.add(page.codes.tolist(), page.names.tolist(), page.sizes.tolist(), below)
    return tuple([numbers[place] for place in wanted.tolist()])


def _sizes(page: PageSketch) -> NDArray[np.int64]:
    """Return (n,) numbers of elements of each subtree."""
    return page.end.astype(np.int64) - np.arange(len(page))


# Number of children above which a row of the table is computed as an array; for fewer, NumPy's overhead exceeds the
# cost of a loop (measured).
_WIDE = 80

# Cached costs, about 150 bytes each. Our choice.
_MAX_COSTS = 2_000_000

#: Dynamic-programming table as a coroutine: yields two subtrees to request a cost, returns its own cost.
_Table = Generator[tuple[int, int], int, int]


class Mappings:
    """Numbered distinct subtrees and a cache of the costs of mapping them to each other.

    Lives for the comparisons of one block of a matrix. Pending tables wait on a stack, so nothing recurses.
    """

    __slots__ = ("_children", "_costs", "_names", "_numbers", "_sizes")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._names: list[int] = []
        self._sizes: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._costs: dict[tuple[int, int], int] = {}

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

    def cost(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return the cost of mapping one sequence of subtrees to another."""
        tables: list[_Table] = []  # each waits for the one after it
        requests: list[tuple[int, int]] = []  # pairs of subtrees
        started = self._start(a, b)
        while True:
            answer = None
            if not isinstance(started, int):
                tables.append(started)
            elif not requests:
                return started
            else:
                answer = self._store(*requests.pop(), started)
            try:
                x, y = next(tables[-1]) if answer is None else tables[-1].send(answer)
            except StopIteration as done:
                tables.pop()
                started = done.value
            else:
                requests.append((x, y))
                started = self._start(self._children[x], self._children[y])

    def _store(self, x: int, y: int, cost_below: int) -> int:
        """Add the cost of the roots to that of their children, and cache it."""
        cost = cost_below + (self._names[x] != self._names[y])
        if len(self._costs) >= _MAX_COSTS:
            self._costs.clear()
        self._costs[(x, y) if x < y else (y, x)] = cost
        return cost

    def _start(self, a: Sequence[int], b: Sequence[int]) -> _Table | int:
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
        before = [0, *accumulate([self._sizes[y] for y in longer])]
        if not shorter:
            return before[-1]
        rows = self._wide_rows if len(longer) >= _WIDE else self._rows
        return rows(shorter, longer, before)

    def _rows(self, shorter: Sequence[int], longer: Sequence[int], before: list[int]) -> _Table:
        """Fill the table with two rows in memory; request only costs that can lower the minimum."""
        sizes, names, children, costs = self._sizes, self._names, self._children, self._costs
        columns = [(y, sizes[y], names[y]) for y in longer]
        above = before
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
                        cost = costs.get((x, y) if x < y else (y, x))
                        if cost is None:
                            cost = yield x, y
                    else:  # a leaf: everything below the other node is deleted or inserted
                        cost = (name != other_name) + size + other_size - 2
                    if mapped + cost < best:  # noqa: PLR1730
                        best = mapped + cost
                row.append(best)
                mapped = upper
            above = row
        return above[-1]

    def _wide_rows(self, shorter: Sequence[int], longer: Sequence[int], before: list[int]) -> _Table:
        """Fill the table row by row as arrays, from the costs of all pairs of distinct subtrees."""
        rows, row_of = np.unique(shorter, return_inverse=True)
        columns, column_of = np.unique(longer, return_inverse=True)
        costs = yield from self._all_costs(rows.tolist(), columns.tolist())
        done = above = np.array(before, dtype=np.int64)
        for x, row_number in zip(shorter, row_of.tolist(), strict=True):
            row = above + self._sizes[x]
            np.minimum(row[1:], above[:-1] + costs[row_number][column_of], out=row[1:])
            # Cheapest run of insertions from the left.
            above = np.minimum.accumulate(row - done) + done
        return int(above[-1])

    def _all_costs(self, rows: list[int], columns: list[int]) -> Generator[tuple[int, int], int, NDArray[np.int64]]:
        """Return (rows, columns) costs of mapping distinct subtrees."""
        names, sizes = ([column[k] for k in rows + columns] for column in (self._names, self._sizes))
        name_of, size_of = np.array(names, dtype=np.uint64), np.array(sizes, dtype=np.int64)
        n = len(rows)
        # Exact where either subtree is a leaf.
        costs: NDArray[np.int64] = (name_of[:n, None] != name_of[n:]) + size_of[:n, None] + size_of[n:] - 2
        inner = [(j, y) for j, y in enumerate(columns) if self._children[y]]
        for i, x in enumerate(rows):
            for j, y in inner if self._children[x] else ():
                if x != y:
                    cost = self._costs.get((x, y) if x < y else (y, x))
                    costs[i, j] = (yield x, y) if cost is None else cost
        costs[np.equal.outer(rows, columns)] = 0
        return costs


class _Side(NamedTuple):
    """Elements of one of two pages that are mapped to each other."""

    numbers: Sequence[int]  #: Number of each element's subtree
    sizes: Sequence[int]  #: Elements of each subtree
    children: dict[int, list[int]]  #: Children of each element in document order; the roots at −1

    @classmethod
    def of(cls, page: PageSketch, mappings: Mappings) -> _Side:
        """Number the subtrees of a page."""
        subtrees = _subtrees(page)
        children: dict[int, list[int]] = {row: [] for row in range(-1, len(page))}
        for row, parent in enumerate(page.parent.tolist()):
            children[parent].append(row)
        return cls(_numbered(subtrees, subtrees.of_elements, mappings), _sizes(page).tolist(), children)


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
    left, right = _Side.of(a, mappings), _Side.of(b, mappings)
    waiting = [(left.children[-1], right.children[-1])]
    while waiting:
        rows, columns = waiting.pop()
        for x, y in _aligned(rows, columns, left, right, mappings):
            partner[x] = y
            if left.numbers[x] == right.numbers[y]:
                partner[x : x + left.sizes[x]] = np.arange(y, y + right.sizes[y])
            else:
                waiting.append((left.children[x], right.children[y]))
    return partner


def _aligned(
    rows: Sequence[int], columns: Sequence[int], left: _Side, right: _Side, mappings: Mappings
) -> list[tuple[int, int]]:
    """Return the pairs of two lists of siblings in a mapping of least cost."""
    size_a, size_b = left.sizes, right.sizes
    deleted = np.concatenate([[0], np.cumsum([size_a[x] for x in rows])]).astype(np.int64)
    inserted = np.concatenate([[0], np.cumsum([size_b[y] for y in columns])]).astype(np.int64)
    best = np.empty((len(rows) + 1, len(columns) + 1), dtype=np.int64)
    best[0], best[:, 0] = inserted, deleted
    known: dict[tuple[int, int], int] = {}

    def cost(i: int, j: int) -> int:
        pair = left.numbers[rows[i]], right.numbers[columns[j]]
        if pair not in known:
            known[pair] = mappings.cost([pair[0]], [pair[1]]) if pair[0] != pair[1] else 0
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
