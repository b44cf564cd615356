"""Result tables of the papers that blockml follows, as data with their source.

They were measured on other pages than can be had today, so orderings and magnitudes can be compared with them but no
single numbers. What a paper concludes from a table is kept as a :class:`Claim` that can be tested on any scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blockml.errors import UnknownNameError, UsageError

__all__ = ["NOTE", "Claim", "PublishedTable", "Row", "beside", "tables"]

#: To be shown wherever published numbers stand beside measured ones.
NOTE = (
    "The published numbers were measured on other pages, most of which are not public, and ours are means over data "
    "sets of today. Compare orderings and magnitudes, not single numbers."
)

_FOLDER = Path(__file__).with_name("papers")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of numbers of a published table, as printed."""

    name: str
    """Package of pages, site or measure."""
    values: tuple[float, ...]
    """A number for each column."""
    metric: str = ""
    """Name of the same metric in blockml's own tables; empty if there is none."""
    size: int | None = None
    """Number of pages behind the values, where the paper tells."""
    site: str = ""
    """Where the pages come from, where the paper tells."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper concludes from a table: some columns have greater values than others."""

    text: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    rows: tuple[str, ...] = ()
    """Rows it is about; all if empty."""
    every: bool = False
    """Whether it says so of every row, not of the mean over rows."""
    relation: str = ">"
    """``>`` or ``>=``."""

    def holds(self, scores: Mapping[str, Mapping[str, float]]) -> bool | None:
        """Test the claim.

        Parameters
        ----------
        scores
            Value by column and row. The rows need not be the paper's own unless the claim names them.

        Returns
        -------
        bool or None
            None if columns or rows are missing.

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
        return all(margin > 0 or (self.relation == ">=" and margin == 0) for margin in margins)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper: a column for each method (or case), a row for each package, site or measure."""

    name: str
    title: str
    source: str
    """Citation of the paper."""
    place: str
    """Where in the paper."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    systems: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """Name in blockml of the columns that it has too."""
    facts: Mapping[str, int | float | str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """How the numbers came about."""
    claims: tuple[Claim, ...] = ()

    @property
    def averageable(self) -> bool:
        """Whether the rows are values of one metric on several sets of pages."""
        return len(self.rows) > 1 and len({row.metric for row in self.rows}) == 1 and bool(self.rows[0].metric)

    def column(self, name: str) -> dict[str, float]:
        """Values of a column by row.

        Raises
        ------
        UnknownNameError
            No such column.
        """
        if name not in self.columns:
            raise UnknownNameError("column", name, self.columns)
        place = self.columns.index(name)
        return {row.name: row.values[place] for row in self.rows}

    def scores(self) -> dict[str, dict[str, float]]:
        """Value by column and row, as :meth:`Claim.holds` takes them."""
        return {name: self.column(name) for name in self.columns}

    def means(self) -> dict[str, float]:
        """Unweighted mean over the rows, by column.

        Examples
        --------
        >>> blurring = tables()[0]
        >>> round(blurring.means()["ACCB"], 4)
        0.7816
        """
        return {name: sum(values.values()) / len(values) for name, values in self.scores().items()}

    def weighted_means(self) -> dict[str, float]:
        """Mean over the rows weighted by their numbers of pages, by column.

        Raises
        ------
        UsageError
            The paper doesn't tell the numbers of pages.
        """
        sizes = {row.name: row.size for row in self.rows if row.size is not None}
        if len(sizes) < len(self.rows):
            raise UsageError("the sizes of some rows are unknown", source=self.name)
        total = sum(sizes.values())
        return {
            name: sum(sizes[row] * value for row, value in values.items()) / total
            for name, values in self.scores().items()
        }

    def best_counts(self) -> dict[str, int]:
        """Number of rows in which no column has a greater value, by column; a tie counts for each."""
        return {
            name: sum(row.values[place] == max(row.values) for row in self.rows)
            for place, name in enumerate(self.columns)
        }


def tables() -> list[PublishedTable]:
    """All published tables, those about extraction from single pages first.

    Examples
    --------
    >>> [table.name for table in tables()][:2]
    ['blurring', 'bridging-extraction']
    >>> blurring = tables()[0]
    >>> blurring.column("Plain")["wiki"], sum(row.size or 0 for row in blurring.rows)
    (0.823, 9601)
    """
    files = [json.loads(path.read_text("utf-8")) for path in sorted(_FOLDER.glob("*.json"))]
    found = [_table(entry, file["source"]) for file in files for entry in file["tables"]]
    return sorted(found, key=lambda table: not table.averageable)


def _table(entry: Mapping[str, Any], source: str) -> PublishedTable:
    columns = tuple(entry["columns"])
    rows = tuple(
        Row(**{"metric": entry.get("metric", ""), **row, "values": tuple(map(float, row["values"]))})
        for row in entry["rows"]
    )
    return PublishedTable(
        name=entry["name"],
        title=entry["title"],
        source=source,
        place=entry["place"],
        columns=columns,
        rows=rows,
        systems=MappingProxyType(entry.get("systems", {})),
        facts=MappingProxyType(entry.get("facts", {})),
        claims=tuple(_claim(claim) for claim in entry.get("claims", ())),
    )


def _claim(entry: Mapping[str, Any]) -> Claim:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Claim(**fields)


def beside(measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Give the published tables as plain data, with measured scores of the same methods and metrics beside them.

    Parameters
    ----------
    measured
        Means by metric, system and data set.

    Returns
    -------
    list of dict
        For each table its fields, and

        ``metric``
            Name of the metric of all rows; empty if they are different ones.
        ``derived``
            ``means``, ``weighted_means`` (None where sizes are unknown) and ``best_counts`` by column; None where the
            rows are different measures.
        ``ours``
            ``column``, ``system``, ``dataset``, ``metric``, ``mean`` of the columns that were measured.
        ``claims``
            ``text`` and whether it holds for the ``published`` numbers and for ``ours``: None where that can't be told.
        ``note``
            :data:`NOTE`.

    Examples
    --------
    >>> blurring = beside({"lcs_f1": {"accb": {"news": 0.8}, "ccb": {"news": 0.7}}})[0]
    >>> blurring["ours"][0]
    {'column': 'ACCB', 'system': 'accb', 'dataset': 'news', 'metric': 'lcs_f1', 'mean': 0.8}
    >>> blurring["claims"][0]
    {'text': 'ACCB is at least as good as CCB on average', 'published': True, 'ours': True}
    """
    return [_beside(table, measured) for table in tables()]


def _beside(table: PublishedTable, measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    metrics = list(dict.fromkeys(row.metric for row in table.rows if row.metric))
    ours: list[dict[str, Any]] = [
        {"column": column, "system": system, "dataset": dataset, "metric": metric, "mean": mean}
        for column, system in table.systems.items()
        for metric in metrics
        for dataset, mean in measured.get(metric, {}).get(system, {}).items()
    ]
    scores: dict[str, dict[str, float]] = {}
    for entry in ours:
        scores.setdefault(entry["column"], {})[f"{entry['dataset']} {entry['metric']}"] = entry["mean"]
    return {
        "name": table.name,
        "title": table.title,
        "source": table.source,
        "place": table.place,
        "facts": dict(table.facts),
        "metric": metrics[0] if table.averageable else "",
        "columns": list(table.columns),
        "systems": dict(table.systems),
        "rows": [
            {"name": row.name, "site": row.site, "size": row.size, "metric": row.metric, "values": list(row.values)}
            for row in table.rows
        ],
        "derived": _derived(table) if table.averageable else None,
        "ours": ours,
        "claims": [
            {"text": claim.text, "published": claim.holds(table.scores()), "ours": claim.holds(scores)}
            for claim in table.claims
        ],
        "note": NOTE,
    }


def _derived(table: PublishedTable) -> dict[str, Any]:
    sized = all(row.size is not None for row in table.rows)
    weighted = {name: round(mean, 4) for name, mean in table.weighted_means().items()} if sized else None
    return {
        "means": {name: round(mean, 4) for name, mean in table.means().items()},
        "weighted_means": weighted,
        "best_counts": table.best_counts(),
    }
