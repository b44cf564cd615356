"""The page scores of several systems on one data set, as arrays: a row for each page, a column for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.evaluation.blocks import BlockScores
from blockml.evaluation.comparison.reference import PageScore

__all__ = ["BLOCK_METRICS", "METRICS", "OUTCOMES", "Grid", "Metric", "fill_grid"]

_Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """What a metric is, and whether a high or a low value is better."""

    title: str
    better: str


#: Metrics by name. Those of blocks are pooled over pages, the others are means over pages.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "bag_f1": Metric("F1 of words as a bag", "high"),
        "bag_precision": Metric("precision of words as a bag", "high"),
        "bag_recall": Metric("recall of words as a bag", "high"),
        "lcs_f1": Metric("F1 of words in order (longest common subsequence)", "high"),
        "lcs_precision": Metric("precision of words in order", "high"),
        "lcs_recall": Metric("recall of words in order", "high"),
        "shingle_f1": Metric("F1 of word 4-grams", "high"),
        "with_rate": Metric("share of the required snippets that were found", "high"),
        "without_rate": Metric("share of the forbidden snippets that were found", "low"),
        "block_f1": Metric("F1 of blocks, main-content class, pooled over pages", "high"),
        "block_precision": Metric("precision of blocks, pooled over pages", "high"),
        "block_recall": Metric("recall of blocks, pooled over pages", "high"),
    }
)

#: Metrics that are pooled over pages, in the order in which they are computed.
BLOCK_METRICS = ("block_f1", "block_precision", "block_recall")

#: What can become of a page.
OUTCOMES = ("ok", "empty", "error", "crash", "timeout", "missing")


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Scores of the systems on the pages of one data set; nan where the gold doesn't tell or a score is not there."""

    dataset: str
    systems: tuple[str, ...]
    pages: tuple[PageScore, ...]
    """One of the scores of each page, for what the page is; ordered by id."""
    cells: Mapping[tuple[str, str], PageScore]
    """Score by page id and system."""
    values: Mapping[str, _Floats]
    """Metric to the value of each page, shape (pages, systems); of block metrics the page's own."""
    counts: _Floats
    """True positives, false positives and false negatives of the blocks, shape (pages, systems, 3)."""


def fill_grid(dataset: str, scores: Mapping[str, Sequence[PageScore]]) -> Grid:
    """Arrange the scores of one data set.

    Parameters
    ----------
    dataset
        Name of the data set.
    scores
        Page scores by system, in any order of pages.

    Raises
    ------
    UsageError
        A system has two scores of a page, or an outcome is none of :data:`OUTCOMES`.
    """
    cells: dict[tuple[str, str], PageScore] = {}
    facts: dict[str, PageScore] = {}
    for system, scored in scores.items():
        for page in scored:
            if (page.id, system) in cells:
                raise UsageError(f"{system} has two scores of page {page.id}", source=dataset)
            if page.outcome not in OUTCOMES:
                raise UsageError(f"unknown outcome {page.outcome!r}; legal are {', '.join(OUTCOMES)}", source=dataset)
            cells[page.id, system] = page
            facts.setdefault(page.id, page)
    ids = {page: row for row, page in enumerate(sorted(facts))}
    columns = {system: column for column, system in enumerate(scores)}
    shape = (len(ids), len(columns))
    values = {metric: np.full(shape, np.nan) for metric in METRICS}
    counts = np.full((*shape, 3), np.nan)
    for (page_id, system), page in cells.items():
        place = ids[page_id], columns[system]
        blocks = BlockScores(page.tp, page.fp, page.fn, page.tn)
        for metric, array in values.items():
            array[place] = _value(page, blocks, metric)
        if _labelled(blocks):
            counts[place] = blocks.tp, blocks.fp, blocks.fn
    return Grid(
        dataset=dataset,
        systems=tuple(columns),
        pages=tuple(facts[page] for page in ids),
        cells=MappingProxyType(cells),
        values=MappingProxyType(values),
        counts=counts,
    )


def _value(page: PageScore, blocks: BlockScores, metric: str) -> float:
    """Value of a metric, nan where the gold doesn't tell."""
    if metric in BLOCK_METRICS:
        return float(getattr(blocks, metric.removeprefix("block_"))) if _labelled(blocks) else np.nan
    value = getattr(page, metric)
    return np.nan if value is None else float(value)


def _labelled(blocks: BlockScores) -> bool:
    """Whether any block of the page has gold."""
    return blocks.tp + blocks.fp + blocks.fn + blocks.tn > 0
