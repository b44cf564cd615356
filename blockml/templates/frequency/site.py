"""What was learnt of a site by counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.frequency.contents import Contents, contents_of
from blockml.templates.frequency.storing import tables_from, tables_to
from blockml.templates.frequency.tables import Tables

__all__ = ["SiteCounts"]

#: Pages that are added up together (our choice): more is faster, and holds more pages in memory.
_BATCH = 256


@dataclass(frozen=True, slots=True, eq=False)
class SiteCounts:
    """Counts over pages of one site: of text nodes, blocks, paths, words and block vectors.

    Each page counts once, however often it is learnt, and so do pages with the same visible text: copies of one page
    would make all of it look like a template. Of such copies the first is counted. A page without visible text teaches
    nothing and isn't counted. The counts are the same in whatever order, and in however many steps, pages are learnt.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "cats")]
    >>> site = SiteCounts.learn(pages)
    >>> site.n_pages, site.updated([blockml.parse("<p>Home</p><p>About birds.</p>")]).n_pages
    (2, 3)
    """

    casefold: bool
    """Whether upper and lower case are equal."""
    mask_digits: bool
    """Whether all numbers are equal."""
    tables: Tables
    """The counts."""

    @property
    def n_pages(self) -> int:
        """Number of pages counted."""
        return len(self.tables.fingerprints)

    @classmethod
    def learn(cls, pages: Iterable[Page], *, casefold: bool = False, mask_digits: bool = False) -> SiteCounts:
        """Count the pages of a site.

        Parameters
        ----------
        pages
            Any number of pages, one at a time: they are not kept. None is allowed.
        casefold, mask_digits
            When two texts count as equal: :func:`~blockml.templates.frequency.counts.unified`.
        """
        return cls(casefold, mask_digits, Tables.combined([])).updated(pages)

    def updated(self, pages: Iterable[Page]) -> SiteCounts:
        """Counts with further pages; these stay as they are."""
        tables = self.tables
        known = set(tables.fingerprints.tolist())
        waiting: list[Tables] = []
        for page in pages:
            contents = self.contents(page)
            fingerprint = int(contents.tables.fingerprints[0])
            if fingerprint in known or not len(contents.text_nodes):
                continue
            known.add(fingerprint)
            waiting.append(contents.tables)
            if len(waiting) == _BATCH:
                tables = Tables.combined([tables, *waiting])
                waiting = []
        if waiting:
            tables = Tables.combined([tables, *waiting])
        return SiteCounts(self.casefold, self.mask_digits, tables)

    def merged(self, other: SiteCounts) -> SiteCounts:
        """Counts of the pages of both.

        Raises
        ------
        UsageError
            They count texts in different ways, or have a page in common: what that page added can't be told apart.
        """
        if (self.casefold, self.mask_digits) != (other.casefold, other.mask_digits):
            raise UsageError("counts can be merged if casefold and mask_digits are the same in both")
        both = np.intersect1d(self.tables.fingerprints, other.tables.fingerprints)
        if len(both):
            raise UsageError(f"counts can be merged if they share no page; these share {len(both)}")
        return SiteCounts(self.casefold, self.mask_digits, Tables.combined([self.tables, other.tables]))

    def contents(self, page: Page) -> Contents:
        """What a page would add."""
        return contents_of(page, casefold=self.casefold, mask_digits=self.mask_digits)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The counts as arrays of integers, to be written to a file; they are the same for the same pages.

        Returns
        -------
        dict
            Arrays by name; :meth:`from_arrays` makes them counts again.
        """
        settings = np.array([self.casefold, self.mask_digits], dtype=np.uint8)
        return {"settings": settings} | tables_to(self.tables)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SiteCounts:
        """Counts from what :meth:`arrays` gave.

        All is checked, so that using them can neither fail nor read outside of the arrays.

        Raises
        ------
        UsageError
            An array is missing, unknown or damaged; it says which.

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
