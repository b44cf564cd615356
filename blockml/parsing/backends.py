"""Back ends that parse a page and feed the builder, and pages already parsed by another library.

No other module calls an HTML parser. Back ends repair broken markup differently, so the blocks of a page depend on the
back end, whose name is part of every result.

The tree is written as HTML and parsed again, so that extractors get it like any other page. This loses the bytes and
their encoding, the doctype, the tags as written in the source, and everything that the first parser dropped or
repaired.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

from lxml import etree

from blockml._kernel.protocol import Addresses
from blockml.errors import check_name
from blockml.page import Extraction
from blockml.parsing import lexbor
from blockml.parsing.builder import LimitReached, NodesBuilder, new_builder
from blockml.parsing.html5lib_tree import html5lib_root
from blockml.parsing.lexbor import usable_addresses
from blockml.parsing.limits import Limits
from blockml.parsing.tags import without_nulls
from blockml.text.words import lazy_pattern

__all__ = [
    "BACKENDS",
    "HasRoot",
    "ParserTree",
    "build",
    "is_tree",
    "kept_elements",
    "libxml2_addresses",
    "parse_lxml",
    "tree_bytes",
]


#: Versions of libxml2 whose data structures the C extension was tested with; the end is excluded.
_TESTED_LIBXML2 = ((2, 14), (2, 15))


def _lxml(source: bytes, builder: NodesBuilder, limits: Limits) -> None:  # noqa: ARG001 (same signature for all)
    """Parse with libxml2 in event mode, which has no depth limit and keeps text after the first ``</html>``."""
    source = without_nulls(source) if b"\0" in source else source
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


#: First step of the path of a deep element: its index among the elements of the page.
_NUMBERED = lazy_pattern(r"descendant::\*\[(\d+)\]")


@runtime_checkable
class HasRoot(Protocol):
    """A parsel selector, or anything else with an lxml element as ``root``."""

    @property
    def root(self) -> object:
        """An lxml element."""


#: A page as a tree: an lxml element or document, or a selector around an element.
ParserTree: TypeAlias = "etree._Element | etree._ElementTree | HasRoot"  # noqa: SLF001 (lxml has no public names for them)


def is_tree(value: object) -> TypeGuard[ParserTree]:
    """Tell whether a value is an lxml element or document, or has one as ``root``.

    Examples
    --------
    >>> is_tree(etree.Element("p")), is_tree("<p>")
    (True, False)
    """
    return _element(value) is not None


def tree_bytes(tree: ParserTree) -> bytes:
    """Write a tree as HTML in UTF-8.

    Examples
    --------
    >>> tree_bytes(etree.XML("<div><p>caf\\xe9</p><br/></div>")).decode()
    '<div><p>café</p><br></div>'
    """
    element = _element(tree)
    if element is None:
        raise TypeError(f"not a tree: {type(tree).__name__}")
    return etree.tostring(element, encoding="utf-8", method="html", with_tail=False)


def kept_elements(result: Extraction, tree: ParserTree) -> list[etree._Element]:
    """Return the elements of a tree that contain the kept blocks of its extraction, in document order, without repeats.

    A block's element is the one in which its text starts. An element is left out if the second parse moved it, so that
    its path no longer leads to it in the tree.

    Parameters
    ----------
    result
        The extraction of ``tree``.
    tree
        The tree that was extracted; it must not have changed since.

    Examples
    --------
    >>> import blockml
    >>> tree = etree.XML(f"<html><body><a>Home</a><p id='story'>{'Cats rule the world. ' * 20}</p></body></html>")
    >>> [element.get("id") for element in kept_elements(blockml.extract(tree), tree)]
    ['story']
    """
    element = _element(tree)
    if element is None:
        raise TypeError(f"not a tree: {type(tree).__name__}")
    document, page = element.getroottree(), result.page
    top = document.getroot()
    # The second parse put a fragment into html and body.
    prefix = "" if top is element and etree.QName(top).localname == "html" else _prefix(page.nodes.names)
    elements = list(element.iter("*"))
    found: dict[etree._Element, None] = {}
    rows = result.kept.nonzero()[0].tolist()
    for row, path in zip(rows, page.nodes.xpaths([int(page.blocks.parent[row]) for row in rows]), strict=True):
        inside = path.removeprefix(prefix).split("/", 2)
        number = _NUMBERED.fullmatch(inside[1]) if len(inside) > 1 else None
        place = int(number[1]) - 1 - prefix.count("/") if number else 0
        steps = inside[2] if len(inside) > 2 else ""
        top = elements[place] if place < len(elements) else element
        hit = top.find(steps) if steps else top
        if hit is not None and page.blocks.texts[row][:20] in " ".join("".join(map(str, hit.itertext())).split()):
            found[hit] = None
    return list(found)


def _prefix(names: tuple[str, ...]) -> str:
    """Return the path of the elements that a parser puts around a fragment."""
    return "/html/body" if "body" in names else "/html"


def _element(value: object) -> etree._Element | None:
    """Return the element of a tree; None for other values."""
    if isinstance(value, etree._ElementTree):  # noqa: SLF001 (lxml has no public name for it)
        return _element(value.getroot())
    if isinstance(value, etree._Element):  # noqa: SLF001 (lxml has no public name for it)
        return value
    if isinstance(value, bytes | str) or not isinstance(value, HasRoot):
        return None
    return _element(value.root) if not isinstance(value.root, HasRoot) else None
