"""Checks of all outputs of an extraction: sizes, and elements, attributes and addresses that pages must not inject."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Set
from functools import cache
from urllib.parse import unquote

from lxml.html import fragment_fromstring

import blockml
from blockml.page import Extraction
from blockml.page.bounds import MAX_RATIO, SPARE, page_size
from blockml.writers import html as html_output

__all__ = ["check_outputs", "foreign", "markdown_reader"]

#: Elements and attributes that our Markdown may contain for readers.
MARKDOWN_ELEMENTS = frozenset(
    "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr img li ol p pre s strong sub sup table tbody td th thead tr "
    "ul".split()
)
MARKDOWN_ATTRIBUTES = frozenset({"href", "src", "alt", "start", "class", "style"})
_SCHEMES = frozenset({"http", "https", "mailto", "tel"})
#: Characters that must not be given to HTML parsers.
_CONTROLS = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def markdown_reader(*rules: str) -> Callable[[str], str]:
    """Return a function that converts Markdown to HTML by markdown-it, keeping raw HTML and any scheme."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", *rules])
    reader.validateLink = lambda _: True  # type: ignore[method-assign,assignment]
    return reader.render


_reader = cache(markdown_reader)


def foreign(
    written: str, elements: Set[str] = MARKDOWN_ELEMENTS, attributes: Set[str] = MARKDOWN_ATTRIBUTES
) -> list[str]:
    """Return the elements, attributes and addresses of an HTML fragment that are not allowed.

    Examples
    --------
    >>> foreign("<p>Cats <a href='/x'>rule</a></p>")
    []
    >>> foreign("<p onclick=x>Cats <a href='evil:x'>rule</a><script></script></p>")
    ['script', 'attribute onclick', 'href evil:x']
    """
    tree = fragment_fromstring(_CONTROLS.sub("", written), create_parent="div")
    found = [str(element.tag) for element in tree.iter() if element.tag not in elements]
    for element in tree.iter():
        found += [f"attribute {name!s}" for name in element.attrib if name not in attributes]
        for name in ("href", "src", "cite"):
            scheme, colon, _ = html.unescape(unquote(element.get(name, ""))).partition(":")
            if colon and not {"/", "?", "#"}.intersection(scheme) and scheme.lower() not in _SCHEMES:
                found.append(f"{name} {element.get(name)}")
    return found


def check_outputs(result: Extraction) -> None:
    """Render every output of an extraction except the view, and check it."""
    most = MAX_RATIO * page_size(result.page) + SPARE
    markdown, fragment = blockml.render(result, "markdown"), blockml.render(result, "html")
    record = blockml.render(result, "json", chunk_size=50)
    outputs = {
        "text": blockml.render(result, "text", with_title=True, paragraphs=True),
        "metadata": json.dumps(result.metadata.record(), ensure_ascii=False),
        "Markdown": markdown,
        "HTML": fragment,
        "JSON": record,
    }
    for name, output in outputs.items():
        assert len(output.encode()) <= most, (name, len(output), most)
    assert json.loads(record)["text"] == result.text
    for item in (*result.paragraphs, *result.removed):
        assert result.page.nodes.find(item.xpath) is not None, item.xpath
    assert not (found := foreign(_reader("table")(markdown))), found
    assert not (found := foreign(fragment, html_output.WRITTEN_ELEMENTS, html_output.WRITTEN_ATTRIBUTES)), found
