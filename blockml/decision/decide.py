"""Decide which blocks of a page are kept, from the prediction of an extractor and a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockml.decision.comments import comments_remark, consistent_labels
from blockml.decision.declared import declared_lines, declares_article, has_running_text
from blockml.decision.policy import (
    HALF,
    MIN_SUMMARY_P_ARTICLE,
    REASONS,
    REMOVALS,
    DecisionPolicy,
    PolicyColumns,
    comment_limits,
    score_blocks,
)
from blockml.decision.prediction import Prediction, ScoredPage
from blockml.decision.remarks import unit_remarks
from blockml.decision.units import complete, mean_over_units
from blockml.errors import UsageError, check_name, check_type
from blockml.outline import Outline
from blockml.page import Label, Page, Reason
from blockml.page.element_names import OF_POSTS
from blockml.page.lazy import LazySequence

if TYPE_CHECKING:
    from blockml.posts import ThreadPost

__all__ = ["Decision", "confidence", "decide", "label_names", "predicted_f1", "with_threshold"]

#: Probability of an article that isn't searched for posts; share of the threshold that a post of a kept thread needs.
_CERTAIN_ARTICLE, _LIKELY_POST = 0.9, np.float32(0.8)
_MIN_NAMED = 2  # elements with names of posts on such a page
#: Minimum confidence by the default threshold of a page that no threshold leaves empty.
_MIN_CONFIDENCE = 0.5
#: Steps that find the highest threshold at which something of such a page is kept, by halves.
_HALVINGS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The decision about each block of a page; columns are (n_blocks,)."""

    probabilities: NDArray[np.float32]  #: Scores before the policy.
    scores: NDArray[np.float32]  #: Scores that the threshold was compared with.
    kept: NDArray[np.bool_]
    reasons: Sequence[Reason]  #: Why each block was kept or removed; computed when it is first looked at.
    #: (n_blocks,) blocks that the threshold keeps and another rule removes: comments and excluded labels.
    overruled: NDArray[np.bool_]
    labels: Sequence[Label] | None  #: (n_blocks,) label of each block; None from extractors without labels.
    confidence: float  #: Predicted F1, or the expected share of words whose decision is right; in [0, 1].
    remarks: tuple[str, ...] = ()  #: Remarks about the whole page, one sentence each.
    posts: tuple[ThreadPost, ...] = ()  #: Posts of a page that is not an article.


def decide(
    policy: DecisionPolicy,
    page: Page,
    prediction: Prediction,
    *,
    include: Set[Label] = frozenset(),
    exclude: Set[Label] = frozenset(),
) -> Decision:
    """Decide which blocks are kept. A lower threshold never keeps less, nor does a larger ``include``.

    A threshold above 0.5 that leaves nothing of a page which 0.5 keeps with confidence is lowered until something is.

    Code is decided as a whole, by the mean score of its words. So are the other units of :mod:`blockml.decision.units`
    if the rule of the policy is ``expected_f1``.

    Parameters
    ----------
    policy
        Parameters of the decision.
    page
        The parsed page.
    prediction
        The output of an extractor for the page.
    include, exclude
        Labels whose blocks are kept, or removed, regardless of their scores; they are disjoint and need a prediction
        with labels.

    Raises
    ------
    UsageError
        The prediction has not one score from 0 to 1 for each block.

    Examples
    --------
    >>> import blockml
    >>> page, scores = blockml.parse("<p>one<p>two"), np.array([.2, .7], np.float32)
    >>> found = decide(DecisionPolicy(), page, Prediction(scores))
    >>> found.kept.tolist(), [str(reason) for reason in found.reasons]
    ([False, True], ['below_threshold', 'above_threshold'])
    """
    prediction = _checked(prediction, len(page.blocks))
    found = _decide(policy, page, prediction, include, exclude)
    if policy.threshold <= HALF or policy.rule != "expected_f1" or (found.kept.any() and not (include or exclude)):
        return found
    threshold = _highest_threshold(policy, page, prediction)
    if threshold == policy.threshold:
        return found
    return _decide(replace(policy, threshold=threshold), page, prediction, include, exclude)


def _highest_threshold(policy: DecisionPolicy, page: Page, prediction: Prediction) -> float:
    """Return the threshold, or on a page with confidence the highest one that keeps something, without labels."""
    no_labels = frozenset[Label]()

    def found(threshold: float) -> Decision:
        return _decide(replace(policy, threshold=threshold), page, prediction, no_labels, no_labels)

    low, high = float(HALF), policy.threshold
    if found(high).kept.any() or not found(low).confidence > _MIN_CONFIDENCE:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if found(middle).kept.any():
            low = middle
        else:
            high = middle
    return low


def _decide(
    policy: DecisionPolicy, page: Page, prediction: Prediction, include: Set[Label], exclude: Set[Label]
) -> Decision:
    """Decide by the threshold of the policy, even if nothing is kept."""
    scorer, threshold = _scorer(prediction), np.float32(policy.threshold)
    policy, by_policy, declared = _by_policy(policy, page, prediction, scorer)
    scores = by_policy if declared is None else np.where(declared, np.maximum(by_policy, HALF), by_policy)
    by_model = scores >= HALF
    outline = Outline(page) if prediction.matrix is None else prediction.matrix.context.outline
    changes = list[tuple[Reason, NDArray[np.intp]]]()
    # Compared as float32, so that a block whose score equals the threshold is kept.
    if policy.rule == "expected_f1":
        by_blocks = _reach(scores, prediction, by_model, threshold)
        if prediction.removed is not None:
            by_blocks = mean_over_units(scores, outline) >= threshold
        completed = complete(outline, scores, prediction.scores, float(threshold), by_blocks)
        by_score, changes = completed.kept, completed.reasons
    else:
        by_score = mean_over_units(scores, outline, tables=False) >= threshold
    scored = ScoredPage(outline, prediction, by_score, by_model)
    kept = by_score
    overriding: list[tuple[Reason, NDArray[np.bool_]]] = []  # changes by rules after the scores, in order
    for reason, rule in REMOVALS:
        if (found := rule(policy, scored)) is not None:
            overriding.append((reason, found & kept))
            kept = kept & ~found
    comments = next((found for reason, found in overriding if reason is Reason.COMMENT), None)
    remark = None if comments is None else comments_remark(page, by_score, comments)
    of_units = unit_remarks(outline, changes, kept) if policy.rule == "expected_f1" else ()
    by_rules = kept
    posts: tuple[ThreadPost, ...] = ()
    if _may_have_posts(policy, page, prediction):
        from blockml.posts import find_posts  # only pages with names of posts need it

        by_default = by_model & (kept | ~by_score)
        posts = find_posts(page, kept | by_default)
    if posts:
        likely = by_score | (scores >= _LIKELY_POST * threshold)
        from blockml.decision.comments import thread_changes

        added, beside = thread_changes(posts, page.blocks, kept, likely, by_default)
        overriding += [(Reason.KEPT_WITH_POST, added), (Reason.REMOVED_WITH_POST, beside)]
        kept = (kept | added) & ~beside
    # The confidence is that of the scores, without labels that were included or excluded.
    if policy.rule == "expected_f1" and prediction.matrix is not None:
        probabilities = prediction.scores
        if by_rules is not by_score:
            probabilities = np.where(by_score & ~by_rules, np.float32(0), probabilities)
        sure = predicted_f1(probabilities, by_rules, prediction.matrix.context.words)
    else:
        sure = confidence(scores, by_score, page.blocks.n_words)
    labels = prediction.labels
    if prediction.block_types is not None:
        labels = LazySequence(len(kept), partial(consistent_labels, scored, comment_limits(policy)))
    if (include or exclude) and labels is not None:
        asked_for = np.array([label in include for label in labels], dtype=bool) & ~kept
        excluded = np.array([label in exclude for label in labels], dtype=bool) & kept
        overriding += [(Reason.ASKED_FOR, asked_for), (Reason.EXCLUDED, excluded)]
        kept = (kept & ~excluded) | asked_for

    def reasons() -> tuple[Reason, ...]:
        """Return the reason of each block; later rules override earlier ones."""
        if policy.rule == "expected_f1":
            found = _by_score(policy, scorer, scores, by_blocks, threshold)
            _name_tables(found, outline, prediction.scores)
            for reason, rows in changes:
                found[rows] = reason
        else:
            found = _by_threshold(scores, by_score, threshold)
        if prediction.removed is not None:
            # Blocks of the template are kept with the units around them, or at the threshold 0.
            found[prediction.removed & ~by_score & (prediction.scores >= threshold)] = Reason.TEMPLATE
        if declared is not None:
            found[declared & by_score & (by_policy < threshold)] = Reason.DECLARED
        for reason, changed in overriding:
            found[changed] = reason
        return tuple(found.tolist())

    return Decision(
        prediction.scores, scores, kept, LazySequence(len(kept), reasons), by_score & ~kept, labels, sure,
        (*((remark,) if remark else ()), *of_units), posts,
    )  # fmt: skip


def _may_have_posts(policy: DecisionPolicy, page: Page, prediction: Prediction) -> bool:
    """Tell whether a page is searched for posts: its elements are named so, and it is probably not an article.

    False for policies that don't score units.
    """
    is_article = (1.0 if prediction.p_article is None else prediction.p_article) >= _CERTAIN_ARTICLE
    if policy.rule != "expected_f1" or is_article:
        return False
    return sum(map(len, page.nodes.with_words(OF_POSTS, any_case=True).values())) >= _MIN_NAMED


def _by_policy(
    policy: DecisionPolicy, page: Page, prediction: Prediction, scorer: Callable[[DecisionPolicy], NDArray[np.float32]]
) -> tuple[DecisionPolicy, NDArray[np.float32], NDArray[np.bool_] | None]:
    """Return the policy for this page, the scores by it, and the lines that the page declares, (n_blocks,) each."""
    scores = scorer(policy)
    if policy.rule != "expected_f1":
        return policy, scores, None
    kept = scores >= HALF
    if not np.count_nonzero(kept) and declares_article(prediction):
        if has_running_text(prediction):
            policy = replace(policy, min_content_words=0.0)  # there is some
        else:
            policy = replace(policy, form_best_probability=0.0)  # a page that declares an article is not a form
        scores = scorer(policy)
        kept = scores >= HALF
    declared = declared_lines(
        page, prediction, kept, min_probability=policy.declared_probability, min_p_article=MIN_SUMMARY_P_ARTICLE
    )
    return policy, scores, declared


def _checked(prediction: Prediction, n_blocks: int) -> Prediction:
    """Return a prediction whose scores are legal with scores in 32 bits; a custom extractor may give any."""
    scores = np.asarray(prediction.scores)
    is_column = scores.shape == (n_blocks,) and scores.dtype.kind in "bfiu"
    if not is_column or (n_blocks and not (np.minimum.reduce(scores) >= 0 and np.maximum.reduce(scores) <= 1)):
        found = f"numbers from {scores.min()} to {scores.max()}" if is_column else f"{scores.dtype} {scores.shape}"
        raise UsageError(f"an extractor must score each of {n_blocks} blocks by a number from 0 to 1, got {found}")
    as_float = scores.astype(np.float32, copy=False)
    return prediction if as_float is prediction.scores else replace(prediction, scores=as_float)


def _scorer(prediction: Prediction) -> Callable[[DecisionPolicy], NDArray[np.float32]]:
    """Return a function that scores the blocks by a policy, so that policies without a rule can be compared."""
    columns: PolicyColumns | None = None

    def scorer(policy: DecisionPolicy) -> NDArray[np.float32]:
        nonlocal columns
        scores = prediction.scores
        if policy.rule == "expected_f1" and prediction.matrix is not None:
            columns = PolicyColumns.of(prediction.matrix.context, policy) if columns is None else columns
            scores = score_blocks(policy, scores, columns, prediction.p_article)
        return scores if prediction.removed is None else np.where(prediction.removed, np.float32(0), scores)

    return scorer


def _reach(
    scores: NDArray[np.float32], prediction: Prediction, by_model: NDArray[np.bool_], threshold: np.float32
) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks reach the threshold.

    Scores are relative to the page: certain text may score little more than 0.5. So the blocks that the model keeps
    reach a larger threshold with their probabilities too.
    """
    best = scores if threshold <= HALF else np.where(by_model, np.maximum(scores, prediction.scores), scores)
    return best >= threshold


def _by_score(
    policy: DecisionPolicy,
    scorer: Callable[[DecisionPolicy], NDArray[np.float32]],
    scores: NDArray[np.float32],
    kept: NDArray[np.bool_],
    threshold: np.float32,
) -> NDArray[np.object_]:
    """Return (n_blocks,) reasons of the decision by scores: a rule is the reason if only it removes the block."""
    found = _by_threshold(scores, kept, threshold)
    found[kept] = Reason.ABOVE_THRESHOLD
    for fields, reason in REASONS:
        if any(getattr(policy, field) for field in fields) and not kept.all():
            found[~kept & (scorer(_without(policy, fields)) >= threshold)] = reason
    return found


def _by_threshold(scores: NDArray[np.float32], kept: NDArray[np.bool_], threshold: np.float32) -> NDArray[np.object_]:
    """Return (n_blocks,) reasons of the decision by a threshold, and by mean scores of code."""
    found: NDArray[np.object_] = np.empty(len(kept), dtype=object)
    found[kept], found[~kept] = Reason.ABOVE_THRESHOLD, Reason.BELOW_THRESHOLD
    changed = kept != (scores >= threshold)
    found[changed & kept], found[changed & ~kept] = Reason.KEPT_WITH_CODE, Reason.REMOVED_WITH_CODE
    return found


def _name_tables(found: NDArray[np.object_], outline: Outline, probabilities: NDArray[np.float32]) -> None:
    """Name code and tables in the reasons of blocks whose own probability speaks for the other decision, in place."""
    for elements, keeping, removing in (
        (outline.code, Reason.KEPT_WITH_CODE, Reason.REMOVED_WITH_CODE),
        (outline.data_table, Reason.KEPT_WITH_TABLE, Reason.REMOVED_WITH_TABLE),
    ):
        if elements is not None:
            is_likely = probabilities >= HALF
            found[(elements >= 0) & (found == Reason.ABOVE_THRESHOLD) & ~is_likely] = keeping
            found[(elements >= 0) & (found == Reason.BELOW_THRESHOLD) & is_likely] = removing


def _without(policy: DecisionPolicy, names: Iterable[str]) -> DecisionPolicy:
    """Return the policy with some fields set to 0."""
    changes: dict[str, Any] = dict.fromkeys(names, 0.0)
    return replace(policy, **changes)


def confidence(scores: NDArray[np.float32], kept: NDArray[np.bool_], n_words: NDArray[np.int32]) -> float:
    """Compute the expected fraction of words decided correctly, if scores are probabilities.

    0 for a page without words.

    Examples
    --------
    >>> round(confidence(np.array([.2, .9], np.float32), np.array([False, True]), np.array([10, 30], np.int32)), 3)
    0.875
    """
    total = int(n_words.sum())
    right = np.where(kept, scores, 1 - scores) * n_words
    return float(right.sum() / total) if total else 0.0


def predicted_f1(probabilities: NDArray[np.float32], kept: NDArray[np.bool_], words: NDArray[np.float64]) -> float:
    """Predict the F1 of an extraction: the expected F1 of its blocks.

    The formula is that of :func:`~blockml.predictors.page_features.expected_f1`.
    It ranks pages better than the best expected F1 does, which knows nothing of what the policy changed. Trees trained
    to predict F1 from features of the page rank those of other collections worse (research/studies/model-log.md, 77).

    Parameters
    ----------
    probabilities
        (n_blocks,) probability of being content, before the policy; 0 for comments that are left out.
    kept
        (n_blocks,) blocks of the extraction.
    words
        (n_blocks,) words of each block.

    Returns
    -------
    float
        In [0, 1]; 0 if nothing with words is kept.

    Examples
    --------
    >>> likely, words = np.array([.9, .4, .1], np.float32), np.array([100., 30., 500.])
    >>> [round(predicted_f1(likely, likely >= least, words), 3) for least in (.5, .4, 0)]
    [0.714, 0.723, 0.389]
    """
    expected = words * probabilities
    both = float(words[kept].sum() + expected.sum())
    return 2 * float(expected[kept].sum()) / both if both > 0 else 0.0


def with_threshold(policy: DecisionPolicy, threshold: float | None) -> DecisionPolicy:
    """Return the policy with another threshold, or unchanged for None.

    Raises
    ------
    UsageError
        The threshold is not a number, or is outside [0, 1].
    """
    if threshold is None:
        return policy
    check_type("the threshold", threshold, Real, legal="a number between 0 and 1, or None")
    if not 0 <= threshold <= 1:
        raise UsageError(f"the threshold must be between 0 and 1, got {threshold}")
    return replace(policy, threshold=threshold)


def label_names(
    include: str | Iterable[str], exclude: str | Iterable[str]
) -> tuple[frozenset[Label], frozenset[Label]]:
    """Convert names of labels to include and to exclude; a ``str`` is one name.

    Raises
    ------
    UnknownNameError
        A label is unknown.
    UsageError
        A label is both included and excluded, or the labels are not iterable.

    Examples
    --------
    >>> included, excluded = label_names("comment", ["heading", "related"])
    >>> sorted(map(str, included)), sorted(map(str, excluded))
    (['comment'], ['heading', 'related'])
    """
    chosen: list[frozenset[Label]] = []
    for option, names in (("include", include), ("exclude", exclude)):
        check_type(option, names, str, Iterable, legal="a label or an iterable of labels")
        listed = list((names,) if isinstance(names, str) and names else names)
        for name in listed:
            check_name("label", name, [str(label) for label in Label])
        chosen.append(frozenset(map(Label, listed)))
    if both := chosen[0] & chosen[1]:
        raise UsageError(f"labels can't be both included and excluded: {', '.join(sorted(both))}")
    return chosen[0], chosen[1]
