"""Pages already parsed by another library: lxml trees and parsel selectors.

The tree is written as HTML and parsed again, so that extractors get it like any other page. This loses the bytes and
their encoding, the doctype, the tags as written in the source, and everything that the first parser dropped or
repaired.
"""

from __future__ import annotations

import re
from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from lxml import etree

from blockml.page import Extraction

__all__ = ["HasRoot", "ParserTree", "is_tree", "kept_elements", "tree_bytes"]

#: First step of the path of a deep element: its index among the elements of the page.
_NUMBERED = re.compile(r"descendant::\*\[(\d+)\]")


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
