"""The only caller of an HTML parser: text in, parser events out.

A back end is a function that feeds a :class:`~blockml.parsing.builder.NodesBuilder`. They differ in how they
repair broken markup, so a page may be cut differently by each: results name the one that was used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lxml import etree

from blockml.errors import UnknownNameError
from blockml.parsing.builder import LimitReached, NodesBuilder

if TYPE_CHECKING:
    from blockml.parsing.limits import Limits

__all__ = ["BACKENDS", "build"]


def _lxml(text: str, builder: NodesBuilder, limits: Limits) -> None:  # noqa: ARG001 (same signature for all)
    """Feed libxml2's events. In event mode it has no depth limit and keeps what follows the first ``</html>``."""
    # A parser per call: a shared one carries state from page to page and between threads. huge_tree lifts the
    # 10 MB limit on a text node, beyond which the rest of the page would be lost without a word. The encoding is
    # given because the source may declare another one, which no longer holds.
    target: Any = builder
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        parser.feed(text.encode("utf-8"))
        parser.close()
    except LimitReached:
        return


def _html5lib(text: str, builder: NodesBuilder, limits: Limits) -> None:
    """Walk the tree that html5lib builds by the HTML standard's algorithm; slow, and the referee."""
    import html5lib  # a page by lxml needn't load it
    from html5lib.treebuilders import getTreeBuilder

    base: Any = getTreeBuilder("etree")

    class ShallowTreeBuilder(base):  # type: ignore[misc]
        """html5lib's time grows with the square of the depth, so beyond the limit elements become siblings."""

        def insertElementNormal(self, token: Mapping[str, Any]) -> Any:  # noqa: ANN401, N802 (html5lib's)
            while len(self.openElements) > limits.depth:
                builder.note_depth()
                self.openElements.pop()
            return super().insertElementNormal(token)

    with warnings.catch_warnings():
        # html5lib reports names that XML forbids; nothing here becomes XML.
        warnings.simplefilter("ignore")
        parser = html5lib.HTMLParser(tree=ShallowTreeBuilder, namespaceHTMLElements=False)
        root = parser.parse(text)
    try:
        _walk(root, builder)
    except LimitReached:
        return


def _walk(root: Any, builder: NodesBuilder) -> None:  # noqa: ANN401 (an ElementTree element)
    """Turn an ElementTree into events, without recursion."""
    open_elements: list[tuple[str, Any, Any]] = []

    def enter(element: Any) -> None:  # noqa: ANN401
        name = element.tag.rpartition("}")[2].lower()
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
BACKENDS: Mapping[str, Callable[[str, NodesBuilder, Any], None]] = {"lxml": _lxml, "html5lib": _html5lib}


def build(text: str, backend: str, limits: Limits) -> NodesBuilder:
    """Parse ``text`` with the named back end.

    Raises
    ------
    UnknownNameError
        No such back end.
    """
    if backend not in BACKENDS:
        raise UnknownNameError("backend", backend, BACKENDS)
    builder = NodesBuilder(limits)
    BACKENDS[backend](text, builder, limits)
    builder.close()
    return builder
