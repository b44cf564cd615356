"""Compiled parsing and segmentation give the same nodes and blocks as the Python reference on any page."""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.datasets import open_dataset
from blockml.page import Blocks, Flag, Nodes
from blockml.parsing import PROFILES, Limits, lexbor, segment
from blockml.parsing.backends import libxml2_addresses, parse_lxml
from blockml.parsing.builder import DROPPED, PREFORMATTED, LimitReached, NodesBuilder, new_builder
from blockml.parsing.lexbor import addresses
from blockml.parsing.segmentation import BREAKING, VOID
from blockml.text.words import TOKENIZERS, class_table
from tests.reference import python_reference
from tests.strategies import messy_bytes, messy_html

pytestmark = [
    pytest.mark.skipif(
        _kernel.compiled is None, reason="needs the C extension: there was no compiler, or BLOCKML_PURE is set"
    ),
    pytest.mark.exhaustive,
]
BACKENDS = ["lxml", *(["lexbor"] if find_spec("selectolax") else [])]
needs_selectolax = pytest.mark.skipif("lexbor" not in BACKENDS, reason="needs selectolax")


def assert_same(one: Any, other: Any) -> None:
    """Check that all columns and their types are equal."""
    assert type(one) is type(other)
    for name in (item.name for item in fields(one)):
        a, b = getattr(one, name), getattr(other, name)
        if name == "attributes":  # any sequence of mappings
            assert [list(held.items()) for held in a] == [list(held.items()) for held in b]
            continue
        assert type(a) is type(b), name
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, name
            assert a.tolist() == b.tolist(), name
        elif isinstance(a, Nodes | Blocks):
            assert_same(a, b)
        else:
            assert a == b, name


def assert_equal_to_reference(work: Callable[[], object]) -> None:
    """Check that a result equals that of the Python reference."""
    found = work()
    with python_reference():
        assert_same(found, work())


# --- bytes ------------------------------------------------------------------------------------------------------------

#: Valid and invalid UTF-8: overlong forms, surrogates, numbers beyond the last code point, truncated characters.
UTF8_PIECES = (
    b"a", b"abcdefgh", "é".encode(), "你".encode(), "😀".encode(), b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2",
    b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xef\xbf\xbf",
    b"\xe4\xbd", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"\xf0\x9f\x98", b"\xff", b"\0",
)  # fmt: skip


@given(st.binary(max_size=40) | st.lists(st.sampled_from(UTF8_PIECES), max_size=12).map(b"".join))
def test_any_bytes(source: bytes) -> None:
    """The same bytes are valid UTF-8 as in Python."""
    assert _kernel.compiled is not None
    assert _kernel.compiled.is_utf8(source) == (source.decode("utf-8", "ignore").encode() == source)


# --- pages ------------------------------------------------------------------------------------------------------------

#: Markup with special rules, in any order.
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
    """Nodes, blocks, warnings and status with libxml2 equal those of the reference."""
    assert_equal_to_reference(lambda: blockml.parse(html, **options))


#: Markup with special rules in the HTML standard.
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
    """Nodes, blocks, warnings and status with lexbor equal those of the reference."""
    assert_equal_to_reference(lambda: blockml.parse(html, backend="lexbor", limits=limits))


@settings(max_examples=200)
@given(html=hostile | messy_html, limits=some_limits)
def test_public_interfaces_feed_the_compiled_builder(html: str, limits: Limits) -> None:
    """The compiled builder makes the same nodes of the events from lxml and selectolax."""
    for parse in (parse_lxml, *([lexbor.parse_selectolax] if "lexbor" in BACKENDS else [])):

        def nodes(parse: Callable[[bytes, NodesBuilder], None] = parse) -> Nodes:
            builder = new_builder(limits)
            with suppress(LimitReached):
                parse(html.encode("utf-8", "replace"), builder)
            with suppress(LimitReached):
                builder.close()
            return builder.nodes()

        assert_equal_to_reference(nodes)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "html",
    [
        pytest.param("<div>" * 8_000 + "x", id="nested"),
        pytest.param("<b> </b>" * 4_000 + "x", id="white space"),
        pytest.param("<pre> " + "<b> </b>" * 4_000 + "x", id="white space that counts"),
        pytest.param("<p " + " ".join(f"a{i}=1" for i in range(9_000)) + ">x", id="attributes of one element"),
        pytest.param("".join(f"<x{i} a{i}=b{i}>{i}</x{i}>" for i in range(2_500)), id="names"),
        pytest.param("".join(f"<p class=c{i % 700} title='t{i}'> x{i}" for i in range(2_500)), id="attributes"),
        pytest.param("<p>" + "&" * 100_000 + "<p title='" + "&lt;" * 2_000 + "'>", id="escapes"),
        pytest.param("word é 你 " * 100_000, id="one text"),
        pytest.param("<p>word é 你 " * 1_000, id="texts"),
        pytest.param("".join(f"<p>слово {i}é<p> word <b>слово</b> two" for i in range(40)), id="little ASCII"),
        pytest.param(" " * 5_000 + "x" + " " * 5_000, id="much white space around a text"),
        pytest.param(" " * 5_000 + "\x01" + " " * 5_000 + "<br>x", id="a control character in much white space"),
        pytest.param(f"<p style='{'x' * 5_000} display: none'>x", id="a long style"),
    ],
)
def test_large_pages(html: str, backend: str) -> None:
    """Large pages, for which arrays grow and long texts are read in chunks, equal the reference."""
    assert_equal_to_reference(lambda: blockml.parse(html, backend=backend))


@pytest.mark.corpora
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["wcxb", "l3s-gn1", "cleaneval", "cleanportaleval", "ir-research-big9-chaos"])
def test_real_pages(name: str, backend: str, corpora: Path) -> None:
    """Every thirtieth page of a corpus equals the reference."""
    pages = open_dataset(corpora / name).pages[::30]
    assert len(pages) > 1
    for labelled in pages:
        html, charset = labelled.load()[0], labelled.charset
        assert_equal_to_reference(lambda: blockml.parse(html, charset=charset, backend=backend))  # noqa: B023


# --- functions of libxml2 and lexbor ----------------------------------------------------------------------------------


def test_functions_of_libxml2_are_found() -> None:
    """The functions of libxml2 are found in Linux wheels of lxml, so that the tests above run the compiled parser."""
    if sys.platform != "linux":
        pytest.skip("only known of wheels for Linux")
    assert libxml2_addresses() is not None


@pytest.mark.parametrize("name", ["parse_libxml2", "parse_lexbor"])
def test_wrong_addresses_are_refused(name: str) -> None:
    """Addresses of a wrong number or type, and addresses of 0, are refused."""
    parse: Any = getattr(new_builder(Limits()), name)
    for wrong in ((), (1, 2), None, "addresses", (0,) * 7, (0,) * 17, (1.5,) * 7, (1.5,) * 17):
        with pytest.raises((TypeError, ValueError)):
            parse(b"<p>x", wrong)
    with pytest.raises(TypeError):
        parse("<p>x", (1,) * 7)


_SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from blockml.parsing import Limits, backends
backend, extra = sys.argv[1], int(sys.argv[2])
backends.build(b"<p>x", backend, Limits())
source = b"<p title='" + b"x" * 30_000_000 + b"'>hello</p><p>tail" if backend == "lxml" else b"<p>a<i>c</i>" * 200_000
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + extra, -1))
try:
    print(len(backends.build(source, backend, Limits()).nodes()))
except MemoryError:
    print("no memory")
"""


@pytest.mark.parametrize(
    ("backend", "extra"), [("lxml", 20_000_000), ("lexbor", 0), ("lexbor", 1_000_000), ("lexbor", 8_000_000)]
)
def test_parsing_without_memory_raises(backend: str, extra: int) -> None:
    """Lack of memory raises MemoryError, where libxml2 silently truncates the page and lexbor crashes."""
    if sys.platform != "linux" or backend not in BACKENDS:
        pytest.skip("needs limits on memory, and the library")
    if (libxml2_addresses if backend == "lxml" else lexbor.lexbor_addresses)() is None:
        pytest.skip("needs the functions of the library")
    command = [sys.executable, "-c", _SHORT_OF_MEMORY, backend, str(extra)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout == "no memory\n"


_TAKE = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p)
_WRITE = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, _TAKE, ctypes.c_void_p)


@needs_selectolax
@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([], 1, id="an error"),
        pytest.param([b"wrong"], 0, id="no quote"),
        pytest.param([b'"', b"wrong", b'"'], 0, id="too few"),
        pytest.param([b'"', b"wrong", b'"', b"\n", b"\n"], 0, id="too many"),
        pytest.param([b'"', b"wrong", b"more", b'"', b"\n"], 0, id="in parts"),
        pytest.param([b'"', b"wrong", b'"', b" "], 0, id="another end"),
        pytest.param([b'"', b"wrong", b'"', b"\n"], 1, id="an error behind"),
    ],
)
def test_unexpected_serialization_of_lexbor(pieces: list[bytes], status: int) -> None:
    """Texts are read one by one if lexbor serialises them in an unexpected way, as another version might."""
    from selectolax import lexbor as module

    functions = lexbor.lexbor_addresses()
    if functions is None:
        pytest.skip("needs lexbor's functions")
    html = "<p>one<!-- -->two <b>three</b><pre>\n four</pre>"

    def write(node: int, options: int, indent: int, take: Callable[..., int], context: int) -> int:  # noqa: ARG001
        for piece in pieces:
            take(piece, len(piece), context)
        return status

    written = _WRITE(write)
    found = addresses(module, ["lxb_html_serialize_pretty_cb"])
    assert found is not None
    replacement = ctypes.cast(written, ctypes.c_void_p).value
    builder = new_builder(Limits())
    assert builder.parse_lexbor is not None
    assert replacement is not None
    builder.parse_lexbor(html.encode(), tuple(replacement if a == found[0] else a for a in functions))
    builder.close()
    assert_same(builder.nodes(), blockml.parse(html, backend="lexbor").nodes)


def test_pages_do_not_share_attributes() -> None:
    """Equal start tags share a mapping of attributes within a page, but not across pages."""
    one, other = (blockml.parse("<p class=a>x<p class=a>y").nodes.attributes for _ in range(2))
    assert one[-2] is one[-4]
    assert one[-2] is not other[-2]


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


def built(sequence: list[Event], limits: Limits) -> tuple[Nodes, tuple[bool, bool, bool]]:
    """Send events to a builder, even if they are unbalanced, and close it as a parse does."""
    builder = new_builder(limits)
    with suppress(LimitReached):
        for name, arguments in sequence:
            getattr(builder, name)(*arguments)
    with suppress(LimitReached):
        builder.close()
    return builder.nodes(), builder.limits_hit()


def assert_built_equal(sequence: list[Event], limits: Limits = Limits()) -> Nodes:
    """Check that the nodes and blocks of events equal those of the reference."""
    nodes, hit = built(sequence, limits)
    with python_reference():
        expected, expected_hit = built(sequence, limits)
    assert_same(nodes, expected)
    assert hit == expected_hit
    for tokenizer, profile in itertools.product(TOKENIZERS, PROFILES):
        assert_equal_to_reference(lambda: segment(nodes, profile=profile, tokenizer=tokenizer))  # noqa: B023
    return nodes


@example(sequence=[("start", ("head", {})), ("data", ("0",)), ("start", ("html", {}))], limits=Limits(nodes=1, depth=1))
@example(sequence=[("start", ("html", {})), ("data", (" ",)), ("end", ("pre",)), ("data", ("",))], limits=Limits())
@settings(max_examples=400)
@given(sequence=events, limits=some_limits)
def test_any_events(sequence: list[Event], limits: Limits) -> None:
    """Events in any order, even one that no parser sends, give the same nodes as the reference."""
    assert_built_equal(sequence, limits)


def test_every_character() -> None:
    """White space and control characters are those of Python, and all white space is below U+3100."""
    assert max(c for c in range(sys.maxunicode + 1) if chr(c).isspace()) < 0x3100
    sequence: list[Event] = []
    for c in [*range(0x3100), 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600, 0x10FFFF]:
        for text in (chr(c), f"a{chr(c)}", f"{chr(c)} "):
            sequence += [("data", (text,)), ("start", ("br", {}))]
    assert_built_equal(sequence)


def test_invisible_characters_anywhere() -> None:
    """Zero-width spaces and joiners, which depend on both neighbours, are found at any place of a text."""
    neighbours = ("", "a", " ", "é", "–", "ไ", "ខ", "म", "م", "🧑", "\u200c")
    invisible = ("\xad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200b\u200b")
    texts = [f"{left}{c}{right}" for left in neighbours for c in invisible for right in neighbours]
    html = "".join(f"<p>{text}<p>{'é' * (number % 40)}{text}" for number, text in enumerate(texts))
    for backend in BACKENDS:
        assert_equal_to_reference(lambda: blockml.parse(html, backend=backend))  # noqa: B023


def test_words_of_any_length() -> None:
    """Words of any length are read correctly in chunks of 64 characters, next to any white space and non-ASCII text."""
    sequence: list[Event] = []
    for length in (*range(1, 10), *range(60, 70), *range(124, 132), 400):
        for white in (" ", "  ", "\n", " \t ", "\xa0", "-"):
            word = "x" * length
            texts = [f"{word}{white}{word}", f"{white}{word}", f"{word}{white}", f"{word}{white}é", f"{white}é{word}"]
            for text in texts:
                sequence += [("data", (text,)), ("start", ("br", {}))]
            for one, other in itertools.product(texts, texts):
                sequence += [("data", (one,)), ("start", ("a", {})), ("data", (other,)), ("end", ("a",))]
                sequence += [("data", (f"{white}tail",)), ("start", ("br", {}))]
    assert_built_equal(sequence)


def test_lone_surrogates() -> None:
    """Lone surrogates are kept by the builder, because decoding removes them before."""
    sequence: list[Event] = [("data", ("\ud800",)), ("start", ("br", {"style": "\udfff"})), ("data", (" \udc00\x01",))]
    nodes, _ = built(sequence, Limits())
    with python_reference():
        assert_same(nodes, built(sequence, Limits())[0])
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
    """A style hides an element exactly if the regular expression matches, even for letters with unusual lower case."""
    nodes, _ = built([("start", ("p", {"style": style}))], Limits())
    hidden = re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style, re.IGNORECASE) is not None
    assert bool(nodes.flags[0] & Flag.HIDDEN) == hidden


concealing_pieces = st.sampled_from(
    [*"opacity OPACITY font-size font\rsize : 0 . 0.5 1 - -9 999 sr-only SR-ONLY s visually screen ſcreen".split(" "),
     *(" ", "\t", "\x1f", "\xa0")]
)  # fmt: skip


@settings(max_examples=300)
@given(value=st.lists(concealing_pieces, max_size=6).map("".join), name=st.sampled_from(["style", "class"]))
def test_any_concealing_attribute(value: str, name: str) -> None:
    """Styles and classes conceal an element in both implementations alike, however their attributes come."""
    events = [("start", ("p", {name: value})), ("data", ("x",)), ("end", ("p",))]
    nodes, _ = built(events, Limits())
    with python_reference():
        assert built(events, Limits())[0].flags.tolist() == nodes.flags.tolist()
    html = f'<p {name}="{value}">x</p>'
    flags = blockml.parse(html).nodes.flags
    with python_reference():
        assert blockml.parse(html).nodes.flags.tolist() == flags.tolist()


# --- invalid arguments ------------------------------------------------------------------------------------------------


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
def test_events_of_wrong_types_are_refused(name: str, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    """Events of wrong types are refused, and the builder remains usable."""
    builder = new_builder(Limits())
    builder.start("div", {})
    with pytest.raises(error):
        getattr(builder, name)(*arguments)
    builder.data("x")
    builder.close()
    assert builder.nodes().texts[-1] == "x"


def test_a_text_beyond_the_limit_leaves_a_complete_tree() -> None:
    """Open elements are closed even if the last text is beyond the limit of nodes."""

    def work() -> Nodes:
        builder = new_builder(Limits(nodes=2))
        builder.start("div", {})
        builder.start("p", {})
        builder.data("x")
        with pytest.raises(LimitReached):
            builder.close()
        assert builder.limits_hit() == (False, True, False)
        nodes = builder.nodes()
        assert nodes.end.tolist() == [2, 2]
        return nodes

    assert_equal_to_reference(work)


COLUMNS: dict[str, Any] = {
    "names": ("#text", "p"), "tag": [1, 0], "parent": [-1, 0], "depth": [0, 1], "end": [2, 2], "flags": [0, 0],
    "texts": ["", "x"], "known": {"#text": 0}, "others": 3, "classes": class_table(),
}  # fmt: skip
DTYPES: dict[str, type[np.generic]] = {
    **dict.fromkeys(("tag", "parent", "depth", "end"), np.int32),
    **dict.fromkeys(("flags", "classes"), np.uint8),
}


@pytest.mark.parametrize(
    ("name", "column", "error"),
    [
        ("names", ("#text",), ValueError),
        ("known", {"p": "x"}, TypeError),
        ("known", {"p": 1 << 80}, OverflowError),
        ("known", [("p", 3)], TypeError),
        ("others", "3", TypeError),
        ("names", ["#text", "p"], TypeError),
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
def test_wrong_columns_are_refused(compiled: _kernel.Compiled, name: str, column: Any, error: type[Exception]) -> None:
    """Columns of wrong sizes or with wrong indices are refused."""

    def cut(given: dict[str, Any]) -> tuple[Any, ...]:
        columns: Any = tuple([np.array(given[key], dtype) for key, dtype in DTYPES.items()])
        return compiled.segment_nodes(given["names"], given["texts"], given["known"], given["others"], 0, columns)

    assert cut(COLUMNS)[-2:] == (("x",), ("p",))
    with pytest.raises(error):
        cut(COLUMNS | {name: column})
