"""White space that a page shows: kept by a style, in verse, and in lists by letters and Roman numbers."""

import pytest

import blockml
from blockml.parsing import BACKENDS
from tests.rendered import render_html, render_markdown, render_text

NBSP = "\xa0"


def outputs(html: str, backend: str | None = None) -> tuple[str, str, str]:
    """Return the plain text, Markdown and HTML of a page whose blocks are all kept."""
    page = blockml.parse(html, backend=backend) if backend else blockml.parse(html)
    kept = [True] * len(page.blocks)
    return render_text(page, kept), render_markdown(page, kept), render_html(page, kept)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["style='white-space: pre-line'", "class=whitespace-pre-line"])
def test_line_breaks_are_kept(name: str, backend: str) -> None:
    """Blanks are not; two line breaks separate paragraphs."""
    text, markdown, html = outputs(f"<p {name}>\n  One\n  two\n\nthree <b>four</b>\n</p><p>Five\nsix</p>", backend)
    assert text == "One\ntwo\n\nthree four\nFive six"
    assert markdown == "One  \ntwo\n\nthree **four**\n\nFive six"
    assert html.startswith("<p>One<br>two</p><p>three <strong>four</strong></p>")


@pytest.mark.parametrize("value", ["pre", "pre-wrap", "break-spaces", "nowrap; white-space: pre-wrap"])
def test_indents_are_kept(value: str) -> None:
    """As blanks in plain text, and as blanks that are shown in Markdown and HTML."""
    text, markdown, html = outputs(f'<div style="color: red; white-space: {value}">One\n   two</div>')
    assert text == "One\n   two"
    assert markdown == f"One  \n{NBSP * 3}two"
    assert f"One<br>{NBSP * 3}two" in html
    text, markdown, html = outputs(f'<p style="white-space: {value}">    One\n    two</p>')
    assert text == "    One\n    two"
    assert markdown == f"{NBSP * 4}One  \n{NBSP * 4}two"
    assert f"{NBSP * 4}One<br>{NBSP * 4}two" in html


@pytest.mark.parametrize(
    "html",
    [
        "<p style='white-space: nowrap'>One\n two</p>",
        "<p style='background: white; whites: pre'>One\n two</p>",
        "<div style='white-space: pre'><p style='white-space: normal'>One\n two</p></div>",
        "<p class='text-white md:whitespace-pre'>One\n two</p>",
    ],
)
def test_other_styles_keep_none(html: str) -> None:
    """Nor does a style that an inner element takes back."""
    assert outputs(html)[:2] == ("One two", "One two")


def test_code_with_a_style_is_a_block() -> None:
    """If it has several lines."""
    code = "<p>Run<p><code style='white-space: pre'>if x:\n    y</code><p>or <code style='white-space: pre'>z</code>"
    assert outputs(code)[1] == "Run\n\n```\nif x:\n    y\n```\n\nor `z`"


@pytest.mark.parametrize("backend", BACKENDS)
def test_verses_keep_their_indents(backend: str) -> None:
    """Also if the indent is followed by an element; the blanks before other words don't count."""
    text, markdown, _ = outputs("<p>One,<br>&nbsp;&nbsp; two,<br>&nbsp;&nbsp;<i>three</i>,<br> four", backend)
    assert text == "One,\n   two,\n  three,\nfour"
    assert markdown == f"One,  \n{NBSP * 3}two,  \n{NBSP * 2}*three*,  \nfour"


def test_indents_of_paragraphs_are_not_kept() -> None:
    """A long line is a paragraph, and ideographic blanks start one."""
    line = "word " * 30
    assert outputs(f"<p>One<br>&nbsp;&nbsp;&nbsp;{line}<br>\u3000\u3000Two")[0] == f"One\n{line.strip()}\nTwo"


@pytest.mark.parametrize(
    ("attributes", "labels"),
    [
        ("type=a", "ab"),
        ("type=A start=26", ("Z", "AA")),
        ("type=i start=3", ("iii", "iv")),
        ("type=I start=1990", ("MCMXC", "MCMXCI")),
        ("style='list-style-type: lower-latin'", "ab"),
        ("style='list-style: outside upper-roman'", ("I", "II")),
    ],
)
def test_letters_and_roman_numbers_are_written(attributes: str, labels: tuple[str, str]) -> None:
    """As text of the items; HTML keeps the type."""
    _, markdown, html = outputs(f"<ol {attributes}><li>one<li>two<ul><li>three</ul></ol>")
    assert markdown == f"- {labels[0]}. one\n- {labels[1]}. two\n  - three"
    assert ' type="' in html


@pytest.mark.parametrize("attributes", ["", "type=1", "type=aA", "type=a start=0", "style='list-style-type: square'"])
def test_other_numbers_stay(attributes: str) -> None:
    """Other kinds of lists keep their numbers, and so do numbers that have no letter."""
    assert outputs(f"<ol {attributes}><li>one</ol>")[1] == ("0. one" if "start=0" in attributes else "1. one")
