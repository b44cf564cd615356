"""What repeats in a run: lines of a site, near-duplicate texts, and matches of rules."""

from __future__ import annotations

import math
import zlib
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.surveying.run_output import Record

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


#: Maximum number of rules counted.
_MOST_RULES = 20_000
#: Difference of two shares, in standard errors, from which a rule is said to match less than it did (our choice).
_STANDARD_ERRORS = 3.0


@dataclass(slots=True)
class RuleCounts:
    """Pages on which rules matched.

    Examples
    --------
    >>> from blockml.surveying.run_output import record_of
    >>> before, now = RuleCounts(), RuleCounts()
    >>> for n in range(20):
    ...     before.add(record_of({"id": f"cats/{n}", "rules": ["cats drop .ad"]}, n))
    ...     now.add(record_of({"id": f"cats/{n}", "rules": ["cats drop .ad"] if n < 5 else []}, n))
    >>> [(row["rule"], row["share"], row["share_before"], row["matches_less"]) for row in rule_rows(now, before)]
    [('cats drop .ad', 0.25, 1.0, True)]
    """

    pages: Counter[str] = field(default_factory=Counter)  #: Pages of each site that rules were tried on.
    matched: dict[tuple[str, str], int] = field(default_factory=dict)  #: Pages by site and rule.

    def add(self, record: Record) -> None:
        """Count a page, if rules were tried on it."""
        if record.rules is None or record.failed:
            return
        self.pages[record.site] += 1
        for rule in record.rules:
            key = (record.site, rule)
            if key in self.matched or len(self.matched) < _MOST_RULES:
                self.matched[key] = self.matched.get(key, 0) + 1


def rule_rows(now: RuleCounts, before: RuleCounts | None) -> list[dict[str, Any]]:
    """Return the rows of the table of rules: those that match less than they did first, then by site and rule."""
    before = before or RuleCounts()
    rows = []
    for site, rule in sorted({*now.matched, *before.matched}):
        n_pages, n_before = now.pages[site], before.pages[site]
        if not n_pages:
            continue
        matched = now.matched.get((site, rule), 0)
        share = matched / n_pages
        share_before = before.matched.get((site, rule), 0) / n_before if n_before else None
        less = share_before is not None and _fell(share, n_pages, share_before, n_before)
        rows.append({"site": site, "rule": rule, "pages": n_pages, "matched": matched, "share": share,
                     "share_before": share_before, "matches_less": less})  # fmt: skip
    return sorted(rows, key=lambda row: not row["matches_less"])


def _fell(share: float, n: int, share_before: float, n_before: int) -> bool:
    """Tell whether a share is lower by more than chance explains, if both are drawn from one."""
    both = (share * n + share_before * n_before) / (n + n_before)
    return share_before - share > _STANDARD_ERRORS * math.sqrt(both * (1 - both) * (1 / n + 1 / n_before))
