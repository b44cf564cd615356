"""The token stream of a page: its tags and texts in order."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.datasets import open_dataset
from blockml.errors import UnknownNameError
from blockml.extractors.heuristics.token_stream import TokenStream, block_share, block_vote, token_stream
from blockml.text.words import find_spans
from tests.strategies import messy_html

NEWS = (
    "<html><body><div><a>Home</a><a>News</a></div><p>w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12</p>"
    "<div><a>About</a></div></body></html>"
)


def test_characters_of_the_source_are_code_or_content() -> None:
    """Characters of tags are code, those of texts are content, and one space is kept between text and tag."""
    stream = token_stream(blockml.parse("<p>ab <a>cd</a> ef</p>"))
    code = "".join(
        ("0" if is_tag else "1") * int(n)
        for is_tag, n in zip(stream.is_tag.tolist(), stream.n_chars.tolist(), strict=True)
    )
    assert code == "0001110001100001110000"
    without = stream.without(stream.is_anchor)
    assert int(without.n_chars.sum()) == 15
    assert without.texts == ("", "ab ", "cd", " ef", "")


def test_implied_tags_are_not_code() -> None:
    """Tags that the parser adds aren't in the stream, in either view."""
    for view in ("raw", "tree"):
        stream = token_stream(blockml.parse("just a text"), view)
        assert stream.names == ("",)
        assert stream.texts == ("just a text",)


def test_tokens_are_tags_and_words() -> None:
    """A document of 31 tokens has 16 tags, without the head that the parser adds."""
    for view in ("raw", "tree"):
        tokens = token_stream(blockml.parse(NEWS), view).tokens()
        assert len(tokens) == 31
        assert int(tokens.is_tag.sum()) == 16
        assert tokens.block[~tokens.is_tag].tolist() == [0, 0, *[1] * 12, 2]


def test_entities_are_one_character_and_never_tags() -> None:
    """Entities are decoded after tags have been recognised."""
    stream = token_stream(blockml.parse("<p>a &lt;b&gt; &eacute;</p>"))
    assert stream.texts == ("", "a <b> é", "")


def test_scripts_comments_and_white_space_between_tags_are_removed() -> None:
    """The tags of a script are kept, and a text continues after a comment."""
    stream = token_stream(blockml.parse("<div>\n <p>a<!-- x -->b</p>\n<script>if (a<b) c('</p>')</script> \n</div>"))
    assert stream.names == ("div", "p", "", "/p", "script", "/script", "/div")
    assert stream.texts[2] == "ab"


def test_quotes_count_only_after_an_equals_sign() -> None:
    """An apostrophe in a tag doesn't start a value, and a bracket in a value doesn't end the tag."""
    stream = token_stream(blockml.parse("<p it's>one</p><p title='a > b'>two</p>"))
    assert stream.names == ("p", "", "/p", "p", "", "/p")
    assert [text for text in stream.texts if text] == ["one", "two"]


def test_an_empty_end_tag_is_a_comment() -> None:
    """A text continues across an empty end tag, as in the parser."""
    stream = token_stream(blockml.parse("<p>a</>b</p>"))
    assert stream.texts == ("", "ab", "")


@pytest.mark.parametrize(
    "start",
    [
        "<p>text here and \0 more</p>",
        f"<div><p>{'long text ' * 400} here \0 there</p></div>",
        f"<textarea>{'<p>code</p>' * 600}</textarea>",
        f"<title>{'title ' * 500}<b>bold</b></title>",
    ],
)
def test_different_readings_of_source_and_tree_lose_no_other_text(start: str) -> None:
    """Every later block has its place in the stream, even if source and tree differ before it."""
    page = blockml.parse(start + "".join(f"<p>paragraph {number} of them</p>" for number in range(30)))
    stream = token_stream(page)
    assert set(range(len(page.blocks) - 30, len(page.blocks))) <= set(stream.block.tolist())


def test_a_self_closed_iframe_does_not_hide_text() -> None:
    """The text after a self-closed iframe is in the stream."""
    stream = token_stream(blockml.parse("<iframe src=x /><p>text</p>"))
    assert "text" in stream.texts


def test_the_title_belongs_to_no_block() -> None:
    """The title is in the stream, but not in a block."""
    stream = token_stream(blockml.parse("<title>A title</title><p>text</p>"))
    assert dict(zip(stream.texts, stream.block.tolist(), strict=True)) == {"": -1, "A title": -1, "text": 0}


def test_starts_are_positions_in_the_source() -> None:
    """Each tag is found in the source at its position."""
    stream = token_stream(blockml.parse(NEWS))
    for name, start, length in zip(stream.names, stream.start.tolist(), stream.n_chars.tolist(), strict=True):
        if name:
            assert stream.source[start : start + length] == f"<{name}>"


def test_a_page_without_a_source_uses_its_tree() -> None:
    """Without a source, tags are read from the tree, except for those that every tree has."""
    page = blockml.parse(NEWS)
    bare = replace(page, utf8=None)
    assert token_stream(bare).names == token_stream(page).names[2:-2]
    assert token_stream(replace(blockml.parse("<body class=x>text"), utf8=None)).names == ("body", "")


def test_an_unknown_view_names_the_legal_ones() -> None:
    """The error for an unknown view lists the known ones."""
    with pytest.raises(UnknownNameError, match="raw, tree"):
        token_stream(blockml.parse("x"), "dom")


@given(messy_html, st.sampled_from(["raw", "tree"]))
def test_columns_are_consistent_on_any_page(html: str, view: str) -> None:
    """Columns have equal lengths, tags have names, texts have characters, and blocks are in order."""
    page = blockml.parse(html)
    stream = token_stream(page, view)
    n = len(stream)
    assert len(stream.texts) == len(stream.n_chars) == len(stream.block) == len(stream.start) == n
    assert [len(text) for text in stream.texts if text] == stream.n_chars[~stream.is_tag].tolist()
    assert all(bool(name) != bool(text) for name, text in zip(stream.names, stream.texts, strict=True))
    in_blocks = stream.block[stream.block >= 0]
    assert (np.diff(in_blocks) >= 0).all()
    assert len(in_blocks) == 0 or in_blocks[-1] < len(page.blocks)
    assert (stream.block[stream.is_tag] == -1).all()


@given(messy_html)
def test_the_tree_view_contains_every_block(html: str) -> None:
    """The texts of each block equal that of the page's block."""
    page = blockml.parse(html)
    stream = token_stream(page, "tree")
    for number, text in enumerate(page.blocks.texts):
        pieces = [stream.texts[row] for row in np.flatnonzero(stream.block == number).tolist()]
        assert "".join("".join(pieces).split()) == "".join(text.split())


def test_scanning_is_linear_on_hostile_sources() -> None:
    """Thousands of unclosed tags, quotes and comments take time linear in their number."""
    for bait in ("<a ", "<a href='", '<p x="', "<!--", "<script>", "<", "</", "<a <b", "<iframe x", "&amp"):
        times = []
        for n in (20_000, 80_000):
            page = replace(blockml.parse("<p>x</p>"), utf8=(bait * n).encode())
            start = time.process_time()
            token_stream(page)
            times.append(time.process_time() - start)
        assert times[1] < 10 * times[0] + 0.5, bait


def test_the_vote_of_a_block_is_what_half_of_its_words_reach() -> None:
    """The score of a block is the highest that at least half of its words reach."""
    scores = np.array([0.1, 0.9, 0.4, 0.8, 0.3])
    block = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    np.testing.assert_allclose(block_vote(scores, block, 3), [0.9, 0.4, 0.0], rtol=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(-1, 4)), max_size=40), st.floats(0.001, 1))
def test_the_vote_equals_counting(words: list[tuple[float, int]], threshold: float) -> None:
    """A block reaches a threshold if and only if it has words and at least half of them do."""
    scores = np.array([score for score, _ in words])
    block = np.array([owner for _, owner in words], dtype=np.int32)
    scored = block_vote(scores.astype(np.float32).astype(float), block, 5)
    reached = scores.astype(np.float32) >= np.float32(threshold)
    for number in range(5):
        own = reached[block == number]
        assert (scored[number] >= np.float32(threshold)) == (len(own) > 0 and own.mean() >= 0.5)
        share = block_share(reached, block, 5)[number]
        assert share == pytest.approx(own.mean() if len(own) else 0)


def test_pieces_can_be_left_out() -> None:
    """Columns stay parallel when pieces are left out."""
    stream = token_stream(blockml.parse(NEWS))
    rest = stream.without(stream.is_tag)
    assert isinstance(rest, TokenStream)
    assert rest.texts == ("Home", "News", "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12", "About")
    assert rest.block.tolist() == [0, 0, 1, 2]


@given(messy_html)
def test_spans_of_words_belong_to_tokens(html: str) -> None:
    """Each span of a word belongs to the piece of its token and contains a word without spaces."""
    stream = token_stream(blockml.parse(html))
    tokens = stream.tokens()
    owner, place, length = find_spans(stream.texts, "cjk")
    assert owner.tolist() == tokens.piece[~tokens.is_tag].tolist()
    found = [stream.texts[o][p : p + n] for o, p, n in zip(owner, place, length, strict=True)]
    assert all(word and not any(char.isspace() for char in word) for word in found)
    assert all(any(char.isalnum() for char in word) for word in found)


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["wcxb", "l3s-gn1", "cleaneval", "cleanportaleval"])
def test_words_of_real_pages_have_their_place_in_the_source(name: str, corpora: Path) -> None:
    """At most one word in a thousand of the parser's texts isn't found in the source."""
    n_words = n_lost = 0
    for labelled in open_dataset(corpora / name).pages[::30]:
        page = blockml.parse(labelled.load()[0], charset=labelled.charset)
        placed = np.zeros(len(page.blocks), dtype=bool)
        block = token_stream(page).block
        placed[block[block >= 0]] = True
        n_words += int(page.blocks.n_words.sum())
        n_lost += int(page.blocks.n_words[~placed].sum())
    assert n_words > 1000
    assert n_lost <= n_words / 1000
