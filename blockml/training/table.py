"""Table of the blocks of labelled pages, for learners and cross-validation, with shortened pages.

The share of content among a page's words determines how hard the page is: next to a short story, teasers and comments
weigh more. Articles in WCXB are long, but news elsewhere is not. A variant keeps everything around the content of a
page and a part of the content, so no further labels are needed (research/studies/model-log.md, round 52).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, cast

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import BlockLabels, Gold, block_tokens
from blockml.datasets.validation import CheckedPage, check_page, content_hash
from blockml.decision.policy import PolicyColumns
from blockml.errors import DatasetError
from blockml.evaluation.page_results import hash_labelled
from blockml.extractors.matrix import page_matrix, uses_site
from blockml.features.ancestor_words import AncestorWords, ancestor_words
from blockml.features.page_context import BlockAmounts, PageContext
from blockml.features.page_matrix import PageMatrix, page_context
from blockml.model.training_hashes import PageHashes
from blockml.page import Page
from blockml.page.subtrees import block_of_texts
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.parsing.segmentation import segment
from blockml.predictors.mlp import NO_WORDS
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.sites.fitting import MAX_SITE_PAGES, group_by_site
from blockml.templates.site import SiteTemplate
from blockml.text.sketches import stable_hash64, token_sketch
from blockml.text.words import metric_tokens
from blockml.training.block_types import BlockTypeLabels, block_type_labels
from blockml.training.recipes import MatrixInputs, Recipe


@dataclass(frozen=True, slots=True, eq=False)
class PageRows:
    """Rows of one page, with its gold text for scoring extractions."""

    id: str
    site: str
    page_type: str | None
    usable: bool  #: Whether the page may be used for training.
    matrix: NDArray[np.float32]  #: (n_blocks, n_features).
    main: NDArray[np.bool_]  #: (n_blocks,) gold labels.
    known: NDArray[np.bool_]  #: (n_blocks,) whether there is a gold label.
    owner: NDArray[np.int32]  #: (n_tokens,) block of each metric token.
    tokens: NDArray[np.int32]  #: (n_tokens,) index of each token in the page's vocabulary.
    #: (vocabulary,) count of each token in the gold text; None if the gold is not a whole text.
    gold_counts: NDArray[np.int64] | None
    policy_columns: PolicyColumns  #: Inputs of the policy other than probabilities.
    hash: str  #: Fingerprint of the visible words.
    sketch: frozenset[int]  #: Smallest hashes of its word shingles.
    #: (n_blocks,) group number of each block, for each of :data:`blockml.features.page_context.GROUPINGS`.
    groups: tuple[NDArray[np.int32], ...]
    ancestor_words: AncestorWords | None = None  #: Ancestor words of each block, for recipes with MLPs.
    dataset: str = ""  #: Name of the data set.
    inputs: MatrixInputs | None = None  #: Fields of the recipe that the page was prepared for; None if unknown.
    variant: PageRows | None = None  #: A shortened variant to train on, for recipes that use them.
    checked: CheckedPage | None = None  #: Check of the gold, where it was asked for.
    hashes: PageHashes | None = None  #: Hashes by which evaluations recognise the page.
    types: BlockTypeLabels | None = None  #: Types of the blocks, for recipes that learn them.
    supplementary: bool = False  #: Whether only some members of an ensemble are trained on it.

    @property
    def amounts(self) -> BlockAmounts:
        """Words, linked words and words of prose of each block."""
        return self.policy_columns.amounts

    @property
    def block_groups(self) -> tuple[NDArray[np.int32], ...]:
        """Groups, by the name that they have in the context of a page."""
        return self.groups

    @property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        return self.amounts.words

    def bag_f1(self, kept: NDArray[np.bool_]) -> float:
        """Compute the bag-of-words F1 of an extraction of these blocks; needs a gold text."""
        if self.gold_counts is None:
            raise DatasetError("the gold is not a whole text", source=self.id)
        n_gold = int(self.gold_counts.sum())
        counts = np.bincount(self.tokens[kept[self.owner]], minlength=len(self.gold_counts))
        n_kept = int(counts.sum())
        if not n_gold or not n_kept:
            return float(n_gold == n_kept)
        return 2 * int(np.minimum(counts, self.gold_counts).sum()) / (n_gold + n_kept)


class RowMatrix(PageMatrix):
    """Features of blocks without their parsed page, for predictors that only read features, or what ``rows`` tell."""

    def __init__(self, values: NDArray[np.float32], rows: PageRows | None = None) -> None:
        super().__init__(values, (), cast("PageContext", rows))  # with the attributes that predictors read
        vars(self)["ancestor_words"] = rows.ancestor_words if rows and rows.ancestor_words is not None else NO_WORDS


@dataclass(frozen=True, slots=True, eq=False)
class BlockTable:
    """Stacked pages: rows ``starts[i] … starts[i + 1] - 1`` belong to ``pages[i]``."""

    pages: tuple[PageRows, ...]
    matrix: NDArray[np.float32]  #: (n_rows, n_features).
    main: NDArray[np.bool_]  #: (n_rows,).
    known: NDArray[np.bool_]  #: (n_rows,) whether there is a gold label.
    page_of_row: NDArray[np.int32]  #: (n_rows,).
    starts: NDArray[np.int64]  #: (n_pages + 1,).
    #: (n_rows,) blocks with a gold label, on usable pages that do not repeat an earlier page.
    trainable: NDArray[np.bool_]

    @classmethod
    def stack(cls, pages: Sequence[PageRows]) -> BlockTable:
        """Stack pages.

        Raises
        ------
        DatasetError
            The pages have no blocks.
        """
        sizes = np.array([len(page.main) for page in pages], dtype=np.int64)
        if not sizes.sum():
            raise DatasetError("the pages have no text blocks")
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

    def with_variants(self, training: NDArray[np.bool_]) -> tuple[BlockTable, NDArray[np.bool_]]:
        """Append the variants of the pages with rows in ``training`` (n_rows,), and extend the mask by their rows."""
        pages = np.unique(self.page_of_row[training]).tolist()
        variants = [
            replace(variant, supplementary=self.pages[page].supplementary)
            for page in pages
            if (variant := self.pages[page].variant) is not None
        ]
        if not variants:
            return self, training
        table = BlockTable.stack([*self.pages, *variants])
        return table, np.concatenate([training, table.known[len(training) :]])

    @property
    def supplementary(self) -> NDArray[np.bool_]:
        """(n_rows,) blocks of pages that only some members of an ensemble are trained on."""
        return np.array([page.supplementary for page in self.pages])[self.page_of_row]

    def rows_of(self, page: int) -> slice:
        """Return the rows of a page."""
        return slice(int(self.starts[page]), int(self.starts[page + 1]))

    def page_matrix(self, page: int) -> PageMatrix:
        """Return the features of a page for predictors."""
        return RowMatrix(self.matrix[self.rows_of(page)], self.pages[page])

    def pages_with_text(self) -> list[int]:
        """List the pages whose gold is a whole text, so that extractions can be scored."""
        return [number for number, page in enumerate(self.pages) if page.gold_counts is not None]

    def page_f1(self, kept: NDArray[np.bool_], pages: Iterable[int]) -> NDArray[np.float64]:
        """Compute the bag-of-words F1 of pages from decisions for all rows."""
        return np.array([self.pages[page].bag_f1(kept[self.rows_of(page)]) for page in pages])


class LoadedPage(NamedTuple):
    """A page with gold that was loaded and parsed for a recipe."""

    labelled: LabelledPage
    html: bytes
    gold: Gold | None
    page: Page


def load_page(labelled: LabelledPage, recipe: Recipe) -> LoadedPage:
    """Load and parse a page; raises DatasetError if it can't be read."""
    html, gold = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset, **recipe.parsing.options())
    return LoadedPage(labelled, html, gold, page)


def page_rows(
    loaded: LoadedPage, recipe: Recipe, site: SiteTemplate | None = None, *, check: bool = False
) -> PageRows | None:
    """Label a page and compute the recipe's features, using the template of its site if they need it.

    ``check`` also checks the gold. None for a page without gold.
    """
    labelled, html, gold, page = loaded
    if gold is None:
        return None
    labels = gold.label(page, recipe.main)
    rows = replace(
        _rows(labelled, recipe, page, labels, gold.text(recipe.main), site),
        checked=check_page(html, page, gold) if check else None,
        hashes=hash_labelled(labelled, html),
        types=block_type_labels(labelled, page, gold) if recipe.block_types else None,
    )
    random = np.random.default_rng(stable_hash64([labelled.id]))
    if labelled.trusted and labelled.page_type == "article" and random.random() < recipe.shortened:
        variant = shortened(page, labels, recipe.parsing, random)
        if variant is not None:
            return replace(rows, variant=_rows(labelled, recipe, *variant, None, site))
    return rows


def _rows(
    labelled: LabelledPage, recipe: Recipe, page: Page, labels: BlockLabels, text: str | None, site: SiteTemplate | None
) -> PageRows:
    """Compute the rows of a parsed page with labels, and with a gold text if the page is to be scored."""
    owner, tokens = block_tokens(page)
    gold_tokens = Counter(metric_tokens(text or ""))
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys([*tokens, *gold_tokens]))}
    gold_counts = np.array([gold_tokens[token] for token in vocabulary], dtype=np.int64)
    context = page_context(page)
    return PageRows(
        id=labelled.id,
        site=labelled.site,
        page_type=labelled.page_type,
        usable=labelled.trusted,
        matrix=page_matrix(page, recipe.features, site, context).values,
        main=labels.main,
        known=labels.known,
        owner=owner,
        tokens=np.array([vocabulary[token] for token in tokens], dtype=np.int32),
        gold_counts=None if text is None else gold_counts,
        policy_columns=PolicyColumns.of(context, recipe.policy).detached(),
        hash=content_hash(page),
        sketch=token_sketch(tokens),
        groups=context.block_groups,
        ancestor_words=ancestor_words(context) if recipe.n_mlps and len(context) else None,
        inputs=recipe.inputs,
    )


def build_rows(
    datasets: Sequence[Dataset],
    recipe: Recipe,
    *,
    check: bool = False,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> list[list[PageRows | None]]:
    """Load and parse each page of data sets once, for everything that training needs of it.

    Parameters
    ----------
    datasets
        The data sets; if there are several, page ids are prefixed by the data set's name.
    recipe
        The recipe.
    check
        Whether to check the gold: :attr:`PageRows.checked`.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its steps are done, and how many there are.

    Returns
    -------
    list of list
        For each data set the rows of its pages; None for pages without gold.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    named = [
        [replace(page, id=f"{dataset.name}/{page.id}") if len(datasets) > 1 else page for page in dataset.pages]
        for dataset in datasets
    ]
    labelled = list(chain.from_iterable(named))
    groups = group_by_site(labelled) if uses_site(recipe.features) else [[page] for page in labelled]
    tasks = (joblib.delayed(_site_rows)(group, recipe, check=check) for group in groups)
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        by_site = list(tracked(parallel(tasks), progress, "features", len(groups)))
    # Data sets may share page ids.
    rows = dict(zip(map(id, chain.from_iterable(groups)), chain.from_iterable(by_site), strict=True))
    return [
        [
            (row := rows[id(page)]) and replace(row, dataset=dataset.name, supplementary=dataset.supplementary)
            for page in pages
        ]
        for dataset, pages in zip(datasets, named, strict=True)
    ]


def build_table(
    datasets: Sequence[Dataset], recipe: Recipe, *, jobs: int = 1, progress: ProgressCallback = ignore_progress
) -> BlockTable:
    """Build the table of data sets; parameters are those of :func:`build_rows`.

    Raises
    ------
    DatasetError
        A page has no gold or can't be read.
    """
    found = build_rows(datasets, recipe, jobs=jobs, progress=progress)
    for dataset, rows in zip(datasets, found, strict=True):
        for page, row in zip(dataset.pages, rows, strict=True):
            if row is None:
                raise DatasetError(f"page {page.id!r} has no gold", source=page.path)
    return BlockTable.stack([row for rows in found for row in rows if row is not None])


def _site_rows(pages: Sequence[LabelledPage], recipe: Recipe, *, check: bool) -> list[PageRows | None]:
    """Build the rows of the pages of one site, using its template (learnt without gold) if the features need it."""
    if not uses_site(recipe.features):
        return [page_rows(load_page(page, recipe), recipe, check=check) for page in pages]
    first = [load_page(page, recipe) for page in pages[:MAX_SITE_PAGES]]
    site = SiteTemplate.learn([loaded.page for loaded in first])
    others = (load_page(page, recipe) for page in pages[MAX_SITE_PAGES:])
    return [page_rows(loaded, recipe, site, check=check) for loaded in chain(first, others)]


#: Minimum number of content words of a page to shorten, bounds of the number of words to keep, and maximum share of
#: the content to keep (our choice).
_MIN_WORDS, _LEFT, _MAX_SHARE = 150, (50, 900), 0.6


def shortened(
    page: Page, labels: BlockLabels, parsing: ParsingOptions, rng: np.random.Generator
) -> tuple[Page, BlockLabels] | None:
    """Return a variant of a page that keeps a part of its content, with labels; None for a page with little content.

    The part is a run of lines, which in half of the variants starts at the first line of content. The logarithm of
    its number of words is uniformly distributed. The outermost elements that only hold other content are deleted.

    Examples
    --------
    >>> import blockml
    >>> story = "".join(f"<p>{'word ' * 30}{number}</p>" for number in range(20))
    >>> page = blockml.parse(f"<nav>Home</nav><article>{story}</article><footer>Imprint</footer>")
    >>> main = np.array([block.n_words > 20 for block in page.blocks])
    >>> labels = BlockLabels(main, main.astype(np.float32), np.ones(len(main), bool))
    >>> found, its = shortened(page, labels, ParsingOptions(), np.random.default_rng(0))
    >>> [block.text for block in found.blocks if block.n_words == 1], 1 < int(its.main.sum()) < 13
    (['Home', 'Imprint'], True)
    """
    blocks, main = page.blocks, labels.main
    n_words = int(blocks.n_words[main].sum())
    most = min(_LEFT[1], _MAX_SHARE * n_words)
    if n_words < _MIN_WORDS or most <= _LEFT[0]:
        return None
    wanted = np.exp(rng.uniform(np.log(_LEFT[0]), np.log(most)))
    line = blocks.line_numbers()
    lines = np.unique(line[main])
    words = np.bincount(line[main], blocks.n_words[main])[lines].cumsum()
    first = 0 if rng.random() < 0.5 else int(rng.integers(len(lines)))
    before = words[first - 1] if first else 0.0
    last = int(np.searchsorted(words, before + wanted))
    if last >= len(lines):  # the end of the content
        first = int(np.searchsorted(words, max(0.0, words[-1] - wanted), side="right"))
    gone = main & ~np.isin(line, lines[first : last + 1])
    if not gone.any():
        return None
    found, stays = without_nodes(page, _only_around(page, gone), parsing)
    # Text nodes take the label of their former block over to the new one.
    source = np.searchsorted(blocks.node, np.flatnonzero(stays)[found.blocks.node], side="right") - 1
    known = labels.known[source] & ~gone[source]
    return found, BlockLabels(main[source], labels.share[source], known)


def _only_around(page: Page, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask (n_nodes,) of the nodes that only hold text of the chosen blocks (n_blocks,)."""
    nodes = page.nodes
    block = block_of_texts(nodes, page.blocks)
    is_chosen = np.append(chosen, False)[block]  # -1 takes the entry appended
    texts, its = (np.append(0, np.cumsum(which)) for which in (block >= 0, is_chosen))
    start, end = np.arange(len(nodes)), nodes.end
    n_chosen = its[end] - its[start]
    only: NDArray[np.bool_] = (n_chosen > 0) & (n_chosen == texts[end] - texts[start])
    return only


def without_nodes(page: Page, gone: NDArray[np.bool_], parsing: ParsingOptions) -> tuple[Page, NDArray[np.bool_]]:
    """Return a page without some nodes (n_nodes,) and their descendants, and a mask (n_nodes,) of the nodes that stay.

    The remaining text is segmented again. ``Page.source`` is still that of the whole page.
    """
    nodes = page.nodes
    borders = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.add.at(borders, np.flatnonzero(gone), 1)
    np.add.at(borders, nodes.end[gone], -1)
    stays = borders.cumsum()[:-1] == 0
    left = nodes.only(stays)
    blocks = segment(left, profile=page.profile, keep_wordless=parsing.keep_wordless, tokenizer=parsing.tokenizer)
    return replace(page, nodes=left, blocks=blocks), stays
