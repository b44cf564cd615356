"""Moves parts of a page to where browsers show them, before any back end parses it.

A declarative shadow root, ``<template shadowrootmode>``, is shown instead of its host's content: the tags of the
template are removed, and the content of the host moves into the slots of the shadow tree (HTML standard, "attach a
shadow root" and "assign slottables"). Parts that React streams behind the page, in hidden elements, replace the
placeholders that its scripts name (react-dom, ``ReactDOMFizzInstructionSet``).
"""

from __future__ import annotations

from array import array
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from blockml.parsing.builder import CLOSED_BY_THE_NEXT
from blockml.parsing.segmentation import VOID
from blockml.parsing.tags import Tag, attributes, tags
from blockml.text.words import lazy_pattern

__all__ = ["composed"]

#: Elements that may have a shadow root, besides those with a hyphen in their name (DOM standard, "attach a shadow
#: root").
_HOSTS = frozenset(b"article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split())
_VOID = frozenset(name.encode() for name in VOID)
#: Tags around content without a slot: browsers don't show it.
_UNSHOWN = b"<span hidden>", b"</span>"
#: Call that shows a streamed part: ``$RC`` and ``$RR`` replace what is shown until then, ``$RS`` only a placeholder.
#: Ids of the placeholder and the part, for ``$RS`` the other way round.
_SHOWN_BY_SCRIPT = lazy_pattern(rb"""\$R([CRS])\(\s*["']([^"'<>\s]+)["']\s*,\s*["']([^"'<>\s]+)["']""")
#: Comments around what is shown until a part arrives, and around what is shown already.
_BOUNDARY = lazy_pattern(rb"<!--(/?)\$[?!~]?-->")

#: Start and end of a piece of the page.
_Span: TypeAlias = tuple[int, int]
#: Start and end of the replaced piece, and its replacement.
_Edit: TypeAlias = tuple[int, int, tuple[bytes | _Span, ...]]


@dataclass(slots=True)
class _Host:
    """An element with a shadow root."""

    inner: int  #: where its content starts
    inner_end: int = -1
    #: Start of the template, of its content and of its end tag, and its end; and those of the first slot of each name.
    root: tuple[int, int, int, int] = (-1, -1, -1, -1)
    slots: dict[bytes, tuple[int, int, int, int]] = field(default_factory=dict)


def composed(source: bytes) -> bytes:
    """Return a page in UTF-8 with its streamed parts and shadow roots in their places; the page itself without any.

    Examples
    --------
    >>> composed(b"<!--$?--><template id=B:0></template>Loading<!--/$--><div hidden id=S:0>Cats</div>"
    ...          b"<script>$RC('B:0','S:0')</script>")
    b"<!--$?-->Cats<!--/$--><div hidden id=S:0></div><script>$RC('B:0','S:0')</script>"
    >>> composed(b"<x-a><template shadowrootmode=open><h1><slot name=t></slot></h1><slot>-</slot></template>"
    ...          b"Text <b slot=t>Title</b></x-a>")
    b'<x-a><h1><b slot=t>Title</b></h1>Text </x-a>'
    """
    source = _with_streamed_parts(source)
    return _with_shadow_roots(source) if b"shadowroot" in source.lower() else source


def _with_streamed_parts(source: bytes) -> bytes:
    """Return a page with the parts that React streamed in the place of their placeholders."""
    if not _SHOWN_BY_SCRIPT.search(source):
        return source
    scripts = b"\n".join(tag.source for tag in tags(source) if tag.name == b"script")
    calls = _SHOWN_BY_SCRIPT.findall(scripts)
    part_of = {one: other for kind, one, other in calls if kind != b"S"}
    part_of |= {other: one for kind, one, other in calls if kind == b"S"}
    whole = {one for kind, one, _ in calls if kind != b"S"}
    places, parts = _streamed(source, part_of)
    ends = _boundary_ends(source, [place for name, place in places.items() if name in whole])
    order = sorted(parts.values())
    starts = [start for start, _ in order]
    moved: list[_Edit] = []
    edits: list[_Edit] = []
    last = 0
    for name, (start, end) in sorted(places.items(), key=lambda item: item[1]):
        part = parts.pop(part_of[name], None)
        if part is None or start < last or start >= part[0]:  # a part is streamed after its placeholder
            continue
        row, after = bisect(starts, start), ends.get((start, end), end)
        if bisect(starts, after) > row or (row and start < order[row - 1][1] < after):
            after = end  # another part begins or ends in between, so the comments are not those of a boundary
        moved.append((*part, ()))
        edits.append((start, after, (part,)))
        last = after
    return _edited(source, moved, edits) if edits else source


def _streamed(source: bytes, part_of: Mapping[bytes, bytes]) -> tuple[dict[bytes, _Span], dict[bytes, _Span]]:
    """Return the placeholders and the content of the streamed parts, by id; parts in parts are not looked for."""
    names = {*part_of.values()}
    places: dict[bytes, _Span] = {}
    parts: dict[bytes, _Span] = {}
    part, element, depth, inner = b"", b"", 0, 0  # the open part
    for tag in tags(source):
        if depth and tag.name == element:
            depth += -1 if tag.closes else 1
            if not depth:
                parts[part] = inner, tag.start
        if tag.closes or b"id=" not in tag.source:
            continue
        name = attributes(tag).get(b"id", b"")
        if tag.name == b"template" and name in part_of and source.startswith(b"</template>", tag.end):
            places.setdefault(name, (tag.start, tag.end + len(b"</template>")))
        elif not depth and name in names and name not in parts:
            part, element, depth, inner = name, tag.name, 1, tag.end
    return places, parts


def _boundary_ends(source: bytes, places: Collection[_Span]) -> dict[_Span, int]:
    """Return where the boundary around each placeholder ends: what is shown until its part arrives."""
    found: dict[_Span, int] = {}
    waiting: list[_Span | None] = []  # the placeholder of each open boundary
    after = {start: (start, end) for start, end in places}
    for comment in _BOUNDARY.finditer(source):
        if not comment[1]:
            waiting.append(after.get(comment.end()))
        elif waiting and (place := waiting.pop()) is not None:
            found[place] = comment.start()
    return found


def _with_shadow_roots(source: bytes) -> bytes:
    """Return a page with the content of its shadow roots."""
    page = _Reader()
    for tag in tags(source):
        page.read(tag)
    if not page.hosts:
        return source
    page.close_all(len(source))
    moved: list[_Edit] = []
    edits: list[_Edit] = []
    for host in page.hosts.values():
        assigned: dict[bytes, list[_Span]] = {}
        begin, *_, end = host.root
        place = host.inner
        borders = [*page.slotted.get(host.inner, ()), (begin, end, b""), (host.inner_end, -1, b"")]
        for start, stop, name in sorted(borders):
            if source[place:start].strip():
                assigned.setdefault(b"", []).append((place, start))
            if name:
                assigned.setdefault(name, []).append((start, stop))
            place = stop
        for name, spans in assigned.items():
            if slot := host.slots.pop(name, None):
                edits.append((slot[0], slot[3], tuple(spans)))
                moved += [(*span, ()) for span in spans]
            else:
                moved += [(*span, (_UNSHOWN[0], span, _UNSHOWN[1])) for span in spans]
        for start, content, content_end, stop in (host.root, *host.slots.values()):
            edits += [(start, content, ()), (content_end, stop, ())]
    return _edited(source, moved, edits)


def _edited(source: bytes, moved: list[_Edit], edits: list[_Edit]) -> bytes:
    """Replace pieces of a page.

    Parameters
    ----------
    source
        The page.
    moved
        Edits of pieces that an edit inserts, once each; all other edits also apply inside them.
    edits
        All other edits; two of them are either nested or disjoint.
    """
    own = {(start, end) for start, end, _ in moved}
    edits = sorted([*moved, *edits], key=lambda edit: (edit[0], -edit[1]))  # stable: a piece that is a slot moves first
    row_of = {edit[:2]: row for row, edit in reversed(list(enumerate(edits))) if edit[:2] in own}
    starts = [start for start, *_ in edits]
    written: list[bytes] = []
    waiting: list[bytes | tuple[int, int, int]] = [(0, len(source), 0)]  # start, end, and the first edit that may apply
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, bytes):
            written.append(piece)
            continue
        begin, end, row = piece
        row = bisect_left(starts, begin, row)
        if row == len(edits) or starts[row] >= end:
            written.append(source[begin:end])
            continue
        start, stop, inserted = edits[row]
        written.append(source[begin:start])
        waiting.append((stop, end, row + 1))
        waiting.extend(part if isinstance(part, bytes) else (*part, row_of[part] + 1) for part in reversed(inserted))
    return b"".join(written)


class _Reader:
    """Reads the tags of a page and tracks the elements that they open and close."""

    def __init__(self) -> None:
        self.hosts: dict[int, _Host] = {}  #: hosts by the start of their content
        #: Start, end and slot name of elements with a slot, by the start of their parent's content.
        self.slotted: dict[int, list[tuple[int, int, bytes]]] = {}
        self._waiting: dict[int, bytes] = {}  # slot that an open element names, by the element's start
        self._slots: dict[int, tuple[_Host, bytes]] = {}  # hosts and names of open slots, by the slot's start
        self._names, self._starts, self._inners = [b""], array("q", [-1]), array("q", [0])  # of open elements
        self._opened: list[Counter[bytes]] = [Counter()]  # names of open elements, within each template
        self._roots: list[_Host] = []  # of open templates
        self._n_inert = 0  # open templates without a shadow root, whose content is not part of the page

    def read(self, tag: Tag) -> None:
        """Process a tag of the page."""
        name = tag.name
        if self._n_inert:
            self._n_inert += (name == b"template") * (-1 if tag.closes else 1)
        elif tag.closes:
            # An end tag in a template closes nothing outside of it.
            if self._opened[-2 if name == b"template" and self._roots else -1][name]:
                while self._names[-1] != name:
                    self._close(tag.start, tag.start)
                self._close(tag.start, tag.end)
        elif name == b"template" and not self._attach(tag):
            self._n_inert = 1
        else:
            self._open(name, tag)

    def close_all(self, end: int) -> None:
        """Close all elements at the end of the page."""
        while len(self._names) > 1:
            self._close(end, end)

    def _attach(self, tag: Tag) -> bool:
        """Tell whether a template is a shadow root, and attach it to its host."""
        host, name = self._inners[-1], self._names[-1]
        if host in self.hosts or not (b"-" in name or name in _HOSTS):
            return False
        held = attributes(tag)
        if held.get(b"shadowrootmode", held.get(b"shadowroot", b"")).lower() not in (b"open", b"closed"):
            return False
        self.hosts[host] = _Host(host)
        self._roots.append(self.hosts[host])
        return True

    def _open(self, name: bytes, tag: Tag) -> None:
        start, end = tag.start, tag.end
        if self._names[-1] == name and name in CLOSED_BY_THE_NEXT:
            self._close(start, start)
        held = attributes(tag) if b"slot" in tag.source.lower() else {}
        if name == b"slot" and self._roots:
            slots = self._roots[-1].slots
            if (slot := held.get(b"name", b"")) not in slots:
                self._slots[start] = self._roots[-1], slot
                slots[slot] = start, end, end, end
        named = held.get(b"slot", b"")
        if name in _VOID:
            if named:
                self.slotted.setdefault(self._inners[-1], []).append((start, end, named))
            return
        if named:
            self._waiting[start] = named
        self._opened[-1][name] += 1
        self._names.append(name)
        self._starts.append(start)
        self._inners.append(end)
        if name == b"template":
            self._opened.append(Counter())

    def _close(self, before: int, after: int) -> None:
        """Close the innermost element at an end tag, which is empty if the element has none."""
        name, start, inner = self._names.pop(), self._starts.pop(), self._inners.pop()
        if name == b"template":
            self._roots.pop().root = start, inner, before, after
            self._opened.pop()
        self._opened[-1][name] -= 1
        if inner in self.hosts:
            self.hosts[inner].inner_end = before
        if start in self._slots:
            host, slot = self._slots.pop(start)
            host.slots[slot] = start, inner, before, after
        if start in self._waiting:
            self.slotted.setdefault(self._inners[-1], []).append((start, after, self._waiting.pop(start)))
