"""Scores in, decision out: which blocks are kept, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Blocks, Flag, Label, Page, Reason, Separator
from blockml.predictors.log_odds import sigmoid

__all__ = [
    "LEAST_F1",
    "WORDLESS",
    "Decision",
    "Rule",
    "by_label",
    "by_line",
    "confidence",
    "decide",
    "expected_f1",
    "label_names",
    "lines",
    "recenter",
]

Rule: TypeAlias = Literal["threshold", "expected_f1"]
"""How scores become a decision. ``threshold``: they are probabilities, the same threshold for all pages.
``expected_f1``: each page has its own border, where the expected F1 of what is kept is best, and scores tell on which
side of it a block is: see :func:`around_border`."""

#: As numbers, which numpy takes at once.
_PREFORMATTED, SAME_LINE = int(Flag.PREFORMATTED), int(Separator.SPACE)

_REASONS = (
    Reason.SCORE_BELOW_THRESHOLD,
    Reason.SCORE_REACHES_THRESHOLD,
    Reason.REMOVED_WITH_ITS_CODE,
    Reason.KEPT_WITH_ITS_CODE,
)
_AS_ARRAY = np.array(_REASONS, dtype=object)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was decided for each block."""

    kept: NDArray[np.bool_]
    """(n_blocks,)."""
    reasons: tuple[Reason, ...]
    """(n_blocks,)."""


def decide(scores: NDArray[np.float32], threshold: float, page: Page | None = None) -> Decision:
    """Keep the blocks whose score is at least ``threshold``. A lower threshold never keeps less.

    Preformatted text is decided as a whole, by the mean score of its words: its pieces are blocks of their own where
    code is coloured, and code with pieces missing is of no use.

    Parameters
    ----------
    scores
        (n_blocks,) in [0, 1].
    threshold
        From which score on a block is kept, in [0, 1].
    page
        The page, for its preformatted texts; without it each block is decided alone.

    Raises
    ------
    UsageError
        The threshold is outside [0, 1].

    Examples
    --------
    >>> decide(np.array([.2, .7], np.float32), .5).kept.tolist()
    [False, True]
    """
    if not 0 <= threshold <= 1:
        raise UsageError(f"a threshold is between 0 and 1, not {threshold}")
    if _kernel.compiled is not None and page is not None:
        return _compiled(_kernel.compiled, scores, threshold, page)
    pooled = scores if page is None else _pooled(scores, page)
    # Compared as float32, so that a block which scores exactly the threshold is kept.
    kept = pooled >= np.float32(threshold)
    codes = kept if pooled is scores else kept + 2 * (kept != (scores >= np.float32(threshold)))
    return Decision(kept, tuple(_AS_ARRAY.take(codes).tolist()))


def _compiled(compiled: _kernel.Compiled, scores: NDArray[np.float32], threshold: float, page: Page) -> Decision:
    """The same of a page by the kernel."""
    blocks, nodes, kept = page.blocks, page.nodes, np.empty(len(scores), dtype=np.bool_)
    words, first, parent = (
        np.ascontiguousarray(column, np.int32) for column in (blocks.n_words, blocks.node, nodes.parent)
    )
    alone, of_nodes = np.ascontiguousarray(scores, np.float32), np.ascontiguousarray(nodes.flags, np.uint8)
    flags = np.ascontiguousarray(blocks.flags, np.uint8)
    pages = flags, _PREFORMATTED, words, first, of_nodes, parent
    return Decision(kept, compiled.decided(alone, threshold, *pages, _REASONS, kept))


def by_label(decision: Decision, labels: Sequence[Label], include: Set[Label], exclude: Set[Label]) -> Decision:
    """Keep blocks with a label of ``include`` too, and of the others none with a label of ``exclude``.

    Parameters
    ----------
    decision
        What the scores say.
    labels
        (n_blocks,) what each block is.
    include, exclude
        Labels, none of them in both.

    Returns
    -------
    Decision
        With a reason of its own where a label changed something.

    Examples
    --------
    >>> scores = decide(np.array([.2, .7, .9], np.float32), .5)
    >>> labels = [Label.COMMENT, Label.HEADING, Label.MAIN]
    >>> by_label(scores, labels, {Label.COMMENT}, {Label.HEADING}).kept.tolist()
    [True, False, True]
    """
    kept = np.array(
        [
            label in include or (keep and label not in exclude)
            for label, keep in zip(labels, decision.kept, strict=True)
        ],
        dtype=bool,
    )
    changed = {True: Reason.LABEL_INCLUDED, False: Reason.LABEL_EXCLUDED}
    reasons = [
        reason if now == before else changed[now]
        for reason, now, before in zip(decision.reasons, kept.tolist(), decision.kept.tolist(), strict=True)
    ]
    return Decision(kept, tuple(reasons))


def label_names(
    include: str | Iterable[str], exclude: str | Iterable[str]
) -> tuple[frozenset[Label], frozenset[Label]]:
    """Read names of labels to include and to exclude; a text alone is one name.

    Raises
    ------
    UnknownNameError
        No such label.
    UsageError
        A label is in both.

    Examples
    --------
    >>> included, excluded = label_names("comment", ["heading", "related"])
    >>> sorted(map(str, included)), sorted(map(str, excluded))
    (['comment'], ['heading', 'related'])
    """
    if not include and not exclude:  # as mostly; labels needn't be listed for that
        return frozenset(), frozenset()
    legal = [str(label) for label in Label]
    chosen: list[frozenset[Label]] = []
    for names in (include, exclude):
        listed = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if name not in legal:
                raise UnknownNameError("label", str(name), legal)
        chosen.append(frozenset(map(Label, listed)))
    if both := chosen[0] & chosen[1]:
        raise UsageError(f"to be included and excluded at once: {', '.join(sorted(both))}")
    return chosen[0], chosen[1]


def _pooled(scores: NDArray[np.float32], page: Page) -> NDArray[np.float32]:
    """Scores, with the mean over its words for all blocks of one preformatted element."""
    nodes, blocks = page.nodes, page.blocks
    inside = (blocks.flags & _PREFORMATTED).nonzero()[0]
    if not len(inside):
        return scores
    marked = (nodes.flags & _PREFORMATTED) > 0
    outermost = np.flatnonzero(marked & ~marked[nodes.parent])  # no root is preformatted
    number = np.searchsorted(outermost, blocks.node[inside], side="right")
    # Brackets and commas of coloured code are blocks without words: they have no say where there are words.
    weight = blocks.n_words[inside].astype(np.float64)
    weight[np.bincount(number, weight)[number] == 0] = 1.0
    pooled = scores.copy()
    pooled[inside] = np.bincount(number, weight * scores[inside])[number] / np.bincount(number, weight)[number]
    return pooled


def confidence(scores: NDArray[np.float32], kept: NDArray[np.bool_], n_words: NDArray[np.int32]) -> float:
    """Expected share of words whose decision is right, if scores are probabilities; 0 for a page without words.

    Examples
    --------
    >>> round(confidence(np.array([.2, .9], np.float32), np.array([False, True]), np.array([10, 30], np.int32)), 3)
    0.875
    """
    total = int(n_words.sum())
    right = np.where(kept, scores, 1 - scores) * n_words
    return float(right.sum() / total) if total else 0.0


#: Expected F1 below which little content is taken for none.
LEAST_F1 = 0.5
#: Weight of a block without words in its line: it counts only where all are like it.
WORDLESS = 1e-3


def expected_f1(probabilities: NDArray[np.floating[Any]], words: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """The border whose blocks have the best expected F1, and that F1.

    Blocks are kept from the most probable one on; with ``k`` words of probability ``p`` kept, F1 is about
    ``2 * sum(k * p) / (sum(k) + sum(all * p))`` (Lewis 1995; Ye, Chai, Lee and Chieu 2012, on plug-in rules for F1).

    Parameters
    ----------
    probabilities
        (n_blocks,) of being content.
    words
        (n_blocks,) their words.

    Returns
    -------
    border, f1
        The smallest probability that is kept, and the expected F1 in [0, 1]. Without blocks or words: 1 and 0.

    Examples
    --------
    >>> border, f1 = expected_f1(np.array([.9, .4, .1]), np.array([100., 30., 500.]))
    >>> round(border, 2), round(f1, 3)
    (0.4, 0.723)
    """
    likely: NDArray[np.float64] = np.ascontiguousarray(probabilities, dtype=np.float64)
    amounts: NDArray[np.float64] = np.ascontiguousarray(words, dtype=np.float64)
    if _kernel.compiled is not None:
        return _kernel.compiled.best_border(likely, amounts)
    order = np.argsort(-likely, kind="stable")
    kept = np.cumsum(amounts[order])
    hits = np.cumsum((amounts * likely)[order])
    if not len(order) or hits[-1] <= 0:
        return 1.0, 0.0
    quality = 2 * hits / (kept + hits[-1])
    best = int(quality.argmax())
    return float(likely[order[best]]), float(quality[best])


def recenter(
    odds: NDArray[np.float64], words: NDArray[np.floating[Any]], least_words: float = 0.0
) -> NDArray[np.float32]:
    """Probabilities with the page's own border moved to 0.5, so that one threshold fits every page.

    Parameters
    ----------
    odds
        (n_blocks,) log odds of being content; see :func:`blockml.predictors.log_odds.log_odds`.
    words
        (n_blocks,) their words.
    least_words
        With less expected words of content than these, and an expected F1 below 0.5, the page is taken to have none:
        all scores are below 0.5. What would be kept is more likely wrong than right then.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks,) in [0, 1], in the order of the log odds.

    Examples
    --------
    >>> from blockml.predictors.log_odds import log_odds
    >>> p, words = np.array([.9, .4, .1]), np.array([100., 30., 500.])
    >>> [round(score, 2) for score in recenter(log_odds(p), words).tolist()]
    [0.93, 0.5, 0.14]
    >>> bool((recenter(log_odds(p / 9), words, 200) < 0.5).all())
    True
    """
    if not len(odds):
        return np.zeros(0, dtype=np.float32)
    probabilities = sigmoid(odds)
    value, f1 = expected_f1(probabilities, words)
    border, beyond = float(odds[probabilities >= value].min(initial=np.inf)), float(odds.max()) + 1
    expected = float(np.cumsum(words * probabilities)[-1])  # one after the other, as the kernel adds them
    if f1 < LEAST_F1 and expected < least_words:
        border = beyond
    return sigmoid(odds - min(border, beyond))  # no words, no border


def lines(blocks: Blocks) -> NDArray[np.intp]:
    """Number of each block's line, from 0: blocks that run on in one line share it.

    A sentence with an emphasis in it is three blocks, and a full stop behind the emphasis one more.

    Examples
    --------
    >>> import blockml
    >>> lines(blockml.parse("<p>It is <b>so</b>.</p><p>…</p>").blocks).tolist()
    [0, 0, 0, 1]
    """
    begins = blocks.separators > SAME_LINE
    begins[:1] = False
    number: NDArray[np.intp] = begins.cumsum()
    return number


def by_line(odds: NDArray[np.float64], words: NDArray[np.float64], line: NDArray[np.intp]) -> NDArray[np.float64]:
    """Log odds with the mean over its words for all blocks of a line.

    So no sentence is kept in pieces, and signs go with the words around them.

    Parameters
    ----------
    odds
        (n_blocks,) log odds of being content.
    words
        (n_blocks,) their words.
    line
        (n_blocks,) number of the line of each, from 0; see :func:`lines`.

    Examples
    --------
    >>> by_line(np.array([2., -2, 1]), np.array([9., 1., 0.]), np.array([0, 0, 1])).tolist()
    [1.6, 1.6, 1.0]
    """
    weight = np.maximum(words, WORDLESS)
    pooled: NDArray[np.float64] = (np.bincount(line, weight * odds) / np.bincount(line, weight))[line]
    return pooled
