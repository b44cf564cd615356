"""Judges a page as a whole once its blocks have probabilities: is it an article, is it a forum, what is its border.

What counts as the content of an article is clearer than of a list or a shop: its body. On pages that read like articles
blocks have to be more certain to be kept. Whether one does is told by small trees over one row of numbers a page. They
are grown on pages that the model had not seen, for on its own training pages it is surer than it should be.

Teasers beside a text are content together or not at all, while the expected F1 takes each for a draw of its own: beside
a short text it keeps whole columns of them at a probability of .5. So links, blocks with half of their words linked or
more, have to be more certain on pages with a body: running text that is certain, with no such block in it. And text
that stands on the page already has to be more certain than the copy that stays: see :mod:`blockml.decision.duplicates`.

Two things make up for what blocks can't tell alone. Lines lean on their neighbours a little: content lies together. And
on pages that hardly are articles, lists and shops, what speaks against a block counts for less: errors are not
independent there, for what looks alike is content together or not at all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.decision.decide import LEAST_F1, WORDLESS, Rule, by_line, expected_f1, recenter
from blockml.decision.duplicates import HERE, SLACK, Duplicates, duplicate_penalties
from blockml.features.page_context import PageContext
from blockml.features.structure import FAR
from blockml.predictors.log_odds import log_odds, sigmoid
from blockml.predictors.tree_ensemble import Trees

__all__ = [
    "COLUMNS",
    "EXPECTED",
    "is_forum",
    "likeness",
    "of_page",
    "page_row",
    "page_scores",
]

#: Columns, one row a page.
COLUMNS = (
    "expected",  # F1 that the probabilities promise
    "border",  # log odds of the border
    "kept",  # words kept / words
    "words",  # logarithm of the words kept
    "pagewords",  # logarithm of the words of the page
    "unsure",  # words with a probability from .2 to .8 / words kept
    "agreement",  # overlap (F1) of the decisions of trees alone and of trees and net
    "pieces",  # runs of kept blocks / kept blocks
    "links",  # linked words / words, of what is kept
    "prose",  # running text / words, of what is kept
    "pageprose",  # running text / words, of the page
    "low",  # F1 of what is kept, if blocks are content from a probability of .8 on
    "high",  # the same from .2 on
)

#: The column that foretells the F1 of the page. Trees grown to foretell it from all columns ranked pages worse
#: (docs/default.md).
EXPECTED = COLUMNS.index("expected")


def page_row(
    words: NDArray[np.float64],
    linked: NDArray[np.float64],
    prose: NDArray[np.float64],
    alone: NDArray[np.float32],
    final: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Compute the row of one page.

    Parameters
    ----------
    words, linked, prose
        (n_blocks,) words, linked words, and words of running text.
    alone, final
        (n_blocks,) probabilities of the trees, and of trees and net together.

    Returns
    -------
    NDArray[np.float32]
        (len(COLUMNS),).
    """
    of = page_numbers(words, linked, prose, alone, final)
    n_kept, n_words = max(1.0, of.kept_words), max(1.0, of.words)
    row = (
        *(of.expected, of.border, n_kept / n_words, math.log1p(n_kept), math.log1p(n_words), of.unsure / n_kept),
        *(of.agreement, of.runs / max(1, of.n_kept), of.kept_linked / n_kept, of.kept_prose / n_kept),
        *(of.prose / n_words, of.low, of.high),
    )
    return np.array(row, dtype=np.float32)


class Numbers(NamedTuple):
    """What a page's row is made of; amounts are words."""

    border: float
    """Log odds."""
    expected: float
    words: float
    prose: float
    kept_words: float
    kept_linked: float
    kept_prose: float
    unsure: float
    n_kept: int
    runs: int
    agreement: float
    low: float
    high: float


def page_numbers(
    words: NDArray[np.float64],
    linked: NDArray[np.float64],
    prose: NDArray[np.float64],
    alone: NDArray[np.float32],
    final: NDArray[np.float32],
) -> Numbers:
    """Count what :func:`page_row` is made of, from the same columns."""
    if _kernel.compiled is not None:
        return Numbers(*_kernel.compiled.page_numbers(words, linked, prose, alone, final))
    border, expected = expected_f1(final, words)
    kept = final >= np.float32(border)
    return Numbers(
        float(log_odds(np.array([border]))[0]),
        expected,
        words=float(words.sum()),
        prose=float(prose.sum()),
        kept_words=float(words[kept].sum()),
        kept_linked=float(linked[kept].sum()),
        kept_prose=float(prose[kept].sum()),
        unsure=float(words[(final > np.float32(0.2)) & (final < np.float32(0.8))].sum()),
        n_kept=int(kept.sum()),
        runs=int(np.count_nonzero(kept[1:] & ~kept[:-1])) + int(kept[:1].sum()),
        agreement=_overlap(kept, alone >= np.float32(expected_f1(alone, words)[0]), words),
        low=_overlap(kept, final >= np.float32(0.8), words),
        high=_overlap(kept, final >= np.float32(0.2), words),
    )


#: Probability from which on text is certain, and how many words of it without a link between them tell that a page has
#: a body (our choice, on WCXB and the collections of docs/default.md: docs/model-log.md, round 33).
CERTAIN, LEAST_CERTAIN = 0.9, 120.0

#: Probability of being an article below which a page hardly is one (our choice, on WCXB: docs/model-log.md, round 50).
HARDLY = 0.1

#: A file may ask for any care; more log odds than these change nothing, and could overflow.
MOST_CARE = 1e6

_NO_COPIES = np.zeros(0, dtype=np.int64)

_FORUM_COLUMNS = ("urlforum_0", "isarticle_0", "urlnews_0", "clsthread_0")


def _overlap(kept: NDArray[np.bool_], other: NDArray[np.bool_], words: NDArray[np.float64]) -> float:
    """F1 of one choice of blocks measured by another, in words."""
    both = float(words[kept & other].sum())
    return 2 * both / max(1.0, float(words[kept].sum() + words[other].sum()))


def of_page(view: PageContext, alone: NDArray[np.float32], final: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute the row of a parsed page; see :func:`page_row`."""
    return page_row(view.words, view.linked, view.prose, alone, final)


def likeness(article: Trees, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n_pages,) probability of being an article, from rows (n_pages, len(COLUMNS))."""
    return sigmoid(article.predict(rows))


class Rules(Protocol):
    """What a recipe or a model says of how probabilities become scores."""

    @property
    def rule(self) -> Rule:
        """How scores become a decision."""

    @property
    def least_words(self) -> float:
        """Expected words of content below which a page may be taken to have none."""

    @property
    def caution(self) -> float:
        """By how much the log odds of blocks are lowered on every page."""

    @property
    def article_caution(self) -> float:
        """By how much more on a page that certainly is an article."""

    @property
    def link_caution(self) -> float:
        """By how much more those of links on a page that certainly has a body of running text."""

    @property
    def copy_caution(self) -> float:
        """By how much more those of text that stands on the page already, where the rule is ``expected_f1``."""

    @property
    def leaning(self) -> float:
        """Part of the log odds of a line that its neighbours decide, where the rule is ``expected_f1``."""

    @property
    def doubt(self) -> float:
        """Part by which log odds against a block are lessened on a page that is hardly an article, by the same rule."""


def page_scores(
    rules: Rules,
    probabilities: NDArray[np.float32],
    words: NDArray[np.float64],
    linked: NDArray[np.float64],
    prose: NDArray[np.float64],
    line: NDArray[np.intp],
    alike: float | None,
    copies: Duplicates | None = None,
) -> NDArray[np.float32]:
    """Scores of the blocks of one page.

    Parameters
    ----------
    rules
        A recipe or a model.
    probabilities, words, linked, prose, line
        (n_blocks,) of being content, words, linked words, words of running text, and numbers of lines: see
        :func:`blockml.decision.decide.lines`.
    alike
        Probability of being an article; None if it isn't known.
    copies
        Lines whose text stands on the page more than once, if that is known.
    """
    if rules.rule != "expected_f1":
        care = _care(rules, probabilities, words, linked, prose, alike)
        # Without a care they stay: there and back would round them.
        return sigmoid(log_odds(probabilities) - care) if np.any(care) else probabilities
    doubt = rules.doubt if alike is not None and alike < HARDLY else 0.0
    caution = min(rules.copy_caution, MOST_CARE) if copies is not None and rules.copy_caution else 0.0
    if _kernel.compiled is not None:
        text, place = copies if copies is not None and caution else (_NO_COPIES, _NO_COPIES)
        numbers = [np.ascontiguousarray(column, dtype=np.int64) for column in (line, text, place)]
        bounds = (
            *(*_cares(rules, alike), CERTAIN, LEAST_CERTAIN, WORDLESS, rules.leaning, doubt),
            *(SLACK, HERE * caution, caution, rules.least_words, LEAST_F1),
        )
        scores = np.empty(len(line), dtype=np.float32)
        _kernel.compiled.page_scores(
            probabilities, words, linked, prose, numbers[0], numbers[1], numbers[2], bounds, scores
        )
        return scores
    odds = by_line(log_odds(probabilities) - _care(rules, probabilities, words, linked, prose, alike), words, line)
    odds = _doubted(_leaning(odds, words, line, rules.leaning), doubt, _cares(rules, alike)[0])
    if copies is not None and caution:
        odds -= duplicate_penalties(odds, line, copies, caution)
    return recenter(odds, words, rules.least_words)


def _care(
    rules: Rules,
    probabilities: NDArray[np.float32],
    words: NDArray[np.float64],
    linked: NDArray[np.float64],
    prose: NDArray[np.float64],
    alike: float | None,
) -> float | NDArray[np.float64]:
    """By how much log odds are lowered, of all blocks or (n_blocks,) of each."""
    care, of_links = _cares(rules, alike)
    links = (linked > 0) & (2 * linked >= words)
    certain = (prose > 0) & (probabilities >= np.float32(CERTAIN))
    body = np.bincount(np.cumsum(links), words * certain).max(initial=0)
    if of_links == care or body < LEAST_CERTAIN:
        return care
    return np.where(links, of_links, care)


def _leaning(
    odds: NDArray[np.float64], words: NDArray[np.float64], line: NDArray[np.intp], part: float
) -> NDArray[np.float64]:
    """Log odds of lines, of which a part is the mean of the lines before and after, by their words."""
    starts = np.concatenate([[True], line[1:] != line[:-1]])[: len(line)].nonzero()[0]
    if not part or len(starts) < 2:
        return odds
    of_line, around, weights = odds[starts], np.zeros(len(starts)), np.zeros(len(starts))
    weight = np.bincount(line, np.maximum(words, WORDLESS))[line[starts]]
    around[1:], weights[1:] = (weight * of_line)[:-1], weight[:-1]
    around[:-1] += (weight * of_line)[1:]
    weights[:-1] += weight[1:]
    leant: NDArray[np.float64] = (1 - part) * of_line + part * (around / weights)
    return leant.repeat(np.diff(np.append(starts, len(line))))


def _doubted(odds: NDArray[np.float64], doubt: float, care: float) -> NDArray[np.float64]:
    """Log odds, lowered by a care, of which those against a block are lessened by a part."""
    against = odds + care
    return np.where(against < 0, against * (1 - doubt) - care, odds) if doubt else odds


def _cares(rules: Rules, alike: float | None) -> tuple[float, float]:
    """By how much log odds are lowered, and by how much those of links on a page with a body."""
    care = min(rules.caution + rules.article_caution * (alike or 0.0), MOST_CARE)
    return care, min(care + rules.link_caution, MOST_CARE)


@functools.cache
def _forum_places(columns: tuple[str, ...]) -> tuple[int, ...]:
    """Places of the columns that tell a forum; none if not all are there."""
    if not set(_FORUM_COLUMNS).issubset(columns):
        return ()
    return tuple([columns.index(name) for name in _FORUM_COLUMNS])


def is_forum(matrix: NDArray[np.float32], columns: Sequence[str], words: NDArray[np.float64]) -> bool:
    """Whether a page is a forum, where what readers write is the content.

    Its address says so; or most of its words stand in elements that are named threads or messages, on a page that is
    not called an article. On WCXB's page types: precision .80, recall .84 (docs/areas.md).

    Parameters
    ----------
    matrix
        (n_blocks, n_columns) features of the page's blocks.
    columns
        Their names.
    words
        (n_blocks,).
    """
    places = _forum_places(tuple(columns))
    if not len(matrix) or not places:
        return False
    by_address, article, news = (matrix.item(0, place) for place in places[:3])
    if by_address > 0 or article or news:
        return bool(by_address > 0)
    thread = matrix[:, places[3]]
    return float(words[thread < FAR].sum()) / max(1.0, float(words.sum())) > 0.5
