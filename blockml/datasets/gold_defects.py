"""Which pages of a data set have a gold that is unfit to train on, or unfit to judge by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace

from blockml.datasets.base import Dataset, LabelledPage
from blockml.datasets.validation import Kind, validate

__all__ = ["UNFIT_FOR_JUDGING", "UNFIT_FOR_TRAINING", "defects", "filtered"]

#: What makes a gold wrong for whichever use: it is missing, of another page or capture, incomplete, or contradicted.
_WRONG: frozenset[Kind] = frozenset(
    {"stand-in page", "empty gold", "words missing", "truncation", "cut off", "labels off", "contradiction"}
)
#: Kinds of findings that make block labels wrong. A repetition doesn't: one of the copies is aligned.
UNFIT_FOR_TRAINING: frozenset[Kind] = _WRONG | {"other order"}
#: Kinds of findings that make scores wrong. Another order doesn't where words are counted without their order.
UNFIT_FOR_JUDGING: frozenset[Kind] = _WRONG | {"repetition"}

#: Flags of data sets that our own finding of the same kind replaces: WCXB's authors looked for the gold's words in the
#: visible text of a browser, and part of it stands in ``noscript``, which is read here.
REPLACED: frozenset[str] = frozenset({"gold_words_missing_from_html"})


def defects(
    dataset: Dataset,
    *,
    kinds: Set[Kind] = UNFIT_FOR_TRAINING | UNFIT_FOR_JUDGING,
    jobs: int = 1,
    progress: Callable[[Iterable[LabelledPage]], Iterable[LabelledPage]] = iter,
) -> Mapping[str, tuple[str, ...]]:
    """Tell what is wrong with the gold of a data set's pages, by the pages alone.

    No extractor has a say, so pages may be left out by it without favour to any of them.

    Parameters
    ----------
    dataset
        The data set.
    kinds
        Kinds of findings that count; see :data:`blockml.datasets.validation.KINDS`.
    jobs
        Processes; the result does not depend on it.
    progress
        Wraps the iteration over its pages, to show progress.

    Returns
    -------
    Mapping[str, tuple[str, ...]]
        Id of each page with a defect, in the order of the data set: first the flags that the data set itself carries,
        in its order, then the kinds of findings, sorted; each once. Pages without a defect are not in it.

    Raises
    ------
    DatasetError
        A page can't be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from blockml.datasets.gold import TextGold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.html")
    ...     _ = path.write_text("<title>Page not found</title><p>Page not found")
    ...     page = LabelledPage("a", "site", path, TextGold("Page not found"), flags=("seen",))
    ...     defects(Dataset("mine", Path(folder), "folders", (page,)))
    {'a': ('seen', 'stand-in page')}
    """
    found: dict[str, set[str]] = defaultdict(set)
    for finding in validate(dataset, jobs=jobs, progress=progress):
        if finding.kind in kinds:
            found[finding.page_id].add(finding.kind)
    both = {page.id: tuple(dict.fromkeys((*page.flags, *sorted(found.get(page.id, ()))))) for page in dataset.pages}
    return {page_id: names for page_id, names in both.items() if names}


def filtered(dataset: Dataset, *, jobs: int = 1) -> Dataset:
    """Return the data set with a flag for each defect that makes a page's gold unfit to train on.

    Its own flags stay, but for those in :data:`REPLACED`.

    Parameters
    ----------
    dataset
        The data set.
    jobs
        Processes; the result does not depend on it.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    found = defects(dataset, kinds=UNFIT_FOR_TRAINING, jobs=jobs)
    pages = [
        replace(page, flags=tuple([name for name in found.get(page.id, ()) if name not in REPLACED]))
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))
