"""Checks and preparation of labelled pages for training: each is loaded and parsed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import SnippetGold
from blockml.datasets.labelled import UNFINISHED_FLAG
from blockml.datasets.validation import findings_of, flagged
from blockml.errors import DatasetError, UsageError
from blockml.model import TrainingHashes
from blockml.progress import ProgressCallback, ignore_progress
from blockml.text.words import counted
from blockml.training.block_types import LabelledTypes
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable, build_rows

__all__ = ["PageKey", "PreparedData", "check_classes", "check_gold", "leave_out", "pages_with_gold", "prepare_data"]
__all__ += ["provenance"]


#: Data set and id of a page.
PageKey = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedData:
    """Labelled pages of data sets with their rows."""

    recipe: Recipe
    datasets: tuple[Dataset, ...]  #: Pages with gold; those whose gold is defective are flagged if the recipe says so.
    table: BlockTable  #: Rows of the pages, in the order of the data sets.

    @property
    def keys(self) -> list[PageKey]:
        """Data set and id of each page of the table."""
        return [(dataset.name, page.id) for dataset in self.datasets for page in dataset.pages]

    def training_hashes(self, without: frozenset[PageKey] = frozenset()) -> TrainingHashes:
        """Return the hashes of all pages but some."""
        pairs = zip(self.keys, self.table.pages, strict=True)
        return TrainingHashes.of(page.hashes for key, page in pairs if key not in without and page.hashes is not None)

    def labelled_types(self) -> list[LabelledTypes]:
        """Return the usable pages with the types of their blocks, for recipes that learn these.

        Without supplementary pages: with them, more comments are taken for content.
        """
        return [
            LabelledTypes(key, f"{page.dataset}/{page.site}", page.matrix, page.types)
            for key, page in zip(self.keys, self.table.pages, strict=True)
            if page.usable and page.types is not None and not page.supplementary
        ]


def prepare_data(
    datasets: Sequence[Dataset],
    recipe: Recipe,
    *,
    accept_defects: bool = False,
    jobs: int = 1,
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
) -> PreparedData:
    """Load, check and parse pages, label their blocks and compute their features.

    Parameters
    ----------
    datasets
        The data sets; pages without gold are left out, and reported.
    recipe
        Decides about parsing and features, and whether pages with defective gold are left out of training.
    accept_defects
        Whether to go on if more than a quarter of the finished pages of a data set have defective gold.
    jobs
        Number of processes; does not affect the result.
    report
        Called with lines about findings.
    progress
        Called with the name of a stage, how many of its steps are done, and how many there are.

    Raises
    ------
    DatasetError
        No page of a data set has gold, or a page can't be read.
    UsageError
        The gold of many pages is defective.
    """
    check = recipe.filter_gold or not accept_defects
    found = build_rows(datasets, recipe, check=check, jobs=jobs, progress=progress)
    used, kept = [], []
    for given, rows in zip(datasets, found, strict=True):
        dataset = leave_out(given, [row is not None for row in rows], report)
        pages = [row for row in rows if row is not None]
        checked = [page.checked for page in pages if page.checked is not None]
        defective = flagged(dataset, findings_of(dataset, checked)) if check else dataset
        if not accept_defects:
            check_gold([defective], left_out=recipe.filter_gold)
        if recipe.filter_gold:
            dataset = defective
            pages = [replace(row, usable=page.trusted) for row, page in zip(pages, dataset.pages, strict=True)]
        used.append(dataset)
        kept += pages
    return PreparedData(recipe, tuple(used), BlockTable.stack(kept))


def provenance(dataset: Dataset, main: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    """Return the record of a data set for the model file and its card, given the labels of the blocks of its pages."""
    return {
        "name": dataset.name,
        "pages": len(dataset),
        "flagged_pages": sum(not page.trusted for page in dataset.pages),
        "sites": len({page.site for page in dataset.pages}),
        "blocks": sum(map(len, main)),
        "content_blocks": int(sum(labels.sum() for labels in main)),
        "checksum": dataset.checksum(),
        "licence": dataset.licence,
        "attribution": dataset.attribution,
        **({"supplementary": True} if dataset.supplementary else {}),
    }


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
        Data sets from :func:`blockml.datasets.validation.filtered`.
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
