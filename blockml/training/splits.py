"""Splits that do not leak: folds over blocks (as published, it leaks), over pages and over sites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.training.table import BlockTable, PageRows

__all__ = ["PROTOCOLS", "duplicate_groups", "fold_pages", "folds", "n_groups"]

#: Cross-validation protocols and what each measures.
PROTOCOLS: Mapping[str, str] = {
    "block": "folds over all blocks, as Kim et al. 2013 did: neighbours of one page stand on both sides, so it leaks",
    "page": "folds over pages: the least that is honest",
    "site": "folds over sites: how well it does on templates it has never seen",
}

#: Two pages that share this much of their sketches are taken for one (our choice).
_NEAR = 0.8


def duplicate_groups(pages: Sequence[PageRows], keys: Sequence[str]) -> NDArray[np.int64]:
    """Number the groups that a split must not part: pages with the same key, and near duplicates.

    Returns
    -------
    NDArray[np.int64]
        (n_pages,) the index of each group's first page.
    """
    leader = list(range(len(pages)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    def join(i: int, j: int) -> None:
        i, j = sorted((find(i), find(j)))
        leader[j] = i

    first_with: dict[str, int] = {}
    for i, (page, key) in enumerate(zip(pages, keys, strict=True)):
        join(i, first_with.setdefault(f"key {key}", i))
        join(i, first_with.setdefault(f"hash {page.hash}", i))
    for i, j in _near_duplicates(pages):
        join(i, j)
    return np.array([find(i) for i in range(len(pages))], dtype=np.int64)


def _near_duplicates(pages: Sequence[PageRows]) -> Iterator[tuple[int, int]]:
    holders: dict[int, list[int]] = defaultdict(list)
    for i, page in enumerate(pages):
        shared: dict[int, int] = defaultdict(int)
        for value in page.sketch:
            for j in holders[value]:
                shared[j] += 1
            holders[value].append(i)
        for j, count in shared.items():
            if count >= _NEAR * min(len(page.sketch), len(pages[j].sketch)):
                yield j, i


def fold_pages(groups: NDArray[np.int64], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Deal whole groups of pages out to folds of about equal numbers of pages, at random.

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
        raise UsageError(f"{n_folds} folds need at least 2 folds and as many groups; there are {len(names)} groups")
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]  # large ones first, so that the rest evens out
    load = np.zeros(n_folds, dtype=np.int64)
    fold_of = {}
    for i in order.tolist():
        fold = int(load.argmin())
        fold_of[int(names[i])] = fold
        load[fold] += sizes[i]
    return np.array([fold_of[int(group)] for group in groups], dtype=np.int64)


def folds(table: BlockTable, protocol: str, n_folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Fold of every row.

    Raises
    ------
    UnknownNameError
        No such protocol.
    UsageError
        Fewer pages or sites than folds.
    """
    if protocol not in PROTOCOLS:
        raise UnknownNameError("protocol", protocol, PROTOCOLS)
    if protocol == "block":
        return _stratified(table.main, n_folds, seed)
    return fold_pages(_groups(table, protocol), n_folds, seed)[table.page_of_row]


def _groups(table: BlockTable, protocol: str) -> NDArray[np.int64]:
    pages = table.pages
    return duplicate_groups(pages, [page.site if protocol == "site" else page.id for page in pages])


def n_groups(table: BlockTable, protocol: str) -> int:
    """Most folds that a protocol can have: the number of blocks, of different pages or of sites."""
    return len(table.main) if protocol == "block" else len(np.unique(_groups(table, protocol)))


def _stratified(main: NDArray[np.bool_], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Deal rows out at random, each class evenly."""
    random = np.random.default_rng(seed)
    fold = np.empty(len(main), dtype=np.int64)
    for value in (False, True):
        rows = random.permutation(np.flatnonzero(main == value))
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold
