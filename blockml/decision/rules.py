"""The rules of a decision, in the order in which they apply.

A decision begins with the probabilities of blocks. :data:`SCORES` turns them into scores, which are relative to the
page, and :data:`DECLARED` raises some. Blocks whose scores reach the threshold are kept. :data:`UNITS` completes what
is kept, :data:`REMOVALS` takes out what isn't content however probable it is, and :data:`LAST` follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from blockml.decision.comments import choose_labels, complete_threads, remove_comments
from blockml.decision.declared import declares_article, has_running_text, keep_declared_lines
from blockml.decision.hidden import remove_hidden
from blockml.decision.policy import (
    DecisionPolicy,
    PolicyColumns,
    Scoring,
    expect_certainty_of_forms,
    keep_repeated_text,
    lower_sidebars,
    remove_template,
    score_units,
    score_wordless_lines,
)
from blockml.decision.prediction import HALF, Draft, Prediction
from blockml.decision.units import (
    complete_captions,
    complete_headings,
    complete_lines,
    complete_lists,
    complete_notes,
    complete_sentences,
    complete_tables,
)
from blockml.page import Reason

__all__ = [
    "DECLARED",
    "LAST",
    "REMOVALS",
    "SCORES",
    "UNITS",
    "WITHOUT",
    "Rule",
    "apply_in_order",
    "score_blocks",
    "scored_page",
]

State = TypeVar("State", Scoring, Draft)


@dataclass(frozen=True, slots=True)
class Rule(Generic[State]):
    """A rule of the decision; it is left out by taking it out of its list, or by the values of ``without``."""

    why: str  #: What it does, when, and why.
    #: What page F1 loses without it, over 1,655 pages of seven collections that the model was not trained on
    #: (``python -m research.benchmarks.policy``), and on others where it matters there.
    gain: str
    #: Changes a page in place. None: the rule is a term of the formula that ``score_units`` computes.
    apply: Callable[[State], None] | None
    reasons: tuple[Reason, ...] = ()  #: Reasons of the blocks that it changes.
    #: Fields of the policy that only this rule reads, with values that disable it.
    without: Mapping[str, float] = field(default_factory=dict)
    always: bool = False  #: Whether it also applies by policies whose rule is ``threshold``.


def apply_in_order(rules: Sequence[Rule[State]], page: State) -> None:
    """Apply rules to a page, in order."""
    has_units = page.has_units
    for rule in rules:
        if rule.apply is not None and (has_units or rule.always):
            rule.apply(page)


def scored_page(policy: DecisionPolicy, prediction: Prediction, columns: PolicyColumns | None) -> Scoring:
    """Return the scores of a page by the rules of :data:`SCORES`, given columns if the policy scores units."""
    page = Scoring(policy, prediction, cast("PolicyColumns", columns), columns is not None, prediction.scores)
    if len(page.scores):
        apply_in_order(SCORES, page)
        page.policy = policy
    return page


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
    >>> from blockml.features.page_context import BlockAmounts
    >>> amounts = BlockAmounts(np.array([100., 30., 500.]), np.zeros(3), np.zeros(3))
    >>> columns = PolicyColumns(amounts, np.arange(3), np.full(3, -1), np.zeros(3, int))
    >>> policy = DecisionPolicy(rule="expected_f1", min_content_words=200)
    >>> score_blocks(policy, np.array([.9, .4, .1], np.float32), columns, None).round(2).tolist()
    [0.9300000071525574, 0.5, 0.14000000059604645]
    >>> bool((score_blocks(policy, np.array([.1, .04, .01], np.float32), columns, None) < 0.5).all())
    True
    """
    return scored_page(policy, Prediction(probabilities, p_article=p_article), columns).scores


def _rescue_declared_articles(page: Scoring) -> None:
    """Score a page again that declares an article and would be empty."""
    policy, prediction = page.policy, page.prediction
    if not np.count_nonzero(page.scores >= HALF) and declares_article(prediction):
        # There is some content, or at least the page is not a form.
        field = "min_content_words" if has_running_text(prediction) else "form_best_probability"
        changes: dict[str, Any] = {field: 0.0}
        page.policy = replace(policy, **changes)
        page.scores = scored_page(page.policy, prediction, page.columns).scores


SCORES: tuple[Rule[Scoring], ...] = (
    Rule("Forms have text, but hardly any content: some block must be certain.", "+.0001, pools +.0105",
         expect_certainty_of_forms, (Reason.NO_CONTENT,), {"form_best_probability": 0}),
    Rule("All blocks are penalised a little: wrong words cost more than missing ones.", "+.0010",
         None, (), {"base_penalty": 0}),
    Rule("Blocks of articles are penalised more, because the content of articles is more clearly defined than that of "
         "lists and shops.", "+.0001, Big9 +.0016", None, (), {"article_penalty": 0}),
    Rule("Link blocks on pages with a body of certain running text are penalised: teasers beside a text are all "
         "content or all boilerplate, while expected F1 assumes independent blocks.", "+.0007",
         None, (Reason.LINK,), {"link_penalty": 0}),
    Rule("Lines are mixed with their neighbours: content is contiguous.", "+.0001, WCXB +.0007; data/ +.0003",
         None, (), {"neighbor_smoothing": 0}),
    Rule("Negative log odds are shrunk on pages that are not articles: errors on lists and shops are dependent.",
         "-.0002, pools -.0039, WCXB +.0018; data/ +.0009", None, (), {"negative_shrinkage": 0}),
    Rule("Copies of a text are penalised, except for the most probable one: a page has variants for small and wide "
         "screens.", "+.0002, WCXB +.0071", None, (Reason.DUPLICATE,), {"duplicate_penalty": 0}),
    Rule("A page without a probable block and with few expected words has no content.", "+.0005, pools +.0261",
         None, (Reason.NO_CONTENT,), {"min_content_words": 0}),
    Rule("Lines, code and data tables are scored as a whole, relative to a threshold that maximises expected F1.", "",
         score_units,
         (Reason.KEPT_WITH_CODE, Reason.REMOVED_WITH_CODE, Reason.KEPT_WITH_TABLE, Reason.REMOVED_WITH_TABLE)),
    Rule("Repeated text stays if it is most of the certain text: rows of a table repeat values.",
         "one page of the pools", keep_repeated_text),
    Rule("Improbable blocks in elements that are named sidebars go, if words elsewhere are kept.", "+.0010",
         lower_sidebars, (Reason.SIDEBAR,), {"sidebar_probability": 0}),
    Rule("Lines without words, such as brackets of code, follow the lines around them.", "no words",
         score_wordless_lines),
    Rule("The template of the site is not content.", "only with a template",
         remove_template, (Reason.TEMPLATE,), always=True),
)  # fmt: skip
"""Rules that change scores."""

DECLARED: tuple[Rule[Scoring], ...] = (
    Rule("A page that declares an article is not empty.", "+.0004", _rescue_declared_articles),
    Rule("Lines that the page declares are kept: parts of a recipe, and the summary of an article.", "+.0003",
         keep_declared_lines, (Reason.DECLARED,), {"declared_probability": 1}),
)  # fmt: skip
"""Rules that read declarations."""

UNITS: tuple[Rule[Draft], ...] = (
    Rule("A data table is kept if the probabilities of half of its words reach the threshold.", "-.0001",
         complete_tables, (Reason.KEPT_WITH_TABLE,)),
    Rule("A plain list is kept whole or left out whole.", "+.0000",
         complete_lists, (Reason.KEPT_WITH_LIST, Reason.REMOVED_WITH_LIST)),
    Rule("A line that announces something and what it announces need each other.", "+.0000", complete_lines,
         (Reason.KEPT_WITH_LEAD_IN, Reason.KEPT_WITH_LIST, Reason.KEPT_WITH_LABEL, Reason.KEPT_WITH_VALUE)),
    Rule("The caption of a kept table, listing or quotation stays.", "+.0000", complete_captions,
         (Reason.KEPT_WITH_VALUE,)),
    Rule("A sentence has no hole.", "-.0000", complete_sentences, (Reason.KEPT_WITH_SENTENCE,)),
    Rule("A footnote stays with its mark.", "+.0000", complete_notes, (Reason.KEPT_WITH_MARK,)),
    Rule("A heading and its text need each other.", "-.0001", complete_headings,
         (Reason.KEPT_WITH_TEXT, Reason.KEPT_WITH_HEADING, Reason.REMOVED_WITH_TEXT)),
)  # fmt: skip
"""Rules that complete units of meaning; they are judged by what a reader loses (``research.benchmarks.whole``)."""

REMOVALS: tuple[Rule[Draft], ...] = (
    Rule("Readers' comments go, except from forums and pages that are about them.", "+.0108", remove_comments,
         (Reason.COMMENT,), {"comment_probability": 1, "named_comment_probability": 1}, always=True),
    Rule("What no reader sees goes.", "+.0004", remove_hidden, (Reason.HIDDEN,), always=True),
)  # fmt: skip
"""Rules that remove what scores keep; the confidence is that of what is then kept."""

LAST: tuple[Rule[Draft], ...] = (
    Rule("The posts of a thread are completed, without profiles and buttons.", "+.0000, WCXB +.0006",
         complete_threads, (Reason.KEPT_WITH_POST, Reason.REMOVED_WITH_POST)),
    Rule("Labels that a caller includes or excludes.", "",
         choose_labels, (Reason.ASKED_FOR, Reason.EXCLUDED), always=True),
)  # fmt: skip
"""Rules that follow."""


def _fields_by_reason() -> Mapping[Reason, Mapping[str, float]]:
    """Return the fields of the policy that lower scores, with values that disable them, by the reason."""
    found: dict[Reason, dict[str, float]] = {}
    for rule in SCORES:
        for reason in rule.reasons if rule.without else ():
            found.setdefault(reason, {}).update(rule.without)
    return found


WITHOUT = _fields_by_reason()
"""Fields of the policy that lower scores, with values that disable them, by the reason of removed blocks."""
