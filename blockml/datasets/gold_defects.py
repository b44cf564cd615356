"""Pages of a data set whose gold is invalid for training or for evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from blockml.datasets.base import Dataset
from blockml.datasets.validation import Finding, FindingKind, validate
from blockml.progress import ProgressCallback, ignore_progress

#: Kinds that make gold invalid for any use: it is missing, belongs to another page, is incomplete or contradicted.
_INVALID = frozenset(FindingKind) - {
    FindingKind.WORD_ORDER,
    FindingKind.REPETITION,
    FindingKind.DUPLICATE,
    FindingKind.CONTAMINATION,
}
#: Kinds that make block labels wrong. A repetition does not, because only one of the copies is aligned.
INVALID_FOR_TRAINING: frozenset[FindingKind] = _INVALID | {FindingKind.WORD_ORDER}
#: Kinds that make scores wrong. Word order does not affect bag-of-words scores.
INVALID_FOR_EVALUATION: frozenset[FindingKind] = _INVALID | {FindingKind.REPETITION}

#: Flags of data sets that our own check of the same kind replaces: WCXB's authors searched the visible text of a
#: browser for the words of the gold and flagged pages with text in ``noscript``, which blockml reads.
REPLACED: frozenset[str] = frozenset({"gold_words_missing_from_html"})


def gold_defects(
    dataset: Dataset,
    *,
    kinds: Set[FindingKind] = INVALID_FOR_TRAINING | INVALID_FOR_EVALUATION,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Mapping[str, tuple[str, ...]]:
    """Find the defects of the gold of a data set, without using any extractor.

    Parameters
    ----------
    dataset
        The data set.
    kinds
        Kinds of findings that count as defects.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Returns
    -------
    Mapping[str, tuple[str, ...]]
        Defects by page id, in the order of the data set, for pages with at least one: the flags of the data set in
        their order, then the kinds of findings, sorted, without duplicates.

    Raises
    ------
    DatasetError
        A page cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from blockml.datasets import LabelledPage, TextGold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.html")
    ...     _ = path.write_text("<title>Page not found</title><p>Page not found")
    ...     page = LabelledPage("a", "site", path, TextGold("Page not found"), flags=("seen",))
    ...     gold_defects(Dataset("mine", Path(folder), "folders", (page,)))
    {'a': ('seen', 'soft error')}
    """
    return _defects(dataset, validate(dataset, jobs=jobs, progress=progress), kinds)


def _defects(dataset: Dataset, findings: Iterable[Finding], kinds: Set[FindingKind]) -> Mapping[str, tuple[str, ...]]:
    """Return the flags of pages and the kinds of findings that count, by page id."""
    found: dict[str, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.kind in kinds:
            found[finding.page_id].add(str(finding.kind))
    names = {page.id: tuple(dict.fromkeys((*page.flags, *sorted(found.get(page.id, ()))))) for page in dataset.pages}
    return {page_id: defects for page_id, defects in names.items() if defects}


def filtered(dataset: Dataset, *, jobs: int = 1, progress: ProgressCallback = ignore_progress) -> Dataset:
    """Flag the pages of a data set whose gold is invalid for training, so that training leaves them out.

    Existing flags are kept, except those in :data:`REPLACED`.

    Parameters
    ----------
    dataset
        The data set.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).

    Raises
    ------
    DatasetError
        A page cannot be read.
    """
    return flagged(dataset, validate(dataset, jobs=jobs, progress=progress))


def flagged(dataset: Dataset, findings: Iterable[Finding]) -> Dataset:
    """Flag the pages of a data set as :func:`filtered` does, from the findings of its pages."""
    found = _defects(dataset, findings, INVALID_FOR_TRAINING)
    pages = [
        replace(page, flags=tuple([name for name in found.get(page.id, ()) if name not in REPLACED]))
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))
