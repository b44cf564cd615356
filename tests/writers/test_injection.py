"""Markdown is read back as written: no words of a page become an element, attribute or address."""

from __future__ import annotations

import html
from collections.abc import Callable

import commonmark
import mistune
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml.html import fragment_fromstring
from markdown_it import MarkdownIt

import blockml
from blockml import render
from blockml.parsing import BACKENDS
from blockml.text.addresses import read_address
from research.fuzz.rendered import check_outputs, foreign, markdown_reader

URL = "https://a.example/x"


def _mistune(text: str) -> str:
    renderer = mistune.HTMLRenderer(escape=False, allow_harmful_protocols=True)
    return str(mistune.create_markdown(renderer=renderer, plugins=["strikethrough", "table"])(text))


#: Readers that allow raw HTML and links with any scheme.
READERS = {
    "markdown-it": markdown_reader("table"),
    "markdown-it without tables": markdown_reader(),
    "mistune": _mistune,
    "commonmark": commonmark.commonmark,
}
#: Pieces of attacks, as a page writes them in its text, attributes and formulas.
PIECES = (
    "<", ">", "</", "<img src=x ", "<a href='", "<b onclick=x>", "onerror=evil() ", "<!--", "-->", "<?", "?>",
    "<![CDATA[", "]]>", "<evil:x>", "<1@evil.example>", "&lt;", "&colon;", "&#60;", "evil:x", "javascript:evil()",
    "[", "]", "(", ")", "](", "](evil:x)", "[x](evil:x)", "[a", "b]: evil:x", "[a b]", "![", "!", "\\", "\\\\", "`",
    "``", "*", "**", "_", "~~", "$", "$$", "\\(", "\\)", "\\[", "\\]", "|", "-", "1. ", "# ", "> ", "---", "===", "```",
    "~~~", "cat", " ", " a b ", ".", '"', "'", "=", "x='", "é",
)  # fmt: skip
words = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
texts = words.map(lambda text: html.escape(text, quote=False))
values = words.map(html.escape)


def _element(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda chosen: pattern.format(*chosen))


inline = st.recursive(
    st.one_of(
        texts,
        _element("<img alt='{0}' src='/p'>", values),
        _element("<img alt='{0}' src='{1}'>", values, values),
        _element("<code>{0}</code>", texts),
        _element("<math alttext='{0}'></math>", values),
        _element("\\({0}\\)", texts),
        _element("<img class=tex alt='x^2{0}' src=/latex>", values),
        st.just("<br>"),
    ),
    lambda inner: st.one_of(
        _element("{0}{1}", inner, inner),
        _element("{0}<br>{1}", inner, inner),
        _element("<a href='/b' title='{1}'>{0}</a>", inner, values),
        _element("<a href='{1}'>{0}</a>", inner, values),
        _element("<b>{0}</b>", inner),
        _element("<i>{0}</i>", inner),
        _element("<del>{0}</del><sub>{1}</sub>", inner, texts),
    ),
    max_leaves=6,
)
blocks = st.one_of(
    _element("<p>{0}", inline),
    _element("<p>{0}<p>{1}", inline, inline),
    _element("<p>[{0}<br>{1}]: evil:x<p>the [{0} {1}]", texts, texts),
    _element("<h2>{0}</h2>", inline),
    _element("<ul><li>{0}<li>{1}<ol><li>{0}</ol></ul>", inline, inline),
    _element("<blockquote>{0}</blockquote>", inline),
    _element("<pre class='lang-{0}'>{1}</pre>", values, texts),
    _element("<table><tr><th>{0}<th>{1}<tr><td>{1}<td>{2}</table>", inline, inline, inline),
    _element("<dl><dt>{0}<dd>{1}</dl>", inline, inline),
)
pages = st.tuples(values, texts, st.lists(blocks, min_size=1, max_size=3)).map(
    lambda parts: f"<base href='{parts[0]}'><title>{parts[1]}</title>" + "".join(parts[2])
)
FILL = "<p>The cat sat on the mat and nobody asked it to do so, it was said."


@pytest.mark.parametrize(
    ("head", "body", "url"),
    [
        ("<base href='javascript://x/'>", '<a href="/%0aalert(1)">cat</a>', None),
        ("", '<a href="javascript&amp;colon;alert(1)//">cat</a>', None),
        ("", "<p>[a<br>b]: javascript:alert(1)<p>the [a b] cat", URL),
        ("", '<img alt="a\\" src=/x>](javascript:alert(1)) cat', URL),
        ("", '&lt;img src=x onerror=alert(1)//<img alt=">" src=/x.png> cat', URL),
        ("", r"the \(&lt;img src=x onerror=alert(1)// \)&gt; cat", URL),
        (r"<title>\(&lt;img src=x onerror=alert(1)// \)&gt;</title>", "", URL),
        ("", '<math alttext="&lt;img src=x onerror=alert(1)//"></math>&gt; cat', URL),
        ("", "<p>\\(`\\) <code>&lt;img src=x onerror=alert(1)></code>", URL),
        ("", "<p><a href='/`'>a</a> <code>&lt;img src=x onerror=alert(1)></code>", URL),
        ("", "<p>\\([a](javascript:alert(1))\\)", URL),
        ("", "<p>a [b <a href=/c>c</a>](javascript:alert(1))", URL),
        ("", "<table><tr><th>&lt;img src=x<th>onerror=alert(1)><tr><td>`<td><code>&lt;b></code></table>", URL),
        ("", "<table><tr><th>\\([\\)<th>[b](javascript:alert(1))<tr><td>[a<td>b](javascript:alert(1))</table>", URL),
        ("", "<p><del>a <code>&lt;b onclick=x>~~</code></del><sub>&lt;</sub>", URL),
        ("", "<p><del><code>~~</code><code>&lt;b onclick=x></code></del><sub>&lt;</sub>", URL),
        ("", "<p><del>a \\(&lt;b onclick=x>~~\\) b</del><sub>&lt;</sub>", URL),
        ("", "<p><del>a <img src=/a.png alt='&lt;b onclick=x>~~'> b</del><sub>&lt;</sub>", URL),
        ("", "<p>a &lt;1@evil.example> &lt;![CDATA[&lt;img>]]>", URL),
        ("", r"<dl><dt>\([[a\) b](c <dd>](javascript:alert(1))</dl>", URL),
    ],
)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_attacks_are_text(head: str, body: str, url: str | None, read: Callable[[str], str]) -> None:
    """Links and tags assembled from pieces remain text."""
    markdown = render(blockml.extract(head + FILL + body, model="plain", url=url), "markdown")
    assert not foreign(read(markdown))
    assert not fragment_fromstring(read(markdown), create_parent="div").xpath("//img[@src='x']|//b")


@settings(max_examples=400, deadline=None)
@given(pages)
def test_no_words_of_a_page_become_markup(page: str) -> None:
    """No pieces in titles, alternative texts, formulas, code, tables, headings, terms and addresses become markup."""
    markdown = render(blockml.extract(page + FILL, model="plain", url=URL), "markdown")
    for name, read in READERS.items():
        assert not foreign(read(markdown)), (name, markdown)


@settings(max_examples=200, deadline=None)
@given(st.lists(words, min_size=1, max_size=4))
@example(["[a](b)", "<b>", "\\"])
def test_a_reader_shows_the_words_of_a_paragraph(pieces: list[str]) -> None:
    """A reader shows exactly the words of a paragraph without formulas."""
    text = " ".join(" ".join(pieces).replace("$", "").replace("\\(", "").replace("\\[", "").split())
    result = blockml.extract(f"<p>x {html.escape(text)} x", model="plain")
    markdown = render(result, "markdown", with_title=False)
    for read in (MarkdownIt("commonmark", {"html": True}).render, commonmark.commonmark):
        shown = fragment_fromstring(read(markdown), create_parent="div").text_content()
        assert "".join(shown.split()) == "".join(result.text.split()), markdown


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("base", ["", "\r\n http://[", "\x01ht\ntps://b.example/c/\x1f", "\x01javascript://b.example/"])
@pytest.mark.parametrize(
    "address",
    ["\r\n\r\n http://[", "\x01 https://c.example/", "ht\ntps://c.example/", "\x1fjavascript:evil()",
     "java\n\tscript:x", "//[", "\t//\u2100", "\xa0evil:x", "&#1;http://[/", "\x0c/\n/c.example"],
)  # fmt: skip
def test_addresses_are_written_as_they_are_checked(address: str, base: str, backend: str) -> None:
    """Nothing that browsers drop hides a scheme, whether or not the address and the base can be parsed."""
    page = (f"<base href='{base}'>{FILL} <a href='{address}'>cat</a> <q cite='{address}'>dog</q>"
            f"<p><img width=400 height=400 src='{address}' alt=owl>{FILL}")  # fmt: skip
    result = blockml.extract(page, model="plain", url=URL, backend=backend)
    check_outputs(result)
    written = fragment_fromstring(render(result, "html"), create_parent="div").xpath("//@href|//@cite|//@src")
    for found in (*written, *(image.address for image in result.images)):
        assert found == read_address(found) != ""
        assert not foreign(f'<a href="{html.escape(found)}">cat</a>')
    assert "]()" not in render(result, "markdown")


def test_links_are_kept_without_what_browsers_drop() -> None:
    """An address with characters that browsers drop is written without them, in every output."""
    result = blockml.extract(
        f"{FILL} <a href='\x01 ht\ntps://c.example/d\n/e \x1f'>cat</a>", model="plain", backend="lexbor"
    )
    assert 'href="https://c.example/d/e"' in render(result, "html")
    assert "[cat](https://c.example/d/e)" in render(result, "markdown")


def test_alternative_texts_have_no_control_characters() -> None:
    """Neither in Markdown nor in the list of pictures."""
    result = blockml.extract("<p>One.<p><img src=a.jpg alt='A &#27;[2J\x07 \u202fcat\xad'><p>Two.", model="plain")
    assert [image.alt for image in result.images] == ["A [2J cat"]
    assert r"![A \[2J cat](a.jpg)" in render(result, "markdown")
