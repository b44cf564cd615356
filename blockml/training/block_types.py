"""Labelled pages in, areas out: which rows they are learnt from, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import RegionGold
from blockml.datasets.weak_labels import FORUM, weak_labels
from blockml.errors import DatasetError, UsageError
from blockml.features import build, feature_set
from blockml.features.structure import FAR
from blockml.features.vocabulary import COLUMNS as VOCABULARY
from blockml.page import Label
from blockml.parsing import parse
from blockml.parsing.options import ParsingOptions
from blockml.predictors.block_types import BlockTypes
from blockml.training.hist_gradient_boosting import Boosting, fit_boosted_classes

__all__ = ["BLANKED", "BLOCK_TYPES", "GROWTH", "BlockTypeRows", "block_type_rows", "fit_block_types", "merged"]

#: What areas tell apart. Supplements (captions, bylines) are main content here: few pages tell them.
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
#: Base columns that tell what weak labels are made from.
BLANKED = frozenset(column.name for column in VOCABULARY) | frozenset(
    "tonav tofooter toheader toaside tomain toarticle".split()
)
#: How trees are grown. Measured by ``benchmarks/block_types.py``.
GROWTH: Boosting = {
    "n_trees": 25,
    "leaves": 24,
    "rate": 0.25,
    "min_leaf": 40,
    "l2": 5.0,
    "max_features": 0.25,
    "max_bins": 127,
}
#: Most rows of a label that one page gives: a menu of a thousand links teaches no more than one of ten.
MOST_ROWS = 14
#: Share of the pages with weak labels of which all :data:`BLANKED` columns are blanked.
BLANK = 0.5
#: Weight of a block that is not main content and has no name, which is learnt as :attr:`Label.OTHER`, beside 1.
REST_WEIGHT = 0.6
#: How far rare labels are made up for: their weight is this power of how rare they are.
BALANCE = 0.5

_MERGED: Mapping[Label, Label] = {Label.SUPPLEMENT: Label.MAIN}


def merged(label: Label) -> Label:
    """Return the label of :data:`BLOCK_TYPES` that stands for a label.

    Examples
    --------
    >>> merged(Label.SUPPLEMENT), merged(Label.FOOTER)
    (<Label.MAIN: 'main'>, <Label.FOOTER: 'footer'>)
    """
    return _MERGED.get(label, label)


@dataclass(frozen=True, slots=True, eq=False)
class BlockTypeRows:
    """Blocks that areas are learnt from."""

    columns: tuple[str, ...]
    """(n_columns,) names."""
    matrix: NDArray[np.float32]
    """(n_rows, n_columns)."""
    label: NDArray[np.int64]
    """(n_rows,) place in :data:`BLOCK_TYPES`."""
    rest: NDArray[np.bool_]
    """(n_rows,) whether all that is known is that it is not main content."""
    weak: NDArray[np.bool_]
    """(n_rows,) whether its label was told by names in the markup."""
    page: NDArray[np.int64]
    """(n_rows,) number of its page."""
    sites: tuple[str, ...]
    """(n_pages,) data set and site of each page."""

    def of_pages(self, wanted: NDArray[np.bool_]) -> BlockTypeRows:
        """Rows of some pages, ``wanted`` being (n_pages,)."""
        rows = wanted[self.page]
        return BlockTypeRows(
            self.columns,
            self.matrix[rows],
            self.label[rows],
            self.rest[rows],
            self.weak[rows],
            self.page[rows],
            self.sites,
        )


def block_type_rows(
    datasets: Sequence[Dataset],
    *,
    features: str = "page",
    parsing: ParsingOptions | None = None,
    most: int | None = MOST_ROWS,
    seed: int = 0,
    jobs: int = 1,
) -> BlockTypeRows:
    """Parse pages and take rows with labels from each; weak ones where the gold only tells main content.

    Parameters
    ----------
    datasets
        The data sets. Pages whose gold has known defects are left out.
    features
        Feature set.
    parsing
        How pages are parsed; None: as by default, but words of scripts without spaces counted too.
    most
        Most rows of a label from one page, drawn at random; None for all.
    seed
        Decides which are drawn.
    jobs
        Processes; the result does not depend on it.

    Raises
    ------
    DatasetError
        A page can't be read, or none has gold.
    """
    parsing = ParsingOptions(tokenizer="cjk") if parsing is None else parsing
    pages = [(f"{data.name}/{page.site}", page) for data in datasets for page in data.pages if page.trusted]
    with joblib.Parallel(n_jobs=jobs, batch_size=8) as parallel:
        taken = parallel(
            joblib.delayed(_page_rows)(page, features, parsing, most, (seed, number))
            for number, (_, page) in enumerate(pages)
        )
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
    """Matrix, label, whether only "not main" is known, whether weak, of the rows taken from one page."""
    html, gold = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset, **parsing.options())
    matrix = build(page, features)
    code = np.full(len(page.blocks), -1, dtype=np.int64)
    rest = np.zeros(len(code), dtype=bool)
    is_weak = False
    if gold is not None and len(code):
        told = gold.label(page)
        is_weak = told.labels is None and bool(told.known.all())  # snippets tell too little
        if is_weak:
            told = weak_labels(page, told, page_type=labelled.page_type)
            rest = ~told.known & ~told.main & (told.share <= 0.1) & (labelled.page_type != FORUM)
        if told.labels is not None:
            code = np.array([BLOCK_TYPES.index(merged(label)) for label in told.labels])
            code[~told.known & ~rest] = -1
        if isinstance(gold, RegionGold):  # of home pages, where lists of links are what the page is there for
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
    growth: Boosting = GROWTH,
    report: Callable[[str], None] = lambda _: None,
) -> BlockTypes | None:
    """Learn block types: those that occur.

    A model that saw only pages whose markup names its parts would read nothing but names. So on some of the pages with
    weak labels it sees no names.

    Parameters
    ----------
    rows
        What to learn from.
    blank
        Share of the pages with weak labels whose columns :data:`BLANKED` are blanked, in [0, 1].
    seed
        Decides which pages, and the draws of the learner.
    growth
        How trees are grown.
    report
        Called with a line about types that do not occur.

    Returns
    -------
    BlockTypes or None
        None where there is no main content, or nothing else.

    Raises
    ------
    UsageError
        A number is outside its range.
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
    hit = np.random.default_rng(seed).random(len(rows.sites)) < blank
    matrix = _blanked(rows, hit[rows.page] & rows.weak)
    chosen: Boosting = {**growth, "seed": seed}
    number = np.cumsum(occurs) - 1
    labels = tuple([label for label, there in zip(BLOCK_TYPES, occurs.tolist(), strict=True) if there])
    return BlockTypes(labels, fit_boosted_classes(matrix, number[rows.label], weight, **chosen))


def _blanked(rows: BlockTypeRows, hit: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The matrix, with no names known in the rows that are hit."""
    matrix = rows.matrix.copy()
    for place, name in enumerate(rows.columns):
        if name.rpartition("_")[0] in BLANKED:
            matrix[hit, place] = FAR
    return matrix
