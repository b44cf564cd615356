"""Texts that occur more than once on a page, and sidebars."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.decision import DecisionPolicy, Prediction
from blockml.decision.decide import decide
from blockml.extractors import page_matrix
from blockml.page import Reason

STORY = "Cats rule the world, and nobody has ever asked them whether they like it at all."


@pytest.mark.parametrize("mark", ["hidden", "style='display: none'", "style=visibility:hidden"])
def test_the_visible_text_is_kept_instead_of_its_hidden_copy(mark: str) -> None:
    """The visible text is kept even if its copy is more probable, and the copy is removed as a duplicate."""
    page = blockml.parse(f"<div {mark}><p>{STORY}</p></div><section><div><p>{STORY}")
    prediction = Prediction(np.array([0.85, 0.8], np.float32), matrix=page_matrix(page, "page"))
    found = decide(DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0), page, prediction)
    assert found.kept.tolist() == [False, True]
    assert found.reasons[0] is Reason.DUPLICATE


def kept(html: str, probability: float, policy: DecisionPolicy) -> list[bool]:
    """Which blocks are kept if all have one probability."""
    page = blockml.parse(html)
    scores = np.full(len(page.blocks), probability, np.float32)
    found: list[bool] = decide(policy, page, Prediction(scores, matrix=page_matrix(page, "page"))).kept.tolist()
    return found


@pytest.mark.parametrize(("n_rows", "n_kept"), [(2, 1), (3, 3)])
def test_values_of_a_table_are_not_copies(n_rows: int, n_kept: int) -> None:
    """Duplicates stay if the certain ones that would go have more words than those that stay."""
    rows = "".join(f"<div class=row-{number}><p><i>Board of Education meets</i></p></div>" for number in range(n_rows))
    policy = DecisionPolicy(rule="expected_f1", duplicate_penalty=9.0)
    assert kept(rows, 0.95, policy) == [number < n_kept for number in range(n_rows)]
    assert kept(rows, 0.85, policy) == [number < 1 for number in range(n_rows)]  # none is certain


@pytest.mark.parametrize(("n_words", "stays"), [(30, False), (31, True)])
def test_a_sidebar_with_most_of_the_text_is_none(n_words: int, stays: bool) -> None:  # noqa: FBT001
    """If it has more than three times as many words as the rest."""
    policy = DecisionPolicy(rule="expected_f1", sidebar_probability=0.7)
    html = f"<p>{'word ' * 10}</p><div class=sidebar><p>{'term ' * n_words}</div>"
    page = blockml.parse(html)
    prediction = Prediction(np.array([0.8, 0.6], np.float32), matrix=page_matrix(page, "page"))
    assert decide(policy, page, prediction).kept.tolist() == [True, stays]
