"""Blocks as vectors of word and element counts, and entropy of words over the pages of a site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page
from blockml.page.lazy import cached_property
from blockml.templates.frequency.counts import column, distinct, places, ranges, summed
from blockml.text.sketches import stable_hash64

#: Elements counted besides words: images, links, scripts, list items and tables (Debnath et al. 2005).
COUNTED_ELEMENTS = ("img", "a", "script", "li", "table")

#: Blocks are similar if the cosine of their vectors is at least 9/10. Attributed to ContentExtractor, but not confirmed
#: in the paper (Debnath et al. 2005).
_COSINE = (9, 10)

#: Pairs of vectors compared at a time, to bound the memory (our choice).
_CHUNK = 2**17


def element_keys() -> NDArray[np.uint64]:
    """Return (5,) keys of the counted elements; words have no spaces, so no word has such a key."""
    return stable_hash64([f"element {name}" for name in COUNTED_ELEMENTS])


def element_counts(page: Page) -> NDArray[np.int64]:
    """Count, per block, the elements that begin between the previous block's text and the block's last text.

    Most elements end a block, so only links are within one; elements just before it, such as its list item and icon,
    belong to it (our choice). Elements after the last text and those of ``head`` don't count. Returns (n_blocks, 5).

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<ul><li><img><a>one</a><li>two <a>three</a> four</ul>")
    >>> element_counts(page).tolist()
    [[1, 1, 0, 1, 0], [0, 1, 0, 1, 0]]
    """
    nodes, n_blocks = page.nodes, len(page.blocks)
    kind = np.array([COUNTED_ELEMENTS.index(name) if name in COUNTED_ELEMENTS else -1 for name in nodes.names])[
        nodes.tag
    ]
    chosen = np.flatnonzero((kind >= 0) & ((nodes.flags & Flag.HEAD) == 0))
    block = np.searchsorted(page.blocks.last_node, chosen)
    flat = block * len(COUNTED_ELEMENTS) + kind[chosen]
    counts = np.bincount(flat, minlength=(n_blocks + 1) * len(COUNTED_ELEMENTS)).reshape(-1, len(COUNTED_ELEMENTS))
    return counts[:n_blocks].astype(np.int64)


@dataclass(frozen=True, eq=False)
class BlockVectors:
    """Distinct block vectors of a site in sparse form, and the pages of each.

    Vector ``i`` has the entries ``starts[i] … starts[i + 1] - 1``.
    """

    vocabulary: NDArray[np.uint64]  #: (n_features,) sorted keys of the words of the site and of elements
    keys: NDArray[np.uint64]  #: (n,) sorted keys of the vectors, each the sum of its features' keys
    starts: NDArray[np.int64]  #: (n + 1,) first entry of each vector, and the number of entries
    features: NDArray[np.int32]  #: (n_entries,) index into the vocabulary, ascending within a vector
    counts: NDArray[np.int32]  #: (n_entries,) count, at least 1
    page_starts: NDArray[np.int64]  #: (n + 1,) first of the vector's pages in ``pages``
    pages: NDArray[np.int32]  #: (n_places,) index of the page, ascending within a vector

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
        """Build the vectors of one page.

        Takes the (n_features,) sorted vocabulary and one entry per feature of each block, ordered by block and feature.
        Returns the distinct vectors, on page 0, and the (n_blocks,) index of each block's vector.
        """
        sums = np.zeros(n_blocks, dtype=np.uint64)
        np.add.at(sums, block, vocabulary[feature] * count.astype(np.uint64))
        keys, first, row = np.unique(sums, return_index=True, return_inverse=True)
        lengths = np.bincount(block, minlength=n_blocks)
        entries = ranges((np.cumsum(lengths) - lengths)[first], lengths[first])
        starts = np.append(0, np.cumsum(lengths[first]))
        features, counts = feature[entries].astype(np.int32), count[entries].astype(np.int32)
        page_starts, pages = np.arange(len(keys) + 1), np.zeros(len(keys), dtype=np.int32)
        vectors = cls(vocabulary, keys, starts, features, counts, page_starts, pages)
        return vectors, row.reshape(-1)

    @classmethod
    def combined(
        cls, parts: Sequence[BlockVectors], vocabulary: NDArray[np.uint64], pages: Sequence[NDArray[np.int64]]
    ) -> BlockVectors:
        """Add the vectors of disjoint sets of pages.

        ``vocabulary`` contains the features of all parts; ``pages`` gives, per part, the new index of each page.
        """
        none, no_page = np.zeros(0, np.int64), np.zeros(0, np.int32)
        keys, first, row = np.unique(column(parts, "keys", np.uint64), return_index=True, return_inverse=True)
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
            column(parts, "counts", np.int32)[entries],
            np.append(0, np.cumsum(np.bincount(vector, minlength=len(keys)))),
            page[order].astype(np.int32),
        )

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        """(n,) squared length of each vector, an integer."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        squares = np.square(self.counts, dtype=np.float64)
        return np.bincount(rows, weights=squares, minlength=len(self)).astype(np.float64)

    @cached_property
    def _postings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Inverted index: (n_features + 1,) starts, and the (n_entries,) vectors with each feature."""
        order = np.argsort(self.features, kind="stable")
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        numbers = np.bincount(self.features, minlength=len(self.vocabulary))
        return np.append(0, np.cumsum(numbers)), rows[order]

    def similar_pages(self, page: BlockVectors, *, without: int = -1) -> NDArray[np.int32]:
        """Count the pages with a block similar to each vector of a page: cosine at least .9, or an equal vector.

        Computed exactly in integers. ``without`` is the index of a page that does not count, -1 for none. Returns
        (n_vectors of the page,).
        """
        rows, vectors = [np.arange(len(page))], [places(self.keys, page.keys)]
        for some_rows, some_vectors in self._candidates(page):
            similar = self._is_similar(page, some_rows, some_vectors)
            rows.append(some_rows[similar])
            vectors.append(some_vectors[similar])
        row, vector = np.concatenate(rows), np.concatenate(vectors)
        row, vector = row[vector >= 0], vector[vector >= 0]
        lengths = np.diff(self.page_starts)[vector]
        pages = self.pages[ranges(self.page_starts[vector], lengths)].astype(np.int64)
        n_pages = int(self.pages.max(initial=0)) + 1
        met = distinct(np.repeat(row, lengths)[pages != without] * n_pages + pages[pages != without])
        return np.bincount(met // n_pages, minlength=len(page)).astype(np.int32)

    def _is_similar(self, page: BlockVectors, row: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (n_pairs,) whether the cosine of a vector of the page and one of these reaches the threshold."""
        lengths = np.diff(self.starts)[vector]
        entries = ranges(self.starts[vector], lengths)
        pair = np.repeat(np.arange(len(row)), lengths)
        width = len(page.vocabulary) + 1  # the last column is for features that are not on the page
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
        return of**2 * dots**2 >= enough**2 * page._squares[row] * self._squares[vector]

    def _candidates(self, page: BlockVectors) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield pairs of vectors of the page and of the site, in chunks; all other pairs have a smaller cosine."""
        row, feature = self._rare_features(page)
        if not len(row):
            return
        starts, vectors = self._postings
        lengths = np.diff(starts)[feature]
        parts = np.cumsum(lengths) // _CHUNK
        part_starts = np.flatnonzero(np.diff(parts, prepend=-1))
        for begin, end in zip(part_starts, [*part_starts[1:], len(row)], strict=True):
            chosen = slice(begin, end)
            found = vectors[ranges(starts[:-1][feature[chosen]], lengths[chosen])]
            pairs = distinct(np.repeat(row[chosen], lengths[chosen]) * len(self) + found)
            if len(pairs):
                rows, found = np.divmod(pairs, len(self))
                fits = self._fits(page, rows, found)
                yield rows[fits], found[fits]

    def _rare_features(self, page: BlockVectors) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, feature) pairs: for each vector of the page, features of which a similar one must share one.

        If the features left out have less than c² of the squared length of a, a vector b that shares only those has a
        product of less than c·|a|·|b|, so a cosine below c. The features rarest on the site are used.
        """
        row = np.repeat(np.arange(len(page)), np.diff(page.starts))
        feature = places(self.vocabulary, page.vocabulary)[page.features]
        frequency = np.append(np.diff(self._postings[0]), 0)[feature]
        order = np.lexsort((frequency, row))
        squares = np.square(page.counts[order], dtype=np.int64)
        before = np.cumsum(squares) - squares
        starts = page.starts[:-1][row[order]]
        before -= before[starts] if len(before) else 0
        enough, of = _COSINE
        wanted = of**2 * before <= (of**2 - enough**2) * page._squares[row[order]]
        chosen = order[wanted & (feature[order] >= 0)]
        return row[chosen], feature[chosen]

    def _fits(self, page: BlockVectors, row: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (n_pairs,) whether the numbers of features of two vectors allow similarity.

        Each feature of b beyond the k of a adds at least 1 to its squared length, of which a must cover a share of c²:
        so b has at most k + (1 - c²)·|b|² features.
        """
        enough, of = _COSINE
        rest = of**2 - enough**2
        own, others = np.diff(page.starts)[row], np.diff(self.starts)[vector]
        own_squares, other_squares = page._squares[row], self._squares[vector]
        return (of**2 * (others - own) <= rest * other_squares) & (of**2 * (own - others) <= rest * own_squares)


#: Fixed-point resolution of Σ tf·ln tf (our choice). Integer sums are exact in any order and when a page is removed, so
#: incremental and batch learning agree bit for bit. The error of an entropy is below 5e-8; sums hold up to 2^34 words.
_UNITS = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """Occurrences of each word on the pages of a site, in a form that yields its entropy.

    With tf_j the occurrences of a word on page j, T their sum, w_j = tf_j / T and n pages, its entropy to base n is ::

        H = -Σ w_j log_n w_j = -(1 / log n) Σ (tf_j / T)(log tf_j - log T) = (log T - Σ tf_j log tf_j / T) / log n

    so two sums per word, T and Σ tf log tf, suffice to add pages one by one.
    """

    keys: NDArray[np.uint64]  #: (n,) sorted keys of distinct words
    total: NDArray[np.int64]  #: (n,) occurrences T on all pages
    tf_log_tf: NDArray[np.int64]  #: (n,) Σ tf·ln tf over the pages, in units of 2^-24

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of_page(cls, keys: NDArray[np.uint64], times: NDArray[np.int64]) -> WordCounts:
        """Count one page, given the sorted keys of its distinct words and their occurrences."""
        return cls(keys, times, np.rint(times * np.log(times) * _UNITS).astype(np.int64))

    @classmethod
    def combined(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """Add the counts of disjoint sets of pages."""
        columns = [column(parts, name, np.int64) for name in ("total", "tf_log_tf")]
        keys, (total, tf_log_tf) = summed(column(parts, "keys", np.uint64), columns)
        return cls(keys, total, tf_log_tf)

    def entropies(self, page: WordCounts, n_pages: int, *, times: int = 0) -> NDArray[np.float64]:
        """Return (n_words of the page,) entropies of the words of a page, in [0, 1].

        0 for a word of one page, 1 for a word equally frequent on all ``n_pages`` pages; all 0 with fewer than two
        pages. ``times`` is how often the page's own counts are added first; -1 removes them.

        Examples
        --------
        >>> keys = np.array([3, 5], dtype=np.uint64)
        >>> one, other = WordCounts.of_page(keys, np.array([1, 2])), WordCounts.of_page(keys[:1], np.array([1]))
        >>> one.entropies(other, 2, times=1).tolist()
        [1.0]
        """
        place = places(self.keys, page.keys)
        total = np.append(self.total, 0)[place] + times * page.total
        tf_log_tf = np.append(self.tf_log_tf, 0)[place] + times * page.tf_log_tf
        result = np.zeros(len(page))
        known = total > 0
        if n_pages < 2 or not known.any():
            return result
        nats = np.log(total[known]) - tf_log_tf[known] / (float(_UNITS) * total[known])
        result[known] = np.clip(nats / np.log(n_pages), 0, 1)
        return result
