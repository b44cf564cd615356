"""The only caller of an HTML parser: text in, parser events out.

A back end is a function that feeds a :class:`~blockml.parsing.builder.NodesBuilder`. They differ in how they
repair broken markup, so a page may be cut differently by each: results name the one that was used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from typing import Any

from lxml import etree

from blockml import _kernel
from blockml.errors import UnknownNameError
from blockml.page import Nodes
from blockml.parsing import lexbor
from blockml.parsing.builder import DROPPED, LimitReached, NodesBuilder
from blockml.parsing.libraries import SAMPLE, Addresses, usable_addresses
from blockml.parsing.limits import Limits
from blockml.parsing.lines import VOID

__all__ = ["BACKENDS", "build", "reads_libxml2"]

#: Versions of libxml2 whose structures the C extension was tested with: the first, and the first behind them.
_TESTED_LIBXML2 = ((2, 14), (2, 15))


def _lxml(source: bytes, builder: NodesBuilder, limits: Limits) -> None:  # noqa: ARG001 (same signature for all)
    """Feed libxml2's events. In event mode it has no depth limit and keeps what follows the first ``</html>``."""
    functions = _libxml2() if builder.read_by_libxml2 else None
    with suppress(LimitReached):
        if builder.read_by_libxml2 and functions:
            builder.read_by_libxml2(source, functions)
        else:
            _lxml_events(source, builder)


@functools.cache
def _libxml2() -> Addresses | None:
    """Functions of libxml2 that the C extension calls, in its order; None if lxml's public interface is to be used."""

    def direct(functions: Addresses) -> Nodes:
        builder = NodesBuilder(Limits())
        if builder.read_by_libxml2 is not None:
            builder.read_by_libxml2(SAMPLE, functions)
        builder.close()
        return builder.nodes()

    def public() -> Nodes:
        builder = NodesBuilder(Limits())
        _lxml_events(SAMPLE, builder)
        builder.close()
        return builder.nodes()

    names = (
        "htmlNewSAXParserCtxt",
        "htmlCtxtReadMemory",
        "htmlFreeParserCtxt",
        "xmlFreeDoc",
        "xmlSAX2StartDocument",
        "xmlSAX2InternalSubset",
        "xmlCtxtGetLastError",
    )
    version = etree.LIBXML_VERSION
    return usable_addresses(etree, names, version=version, tested=_TESTED_LIBXML2, direct=direct, public=public)


def reads_libxml2() -> bool:
    """Tell whether the C extension reads libxml2's events itself."""
    return _kernel.compiled is not None and _libxml2() is not None


def _lxml_events(source: bytes, target: Any) -> None:  # noqa: ANN401 (anything with start, end, data and close)
    # A parser per call: a shared one carries state from page to page and between threads. huge_tree lifts the
    # 10 MB limit on a text node, beyond which the rest of the page would be lost without a word. The encoding is
    # given because the source may declare another one, which no longer holds.
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    etree.fromstring(source, parser)  # which costs less than to feed it


def _html5lib(source: bytes, builder: NodesBuilder, limits: Limits) -> None:
    """Walk the tree that html5lib builds by the HTML standard's algorithm; slow, and the referee."""
    import html5lib  # a page by lxml needn't load it

    text = source.decode("utf-8")
    flattener = _Flattener(limits.depth)
    _lxml_events(source, flattener)
    if flattener.too_deep:
        builder.note_depth()
        text = "".join(flattener.markup)
    with warnings.catch_warnings():
        # html5lib reports names that XML forbids; nothing here becomes XML.
        warnings.simplefilter("ignore")
        parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
        try:
            root = parser.parse(text)
        except AssertionError:  # html5lib's own, on drawings in broken tables; a page never raises
            builder.remarks.append("parsed by lxml: html5lib failed on it")
            _lxml(source, builder, limits)
            return
    with suppress(LimitReached):
        _walk(root, builder)


def _lexbor(source: bytes, builder: NodesBuilder, limits: Limits) -> None:
    """Read the tree that lexbor builds by the HTML standard's algorithm; an optional package.

    A page that this algorithm could take very long for is left to libxml2, and says so.
    """
    if lexbor.is_costly(source):
        builder.remarks.append("parsed by lxml: it could have taken lexbor very long")
        _lxml(source, builder, limits)
        return
    with suppress(LimitReached):
        lexbor.feed(source, builder)


class _Flattener:
    """Writes the page anew with elements beyond a depth left out.

    html5lib's time grows with the square of the depth, and its tree builder can't be told to stop at one. Only pages
    that are too deep go this way.
    """

    def __init__(self, max_depth: int) -> None:
        self.markup: list[str] = []
        self.too_deep = False
        self._max_depth = max_depth
        self._depth = 0
        self._raw = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self._depth += 1
        self._raw += tag in DROPPED
        if self._depth > self._max_depth:
            self.too_deep = True
            self.markup.append(" ")
        else:
            values = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
            self.markup.append(f"<{tag}{values}>")

    def end(self, tag: str) -> None:
        """Close an element."""
        self._raw -= tag in DROPPED
        self.markup.append(" " if self._depth > self._max_depth else "" if tag in VOID else f"</{tag}>")
        self._depth -= 1

    def data(self, text: str) -> None:
        """Add text; that of scripts and styles is of no use."""
        if not self._raw:
            self.markup.append(escape(text, quote=False))

    def close(self) -> None:
        """End the page."""


def _walk(root: Any, builder: NodesBuilder) -> None:  # noqa: ANN401 (an ElementTree element)
    """Turn an ElementTree into events, without recursion."""
    open_elements: list[tuple[str, Any, Any]] = []

    def enter(element: Any) -> None:  # noqa: ANN401
        name = element.tag.lower()
        if name.startswith("{"):  # html5lib gives drawings and formulas a name space
            name = name.partition("}")[2]
        builder.start(name, {str(key): value for key, value in element.attrib.items()})
        if element.text:
            builder.data(element.text)
        open_elements.append((name, iter(element), element))

    enter(root)
    while open_elements:
        name, children, element = open_elements[-1]
        child = next(children, None)
        if child is not None:
            if isinstance(child.tag, str):
                enter(child)
            elif child.tail:  # a comment: its tail goes on where the text before it ended
                builder.data(child.tail)
            continue
        open_elements.pop()
        builder.end(name)
        if element.tail:
            builder.data(element.tail)


#: Back ends by public name.
BACKENDS: Mapping[str, Callable[[bytes, NodesBuilder, Any], None]] = {
    "lxml": _lxml,
    "html5lib": _html5lib,
    "lexbor": _lexbor,
}


def build(source: bytes, backend: str, limits: Limits) -> NodesBuilder:
    """Parse a page with the named back end.

    Parameters
    ----------
    source
        The page in UTF-8.
    backend
        A key of :data:`BACKENDS`.
    limits
        Bounds on nodes and depth.

    Raises
    ------
    UnknownNameError
        No such back end.
    MissingExtraError
        The back end is an optional package that is not installed.
    """
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    builder = NodesBuilder(limits)
    BACKENDS[backend](source, builder, limits)
    with suppress(LimitReached):
        builder.close()
    return builder
