"""Document slope curves: the worked page, a slow re-computation, edges of the page."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.dsc import DSC, flat_sections, slope_curve, slope_windows, window_length
from blockml.extractors.heuristics.token_stream import token_stream
from tests.strategies import messy_html

#: A page of 31 tokens, 16 of them tags.
NEWS = (
    "<html> <body> <div> <a> Home </a> <a> News </a> </div> <p> w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 </p> "
    "<div> <a> About </a> </div> </body> </html>"
)

#: Pages whose every letter is a Q; other letters must give the same scores.
LETTERS = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<a href=/>", "</a>", "<li>", "<br>", "\n", "Q ", "QQQQ ", "Q QQ QQQQQQQQ Q. " * 5]
    ),
    max_size=60,
).map("".join)

TOKENS = st.lists(st.booleans(), max_size=80)


def is_tag(tokens: str) -> NDArray[np.bool_]:
    """Mark the tags among tokens that are separated by white space."""
    return np.array([token.startswith("<") for token in tokens.split()], dtype=bool)


def slow_sections(tokens: list[bool], factor: float, run: int, window: int) -> list[bool]:
    """The tokens in flat sections, one window after the other."""
    windows, start = [], 0
    while start < len(tokens):
        windows.append((start, min(start + window, len(tokens))))
        if start + window >= len(tokens):
            break
        start += max(1, window // 2)
    low = [sum(tokens[a:b]) * len(tokens) <= factor * sum(tokens) * (b - a) for a, b in windows]
    chosen = [False] * len(tokens)
    for first in range(len(windows)):
        length = min(run, len(windows))
        if first + length <= len(windows) and all(low[first : first + length]):
            for a, b in windows[first : first + length]:
                chosen[a:b] = [True] * (b - a)
    return chosen


def test_slope_curve() -> None:
    """The curve rises by one at each tag."""
    curve = slope_curve(is_tag(NEWS)).tolist()
    assert curve == [1, 2, 3, 4, 4, 5, 6, 6, 7, 8, *[9] * 13, 10, 11, 12, 12, 13, 14, 15, 16]


def test_slope_windows() -> None:
    """Windows of four tokens, two tokens apart; the first that reaches the end is the last, with three."""
    windows = slope_windows(is_tag(NEWS), 4)
    assert windows.slope.tolist() == [1, 0.75, 0.5, 0.75, 0.75, 0.25, 0, 0, 0, 0, 0.25, 0.75, 0.75, 0.75, 1]
    assert (windows.start[-1], windows.end[-1]) == (28, 31)


def test_flat_section() -> None:
    """The twelve words between the link lists are the one flat section."""
    assert np.flatnonzero(flat_sections(is_tag(NEWS), window=4)).tolist() == list(range(10, 24))


def test_flat_section_of_a_page() -> None:
    """The tokens of the published example give the same section after parsing."""
    page = blockml.parse(NEWS)
    assert np.array_equal(token_stream(page).tokens().is_tag, is_tag(NEWS))
    assert DSC(window=4).score(page).tolist() == [0, 1, 0]
    assert blockml.extract(NEWS, model=DSC(window=4)).text.split() == [f"w{number}" for number in range(1, 13)]


@pytest.mark.parametrize(("n", "length"), [(0, 8), (100, 8), (200, 8), (500, 10), (4999, 49), (5000, 50), (7000, 50)])
def test_window_length(n: int, length: int) -> None:
    """The window grows with the page, between two bounds."""
    assert window_length(n) == length


@given(TOKENS, st.sampled_from([0, 0.25, 0.5, 1]), st.integers(1, 5), st.integers(1, 90))
def test_sections_agree_with_one_window_after_the_other(
    tokens: list[bool], factor: float, run: int, window: int
) -> None:
    """Cumulative sums give what a plain loop gives."""
    chosen = flat_sections(np.array(tokens, dtype=bool), factor=factor, run=run, window=window)
    assert chosen.tolist() == slow_sections(tokens, factor, run, window)


@given(TOKENS)
def test_a_larger_factor_never_keeps_less(tokens: list[bool]) -> None:
    """A low score stays low with a larger factor."""
    columns = np.array(tokens, dtype=bool)
    strict, lax = (flat_sections(columns, factor=factor, window=6) for factor in (0.4, 0.8))
    assert not (strict & ~lax).any()


def test_a_page_with_few_windows_needs_all_of_them_low() -> None:
    """A run can't be longer than the page; one window on it is never below half of itself, if it has a tag."""
    tokens = is_tag("<p> " + "w " * 9)
    assert len(slope_windows(tokens, 8).start) == 2
    assert flat_sections(tokens, factor=0.5, window=8).sum() == 0
    assert flat_sections(np.zeros(10, dtype=bool), run=9, window=8).all()


@pytest.mark.parametrize(
    ("html", "scores"),
    [("", []), ("<p></p><br>", []), ("a b c", [1]), ("a", [1]), ("你好" * 40, [1]), ("<p>one block</p>", [0])],
)
def test_edges(html: str, scores: list[float]) -> None:
    """No text gives nothing, no tags everything; a page all of one slope has no part that is flatter."""
    assert DSC().score(blockml.parse(html)).tolist() == scores


def test_ideographs_are_words() -> None:
    """A Chinese article is long, though it has no blanks."""
    menu = "<li><a href=/>首页</a></li>" * 10
    page = blockml.parse(f"<ul>{menu}</ul><p>{'这是一篇关于天气的文章。' * 9}</p><ul>{menu}</ul>")
    scores = DSC().score(page)
    assert scores[10] > 0.9
    assert scores.sum() == scores[10]


def test_words_at_the_edge_of_a_section_are_settled_by_majority() -> None:
    """A block partly outside scores the share that is inside."""
    page = blockml.parse("<br>" * 3 + "word " * 30 + "<br>" * 40)
    # Words are the tokens 3 to 32. Windows without tags reach from 4 to 32; those at both ends have three of them.
    assert DSC(window=8).score(page).tolist() == pytest.approx([28 / 30])


@settings(max_examples=40)
@given(messy_html, st.sampled_from(["raw", "tree"]))
def test_any_page_gets_scores(html: str, view: str) -> None:
    """One float32 score in [0, 1] per block, the same each time."""
    page = blockml.parse(html)
    scores = DSC(view=view).score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, DSC(view=view).score(page))


@settings(max_examples=30)
@given(LETTERS)
def test_letters_do_not_matter(html: str) -> None:
    """Only the positions of words and tags matter."""
    scores = [DSC().score(blockml.parse(html.replace("Q", letter))).tolist() for letter in "Qz"]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"factor": -0.1}, "factor.*from 0 to 1"),
        ({"factor": True}, "factor"),
        ({"run": 0}, "run.*whole number from 1"),
        ({"window": 0}, "window.*None or a whole number from 1"),
        ({"window": 2.5}, "window"),
        ({"view": "dom"}, "view.*raw, tree"),
    ],
)
def test_illegal_parameters_name_the_legal_ones(parameters: dict[str, object], message: str) -> None:
    """The error comes with the first page, or when the parameter is set."""
    with pytest.raises(UsageError, match=message):
        DSC(**parameters).score(blockml.parse("x"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        DSC().set_params(**parameters)
