"""Pages over the limit of blocks: the remaining text is one block and one node, and no text is lost."""

from __future__ import annotations

import re

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
    """Blocks before the last are unchanged, and the last one has the remaining text, words and links."""
    html = "".join(pieces)
    whole_page = blockml.parse(html, keep_wordless=keep_wordless)
    whole = whole_page.blocks
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
    check_tree(page, whole_page)
    with python_reference():
        other = blockml.parse(html, keep_wordless=keep_wordless, limits=limits)
    assert list(other.blocks) == list(blocks)
    for name in ("tag", "parent", "depth", "end", "flags"):
        assert getattr(other.nodes, name).tolist() == getattr(page.nodes, name).tolist()
    assert (list(other.nodes.texts), list(other.nodes.attributes)) == (page.nodes.texts, list(page.nodes.attributes))


def check_tree(page: blockml.Page, whole: blockml.Page) -> None:
    """Check that the tree is that of the whole page up to the text of the last block, which is the last node."""
    nodes, blocks, n = page.nodes, page.blocks, len(page.nodes)
    assert blocks.node[-1] == blocks.last_node[-1] == n - 1 == whole.blocks.node[len(blocks) - 1]
    assert nodes.texts[-1] == blocks.texts[-1]
    before = [nodes.name(node) for node in range(n)], [whole.nodes.name(node) for node in range(n)]
    assert before[0] == before[1]
    assert list(nodes.attributes)[:-1] == list(whole.nodes.attributes)[: n - 1]
    parent = int(blocks.parent[-1])
    assert parent == nodes.parent[-1]
    assert all(parent < 0 or parent < node < whole.nodes.end[parent] for node in whole.blocks.node[len(blocks) - 1 :])
    for node in range(n):
        around = nodes.ancestors(node)
        assert len(around) == nodes.depth[node]
        assert all(above < node < nodes.end[above] for above in around)
        assert nodes.end[node] == min(n, max([node, *(i for i in range(n) if node in nodes.ancestors(i))]) + 1)


def test_content_after_the_end_of_the_page() -> None:
    """Text joined from content after the end of the page is in the root of its first text."""
    page = blockml.parse("<p>one</p><p>two</p></html><p>three", limits=Limits(blocks=2))
    assert [page.nodes.name(node) for node in page.nodes.ancestors(len(page.nodes) - 1)][-1] == "html"
    assert page.blocks.texts == ("one", "two three")


@pytest.mark.parametrize("name", ["default", "kim2013"])
def test_extraction(name: str) -> None:
    """All text of a page of 40,000 one-word paragraphs is extracted, with a warning and finite scores."""
    html = "<h1>Words</h1>" + "".join(f"<p>w{i}" for i in range(40_000))
    result = blockml.extract(html, model=name, threshold=0.0)
    assert result.status is Status.TRUNCATED
    assert len(result.kept) == Limits().blocks_of(len(html)) < 40_000
    assert np.isfinite(result.scores).all()
    assert "one block" in result.warnings[0]
    assert result.text.split() == ["Words", *(f"w{i}" for i in range(40_000))]
    markdown = blockml.render(result, "markdown")
    assert markdown.split()[-2:] == ["w39998", "w39999"]


def test_the_rest_of_a_table_is_behind_it() -> None:
    """Rows over the limit follow the table in each output, also where the page goes on after it."""
    rows = "".join(f"<tr><td>a{i}<td>b" for i in range(9_000))
    result = blockml.extract(
        f"<h1>Cats</h1><table><tr><th>A</th><th>B</th></tr>{rows}</table><p>The end.",
        model="plain",
        limits=Limits(blocks=5_000),
    )
    assert result.status is Status.TRUNCATED
    texts = [re.findall("a[0-9]+", text) for text in (result.text, result.markdown, result.html)]
    assert texts == [[f"a{i}" for i in range(9_000)]] * 3


def test_ordinary_pages_are_whole() -> None:
    """Tables of 6,000 short and 60,000 longer cells are within the limit, so their blocks are not joined."""
    long_row = "<tr class=row>" + "<td class='number value of a station'>1234</td>" * 3 + "</tr>"
    for n_rows, row in ((2_000, "<tr><td>1</td><td>2</td><td>3</td></tr>"), (20_000, long_row)):
        page = blockml.parse("<table>" + row * n_rows)
        assert page.status is Status.OK
        assert len(page.blocks) == 3 * n_rows
