"""Thresholds and confidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml import _kernel
from blockml.decision.decide import by_line, confidence, decide, expected_f1, lines, recenter
from blockml.errors import UsageError
from blockml.page import Reason
from blockml.predictors.log_odds import average_log_odds, log_odds, sigmoid
from tests.strategies import messy_html

#: Pieces of pages with code.
CODE = ["<pre>", "</pre>", "<p>", "one two", "<b>", "</b>", "{", ";", "<textarea>x</textarea>", "<pre><i>e</i>"]

scores_lists = st.lists(st.floats(0, 1, width=32), max_size=20)


@given(scores_lists, st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_keeps_less(values: list[float], one: float, other: float) -> None:
    """What is kept at a threshold is kept at every lower one."""
    scores = np.array(values, dtype=np.float32)
    low, high = sorted((one, other))
    assert not (decide(scores, high).kept & ~decide(scores, low).kept).any()


@given(scores_lists)
def test_threshold_zero_keeps_all(values: list[float]) -> None:
    """Every score reaches 0."""
    assert decide(np.array(values, dtype=np.float32), 0).kept.all()


@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.3, 0.7, 1 / 3, 1.0])
def test_score_equal_to_the_threshold_is_kept(threshold: float) -> None:
    """Scores are float32, so the threshold is rounded to it."""
    score = np.float32(threshold)
    scores = np.array([np.nextafter(score, np.float32(0)), score], dtype=np.float32)
    decision = decide(scores, threshold)
    assert decision.kept.tolist() == [False, True]
    assert decision.reasons == (Reason.SCORE_BELOW_THRESHOLD, Reason.SCORE_REACHES_THRESHOLD)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, math.inf])
def test_thresholds_outside_the_range_are_refused(threshold: float) -> None:
    """The message names the range."""
    with pytest.raises(UsageError, match="between 0 and 1"):
        decide(np.zeros(1, np.float32), threshold)


def test_no_blocks() -> None:
    """Nothing to decide is no error."""
    none = np.empty(0, np.float32)
    decision = decide(none, 0.5)
    assert (decision.kept.shape, decision.reasons) == ((0,), ())
    assert decision.kept.dtype == np.bool_
    assert confidence(none, decision.kept, np.empty(0, np.int32)) == 0


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans(), st.integers(0, 1000)), max_size=20))
def test_confidence_is_the_expected_share_of_right_words(rows: list[tuple[float, bool, int]]) -> None:
    """Each word is right with the probability of its block's decision."""
    scores, kept, words = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    got = confidence(scores.astype(np.float32), kept.astype(bool), words.astype(np.int32))
    total = sum(row[2] for row in rows)
    right = sum((score if keep else 1 - score) * n for score, keep, n in rows)
    assert got == pytest.approx(right / total if total else 0, abs=1e-5)
    assert 0 <= got <= 1


def test_preformatted_text_is_decided_as_a_whole() -> None:
    """Pieces of one code block share a decision, by the mean score of their words; two blocks don't."""
    page = blockml.parse("<pre></pre><pre>a b c <b>d</b></pre><p>x</p><pre><i>e</i> f<pre>g</pre></pre>")
    assert page.blocks.texts == ("a b c", "d", "x", "e", "f", "g")
    scores = np.array([0.8, 0.1, 0.3, 0.9, 0.1, 0.2], np.float32)
    decision = decide(scores, 0.5, page)
    assert decision.kept.tolist() == [True, True, False, False, False, False]
    assert decision.reasons == (
        Reason.SCORE_REACHES_THRESHOLD,
        Reason.KEPT_WITH_ITS_CODE,
        Reason.SCORE_BELOW_THRESHOLD,
        Reason.REMOVED_WITH_ITS_CODE,
        Reason.SCORE_BELOW_THRESHOLD,
        Reason.SCORE_BELOW_THRESHOLD,
    )
    assert decide(scores, 0.5).kept.tolist() == [True, False, False, True, False, False]


@settings(max_examples=150)
@given(html=messy_html | st.lists(st.sampled_from(CODE), max_size=12).map("".join), data=st.data())
def test_compiled_decisions_are_those_of_python(html: str, data: st.DataObject) -> None:
    """With preformatted text, with words in it and without."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    page = blockml.parse(html)
    n = len(page.blocks)
    drawn = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1, width=32), min_size=n, max_size=n))
    scores = np.array(drawn, np.float32)
    found = decide(scores, 0.5, page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = decide(scores, 0.5, page)
    assert found.kept.tolist() == expected.kept.tolist()
    assert found.kept.dtype == expected.kept.dtype
    assert found.reasons == expected.reasons


def test_compiled_decisions_on_arrays_that_do_not_fit_are_refused(compiled: _kernel.Compiled) -> None:
    """Numbers from elsewhere must not read elsewhere."""
    scores, flags, words = np.zeros(2, np.float32), np.full(2, 16, np.uint8), np.ones(2, np.int32)
    node, parent, kept = np.array([0, 1], np.int32), np.array([-1, 0], np.int32), np.zeros(2, bool)
    reasons = (Reason.SCORE_BELOW_THRESHOLD,) * 4
    good: list[Any] = [scores, 0.5, flags, 16, words, node, flags, parent, reasons, kept]
    decided: Any = compiled.decided
    assert decided(*good) == reasons[:2]
    bad: dict[int, list[Any]] = {
        **{place: [good[place][:1].copy()] for place in (0, 2, 4, 9)},
        5: [node + 1, node - 1, node[:1]],
        6: [flags[:1]],
        7: [parent + 2, parent[:1]],
        8: [reasons[:3]],
    }
    for place, others in bad.items():
        for other in others:
            with pytest.raises(ValueError, match="no such node"):
                decided(*good[:place], other, *good[place + 1 :])


# --- a border for each page -------------------------------------------------------------------------------------------

#: Far enough from 0 and 1 that log odds tell them apart.
between = st.floats(2**-18, 1 - 2**-18, width=32)
judged_pages = st.lists(st.tuples(between, st.integers(0, 300)), min_size=1, max_size=15)


def arrays(rows: list[tuple[float, int]]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Probabilities and words."""
    return np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.float64)


@given(judged_pages)
def test_no_other_border_promises_more(rows: list[tuple[float, int]]) -> None:
    """Against each probability on the page as a border, one block at a time."""
    probabilities, words = arrays(rows)
    border, f1 = expected_f1(probabilities, words)
    total = sum(p * n for p, n in rows)

    def promised(least: float) -> float:
        kept = [(p, n) for p, n in rows if p >= least]
        return 2 * sum(p * n for p, n in kept) / (sum(n for _, n in kept) + total)

    if not total:
        assert (border, f1) == (1, 0)
        return
    assert border in probabilities
    assert f1 == pytest.approx(promised(border))
    assert f1 == pytest.approx(max(promised(p) for p, _ in rows))
    assert 0 < f1 <= 1


def test_certain_pages_promise_all() -> None:
    """F1 of 1, whatever lies beside the content."""
    assert expected_f1(np.array([1.0, 0.0, 1.0]), np.array([5.0, 900.0, 1.0])) == (1.0, 1.0)
    assert expected_f1(np.zeros(2), np.ones(2)) == (1.0, 0.0)
    assert expected_f1(np.empty(0), np.empty(0)) == (1.0, 0.0)


@given(judged_pages)
def test_scores_around_the_border_keep_what_promises_most(rows: list[tuple[float, int]]) -> None:
    """Those blocks, and no other, score 0.5 or more; the order stays."""
    probabilities, words = arrays(rows)
    odds = log_odds(probabilities)
    probabilities = sigmoid(odds)  # which are rounded
    scores = recenter(odds, words)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    border, _ = expected_f1(probabilities, words)
    assert ((scores >= np.float32(0.5)) == (probabilities >= border)).all()
    order = np.argsort(probabilities, kind="stable")
    assert (np.diff(scores[order]) >= 0).all()
    assert len(set(scores.tolist())) <= len(set(probabilities.tolist()))


@given(judged_pages, st.floats(0, 1), st.floats(0, 1))
def test_the_dial_turns_one_way_on_such_scores_too(rows: list[tuple[float, int]], one: float, other: float) -> None:
    """A lower threshold never keeps less."""
    probabilities, words = arrays(rows)
    scores = recenter(log_odds(probabilities), words)
    low, high = sorted((one, other))
    assert not (decide(scores, high).kept & ~decide(scores, low).kept).any()


@given(judged_pages, st.floats(0, 2000))
def test_too_little_content_is_none(rows: list[tuple[float, int]], least: float) -> None:
    """With fewer words expected than asked for, and F1 below 0.5, nothing is kept; else as without that demand."""
    probabilities, words = arrays(rows)
    odds = log_odds(probabilities)
    probabilities, scores = sigmoid(odds), recenter(odds, words, least)
    if float((words * probabilities).sum()) < least and expected_f1(probabilities, words)[1] < 0.5:
        assert (scores < 0.5).all()
    else:
        assert np.array_equal(scores, recenter(odds, words))


@pytest.mark.parametrize("sure", [[1.0], [0.0, 1.0], [1.0, 1.0, 0.0], [0.5] * 3])
def test_certain_blocks_have_scores_too(sure: list[float]) -> None:
    """Of 0 and 1 neither odds nor logarithms overflow; a page without words keeps nothing that isn't certain."""
    scores = recenter(log_odds(np.array(sure, np.float32)), np.ones(len(sure)))
    assert np.isfinite(scores).all()
    assert ((scores >= 0.5) == (np.array(sure) >= 0.5)).all()
    assert recenter(log_odds(np.array([0.0, 0.9], np.float32)), np.zeros(2)).max() < 0.5
    assert recenter(log_odds(np.zeros(1)), np.ones(1), 1.0).max() < 0.5
    assert recenter(np.empty(0), np.empty(0)).shape == (0,)


@given(st.lists(st.floats(0, 1, width=32), max_size=20))
def test_logistic_undoes_log_odds(values: list[float]) -> None:
    """But for what is nearer to 0 or 1 than a millionth."""
    probabilities = np.array(values, np.float32)
    assert sigmoid(log_odds(probabilities)) == pytest.approx(probabilities, abs=1.1e-6)
    assert log_odds(probabilities) == pytest.approx(-log_odds(1 - probabilities.astype(np.float64)), abs=1e-6)


@given(st.lists(st.floats(-1e300, 1e300), max_size=20))
def test_logistic_rises_and_never_overflows(values: list[float]) -> None:
    """Warnings are errors."""
    scores = sigmoid(np.array(sorted(values), np.float64))
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores) >= 0).all()
    assert sigmoid(np.array([-3.0, 0.0])).tolist() == pytest.approx([1 / (1 + math.exp(3)), 0.5])


def test_short_pages_that_are_clear_are_kept() -> None:
    """However few words there are; and dropped if they are unlikely too."""
    words = np.array([4.0, 40.0])
    assert recenter(log_odds(np.array([0.9, 0.01])), words, 100).tolist()[0] >= 0.5
    assert recenter(log_odds(np.array([0.2, 0.01])), words, 100).max() < 0.5
    assert recenter(log_odds(np.array([0.2, 0.01])), words).max() >= 0.5


@given(st.lists(st.tuples(st.floats(-12, 12), between), max_size=20))
def test_blends_lie_between_two_judges(rows: list[tuple[float, float]]) -> None:
    """Who agree, agree; and opposite odds cancel."""
    odds = np.array([row[0] for row in rows], np.float64)
    other = np.array([row[1] for row in rows], np.float32)
    both, one = average_log_odds(odds, other), sigmoid(odds)
    assert (both >= np.minimum(one, other) - 1e-6).all()
    assert (both <= np.maximum(one, other) + 1e-6).all()
    assert average_log_odds(log_odds(other), other) == pytest.approx(other, abs=1e-6)
    assert np.array_equal(average_log_odds(odds, other, 0.0), one)
    assert average_log_odds(odds, other, 1.0) == pytest.approx(other, abs=1e-6)
    assert log_odds(average_log_odds(odds, other, 0.75)) == pytest.approx(odds / 4 + log_odds(other) * 3 / 4, abs=0.1)
    assert average_log_odds(-log_odds(other), other) == pytest.approx(np.full(len(other), 0.5), abs=1e-6)


# --- lines ------------------------------------------------------------------------------------------------------------


def test_blocks_of_a_line() -> None:
    """Emphases, links and what follows them; cells, items and paragraphs are lines of their own."""
    html = (
        "<p>one <b>two</b>, <i>three</i>.</p><ul><li>four<li>five <b>six</b></ul><table><tr><td>seven<td>eight</table>"
    )
    blocks = blockml.parse(html).blocks
    number = lines(blocks).tolist()
    of = dict(zip([text.strip(" ,.") for text in blocks.texts], number, strict=True))
    assert of["one"] == of["two"] == of["three"] == 0
    assert of["five"] == of["six"] != of["four"]
    assert of["seven"] != of["eight"]
    assert lines(blockml.parse("").blocks).tolist() == []


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 60), st.booleans()), max_size=30))
def test_a_line_is_judged_as_one(blocks: list[tuple[float, int, bool]]) -> None:
    """By a mean of its blocks; one that is alone keeps its odds, and signs alone decide nothing."""
    odds = log_odds(np.array([item[0] for item in blocks], np.float32))
    words = np.array([item[1] for item in blocks], float)
    line = np.cumsum([False, *(item[2] for item in blocks)][: len(blocks)]).astype(np.intp)
    pooled = by_line(odds, words, line)
    for number in np.unique(line):
        here = line == number
        assert len(set(pooled[here].tolist())) == 1
        assert odds[here].min() - 1e-9 <= pooled[here][0] <= odds[here].max() + 1e-9
    for place in np.flatnonzero(words >= 10):
        if words[line == line[place]].sum() == words[place]:
            assert pooled[place] == pytest.approx(odds[place], abs=0.1)


@given(st.lists(st.floats(-1e4, 1e4) | st.floats(-1, 1), max_size=70), st.floats(0, 1))
def test_compiled_odds_are_those_of_python(values: list[float], share: float) -> None:
    """To the last bit: they are made of sums, products and quotients."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    odds, other = np.array(values, np.float64), np.linspace(0, 1, len(values), dtype=np.float32)
    found = sigmoid(odds), average_log_odds(odds, other, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = sigmoid(odds), average_log_odds(odds, other, share)
    for one, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, same)


def test_what_is_no_number_stays_none() -> None:
    """It is not taken for certain content."""
    if _kernel.compiled is None:
        pytest.skip("numpy warns of it")
    assert np.isnan(sigmoid(np.array([np.nan, 0.0]))).tolist() == [True, False]


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=70))
def test_odds_are_those_of_libraries(values: list[float]) -> None:
    """Up to the last bits: numpy's logarithm and hyperbolic tangent are good to as many."""
    likely = np.array(values, np.float32)
    inside = np.clip(likely.astype(np.float64), 1e-6, 1 - 1e-6)
    expected = np.log(inside / (1 - inside))
    assert log_odds(likely) == pytest.approx(expected, rel=4e-16, abs=1e-16)
    both = sigmoid(5 * expected), (0.5 + 0.5 * np.tanh(2.5 * expected)).astype(np.float32)
    assert both[0] == pytest.approx(both[1], rel=2e-7, abs=1e-15)
