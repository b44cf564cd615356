"""Hidden elements whose text is visible elsewhere on the page."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.decision.decide import decide
from blockml.decision.hidden import hidden_blocks, hidden_copies
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


@pytest.mark.parametrize("visible", [0.8, 0.9])
def test_the_visible_text_is_kept_instead_of_its_copy(visible: float) -> None:
    """The visible text is kept even if its copy is more probable, and the copy is removed as a duplicate."""
    page = blockml.parse(f"<div hidden><p>{STORY}</p></div><p>{STORY}")
    prediction = Prediction(np.array([0.95, visible], np.float32), matrix=page_matrix(page, "page"))
    policy = DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0)
    assert decide(policy, page, prediction).kept.tolist() == [True, False]
    found = decide(DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0, hidden_copy_penalty=8.0), page, prediction)
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


@pytest.mark.parametrize(("n_tabs", "stay"), [(1, False), (2, True)])
def test_hidden_tabs_with_most_of_the_text_are_not_copies(n_tabs: int, stay: bool) -> None:  # noqa: FBT001
    """They repeat what is visible in parts, but have more certain words together."""
    tabs = "".join(f"<div hidden><p>{number} {STORY}</div>" for number in range(n_tabs))
    policy = DecisionPolicy(rule="expected_f1", hidden_copy_penalty=9.0)
    assert kept(f"<p>{STORY} And so on.</p>{tabs}", 0.95, policy) == [True] + [stay] * n_tabs


@pytest.mark.parametrize(("n_words", "stays"), [(30, False), (31, True)])
def test_a_sidebar_with_most_of_the_text_is_none(n_words: int, stays: bool) -> None:  # noqa: FBT001
    """If it has more than three times as many words as the rest."""
    policy = DecisionPolicy(rule="expected_f1", sidebar_probability=0.7)
    html = f"<p>{'word ' * 10}</p><div class=sidebar><p>{'term ' * n_words}</div>"
    page = blockml.parse(html)
    prediction = Prediction(np.array([0.8, 0.6], np.float32), matrix=page_matrix(page, "page"))
    assert decide(policy, page, prediction).kept.tolist() == [True, stays]


def test_many_hidden_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of words are found in the same way in a long text with many hidden elements."""
    part = f"<p>{STORY}<p hidden>{STORY[:40]}</p>"
    html = "".join(f"{part}<p hidden>Nobody knows what the mill number {k} is for.</p>" for k in range(9))
    expected = copies(html)
    assert sum(expected) == 9
    monkeypatch.setattr("blockml.decision.hidden._MAX_SEARCHED", 0)
    assert copies(html) == expected
