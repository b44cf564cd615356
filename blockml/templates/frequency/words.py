"""How evenly words are spread over the pages of a site, after InfoDiscoverer (Lin & Ho 2002)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.templates.frequency.counts import places, summed

__all__ = ["WordCounts"]

#: Σ tf·ln tf is kept in whole units of this many per one (our choice). Integers can be added in any order and taken
#: away again without a trace, so what is learnt page by page equals what is learnt at once, bit for bit. An entropy is
#: off by less than 5e-8, and sums hold up to 2^34 words.
_UNITS = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """How often each word stands on the pages of a site, kept so that its entropy follows.

    With tf_j the number of times a word stands on page j, T their sum and w_j = tf_j / T, its entropy to the base of
    the number n of pages is ::

        H = −Σ w_j log_n w_j = −(1 / log n) Σ (tf_j / T)(log tf_j − log T) = (log T − Σ tf_j log tf_j / T) / log n

    so two sums per word are enough, T and Σ tf log tf, and a page adds to them without the pages before it.
    """

    keys: NDArray[np.uint64]
    """(n,) distinct, rising."""
    total: NDArray[np.int64]
    """(n,) T: how often the word stands on all pages."""
    tf_log_tf: NDArray[np.int64]
    """(n,) Σ tf·ln tf over the pages, in units of 2^-24."""

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of_page(cls, keys: NDArray[np.uint64], times: NDArray[np.int64]) -> WordCounts:
        """Counts of one page from its distinct words, in rising order, and how often each stands there."""
        return cls(keys, times, np.rint(times * np.log(times) * _UNITS).astype(np.int64))

    @classmethod
    def combined(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """Counts of all pages of some sets of pages that share none."""
        none = np.zeros(0, np.int64)
        return cls._of_columns(
            np.concatenate([np.zeros(0, np.uint64), *[part.keys for part in parts]]),
            np.concatenate([none, *[part.total for part in parts]]),
            np.concatenate([none, *[part.tf_log_tf for part in parts]]),
        )

    @classmethod
    def _of_columns(
        cls, keys: NDArray[np.uint64], total: NDArray[np.int64], tf_log_tf: NDArray[np.int64]
    ) -> WordCounts:
        distinct, (total, tf_log_tf) = summed(keys, [total, tf_log_tf])
        return cls(distinct, total, tf_log_tf)

    def entropies(self, page: WordCounts, n_pages: int, *, times: int = 0) -> NDArray[np.float64]:
        """Entropy of each word of a page.

        Parameters
        ----------
        page
            Counts of that page alone.
        n_pages
            Number of pages n that are counted then.
        times
            How often the page's own counts are added to these first; -1 takes them out again.

        Returns
        -------
        NDArray[np.float64]
            (n_words of the page,) in [0, 1]: 0 for a word of one page, 1 for one that is as frequent on each. All are 0
            if there are fewer than two pages: nothing can be spread over one.

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
