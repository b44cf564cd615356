"""The numbers that turn block probabilities into a decision, in one frozen place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from blockml.errors import ModelFormatError, UnknownNameError

__all__ = ["DecisionPolicy", "Rule"]

Rule: TypeAlias = Literal["threshold", "expected_f1"]
"""How scores become a decision. ``threshold``: scores are probabilities, and one threshold serves all pages.
``expected_f1``: each page has a threshold of its own, where the expected F1 of the kept blocks is best; scores are
moved so that it lies at 0.5."""


@dataclass(frozen=True, slots=True)
class DecisionPolicy:
    """Parameters of a decision; the defaults keep every block whose score reaches 0.5.

    Penalties are subtracted from log odds. Fields below ``threshold`` apply to the rule ``expected_f1`` alone, but for
    the three penalties of blocks and ``comment_probability``, which any model with the predictors they need may use.

    Examples
    --------
    >>> DecisionPolicy(rule="expected_f1", link_penalty=1.0).check().link_penalty
    1.0
    """

    rule: Rule = "threshold"
    threshold: float = 0.5
    """Score from which on a block is kept, in (0, 1]."""
    min_content_words: float = 0.0
    """A page whose expected words of content and predicted F1 are both below these two limits has no content: what
    would be kept is more likely wrong than right."""
    min_predicted_f1: float = 0.5
    base_penalty: float = 0.0
    """Penalty of every block."""
    article_penalty: float = 0.0
    """Additional penalty of every block, times the probability that the page is an article: what counts as the content
    of an article is clearer than that of a list or a shop."""
    link_penalty: float = 0.0
    """Additional penalty of link blocks (half of their words linked or more) on pages with a certain body of running
    text. Teasers beside a text are content together or not at all, while expected F1 takes blocks as independent."""
    certain_p: float = 0.9
    """Probability from which on running text is certain; see ``min_certain_words``."""
    min_certain_words: float = 120.0
    """Words of certain running text, without a link block in between, that make the body of a page."""
    duplicate_penalty: float = 0.0
    """Penalty of lines whose text stands on the page more than once, but for the one that stays: see
    :mod:`blockml.decision.duplicates`."""
    same_context_factor: float = 0.25
    """Share of ``duplicate_penalty`` for a duplicate within the same elements, such as rows of a table."""
    min_duplicate_words: int = 3
    """Words of a line from which on it can be a duplicate."""
    neighbor_smoothing: float = 0.0
    """Weight of the neighbouring lines in the log odds of a line, in [0, 1]: content lies together."""
    negative_shrinkage: float = 0.0
    """Share by which negative log odds are shrunk on pages that are no articles, in [0, 1]. Errors on lists and shops
    are not independent: similar blocks are content together or not at all."""
    min_p_article: float = 0.1
    """Probability of being an article below which a page counts as none, for ``negative_shrinkage``."""
    comment_probability: float = 0.5
    """Probability from which on a block is a reader's comment, which is left out on pages that are no forums."""

    def check(self) -> DecisionPolicy:
        """Return the policy itself if every field has a legal value.

        Raises
        ------
        ModelFormatError
            A field has another type or is outside its range; the message names both.
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
        """Read the policy that ``dataclasses.asdict`` wrote into a model file.

        A field that is newer than the file has its default, with which policies decide as before.

        Raises
        ------
        ModelFormatError
            A field is unknown, or its value is not legal.
        """
        if unknown := sorted({*values} - {*cls.__dataclass_fields__}):
            raise ModelFormatError(f"the policy has unknown fields: {', '.join(unknown)}")
        return cls(**values).check()


#: Log odds beyond this change nothing, and larger ones could overflow.
MAX_LOG_ODDS = 1e6
_SHARE = (0.0, 1.0)
#: Legal values of fields other than 0 … :data:`MAX_LOG_ODDS`.
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
