"""Prediction in, decision out: which blocks of a page are kept, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.decision.scores import PolicyColumns, ScoredPage, score_blocks
from blockml.errors import UnknownNameError, UsageError
from blockml.features.page_context import PageContext
from blockml.page import Flag, Label, Page, Reason
from blockml.predictors.block_types import BlockTypeScores
from blockml.predictors.log_odds import log_odds

__all__ = ["Decision", "Prediction", "confidence", "decide", "label_names", "with_threshold"]

_PREFORMATTED = int(Flag.PREFORMATTED)
_REASONS = np.array(list(Reason), dtype=object)
_CODES = {reason: code for code, reason in enumerate(Reason)}


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What an extractor says about the blocks of a page, before any decision."""

    scores: NDArray[np.float32]
    """(n_blocks,) in [0, 1], higher for content: raw probabilities where the extractor gives these."""
    remarks: tuple[str, ...] = ()
    """About the page as a whole, one sentence each."""
    labels: Sequence[Label] | None = None
    """(n_blocks,) what each block is, if the extractor says so itself; see also ``block_types``."""
    confidence: float | None = None
    """Predicted F1 of what is kept, in [0, 1], where the extractor predicts it."""
    removed: NDArray[np.bool_] | None = None
    """(n_blocks,) what the template of the page's site holds: it is left out whatever it scores."""
    context: PageContext | None = None
    """The page, for policies with the rule ``expected_f1``."""
    p_article: float | None = None
    """Probability that the page is an article, where it is known."""
    block_types: BlockTypeScores | None = None
    """Scores of block types, which tell comments and labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The decision about each block of a page; columns are (n_blocks,)."""

    probabilities: NDArray[np.float32]
    """Scores before the policy."""
    scores: NDArray[np.float32]
    """Scores that the threshold was compared with."""
    kept: NDArray[np.bool_]
    reasons: tuple[Reason, ...]
    overruled: NDArray[np.bool_]
    """What the scores keep and another rule removes: comments, labels that were asked to be left out."""
    labels: Sequence[Label] | None
    """What each block is; None from extractors that only tell content from the rest."""
    confidence: float
    """Predicted F1, or the expected share of words whose decision is right; in [0, 1]."""


def decide(
    policy: DecisionPolicy,
    page: Page,
    prediction: Prediction,
    *,
    include: Set[Label] = frozenset(),
    exclude: Set[Label] = frozenset(),
) -> Decision:
    """Decide which blocks are kept. A lower threshold never keeps less, nor does a larger ``include``.

    Preformatted text is decided as a whole, by the mean score of its words: its pieces are blocks of their own where
    code is coloured, and code with pieces missing is of no use.

    Parameters
    ----------
    policy
        The numbers of the decision.
    page
        The parsed page.
    prediction
        What an extractor says about its blocks.
    include, exclude
        Labels whose blocks are kept, or left out, whatever they score; none in both. Need a prediction with labels.

    Examples
    --------
    >>> import blockml
    >>> page, scores = blockml.parse("<p>one<p>two"), np.array([.2, .7], np.float32)
    >>> found = decide(DecisionPolicy(), page, Prediction(scores))
    >>> found.kept.tolist(), [str(reason) for reason in found.reasons]
    ([False, True], ['below_threshold', 'above_threshold'])
    """
    scored = None
    if policy.rule == "expected_f1" and prediction.context is not None:
        columns = PolicyColumns.of(prediction.context, policy)
        scored = score_blocks(policy, prediction.scores, columns, prediction.p_article)
    scores = prediction.scores if scored is None else scored.scores
    # Compared as float32, so that a block which scores exactly the threshold is kept.
    bound = np.float32(policy.threshold)
    in_template = None
    if prediction.removed is not None:
        in_template = prediction.removed & (scores >= bound)
        scores = np.where(prediction.removed, np.float32(0), scores)
    kept = _with_code(scores, page) >= bound
    codes = np.where(kept, _CODES[Reason.ABOVE_THRESHOLD], _CODES[Reason.BELOW_THRESHOLD])
    if scored is not None and not kept.all():
        _explain_removals(codes, kept, scored, policy.threshold)
    changed = kept != (scores >= bound)
    codes[changed] = np.where(kept[changed], _CODES[Reason.KEPT_WITH_CODE], _CODES[Reason.REMOVED_WITH_CODE])
    if in_template is not None:
        codes[in_template & ~kept] = _CODES[Reason.TEMPLATE]
    by_score = kept
    labels = prediction.labels
    if prediction.block_types is not None:
        labels = prediction.block_types.labels(scores >= np.float32(0.5), policy.comment_probability)
        prose = (page.blocks.flags & _PREFORMATTED) == 0  # a comment in code is no reader's comment
        comments = prediction.block_types.comments(kept & prose, policy.comment_probability)
        if comments is not None:
            kept = _without(kept, comments, codes, Reason.COMMENT)
    if (include or exclude) and labels is not None:
        asked = np.array([(label in include, label in exclude) for label in labels], dtype=bool).reshape(-1, 2).T
        codes[asked[0] & ~kept] = _CODES[Reason.ASKED_FOR]
        kept = _without(kept | asked[0], asked[1], codes, Reason.EXCLUDED)
    sure = prediction.confidence
    if sure is None:  # about content: what was asked for besides says nothing about it
        sure = confidence(scores, by_score, page.blocks.n_words)
    reasons = tuple(_REASONS.take(codes).tolist())
    return Decision(prediction.scores, scores, kept, reasons, by_score & ~kept, labels, sure)


def _without(
    kept: NDArray[np.bool_], removed: NDArray[np.bool_], codes: NDArray[np.integer], reason: Reason
) -> NDArray[np.bool_]:
    """What is kept without the removed blocks; notes the reason."""
    codes[kept & removed] = _CODES[reason]
    return kept & ~removed


def _explain_removals(
    codes: NDArray[np.integer], kept: NDArray[np.bool_], scored: ScoredPage, threshold: float
) -> None:
    """Note for removed blocks which single rule removed them: without it, they would reach the threshold."""
    needed = float(log_odds(np.array([threshold]))[0])
    if not scored.has_content:
        codes[~kept & (scored.log_odds >= needed)] = _CODES[Reason.NO_CONTENT]
        return
    for penalty, reason in ((scored.link_penalty, Reason.LINK), (scored.duplicate_penalty, Reason.DUPLICATE)):
        if penalty is not None:
            codes[~kept & (penalty > 0) & (scored.log_odds + penalty >= needed)] = _CODES[reason]


def _with_code(scores: NDArray[np.float32], page: Page) -> NDArray[np.float32]:
    """Scores, with the mean over its words for all blocks of one preformatted element."""
    nodes, blocks = page.nodes, page.blocks
    inside = (blocks.flags & _PREFORMATTED).nonzero()[0]
    if not len(inside):
        return scores
    marked = (nodes.flags & _PREFORMATTED) > 0
    outermost = np.flatnonzero(marked & ~marked[nodes.parent])  # no root is preformatted
    number = np.searchsorted(outermost, blocks.node[inside], side="right")
    # Brackets and commas of coloured code are blocks without words: they don't count where there are words.
    weight = blocks.n_words[inside].astype(np.float64)
    weight[np.bincount(number, weight)[number] == 0] = 1.0
    pooled = scores.copy()
    pooled[inside] = np.bincount(number, weight * scores[inside])[number] / np.bincount(number, weight)[number]
    return pooled


def confidence(scores: NDArray[np.float32], kept: NDArray[np.bool_], n_words: NDArray[np.int32]) -> float:
    """Compute the expected share of words whose decision is right, if scores are probabilities.

    0 for a page without words.

    Examples
    --------
    >>> round(confidence(np.array([.2, .9], np.float32), np.array([False, True]), np.array([10, 30], np.int32)), 3)
    0.875
    """
    total = int(n_words.sum())
    right = np.where(kept, scores, 1 - scores) * n_words
    return float(right.sum() / total) if total else 0.0


def with_threshold(policy: DecisionPolicy, threshold: float | None) -> DecisionPolicy:
    """Return the policy with another threshold; None for its own.

    Raises
    ------
    UsageError
        The threshold is outside [0, 1].
    """
    if threshold is None:
        return policy
    if not 0 <= threshold <= 1:
        raise UsageError(f"the threshold must be between 0 and 1, got {threshold}")
    return replace(policy, threshold=threshold)


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
        raise UsageError(f"labels can't be both included and excluded: {', '.join(sorted(both))}")
    return chosen[0], chosen[1]
