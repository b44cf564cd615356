"""Feeds the builder from the tree that lexbor builds by the HTML standard's algorithm, through selectolax.

selectolax is an optional package, loaded only when the back end is chosen. It makes an object of each node that one
looks at, which costs more than the parse. So the compiled kernel walks the tree itself, by lexbor's own functions.

The standard's algorithm has costs that no linear parser has: it looks through all open elements at nearly every tag, it
opens formatting elements that were left open again wherever text follows, and it compares each attribute of a tag
with those before. A few hostile megabytes would take lexbor hours and all memory, and it can't be told to stop. So
:func:`is_costly` bounds that cost beforehand by what the text holds, and a page beyond the bound goes to libxml2.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from blockml.errors import MissingExtraError
from blockml.page import Nodes
from blockml.parsing.builder import DROPPED, NodesBuilder
from blockml.parsing.libraries import SAMPLE, Addresses, usable_addresses
from blockml.parsing.limits import Limits

__all__ = ["feed", "is_costly"]

#: Versions of selectolax whose lexbor the C extension was tested with: the first, and the first behind them.
_TESTED_SELECTOLAX = ((1, 0), (1, 1))

# Start tags that a page is trusted with: when none of them is ever closed, lexbor takes 0.25 s (0.6 s for 16,000). Of
# 2,857 labelled pages three have more.
_START_TAGS = 10_000

# Elements that the standard opens again: at most as many as there are formatting elements that tell themselves apart by
# attributes, each time that something was closed. Lexbor takes 0.6 s and 740 MB for two million.
_REOPENED = 2_000_000

# Attributes that one tag may have: each is compared with all before it. 0.4 s.
_ATTRIBUTES = 10_000

# The standard keeps no more than three that are written alike (HTML standard, "Noah's Ark clause"), and no more
# than one open <a> or <nobr>.
_FORMATTING = re.compile(rb"<(?:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\s/]", re.IGNORECASE)

_START_TAG = re.compile(rb"<[a-zA-Z]")

#: Bytes that may part two attributes.
_PARTING = b" \t\n\r\f/\"'"

# Lexbor's number of a text: a constant of its public header lexbor/tag/const.h. Numbers of unknown elements tell them
# apart in one document only.
_TEXT = 2


def is_costly(source: bytes) -> bool:
    """Tell whether the standard's algorithm could take more than about a second.

    Parameters
    ----------
    source
        A page in UTF-8.

    Examples
    --------
    >>> is_costly(b"<div><p>cats" * 1000), is_costly(b"<div>" * 20_000)
    (False, True)
    """
    data = np.frombuffer(source, dtype=np.uint8)
    opens = data[:-1] == ord("<")
    # Most pages are below the bound with all of their tags: n / 2 formatting elements, reopened n / 2 times.
    if np.count_nonzero(opens) ** 2 > 4 * _REOPENED:
        started = np.count_nonzero(opens & ((data[1:] | 0x20) - ord("a") < 26))  # as unsigned: below "a" is above 26
        if started > _START_TAGS or started * len(_FORMATTING.findall(source)) > _REOPENED:
            return True
    return any(_has_many_attributes(stretch) for stretch in _stretches(source, 2 * _ATTRIBUTES))


def _stretches(source: bytes, least: int) -> Iterator[bytes]:
    """Stretches of at least so many bytes without a ``>``: a tag that long lies in one of them.

    A ``>`` in a quoted value hides what follows it. Broken markup may have a whole article in a tag, but only malice
    writes thousands of those there.
    """
    position = 0
    while position + least <= len(source):
        last = source.rfind(b">", position, position + least)
        if last < 0:
            last = source.find(b">", position + least)
            if last < 0:
                last = len(source)
            yield source[position:last]
        position = last + 1


def _has_many_attributes(stretch: bytes) -> bool:
    """Tell whether a tag that begins in a stretch and goes on to its end could have too many attributes."""
    tag = _START_TAG.search(stretch)
    rest = stretch[tag.start() :] if tag else b""
    return len(rest) - len(rest.translate(None, _PARTING)) > _ATTRIBUTES


def feed(source: bytes, builder: NodesBuilder) -> None:
    """Parse a page and read its tree.

    Parameters
    ----------
    source
        The page in UTF-8; one that :func:`is_costly` may take very long.
    builder
        Takes the events.

    Raises
    ------
    MissingExtraError
        selectolax is not installed.
    LimitReached
        By the builder.
    """
    try:
        from selectolax import lexbor
    except ImportError as error:
        raise MissingExtraError("the back end lexbor", "fast") from error
    functions = _functions(lexbor) if builder.read_by_lexbor else None
    if builder.read_by_lexbor and functions:
        builder.read_by_lexbor(source, functions)
        return
    _walk_public(lexbor, source, builder)


def _walk_public(lexbor: Any, source: bytes, builder: NodesBuilder) -> None:  # noqa: ANN401 (see _walk)
    """Read the tree by selectolax's public interface."""
    # A parser per call: it is not safe to share one. Without its own events lexbor doesn't copy the chosen option into
    # <selectedcontent>, where a browser would show it once more.
    _walk(lexbor.LexborHTMLParser(source, options=lexbor.LexborDocumentOptions.WO_EVENTS).root, builder)


@functools.cache
def _functions(module: ModuleType) -> Addresses | None:
    """Functions of lexbor that the C extension calls, in its order; None if selectolax's interface is to be used."""
    import selectolax

    def direct(functions: Addresses) -> Nodes:
        builder = NodesBuilder(Limits())
        if builder.read_by_lexbor is not None:
            builder.read_by_lexbor(SAMPLE, functions)
        builder.close()
        return builder.nodes()

    def public() -> Nodes:
        builder = NodesBuilder(Limits())
        _walk_public(module, SAMPLE, builder)
        builder.close()
        return builder.nodes()

    version = tuple(int(part) for part in re.findall(r"\d+", selectolax.__version__)[:3])
    return usable_addresses(
        module,
        (
            "lxb_html_document_create",
            "lxb_html_document_dom_opt_set_noi",
            "lxb_html_document_parse",
            "lxb_html_document_destroy",
            "lxb_dom_document_root",
            "lxb_dom_document_destroy_text_noi",
            "lxb_dom_node_type_noi",
            "lxb_dom_node_tag_id_noi",
            "lxb_dom_node_first_child_noi",
            "lxb_dom_node_next_noi",
            "lxb_dom_node_text_content",
            "lxb_html_serialize_pretty_cb",
            "lxb_dom_element_qualified_name",
            "lxb_dom_element_first_attribute_noi",
            "lxb_dom_element_next_attribute_noi",
            "lxb_dom_attr_qualified_name",
            "lxb_dom_attr_value_noi",
        ),
        version=version,
        tested=_TESTED_SELECTOLAX,
        direct=direct,
        public=public,
    )


def _walk(root: Any, builder: NodesBuilder) -> None:  # noqa: ANN401 (selectolax may be missing where types are checked)
    """Walk a tree, without recursion."""
    start, data, end = builder.start, builder.data, builder.end
    names: dict[int, str | None] = {}
    name: str | None
    open_elements: list[tuple[Any, str]] = []
    node = root
    while True:
        # Every property makes a new object, so each is asked for once; a tag's number is the cheapest.
        number = node.tag_id
        if number == _TEXT:
            data(node.text_content)
        else:
            try:
                name = names[number]
            except KeyError:
                name = names[number] = _name(node)
            if name is not None:
                attributes = node.attributes
                if None in attributes.values():
                    attributes = {key: value or "" for key, value in attributes.items()}
                start(name, attributes)
                if name not in DROPPED and (child := node.first_child) is not None:
                    open_elements.append((node, name))
                    node = child
                    continue
                end(name)
        while (following := node.next) is None:
            if not open_elements:
                return
            node, name = open_elements.pop()
            end(name)
        node = following


def _name(node: Any) -> str | None:  # noqa: ANN401 (selectolax may be missing where types are checked)
    """Name of an element in lower case, as all back ends give it; None of a comment or an instruction."""
    return node.tag.lower() if node.is_element_node else None
