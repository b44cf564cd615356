"""Block probabilities in, scores out: the policy's penalties and the page's own threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.decision.duplicates import duplicate_penalties, duplicated_lines
from blockml.decision.expected_f1 import expected_f1
from blockml.decision.lines import line_means, line_numbers, line_weights, smooth_lines
from blockml.decision.page_features import BlockAmounts
from blockml.decision.policy import MAX_LOG_ODDS, DecisionPolicy
from blockml.features.page_context import PageContext
from blockml.features.repetition import ALIKE, alike
from blockml.predictors.log_odds import log_odds, sigmoid

__all__ = ["PolicyColumns", "ScoredPage", "score_blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class PolicyColumns:
    """What the policy looks at beside probabilities: columns of the blocks of a page, (n_blocks,) each."""

    amounts: BlockAmounts
    line: NDArray[np.intp]
    """Number of each block's line: see :func:`blockml.decision.lines.line_numbers`."""
    text: NDArray[np.int64]
    """Number of the line's text: see :func:`blockml.decision.duplicates.duplicated_lines`."""
    context: NDArray[np.integer]
    """Number of the group of blocks with the same elements further up."""

    @classmethod
    def of(cls, context: PageContext, policy: DecisionPolicy) -> PolicyColumns:
        """Collect the columns of a parsed page."""
        line = line_numbers(context.blocks)
        text = duplicated_lines(context.blocks, line, policy.min_duplicate_words)
        amounts = BlockAmounts(context.words, context.linked, context.prose)
        return cls(amounts, line, text, alike(context)[ALIKE.index("far")])


class ScoredPage(NamedTuple):
    """Scores of the blocks of a page, and what lowered them."""

    scores: NDArray[np.float32]
    """(n_blocks,) in [0, 1], with the page's own threshold at 0.5."""
    log_odds: NDArray[np.float64]
    """(n_blocks,) relative to the page's own threshold, as if the page had content."""
    link_penalty: NDArray[np.float64] | None
    """(n_blocks,) part of the penalty that links have alone; None if none has."""
    duplicate_penalty: NDArray[np.float64] | None
    """(n_blocks,); None if no text stands on the page more than once."""
    has_content: bool
    """Whether enough words of content are to be expected."""


def score_blocks(
    policy: DecisionPolicy, probabilities: NDArray[np.float32], columns: PolicyColumns, p_article: float | None
) -> ScoredPage:
    """Score the blocks of one page by the rule ``expected_f1``.

    Parameters
    ----------
    policy
        The numbers of the rule.
    probabilities
        (n_blocks,) of being content.
    columns
        The blocks.
    p_article
        Probability that the page is an article; None if it isn't known.

    Examples
    --------
    >>> amounts = BlockAmounts(np.array([100., 30., 500.]), np.zeros(3), np.zeros(3))
    >>> columns = PolicyColumns(amounts, np.arange(3), np.full(3, -1), np.zeros(3, int))
    >>> policy = DecisionPolicy(rule="expected_f1", min_content_words=200)
    >>> found = score_blocks(policy, np.array([.9, .4, .1], np.float32), columns, None)
    >>> found.scores.round(2).tolist(), found.has_content
    ([0.9300000071525574, 0.5, 0.14000000059604645], True)
    >>> score_blocks(policy, np.array([.1, .04, .01], np.float32), columns, None).has_content
    False
    """
    words, linked, prose = columns.amounts
    penalty = min(policy.base_penalty + policy.article_penalty * (p_article or 0.0), MAX_LOG_ODDS)
    lowered = log_odds(probabilities) - penalty
    link_penalty = None
    if policy.link_penalty:
        links = (linked > 0) & (2 * linked >= words)
        certain = (prose > 0) & (probabilities >= np.float32(policy.certain_p))
        # Words of certain running text between one link block and the next.
        if np.bincount(links.cumsum(), words * certain).max(initial=0) >= policy.min_certain_words:
            with_links = min(penalty + policy.link_penalty, MAX_LOG_ODDS)
            link_penalty = np.where(links, with_links - penalty, 0.0)
            lowered = log_odds(probabilities) - np.where(links, with_links, penalty)
    means, weights = line_means(lowered, line_weights(words), columns.line)
    final = smooth_lines(means, weights, policy.neighbor_smoothing)[columns.line]
    if policy.negative_shrinkage and p_article is not None and p_article < policy.min_p_article:
        against = final + penalty
        final = np.where(against < 0, against * (1 - policy.negative_shrinkage) - penalty, final)
    duplicates = None
    if policy.duplicate_penalty:
        duplicates = duplicate_penalties(
            final, columns.line, columns.text, columns.context, penalty=min(policy.duplicate_penalty, MAX_LOG_ODDS),
            same_context_factor=policy.same_context_factor, tie_margin=policy.tie_margin,
        )  # fmt: skip
        if duplicates is not None:
            final = final - duplicates
    own, used = _page_thresholds(policy, final, words)
    return ScoredPage(sigmoid(final - used), final - own, link_penalty, duplicates, own == used)


def _page_thresholds(
    policy: DecisionPolicy, final: NDArray[np.float64], words: NDArray[np.float64]
) -> tuple[float, float]:
    """Log odds from which on blocks are kept for the best expected F1; and the same where a page may have no content."""
    if not len(final):
        return 0.0, 0.0
    probabilities = sigmoid(final)
    value, f1 = expected_f1(probabilities, words)
    beyond = float(final.max()) + 1  # no block reaches it
    own = min(float(final[probabilities >= value].min(initial=np.inf)), beyond)
    expected_words = float((words * probabilities).cumsum()[-1])
    is_empty = f1 < policy.min_predicted_f1 and expected_words < policy.min_content_words
    return own, beyond if is_empty else own
