"""Pages of very many blocks: the text after the limit is one block, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml import Limits, Status
from tests.reference import python_reference

PIECES = ["<p>one", "<br>two words", "<b>a</b>", "x", "<a href=/>link</a>", "<li>", " . ", "<td>cell", "</div><div>"]


@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=60),
    most=st.integers(1, 6),
    keep_wordless=st.booleans(),
)
def test_nothing_is_lost(pieces: list[str], most: int, *, keep_wordless: bool) -> None:
    """Blocks before the last are those without a limit; the last one has the rest of text, words, links and nodes."""
    html = "".join(pieces)
    whole = blockml.parse(html, keep_wordless=keep_wordless).blocks
    limits = Limits(blocks=most)
    page = blockml.parse(html, keep_wordless=keep_wordless, limits=limits)
    blocks = page.blocks
    assert len(blocks) == min(len(whole), limits.blocks_of(len(html)))
    assert (page.status is Status.TRUNCATED) == (len(blocks) < len(whole)) == bool(page.warnings)
    if len(blocks) == len(whole):
        return
    first = len(blocks) - 1
    assert list(blocks)[:first] == list(whole)[:first]
    assert blocks.texts[first].replace(" ", "") == "".join(whole.texts[first:]).replace(" ", "")
    assert blocks.n_words.sum() == whole.n_words.sum() == len(blocks.word_lengths)
    assert blocks.n_linked.sum() == whole.n_linked.sum()
    assert (blocks.node[first], blocks.last_node[first]) == (whole.node[first], whole.last_node[-1])
    parent = int(blocks.parent[first])
    assert all(parent < 0 or parent < node < page.nodes.end[parent] for node in whole.node[first:].tolist())
    with python_reference():
        other = blockml.parse(html, keep_wordless=keep_wordless, limits=limits).blocks
    assert list(other) == list(blocks)


@pytest.mark.parametrize("name", ["default", "kim2013"])
def test_extraction(name: str) -> None:
    """All text of a page of 40,000 one-word paragraphs is given, with a warning and finite scores."""
    result = blockml.extract("<h1>Words</h1>" + "".join(f"<p>w{i}" for i in range(40_000)), model=name, threshold=0.0)
    assert result.status is Status.TRUNCATED
    assert len(result.kept) < 12_000
    assert np.isfinite(result.scores).all()
    assert "one block" in result.warnings[0]
    assert result.text.split() == ["Words", *(f"w{i}" for i in range(40_000))]
    markdown = blockml.render(result, "markdown")
    assert markdown.split()[-2:] == ["w39998", "w39999"]


def test_ordinary_pages_are_whole() -> None:
    """A table of 4,000 cells is no reason to join blocks."""
    page = blockml.parse("<table>" + "<tr><td>1<td>2</tr>" * 2_000)
    assert page.status is Status.OK
    assert len(page.blocks) == 4_000
