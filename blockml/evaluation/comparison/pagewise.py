"""Tables of page scores on one data set: outcomes, cost, distribution, and the hardest pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.comparison.grid import OUTCOMES, Grid
from blockml.evaluation.comparison.means import HEADLINES, rounded

#: Number of pages listed for each kind of bad page.
N_LISTED = 10

#: Number of bins of a histogram over [0, 1].
N_BINS = 20


def outcome_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the number of pages with each outcome, by system."""
    counts = Counter((system, page.outcome) for (_, system), page in grid.cells.items())
    for system in grid.systems:
        outcomes = {name: counts[system, name] for name in OUTCOMES}
        yield {"dataset": grid.dataset, "system": system, **outcomes, "pages": sum(outcomes.values())}


def cost_rows(grid: Grid, peaks: Mapping[str, float | None]) -> Iterator[dict[str, Any]]:
    """Yield CPU time per page in milliseconds, over pages with a known time, and peak memory, by system."""
    for system in grid.systems:
        cells = (grid.cells.get((page.id, system)) for page in grid.pages)
        times = np.array([1000 * cell.seconds for cell in cells if cell is not None and cell.seconds is not None])
        yield {
            "dataset": grid.dataset,
            "system": system,
            "ms_mean": rounded(times.mean()) if times.size else None,
            "ms_median": rounded(np.quantile(times, 0.5)) if times.size else None,
            "ms_p95": rounded(np.quantile(times, 0.95)) if times.size else None,
            "timed_pages": int(times.size),
            "peak_megabytes": rounded(peaks.get(system)),
        }


def distribution_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield histogram and deciles of the page scores of each system, for each headline metric."""
    for column, system in enumerate(grid.systems):
        for metric in HEADLINES:
            values = grid.values[metric][:, column]
            values = values[~np.isnan(values)]
            if values.size:
                yield {
                    "dataset": grid.dataset,
                    "system": system,
                    "metric": metric,
                    "histogram": np.histogram(values, bins=N_BINS, range=(0, 1))[0].tolist(),
                    "deciles": [rounded(value) for value in np.quantile(values, np.linspace(0, 1, 11))],
                }


def page_score_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the main scores of every system on every page."""
    for row, page in enumerate(grid.pages):
        for column, system in enumerate(grid.systems):
            cell = grid.cells.get((page.id, system))
            if cell is not None:
                yield {
                    "dataset": grid.dataset,
                    "id": page.id,
                    "system": system,
                    "outcome": cell.outcome,
                    **{metric: _score(grid, metric, row, column) for metric in ("bag_f1", "lcs_f1", "block_f1")},
                    "page_type": page.page_type,
                    "site": page.site,
                    "script": page.script,
                    "gold_words": page.gold_words,
                }


def worst_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the pages on which each system has the lowest bag-of-words F1, worst first; ties by id."""
    values = grid.values["bag_f1"]
    for column, system in enumerate(grid.systems):
        for row in _lowest(values[:, column]):
            page = grid.pages[row]
            yield {
                "dataset": grid.dataset,
                "system": system,
                "id": page.id,
                "bag_f1": _score(grid, "bag_f1", row, column),
                "outcome": grid.cells[page.id, system].outcome,
                "page_type": page.page_type,
            }


def hardest_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the pages with the lowest bag-of-words F1 of the best system, and those with the largest disagreement.

    ``why`` is ``hard`` or ``disagreement``, ``best`` the greatest F1 of any system, and ``spread`` the standard
    deviation over systems, which, unlike the range, isn't dominated by a single failing system. Ties by id.
    """
    values = grid.values["bag_f1"]
    best, spread = np.full(len(values), np.nan), np.full(len(values), np.nan)
    known = ~np.isnan(values).all(axis=1)
    best[known], spread[known] = np.nanmax(values[known], axis=1), np.nanstd(values[known], axis=1)
    disputed = np.where(spread > 0, -spread, np.nan)
    for why, rows in (("hard", _lowest(best)), ("disagreement", _lowest(disputed))):
        for row in rows:
            yield {
                "dataset": grid.dataset,
                "why": why,
                "id": grid.pages[row].id,
                "best": rounded(best[row]),
                "spread": rounded(spread[row]),
                "page_type": grid.pages[row].page_type,
            }


def _lowest(values: NDArray[np.float64]) -> list[int]:
    """Return the indices of the lowest values; ties in order."""
    order = np.argsort(values, kind="stable")
    return [row for row in order.tolist() if not np.isnan(values[row])][:N_LISTED]


def _score(grid: Grid, metric: str, row: int, column: int) -> float | None:
    value = float(grid.values[metric][row, column])
    return None if np.isnan(value) else rounded(value)
