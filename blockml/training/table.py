"""Labelled pages in, one table of block rows out: what learners and cross-validation work on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import block_tokens
from blockml.datasets.validation import content_hash
from blockml.decision.page_features import BlockAmounts
from blockml.decision.scores import PolicyColumns
from blockml.errors import DatasetError
from blockml.evaluation.site_pages import MAX_SITE_PAGES, group_by_site, parse_pages
from blockml.extractors.matrix import matrix, uses_siblings
from blockml.features.ancestor_words import AncestorWords, ancestor_words
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import PageMatrix
from blockml.parsing import parse
from blockml.predictors.mlp import NO_WORDS
from blockml.templates.site import SiteTemplate
from blockml.text.hashing import stable_hash64
from blockml.text.tokens import metric_tokens
from blockml.training.recipes import Recipe

__all__ = ["BlockTable", "PageRows", "build_table", "page_rows"]

#: Words in a shingle and hashes in a sketch for finding near duplicates (Broder et al. 1997; sizes are our choice).
_SHINGLE, _SKETCH = 8, 64


@dataclass(frozen=True, slots=True, eq=False)
class PageRows:
    """One page as rows of the table, with what is needed to score an extraction of it."""

    id: str
    site: str
    page_type: str | None
    usable: bool
    """Whether it may be trained on."""
    matrix: NDArray[np.float32]
    """(n_blocks, n_features)."""
    main: NDArray[np.bool_]
    """(n_blocks,) gold."""
    known: NDArray[np.bool_]
    """(n_blocks,) whether there is gold."""
    owner: NDArray[np.int32]
    """(n_tokens,) block of each metric token."""
    tokens: NDArray[np.int32]
    """(n_tokens,) number of each token in the page's own vocabulary."""
    gold_counts: NDArray[np.int64] | None
    """(vocabulary,) occurrences of each token in the gold text; None where the gold is no whole text."""
    policy_columns: PolicyColumns
    """What the policy looks at beside probabilities."""
    hash: str
    """Fingerprint of the visible words."""
    sketch: frozenset[int]
    """Smallest hashes of its word shingles."""
    groups: tuple[NDArray[np.int32], ...]
    """(n_blocks,) number of the group of each block, for each of :data:`blockml.features.block_groups.GROUPINGS`."""
    bags: AncestorWords | None = None
    """Hashed words of the tags and attributes above each block, for recipes with MLPs."""

    @property
    def amounts(self) -> BlockAmounts:
        """Words, linked words and words of running text of each block."""
        return self.policy_columns.amounts

    @property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        return self.amounts.words

    def bag_f1(self, kept: NDArray[np.bool_]) -> float:
        """Bag-of-words F1 of an extraction that keeps these blocks; needs a gold text."""
        if self.gold_counts is None:
            raise DatasetError("the gold is no whole text", source=self.id)
        n_gold = int(self.gold_counts.sum())
        counts = np.bincount(self.tokens[kept[self.owner]], minlength=len(self.gold_counts))
        n_kept = int(counts.sum())
        if not n_gold or not n_kept:
            return float(n_gold == n_kept)
        return 2 * int(np.minimum(counts, self.gold_counts).sum()) / (n_gold + n_kept)


class _StoredMatrix(PageMatrix):
    """Features of a page that is parsed no more."""

    def __init__(self, values: NDArray[np.float32], rows: PageRows) -> None:
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_rows", rows)

    _rows: PageRows

    @property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        return self._rows.words

    @property
    def block_groups(self) -> tuple[NDArray[np.int32], ...]:
        """(n_blocks,) number of the group of each block, for each grouping."""
        return self._rows.groups

    @property
    def ancestor_words(self) -> AncestorWords:
        """Hashed words of the tags and attributes above each block."""
        return NO_WORDS if self._rows.bags is None else self._rows.bags


@dataclass(frozen=True, slots=True, eq=False)
class BlockTable:
    """All pages stacked: rows ``starts[i] … starts[i + 1] - 1`` belong to ``pages[i]``."""

    pages: tuple[PageRows, ...]
    matrix: NDArray[np.float32]
    """(n_rows, n_features)."""
    main: NDArray[np.bool_]
    """(n_rows,)."""
    known: NDArray[np.bool_]
    """(n_rows,) whether there is gold."""
    page_of_row: NDArray[np.int32]
    """(n_rows,)."""
    starts: NDArray[np.int64]
    """(n_pages + 1,)."""
    trainable: NDArray[np.bool_]
    """(n_rows,) known gold on a page that may be trained on, and no duplicate of an earlier page."""

    @classmethod
    def stack(cls, pages: Sequence[PageRows]) -> BlockTable:
        """Stack pages.

        Raises
        ------
        DatasetError
            There is no block in any of them.
        """
        sizes = np.array([len(page.main) for page in pages], dtype=np.int64)
        if not sizes.sum():
            raise DatasetError("the pages hold no text blocks")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        seen: set[str] = set()
        trainable = []
        for page in pages:
            fresh = page.hash not in seen
            if page.usable:
                seen.add(page.hash)
            trainable.append(page.known & (page.usable and fresh))
        return cls(
            pages=tuple(pages),
            matrix=np.concatenate([page.matrix for page in pages]),
            main=np.concatenate([page.main for page in pages]),
            known=np.concatenate([page.known for page in pages]),
            page_of_row=np.repeat(np.arange(len(pages), dtype=np.int32), sizes),
            starts=starts,
            trainable=np.concatenate(trainable),
        )

    def rows_of(self, page: int) -> slice:
        """Rows of one page."""
        return slice(int(self.starts[page]), int(self.starts[page + 1]))

    def page_matrix(self, page: int) -> PageMatrix:
        """Features of one page, as predictors take them."""
        return _StoredMatrix(self.matrix[self.rows_of(page)], self.pages[page])

    def pages_with_text(self) -> list[int]:
        """Pages whose gold is a whole text, so that an extraction of them can be scored."""
        return [number for number, page in enumerate(self.pages) if page.gold_counts is not None]

    def page_f1(self, kept: NDArray[np.bool_], pages: Iterable[int]) -> NDArray[np.float64]:
        """Bag-of-words F1 of each of the pages, given the decision for every row."""
        return np.array([self.pages[page].bag_f1(kept[self.rows_of(page)]) for page in pages])


def page_rows(labelled: LabelledPage, recipe: Recipe, site: SiteTemplate | None = None) -> PageRows:
    """Parse, label and measure one page.

    Parameters
    ----------
    labelled
        The page.
    recipe
        Says how.
    site
        What is known of its site, for features that tell about it.

    Raises
    ------
    DatasetError
        The page has no gold, or can't be read.
    """
    html, gold = labelled.load()
    if gold is None:
        raise DatasetError(f"page {labelled.id!r} has no gold", source=labelled.path)
    page = parse(html, url=labelled.url, charset=labelled.charset, **recipe.parsing.options())
    labels = gold.label(page, recipe.main)
    owner, tokens = block_tokens(page)
    text = gold.text(recipe.main)
    gold_tokens = Counter(metric_tokens(text or ""))
    numbers: dict[str, int] = {}
    token_column = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int32)
    for token in gold_tokens:
        numbers.setdefault(token, len(numbers))
    gold_counts = np.zeros(len(numbers), dtype=np.int64)
    for token, count in gold_tokens.items():
        gold_counts[numbers[token]] = count
    context = PageContext(page)
    return PageRows(
        id=labelled.id,
        site=labelled.site,
        page_type=labelled.page_type,
        usable=labelled.trusted,
        matrix=matrix(page, recipe.features, site, context),
        main=labels.main,
        known=labels.known,
        owner=owner,
        tokens=token_column,
        gold_counts=None if text is None else gold_counts,
        policy_columns=PolicyColumns.of(context, recipe.policy),
        hash=content_hash(page),
        sketch=_sketch(tokens),
        groups=context.block_groups,
        bags=ancestor_words(context) if recipe.n_mlps and len(context) else None,
    )


def _sketch(tokens: Sequence[str]) -> frozenset[int]:
    """Smallest hashes of the word shingles: two pages share about as large a part of them as of their shingles."""
    if len(tokens) < _SHINGLE:
        return frozenset()
    # A polynomial over token keys.
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(token, len(numbers)) for token in tokens]
    values = stable_hash64(numbers)[places]
    codes = np.zeros(len(tokens) - _SHINGLE + 1, dtype=np.uint64)
    for k in range(_SHINGLE):
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + values[k : k + len(codes)]
    codes ^= codes >> np.uint64(29)
    return frozenset(np.unique(codes * np.uint64(0xBF58476D1CE4E5B9))[:_SKETCH].tolist())


def build_table(datasets: Sequence[Dataset], recipe: Recipe, *, jobs: int = 1) -> BlockTable:
    """Build the table of one or more data sets.

    Parameters
    ----------
    datasets
        The data sets; page ids get the data set's name in front when there are several.
    recipe
        Says how pages are parsed, labelled and measured.
    jobs
        Processes; the result does not depend on it.

    Raises
    ------
    DatasetError
        A page has no gold or can't be read.
    """
    labelled = [
        replace(page, id=f"{dataset.name}/{page.id}") if len(datasets) > 1 else page
        for dataset in datasets
        for page in dataset.pages
    ]
    groups = group_by_site(labelled) if uses_siblings(recipe.features) else [[page] for page in labelled]
    with joblib.Parallel(n_jobs=jobs, batch_size=8) as parallel:
        rows = [
            row for group in parallel(joblib.delayed(_site_rows)(group, recipe) for group in groups) for row in group
        ]
    place = {page.id: number for number, page in enumerate(labelled)}
    return BlockTable.stack(sorted(rows, key=lambda row: place[row.id]))


def _site_rows(pages: Sequence[LabelledPage], recipe: Recipe) -> list[PageRows]:
    """Rows of the pages of one site, which are learnt from without their gold if the features ask for it."""
    site = None
    if uses_siblings(recipe.features):
        site = SiteTemplate.learn(list(parse_pages(pages[:MAX_SITE_PAGES], recipe.parsing)))
    return [page_rows(page, recipe, site) for page in pages]
