"""Hidden elements whose text is visible elsewhere on the page."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.decision.copies import hidden_blocks, hidden_copies
from blockml.decision.decide import decide
from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.extractors.matrix import page_matrix
from blockml.page import Reason

STORY = "Cats rule the world, and nobody has ever asked them whether they like it at all."


def copies(html: str) -> list[bool]:
    """Return for each block whether it is a hidden copy."""
    found: list[bool] = hidden_copies(blockml.parse(html)).tolist()
    return found


@pytest.mark.parametrize("mark", ["hidden", "style='display: none'", "style=visibility:hidden"])
def test_a_copy_is_hidden_by_an_attribute_or_a_style(mark: str) -> None:
    """A hidden copy is found even if its text is split into other lines."""
    assert copies(f"<p>{STORY}<div {mark}><p>{STORY[:40]}<p>{STORY[40:]}</div>") == [False, True, True]


def test_half_of_the_word_sequences_are_enough() -> None:
    """Hidden text is a copy if half of its word sequences are visible; other hidden text may be shown by a click."""
    assert copies(f"<p>{STORY}<div hidden>{STORY} They sleep all day long.</div>") == [False, True]
    assert copies(f"<p>{STORY}<div hidden>{STORY[:30]} They sleep all day long, and hunt at night.</div>") == [
        False,
        False,
    ]


def test_text_without_a_visible_copy_is_kept() -> None:
    """Text that is only hidden isn't a copy, and neither are texts of one or two words."""
    assert copies(f"<div hidden>{STORY}</div><div hidden>{STORY}</div>") == [False, False]
    assert copies("<p>Read more<div hidden>Read more</div>") == [False, False]


def test_the_outermost_hidden_element_is_compared() -> None:
    """A hidden element inside another one isn't compared separately."""
    long = "Nothing of this is on the page elsewhere, neither this sentence nor the one that follows after it."
    assert copies(f"<p>{STORY}<div hidden><p>{long}<div hidden>{STORY}</div></div>") == [False, False, False]


def test_pages_without_hidden_text() -> None:
    """Pages without hidden text or without blocks have no copies."""
    assert hidden_blocks(blockml.parse(f"<p>{STORY}")) is None
    assert copies("") == []


def test_the_visible_text_is_kept_instead_of_its_copy() -> None:
    """The visible text is kept even if its copy is more probable, and the copy is removed as a duplicate."""
    page = blockml.parse(f"<div hidden><p>{STORY}</p></div><p>{STORY}")
    prediction = Prediction(np.array([0.95, 0.8], np.float32), matrix=page_matrix(page, "page"))
    policy = DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0)
    assert decide(policy, page, prediction).kept.tolist() == [True, False]
    found = decide(DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0, hidden_copy_penalty=8.0), page, prediction)
    assert found.kept.tolist() == [False, True]
    assert found.reasons[0] is Reason.DUPLICATE
