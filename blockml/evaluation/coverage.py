"""Coverage: share and quality of the pages above each confidence threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.evaluation.bootstrap import MIN_DOCUMENTS, Interval, bootstrap_mean

if TYPE_CHECKING:
    from blockml.evaluation.run import PageResult

__all__ = ["CONFIDENCES", "Coverage", "coverage", "coverage_of"]

#: Default confidence thresholds.
CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Pages whose confidence is at least a threshold."""

    threshold: float
    pages: int
    share: Interval  #: Their share of all pages.
    f1: Interval | None  #: Their mean F1; None for fewer than five.

    def record(self) -> dict[str, Any]:
        """Return the values by name, intervals as mean, low and high."""
        intervals = {name: None if value is None else value._asdict()
                     for name, value in (("share", self.share), ("f1", self.f1))}  # fmt: skip
        return {"confidence": self.threshold, "pages": self.pages, **intervals}


def coverage(
    confidence: ArrayLike, f1: ArrayLike, *, thresholds: Sequence[float] = CONFIDENCES, level: float = 0.95
) -> list[Coverage]:
    """Compute the share and mean F1 of the pages above each confidence threshold, with intervals.

    Most pages are good and a few are bad, so a small sample may have none of the bad ones, and the interval of a plain
    bootstrap of 50 pages contains the mean of the other pages in only 76 to 89 of 100 draws. Therefore the intervals
    are those of the sample with two pages added, one with F1 0 and one with F1 1; they contained it in 96 to 99 of 100
    draws on the four collections with more than 600 pages (``python -m research.benchmarks.survey_coverage``). The
    estimates are the plain means.

    Parameters
    ----------
    confidence, f1
        (n_pages,) values in [0, 1] of the same pages.
    thresholds
        Minimum confidences.
    level
        Share of the bootstrap means that an interval contains.

    Raises
    ------
    UsageError
        The lengths differ, or there is no page.

    Examples
    --------
    >>> rows = coverage([0.9] * 8 + [0.3, 0.2], [1.0] * 8 + [0.5, 0.4], thresholds=(0, 0.5))
    >>> [(row.threshold, row.pages, round(row.f1.mean, 2)) for row in rows]
    [(0, 10, 0.89), (0.5, 8, 1.0)]
    >>> rows[1].f1.low < 1.0
    True
    """
    sure, quality = np.asarray(confidence, dtype=np.float64), np.asarray(f1, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != quality.shape or not sure.size:
        raise UsageError(f"confidence and f1 must be arrays (n_pages,), got {sure.shape} and {quality.shape}")
    rows = []
    for threshold in thresholds:
        above = sure >= threshold
        few = int(above.sum()) < MIN_DOCUMENTS
        share = _interval(above.astype(np.float64), level)
        rows.append(Coverage(threshold, int(above.sum()), share, None if few else _interval(quality[above], level)))
    return rows


def coverage_of(results: Sequence[PageResult]) -> list[Coverage]:
    """Compute the coverage of the evaluated pages with a gold text; raises UsageError if none has one."""
    pairs = [(result.confidence, result.bag.f1) for result in results if result.bag is not None]
    if not pairs:
        raise UsageError("coverage needs pages with a gold text, and none has one")
    return coverage(*zip(*pairs, strict=True))


def _interval(values: NDArray[np.float64], level: float) -> Interval:
    """Return the mean of the values, with the interval of the values plus a 0 and a 1."""
    found = bootstrap_mean(np.append(values, (0.0, 1.0)), level=level)
    mean = float(values.mean())
    return Interval(mean, min(found.low, mean), max(found.high, mean))
