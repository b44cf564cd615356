"""Entropy of words over the pages of a site, as in InfoDiscoverer (Lin & Ho 2002)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.templates.frequency.counts import column, places, summed

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
