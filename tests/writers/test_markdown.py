"""Markdown of kept blocks: structure, addresses, formulas and escaping."""

from __future__ import annotations

import gc
import json
import time
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

import blockml
from blockml import render
from blockml.document.build import build_document
from blockml.errors import UsageError
from blockml.page.lazy import Lazy
from blockml.page.page import Deferred
from tests.rendered import render_markdown


def whole(html: str, url: str | None = None) -> str:
    """Render a page with all blocks kept."""
    page = blockml.parse(html, url=url)
    return render_markdown(page, [True] * len(page.blocks))


def without(html: str, *removed: str) -> str:
    """Render a page without the blocks with the given texts."""
    page = blockml.parse(html)
    return render_markdown(page, [text not in removed for text in page.blocks.texts])


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h3>A <b>b</b> c</h3><p>d</p>", "### A b c\n\nd"),
        ("<h2>Usage<a href='#usage'>¶</a></h2><p>d</p>", "## Usage\n\nd"),
        ("<h2>Usage<a href='#usage'>\uf0c1</a></h2><p>d</p>", "## Usage\n\nd"),
        ("<h2><a href='#usage'>Usage</a> of <a href='/cats'>cats</a></h2><p>d</p>", "## Usage of [cats](/cats)\n\nd"),
        ("<dl><dt>f(<i>x</i>)<a href=#f>¶</a><dd>d<a href=#g>¶</a></dl>", "**f(*x*)**  \nd"),
        ("<p>a<a href='/b'>¶</a> <a href='#c'>#</a></p>", "a[¶](/b) [#](#c)"),
        ("<p>a<b>b</b>c <i> d </i>e</p>", "a**b**c *d* e"),
        ("<p><b>a</b><strong> b</strong></p>", "**a b**"),
        ("<p>the <em>&quot;</em><i>a,&quot; </i>b", 'the *"a,"* b'),
        ("<p>x<b>(y)</b>z and <i></i> <em>&nbsp;</em>w</p>", "x<strong>(y)</strong>z and w"),
        ("<p>H<sub>2</sub>O, m<sup>2</sup>, <del>no</del></p>", "H<sub>2</sub>O, m<sup>2</sup>, ~~no~~"),
        ("<p>call <code>f(`x`, *y)</code> or <kbd>Ctrl</kbd></p>", "call ``f(`x`, *y)`` or `Ctrl`"),
        ("<p><code>List&lt;<a href='http://a.example/T'>T</a>&gt;</code></p>", "`List<`[`T`](http://a.example/T)`>`"),
        ("<p>one<br>two<br><br>three</p>", "one  \ntwo\n\nthree"),
        ("<blockquote><p>a<p>b</blockquote><p>c", "> a\n>\n> b\n\nc"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<dl><dt>term<dd>meaning<dt>other<dd>sense</dl>", "**term**  \nmeaning\n\n**other**  \nsense"),
        ("<p>a <img src='http://a.example/i.png' alt='two  [cats]'> b</p>",
         "a ![two \\[cats\\]](http://a.example/i.png) b"),
        ("<p>a <img src='data:x' data-src='http://a.example/i.png'> b</p>", "a ![](http://a.example/i.png) b"),
        ("<p>a <a href='javascript:x()'>b</a> c</p>", "a b c"),
        ("<p><a href='http://a.example/1'>one</a><a href='http://a.example/2'>two</a></p>",
         "[one](http://a.example/1) [two](http://a.example/2)"),
        ("<p><a>one</a><a href='javascript:x()'>two</a><a href='http://a.example/3'>three</a></p>",
         "one two [three](http://a.example/3)"),
        ("<center>a</center><center>b</center>", "a\n\nb"),
    ],
)  # fmt: skip
def test_elements(html: str, expected: str) -> None:
    """Headings, emphasis, code, breaks, quotations, definitions, pictures and links are written in Markdown."""
    assert whole(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li>a<li>b</ul><ul><li>c</ul><ul><li>d</ul>", "- a\n- b\n\n* c\n\n- d"),
        ("<ol><li>a</ol><ol><li>b<li>c</ol>", "1. a\n\n1) b\n2) c"),
        ("<ol><li>a</ol><ol start=2><li>b</ol><ol><li>c</ol>", "1. a\n\n2. b\n\n1) c"),
        ("<ul><li>a</ul><ol><li>b</ol><ul><li>c</ul>", "- a\n\n1. b\n\n- c"),
        ("<ul><li>a</ul><p>b</p><ul><li>c</ul>", "- a\n\nb\n\n- c"),
        ("<ul><li>a<ul><li>b</ul><ul><li>c</ul></ul><ul><li>d</ul>", "- a\n  - b\n  * c\n\n* d"),
    ],
)
def test_consecutive_lists_stay_separate(html: str, expected: str) -> None:
    """Two lists in a row have different markers, unless their numbers continue each other."""
    assert whole(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li>a</li><ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d"),
        ("<ol start=9><li>a<li>b</li><ul><li>c</li><ol><li>d</ol></ul></ol>",
         "9. a\n10. b\n    - c\n      1. d"),
        ("<ul><ul><li>a</ul><li>b</ul>", "- a\n- b"),
        ("<ol start=1000><li>a</li><p>b</p><ul><li>c</ul></ol>", "1000. a\n\nb\n\n- c"),
        ("<ul><li>a</li><p>b</p><ul><li>c<li>d</ul><li>e</ul>", "- a\n\nb\n\n- c\n- d\n- e"),
        ("<ul><li>a</li><ul><li>b</li><ul><li>c</ul><li>d</ul><li>e</ul>", "- a\n  - b\n    - c\n  - d\n- e"),
        ("<ul><li>a</li><ul><li>b</li><p>c</p><li>d<li>e</ul></ul>", "- a\n  - b\n\nc\n\n- d\n- e"),
    ],
)  # fmt: skip
def test_a_list_directly_in_a_list_belongs_to_the_item_before(html: str, expected: str) -> None:
    """A list directly inside a list belongs to the item before it, as browsers indent it, unless text is between."""
    assert whole(html) == expected


@pytest.mark.parametrize("line", ["<span class=line>{}</span>", "{}<br>", "<div>{}</div>"])
def test_removed_lines_of_code_leave_no_space_before_the_next_one(line: str) -> None:
    """A removed line of code leaves no space before the next one, whose indent is kept."""
    html = "<pre>" + "".join(map(line.format, ["a", "b", "  c", "d"])) + "</pre>"
    assert [text for text in without(html, "b").split("\n") if text] == ["```", "a", "  c", "d", "```"]


def test_lists_directly_in_lists_have_a_bounded_indent() -> None:
    """Lists directly inside lists have a bounded indent, so that Markdown doesn't grow with the square of the page."""
    short, long = (len(whole("<ul><li>a</li>" * n)) for n in (100, 1000))
    assert long < 11 * short


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b"),
        ("<ol><li><blockquote><ul><li>a</ul>b</blockquote>c</ol>", "1. > - a\n   >\n   > b\n\n   c"),
        ("<ul><li><ul><li>a</ul><li>b</ul>", "- a\n- b"),
    ],
)
def test_a_quotation_that_starts_with_a_list(html: str, expected: str) -> None:
    """A quotation may start with a list, unlike an item, whose only list takes its place."""
    assert whole(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h2>1. Cats</h2>", "## 1. Cats"),
        ("<h2>- <a href=http://a.example/>Cats</a></h2>", "## - [Cats](http://a.example/)"),
        ("<h2># C</h2>", "## # C"),
        ("<h2>C #</h2>", "## C \\#"),
        ("<h2>C##</h2>", "## C##"),
        ("<p># C", "\\# C"),
        ("<table><tr><th>1. a<th>b<tr><td>- c<td>2) d<br>+ e</table>",
         "| 1. a | b |\n| --- | --- |\n| - c | 2) d<br>+ e |"),
    ],
)  # fmt: skip
def test_headings_and_cells_do_not_start_a_line(html: str, expected: str) -> None:
    """Marks that matter only at the start of a line are not escaped in headings and cells; those that end one are."""
    assert whole(html) == expected


def visible_text(markdown: str) -> str:
    """Return the text shown by a parser of CommonMark with tables."""
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tree = html.fromstring(f"<div>{reader.render(markdown).replace('<br', ' <br')}</div>")
    return " ".join(str(tree.text_content()).split())


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a<br>_________<br>b", "a  \n\\_________  \nb"),
        ("<p>_a<br>___<br>b", "\\_a  \n\\_\\_\\_  \nb"),
        ("<p>a<p>* * *<p>***<p>b", "a\n\n\\* * *\n\n\\***\n\nb"),
        ("<p>a<p>```<p>b *c* d<p>e", "a\n\n\\```\n\nb \\*c\\* d\n\ne"),
        ("<p>a | b<br>--- | :--<br>c | d", "a | b  \n\\--- | :--  \nc | d"),
        ("<p>&lt;div class=<br>a", "\\<div class=  \na"),
        ("<p>a <a href=/b>b ] c</a>", "a [b \\] c](/b)"),
        ("<p>a <a href=/b>b [ c</a>", "a [b \\[ c](/b)"),
        ("<p>a <a href=/b>[b] c[d](e) f</a>", "a [[b] c\\[d\\](e) f](/b)"),
        ("<p>[<a href=/b>b</a>] ]", "[[b](/b)] ]"),
        ("<p>a <i><b>b c</b></i><b>. </b>d", "a ***b c***. d"),
        ("<p><b>a b</b><i>\u3002</i>c", "**a b**\u3002c"),
        ("<p>a<b>,</b>b <b>,</b> c", "a,b **,** c"),
        ("<p><b>a <a href=/b>b</a></b><i>\u7532\u4e59</i>", "**a [b](/b)**<em>\u7532\u4e59</em>"),
        ("<p>a<i>b.</i><b>\u7532</b>d", "a*b.*<strong>\u7532</strong>d"),
        ("<p>a<del>,</del>b", "a<del>,</del>b"),
        ("<p>a *<i>(b)</i>. c", "a \\**(b)*. c"),
        ("<p>a\\<i>b</i>\\c", "a\\\\*b*\\c"),
        ("<ul><li>a<ol start=3><li>b<li>c</ol></ul>", "- a\n\n  3. b\n  4. c"),
        ("<p><code>a></code><code>b</code>", "`a>` `b`"),
        ("<p><b>a<i><br><br>b</i></b>", "**a**\n\n***b***"),
        ("<p>[a <b>b</b>](c)", "\\[a **b**](c)"),
        ("<p>a &lt;?b &lt;c> &lt;img src=x>?> d", "a \\<?b \\<c> \\<img src=x>?> d"),
        ("<p>a &lt;img title='&lt;' src=x> b", "a \\<img title='<' src=x> b"),
        ("<p>a &lt;!B &lt;c> d", "a \\<!B \\<c> d"),
        ("<ol><li><ul><li>a</ul>b<li>c</ol>", "- a\n\nb\n\n2. c"),
        ("<p>[![a](/b)](/c)", "\\[\\!\\[a](/b)](/c)"),
        ("<p>[a [b] c [d](e)] f", "\\[a [b] c \\[d](e)] f"),
        ("<p>[a [b]: c](d)", "\\[a [b]: c](d)"),
        ("<p>[a <a href=/b>b</a>](c) [d]", "\\[a [b](/b)](c) [d]"),
        ("<p><i><code>a</code></i><i><code>b</code></i>", "*`a` `b`*"),
        ("<p>*a <i>b</i>c", "\\*a *b*c"),
        ("<table><tr><th>a<th>b<tr><td>c<td><p>***<p>\\<p>d*</table>",
         "| a | b |\n| --- | --- |\n| c | \\*\\*\\*<br>\\\\<br>d\\* |"),
        ("<table><tr><th>a<th>b<tr><td>c<td><p>1*2<p>3*4</table>", "| a | b |\n| --- | --- |\n| c | 1\\*2<br>3\\*4 |"),
    ],
)  # fmt: skip
def test_a_reader_of_commonmark_shows_the_text(page: str, expected: str) -> None:
    """A CommonMark parser shows all of the text and no marks."""
    assert whole(page) == expected
    shown = visible_text(expected)
    assert shown.replace(" ", "") == "".join(blockml.extract(page, model="plain").text.split())


def test_pictures_that_load_late_are_written_once() -> None:
    """A lazy picture that ``noscript`` repeats is written once, and one without an address is left out."""
    late = "<img src='data:x' data-src='/i.png?w=9' alt=cat><noscript><img src='/i.png' alt=cat></noscript>"
    text = whole(f"<p>a</p>{late}<p>b <img src=''> c <img src='/d.png'> d</p>", "https://a.example/")
    assert text == "a\n\n![cat](https://a.example/i.png?w=9)\n\nb c ![](https://a.example/d.png) d"
    first = "<noscript><img src=/i.png alt=cat></noscript><img src=/i.webp alt=cat><img src=/j.webp alt=cat>"
    assert whole(f"<p>a {first} b</p>", "https://a.example/") == (
        "a ![cat](https://a.example/i.png) ![cat](https://a.example/j.webp) b"
    )
    counter = "<noscript><img src=/count.gif></noscript><img src=/cat.png><noscript><img src=/count.gif></noscript>"
    assert whole(f"<p>a {counter} b</p>") == "a ![](/count.gif) ![](/cat.png) b"


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("<img src=/blank.gif data-src=/cat.jpg>", "![](/cat.jpg)"),
        ("<img src=/load.png data-original='cats/1.jpg?w=9'>", "![](cats/1.jpg?w=9)"),
        ("<img src=/cat.jpg data-src=false>", "![](/cat.jpg)"),
        ("<img src=/cat.jpg data-src='/cat_{width}x.jpg'>", "![](/cat.jpg)"),
        ("<img src=/cat.jpg data-url=/cats/all>", "![](/cat.jpg)"),
        ("<img src=/blank.gif data-srcset='/cat.jpg 1x, /cats.jpg 2x'>", "![](/cats.jpg)"),
        ("<img src=data:image/gif;base64,x data-src=false srcset='/cat.jpg 1x'>", "![](/cat.jpg)"),
        ("<img src=/count?page=1 width=1 height=1>", ""),
        ("<img src=/cat.jpg width=3 height=2>", "![](/cat.jpg)"),
        ("<img src=/line.jpg width=580 height=2px>", ""),
        ("<img src=/images/pixel_trans.gif?x alt=' '>", ""),
        ("<img src=/cat.svg width=1 height=1 alt=Cat>", ""),
        ("<img src=/cat.jpg width=800 height=0>", "![](/cat.jpg)"),
        ("<img src=/pixel-art.png width=300>", "![](/pixel-art.png)"),
    ],
)
def test_placeholders_and_spacers_are_not_pictures(picture: str, expected: str) -> None:
    """Lazy pictures have the address that is loaded later, and invisible ones are left out."""
    assert whole(f"<p>a {picture} b</p>") == " ".join(f"a {expected} b".split())


def test_a_link_around_paragraphs_is_written_once() -> None:
    """A link around a heading and paragraphs is written once, on the heading."""
    html = "<a href='http://a.example/'><h3>Cats</h3><p>They rule.</p></a><p>More.</p>"
    assert whole(html) == "### [Cats](http://a.example/)\n\nThey rule.\n\nMore."
    html = "<a href='http://a.example/'><div><img src='http://a.example/i'></div><div>Cats</div></a><p>More.</p>"
    text = whole(f"<p>All</p>{html}")
    assert text == "All\n\n[![](http://a.example/i)](http://a.example/)\n\n[Cats](http://a.example/)\n\nMore."


@pytest.mark.parametrize(
    ("head", "href", "expected"),
    [
        ("", "/c", "https://a.example/c"),
        ("", "c?d=1", "https://a.example/b/c?d=1"),
        ("", "../c", "https://a.example/c"),
        ("", "//x.example/y", "https://x.example/y"),
        ("", "#top", "https://a.example/b/p#top"),
        ("<base href='/deep/'>", "c", "https://a.example/deep/c"),
        ("<base href='https://other.example/x/'>", "c", "https://other.example/x/c"),
        ("", "/c d (e", "https://a.example/c%20d%20%28e"),
        ("", "mailto:x@a.example", "mailto:x@a.example"),
    ],
)
def test_addresses_are_absolute(head: str, href: str, expected: str) -> None:
    """Links and pictures are resolved against the page's address and its ``base``."""
    page = f"<head>{head}</head><p>a <a href='{href}'>link</a> <img src='{href}'> b</p>"
    text = whole(page, "https://a.example/b/p")
    assert f"[link]({expected})" in text
    assert f"![]({expected})" in text


def test_list_items_keep_their_numbers() -> None:
    """Removed items leave a gap in the numbers, and ``start``, ``value`` and ``reversed`` are obeyed."""
    assert without("<ol start=3><li>a<li>ad<li>b</ol><p>c", "ad") == "3. a\n5. b\n\nc"
    assert whole("<ol><li>a<li value=7>b<li>c</ol>") == "1. a\n7. b\n8. c"
    assert whole("<ol reversed><li>a<li>b<li>c</ol>") == "3. a\n2. b\n1. c"


def test_nested_lists() -> None:
    """Lists, paragraphs and code inside items are indented."""
    html = "<ol><li>a<ul><li>b<li>c<ol><li>d</ol></ul><li><p>e</p><pre>f\n g</pre></ol><p>h"
    assert whole(html) == "1. a\n   - b\n   - c\n     1. d\n2. e\n\n   ```\n   f\n    g\n   ```\n\nh"


def test_an_item_whose_direct_text_is_removed() -> None:
    """An item whose direct text is removed is replaced by the items of the list inside it."""
    assert without("<ul><li>menu<ul><li>a<li>b</ul></ul><p>c</p>", "menu") == "- a\n- b\n\nc"


@pytest.mark.parametrize(
    ("html", "fence"),
    [
        ("<pre class='brush: js; x'>a\n  b</pre>", "```js"),
        ("<pre><code class='hljs language-c++'>a\n  b</code></pre>", "```c++"),
        ("<div class='highlight highlight-source-shell'><pre>a\n  b</pre></div>", "```shell"),
        ("<pre data-lang=Rust><span>a</span>\n  b\n</pre>", "```rust"),
        ("<pre><div>a</div><div>  b</div></pre>", "```"),
        ("<pre>a<br>  b</pre>", "```"),
        ("<pre><span class=lineno>1</span>a\n<span class=lineno>2</span>  b</pre>", "```"),
        ("<pre><span class=line>a</span><span class='line old'><b>  b</b></span></pre>", "```"),
        ("<pre><span class=line>a</span>\n<span class=line>  b</span></pre>", "```"),
        ("<pre><span class=token-line>a<br></span><span class=token-line>  b<br></span></pre>", "```"),
        ("<pre class=code-block__x1><code class='lang-auto lang-c'>a\n  b</code></pre>", "```c"),
        ("<pre class='code-block__x1 language-lang-default'>a\n  b</pre>", "```"),
    ],
)
def test_code_keeps_language_and_white_space(html: str, fence: str) -> None:
    """A code block keeps its white space and its language, wherever the page declares it; line numbers are left out."""
    assert whole(html) == f"{fence}\na\n  b\n```"


def test_code_with_fences_has_longer_ones() -> None:
    """Backticks in code get a longer fence, and a column of line numbers is left out."""
    assert whole("<pre>```\nx</pre>") == "````\n```\nx\n````"
    html = "<table><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table>"
    assert whole(html) == "```\na\nb\n```"
    assert whole("<pre><code>a\nb</code><button>Copy</button></pre>") == "```\na\nb\nCopy\n```"


def test_a_long_number_is_not_a_line_number() -> None:
    """A number of more than 4,300 digits, which Python refuses to parse, is not a line number."""
    assert whole(f"<pre>{'1' * 5000}\n2</pre>") == f"```\n{'1' * 5000}\n2\n```"


def test_tables_of_data() -> None:
    """A table has a separator row, spans are filled, pipes are escaped, and paragraphs are joined."""
    html = (
        "<table><caption>Caption</caption><tr><th>a<th colspan=2>b<tr><td rowspan=2>1|0<td>2<td><p>3<p>4"
        "<tr><td>5<td><ul><li>6<li>7</ul></table>"
    )
    assert whole(html) == ("Caption\n\n| a | b |  |\n| --- | --- | --- |\n| 1\\|0 | 2 | 3<br>4 |\n|  | 5 | 6<br>7 |")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<table><thead><th></th><th>a</th><th>b</th></thead><tbody><tr><td>1<td>2<td>3</table>",
         "|  | a | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |"),
        ("<table><thead><tr><th>a<th>b</thead><tbody><td>1</td><td>2</td></tr><tr><td>3<td>4</table>",
         "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"),
        ("<table><tr><td>1</td><form><td>2</td></form></tr><tr><td>3<td>4</table>",
         "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"),
    ],
)  # fmt: skip
def test_cells_without_a_row_are_one_row(html: str, expected: str) -> None:
    """Consecutive cells without a row form one row, and empty ones keep their column."""
    assert whole(html) == expected


def test_a_table_with_row_headers_has_an_empty_header() -> None:
    """A table of names and values gets an empty header, because its first row is not one."""
    html = "<table><tr><th>Name<td>Cat<tr><th>Legs<td>4</table>"
    assert whole(html) == "|  |  |\n| --- | --- |\n| Name | Cat |\n| Legs | 4 |"


def test_lists_in_a_cell_keep_their_numbers() -> None:
    """The items of a list in a cell are lines, with their numbers, letters and check marks."""
    steps = "<ol start=2><li>Mix<p>well<li>Bake<ol type=a><li>slowly</ol></ol>"
    tasks = "<ul><li>Eggs<li><input type=checkbox checked>Milk</ul>"
    expected = "| Steps | Food |\n| --- | --- |\n| 2. Mix<br>well<br>3. Bake<br>a. slowly | Eggs<br>[x] Milk |"
    assert whole(f"<table><tr><th>Steps<th>Food<tr><td>{steps}<td>{tasks}</table>") == expected


@pytest.mark.parametrize(
    ("rows", "is_header"),
    [
        ("<tr><td>Ann<td>3<tr><td>Bob<td>5", False),
        ("<tr><td>Monday<td>closed<tr><td>Tuesday<td>open<tr><td>Friday<td>open", False),
        ("<tr><td><b>City</b><td><b>People</b><tr><td>Bergen<td>many", True),
        ("<tr><td><b>City</b><td>People<tr><td>Bergen<td>many", False),
        ("<tr><td>City<td>People<tr><td>Bergen<td>291,940<tr><td>Oslo<td>717,710", True),
        ("<tr><td>City 1<td>People<tr><td>Bergen<td>291,940<tr><td>Oslo<td>717,710", False),
        ("<tr><th>City<th>People<tr><td>Bergen<td>many", True),
        ("<tr><th>Colour<td>black<tr><th>Height<td>2 cm<tr><th>Width<td>3 cm", False),
    ],
)
def test_an_empty_header_is_above_a_first_row_of_data(rows: str, *, is_header: bool) -> None:
    """A first row without header cells is a header if it is bold, or without digits above numbers."""
    lines = whole(f"<table>{rows}</table>").splitlines()
    assert lines[1] == "| --- | --- |"
    assert (lines[0] != "|  |  |") is is_header
    assert len(lines) == rows.count("<tr>") + (1 if is_header else 2)


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table><td>side</table>",
        "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>",
        "<table><tr><td><h2>a</h2><p>b</p><td>c</table>",
        "<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>",
        "<table><tr><td>a<td>b</table>",
    ],
)
def test_layout_tables_are_written_as_text(html: str) -> None:
    """A layout table is written as the text of its cells, not as a table."""
    lines = whole(html).splitlines()
    assert {"a", "b"} <= {line.lstrip("# ") for line in lines} or "| a | b |" in lines
    assert "| side |" not in lines


@pytest.mark.parametrize(
    "formula",
    [
        "<script type='math/tex'>x^2_i</script>",
        "<span class=MathJax_Preview>x2i</span><span class=MathJax><i>x2i</i></span>"
        "<script type='math/tex'>x^2_i</script>",
        "<math alttext='x^2_i'><mi>x</mi><mn>2</mn></math>",
        "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2_i</annotation></semantics></math>",
        "<span class=katex><span class=katex-mathml><math><semantics><mi>x</mi>"
        "<annotation encoding='application/x-tex'>"
        "x^2_i</annotation></semantics></math></span><span class=katex-html aria-hidden=true>x2</span></span>",
        "<span class=mwe-math-element><span style='display:none'>"
        "<math alttext='{\\displaystyle x^2_i}'><mi>x</mi></math></span>"
        "<img src='/i' class='mwe-math-fallback-image-inline' alt='{\\displaystyle x^2_i}'></span>",
        "\\(x^2_i\\)",
        "<img src='http://a.example/latex.php?x' alt='x^2_i'>",
        "$x^2_i$<script src=/mathjax.js></script>",
    ],
)
def test_formulas_are_tex_and_written_once(formula: str) -> None:
    """A formula is written once as TeX, although pages often repeat it in another form."""
    assert whole(f"<p>Let {formula} be it, a_i * b_i.</p>") == "Let $x^2_i$ be it, a_i * b_i."


@pytest.mark.parametrize("html", [f"<p>{'<math>' * 3900}{'<mi>x</mi>' * 4000}", r"\(x\) " * 150_000])
def test_thousands_of_formulas(html: str) -> None:
    """Thousands of formulas, nested or in one paragraph, take time in proportion to the page."""
    page = blockml.parse(html)
    gc.freeze()  # the time of collections would depend on what earlier tests have left
    start = time.process_time()
    text = render_markdown(page, [True] * len(page.blocks))
    seconds = time.process_time() - start
    gc.unfreeze()
    assert text.count("x") >= 4000
    assert seconds < 2


@pytest.mark.parametrize(
    "page",
    [
        "<math alttext='TAG'><mi>x</mi></math>",
        "<script type='math/tex'><b onclick=a></script>",
        "\\(TAG\\) and \\[TAG\\]",
        "<img src=/latex alt='TAG x^2'>",
        "<img src=x alt='&lt;b onclick=\"'> <img src=y alt='\"&gt;'>",
    ],
)
def test_no_text_becomes_a_tag(page: str) -> None:
    """Text in formulas and alternative texts doesn't become a tag, although it isn't escaped as elsewhere."""
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    tree = html.fromstring(
        reader.render(whole(f"<p>a {page.replace('TAG', '&lt;b onclick=a&gt;')} b", "https://c.example"))
    )
    assert not tree.xpath("//b")


def test_formulas_between_dollar_signs() -> None:
    """Text between dollar signs is not escaped if the page loads a program that renders TeX."""
    text = "<p>Let $a = \\{1, *b*, c\\}$ be.</p>"
    assert whole(text) == "Let $a = \\\\{1, \\*b\\*, c\\\\}$ be."
    assert whole(f"<script src=/katex.js></script>{text}") == "Let $a = \\{1, *b*, c\\}$ be."


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<dl><dt>a<dt>b<dd><p>c<p>d<dd>e</dl>", "**a**\n\n**b**  \nc\n\nd\n\ne"),
        ("<dl><dt>a<dd><ul><li>b</ul><p>c</dl><p>d", "**a**\n\n- b\n\nc\n\nd"),
        ("<dl><dt><b>a</b> b<dd>- c<ul><li>d</ul></dl>", "**a b**  \n\\- c\n\n- d"),
        ("<dl><div><dt>a</dt><dd>b</dd></div><div><dt>c</dt><dd>d</dd></div></dl>", "**a**  \nb\n\n**c**  \nd"),
        ("<dl><dt><h3>a</h3><dd>b</dl>", "### a\n\nb"),
        ("<ul><li><dl><dt>a<dd>b</dl><li>c</ul>", "- **a**  \n  b\n- c"),
        (f"<dl><dt>{'a ' * 100}<dd>b</dl>", f"{('a ' * 100).strip()}\n\nb"),
    ],
)
def test_terms_and_definitions(page: str, expected: str) -> None:
    """A short term is bold on a line by itself, and its definition follows on the next line if it is a paragraph."""
    assert whole(page) == expected


def test_a_definition_without_its_term() -> None:
    """A definition without its term is a paragraph, and so is a term without its definition."""
    assert without("<dl><dt>term<dd>meaning</dl><p>a</p>", "term") == "meaning\n\na"
    assert without("<dl><dt>term<dd>meaning</dl><p>a</p>", "meaning") == "**term**\n\na"


def test_a_displayed_formula() -> None:
    """A displayed formula is a paragraph."""
    html = "<p>So</p><div><script type='math/tex; mode=display'>a\n= b</script></div><p>holds.</p>"
    assert whole(html) == "So\n\n$$a = b$$\n\nholds."


def test_mathml_without_tex_is_converted() -> None:
    """MathML without TeX is converted, and dollar signs in its alternative text are not doubled."""
    assert whole("<p>Let <math><mi>x</mi><mo>=</mo><mn>2</mn></math> be.</p>") == "Let $x = 2$ be."
    assert whole("<p>Let <math alttext='$x^2$'><mi>x</mi></math> be.</p>") == "Let $x^2$ be."


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4", "a_b and snake_case_name", "5 < 6 & 7 > 2", "R&D, AT&T; so", "[1] and [sic]", "a | b", "~5 to ~6",
        "C# and F#", "* alone", "It is so! [yes]", "$5 and $6", "-5 degrees", "f***ing", "3.5 is 3.5", "C:\\dir name",
        "-1 <x<2", "#tag",
    ],
)  # fmt: skip
def test_no_needless_escapes(text: str) -> None:
    """Text that Markdown would not read as a mark is not escaped."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    assert whole(f"<p>x {escaped}</p>") == f"x {text}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1986. Good", "1986\\. Good"), ("- a", "\\- a"), ("+ a", "\\+ a"), ("# a", "\\# a"), ("> a", "\\> a"),
        ("---", "\\---"), ("a *b* c", "a \\*b\\* c"), ("_b_", "\\_b\\_"), ("a `b` c", "a \\`b\\` c"),
        ("[a](b)", "\\[a](b)"), ("[a]: b", "\\[a]: b"), ("&amp;lt;", "\\&lt;"), ("&lt;b>", "\\<b>"),
        ("~~a~~", "\\~\\~a\\~\\~"),
        ("a\\*b", "a\\\\*b"), ("\\*a\\*", "\\\\\\*a\\\\\\*"),
    ],
)  # fmt: skip
def test_needed_escapes(text: str, expected: str) -> None:
    """Text that Markdown would read as a mark is escaped."""
    assert whole(f"<p>{text}</p>") == expected


def test_stars_next_to_emphasis() -> None:
    """A star is escaped inside emphasis, which it could end, but not outside."""
    assert whole("<p><b>Free.</b> No charge.* About ~5 m</p>") == "**Free.** No charge.* About ~5 m"
    assert whole("<p><i>2*3 m</i> so</p>") == "*2\\*3 m* so"


def test_lines_after_a_break_are_escaped() -> None:
    """A line after a break that looks like a list is escaped, and so is an exclamation mark before a link."""
    assert whole("<p>a<br>- b<br>2. c</p>") == "a  \n\\- b  \n2\\. c"
    assert whole("<p>So!<a href='http://a.example/'>b</a></p>") == "So\\![b](http://a.example/)"


def test_characters_of_private_planes_are_text() -> None:
    """Characters of private planes, which are icons of fonts, are kept as in plain text."""
    assert whole("<p>a \U000f0001<b>b\U00100001</b> c</p>") == "a \U000f0001**b\U00100001** c"


def test_a_paragraph_of_many_marks_keeps_them() -> None:
    """A paragraph of thousands of links, emphases and code pieces keeps all of them."""
    n = 1_500
    text = whole("<p>" + "<a href=/x>a</a> <b>b</b> <code>c</code> d " * n + "end</p>")
    assert text == "[a](/x) **b** `c` d " * n + "end"


def test_deep_lists_and_quotations_keep_their_text() -> None:
    """Lists and quotations nested thousands of levels deep keep their text."""
    text = whole("<ul><li>" * 2000 + "deep" + "</li></ul>" * 2000 + "<p>end</p>")
    assert "deep" in text
    assert text.endswith("end")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title>Cats rule</title><p>They do.</p>", "# Cats rule\n\nThey do."),
        ("<title>Cats rule</title><h2>Cats rule</h2><p>They do.</p>", "## Cats rule\n\nThey do."),
        ("<title>Cats rule</title><p><b>Cats rule</b></p><p>They do.</p>", "# Cats rule\n\nThey do."),
        ("<title>Cats rule</title><p>News</p><p>Cats rule</p>", "News\n\nCats rule"),
        ("<title>Cats rule</title><p>a<p>b<p>c<h2>Cats <b>rule!</b></h2><p>d", "a\n\nb\n\nc\n\n## Cats rule!\n\nd"),
        ("<title>Cats rule</title><p>a<p>b<p>c<p>Cats rule<p>d", "# Cats rule\n\na\n\nb\n\nc\n\nCats rule\n\nd"),
        ("<title>Cats rule</title><ul><li>Cats rule<li>They do</ul>", "- Cats rule\n- They do"),
        ("<title>1. Cats and C #</title><p>They do.</p>", "# 1. Cats and C \\#\n\nThey do."),
        ("<title>Cats &lt;b&gt;rule&lt;/b&gt;</title><p>They do.</p>", "# Cats \\<b>rule\\</b>\n\nThey do."),
    ],
)
def test_markdown_starts_with_the_headline(html: str, expected: str) -> None:
    """Markdown starts with the headline as a heading, which is not repeated where the text starts with it."""
    assert render(blockml.extract(html, model="plain"), "markdown") == expected


def test_a_lower_heading_with_the_words_of_the_headline_is_not_the_headline() -> None:
    """A lower heading that repeats the headline, as in the card of a recipe, is not taken as the headline."""
    html = "<title>Cats</title><h1>Cats rule</h1><p>a<p>b<p>c<p>d<h2>Cats rule</h2><p>e"
    result = blockml.extract(html, model="plain")
    text = "a\n\nb\n\nc\n\nd\n\n## Cats rule\n\ne"
    assert render(result, "markdown") == f"# Cats rule\n\n{text}"
    kept = ~np.array([True, *[False] * 6])
    deferred = Deferred(title=Lazy(lambda: "Cats rule"), document=Lazy(lambda: build_document(result.page, kept)))
    without = replace(result, kept=kept, text="a\nb\nc\nd\nCats rule\ne", _deferred=deferred)
    assert render(without, "markdown") == f"# Cats rule\n\n{text}"


def test_text_with_paragraphs() -> None:
    """Paragraphs are separated by an empty line, but not the items or lines of one."""
    result = blockml.extract("<p>one<br>two</p><p>three</p><ul><li>a<li>b</ul>", model="plain")
    assert result.text == "one\ntwo\nthree\na\nb"
    assert render(result, "text", paragraphs=True) == "one\ntwo\n\nthree\n\na\nb"
    with pytest.raises(UsageError, match="paragraphs only has an effect in text, not in html"):
        render(result, "html", paragraphs=True)
    with pytest.raises(UsageError, match="with_title only has an effect in text and markdown, not in json"):
        render(result, "json", with_title=True)


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_front_matter_is_yaml(title: str, names: list[str]) -> None:
    """A YAML reader reads each value as it is in the metadata, whatever signs are in it, and none twice."""
    yaml = pytest.importorskip("yaml")
    authors = "".join(f'<meta name="author" content="{escape(name)}">' for name in names)
    text = "<p>A sentence of a page, which has more words than others.</p>" * 3
    result = blockml.extract(f'<meta property="og:title" content="{escape(title)}">{authors}{text}', model="plain")
    written = blockml.render(result, "markdown", front_matter=True)
    plain, metadata = blockml.render(result, "markdown"), result.metadata
    known = {name: value for name, value in metadata.record().items() if value and name not in {"sources", "script"}}
    if not known:
        assert written == plain
        return
    start, _, rest = written.removeprefix("---\n").partition("---\n\n")
    assert rest == plain
    assert yaml.safe_load(start) == known
    assert all(json.loads(line.partition(": ")[2]) for line in start.splitlines())
