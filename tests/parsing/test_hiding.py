"""How pages hide text from readers."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.parsing import hiding, style_rules
from blockml.parsing.hiding import hidden_text, hiding_names, mark_hidden
from blockml.parsing.style_rules import Hiding, StyleSheets


def ways(html: str) -> list[str | None]:
    """Return how each block of a page is hidden."""
    return hiding_names(blockml.parse(html))


@pytest.mark.parametrize(
    ("attribute", "way"),
    [
        ("hidden", "attribute"),
        ("style='DISPLAY : none !important'", "display"),
        ("style='color:red;visibility:hidden'", "visibility"),
        ("style='opacity: .0'", "opacity"),
        ("style='opacity:0;transition:opacity 1s'", None),
        ("style='opacity:0.5'", None),
        ("style='font-size:0px'", "size"),
        ("style='font-size:0.9em'", None),
        ("style='position:absolute;left:-9999px'", "off_screen"),
        ("style='left:-9999px'", None),
        ("style='text-indent:-1000em'", "off_screen"),
        ("style='margin-left:-10px'", None),
        ("class='sr-only'", "screen_reader"),
        ("class='screen-reader-text big'", "screen_reader"),
        ("class='screen'", None),
        ("aria-hidden=true", None),
    ],
)
def test_attributes(attribute: str, way: str | None) -> None:
    """An attribute, a style or a class hides an element and what is in it."""
    assert ways(f"<p>a<p {attribute}>b") == [None, way]
    inner = None if way == "size" else way  # elements have sizes of their own
    assert ways(f"<p>a<div {attribute}><p>b</div>") == [None, inner]


@pytest.mark.parametrize(
    ("css", "way"),
    [
        (".x{display:none}", "display"),
        ("p.x , .other { color: red; display: none }", "display"),
        ("#i{visibility:hidden}", "visibility"),
        ("i{opacity:0}", None),
        (".x{position:absolute;left:-999px}", "off_screen"),
        (".x{position:absolute;clip:rect(0 0 0 0)}", "off_screen"),
        (".x{font-size:0}", "size"),
        ("@media screen{.x{display:none}}", "display"),
        ("@layer base{.x{display:none}}", "display"),
        ("@media print{.x{display:none}}", None),
        ("@media (max-width:9px){.x{display:none}}", None),
        (".a .x{display:none}", None),
        (".x:hover{display:none}", None),
        (".y.x{display:none}", None),
        ("div.x{display:none}", None),
        ("/* .x{display:none} */", None),
        (".x{display:none}.x{display:block}", None),
        (".x{display:block}.x{display:none}", "display"),
        (".x{display:none}.x.open{display:block}", None),
        (".x{display:none}.open > .x{display:flex}", None),
        (".x{display:none}.x .inner{display:block}", "display"),
        (".x{display:none}@media (min-width:9px){.x{display:block}}", None),
        (".xx{display:none}", None),
    ],
)
def test_rules(css: str, way: str | None) -> None:
    """A simple rule for screens hides elements, unless another rule shows them."""
    assert ways(f"<style>{css}</style><p>a<p class='x z' id=i>b") == [None, way]
    assert ways(f"<STYLE>{css}</STYLE><p>a<p class='x z' id=i>b") == [None, way]


def test_names_of_elements_hide() -> None:
    """A selector may be the name of an element."""
    assert ways("<style>aside{display:none}</style><p>a<aside>b</aside><p>c") == [None, "display", None]


@pytest.mark.parametrize(
    "style",
    [
        "<!-- <style>.x{display:none}</style> -->",
        "<noscript><style>.x{display:none}</style></noscript>",
        "<script>'<style>.x{display:none}</style>'</script>",
        "<style media=print>.x{display:none}</style>",
        "<style>.x{display:none}</style>" * 2,
    ],
)
def test_style_elements_that_do_not_apply(style: str) -> None:
    """Style elements in comments, scripts and ``noscript``, and those for print, hide nothing."""
    expected = "display" if style.startswith("<style>") else None
    assert ways(f"<body>{style}<p>a<p class=x>b") == [None, expected]
    assert ways(f"<body>{style}<style>.y{{display:none}}</style><p>a<p class=x>b<p class=y>c") == [
        None,
        expected,
        "display",
    ]


def test_the_first_class_that_hides_an_element_names_the_way() -> None:
    """The way doesn't depend on the order of a set, which changes from process to process."""
    css = "".join(f".{name} {{ {rule} }}" for name, rule in (("aa", "visibility: hidden"), ("bb", "display: none")))
    pairs = [("aa bb", "visibility"), ("bb aa", "display")] * 8
    html = f"<style>{css}</style>" + "".join(f"<p class='x{n} {names}'>{n}</p>" for n, (names, _) in enumerate(pairs))
    assert hiding_names(blockml.parse(html)) == [way for _, way in pairs]


def test_an_inline_style_shows_what_a_rule_hides() -> None:
    """A style attribute counts more than a rule."""
    assert ways("<style>.x{display:none}</style><p class=x>a<p class=x style='display:block'>b") == ["display", None]


def test_formulas_for_screen_readers_are_shown() -> None:
    """Hidden MathML is the text of a formula."""
    html = "<p>Let <span class=sr-only><math><mi>x</mi></math></span> be."
    assert ways(html) == [None, None, None]


def test_pages_without_hidden_text() -> None:
    """A page without hidden text, blocks or source has no hidden nodes."""
    for html in ("", "<p>a", "<style>p{color:red}</style><p>a", "<style>.x{display:none}</style>"):
        assert hidden_text(blockml.parse(html)) is None


def test_marks() -> None:
    """Neighbouring hidden texts of one element have one mark."""
    page = blockml.parse("<p>a<div hidden><p>b<p>c</div><p hidden>d<p>e")
    assert mark_hidden(page, np.ones(5, dtype=bool)).blocks.texts == ("a", "[hidden: b", "c]", "[hidden: d]", "e")
    assert mark_hidden(page, page.blocks.flags < 0) is page


@pytest.mark.parametrize(
    "piece",
    [
        ".x{display:none}", "a.b,", "{display:none", ".x{display:none", "@media all{", "/*", "display:none;", "-999 ",
        "<style>.x{display:none}</style>", "<style", "</style", "<!--<style>", ".x.y.z{opacity:0}",
    ],
)  # fmt: skip
def test_style_sheets_are_read_in_linear_time(piece: str) -> None:
    """Long style sheets of any kind take a bounded time."""
    took = []
    for n in (20_000, 80_000):
        html = f"<style>.x{{display:none}}{piece * (n // len(piece))}</style><p class='x y z'>a<p>b"
        page = blockml.parse(html)
        start = time.process_time()
        hidden_text(page)
        took.append(time.process_time() - start)
    assert took[1] < 12 * max(took[0], 0.002)


def test_the_work_for_selectors_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a list of many selectors the first hundred count, and a rule around many rules is read once."""
    names = ",".join(f".a{number}" for number in range(1000))
    sheets = StyleSheets(blockml.parse(f"<style>{names}{{display:none}} p{{opacity:0}}</style><p class=a7>a"))
    assert [sorted(selector.names) for selector in sheets.selectors()] == [[f".a{number}"] for number in range(100)]
    read = list[int]()

    class Screens:
        def match(self, _css: bytes, place: int) -> None:
            read.append(place)

    monkeypatch.setattr(style_rules, "_ON_SCREENS", Screens())
    page = blockml.parse("<style>@media print{" + ".a{display:none}" * 50 + "}.b{display:none}</style><p class=b>a")
    assert [sorted(selector.names) for selector in StyleSheets(page).selectors()] == [[".b"]]
    assert read == [0]


def test_an_inline_style_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rules hide an element, its own style is read once for each way."""
    read = list[str]()

    def shows(style: str, way: Hiding) -> bool:
        read.append(style)
        return style_rules.shows(style, way)

    monkeypatch.setattr(hiding, "shows", shows)
    css = ".a{display:none}" * 40 + ".a{opacity:0}" * 40
    html = f"<style>{css}</style><p class=a style='display:block'>a<p>b"
    assert ways(html) == ["opacity", None]
    assert read == ["display:block"] * 2


def test_style_elements_in_a_comment_are_bounded() -> None:
    """Only the first hundred starts of style elements are looked at."""
    looked = list[bytes]()

    class Bytes(bytes):
        def rfind(self, *args: object) -> int:
            looked.append(b"")
            return super().rfind(*args)  # type: ignore[arg-type]

    page = blockml.parse("<style>.a{display:none}</style><!--" + "<style" * 500 + "--><p class=a>a")
    page = replace(page, utf8=Bytes(page.utf8 or b""))
    assert [selector.names for selector in StyleSheets(page).selectors()] == [{".a"}]
    assert 0 < len(looked) <= 600


css_pieces = st.sampled_from(
    [*"{ } ; , . # : ! @media screen display none DISPLAY visibility hidden collapse opacity font-size clip 0".split(),
     *".5 -999 -99 a .b #c - > é <style </style> <STYLE".split(), " ", "\n", "\v", "\0"]
)  # fmt: skip


@settings(max_examples=400)
@given(css=st.lists(css_pieces, max_size=24).map(lambda pieces: "".join(pieces).encode()))
def test_compiled_functions_equal_the_reference(css: bytes) -> None:
    """Both implementations find the same rules and style elements."""
    if _kernel.compiled is None:
        pytest.skip("without the C extension")
    assert _kernel.compiled.hiding_rules(css) == style_rules._hiding_rules(css)
    assert _kernel.compiled.style_tags(css) == style_rules._style_tags(css)
