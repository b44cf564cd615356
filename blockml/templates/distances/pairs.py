"""Nodes that a restricted top-down mapping of least cost maps to each other, for display with the distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.templates.distances.hashing import mix, run_codes
from blockml.templates.distances.mappings import Mappings
from blockml.templates.distances.sketches import PageSketch, TagTree

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
