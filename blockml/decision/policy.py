"""The decision policy: all numbers between block probabilities and kept blocks, and the rules that change scores.

:data:`blockml.decision.rules.SCORES` lists these rules in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.decision.declared import is_form
from blockml.decision.hidden import is_most
from blockml.decision.lines import (
    WORDLESS_WEIGHT,
    duplicate_penalties,
    duplicated_lines,
    line_means,
    line_weights,
    smooth_lines,
    wordless_lines,
)
from blockml.decision.prediction import HALF, Prediction
from blockml.decision.units import compared_units, in_quotations, pooled_units
from blockml.errors import ModelFormatError, UnknownNameError
from blockml.features.page_context import GROUPINGS, BlockAmounts, PageContext
from blockml.page import Flag
from blockml.page.element_names import SIDEBARS, blocks_in
from blockml.page.lazy import Lazy
from blockml.predictors.base import log_odds, sigmoid
from blockml.predictors.page_features import expected_f1

__all__ = [
    "DecisionPolicy",
    "PolicyColumns",
    "Scoring",
    "ThresholdRule",
    "expect_certainty_of_forms",
    "keep_repeated_text",
    "lower_sidebars",
    "remove_template",
    "score_units",
    "score_wordless_lines",
]

ThresholdRule: TypeAlias = Literal["threshold", "expected_f1"]
"""Rule by which blocks are kept. ``threshold``: scores are probabilities, and all pages have the same threshold.
``expected_f1``: each page has its own threshold, which maximises expected F1; scores are shifted so that it is 0.5."""

Hidden: TypeAlias = Literal["auto", "keep", "drop"]
_NAMES: Mapping[str, tuple[str, ...]] = {"rule": get_args(ThresholdRule), "hidden": get_args(Hidden)}


@dataclass(frozen=True, slots=True)
class DecisionPolicy:
    """Parameters of a decision; the defaults keep every block whose score reaches 0.5.

    Penalties are subtracted from log odds. Fields after ``threshold`` apply to the rule ``expected_f1`` only, except
    for the two probabilities of comments, which any model with block types uses, and ``hidden``.

    Examples
    --------
    >>> DecisionPolicy(rule="expected_f1", link_penalty=1.0).check().link_penalty
    1.0
    """

    rule: ThresholdRule = "threshold"
    threshold: float = 0.5  #: Smallest score of a kept block, in (0, 1].
    #: Expected words of content below which a page has no content, if its most probable block does not reach
    #: ``min_best_probability`` either.
    min_content_words: float = 0.0
    min_best_probability: float = 0.25  #: Probability, after penalties: see ``min_content_words``.
    form_best_probability: float = 0.0  #: The same on pages that are forms, if it is larger.
    base_penalty: float = 0.0  #: Penalty of every block.
    #: Additional penalty of every block, times the probability that the page is an article: the content of articles is
    #: more clearly defined than that of lists and shops.
    article_penalty: float = 0.0
    #: Additional penalty of link blocks (at least half of their words linked) on pages that have a body: see
    #: ``min_certain_words``. Teasers beside a text are either all content or all boilerplate, but expected F1 assumes
    #: independent blocks.
    link_penalty: float = 0.0
    certain_p: float = 0.9  #: Minimum probability of a block that counts as certain; see ``min_certain_words``.
    #: Minimum words of a page's body: running text of probability ``certain_p`` or more, uninterrupted by link blocks.
    min_certain_words: float = 120.0
    #: Penalty of lines whose text occurs on the page more than once, except for one of them: see
    #: :mod:`blockml.decision.lines`. Not applied if it would remove most of the certain text.
    duplicate_penalty: float = 0.0
    #: Fraction of ``duplicate_penalty`` for a duplicate within the same elements, such as rows of a table.
    same_context_factor: float = 0.25
    min_duplicate_words: int = 3  #: Minimum words of a line that is compared with others.
    #: Weight of the neighbouring lines in the log odds of a line, in [0, 1]: content is contiguous.
    neighbor_smoothing: float = 0.0
    #: Fraction by which negative log odds are shrunk on pages that are not articles, in [0, 1]. Errors on lists and
    #: shops are dependent: similar blocks are all content or all boilerplate.
    negative_shrinkage: float = 0.0
    min_p_article: float = 0.1  #: Probability of being an article below which ``negative_shrinkage`` applies.
    #: Minimum probability of a kept block in an element whose class or id names a sidebar, if words elsewhere are kept.
    sidebar_probability: float = 0.0
    #: Minimum probability of a reader's comment, which is removed on pages that are not forums.
    comment_probability: float = 0.5
    #: The same in elements whose class is a comment word, or whose id starts with one, if words outside of them are
    #: kept.
    named_comment_probability: float = 1.0
    #: Minimum probability of a line whose score is 0.5 at least because the page declares its text: a part of a recipe,
    #: or the summary before an article. See :mod:`blockml.decision.declared`.
    declared_probability: float = 1.0
    #: Whether hidden text is kept. ``auto``: by the rule ``expected_f1``, only what a script reveals as content.
    hidden: Hidden = "auto"

    def check(self) -> DecisionPolicy:
        """Return the policy if every field is in its range.

        Raises
        ------
        ModelFormatError
            A field has the wrong type or is out of range; the message names field and range.
        """
        defaults = {item.name: item.default for item in fields(self)}
        for name, value in asdict(self).items():
            if name in _NAMES:
                if value not in _NAMES[name]:
                    raise ModelFormatError(str(UnknownNameError(name, str(value), _NAMES[name])))
                continue
            low, high = _RANGES.get(name, (0.0, MAX_LOG_ODDS))
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise ModelFormatError(f"policy field {name!r} must be between {low:g} and {high:g}, got {value!r}")
            if isinstance(defaults[name], int) and not isinstance(value, int):
                raise ModelFormatError(f"policy field {name!r} must be a whole number, got {value!r}")
        return self

    @classmethod
    def from_header(cls, values: Mapping[str, Any]) -> DecisionPolicy:
        """Read a policy from the header of a model file, written by ``dataclasses.asdict``.

        Fields that are newer than the file have their defaults, which do not change decisions. Those of rules that no
        longer exist are ignored.

        Raises
        ------
        ModelFormatError
            A field is unknown, or its value is out of range.
        """
        known = {name: value for name, value in values.items() if name not in _RETIRED}
        if unknown := sorted({*known} - {*cls.__dataclass_fields__}):
            raise ModelFormatError(f"the policy has unknown fields: {', '.join(unknown)}")
        return cls(**known).check()


_HIDDEN = int(Flag.HIDDEN)
#: Largest penalty or number of words: more changes no decision and could overflow.
MAX_LOG_ODDS = 1e6
_SHARE = (0.0, 1.0)
#: Fields of older files, of rules that changed no collection significantly.
_RETIRED = frozenset({"hidden_copy_penalty"})
#: Ranges of fields; of others, 0 to :data:`MAX_LOG_ODDS`.
_RANGES: Mapping[str, tuple[float, float]] = {
    "threshold": (math.ulp(0.0), 1.0),
    "min_best_probability": _SHARE,
    "form_best_probability": _SHARE,
    "certain_p": _SHARE,
    "same_context_factor": _SHARE,
    "min_duplicate_words": (1.0, MAX_LOG_ODDS),
    "neighbor_smoothing": _SHARE,
    "negative_shrinkage": _SHARE,
    "min_p_article": _SHARE,
    "sidebar_probability": _SHARE,
    "comment_probability": _SHARE,
    "named_comment_probability": _SHARE,
    "declared_probability": _SHARE,
}
#: Expected words before penalties, as a multiple of ``min_content_words``, up to which a page may have no content.
_FEW = 4
#: Minimum words and probability of running text on a page, for it not to be a form (our choices).
_MIN_TEXT, _MIN_TEXT_PROBABILITY = 50, np.float32(0.4)
#: Words in sidebars, as a multiple of those that stay, beyond which the name is wrong (our choice).
_MAX_REMOVED = 3


@dataclass(frozen=True, slots=True, eq=False)
class PolicyColumns:
    """Inputs of the policy besides probabilities: columns of the blocks of a page, (n_blocks,) each."""

    amounts: BlockAmounts
    unit: NDArray[np.intp]  #: Number of each block's unit: see :func:`blockml.decision.units.pooled_units`.
    text: NDArray[np.int64]  #: Number of the text of its copy: see :func:`blockml.decision.lines.duplicated_lines`.
    context: NDArray[np.integer]  #: Number of the group of copies whose first blocks have equal ancestors further up.
    #: (n_blocks,) which blocks are in sidebars; None: none are. Computed only if an improbable block is kept.
    sidebars: Lazy[NDArray[np.bool_]] | None = None
    #: (3, n) blocks of lines without words, and blocks before and after: see
    #: :func:`blockml.decision.lines.wordless_lines`. They have the lower score of these.
    wordless: NDArray[np.intp] | None = None
    #: Number of what is compared with other texts around each block: see
    #: :func:`blockml.decision.units.compared_units`; None: its unit.
    copy: NDArray[np.intp] | None = None
    #: Added to log odds to choose the copy that stays: 0, or negative in quotations and hidden text; None: all 0.
    preference: NDArray[np.float64] | None = None
    form: Lazy[bool] | None = None  #: Whether the page is a form; None: it isn't. Computed only if it has few words.

    @classmethod
    def of(cls, context: PageContext, policy: DecisionPolicy) -> PolicyColumns:
        """Compute the columns of a page."""
        outline = context.outline
        unit = pooled_units(outline)
        copy = compared_units(outline, unit)
        text = duplicated_lines(context.blocks, copy, policy.min_duplicate_words)
        # A copy has one group, so that a duplicate is penalised as a whole: code in a sentence is further down.
        groups = context.block_groups[GROUPINGS.index("far")]
        groups = groups[copy.searchsorted(copy)]
        preference = np.zeros(len(unit))
        if (quoted := in_quotations(outline)) is not None:
            preference[quoted] = -MAX_LOG_ODDS
        if context.blocks.any_flag(_HIDDEN):
            preference[(context.blocks.flags & _HIDDEN) > 0] = -MAX_LOG_ODDS
        return cls(
            context.amounts, unit, text, groups,
            copy=copy,
            preference=preference,
            sidebars=Lazy(partial(blocks_in, context.page, SIDEBARS)),
            wordless=wordless_lines(context.blocks, unit),
            form=Lazy(partial(is_form, context.page)),
        )  # fmt: skip

    @property
    def compared(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Columns ``copy`` and ``preference``, also where they are None."""
        return (
            self.unit if self.copy is None else self.copy,
            np.zeros(len(self.unit)) if self.preference is None else self.preference,
        )

    def detached(self) -> PolicyColumns:
        """Return the columns with all values computed, so that they no longer refer to the page."""
        for column in (self.sidebars, self.form):
            if column is not None:
                _ = column.value
        return self


@dataclass(slots=True, eq=False)
class Scoring:
    """The scores of a page while the rules change them, in order."""

    policy: DecisionPolicy
    prediction: Prediction
    columns: PolicyColumns
    has_units: bool  #: Whether the policy scores units; without, there are no columns.
    scores: NDArray[np.float32]  #: (n_blocks,) in [0, 1], with the page's own threshold at 0.5.
    #: (n_blocks,) lines that only reach the threshold because the page declares them; None without any.
    declared: NDArray[np.bool_] | None = None

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """(n_blocks,) probability of being content."""
        return self.prediction.scores


def expect_certainty_of_forms(page: Scoring) -> None:
    """Raise the probability that some block of a form must have, on pages with few likely words."""
    policy, probabilities, amounts, form = page.policy, page.probabilities, page.columns.amounts, page.columns.form
    if (
        form is not None
        and policy.form_best_probability > policy.min_best_probability
        and probabilities @ amounts.words < _FEW * policy.min_content_words
        and amounts.prose[probabilities >= _MIN_TEXT_PROBABILITY].sum() < _MIN_TEXT
        and form.value
    ):
        page.policy = replace(policy, min_best_probability=policy.form_best_probability)


def score_units(page: Scoring) -> None:
    """Score units by their mean log odds less the penalties, relative to the page's threshold of expected F1."""
    page.scores = _scores(page.policy, page.probabilities, page.columns, page.prediction.p_article)


def keep_repeated_text(page: Scoring) -> None:
    """Score without the penalty of duplicates where it removes most of the certain text."""
    is_repeated = page.columns.text >= 0
    if page.policy.duplicate_penalty and np.count_nonzero(is_repeated):
        kept, certain = page.scores >= HALF, page.probabilities >= np.float32(page.policy.certain_p)
        if is_most(certain & ~kept & is_repeated, lambda: certain & kept, page.columns.amounts.words):
            page.policy = replace(page.policy, duplicate_penalty=0.0)
            score_units(page)


def lower_sidebars(page: Scoring) -> None:
    """Lower the scores of improbable blocks in sidebars below 0.5, if enough words elsewhere are kept.

    Examples
    --------
    >>> amounts = BlockAmounts(np.array([100., 30., 50.]), np.zeros(3), np.zeros(3))
    >>> inside = Lazy(lambda: np.array([False, True, True]))
    >>> columns = PolicyColumns(amounts, np.arange(3), np.full(3, -1), np.zeros(3, int), sidebars=inside)
    >>> scores = np.array([.9, .6, .8], np.float32)
    >>> page = Scoring(DecisionPolicy(sidebar_probability=.7), Prediction(scores), columns, True, scores)
    >>> lower_sidebars(page)
    >>> page.scores.round(2).tolist()
    [0.8999999761581421, 0.4300000071525574, 0.800000011920929]
    """
    sidebars, words, least = page.columns.sidebars, page.columns.amounts.words, page.policy.sidebar_probability
    kept, improbable = page.scores >= HALF, page.probabilities < np.float32(least)
    if sidebars is None or not np.count_nonzero(kept & improbable):
        return
    inside = sidebars.value
    if not np.count_nonzero(inside):  # the usual case
        return
    removed = inside & improbable
    if words[kept & ~inside].any() and words[kept & removed].sum() <= _MAX_REMOVED * words[kept & ~removed].sum():
        # Below 0.5, in the order of their probabilities.
        lowered = np.minimum(page.scores, page.probabilities / np.float32(2 * least))
        page.scores = np.where(removed, lowered, page.scores)


def score_wordless_lines(page: Scoring) -> None:
    """Give lines without words the lower score of the lines around them."""
    if page.columns.wordless is not None:
        rows, before, after = page.columns.wordless
        page.scores[rows] = np.minimum(page.scores[before], page.scores[after])


def remove_template(page: Scoring) -> None:
    """Set the scores of the site's template to 0."""
    if page.prediction.removed is not None:
        page.scores = np.where(page.prediction.removed, np.float32(0), page.scores)


def _scores(
    policy: DecisionPolicy, probabilities: NDArray[np.float32], columns: PolicyColumns, p_article: float | None
) -> NDArray[np.float32]:
    """Score blocks without regard to sidebars."""
    words = columns.amounts.words
    penalty = min(policy.base_penalty + policy.article_penalty * (p_article or 0.0), MAX_LOG_ODDS)
    if _kernel.compiled is not None:
        return _compiled(_kernel.compiled, policy, probabilities, columns, penalty, p_article)
    weight = line_weights(words)
    lowered = log_odds(probabilities) - _with_links(policy, probabilities, columns.amounts, penalty)
    means, weights = line_means(lowered, weight, columns.unit)
    of_line = smooth_lines(means, weights, policy.neighbor_smoothing)
    if policy.negative_shrinkage and p_article is not None and p_article < policy.min_p_article:
        against = of_line + penalty
        of_line = np.where(against < 0, against * (1 - policy.negative_shrinkage) - penalty, of_line)
    final = of_line[columns.unit]
    if policy.duplicate_penalty:
        copy, preference = columns.compared
        duplicates = duplicate_penalties(
            final, copy, columns.text, columns.context, preference,
            penalty=min(policy.duplicate_penalty, MAX_LOG_ODDS),
            same_context_factor=policy.same_context_factor,
        )  # fmt: skip
        if duplicates is not None:
            final -= duplicates
    return sigmoid(final - _page_threshold(policy, final, words))


def _compiled(
    compiled: _kernel.Compiled,
    policy: DecisionPolicy,
    probabilities: NDArray[np.float32],
    columns: PolicyColumns,
    penalty: float,
    p_article: float | None,
) -> NDArray[np.float32]:
    """Score blocks by the C extension."""
    not_article = p_article is not None and p_article < policy.min_p_article
    duplicate_penalty = min(policy.duplicate_penalty, MAX_LOG_ODDS)
    numbers = {
        "penalty": penalty,
        "link_penalty": min(penalty + policy.link_penalty, MAX_LOG_ODDS),
        "certain_p": policy.certain_p,
        "min_certain_words": policy.min_certain_words,
        "wordless_weight": WORDLESS_WEIGHT,
        "neighbor_smoothing": policy.neighbor_smoothing,
        "negative_shrinkage": policy.negative_shrinkage if not_article else 0.0,
        "duplicate_penalty": duplicate_penalty,
        "same_context_penalty": policy.same_context_factor * duplicate_penalty,
        "min_content_words": policy.min_content_words,
        "min_best_probability": policy.min_best_probability,
    }
    scores = np.empty(len(probabilities), dtype=np.float32)
    copy, preference = columns.compared
    arrays: _kernel.Arrays = {
        "probabilities": np.ascontiguousarray(probabilities),
        "words": columns.amounts.words,
        "linked": columns.amounts.linked,
        "prose": columns.amounts.prose,
        "unit": np.ascontiguousarray(columns.unit, np.int64),
        "copy": np.ascontiguousarray(copy, np.int64),
        "preference": preference,
        "text": np.ascontiguousarray(columns.text, np.int64),
        "context": np.ascontiguousarray(columns.context, np.int64),
        "scores": scores,
    }
    compiled.policy_scores(arrays, numbers)
    return scores


def _with_links(
    policy: DecisionPolicy, probabilities: NDArray[np.float32], amounts: BlockAmounts, penalty: float
) -> float | NDArray[np.float64]:
    """Return the penalty of all blocks, or (n_blocks,) penalties, larger for link blocks next to running text."""
    if not policy.link_penalty:
        return penalty
    words, linked, prose = amounts
    links = 2 * linked >= np.maximum(words, 1)
    # Words of certain running text from one link block to the next.
    certain = prose * (probabilities >= np.float32(policy.certain_p))
    if np.bincount(links.cumsum(), certain).max() < policy.min_certain_words:
        return penalty
    return np.where(links, min(penalty + policy.link_penalty, MAX_LOG_ODDS), penalty)


def _page_threshold(policy: DecisionPolicy, final: NDArray[np.float64], words: NDArray[np.float64]) -> float:
    """Return the log odds threshold that maximises expected F1; above all log odds if the page has no content."""
    probabilities = sigmoid(final)
    value, _ = expected_f1(probabilities, words)
    best = int(final.argmax())
    beyond = float(final[best]) + 1
    if (
        float(probabilities[best]) < policy.min_best_probability
        and float((words * probabilities).cumsum()[-1]) < policy.min_content_words
    ):
        return beyond
    kept = final[probabilities >= value]
    return min(float(kept.min()), beyond) if len(kept) else beyond  # without words no block is kept
