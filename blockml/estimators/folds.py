"""Folds of pages as in ``blockml train``, as a scikit-learn splitter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from blockml.errors import UsageError
from blockml.estimators.pages import as_pages
from blockml.training.splits import duplicate_groups, fold_pages
from blockml.training.table import PageRows


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
