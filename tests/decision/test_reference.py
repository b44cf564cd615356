"""Compiled page features and scores compared with the Python reference."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml import _kernel
from blockml.decision.policy import DecisionPolicy, PolicyColumns
from blockml.decision.rules import score_blocks
from blockml.features.page_context import BlockAmounts
from blockml.predictors.page_features import page_features
from tests.reference import python_reference

policies = st.builds(
    DecisionPolicy,
    rule=st.just("expected_f1"),
    min_content_words=st.sampled_from([0.0, 40.0, 1e9]),
    min_best_probability=st.sampled_from([0.0, 0.5, 1.0]),
    base_penalty=st.sampled_from([0.0, 0.2, 3.0]),
    article_penalty=st.sampled_from([0.0, 0.6]),
    link_penalty=st.sampled_from([0.0, 1.0, 1e6]),
    certain_p=st.sampled_from([0.0, 0.5, 0.9]),
    min_certain_words=st.sampled_from([0.0, 10.0, 120.0]),
    duplicate_penalty=st.sampled_from([0.0, 4.0]),
    same_context_factor=st.sampled_from([0.0, 0.25, 1.0]),
)


#: Amounts, columns, and two probabilities per block.
Blocks = tuple[BlockAmounts, PolicyColumns, NDArray[np.float32], NDArray[np.float32]]


@st.composite
def pages(draw: st.DrawFn) -> Blocks:
    """Generate blocks in lines, some of which are duplicates."""
    n = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words = rng.integers(0, 60, n) * rng.integers(0, 2, n)
    linked = words * rng.integers(0, 2, n) // rng.integers(1, 4, n)
    amounts = BlockAmounts(*(column.astype(np.float64) for column in (words, linked, np.where(words > 9, words, 0))))
    line = np.cumsum(np.append(0, rng.integers(0, 2, n))[:n], dtype=np.int64)
    of_line = rng.integers(-1, 4, n + 1)
    copy = line // draw(st.integers(1, 3))
    columns = PolicyColumns(
        amounts, line, np.minimum(of_line[copy], n - 1), rng.integers(0, 3, n),
        copy=copy, preference=rng.choice([0.0, -1e6], n),
    )  # fmt: skip
    first, all_together = (rng.choice([0, 0.2, 0.5, 0.8, 1, *rng.random(9)], n).astype(np.float32) for _ in range(2))
    return amounts, columns, first, all_together


@given(pages())
def test_page_features_equal_the_reference(page: Blocks) -> None:
    """The compiled page features equal the reference bit by bit."""
    amounts, _, first, probabilities = page
    found = page_features(amounts, first, probabilities)
    with python_reference():
        expected = page_features(amounts, first, probabilities)
    assert found.tobytes() == expected.tobytes()


@settings(max_examples=300)
@given(policies, pages(), st.none() | st.floats(0, 1))
def test_scores_equal_the_reference(policy: DecisionPolicy, page: Blocks, p_article: float | None) -> None:
    """The compiled scores equal the reference bit by bit, for any policy."""
    _, columns, _, probabilities = page
    found = score_blocks(policy, probabilities, columns, p_article)
    with python_reference():
        expected = score_blocks(policy, probabilities, columns, p_article)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "name", ["probabilities", "words", "linked", "prose", "unit", "text", "copy", "context", "preference"]
)
def test_columns_that_do_not_fit_are_refused(compiled: _kernel.Compiled, name: str) -> None:
    """Arrays with a wrong length or type are refused, so that no memory outside of them is read or written."""
    two = np.array([0, 1])
    good: dict[str, NDArray[Any]] = {
        "probabilities": two.astype(np.float32),
        **dict.fromkeys(("words", "linked", "prose", "preference"), two.astype(np.float64)),
        **dict.fromkeys(("unit", "text", "copy", "context"), two),
        "scores": np.empty(2, np.float32),
    }
    numbers = {field.name: 0.0 for field in fields(DecisionPolicy)} | dict.fromkeys(
        ("penalty", "wordless_weight", "same_context_penalty"), 0.0
    )
    compiled.policy_scores(good, numbers)
    bad: list[Any] = [good[name][:1], good[name].astype(np.int8), None]
    if name in ("unit", "text"):
        bad.append(two + 1)
    for wrong in bad:
        with pytest.raises((ValueError, TypeError)):
            compiled.policy_scores(good | {name: wrong}, numbers)
    with pytest.raises(ValueError, match=f"array {name} is missing"):
        compiled.policy_scores({other: held for other, held in good.items() if other != name}, numbers)
    with pytest.raises(ValueError, match="number certain_p is missing"):
        compiled.policy_scores(good, {"penalty": 0.0, "link_penalty": 0.0})
    with pytest.raises(ValueError, match="differ in length"):
        compiled.page_features(*(good["words"],) * 3, *(good["scores"],) * 2, np.empty(12, np.float32))
