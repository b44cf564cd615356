"""Hypothesis strategies for messy pages, and slow but obvious implementations to compare the package with."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from blockml.page import Flag

if TYPE_CHECKING:
    from blockml.page import Nodes

#: Elements of every kind: blocks, inline, void, tables, lists, raw text, foreign, obsolete, unknown.
TAGS = (
    "div p span a b i em strong u font tt code abbr ul ol li dl dt dd table tr td th thead tbody caption h1 "
    "h2 h6 pre br hr "
    "img input wbr blockquote q form select option textarea noscript section article main header footer nav center "
    "label button svg math nobr ruby rt body html head details summary address o:p custom-tag x[1] fieldset legend"
).split()

#: Elements whose text is in no block, wherever they are.
UNSEEN = frozenset("head title script style template iframe noembed noframes".split())

#: Words, signs and characters on which tokenisers and parsers disagree.
PIECES = (
    "word", "Two words", "x", "42", "--", "…", "*", "—", "a.b", "don't", "e-mail", "foo_bar", "a|b", "3€", "100%", "é",
    "e\u0301", "ß", "你好", "世界。", "カタカナ・", "สวัสดี", "שלום", "مرحبا", "\u202eabc\u202c",
    "😀", "👨\u200d👩", "𝒳", "²",
    " ", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\u200b", "\ufeff", "\u00ad", "\u3000", "\x85", "\x1c", "\x01", "\x7f",
    "\x0b", "\x0c", "\x9f", "\ufffd", "\U0010ffff", "&", "<", ">", '"', "'", "]]>", "a" * 90, "end. Next! Last? ",
)  # fmt: skip

ENTITIES = (
    "&amp; &lt; &gt; &nbsp; &eacute; &eacute &copy &#8217; &#x80; &#x1F600; &#0; &#xD800; &#x110000; &bogus; &".split()
)

#: Whole constructs with a special parser mode.
CONSTRUCTS = (
    "<!-- comment -->", "<!--<p>not text</p>-->", "<!>", "<!-- a -- b --!>", "<?php echo 1 ?>", "<![CDATA[cdata]]>",
    "<!DOCTYPE html>", "<script>var x = '<p>code</p>';</script>", "<script>a<!--b</script>",
    "<style>p { color: red }</style>",
    "<noscript>no script</noscript>", "<noscript><p>no script</p></noscript>", "<title>A title</title>",
    "<template><p>template</p></template>", "<iframe src=x>frame</iframe>", "<noembed>plug in</noembed>",
    "<noframes>frames</noframes>", "<pre>\n two\n  lines </pre>", "<textarea> typed\n text </textarea>",
    "<xmp><b>raw</b></xmp>",
    "<a href=/><div>in <p>anchor</div></a>", "<a href=x>one</a><a href=y>two</a>", "a<!--c-->b", "</p>", "</br>",
    "<table>stray<tr><td>cell<td>cell</table>", "<b><i>mis</b>nested</i>", "<p>one<p>two", "<ul><li>x<li>y</ul>",
    "<svg><title>drawing</title><text>label</text></svg>", "</html>", "</body>", "<br/>", "<img alt='no text'>",
)  # fmt: skip

ATTRIBUTES = (
    "", "", "", " class=a", " hidden", ' style="display: none"', " style='visibility:hidden'", " href='/x'",
    " id=1 id=2",
    ' data-x="<p>"', " =bad", " STYLE=DISPLAY:NONE", " title='&lt;b&gt;'", " /",
)  # fmt: skip

_start_tags = st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES))
_end_tags = st.sampled_from([f"</{tag}>" for tag in TAGS])
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

#: Texts without lone surrogates.
messy_texts = st.lists(st.one_of(st.sampled_from(PIECES), _any_text), max_size=10).map("".join)

_fragments = st.one_of(
    st.sampled_from(PIECES), _start_tags, _end_tags, st.sampled_from(CONSTRUCTS), st.sampled_from(ENTITIES), _any_text
)

#: Pages that break the standard.
messy_html = st.one_of(st.lists(_fragments), st.lists(_fragments, min_size=12, max_size=60)).map("".join)

#: Bytes that may be a page.
messy_bytes = st.one_of(
    st.binary(max_size=200),
    st.builds(
        bytes.__add__,
        st.sampled_from(
            [
                b"",
                b"<meta charset=gbk>",
                b"<p>",
                b"\xff\xfe",
                b"\xfe\xff",
                b"\xef\xbb\xbf",
                b"<?xml encoding='koi8-r'?>",
            ]
        ),
        st.one_of(st.binary(max_size=200), messy_html.map(str.encode)),
    ),
)


def visible(text: str) -> str:
    """Return a text without white space and invisible characters, which comparisons of texts must ignore."""
    invisible = "\xad\u200b\u2060\ufeff"
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) != "Cc" and c not in invisible)


def path_of(nodes: Nodes, node: int) -> list[int]:
    """Return a node and its ancestors, outermost first."""
    chain = []
    while node >= 0:
        chain.append(node)
        node = int(nodes.parent[node])
    return chain[::-1]


def content_nodes(nodes: Nodes) -> list[int]:
    """Return the text nodes outside ``head`` and ``title``, by walking up from each."""
    unseen = {"head", "title"}
    return [
        node
        for node in range(len(nodes))
        if nodes.name(node) == "#text" and not unseen & {nodes.name(above) for above in path_of(nodes, node)}
    ]


def slow_words(text: str, tokenizer: str = "space") -> list[str]:
    """Return the words of one text, one character after the other."""
    text = "".join(char for char in text if char.isspace() or unicodedata.category(char) != "Cc")
    pieces: list[str] = []
    for run in text.split():
        pieces.append("")
        for char in run:
            if pieces[-1] and _splits(pieces[-1][-1], char, tokenizer):
                pieces.append("")
            pieces[-1] += char
    return [piece for piece in pieces if any(char.isalnum() for char in piece)]


def _splits(before: str, char: str, tokenizer: str) -> bool:
    if tokenizer == "cjk":
        return _is_cjk(before) or _is_cjk(char)
    if tokenizer == "boilerpipe":
        joiners = "\"'.,!@-:;$?()/"
        return before.isalnum() != char.isalnum() and before not in joiners and char not in joiners
    return False


def _is_cjk(char: str) -> bool:
    ranges = [
        ("\u0e00", "\u0eff"), ("\u3040", "\u30ff"), ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"),
        ("\U00020000", "\U0003ffff"),
    ]  # fmt: skip
    return any(low <= char <= high for low, high in ranges)


def is_dropped(nodes: Nodes, node: int) -> bool:
    """Return whether a node is a pruned script or the like."""
    return bool(nodes.flags[node] & Flag.DROPPED)
