"""The policy's fields and their legal values."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import pytest

from blockml.decision.policy import DecisionPolicy
from blockml.decision.rules import DECLARED, LAST, REMOVALS, SCORES, UNITS, Rule
from blockml.errors import ModelFormatError
from blockml.page import Reason


def test_defaults_are_legal_and_come_back() -> None:
    """The default policy is valid and survives a round trip through a model file's header."""
    policy = DecisionPolicy().check()
    assert DecisionPolicy.from_header(asdict(policy)) == policy


def test_defaults_of_missing_fields() -> None:
    """Missing fields get the values that keep the decisions of existing models unchanged."""
    assert asdict(DecisionPolicy.from_header({})) == {
        "rule": "threshold",
        "threshold": 0.5,
        "min_content_words": 0.0,
        "min_best_probability": 0.25,
        "form_best_probability": 0.0,
        "base_penalty": 0.0,
        "article_penalty": 0.0,
        "link_penalty": 0.0,
        "certain_p": 0.9,
        "min_certain_words": 120.0,
        "duplicate_penalty": 0.0,
        "same_context_factor": 0.25,
        "min_duplicate_words": 3,
        "sidebar_probability": 0.0,
        "comment_probability": 0.5,
        "named_comment_probability": 1.0,
        "declared_probability": 1.0,
        "hidden": "auto",
    }


@pytest.mark.parametrize("name", [item.name for item in fields(DecisionPolicy)])
@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf, 10**400, True, "1", None, [1]])
def test_illegal_values_are_refused(name: str, value: Any) -> None:
    """The error names the field."""
    with pytest.raises(ModelFormatError, match="rule" if name == "rule" else name):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {name: value})


@pytest.mark.parametrize("name", ["threshold", "sidebar_probability", "certain_p"])
def test_shares_are_at_most_one(name: str) -> None:
    """The error names the range."""
    with pytest.raises(ModelFormatError, match=rf"'{name}' must be between .* and 1, got 1.5"):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {name: 1.5})


def test_numbers_of_words_are_integers() -> None:
    """A fraction is refused, because the C extension compares integers."""
    with pytest.raises(ModelFormatError, match=r"'min_duplicate_words' must be a whole number, got 2.5"):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {"min_duplicate_words": 2.5})


def test_unknown_fields_are_refused_and_missing_ones_have_their_default() -> None:
    """Unknown fields of newer versions are refused, those of rules that are gone are ignored."""
    values = asdict(DecisionPolicy(link_penalty=1.0, base_penalty=0.5))
    with pytest.raises(ModelFormatError, match="unknown fields: new"):
        DecisionPolicy.from_header(values | {"new": 1})
    assert DecisionPolicy.from_header(values | {"neighbor_smoothing": 0.05}) == DecisionPolicy(**values)
    del values["link_penalty"]
    assert DecisionPolicy.from_header(values) == DecisionPolicy(base_penalty=0.5)


def test_each_field_and_each_reason_has_a_rule() -> None:
    """Every number of the policy that switches something, and every reason of this package, is in the list of rules."""
    listed: list[Rule[Any]] = [*SCORES, *DECLARED, *UNITS, *REMOVALS, *LAST]
    assert all(rule.why.endswith(".") for rule in listed)
    switches = [field for rule in listed for field in rule.without]
    assert len(switches) == len(set(switches))
    parameters = {"rule", "threshold", "hidden", "min_best_probability", "certain_p", "min_certain_words"}
    parameters |= {"same_context_factor", "min_duplicate_words"}
    assert {*switches} | parameters == {item.name for item in fields(DecisionPolicy)}
    reasons = {reason for rule in listed for reason in rule.reasons}
    of_scores = {Reason.ABOVE_THRESHOLD, Reason.BELOW_THRESHOLD}
    of_sites = {Reason.KEPT_BY_RULE, Reason.REMOVED_BY_RULE}
    assert reasons | of_scores | of_sites == {*Reason}
