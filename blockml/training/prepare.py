"""Preparation of labelled pages for training: each is loaded and parsed once, for all that training needs of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from blockml.datasets import Dataset
from blockml.datasets.gold_defects import flagged
from blockml.datasets.validation import findings_of
from blockml.model.training_hashes import TrainingHashes
from blockml.progress import ProgressCallback, ignore_progress
from blockml.training.block_types import LabelledTypes
from blockml.training.checks import check_gold, leave_out
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable, build_rows

__all__ = ["PageKey", "PreparedData", "prepare_data"]

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
