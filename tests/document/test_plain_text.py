"""Kept blocks as plain text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.document.text import render_text
from blockml.parsing import BACKENDS
from tests.strategies import messy_html, visible


def rendered(html: str, *, without: tuple[str, ...] = (), **options: Any) -> str:
    """Render a page without the blocks with these texts."""
    page = blockml.parse(html, **options)
    return render_text(page, [block.text not in without for block in page.blocks])


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("<p>One <b>bold</b>ly said.</p><p>Two</p>", "One boldly said.\nTwo"),
        ("<p>One <i>two</i> <b>three</b></p>", "One two three"),
        ("<p>one<br>two</p>", "one\ntwo"),
        ("<ul><li>one<li>two</ul>three", "one\ntwo\nthree"),
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>e", "a\tb\nc\td\ne"),
        ("<span>label</span><span>Value</span>", "label Value"),
        ("<a>one</a><a>two</a>", "one two"),
        ("<p> much \n\n white\tspace </p>", "much white space"),
        ("a<!--c-->b<script></script>", "ab"),
    ],
)
def test_layout(html: str, text: str) -> None:
    """Inline text is joined, cells are separated by tabs and paragraphs by line breaks."""
    assert rendered(html) == text


def test_preformatted_text_keeps_lines_and_indentation() -> None:
    """Preformatted text keeps its lines and indentation, even if inline tags split it into several blocks."""
    html = "<p>x</p><pre>def f():\n    <b>return</b> 1\n\n  # end</pre><p>y</p>"
    assert rendered(html) == "x\ndef f():\n    return 1\n\n  # end\ny"


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_white_space_before_preformatted_text_is_not_part_of_it(backend: str) -> None:
    """White space of the source around a preformatted element is not part of its text."""
    assert rendered("<p>x</p>\n      <pre>a\n  b</pre>\n   <p>y</p>", backend=backend) == "x\na\n  b\ny"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<pre><span class=line>a</span><span class='x-line y'><b>  b</b> c</span></pre>", "a\n  b c"),
        ("<pre><code class=line>a</code><code class=line></code><code class=line>b</code></pre>", "a\n\nb"),
        ("<pre><span class=line>a</span>\n<span class=line></span>\n<span class=line>b</span></pre>", "a\n\nb"),
        ("<pre><span class=line><i>a\n</i></span><span class=line>b\n</span></pre>", "a\nb"),
        ("<pre><span class=inline>a</span><span class=inline>b</span></pre>", "ab"),
        ("<p><span class=line>a</span><span class=line>B</span></p>", "a B"),
    ],
)
def test_elements_that_are_lines_of_preformatted_text(html: str, expected: str) -> None:
    """Elements that highlighters show as lines are lines, and one that ends with a line break has no further one."""
    assert rendered(html) == expected


def test_control_characters_of_preformatted_text_are_removed() -> None:
    """Control characters in preformatted text are removed as elsewhere."""
    assert rendered("<pre>a\x01b</pre>") == rendered("<p>a\x01b</p>") == "ab"


def test_a_removed_block_may_have_had_the_break() -> None:
    """Two kept blocks are separated by the strongest break between them, even in a removed block."""
    assert rendered("<p>one</p><b>x</b><i>two</i>", without=("x",)) == "one\ntwo"
    assert rendered("<td>one</td><table><tr><td>x</td><td>two</td></table>", without=("x",)) == "one\ntwo"
    assert rendered("<p>one</p><p>two</p>", without=("one", "two")) == ""


def test_words_stay_separate_over_a_removed_block() -> None:
    """Words on both sides of a removed block stay separate."""
    assert rendered("<p>one<b>x</b>two</p>", without=("x",)).split() == ["one", "two"]


def test_words_stay_separate_over_a_wordless_block() -> None:
    """Words stay separate if the break between them is in a wordless block that parsing left out."""
    assert rendered("<p>one</p>*<b>two</b>", keep_wordless=False) == "one\ntwo"
    assert rendered("<p>one</p>***<p>two</p>", keep_wordless=False) == "one\ntwo"
    assert rendered("<b>one</b> | <i>two</i>", keep_wordless=False) == "one two"


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@pytest.mark.parametrize("profile", ["anchor", "boilerpipe"])
@settings(max_examples=60)
@given(html=messy_html)
def test_nothing_is_lost_when_all_is_kept(backend: str, profile: str, html: str) -> None:
    """With all blocks kept the text has every character of every block in order, apart from white space."""
    page = blockml.parse(html, backend=backend, profile=profile)
    text = render_text(page, [True] * len(page.blocks))
    assert visible(text) == "".join("".join(page.blocks.texts).split())
    assert not text.startswith("\n")
    assert not text.endswith("\n")
    assert render_text(page, [False] * len(page.blocks)) == ""


@settings(max_examples=60)
@given(html=messy_html, data=st.data())
def test_kept_blocks_and_no_others_are_rendered(html: str, data: st.DataObject) -> None:
    """Any choice of blocks gives exactly their text."""
    page = blockml.parse(html)
    n = len(page.blocks)
    kept = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    expected = "".join("".join(block.text.split()) for block, keep in zip(page.blocks, kept, strict=True) if keep)
    assert visible(render_text(page, kept)) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<p>{}</p>", "{}"),
        ("<div><div>{}</div></div>", "{}"),
        ("<ul><li>{}</ul>", "{}"),
        ("<p>{}</p><p>more</p>", "{} more"),
        ("{}<br>more", "{} more"),
    ],
)
def test_a_row_of_a_data_table_is_a_line(cell: str, expected: str) -> None:
    """Elements in cells don't break rows with several cells, but lines of one cell and of a layout table stay."""
    body = "".join(f"<tr><td>{cell.format(a)}<td>{cell.format(b)}<td>" for a, b in (("5 GB", "9"), ("7 GB", "2")))
    result = blockml.extract(f"<table><tr><th>Size<th>Users<th>Price</tr>{body}</table>", model="plain")
    rows = [f"{expected.format(a)}\t{expected.format(b)}" for a, b in (("5 GB", "9"), ("7 GB", "2"))]
    assert result.text == "\n".join(["Size\tUsers\tPrice", *rows])
    one_cell = blockml.extract(
        f"<table><tr><th>Size<th>Users</tr><tr><td><p>one<p>two<td>{body}</table>", model="plain"
    )
    assert one_cell.text.startswith("Size\tUsers\none\ntwo\n")
    layout = blockml.extract(f"<table role=presentation><tr><td><p>one<p>two<td><p>three{body}</table>", model="plain")
    assert layout.text.startswith("one\ntwo\nthree\n")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "<tr><td rowspan=2>Mon<td>9<td>Tea<tr><td>10<td>Talk<tr><td>Tue<td>8<td>Run",
            "Mon\t9\tTea\n\t10\tTalk\nTue\t8\tRun",
        ),
        ("<tr><td rowspan=2>A<td rowspan=2>B<td>1<tr><td>2<tr><td>C<td>D<td>3", "A\tB\t1\n\t\t2\nC\tD\t3"),
        ("<tr><td rowspan=3>A<td>B<td>1<tr><td>C<td>2<tr><td>D<td>3", "A\tB\t1\n\tC\t2\n\tD\t3"),
        ("<tr><td>A<td rowspan=2>B<td>1<tr><td>C<td>2", "A\tB\t1\nC\t\t2"),
        ("<tr><td colspan=2>A<td>1<tr><td>B<td>C<td>2", "A\t\t1\nB\tC\t2"),
        ("<tr><td>A<td colspan=x rowspan=2>B<td>1<tr><td><td>2", "A\tB\t1\n\t\t2"),
        ("<tr><td rowspan=0>A<td>B<td>1<tr><td rowspan=x>C<td>D<td>2", "A\tB\t1\nC\tD\t2"),
        ("<tr><td><td>9<td>Tea<tr><td><td><td>Talk", "\t9\tTea\n\t\tTalk"),
        ("<tr><td rowspan=99999>A<td>B<td>1</table><table><tr><td>C<td>2", "A\tB\t1\nC\t2"),
    ],
)  # fmt: skip
def test_values_are_below_their_names(rows: str, expected: str) -> None:
    """Rows of a data table begin with a tab for each empty cell, and each cell of an earlier row that extends there."""
    result = blockml.extract(f"<table><tr><th>Day<th>Time<th>What</tr>{rows}</table>", model="plain")
    assert result.text == "Day\tTime\tWhat\n" + expected
    rows = "<tr><th><th>Day<th>Time<tr><td><input type=checkbox><td>Monday<td>9"
    assert blockml.extract(f"<table>{rows}</table>", model="plain").text == "Day\tTime\nMonday\t9"
