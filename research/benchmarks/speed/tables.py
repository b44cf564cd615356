"""Tables of measured times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks.speed.clock import FLOOR, Times
from research.benchmarks.speed.stages import REST, SHARED

__all__ = ["Table", "cell", "failed", "markdown", "stage_table", "whole_table"]

#: Share of the floor below which an intermediate result has no separate row.
_LITTLE = 0.1

Table = list[dict[str, object]]
"""Rows of a table, all with equal columns."""


def whole_table(times: Times, names: Iterable[str]) -> Table:
    """Return one row per subject, the floor first: milliseconds per page, and ratios to the floor on the same pages."""
    floor = times.whole(FLOOR)
    found = [FLOOR, *(name for name in names if name != FLOOR)]
    return [{"": name, **_row(times.whole(name), floor)} for name in found if (name, "") in times.seconds]


def _row(seconds: NDArray[np.float64], floor: NDArray[np.float64]) -> dict[str, object]:
    here = ~np.isnan(seconds)
    own, least = 1000 * seconds[here], 1000 * floor[here]
    return {
        "pages": int(here.sum()),
        "ms mean": float(own.mean()),
        "median": float(np.median(own)),
        "p95": float(np.percentile(own, 95)),
        "ratio of means": float(own.mean() / least.mean()),
        "median of ratios": float(np.median(own / least)),
        "p95 of ratios": float(np.percentile(own / least, 95)),
    }


def stage_table(times: Times, subjects: Mapping[str, str]) -> Table:
    """Return one row per stage, with mean milliseconds and ratios to the floor for each configuration.

    Parameters
    ----------
    times
        The measured times.
    subjects
        Names of the subjects by column title; the first has all stages.
    """
    floor = 1000 * float(times.whole(FLOOR).mean())
    small = _small(times, subjects.values(), floor)
    ways = {title: _means(times, name, small) for title, name in subjects.items()}
    stages = [stage for stage in dict.fromkeys(stage for means in ways.values() for stage in means) if stage != REST]
    rows: Table = [{"stage": FLOOR} | _columns(dict.fromkeys(ways, floor), floor)]
    for stage in [*stages, REST]:
        rows.append({"stage": stage} | _columns({title: means.get(stage) for title, means in ways.items()}, floor))
    sums = {title: sum(means.values()) for title, means in ways.items()}
    return [*rows, {"stage": "all"} | _columns(sums, floor)]


def _means(times: Times, name: str, small: Set[str]) -> dict[str, float]:
    """Return mean milliseconds per page of each stage, 0 for pages without it; small stages are merged."""
    found: dict[str, float] = {}
    for lap, seconds in times.laps(name).items():
        row = SHARED + "the rest" if lap in small else lap
        found[row] = found.get(row, 0.0) + 1000 * float(np.nan_to_num(seconds).mean())
    return found


def _small(times: Times, names: Iterable[str], floor: float) -> set[str]:
    """Return intermediate results that are cheap in every configuration; ``floor`` is in milliseconds."""
    longest: dict[str, float] = {}
    for name in names:
        for lap, ms in _means(times, name, frozenset()).items():
            longest[lap] = max(longest.get(lap, 0.0), ms)
    return {lap for lap, ms in longest.items() if lap.startswith(SHARED) and ms < _LITTLE * floor}


def _columns(ms: Mapping[str, float | None], floor: float) -> dict[str, object]:
    found: dict[str, object] = {}
    for title, value in ms.items():
        found[f"{title}, ms"] = value
        found[f"{title}, ratio"] = None if value is None else value / floor
    return found


def failed(times: Times) -> Table:
    """Count failures by subject."""
    return [
        {"": name, "error": kind, "pages": count}
        for name, kinds in times.failures.items()
        for kind, count in kinds.items()
    ]


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format rows as a Markdown table.

    Examples
    --------
    >>> print(markdown([{"": "a", "ms": 0.123, "pages": 1200}]))
    |  | ms | pages |
    |---|---|---|
    | a | .12 | 1200 |
    """
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    return "\n".join([*lines, *(f"| {' | '.join(cell(row[name]) for name in names)} |" for row in rows)])


def cell(value: object) -> str:
    """Format one value: three significant digits, and no zero before the point.

    Examples
    --------
    >>> [cell(value) for value in (0.0123, 1.234, 12.34, 1234.5, None, 7)]
    ['.01', '1.23', '12.3', '1234', '', '7']
    """
    if isinstance(value, float):
        digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
        text = f"{value:.{digits}f}"
        return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "" if value is None else str(value)
