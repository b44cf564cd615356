"""Folds for cross-validation: over blocks (as published, but leaky), over pages and over sites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.text.sketches import NEAR_DUPLICATES
from blockml.training.table import BlockTable

#: Cross-validation protocols.
PROTOCOLS: Mapping[str, str] = {
    "block": "folds over all blocks, as in Kim et al. 2013; leaks: blocks of a page are in training and test folds",
    "page": "folds over pages",
    "site": "folds over sites: performance on unknown templates",
}


class _Fingerprinted(Protocol):
    """Page with fingerprints of its text, such as :class:`blockml.training.table.PageRows`."""

    @property
    def hash(self) -> str: ...
    @property
    def sketch(self) -> frozenset[int]: ...


def duplicate_groups(pages: Sequence[_Fingerprinted], keys: Sequence[str]) -> NDArray[np.int64]:
    """Number the groups that a split must keep together: pages with equal keys, and near duplicates.

    Returns
    -------
    NDArray[np.int64]
        (n_pages,) the index of each group's first page.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not pages:
        return np.zeros(0, dtype=np.int64)
    first_with: dict[str, int] = {}
    pairs = list(_near_duplicates(pages))
    for i, (page, key) in enumerate(zip(pages, keys, strict=True)):
        pairs.append((first_with.setdefault(f"key {key}", i), i))
        pairs.append((first_with.setdefault(f"hash {page.hash}", i), i))
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(len(pages), len(pages)))
    _, labels = connected_components(graph, directed=False)
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[group], dtype=np.int64)


def _near_duplicates(pages: Sequence[_Fingerprinted]) -> Iterator[tuple[int, int]]:
    """Yield pairs of near duplicates by index."""
    holders: dict[int, list[int]] = defaultdict(list)
    for i, page in enumerate(pages):
        shared: dict[int, int] = defaultdict(int)
        for value in page.sketch:
            for j in holders[value]:
                shared[j] += 1
            holders[value].append(i)
        for j, count in shared.items():
            if count >= NEAR_DUPLICATES * min(len(page.sketch), len(pages[j].sketch)):
                yield j, i


def fold_pages(groups: NDArray[np.int64], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Distribute groups of pages randomly over folds with about equal numbers of pages.

    Returns
    -------
    NDArray[np.int64]
        (n_pages,) fold of each page.

    Raises
    ------
    UsageError
        Fewer groups than folds.
    """
    names, sizes = np.unique(groups, return_counts=True)
    if not 2 <= n_folds <= len(names):
        raise UsageError(f"the number of folds must be between 2 and the number of groups, {len(names)}; got {n_folds}")
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]  # large ones first, for even folds
    load = np.zeros(n_folds, dtype=np.int64)
    fold_of = {}
    for i in order.tolist():
        fold = int(load.argmin())
        fold_of[int(names[i])] = fold
        load[fold] += sizes[i]
    return np.array([fold_of[int(group)] for group in groups], dtype=np.int64)


def folds(table: BlockTable, protocol: str, n_folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Choose the fold of every row, (n_rows,).

    Raises
    ------
    UnknownNameError
        No such protocol.
    UsageError
        Fewer pages or sites than folds.
    """
    check_name("protocol", protocol, PROTOCOLS)
    if protocol == "block":
        return block_folds(table, n_folds, seed)
    return page_folds(table, protocol, n_folds, seed)[table.page_of_row]


def page_folds(table: BlockTable, protocol: str, n_folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Choose the fold of every page, (n_pages,), for the protocol ``page`` or ``site``; raises UsageError as above."""
    return fold_pages(_groups(table, protocol), n_folds, seed)


def _groups(table: BlockTable, protocol: str) -> NDArray[np.int64]:
    pages = table.pages
    return duplicate_groups(pages, [page.site if protocol == "site" else page.id for page in pages])


def n_groups(table: BlockTable, protocol: str) -> int:
    """Count blocks, distinct pages or sites, which is the maximum number of folds of a protocol."""
    return len(table.main) if protocol == "block" else len(np.unique(_groups(table, protocol)))


def block_folds(table: BlockTable, n_folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Distribute rows randomly, with each class spread evenly, (n_rows,)."""
    random = np.random.default_rng(seed)
    fold = np.empty(len(table.main), dtype=np.int64)
    for value in (False, True):
        rows = random.permutation(np.flatnonzero(table.main == value))
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold
