"""Training of block types from gold block labels and weak labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import RegionGold
from blockml.datasets.weak_labels import FORUM, weak_labels
from blockml.errors import DatasetError, UsageError
from blockml.extractors.matrix import page_matrix
from blockml.features import feature_set
from blockml.features.structure import FAR
from blockml.features.vocabulary import COLUMNS as VOCABULARY
from blockml.page import Label
from blockml.parsing import parse
from blockml.parsing.options import ParsingOptions
from blockml.predictors.block_types import BlockTypes
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.training.hist_gradient_boosting import Boosting, fit_boosted_classes

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
    pages = [(f"{data.name}/{page.site}", page) for data in datasets for page in data.pages if page.trusted]
    tasks = (
        joblib.delayed(_page_rows)(page, features, parsing, most, (seed, number))
        for number, (_, page) in enumerate(pages)
    )
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        taken = list(tracked(parallel(tasks), progress, "block types", len(pages)))
    if not sum(len(part[1]) for part in taken):
        raise DatasetError("no page has labelled blocks")
    matrix, label, rest, weak = (np.concatenate([part[i] for part in taken]) for i in range(4))
    page_of_row = np.repeat(np.arange(len(pages)), [len(part[1]) for part in taken])
    return BlockTypeRows(
        feature_set(features).columns, matrix, label, rest, weak, page_of_row, tuple(s for s, _ in pages)
    )


_Taken = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]


def _page_rows(
    labelled: LabelledPage, features: str, parsing: ParsingOptions, most: int | None, seed: tuple[int, int]
) -> _Taken:
    """Return rows of one page: matrix, label, whether only known not to be main content, whether labels are weak."""
    html, gold = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset, **parsing.options())
    matrix = page_matrix(page, features).values
    code = np.full(len(page.blocks), -1, dtype=np.int64)
    rest = np.zeros(len(code), dtype=bool)
    is_weak = False
    if gold is not None and len(code):
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
    group = np.where(rest, len(BLOCK_TYPES), code)
    rng = np.random.default_rng(seed)
    chosen = [np.flatnonzero(group == number) for number in range(len(BLOCK_TYPES) + 1)]
    if most is not None:
        chosen = [rng.permutation(rows)[:most] for rows in chosen]
    rows = np.sort(np.concatenate(chosen))
    return matrix[rows], code[rows], rest[rows], np.full(len(rows), is_weak)


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
