"""The HTML report of a comparison of systems."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from blockml.evaluation.comparison.grid import OUTCOMES
from blockml.evaluation.comparison.store import PageSample, Store
from blockml.parsing.options import ParsingOptions
from blockml.reports.pageview import PagePredictions, view_name, write_page_views
from blockml.reports.panels import MIN_PAGES, HeatTable, coloured_by_column, panel, run_costs
from blockml.reports.ranking import Index, Row, Standing, index_tables
from blockml.reports.templating import write_html

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
        published=[_published(row) for row in tables.get("published") or ()],
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


def _published(about: Row) -> dict[str, Any]:
    """Combine a published table with our measurements: one line per data set (and per metric, if there are several)."""
    entries = about.get("ours") or ()
    metrics = {entry["metric"] for entry in entries}
    lines: dict[str, dict[str, float]] = {}
    for entry in entries:
        name = entry["dataset"] if len(metrics) == 1 else f"{entry['dataset']}, {entry['metric']}"
        lines.setdefault(name, {})[entry["column"]] = entry["mean"]
    return {
        "about": {"title": about["name"], "place": "", "derived": None, "claims": (), **about},
        "sized": any(row.get("size") for row in about["rows"]),
        "measured": [(name, [line.get(column) for column in about["columns"]]) for name, line in lines.items()],
    }
