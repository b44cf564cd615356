"""Near-duplicate texts by MinHash, in a few bytes for each page."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Maximum number of pages to compare; takes 48 MB.
MOST_COMPARED_PAGES = 3_000_000


@dataclass(slots=True)
class Duplicates:
    """Finds texts that repeat others of their site, nearly or exactly.

    Two texts count as near duplicates if three of their six MinHashes are equal, in one of two fixed triples. Texts
    that share 95 % of their shingles are found with probability .98, those that share half with probability .23.
    """

    _keys: tuple[array[int], array[int]] = field(default_factory=lambda: (array("Q"), array("Q")))
    _sites: array[int] = field(default_factory=lambda: array("l"))
    _pages: array[int] = field(default_factory=lambda: array("l"))

    def add(self, page: int, site: int, hashes: NDArray[np.uint32]) -> None:
        """Add the text of a page, given its number in the output, the number of its site, and its MinHashes."""
        if len(self._sites) >= MOST_COMPARED_PAGES:
            return
        parts = hashes.tolist()
        self._keys[0].append(hash((site, *parts[:3])) & 0xFFFFFFFFFFFFFFFF)
        self._keys[1].append(hash((site, *parts[3:])) & 0xFFFFFFFFFFFFFFFF)
        self._sites.append(site)
        self._pages.append(page)

    def by_site(self, n_sites: int) -> tuple[NDArray[np.int64], dict[int, tuple[int, int]]]:
        """Count the repeated texts.

        Returns
        -------
        NDArray[np.int64]
            (n_sites,) pages whose text nearly repeats that of an earlier page of the site.
        dict
            Site to the number of the first page with its most frequent text, and how many pages have that text.
        """
        sites, pages = np.asarray(self._sites), np.asarray(self._pages)
        if not len(sites):
            return np.zeros(n_sites, dtype=np.int64), {}
        repeats = np.zeros(len(sites), dtype=bool)
        for keys in self._keys:
            later = np.ones(len(sites), dtype=bool)
            later[np.unique(np.asarray(keys), return_index=True)[1]] = False
            repeats |= later
        _, first, counts = np.unique(np.asarray(self._keys[0]), return_index=True, return_counts=True)
        found: dict[int, tuple[int, int]] = {}
        for place in np.flatnonzero(counts > 1):
            site, count = int(sites[first[place]]), int(counts[place])
            if count > found.get(site, (0, 0))[1]:
                found[site] = int(pages[first[place]]), count
        return np.bincount(sites[repeats], minlength=n_sites), found
