"""Parser events in, :class:`~blockml.page.Nodes` out.

Every back end feeds the same builder with ``start``, ``data`` and ``end``, in document order. So the tree is a few
plain lists from the first moment on, no parser object outlives the parse, nothing recurses, and lxml needn't build
a tree of its own, whose depth is limited and whose walk costs more than these calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes
from blockml.parsing.limits import Limits

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
_NO_ATTRIBUTES: Mapping[str, str] = {}


class LimitReached(Exception):  # noqa: N818 (ends a parse early; never seen by callers)
    """The page has more nodes than the limit allows."""


class NodesBuilder:
    """Collects parser events; :meth:`nodes` turns them into columns.

    ``start``, ``end`` and ``data`` are closures over local lists instead of methods: they run once per tag, and
    attribute look-ups on ``self`` would double their cost.
    """

    __slots__ = ("_columns", "_state", "close", "data", "end", "start")

    def __init__(self, limits: Limits) -> None:
        tags: list[str] = []
        parents: list[int] = []
        ends: list[int] = []
        attributes: list[Mapping[str, str]] = []
        texts: list[str] = []
        stack: list[int] = [-1]
        pieces: list[str] = []
        flattened: list[str] = []  # open elements beyond the depth limit
        dropped: list[str] = []  # the open dropped element and what is open inside it
        state: dict[str, Any] = {"space": "", "head": False, "too_deep": False, "too_many": False}
        max_nodes, max_depth = limits.nodes, limits.depth

        def add(tag: str, attribute: Mapping[str, str], text: str) -> None:
            if len(tags) >= max_nodes:
                state["too_many"] = True
                raise LimitReached
            tags.append(tag)
            parents.append(stack[-1])
            attributes.append(attribute)
            texts.append(text)
            ends.append(len(tags))

        def flush() -> None:
            text = "".join(pieces)
            pieces.clear()
            if text.isspace():
                # It only parts its neighbours: hand it to the next text.
                state["space"] += text
                return
            if state["space"]:
                text = state["space"] + text
                state["space"] = ""
            add("#text", _NO_ATTRIBUTES, text)

        def start(tag: str, attribute: Mapping[str, str]) -> None:
            if dropped:
                dropped.append(tag)
                return
            if pieces:
                flush()
            if len(stack) > max_depth:
                state["too_deep"] = True
                flattened.append(tag)
                return
            if tag == "head":
                state["head"] = True
            elif tag == "body" and not state["head"]:
                # The HTML standard's tree always has a head; libxml2 leaves an empty one out.
                state["head"] = True
                add("head", _NO_ATTRIBUTES, "")
            add(tag, attribute, "")
            if tag in DROPPED:
                dropped.append(tag)
            else:
                stack.append(len(tags) - 1)

        def end(tag: str) -> None:  # noqa: ARG001 (events are balanced, so the name is known)
            if dropped:
                dropped.pop()
                if not dropped:
                    pieces.clear()
                return
            if pieces:
                flush()
            if flattened:
                flattened.pop()
            elif len(stack) > 1:
                ends[stack.pop()] = len(tags)

        def close() -> None:
            if pieces and not dropped:
                flush()
            for node in stack[1:]:
                ends[node] = len(tags)
            del stack[1:]

        self.start = start
        self.end = end
        self.data = pieces.append
        self.close = close
        self._columns = (tags, parents, ends, attributes, texts)
        self._state = state

    @property
    def too_deep(self) -> bool:
        """Whether elements were flattened at the depth limit."""
        return bool(self._state["too_deep"])

    @property
    def too_many(self) -> bool:
        """Whether nodes were left out at the node limit."""
        return bool(self._state["too_many"])

    def note_depth(self) -> None:
        """Record that the back end itself flattened elements at the depth limit."""
        self._state["too_deep"] = True

    def nodes(self) -> Nodes:
        """Turn the events so far into columns."""
        tags, parents, ends, attributes, texts = self._columns
        ids: dict[str, int] = {"#text": 0}
        for tag in tags:
            if tag not in ids:
                ids[tag] = len(ids)
        tag_column = np.array([ids[tag] for tag in tags], dtype=np.int32)
        end_column = np.array(ends, dtype=np.int32)
        return Nodes(
            names=tuple(ids),
            tag=tag_column,
            parent=np.array(parents, dtype=np.int32),
            depth=_depths(end_column),
            end=end_column,
            flags=_flags(ids, tag_column, end_column, attributes),
            attributes=attributes,
            texts=texts,
        )


def _depths(end: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count the ancestors of each node: the nodes opened before it less those closed before it."""
    n = len(end)
    closed = np.bincount(end, minlength=n + 1)[:n].cumsum()
    depth: NDArray[np.int32] = (np.arange(n) - closed).astype(np.int32)
    return depth


def _flags(
    ids: Mapping[str, int], tag: NDArray[np.int32], end: NDArray[np.int32], attributes: list[Mapping[str, str]]
) -> NDArray[np.uint8]:
    """Flags of each node, handed down from its ancestors."""
    flags = np.zeros(len(tag), dtype=np.uint8)
    for flag, names in FLAGGED.items():
        wanted = [ids[name] for name in names if name in ids]
        if wanted:
            flags[_inside(np.flatnonzero(np.isin(tag, wanted)), end)] |= np.uint8(flag)
    hidden = [
        node
        for node, attribute in enumerate(attributes)
        if attribute and ("hidden" in attribute or _INVISIBLE.search(attribute.get("style", "")))
    ]
    if hidden:
        flags[_inside(np.array(hidden), end)] |= np.uint8(Flag.HIDDEN)
    return flags


def _inside(nodes: NDArray[np.intp], end: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell for each node whether it is one of ``nodes`` or below one."""
    n = len(end)
    opened = np.bincount(nodes, minlength=n + 1) - np.bincount(end[nodes], minlength=n + 1)
    return opened[:n].cumsum() > 0
