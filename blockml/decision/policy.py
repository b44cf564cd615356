"""Parameters of the decision that follows from block probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from blockml.errors import ModelFormatError, UnknownNameError

__all__ = ["DecisionPolicy", "Rule"]

Rule: TypeAlias = Literal["threshold", "expected_f1"]
"""Rule by which blocks are kept. ``threshold``: scores are probabilities, and all pages have the same threshold.
``expected_f1``: each page has its own threshold, which maximises expected F1; scores are shifted so that it is 0.5."""


@dataclass(frozen=True, slots=True)
class DecisionPolicy:
    """Parameters of a decision; the defaults keep every block whose score reaches 0.5.

    Penalties are subtracted from log odds. Fields after ``threshold`` apply to the rule ``expected_f1`` only, except
    for the three penalties of blocks and ``comment_probability``, which any model with the needed predictors may use.

    Examples
    --------
    >>> DecisionPolicy(rule="expected_f1", link_penalty=1.0).check().link_penalty
    1.0
    """

    rule: Rule = "threshold"
    threshold: float = 0.5
    """Smallest score of a kept block, in (0, 1]."""
    min_content_words: float = 0.0
    """Expected words of content below which a page has no content, if ``min_predicted_f1`` is not reached either."""
    min_predicted_f1: float = 0.5
    """Predicted F1 below which a page has no content, if ``min_content_words`` is not reached either."""
    base_penalty: float = 0.0
    """Penalty of every block."""
    article_penalty: float = 0.0
    """Additional penalty of every block, times the probability that the page is an article: the content of articles is
    more clearly defined than that of lists and shops."""
    link_penalty: float = 0.0
    """Additional penalty of link blocks (at least half of their words linked) on pages with a body of certain running
    text. Teasers next to a text are all content or all boilerplate, while expected F1 assumes independent blocks."""
    certain_p: float = 0.9
    """Minimum probability of certain running text; see ``min_certain_words``."""
    min_certain_words: float = 120.0
    """Minimum words of certain running text, without a link block in between, that form the body of a page."""
    duplicate_penalty: float = 0.0
    """Penalty of duplicated lines, except for one line of each text: see :mod:`blockml.decision.duplicates`."""
    same_context_factor: float = 0.25
    """Fraction of ``duplicate_penalty`` for a duplicate within the same elements, such as rows of a table."""
    min_duplicate_words: int = 3
    """Minimum words of a line that is compared with others."""
    neighbor_smoothing: float = 0.0
    """Weight of the neighbouring lines in the log odds of a line, in [0, 1]: content is contiguous."""
    negative_shrinkage: float = 0.0
    """Fraction by which negative log odds are shrunk on pages that are not articles, in [0, 1]. Errors on lists and
    shops are dependent: similar blocks are all content or all boilerplate."""
    min_p_article: float = 0.1
    """Probability of being an article below which ``negative_shrinkage`` applies."""
    comment_probability: float = 0.5
    """Minimum probability of a reader's comment, which is removed on pages that are not forums."""

    def check(self) -> DecisionPolicy:
        """Return the policy if every field is in its range.

        Raises
        ------
        ModelFormatError
            A field has the wrong type or is out of range; the message names field and range.
        """
        for name, value in asdict(self).items():
            if name == "rule":
                if value not in get_args(Rule):
                    raise ModelFormatError(str(UnknownNameError("rule", str(value), get_args(Rule))))
                continue
            low, high = _RANGES.get(name, (0.0, MAX_LOG_ODDS))
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise ModelFormatError(f"policy field {name!r} must be between {low:g} and {high:g}, got {value!r}")
        return self

    @classmethod
    def from_header(cls, values: Mapping[str, Any]) -> DecisionPolicy:
        """Read a policy from the header of a model file, written by ``dataclasses.asdict``.

        Fields that are newer than the file have their defaults, which do not change decisions.

        Raises
        ------
        ModelFormatError
            A field is unknown, or its value is out of range.
        """
        if unknown := sorted({*values} - {*cls.__dataclass_fields__}):
            raise ModelFormatError(f"the policy has unknown fields: {', '.join(unknown)}")
        return cls(**values).check()


#: Largest penalty: more changes no decision and could overflow.
MAX_LOG_ODDS = 1e6
_SHARE = (0.0, 1.0)
#: Ranges of fields; of others, 0 to :data:`MAX_LOG_ODDS`.
_RANGES: Mapping[str, tuple[float, float]] = {
    "threshold": (math.ulp(0.0), 1.0),
    "min_content_words": (0.0, math.inf),
    "min_predicted_f1": _SHARE,
    "certain_p": _SHARE,
    "same_context_factor": _SHARE,
    "min_duplicate_words": (1.0, MAX_LOG_ODDS),
    "neighbor_smoothing": _SHARE,
    "negative_shrinkage": _SHARE,
    "min_p_article": _SHARE,
    "comment_probability": _SHARE,
}
