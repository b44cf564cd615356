"""Watches rules: on how many pages of its site each matched, and whether that is fewer than in an earlier output."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from blockml.surveying.records import Record

__all__ = ["RuleCounts", "rule_rows"]

#: Maximum number of rules counted.
_MOST_RULES = 20_000
#: Difference of two shares, in standard errors, from which a rule is said to match less than it did (our choice).
_STANDARD_ERRORS = 3.0


@dataclass(slots=True)
class RuleCounts:
    """Pages on which rules matched.

    Examples
    --------
    >>> from blockml.surveying.records import record_of
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
