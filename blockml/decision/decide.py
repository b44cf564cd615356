"""Decide which blocks of a page are kept, from the prediction of an extractor and a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockml.decision.comments import consistent_labels
from blockml.decision.policy import DecisionPolicy, PolicyColumns, Scoring
from blockml.decision.prediction import HALF, Draft, Prediction
from blockml.decision.remarks import unit_remarks
from blockml.decision.rules import DECLARED, LAST, REMOVALS, UNITS, WITHOUT, apply_in_order, scored_page
from blockml.decision.units import mean_over_units
from blockml.errors import UsageError, check_name, check_type
from blockml.outline import Outline
from blockml.page import Label, Page, Reason
from blockml.page.lazy import LazySequence

if TYPE_CHECKING:
    from blockml.posts import ThreadPost

__all__ = ["Decision", "confidence", "decide", "label_names", "predicted_f1", "with_threshold"]

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
    matrix, has_units = prediction.matrix, policy.rule == "expected_f1"
    columns = PolicyColumns.of(matrix.context, policy) if has_units and matrix is not None else None
    scored = scored_page(policy, prediction, columns)
    apply_in_order(DECLARED, scored)
    outline = Outline(page) if matrix is None else matrix.context.outline
    by_blocks = _reaching(scored, outline)
    draft = Draft(scored.policy, outline, prediction, scored.scores, by_blocks, include, exclude)
    if 0 < np.count_nonzero(by_blocks) < len(by_blocks):
        draft.by_score = draft.kept = by_blocks.copy()  # changed in place
        apply_in_order(UNITS, draft)
    of_units = len(draft.changes)
    apply_in_order(REMOVALS, draft)
    remarks = draft.remarks
    if has_units:
        remarks += unit_remarks(outline, draft.changes[:of_units], draft.kept)
    certain = _confidence(draft)
    if prediction.block_types is not None:
        draft.labels = LazySequence(len(by_blocks), partial(consistent_labels, draft))
    apply_in_order(LAST, draft)

    def reasons() -> tuple[Reason, ...]:
        """Return the reason of each block; later rules override earlier ones."""
        found = _by_threshold(draft, by_blocks)
        if has_units:
            _name_rules(found, draft, by_blocks, columns)
        for reason, changed in draft.changes[:of_units]:
            found[changed] = reason
        if prediction.removed is not None:
            # Blocks of the template are kept with the units around them, or at the threshold 0.
            is_likely = prediction.scores >= np.float32(policy.threshold)
            found[prediction.removed & ~draft.by_score & is_likely] = Reason.TEMPLATE
        if scored.declared is not None:
            found[scored.declared & draft.by_score] = Reason.DECLARED
        for reason, changed in draft.changes[of_units:]:
            found[changed] = reason
        return tuple(found.tolist())

    # Labels refer to the draft, and it must not refer to them, or only a garbage collection would free the page.
    labels, draft.labels = draft.labels, None
    return Decision(
        prediction.scores, draft.scores, draft.kept, LazySequence(len(by_blocks), reasons),
        draft.by_score & ~draft.kept, labels, certain, tuple(remarks), draft.posts,
    )  # fmt: skip


def _reaching(page: Scoring, outline: Outline) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks reach the threshold, together with the code or the data table around them."""
    # Compared as float32, so that a block whose score equals the threshold is kept.
    scores, threshold = page.scores, np.float32(page.policy.threshold)
    if page.policy.rule != "expected_f1":
        return mean_over_units(scores, outline, tables=False) >= threshold
    if page.prediction.removed is not None:
        return mean_over_units(scores, outline) >= threshold
    if threshold > HALF:
        # Scores are relative to the page: certain text may score little more than 0.5. So the blocks that the model
        # keeps reach a larger threshold with their probabilities too.
        scores = np.where(scores >= HALF, np.maximum(scores, page.probabilities), scores)
    return scores >= threshold


def _confidence(page: Draft) -> float:
    """Return the confidence in what scores keep and no rule removes, without labels that are included or excluded."""
    if page.has_units and page.prediction.matrix is not None:
        probabilities = page.probabilities
        if page.kept is not page.by_score:
            probabilities = np.where(page.by_score & ~page.kept, np.float32(0), probabilities)
        return predicted_f1(probabilities, page.kept, page.prediction.matrix.context.words)
    return confidence(page.scores, page.by_score, page.words)


def _checked(prediction: Prediction, n_blocks: int) -> Prediction:
    """Return a prediction whose scores are legal with scores in 32 bits; a custom extractor may give any."""
    scores = np.asarray(prediction.scores)
    is_column = scores.shape == (n_blocks,) and scores.dtype.kind in "bfiu"
    if not is_column or (n_blocks and not (np.minimum.reduce(scores) >= 0 and np.maximum.reduce(scores) <= 1)):
        found = f"numbers from {scores.min()} to {scores.max()}" if is_column else f"{scores.dtype} {scores.shape}"
        raise UsageError(f"an extractor must score each of {n_blocks} blocks by a number from 0 to 1, got {found}")
    as_float = scores.astype(np.float32, copy=False)
    return prediction if as_float is prediction.scores else replace(prediction, scores=as_float)


def _by_threshold(page: Draft, kept: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return (n_blocks,) reasons of the blocks kept by a threshold, and by mean scores of code."""
    found: NDArray[np.object_] = np.empty(len(kept), dtype=object)
    found[kept], found[~kept] = Reason.ABOVE_THRESHOLD, Reason.BELOW_THRESHOLD
    changed = kept != (page.scores >= np.float32(page.policy.threshold))
    found[changed & ~kept] = Reason.REMOVED_WITH_CODE
    if not page.has_units:
        found[changed & kept] = Reason.KEPT_WITH_CODE
    return found


def _name_rules(
    found: NDArray[np.object_], page: Draft, kept: NDArray[np.bool_], columns: PolicyColumns | None
) -> None:
    """Write the reasons of blocks that would be decided otherwise without a rule, in place."""
    for reason, without in WITHOUT.items():
        policy: DecisionPolicy = replace(page.policy, **dict[str, Any](without))
        if policy != page.policy and not kept.all():
            scores = scored_page(policy, page.prediction, columns).scores
            found[~kept & (scores >= np.float32(page.policy.threshold))] = reason
    for elements, keeping, removing in (
        (page.outline.code, Reason.KEPT_WITH_CODE, Reason.REMOVED_WITH_CODE),
        (page.outline.data_table, Reason.KEPT_WITH_TABLE, Reason.REMOVED_WITH_TABLE),
    ):
        if elements is not None:
            is_likely = page.probabilities >= HALF
            found[(elements >= 0) & (found == Reason.ABOVE_THRESHOLD) & ~is_likely] = keeping
            found[(elements >= 0) & (found == Reason.BELOW_THRESHOLD) & is_likely] = removing


def confidence(scores: NDArray[np.float32], kept: NDArray[np.bool_], n_words: NDArray[np.int32]) -> float:
    """Compute the expected fraction of words decided correctly, if scores are probabilities.

    0 for a page without words.

    Examples
    --------
    >>> round(confidence(np.array([.2, .9], np.float32), np.array([False, True]), np.array([10, 30], np.int32)), 3)
    0.875
    """
    total = int(np.add.reduce(n_words))
    return float(np.add.reduce(np.where(kept, scores, 1 - scores) * n_words) / total) if total else 0.0


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
    both = float(np.add.reduce(words[kept]) + np.add.reduce(expected))
    return 2 * float(np.add.reduce(expected[kept])) / both if both > 0 else 0.0


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
