"""Text that occurs several times on a page."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.decision import DecisionPolicy, PolicyColumns, score_blocks
from blockml.decision.lines import duplicate_penalties, duplicated_lines
from blockml.features.page_context import PageContext
from tests.strategies import messy_html


def numbers(html: str) -> list[int]:
    """Return the number of the duplicated line of each block."""
    blocks = blockml.parse(html).blocks
    found: list[int] = duplicated_lines(blocks, blocks.line_numbers(), 3).tolist()
    return found


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("", []),
        ("<p>one two three", [-1]),
        ("<p>one two three<p>four five six<div>one two three", [0, -1, 0]),
        ("<p>one two<p>one two", [-1, -1]),
        ("<p>one two three<p>One two three", [-1, -1]),
        ("<p>one <b>two</b> three<p>one two three", [0, 0, 0, 0]),
        ("<p>one <b>two</b> three<p>one <i>two</i> <s>three</s>", [0, 0, 0, 0, 0, 0]),
        ("<pre>one two three</pre><p>one two three", [-1, -1]),
        ("<p>a b c<p>d e f<p>d e f<p>a b c<p>a b c", [0, 1, 1, 0, 0]),
    ],
)
def test_lines_with_the_same_text(html: str, found: list[int]) -> None:
    """Lines of at least three words that aren't preformatted are compared, no matter how they are split into blocks."""
    assert numbers(html) == found


@given(html=messy_html)
def test_equal_numbers_mean_equal_lines(html: str) -> None:
    """Lines with one number have equal texts, and all blocks of a line have the same number."""
    blocks = blockml.parse(html).blocks
    line = blocks.line_numbers()
    of_line = dict(zip(line.tolist(), duplicated_lines(blocks, line, 3).tolist(), strict=True))
    assert [of_line[number] for number in line.tolist()] == duplicated_lines(blocks, line, 3).tolist()
    texts = {
        number: " ".join(block.text for block, its in zip(blocks, line, strict=True) if its == number and block.n_words)
        for number in of_line
    }
    counted = Counter(number for number in of_line.values() if number >= 0)
    assert all(count > 1 for count in counted.values())
    for number in counted:
        assert len({texts[its] for its, known in of_line.items() if known == number}) == 1


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2), st.floats(-5, 5), st.booleans()), max_size=30),
    st.sampled_from([0.0, 4.0, 1e6]),
)
def test_one_duplicate_is_not_penalised(blocks: list[tuple[int, int, float, bool]], penalty: float) -> None:
    """The penalties equal those computed line by line."""
    blocks = [(min(text, len(blocks) - 1), where, odds, new) for text, where, odds, new in blocks]
    line = np.cumsum([new for *_, new in blocks], dtype=np.intp)
    first = {number: blocks[place] for place, number in reversed(list(enumerate(line.tolist())))}
    text, place, odds = (np.array([first[number][k] for number in line.tolist()]) for k in range(3))
    penalties = duplicate_penalties(
        odds.astype(np.float64), line, text.astype(np.int64), place.astype(np.int64), np.zeros(len(line)),
        penalty=penalty, same_context_factor=0.25,
    )  # fmt: skip
    expected = {}
    for number, (its, where, _, _) in first.items():
        same = [other for other in sorted(first) if first[other][0] == its]
        most = max(first[other][2] for other in same)
        stays = next(other for other in same if first[other][2] == most)
        apart = first[stays][1] != where
        expected[number] = 0.0 if its < 0 or number == stays else penalty if apart else penalty / 4
    found = [0.0] * len(line) if penalties is None else penalties.tolist()
    assert found == [expected[number] for number in line.tolist()]


def test_the_default_model_keeps_duplicated_content_once() -> None:
    """Of two variants of a page's text, for small and for wide screens, only one is kept."""
    text = "".join(f"<p>Cats rule house {number}, and sleep by day, as everybody knows.</p>" for number in range(9))
    wide, small = f"<article>{text}</article>", f"<section><div class=small><div>{text}</div></div></section>"
    found = blockml.extract(f"<main>{wide}{small}</main>", model="default").text
    assert found.count("Cats rule house 3,") == 1


def test_a_duplicated_line_is_penalised_as_a_whole() -> None:
    """All blocks of a duplicated line get the same score, even if one of them is nested more deeply."""
    sentence = "Cats <b>like <i><u><s>to</s></u></i> eat</b> fish every day."
    page = blockml.parse(f"<div><p>{sentence}</p></div><ul><li>{sentence}</li></ul><p>Dogs do not.</p>")
    policy = DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0)
    columns = PolicyColumns.of(PageContext(page), policy)
    scores = score_blocks(policy, np.full(len(page.blocks), 0.6, np.float32), columns, None)
    lines: dict[int, set[float]] = {}
    for line, score in zip(columns.unit.tolist(), scores.tolist(), strict=True):
        lines.setdefault(line, set()).add(score)
    assert [len(found) for found in lines.values()] == [1, 1, 1]
    assert lines[0] != lines[1]
