"""Counts of a run: pages by status, records passed over, and how much of the input is done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from blockml.rendering.record import FAILURES
from blockml.text.plurals import counted

__all__ = ["Summary"]


@dataclass(slots=True)
class Summary:
    """Counts of a run."""

    statuses: Counter[str] = field(default_factory=Counter)  #: Pages by status.
    skipped: Counter[str] = field(default_factory=Counter)  #: Records of archives that are no pages, by reason.
    n_earlier: int = 0  #: Pages done by an earlier run that this one continued.

    @property
    def n_pages(self) -> int:
        """Number of pages, those of the earlier run included."""
        return self.statuses.total()

    @property
    def n_failed(self) -> int:
        """Number of pages that failed."""
        return sum(count for status, count in self.statuses.items() if status in FAILURES)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {status}" for status, count in sorted(self.statuses.items()))
        earlier = f"; {self.n_earlier:,} of them done before" if self.n_earlier else ""
        passed_over = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.skipped.items()))
        return f"{counted(self.n_pages, 'page')}: {counts or 'nothing to do'}{earlier}" + (
            f"; passed over: {passed_over}" if passed_over else ""
        )
