"""Evaluation of one extractor on one data set: scores of every page, and their means."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage, TextGold
from blockml.datasets.gold import ignored_text
from blockml.errors import DatasetError, check_type
from blockml.evaluation.blocks import BlockScores, block_scores
from blockml.evaluation.bootstrap import bootstrap_mean, mean_of_means, means_by
from blockml.evaluation.site_pages import fit_to_site, group_by_site
from blockml.evaluation.words import WordScores, bag_scores, lcs_scores, shingle_scores, snippet_rates
from blockml.extract import extract_page
from blockml.extractors import Extractor
from blockml.page import Status
from blockml.parsing import parse
from blockml.progress import ProgressCallback, ignore_progress, tracked

#: Metrics of a page, reported as means over pages. Titles: :data:`blockml.evaluation.comparison.grid.METRIC_INFO`.
PAGE_METRICS = (
    "bag_f1", "bag_precision", "bag_recall", "bag_f05", "bag_f2", "lcs_f1", "shingle_f1", "with_rate", "without_rate",
)  # fmt: skip

#: Page that is extracted before timing starts, because the first page of a process imports what extractors need.
_WARM_UP = "<title>Cats</title><a href=/>Home</a><p>" + "Cats rule the world, and nobody has asked them to. " * 20


@dataclass(frozen=True, slots=True, eq=False)
class PageResult:
    """Scores and cost of one extraction."""

    id: str
    site: str
    page_type: str | None
    status: Status
    flagged: bool  #: Whether the gold has a known defect
    bag: WordScores | None  #: None if the gold isn't a full text
    lcs: WordScores | None
    shingle: WordScores | None
    with_rate: float | None
    without_rate: float | None
    block: BlockScores  #: Counts over the blocks with gold
    truth: NDArray[np.bool_]  #: (n,) whether each block with gold is main content
    scores: NDArray[np.float32]  #: (n,) adjusted scores of these blocks
    confidence: float  #: Predicted quality of the extraction
    seconds: float  #: CPU time of the extraction
    peak_megabytes: float | None  #: Peak memory of the process so far; None if the system doesn't report it

    def metric(self, name: str) -> float | None:
        """Return the value of one of :data:`PAGE_METRICS`; None if the page's gold does not support it."""
        kind, _, field = name.partition("_")
        if field == "rate":
            return self.with_rate if kind == "with" else self.without_rate
        scores: WordScores | None = getattr(self, kind)
        return None if scores is None else float(getattr(scores, field))


def evaluate_extractor(
    extractor: Extractor,
    dataset: Dataset,
    *,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
    parsing: Mapping[str, Any] | None = None,
) -> list[PageResult]:
    """Extract every page of a data set and score the results.

    An extractor that uses site pages is first fitted on the pages of each site, without their gold. Pages without gold
    are skipped. ``jobs`` is the number of processes; ``progress`` is called as :mod:`blockml.progress` says;
    ``parsing`` replaces parsing options of the extractor, such as the back end.
    Raises DatasetError if no page has gold, or a page can't be read; UsageError if an argument has the wrong type.
    """
    check_type("extractor", extractor, Extractor, legal="an extractor, for example from blockml.extractors.resolve")
    check_type("dataset", dataset, Dataset, legal="a data set from blockml.datasets.open_dataset")
    groups = group_by_site(dataset.pages) if extractor.uses_site else [[page] for page in dataset.pages]
    tasks = (joblib.delayed(_evaluate_site)(extractor, group, parsing or {}) for group in groups)
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        pages = (result for group in parallel(tasks) for result in group)
        scored = list(tracked(pages, progress, f"pages of {dataset.name}", len(dataset)))
    results = [result for result in scored if result is not None]
    if not results:
        raise DatasetError("no page has gold", source=dataset.path)
    order = {page.id: number for number, page in enumerate(dataset.pages)}
    return sorted(results, key=lambda result: order[result.id])


def _evaluate_site(
    extractor: Extractor, pages: Sequence[LabelledPage], parsing: Mapping[str, Any]
) -> list[PageResult | None]:
    fitted = fit_to_site(extractor, pages, parsing)
    extract_page(parse(_WARM_UP, **{**fitted.parsing.options(), **parsing}), fitted)
    return [_evaluate_page(fitted, page, parsing) for page in pages]


def _evaluate_page(extractor: Extractor, labelled: LabelledPage, parsing: Mapping[str, Any]) -> PageResult | None:
    html, gold = labelled.load()
    if gold is None:
        return None
    start = time.process_time()
    options = {**extractor.parsing.options(), **parsing}
    result = extract_page(parse(html, url=labelled.url, charset=labelled.charset, **options), extractor)
    seconds = time.process_time() - start
    labels = gold.label(result.page)
    text, ignored = gold.text(), ignored_text(gold)
    snippets = snippet_rates(result.text, gold.required, gold.forbidden) if isinstance(gold, TextGold) else None
    return PageResult(
        id=labelled.id,
        site=labelled.site,
        page_type=labelled.page_type,
        status=result.status,
        flagged=not labelled.trusted,
        bag=None if text is None else bag_scores(text, result.text, ignored=ignored),
        lcs=None if text is None else lcs_scores(text, result.text, ignored=ignored),
        shingle=None if text is None else shingle_scores(text, result.text, ignored=ignored),
        with_rate=snippets.with_rate if snippets else None,
        without_rate=snippets.without_rate if snippets else None,
        block=block_scores(labels.main[labels.known], result.kept[labels.known]),
        truth=labels.main[labels.known],
        scores=np.asarray(result.scores, dtype=np.float32)[labels.known],
        confidence=result.confidence,
        seconds=seconds,
        peak_megabytes=peak_megabytes(),
    )


def summarise(results: Sequence[PageResult], metrics: Sequence[str] = PAGE_METRICS) -> dict[str, Any]:
    """Average the scores of pages with 95 % bootstrap intervals, also per page type and over sites; pool block counts.

    Returns ``pages``, ``statuses``, ``metrics`` (name to mean, low, high, pages, site_mean, clean_mean),
    ``by_page_type``, ``block`` (pooled precision, recall, f1), ``ms_per_page``, ``peak_megabytes``. ``clean_mean``
    excludes pages whose gold has a known defect; ``site_mean`` is the mean over sites of the means of their pages. For
    a single page there is no interval: ``low`` and ``high`` are None.
    """
    summary: dict[str, Any] = {
        "pages": len(results),
        "statuses": dict(sorted(Counter(str(result.status) for result in results).items())),
        "metrics": {},
        "by_page_type": {},
    }
    for name in metrics:
        pairs = [(result, value) for result in results if (value := result.metric(name)) is not None]
        if not pairs:
            continue
        values = [value for _, value in pairs]
        interval = bootstrap_mean(values)
        clean = [value for result, value in pairs if not result.flagged]
        sites = [result.site for result, _ in pairs]
        summary["metrics"][name] = {
            "mean": round(interval.mean, 4),
            "low": round(interval.low, 4) if len(values) > 1 else None,
            "high": round(interval.high, 4) if len(values) > 1 else None,
            "pages": len(values),
            "site_mean": round(mean_of_means(means_by(values, sites)), 4),
            "clean_mean": round(float(np.mean(clean)), 4) if clean else None,
        }
        by_page_type = means_by(values, [result.page_type or "unknown" for result, _ in pairs])
        for page_type, (mean, count) in sorted(by_page_type.items()):
            summary["by_page_type"].setdefault(page_type, {"pages": count})[name] = round(mean, 4)
    total = sum((result.block for result in results), BlockScores())
    summary["block"] = {name: round(getattr(total, name), 4) for name in ("precision", "recall", "f1")}
    summary["ms_per_page"] = round(1000 * float(np.mean([result.seconds for result in results])), 2)
    peaks = [result.peak_megabytes for result in results if result.peak_megabytes is not None]
    summary["peak_megabytes"] = round(max(peaks)) if peaks else None
    return summary


def peak_megabytes() -> float | None:
    """Return the peak memory of this process in megabytes; None if the system doesn't report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # bytes on macOS, kilobytes on Linux
