"""Evaluation of one extractor on one data set, and which of its pages and sites a model has seen."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.batch.worker import status_bytes
from blockml.datasets import Dataset, LabelledPage, TextGold, site_of
from blockml.datasets.gold import ignored_text
from blockml.errors import DatasetError, check_type
from blockml.evaluation.bootstrap import bootstrap_mean, mean_of_means, means_by
from blockml.evaluation.metrics import (
    BlockScores,
    WordScores,
    bag_scores,
    block_scores,
    lcs_scores,
    shingle_scores,
    snippet_rates,
)
from blockml.extract import extract_page
from blockml.extractors import Extractor
from blockml.model import TrainingHashes
from blockml.model.training_hashes import PageHashes, hash_page
from blockml.page import Status
from blockml.parsing import parse
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.sites.fitting import fit_to_site, group_by_site
from blockml.text.words import counted

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
    if (peak := status_bytes("VmHWM")) is not None:  # ``ru_maxrss`` of Linux includes that of the parent process
        return round(peak / 2**20, 1)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # bytes on macOS, kilobytes elsewhere


@dataclass(frozen=True, slots=True)
class Seen:
    """Pages and sites of a data set that a system has seen in training.

    Examples
    --------
    >>> print(Seen(("a",), n_pages=30, sites=2, n_sites=12))
    1 of 30 pages, 2 of 12 sites seen in training
    >>> print(Seen(None, n_pages=30))
    unknown whether pages were seen in training
    """

    pages: tuple[str, ...] | None  #: Ids of the seen pages; None if unknown
    n_pages: int  #: Number of pages in the data set
    sites: int = 0  #: Number of sites with pages that were seen
    n_sites: int = 0  #: Number of known sites in the data set

    def __str__(self) -> str:
        if self.pages is None:
            return "unknown whether pages were seen in training"
        pages = f"{len(self.pages):,} of {counted(self.n_pages, 'page')}"
        sites = f", {self.sites:,} of {counted(self.n_sites, 'site')}" if self.n_sites else ""
        return f"{pages}{sites} seen in training"

    @property
    def worth_telling(self) -> bool:
        """Whether a page or a site was seen, or this is unknown."""
        return self.pages is None or bool(self.pages) or self.sites > 0

    @property
    def share(self) -> float:
        """Share of the pages that were seen; 0 if unknown."""
        return len(self.pages or ()) / self.n_pages


def page_hashes(dataset: Dataset, progress: ProgressCallback = ignore_progress) -> dict[str, PageHashes]:
    """Hash every page of a data set, by id; ``progress`` is called as :mod:`blockml.progress` says.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    found = {}
    for page in tracked(dataset.pages, progress, f"hashes of {dataset.name}", len(dataset)):
        found[page.id] = hash_labelled(page, page.load()[0])
    return found


def hash_labelled(page: LabelledPage, html: bytes) -> PageHashes:
    """Hash a labelled page, given its source."""
    site = site_of(page.url, "") or (page.site if page.site_known else None)
    return hash_page(html, site, page.charset)


def training_hashes(datasets: Iterable[Dataset]) -> TrainingHashes:
    """Collect the hashes of all pages of data sets, for the model that is trained on them."""
    return TrainingHashes.of(hashes for dataset in datasets for hashes in page_hashes(dataset).values())


class Trained(NamedTuple):
    """Training data of a model."""

    checksums: frozenset[str]  #: Checksums of the data sets
    hashes: TrainingHashes | None  #: Hashes of the pages; None if unknown


def training_records(extractor: Extractor) -> tuple[Trained, ...]:
    """Return the training data of each model of an extractor; empty for an extractor without a model."""
    return tuple(
        [
            Trained(frozenset(str(entry.get("checksum")) for entry in model.training), model.training_hashes)
            for model in extractor.used_models()
        ]
    )


def find_seen(training: Sequence[Trained], dataset: Dataset, checksum: str, hashes: Mapping[str, PageHashes]) -> Seen:
    """Find the pages and sites of a data set that models were trained on.

    Parameters
    ----------
    training
        Result of :func:`training_records`.
    dataset, checksum
        The pages, and the checksum of their data set, by which a model without hashes recognises it as a whole.
    hashes
        Result of :func:`page_hashes`, which may include other pages; not needed if there are no models.
    """
    if any(item.hashes is None and checksum not in item.checksums for item in training):
        return Seen(None, len(dataset))
    own = {page.id: hashes[page.id] for page in dataset.pages} if training else {}
    sites = {item.site: item for item in own.values() if item.site is not None}
    seen, seen_sites = set[str](), set[int]()
    for item in training:
        if item.hashes is None:
            seen |= own.keys()
            seen_sites |= sites.keys()
        else:
            seen |= {page_id for page_id, page in own.items() if item.hashes.has_page(page)}
            seen_sites |= {site for site, page in sites.items() if item.hashes.has_site(page)}
    return Seen(tuple(sorted(seen)), len(dataset), len(seen_sites), len(sites))
