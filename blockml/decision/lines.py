"""Means over lines and other units, and duplicates: text that occurs more than once is kept once.

Text occurs more than once on a page as variants for small and wide screens, quotes, carousels, drawers. A reader sees
that text once, and a gold text mostly contains it once. Which of the duplicates it was made from is unknown, but one is
enough: the most probable one, the first of several, but not a quotation or a hidden text instead of a visible one.
"""

from __future__ import annotations

from bisect import bisect
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from blockml.page import Blocks, Flag

__all__ = [
    "any_in",
    "duplicate_penalties",
    "duplicated_lines",
    "line_means",
    "line_weights",
    "smooth_lines",
    "wordless_lines",
]

_PREFORMATTED = int(Flag.PREFORMATTED)
#: Weight of a block without words in its line: negligible unless no block of the line has words.
WORDLESS_WEIGHT = 1e-3


def line_weights(words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n_blocks,) weight of each block in its line: its words."""
    return np.maximum(words, WORDLESS_WEIGHT)


def line_means(
    log_odds: NDArray[np.float64], weight: NDArray[np.float64], line: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average log odds over lines.

    Parameters
    ----------
    log_odds, weight
        (n_blocks,).
    line
        (n_blocks,) number of the line of each block.

    Returns
    -------
    means, weights
        (n_lines,) weighted mean of each line, and the sum of its weights.

    Examples
    --------
    >>> line_means(np.array([2., -2, 1]), np.array([9., 1., 3.]), np.array([0, 0, 1]))[0].tolist()
    [1.6, 1.0]
    """
    weights: NDArray[np.float64] = np.bincount(line, weight).astype(np.float64, copy=False)
    means: NDArray[np.float64] = np.bincount(line, weight * log_odds) / weights
    return means, weights


def smooth_lines(means: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return (n_lines,) log odds, mixed with the weighted mean of the lines before and after by ``share`` in [0, 1].

    Examples
    --------
    >>> smooth_lines(np.array([1., -1., 3.]), np.ones(3), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    if not share or len(means) < 2:
        return means
    sums = np.zeros((2, len(means) + 2))  # an empty line before and after the page
    np.multiply(weights, means, out=sums[0, 1:-1])
    sums[1, 1:-1] = weights
    around, total = sums[:, :-2] + sums[:, 2:]
    smoothed: NDArray[np.float64] = (1 - share) * means + share * (around / total)
    return smoothed


def any_in(line: NDArray[np.intp], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether any block of each block's line is marked (n_blocks,), given numbers of lines from 0.

    Examples
    --------
    >>> any_in(np.array([0, 0, 1]), np.array([True, False, False])).tolist()
    [True, True, False]
    """
    return np.bincount(line, marked)[line] > 0  # np.isin takes more than ten times as long


def wordless_lines(blocks: Blocks, line: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Find lines without words between lines with words, such as brackets of code, ellipses and dashes in tables.

    Returns
    -------
    NDArray[np.intp] or None
        (3, n) their blocks, and for each of them the last block with words before and the first one after its line;
        None without any. Lines of invisible characters are left out.

    Examples
    --------
    >>> import blockml
    >>> blocks = blockml.parse("<p>*<p>if (a)<p>{<p>b();<p>}<p>&#8206;<p>c();<p>}").blocks
    >>> wordless_lines(blocks, blocks.line_numbers()).tolist()
    [[2, 4], [1, 3], [3, 6]]
    """
    if np.count_nonzero(blocks.n_words) == len(blocks):
        return None
    has_words = any_in(line, blocks.n_words > 0)
    others = has_words.nonzero()[0].tolist()
    found = []
    for row in (~has_words).nonzero()[0].tolist():  # few
        place = bisect(others, row)
        if 0 < place < len(others) and any(map(str.isprintable, blocks.texts[row])):
            found.append((row, others[place - 1], others[place]))
    return np.array(found, dtype=np.intp).T if found else None


def duplicated_lines(blocks: Blocks, line: NDArray[np.intp], min_words: int) -> NDArray[np.int64]:
    """Number the texts of lines that occur more than once on a page.

    Preformatted lines are not compared. Blocks without words are ignored in lines of several blocks.

    Parameters
    ----------
    blocks
        The page's blocks.
    line
        (n_blocks,) number of each block's line: see :meth:`blockml.page.Blocks.line_numbers`.
    min_words
        Minimum words of a line that is compared.

    Returns
    -------
    NDArray[np.int64]
        (n_blocks,) number of the text of each block's line: the first block with it; -1 if no other line has it.

    Examples
    --------
    >>> import blockml
    >>> blocks = blockml.parse("<p>One<p>Cats are <b>great</b>.<p>Cats are great<p>Cats").blocks
    >>> duplicated_lines(blocks, blocks.line_numbers(), 3).tolist()
    [-1, 1, 1, 1, 1, -1]
    """
    n_words = np.bincount(line, blocks.n_words).astype(np.int64)
    # Only lines with the same number of words can have the same text.
    is_candidate = (n_words >= min_words) & (np.bincount(n_words)[n_words] > 1)
    if blocks.any_flag(_PREFORMATTED):
        is_candidate[line[(blocks.flags & _PREFORMATTED) > 0]] = False
    numbers = is_candidate.nonzero()[0]
    starts = line.searchsorted(numbers)
    stops = line.searchsorted(numbers, side="right")
    texts, rows = blocks.texts, starts.tolist()
    found = list(map(texts.__getitem__, rows))
    for place in (stops - starts > 1).nonzero()[0].tolist():  # lines of several blocks
        start, stop = rows[place], stops.item(place)
        found[place] = " ".join(compress(texts[start:stop], blocks.n_words[start:stop].tolist()))
    text_of_line = np.full(len(n_words), -1, dtype=np.int64)
    first_of: dict[str, int] = {}
    firsts = np.array(list(map(first_of.setdefault, found, rows)), dtype=np.intp)  # first block with each text
    if len(first_of) < len(found):
        is_repeated = np.zeros(len(line), dtype=bool)
        is_repeated[firsts[firsts != starts]] = True
        text_of_line[numbers] = np.where(is_repeated[firsts], firsts, -1)
    return text_of_line[line]


def duplicate_penalties(
    log_odds: NDArray[np.float64],
    line: NDArray[np.intp],
    text: NDArray[np.int64],
    context: NDArray[np.integer],
    preference: NDArray[np.float64],
    *,
    penalty: float,
    same_context_factor: float,
) -> NDArray[np.float64] | None:
    """Compute the penalties of duplicates, except for the most probable one of each text.

    Parameters
    ----------
    log_odds
        (n_blocks,) log odds, equal for all blocks of a unit.
    line
        (n_blocks,) number of what is compared around each block: a line, a table or a list.
    text
        (n_blocks,) number of its text: see :func:`duplicated_lines`.
    context
        (n_blocks,) number of the group of blocks with equal ancestors further up.
    preference
        (n_blocks,) added to log odds to choose the one that stays.
    penalty, same_context_factor
        See :class:`blockml.decision.policy.DecisionPolicy`.

    Returns
    -------
    NDArray[np.float64] or None
        (n_blocks,) penalties, 0 or more; None without duplicates.

    Examples
    --------
    >>> text, context = np.array([0, -1, 0, 0]), np.array([1, 1, 2, 1])
    >>> duplicate_penalties(
    ...     np.array([.1, 0, .9, 2.]), np.arange(4), text, context, np.zeros(4), penalty=4.0, same_context_factor=.25
    ... ).tolist()
    [1.0, 0.0, 4.0, 0.0]
    """
    rows = (text >= 0).nonzero()[0]
    if not len(rows):
        return None
    number, its = text[rows], log_odds[rows] + preference[rows]
    best = np.full(int(number.max()) + 1, -np.inf)
    np.maximum.at(best, number, its)
    candidates = (its == best[number]).nonzero()[0][::-1]
    first = np.zeros(len(best), dtype=np.intp)
    first[number[candidates]] = rows[candidates]  # candidates are reversed: the last write is the first one
    stays = first[number]
    elsewhere = np.where(context[rows] == context[stays], same_context_factor * penalty, penalty)
    penalties = np.zeros(len(log_odds))
    penalties[rows] = np.where(line[rows] == line[stays], 0.0, elsewhere)
    return penalties
