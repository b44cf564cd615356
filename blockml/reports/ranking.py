"""Rankings of the systems on each data set, and pairwise results, from the tables of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockml.errors import UsageError
from blockml.evaluation.comparison.result_tables import PREFERRED, TABLES_VERSION
from blockml.evaluation.page_results import Seen

#: Kinds of systems, which figures and legends distinguish.
SYSTEM_KINDS = ("own", "peer", "outputs")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PairwiseResult:
    """Comparison of two systems on the pages that both have."""

    mean: float | None  #: Difference of the means; positive if the first is better
    low: float | None
    high: float | None
    significant: bool
    win_rate: float | None  #: Share of the pages on which the first has the better score; None if not counted
    loss_rate: float | None

    @property
    def better(self) -> bool:
        """Whether the first is significantly better."""
        return self.significant and (self.mean or 0) > 0

    @property
    def worse(self) -> bool:
        """Whether the first is significantly worse."""
        return self.significant and (self.mean or 0) < 0

    def reversed(self) -> PairwiseResult:
        """Return the result with both systems swapped."""
        mean, low, high = (None if x is None else 0.0 - x for x in (self.mean, self.high, self.low))
        return PairwiseResult(mean, low, high, self.significant, self.loss_rate, self.win_rate)


@dataclass(frozen=True, slots=True)
class Index:
    """Rows of the tables by lookup key."""

    kinds: Mapping[str, str]  #: System to one of :data:`SYSTEM_KINDS`, in the order of the tables
    trained_on: Mapping[str, frozenset[str]]  #: System to the data sets that it has seen, on which it isn't ranked
    #: Data set and system to the pages and sites that the system has seen in training
    seen: Mapping[tuple[str, str], Seen]
    better: Mapping[str, str]  #: Metric to ``high`` or ``low``
    titles: Mapping[str, str]  #: Metric to its title
    #: Data set, metric and kind of slice to slice to system to row
    means: Mapping[tuple[str, str, str], Mapping[str, Mapping[str, Row]]]
    #: Data set, metric and two systems to the systems' result, in both directions
    pairwise: Mapping[tuple[str, str, str, str], PairwiseResult]

    def whole(self, dataset: str, metric: str) -> Mapping[str, Row]:
        """Return the row of each system that covers all pages of a data set, not only a slice."""
        slices = self.means.get((dataset, metric, "all"), {})
        return next(iter(slices.values()), {})

    def has_seen(self, system: str, dataset: str) -> bool:
        """Return whether a system has seen any page of a data set in training."""
        return (dataset, system) in self.seen and bool(self.seen[dataset, system].pages)

    def ranking_metric(self, dataset: str) -> str | None:
        """Return the metric to rank a data set by: the first that has a value; None if none has."""
        for metric in (*PREFERRED, *self.titles):
            if any(row["mean"] is not None for row in self.whole(dataset, metric).values()):
                return metric
        return None


def index_tables(tables: Mapping[str, Any]) -> Index:
    """Index the rows of a comparison's tables.

    Raises UsageError for tables of another version.
    """
    if tables.get("schema_version") != TABLES_VERSION:
        raise UsageError(f"tables must have schema version {TABLES_VERSION}, got {tables.get('schema_version')!r}")
    means: dict[tuple[str, str, str], dict[str, dict[str, Row]]] = {}
    for row in tables["means"]:
        slices = means.setdefault((row["dataset"], row["metric"], row["slice_kind"]), {})
        slices.setdefault(str(row["slice"]), {})[row["system"]] = row
    better = {name: item["better"] for name, item in tables["metrics"].items()}
    pairwise: dict[tuple[str, str, str, str], PairwiseResult] = {}
    for row in tables["differences"]:
        dataset, metric, a, b = (row[name] for name in ("dataset", "metric", "a", "b"))
        counts = [row.get(name) for name in ("wins", "losses", "ties")]
        pages = 0 if None in counts else sum(counts)
        won, lost = (counts[0] / pages, counts[1] / pages) if pages else (None, None)
        result = PairwiseResult(row["mean"], row["low"], row["high"], bool(row["significant"]), won, lost)
        # Tables contain plain differences of scores and count the greater score as a win, even if lower is better.
        low_is_better = better.get(metric) == "low"
        pairwise[dataset, metric, a, b] = result.reversed() if low_is_better else result
        pairwise[dataset, metric, b, a] = result if low_is_better else result.reversed()
    return Index(
        # The kind of outputs read from a file may be unknown.
        kinds={row["name"]: row["kind"] if row["kind"] in SYSTEM_KINDS else "outputs" for row in tables["systems"]},
        trained_on={row["name"]: frozenset(row["in_sample"]) for row in tables["systems"]},
        seen={
            (dataset, row["name"]): Seen(**seen) for row in tables["systems"] for dataset, seen in row["seen"].items()
        },
        better=better,
        titles={name: item["title"] for name, item in tables["metrics"].items()},
        means=means,
        pairwise=pairwise,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """Rank and score of a system on one data set."""

    system: str
    kind: str
    rank: int | None  #: From 1 for the best; None for a system that is in sample or has no value
    in_sample: bool  #: Whether it has seen too many of the pages in training to have a rank
    mean: float | None
    low: float | None = None
    high: float | None = None
    pages: int = 0
    tied_with_best: bool = False  #: Whether it is the best, or the best is not significantly better
    seen: bool = False  #: Whether it has seen any of the pages in training; marked with a dagger


def standings(index: Index, dataset: str, metric: str) -> tuple[Standing, ...]:
    """Rank the systems on a data set, best first.

    Systems that were trained on its pages are listed in order of their score, without a rank; systems without a value
    come last.
    """
    rows = index.whole(dataset, metric)
    sign = -1 if index.better.get(metric, "high") == "high" else 1
    names = sorted(rows, key=lambda name: (rows[name]["mean"] is None, sign * (rows[name]["mean"] or 0)))
    in_sample = {name for name in names if dataset in index.trained_on.get(name, ())}
    ranked = [name for name in names if name not in in_sample and rows[name]["mean"] is not None]
    results = {name: index.pairwise.get((dataset, metric, ranked[0], name)) for name in ranked}
    tied = {name for name, result in results.items() if result and not result.better} | {*ranked[:1]}
    return tuple(
        Standing(
            system=name,
            kind=index.kinds[name],
            rank=ranked.index(name) + 1 if name in ranked else None,
            in_sample=name in in_sample,
            **{key: rows[name][key] for key in ("mean", "low", "high", "pages")},
            tied_with_best=name in tied,
            seen=index.has_seen(name, dataset),
        )
        for name in names
    )


@dataclass(frozen=True, slots=True)
class RankingSummary:
    """Best systems on one data set."""

    best: Standing | None = None  #: None if no system has a value, or all were trained on the data set
    second: Standing | None = None
    result: PairwiseResult | None = None  #: The best against the second; None if not tested
    tied: tuple[Standing, ...] = ()  #: Other systems that the best is not significantly better than
    better_in_sample: tuple[Standing, ...] = ()  #: Systems with higher scores that were trained on these pages


def summarise_ranking(index: Index, dataset: str, metric: str) -> RankingSummary:
    """Find the best system on a data set, and whether it is significantly better than the next.

    Systems that were trained on the data set's pages are excluded.
    """
    table = standings(index, dataset, metric)
    ranked = [row for row in table if row.rank is not None]
    if not ranked:
        return RankingSummary()
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    return RankingSummary(
        best=best,
        second=second,
        result=index.pairwise.get((dataset, metric, best.system, second.system)) if second else None,
        tied=tuple(row for row in ranked[1:] if row.tied_with_best),
        better_in_sample=tuple(row for row in table[: table.index(best)] if row.in_sample),
    )


def leaders(table: Sequence[Standing], n: int = 10) -> tuple[Standing, ...]:
    """Select the systems to show first: the best ``n``, and the best of each kind if it is not among them."""
    chosen = list(table[:n])
    for row in table[n:]:
        if row.mean is not None and row.kind not in {other.kind for other in chosen}:
            chosen.append(row)
    return tuple(chosen)
