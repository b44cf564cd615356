"""Counts learned from the pages of a site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.frequency.contents import Contents, contents_of
from blockml.templates.frequency.tables import FrequencyTables, tables_from, tables_to

#: Number of pages added together (our choice): more is faster, but keeps the counts of more pages in memory.
_BATCH = 256


@dataclass(frozen=True, slots=True, eq=False)
class SiteCounts:
    """Counts of text nodes, blocks, paths, words and block vectors over pages of one site.

    Each page counts once, however often it is learned, and so do pages with equal visible text, because copies would
    make a whole page look like a template. The first copy is counted. Pages without visible text are ignored. The
    counts are independent of the order of pages and of batches.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "cats")]
    >>> site = SiteCounts.learn(pages)
    >>> site.n_pages, site.updated([blockml.parse("<p>Home</p><p>About birds.</p>")]).n_pages
    (2, 3)
    """

    casefold: bool  #: Whether texts are compared without regard to case
    mask_digits: bool  #: Whether all numbers are equal
    tables: FrequencyTables  #: Counts

    @property
    def n_pages(self) -> int:
        """Number of pages counted."""
        return len(self.tables.fingerprints)

    @classmethod
    def learn(cls, pages: Iterable[Page], *, casefold: bool = False, mask_digits: bool = False) -> SiteCounts:
        """Count any number of pages, without storing them.

        ``casefold`` and ``mask_digits`` define when texts are equal; see
        :func:`~blockml.templates.frequency.counts.unified`.
        """
        return cls(casefold, mask_digits, FrequencyTables.combined([])).updated(pages)

    def updated(self, pages: Iterable[Page]) -> SiteCounts:
        """Return counts with further pages; this object does not change."""
        tables = self.tables
        known = set(tables.fingerprints.tolist())
        waiting: list[FrequencyTables] = []
        for page in pages:
            contents = self.contents(page)
            fingerprint = int(contents.tables.fingerprints[0])
            if fingerprint in known or not len(contents.text_nodes):
                continue
            known.add(fingerprint)
            waiting.append(contents.tables)
            if len(waiting) == _BATCH:
                tables = FrequencyTables.combined([tables, *waiting])
                waiting = []
        if waiting:
            tables = FrequencyTables.combined([tables, *waiting])
        return SiteCounts(self.casefold, self.mask_digits, tables)

    def merged(self, other: SiteCounts) -> SiteCounts:
        """Return the counts of the pages of both.

        Raises UsageError if they compare texts differently, or share pages, whose counts can't be separated.
        """
        if (self.casefold, self.mask_digits) != (other.casefold, other.mask_digits):
            raise UsageError("counts can only be merged with equal casefold and mask_digits")
        both = np.intersect1d(self.tables.fingerprints, other.tables.fingerprints)
        if len(both):
            raise UsageError(f"counts can only be merged without common pages; these share {len(both)}")
        return SiteCounts(self.casefold, self.mask_digits, FrequencyTables.combined([self.tables, other.tables]))

    def contents(self, page: Page) -> Contents:
        """Return the counts that a page would add."""
        return contents_of(page, casefold=self.casefold, mask_digits=self.mask_digits)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts as integer arrays by name, to store them; equal for equal pages."""
        settings = np.array([self.casefold, self.mask_digits], dtype=np.uint8)
        return {"settings": settings} | tables_to(self.tables)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SiteCounts:
        """Restore counts from :meth:`arrays`; raise UsageError with the name of a missing, unknown or damaged array.

        All arrays are checked, so that using them can neither fail nor read out of bounds.

        Examples
        --------
        >>> import blockml
        >>> site = SiteCounts.learn([blockml.parse("<p>Home</p>")])
        >>> SiteCounts.from_arrays(site.arrays()).n_pages
        1
        """
        rest = dict(arrays)
        settings = rest.pop("settings", None)
        if settings is None or settings.dtype != np.uint8 or settings.shape != (2,) or (settings > 1).any():
            raise UsageError("array 'settings' of site counts must be two uint8 numbers, each 0 or 1")
        casefold, mask_digits = (bool(value) for value in settings)
        return cls(casefold, mask_digits, tables_from(rest))
