"""Pages as samples of scikit-learn's estimators, and their folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.validation import filtered
from blockml.errors import UsageError
from blockml.page import Page
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.training import BlockTable, PageRows, Recipe, build_table, duplicate_groups, fold_pages
from blockml.training import recipe as named_recipe

#: A sample: a page as bytes, as text, parsed, labelled, or prepared by :func:`prepare_pages`.
AnyPage: TypeAlias = bytes | str | Page | LabelledPage | PageRows
_P = TypeVar("_P")


def as_pages(pages: Iterable[_P]) -> list[_P]:
    """Return pages as a list.

    Raises
    ------
    UsageError
        It is a single page (each character of which would be a page), or not a sequence of pages.
    """
    if isinstance(pages, bytes | str) or not isinstance(pages, Iterable):
        raise UsageError(f"pages must be a sequence of pages, got {type(pages).__name__}")
    return list(pages)


def as_recipe(recipe: str | Recipe) -> Recipe:
    """Look up a recipe by name; a recipe is returned unchanged.

    Raises
    ------
    UnknownNameError
        No such recipe.
    """
    return recipe if isinstance(recipe, Recipe) else named_recipe(recipe)


def prepare_pages(pages: Iterable[LabelledPage], recipe: str | Recipe = "kim2013", *, jobs: int = 1) -> list[PageRows]:
    """Parse and label pages and compute the features of a recipe, once for all folds and parameters.

    Parameters
    ----------
    pages
        Labelled pages, such as :attr:`blockml.datasets.Dataset.pages`.
    recipe
        A recipe or its name: determines parsing, features, and which labels count as content.
    jobs
        Number of processes; it does not change the result.

    Raises
    ------
    DatasetError
        A page has no gold or can't be read.
    UnknownNameError
        No such recipe.
    """
    chosen = as_recipe(recipe)
    dataset = Dataset("pages", Path(), "pages", tuple(as_pages(pages)))
    if not dataset.pages:
        return []
    return list(build_table([filtered(dataset, jobs=jobs) if chosen.filter_gold else dataset], chosen, jobs=jobs).pages)


def check_prepared(page: PageRows, recipe: Recipe) -> None:
    """Check that a page was prepared for a recipe, or for one with the same inputs.

    Raises
    ------
    UsageError
        It was prepared for another feature set, parsed differently, or lacks the words that MLPs read.
    """
    lacks_words = recipe.n_mlps and len(page.main) and page.ancestor_words is None
    if page.inputs != recipe.inputs or lacks_words:
        features = "unknown" if page.inputs is None else page.inputs.features
        raise UsageError(
            f"pages were prepared for another recipe (feature set {features}); prepare them for {recipe.name} "
            f"(feature set {recipe.features}) by prepare_pages"
        )


def labelled_rows(pages: Sequence[AnyPage], recipe: Recipe) -> list[PageRows]:
    """Return labelled pages as rows; pages that are already prepared stay unchanged.

    Raises
    ------
    UsageError
        A page has no gold or was prepared for another recipe, or only some of the pages are prepared.
    """
    pages = as_pages(pages)
    prepared = [page for page in pages if isinstance(page, PageRows)]
    if len(prepared) == len(pages):
        for page in prepared:
            check_prepared(page, recipe)
        return prepared
    labelled = [page for page in pages if isinstance(page, LabelledPage)]
    if len(labelled) < len(pages):
        raise UsageError("fit and score need pages with gold: either all LabelledPage, or all from prepare_pages")
    return prepare_pages(labelled, recipe)


def parsed(page: bytes | str | Page | LabelledPage, parsing: ParsingOptions) -> Page:
    """Parse a page, unless it is parsed already."""
    if isinstance(page, Page):
        return page
    if isinstance(page, LabelledPage):
        return parse(page.load()[0], url=page.url, charset=page.charset, **parsing.options())
    return parse(page, **parsing.options())


def block_rows(
    pages: Sequence[LabelledPage | PageRows], recipe: str | Recipe = "kim2013"
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int32]]:
    """Return the blocks of labelled pages as individual samples, for any scikit-learn classifier.

    Blocks without gold, and blocks of pages that have defective gold or are repeated, are left out.

    Parameters
    ----------
    pages
        Labelled pages, or pages prepared for the same recipe.
    recipe
        A recipe or its name.

    Returns
    -------
    X, y, groups
        (n_blocks, n_features) features, (n_blocks,) whether each block is content, and (n_blocks,) the index of its
        page in ``pages``: as ``groups``, they keep the blocks of a page in one fold.

    Examples
    --------
    >>> from blockml.datasets import open_dataset
    >>> X, y, groups = block_rows(open_dataset("data/pages").pages, "boilerpipe6")
    >>> X.shape[1], len(X) == len(y) == len(groups)
    (6, True)
    """
    table = BlockTable.stack(labelled_rows(pages, as_recipe(recipe)))
    rows = table.trainable
    return table.matrix[rows], table.main[rows], table.page_of_row[rows]


def page_groups(pages: Sequence[PageRows], by: str = "site") -> NDArray[np.int64]:
    """Number the groups of pages that must stay in one fold: pages of one site, and near duplicates.

    Parameters
    ----------
    pages
        Pages of :func:`blockml.estimators.prepare_pages`.
    by
        ``site``, or ``page`` for folds that separate the pages of a site.

    Returns
    -------
    NDArray[np.int64]
        (n_pages,) for ``groups`` of ``cross_val_score``.

    Raises
    ------
    UsageError
        ``by`` has another value, or a page is not prepared.
    """
    pages = as_pages(pages)
    if not all(isinstance(page, PageRows) for page in pages):
        raise UsageError("page_groups needs pages from prepare_pages")
    if by not in ("site", "page"):
        raise UsageError(f"by must be site or page, got {by!r}")
    return duplicate_groups(pages, [page.site if by == "site" else page.id for page in pages])


class GroupFolds:
    """Distributes groups of pages randomly over folds of about equal size, like ``blockml train``.

    scikit-learn's ``GroupKFold`` works too, but makes different folds.

    Parameters
    ----------
    n_splits
        Number of folds.
    seed
        Seed of the distribution.

    Examples
    --------
    >>> [test.tolist() for _, test in GroupFolds(2).split("abcd", groups=[0, 0, 2, 2])]
    [[0, 1], [2, 3]]
    """

    def __init__(self, n_splits: int = 10, seed: int = 0) -> None:
        self.n_splits = n_splits
        self.seed = seed

    def __repr__(self) -> str:
        return f"GroupFolds(n_splits={self.n_splits}, seed={self.seed})"

    def split(
        self,
        X: object,  # noqa: N803 (scikit-learn's signature)
        y: object = None,  # noqa: ARG002 (scikit-learn's signature)
        groups: ArrayLike | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the indices of training and test pages of each fold.

        Raises
        ------
        UsageError
            ``groups`` is missing, or there are fewer groups than folds.
        ValueError
            The number of groups differs from the number of pages.
        """
        if groups is None:
            raise UsageError("GroupFolds needs groups=page_groups(pages)")
        check_consistent_length(X, groups)
        fold = fold_pages(np.asarray(groups, dtype=np.int64), self.n_splits, self.seed)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:  # noqa: ARG002, N803
        """Return the number of folds."""
        return self.n_splits
