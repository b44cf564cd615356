"""Parsing with the compiled kernel and without it: the same page, whatever comes in."""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
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
from hypothesis import example, given, settings
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.datasets import open_dataset
from blockml.page import Blocks, Flag, Nodes, Status
from blockml.parsing import Limits, backends, lexbor, segment
from blockml.parsing.builder import DROPPED, PREFORMATTED, LimitReached, NodesBuilder
from blockml.parsing.libraries import addresses
from blockml.parsing.lines import VOID
from blockml.parsing.segmentation import BREAKING, PROFILES
from blockml.text.characters import class_table
from blockml.text.words import TOKENIZERS
from tests.strategies import messy_bytes, messy_html

pytestmark = pytest.mark.skipif(
    _kernel.compiled is None, reason="needs the compiled kernel: there was no compiler, or BLOCKML_PURE is set"
)


@contextmanager
def pure() -> Iterator[None]:
    """Without the compiled kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        yield


def assert_same(one: Any, other: Any) -> None:
    """All columns are equal, and of the same types."""
    assert type(one) is type(other)
    for name in one.__slots__:
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


# --- parsers in C ----------------------------------------------------------------------------------------------------


@contextmanager
def hidden() -> Iterator[None]:
    """With builds of lxml and selectolax that hide the functions of their libraries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "_libxml2", lambda: None)
        patch.setattr(lexbor, "_functions", lambda module: None)  # noqa: ARG005 (the signature of what it stands for)
        yield


def through_doors(work: Callable[[], object]) -> None:
    """Do it by the kernel's own parsers, and through the doors of the packages that bring them."""
    compiled = work()
    with hidden():
        assert_same(compiled, work())


@settings(max_examples=400)
@given(html=hostile | messy_html | st.text() | messy_bytes, limits=some_limits)
def test_any_page_through_the_doors_of_lxml(html: bytes | str, limits: Limits) -> None:
    """The compiled builder takes lxml's events as well, to the same nodes."""
    through_doors(lambda: blockml.parse(html, limits=limits))


def test_functions_of_libxml2_are_found() -> None:
    """In the wheels of lxml that are made for this machine; else nothing above would have tested them."""
    if sys.platform != "linux":
        pytest.skip("only known of wheels for Linux")
    assert backends._libxml2() is not None


@pytest.mark.parametrize("name", ["read_by_libxml2", "read_by_lexbor"])
def test_addresses_are_looked_at(name: str) -> None:
    """As many as there are functions; nothing is called at 0."""
    read: Any = getattr(NodesBuilder(Limits()), name)
    for wrong in ((), (1, 2), None, "addresses", (0,) * 7, (0,) * 17, (1.5,) * 7, (1.5,) * 17):
        with pytest.raises((TypeError, ValueError)):
            read(b"<p>x", wrong)
    with pytest.raises(TypeError):
        read("<p>x", (1,) * 7)


_SHORT_OF_MEMORY = """
import resource
from pathlib import Path
from blockml.parsing import Limits, backends
backends.build(b"<p>x", "lxml", Limits())
source = b"<p title='" + b"x" * 30_000_000 + b"'>hello</p><p>tail"
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 20_000_000, -1))
try:
    print(len(backends.build(source, "lxml", Limits()).nodes()))
except MemoryError:
    print("no memory")
"""


def test_a_page_without_memory_is_no_shorter_page() -> None:
    """libxml2 ends a page there as if it were its end."""
    if sys.platform != "linux" or backends._libxml2() is None:
        pytest.skip("needs limits on memory, and libxml2's functions")
    run = subprocess.run([sys.executable, "-c", _SHORT_OF_MEMORY], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout == "no memory\n"


def test_the_page_ends_where_there_are_enough_nodes() -> None:
    """What the parser still tells then is passed over."""
    page = blockml.parse("<p>x</p>" * 10_000, limits=Limits(nodes=10))
    assert (len(page.nodes), page.status) == (10, Status.TRUNCATED)


def test_no_element_is_in_a_dict_of_another_page() -> None:
    """Tags that are written alike share their attributes, on one page."""
    one, other = (blockml.parse("<p class=a>x<p class=a>y").nodes.attributes for _ in range(2))
    assert one[-2] is one[-4]
    assert one[-2] is not other[-2]


needs_selectolax = pytest.mark.skipif(find_spec("selectolax") is None, reason="needs selectolax")

#: What the standard treats in a way of its own.
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
    """Its tree walked in C or in Python."""
    both(lambda: blockml.parse(html, backend="lexbor", limits=limits))
    through_doors(lambda: blockml.parse(html, backend="lexbor", limits=limits))


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
    both(lambda: blockml.parse(html, backend="lexbor"))


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
def test_texts_that_lexbor_writes_in_another_way(
    pieces: list[bytes], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another version of it might: they are asked for one by one."""
    from selectolax import lexbor as module

    functions = lexbor._functions(module)
    if functions is None:
        pytest.skip("needs lexbor's functions")
    html = "<p>one<!-- -->two <b>three</b><pre>\n four</pre>"
    expected = blockml.parse(html, backend="lexbor")

    def write(node: int, options: int, indent: int, take: Callable[..., int], context: int) -> int:  # noqa: ARG001
        for piece in pieces:
            take(piece, len(piece), context)
        return status

    written = _WRITE(write)
    place = functions.index(_address(module, "lxb_html_serialize_pretty_cb"))
    other = (*functions[:place], ctypes.cast(written, ctypes.c_void_p).value, *functions[place + 1 :])
    monkeypatch.setattr(lexbor, "_functions", lambda _: other)
    assert_same(expected, blockml.parse(html, backend="lexbor"))


def _address(module: Any, name: str) -> int:
    found = addresses(module, [name])
    assert found is not None
    return found[0]


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


@example(
    sequence=[("start", ("html", {})), ("data", (" ",)), ("end", ("pre",)), ("data", ("",))],
    limits=Limits(),
    profile="anchor",
)
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


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_words_that_end_anywhere(tokenizer: str) -> None:
    """Characters are looked at 64 at a time; texts of others than ASCII stand before, behind and between."""
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
    nodes, *hit = built(sequence, Limits())
    assert not any(hit)
    with pure():
        blocks = segment(nodes, tokenizer=tokenizer)
    assert_same(segment(nodes, tokenizer=tokenizer), blocks)


def test_pages_of_hardly_any_ascii_text() -> None:
    """As others."""
    nodes = blockml.parse("".join(f"<p>слово {number}é<p> word <b>слово</b> two" for number in range(40))).nodes
    with pure():
        blocks = segment(nodes)
    assert_same(segment(nodes), blocks)


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


def test_a_text_too_many_at_the_end_leaves_a_whole_tree() -> None:
    """What is open is closed all the same."""

    def work() -> Nodes:
        builder = NodesBuilder(Limits(nodes=2))
        builder.start("div", {})
        builder.start("p", {})
        builder.data("x")
        with pytest.raises(LimitReached):
            builder.close()
        assert builder.too_many
        nodes = builder.nodes()
        assert nodes.end.tolist() == [2, 2]
        return nodes

    both(work)


COLUMNS: dict[str, Any] = {
    "names": ("#text", "p"), "tag": [1, 0], "parent": [-1, 0], "depth": [0, 1], "end": [2, 2], "flags": [0, 0],
    "texts": ["", "x"], "known": {"#text": 0}, "others": 3, "classes": class_table(),
}  # fmt: skip
DTYPES = {"flags": np.uint8, "classes": np.uint8}


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
def test_columns_that_are_no_tree_are_refused(
    compiled: _kernel.Compiled, name: str, column: Any, error: type[Exception]
) -> None:
    """Nothing is read beyond them."""

    def cut(columns: dict[str, Any]) -> tuple[Any, ...]:
        arrays = {
            key: held if key in ("names", "texts", "known", "others") else np.array(held, DTYPES.get(key, np.int32))
            for key, held in columns.items()
        }
        return compiled.cut_blocks(*arrays.values(), 0)  # type: ignore[call-arg, arg-type]

    assert cut(COLUMNS)[-2:] == (("x",), ("p",))
    with pytest.raises(error):
        cut(COLUMNS | {name: column})
