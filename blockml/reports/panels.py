"""What a report shows of one data set: tables of a comparison in, figures and heat tables out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.reports.figures import DotPlot, DotRow, Histograms, Mark, Scatter, dot_plot, heat, histograms, scatter
from blockml.reports.pageview import view_name
from blockml.reports.standings import Duel, Index, Row, Standing, Verdict, leaders, standings, verdict
from blockml.reports.templating import shorten

__all__ = ["FEW", "Effort", "HeatTable", "Panel", "by_column", "effort", "panel"]

#: Slices that are shown as heat tables, by kind.
SLICES = {
    "page_type": "page type",
    "script": "script",
    "language": "language",
    "gold_length": "length of the gold text, in quartiles",
}
#: Of many slices, so many are shown first: those with most pages.
_SLICES_FIRST = 8
#: Slices of fewer pages tell little: their means have no colour.
FEW = 5
#: Systems of the small matrix, so that it fits a telephone.
_MATRIX_FIRST = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """All that is shown of one data set."""

    anchor: str
    about: Row
    metric: str | None
    """The metric of the ranking; None where no system has a value."""
    title: str
    """What the metric is."""
    verdict: Verdict
    table: tuple[Standing, ...]
    shown: tuple[Standing, ...]
    """The systems that are shown first."""
    dots: tuple[DotPlot, DotPlot]
    """Of the systems shown first, and of all."""
    scatter: Scatter | None
    points: tuple[tuple[Standing, float, float, Mark], ...]
    """System, recall, precision and mark of each point."""
    spread: tuple[Histograms, Histograms]
    spread_rows: tuple[tuple[tuple[Standing, Row], ...], tuple[tuple[Standing, Row], ...]]
    """System and distribution of each row of these."""
    matrix: tuple[Matrix, Matrix]
    slices: tuple[tuple[str, HeatTable, HeatTable], ...]
    """Kind of slice, its table of the systems and slices shown first, and the whole one."""
    metrics: HeatTable
    effort: tuple[Effort, ...]
    hardest: tuple[tuple[Row, str | None], ...]
    """Page and link."""
    worst: tuple[tuple[str, tuple[tuple[Row, str | None], ...]], ...]
    """System, and its worst pages with their links."""

    @property
    def name(self) -> str:
        """Name of the data set."""
        return str(self.about["name"])


@dataclass(frozen=True, slots=True)
class Cell:
    """A number on coloured ground."""

    value: float | None
    heat: float | None
    """Strength of the colour in [0, 1]."""


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Systems by columns."""

    columns: tuple[tuple[str, int | None], ...]
    """Heading and number of pages."""
    rows: tuple[tuple[Standing, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Systems against systems; None on the diagonal and where nothing was tested."""

    systems: tuple[Standing, ...]
    rows: tuple[tuple[Standing, tuple[Duel | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Effort:
    """How a system's runs ended, and what they cost."""

    system: str
    kind: str
    counts: Mapping[str, int]
    pages: int
    ms_mean: float | None
    ms_median: float | None
    ms_p95: float | None
    ratio: float | None
    """Mean time by that of the fastest system."""
    peak: float | None


def panel(tables: Mapping[str, Any], index: Index, about: Row, anchor: str, folder: Path) -> Panel:
    """Gather what is shown of one data set.

    Parameters
    ----------
    tables, index
        The comparison's tables, and the index of them.
    about
        The data set's row.
    anchor
        Start of the ids of its figures, unique in the report.
    folder
        Where the report is written, to find the views of its pages.
    """
    name = about["name"]
    metric = index.leading(name)
    table = standings(index, name, metric) if metric else ()
    shown = leaders(table)
    figure, points = _scatter(index, name, metric, table)
    spread_rows = (_spread_rows(tables, name, metric, shown), _spread_rows(tables, name, metric, table))
    return Panel(
        anchor=anchor,
        about=about,
        metric=metric,
        title=index.titles.get(metric or "", metric or ""),
        verdict=verdict(index, name, metric) if metric else Verdict(None, None, None, (), ()),
        table=table,
        shown=shown,
        dots=(_dots(shown), _dots(table)),
        scatter=figure,
        points=points,
        spread=(_spread(spread_rows[0]), _spread(spread_rows[1])),
        spread_rows=spread_rows,
        matrix=(_matrix(index, name, metric, leaders(table, _MATRIX_FIRST)), _matrix(index, name, metric, table)),
        slices=tuple(_slices(index, name, metric, table, shown)),
        metrics=_metrics(index, name, table),
        effort=effort(tables, index, name),
        hardest=tuple(
            ({"why": "hard", "page_type": None, **row}, _link(folder, name, row["id"]))
            for row in tables.get("hardest") or ()
            if row["dataset"] == name
        ),
        worst=tuple(_worst(tables, name, table, folder)),
    )


def _dots(table: Sequence[Standing]) -> DotPlot:
    return dot_plot([DotRow(row.mean, row.low, row.high, shaded=row.level_with_best) for row in table])


def _scatter(
    index: Index, dataset: str, metric: str | None, table: Sequence[Standing]
) -> tuple[Scatter | None, tuple[tuple[Standing, float, float, Mark], ...]]:
    """Precision against recall; None where the metric has neither."""
    kind = (metric or "").partition("_")[0]
    precisions, recalls = (index.whole(dataset, f"{kind}_{part}") for part in ("precision", "recall"))
    both = [
        (row, float(recalls[row.system]["mean"]), float(precisions[row.system]["mean"]))
        for row in table
        if row.system in precisions
        and row.system in recalls
        and precisions[row.system]["mean"] is not None
        and recalls[row.system]["mean"] is not None
    ]
    if not both:
        return None, ()
    named = {row.system for row in leaders(table)} | {row.system for row in table if row.in_sample}
    figure = scatter([(recall, precision, _labels(row, named)) for row, recall, precision in both])
    return figure, tuple((*point, mark) for point, mark in zip(both, figure.marks, strict=True))


def _labels(row: Standing, named: Set[str]) -> list[str]:
    """Labels of a point: its name for the best systems, else or where there is no room for it the rank."""
    mark = "†" if row.rank is None else str(row.rank)
    return [f"{shorten(row.system)}{'†' if row.in_sample else ''}", mark] if row.system in named else [mark]


def _spread_rows(
    tables: Mapping[str, Any], dataset: str, metric: str | None, table: Sequence[Standing]
) -> tuple[tuple[Standing, Row], ...]:
    rows = {
        row["system"]: row
        for row in tables.get("distribution") or ()
        if row["dataset"] == dataset and row["metric"] == metric
    }
    return tuple((row, rows[row.system]) for row in table if row.system in rows)


def _spread(rows: Sequence[tuple[Standing, Row]]) -> Histograms:
    return histograms([(row["histogram"], row["deciles"]) for _, row in rows])


def _matrix(index: Index, dataset: str, metric: str | None, table: Sequence[Standing]) -> Matrix:
    return Matrix(
        tuple(table),
        tuple(
            (row, tuple(index.duels.get((dataset, metric or "", row.system, other.system)) for other in table))
            for row in table
        ),
    )


def _slices(
    index: Index, dataset: str, metric: str | None, table: Sequence[Standing], shown: Sequence[Standing]
) -> Iterable[tuple[str, HeatTable, HeatTable]]:
    for kind, title in SLICES.items():
        slices = index.means.get((dataset, metric or "", kind), {})
        if len(slices) < 2:
            continue
        pages = {name: max(row["pages"] for row in rows.values()) for name, rows in slices.items()}
        largest = sorted(slices, key=lambda name: -pages[name])[:_SLICES_FIRST]
        names = sorted(slices) if kind == "gold_length" else sorted(slices, key=lambda name: -pages[name])
        first = [name for name in names if name in largest]
        yield title, _slice_table(slices, pages, first, shown), _slice_table(slices, pages, names, table)


def _slice_table(
    slices: Mapping[str, Mapping[str, Row]], pages: Mapping[str, int], names: Sequence[str], table: Sequence[Standing]
) -> HeatTable:
    values = [[slices[name].get(row.system, {}).get("mean") for name in names] for row in table]
    coloured = [pages[name] >= FEW for name in names]
    colours = heat([value if keep else None for row in values for value, keep in zip(row, coloured, strict=True)])
    # A range of numbers stays on one line.
    return _heat_table(
        [(name.replace("-", "\N{NON-BREAKING HYPHEN}"), pages[name]) for name in names], table, values, colours
    )


def _heat_table(
    columns: Sequence[tuple[str, int | None]],
    table: Sequence[Standing],
    values: Sequence[Sequence[float | None]],
    colours: Sequence[float | None],
) -> HeatTable:
    """Build a table; ``colours`` go row after row."""
    colour = iter(colours)
    rows = tuple(
        (row, tuple(Cell(value, next(colour)) for value in line)) for row, line in zip(table, values, strict=True)
    )
    return HeatTable(tuple(columns), rows)


def by_column(
    columns: Sequence[tuple[str, int | None]],
    table: Sequence[Standing],
    values: Sequence[Sequence[float | None]],
    better: Sequence[str],
) -> HeatTable:
    """Build a table that is coloured column by column."""
    coloured = [heat([line[i] for line in values], better=better[i]) for i in range(len(columns))]
    return _heat_table(columns, table, values, [column[i] for i in range(len(table)) for column in coloured])


def _metrics(index: Index, dataset: str, table: Sequence[Standing]) -> HeatTable:
    """Every metric of a data set, and the first one's means over clean gold and over sites."""
    metric = index.leading(dataset)
    columns = [(name, index.whole(dataset, name), index.better[name]) for name in index.titles]
    for kind, title in (("clean", "clean gold"), ("site_mean", "mean of sites")):
        rows = next(iter(index.means.get((dataset, metric or "", kind), {}).values()), {})
        columns.append((f"{metric}, {title}", rows, index.better.get(metric or "", "high")))
    told = [column for column in columns if any(row["mean"] is not None for row in column[1].values())]
    values = [[rows.get(row.system, {}).get("mean") for _, rows, _ in told] for row in table]
    return by_column([(name, None) for name, _, _ in told], table, values, [better for _, _, better in told])


def effort(tables: Mapping[str, Any], index: Index, dataset: str | None) -> tuple[Effort, ...]:
    """Outcomes and cost of each system on one data set, or on all: pages summed, times weighted by pages."""
    rows = [row for row in tables.get("outcomes") or () if dataset in (None, row["dataset"])]
    costs = {(row["dataset"], row["system"]): row for row in tables.get("cost") or ()}
    efforts: list[Effort] = []
    for system, kind in index.kinds.items():
        runs = [row for row in rows if row["system"] == system]
        if not runs:
            continue
        costs_of = [costs.get((row["dataset"], system), {}) for row in runs]
        paid = [(cost, cost.get("timed_pages", row["pages"])) for cost, row in zip(costs_of, runs, strict=True)]
        peaks = [cost["peak_megabytes"] for cost, _ in paid if cost.get("peak_megabytes") is not None]
        efforts.append(
            Effort(
                system=system,
                kind=kind,
                counts={name: sum(row[name] for row in runs) for name in OUTCOMES},
                pages=sum(row["pages"] for row in runs),
                ms_mean=_weighted(paid, "ms_mean"),
                ms_median=_weighted(paid, "ms_median") if dataset else None,
                ms_p95=_weighted(paid, "ms_p95") if dataset else None,
                ratio=None,
                peak=max(peaks, default=None),
            )
        )
    fastest = min((row.ms_mean for row in efforts if row.ms_mean), default=None)
    timed = [replace(row, ratio=row.ms_mean / fastest) if row.ms_mean and fastest else row for row in efforts]
    return tuple(sorted(timed, key=lambda row: (row.ms_mean is None, row.ms_mean or 0)))


def _weighted(paid: Sequence[tuple[Row, int]], name: str) -> float | None:
    known = [(float(cost[name]), pages) for cost, pages in paid if cost.get(name) is not None]
    total = sum(pages for _, pages in known)
    return sum(value * pages for value, pages in known) / total if total else None


def _worst(
    tables: Mapping[str, Any], dataset: str, table: Sequence[Standing], folder: Path
) -> Iterable[tuple[str, tuple[tuple[Row, str | None], ...]]]:
    rows = [row for row in tables.get("worst") or () if row["dataset"] == dataset]
    for standing in table:
        own = [row for row in rows if row["system"] == standing.system]
        if own:
            yield standing.system, tuple((row, _link(folder, dataset, row["id"])) for row in own)


def _link(folder: Path, dataset: str, page_id: str) -> str | None:
    """Link to the view of a page, if there is one."""
    name = view_name(dataset, page_id)
    return name if (folder / name).is_file() else None
