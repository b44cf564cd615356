"""Kept lines that repeat on many pages of a site."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from blockml.surveying.records import Record

#: Maximum pages of a site whose lines are counted (sampled by the hash of their ids), and lines of each page.
_PAGES, _LINES = 200, 400
#: Maximum number of distinct lines before the rarest are dropped; about 100 MB.
_MOST_COUNTED = 1_000_000
#: Minimum number of pages, and minimum share of its site's sampled pages, to report a line (our choice).
LEAST_PAGES_OF_LINE, LEAST_SHARE = 3, 0.1
#: Maximum lines reported for a site, and characters of each.
_REPORTED, _SHOWN = 30, 160


@dataclass(slots=True)
class RepeatedLines:
    """Counts the lines of a sample of the pages of each site.

    Parameters
    ----------
    n_pages
        Number of pages of each site, by the site's number.
    """

    n_pages: list[int]
    _counts: dict[int, int] = field(default_factory=dict)
    _texts: dict[int, tuple[int, str]] = field(default_factory=dict)  #: Site and text of lines seen often enough.
    _sampled: list[int] = field(init=False)
    _error: int = 0  #: Maximum number of pages missing from a count because rare lines were dropped.

    def __post_init__(self) -> None:
        self._sampled = [0] * len(self.n_pages)

    def add(self, record: Record, site: int) -> None:
        """Count the lines of a page, if it is in the sample of its site."""
        if record.failed or not record.text or self.n_pages[site] < LEAST_PAGES_OF_LINE:
            return
        if zlib.crc32(record.id.encode("utf-8", "replace")) * self.n_pages[site] >= _PAGES << 32:
            return
        self._sampled[site] += 1
        counts = self._counts
        for line in {line.strip() for line in record.text.split("\n", _LINES)[:_LINES]}:
            if any(map(str.isalpha, line)):  # not line numbers or brackets of code
                key = hash((site, line))
                counts[key] = count = counts.get(key, 0) + 1
                if count == LEAST_PAGES_OF_LINE:
                    self._texts[key] = site, line[:_SHOWN]
        if len(counts) > _MOST_COUNTED:
            self._drop_rare()

    def _drop_rare(self) -> None:
        """Subtract the median from all counts (Misra and Gries 1982), so that half of the lines are dropped."""
        median = sorted(self._counts.values())[len(self._counts) // 2]
        self._counts = {key: count - median for key, count in self._counts.items() if count > median}
        self._texts = {key: text for key, text in self._texts.items() if key in self._counts}
        self._error += median

    def rows(self, names: list[str]) -> list[dict[str, Any]]:
        """Return the rows of the table of lines: grouped by site, the most frequent first."""
        by_site: dict[int, list[tuple[int, str]]] = {}
        for key, (site, line) in self._texts.items():
            pages = self._counts[key]
            if pages >= max(LEAST_PAGES_OF_LINE, LEAST_SHARE * self._sampled[site]):
                by_site.setdefault(site, []).append((pages, line))
        return [
            {
                "site": names[site],
                "line": line,
                "pages": pages,
                "sampled_pages": self._sampled[site],
                "share": pages / self._sampled[site],
            }
            for site, lines in sorted(by_site.items())
            for pages, line in sorted(lines, key=lambda item: (-item[0], item[1]))[:_REPORTED]
        ]
