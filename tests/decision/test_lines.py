"""Lines of a page, and log odds averaged over lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.decision import DecisionPolicy, PolicyColumns, score_blocks
from blockml.decision.lines import line_means, line_weights, smooth_lines
from blockml.features.page_context import PageContext


def test_blocks_of_a_line() -> None:
    """Inline elements belong to the line around them, and cells, items and paragraphs are separate lines."""
    html = (
        "<p>one <b>two</b>, <i>three</i>.</p><ul><li>four<li>five <b>six</b></ul><table><tr><td>seven<td>eight</table>"
    )
    blocks = blockml.parse(html).blocks
    number = blocks.line_numbers().tolist()
    of = dict(zip([text.strip(" ,.") for text in blocks.texts], number, strict=True))
    assert of["one"] == of["two"] == of["three"] == 0
    assert of["five"] == of["six"] != of["four"]
    assert of["seven"] != of["eight"]
    assert blockml.parse("").blocks.line_numbers().tolist() == []


@given(st.lists(st.tuples(st.floats(-12, 12), st.integers(0, 60), st.booleans()), min_size=1, max_size=30))
def test_means_lie_between_the_blocks_of_a_line(blocks: list[tuple[float, int, bool]]) -> None:
    """Means lie between the values of a line's blocks, and blocks without words hardly count."""
    odds, words = np.array([item[0] for item in blocks]), np.array([item[1] for item in blocks], float)
    line = np.cumsum([False, *(item[2] for item in blocks[1:])]).astype(np.intp)
    means, weights = line_means(odds, line_weights(words), line)
    assert len(means) == line[-1] + 1
    assert (weights > 0).all()
    for number, mean in enumerate(means.tolist()):
        here = line == number
        assert odds[here].min() - 1e-9 <= mean <= odds[here].max() + 1e-9
        if words[here].max() >= 10 and np.count_nonzero(words[here]) == 1:
            assert mean == pytest.approx(odds[here][words[here].argmax()], abs=0.1)


def test_smoothing_by_hand() -> None:
    """Neighbours are weighted by their words, and a page of one line is unchanged."""
    means, weights = np.array([2.0, 0.0, -1.0]), np.array([30.0, 10.0, 10.0])
    expected = 0.75 * means + 0.25 * np.array([0.0, (30 * 2.0 - 10 * 1.0) / 40, 0.0])
    assert smooth_lines(means, weights, 0.25) == pytest.approx(expected)
    assert smooth_lines(means, weights, 0.0) is means
    assert smooth_lines(means[:1], weights[:1], 1.0).tolist() == [2.0]


def test_lines_without_words_follow_their_neighbours() -> None:
    """Brackets and ellipses are kept between kept lines, and those at the ends are decided by their own scores."""
    page = blockml.parse("<p>•<p>if (a)<p>{<p>b();<p>(<i>…</i>)<p>See<p>|<p>Tweet<p>&#8206;<p>end<p>}")
    policy = DecisionPolicy(rule="expected_f1")
    probabilities = np.array([0.1, 0.9, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.9, 0.05, 0.1, 0.9, 0.1], np.float32)
    scores = score_blocks(policy, probabilities, PolicyColumns.of(PageContext(page), policy), None)
    kept = [text for text, score in zip(page.blocks.texts, scores, strict=True) if score >= 0.5]
    assert kept == ["if (a)", "{", "b();", "(", "…", ")", "See", "end"]
    assert scores[8] == scores[9]
