"""Tags read from the source are those that the parsers see; none is missing or invented."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from blockml.parsing.tags import tags

pytestmark = pytest.mark.exhaustive

#: Characters that make parsers read a name or a value in unexpected ways.
ODD = "-_.:;@[`{|}~\\^!?#$%&()*+,0\x00\x01\x0b\x1f\x7f\x80\xa0éK\ufdd0\U0001f600\"'=<"
NAME = st.builds("".join, st.lists(st.sampled_from(ODD + "abQZ/ \t\n\f\r"), max_size=12)) | st.just("y" * 70)
#: Every name starts with these letters; no parser adds or moves these elements, so each is one tag.
TAG = st.builds(
    lambda close, name, attributes, end: f"<{'/' if close else ''}xX{name}{attributes}{end}",
    st.booleans(),
    NAME,
    st.sampled_from(
        ["", " a=b", " a='>'", ' a=">"c', " a=>", " =a='>'", " a=b'c", "/", " /a=/", " a\n=\n'</xx>'", " '"]
    ),
    st.sampled_from([">", "/ >", " >", "\t>"]),
)
RAW = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"]
OTHER = st.sampled_from(
    [
        "text", "<", "</", "</>", "< xx>", "</ xx>", "<!-- <xx> -->", "<!--><xx>", "<!---><xx>", "<!-- --!><xx>",
        "<!-- <xx>--", "-->", "<!doctype '><xx>'>", "<![CDATA[<xx>]]>", "<?xx?>", "<?a '>'<xx>", "<!xx>", "<!--",
        *(f"<{name} a='>'>" for name in RAW), *(f"</{name} >" for name in RAW), *(f"</{name}x>" for name in RAW),
        "<SCRIPT><!-- <script><xx></script><xx> --></script>", "<script><!--></script>", "<script>", "<!-- <script ",
    ]
)  # fmt: skip
MARKUP = st.lists(TAG | OTHER, max_size=12).map("".join)


def expected(html: str) -> list[bytes]:
    """Return the names of the start tags with the prefix."""
    return [tag.name for tag in tags(html.encode()) if not tag.closes and tag.name.startswith(b"xx")]


class _Names:
    """Collect the names of a parser's events."""

    def __init__(self) -> None:
        self.found: list[bytes] = []

    def start(self, name: str, _: object) -> None:
        """Record a start tag."""
        self.found.append(name.encode())

    def end(self, name: str) -> None:
        """Ignore an end tag."""

    def close(self) -> None:
        """End the page."""


def prefixed(found: list[bytes]) -> list[bytes]:
    """Return the names with the prefix."""
    return [name for name in found if name.startswith(b"xx")]


@settings(max_examples=600)
@given(MARKUP)
@example("<xx\x00></xx\ufffd><xxK>")
@example("<xx" + "y" * 300 + "><xx>")
def test_names_of_libxml2(html: str) -> None:
    """Start tags have the names that libxml2 finds, except for long names, which it cuts."""
    target: Any = _Names()
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    etree.fromstring(b"<p>" + html.encode() + b"<p>", parser)
    cut = min([len(name) for name in target.found if len(name) > 90], default=1000)
    assert prefixed(target.found) == [name[:cut] for name in expected(f"<p>{html}<p>")]


@settings(max_examples=600)
@given(MARKUP)
@example("<xx\x00></xx\ufffd><xxK>")
@example("<xx" + "y" * 300 + "><xx>")
def test_names_of_lexbor(html: str) -> None:
    """Start tags have the names that lexbor finds, with non-ASCII letters in their original case."""
    selectolax = pytest.importorskip("selectolax.lexbor")
    root = selectolax.LexborHTMLParser(f"<p>{html}<p>").root
    found = [node.tag.encode() for node in root.traverse() if node.is_element_node]
    assert sorted(prefixed(found)) == sorted(expected(f"<p>{html}<p>"))


@settings(max_examples=600)
@given(MARKUP)
@example("<xx\x00></xx\ufffd><xxK>")
@example("<xx" + "y" * 300 + "><xx>")
def test_names_of_html5lib(html: str) -> None:
    """Start tags have the names that html5lib finds, which is the reference implementation."""
    html5lib = pytest.importorskip("html5lib")
    page = html.replace("\x0b", "").replace("\x01", "")
    root = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False).parse(
        f"<p>{page}<p>"
    )
    found = [element.tag.encode() for element in root.iter() if isinstance(element.tag, str)]
    assert sorted(prefixed(found)) == sorted(expected(f"<p>{page}<p>"))
