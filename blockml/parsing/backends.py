"""Back ends: functions that parse a page with an HTML parser and feed a :class:`~blockml.parsing.builder.NodesBuilder`.

No other module calls an HTML parser. Back ends repair broken markup differently, so the blocks of a page depend on the
back end, whose name is part of every result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from lxml import etree

from blockml._kernel.protocol import Addresses
from blockml.errors import check_name
from blockml.parsing import lexbor
from blockml.parsing.builder import LimitReached, NodesBuilder, new_builder
from blockml.parsing.html5lib_tree import html5lib_root
from blockml.parsing.libraries import usable_addresses
from blockml.parsing.limits import Limits

__all__ = ["BACKENDS", "build", "libxml2_addresses", "parse_lxml"]

#: Versions of libxml2 whose data structures the C extension was tested with; the end is excluded.
_TESTED_LIBXML2 = ((2, 14), (2, 15))


def _lxml(source: bytes, builder: NodesBuilder, limits: Limits) -> None:  # noqa: ARG001 (same signature for all)
    """Parse with libxml2 in event mode, which has no depth limit and keeps text after the first ``</html>``."""
    with suppress(LimitReached):
        if builder.parse_libxml2 and (functions := libxml2_addresses()):
            builder.parse_libxml2(source, functions)
        else:
            parse_lxml(source, builder)


@functools.cache
def libxml2_addresses() -> Addresses | None:
    """Return the functions of libxml2 that the C extension calls; None if it must use lxml's public interface."""
    names = (
        "htmlNewSAXParserCtxt",
        "htmlCtxtReadIO",
        "htmlFreeParserCtxt",
        "xmlFreeDoc",
        "xmlSAX2StartDocument",
        "xmlSAX2InternalSubset",
        "xmlCtxtGetLastError",
    )
    version = etree.LIBXML_VERSION
    return usable_addresses(
        etree, names, version=version, tested=_TESTED_LIBXML2, parse="parse_libxml2", parse_public=parse_lxml
    )


class _Pieces:
    """A page as a file that ends when the steps of a builder are spent, because libxml2 has no such limit."""

    #: Size of the pieces that libxml2 reads, so that both interfaces end a page at the same place.
    _LENGTH = 4_000

    def __init__(self, source: bytes, spend: Callable[[int], bool]) -> None:
        self._source, self._spend, self._place = source, spend, 0

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002 (lxml's interface)
        """Return the next piece."""
        piece = self._source[self._place : self._place + self._LENGTH]
        self._place += self._LENGTH
        return piece if self._spend(piece.count(b"<")) else b""


def parse_lxml(source: bytes, builder: NodesBuilder) -> None:
    """Parse a page in UTF-8 through lxml's public interface."""
    # One parser per call: a shared one carries state from page to page and between threads. huge_tree lifts the 10 MB
    # limit on a text node, beyond which the rest of the page would be lost silently. The encoding is given because the
    # source may still declare the one it had before it was decoded.
    target: Any = builder
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    etree.parse(_Pieces(source, builder.spend), parser)


#: Maximum attributes of one tag for html5lib, which takes 0.1 s to compare this many with each other.
_MAX_ATTRIBUTES = 2_000


def _html5lib(source: bytes, builder: NodesBuilder, limits: Limits) -> None:
    """Parse with html5lib, the reference implementation of the HTML standard's algorithm; costly pages with libxml2."""
    if lexbor.has_many_attributes(source, _MAX_ATTRIBUTES):
        builder.warnings.append("parsed by lxml: a tag has too many attributes for html5lib")
        _lxml(source, builder, limits)
        return
    root = html5lib_root(source.decode("utf-8"), len(source))
    if isinstance(root, str):
        builder.warnings.append(f"parsed by lxml: {root}")
        _lxml(source, builder, limits)
        return
    with suppress(LimitReached):
        _walk(root, builder)


def _lexbor(source: bytes, builder: NodesBuilder, limits: Limits) -> None:
    """Parse with lexbor, an optional package, by the HTML standard's algorithm; costly pages go to libxml2 instead."""
    if lexbor.is_costly(source):
        builder.warnings.append("parsed by lxml: it could have taken lexbor very long")
        _lxml(source, builder, limits)
        return
    with suppress(LimitReached):
        lexbor.feed(source, builder)


def _walk(root: Any, builder: NodesBuilder) -> None:  # noqa: ANN401 (an ElementTree element)
    """Send the events of an ElementTree to a builder, without recursion."""
    open_elements: list[tuple[str, Any, Any]] = []

    def enter(element: Any) -> None:  # noqa: ANN401
        name = element.tag.lower()
        if name.startswith("{"):  # svg and math have an XML namespace
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
            elif child.tail:  # a comment, whose tail continues the text before it
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
    """Parse a page with a back end.

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
        The back end is unknown.
    MissingExtraError
        The back end is an optional package that is not installed.
    """
    check_name("backend", backend, BACKENDS)
    builder = new_builder(limits, limits.steps_of(len(source)))
    BACKENDS[backend](source, builder, limits)
    with suppress(LimitReached):
        builder.close()
    return builder
