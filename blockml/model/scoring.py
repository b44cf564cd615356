"""What a model says of the blocks of a page: trees, nets, and the page as a whole, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import LEAST_F1, SAME_LINE, WORDLESS, lines
from blockml.decision.duplicates import HERE, LEAST_WORDS, SLACK, Duplicates, repeated
from blockml.decision.page_policy import (
    CERTAIN,
    COLUMNS,
    EXPECTED,
    HARDLY,
    LEAST_CERTAIN,
    MOST_CARE,
    likeness,
    of_page,
    page_scores,
)
from blockml.features.ancestor_words import ancestor_words
from blockml.features.block_groups import GROUPINGS
from blockml.features.kernel_page import KernelPage
from blockml.features.page_context import PageContext
from blockml.model.model_file import Model
from blockml.page import Flag
from blockml.predictors.block_types import SURE
from blockml.predictors.log_odds import average_log_odds
from blockml.predictors.mlp import MLP, NO_BAGS
from blockml.predictors.tree_ensemble import MOST_VALUES

__all__ = ["BORDER", "PageScores", "score_page"]

#: Scores from here on are content, where each page has a border of its own: :func:`blockml.decision.decide.recenter`.
BORDER = 0.5
_FAR = GROUPINGS.index("far")
#: What the kernel is told of every page, behind what the model says.
_RULES = (HARDLY, MOST_CARE, CERTAIN, LEAST_CERTAIN, WORDLESS, SLACK, HERE, LEAST_F1, SURE, BORDER)
_BOUNDS = (LEAST_WORDS, int(Flag.PREFORMATTED), SAME_LINE, _FAR)
#: As wide as the row of a page.
_ROW = np.zeros((1, len(COLUMNS)), dtype=np.float32)


class PageScores(NamedTuple):
    """What a model says of a page."""

    scores: NDArray[np.float32]
    """(n_blocks,) in [0, 1]."""
    sums: NDArray[np.float64]
    """(n_blocks, 1 + k) what its trees say of content, and of the areas that rival: :meth:`Model.sums`."""
    expected: float | None
    """F1 that the scores promise; None where the model has no such promise."""
    is_rivalled: bool
    """Whether a block of main content may be a comment, by the trees of both. Of a model without these it is so."""


def score_page(model: Model, view: PageContext, rows: NDArray[np.float32]) -> PageScores:
    """Judge the blocks of a page.

    Parameters
    ----------
    model
        The model.
    view
        The page.
    rows
        (n_blocks, n_columns) features of its blocks, those that the model asks for.

    Raises
    ------
    UsageError
        Trees or nets ask for other columns.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import matrix
    >>> model = blockml.load("default").model
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world, and nobody has ever asked them to do so.</p>")
    >>> told = score_page(model, PageContext(page), matrix(page, model.features))
    >>> told.scores.shape, told.sums.shape, 0 <= told.expected <= 1
    ((2,), (2, 3), True)
    """
    # What the kernel knows to judge by in one go is what models with a net mostly have.
    usual = model.rule == "expected_f1" and model.link == "logistic" and rows.size <= MOST_VALUES
    if usual and (net := model.net) is not None and (sheet := view.kernel_page) is not None:
        net.check_input(rows, len(GROUPINGS))
        return _score_compiled(model, net, view, sheet, rows)
    return _score(model, view, rows)


def _score_compiled(
    model: Model, net: MLP, view: PageContext, sheet: KernelPage, rows: NDArray[np.float32]
) -> PageScores:
    """The same by the kernel, for a model with such a net whose rule is the expected F1, and whose link is logistic."""
    trees, group, n_groups = model.joint
    trees.check_width(rows)
    if model.article is not None:
        model.article.check_width(_ROW)
    words = ancestor_words(view) if net.reads_words else NO_BAGS
    sums, scores = np.empty((len(view), n_groups)), np.empty(len(view), dtype=np.float32)
    rules = (
        *(model.net_share, model.caution, model.article_caution, model.link_caution, model.copy_caution),
        *(model.leaning, model.doubt, model.least_words, *_RULES, *_BOUNDS),
    )
    expected, is_rivalled = sheet.compiled.page_verdict(
        sheet.tree,
        sheet.names,
        np.ascontiguousarray(rows.T, dtype=np.float32),
        trees.held(group),
        n_groups,
        None if model.article is None else model.article.held(),
        net.held,
        (words.starts, words.hashed_words, words.bag),
        np.ascontiguousarray(view.blocks.separators, dtype=np.uint8),
        rules,
        sums,
        scores,
    )
    return PageScores(scores, sums, expected, is_rivalled)


def _score(model: Model, view: PageContext, rows: NDArray[np.float32]) -> PageScores:
    """The same for any model, with or without the kernel."""
    sums = model.sums(rows)
    odds = sums[:, 0]
    alone = final = model.linked(odds)
    groups = view.block_groups if model.net is not None or model.copy_caution else ()
    if model.net is not None and len(view):
        final = average_log_odds(
            odds, model.net.predict(rows, groups, view.words, ancestor_words(view)), model.net_share
        )
    likely: float | None = None
    expected: float | None = None
    promises = model.rule == "expected_f1"
    if model.article is not None or promises:
        row = of_page(view, alone, final)
        if model.article is not None:
            likely = float(likeness(model.article, row[None])[0])
        expected = float(row[EXPECTED]) if promises else None
    line, copies = lines(view.blocks), None
    if model.copy_caution:
        copies = Duplicates(repeated(view.blocks, line), groups[_FAR])
    scores = page_scores(model, final, view.words, view.linked, view.prose, line, likely, copies)
    comment, main = sums[:, 1:].T if sums.shape[1] > 1 else (np.inf, 0.0)
    is_rivalled = bool(((scores >= np.float32(BORDER)) & (comment > main - SURE)).any())
    return PageScores(scores, sums, expected, is_rivalled)
