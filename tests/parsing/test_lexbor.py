"""The back end lexbor: the standard's tree, and bounds on its cost."""

from __future__ import annotations

import gzip
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import MissingExtraError
from blockml.page import Nodes, Status
from blockml.parsing import Limits, lexbor
from blockml.parsing.lexbor import is_costly
from tests.strategies import messy_html

needs_selectolax = pytest.mark.usefixtures("_selectolax")


@pytest.fixture(scope="module")
def _selectolax() -> None:
    pytest.importorskip("selectolax", reason="needs the extra fast")


def nodes_of(html: str, backend: str = "lexbor") -> Nodes:
    """Return the nodes of a page."""
    return blockml.parse(html, backend=backend).nodes


def tree(html: str, backend: str = "lexbor") -> list[tuple[str, str, int, dict[str, str]]]:
    """Return name, text, depth and attributes of each node."""
    nodes = nodes_of(html, backend)
    return [(nodes.name(i), nodes.texts[i], int(nodes.depth[i]), dict(nodes.attributes[i])) for i in range(len(nodes))]


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for the missing package gives the command that installs it, and other back ends do not need it."""
    monkeypatch.setitem(sys.modules, "selectolax", None)
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(
        MissingExtraError, match=r'lexbor needs an optional package; in a checkout of blockml: pip install "\.\[fast\]"'
    ):
        blockml.parse("<p>x</p>", backend="lexbor")
    assert blockml.parse("<p>x</p>").blocks.texts == ("x",)


@needs_selectolax
@pytest.mark.parametrize(
    "html",
    [
        "<title>T</title><p>a<b>b</b>c",
        "<p hidden alt='' x=1 CLASS=A class=B>a",
        "a<!-- x -->b<![CDATA[c]]><?pi x?>d</p>e",
        "<svg><![CDATA[c<p>]]>d</svg>e",
        "<svg><foreignObject viewbox=1><p>t</p></foreignObject><title>x</title><style><g></g></style></svg>y",
        "<math><mi a=1>x<p>y",
        "<noscript><p>x</p></noscript><p>y",
        "<body><noscript><p>x</p></noscript><p>y",
        "<p>a<script>x < y</script>b<style>p</style>c<iframe><p></iframe>d",
        "<pre>\n\n one\r\ntwo</pre>\r\nthree",
        "<p>a\x00b<textarea>\n x\x00</textarea>",
        "<frameset><frame></frameset><noframes>x",
        "<b><p>a</b>b<p>c<i>d<table>e<tr><td>f</table>g",
        "<a href=1>a<div>b<a href=2>c</div>d",
        "<image><x[1]>a</x[1]><o:p>b",
        "<plaintext>x</p>",
        "a</html>b<!--c--><p>d</body>e",
        "&nbsp;&lt;&notit;&#x80;&#xD800;",
    ],
)
def test_nodes_are_those_of_html5lib(html: str) -> None:
    """Names, texts, depths and attributes equal those of html5lib, because both follow the HTML standard."""
    assert tree(html) == tree(html, "html5lib")


@needs_selectolax
def test_changes_of_the_standard_since_html5lib() -> None:
    """Elements in a ``select`` are kept, and ``template`` is in the ``head``, unlike in html5lib 1.1 of 2020."""
    html = "<template><p>t</template><body><select><div>a</div><option>b</select>"
    names = [(name, depth) for name, _, depth, _ in tree(html)]
    assert names == [
        ("html", 0), ("head", 1), ("template", 2), ("body", 1), ("select", 2), ("div", 3), ("#text", 4),
        ("option", 3), ("#text", 4),
    ]  # fmt: skip
    assert ("div", "", 3, {}) not in tree(html, "html5lib")


@needs_selectolax
def test_names_of_linked_drawings() -> None:
    """Attributes of drawings with a prefix are named as they are written, as by lxml."""
    assert ("use", "", 3, {"xlink:href": "#a"}) in tree("<svg><use xlink:href='#a'>")
    assert ("use", "", 3, {"xlink:href": "#a"}) in tree("<svg><use xlink:href='#a'>", "lxml")


@needs_selectolax
def test_the_chosen_option_occurs_once() -> None:
    """The chosen option, which browsers repeat in ``selectedcontent``, occurs once in the text."""
    html = "<select><button><selectedcontent></selectedcontent></button><option>a<option selected>b</select>"
    assert blockml.parse(html, backend="lexbor").blocks.texts == ("a", "b")


@needs_selectolax
def test_the_end_of_a_paragraph_ends_a_drawing() -> None:
    """The end of a paragraph ends a drawing, so an apparent CDATA section after it is a comment, as in browsers."""
    assert blockml.parse("<svg><![CDATA[a]]></svg>", backend="lexbor").blocks.texts == ("a",)
    assert blockml.parse("<svg></p><![CDATA[a]]>", backend="lexbor").blocks.texts == ()


@needs_selectolax
@settings(max_examples=100)
@given(html=messy_html)
def test_texts_of_messy_pages(html: str) -> None:
    """The visible characters of messy pages are those of html5lib, in the same order."""
    # The standard has changed in the first two; frames hold no text.
    assume(not any(f"<{name}" in html.lower() for name in ("select", "template", "frameset")))
    # It has also changed here: these end tags end a drawing or formula (13.2.6.5), after which CDATA is not allowed.
    has_drawing = any(f"<{name}" in html.lower() for name in ("svg", "math"))
    assume(not (has_drawing and any(f"</{name}" in html.lower() for name in ("p", "br"))))
    ours, theirs = ("".join(blockml.parse(html, backend=name).blocks.texts) for name in ("lexbor", "html5lib"))
    assert "".join(ours.split()) == "".join(theirs.split())


# --- hostile pages ----------------------------------------------------------------------------------------------------

MANY = 100_000
HOSTILE = {
    "deep": "<div>" * 2 * MANY + "x",
    "deep, with end tags of others": "<div></x>" * (MANY // 4) + "x",
    "deep, but not for libxml2": "<fieldset><a></a>" * MANY + "x",
    "deep lists": "<ul><li>x" * MANY,
    "deep drawings": "<svg><g>" * MANY + "x",
    "formatting left open": "".join(f"<p><b id={i}>x" for i in range(4_000)),
    "formatting left open, in other letters": "".join(f"<P><FONT\nid={i}>x" for i in range(4_000)),
    "attributes": "<div " + " ".join(f"a{i}" for i in range(MANY)) + ">x",
    "an article in a tag": "<p>a<p " + " ".join(f"word{i}," for i in range(MANY)),
}


@needs_selectolax
@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_take_seconds(html: str) -> None:
    """Hostile pages, on which lexbor by itself takes 25 seconds to hours or gigabytes, are parsed in seconds."""
    start = time.process_time()
    page = blockml.parse(html, backend="lexbor")
    assert time.process_time() - start < 15
    assert page.status in {Status.OK, Status.TRUNCATED}
    assert "".join(page.blocks.texts).replace(" ", "").startswith(("x", "a"))


@needs_selectolax
def test_costly_pages_keep_all_texts() -> None:
    """A costly page keeps its texts in order, separate and in their elements, and a warning names the parser."""
    html = "<!DOCTYPE html><title>T</title>" + "<p class=a>one <b>two</b><br>three &lt;four&gt;</p>" * 5_000
    assert is_costly(html.encode())
    page = blockml.parse(html, backend="lexbor", limits=Limits(blocks=15_000))
    assert (page.title, page.status) == ("T", Status.OK)
    assert page.warnings == ("parsed by lxml: it could have taken lexbor very long",)
    assert page.blocks.texts == ("one", "two", "three <four>") * 5_000
    assert {block.parent for block in page.blocks} == {"p", "b"}


@needs_selectolax
def test_depth_is_bounded_by_the_limit() -> None:
    """The depth limit holds for both parsers."""
    for n in (100, 20_000):
        page = blockml.parse("<div>" * n + "x", backend="lexbor", limits=Limits(depth=50))
        assert page.status is Status.TRUNCATED
        assert int(page.nodes.depth.max()) <= 51
        assert page.blocks.texts == ("x",)


@pytest.mark.parametrize(
    ("source", "costly"),
    [
        (b"", False),
        (b"<", False),
        (b"<a", False),
        (b"<b>" * 9_999, False),
        (b"<b>" * 10_001, True),
        (b"</b>" * 20_000, False),
        (b"<!--" * 20_000, False),
        (b"<p><b>x" * 4_000, False),
        (b"<p><b >x" * 4_000, True),
        (b"<p><STRONG/>x" * 4_000, True),
        (b"<p><b class=x>y</b>" * 4_000, False),
        (b"<p><b class=x><a href='/'>y</a></b>" * 3_000, False),
        (b"<p><b class=x><td>y</b>" * 4_000, True),
        (b"<p><b class=x><!--</b>-->" * 4_000, True),
        (b"<p><span class=x>y" * 4_000, False),
        (b"<p " + b"a " * 9_000 + b">", False),
        (b"<p " + b"a " * 11_000 + b">", True),
        (b"<p " + b"a " * 11_000, True),
        (b"<p>" + b"a " * 50_000 + b"<p>", False),
        (b"<img src='data:" + b"A" * 500_000 + b"'>", False),
    ],
)
def test_which_pages_are_costly(source: bytes, costly: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """Costly pages are recognised wherever the costly tag is, and ordinary pages are not costly."""
    for before in (b"", b"<p>" + b"x" * 7, b"y" * 12_345):
        assert is_costly(before + source) is costly


OPENINGS = [
    "<b id={}>",
    "<i id={} a='>' >",
    '<b id={} q"r s="t>',
    "<font id={} a=b/>",
    "<u id={} a = '\"'>",
    "<b\tid={}x='>",
]
INSIDE = ["x", "</b>", "</i>", "</u>", "</font>", "<a href=/>", "</a>", "<span title='</b>'>", "</span>", "<br>", "<p>"]
AROUND = [
    "<p>",
    "<td>",
    "<table>",
    "</table>",
    "<svg>",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    '<p title="',
    '">',
    "</p>",
]


@needs_selectolax
@given(st.lists(st.one_of(*map(st.sampled_from, (OPENINGS, INSIDE, INSIDE, AROUND))), max_size=40))
@settings(max_examples=300)
def test_elements_that_count_as_closed_are_closed(pieces: list[str]) -> None:
    """A paragraph after the pieces is in no more formatting elements than may be open."""
    html = "".join(piece.format(number) for number, piece in enumerate(pieces)) + "<p>the last text"
    source = html.encode()
    n_open = len(lexbor._FORMATTING.findall(source)) - len(lexbor._CLOSED.findall(source))
    nodes = nodes_of(html)
    for node in [node for node, text in enumerate(nodes.texts) if text.endswith("the last text")]:
        assert sum("id" in nodes.attributes[above] for above in nodes.ancestors(node)) <= n_open


@pytest.mark.parametrize("before", [b"", b"<p>x"])
@pytest.mark.parametrize("after", [b"", b">", b"/>y"])
def test_long_tags_are_found_anywhere(before: bytes, after: bytes) -> None:
    """Long tags are found at the very end, and after a long text without tags."""
    tag = b"<div " + b"a " * 10_500
    for gap in (0, 19_999, 20_000, 20_001, 45_000):
        assert is_costly(before + b"-" * gap + tag + after)


@needs_selectolax
def test_threads_give_the_same() -> None:
    """Parsing releases the interpreter's lock, and pages parsed by many threads equal those parsed one by one."""
    pages = [f"<title>{i}</title>" + f"<p class=c{i}>text {i}<b>bold</b>" * (10 * i) for i in range(40)]
    expected = [tree(page) for page in pages]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            assert list(pool.map(tree, pages)) == expected


@pytest.mark.corpora
@needs_selectolax
def test_corpus_pages_agree_with_html5lib(corpora: Path) -> None:
    """Real pages have about the same text as with html5lib, which is an independent implementation."""
    files = sorted((corpora / "wcxb" / "pages").glob("*.gz"))[::45]
    far = 0
    for file in files:
        html = gzip.decompress(file.read_bytes())
        ours, theirs = ("".join(blockml.parse(html, backend=name).blocks.texts) for name in ("lexbor", "html5lib"))
        far += abs(len(ours) - len(theirs)) > 0.05 * max(len(ours), len(theirs))
    assert far <= len(files) // 10
