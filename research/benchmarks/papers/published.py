"""Result tables of the papers that blockml implements, as data with their source.

Most of their pages are not public, so only orderings and magnitudes can be compared. The conclusions of a paper are
stored as :class:`Claim`, which can be tested on any scores. ``python -m research.benchmarks.papers.published
DIR/comparison.json`` prints the tables of which ``blockml compare`` measured a system.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blockml.errors import UsageError, check_name
from research.benchmarks.papers.common import show

#: Caveat to show wherever published numbers appear next to measured ones.
NOTE = (
    "The published numbers were measured on other pages, most of which are not public, and measured ones are means "
    "over current data sets. Compare orderings and magnitudes, not single numbers."
)

#: Largest difference of results that a paper calls equal (Gottron 2008, Bridging the gap: .751, .745 and .745).
SAME = 0.02

_FOLDER = Path(__file__).with_name("tables")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of a published table, as printed."""

    name: str  #: Collection of pages, site or measure
    values: tuple[float, ...]
    metric: str = ""  #: Name of the same metric in blockml's own tables; empty if there is no such metric
    size: int | None = None
    site: str = ""  #: Number and source of the pages, if the paper reports them


@dataclass(frozen=True, slots=True)
class Claim:
    """A conclusion of a paper: some columns of a table have greater values than others."""

    text: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    rows: tuple[str, ...] = ()  #: Names of the rows that it is about; all if empty
    every: bool = False  #: Whether it holds for every single row, not just for the mean over rows
    relation: str = ">"  #: ``>``, ``>=``, or ``=`` if both are equal within :data:`SAME`

    def holds(self, scores: Mapping[str, Mapping[str, float]]) -> bool | None:
        """Test the claim; None if columns or rows are missing.

        ``scores`` are values by column and row. The rows need not be those of the paper unless the claim names them.

        Examples
        --------
        >>> claim = Claim("a beats b on average", better=("a",), worse=("b",))
        >>> claim.holds({"a": {"site 1": 0.9, "site 2": 0.5}, "b": {"site 1": 0.6, "site 2": 0.7}})
        True
        >>> claim.holds({"a": {"site 1": 0.9}}) is None
        True
        """
        columns = (*self.better, *self.worse)
        rows = self.rows or tuple(dict.fromkeys(row for column in columns for row in scores.get(column, ())))
        if not rows or any(row not in scores.get(column, ()) for column in columns for row in rows):
            return None
        cases = [(row,) for row in rows] if self.every else [rows]
        margins = [
            sum(scores[good][row] - scores[bad][row] for row in case)
            for case in cases
            for good, bad in product(self.better, self.worse)
        ]
        if self.relation == "=":
            most = SAME * (1 if self.every else len(rows))  # margins are sums over rows
            return all(abs(margin) <= most for margin in margins)
        return all(margin > 0 or (self.relation == ">=" and margin == 0) for margin in margins)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper: a column for each method (or case), a row for each collection, site or measure."""

    name: str
    title: str
    source: str  #: Citation of the paper
    place: str  #: Table number or section in the paper
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    #: Names in blockml by column, for methods that blockml implements; the first one that was measured counts
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    #: Experimental conditions
    facts: Mapping[str, int | float | str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    claims: tuple[Claim, ...] = ()

    @property
    def averageable(self) -> bool:
        """Whether the rows are values of one metric on several collections of pages."""
        return len(self.rows) > 1 and len({row.metric for row in self.rows}) == 1 and bool(self.rows[0].metric)

    def column(self, name: str) -> dict[str, float]:
        """Return the values of a column by row name; raise UnknownNameError if there is no such column."""
        check_name("column", name, self.columns)
        place = self.columns.index(name)
        return {row.name: row.values[place] for row in self.rows}

    def scores(self) -> dict[str, dict[str, float]]:
        """Return the values by column and row, in the form that :meth:`Claim.holds` takes."""
        return {name: self.column(name) for name in self.columns}

    def means(self) -> dict[str, float]:
        """Return the unweighted mean over the rows, by column."""
        return {name: sum(values.values()) / len(values) for name, values in self.scores().items()}

    def weighted_means(self) -> dict[str, float]:
        """Return the mean over the rows weighted by their numbers of pages, by column; raise UsageError if unknown."""
        sizes = {row.name: row.size for row in self.rows if row.size is not None}
        if len(sizes) < len(self.rows):
            raise UsageError("the sizes of some rows are unknown", source=self.name)
        total = sum(sizes.values())
        return {
            name: sum(sizes[row] * value for row, value in values.items()) / total
            for name, values in self.scores().items()
        }

    def best_counts(self) -> dict[str, int]:
        """Return the number of rows in which each column has the greatest value; ties count for each."""
        return {
            name: sum(row.values[place] == max(row.values) for row in self.rows)
            for place, name in enumerate(self.columns)
        }


def published_tables() -> list[PublishedTable]:
    """Return all published tables, those about extraction from single pages first.

    Examples
    --------
    >>> blurring, bridging, *others = published_tables()
    >>> blurring.name, bridging.name
    ('blurring', 'bridging-extraction')
    >>> blurring.column("Plain")["wiki"], sum(row.size or 0 for row in blurring.rows)
    (0.823, 9601)
    """
    files = [json.loads(path.read_text("utf-8")) for path in sorted(_FOLDER.glob("*.json"))]
    found = [_table(entry, file["source"]) for file in files for entry in file["tables"]]
    return sorted(found, key=lambda table: not table.averageable)


def _table(entry: Mapping[str, Any], source: str) -> PublishedTable:
    metric = entry.get("metric", "")
    claims: list[dict[str, Any]] = [
        {key: tuple(value) if isinstance(value, list) else value for key, value in claim.items()}
        for claim in entry.get("claims", ())
    ]
    return PublishedTable(
        name=entry["name"],
        title=entry["title"],
        source=source,
        place=entry["place"],
        columns=tuple(entry["columns"]),
        rows=tuple(
            PublishedRow(**{"metric": metric, **row, "values": tuple(map(float, row["values"]))})
            for row in entry["rows"]
        ),
        systems=MappingProxyType(
            {
                column: (names,) if isinstance(names, str) else tuple(names)
                for column, names in entry.get("systems", {}).items()
            }
        ),
        facts=MappingProxyType(entry.get("facts", {})),
        claims=tuple(Claim(**claim) for claim in claims),
    )


def compare_with_published(measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Return the published tables as plain data, with measured scores of the same methods and metrics.

    ``measured`` are means by metric, system and data set; metrics of clusterings are those of
    :func:`blockml.evaluation.clusters.cluster_scores`, and ``dunn``, with systems such as ``cp`` (only the distance),
    ``cp, single linkage``, ``cp, k-median`` and ``cp at 0.7``. Each table has its fields and :data:`NOTE`; ``metric``
    of all rows, empty if they differ; ``derived``, with ``means``, ``weighted_means`` (None if sizes are unknown) and
    ``best_counts`` by column, or None if the rows are different measures; ``ours``, with ``column``, ``system``,
    ``dataset``, ``metric`` and ``mean`` of the measured columns; ``claims``, with ``text`` and whether it holds for the
    ``published`` numbers and for ``ours`` (None if unknown).

    Examples
    --------
    >>> blurring = compare_with_published({"lcs_f1": {"accb": {"news": 0.8}, "ccb": {"news": 0.7}}})[0]
    >>> blurring["ours"][0]
    {'column': 'ACCB', 'system': 'accb', 'dataset': 'news', 'metric': 'lcs_f1', 'mean': 0.8}
    >>> blurring["claims"][0]
    {'text': 'ACCB is at least as good as CCB on average', 'published': True, 'ours': True}
    """
    return [_compared(table, measured) for table in published_tables()]


def _compared(table: PublishedTable, measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    metrics = list(dict.fromkeys(row.metric for row in table.rows if row.metric))
    ours: list[dict[str, Any]] = []
    for column, names in table.systems.items():
        for metric in metrics:
            by_dataset: dict[str, tuple[str, float]] = {}
            for name in names:
                for dataset, mean in measured.get(metric, {}).get(name, {}).items():
                    by_dataset.setdefault(dataset, (name, mean))
            ours += [
                {"column": column, "system": name, "dataset": dataset, "metric": metric, "mean": mean}
                for dataset, (name, mean) in by_dataset.items()
            ]
    scores: dict[str, dict[str, float]] = {}
    for entry in ours:
        scores.setdefault(entry["column"], {})[f"{entry['dataset']} {entry['metric']}"] = entry["mean"]
    derived: dict[str, Any] | None = None
    if table.averageable:
        sized = all(row.size is not None for row in table.rows)
        derived = {
            "means": {name: round(mean, 4) for name, mean in table.means().items()},
            "weighted_means": {k: round(v, 4) for k, v in table.weighted_means().items()} if sized else None,
            "best_counts": table.best_counts(),
        }
    return {
        **{name: getattr(table, name) for name in ("name", "title", "source", "place")},
        "facts": dict(table.facts),
        "metric": metrics[0] if table.averageable else "",
        "columns": list(table.columns),
        "systems": {column: list(names) for column, names in table.systems.items()},
        "rows": [
            {"name": row.name, "site": row.site, "size": row.size, "metric": row.metric, "values": list(row.values)}
            for row in table.rows
        ],
        "derived": derived,
        "ours": ours,
        "claims": [
            {
                "text": claim.text,
                "published": claim.holds(table.scores()),
                "ours": _of_measures(table, claim).holds(scores),
            }
            for claim in table.claims
        ],
        "note": NOTE,
    }


def _of_measures(table: PublishedTable, claim: Claim) -> Claim:
    """Widen a claim about specific measures to all rows, because measured rows only hold values of these measures."""
    measures = {row.name for row in table.rows if row.metric} if not table.averageable else set()
    return replace(claim, rows=()) if claim.rows and set(claim.rows) <= measures else claim


def main(path: Path) -> None:
    """Print the published tables of measured systems, with the means of a comparison and what holds of each claim."""
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for row in json.loads(path.read_text("utf-8"))["means"]:
        if row["slice_kind"] == "all" and row["mean"] is not None:
            measured.setdefault(row["metric"], {}).setdefault(row["system"], {})[row["dataset"]] = row["mean"]
    for table in compare_with_published(measured):
        ours: dict[str, dict[str, object]] = {}
        for entry in table["ours"]:
            line = ours.setdefault(f"{entry['dataset']} {entry['metric']}", {})
            line[entry["column"]] = round(entry["mean"], 3)
        if not ours:
            continue
        lines: dict[str, dict[str, object]] = {
            row["name"]: dict(zip(table["columns"], row["values"], strict=True)) for row in table["rows"]
        }
        lines |= {f"here: {name}": line for name, line in ours.items()}
        rows = [
            {"": name, **{column: line.get(column, "") for column in table["columns"]}} for name, line in lines.items()
        ]
        show(f"{table['title']} ({table['source']}, {table['place']})", rows)
        show(
            "Claims",
            [{"claim": item["text"], "published": item["published"], "here": item["ours"]} for item in table["claims"]],
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
