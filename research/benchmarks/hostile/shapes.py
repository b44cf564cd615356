"""Shapes of hostile pages: functions that return a page of about a given size in bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

__all__ = ["ORDINARY", "OUTPUT_SHAPES", "SHAPES"]

_WORDS = "the cat sat on a mat and looked at the rain that fell outside of the small house".split()


def ordinary(size: int) -> bytes:
    """Articles with menus, with whose cost that of other shapes is compared."""
    chance = random.Random(0)  # noqa: S311 (no secret)
    pieces, length = ["<!doctype html><title>Cats</title><body>"], 0
    while length < size:
        words = " ".join(chance.choices(_WORDS, k=60))
        piece = f'<div class="a b"><ul><li><a href="/x/{length}">Menu</a></li></ul><h2>Part</h2><p>{words}</p></div>'
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces).encode()


def _repeated(start: str, piece: str, end: str = "") -> Callable[[int], bytes]:
    def made(size: int) -> bytes:
        return (start + piece * max(1, size // len(piece.encode())) + end).encode()

    return made


def _nested(opening: str, closing: str) -> Callable[[int], bytes]:
    def made(size: int) -> bytes:
        n = max(1, size // (len(opening) + len(closing)))
        return (opening * n + "deep text" + closing * n).encode()

    return made


def _nested_before(opening: str, piece: str) -> Callable[[int], bytes]:
    """As many nested elements as may be open, before many small ones."""

    def made(size: int) -> bytes:
        n = min(1_900, size // 2 // len(opening))
        return (opening * n + piece * ((size - n * len(opening)) // len(piece))).encode()

    return made


def _mismatched(size: int) -> bytes:
    n = size // 11
    return ("<div><span>" * (n // 2) + "</p></div>" * (n // 2)).encode()


def _crossing(size: int) -> bytes:
    return ("<b><p>x</b>" * (size // 11)).encode()


def _nested_then_ends(size: int) -> bytes:
    return ("<div>" * (size // 10) + "</i>" * (size // 8)).encode()


def _attributes(size: int) -> bytes:
    return ("<p " + " ".join(f"a{i}=1" for i in range(size // 8)) + ">text</p>").encode()


def _reopened(size: int) -> bytes:
    """Formatting elements left open, which the HTML standard reopens in each paragraph."""
    opened = "".join(f"<b id={i}>" for i in range(190))
    return ("<p>" + opened + "<p>one two three four five six seven eight nine ten" * (size // 51)).encode()


def _open(opening: str, n: int, piece: str) -> Callable[[int], bytes]:
    """``n`` nested elements before pieces that make a parser search them."""

    def made(size: int) -> bytes:
        n_open = min(n, size // 2 // len(opening))
        return (opening * n_open + piece * ((size - n_open * len(opening)) // len(piece))).encode()

    return made


def _halves(start: str, piece: str, other: str, end: str = "", between: str = "") -> Callable[[int], bytes]:
    """As many bytes of one piece as of another; ``{}`` is the number of the piece."""

    def half(piece: str, size: int) -> str:
        return "".join(piece.replace("{}", str(number)) for number in range(size // (2 * len(piece))))

    return lambda size: (start + half(piece, size) + between + half(other, size) + end).encode()


def _formatting_kinds(size: int) -> bytes:
    """Different formatting elements, each of which the HTML standard reopens in each paragraph."""
    return "".join(f"<p><font a={i}>x" for i in range(size // 16)).encode()


#: The page with which costs are compared.
ORDINARY = ordinary

_TEXT = "<p>The cat sat on the mat and looked at the rain that fell.</p>"
_PICTURE = f"{_TEXT}<img src=data: "
_FORMULA, _AFTER_FORMULA = f"{_TEXT}<p>x <math>", "</math>"
_ROOT, _ROOT_END = "<x-a><template shadowrootmode=open>", "</template></x-a>"

SHAPES: Mapping[str, Callable[[int], bytes]] = {
    "ordinary": ordinary,
    "spaces in a charset": _repeated('<meta http-equiv=content-type content="charset=', " ", '"><p>text'),
    "charset words": _repeated('<meta http-equiv=content-type content="', "charset ", '"><p>text'),
    "nested divisions": _nested("<div>", "</div>"),
    "nested divisions, not closed": _nested("<div>", ""),
    "nested formatting, not closed": _nested("<b>", ""),
    "nested lists": _nested("<ul><li>", "</li></ul>"),
    "nested tables": _nested("<table><tr><td>", "</td></tr></table>"),
    "nested block quotes": _nested("<blockquote>", "</blockquote>"),
    "nested links": _nested("<a href=x>", ""),
    "mismatched end tags": _mismatched,
    "crossing formatting": _crossing,
    "formatting that is opened again": _reopened,
    "end tags without start": _nested_then_ends,
    "one element with many attributes": _attributes,
    "elements with > in attributes": _repeated("", '<p a=">" b=">">x</p>'),
    "one long attribute": _repeated('<p class="', "a ", '">text</p>'),
    "one long class": _repeated('<p class="', "a", '">text</p>'),
    "one long address": _repeated('<a href="', "/a", '">text</a>'),
    "one long name": _repeated("<", "a", "><p>text"),
    "one long document type": _repeated("<!doctype ", "a", "><p>text"),
    "one long number": _repeated("<p>text &#", "1", ";"),
    "ampersands in an attribute": _repeated('<p title="', "&", '">text</p>'),
    "one long word": _repeated("<p>", "a"),
    "one long text of spaces": _repeated("<p>x", " ", "y"),
    "one long line of line breaks": _repeated("<pre>x", "\n", "y</pre>"),
    "short paragraphs": _repeated("", "<p>word</p>"),
    "short links": _repeated("", "<a href=x>w</a> "),
    "line breaks": _repeated("<p>", "x<br>"),
    "table cells": _repeated("<table><tr>", "<td>w</td>"),
    "list items": _repeated("<ol>", "<li>w"),
    "list items of two letters": _repeated("<ol>", "<li>ww"),
    "numbered lists from behind": _repeated("", "<ol reversed><li>w</ol>"),
    "empty elements": _repeated("", "<i></i>"),
    "words and empty elements": _repeated("", "w<i></i>"),
    "attributes without a value": lambda size: "".join(f"<p a{i}>w" for i in range(size // 9)).encode(),
    "options": _repeated("<select>", "<option>w"),
    "one long title": _repeated("<title>", "cats | ", "</title><h1>cats</h1><p>text"),
    "many titles": _repeated("", "<h1>cats</h1>"),
    "spaces in a title": _repeated("<title>x", " ", "y</title><p>text"),
    "JSON-LD, nested": _nested('<script type="application/ld+json">{"a":', "}"),
    "JSON-LD, not closed": _repeated("", '<script type="application/ld+json">'),
    "JSON-LD, large": _repeated(
        '<script type="application/ld+json">[', '{"@type":"Article","author":"x"},', "{}]</script>"
    ),
    "a long byline": _repeated('<p class="author">', "and ", "</p>"),
    "spaces in a byline": _repeated('<meta name=author content="x', " ", 'y"><p>text'),
    "dates": _repeated("", "<time>2024-01-01</time>"),
    "nested authors": _nested_before("<div class=author>", "<i>w</i> "),
    "nested microdata": _nested_before("<div itemprop=author>", "<i>w</i> "),
    "nested headlines": _nested_before("<div><h1>", "<i>w</i> "),
    "spaces in microdata": _repeated('<meta itemprop=author content="x', " ", 'y"><p>text'),
    "comments": _repeated("", "<!-- -->"),
    "hyphens in a comment": _repeated("<!--", "-a", "--><p>text"),
    "comments, not closed": _repeated("", "<!--"),
    "scripts, not closed": _repeated("", "<script>"),
    "angle brackets": _repeated("", "<"),
    "ampersands": _repeated("", "&"),
    "character references": _repeated("<p>", "&#x41;"),
    "formula openings": _repeated("<p>", r"\( "),
    "formula brackets": _repeated("<p>", r"\[ x "),
    "dollar signs": _repeated("<p>", "$$ "),
    "Markdown signs": _repeated("<p>", "*_`[]()#"),
    "the same line": _repeated("", "<p>the same line of the page again</p>"),
    "the same long lines": _repeated("", "<p>" + "word again and " * 40 + "</p>"),
    "null bytes": _repeated("<p>x", "\0"),
    "unfinished UTF-8": lambda size: b"<p>" + b"\xe2\x82" * (size // 2),
    "text in SVG": _repeated("<svg>", "<text>w</text>"),
    "MathML": _repeated("<math>", "<mi>x</mi>"),
    "frames": _repeated("", "<iframe></iframe>"),
    "templates": _nested("<template>", "</template>"),
    "hidden elements": _repeated("", '<p style="display:none">word</p>'),
    "custom elements": lambda size: "".join(f"<x-{i}>w</x-{i}>" for i in range(size // 16)).encode(),
    "classes, all different": lambda size: "".join(f"<p class=c{i}>w</p>" for i in range(size // 18)).encode(),
    "custom elements that begin like others": _repeated("", "<p-x>cat</p>"),
    "null bytes in names": _repeated("", "<p\0>cat</p>"),
    "names that differ in the tenth letter": _repeated("", "<abcdefghij>cat</abcdefghik>"),
    "end tags in attributes": _repeated("", '<div title="</div>">cat'),
    "end tags in comments": _repeated("", "<div><!--</div>-->cat"),
    "end tags in scripts": _repeated("", '<div><script>"</div>"</script>cat'),
    "end tags that close nothing": _open("<div>", 250, "</i>x"),
    "end tags that close nothing, deep": _open("<div>", 3_900, "</i>x"),
    "end tags that close nothing in SVG": lambda size: b"<svg>" + _open("<g>", 3_900, "</x>")(size - 5),
    "end tags of paragraphs, deep": _open("<div>", 250, "</p>x"),
    "end tags of paragraphs": _repeated("", "</p>x"),
    "end tags of line breaks": _repeated("", "</br>"),
    "links across tables": _repeated("", "<a><table>x</a>"),
    "formatting across divisions": _repeated("", "<b><div>x</b>"),
    "adoption": _repeated("", "<a><b><i><p>x</a></b>"),
    "formatting of many kinds": _formatting_kinds,
    "unclosed word breaks": _repeated("", "<wbr>x</i>"),
    "unclosed sources": _repeated("<audio>", "<source>x</i>"),
    "void elements in SVG": _repeated("<svg>", "<link>x</i>"),
    "SVG, closed wrongly": _repeated("<svg>", "<g>x</p>"),
    "text beside cells": _repeated("<table>", "cat<b>sat</b><td>w</td>"),
    "text beside rows": _repeated("<table>", "x<tr>"),
    "templates with rows": _repeated("", "<template><tr>x"),
    "option groups": _repeated("<select>", "<optgroup><option>x"),
    "framesets": _repeated("", "<frameset><frame>"),
    "nested forms": _repeated("", "<form>x<div>"),
    "items of addresses": _repeated("", "<li><address>x"),
    "the same attribute": _repeated("<p ", "a=1 ", ">text"),
    "attributes of body": lambda size: "".join(f"<body a{i}=1>w" for i in range(size // 14)).encode(),
    "long names of attributes": lambda size: b"".join(b"<p " + b"a" * 1000 + b"%d>x" % i for i in range(size // 1010)),
    "long names, all different": lambda size: b"".join(b"<x" + b"a" * 1000 + b"%d>x" % i for i in range(size // 1010)),
    "long character references": _repeated("<p>", "&CounterClockwiseContourIntegra"),
    "document types": _repeated("", "<!doctype html>"),
    "entities of a document type": _repeated("<!doctype html [", '<!ENTITY a "b">', "]>x"),
    "control characters": _repeated("<p>", "\x01"),
    "control characters of two bytes": _repeated("<p>", "\u0080"),
    "characters that are none": _repeated("<p>", "\ufdd0"),
    "four bytes of gb18030": lambda size: b"<meta charset=gb18030><p>" + b"\x810\x810" * (size // 4),
    "CDATA sections": _repeated("<svg>", "<![CDATA[x]]>"),
    "scripts within scripts": _repeated("<script>", "<!--<script></script>-->"),
    "unfinished end tags of a text area": _repeated("<textarea>", "</textare"),
    "candidates of a picture": _repeated(f"{_PICTURE}srcset='", "a.jpg 1w, ", f"'>{_TEXT}"),
    "candidates without commas": _repeated(f"{_PICTURE}srcset='", "a ", f"'>{_TEXT}"),
    "a candidate of one word": _repeated(f"{_PICTURE}srcset='", "a", f" b'>{_TEXT}"),
    "spaces in candidates": _repeated(f"{_PICTURE}srcset='x ", " ", f"y z'>{_TEXT}"),
    "suffixes in a late address": _repeated(f"{_TEXT}<img data-src='", ".jpg", f"{{'>{_TEXT}"),
    "suffixes in other attributes": _repeated(f"{_PICTURE}data-x='", ".jpg", f"{{'>{_TEXT}"),
    "name of a placeholder": _repeated(f"{_TEXT}<img src='", "-lazy", f"'>{_TEXT}"),
    "sources and pictures": _halves(f"{_TEXT}<picture>", "<source>", "<img src=data:x>", f"</picture>{_TEXT}"),
    "captions and pictures": _halves(f"{_TEXT}<figure>", "<figcaption></figcaption>", "<img src={}>", _TEXT),
    "captions of one table": _repeated(
        f"{_TEXT}<figure><table><tr><td>{_TEXT}</table>", "<figcaption>One two</figcaption>", f"</figure>{_TEXT}"
    ),
    "pictures, all different": lambda size: "".join(f"<p>w<img src={i}.jpg>" for i in range(size // 20)).encode(),
    "links around pictures": lambda size: (
        f"{_TEXT}<div>{''.join(f'<a href=/{i}><img src={i}.jpg></a>' for i in range(size // 36))}</div>{_TEXT}".encode()
    ),
    "style of a list": _halves(f"{_TEXT}<ol style='", "list-style:x ", "<li>w", between="'>"),
    "pictures within noscript": _nested("<noscript><img src=a.jpg>", "</noscript>"),
    "wide formula": _repeated(_FORMULA, "<mi>sin</mi>", _AFTER_FORMULA),
    "nested formulas": _nested("<math><mrow>", "</mrow></math>"),
    "rows of a formula, deep": lambda size: (
        f"{_FORMULA}{'<mrow><mi>a</mi>' * 1_900}{'<mi>sin</mi>' * (size // 12 - 2_700)}".encode()
    ),
    "scripts of a formula": _repeated(_FORMULA, "<mmultiscripts><mi>a</mi><mprescripts/></mmultiscripts>"),
    "scripts of one base": _repeated(f"{_FORMULA}<mmultiscripts><mi>a</mi><mprescripts/>", "<mi>b</mi>"),
    "empty matrices": _repeated(_FORMULA, "<mtable/>", _AFTER_FORMULA),
    "backslashes in a formula": _repeated(f"{_FORMULA}<mo>", "\\"),
    "fences": _repeated(_FORMULA, "<mfenced/>", _AFTER_FORMULA),
    "many formulas": _repeated(f"{_TEXT}<p>x ", "<math><mi>x</mi></math> w "),
    "copies of formulas": _repeated(f"{_TEXT}<p>" + "<span class=katex-html>" * 200, "<math><mi>x</mi></math>"),
    "lines of code within lines": lambda size: (
        f"{_TEXT}<pre>x{'<div>' * 950}y{'</div>' * 950}</pre>" * max(1, size // 10_500)
    ).encode(),
    "shadow roots": _repeated("", f"{_ROOT}<slot></slot></template>x</x-a>"),
    "shadow roots, nested": _nested(_ROOT, _ROOT_END),
    "shadow roots, not closed": _repeated("", f"{_ROOT}<slot>"),
    "slots of slots": _nested(
        f"{_ROOT}<x-b><template shadowrootmode=open><slot></slot></template><slot></slot></x-b></template>", "</x-a>"
    ),
    "content of one slot": _repeated(f"{_ROOT}<slot name=b></slot></template>", "<b slot=b>x</b>", "</x-a>"),
    "many slots": _halves(_ROOT, "<slot name=n{}></slot>", "<b slot=n{}>x</b>", "</x-a>"),
    "end tags beside a shadow root": _repeated(f"{_ROOT}{_ROOT_END}{'<div>' * 3_000}", "</p></x>"),
    "header cells": _repeated("<table><tr>", "<th>", "<td>x</table>"),
    "the same link": _repeated("", "<li><a href=/x>Menu</a>"),
    "footnote marks": lambda size: "".join(f"<p>w<a href=#n{i}>{i}</a>" for i in range(size // 24)).encode(),
    "footnotes with back links": _halves(
        f"{_TEXT}<p>", "<sup><a href=#f{} id=r{}>{}</a></sup> w ", "<li id=f{}>note <a href=#r{}>b</a>", between="<ol>"
    ),
    "line numbers beside code": _halves(
        f"{_TEXT}<table><tr><td class=gutter><pre>", "{}\n", "x = 1\n", "</pre></table>", "</pre><td class=code><pre>"
    ),
    "lines of a poem": _repeated(f"{_TEXT}<div class=poem>", "<span style='padding-left:2em'>a b</span><br>"),
    "values of list items": lambda size: (
        f"{_TEXT}<ol>{''.join(f'<li value={i}>w' for i in range(size // 18))}".encode()
    ),
    "candidates, all different": lambda size: (
        f"{_PICTURE}srcset='{''.join(f'a{i}.jpg {i}w, ' for i in range(size // 18))}'>{_TEXT}".encode()
    ),
    "sources of one picture": lambda size: (
        f"{_TEXT}<img {''.join(f'data-src{i}=a.jpg ' for i in range(size // 20))}>{_TEXT}".encode()
    ),
    "JSON-LD of words": _repeated('<script type="application/ld+json">{"a":', "a ", f"</script>{_TEXT}"),
    "JSON-LD of quotes": _repeated('<script type="application/ld+json">{"a":', '"', f"</script>{_TEXT}"),
    "comments of users": lambda size: "".join(
        f"<div class=comment id=c{i}>Ann Lee said<p>cats</div>" for i in range(size // 52)
    ).encode(),
}


_INTRODUCTION = "<p>The cat sat on the mat and looked at the rain that fell, it was a nice day for all of them.</p>"


def _long(start: str, piece: str, most: int | None = None, filler: str = "a/") -> Callable[[int], bytes]:
    """A start with half of the page (or ``most`` bytes) in place of ``{}``, and many pieces after it."""

    def made(size: int) -> bytes:
        length = min(size // 2, most or size)
        pieces = piece * ((size - length) // len(piece))
        return (start.replace("{}", filler * (length // len(filler))) + _INTRODUCTION + pieces).encode()

    return made


def _wide_table(size: int) -> bytes:
    n = size // 14
    return f"{_INTRODUCTION}<table><tr>{'<th>w' * n}{'<tr><td>w' * n}</table>".encode()


#: Pages whose outputs may be much larger, because they repeat what a page has once.
OUTPUT_SHAPES: Mapping[str, Callable[[int], bytes]] = {
    "long base, many links": _long("<base href=http://a.b/{}>", "<a href=x>the cat</a> "),
    "base of 2,000 characters": _long("<base href=http://a.b/{}/>", "<a href=x>w</a> ", 2_000, "a"),
    "base of 1,000 directories": _long("<base href=http://a.b/{}>", "<a href=x>w</a> ", 2_000),
    "long base, many pictures": _long("<base href=http://a.b/{}>", "w <img src=x> "),
    "wide and long table": _wide_table,
    "cells over 50 columns": _repeated(_INTRODUCTION + "<table>", "<tr><td colspan=50>w<td>x", "</table>"),
    "cells over 50 rows": _repeated(_INTRODUCTION + "<table>", "<tr><td rowspan=50>w<td rowspan=50>x", "</table>"),
    "lines in nested lists": _repeated("<ol start=123456789><li>" * 12, "w<br>"),
    "paragraphs in nested quotations": _repeated("<blockquote>" * 12, "<p>w"),
    "code in nested quotations": _repeated("<blockquote>" * 12 + "<pre>", "w\n"),
    "items in nested lists": _repeated("<ul><li>w" * 12, "<li>w<p>x"),
    "paragraphs in open emphasis": _repeated("<b><i><s><sub><sup>", "<p>w"),
    "links around many pictures": _repeated("<p>a<a href=" + "x" * 2000 + ">", "<div><img src=i></div>", "<p>b"),
    "emphasis that is opened again": _reopened,
    "links that are opened again": _repeated("<p>a<a href='" + "x" * 1500 + "'>w", "<p>one two three<p></b>"),
    "deep paragraphs": _repeated("<section>" * 250, "<p>w"),
    "long headings": _repeated("".join(f"<h{level}>{'w ' * 250}</h{level}>" for level in range(1, 7)), "<p>w"),
    "short paragraphs of a page": _repeated("", "<p>word"),
    "one long picture text": _repeated("<p>a <img src=/x alt='", "*[", "'> b"),
    "long language of code": _long("<div data-lang=x class=language-{}>", "<pre>x</pre>w "),
    "long class of code": lambda size: (
        f"<div class=language-{'a' * (size // 2)}>{_INTRODUCTION}{'<pre>x</pre>w ' * (size // 28)}".encode()
    ),
    "long language around code": _repeated(
        f"<body><div class='language-{chr(0x10400) * 40}'>", "<pre><p>a</pre>", "</div>"
    ),
    "ampersands of text": _repeated("<p>x", "& "),
    "quotation marks": _repeated("<p>x", '" '),
    "backticks in code": _repeated("<p>x <code>", "`", "</code>"),
    "Markdown signs of text": _repeated("<p>x", " *a [b](c"),
    "keywords": _repeated("<meta name=keywords content='", "a,", "'><p>text"),
    "authors": _repeated("", "<meta name=author content='A B'>"),
    "nested headings and a long title": _repeated("<title>" + "cat " * 200 + "</title>" + "<h1>" * 50, "w<br>"),
    "null characters": _repeated("<p>x", "a\0 "),
}
