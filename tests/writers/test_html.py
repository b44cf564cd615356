"""HTML and Markdown of kept blocks."""

from __future__ import annotations

import re

import pytest
from lxml import etree

import blockml
from tests.rendered import render_html, render_markdown, render_text


def whole(html: str) -> str:
    """Render a page with all blocks kept."""
    page = blockml.parse(html)
    return render_html(page, [True] * len(page.blocks))


def test_only_kept_blocks_appear() -> None:
    """Removed blocks leave no elements."""
    page = blockml.parse("<div><ul><li>menu</ul><p>one</p><p class=ad>buy</p><p>two</p></div>")
    kept = [block.text in {"one", "two"} for block in page.blocks]
    assert render_html(page, kept) == "<p>one</p><p>two</p>"


def test_a_single_paragraph_keeps_its_element() -> None:
    """A single paragraph is rendered with its element."""
    assert whole("<p>only <b>this</b></p>") == "<p>only <strong>this</strong></p>"


@pytest.mark.parametrize(
    "html",
    [
        "<p onclick='x()' style='color:red' class=c id=i>text</p>",
        "<p><a href='javascript:x()'>text</a></p>",
        "<p><a href=' JaVaScRiPt:x()'>text</a></p>",
        "<p><a href='data:text/html,x'>text</a></p>",
        "<script>x()</script><p>text<script>x()</script></p><style>x()</style>",
        "<form action=x()><input value='x()'><p>text</p></form>",
        "<p>text</p><object data=x()></object><p>text</p>",
    ],
)
def test_nothing_active_appears(html: str) -> None:
    """Handlers, scripts, styles, forms and links with unknown schemes are removed."""
    result = whole(html)
    assert "text" in result
    assert not re.search(r"x\(\)|script|style|javascript|data:|<form|<input|<object", result, re.IGNORECASE)


@pytest.mark.parametrize(
    "link", ["/a?b=c:d", "http://x.example/", "HTTPS://x", "mailto:a@b", "#top", "a/b.html", "?q=1"]
)
def test_ordinary_links_are_kept(link: str) -> None:
    """Relative links and links with the usual schemes are kept."""
    assert f'href="{link}"' in whole(f"<p><a href='{link}'>text</a></p>")


def test_text_is_escaped() -> None:
    """Text that looks like markup is escaped, and attributes are quoted."""
    assert whole("<p>&lt;script&gt; &amp; <img src=a alt='\"&lt;'> so on</p>") == (
        '<p>&lt;script&gt; &amp; <img src="a" alt="&quot;&lt;"> so on</p>'
    )


def test_images_are_kept_between_kept_texts_only() -> None:
    """Only images between kept texts are written; one next to removed text is removed."""
    page = blockml.parse("<p>a</p><img src=1><p>b</p><img src=2><p>c</p>")
    assert render_html(page, [True, True, False]) == '<p>a</p><img src="1"><p>b</p>'


def test_layout_tables_become_divs() -> None:
    """A table around another table, or with one column, is layout and becomes a div."""
    data = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    assert whole(data) == data
    assert "<table" not in whole("<table><tr><td>one</td></tr><tr><td>two</td></tr></table>")
    nested = whole(f"<table><tr><td>menu</td><td>{data}</td></tr></table>")
    assert nested.count("<table") == 1


def test_result_is_well_formed_at_any_depth() -> None:
    """Elements nested too deeply are flattened with balanced tags, and their text is kept."""
    result = whole("<div>" * 3000 + "<p>deep</p>" + "</div>" * 3000 + "<p>end</p>")
    root = etree.fromstring(f"<root>{result}</root>")
    assert "".join(root.itertext()) == "deepend"


def test_content_after_the_end_of_html_is_rendered() -> None:
    """Content after the end of html is rendered like the rest of the page."""
    assert whole("<html><body><p>one</p></body></html><p>two</p>") == "<p>one</p><p>two</p>"


def test_neighbours_of_removed_text_stay_separate() -> None:
    """Words on both sides of a removed word stay separate."""
    page = blockml.parse("<p>one<b>x</b>two</p>")
    assert render_html(page, [True, False, True]) == "<p>one two</p>"


def test_nothing_kept_is_empty() -> None:
    """Without kept blocks the fragment is empty."""
    page = blockml.parse("<p>x</p>")
    assert render_html(page, [False]) == ""
    assert render_markdown(page, [False]) == ""


def test_markdown_of_the_usual_elements() -> None:
    """Headings, lists, links, code and tables are written in Markdown, and literal marks are escaped."""
    html = (
        "<h2>Title</h2><p>A <em>very</em> <a href='/l'>link</a> and 2*3*4.</p><ol><li>one<li>two</ol>"
        "<pre>x = 1\nif y:\n    z()</pre><table><tr><th>a<th>b<tr><td>1<td>2</table>"
    )
    page = blockml.parse(html)
    text = render_markdown(page, [True] * len(page.blocks))
    for part in (
        "## Title", "A *very* [link](/l) and 2\\*3\\*4.", "1. one\n2. two", "```\nx = 1\nif y:\n    z()\n```",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ):  # fmt: skip
        assert part in text


def test_tables_keep_their_columns() -> None:
    """Empty and removed cells are written empty, so that the others keep their columns."""
    html = "<table><tr><th><th>A<th>B<tr><td>x<td><td>3<tr><td>y<td>1<td>2</table>"
    page = blockml.parse(html)
    text = render_markdown(page, [True] * len(page.blocks))
    assert "| x |  | 3 |" in text
    assert "|  | A | B |" in text
    kept = [block.text != "1" for block in page.blocks]
    assert "| y |  | 2 |" in render_markdown(page, kept)
    assert "x\t\t3" in blockml.extract(html, model="plain").text


def test_pieces_of_code_stay_separate() -> None:
    """A removed part of a code block leaves its line breaks, or a space."""
    page = blockml.parse("<pre>foo(\n<b>bar,\n</b>baz)</pre><pre>a<b>x</b>b</pre>")
    kept = [block.text not in {"bar,", "x"} for block in page.blocks]
    assert render_text(page, kept) == "foo(\n\nbaz)\na b"
    assert render_html(page, kept) == "<pre>foo(\n\nbaz)</pre><pre>a b</pre>"


@pytest.mark.parametrize(
    "text", ["&lt;script&gt;x()&lt;/script&gt;", "# no heading", "1. no list", "a | b", "*no* _stress_"]
)
def test_markdown_escapes_marks_of_the_text(text: str) -> None:
    """Text that looks like Markdown is escaped, so that it reads the same when rendered again."""
    page = blockml.parse(f"<p>{text}</p>")
    written = render_markdown(page, [True])
    assert written != page.blocks.texts[0] or text == "a | b"
    assert written.replace("\\", "") == page.blocks.texts[0]


def test_blank_lines_in_code_are_kept() -> None:
    """Blank lines in code are kept in Markdown."""
    page = blockml.parse("<pre>a\n\n\n\nb</pre>")
    assert "a\n\n\n\nb" in render_markdown(page, [True])


def test_direction_of_the_page_is_kept() -> None:
    """A fragment of a right-to-left page has the attribute ``dir``."""
    assert whole("<html dir=rtl><body><p>שלום</p>") == '<div dir="rtl"><p>שלום</p></div>'


def test_a_bare_url_does_not_warn() -> None:
    """A page that consists of a URL is rendered without a warning of Beautiful Soup."""
    page = blockml.parse("https://x.example/a")
    assert "x.example" in render_markdown(page, [True])


def test_line_breaks_are_written_at_any_depth() -> None:
    """Elements below the maximum depth are left out, but their line breaks are written."""
    page = blockml.parse("<p>a</p>" + "<div>" * 200 + "one<br>two")
    assert "one<br>two" in render_html(page, [True] * len(page.blocks))


def test_numbered_lists_keep_their_kind() -> None:
    """The type and start of numbered lists are kept, but not their handlers."""
    page = blockml.parse("<ol type=a start=3 onclick=x()><li>Cats</ol>")
    assert render_html(page, [True]) == '<ol type="a" start="3"><li>Cats</li></ol>'


def test_no_break_spaces_are_kept() -> None:
    """Verses keep their indent; other white space is one space."""
    page = blockml.parse("<p>&nbsp; One \n two<br>&nbsp;&nbsp;&nbsp;three&emsp;four</p>")
    assert render_html(page, [True] * len(page.blocks)) == ("<p>One two<br>\xa0\xa0\xa0three four</p>")


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("<pre><div>a:</div><div></div><div>  b</div></pre>", "<pre>a:\n\n  b</pre>"),
        ("<pre class=language-c><div>a;</div><div><br></div><div>b &lt; c;</div></pre>",
         '<pre><code class="language-c">a;\n\nb &lt; c;</code></pre>'),
        ("<pre><div>1</div><div>2</div></pre><pre>a\n\nb <b>c</b></pre>", "<pre>a\n\nb c</pre>"),
    ],
)  # fmt: skip
def test_code_whose_lines_are_elements_keeps_empty_lines(code: str, written: str) -> None:
    """Such code is written as its lines, without columns of line numbers."""
    page = blockml.parse(code)
    assert render_html(page, [True] * len(page.blocks)) == written


def test_addresses_are_absolute() -> None:
    """Addresses are those that a reader of the fragment can follow; links to notes stay within it."""
    page = "<p>Cats <a href=/x>rule</a><a href='#n1'>1</a>. <img src=a.png alt=cat></p><p id=n1>Ask one.</p>"
    result = blockml.extract(page, url="https://cats.example/d/p.html", model="plain")
    found = re.findall(r'(?:href|src)="([^"]*)"', blockml.render(result, "html"))
    assert found == ["https://cats.example/x", "#n1", "https://cats.example/d/a.png"]
