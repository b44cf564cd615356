"""Parsers: text that their defaults would lose, limits, and agreement on the tree's shape."""

from __future__ import annotations

import gc
import itertools
import re
import tracemalloc
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Flag, Nodes, Status
from blockml.parsing import BACKENDS, Limits
from blockml.parsing.html5lib_tree import html5lib_root
from blockml.parsing.segmentation import VOID
from tests.strategies import messy_bytes, messy_html, path_of

without_selectolax = pytest.mark.skipif(find_spec("selectolax") is None, reason="needs selectolax")
every = pytest.mark.parametrize(
    "backend", ["html5lib", pytest.param("lexbor", marks=without_selectolax), "lxml"], ids=str
)


def test_every_back_end_is_tested() -> None:
    """The tests run on every registered back end."""
    assert set(BACKENDS) == {"html5lib", "lexbor", "lxml"}


def texts(html: bytes | str, **options: Any) -> list[str]:
    """Return the block texts of a page."""
    return list(blockml.parse(html, **options).blocks.texts)


@pytest.mark.parametrize("depth", [300, 3_000, 10_000, 50_000])
def test_lxml_keeps_text_at_any_depth(depth: int) -> None:
    """Text at any depth is kept, although libxml2's tree stops at 256 levels and lxml's at 2,048."""
    page = blockml.parse("<div>" * depth + "<p>deep</p>" + "</div>" * depth + "<p>after</p>")
    assert page.blocks.texts == ("deep", "after")
    assert page.status is (Status.OK if depth < 4_000 else Status.TRUNCATED)


def test_text_after_a_text_node_over_10_mb_is_kept() -> None:
    """Text after a text node over 10 MB is kept, where libxml2 without huge_tree silently stops."""
    page = blockml.parse("<p>" + "word " * 2_200_000 + "</p><p>rest</p>")
    assert len(page.blocks) == 2
    assert page.blocks.n_words.tolist() == [2_200_000, 1]
    assert page.blocks.texts[1] == "rest"
    assert page.status is Status.OK


def test_html5lib_flattens_elements_that_are_too_deep() -> None:
    """Elements beyond the depth limit are flattened, because html5lib's time grows with its square; the text stays."""
    page = blockml.parse(
        "<div>" * 2_500 + "deep" + "</div>" * 2_500 + "<p>after</p>", backend="html5lib", limits=Limits(depth=500)
    )
    assert "".join(page.blocks.texts).replace(" ", "") == "deepafter"
    assert page.status is Status.TRUNCATED
    assert any("500" in warning for warning in page.warnings)
    assert int(page.nodes.depth.max()) <= 501


def test_html5lib_beyond_pythons_recursion_limit() -> None:
    """A page of 2,000 levels, which is within the default limits, is parsed without recursion."""
    page = blockml.parse("<div>" * 2_000 + "deep", backend="html5lib")
    assert (page.status, page.blocks.texts) == (Status.OK, ("deep",))


@every
@pytest.mark.parametrize(
    "html", ["", " \n\t ", "<!-- only a comment -->", "<!DOCTYPE html>", "<div></div>", b"", "<title>T</title>"]
)
def test_pages_without_text(html: bytes | str, backend: str) -> None:
    """A page without text has no blocks and the status EMPTY_PAGE."""
    page = blockml.parse(html, backend=backend)
    assert page.status is Status.EMPTY_PAGE
    assert len(page.blocks) == len(list(page.blocks)) == 0


@every
def test_encoding_declared_inside_a_str_is_ignored(backend: str) -> None:
    """The declared encoding of a str is ignored, because it is already decoded."""
    for encoding in ("utf-16", "iso-8859-1", "klingon"):
        html = f'<?xml version="1.0" encoding="{encoding}"?><html><meta charset="{encoding}"><body><p>Crème 你好</p>'
        assert texts(html, backend=backend) == ["Crème 你好"]


@every
def test_content_after_the_end_of_html(backend: str) -> None:
    """Content after the end of html is kept, as in concatenated pages."""
    html = "<html><body><p>one</p></body></html>two<p>three</p><html><body><div>four</div></body></html><a>five</a>"
    assert texts(html, backend=backend) == ["one", "two", "three", "four", "five"]


@every
@pytest.mark.parametrize(
    "html",
    [
        "<title>Cats<body><h1>Hello</h1><p>World</p>",
        "<html><head><title>Cats\n<meta name=x></head><body><h1>Hello</h1><p>World</p></body></html>",
        "<!-- <title>old --><title>Cats<body><h1>Hello</h1><p>World</p>",
        "<script>'<title>'</script><title>Cats<body><h1>Hello</h1><p>World</p>",
    ],
    ids=["short", "whole", "comment", "script"],
)
def test_unclosed_title_does_not_swallow_the_page(html: str, backend: str) -> None:
    """An unclosed title ends early, while the standard's tree would contain nothing but the title."""
    page = blockml.parse(html, backend=backend)
    assert page.title == "Cats"
    assert page.blocks.texts == ("Hello", "World")
    assert any("title" in warning for warning in page.warnings)


@every
@pytest.mark.parametrize("html", ["<title>1 < 2</title>", "<title>x &lt;y</title>", "<a>menu</a><title>1 <2</title>"])
def test_closed_title_is_not_changed(html: str, backend: str) -> None:
    """A closed title that contains "<" is not changed."""
    page = blockml.parse(html, backend=backend)
    assert "<" in page.title
    assert page.warnings == ()


@every
def test_the_first_element_of_the_body_ends_the_head(backend: str) -> None:
    """Any element of the body ends the head, whose tags may be left out, and no text is lost."""
    for tag in (
        "article",
        "main",
        "section",
        "header",
        "nav",
        "figure",
        "button",
        "label",
        "custom-tag",
        "span",
        "div",
    ):
        assert texts(f"<!DOCTYPE html><title>T</title><{tag}>one</{tag}><p>two</p>", backend=backend) == [
            "one",
            "two",
        ], tag


@every
def test_nul_and_control_characters(backend: str) -> None:
    """NUL and control characters do not end the page and do not reach a block."""
    page = blockml.parse("<p>a\x00b\x01c\x7fd\x9fe</p><p>f</p>", backend=backend)
    assert page.blocks.texts[0].replace("\ufffd", "") == "abcde"
    assert page.blocks.texts[1] == "f"


@every
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"])
def test_unicode_encodings(encoding: str, backend: str) -> None:
    """UTF-16 is read with and without a byte-order mark."""
    html = "<html><body><p>Some plain English words, then Crème 你好</p></body></html>"
    assert texts(html.encode(encoding), backend=backend) == ["Some plain English words, then Crème 你好"]


@every
@pytest.mark.parametrize("tag", ["script", "style", "template", "iframe", "noembed", "noframes"])
def test_code_is_never_in_a_block(tag: str, backend: str) -> None:
    """Text of scripts and styles is removed, but the element still separates the texts around it."""
    page = blockml.parse(f"<body><p>a<{tag}>code</{tag}>b</p>", backend=backend)
    assert page.blocks.texts == ("a", "b")
    assert "code" not in "".join(page.nodes.texts)


@every
def test_noscript_and_hidden_text_is_kept_and_flagged(backend: str) -> None:
    """Hidden and noscript text is kept with a flag, so that the extractor can decide."""
    html = (
        "<body><noscript><p>one</p></noscript><div hidden><p>two</p></div>"
        "<p style='color:red; DISPLAY : none'>three</p><p style='visibility:hidden'>four</p><p>five</p>"
    )
    blocks = blockml.parse(html, backend=backend).blocks
    flags = {block.text: block.flags & (Flag.HIDDEN | Flag.NOSCRIPT) for block in blocks}
    hidden = Flag.HIDDEN
    assert flags == {"one": Flag.NOSCRIPT, "two": hidden, "three": hidden, "four": hidden, "five": Flag.NONE}


# --- limits -----------------------------------------------------------------------------------------------------------


@every
def test_byte_limit(backend: str) -> None:
    """A page over the limit of bytes is cut off with a warning."""
    for html in ("<p>one</p><p>two</p>", b"<p>one</p><p>two</p>"):
        page = blockml.parse(html, backend=backend, limits=Limits(bytes=10))
        assert page.blocks.texts == ("one",)
        assert (page.status, len(page.warnings)) == (Status.TRUNCATED, 1)
        assert blockml.parse(html, backend=backend, limits=Limits(bytes=20)).status is Status.OK


@every
def test_node_limit(backend: str) -> None:
    """Nodes over the limit are left out with a warning."""
    html = "<html><head></head><body><p>one</p><p>two</p></body></html>"
    page = blockml.parse(html, backend=backend, limits=Limits(nodes=5))
    assert page.blocks.texts == ("one",)
    assert (page.status, len(page.warnings), len(page.nodes)) == (Status.TRUNCATED, 1, 5)
    assert blockml.parse(html, backend=backend, limits=Limits(nodes=7)).status is Status.OK


@every
def test_depth_limit(backend: str) -> None:
    """Elements below the depth limit are flattened with a warning, and their text stays in order."""
    html = "<html><head></head><body><div><div><div>one</div>two</div>three</div>"
    page = blockml.parse(html, backend=backend, limits=Limits(depth=4))
    assert "".join(page.blocks.texts).replace(" ", "") == "onetwothree"
    assert (page.status, len(page.warnings)) == (Status.TRUNCATED, 1)
    assert blockml.parse(html, backend=backend, limits=Limits(depth=6)).status is Status.OK


@every
@pytest.mark.parametrize("depth", range(44, 56))
def test_tables_at_the_depth_limit(backend: str, depth: int) -> None:
    """A table at the depth limit keeps its text, even if elements that the standard needs open are beyond it."""
    html = "<div>" * 46 + "<table><tr><td>two</table>three"
    page = blockml.parse(html, backend=backend, limits=Limits(depth=depth))
    assert "".join(page.blocks.texts).replace(" ", "") == "twothree"


@every
def test_flattened_elements_still_separate_words(backend: str) -> None:
    """Words of different elements stay separate at the depth limit."""
    page = blockml.parse("<p>one</p><p>two</p>three<br>four", backend=backend, limits=Limits(depth=2))
    assert " ".join(page.blocks.texts).split() == ["one", "two", "three", "four"]


@every
def test_code_is_never_in_a_block_at_the_depth_limit(backend: str) -> None:
    """Scripts and styles below the depth limit are still removed."""
    html = "<div><div><div><div><script>code</script>text<style>code</style></div>"
    page = blockml.parse(html, backend=backend, limits=Limits(depth=4))
    assert "code" not in "".join(page.blocks.texts)
    assert "text" in "".join(page.blocks.texts)


@pytest.mark.parametrize("name", ["bytes", "nodes", "depth"])
def test_limits_below_one_are_refused(name: str) -> None:
    """The error for a limit below one names the limit."""
    with pytest.raises(UsageError, match=name):
        Limits(**{name: 0})


@pytest.mark.parametrize(
    ("option", "legal"),
    [("backend", "html5lib, lexbor, lxml"), ("profile", "anchor, boilerpipe"), ("tokenizer", "boilerpipe, cjk, space")],
)
@pytest.mark.parametrize("html", ["<p>x</p>", ""])
def test_wrong_options_name_the_legal_values(option: str, legal: str, html: str) -> None:
    """Wrong options raise an error that names the legal values, even for an empty page."""
    options: dict[str, Any] = {option: "nonsense"}
    with pytest.raises(UnknownNameError, match=f"'nonsense'.*{legal}"):
        blockml.parse(html, **options)


@pytest.mark.parametrize("html", [None, 3, ["<p>"], 2.5], ids=repr)
def test_only_text_is_a_page(html: Any) -> None:
    """An object that is neither str nor bytes is refused with the name of its type."""
    with pytest.raises(UsageError, match=type(html).__name__):
        blockml.parse(html)


def test_buffers_are_bytes() -> None:
    """Values of bytearray and memoryview, which network code returns, are read as bytes."""
    for page in (bytearray(b"<p>x"), memoryview(b"<p>x")):
        assert texts(page) == ["x"]  # type: ignore[arg-type]
        assert blockml.extract(page, model="plain").text == "x"


# --- any page ---------------------------------------------------------------------------------------------------------


def check_tree(nodes: Nodes) -> None:
    """Check that the columns of a tree agree with each other."""
    n = len(nodes)
    children: list[list[int]] = [[] for _ in range(n)]
    for node, parent in enumerate(nodes.parent.tolist()):
        assert -1 <= parent < node
        if parent >= 0:
            children[parent].append(node)
            assert nodes.depth[node] == nodes.depth[parent] + 1
        else:
            assert nodes.depth[node] == 0
    for node in range(n):
        assert nodes.end[node] == (nodes.end[children[node][-1]] if children[node] else node + 1)
        is_text = nodes.name(node) == "#text"
        assert is_text == bool(nodes.texts[node])
        if is_text:
            assert not nodes.texts[node].isspace()
            assert not children[node]
    assert nodes.names[0] == "#text"
    assert len(nodes.attributes) == len(nodes.texts) == len(nodes.flags) == n


@every
@pytest.mark.parametrize("tag", sorted(VOID - {"base", "col", "link", "meta"}))
def test_void_elements_are_empty(tag: str, backend: str) -> None:
    """A void element holds no text and ends at most one block."""
    page = blockml.parse(f"<body><div>a<{tag}>b</div>c", backend=backend)
    assert [(block.text, block.parent) for block in page.blocks] == [("a", "div"), ("b", "div"), ("c", "body")]
    (element,) = [node for node in range(len(page.nodes)) if page.nodes.name(node) == tag]
    assert page.nodes.end[element] == element + 1


@every
@settings(max_examples=60)
@given(html=messy_html)
def test_tree_is_consistent(backend: str, html: str) -> None:
    """Parent, depth, end and texts of any page describe one tree in document order."""
    check_tree(blockml.parse(html, backend=backend).nodes)


@every
@settings(max_examples=60)
@given(html=messy_html)
def test_every_element_is_found_by_its_xpath(backend: str, html: str) -> None:
    """The function find() inverts xpath() for every element."""
    nodes = blockml.parse(html, backend=backend).nodes
    elements = [node for node in range(len(nodes)) if nodes.name(node) != "#text"]
    assert [nodes.find(nodes.xpath(node)) for node in elements] == elements


@every
@settings(max_examples=30)
@given(html=messy_html)
def test_xpath_of_a_text_is_that_of_its_parent(backend: str, html: str) -> None:
    """The XPath of a text is that of its parent, whose steps are numbered only if siblings have the same name."""
    nodes = blockml.parse(html, backend=backend).nodes
    for node in range(len(nodes)):
        steps = []
        for element in path_of(nodes, node):
            siblings = [
                other
                for other in range(len(nodes))
                if nodes.parent[other] == nodes.parent[element] and nodes.tag[other] == nodes.tag[element]
            ]
            number = f"[{siblings.index(element) + 1}]" if len(siblings) > 1 else ""
            steps += [] if nodes.name(element) == "#text" else [nodes.name(element) + number]
        if not all(re.fullmatch(r"[A-Za-z_][\w.-]*|#text", nodes.name(element)) for element in path_of(nodes, node)):
            continue  # a name that XPath cannot express is written as a star, and is still found
        assert nodes.xpath(node) == "/" + "/".join(steps)


@every
def test_elements_with_odd_names_are_found_by_their_xpath(backend: str) -> None:
    """Elements whose names contain brackets, colons or other signs are found by their XPath."""
    nodes = blockml.parse("<body><x[1]>a</x[1]><x[1]>b</x[1]><o:p>c</o:p><a-b.c@d>e", backend=backend).nodes
    elements = [node for node in range(len(nodes)) if nodes.name(node) != "#text"]
    assert [nodes.find(nodes.xpath(node)) for node in elements] == elements


@every
def test_xpaths_of_deep_elements_are_short(backend: str) -> None:
    """XPaths of deep elements leave out levels, because with all of them a page of 70 kB had 80 million characters."""
    begin, end = f"<html><head></head><body>{'<div>' * 600}", f"{'</div>' * 600}</body></html>"
    nodes = blockml.parse(f"{begin}<p>a</p><x:y>b</x:y><p>c</p>{end}", backend=backend).nodes
    elements = [node for node in range(len(nodes)) if nodes.name(node) != "#text"]
    paths = nodes.xpaths(elements)
    assert max(map(len, paths)) < 256 * len("/div") + 30
    assert [nodes.find(path) for path in paths] == elements
    tree = etree.fromstring(f"{begin}<p/><y/><p/>{end}", etree.XMLParser(huge_tree=True))
    assert [tree.xpath(path) for path in paths] == [[element] for element in tree.iter()]


@every
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_very_small_depth_limits(backend: str, depth: int) -> None:
    """Every legal depth limit keeps all text of the page."""
    html = "<html><head><title>T</title></head><body><p>one<table><tr><td>two</table><select><option>three</select>"
    page = blockml.parse(html, backend=backend, limits=Limits(depth=depth))
    assert [word for word in ("one", "two", "three") if word not in "".join(page.blocks.texts)] == []


@pytest.mark.parametrize(
    "xpath", ["", "/", "/html/body/p[0]", "/html/body/p[3]", "/html/body/p[-1]", "/svg", "/html/head/p"]
)
def test_find_returns_none_for_a_missing_element(xpath: str) -> None:
    """The function find() returns None for a missing element."""
    assert blockml.parse("<p>a</p><p>b</p>").nodes.find(xpath) is None


@every
@settings(max_examples=60)
@given(
    html=st.one_of(messy_html, st.text(), messy_bytes),
    limits=st.builds(Limits, bytes=st.integers(1, 400), nodes=st.integers(1, 40), depth=st.integers(1, 8)),
)
def test_no_page_raises_under_any_limit(backend: str, html: bytes | str, limits: Limits) -> None:
    """Under any limits a page has at most the allowed nodes, and a truncated page has a warning."""
    page = blockml.parse(html, backend=backend, limits=limits)
    check_tree(page.nodes)
    assert len(page.nodes) <= limits.nodes
    assert page.status is not Status.TRUNCATED or page.warnings


@every
@settings(max_examples=60)
@given(html=st.one_of(messy_html, st.text(), messy_bytes), profile=st.sampled_from(["anchor", "boilerpipe"]))
def test_no_page_raises(backend: str, html: bytes | str, profile: str) -> None:
    """Any text and any bytes give a page with a status."""
    page = blockml.parse(html, backend=backend, profile=profile)
    assert page.status in {Status.OK, Status.EMPTY_PAGE, Status.UNDECODABLE}
    assert (page.status is Status.OK) == (len(page.blocks) > 0)


def test_formatting_elements_left_open_stay_cheap() -> None:
    """Formatting elements left open, which the standard re-opens in every paragraph, take linear time by default."""
    html = "".join(itertools.repeat("<p><b><i>x", 20_000))
    assert len(blockml.parse(html, limits=Limits(blocks=20_000)).blocks) == 20_000


@pytest.mark.parametrize("html", ["<TABLE><SVG><HTML>text", f"text<i title='&#{'1' * 5_000};'>"])
def test_a_page_on_which_html5lib_fails_is_parsed_by_lxml(html: str) -> None:
    """A page on which html5lib raises, as on drawings in broken tables or long numbers, is parsed by lxml."""
    page = blockml.parse(html, backend="html5lib")
    assert page.warnings[-1] == "parsed by lxml: html5lib failed on it"
    assert page.blocks.texts == ("text",)


def test_html5lib_without_memory_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """MemoryError in html5lib is raised, as by the other back ends."""
    html5lib = pytest.importorskip("html5lib", reason="needs the extra html5lib")

    def main_loop(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(html5lib.HTMLParser, "mainLoop", main_loop)
    with pytest.raises(MemoryError):
        blockml.parse("<p>text", backend="html5lib")


@pytest.mark.parametrize(
    "html",
    [
        f"<{'a' * 100_000}>text", f"</{'a' * 100_000}>text", f"<!doctype {'a' * 100_000}>text",
        f"<p title='{'&' * 100_000}'>text", f"<p {'é' * 100_000}>text", f"<!--{'-a' * 100_000}-->text",
    ],
    ids=["name", "end tag", "document type", "attribute", "attribute name", "comment"],
)  # fmt: skip
def test_html5lib_has_a_budget_of_copied_characters(html: str) -> None:
    """A page on which html5lib would copy more characters than its budget is parsed by lxml."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    page = blockml.parse(html, backend="html5lib")
    assert page.warnings == ("parsed by lxml: its tags or comments are too long for html5lib",)
    assert page.blocks.texts == blockml.parse(html).blocks.texts


@pytest.mark.parametrize(
    "html", [f"<meta name=description content='{'w ' * 2_100}'>", f"<path d='M {'1 2 ' * 2_000}'>"]
)
def test_long_values_are_not_many_attributes(html: str) -> None:
    """White space in a value doesn't count as that between attributes."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    assert blockml.parse(html + "<p>text", backend="html5lib").warnings == ()


def test_long_tags_are_within_the_budget() -> None:
    """A value of 30,000 characters with many references, and a picture of a megabyte, are within the budget."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    html = f"<p data-state='{'&quot;' * 2_500}{'a' * 15_000}'>text<img src='data:image/png;base64,{'a' * 1_000_000}'>"
    assert blockml.parse(html, backend="html5lib").warnings == ()


@pytest.mark.parametrize(
    "html",
    [
        "<p>" + "".join(f"<b id={i}>" for i in range(60)) + "<p>one two" * 3_000,
        "<i></i>" * 40_000 + "x",
        "<ol>" + "<li>w" * 9_000,
    ],
    ids=["formatting that is opened again", "empty elements", "list items"],
)
def test_html5lib_has_a_budget_of_elements(html: str) -> None:
    """A page with more elements than html5lib's budget is parsed by lxml and loses no text."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    page = blockml.parse(html, backend="html5lib")
    assert page.warnings[0] == f"parsed by lxml: it has more than {max(3_000, len(html) // 25)} elements"
    assert page.blocks.texts == blockml.parse(html).blocks.texts


def test_html5lib_has_a_budget_of_open_elements() -> None:
    """A page with too many open elements, which html5lib searches at nearly every tag, is parsed by lxml."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    html = "<div><h1>" * 1_900 + "<i>w</i> " * 5_000
    page = blockml.parse(html, backend="html5lib")
    assert page.warnings == ("parsed by lxml: its elements are nested too deeply for html5lib",)
    assert page.blocks.texts == blockml.parse(html).blocks.texts


@pytest.mark.parametrize(
    "start", ["<p>", "<pre>", "<title>", "<textarea>", "<p><b>one</b>", "<table>", "<table><tr><td>"]
)
def test_html5lib_does_not_copy_a_long_text_again_and_again(start: str) -> None:
    """A literal "<" or "&" starts a new piece of text instead of copying the text before it, and no text is lost."""
    html5lib = pytest.importorskip("html5lib", reason="needs the extra html5lib")
    html = start + "& < a" * 4_000 + "<i>end</i>"
    root = html5lib_root(html, len(html))
    whole = html5lib.parse(html, namespaceHTMLElements=False)
    pieces = [text for node in root.iter() for text in (node.text, node.tail) if text]
    assert "".join(pieces) == "".join(text for node in whole.iter() for text in (node.text, node.tail) if text)
    if start.strip("<>") != "table":  # html5lib itself collects text of a table outside its cells
        assert max(map(len, pieces)) < 4_100
    assert [node.tag for node in root.iter() if isinstance(node.tag, str)] == [node.tag for node in whole.iter()]


@pytest.mark.parametrize("html", ["<ol>" + "<li>w" * 20_000, "<b>" * 300 + "<p>one" * 200, "<svg><table><html>"])
def test_nothing_of_html5lib_waits_for_a_garbage_collection(html: str) -> None:
    """html5lib's tree, which takes most of an extraction's memory, is freed without the garbage collector."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    html5lib_root("<p>loads what is loaded once", 30)
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        html5lib_root(html, len(html))
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert left < 150_000 + most // 20


def test_html5lib_is_not_given_a_tag_of_many_attributes() -> None:
    """A tag of many attributes, each of which html5lib compares with all before it, is parsed by lxml."""
    pytest.importorskip("html5lib", reason="needs the extra html5lib")
    page = blockml.parse("<p " + " ".join(f"a{i}=1" for i in range(3_000)) + ">text</p>", backend="html5lib")
    assert page.warnings == ("parsed by lxml: a tag has too many attributes for html5lib",)
    assert page.blocks.texts == ("text",)
