"""Page scores of systems on data sets in, the tables of a comparison out: plain data, JSON and CSV files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import blockml
from blockml.evaluation.comparison import published
from blockml.evaluation.comparison.grid import METRICS, Grid, fill_grid
from blockml.evaluation.comparison.means import Settings, difference_rows, mean_rows, rounded
from blockml.evaluation.comparison.pagewise import (
    cost_rows,
    distribution_rows,
    hardest_rows,
    outcome_rows,
    page_rows,
    worst_rows,
)
from blockml.evaluation.comparison.reference import PageScore
from blockml.storage.atomic import atomic_write

__all__ = ["SCHEMA_VERSION", "build", "write"]

#: Rises whenever a table changes its meaning or loses a field.
SCHEMA_VERSION = 1

#: The metric by which systems are ranked over all data sets.
_RANKING = "bag_f1"

#: Tables that are written as CSV files, and their columns.
_CSV: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "means": ("dataset", "system", "metric", "slice_kind", "slice", "mean", "low", "high", "pages"),
        "differences": (
            *("dataset", "metric", "a", "b", "mean", "low", "high", "significant", "significant_by_site"),
            *("wins", "losses", "ties"),
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
_Metas = Mapping[str, Mapping[str, Mapping[str, Any]]]


def build(
    scores: Mapping[str, Mapping[str, Sequence[PageScore]]],
    metas: _Metas,
    *,
    datasets: Mapping[str, Mapping[str, Any]] | None = None,
    missing_systems: Sequence[Mapping[str, Any]] = (),
    command: str = "",
    created: str = "",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Any]:
    """Make the tables of a comparison.

    Means leave out pages whose gold doesn't tell a metric; pages on which a system failed count with 0.
    Differences are over the pages that both systems have. Block metrics are pooled over pages. All numbers
    are rounded to six decimals.

    Parameters
    ----------
    scores
        Page scores by data set and system; the order of both is the order of the tables. A system need not have run
        on every data set.
    metas
        What is known of each run, by data set and system; every key may be missing: ``kind``, ``version``,
        ``parameters``, ``in_sample`` (whether the system was trained on the data set), ``peak_megabytes``, ``created``
        (ISO date).
    datasets
        ``licence``, ``attribution`` and ``checksum`` by data set.
    missing_systems
        What is to be said of systems that could not run; passed on as it is.
    command
        Command line that made the comparison.
    created
        ISO date; the latest of the runs if empty.
    resamples, seed, level
        See :func:`blockml.evaluation.bootstrap_mean`.

    Returns
    -------
    dict
        Values are JSON types only; every table is a list of rows with the same keys.

        ``schema_version``, ``created``, ``blockml``, ``command``, ``settings``, ``missing_systems``
            What was compared by what.
        ``metrics``
            Name to ``title`` and ``better`` (``high`` or ``low``).
        ``datasets``, ``systems``
            What is known of each; ``in_sample`` of a system lists data sets.
        ``means``
            Mean, interval and number of pages by data set, system, metric and slice: see
            :func:`blockml.evaluation.comparison.slices.slice_pages` for the kinds of slices, beside which
            ``site_mean`` is the
            mean over sites of the means of their pages. No interval for fewer than two pages, or fewer than five in
            parts of a data set.
        ``differences``
            Score of ``a`` minus score of ``b`` with interval, and number of pages on which ``a`` is ahead (``wins``:
            the greater score), behind or level.
        ``outcomes``, ``cost``, ``distribution``, ``pages``, ``worst``, ``hardest``
            See :mod:`blockml.evaluation.comparison.pagewise`.
        ``overall``
            Mean over data sets of the mean bag F1 of each system, and its mean rank on them (1 is best, equal means
            share a rank), among the systems that ran on every data set that has this metric and were trained on none of
            them; None for the others.
        ``published``
            See :func:`blockml.evaluation.comparison.published.beside`.

    Raises
    ------
    UsageError
        A system has two scores of a page, an outcome is unknown, or an option is out of range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def page(name, f1):
    ...     scores = {metric: f1 for metric in METRICS}
    ...     facts = dict(id=name, site=name, page_type=None, language=None, script="Latin", gold_words=9, flagged=False)
    ...     return SimpleNamespace(**scores, **facts, outcome="ok", tp=1, fp=0, fn=0, tn=1, seconds=0.01)
    >>> tables = build({"news": {"a": [page("x", 0.9), page("y", 0.7)], "b": [page("x", 0.5), page("y", 0.4)]}}, {})
    >>> row = tables["differences"][0]
    >>> row["a"], row["b"], row["mean"], row["significant"], row["wins"]
    ('a', 'b', 0.35, False, 2)
    """
    order = list(dict.fromkeys(system for by_system in scores.values() for system in by_system))
    grids = [
        fill_grid(name, {system: by_system[system] for system in order if system in by_system})
        for name, by_system in scores.items()
    ]
    filled = [grid for grid in grids if grid.pages]
    settings = Settings(resamples, seed, level)
    means = [row for grid in filled for row in mean_rows(grid, settings)]
    return {
        "schema_version": SCHEMA_VERSION,
        "created": created or max((str(meta.get("created") or "") for _, _, meta in _runs(metas)), default=""),
        "blockml": blockml.__version__,
        "command": command,
        "settings": settings._asdict(),
        "metrics": {name: metric._asdict() for name, metric in METRICS.items()},
        "datasets": [_dataset(grid, (datasets or {}).get(grid.dataset, {})) for grid in grids],
        "systems": [_system(system, metas) for system in order],
        "missing_systems": [dict(row) for row in missing_systems],
        "means": means,
        "differences": [row for grid in filled for row in difference_rows(grid, settings)],
        "outcomes": [row for grid in grids for row in outcome_rows(grid)],
        "cost": [row for grid in grids for row in cost_rows(grid, _peaks(metas, grid.dataset))],
        "distribution": [row for grid in filled for row in distribution_rows(grid)],
        "pages": [row for grid in filled for row in page_rows(grid)],
        "worst": [row for grid in filled for row in worst_rows(grid)],
        "hardest": [row for grid in filled for row in hardest_rows(grid)],
        "overall": _overall(means, [_system(system, metas) for system in order]),
        "published": published.beside(_measured(means)),
    }


def _runs(metas: _Metas) -> list[tuple[str, str, Mapping[str, Any]]]:
    return [(dataset, system, meta) for dataset, runs in metas.items() for system, meta in runs.items()]


def _dataset(grid: Grid, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": grid.dataset,
        "pages": len(grid.pages),
        "sites": len({page.site for page in grid.pages}),
        **{key: facts.get(key, "") for key in ("licence", "attribution", "checksum")},
    }


def _system(name: str, metas: _Metas) -> dict[str, Any]:
    """Facts of a system from its runs: the first that tells; all versions."""
    runs = {dataset: meta for dataset, system, meta in _runs(metas) if system == name}
    versions = dict.fromkeys(str(meta["version"]) for meta in runs.values() if meta.get("version"))
    return {
        "name": name,
        "kind": next((meta["kind"] for meta in runs.values() if meta.get("kind")), ""),
        "version": ", ".join(versions),
        "parameters": dict(next((meta["parameters"] for meta in runs.values() if meta.get("parameters")), {})),
        "in_sample": [dataset for dataset, meta in runs.items() if meta.get("in_sample")],
    }


def _peaks(metas: _Metas, dataset: str) -> dict[str, float | None]:
    return {system: meta.get("peak_megabytes") for system, meta in metas.get(dataset, {}).items()}


def _measured(means: _Rows) -> dict[str, dict[str, dict[str, float]]]:
    """Means over all pages by metric, system and data set."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in means:
        if row["slice_kind"] == "all":
            found.setdefault(row["metric"], {}).setdefault(row["system"], {})[row["dataset"]] = row["mean"]
    return found


def _overall(means: _Rows, systems: _Rows) -> _Rows:
    """Mean and mean rank over all data sets of the systems that have been run on all, and trained on none."""
    measured = _measured(means).get(_RANKING, {})
    datasets = list(dict.fromkeys(dataset for by_dataset in measured.values() for dataset in by_dataset))
    whole = [
        item["name"]
        for item in systems
        if datasets and set(measured.get(item["name"], ())) == set(datasets) and not {*item["in_sample"]} & {*datasets}
    ]
    table = np.array([[measured[system][dataset] for dataset in datasets] for system in whole])
    # Rank of a mean: 1 and the greater ones, and half of the other equal ones.
    ranks = [1 + (table > row).sum(axis=0) + ((table == row).sum(axis=0) - 1) / 2 for row in table]
    places = dict(zip(whole, zip(table, ranks, strict=True), strict=True))
    return [
        {
            "system": system,
            "metric": _RANKING,
            "mean": rounded(places[system][0].mean()) if system in places else None,
            "rank": rounded(places[system][1].mean()) if system in places else None,
            "datasets": len(datasets),
        }
        for system in (item["name"] for item in systems)
    ]


def write(tables: Mapping[str, Any], directory: str | os.PathLike[str]) -> None:
    """Write the tables of a comparison to a folder.

    ``comparison.json`` holds all but the pages, which are many; ``means.csv``, ``differences.csv``, ``outcomes.csv``,
    ``cost.csv`` and ``pages.csv`` hold one table each, with a header line, in UTF-8; an unknown value is an empty cell.
    Each file appears whole or not at all.

    Parameters
    ----------
    tables
        As :func:`build` gives them; without ``pages`` no ``pages.csv`` is written.
    directory
        The folder; made if it isn't there.

    Raises
    ------
    OSError
        A file can't be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(build({}, {}), folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['comparison.json', 'cost.csv', 'differences.csv', 'means.csv', 'outcomes.csv', 'pages.csv']
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "comparison.json", _json({key: value for key, value in tables.items() if key != "pages"}))
    for name, columns in _CSV.items():
        if name in tables:
            _write(folder / f"{name}.csv", _csv(tables[name], columns))


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        # File names that are no Unicode can be part of ids; JSON reads the escapes back.
        stream.write(text.encode("utf-8", "backslashreplace"))


def _json(tables: Mapping[str, Any]) -> str:
    """JSON with a line for each row of a table, for people and for diffs."""
    entries = (f"{json.dumps(name)}: {_json_value(value)}" for name, value in tables.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _json_value(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value) + "\n]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _csv(rows: _Rows, columns: Sequence[str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
