"""Paths of elements in the DOM, and statistics of the blocks at each path over the pages of a site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes
from blockml.templates.frequency.counts import Counts, column, places, summed
from blockml.text.sketches import stable_hash64

_DIGITS = re.compile(r"\d+")

#: Odd, so that no bit is lost in products; the fractional part of the golden ratio.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def path_keys(nodes: Nodes, elements: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash the paths of elements: names, class tokens and ids from the root; equal for equal paths on any page.

    Runs of digits in class tokens and ids are masked, because many programs number their elements; the order of class
    tokens is ignored. Takes (n,) node indices, -1 for the place above all roots, and returns (n,) keys.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p id=c1 class='a b'>1</p><p id=c23 class='b a'>2</p><p id=c class='a b'>3</p>")
    >>> first, second, third = path_keys(page.nodes, page.blocks.parent).tolist()
    >>> first == second, first == third
    (True, False)
    """
    # Polynomial hash of the path's steps by doubling: each round doubles the number of steps summed per node. The last
    # entry is the place above all roots.
    before = np.append(0, np.cumsum(np.bincount(elements[elements >= 0], minlength=len(nodes))))
    with_ancestors = np.flatnonzero(before[nodes.end] > before[:-1])
    keys = np.append(_step_keys(nodes, with_ancestors), np.uint64(0))
    factors = np.full(len(keys), _FACTOR)
    up = np.append(nodes.parent, np.int32(-1))
    while (up >= 0).any():
        keys = keys + factors * keys[up]
        factors = factors * factors[up]
        up = up[up]
    return keys[elements]


def _step_keys(nodes: Nodes, elements: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return (n_nodes,) keys of these elements by name, class tokens and id; 0 for other nodes."""
    steps: dict[tuple[int, str, str], int] = {}
    which = []
    for element, tag in zip(elements.tolist(), nodes.tag[elements].tolist(), strict=True):
        attributes = nodes.attributes[element]
        step = (tag, attributes.get("class", ""), attributes.get("id", "")) if attributes else (tag, "", "")
        which.append(steps.setdefault(step, len(steps)))
    keys = np.zeros(len(nodes), dtype=np.uint64)
    written = []
    for tag, classes, identifier in steps:
        tokens = " ".join(sorted(set(_DIGITS.sub("0", classes).split())))
        written.append(f"{nodes.names[tag]}\n{tokens}\n{_DIGITS.sub('0', identifier)}")
    keys[elements] = stable_hash64(written)[which]
    return keys


def count_texts(
    text_path: NDArray[np.int32], text_pages: NDArray[np.int64], n_paths: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (n_paths,) numbers of texts per path, and of those on only one page."""
    texts = np.bincount(text_path, minlength=n_paths)
    once = np.bincount(text_path[text_pages == 1], minlength=n_paths)
    return texts.astype(np.int32), once.astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class PathCounts:
    """Statistics of the blocks at each path over the pages of a site.

    Texts are counted by path: "Home" in the menu and "Home" in an article are two texts.
    """

    keys: NDArray[np.uint64]  #: (n,) sorted keys of distinct paths
    pages: NDArray[np.int32]  #: (n,) pages with a block there
    blocks: NDArray[np.int64]  #: (n,) blocks on all pages
    words: NDArray[np.int64]  #: (n,) words of these blocks
    linked: NDArray[np.int64]  #: (n,) linked words of these blocks
    texts: NDArray[np.int32]  #: (n,) distinct texts
    once: NDArray[np.int32]  #: (n,) texts on only one page
    text_keys: NDArray[np.uint64]  #: (m,) sorted keys of distinct pairs of path and text
    text_pages: NDArray[np.int32]  #: (m,) pages with that text at that path
    text_path: NDArray[np.int32]  #: (m,) index of the path

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of_page(
        cls, paths: NDArray[np.uint64], texts: NDArray[np.uint64], words: NDArray[np.int64], linked: NDArray[np.int64]
    ) -> PathCounts:
        """Count one page, given the path, text, words and linked words of each block."""
        keys, (blocks, words, linked) = summed(paths, [np.ones(len(paths), np.int64), words, linked])
        placed, first = np.unique(paths * _FACTOR + texts, return_index=True)
        ones = np.ones(len(keys), np.int64)
        return cls._of_columns(
            keys, [ones, blocks, words, linked], placed, np.ones(len(placed), np.int64), paths[first]
        )

    @classmethod
    def combined(cls, parts: Sequence[PathCounts]) -> PathCounts:
        """Add the counts of disjoint sets of pages."""
        columns = [column(parts, name, np.int64) for name in ("pages", "blocks", "words", "linked")]
        keys, sums = summed(column(parts, "keys", np.uint64), columns)
        placed = column(parts, "text_keys", np.uint64)
        paths = np.concatenate([np.zeros(0, np.uint64), *[part.keys[part.text_path] for part in parts]])
        distinct, first = np.unique(placed, return_index=True)
        _, (pages,) = summed(placed, [column(parts, "text_pages", np.int64)])
        return cls._of_columns(keys, sums, distinct, pages, paths[first])

    @classmethod
    def _of_columns(
        cls,
        keys: NDArray[np.uint64],
        columns: Sequence[NDArray[np.int64]],
        placed: NDArray[np.uint64],
        text_pages: NDArray[np.int64],
        paths: NDArray[np.uint64],
    ) -> PathCounts:
        pages, blocks, words, linked = columns
        text_path = np.searchsorted(keys, paths).astype(np.int32)
        texts, once = count_texts(text_path, text_pages, len(keys))
        pages_of_path, pages_of_text = pages.astype(np.int32), text_pages.astype(np.int32)
        return cls(keys, pages_of_path, blocks, words, linked, texts, once, placed, pages_of_text, text_path)

    def without(self, page: PathCounts, wanted: NDArray[np.uint64]) -> dict[str, NDArray[np.int64]]:
        """Look up (n,) paths after removing one of the counted pages, given by its counts (empty if not counted).

        Returns the (n,) columns ``pages``, ``blocks``, ``words``, ``linked``, ``texts`` and ``once``; 0 for paths that
        no other page has.
        """
        here, there = places(self.keys, wanted), places(page.keys, wanted)
        columns = {
            name: np.append(getattr(self, name), 0)[here].astype(np.int64)
            for name in ("pages", "blocks", "words", "linked", "texts", "once")
        }
        for name in ("pages", "blocks", "words", "linked"):
            columns[name] -= np.append(getattr(page, name), 0)[there]
        # Texts that only this page has disappear with it; texts of two pages are then on one page.
        pages = Counts(self.text_keys, self.text_pages).of(page.text_keys)
        gone = np.bincount(page.text_path[pages == 1], minlength=len(page))
        left = np.bincount(page.text_path[pages == 2], minlength=len(page))
        columns["texts"] -= np.append(gone, 0)[there]
        columns["once"] += np.append(left - gone, 0)[there]
        # Negative where the page counted has equal text but other elements.
        return {name: np.maximum(column, 0) for name, column in columns.items()}
