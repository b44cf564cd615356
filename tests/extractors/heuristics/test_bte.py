"""Body text extraction: worked examples, comparison with all possible runs, and edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.bte import BTE, body_text
from tests.extractors.heuristics.test_dsc import LETTERS, NEWS, is_tag
from tests.strategies import messy_html

FIVE = "<t> <t> w1 <t> w2 w3 w4 <t> <t> w5 <t>"
THREE = "<t> w1 w2 <t> w3 w4 w5 <t>"
TOKENS = st.lists(st.booleans(), max_size=30)


def objective(is_tag: NDArray[np.bool_], start: int, end: int) -> int:
    """Return the number of words inside ``start:end`` plus the number of tags outside (Finn et al. 2001)."""
    return int(np.count_nonzero(is_tag[:start]) + np.count_nonzero(~is_tag[start:end]) + np.count_nonzero(is_tag[end:]))


def kadane(tokens: list[bool]) -> tuple[int, int]:
    """Return the first run with the largest sum, found token by token with Kadane's algorithm."""
    best, run, total, start = 0, (0, 0), 0, 0
    for place, tag in enumerate(tokens):
        if total < 0:
            total, start = 0, place
        total += -1 if tag else 1
        if total > best:
            best, run = total, (start, place + 1)
    return run


@pytest.mark.parametrize(("tokens", "first", "last", "value"), [(FIVE, 2, 6, 9), (THREE, 1, 6, 7), (NEWS, 11, 22, 28)])
def test_runs_of_words(tokens: str, first: int, last: int, value: int) -> None:
    """The run has the expected first and last token and value of the objective."""
    start, end = body_text(is_tag(tokens))
    assert (start, end - 1) == (first, last)
    assert objective(is_tag(tokens), start, end) == value


@pytest.mark.parametrize(("html", "scores"), [(FIVE, [1, 1, 0]), (THREE, [1, 1]), (NEWS, [0, 1, 0])])
def test_words_of_parsed_pages(html: str, scores: list[float]) -> None:
    """The tokens of the published example select the same words after parsing."""
    assert BTE().score(blockml.parse(html)).tolist() == scores


@given(TOKENS)
def test_the_run_maximises_the_objective(tokens: list[bool]) -> None:
    """No other run of tokens has more tags outside and words inside."""
    columns = np.array(tokens, dtype=bool)
    start, end = body_text(columns)
    every = [objective(columns, a, b) for a in range(len(tokens)) for b in range(a + 1, len(tokens) + 1)]
    if not columns.all():
        assert objective(columns, start, end) == max(every)


@given(st.lists(st.booleans(), max_size=300))
def test_the_first_of_equal_runs_is_returned(tokens: list[bool]) -> None:
    """Ties are resolved like in a plain loop."""
    assert body_text(np.array(tokens, dtype=bool)) == kadane(tokens)


@pytest.mark.parametrize(
    ("html", "scores"), [("", []), ("<p></p><br>", []), ("a b c", [1]), ("你好" * 40, [1]), ("<p>one block</p>", [1])]
)
def test_edges(html: str, scores: list[float]) -> None:
    """Pages without text have no scores, pages without tags are kept, and a single block is the body."""
    assert BTE().score(blockml.parse(html)).tolist() == scores


def test_ideographs_count_as_words() -> None:
    """A Chinese article is found although it has no spaces."""
    menu = "<li><a href=/>首页</a></li>" * 10
    page = blockml.parse(f"<ul>{menu}</ul><p>{'这是一篇关于天气的文章。' * 9}</p><ul>{menu}</ul>")
    assert np.flatnonzero(BTE().score(page)).tolist() == [10]


def test_the_body_is_between_its_tags() -> None:
    """Words before and after the body are left out, and the last of several end tags counts."""
    words = "word " * 9
    html = f"{words}<br><body><p>one two three</p></body><p>four five six seven</p></body><br>{words}"
    assert BTE().score(blockml.parse(html)).tolist() == [0, 1, 1, 0]
    assert BTE(body_only=False).score(blockml.parse(html)).tolist() == [1, 1, 1, 1]


def test_a_page_without_body_tags_is_all_body() -> None:
    """Tags that the parser adds don't limit the body."""
    html = "<p>one two three</p><p>four five six</p>"
    for view in ("raw", "tree"):
        scores = [
            BTE(body_only=body_only, view=view).score(blockml.parse(html)).tolist() for body_only in (True, False)
        ]
        assert scores == [[1, 1], [1, 1]]


@settings(max_examples=40)
@given(messy_html, st.booleans(), st.sampled_from(["raw", "tree"]))
def test_any_page_gets_scores(html: str, body_only: bool, view: str) -> None:  # noqa: FBT001 (drawn)
    """Scores are reproducible float32 values in [0, 1], one per block."""
    page = blockml.parse(html)
    extractor = BTE(body_only=body_only, view=view)
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))


@settings(max_examples=30)
@given(LETTERS)
def test_letters_do_not_matter(html: str) -> None:
    """Replacing all letters doesn't change the scores."""
    scores = [BTE().score(blockml.parse(html.replace("Q", letter))).tolist() for letter in "Qz"]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("parameters", "message"), [({"body_only": "yes"}, "body_only.*True, False"), ({"view": "dom"}, "view.*raw, tree")]
)
def test_illegal_parameters_name_the_legal_ones(parameters: dict[str, object], message: str) -> None:
    """The error is raised when the parameter is set or when the first page is scored."""
    with pytest.raises(UsageError, match=message):
        BTE(**parameters).score(blockml.parse("x"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        BTE().set_params(**parameters)
