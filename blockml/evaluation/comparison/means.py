"""Means of the systems over pages and slices, their differences, and tables of page scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.bootstrap import MIN_DOCUMENTS, Difference, Interval, bootstrap_systems
from blockml.evaluation.comparison.grid import BLOCK_METRICS, METRIC_INFO, OUTCOMES, WHOLES, Grid, Slice, slice_pages

#: Metrics by which systems are compared in pairs, page by page and site by site.
HEADLINES = ("bag_f1", "lcs_f1", "block_f1", "with_rate")

_Floats = NDArray[np.float64]
_Score = Callable[[_Floats], _Floats]


class Settings(NamedTuple):
    """Options of the bootstrap."""

    resamples: int = 1000
    seed: int = 0
    level: float = 0.95


# An interval, and the number of pages that have the metric, by metric and column of the grid.
_Estimates = dict[tuple[str, int], tuple[Interval, int]]


def rounded(value: float | None) -> float | None:
    """Round to six decimals, which hides the summation order of a machine; never returns a negative zero."""
    return None if value is None else round(float(value), 6) + 0.0


def block_ratios(counts: _Floats) -> _Floats:
    """Compute F1, precision and recall, (…, 3), from true positives, false positives and false negatives, (…, 3).

    0/0 is 1 if nothing is predicted and nothing is relevant, else 0, as in :class:`~blockml.evaluation.BlockScores`.

    Examples
    --------
    >>> block_ratios(np.array([3.0, 1.0, 1.0])).tolist()
    [0.75, 0.75, 0.75]
    """
    tp, fp, fn = np.moveaxis(counts, -1, 0)
    hits = np.stack([2 * tp, tp, tp], axis=-1)
    totals = np.stack([2 * tp + fp + fn, tp + fp, tp + fn], axis=-1)
    nothing = np.broadcast_to((tp + fp + fn == 0)[..., None], totals.shape)
    ratios: _Floats = np.divide(hits, totals, out=nothing.astype(np.float64), where=totals > 0)
    return ratios


def mean_rows(grid: Grid, settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the mean of every system on every slice, for every metric that any of the slice's pages has.

    Sites have only :data:`HEADLINES`. The slice ``site_mean`` is the mean over sites of the means of their pages; its
    interval comes from resampling sites.
    """
    for part in slice_pages(grid.pages):
        min_pages = 2 if part.kind in WHOLES else MIN_DOCUMENTS
        yield from _rows(grid, part.kind, part.name, _estimates(grid, part, settings, min_pages))
        if part.kind == "all":
            yield from _rows(grid, "site_mean", "site_mean", _site_estimates(grid, settings))


def _rows(grid: Grid, kind: str, name: str, estimates: _Estimates) -> Iterator[dict[str, Any]]:
    for column, system in enumerate(grid.systems):
        for metric in METRIC_INFO:
            if (metric, column) in estimates:
                (mean, low, high), pages = estimates[metric, column]
                yield {
                    "system": system,
                    "metric": metric,
                    "slice_kind": kind,
                    "slice": name,
                    "mean": rounded(mean),
                    "low": None if np.isnan(low) else rounded(low),
                    "high": None if np.isnan(high) else rounded(high),
                    "pages": pages,
                }


def _estimates(grid: Grid, part: Slice, settings: Settings, min_pages: int) -> _Estimates:
    """Return estimates by metric and column of the grid; without interval bounds for fewer than ``min_pages`` pages."""
    wanted = HEADLINES if part.kind == "site" else tuple(METRIC_INFO)
    averaged = [metric for metric in METRIC_INFO if metric in wanted and metric not in BLOCK_METRICS]
    keys = [(metric, column) for metric in averaged for column in range(len(grid.systems))]
    table = np.concatenate([grid.values[metric][part.rows] for metric in averaged], axis=1)
    found = {
        keys[column]: (interval, pages)
        for columns, intervals, pages in _resampled(table, settings, min_pages)
        for column, interval in zip(columns, intervals, strict=True)
    }

    def ratios(sums: _Floats) -> _Floats:
        return block_ratios(sums).reshape(len(sums), -1)  # (n_samples, n_systems * 3)

    for columns, intervals, pages in _resampled(grid.counts[part.rows], settings, min_pages, ratios):
        block_keys = [(metric, column) for column in columns for metric in BLOCK_METRICS]
        found |= {
            key: (interval, pages) for key, interval in zip(block_keys, intervals, strict=True) if key[0] in wanted
        }
    return found


def _resampled(
    table: _Floats, settings: Settings, min_pages: int, score: _Score | None = None
) -> Iterator[tuple[list[int], list[Interval], int]]:
    """Bootstrap columns that have values in the same rows together; yield columns, intervals and number of rows."""
    known = ~np.isnan(table.reshape(*table.shape[:2], -1)[..., 0])
    groups: dict[bytes, list[int]] = {}
    for column in np.flatnonzero(known.any(axis=0)).tolist():
        groups.setdefault(known[:, column].tobytes(), []).append(column)
    for columns in groups.values():
        picked = table[known[:, columns[0]]][:, columns]
        if len(picked) >= min_pages:
            result = bootstrap_systems(picked, score, resamples=settings.resamples, seed=settings.seed)
            intervals = result.intervals(settings.level)
        else:
            means = bootstrap_systems(picked, score, resamples=1).estimates
            intervals = [Interval(mean, np.nan, np.nan) for mean in means.tolist()]
        yield columns, intervals, len(picked)


def _site_estimates(grid: Grid, settings: Settings) -> _Estimates:
    """Return estimates of means of site means, by metric and column of the grid."""
    owner = _site_indices(grid)
    counts, labelled = _site_sums(grid.counts, owner)
    ratios = np.where(labelled > 0, block_ratios(counts), np.nan)
    means: list[_Floats] = []
    for metric in METRIC_INFO:
        if metric in BLOCK_METRICS:
            means.append(ratios[..., BLOCK_METRICS.index(metric)])
        else:
            sums, known = _site_sums(grid.values[metric], owner)
            means.append(np.divide(sums, known, out=np.full(sums.shape, np.nan), where=known > 0))
    keys = [(metric, column) for metric in METRIC_INFO for column in range(len(grid.systems))]
    return {
        keys[column]: (interval, int(np.count_nonzero(~np.isnan(grid.values[keys[column][0]][:, keys[column][1]]))))
        for columns, intervals, _ in _resampled(np.concatenate(means, axis=1), settings, 2)
        for column, interval in zip(columns, intervals, strict=True)
    }


def _site_indices(grid: Grid) -> NDArray[np.intp]:
    """Return the index of each page's site, (n_pages,)."""
    index = {site: i for i, site in enumerate(dict.fromkeys(page.site for page in grid.pages))}
    return np.array([index[page.site] for page in grid.pages], dtype=np.intp)


def _site_sums(values: _Floats, owner: NDArray[np.intp]) -> tuple[_Floats, _Floats]:
    """Return sum and number of the known values of each site, (n_sites, …) each."""
    shape = (int(owner.max()) + 1, *values.shape[1:])
    sums, known = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, owner, np.nan_to_num(values))
    np.add.at(known, owner, ~np.isnan(values))
    return sums, known


def difference_rows(grid: Grid, settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the difference of every pair of systems for each of :data:`HEADLINES`.

    The difference is over pages that both systems have and neither was trained on; pairs without any such page get no
    row. ``seen_pages`` is the number of pages left out because a system was trained on them. Fewer than five pages give
    no interval. ``significant_by_site`` is the significance when whole sites are resampled, because pages of one site
    resemble each other; None for fewer than five sites.
    """
    owner = _site_indices(grid)
    for metric in HEADLINES:
        values = grid.values[metric]
        table, score = values, None
        if metric == "block_f1":
            table, score = grid.counts, lambda sums: block_ratios(sums)[..., 0]
        known = ~np.isnan(values)
        held_out = known & ~grid.seen
        groups: dict[bytes, list[tuple[int, int]]] = {}
        for a, b in combinations(range(len(grid.systems)), 2):
            groups.setdefault((held_out[:, a] & held_out[:, b]).tobytes(), []).append((a, b))
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for pairs in groups.values():
            common = held_out[:, pairs[0][0]] & held_out[:, pairs[0][1]]
            if common.any():
                rows |= _compared(table[common], values[common], owner[common], pairs, score, settings)
        for a, b in sorted(rows):
            names = {"metric": metric, "a": grid.systems[a], "b": grid.systems[b]}
            n_both = np.count_nonzero(known[:, a] & known[:, b])
            n_held_out = np.count_nonzero(held_out[:, a] & held_out[:, b])
            yield names | rows[a, b] | {"seen_pages": int(n_both - n_held_out)}


def _compared(
    table: _Floats,
    values: _Floats,
    owner: NDArray[np.intp],
    pairs: Sequence[tuple[int, int]],
    score: _Score | None,
    settings: Settings,
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the differences of the pairs, and the pages on which the first system wins, loses and ties."""
    columns = sorted({column for pair in pairs for column in pair})
    result = bootstrap_systems(table[:, columns], score, resamples=settings.resamples, seed=settings.seed)
    found = result.differences(settings.level)
    by_site = _by_site(table[:, columns], owner, score, settings)
    enough = len(table) >= MIN_DOCUMENTS
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for a, b in pairs:
        pair = columns.index(a), columns.index(b)
        margin = values[:, a] - values[:, b]
        rows[a, b] = {
            "mean": rounded(found[pair].mean),
            "low": rounded(found[pair].low) if enough else None,
            "high": rounded(found[pair].high) if enough else None,
            "significant": found[pair].significant and enough,
            "significant_by_site": by_site and by_site[pair].significant,
            "wins": int(np.count_nonzero(margin > 0)),
            "losses": int(np.count_nonzero(margin < 0)),
            "ties": int(np.count_nonzero(margin == 0)),
        }
    return rows


def _by_site(
    table: _Floats, owner: NDArray[np.intp], score: _Score | None, settings: Settings
) -> Mapping[tuple[int, int], Difference] | None:
    """Return the differences of means over pages with whole sites resampled; None for too few sites."""
    sites, index = np.unique(owner, return_inverse=True)
    if len(sites) < MIN_DOCUMENTS:
        return None
    if score is None:  # the mean is a ratio of sums

        def score(sums: _Floats) -> _Floats:
            return sums[..., 0] / sums[..., 1]

        table = np.stack([table, np.ones_like(table)], axis=-1)
    sums = np.zeros((len(sites), *table.shape[1:]))
    np.add.at(sums, index, table)
    return bootstrap_systems(sums, score, resamples=settings.resamples, seed=settings.seed).differences(settings.level)


#: Number of pages listed for each kind of bad page.
N_LISTED = 10

#: Number of bins of a histogram over [0, 1].
N_BINS = 20


def outcome_rows(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the number of pages with each outcome, by system."""
    counts = Counter((system, page.outcome) for (_, system), page in grid.cells.items())
    for system in grid.systems:
        outcomes = {name: counts[system, name] for name in OUTCOMES}
        yield {"system": system, **outcomes, "pages": sum(outcomes.values())}


def cost_rows(grid: Grid, peaks: Mapping[str, float | None]) -> Iterator[dict[str, Any]]:
    """Yield CPU time per page in milliseconds, over pages with a known time, and peak memory, by system."""
    for system in grid.systems:
        cells = (grid.cells.get((page.id, system)) for page in grid.pages)
        times = np.array([1000 * cell.seconds for cell in cells if cell is not None and cell.seconds is not None])
        yield {
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
