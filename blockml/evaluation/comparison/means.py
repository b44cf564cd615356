"""Means of the systems over pages and slices of them, and their differences, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.bootstrap import Difference, Interval, bootstrap_systems
from blockml.evaluation.comparison.grid import BLOCK_METRICS, METRICS, Grid
from blockml.evaluation.comparison.slices import Slice, slice_pages

__all__ = ["HEADLINES", "Settings", "block_ratios", "difference_rows", "mean_rows", "rounded"]

#: Metrics by which systems are compared in pairs, page by page and site by site.
HEADLINES = ("bag_f1", "lcs_f1", "block_f1", "with_rate")

# Fewest pages of a part of a data set for which an interval is given: resamples of fewer hardly differ.
_LEAST = 5

_Floats = NDArray[np.float64]
_Score = Callable[[_Floats], _Floats]


class Settings(NamedTuple):
    """Options of the bootstrap."""

    resamples: int = 1000
    seed: int = 0
    level: float = 0.95


class Estimate(NamedTuple):
    """A mean with its interval, and the number of pages that have the metric."""

    interval: Interval
    pages: int


def rounded(value: float | None) -> float | None:
    """Six decimals, so that the order in which a machine adds floats doesn't show; never a negative zero."""
    return None if value is None else round(float(value), 6) + 0.0


def block_ratios(counts: _Floats) -> _Floats:
    """F1, precision and recall from true positives, false positives and false negatives.

    0/0 is 1 if nothing is predicted and nothing is relevant, else 0, as in :class:`~blockml.evaluation.BlockScores`.

    Parameters
    ----------
    counts
        Shape (…, 3).

    Returns
    -------
    ndarray
        Shape (…, 3).

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
    """Mean of every system on every slice by every metric that any page of it has.

    Sites have only :data:`HEADLINES`. The slice ``site_mean`` is the mean over sites of the means of their pages; its
    interval comes from drawing sites.
    """
    for part in slice_pages(grid.pages):
        least = _LEAST if part.is_part else 2
        yield from _rows(grid, part.kind, part.name, _estimates(grid, part, settings, least))
        if part.kind == "all":
            yield from _rows(grid, "site_mean", "site_mean", _site_estimates(grid, settings))


def _rows(grid: Grid, kind: str, name: str, estimates: dict[tuple[str, int], Estimate]) -> Iterator[dict[str, Any]]:
    for column, system in enumerate(grid.systems):
        for metric in METRICS:
            if (metric, column) not in estimates:
                continue
            (mean, low, high), pages = estimates[metric, column]
            yield {
                "dataset": grid.dataset,
                "system": system,
                "metric": metric,
                "slice_kind": kind,
                "slice": name,
                "mean": rounded(mean),
                "low": None if np.isnan(low) else rounded(low),
                "high": None if np.isnan(high) else rounded(high),
                "pages": pages,
            }


def _estimates(grid: Grid, part: Slice, settings: Settings, least: int) -> dict[tuple[str, int], Estimate]:
    """Estimates by metric and column of the grid; without ends of intervals for fewer than ``least`` pages."""
    wanted = HEADLINES if part.kind == "site" else tuple(METRICS)
    averaged = [metric for metric in METRICS if metric in wanted and metric not in BLOCK_METRICS]
    keys = [(metric, column) for metric in averaged for column in range(len(grid.systems))]
    table = np.concatenate([grid.values[metric][part.rows] for metric in averaged], axis=1)
    found = {
        keys[column]: Estimate(interval, pages)
        for columns, intervals, pages in _resampled(table, settings, least)
        for column, interval in zip(columns, intervals, strict=True)
    }
    for columns, intervals, pages in _resampled(grid.counts[part.rows], settings, least, _flat_ratios):
        block_keys = [(metric, column) for column in columns for metric in BLOCK_METRICS]
        found |= {
            key: Estimate(interval, pages)
            for key, interval in zip(block_keys, intervals, strict=True)
            if key[0] in wanted
        }
    return found


def _flat_ratios(sums: _Floats) -> _Floats:
    """Block metrics of each system side by side: (samples, systems, 3) to (samples, systems * 3)."""
    return block_ratios(sums).reshape(len(sums), -1)


def _resampled(
    table: _Floats, settings: Settings, least: int, score: _Score | None = None
) -> Iterator[tuple[list[int], list[Interval], int]]:
    """Bootstrap the columns that are known on the same rows together: their places, intervals and number of rows."""
    known = ~np.isnan(table.reshape(*table.shape[:2], -1)[..., 0])
    for pattern, columns in _patterns(known):
        picked = table[pattern][:, columns]
        if len(picked) >= least:
            result = bootstrap_systems(picked, score, resamples=settings.resamples, seed=settings.seed)
            intervals = result.intervals(settings.level)
        else:
            means = bootstrap_systems(picked, score, resamples=1).estimates
            intervals = [Interval(mean, np.nan, np.nan) for mean in means.tolist()]
        yield columns, intervals, len(picked)


def _patterns(known: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], list[int]]]:
    """Columns that are known on the same rows, and on which; columns known nowhere are left out."""
    groups: dict[bytes, list[int]] = {}
    for column in range(known.shape[1]):
        groups.setdefault(known[:, column].tobytes(), []).append(column)
    for columns in groups.values():
        pattern = known[:, columns[0]]
        if pattern.any():
            yield pattern, columns


def _site_estimates(grid: Grid, settings: Settings) -> dict[tuple[str, int], Estimate]:
    """Estimates of means of site means."""
    owner = _owners(grid)
    counts, labelled = _site_sums(grid.counts, owner)
    ratios = np.where(labelled > 0, block_ratios(counts), np.nan)
    pages: dict[str, NDArray[np.intp]] = {}
    means: list[_Floats] = []
    for metric in METRICS:
        if metric in BLOCK_METRICS:
            means.append(ratios[..., BLOCK_METRICS.index(metric)])
        else:
            sums, known = _site_sums(grid.values[metric], owner)
            means.append(np.divide(sums, known, out=np.full(sums.shape, np.nan), where=known > 0))
        pages[metric] = np.count_nonzero(~np.isnan(grid.values[metric]), axis=0)
    keys = [(metric, column) for metric in METRICS for column in range(len(grid.systems))]
    return {
        keys[column]: Estimate(interval, int(pages[keys[column][0]][keys[column][1]]))
        for columns, intervals, _ in _resampled(np.concatenate(means, axis=1), settings, 2)
        for column, interval in zip(columns, intervals, strict=True)
    }


def _site_sums(values: _Floats, owner: NDArray[np.intp]) -> tuple[_Floats, _Floats]:
    """Sum and number of the values of each site that are known, shape (sites, …)."""
    shape = (int(owner.max()) + 1, *values.shape[1:])
    sums, known = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, owner, np.nan_to_num(values))
    np.add.at(known, owner, ~np.isnan(values))
    return sums, known


def difference_rows(grid: Grid, settings: Settings) -> Iterator[dict[str, Any]]:
    """Every system against each that comes after it, by each of :data:`HEADLINES`, over the pages that both have.

    Fewer than five pages show no difference. ``significant_by_site`` draws whole sites, as pages of one are alike; None
    where there are fewer than five.
    """
    owner = _owners(grid)
    for metric in HEADLINES:
        values = grid.values[metric]
        table, score = (grid.counts, _flat_f1) if metric == "block_f1" else (values, None)
        known = ~np.isnan(values)
        groups: dict[bytes, list[tuple[int, int]]] = {}
        for a, b in combinations(range(len(grid.systems)), 2):
            groups.setdefault((known[:, a] & known[:, b]).tobytes(), []).append((a, b))
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for pairs in groups.values():
            common = known[:, pairs[0][0]] & known[:, pairs[0][1]]
            if common.any():
                rows |= _compared(table[common], values[common], owner[common], pairs, score, settings)
        for a, b in sorted(rows):
            names = {"dataset": grid.dataset, "metric": metric, "a": grid.systems[a], "b": grid.systems[b]}
            yield names | rows[a, b]


def _owners(grid: Grid) -> NDArray[np.intp]:
    """(pages,) number of each page's site."""
    places = {site: place for place, site in enumerate(dict.fromkeys(page.site for page in grid.pages))}
    return np.array([places[page.site] for page in grid.pages], dtype=np.intp)


def _flat_f1(sums: _Floats) -> _Floats:
    return block_ratios(sums)[..., 0]


def _compared(
    table: _Floats,
    values: _Floats,
    owner: NDArray[np.intp],
    pairs: Iterable[tuple[int, int]],
    score: _Score | None,
    settings: Settings,
) -> dict[tuple[int, int], dict[str, Any]]:
    """Differences of the pairs, and on how many pages the first is ahead, behind and level."""
    columns = sorted({column for pair in pairs for column in pair})
    result = bootstrap_systems(table[:, columns], score, resamples=settings.resamples, seed=settings.seed)
    found = result.differences(settings.level)
    by_site = _by_site(table[:, columns], owner, score, settings)
    shown = len(table) >= _LEAST
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for a, b in pairs:
        difference = found[columns.index(a), columns.index(b)]
        ahead = values[:, a] - values[:, b]
        rows[a, b] = {
            "mean": rounded(difference.mean),
            "low": rounded(difference.low) if shown else None,
            "high": rounded(difference.high) if shown else None,
            "significant": difference.significant and shown,
            "significant_by_site": by_site and by_site[columns.index(a), columns.index(b)].significant,
            "wins": int(np.count_nonzero(ahead > 0)),
            "losses": int(np.count_nonzero(ahead < 0)),
            "ties": int(np.count_nonzero(ahead == 0)),
        }
    return rows


def _by_site(
    table: _Floats, owner: NDArray[np.intp], score: _Score | None, settings: Settings
) -> Mapping[tuple[int, int], Difference] | None:
    """Differences of the same means over pages, with whole sites drawn; None for fewer sites than tell anything."""
    sites, numbers = np.unique(owner, return_inverse=True)
    if len(sites) < _LEAST:
        return None
    summed = table[..., None] if score is None else table
    if score is None:
        summed = np.concatenate([summed, np.ones_like(summed)], axis=-1)  # a mean is a ratio of sums
    sums = np.zeros((len(sites), *summed.shape[1:]))
    np.add.at(sums, numbers, summed)
    result = bootstrap_systems(sums, score or _ratio, resamples=settings.resamples, seed=settings.seed)
    return result.differences(settings.level)


def _ratio(sums: _Floats) -> _Floats:
    ratio: _Floats = sums[..., 0] / sums[..., 1]
    return ratio
