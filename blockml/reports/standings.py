"""Tables of a comparison in, who is best and by how much out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockml.errors import UsageError

__all__ = ["Duel", "Index", "Standing", "Verdict", "index_tables", "leaders", "standings", "verdict"]

#: The metric of a data set's ranking: the first of these that its gold allows.
LEADING = ("bag_f1", "lcs_f1", "shingle_f1", "block_f1", "with_rate", "without_rate")

#: Version of the tables that these functions read.
SCHEMA_VERSION = 1

#: Kinds of systems, as figures and legends tell them apart.
KINDS = ("own", "peer", "outputs")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Duel:
    """One system against another on the pages that both have."""

    mean: float | None
    """Difference of the means, turned so that more is better for the first."""
    low: float | None
    high: float | None
    significant: bool
    won: float | None
    """Share of the pages on which the first has the better score; None where it wasn't counted."""
    lost: float | None

    @property
    def ahead(self) -> bool:
        """Whether the first is significantly better."""
        return self.significant and (self.mean or 0) > 0

    @property
    def behind(self) -> bool:
        """Whether it is significantly worse."""
        return self.significant and (self.mean or 0) < 0

    def reversed(self) -> Duel:
        """The same from the other side."""
        mean, low, high = _negative(self.mean), _negative(self.high), _negative(self.low)
        return Duel(mean, low, high, self.significant, self.lost, self.won)


@dataclass(frozen=True, slots=True)
class Index:
    """Rows of the tables by what they are asked for."""

    kinds: Mapping[str, str]
    """System to one of :data:`KINDS`, in the order of the tables."""
    trained_on: Mapping[str, frozenset[str]]
    """System to the data sets that it has seen."""
    better: Mapping[str, str]
    """Metric to ``high`` or ``low``."""
    titles: Mapping[str, str]
    """Metric to what it is."""
    means: Mapping[tuple[str, str, str], Mapping[str, Mapping[str, Row]]]
    """Data set, metric and kind of slice to slice to system to row."""
    duels: Mapping[tuple[str, str, str, str], Duel]
    """Data set, metric, system and system to their difference, both ways round."""

    def whole(self, dataset: str, metric: str) -> Mapping[str, Row]:
        """System to its row over all pages."""
        slices = self.means.get((dataset, metric, "all"), {})
        return next(iter(slices.values()), {})

    def leading(self, dataset: str) -> str | None:
        """Metric of the data set's ranking: the first that has a value; None if none has."""
        others = [name for name in self.titles if name not in LEADING]
        for metric in (*LEADING, *others):
            if any(row["mean"] is not None for row in self.whole(dataset, metric).values()):
                return metric
        return None


def index_tables(tables: Mapping[str, Any]) -> Index:
    """Order the rows of a comparison's tables by what they are asked for.

    Raises
    ------
    UsageError
        The tables are of another version.
    """
    if tables.get("schema_version") != SCHEMA_VERSION:
        raise UsageError(f"tables of schema {SCHEMA_VERSION} are needed, not of {tables.get('schema_version')!r}")
    means: dict[tuple[str, str, str], dict[str, dict[str, Row]]] = {}
    for row in tables["means"]:
        slices = means.setdefault((row["dataset"], row["metric"], row["slice_kind"]), {})
        slices.setdefault(str(row["slice"]), {})[row["system"]] = row
    duels: dict[tuple[str, str, str, str], Duel] = {}
    for row in tables["differences"]:
        duel = _duel(row, tables["metrics"].get(row["metric"], {}).get("better", "high"))
        duels[row["dataset"], row["metric"], row["a"], row["b"]] = duel
        duels[row["dataset"], row["metric"], row["b"], row["a"]] = duel.reversed()
    return Index(
        # Of outputs that were read from a file nobody may have said whose they are.
        kinds={row["name"]: row["kind"] if row["kind"] in KINDS else "outputs" for row in tables["systems"]},
        trained_on={row["name"]: frozenset(row.get("in_sample") or ()) for row in tables["systems"]},
        better={name: item["better"] for name, item in tables["metrics"].items()},
        titles={name: item["title"] for name, item in tables["metrics"].items()},
        means=means,
        duels=duels,
    )


def _duel(row: Row, better: str) -> Duel:
    counts = [row.get(name) for name in ("wins", "losses", "ties")]
    known = [count for count in counts if count is not None]
    pages = sum(known) if len(known) == len(counts) else 0
    won, lost = (known[0] / pages, known[1] / pages) if pages else (None, None)
    duel = Duel(row["mean"], row["low"], row["high"], bool(row["significant"]), won, lost)
    # The tables subtract scores, and count a greater score as a win.
    return duel if better == "high" else duel.reversed()


def _negative(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


@dataclass(frozen=True, slots=True)
class Standing:
    """A system's place on one data set."""

    system: str
    kind: str
    rank: int | None
    """From 1 for the best; None for a system that has seen the data set or has no value."""
    in_sample: bool
    mean: float | None
    low: float | None
    high: float | None
    pages: int
    level_with_best: bool
    """It is the best, or the best was tested against it and is not significantly better."""


def standings(index: Index, dataset: str, metric: str) -> tuple[Standing, ...]:
    """Rank the systems on a data set, best first.

    Systems that were trained on its pages stand among the others, without a rank; systems without a value come last.

    Parameters
    ----------
    index
        From :func:`index_tables`.
    dataset, metric
        Their names.
    """
    rows = index.whole(dataset, metric)
    sign = -1 if index.better.get(metric, "high") == "high" else 1
    names = sorted(rows, key=lambda name: (rows[name]["mean"] is None, sign * (rows[name]["mean"] or 0)))
    seen = {name for name in names if dataset in index.trained_on.get(name, ())}
    ranked = [name for name in names if name not in seen and rows[name]["mean"] is not None]
    ranks = {name: place for place, name in enumerate(ranked, start=1)}
    return tuple(
        Standing(
            system=name,
            kind=index.kinds[name],
            rank=ranks.get(name),
            in_sample=name in seen,
            mean=rows[name]["mean"],
            low=rows[name]["low"],
            high=rows[name]["high"],
            pages=rows[name]["pages"],
            level_with_best=name in ranks and (name == ranked[0] or _level(index, dataset, metric, ranked[0], name)),
        )
        for name in names
    )


def _level(index: Index, dataset: str, metric: str, best: str, name: str) -> bool:
    duel = index.duels.get((dataset, metric, best, name))
    return duel is not None and not duel.ahead


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison says of one data set."""

    best: Standing | None
    """None where no system has a value, or where all have seen the data set."""
    second: Standing | None
    duel: Duel | None
    """The best against the second; None where it was not tested."""
    level: tuple[Standing, ...]
    """Others that the best is not significantly better than."""
    seen: tuple[Standing, ...]
    """Systems that score higher and were trained on these pages."""


def verdict(index: Index, dataset: str, metric: str) -> Verdict:
    """Tell which system is best on a data set, and whether it is significantly better than the next.

    Systems that were trained on the data set's pages cannot be the best.
    """
    table = standings(index, dataset, metric)
    ranked = [row for row in table if row.rank is not None]
    if not ranked:
        return Verdict(None, None, None, (), ())
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    return Verdict(
        best=best,
        second=second,
        duel=index.duels.get((dataset, metric, best.system, second.system)) if second else None,
        level=tuple(row for row in ranked[1:] if row.level_with_best),
        seen=tuple(row for row in table[: table.index(best)] if row.in_sample),
    )


def leaders(table: Sequence[Standing], n: int = 10) -> tuple[Standing, ...]:
    """Choose which systems are shown first: the best ``n``, and the best of each kind if it is not among them."""
    chosen = list(table[:n])
    shown = {row.kind for row in chosen}
    for row in table[n:]:
        if row.kind not in shown and row.mean is not None:
            chosen.append(row)
            shown.add(row.kind)
    return tuple(chosen)
