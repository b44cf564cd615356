"""Figures and tables about one data set in the report of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.reports.figures import DotRow, Point, Scatter, dot_plot, heat, histograms, scatter
from blockml.reports.pageview import view_name
from blockml.reports.ranking import Index, RankingSummary, Row, Standing, leaders, standings, summarise_ranking
from blockml.reports.templating import shorten

#: Kinds of slices that are shown as heat tables, with their titles.
SLICES = {
    "page_type": "page type",
    "script": "script",
    "language": "language",
    "gold_length": "length of the gold text, in quartiles",
}
#: Minimum number of pages of a coloured slice: means over fewer pages say little.
MIN_PAGES = 5
# Number of slices shown first: those with the most pages.
_N_SLICES = 8
# Number of systems in the small matrix, which fits a phone screen.
_N_MATRIX = 8


@dataclass(frozen=True, slots=True)
class HeatTable:
    """A table of systems by columns, with coloured cells."""

    columns: tuple[tuple[str, int | None], ...]  #: Heading and number of pages
    #: System, and the value and colour strength (in [0, 1]) of each cell
    rows: tuple[tuple[Standing, tuple[tuple[float | None, float | None], ...]], ...]


def panel(tables: Mapping[str, Any], index: Index, about: Row, anchor: str, folder: Path) -> dict[str, Any]:
    """Return the template variables of one data set. Pairs hold a value for the systems shown first and one for all.

    ``about`` is the data set's row, ``anchor`` the prefix of the ids of its figures, unique in the report, and
    ``folder`` the directory of the report, to find the views of its pages.
    """
    name = about["name"]
    metric = index.ranking_metric(name)
    table = standings(index, name, metric) if metric else ()
    both = leaders(table), table
    figure, points = _scatter(index, name, metric, table)
    spreads = {row["system"]: row for row in _rows_of(tables, "distribution", name) if row["metric"] == metric}
    spread_rows = [tuple((row, spreads[row.system]) for row in rows if row.system in spreads) for rows in both]
    figures = [histograms([(spread["histogram"], spread["deciles"]) for _, spread in rows]) for rows in spread_rows]
    dots = [dot_plot([DotRow(row.mean, row.low, row.high, shaded=row.tied_with_best) for row in rows]) for rows in both]

    def linked(rows: Sequence[Row]) -> list[tuple[Row, str | None]]:
        """Add links to the views of pages."""
        names = [view_name(name, row["id"]) for row in rows]
        return [(row, link if (folder / link).is_file() else None) for row, link in zip(rows, names, strict=True)]

    worst: dict[str, list[Row]] = {}
    for row in _rows_of(tables, "worst", name):
        worst.setdefault(row["system"], []).append(row)
    return {
        "anchor": anchor,
        "about": about,
        "name": name,
        "metric": metric,
        "title": index.titles.get(metric or "", metric or ""),
        "summary": summarise_ranking(index, name, metric) if metric else RankingSummary(),
        "table": table,
        "shown": both[0],
        "dots": dots,
        "scatter": figure,
        "points": points,
        "spread": figures,
        "spread_rows": spread_rows,
        "matrix": [_matrix(index, name, metric, rows) for rows in (leaders(table, _N_MATRIX), table)],
        "slices": list(_slices(index, name, metric, *both)),
        "metrics": _metrics(index, name, metric, table),
        "costs": run_costs(tables, index, name),
        "hardest": linked([{"why": "hard", "page_type": None, **row} for row in _rows_of(tables, "hardest", name)]),
        "worst": [(row.system, linked(worst[row.system])) for row in table if row.system in worst],
    }


def _rows_of(tables: Mapping[str, Any], name: str, dataset: str | None) -> list[Row]:
    """Return the rows of an optional table about a data set, or about all if None."""
    return [row for row in tables.get(name) or () if dataset in (None, row["dataset"])]


def _scatter(
    index: Index, dataset: str, metric: str | None, table: Sequence[Standing]
) -> tuple[Scatter | None, tuple[tuple[Standing, float, float, Point], ...]]:
    """Lay out precision against recall; None if the metric has neither."""
    kind = (metric or "").partition("_")[0]
    recalls, precisions = (
        {name: row["mean"] for name, row in index.whole(dataset, f"{kind}_{part}").items() if row["mean"] is not None}
        for part in ("recall", "precision")
    )
    both = [
        (row, float(recalls[row.system]), float(precisions[row.system]))
        for row in table
        if row.system in recalls and row.system in precisions
    ]
    if not both:
        return None, ()
    named = {row.system for row in leaders(table)} | {row.system for row in table if row.in_sample}
    labelled = []
    for row, recall, precision in both:
        # Labels to try: the name for the best systems, and the rank.
        rank = "†" if row.rank is None else str(row.rank)
        name = f"{shorten(row.system)}{'†' if row.seen else ''}"
        labelled.append((recall, precision, [name, rank] if row.system in named else [rank]))
    figure = scatter(labelled)
    return figure, tuple((*values, point) for values, point in zip(both, figure.points, strict=True))


def _matrix(index: Index, dataset: str, metric: str | None, table: Sequence[Standing]) -> dict[str, Any]:
    """Return the pairwise results of systems; None on the diagonal and where nothing was tested."""
    rows = [
        (row, [index.pairwise.get((dataset, metric or "", row.system, other.system)) for other in table])
        for row in table
    ]
    return {"systems": table, "rows": rows}


def _slices(
    index: Index, dataset: str, metric: str | None, shown: Sequence[Standing], table: Sequence[Standing]
) -> Iterator[tuple[str, HeatTable, HeatTable]]:
    for kind, title in SLICES.items():
        slices = index.means.get((dataset, metric or "", kind), {})
        if len(slices) < 2:
            continue
        pages = {name: max(row["pages"] for row in rows.values()) for name, rows in slices.items()}
        by_size = sorted(slices, key=lambda name: -pages[name])
        names = sorted(slices) if kind == "gold_length" else by_size
        first = [name for name in names if name in by_size[:_N_SLICES]]
        yield title, _slice_table(slices, pages, first, shown), _slice_table(slices, pages, names, table)


def _slice_table(
    slices: Mapping[str, Mapping[str, Row]], pages: Mapping[str, int], names: Sequence[str], table: Sequence[Standing]
) -> HeatTable:
    values = [[slices[name].get(row.system, {}).get("mean") for name in names] for row in table]
    colours = heat(
        [value if pages[name] >= MIN_PAGES else None for row in values for name, value in zip(names, row, strict=True)]
    )
    # A range of numbers stays on one line.
    columns = [(name.replace("-", "\N{NON-BREAKING HYPHEN}"), pages[name]) for name in names]
    return _heat_table(columns, table, values, colours)


def _heat_table(
    columns: Sequence[tuple[str, int | None]],
    table: Sequence[Standing],
    values: Sequence[Sequence[float | None]],
    colours: Sequence[float | None],
) -> HeatTable:
    """Build a table from its colours row by row."""
    colour = iter(colours)
    rows = [(row, tuple((value, next(colour)) for value in line)) for row, line in zip(table, values, strict=True)]
    return HeatTable(tuple(columns), tuple(rows))


def coloured_by_column(
    columns: Sequence[tuple[str, int | None]],
    table: Sequence[Standing],
    values: Sequence[Sequence[float | None]],
    better: Sequence[str],
) -> HeatTable:
    """Build a table that is coloured column by column."""
    coloured = [heat([line[i] for line in values], better=better[i]) for i in range(len(columns))]
    return _heat_table(columns, table, values, [column[i] for i in range(len(table)) for column in coloured])


def _metrics(index: Index, dataset: str, metric: str | None, table: Sequence[Standing]) -> HeatTable:
    """Build the table of all metrics, and of the ranking metric on clean gold and over sites."""
    columns = [(name, index.whole(dataset, name), index.better[name]) for name in index.titles]
    for kind, title in (("clean", "clean gold"), ("site_mean", "mean of sites")):
        rows = next(iter(index.means.get((dataset, metric or "", kind), {}).values()), {})
        columns.append((f"{metric}, {title}", rows, index.better.get(metric or "", "high")))
    known = [column for column in columns if any(row["mean"] is not None for row in column[1].values())]
    values = [[rows.get(row.system, {}).get("mean") for _, rows, _ in known] for row in table]
    # A name may break after its underscore, so that all metrics fit a desktop.
    names = [(name.replace("_", "_\N{ZERO WIDTH SPACE}"), None) for name, _, _ in known]
    return coloured_by_column(names, table, values, [better for _, _, better in known])


def run_costs(tables: Mapping[str, Any], index: Index, dataset: str | None) -> list[dict[str, Any]]:
    """Return outcomes and cost of each system on one data set, or on all: pages summed, times weighted by pages.

    ``ratio`` is the mean time relative to the fastest system. Only single data sets have medians and percentiles.
    """
    costs = {(row["dataset"], row["system"]): row for row in tables.get("cost") or ()}
    found: list[dict[str, Any]] = []
    for system, kind in index.kinds.items():
        runs = [row for row in _rows_of(tables, "outcomes", dataset) if row["system"] == system]
        if not runs:
            continue
        of_runs = [(costs.get((row["dataset"], system), {}), row["pages"]) for row in runs]
        weighted = [(cost, cost.get("timed_pages", pages)) for cost, pages in of_runs]
        peaks = [cost["peak_megabytes"] for cost, _ in weighted if cost.get("peak_megabytes") is not None]
        found.append(
            {
                "system": system,
                "kind": kind,
                "counts": {name: sum(row[name] for row in runs) for name in OUTCOMES},
                "pages": sum(row["pages"] for row in runs),
                "ms_mean": _weighted_mean(weighted, "ms_mean"),
                "ms_median": _weighted_mean(weighted, "ms_median") if dataset else None,
                "ms_p95": _weighted_mean(weighted, "ms_p95") if dataset else None,
                "peak": max(peaks, default=None),
            }
        )
    fastest = min((row["ms_mean"] for row in found if row["ms_mean"]), default=None)
    for row in found:
        row["ratio"] = row["ms_mean"] / fastest if row["ms_mean"] and fastest else None
    return sorted(found, key=lambda row: (row["ms_mean"] is None, row["ms_mean"] or 0))


def _weighted_mean(rows: Sequence[tuple[Row, int]], name: str) -> float | None:
    known = [(float(cost[name]), pages) for cost, pages in rows if cost.get(name) is not None]
    total = sum(pages for _, pages in known)
    return sum(value * pages for value, pages in known) / total if total else None
