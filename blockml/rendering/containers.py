"""List items and quotations around paragraphs of Markdown, and the lines written in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from blockml.page import Nodes
from blockml.rendering.bounds import Budget

__all__ = ["LISTS", "Lines", "item_label", "list_kind"]

#: Maximum depth of lists and quotations; only the text of deeper ones is written.
_MAX_DEPTH = 12
_NO_LISTS: Set[int] = frozenset()
LISTS = frozenset({"ul", "ol", "menu", "dir"})
#: Values of ``list-style-type`` for lists by letters and Roman numbers, and their values of ``type``.
_STYLES = {"lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i",
           "upper-roman": "I"}  # fmt: skip
_STYLE = re.compile(r"list-style(?:-type)?\s*+:([^;]*+)", re.IGNORECASE)
_STYLE_NAME = re.compile(rf"\b(?:{'|'.join(_STYLES)})\b", re.IGNORECASE)
_ROMAN = {"m": 1000, "cm": 900, "d": 500, "cd": 400, "c": 100, "xc": 90, "l": 50, "xl": 40, "x": 10, "ix": 9, "v": 5,
          "iv": 4, "i": 1}  # fmt: skip
_MAX_ROMAN = 4000


@dataclass(slots=True, eq=False)
class _Container:
    """An open list item or quotation."""

    marker: str  #: start of its first line
    indent: str  #: start of the lines after that
    list_node: int  #: node of the list; -1 for a quotation
    outers: tuple[int, ...] = ()  #: nodes of the lists that directly contain the list, without items between them
    base: str = ""  #: indent of the list below an item of one of these
    is_pending: bool = True  #: whether its first line is still to be written


class Lines:
    """Lines of Markdown written so far, and the open list items and quotations.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<ol start=3><li>Cats</ol>")
    >>> lines = Lines(page.nodes, Budget(page))
    >>> lines.open(page.nodes.indices("li")[0], "li")
    >>> lines.block(["Cats", "rule"])
    >>> lines.text
    '3. Cats\\n   rule'
    """

    def __init__(self, nodes: Nodes, budget: Budget) -> None:
        self.nodes, self.budget = nodes, budget
        self.lines: list[str] = []
        self.containers: list[_Container] = []
        self.last: list[_Container] = []  # containers around the last block written
        self.last_lists: Set[int] = _NO_LISTS  # lists around it
        self.signs: dict[int, str] = {}  # sign of the markers of each list
        self.items: dict[int, _Container] = {}  # last item of each list
        self.numbers: dict[int, int] | None = None  # of the items of numbered lists
        self.kinds: dict[int, str] = {}  # of numbered lists, because the attributes of one with many items may be long

    @property
    def text(self) -> str:
        """The Markdown so far."""
        return "\n".join(self.lines).strip("\n")

    def has_room(self) -> bool:
        """Tell whether one more container is written; only the text of deeper ones is."""
        return len(self.containers) < _MAX_DEPTH

    def open(self, node: int, name: str) -> None:
        """Begin a list item or quotation."""
        self.containers.append(self._container(node, name))

    def close(self) -> None:
        """End the innermost open container."""
        self.containers.pop()

    def paragraph(self, text: str) -> None:
        """Write a paragraph."""
        if self.containers or "\n" in text:
            self.block(text.split("\n"))
            return
        if self.lines:
            self.lines.append("")
        self.lines.append(text)
        self.last, self.last_lists = [], _NO_LISTS

    def block(self, lines: Sequence[str]) -> None:
        """Write the lines of a paragraph, heading, table or code block, with the marks of lists and quotations."""
        first = rest = blank = ""
        starts: _Container | None = None
        containers = self.containers
        for place, container in enumerate(containers):
            if not container.is_pending:
                first += container.indent
                if starts is None:
                    blank = rest + container.indent
            elif container.list_node >= 0 and any(inner.list_node >= 0 for inner in containers[place + 1 : place + 2]):
                container.marker = container.indent = ""  # an item that has no text before its sublist
                starts = container
            else:
                first += container.marker
                starts = container
            container.is_pending = False
            rest += container.indent
        if rest and not self.budget.spend(len(rest) * (1 + len(lines)), "indents of lists and quotations"):
            containers, starts, first, rest, blank = [], None, "", "", ""
        if self.lines and not self._is_tight(starts):
            self.lines.append(blank.rstrip())
        self.lines.append((first + lines[0]).rstrip() if not lines[0] else first + lines[0])
        self.lines += [(rest + line) if line else rest.rstrip() for line in lines[1:]]
        is_bare = bool(containers) and not containers[-1].indent  # below an item that has no marker
        self.last = containers[:]
        lists = {node for item in containers for node in (item.list_node, *item.outers)}
        self.last_lists = _NO_LISTS if is_bare else lists - {-1}

    def _is_tight(self, starts: _Container | None) -> bool:
        """Tell whether no blank line precedes a block, which starts the list item ``starts``."""
        if starts is None or starts.list_node < 0:
            return False
        if not self.last_lists.isdisjoint((starts.list_node, *starts.outers)):
            return True
        if starts.marker[:1].isdecimal() and starts.marker[:-2] != "1":  # can't start a list below a paragraph
            return False
        around = self.containers[: self.containers.index(starts)]
        return any(item.list_node in self.last_lists for item in around)

    def _container(self, node: int, name: str) -> _Container:
        """Return the container of a list item or quotation."""
        if name == "blockquote":
            return _Container("> ", "> ", -1)
        nodes, parent = self.nodes, int(self.nodes.parent[node])
        kind = nodes.name(parent) if parent >= 0 else ""
        outer = int(nodes.parent[parent]) if kind in LISTS else -1
        outer = outer if outer >= 0 and nodes.name(outer) in LISTS else -1
        above, before = self.items.get(outer) if outer >= 0 else None, self.items.get(parent)
        outers = (outer, *(above.outers if above else ())) if outer >= 0 else ()
        number = label = ""
        if kind == "ol":
            if self.numbers is None:
                self.numbers = _item_numbers(nodes)
            number = str(self.numbers[node])
            if parent not in self.kinds:
                self.kinds[parent] = list_kind(nodes.attributes[parent])
            of_item = list_kind(nodes.attributes[node]) or self.kinds[parent]
            if label := item_label(of_item, self.numbers[node]):
                kind, number = "ul", ""
        if parent not in self.signs:
            self.signs[parent] = self._sign(parent, outers, kind, number)
        marker = f"{number}{self.signs[parent]} "
        base = ""
        if before and parent in self.last_lists:
            base = before.base
        elif above and outer in self.last_lists:
            base = above.indent if len(outers) < _MAX_DEPTH else above.base
        indent = base + " " * len(marker)
        self.items[parent] = _Container(base + marker + label, indent, parent, outers[:_MAX_DEPTH], base)
        return self.items[parent]

    def _sign(self, parent: int, outers: tuple[int, ...], kind: str, number: str) -> str:
        """Return the sign for a list's markers; it differs from that of a list just before, or both would be joined."""
        first, second = (".", ")") if kind == "ol" else ("-", "*")
        place = len(self.containers)
        if kind not in LISTS or len(self.last) <= place or self.last[:place] != self.containers:
            return first
        before = self.last[place]
        is_within = before.list_node in outers or parent in before.outers
        goes_on = number and before.marker.strip() == f"{int(number) - 1}{first}"  # joined, it has the same numbers
        return second if self.signs.get(before.list_node) == first and not (is_within or goes_on) else first


def item_label(kind: str, number: int) -> str:
    """Return the letter or Roman number of an item, with its dot and space; empty outside of 1 to 3999.

    Markdown has no lists with such numbers, so the label is written as text of the item.

    Examples
    --------
    >>> item_label("a", 28), item_label("I", 4), item_label("", 1)
    ('ab. ', 'IV. ', '')
    """
    if not kind or not 0 < number < _MAX_ROMAN:
        return ""
    text = ""
    if kind in "iI":
        for sign, value in _ROMAN.items():
            text += sign * (number // value)
            number %= value
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return f"{text if kind in 'ai' else text.upper()}. "


def list_kind(attributes: Mapping[str, str]) -> str:
    """Return the ``type`` of a list or item by letters or Roman numbers, from this attribute or the style; else empty.

    Examples
    --------
    >>> list_kind({"type": "i"}), list_kind({"style": "list-style-type: upper-latin"}), list_kind({"type": "1"})
    ('i', 'A', '')
    """
    if (given := attributes.get("type", "").strip()) and given in ("a", "A", "i", "I"):
        return given
    values = _STYLE.findall(attributes["style"]) if "style" in attributes else ()
    return next((_STYLES[match[0].lower()] for value in values if (match := _STYLE_NAME.search(value))), "")


def _item_numbers(nodes: Nodes) -> dict[int, int]:
    """Return the number of each item of the numbered lists, whether it is kept or not."""
    numbers: dict[int, int] = {}
    following: dict[int, tuple[int, int]] = {}  # next number and step of each list
    is_item = nodes.named({"li"}) & (nodes.parent >= 0) & nodes.named({"ol"})[nodes.parent]
    parents = nodes.parent[is_item].tolist()
    n_items = Counter(parents)
    for item, parent in zip(np.flatnonzero(is_item).tolist(), parents, strict=True):
        if parent not in following:
            attributes = nodes.attributes[parent]
            step = -1 if "reversed" in attributes else 1
            number = _integer(attributes.get("start", ""))
            following[parent] = (n_items[parent] if step < 0 else 1) if number is None else number, step
        number, step = following[parent]
        given = _integer(nodes.attributes[item].get("value", "")) if nodes.attributes[item] else None
        numbers[item] = max(0, number if given is None else given)
        following[parent] = numbers[item] + step, step
    return numbers


def _integer(text: str) -> int | None:
    """Read an integer of at most nine digits, the most that Markdown allows; None if the text is not one."""
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,9}\s*", text) else None
