"""Document slope curves: a worked example, comparison with a slow implementation, and edge cases."""

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

#: Pages in which every letter is a Q; other letters must give the same scores.
LETTERS = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<a href=/>", "</a>", "<li>", "<br>", "\n", "Q ", "QQQQ ", "Q QQ QQQQQQQQ Q. " * 5]
    ),
    max_size=60,
).map("".join)

TOKENS = st.lists(st.booleans(), max_size=80)


def is_tag(tokens: str) -> NDArray[np.bool_]:
    """Return for each token, separated by white space, whether it is a tag."""
    return np.array([token.startswith("<") for token in tokens.split()], dtype=bool)


def slow_sections(tokens: list[bool], factor: float, run: int, window: int) -> list[bool]:
    """Return the tokens in flat sections, computed window by window."""
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
    """Windows of four tokens start every two tokens, and the last one ends with the page."""
    windows = slope_windows(is_tag(NEWS), 4)
    assert windows.slope.tolist() == [1, 0.75, 0.5, 0.75, 0.75, 0.25, 0, 0, 0, 0, 0.25, 0.75, 0.75, 0.75, 1]
    assert (windows.start[-1], windows.end[-1]) == (28, 31)


def test_flat_section() -> None:
    """The twelve words between the link lists are the only flat section."""
    assert np.flatnonzero(flat_sections(is_tag(NEWS), window=4)).tolist() == list(range(10, 24))


def test_flat_section_of_a_page() -> None:
    """The tokens of the published example give the same section after parsing."""
    page = blockml.parse(NEWS)
    assert np.array_equal(token_stream(page).tokens().is_tag, is_tag(NEWS))
    assert DSC(window=4).score(page).tolist() == [0, 1, 0]
    assert blockml.extract(NEWS, model=DSC(window=4)).text.split() == [f"w{number}" for number in range(1, 13)]


@pytest.mark.parametrize(("n", "length"), [(0, 8), (100, 8), (200, 8), (500, 10), (4999, 49), (5000, 50), (7000, 50)])
def test_window_length(n: int, length: int) -> None:
    """The length of windows grows with the page, between two bounds."""
    assert window_length(n) == length


@given(TOKENS, st.sampled_from([0, 0.25, 0.5, 1]), st.integers(1, 5), st.integers(1, 90))
def test_sections_equal_those_of_a_loop_over_windows(tokens: list[bool], factor: float, run: int, window: int) -> None:
    """Flat sections equal those computed window by window."""
    chosen = flat_sections(np.array(tokens, dtype=bool), factor=factor, run=run, window=window)
    assert chosen.tolist() == slow_sections(tokens, factor, run, window)


@given(TOKENS)
def test_a_larger_factor_never_keeps_less(tokens: list[bool]) -> None:
    """The section of a larger factor contains that of a smaller one."""
    columns = np.array(tokens, dtype=bool)
    strict, lax = (flat_sections(columns, factor=factor, window=6) for factor in (0.4, 0.8))
    assert not (strict & ~lax).any()


def test_a_page_with_few_windows_needs_all_of_them_flat() -> None:
    """A run is at most as long as the page, and on a page with tags a single window is never flat enough."""
    tokens = is_tag("<p> " + "w " * 9)
    assert len(slope_windows(tokens, 8).start) == 2
    assert flat_sections(tokens, factor=0.5, window=8).sum() == 0
    assert flat_sections(np.zeros(10, dtype=bool), run=9, window=8).all()


@pytest.mark.parametrize(
    ("html", "scores"),
    [("", []), ("<p></p><br>", []), ("a b c", [1]), ("a", [1]), ("你好" * 40, [1]), ("<p>one block</p>", [0])],
)
def test_edges(html: str, scores: list[float]) -> None:
    """Pages without text have no scores, pages without tags are kept, and a page of constant slope isn't."""
    assert DSC().score(blockml.parse(html)).tolist() == scores


def test_ideographs_count_as_words() -> None:
    """A Chinese article is found although it has no spaces."""
    menu = "<li><a href=/>首页</a></li>" * 10
    page = blockml.parse(f"<ul>{menu}</ul><p>{'这是一篇关于天气的文章。' * 9}</p><ul>{menu}</ul>")
    scores = DSC().score(page)
    assert scores[10] > 0.9
    assert scores.sum() == scores[10]


def test_a_block_scores_its_share_of_words_in_a_section() -> None:
    """A block that is partly outside of a section scores the share that is inside."""
    page = blockml.parse("<br>" * 3 + "word " * 30 + "<br>" * 40)
    # Tokens 3 to 32 are words. Windows without tags cover tokens 4 to 32; those at the ends contain three tags.
    assert DSC(window=8).score(page).tolist() == pytest.approx([28 / 30])


@settings(max_examples=40)
@given(messy_html, st.sampled_from(["raw", "tree"]))
def test_any_page_gets_scores(html: str, view: str) -> None:
    """Scores are reproducible float32 values in [0, 1], one per block."""
    page = blockml.parse(html)
    scores = DSC(view=view).score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, DSC(view=view).score(page))


@settings(max_examples=30)
@given(LETTERS)
def test_letters_do_not_matter(html: str) -> None:
    """Replacing all letters doesn't change the scores."""
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
    """The error is raised when the parameter is set or when the first page is scored."""
    with pytest.raises(UsageError, match=message):
        DSC(**parameters).score(blockml.parse("x"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        DSC().set_params(**parameters)
