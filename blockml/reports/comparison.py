"""The HTML report of a comparison of systems: figures and tables of each data set."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockml.evaluation.calibration import Coverage
from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.evaluation.comparison.result_store import PageSample, Store
from blockml.parsing.limits import ParsingOptions
from blockml.reports.figures import SPREAD_AXIS, Axis, Point, Scatter, axis_over, dot_axis, heat, scatter, tallest_bar
from blockml.reports.pageview import PagePredictions, view_name, write_page_views
from blockml.reports.ranking import (
    Index,
    RankingSummary,
    Row,
    Standing,
    index_tables,
    leaders,
    standings,
    summarise_ranking,
)
from blockml.reports.templating import shorten, write_html

#: Number of leading systems whose worst pages have a view, besides trained models.
_LEADING = 3


def write_comparison(tables: Mapping[str, Any], directory: str | os.PathLike[str]) -> Path:
    """Write the report of a comparison to ``report.html`` in a directory, as a self-contained HTML file.

    ``tables`` are the comparison's tables; UsageError is raised if they are of another version. Pages are linked if
    :func:`blockml.reports.write_page_views` has already written their views to the directory. For other errors see
    :func:`blockml.reports.templating.write_html`.
    """
    folder = Path(directory)
    index = index_tables(tables)
    panels = [panel(tables, index, row, f"d{number}", folder) for number, row in enumerate(tables["datasets"], start=1)]
    return write_html(
        "comparison.html.jinja",
        folder / "report.html",
        tables=tables,
        index=index,
        panels=panels,
        overall=_overall(tables, index, panels),
        costs=run_costs(tables, index, None),
        outcomes=OUTCOMES,
        min_pages=MIN_PAGES,
        linked=any(link for item in panels for _, link in item["hardest"]),
        missing=tables.get("missing_systems") or (),
        seen=[(dataset, system, str(found)) for (dataset, system), found in index.seen.items() if found.worth_telling],
        level=f"{100 * tables['settings']['level']:g}",
    )


def write_comparison_views(
    tables: Mapping[str, Any],
    samples: Sequence[PageSample],
    store: Store,
    parsings: Mapping[str, ParsingOptions],
    trained: Collection[str] = (),
) -> None:
    """Write views of the hardest pages, and of the worst pages of the leading systems and of ``trained`` models.

    Views of an earlier comparison that the report would link to are replaced.
    """
    for sample in samples:
        name = sample.dataset.name
        bag = [
            (row["mean"], row["system"])
            for row in tables["means"]
            if (row["dataset"], row["metric"], row["slice_kind"]) == (name, "bag_f1", "all") and row["mean"] is not None
        ]
        leading = {system for _, system in sorted(bag, reverse=True)[:_LEADING]} | {*trained}
        wanted = {row["id"] for row in tables["hardest"] if row["dataset"] == name}
        wanted |= {
            row["id"]
            for row in tables["worst"]
            if row["dataset"] == name
            and (row["system"] in leading or (store.directory / view_name(name, row["id"])).is_file())
        }
        outputs: dict[str, dict[str, list[int] | str]] = {page_id: {} for page_id in wanted}
        for system in (row["system"] for row in tables["outcomes"] if row["dataset"] == name):
            # The view shows the blocks of the default segmentation; those of another segmentation are not comparable.
            has_blocks = parsings.get(system) == ParsingOptions()
            for output in store.read("outputs", name, system):
                if output["id"] in wanted:
                    kept = output["kept"] if has_blocks else None
                    outputs[output["id"]][system] = output["text"] if kept is None else kept
        pages = [page for page in sample.dataset.pages if page.id in wanted]
        write_page_views((PagePredictions(name, page, outputs[page.id]) for page in pages), store.directory)


def _overall(tables: Mapping[str, Any], index: Index, panels: Sequence[Mapping[str, Any]]) -> HeatTable:
    """Build the table of mean rank, mean score and the ranking score on each data set; the best mean rank first."""
    overall = {row["system"]: row for row in tables.get("overall") or ()}
    ranks = {name: overall.get(name, {}).get("rank") for name in index.kinds}
    names = sorted(index.kinds, key=lambda name: (ranks[name] is None, ranks[name] or 0))
    lines = []
    for place, name in enumerate(names, start=1):
        rank = None if ranks[name] is None else place
        mean = overall.get(name, {}).get("mean")
        seen = any(index.has_seen(name, item["name"]) for item in panels)
        lines.append(
            Standing(name, index.kinds[name], rank, in_sample=bool(index.trained_on[name]), mean=mean, seen=seen)
        )
    scores = [{row.system: row.mean for row in item["table"]} for item in panels]
    values = [[ranks[row.system], row.mean, *(score.get(row.system) for score in scores)] for row in lines]
    columns = [("mean rank", None), ("mean", None), *((item["name"], item["about"]["pages"]) for item in panels)]
    better = ["low", "high", *(index.better.get(item["metric"] or "", "high") for item in panels)]
    return coloured_by_column(columns, lines, values, better)


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
        "axes": [dot_axis(rows) for rows in both],
        "scatter": figure,
        "points": points,
        "spread_axis": SPREAD_AXIS,
        "tallest": [tallest_bar(spread["histogram"] for _, spread in rows) for rows in spread_rows],
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


def write_coverage(path: str | os.PathLike[str], tables: Sequence[tuple[str, Sequence[Coverage]]]) -> Path:
    """Write tables of coverage with their curves as a self-contained HTML file; return its path.

    ``tables`` has the title of each table and its rows. Raises the errors of
    :func:`blockml.reports.templating.write_html`.
    """
    x = Axis(0.0, 1.0, 40.0, 356.0, 0.2)
    panels = []
    for title, rows in tables:
        known = [(row.share.mean, row.f1, row.threshold) for row in rows if row.f1 is not None]
        y = axis_over([value for _, f1, _ in known for value in f1], 250.0, 12.0, least=0.1)
        points = [(x.at(share), *map(y.at, f1), threshold) for share, f1, threshold in known]
        panels.append({"title": title, "rows": rows, "x": x, "y": y, "points": points})
    return write_html("coverage.html.jinja", path, panels=panels)
