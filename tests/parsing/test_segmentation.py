"""Blocks: borders, texts, words, lines and parents."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import html5lib
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from lxml import etree

import blockml
from blockml.page import Flag, Page, Separator, Status
from blockml.parsing import BACKENDS, PROFILES, _close_title
from blockml.parsing.decoding import decode
from blockml.parsing.tags import without_nulls
from blockml.text.words import TOKENIZERS, readable
from tests.parsing.test_lines import EXAMPLE
from tests.refined import refined_lines
from tests.strategies import UNSEEN, content_nodes, is_dropped, messy_html, path_of, slow_words, visible

if TYPE_CHECKING:
    from pathlib import Path

both = pytest.mark.parametrize("backend", sorted(BACKENDS))
profiles = pytest.mark.parametrize("profile", sorted(PROFILES))
#: Markup whose text differs from that of the source: see tests/parsing/test_displayed.py.
SHOWN_OTHERWISE = re.compile(
    r"<(?:q|audio|canvas|object|progress|ruby|video)\b|emoji|smiley|material-|cfemail|drop", re.IGNORECASE
)


def texts(html: bytes | str, **options: Any) -> list[str]:
    """Return the block texts of a page."""
    return list(blockml.parse(html, **options).blocks.texts)


@both
def test_blocks_of_the_worked_example(backend: str) -> None:
    """The worked example has six blocks with the expected lines, words, linked words and parents."""
    blocks = blockml.parse(EXAMPLE, backend=backend).blocks
    rows = [
        (block.index, block.text, block.first_line, block.last_line, block.n_words, block.n_linked, block.parent)
        for block in blocks
    ]
    assert rows == [
        (0, "Home", 8, 8, 1, 1, "a"),
        (1, "News", 13, 13, 1, 1, "a"),
        (2, "Big title", 18, 18, 2, 0, "h1"),
        (3, "First linked paragraph text here.", 21, 25, 5, 1, "p"),
        (4, "Second line", 28, 28, 2, 0, "p"),
        (5, "after break.", 30, 30, 2, 0, "p"),
    ]


@both
def test_every_tag_except_the_anchor_separates(backend: str) -> None:
    """By default inline elements end a block as block elements do; with boilerpipe's profile they don't."""
    html = "<body><p>a <b>b</b> c <a href=x>d</a> e <u>f</u> g<br>h</p>"
    assert texts(html, backend=backend) == ["a", "b", "c d e", "f", "g", "h"]
    assert texts(html, backend=backend, profile="boilerpipe") == ["a b c d e f g", "h"]


def test_inline_elements_of_boilerpipe() -> None:
    """The inline elements of boilerpipe's profile are those of its public source since version 1.2."""
    inline = "a strike u b i em strong span sup sub code tt var abbr acronym font".split()
    assert PROFILES["boilerpipe"] == set(inline)
    assert PROFILES["anchor"] == {"a"}
    for tag in inline:
        assert texts(f"<body>x <{tag}>y</{tag}> z", profile="boilerpipe") == ["x y z"], tag
    for tag in ("q", "cite", "small", "kbd", "s", "del", "ins", "mark", "img", "wbr"):
        assert len(texts(f"<body>x <{tag}>y</{tag}> z", profile="boilerpipe")) > 1, tag


@both
def test_text_around_a_comment_is_one_word(backend: str) -> None:
    """A comment does not separate the texts around it, but a script does."""
    block = blockml.parse("<body>a<!--c-->b", backend=backend).blocks[0]
    assert (block.text, block.n_words) == ("ab", 1)
    assert texts("<body>a<script></script>b", backend=backend) == ["a", "b"]
    assert texts("<body>a<style></style>b", backend=backend, profile="boilerpipe") == ["a", "b"]


@both
def test_anchor_around_blocks(backend: str) -> None:
    """Blocks inside an anchor are separate, and all of their words are linked."""
    blocks = blockml.parse("<body><a href=x><div>one two</div><p>three</p>four</a><p>five</p>", backend=backend).blocks
    assert [(block.text, block.n_words, block.n_linked) for block in blocks] == [
        ("one two", 2, 2), ("three", 1, 1), ("four", 1, 1), ("five", 1, 0),
    ]  # fmt: skip


def test_anchors_do_not_need_an_href() -> None:
    """The words of an anchor without href count as linked too."""
    assert blockml.parse("<p>x <a name=y>z</a>").blocks[0].n_linked == 1


def test_blocks_without_words() -> None:
    """Blocks without words are kept or dropped by the option, which changes nothing else."""
    html = "<p>one</p><p>***</p><p>two <a>|</a></p><p>…</p>"
    kept, dropped = (blockml.parse(html, keep_wordless=keep).blocks for keep in (True, False))
    assert kept.texts == ("one", "***", "two |", "…")
    assert kept.n_words.tolist() == [1, 0, 1, 0]
    assert dropped.texts == ("one", "two |")
    assert dropped.word_lengths.tolist() == kept.word_lengths.tolist() == [3, 3]
    assert dropped.first_line.tolist() == kept.first_line[[0, 2]].tolist()


@both
def test_control_characters_do_not_make_a_block(backend: str) -> None:
    """Control characters do not make a block by themselves."""
    assert texts("<p>\x01</p><p>x</p>", backend=backend) == ["x"]


def test_titles_are_not_blocks() -> None:
    """A title in the head, in the body or in a drawing is not a block, and only the first is the page's title."""
    page = blockml.parse("<title> My\n page </title><p>a<title>b</title>c</p><svg><title>d</title><text>e</text></svg>")
    assert page.title == "My page"
    assert page.blocks.texts == ("a", "c", "e")
    assert blockml.parse("<body><svg><title>drawing</title></svg>").title == ""


def test_views_of_blocks() -> None:
    """Blocks are indexed like a tuple, and an index out of range raises IndexError."""
    blocks = blockml.parse("<p>one</p><p>two</p>").blocks
    assert [block.index for block in blocks] == [0, 1]
    assert blocks[-1] == blocks[1]
    assert blocks[1].text == "two"
    assert blocks[:1] == (blocks[0],)
    assert blocks[::-1] == (blocks[1], blocks[0])
    for index in (2, -3):
        with pytest.raises(IndexError, match="2 blocks"):
            blocks[index]


def test_separators() -> None:
    """Separators of blocks follow the layout in a browser."""
    html = (
        "<p>one <b>two</b>ly</p>three<br>four<table><tr><td>five</td><td>six</td></tr><tr><td>seven</td></tr></table>"
        "<ul><li>eight</li><li>nine</li></ul><span>Label</span><span>Value</span>"
    )
    blocks = blockml.parse(html).blocks
    assert {block.text: Separator(int(joint)).name for block, joint in zip(blocks, blocks.separators, strict=True)} == {
        "one": "PARAGRAPH", "two": "SPACE", "ly": "GLUED", "three": "PARAGRAPH", "four": "LINE", "five": "PARAGRAPH",
        "six": "CELL", "seven": "LINE", "eight": "PARAGRAPH", "nine": "LINE", "Label": "PARAGRAPH", "Value": "SPACE",
    }  # fmt: skip


# --- any page, against slow re-computations ---------------------------------------------------------------------------


#: Elements that may be in a head.
METADATA = {"base", "basefont", "bgsound", "link", "meta", "noscript", "title"} | {
    "script", "style", "template", "iframe", "noembed", "noframes",
}  # fmt: skip


def lxml_visible(html: str) -> str:
    """Return the visible text of a page from lxml's tree, without a leading byte-order mark.

    libxml2 leaves elements that it doesn't know in an unclosed head; the standard ends the head at the first of them.
    """
    html = html.removeprefix("\ufeff")
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        first = etree.fromstring(html.encode(), parser)
    except etree.XMLSyntaxError:
        return ""
    if first is None:
        return ""
    parts: list[str] = []
    left: set[etree._Element] = set()
    for root in (first, *first.itersiblings()):
        skipped = 0
        for event, element in etree.iterwalk(root, events=("start", "end")):
            parent = element.getparent()
            if event == "start":
                if parent is not None and parent.tag == "head" and parent not in left and element.tag not in METADATA:
                    left.add(parent)
                    skipped -= 1
                skipped += element.tag in UNSEEN
                parts.append("" if skipped else readable(element.text or ""))
            else:
                skipped -= element.tag in UNSEEN and element not in left
                parts.append("" if skipped else readable(element.tail or ""))
    return visible("".join(parts))


def html5lib_visible(html: str) -> str:
    """Return the visible text of a page from html5lib's DOM, without a leading byte-order mark."""
    html = html.removeprefix("\ufeff")
    document = html5lib.parse(html, treebuilder="dom", namespaceHTMLElements=False)
    parts: list[str] = []
    waiting: list[Any] = [document]
    while waiting:
        node = waiting.pop()
        if node.nodeType == node.TEXT_NODE:
            parts.append(readable(node.data))
        elif node.nodeType == node.DOCUMENT_NODE or (node.nodeType == node.ELEMENT_NODE and node.tagName not in UNSEEN):
            waiting.extend(reversed(node.childNodes))
    return visible("".join(parts))


def as_parsed(page: Page, html: str) -> str:
    """Close the title if the page says that it was closed, because parsers make the rest of the page the title."""
    return (_close_title(html) or html) if "unclosed <title> closed" in page.warnings else html


def joined(page: Page) -> str:
    """Return the text of all blocks without white space."""
    return "".join("".join(page.blocks.texts).split())


@profiles
@example(html="<script>x</script><tr>word")
@example(html="<TITLE></div>word")
@given(html=messy_html)
def test_blocks_contain_all_visible_text_of_lxml(profile: str, html: str) -> None:
    """The blocks contain all text visible in lxml's tree, in order and once; an unclosed title ends early.

    Null bytes, which browsers leave out, but lxml replaces by U+FFFD, are left out before.
    """
    assume(SHOWN_OTHERWISE.search(html) is None)
    page = blockml.parse(html, profile=profile)
    html = without_nulls(html.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    assert joined(page) == lxml_visible(as_parsed(page, html))


@pytest.mark.filterwarnings("ignore::html5lib.constants.DataLossWarning")
@profiles
@settings(max_examples=60)
@given(html=messy_html)
def test_blocks_contain_all_visible_text_of_html5lib(profile: str, html: str) -> None:
    """The blocks contain all text visible in html5lib's tree, in order and once; an unclosed title ends early."""
    assume(SHOWN_OTHERWISE.search(html) is None)
    page = blockml.parse(html, profile=profile, backend="html5lib")
    assert joined(page) == html5lib_visible(as_parsed(page, html))


@both
@settings(max_examples=60)
@given(html=messy_html)
def test_bytes_and_str_give_the_same_page(backend: str, html: str) -> None:
    """A str and its encoded bytes with their encoding declared give the same page."""
    of_str, of_bytes = (
        blockml.parse(html, backend=backend),
        blockml.parse(html.encode(), charset="utf-8", backend=backend),
    )
    assume(of_bytes.status is not Status.UNDECODABLE)  # a short page of mostly control characters
    assert of_bytes.title == of_str.title
    assert of_bytes.status is of_str.status
    assert list(of_bytes.blocks) == list(of_str.blocks)
    assert of_bytes.blocks.separators.tolist() == of_str.blocks.separators.tolist()


def slow_borders(page: Page) -> list[list[int]]:
    """Return the text nodes of each block, from the refined document read line by line."""
    nodes, inline = page.nodes, PROFILES[page.profile]
    left_out = int(Flag.HEAD)  # also of readings: see tests/parsing/test_displayed.py
    content = {node for node in content_nodes(nodes) if not ("ruby" in nodes.names and nodes.flags[node] & left_out)}
    pruned = [node for node in range(len(nodes)) if is_dropped(nodes, node)]
    blocks: list[list[int]] = []
    separated = True
    for line in refined_lines(nodes):
        while pruned and line.kind != "end" and pruned[0] < line.node:  # it has no line, but it separates
            pruned.pop(0)
            separated = True
        if line.kind != "text":
            separated |= line.value not in inline
        elif line.node in content:
            if separated:
                blocks.append([])
            blocks[-1].append(line.node)
            separated = False
    return blocks


@both
@profiles
@settings(max_examples=60)
@given(html=messy_html)
def test_borders_are_those_of_the_definition(backend: str, profile: str, html: str) -> None:
    """A block is a maximal run of text lines with no separating tag between them (Kim et al. 2013, section 2.2)."""
    page = blockml.parse(html, backend=backend, profile=profile)
    blocks = page.blocks
    expected = slow_borders(page)
    assert list(zip(blocks.node.tolist(), blocks.last_node.tolist(), strict=True)) == [(b[0], b[-1]) for b in expected]
    for block, members in zip(blocks, expected, strict=True):
        assert "".join(block.text.split()) == visible("".join(page.nodes.texts[node] for node in members))
        assert block.text == " ".join(block.text.split())


@both
@profiles
@settings(max_examples=60)
@given(html=messy_html)
def test_parent_is_the_deepest_common_ancestor(backend: str, profile: str, html: str) -> None:
    """A block's parent contains all of its texts, and no child of the parent does."""
    page = blockml.parse(html, backend=backend, profile=profile)
    for row, members in enumerate(slow_borders(page)):
        paths = [path_of(page.nodes, node)[:-1] for node in members]
        common = [level[0] for level in zip(*paths, strict=False) if len(set(level)) == 1]
        assert page.blocks.parent[row] == common[-1]
        assert page.blocks.parents[row] == page.nodes.name(common[-1])


@both
@pytest.mark.parametrize("tokenizer", sorted(TOKENIZERS))
@settings(max_examples=40)
@given(html=messy_html)
def test_counts_of_words_and_linked_words(backend: str, tokenizer: str, html: str) -> None:
    """Words are counted in each text separately, and those inside an anchor are linked."""
    page = blockml.parse(html, backend=backend, tokenizer=tokenizer)
    words = [
        [(word, node) for node in members for word in slow_words(page.nodes.texts[node], tokenizer)]
        for members in slow_borders(page)
    ]
    assert page.blocks.n_words.tolist() == [len(block) for block in words]
    assert page.blocks.word_lengths.tolist() == [len(word) for block in words for word, _ in block]
    linked = [sum("a" in map(page.nodes.name, path_of(page.nodes, node)) for _, node in block) for block in words]
    assert page.blocks.n_linked.tolist() == linked
    assert (page.blocks.n_linked <= page.blocks.n_words).all()


@both
@settings(max_examples=60)
@given(html=messy_html, keep_wordless=st.booleans())
def test_lines_rise_and_columns_fit(backend: str, html: str, keep_wordless: bool) -> None:  # noqa: FBT001
    """Blocks are in document order, and each column has a row per block and its declared type."""
    blocks = blockml.parse(html, backend=backend, keep_wordless=keep_wordless).blocks
    lines = np.column_stack([blocks.first_line, blocks.last_line])
    assert (lines[:, 0] <= lines[:, 1]).all()
    assert all(before[1] < after[0] for before, after in pairwise(lines.tolist()))
    assert (blocks.first_line >= 1).all()
    for name in ("n_words", "n_linked", "first_line", "last_line", "parent", "node", "last_node"):
        column = getattr(blocks, name)
        assert (column.dtype, column.shape) == (np.int32, (len(blocks),))
    assert blocks.flags.dtype == blocks.separators.dtype == np.uint8
    assert len(blocks.flags) == len(blocks.separators) == len(blocks.parents) == len(blocks)
    assert blocks.word_lengths.dtype == np.int32
    assert len(blocks.word_lengths) == blocks.n_words.sum()
    assert keep_wordless or (blocks.n_words > 0).all()


@both
@settings(max_examples=60)
@given(html=messy_html)
def test_flags_are_inherited(backend: str, html: str) -> None:
    """A node has a flag exactly if it or an ancestor has the name or the attribute for it."""
    nodes = blockml.parse(html, backend=backend).nodes
    names = {
        Flag.HEAD: {"head", "title"},
        Flag.LINK: {"a"},
        Flag.NOSCRIPT: {"noscript"},
        Flag.PREFORMATTED: {"pre", "textarea", "listing", "xmp"},
    }
    for node in range(len(nodes)):
        path = path_of(nodes, node)
        around = {nodes.name(above) for above in path}
        for flag, holders in names.items():
            is_reading = flag == Flag.HEAD and {"ruby", "rt"} <= around  # left out of texts by the same flag
            assert is_reading or bool(nodes.flags[node] & flag) == bool(holders & around)
        styles = [nodes.attributes[above].get("style", "").lower().replace(" ", "") for above in path]
        hidden = any("hidden" in nodes.attributes[above] for above in path)
        hidden |= any("display:none" in style or "visibility:hidden" in style for style in styles)
        assert bool(nodes.flags[node] & Flag.HIDDEN) == hidden


@pytest.mark.corpora
def test_blocks_contain_all_visible_text_of_real_pages(corpora: Path) -> None:
    """Ten saved pages of each corpus keep all their visible text."""
    folders = [folder for folder in sorted(corpora.glob("*/pages")) if folder.is_dir()]
    assert folders
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file())[:10]:
            if SHOWN_OTHERWISE.search(decoded(path)):
                continue
            page = blockml.parse(read(path))
            assert joined(page) == lxml_visible(decoded(path)), path


def read(path: Path) -> bytes:
    """Return the bytes of a saved page, decompressed."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def decoded(path: Path) -> str:
    """Return the text of a saved page."""
    return decode(read(path)).text


@both
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<em>un</em><strong>think</strong>able", "unthinkable"),
        ("<span>Un</span><span>thinkable</span>", "Unthinkable"),
        ("<code><i>gate</i><i>2</i><i>open</i></code> first", "gate2open first"),
        ("<span>gate</span><span>2</span>", "gate 2"),
        ("<span>label</span><span>Value</span>", "label Value"),
        ("<a href=a>home</a><a href=b>news</a>", "home news"),
        ("<span>news</span><a href=b>home</a>", "news home"),
        ("<td><b>a</b><td><b>b</b>", "a\tb"),
    ],
)
def test_marked_parts_of_a_word_are_one_word(html: str, expected: str, backend: str) -> None:
    """Small letters on both sides of adjacent elements outside of links, and parts of code, have no space between."""
    table = f"<table><tr>{html}</table>" if html.startswith("<td>") else f"<p>{html}</p>"
    assert blockml.extract(table, model="plain", backend=backend).text == expected
