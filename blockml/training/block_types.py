"""Training of block types from gold block labels and weak labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import Gold, RegionGold
from blockml.datasets.weak_labels import FORUM, weak_labels
from blockml.errors import DatasetError, UsageError
from blockml.extractors.matrix import page_matrix
from blockml.features import feature_set
from blockml.features.structure import FAR
from blockml.features.vocabulary import COLUMNS as VOCABULARY
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions
from blockml.predictors.block_types import BlockTypes
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.training.boosted_trees import Boosting, fit_boosted_classes

#: Data set and id of a page.
_Key: TypeAlias = tuple[str, str]
#: The types. Supplements (captions, bylines) count as main content, because few pages label them.
BLOCK_TYPES: tuple[Label, ...] = (
    Label.MAIN,
    Label.HEADING,
    Label.COMMENT,
    Label.RELATED,
    Label.NAVIGATION,
    Label.ADVERTISEMENT,
    Label.FOOTER,
    Label.OTHER,
)
#: Base columns that hold the information from which weak labels are derived.
BLANKED = frozenset(column.name for column in VOCABULARY) | frozenset(
    "tonav tofooter toheader toaside tomain toarticle".split()
)
#: Settings of the trees, chosen with ``research/benchmarks/block_types.py``.
BOOSTING: Boosting = {
    "n_trees": 25, "leaves": 24, "rate": 0.25, "min_leaf": 40, "l2": 5.0, "max_features": 0.25, "max_bins": 127,
}  # fmt: skip
#: Maximum number of rows per label from one page: a menu of a thousand links teaches no more than one of ten.
MAX_ROWS = 14
#: Share of the pages with weak labels whose :data:`BLANKED` columns are blanked.
BLANK = 0.5
#: Relative weight of blocks that are only known not to be main content, which are trained as :attr:`Label.OTHER`.
REST_WEIGHT = 0.6
#: Exponent of the inverse frequency of a label in its weight.
BALANCE = 0.5


def merged(label: Label) -> Label:
    """Return the label of :data:`BLOCK_TYPES` that includes a label.

    Examples
    --------
    >>> merged(Label.SUPPLEMENT), merged(Label.FOOTER)
    (<Label.MAIN: 'main'>, <Label.FOOTER: 'footer'>)
    """
    return Label.MAIN if label is Label.SUPPLEMENT else label


@dataclass(frozen=True, slots=True, eq=False)
class BlockTypeRows:
    """Labelled blocks of pages."""

    columns: tuple[str, ...]  #: (n_columns,) names.
    matrix: NDArray[np.float32]  #: (n_rows, n_columns).
    label: NDArray[np.int64]  #: (n_rows,) index in :data:`BLOCK_TYPES`.
    rest: NDArray[np.bool_]  #: (n_rows,) whether the block is only known not to be main content.
    weak: NDArray[np.bool_]  #: (n_rows,) whether its label is weak, from names in the markup.
    page: NDArray[np.int64]  #: (n_rows,) number of its page.
    sites: tuple[str, ...]  #: (n_pages,) data set and site of each page.
    keys: tuple[_Key, ...] = ()  #: (n_pages,) data set and id of each page.

    def without(self, pages: Collection[_Key]) -> BlockTypeRows:
        """Return the rows of other pages."""
        stays = np.array([key not in pages for key in self.keys], dtype=bool)[self.page]
        rows = {name: getattr(self, name)[stays] for name in ("matrix", "label", "rest", "weak", "page")}
        return replace(self, **rows)


def block_type_rows(
    datasets: Sequence[Dataset],
    *,
    features: str = "page",
    parsing: ParsingOptions | None = None,
    most: int | None = MAX_ROWS,
    seed: int = 0,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> BlockTypeRows:
    """Parse pages and select labelled rows from each, with weak labels where the gold only marks main content.

    Leaves out pages whose gold has known defects. Draws at most ``most`` rows per label from each page (None: all),
    using the seed. ``parsing`` defaults to the tokenizer ``cjk``; the number of processes, ``jobs``, does not change
    the result.

    Raises
    ------
    DatasetError
        A page can't be read, or none has gold.
    """
    parsing = ParsingOptions(tokenizer="cjk") if parsing is None else parsing
    labelled = labelled_types(datasets, features=features, parsing=parsing, jobs=jobs, progress=progress)
    return select_rows(features, labelled, most=most, seed=seed)


@dataclass(frozen=True, slots=True, eq=False)
class BlockTypeLabels:
    """Types of the blocks of a page, as far as they are known."""

    code: NDArray[np.int64]  #: (n_blocks,) index in :data:`BLOCK_TYPES`; -1 if unknown.
    rest: NDArray[np.bool_]  #: (n_blocks,) whether the block is only known not to be main content.
    is_weak: bool  #: Whether the labels are weak, from names in the markup.


def block_type_labels(labelled: LabelledPage, page: Page, gold: Gold | None) -> BlockTypeLabels:
    """Label the types of the blocks of a page, weakly where its gold only marks main content."""
    code = np.full(len(page.blocks), -1, dtype=np.int64)
    rest = np.zeros(len(code), dtype=bool)
    if gold is None or not len(code):
        return BlockTypeLabels(code, rest, is_weak=False)
    gold_labels = gold.label(page)
    if gold_labels.labels is not None and {*gold_labels.labels} <= {Label.MAIN, Label.OTHER}:
        # Gold that only separates content from the rest labels everything else "other", including comments and
        # menus.
        gold_labels = replace(gold_labels, labels=None)
    is_weak = gold_labels.labels is None and bool(gold_labels.known.all())  # not snippets, which label too little
    if is_weak:
        gold_labels = weak_labels(page, gold_labels, page_type=labelled.page_type)
        rest = ~gold_labels.known & ~gold_labels.main & (gold_labels.share <= 0.1) & (labelled.page_type != FORUM)
    if gold_labels.labels is not None:
        code = np.array([BLOCK_TYPES.index(merged(label)) for label in gold_labels.labels])
        code[~gold_labels.known & ~rest] = -1
    if isinstance(gold, RegionGold):  # except on home pages, whose lists of links may be content
        code[code == BLOCK_TYPES.index(Label.RELATED)] = -1
    return BlockTypeLabels(code, rest, is_weak)


class LabelledTypes(NamedTuple):
    """A page with the types of its blocks."""

    key: _Key
    site: str  #: Data set and site.
    matrix: NDArray[np.float32]  #: (n_blocks, n_columns) features.
    labels: BlockTypeLabels


def labelled_types(
    datasets: Sequence[Dataset],
    *,
    features: str,
    parsing: ParsingOptions,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> list[LabelledTypes]:
    """Parse the pages of data sets and label the types of their blocks, except pages with defective gold."""
    pages = [(data.name, page) for data in datasets for page in data.pages if page.trusted]
    tasks = (joblib.delayed(_load_and_label)(name, page, features, parsing) for name, page in pages)
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        return list(tracked(parallel(tasks), progress, "block types", len(pages)))


def _load_and_label(name: str, labelled: LabelledPage, features: str, parsing: ParsingOptions) -> LabelledTypes:
    html, gold = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset, **parsing.options())
    labels = block_type_labels(labelled, page, gold)
    return LabelledTypes((name, labelled.id), f"{name}/{labelled.site}", page_matrix(page, features).values, labels)


def select_rows(
    features: str, pages: Sequence[LabelledTypes], *, most: int | None = MAX_ROWS, seed: int = 0
) -> BlockTypeRows:
    """Select labelled rows from pages: at most ``most`` per label from each (None: all), drawn with the seed.

    Raises
    ------
    DatasetError
        No page has labelled blocks.
    """
    chosen = [_chosen(page.labels, most, (seed, number)) for number, page in enumerate(pages)]
    if not sum(map(len, chosen)):
        raise DatasetError("no page has labelled blocks")
    pairs = list(zip(pages, chosen, strict=True))
    return BlockTypeRows(
        columns=feature_set(features).columns,
        matrix=np.concatenate([page.matrix[rows] for page, rows in pairs]),
        label=np.concatenate([page.labels.code[rows] for page, rows in pairs]),
        rest=np.concatenate([page.labels.rest[rows] for page, rows in pairs]),
        weak=np.concatenate([np.full(len(rows), page.labels.is_weak) for page, rows in pairs]),
        page=np.repeat(np.arange(len(pages)), [len(rows) for rows in chosen]),
        sites=tuple(page.site for page in pages),
        keys=tuple(page.key for page in pages),
    )


def _chosen(labels: BlockTypeLabels, most: int | None, seed: tuple[int, int]) -> NDArray[np.int64]:
    """Draw the blocks of a page to train on."""
    group = np.where(labels.rest, len(BLOCK_TYPES), labels.code)
    random = np.random.default_rng(seed)
    chosen = [np.flatnonzero(group == number) for number in range(len(BLOCK_TYPES) + 1)]
    if most is not None:
        chosen = [random.permutation(rows)[:most] for rows in chosen]
    return np.sort(np.concatenate(chosen))


def fit_block_types(
    rows: BlockTypeRows,
    *,
    blank: float = BLANK,
    seed: int = 0,
    growth: Boosting = BOOSTING,
    report: Callable[[str], None] = lambda _: None,
) -> BlockTypes | None:
    """Train block types on the labels that occur; None if main content or other blocks are missing.

    Weak labels come from names in the markup, so the trees would learn to read only the names. Therefore the columns
    with names (:data:`BLANKED`) are blanked on a random share, ``blank`` in [0, 1], of the pages with weak labels.
    ``report`` is called with a line about types that do not occur.

    Raises
    ------
    UsageError
        ``blank`` is out of range.
    """
    if not 0 <= blank <= 1:
        raise UsageError(f"the share of blanked pages must be between 0 and 1, got {blank}")
    counts = np.bincount(rows.label, minlength=len(BLOCK_TYPES)).astype(np.float64)
    occurs = counts > 0
    if missing := [str(label) for label, n in zip(BLOCK_TYPES, counts.tolist(), strict=True) if not n]:
        report(f"no block is labelled {', '.join(missing)}: the model will not predict these types")
    if not occurs[BLOCK_TYPES.index(Label.MAIN)] or np.count_nonzero(occurs) < 2:
        report("the model will not predict block types")
        return None
    rarity = counts.sum() / np.maximum(counts, 1)
    weight = (rarity**BALANCE)[rows.label] * np.where(rows.rest, REST_WEIGHT, 1.0)
    is_blanked = np.random.default_rng(seed).random(len(rows.sites)) < blank
    matrix = blanked(rows, is_blanked[rows.page] & rows.weak)
    chosen: Boosting = {**growth, "seed": seed}
    number = np.cumsum(occurs) - 1
    labels = tuple(compress(BLOCK_TYPES, occurs.tolist()))
    return BlockTypes(labels, fit_boosted_classes(matrix, number[rows.label], weight, **chosen))


def blanked(rows: BlockTypeRows, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the matrix with the columns :data:`BLANKED` set to unknown in the chosen rows, (n_rows,)."""
    matrix = rows.matrix.copy()
    columns = np.array([name.rpartition("_")[0] in BLANKED for name in rows.columns], dtype=bool)
    matrix[np.ix_(chosen, columns)] = FAR
    return matrix
