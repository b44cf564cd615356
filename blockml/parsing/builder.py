"""Collect parser events into :class:`~blockml.page.Nodes`.

Every back end calls ``start``, ``data`` and ``end`` of the same builder, in document order. Parsers don't build their
own tree: lxml's has a depth limit, and building and walking it costs more than these calls.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml._kernel.protocol import Addresses
from blockml.page import Flag, Nodes
from blockml.page.attributes import NO_ATTRIBUTES, Attributes
from blockml.parsing.limits import Limits
from blockml.parsing.lines import VOID
from blockml.text.characters import INVISIBLE

__all__ = ["LimitReached", "NodesBuilder", "new_builder"]

#: Elements whose content is not text of the page: code, or markup that browsers show only as a substitute. They are
#: kept as childless nodes because they separate texts like any other element.
DROPPED = frozenset({"script", "style", "template", "iframe", "noembed", "noframes"})

#: Elements in which white space is significant.
PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})

#: Elements that set a flag for themselves and their descendants.
FLAGGED: Mapping[Flag, frozenset[str]] = {
    Flag.HEAD: frozenset({"head", "title"}),
    Flag.LINK: frozenset({"a"}),
    Flag.NOSCRIPT: frozenset({"noscript"}),
    Flag.PREFORMATTED: PREFORMATTED,
    Flag.DROPPED: DROPPED,
}

_HIDES = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
#: Styles and classes that may hide an element in another way. Only ASCII, as in the C extension.
_CONCEALING: Mapping[str, re.Pattern[str]] = {
    "style": re.compile(r"(?:opacity|font-size)\s*:\s*[0.]|-[0-9]{3}", re.IGNORECASE | re.ASCII),
    "class": re.compile(r"sr-only|visually|screen", re.IGNORECASE | re.ASCII),
}

#: Elements allowed in ``head`` (HTML standard, "metadata content"); any other one ends it.
_HEAD_CONTENT = frozenset({"base", "basefont", "bgsound", "link", "meta", "noscript", "title"}) | DROPPED

#: Kinds of elements that the builder distinguishes.
_PLAIN, _VOID, _DROPPED, _HEAD, _BODY, _PREFORMATTED = range(6)
_KINDS: Mapping[str, int] = {
    **dict.fromkeys(VOID, _VOID),
    **dict.fromkeys(DROPPED, _DROPPED),
    **dict.fromkeys(PREFORMATTED, _PREFORMATTED),
    "head": _HEAD,
    "body": _BODY,
}

#: Properties of element names for the C extension: kind in bits 0-7, flags in bits 8-15, membership of _HEAD_CONTENT in
#: bit 16.
_NAME_PROPERTIES: Mapping[str, int] = {
    name: _KINDS.get(name, _PLAIN)
    | sum(flag for flag, names in FLAGGED.items() if name in names) << 8
    | (name in _HEAD_CONTENT) << 16
    for name in (*_KINDS, *_HEAD_CONTENT, *frozenset().union(*FLAGGED.values()))
}


class LimitReached(Exception):  # noqa: N818 (ends a parse early; callers of the package never get it)
    """The page has more nodes than the limit allows."""


@dataclass(slots=True)
class NodesBuilder:
    """Functions that collect the parser events of one page; made by :func:`new_builder`.

    They are compiled functions, or closures over local lists, and not methods: they run once per tag, and attribute
    look-ups on ``self`` would double their cost. None of them refers to the builder, so a page is freed without a
    garbage collection.
    """

    start: Callable[[str, Mapping[str, str]], None]  #: Open an element with a name and attributes.
    end: Callable[[str], None]  #: Close the innermost element, which has this name.
    data: Callable[[str], None]  #: Add text.
    close: Callable[[], None]  #: End the page; may be called again.
    #: Count the tags that the parser reads next, each with the open elements that it may search; tell whether the
    #: budget of steps allows them.
    spend: Callable[[int], bool]
    #: Tell whether elements were flattened at the depth limit, nodes were left out at the node limit, and the budget of
    #: steps was spent.
    limits_hit: Callable[[], tuple[bool, bool, bool]]
    nodes: Callable[[], Nodes]  #: Return the nodes of a closed page.
    #: Parse a page in UTF-8 by the functions of libxml2 at these addresses; None without the C extension.
    parse_libxml2: Callable[[bytes, Addresses], None] | None = None
    #: Parse a page in UTF-8 by the functions of lexbor at these addresses; None without the C extension.
    parse_lexbor: Callable[[bytes, Addresses], None] | None = None
    warnings: list[str] = field(default_factory=list)  #: Warnings of the back end.


def new_builder(limits: Limits, max_steps: int = Limits().steps_of(0)) -> NodesBuilder:
    """Return a builder for one page: the compiled one if the C extension is installed."""
    if _kernel.compiled is None:
        return _python_builder(limits, max_steps)
    functions = _kernel.compiled.nodes_builder(
        _NAME_PROPERTIES, limits.nodes, limits.depth, max_steps, LimitReached, _HIDES, INVISIBLE
    )
    start, end, data, close, spend, limits_hit, columns, parse_libxml2, parse_lexbor = functions

    def nodes() -> Nodes:
        names, tag, parent, depth, ends, flags, texts, number, given, pairs, set_ends = columns()
        tag, parent, depth, ends, number = (
            np.frombuffer(column, np.int32) for column in (tag, parent, depth, ends, number)
        )
        attributes = Attributes(number, given, pairs, np.frombuffer(set_ends, np.int64))
        return Nodes(names, tag, parent, depth, ends, np.frombuffer(flags, np.uint8), attributes, texts)

    return NodesBuilder(start, end, data, close, spend, limits_hit, nodes, parse_libxml2, parse_lexbor)


def _python_builder(limits: Limits, max_steps: int) -> NodesBuilder:
    """Return the reference implementation of the builder."""
    # Arrays take a tenth of the memory of lists of int.
    ids: dict[str, int] = {"#text": 0}  # index of each name
    tags, parents, ends = array("i"), array("i"), array("i")
    attributes: list[Mapping[str, str]] = []
    texts: list[str] = []
    path: list[int] = [-1]  # open nodes
    dropped: list[str] = []  # the open dropped element and what is open inside it
    pieces: list[str] = []  # text since the last tag
    space = ""  # white space since the last text
    n_preformatted = 0  # open preformatted elements
    n_flattened = 0  # open elements beyond the depth limit
    n_unclosed = 0  # start tags without an end tag, which the parser has open
    steps = 0  # unclosed elements, summed over tags
    has_head = False
    head_level = 0  # length of path while only head and its ancestors are open
    max_nodes, max_depth = limits.nodes, limits.depth
    too_deep = too_many = too_costly = False
    kind_of = _KINDS.get

    def add(tag: str, attribute: Mapping[str, str], text: str) -> int:
        nonlocal too_many
        node = len(tags)
        if node >= max_nodes:
            too_many = True
            raise LimitReached
        tags.append(ids.setdefault(tag, len(ids)))
        parents.append(path[-1])
        attributes.append(dict(attribute) if attribute else NO_ATTRIBUTES)  # mappings of lxml can't be pickled
        texts.append(text)
        ends.append(node + 1)
        return node

    def leave_head() -> None:
        # libxml2 keeps unknown elements in a head without an end tag; the HTML standard starts the body there.
        nonlocal head_level
        head_level = 0
        ends[path.pop()] = len(tags)
        path.append(add("body", NO_ATTRIBUTES, ""))

    def store_space(text: str) -> None:
        """Keep white space for the next text: a single blank, unless it is preformatted or may be an indent."""
        nonlocal space
        if n_preformatted:
            space += text
        elif text not in ("", " ") and "\n" not in text:
            space = text
        else:
            space = space or (text[:1] and " ")

    def flush() -> None:
        nonlocal space
        text = "".join(pieces)
        pieces.clear()
        if not text or text.isspace():
            # White space only separates its neighbours: it is prepended to the next text.
            store_space(text)
            return
        if not text.isprintable():  # a fast test that most texts pass
            text = INVISIBLE.sub("", text)
            if not text or text.isspace():
                store_space(text)
                return
        if head_level and len(path) == head_level:
            leave_head()
        if space:
            text = space + text
            space = ""
        add("#text", NO_ATTRIBUTES, text)

    def start(tag: str, attribute: Mapping[str, str]) -> None:
        nonlocal space, n_preformatted, n_flattened, n_unclosed, has_head, head_level, too_deep
        n_unclosed += 1
        if dropped:
            dropped.append(tag)
            return
        if pieces:
            flush()
        if head_level and len(path) == head_level and tag not in _HEAD_CONTENT:
            leave_head()
        kind = kind_of(tag, _PLAIN)
        if kind == _BODY and not has_head:
            # The HTML standard's tree always has a head; libxml2 omits an empty one.
            has_head = True
            add("head", NO_ATTRIBUTES, "")
        node = add(tag, attribute, "")
        if kind == _VOID:
            return  # not opened, because libxml2 puts text into void elements that it doesn't know
        if kind == _DROPPED:
            dropped.append(tag)
        elif len(path) > max_depth:
            too_deep = True
            n_flattened += 1
        else:
            path.append(node)
            if kind == _HEAD:
                has_head = True
                head_level = len(path)
            elif kind == _PREFORMATTED:
                n_preformatted += 1
                space = ""

    def end(tag: str) -> None:
        nonlocal n_preformatted, n_flattened, n_unclosed, head_level, space
        if n_unclosed:
            n_unclosed -= 1
        if dropped:
            dropped.pop()
            if not dropped:
                pieces.clear()
            return
        if pieces:
            flush()
        kind = kind_of(tag, _PLAIN)
        if kind == _VOID or len(path) == 1:
            return
        if n_flattened:
            n_flattened -= 1
            pieces.append(" ")  # the end of a flattened element still separates texts
            return
        if len(path) == head_level:
            head_level = 0
        ends[path.pop()] = len(tags)
        if kind == _PREFORMATTED and n_preformatted:  # there may be more ends than starts
            n_preformatted -= 1
            if not n_preformatted:
                space = space and " "

    def close() -> None:
        try:
            if pieces and not dropped:
                flush()
        finally:  # also if the text exceeds the node limit
            for node in path[1:]:
                ends[node] = len(tags)
            del path[1:]

    def spend(n_tags: int) -> bool:
        nonlocal steps, too_costly
        steps += n_unclosed * n_tags
        too_costly = steps > max_steps
        return not too_costly

    def limits_hit() -> tuple[bool, bool, bool]:
        return too_deep, too_many, too_costly

    def nodes() -> Nodes:
        tag_column = np.array(tags, dtype=np.int32)
        end_column = np.array(ends, dtype=np.int32)
        n = len(tags)
        depth = (
            np.arange(n) - np.bincount(end_column, minlength=n + 1)[:n].cumsum()
        )  # number of nodes before it minus those closed
        return Nodes(
            names=tuple(ids),
            tag=tag_column,
            parent=np.array(parents, dtype=np.int32),
            depth=depth.astype(np.int32),
            end=end_column,
            flags=_flags(tuple(ids), tag_column, end_column, attributes),
            attributes=attributes,
            texts=texts,
        )

    return NodesBuilder(start, end, pieces.append, close, spend, limits_hit, nodes)


def _flags(
    names: tuple[str, ...], tag: NDArray[np.int32], end: NDArray[np.int32], attributes: list[Mapping[str, str]]
) -> NDArray[np.uint8]:
    """Return (n,) :class:`Flag` bits of each node, inherited from its ancestors."""
    n = len(tag)
    hidden = [
        node
        for node, attribute in enumerate(attributes)
        if attribute
        and ("hidden" in attribute or ("style" in attribute and _HIDES.search(attribute["style"]) is not None))
    ]
    concealed = [
        node
        for node, attribute in enumerate(attributes)
        if attribute and any(pattern.search(attribute.get(name) or "") for name, pattern in _CONCEALING.items())
    ]
    flagged = {Flag.HIDDEN: np.array(hidden, dtype=np.intp), Flag.CONCEALED: np.array(concealed, dtype=np.intp)}
    for flag, elements in FLAGGED.items():
        flagged[flag] = np.flatnonzero(np.array([name in elements for name in names])[tag])
    flags = np.zeros(n, dtype=np.uint8)
    for flag, nodes in flagged.items():
        if len(nodes):
            n_opened = np.bincount(nodes, minlength=n + 1) - np.bincount(end[nodes], minlength=n + 1)
            flags[n_opened[:n].cumsum() > 0] |= np.uint8(flag)
    return flags
