"""``blockml.evaluate``: scores of one model on labelled pages, and results as data frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from blockml.datasets import Dataset, open_dataset
from blockml.errors import UsageError, check_name
from blockml.evaluation.bootstrap import bootstrap_mean
from blockml.evaluation.page_results import (
    PAGE_METRICS,
    PageResult,
    Seen,
    evaluate_extractor,
    find_seen,
    page_hashes,
    training_records,
)
from blockml.extractors import Extractor
from blockml.extractors.extractor import HasExtractor
from blockml.extractors.registry import load
from blockml.progress import ProgressCallback, ignore_progress

#: Page fields by which scores can be grouped.
PAGE_GROUPINGS = ("page_type", "site", "status", "seen")


#: Names of groups for values that are not strings.
_NAMES = {None: "unknown", True: "seen", False: "not seen"}


class Mean(NamedTuple):
    """Mean over pages with its 95 % bootstrap interval."""

    mean: float
    low: float | None  #: None for a single page
    high: float | None
    pages: int  #: Number of pages whose gold supports the metric


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of :func:`evaluate`.

    Metrics are those of :data:`blockml.evaluation.page_results.PAGE_METRICS`; ``bag_f1``, the default, is the F1 of the
    words of the extracted text against those of the gold, in any order.
    """

    model: str  #: Name and version of the model or extractor.
    dataset: str  #: Name of the data set.
    results: tuple[PageResult, ...]  #: Scores and cost of each page.
    seen: Seen  #: Pages and sites that the model has seen in training.

    def mean(self, metric: str = "bag_f1") -> float:
        """Return the mean of a metric over pages; UsageError if no page has gold for it."""
        return self._mean(metric, self.results).mean

    def interval(self, metric: str = "bag_f1") -> tuple[float, float] | None:
        """Return the 95 % bootstrap interval of the mean; None for a single page."""
        found = self._mean(metric, self.results)
        return None if found.low is None or found.high is None else (found.low, found.high)

    def by(self, field: str = "page_type", metric: str = "bag_f1") -> dict[str, Mean]:
        """Return the mean of a metric by page field (one of :data:`PAGE_GROUPINGS`), largest group first.

        ``seen`` groups pages by whether the model has seen them in training.
        """
        check_name("field", field, PAGE_GROUPINGS)
        groups: dict[str, list[PageResult]] = {}
        for row, result in zip(self.pages, self.results, strict=True):
            if self._values(metric, [result]):
                groups.setdefault(_NAMES.get(row[field], row[field]), []).append(result)
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        return {name: self._mean(metric, results) for name, results in ordered}

    @property
    def pages(self) -> list[dict[str, Any]]:
        """One row per page: its fields, whether it was seen in training (None: unknown), all metrics, and CPU time."""
        return [
            {
                "id": result.id,
                "site": result.site,
                "page_type": result.page_type,
                "status": str(result.status),
                "flagged": result.flagged,
                "seen": None if self.seen.pages is None else result.id in self.seen.pages,
                **{metric: result.metric(metric) for metric in PAGE_METRICS},
                "ms": 1000 * result.seconds,
            }
            for result in self.results
        ]

    def to_frame(self) -> Frame:
        """Return :attr:`pages` as a pandas DataFrame; UsageError without pandas."""
        return to_frame(self.pages)

    def _values(self, metric: str, results: Iterable[PageResult]) -> list[float]:
        check_name("metric", metric, PAGE_METRICS)
        return [value for result in results if (value := result.metric(metric)) is not None]

    def _mean(self, metric: str, results: Iterable[PageResult]) -> Mean:
        values = self._values(metric, results)
        if not values:
            known = [name for name in PAGE_METRICS if self._values(name, self.results)]
            raise UsageError(f"no page has gold for {metric}; it supports: {', '.join(known) or 'no metric'}")
        found = bootstrap_mean(values)
        several = len(values) > 1
        return Mean(found.mean, found.low if several else None, found.high if several else None, len(values))

    @property
    def _metrics(self) -> list[str]:
        return [name for name in PAGE_METRICS if self._values(name, self.results)]

    def __repr__(self) -> str:
        first = self._metrics[:1]
        score = f", {first[0]} {self.mean(first[0]):.3f}" if first else ""
        interval = self.interval(first[0]) if first else None
        shown = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
        return f"Evaluation({self.model!r} on {self.dataset!r}, {len(self.results)} pages{score}{shown}; {self.seen})"

    def _repr_html_(self) -> str:
        rows = []
        for name in self._metrics:
            found = self._mean(name, self.results)
            interval = "-" if found.low is None else f"[{found.low:.3f}, {found.high:.3f}]"
            rows.append({"metric": name, "mean": f"{found.mean:.3f}", "95 %": interval, "pages": str(found.pages)})
        return html_table(rows, f"{self.model} on {self.dataset}: {self.seen}")


def evaluate(
    model: str | os.PathLike[str] | Extractor | HasExtractor,
    data: Any,  # noqa: ANN401 (whatever open_dataset reads)
    *,
    backend: str | None = None,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Evaluation:
    """Extract labelled pages with a model or extractor and score the results.

    Parameters
    ----------
    model
        Name of a released model or untrained extractor, path of a model file, ``module:Class``, an extractor or a
        fitted estimator. :func:`blockml.compare` runs third-party tools too.
    data
        A folder, ``NAME=FOLDER``, or a data set from :func:`blockml.open_dataset`.
    backend
        HTML parser to use instead of the model's.
    jobs
        Number of processes.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Raises
    ------
    UnknownNameError
        There is no such model or parser.
    DatasetError
        A page can't be read, or none has gold.

    Examples
    --------
    >>> import blockml
    >>> scores = blockml.evaluate("default", "data/sites")
    >>> scores.mean() > 0.9, scores.mean("lcs_f1") <= scores.mean()
    (True, True)
    >>> scores.by("seen")["not seen"].pages == len(scores.pages)
    True
    """
    extractor, dataset = load(model), open_dataset(data)
    parsing = {} if backend is None else {"backend": backend}
    results = evaluate_extractor(extractor, dataset, jobs=jobs, progress=progress, parsing=parsing)
    return Evaluation(extractor.id, dataset.name, tuple(results), seen_by(extractor, dataset, progress))


def seen_by(extractor: Extractor, dataset: Dataset, progress: ProgressCallback = ignore_progress) -> Seen:
    """Find the pages and sites of a data set that the models of an extractor were trained on."""
    training = training_records(extractor)
    if not training:
        return Seen((), len(dataset))
    return find_seen(training, dataset, dataset.checksum(), page_hashes(dataset, progress))


if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pd.DataFrame


def to_frame(rows: Sequence[Mapping[str, Any]]) -> Frame:
    """Make a pandas DataFrame of rows with the same keys; raise UsageError without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("a data frame needs pandas: pip install pandas") from error
    return pd.DataFrame(list(rows))


def html_table(rows: Sequence[Mapping[str, str]], caption: str = "") -> str:
    """Format rows with the same keys as an HTML table, for notebooks.

    Examples
    --------
    >>> html_table([{"system": "a<b", "F1": ".9"}])
    '<table><thead><tr><th>system</th><th>F1</th></tr></thead><tbody><tr><td>a&lt;b</td><td>.9</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row.values()) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
