"""Sanitised pages run and load nothing, and contain the text of every block."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import blockml
from blockml.datasets import open_dataset
from blockml.page.bounds import SPARE, Budget
from tests.hostile import HOSTILE

pytest.importorskip("nh3")
from blockml.labelling.sanitised import sanitised

DATA = Path(__file__).parents[2] / "data"
TAG = re.compile(r"<[a-z][^>]*>")
SPAN = re.compile(r'<span(?: data-as="\w+")? data-block="(\d+)">([^<]*)</span>')


def test_only_listed_markup_is_left() -> None:
    """A sanitised hostile page contains only plain tags with the known attributes."""
    found = sanitised(blockml.parse(HOSTILE))
    for tag in TAG.findall(found):
        assert re.fullmatch(
            r'<[a-z][a-z0-9]*( (data-block="\d+"|data-alt="[^"]*"|data-as="[a-z]+"|dir="[^"]*"))*>', tag
        ), tag
    assert not re.search(
        r"<(script|style|img|svg|iframe|form|button|base|meta|link|object|video|details|dialog)", found
    )
    assert "elsewhere.invalid" not in found
    assert "Hidden text that stays readable" in found


def test_every_block_is_there() -> None:
    """The spans of each block contain its text, on synthetic pages and on a hostile one."""
    pages: list[str | bytes] = [page.load()[0] for page in open_dataset(DATA / "sites").pages[::5]]
    for content in [*pages, HOSTILE]:
        page = blockml.parse(content)
        texts: dict[int, str] = {}
        for number, text in SPAN.findall(sanitised(page)):
            texts[int(number)] = texts.get(int(number), "") + text
        plain = {number: blockml.parse(f"<pre>{text}").blocks.texts[0] for number, text in texts.items()}
        for number, text in enumerate(page.blocks.texts):
            assert "".join(plain[number].split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "&",
        "&amp;",
        "<",
        "&lt;script&gt;",
        "&#60;img src=x onerror=alert(1)&#62;",
        "&amp;lt;script&amp;gt;",
        "'\"",
        "é\U0001f600",
    ],
)
def test_long_texts_stay_text(text: str) -> None:
    """Long texts are split into several spans without losing or interpreting a character."""
    page = blockml.parse("<p>x" + text * 9_000)
    spans = SPAN.findall(written := sanitised(page))
    assert TAG.sub("", re.sub(r"</\w+>", "", written)).count("<") == 0
    assert set(TAG.findall(written)) <= {"<div>", "<p>", '<span data-block="0">'}
    assert max(len(piece) for _, piece in spans) <= 2_000 * len("&amp;")
    assert html.unescape("".join(piece for _, piece in spans)) == page.nodes.texts[-1]
    assert {number for number, _ in spans} == {"0"}


@pytest.mark.parametrize("name", ["b", "a", "font", "x-y"])
@pytest.mark.parametrize("piece", ["<main>w</main>", "<p>w", "<li>w", "<table>w</table>", "<td>w", "<a>w", "<x>w</x>"])
@pytest.mark.parametrize("backend", ["lxml", "lexbor"])
def test_no_element_is_multiplied(name: str, piece: str, backend: str) -> None:
    """Formatting elements, which an HTML parser repeats in later elements, aren't written, so the size is bounded."""
    pytest.importorskip("selectolax")
    source = "<p>" + "".join(f"<{name} dir=ltr id={i}>" for i in range(180)) + piece * 3_000
    page = blockml.parse(source, backend=backend)
    written = sanitised(page)
    assert len(written) <= 4 * len(source) + SPARE
    assert re.sub("<[^>]*>", "", written).count("w") == 3_000
    assert not re.search(r"<(a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)\b", written)


def test_formatting_around_one_text_shares_its_span() -> None:
    """Adjacent formatting in one block shares spans, because each span takes memory in nh3."""
    written = sanitised(blockml.parse("<p>a <a href=x>b</a> <b dir=rtl>c<br></b> <i></i>"))
    assert re.findall("<span[^>]*>", written) == [
        '<span data-block="0">', '<span data-as="a" data-block="0">', '<span data-as="b" dir="rtl">',
        '<span data-block="1">', '<span data-as="i">',
    ]  # fmt: skip


def test_tags_that_are_left_out_have_a_warning() -> None:
    """If tags are left out to limit the size, all text is kept and a warning is given."""
    page = blockml.parse("<i><b>w</b></i>" * 4_900)
    written = sanitised(page, budget := Budget(page))
    assert written.count("w") == 4_900
    assert len(SPAN.findall(written)) < 4_900
    assert {warning.partition(" are")[0] for warning in budget.warnings} == {"some marks of blocks", "some tags"}


def test_values_of_attributes_are_checked() -> None:
    """Only valid values of attributes are written, because a page may contain huge ones."""
    written = sanitised(blockml.parse(f"<table><tr><td colspan=2 rowspan={'1' * 99} dir=RTL>a<td dir={'x' * 99}>b"))
    assert '<td colspan="2" dir="RTL">' in written
    assert "111" not in written
    assert "xxx" not in written


def test_white_space_between_cells_gets_no_span() -> None:
    """White space between cells gets no span, which a parser would move out of the table."""
    written = sanitised(blockml.parse("<table> <tr> <td>one</td> <td>two</td></tr></table>"))
    assert "<span>" not in written
    assert written.index("<table>") < written.index("one") < written.index("two") < written.index("</table>")


def test_deep_and_empty_pages() -> None:
    """A page with thousands of levels keeps its text, and a page without text has no spans."""
    assert SPAN.findall(sanitised(blockml.parse("<div>" * 5000 + "deep"))) == [("0", "deep")]
    assert SPAN.findall(sanitised(blockml.parse(""))) == []


def test_quotation_marks_are_shown_once() -> None:
    """A quotation has its marks in the text, so that its element must not write them again."""
    shown = sanitised(blockml.parse("<p>She said <q>no</q>."))
    assert "“no”" in shown
    assert "<q" not in shown
