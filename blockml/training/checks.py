"""Checks of labelled pages before training, and the choice of pages that have gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.base import UNFINISHED_FLAG
from blockml.datasets.gold import SnippetGold
from blockml.errors import DatasetError, UsageError
from blockml.text.plurals import counted

#: Share of pages with defective gold above which training is refused: the data sets tried so far have at most .05.
_MOST_DEFECTIVE = 0.25


def pages_with_gold(
    datasets: Sequence[Dataset], report: Callable[[str], None] = lambda _: None, *, whole_text: bool = False
) -> list[Dataset]:
    """Leave out the pages without gold, such as rows of a table that nobody has labelled yet.

    Parameters
    ----------
    datasets
        The data sets.
    report
        Called with the number of pages that are left out of each data set.
    whole_text
        Whether to leave out pages whose gold is only snippets too.

    Raises
    ------
    DatasetError
        No page of a data set has gold, or a page can't be read.
    """
    kind = "gold for its whole text" if whole_text else "gold"
    return [
        leave_out(dataset, [_has_gold(page, whole_text=whole_text) for page in dataset.pages], report, kind)
        for dataset in datasets
    ]


def leave_out(dataset: Dataset, has_gold: Sequence[bool], report: Callable[[str], None], kind: str = "gold") -> Dataset:
    """Return the pages of a data set with gold, and report the number of the others.

    Raises
    ------
    DatasetError
        No page has gold.
    """
    pages = tuple(compress(dataset.pages, has_gold))
    if not pages:
        raise DatasetError(f"no page has {kind}: label some, for example with 'blockml label'", source=dataset.path)
    if left := len(dataset) - len(pages):
        report(f"{dataset.name}: left out {counted(left, 'page')} without {kind.replace(' its ', ' a ')}")
    return replace(dataset, pages=pages) if left else dataset


def _has_gold(page: LabelledPage, *, whole_text: bool) -> bool:
    gold = page.load()[1] if page.reader else page.gold
    return gold is not None and not (whole_text and isinstance(gold, SnippetGold))


def check_gold(datasets: Sequence[Dataset], *, left_out: bool) -> None:
    """Check that the gold of at most a quarter of the finished pages of each data set is defective.

    Parameters
    ----------
    datasets
        Data sets from :func:`blockml.datasets.gold_defects.filtered`.
    left_out
        Whether pages with defects found by our checks are left out of training, for the message.

    Raises
    ------
    UsageError
        More of them are defective.
    """
    for dataset in datasets:
        finished = [page for page in dataset.pages if UNFINISHED_FLAG not in page.flags]
        flagged = [page for page in finished if page.flags]
        if len(flagged) > _MOST_DEFECTIVE * len(finished):
            kinds = Counter(flag for page in flagged for flag in page.flags).most_common()
            listed = ", ".join(f"{kind} ({n})" for kind, n in kinds)
            raise UsageError(
                f"the gold of {len(flagged)} of {counted(len(finished), 'page')} of {dataset.name} is defective: "
                f"{listed}. 'blockml datasets {dataset.path}' shows where; accept_defects=True trains on "
                f"{'the other pages' if left_out else 'it'} anyway"
            )


def check_classes(main: NDArray[np.bool_]) -> None:
    """Check that some blocks to train on are content and some are not; ``main`` (n_blocks,) says which.

    Raises
    ------
    UsageError
        All or none of the blocks are content, or there are no blocks.
    """
    if not len(main):
        raise UsageError(
            "there are no blocks to train on: the pages have no gold, or all of it is defective or unfinished"
        )
    if main.all() or not main.any():
        which = f"all {len(main)} blocks are content" if main.all() else f"none of {len(main)} blocks is content"
        raise UsageError(
            f"{which}, so there is nothing to learn; is it the gold of these pages? 'blockml datasets DIR' checks"
        )
