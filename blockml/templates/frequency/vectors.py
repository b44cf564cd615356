"""Blocks as vectors of word and element counts, after ContentExtractor (Debnath et al. 2005)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page
from blockml.templates.frequency.counts import distinct, places, ranges
from blockml.text.hashing import stable_hash64

__all__ = ["ELEMENTS", "BlockVectors", "element_counts", "element_keys"]

#: What a vector counts besides words: images, links, scripts, list items and tables (Debnath et al. 2005).
ELEMENTS = ("img", "a", "script", "li", "table")

#: Two blocks are similar if the cosine of their vectors is at least 9/10: as is told of ContentExtractor, not confirmed
#: in the paper (Debnath et al. 2005).
_COSINE = (9, 10)

#: Pairs of vectors that are looked at together: bounds the memory (our choice).
_CHUNK = 2**17


def element_keys() -> NDArray[np.uint64]:
    """(5,) keys of the elements of a vector; a word has no white space, so none has such a key."""
    return stable_hash64([f"element {name}" for name in ELEMENTS])


def element_counts(page: Page) -> NDArray[np.int64]:
    """How many of each of :data:`ELEMENTS` begin between the text before a block and the block's last text.

    Most elements end a block, so only links lie inside of one; those before it are what leads up to it, such as its
    list item and its icon (our choice). Elements after the last text and those of ``head`` belong to no block.

    Returns
    -------
    NDArray[np.int64]
        (n_blocks, 5).

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<ul><li><img><a>one</a><li>two <a>three</a> four</ul>")
    >>> element_counts(page).tolist()
    [[1, 1, 0, 1, 0], [0, 1, 0, 1, 0]]
    """
    nodes, n_blocks = page.nodes, len(page.blocks)
    kind = np.array([ELEMENTS.index(name) if name in ELEMENTS else -1 for name in nodes.names])[nodes.tag]
    chosen = np.flatnonzero((kind >= 0) & ((nodes.flags & Flag.HEAD) == 0))
    block = np.searchsorted(page.blocks.last_node, chosen)
    flat = block * len(ELEMENTS) + kind[chosen]
    counts = np.bincount(flat, minlength=(n_blocks + 1) * len(ELEMENTS)).reshape(-1, len(ELEMENTS))
    return counts[:n_blocks].astype(np.int64)


class _Postings(NamedTuple):
    """In which vectors each feature is."""

    starts: NDArray[np.int64]
    """(n_features + 1,)"""
    vectors: NDArray[np.int64]
    """(n_entries,)"""


@dataclass(frozen=True, eq=False)
class BlockVectors:
    """The distinct block vectors of a site, and the pages that each is on.

    A vector is a row of counts of features; vector ``i`` has the entries ``starts[i] … starts[i + 1] - 1``.
    """

    vocabulary: NDArray[np.uint64]
    """(n_features,) keys of all words of the site and of :data:`ELEMENTS`: distinct, rising."""
    keys: NDArray[np.uint64]
    """(n,) key of each vector, the sum of its features' keys: distinct, rising. Equal vectors have equal keys."""
    starts: NDArray[np.int64]
    """(n + 1,) first entry of each vector, and the number of entries."""
    features: NDArray[np.int32]
    """(n_entries,) index into the vocabulary, rising inside a vector."""
    counts: NDArray[np.int32]
    """(n_entries,) at least 1."""
    page_starts: NDArray[np.int64]
    """(n + 1,) first of the vector's pages in ``pages``."""
    pages: NDArray[np.int32]
    """(n_places,) index of the page, rising inside a vector."""

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of_page(
        cls,
        vocabulary: NDArray[np.uint64],
        block: NDArray[np.int64],
        feature: NDArray[np.int64],
        count: NDArray[np.int64],
        n_blocks: int,
    ) -> tuple[BlockVectors, NDArray[np.int64]]:
        """Vectors of one page.

        Parameters
        ----------
        vocabulary
            (n_features,) keys, distinct and rising.
        block, feature, count
            One entry each for every feature of every block, ordered by block and feature, none twice.
        n_blocks
            Number of blocks.

        Returns
        -------
        vectors, row
            The distinct vectors, on page 0, and (n_blocks,) which of them each block has.
        """
        sums = np.zeros(n_blocks, dtype=np.uint64)
        np.add.at(sums, block, vocabulary[feature] * count.astype(np.uint64))
        keys, first, row = np.unique(sums, return_index=True, return_inverse=True)
        lengths = np.bincount(block, minlength=n_blocks)
        entries = ranges((np.cumsum(lengths) - lengths)[first], lengths[first])
        starts = np.append(0, np.cumsum(lengths[first]))
        n = len(keys)
        vectors = cls(
            vocabulary,
            keys,
            starts,
            feature[entries].astype(np.int32),
            count[entries].astype(np.int32),
            np.arange(n + 1),
            np.zeros(n, dtype=np.int32),
        )
        return vectors, row.reshape(-1)

    @classmethod
    def combined(
        cls, parts: Sequence[BlockVectors], vocabulary: NDArray[np.uint64], pages: Sequence[NDArray[np.int64]]
    ) -> BlockVectors:
        """Vectors of all pages of some sets of pages that share none.

        Parameters
        ----------
        parts
            The vectors of each set.
        vocabulary
            Keys of all features of all parts: distinct, rising.
        pages
            For each part, the new index of each of its pages.
        """
        none, no_page = np.zeros(0, np.int64), np.zeros(0, np.int32)
        all_keys = np.concatenate([np.zeros(0, np.uint64), *[part.keys for part in parts]])
        keys, first, row = np.unique(all_keys, return_index=True, return_inverse=True)
        lengths = np.concatenate([none, *[np.diff(part.starts) for part in parts]])
        entries = ranges((np.cumsum(lengths) - lengths)[first], lengths[first])
        moved = [np.searchsorted(vocabulary, part.vocabulary).astype(np.int32)[part.features] for part in parts]
        n_pages = np.concatenate([none, *[np.diff(part.page_starts) for part in parts]])
        page = np.concatenate([none, *[new[part.pages] for part, new in zip(parts, pages, strict=True)]])
        vector = np.repeat(row.reshape(-1), n_pages)
        order = np.lexsort((page, vector))
        return cls(
            vocabulary,
            keys,
            np.append(0, np.cumsum(lengths[first])),
            np.concatenate([no_page, *moved])[entries],
            np.concatenate([no_page, *[part.counts for part in parts]])[entries],
            np.append(0, np.cumsum(np.bincount(vector, minlength=len(keys)))),
            page[order].astype(np.int32),
        )

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        """(n,) squared length of each vector, a whole number."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        squares = np.square(self.counts, dtype=np.float64)
        return np.bincount(rows, weights=squares, minlength=len(self)).astype(np.float64)

    @cached_property
    def _postings(self) -> _Postings:
        order = np.argsort(self.features, kind="stable")
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        numbers = np.bincount(self.features, minlength=len(self.vocabulary))
        return _Postings(np.append(0, np.cumsum(numbers)), rows[order])

    def similar_pages(self, page: BlockVectors, *, without: int = -1) -> NDArray[np.int32]:
        """On how many pages there is a block like each of some vectors: cosine at least .9, or the same vector.

        The comparison of two vectors is exact: it is made with whole numbers.

        Parameters
        ----------
        page
            The vectors of one page.
        without
            Index of a page that does not count; -1 for none.

        Returns
        -------
        NDArray[np.int32]
            (n_vectors of the page,).
        """
        rows, vectors = [np.arange(len(page))], [places(self.keys, page.keys)]
        for some_rows, some_vectors in _Search(self, page).candidates():
            likes = self._is_like(page, some_rows, some_vectors)
            rows.append(some_rows[likes])
            vectors.append(some_vectors[likes])
        row, vector = np.concatenate(rows), np.concatenate(vectors)
        row, vector = row[vector >= 0], vector[vector >= 0]
        lengths = np.diff(self.page_starts)[vector]
        pages = self.pages[ranges(self.page_starts[vector], lengths)].astype(np.int64)
        n_pages = int(self.pages.max(initial=0)) + 1
        met = distinct(np.repeat(row, lengths)[pages != without] * n_pages + pages[pages != without])
        return np.bincount(met // n_pages, minlength=len(page)).astype(np.int32)

    def _is_like(self, page: BlockVectors, row: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n_pairs,) whether the cosine of a vector of the page and one of these is large enough."""
        lengths = np.diff(self.starts)[vector]
        entries = ranges(self.starts[vector], lengths)
        pair = np.repeat(np.arange(len(row)), lengths)
        width = len(page.vocabulary) + 1  # the last column stands for features that the page lacks
        known = places(self.vocabulary, page.vocabulary)
        columns = np.full(len(self.vocabulary), width - 1)
        columns[known[known >= 0]] = np.flatnonzero(known >= 0)
        own_rows = np.repeat(np.arange(len(page)), np.diff(page.starts))
        own = own_rows * width + page.features
        wanted = np.repeat(row, lengths) * width + columns[self.features[entries]]
        place = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        products = np.where(own[place] == wanted, page.counts[place].astype(np.float64) * self.counts[entries], 0)
        dots = np.bincount(pair, weights=products, minlength=len(row))
        enough, of = _COSINE
        likes: NDArray[np.bool_] = of**2 * dots**2 >= enough**2 * page._squares[row] * self._squares[vector]
        return likes


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Finds the few vectors of a site that can be similar to one of a page."""

    site: BlockVectors
    page: BlockVectors

    def candidates(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of a vector of the page and one of the site, in parts; all others have a smaller cosine."""
        row, feature = self._rare_features()
        if not len(row):
            return
        starts, vectors = self.site._postings  # noqa: SLF001
        lengths = np.diff(starts)[feature]
        parts = np.cumsum(lengths) // _CHUNK
        part_starts = np.flatnonzero(np.diff(parts, prepend=-1))
        for begin, end in zip(part_starts, [*part_starts[1:], len(row)], strict=True):
            chosen = slice(begin, end)
            found = vectors[ranges(starts[:-1][feature[chosen]], lengths[chosen])]
            pairs = distinct(np.repeat(row[chosen], lengths[chosen]) * len(self.site) + found)
            if len(pairs):
                rows, found = np.divmod(pairs, len(self.site))
                fits = self._fits(rows, found)
                yield rows[fits], found[fits]

    def _rare_features(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and feature: of each vector of the page, enough features that a similar one must share one of them.

        Let the features left out make up less than c² of the squared length of a. A vector b that shares no other
        feature with a has a product of less than c·|a|·|b|, so a cosine of less than c. What is rarest on the site is
        taken first.
        """
        page = self.page
        row = np.repeat(np.arange(len(page)), np.diff(page.starts))
        feature = places(self.site.vocabulary, page.vocabulary)[page.features]
        frequency = np.append(np.diff(self.site._postings.starts), 0)[feature]  # noqa: SLF001
        order = np.lexsort((frequency, row))
        squares = np.square(page.counts[order], dtype=np.int64)
        before = np.cumsum(squares) - squares
        starts = page.starts[:-1][row[order]]
        before -= before[starts] if len(before) else 0
        enough, of = _COSINE
        wanted = of**2 * before <= (of**2 - enough**2) * page._squares[row[order]]  # noqa: SLF001
        chosen = order[wanted & (feature[order] >= 0)]
        return row[chosen], feature[chosen]

    def _fits(self, row: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n_pairs,) whether neither of two vectors has too many features for the other.

        All that b has beyond a's k features adds at least 1 each to its squared length, of which a similar a must hold
        a share of c²: so b has at most k + (1 - c²)·|b|² features.
        """
        enough, of = _COSINE
        rest = of**2 - enough**2
        own, others = np.diff(self.page.starts)[row], np.diff(self.site.starts)[vector]
        own_squares, other_squares = self.page._squares[row], self.site._squares[vector]  # noqa: SLF001
        fits: NDArray[np.bool_] = (of**2 * (others - own) <= rest * other_squares) & (
            of**2 * (own - others) <= rest * own_squares
        )
        return fits
