"""Parser events in, :class:`~blockml.page.Nodes` out.

Every back end feeds the same builder with ``start``, ``data`` and ``end``, in document order. So the tree is a few
plain lists from the first moment on, no parser object outlives the parse, nothing recurses, and lxml needn't build
a tree of its own, whose depth is limited and whose walk costs more than these calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Flag, Nodes
from blockml.page.attributes import NO_ATTRIBUTES, Attributes
from blockml.parsing.libraries import Addresses
from blockml.parsing.limits import Limits
from blockml.parsing.lines import VOID

__all__ = ["LimitReached", "NodesBuilder"]

#: Elements whose content is no text of the page: code, or raw markup that a browser shows only in place of
#: something it lacks. They stay as childless nodes, for they separate texts like any other element.
DROPPED = frozenset({"script", "style", "template", "iframe", "noembed", "noframes"})

#: Elements in which white space is laid out as it stands.
PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})

#: Elements that flag all they hold.
FLAGGED: Mapping[Flag, frozenset[str]] = {
    Flag.HEAD: frozenset({"head", "title"}),
    Flag.LINK: frozenset({"a"}),
    Flag.NOSCRIPT: frozenset({"noscript"}),
    Flag.PREFORMATTED: PREFORMATTED,
    Flag.DROPPED: DROPPED,
}

_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


#: Elements that may stand in ``head`` (HTML standard, "metadata content"); any other one ends it.
_HEAD_CONTENT = frozenset({"base", "basefont", "bgsound", "link", "meta", "noscript", "title"}) | DROPPED

#: Control characters that are no white space; parsers let them through.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")


class LimitReached(Exception):  # noqa: N818 (ends a parse early; never seen by callers)
    """The page has more nodes than the limit allows."""


#: Elements that the builder treats in a way of their own.
_PLAIN, _VOID, _DROPPED, _HEAD, _BODY, _PREFORMATTED = range(6)
_KINDS: Mapping[str, int] = {
    **dict.fromkeys(VOID, _VOID),
    **dict.fromkeys(DROPPED, _DROPPED),
    **dict.fromkeys(PREFORMATTED, _PREFORMATTED),
    "head": _HEAD,
    "body": _BODY,
}


#: What the compiled builder knows of a name: its kind, its flags from bit 8 on, and in bit 16 whether it may stand in
#: ``head``.
_SPECIAL: Mapping[str, int] = {
    name: _KINDS.get(name, _PLAIN)
    | sum(flag for flag, names in FLAGGED.items() if name in names) << 8
    | (name in _HEAD_CONTENT) << 16
    for name in (*_KINDS, *_HEAD_CONTENT, *frozenset().union(*FLAGGED.values()))
}


class _Events(NamedTuple):
    """What a parser calls, and what it led to."""

    start: Callable[[str, Mapping[str, str]], None]
    end: Callable[[str], None]
    data: Callable[[str], None]
    close: Callable[[], None]
    note_depth: Callable[[], None]
    limits_hit: Callable[[], tuple[bool, bool]]
    read_by_libxml2: Callable[[bytes, Addresses], None] | None
    read_by_lexbor: Callable[[bytes, Addresses], None] | None
    nodes: Callable[[], Nodes]


class NodesBuilder:
    """Collects parser events; :meth:`nodes` turns them into columns.

    Events are balanced: each ``start`` has its ``end``. ``start``, ``end`` and ``data`` are compiled functions, or
    closures over local lists, instead of methods: they run once per tag, and attribute look-ups on ``self`` would
    double their cost. None of them refers to ``self``, so that a page is freed as soon as it is let go.
    """

    __slots__ = (
        "_limits_hit",
        "close",
        "data",
        "end",
        "nodes",
        "note_depth",
        "read_by_lexbor",
        "read_by_libxml2",
        "remarks",
        "start",
    )

    start: Callable[[str, Mapping[str, str]], None]
    """Open an element with a name and attributes."""
    end: Callable[[str], None]
    """Close the innermost element, of this name."""
    data: Callable[[str], None]
    """Add text."""
    close: Callable[[], None]
    """End the page; may be called again."""
    note_depth: Callable[[], None]
    """Note that the back end flattened elements."""
    read_by_libxml2: Callable[[bytes, Addresses], None] | None
    """Parse a page in UTF-8 and take all its events, by functions of libxml2; None without the compiled kernel."""
    read_by_lexbor: Callable[[bytes, Addresses], None] | None
    """The same by functions of lexbor."""
    nodes: Callable[[], Nodes]
    """Turn the events into columns, once the page is closed."""
    remarks: list[str]
    """What the user of the page should know of how the back end read it."""

    def __init__(self, limits: Limits) -> None:
        events = _in_python(limits) if _kernel.compiled is None else _compiled(_kernel.compiled, limits)
        self.start, self.end, self.data = events.start, events.end, events.data
        self.close, self.note_depth, self._limits_hit = events.close, events.note_depth, events.limits_hit
        self.read_by_libxml2, self.read_by_lexbor = events.read_by_libxml2, events.read_by_lexbor
        self.nodes = events.nodes
        self.remarks = []

    @property
    def too_deep(self) -> bool:
        """Whether elements were flattened at the depth limit, here or, as it noted, by the back end."""
        return self._limits_hit()[0]

    @property
    def too_many(self) -> bool:
        """Whether nodes were left out at the node limit."""
        return self._limits_hit()[1]


def _compiled(compiled: _kernel.Compiled, limits: Limits) -> _Events:
    """Events to columns by the kernel."""
    start, end, data, close, note_depth, limits_hit, by_libxml2, by_lexbor, columns = compiled.nodes_builder(
        _SPECIAL, limits.nodes, limits.depth, LimitReached, _INVISIBLE, _CONTROLS
    )

    def nodes() -> Nodes:
        names, tag, parent, depth, ends, flags, texts, number, given, pairs, set_ends = columns()
        attributes = Attributes(np.frombuffer(number, np.int32), given, pairs, np.frombuffer(set_ends, np.int64))
        return Nodes(
            names=names,
            tag=np.frombuffer(tag, np.int32),
            parent=np.frombuffer(parent, np.int32),
            depth=np.frombuffer(depth, np.int32),
            end=np.frombuffer(ends, np.int32),
            flags=np.frombuffer(flags, np.uint8),
            attributes=attributes,
            texts=texts,
        )

    return _Events(start, end, data, close, note_depth, limits_hit, by_libxml2, by_lexbor, nodes)


def _in_python(limits: Limits) -> _Events:
    """Events to columns by Python's own means."""
    tags: list[str] = []
    parents: list[int] = []
    ends: list[int] = []
    attributes: list[Mapping[str, str]] = []
    texts: list[str] = []
    path: list[int] = [-1]  # open nodes
    dropped: list[str] = []  # the open dropped element and what is open inside it
    pieces: list[str] = []  # text since the last tag
    space = ""  # white space since the last text
    n_preformatted = 0  # open preformatted elements
    n_flattened = 0  # open elements beyond the depth limit
    has_head = False
    head_level = 0  # length of path while only head and its ancestors are open
    max_nodes, max_depth = limits.nodes, limits.depth
    too_deep = too_many = False
    kind_of = _KINDS.get

    def add(tag: str, attribute: Mapping[str, str], text: str) -> int:
        nonlocal too_many
        node = len(tags)
        if node >= max_nodes:
            too_many = True
            raise LimitReached
        tags.append(tag)
        parents.append(path[-1])
        attributes.append(attribute)
        texts.append(text)
        ends.append(node + 1)
        return node

    def leave_head() -> None:
        # libxml2 leaves elements it doesn't know in a head without an end tag. The standard begins the body here.
        nonlocal head_level
        head_level = 0
        ends[path.pop()] = len(tags)
        path.append(add("body", NO_ATTRIBUTES, ""))

    def flush() -> None:
        nonlocal space
        text = "".join(pieces)
        pieces.clear()
        if text.isspace():
            # It only parts its neighbours: hand it to the next text.
            space += text
            return
        if not text.isprintable():  # cheap, and mostly enough
            text = _CONTROLS.sub("", text)
            if not text or text.isspace():
                space += text
                return
        if head_level and len(path) == head_level:
            leave_head()
        if space:
            text = (space if n_preformatted else " ") + text
            space = ""
        add("#text", NO_ATTRIBUTES, text)

    def start(tag: str, attribute: Mapping[str, str]) -> None:
        nonlocal space, n_preformatted, n_flattened, has_head, head_level, too_deep
        if dropped:
            dropped.append(tag)
            return
        if pieces:
            flush()
        if head_level and len(path) == head_level and tag not in _HEAD_CONTENT:
            leave_head()
        kind = kind_of(tag, _PLAIN)
        if kind == _BODY and not has_head:
            # The HTML standard's tree always has a head; libxml2 leaves an empty one out.
            has_head = True
            add("head", NO_ATTRIBUTES, "")
        node = add(tag, attribute, "")
        if kind == _VOID:
            return  # libxml2 puts text into those that it doesn't know
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
        nonlocal n_preformatted, n_flattened, head_level
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
            pieces.append(" ")  # its end parts texts all the same
            return
        if len(path) == head_level:
            head_level = 0
        ends[path.pop()] = len(tags)
        if kind == _PREFORMATTED and n_preformatted:  # ends without a start may come
            n_preformatted -= 1

    def close() -> None:
        try:
            if pieces and not dropped:
                flush()
        finally:  # also where the text was a node too many
            for node in path[1:]:
                ends[node] = len(tags)
            del path[1:]

    def note_depth() -> None:
        nonlocal too_deep
        too_deep = True

    def nodes() -> Nodes:
        ids = {tag: number for number, tag in enumerate(dict.fromkeys(["#text", *tags]))}
        tag_column = np.array([ids[tag] for tag in tags], dtype=np.int32)
        end_column = np.array(ends, dtype=np.int32)
        return Nodes(
            names=tuple(ids),
            tag=tag_column,
            parent=np.array(parents, dtype=np.int32),
            depth=_depths(end_column),
            end=end_column,
            flags=_flags(tuple(ids), tag_column, end_column, attributes),
            attributes=attributes,
            texts=texts,
        )

    return _Events(start, end, pieces.append, close, note_depth, lambda: (too_deep, too_many), None, None, nodes)


def _depths(end: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count the ancestors of each node: the nodes opened before it less those closed before it."""
    n = len(end)
    closed = np.bincount(end, minlength=n + 1)[:n].cumsum()
    depth: NDArray[np.int32] = (np.arange(n) - closed).astype(np.int32)
    return depth


def _flags(
    names: tuple[str, ...],
    tag: NDArray[np.int32],
    end: NDArray[np.int32],
    attributes: list[Mapping[str, str]],
) -> NDArray[np.uint8]:
    """Flags of each node, handed down from its ancestors."""
    flags = np.zeros(len(tag), dtype=np.uint8)
    for flag, flagged in FLAGGED.items():
        if not flagged.isdisjoint(names):
            wanted = np.array([name in flagged for name in names])[tag]
            flags[_inside(np.flatnonzero(wanted), end)] |= np.uint8(flag)
    hidden = [
        node
        for node, attribute in enumerate(attributes)
        if attribute
        and ("hidden" in attribute or ("style" in attribute and _INVISIBLE.search(attribute["style"]) is not None))
    ]
    if hidden:
        flags[_inside(np.array(hidden), end)] |= np.uint8(Flag.HIDDEN)
    return flags


def _inside(nodes: NDArray[np.intp], end: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell for each node whether it is one of ``nodes`` or below one."""
    n = len(end)
    opened = np.bincount(nodes, minlength=n + 1) - np.bincount(end[nodes], minlength=n + 1)
    return opened[:n].cumsum() > 0
