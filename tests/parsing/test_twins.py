"""Parsing with the compiled kernel and without it: the same page, whatever comes in."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml import kernel
from blockml.datasets import open_dataset
from blockml.page import Blocks, Flag, Nodes
from blockml.parsing import Limits, lexbor, segment
from blockml.parsing.builder import DROPPED, PREFORMATTED, LimitReached, NodesBuilder
from blockml.parsing.characters import class_table
from blockml.parsing.lines import VOID
from blockml.parsing.segmentation import BREAKING, PROFILES
from blockml.parsing.words import TOKENIZERS
from tests.strategies import messy_bytes, messy_html

pytestmark = pytest.mark.skipif(
    kernel.compiled is None, reason="needs the compiled kernel: there was no compiler, or BLOCKML_PURE is set"
)


@contextmanager
def pure() -> Iterator[None]:
    """Without the compiled kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "compiled", None)
        yield


def assert_same(one: Any, other: Any) -> None:
    """All columns are equal, and of the same types."""
    assert type(one) is type(other)
    for name in one.__slots__:
        a, b = getattr(one, name), getattr(other, name)
        assert type(a) is type(b), name
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, name
            assert a.tolist() == b.tolist(), name
        elif isinstance(a, Nodes | Blocks):
            assert_same(a, b)
        elif name == "attributes":
            assert [list(held.items()) for held in a] == [list(held.items()) for held in b]
        else:
            assert a == b, name


def both(work: Callable[[], object]) -> None:
    """Do it in both ways."""
    compiled = work()
    with pure():
        assert_same(compiled, work())


# --- pages ------------------------------------------------------------------------------------------------------------

#: Pieces that the rules speak of, in any order.
PIECES = [
    *(f"<{name}>" for name in sorted(BREAKING | VOID | DROPPED | PREFORMATTED | {"a", "b", "noscript", "svg", "x"})),
    *(f"</{name}>" for name in ["head", "body", "html", "title", "a", "b", "p", "div", "td", "pre", "script", "style"]),
    *(f"<p style='{style}'>" for style in ["display:none", "DISPLAY :\tnone", "visibility: hidden", "dıſplay:none"]),
    "<p hidden>", "<html>", "<head>", "<title>", "<script>a<b</script>", "<!-- c -->", "<!--", "<?pi?>",
    "<![CDATA[x]]>", " ",
    "\n", "\t ", "\xa0", "\u3000", "\x85", "\x1c", "\x00", "\x01", "\x7f", "\x9f", "&nbsp;", "&#x80;", "&amp;",
    "one", "two words", "é", "你好", "か", "ไทย", "😀", "\ufeff", "--", "a-b", "$1.50", "#", "_", "١٢", "²", "Ⅷ",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
some_limits = st.just(Limits()) | st.builds(
    Limits, bytes=st.integers(1, 400), nodes=st.integers(1, 40), depth=st.integers(1, 8)
)


@settings(max_examples=400)
@given(
    html=hostile | messy_html | st.text() | messy_bytes,
    limits=some_limits,
    profile=st.sampled_from(sorted(PROFILES)),
    tokenizer=st.sampled_from(sorted(TOKENIZERS)),
    keep_wordless=st.booleans(),
)
def test_any_page(html: bytes | str, **options: Any) -> None:
    """Nodes, blocks, warnings and status."""
    both(lambda: blockml.parse(html, **options))


@settings(max_examples=50)
@given(html=hostile)
def test_any_page_by_html5lib(html: str) -> None:
    """Its back end feeds the same builder."""
    both(lambda: blockml.parse(html, backend="html5lib"))


@pytest.mark.parametrize(
    "html",
    [
        pytest.param("<div>" * 20_000 + "x", id="nested"),
        pytest.param("<b> </b>" * 10_000 + "x", id="white space"),
        pytest.param("<pre> " + "<b> </b>" * 10_000 + "x", id="white space that counts"),
        pytest.param("<p " + " ".join(f"a{i}=1" for i in range(20_000)) + ">x", id="attributes"),
        pytest.param("".join(f"<x{i}>{i}</x{i}>" for i in range(10_000)), id="names"),
        pytest.param("word é 你 " * 100_000, id="one text"),
        pytest.param(" " * 5_000 + "x" + " " * 5_000, id="much space around a text"),
        pytest.param(" " * 5_000 + "\x01" + " " * 5_000 + "<br>x", id="a control character in much space"),
        pytest.param("<p>x&amp;" * 10_000, id="pieces of text"),
        pytest.param(f"<p style='{'x' * 5_000} display: none'>x", id="a long style"),
    ],
)
def test_large_pages(html: str) -> None:
    """Arrays grow, and long texts are looked at in pieces."""
    both(lambda: blockml.parse(html))


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["wcxb", "l3s-gn1", "cleaneval", "cleanportaleval", "ir-research-big9-chaos"])
def test_real_pages(name: str, corpora: Path) -> None:
    """All of every thirtieth page."""
    pages = open_dataset(corpora / name).pages[::30]
    assert len(pages) > 1
    for labelled in pages:
        both(partial(blockml.parse, labelled.load()[0], charset=labelled.charset))


# --- trees that lexbor built ------------------------------------------------------------------------------------------

needs_selectolax = pytest.mark.skipif(find_spec("selectolax") is None, reason="needs selectolax")

#: What a serialisation may be unclear about, and what lexbor writes in its own way.
ODD_PIECES = [
    "<plaintext>", "<svg><style>", "<svg><script>", "<svg><xmp>", "<svg><link>", "<svg><foreignObject>", "<svg/>",
    "<math><mi>", "<math><annotation-xml encoding=text/html>", "<svg VIEWBOX=1 xlink:href=2>", "</svg>", "</style>",
    "<script><!--", "<script>", "</script>", "--></script>", "<!--<SCRIPT >", "<template>", "</template>",
    "<pre>\n\n", "<textarea>\n", "<xmp>&lt;<b>", "</xmp>", "<noscript>", "<iframe><p>", "</iframe>", "<select>",
    "<table>", "<td>", "<frameset>", "<frame>", "<keygen>", "<bgsound>", "<b a=1><i>", "</b>", "<body a=1>",
    "<a<b>", "<x\x00y>", "<X:Y>", "<li\u212a>", "<xÉ>", "<p =a=b c d='>' e='\"' f=&amp;&nbsp;&lt; \x00=\x00>",
    "<!-->", "<!--a--!>", "<! -->", "</ x>", "<?a", "<?a b?>", "<![CDATA[<p>]]>", "<!", "</", "-->",
    "&lt;", "&lt;/style&gt;", "&nbsp;", "&amp;amp;", "&#0;", "&#xD800;", '"', "\x00", " ", "x",
]  # fmt: skip
odd = st.lists(st.sampled_from(ODD_PIECES), max_size=30).map("".join)


@needs_selectolax
@settings(max_examples=400)
@given(html=odd | hostile | messy_html | st.text(), limits=some_limits)
def test_any_page_by_lexbor(html: str, limits: Limits) -> None:
    """Read from its serialisation or walked node by node."""
    both(lambda: blockml.parse(html, backend="lexbor", limits=limits))


def fed(html: str) -> tuple[Nodes, bool]:
    """Nodes of a page by lexbor, and whether they were read from its serialisation."""
    builder = NodesBuilder(Limits())
    answers = [False]

    def read_markup(markup: str, read: Any = builder.read_markup) -> bool:
        answers.append(read(markup))
        return answers[-1]

    builder.read_markup = read_markup
    lexbor.feed(html.encode(), builder)
    builder.close()
    return builder.nodes(), answers[-1]


@needs_selectolax
@pytest.mark.parametrize(
    ("html", "is_read"),
    [
        ("<p a b='' c='&amp;&nbsp;&lt;&gt;&quot;'>&amp;amp;&nbsp;&lt;b></p>", True),
        ('<p =a=b c"d=e <f=g É=1 \x00=\x00>x', True),
        ("<a<b>x</a<b><x\x00y>z<X:Y><li\u212a>x", True),
        ("<svg VIEWBOX=1 xlink:href=2><linearGradient/><title>&lt;</title></svg>x", True),
        ("<math definitionurl=1><mi>x<p>y", True),
        ("<pre>\n\nx</pre><textarea>\n</textarea><listing>\n\n", True),
        ("<script>a<b></p></script><style>&lt;<p></style><xmp>&lt;<p></xmp><xmp></xmp><noembed><p>", True),
        ("<script><!-- document.write('<script></scr' + 'ipt>') --></script>x", True),
        ("<script><!--> <script></script>x", True),
        ("<script><!--<script></script>--></script>x", False),
        ("<script><!--<SCRIPT >", False),
        ("<noscript><p>&lt;</noscript><p>x", True),
        ("<template>a<p>b<br><script></p></script><template></template></template>c", True),
        ("<template><svg><style>", False),
        ("<basefont><bgsound>a<keygen>b<param>c<wbr>d<image>e", True),
        ("<frameset><frame></frameset><noframes><p>", True),
        ("a<!--b--><!-->c<!--d--!>e<! -->f<?g h>i</ j>k<![CDATA[l>m]]>", True),
        ("a --><b></i><!", False),
        ("a<plaintext></plaintext>&lt;", False),
        ("<svg><plaintext>a</plaintext></svg>b", False),
        ("<svg><style>a&lt;/style>b</style></svg>c", False),
        ("<svg><source>a</source>b</svg>c", False),
        ("<svg><foreignObject><br></foreignObject></svg>", False),
        ("<math><annotation-xml encoding=text/html><style>&lt;</style>", False),
        ("x</html>y<!--z-->", True),
        pytest.param("<p>" + "x" * 2**22, False, id="long"),
        ("", True),
    ],
)
def test_what_is_read_from_its_serialisation(html: str, is_read: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """All but what could stand for another tree."""
    nodes, was_read = fed(html)
    assert was_read == is_read
    with pure():
        builder = NodesBuilder(Limits())
        lexbor.feed(html.encode(), builder)
        builder.close()
    assert_same(nodes, builder.nodes())


MARKUP_PIECES = [
    "<", "</", ">", "<html>", "</html>", "<p", "<p>", "</p>", "<p a", ' a="', '"', "=", " ", "a", "é", "&", "&amp;",
    "&nbsp;", "&x;", "<!--", "-->", "<!", "<?", "<script>", "</script>", "<svg>", "<br>", "</br>", "<template>",
    "</template>", "<xmp>", "\x00",
]  # fmt: skip


@settings(max_examples=400)
@given(
    markup=st.lists(st.sampled_from(MARKUP_PIECES), max_size=12).map("".join) | st.text(max_size=12),
    limits=some_limits,
)
def test_any_markup(markup: str, limits: Limits) -> None:
    """What is no serialisation is refused, or stands for something; a builder that refused it is as new."""
    sequence: list[Event] = [("read_markup", (markup,)), *SOME_EVENTS]
    builder = NodesBuilder(limits)
    assert builder.read_markup is not None
    try:
        was_read = builder.read_markup(markup)
    except LimitReached:
        assert builder.too_many
        return
    if not was_read:
        assert_same(built(sequence, limits)[0], built(SOME_EVENTS, limits)[0])


@pytest.mark.parametrize(
    ("markup", "is_read"),
    [
        ('<p a b=">" c="1"></p>', True),
        ('<p b=">"></p>', True),
        ("<p></p>", True),
        ("<p a=></p>", False),
        ("<p a='b'></p>", False),
        ('<p a="b', False),
        ('<p a="b"', False),
        ('<p a="&x;"></p>', False),
        ("<p >", False),
        ("<p", False),
        ("<p>", False),
        ("</p>", False),
        ("<p></div>", False),
        ("<p></p", False),
        ("<p>&</p>", False),
        ("<br></br>", False),
        ("<script></script", False),
        ("<script>", False),
        ("<!-- --", False),
        ("<!DOCTYPE html>", False),
        ("<?x", False),
        ("<1></1>", False),
        ("<", False),
        ("", False),
    ],
)
def test_which_markup_is_read(markup: str, is_read: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """Elements with both tags, quoted values, escapes of the standard."""
    builder = NodesBuilder(Limits())
    assert builder.read_markup is not None
    assert builder.read_markup(markup) is is_read


def test_markup_is_a_whole_page() -> None:
    """A builder that has had events would lose them where the markup is refused."""
    events: list[Event] = [("start", ("p", {})), ("start", ("script", {})), ("data", ("x",)), ("note_depth", ())]
    for name, arguments in events:
        builder = NodesBuilder(Limits())
        getattr(builder, name)(*arguments)
        assert builder.read_markup is not None
        with pytest.raises(ValueError, match="had events"):
            builder.read_markup("<p></p>")
    for odd_markup, error in ((b"<p></p>", TypeError), ("\ud800", UnicodeEncodeError)):
        read: Any = NodesBuilder(Limits()).read_markup
        with pytest.raises(error):
            read(odd_markup)


@needs_selectolax
@pytest.mark.parametrize(
    "html",
    [
        pytest.param("<span>" * 2_500 + "x", id="nested"),
        pytest.param("".join(f"<x{i} a{i}=b{i}>{i}</x{i}>" for i in range(2_500)), id="names"),
        pytest.param("".join(f"<p class=c{i % 700} title='t{i}'> x{i}" for i in range(2_500)), id="attributes"),
        pytest.param("<p>" + "&" * 100_000 + "<p title='" + "&lt;" * 2_000 + "'>", id="escapes"),
        pytest.param("<p>word é 你 " * 1_000, id="texts"),
    ],
)
def test_large_pages_by_lexbor(html: str) -> None:
    """Arrays grow, and names that share a place take turns."""
    assert fed(html)[1]
    both(lambda: blockml.parse(html, backend="lexbor"))


@pytest.mark.corpora
@needs_selectolax
@pytest.mark.parametrize("name", ["wcxb", "l3s-gn1", "cleaneval", "ir-research-big9-chaos"])
def test_real_pages_by_lexbor(name: str, corpora: Path) -> None:
    """All of every thirtieth page."""
    for labelled in open_dataset(corpora / name).pages[::30]:
        both(partial(blockml.parse, labelled.load()[0], charset=labelled.charset, backend="lexbor"))


# --- events -----------------------------------------------------------------------------------------------------------

NAMES = [
    "html",
    "head",
    "body",
    "title",
    "meta",
    "p",
    "a",
    "pre",
    "textarea",
    "br",
    "script",
    "template",
    "noscript",
    "x",
]
ATTRIBUTES: list[Mapping[str, str]] = [
    {}, {"class": "x"}, {"hidden": ""}, {"style": "display:none"}, {"style": "color:red"}, MappingProxyType({}),
    MappingProxyType({"hidden": ""}), MappingProxyType({"style": "visibility : hidden"}), MappingProxyType({"id": "x"}),
]  # fmt: skip
Event = tuple[str, Any]
events = st.lists(
    st.tuples(st.just("start"), st.tuples(st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES)))
    | st.tuples(st.just("end"), st.tuples(st.sampled_from(NAMES)))
    | st.tuples(
        st.just("data"), st.tuples(st.text(max_size=3) | st.sampled_from(["", " ", "\n  ", "\x01", " \x01 ", "x"]))
    )
    | st.tuples(st.just("close"), st.just(())),
    max_size=60,
)


SOME_EVENTS: list[Event] = [
    ("data", (" x",)), ("start", ("body", {})), ("start", ("pre", {"hidden": ""})), ("data", (" y",)),
    ("end", ("pre",)),
]  # fmt: skip


def built(sequence: list[Event], limits: Limits) -> tuple[Nodes, bool, bool]:
    """What a builder makes of events, as unbalanced as they are."""
    builder = NodesBuilder(limits)
    try:
        for name, arguments in sequence:
            getattr(builder, name)(*arguments)
        builder.close()
    except LimitReached:
        builder.close()
    return builder.nodes(), builder.too_deep, builder.too_many


@settings(max_examples=400)
@given(sequence=events, limits=some_limits, profile=st.sampled_from(sorted(PROFILES)))
def test_any_events(sequence: list[Event], limits: Limits, profile: str) -> None:
    """Also those that no parser gives."""
    nodes, *hit = built(sequence, limits)
    with pure():
        expected, *expected_hit = built(sequence, limits)
        blocks = segment(expected, profile=profile)
    assert_same(nodes, expected)
    assert hit == expected_hit
    assert_same(segment(nodes, profile=profile), blocks)


def test_every_character() -> None:
    """White space and control characters are those of Python; none lies beyond these."""
    special = [c for c in range(sys.maxunicode + 1) if chr(c).isspace()]
    assert max(special) < 0x3100
    sequence: list[Event] = []
    for c in [*range(0x3100), 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600, 0x10FFFF]:
        for text in (chr(c), f"a{chr(c)}", f"{chr(c)} "):
            sequence += [("data", (text,)), ("start", ("br", {}))]
    nodes, *_ = built(sequence, Limits())
    with pure():
        expected, *_ = built(sequence, Limits())
        blocks = [segment(expected, tokenizer=tokenizer) for tokenizer in TOKENIZERS]
    assert_same(nodes, expected)
    for tokenizer, cut in zip(TOKENIZERS, blocks, strict=True):
        assert_same(segment(nodes, tokenizer=tokenizer), cut)


def test_lone_surrogates() -> None:
    """The builder hands them on; decoding lets none through."""
    sequence: list[Event] = [("data", ("\ud800",)), ("start", ("br", {"style": "\udfff"})), ("data", (" \udc00\x01",))]
    nodes, *_ = built(sequence, Limits())
    with pure():
        expected, *_ = built(sequence, Limits())
    assert_same(nodes, expected)
    assert nodes.texts == ["\ud800", "", " \udc00"]


style_pieces = st.sampled_from(
    [
        *"display DISPLAY visibility Visibility none NONE hidden Hidden : x ; d v [ISPLAY ı ſ \u212a dı".split(),
        *(" ", "\t", "\x1f", "\xa0"),
    ]
)


@settings(max_examples=300)
@given(style=st.lists(style_pieces, max_size=8).map("".join))
def test_any_style(style: str) -> None:
    """As the regular expression says, letters with an odd lower case included."""
    nodes, *_ = built([("start", ("p", {"style": style}))], Limits())
    hidden = re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style, re.IGNORECASE) is not None
    assert bool(nodes.flags[0] & Flag.HIDDEN) == hidden


# --- what is no tree --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("start", ("p",), TypeError),
        ("start", ([], {}), TypeError),
        ("start", ("p", 1), TypeError),
        ("start", ("p", {"style": 1}), TypeError),
        ("end", ([],), TypeError),
        ("data", (1,), TypeError),
    ],
)
def test_odd_events_are_refused(name: str, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    """And the builder lives on."""
    builder = NodesBuilder(Limits())
    builder.start("div", {})
    with pytest.raises(error):
        getattr(builder, name)(*arguments)
    builder.data("x")
    builder.close()
    assert builder.nodes().texts[-1] == "x"


COLUMNS: dict[str, Any] = {
    "tag": [1, 0], "parent": [-1, 0], "depth": [0, 1], "end": [2, 2], "flags": [0, 0], "texts": ["", "x"],
    "properties": [0, 3], "classes": class_table(),
}  # fmt: skip
DTYPES = {"flags": np.uint8, "properties": np.uint8, "classes": np.uint8}


@pytest.mark.parametrize(
    ("name", "column", "error"),
    [
        ("tag", [2, 0], ValueError),
        ("tag", [-1, 0], ValueError),
        ("tag", [1], ValueError),
        ("parent", [-2, 0], ValueError),
        ("parent", [-1, 1], ValueError),
        ("end", [3, 2], ValueError),
        ("end", [2, 1], ValueError),
        ("flags", [0], ValueError),
        ("texts", ["", 1], TypeError),
        ("texts", [""], ValueError),
        ("texts", ("", "x"), TypeError),
        ("classes", [0] * 128, ValueError),
    ],
)
def test_columns_that_are_no_tree_are_refused(
    compiled: kernel.Compiled, name: str, column: Any, error: type[Exception]
) -> None:
    """Nothing is read beyond them."""

    def cut(columns: dict[str, Any]) -> tuple[Any, ...]:
        arrays = {
            key: held if key == "texts" else np.array(held, DTYPES.get(key, np.int32)) for key, held in columns.items()
        }
        return compiled.cut_blocks(*arrays.values(), 0)  # type: ignore[call-arg, arg-type]

    assert cut(COLUMNS)[-1] == ("x",)
    with pytest.raises(error):
        cut(COLUMNS | {name: column})
