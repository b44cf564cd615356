"""Statistics of the sites of a run, gathered record by record in memory that does not grow with the pages of a site."""

from __future__ import annotations

import heapq
import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from blockml.datasets.validation import soft_error_message
from blockml.surveying.run_output import Record

#: Maximum number of sites counted separately; pages of further sites are counted as ``(other sites)``.
MOST_SITES = 20_000
OTHER_SITES, NO_SITE = "(other sites)", "(no site)"
#: Name for all names beyond the maximum.
OTHER = "other"
#: Number of lowest-confidence pages to show of a site, of typical ones, and of sampled pages to choose these from.
N_LEAST, N_TYPICAL, SAMPLED_PAGES = 3, 3, 16
#: Maximum number of statuses, models and languages counted separately.
_MOST_NAMES = 1_000
#: Number of bins of the confidence.
CONFIDENCE_BINS = 20
#: Maximum characters of a text to show if the page itself isn't given.
_SHOWN = 400


@dataclass(frozen=True, slots=True, order=True)
class PageNote:
    """A page that a survey shows; pages are sorted by ``key``."""

    key: tuple[float, int]  #: The value it was chosen by, and its number in the output.
    record: Record = field(compare=False)  #: Its record, with only the start of the text, and no rules.
    n_words: int = field(compare=False)

    @property
    def number(self) -> int:
        """Number of the page in the output."""
        return self.key[1]

    @property
    def kept_share(self) -> float:
        """Share of the blocks that were kept."""
        return self.record.n_kept / self.record.n_blocks if self.record.n_blocks else 0.0

    @property
    def confidence(self) -> float:
        """Confidence of the page; 0 if unknown."""
        return self.record.confidence or 0.0


@dataclass(slots=True, kw_only=True)
class PageCounts:
    """Counts of some pages of a run."""

    n_pages: int = 0
    n_failed: int = 0
    n_empty: int = 0  #: Pages without text that did not fail.
    n_words: int = 0
    n_rated: int = 0  #: Pages with a confidence that did not fail.
    confidence_sum: float = 0.0

    @property
    def confidence(self) -> float | None:
        """Mean confidence of the pages that did not fail."""
        return self.confidence_sum / self.n_rated if self.n_rated else None

    @property
    def expected_loss(self) -> float:
        """Number of pages times 1 - confidence; rows are ranked by it."""
        return self.n_rated - self.confidence_sum

    def add(self, record: Record, n_words: int) -> None:
        """Count a page."""
        self.n_pages += 1
        self.n_failed += record.failed
        if record.failed:
            return
        self.n_empty += record.text is not None and not n_words
        self.n_words += n_words
        if record.confidence is not None:
            self.n_rated += 1
            self.confidence_sum += record.confidence

    def row(self) -> dict[str, Any]:
        """Return the counts as columns of a table."""
        return {
            "pages": self.n_pages,
            "confidence": self.confidence,
            "expected_loss": self.expected_loss,
            "failed": self.n_failed,
            "empty": self.n_empty,
            "words": self.n_words,
        }


@dataclass(slots=True)
class SiteStats(PageCounts):
    """Counts of a site, or of all sites."""

    name: str
    number: int
    sample_size: int = SAMPLED_PAGES  #: Number of pages to sample for :meth:`typical` and for templates.
    n_unsure: int = 0
    n_titles: int = 0
    n_dates: int = 0
    n_soft_errors: int = 0
    soft_error: str = ""  #: Message of the first soft error.
    n_blocks: int = 0
    n_kept: int = 0
    _least: list[tuple[float, int, PageNote]] = field(default_factory=list)
    _sample: list[tuple[int, int, PageNote]] = field(default_factory=list)

    @property
    def kept_share(self) -> float | None:
        """Share of the blocks that were kept."""
        return self.n_kept / self.n_blocks if self.n_blocks else None

    def add(self, record: Record, n_words: int) -> None:
        """Count a page."""
        PageCounts.add(self, record, n_words)
        self.n_unsure += record.is_unsure
        if record.failed:
            return
        self.n_titles += bool(record.title)
        self.n_dates += record.has_date
        self.n_blocks += record.n_blocks
        self.n_kept += record.n_kept
        if (message := _soft_error(record, n_words)) is not None:
            self.n_soft_errors += 1
            self.soft_error = self.soft_error or message[:120]

    def note_page(self, record: Record, number: int, n_words: int) -> None:
        """Keep the page if its confidence is among the lowest, or if it is in the sample for typical pages."""
        confidence = 1.0 if record.confidence is None else record.confidence
        drawn = zlib.crc32(record.id.encode("utf-8", "replace"))
        is_least = len(self._least) < N_LEAST or -confidence > self._least[0][0]
        is_drawn = len(self._sample) < self.sample_size or -drawn > self._sample[0][0]
        if record.failed or not (is_least or is_drawn):
            return
        shown = replace(record, text=(record.text or "")[:_SHOWN], rules=None)  # thousands of pages are kept
        made = PageNote((confidence, number), shown, n_words)
        if is_least and record.confidence is not None:
            _push(self._least, (-confidence, -number, made), N_LEAST)
        if is_drawn:
            _push(self._sample, (-drawn, -number, made), self.sample_size)

    def least_sure(self) -> list[PageNote]:
        """Return the pages with the lowest confidence, lowest first."""
        return sorted(made for _, _, made in self._least)

    def sample(self) -> list[PageNote]:
        """Return the sampled pages, which do not depend on the order of the output."""
        return [made for _, _, made in sorted(self._sample, reverse=True)]

    def typical(self) -> list[PageNote]:
        """Return the sampled pages whose kept share and confidence are nearest to the medians of the sample."""
        taken = {made.number for made in self.least_sure()}
        pages = self.sample()
        rest = [made for made in pages if made.number not in taken]
        if not rest:
            return []
        share, sure = _median([made.kept_share for made in pages]), _median([made.confidence for made in pages])
        rest.sort(key=lambda made: (abs(made.kept_share - share) + abs(made.confidence - sure), made.number))
        return rest[:N_TYPICAL]

    def row(self) -> dict[str, Any]:
        """Return the row of the table of sites."""
        return {
            "site": self.name,
            "pages": self.n_pages,
            "confidence": self.confidence,
            "expected_loss": self.expected_loss,
            "failed": self.n_failed,
            "unsure": self.n_unsure,
            "empty": self.n_empty,
            "kept_share": self.kept_share,
            "words": self.n_words,
            "titles": self.n_titles,
            "dates": self.n_dates,
            "soft_errors": self.n_soft_errors,
            "soft_error": self.soft_error,
        }


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _push(heap: list[Any], item: tuple[float, int, PageNote], most: int) -> None:
    (heapq.heappush if len(heap) < most else heapq.heappushpop)(heap, item)


def _soft_error(record: Record, n_words: int) -> str | None:
    """Return the error message of a page whose title and text look like an error page."""
    if record.text is None:
        return None
    return soft_error_message(record.title, record.text.split("\n") if n_words <= 60 else [], n_words)


@dataclass(slots=True)
class Sites:
    """Statistics of all sites of a run."""

    total: SiteStats = field(default_factory=lambda: SiteStats("", -1))
    statuses: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    histogram: list[int] = field(default_factory=lambda: [0] * CONFIDENCE_BINS)
    by_name: dict[str, SiteStats] = field(default_factory=dict)
    sample_size: int = SAMPLED_PAGES

    def add(self, record: Record, number: int, n_words: int) -> SiteStats:
        """Count a page; return the statistics of its site."""
        site = self.of(record)
        for stats in (self.total, site):
            stats.add(record, n_words)
        site.note_page(record, number, n_words)
        for counter, name in ((self.statuses, record.status), (self.models, record.model)):
            _count_name(counter, name)
        if not record.failed:
            _count_name(self.languages, record.language or "unknown")
            if record.confidence is not None:
                self.histogram[min(int(record.confidence * CONFIDENCE_BINS), CONFIDENCE_BINS - 1)] += 1
        return site

    def of(self, record: Record) -> SiteStats:
        """Return the statistics of a record's site, or of ``(other sites)`` if there are too many sites."""
        found = self.find(record)
        if found is None:
            name = (record.site or NO_SITE) if len(self.by_name) < MOST_SITES else OTHER_SITES
            found = self.by_name[name] = SiteStats(name, len(self.by_name), self.sample_size)
        return found

    def find(self, record: Record) -> SiteStats | None:
        """Return the statistics of a record's site, like :meth:`of`; None if no record of the site was added."""
        name = record.site or NO_SITE
        if name not in self.by_name and len(self.by_name) >= MOST_SITES:
            name = OTHER_SITES
        return self.by_name.get(name)

    def ranked(self) -> list[SiteStats]:
        """Return the sites by pages times 1 - confidence, the highest first."""
        return sorted(self.by_name.values(), key=lambda site: (-site.expected_loss, -site.n_pages, site.name))


def _count_name(counter: Counter[str], name: str) -> None:
    """Count a name; hostile records may contain any number of different names, of which 1,000 are counted."""
    counter[bounded_name(counter, name)] += 1


def bounded_name(known: Collection[str], name: str) -> str:
    """Return a name, or ``other`` if it is new and there are too many names already.

    Examples
    --------
    >>> bounded_name({"ok": 1}, "timeout"), bounded_name([str(number) for number in range(1000)], "timeout")
    ('timeout', 'other')
    """
    return name if name in known or len(known) < _MOST_NAMES else OTHER
