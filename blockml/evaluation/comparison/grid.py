"""Page scores of several systems on one data set, as arrays of shape (n_pages, n_systems), and slices of its pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.evaluation.comparison.reference import PageScore
from blockml.evaluation.metrics import BlockScores, f_beta

_Floats = NDArray[np.float64]


class MetricInfo(NamedTuple):
    """Title of a metric, and whether a ``high`` or a ``low`` value is better."""

    title: str
    better: str = "high"


#: Metrics by name. Those of blocks are pooled over pages, the others are means over pages.
METRIC_INFO: Mapping[str, MetricInfo] = MappingProxyType(
    {
        "bag_f1": MetricInfo("bag-of-words F1"),
        "bag_precision": MetricInfo("bag-of-words precision"),
        "bag_recall": MetricInfo("bag-of-words recall"),
        "bag_f05": MetricInfo("bag-of-words F0.5 (precision counts twice)"),
        "bag_f2": MetricInfo("bag-of-words F2 (recall counts twice)"),
        "lcs_f1": MetricInfo("LCS F1 (longest common subsequence of words)"),
        "lcs_precision": MetricInfo("LCS precision"),
        "lcs_recall": MetricInfo("LCS recall"),
        "shingle_f1": MetricInfo("F1 of word 4-grams"),
        "with_rate": MetricInfo("share of the required snippets found"),
        "without_rate": MetricInfo("share of the forbidden snippets found", "low"),
        "block_f1": MetricInfo("F1 of blocks, main-content class, pooled over pages"),
        "block_precision": MetricInfo("precision of blocks, pooled over pages"),
        "block_recall": MetricInfo("recall of blocks, pooled over pages"),
    }
)

#: Metrics that are pooled over pages, in the order in which they are computed.
BLOCK_METRICS = ("block_f1", "block_precision", "block_recall")

#: F-beta metrics by name: the metrics of precision and recall, and beta. They are computed page by page.
F_BETA: Mapping[str, tuple[str, str, float]] = MappingProxyType(
    {"bag_f05": ("bag_precision", "bag_recall", 0.5), "bag_f2": ("bag_precision", "bag_recall", 2.0)}
)

#: Outcomes of running a system on a page.
OUTCOMES = ("ok", "empty", "error", "crash", "timeout", "missing")

# Name of the slice of pages whose page type, language or script is unknown.
_UNKNOWN = "unknown"

#: Kinds with a single slice of (nearly) all pages: see :func:`slice_pages`.
WHOLES = ("all", "clean", "not_empty_gold")


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Scores of the systems on the pages of one data set; NaN where gold or score is missing."""

    dataset: str
    systems: tuple[str, ...]
    pages: tuple[PageScore, ...]  #: (n_pages,) one score of each page, for facts about the page; ordered by id
    cells: Mapping[tuple[str, str], PageScore]  #: Score by page id and system
    #: (n_pages, n_systems) value of each page by metric; block metrics are those of the single page
    values: Mapping[str, _Floats]
    counts: _Floats  #: (n_pages, n_systems, 3) true positives, false positives and false negatives of the blocks
    seen: NDArray[np.bool_]  #: (n_pages, n_systems) whether the system was trained on the page


def fill_grid(
    dataset: str, scores: Mapping[str, Sequence[PageScore]], seen: Mapping[str, Collection[str]] | None = None
) -> Grid:
    """Arrange the page scores of one data set.

    ``scores`` are the page scores by system, in any order of pages, and ``seen`` the ids of the pages that a system was
    trained on. Raises UsageError if a system has two scores for a page, or an outcome is not one of :data:`OUTCOMES`.
    """
    cells: dict[tuple[str, str], PageScore] = {}
    first: dict[str, PageScore] = {}
    for system, scored in scores.items():
        for page in scored:
            if (page.id, system) in cells:
                raise UsageError(f"{system} has two scores for page {page.id}", source=dataset)
            if page.outcome not in OUTCOMES:
                raise UsageError(f"unknown outcome {page.outcome!r}; legal are: {', '.join(OUTCOMES)}", source=dataset)
            cells[page.id, system] = page
            first.setdefault(page.id, page)
    rows = {page: row for row, page in enumerate(sorted(first))}
    columns = {system: column for column, system in enumerate(scores)}
    shape = (len(rows), len(columns))
    trained_on = np.zeros(shape, dtype=bool)
    for system, pages in (seen or {}).items():
        trained_on[[rows[page] for page in pages if page in rows], columns[system]] = True
    values = {metric: np.full(shape, np.nan) for metric in METRIC_INFO}
    counts = np.full((*shape, 3), np.nan)
    page_metrics = [metric for metric in METRIC_INFO if metric not in BLOCK_METRICS and metric not in F_BETA]
    for (page_id, system), page in cells.items():
        cell = rows[page_id], columns[system]
        for metric in page_metrics:
            value = getattr(page, metric)
            values[metric][cell] = np.nan if value is None else value
        for metric, (precision, recall, beta) in F_BETA.items():
            pair = getattr(page, precision), getattr(page, recall)
            values[metric][cell] = np.nan if None in pair else f_beta(*pair, beta)
        if page.tp + page.fp + page.fn + page.tn > 0:  # pages with at least one block with gold
            blocks = BlockScores(page.tp, page.fp, page.fn, page.tn)
            counts[cell] = page.tp, page.fp, page.fn
            answered = page.outcome in ("ok", "empty")  # a failure scores 0 even where no block is content
            for metric in BLOCK_METRICS:
                values[metric][cell] = answered and getattr(blocks, metric.removeprefix("block_"))
    return Grid(
        dataset=dataset,
        systems=tuple(columns),
        pages=tuple(first[page] for page in rows),
        cells=MappingProxyType(cells),
        values=MappingProxyType(values),
        counts=counts,
        seen=trained_on,
    )


class Slice(NamedTuple):
    """A subset of the pages of a data set."""

    kind: str
    name: str
    rows: NDArray[np.intp]  #: Indices of its pages


def slice_pages(pages: Sequence[PageScore]) -> Iterator[Slice]:
    """Yield the non-empty slices of a data set, ordered by kind and name.

    Kinds are ``all``, ``clean`` (pages whose gold has no known defect), ``not_empty_gold`` (pages whose gold has
    words), ``page_type``, ``script``, ``language``, ``gold_length`` (quartiles of the number of gold words) and
    ``site`` (sites with several pages). A kind for which the data set gives no information is omitted.
    """
    flags = (True for _ in pages), (not page.flagged for page in pages), (page.gold_words > 0 for page in pages)
    for kind, keep in zip(WHOLES, flags, strict=True):
        rows = np.flatnonzero(np.fromiter(keep, dtype=bool))
        if rows.size:
            yield Slice(kind, kind, rows)
    for kind in ("page_type", "script", "language"):
        names = [getattr(page, kind) or _UNKNOWN for page in pages]
        if set(names) != {_UNKNOWN}:
            yield from _grouped(kind, names)
    yield from _grouped("gold_length", quartiles([page.gold_words for page in pages]))
    yield from (part for part in _grouped("site", [page.site for page in pages]) if part.rows.size > 1)


def _grouped(kind: str, names: Sequence[str]) -> Iterator[Slice]:
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        groups.setdefault(name, []).append(row)
    for name in sorted(groups):
        yield Slice(kind, name, np.array(groups[name], dtype=np.intp))


def quartiles(words: Sequence[int]) -> list[str]:
    """Return the name of the quartile of each length, which includes its range of lengths.

    Equal lengths stay together, so quartiles can differ in size, and some can be missing.

    Examples
    --------
    >>> quartiles([10, 400, 0, 25])
    ['q2 (10-10 words)', 'q4 (400-400 words)', 'q1 (0-0 words)', 'q3 (25-25 words)']
    >>> quartiles([7, 7, 7])
    ['q1 (7-7 words)', 'q1 (7-7 words)', 'q1 (7-7 words)']
    """
    if not words:
        return []
    lengths = np.asarray(words)
    quarter = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths)
    titles = {
        number: f"q{number + 1} ({lengths[quarter == number].min()}-{lengths[quarter == number].max()} words)"
        for number in np.unique(quarter).tolist()
    }
    return [titles[number] for number in quarter.tolist()]
