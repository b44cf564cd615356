"""The policy's fields and their legal values."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import pytest

from blockml.decision.policy import DecisionPolicy
from blockml.errors import ModelFormatError


def test_defaults_are_legal_and_come_back() -> None:
    """The defaults pass the check and survive a model file's header."""
    policy = DecisionPolicy().check()
    assert DecisionPolicy.from_header(asdict(policy)) == policy


@pytest.mark.parametrize("name", [item.name for item in fields(DecisionPolicy)])
@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf, 10**400, True, "1", None, [1]])
def test_illegal_values_are_refused(name: str, value: Any) -> None:
    """The message names the field."""
    with pytest.raises(ModelFormatError, match="rule" if name == "rule" else name):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {name: value})


@pytest.mark.parametrize("name", ["threshold", "neighbor_smoothing", "negative_shrinkage", "certain_p"])
def test_shares_are_at_most_one(name: str) -> None:
    """The message names the range."""
    with pytest.raises(ModelFormatError, match=rf"'{name}' must be between .* and 1, got 1.5"):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {name: 1.5})


def test_numbers_of_words_in_a_line_are_whole() -> None:
    """Lines are compared by an integer in the C extension."""
    with pytest.raises(ModelFormatError, match=r"'min_duplicate_words' must be a whole number, got 2.5"):
        DecisionPolicy.from_header(asdict(DecisionPolicy()) | {"min_duplicate_words": 2.5})


def test_unknown_fields_are_refused_and_missing_ones_have_their_default() -> None:
    """A model file is older than fields that were added since; what a newer file means is not guessed at."""
    values = asdict(DecisionPolicy(link_penalty=1.0, base_penalty=0.5))
    with pytest.raises(ModelFormatError, match="unknown fields: new"):
        DecisionPolicy.from_header(values | {"new": 1})
    del values["link_penalty"]
    assert DecisionPolicy.from_header(values) == DecisionPolicy(base_penalty=0.5)
