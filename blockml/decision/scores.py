"""Score blocks: subtract penalties from the log odds of their probabilities and shift the page's threshold to 0.5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.decision.duplicates import duplicate_penalties, duplicated_lines
from blockml.decision.expected_f1 import expected_f1
from blockml.decision.lines import line_means, line_numbers, line_weights, smooth_lines
from blockml.decision.page_features import BlockAmounts
from blockml.decision.policy import MAX_LOG_ODDS, DecisionPolicy
from blockml.features.block_groups import GROUPINGS
from blockml.features.page_context import PageContext
from blockml.predictors.log_odds import log_odds, sigmoid

__all__ = ["PolicyColumns", "score_blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class PolicyColumns:
    """Columns of the blocks of a page that the policy uses besides probabilities, (n_blocks,) each."""

    amounts: BlockAmounts
    line: NDArray[np.intp]
    """Number of each block's line: see :func:`blockml.decision.lines.line_numbers`."""
    text: NDArray[np.int64]
    """Number of the line's text: see :func:`blockml.decision.duplicates.duplicated_lines`."""
    context: NDArray[np.integer]
    """Number of the group of blocks with equal ancestors further up."""

    @classmethod
    def of(cls, context: PageContext, policy: DecisionPolicy) -> PolicyColumns:
        """Compute the columns of a page."""
        line = line_numbers(context.blocks)
        text = duplicated_lines(context.blocks, line, policy.min_duplicate_words)
        amounts = BlockAmounts(context.words, context.linked, context.prose)
        return cls(amounts, line, text, context.block_groups[GROUPINGS.index("far")])


def score_blocks(
    policy: DecisionPolicy, probabilities: NDArray[np.float32], columns: PolicyColumns, p_article: float | None
) -> NDArray[np.float32]:
    """Score the blocks of one page by the rule ``expected_f1``.

    Parameters
    ----------
    policy
        Parameters of the rule.
    probabilities
        (n_blocks,) probability of being content.
    columns
        Other columns of the blocks.
    p_article
        Probability that the page is an article; None if not predicted.

    Returns
    -------
    NDArray[np.float32]
        (n_blocks,) scores in [0, 1], with the page's own threshold at 0.5.

    Examples
    --------
    >>> amounts = BlockAmounts(np.array([100., 30., 500.]), np.zeros(3), np.zeros(3))
    >>> columns = PolicyColumns(amounts, np.arange(3), np.full(3, -1), np.zeros(3, int))
    >>> policy = DecisionPolicy(rule="expected_f1", min_content_words=200)
    >>> score_blocks(policy, np.array([.9, .4, .1], np.float32), columns, None).round(2).tolist()
    [0.9300000071525574, 0.5, 0.14000000059604645]
    >>> bool((score_blocks(policy, np.array([.1, .04, .01], np.float32), columns, None) < 0.5).all())
    True
    """
    if not len(probabilities):
        return probabilities
    words = columns.amounts.words
    penalty = min(policy.base_penalty + policy.article_penalty * (p_article or 0.0), MAX_LOG_ODDS)
    lowered = log_odds(probabilities) - _with_links(policy, probabilities, columns.amounts, penalty)
    means, weights = line_means(lowered, line_weights(words), columns.line)
    final = smooth_lines(means, weights, policy.neighbor_smoothing)[columns.line]
    if policy.negative_shrinkage and p_article is not None and p_article < policy.min_p_article:
        against = final + penalty
        final = np.where(against < 0, against * (1 - policy.negative_shrinkage) - penalty, final)
    if policy.duplicate_penalty:
        duplicates = duplicate_penalties(
            final, columns.line, columns.text, columns.context, penalty=min(policy.duplicate_penalty, MAX_LOG_ODDS),
            same_context_factor=policy.same_context_factor,
        )  # fmt: skip
        if duplicates is not None:
            final = final - duplicates
    return sigmoid(final - _page_threshold(policy, final, words))


def _with_links(
    policy: DecisionPolicy, probabilities: NDArray[np.float32], amounts: BlockAmounts, penalty: float
) -> float | NDArray[np.float64]:
    """Return the penalty of all blocks, or (n_blocks,) penalties, larger for link blocks next to running text."""
    words, linked, prose = amounts
    if not policy.link_penalty:
        return penalty
    links = (linked > 0) & (2 * linked >= words)
    certain = (prose > 0) & (probabilities >= np.float32(policy.certain_p))
    # Words of certain running text from one link block to the next.
    if np.bincount(links.cumsum(), words * certain).max() < policy.min_certain_words:
        return penalty
    return np.where(links, min(penalty + policy.link_penalty, MAX_LOG_ODDS), penalty)


def _page_threshold(policy: DecisionPolicy, final: NDArray[np.float64], words: NDArray[np.float64]) -> float:
    """Return the log odds threshold that maximises expected F1; above all log odds if the page has no content."""
    probabilities = sigmoid(final)
    value, f1 = expected_f1(probabilities, words)
    beyond = float(final.max()) + 1
    if f1 < policy.min_predicted_f1 and float((words * probabilities).cumsum()[-1]) < policy.min_content_words:
        return beyond
    return min(
        float(final[probabilities >= value].min(initial=np.inf)), beyond
    )  # on pages without words no block is kept
