"""Result tables of a comparison, from page scores: plain data, JSON and CSV files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import blockml
from blockml.evaluation.comparison.grid import METRIC_INFO, Grid, fill_grid
from blockml.evaluation.comparison.means import (
    Settings,
    cost_rows,
    difference_rows,
    distribution_rows,
    hardest_rows,
    mean_rows,
    outcome_rows,
    page_score_rows,
    rounded,
    worst_rows,
)
from blockml.evaluation.comparison.reference import PageScore
from blockml.evaluation.page_results import Seen
from blockml.storage.atomic import atomic_write

#: Ranking metrics in order of preference: the first that the gold of a data set supports is used.
PREFERRED = ("bag_f1", "lcs_f1", "shingle_f1", "block_f1", "with_rate", "without_rate")

#: Incremented whenever the meaning of a table changes or a field is removed.
TABLES_VERSION = 2

# The metric by which systems are ranked over all data sets.
_RANKING = "bag_f1"

#: A system is ranked on a data set if it was trained on at most this share of the pages: models score .02 to .05
#: higher on pages they were trained on, so the mean gains at most .0025 (our choice).
MAX_SEEN = 0.05

#: Tables that are written as CSV files, and their columns.
_CSV: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "means": ("dataset", "system", "metric", "slice_kind", "slice", "mean", "low", "high", "pages"),
        "differences": (
            *("dataset", "metric", "a", "b", "mean", "low", "high", "significant", "significant_by_site"),
            *("wins", "losses", "ties", "seen_pages"),
        ),
        "outcomes": ("dataset", "system", "ok", "empty", "error", "crash", "timeout", "missing", "pages"),
        "cost": ("dataset", "system", "ms_mean", "ms_median", "ms_p95", "timed_pages", "peak_megabytes"),
        "pages": (
            *("dataset", "id", "system", "outcome", "bag_f1", "lcs_f1", "block_f1"),
            *("page_type", "site", "script", "gold_words"),
        ),
    }
)

_Rows = list[dict[str, Any]]
_Runs = Mapping[str, Mapping[str, Mapping[str, Any]]]


def build_tables(
    scores: Mapping[str, Mapping[str, Sequence[PageScore]]],
    runs: _Runs,
    *,
    datasets: Mapping[str, Mapping[str, Any]] | None = None,
    missing_systems: Sequence[Mapping[str, Any]] = (),
    command: str = "",
    created: str = "",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Any]:
    """Compute the tables of a comparison.

    Means exclude pages whose gold does not support the metric; pages on which a system failed count as 0. Differences
    are over the pages that both systems have. Block metrics are pooled over pages. All numbers are rounded to six
    decimals. Raises UsageError if a system has two scores for a page, an outcome is unknown, or an option is out of
    range.

    Parameters
    ----------
    scores
        Page scores by data set and system, in the order of the tables. A system need not have run on every data set.
    runs
        Facts about each run, by data set and system; every key is optional: ``kind``, ``version``, ``parameters``,
        ``seen`` (the fields of :class:`~blockml.evaluation.Seen`), ``peak_megabytes``, ``created`` (ISO date).
    datasets
        ``licence``, ``attribution`` and ``checksum`` by data set.
    missing_systems
        Rows about systems that could not be run; passed on unchanged.
    command
        Command line of the comparison.
    created
        ISO date; the latest of the runs if empty.
    resamples, seed, level
        See :func:`blockml.evaluation.bootstrap_mean`.

    Returns
    -------
    dict
        Values are JSON types only; every table is a list of rows with the same keys.

        ``metrics``
            Name to ``title`` and ``better`` (``high`` or ``low``).
        ``datasets``, ``systems``
            Facts about each. ``seen`` of a system has, by data set, the fields of
            :class:`~blockml.evaluation.Seen`; ``in_sample`` lists the data sets of which it has seen more than
            :data:`MAX_SEEN` of the pages, and on which it is not ranked.
        ``means``
            Mean, interval and number of pages by data set, system, metric and slice. Kinds of slices are those of
            :func:`blockml.evaluation.comparison.grid.slice_pages`, and ``site_mean``, the mean over sites of the
            means of their pages. There is no interval for fewer than two pages, or fewer than five in a slice.
        ``differences``
            Score of ``a`` minus score of ``b`` with interval, and number of pages on which ``a`` has the greater
            score (``wins``), the smaller one or the same; pages that either was trained on are excluded.
        ``outcomes``, ``cost``, ``distribution``, ``pages``, ``worst``, ``hardest``
            See :mod:`blockml.evaluation.comparison.means`.
        ``overall``
            Mean over data sets of the mean bag-of-words F1 of each system, and its mean rank on them (1 is best, equal
            means share a rank); None unless the system ran on every data set that has this metric and none of them is
            in sample.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def page(name, f1):
    ...     scores = {metric: f1 for metric in METRIC_INFO}
    ...     facts = dict(id=name, site=name, page_type=None, language=None, script="Latin", gold_words=9, flagged=False)
    ...     return SimpleNamespace(**scores, **facts, outcome="ok", tp=1, fp=0, fn=0, tn=1, seconds=0.01)
    >>> scores = {"a": [page("x", 0.9), page("y", 0.7)], "b": [page("x", 0.5), page("y", 0.4)]}
    >>> row = build_tables({"news": scores}, {})["differences"][0]
    >>> row["a"], row["b"], row["mean"], row["significant"], row["wins"]
    ('a', 'b', 0.35, False, 2)
    """
    order = list(dict.fromkeys(system for by_system in scores.values() for system in by_system))
    grids = [
        fill_grid(
            name,
            {system: by_system[system] for system in order if system in by_system},
            {
                system: run["seen"]["pages"] or ()
                for system, run in runs.get(name, {}).items()
                if system in by_system and run.get("seen")
            },
        )
        for name, by_system in scores.items()
    ]
    filled = [grid for grid in grids if grid.pages]
    settings = Settings(resamples, seed, level)

    def table(rows: Callable[[Grid], Iterable[dict[str, Any]]], of: Sequence[Grid] = filled) -> _Rows:
        return [{"dataset": grid.dataset, **row} for grid in of for row in rows(grid)]

    means = table(lambda grid: mean_rows(grid, settings))
    measured: dict[str, dict[str, dict[str, float]]] = {}  # by metric, system and data set
    for row in means:
        if row["slice_kind"] == "all":
            measured.setdefault(row["metric"], {}).setdefault(row["system"], {})[row["dataset"]] = row["mean"]
    systems = [_system(system, runs) for system in order]
    dates = [str(run.get("created") or "") for by_system in runs.values() for run in by_system.values()]
    peaks = {
        dataset: {system: run.get("peak_megabytes") for system, run in by_system.items()}
        for dataset, by_system in runs.items()
    }
    return {
        "schema_version": TABLES_VERSION,
        "created": created or max(dates, default=""),
        "blockml": blockml.__version__,
        "command": command,
        "settings": settings._asdict(),
        "metrics": {name: metric._asdict() for name, metric in METRIC_INFO.items()},
        "datasets": [
            {
                "name": grid.dataset,
                "pages": len(grid.pages),
                "sites": len({page.site for page in grid.pages}),
                **dict.fromkeys(("licence", "attribution", "checksum"), ""),
                **(datasets or {}).get(grid.dataset, {}),
            }
            for grid in grids
        ],
        "systems": systems,
        "missing_systems": [dict(row) for row in missing_systems],
        "means": means,
        "differences": table(lambda grid: difference_rows(grid, settings)),
        "outcomes": table(outcome_rows, grids),
        "cost": table(lambda grid: cost_rows(grid, peaks.get(grid.dataset, {})), grids),
        "distribution": table(distribution_rows),
        "pages": table(page_score_rows),
        "worst": table(worst_rows),
        "hardest": table(hardest_rows),
        "overall": _overall(measured.get(_RANKING, {}), systems),
    }


def _system(name: str, runs: _Runs) -> dict[str, Any]:
    """Merge the facts about a system from its runs: the first known value of each fact, and all versions."""
    own = {dataset: by_system[name] for dataset, by_system in runs.items() if name in by_system}
    found = {dataset: run["seen"] for dataset, run in own.items() if run.get("seen")}
    return {
        "name": name,
        "kind": next((run["kind"] for run in own.values() if run.get("kind")), ""),
        "version": ", ".join(dict.fromkeys(str(run["version"]) for run in own.values() if run.get("version"))),
        "parameters": dict(next((run["parameters"] for run in own.values() if run.get("parameters")), {})),
        "seen": found,
        "in_sample": [dataset for dataset, seen in found.items() if Seen(**seen).share > MAX_SEEN],
    }


def _overall(measured: Mapping[str, Mapping[str, float]], systems: _Rows) -> _Rows:
    """Return mean and mean rank over all data sets, for systems that ran on all of them and were trained on none."""
    datasets = list(dict.fromkeys(dataset for by_dataset in measured.values() for dataset in by_dataset))
    complete = [
        item["name"]
        for item in systems
        if datasets and set(measured.get(item["name"], ())) == set(datasets) and not {*item["in_sample"]} & {*datasets}
    ]
    table = np.array([[measured[system][dataset] for dataset in datasets] for system in complete])
    # The rank of a mean is 1, plus the number of greater means, plus half the number of other means equal to it.
    ranks = [1 + (table > row).sum(axis=0) + ((table == row).sum(axis=0) - 1) / 2 for row in table]
    found = {system: (row.mean(), rank.mean()) for system, row, rank in zip(complete, table, ranks, strict=True)}
    rows = []
    for item in systems:
        mean, rank = found.get(item["name"], (None, None))
        row = {"system": item["name"], "metric": _RANKING, "mean": rounded(mean), "rank": rounded(rank)}
        rows.append({**row, "datasets": len(datasets)})
    return rows


def write_tables(tables: Mapping[str, Any], directory: str | os.PathLike[str]) -> None:
    """Write the tables of a comparison to a folder.

    ``comparison.json`` has all tables but ``pages``, which is large; ``means.csv``, ``differences.csv``,
    ``outcomes.csv``, ``cost.csv`` and ``pages.csv`` have one table each, with a header line, in UTF-8; unknown values
    are empty cells. Files are written atomically; the folder is created if missing. ``pages`` may be missing from
    ``tables``, and is then not written.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    # One line per row of a table, for reading and for diffs.
    entries = (f"{json.dumps(name)}: {_json_value(value)}" for name, value in tables.items() if name != "pages")
    files = {"comparison.json": "{\n" + ",\n".join(entries) + "\n}\n"}
    for name, columns in _CSV.items():
        if name in tables:
            stream = io.StringIO()
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(columns)
            for row in tables[name]:
                cells = [row[column] for column in columns]
                writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])
            files[f"{name}.csv"] = stream.getvalue()
    for name, text in files.items():
        with atomic_write(folder / name) as file:
            # Ids may contain file names that are not valid Unicode; JSON reads the escapes back.
            file.write(text.encode("utf-8", "backslashreplace"))


def _json_value(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value) + "\n]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
