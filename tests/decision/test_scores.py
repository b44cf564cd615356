"""Scores relative to the page's threshold, computed from probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml import _kernel
from blockml.decision import DecisionPolicy, PolicyColumns, score_blocks
from blockml.features.page_context import BlockAmounts
from blockml.predictors import log_odds, sigmoid
from blockml.predictors.page_features import expected_f1

PLAIN = DecisionPolicy(rule="expected_f1")
between = st.floats(2**-18, 1 - 2**-18, width=32)
pages = st.lists(st.tuples(between, st.integers(0, 300)), min_size=1, max_size=15)


def columns(
    words: list[float],
    linked: list[float] | None = None,
    prose: list[float] | None = None,
    *,
    line: list[int] | None = None,
    text: list[int] | None = None,
    context: list[int] | None = None,
) -> PolicyColumns:
    """Return blocks on separate lines, without links, running text or duplicates unless they are given."""
    n = len(words)
    amounts = BlockAmounts(*(np.array(values or [0.0] * n, np.float64) for values in (words, linked, prose)))
    return PolicyColumns(
        amounts,
        np.arange(n) if line is None else np.array(line),
        np.full(n, -1) if text is None else np.array(text),
        np.zeros(n, np.int64) if context is None else np.array(context),
    )


def likely(*values: float) -> NDArray[np.float32]:
    """Return probabilities of blocks."""
    return np.array(values, np.float32)


@given(pages)
def test_the_best_choice_scores_at_least_a_half(rows: list[tuple[float, int]]) -> None:
    """Exactly the blocks that maximise expected F1 reach 0.5, and the order of blocks is unchanged."""
    rounded = sigmoid(log_odds(likely(*(p for p, _ in rows))))
    words = np.array([float(max(n, 1e-3)) for _, n in rows])
    found = score_blocks(PLAIN, rounded, columns(words.tolist()), None)
    again = sigmoid(log_odds(rounded))
    threshold, _ = expected_f1(again, words)
    assert found.dtype == np.float32
    assert ((found >= np.float32(0.5)) == (again >= threshold)).all()
    order = np.argsort(rounded, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


@given(pages, st.floats(0, 2000))
def test_pages_with_little_content_have_none(rows: list[tuple[float, int]], least: float) -> None:
    """If both expected words and the best probability are below their minimum, nothing is kept."""
    probabilities, words = likely(*(p for p, _ in rows)), [float(n) for _, n in rows]
    found = score_blocks(replace(PLAIN, min_content_words=least), probabilities, columns(words), None)
    plain = score_blocks(PLAIN, probabilities, columns(words), None)
    rounded = sigmoid(log_odds(probabilities))
    expected = float((np.array(words) * rounded).sum())
    if expected == pytest.approx(least):
        return
    if expected >= least or float(rounded.max()) >= PLAIN.min_best_probability:
        assert np.array_equal(found, plain)
    else:
        assert (found < 0.5).all()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_page_with_just_enough_content_has_some(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """A block of two words with probability 0.5 counts as one expected word."""
    if not compiled:
        monkeypatch.setattr(_kernel, "compiled", None)
    for least, kept in ((1.0, True), (1.0001, False)):
        policy = replace(PLAIN, min_content_words=least, min_best_probability=0.9)
        (score,) = score_blocks(policy, likely(0.5), columns([2.0]), None)
        assert (score >= 0.5) is np.bool_(kept)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_unknown_probability_has_no_penalty(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Without a probability of an article, its penalty isn't subtracted."""
    if not compiled:
        monkeypatch.setattr(_kernel, "compiled", None)
    policy = replace(PLAIN, article_penalty=2.0, min_content_words=3.0)
    page = columns([9.0, 4.0, 7.0])
    none, no, yes = (score_blocks(policy, likely(0.6, 0.2, 0.4), page, p).tolist() for p in (None, 0.0, 1.0))
    assert none == no != yes


def test_extreme_probabilities_and_empty_pages() -> None:
    """Nothing overflows, and a probability of 0.9 isn't enough to keep a block on a page without words."""
    for values in ([1.0], [0.0, 1.0], [1.0, 1.0, 0.0], [0.5] * 3):
        scores = score_blocks(PLAIN, likely(*values), columns([1.0] * len(values)), None)
        assert ((scores >= 0.5) == (np.array(values) >= 0.5)).all()
    assert score_blocks(PLAIN, likely(0.0, 0.9), columns([0.0, 0.0]), None).max() < 0.5
    assert score_blocks(PLAIN, likely(), columns([]), None).shape == (0,)
    harsh = DecisionPolicy("expected_f1", base_penalty=1e6, article_penalty=1e6, link_penalty=1e6)
    assert np.isfinite(score_blocks(harsh, likely(0.2, 0.9), columns([1.0, 9.0], [1.0, 0.0]), 1.0)).all()


def test_blocks_of_a_line_score_the_same() -> None:
    """All blocks of a line have the same score, so that a sentence is kept or removed as a whole."""
    found = score_blocks(PLAIN, likely(0.9, 0.1, 0.4), columns([9.0, 1.0, 10.0], line=[0, 0, 1]), None)
    assert found[0] == found[1] != found[2]


def test_penalties_of_articles() -> None:
    """The penalty applies to all blocks equally and is larger on certain articles."""
    probabilities, page = likely(0.9, 0.6, 0.2), columns([50.0, 20.0, 10.0])
    careful = replace(PLAIN, base_penalty=0.2, article_penalty=0.6)
    for p_article, penalty in ((0.0, 0.2), (1.0, 0.8), (None, 0.2)):
        found = score_blocks(careful, probabilities, page, p_article)
        expected = log_odds(probabilities) - penalty
        assert np.diff(log_odds(found)) == pytest.approx(np.diff(expected), abs=1e-4)


@pytest.mark.parametrize(
    ("certain", "prose", "lowered"),
    [(0.95, 130.0, True), (0.95, 110.0, False), (0.85, 130.0, False), (0.95, 0.0, False)],
)
def test_links_next_to_certain_text(certain: float, prose: float, lowered: bool) -> None:  # noqa: FBT001
    """Only link blocks get the penalty, and only on pages with 120 words of certain running text."""
    words, linked = [prose or 130.0, 10.0, 10.0, 10.0, 0.0], [0.0, 10.0, 5.0, 4.0, 0.0]
    page, probabilities = columns(words, linked, [prose, 0.0, 0.0, 10.0, 0.0]), likely(certain, 0.6, 0.6, 0.6, 0.6)
    found = score_blocks(replace(PLAIN, link_penalty=1.0), probabilities, page, None)
    expected = log_odds(probabilities) - np.array([0, lowered, lowered, 0, 0])
    assert np.diff(log_odds(found)) == pytest.approx(np.diff(expected), abs=1e-4)


def test_links_split_the_body() -> None:
    """A link block splits the body into two parts that are too short, and a block with few linked words doesn't."""
    probabilities, policy = likely(0.95, 0.6, 0.95, 0.6), replace(PLAIN, link_penalty=1.0)
    words, prose = [70.0, 10.0, 70.0, 10.0], [70.0, 0.0, 70.0, 0.0]
    for linked, lowered in (([0.0, 10.0, 0.0, 10.0], 0.0), ([0.0, 4.0, 0.0, 10.0], 1.0)):
        found = score_blocks(policy, probabilities, columns(words, linked, prose), None)
        expected = log_odds(probabilities) - np.array([0, 0, 0, lowered])
        assert np.diff(log_odds(found)) == pytest.approx(np.diff(expected), abs=1e-4)


def test_duplicates_are_penalised() -> None:
    """The first of the most probable duplicates gets no penalty, and distant copies get a larger one than near ones."""
    policy = replace(PLAIN, duplicate_penalty=4.0)
    page = columns([20.0] * 4, text=[0, -1, 0, 0], context=[1, 1, 1, 2])
    found = score_blocks(policy, likely(*[0.7] * 4), page, None)
    assert found[0] == found[1] > found[2] > found[3]
    assert len(set(score_blocks(policy, likely(*[0.7] * 4), columns([20.0] * 4), None).tolist())) == 1


@pytest.mark.parametrize(("p_article", "shrunk"), [(0.05, True), (0.2, False), (None, False)])
def test_negative_log_odds_are_shrunk_on_lists(p_article: float | None, shrunk: bool) -> None:  # noqa: FBT001
    """On list pages only negative log odds shrink, and they do so before penalties are subtracted."""
    probabilities, page = likely(0.9, 0.6, 0.3, 0.1), columns([20.0] * 4)
    policy = replace(PLAIN, base_penalty=0.5, negative_shrinkage=0.5)
    odds = log_odds(probabilities)
    expected = np.where(odds < 0, odds * (0.5 if shrunk else 1), odds) - 0.5
    found = log_odds(score_blocks(policy, probabilities, page, p_article))
    assert np.diff(found) == pytest.approx(np.diff(expected), abs=1e-4)
