"""Lists of a page: the numbers of their items, and the items and definitions of a container as lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockml.document.nodes import (
    Block,
    Definitions,
    Description,
    Item,
    List,
    Term,
    block_span,
    children_of,
    with_children,
)
from blockml.document.shown import LISTS
from blockml.page import Nodes

__all__ = ["ListPart", "Lists", "grouped", "item_numbers", "list_kind"]

#: Values of ``list-style-type`` for lists by letters and Roman numbers, and their values of ``type``.
_STYLES = {"lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i",
           "upper-roman": "I"}  # fmt: skip
_STYLE = re.compile(r"list-style(?:-type)?\s*+:([^;]*+)", re.IGNORECASE)
_STYLE_NAME = re.compile(rf"\b(?:{'|'.join(_STYLES)})\b", re.IGNORECASE)
#: Maximum number of lists directly in lists that are distinguished.
_MAX_OUTER = 12


@dataclass(slots=True, eq=False)
class ListPart:
    """An item, term or description, and the list that it belongs to."""

    block: Item | Term | Description
    list_node: int  #: element of the list
    outers: tuple[int, ...] = ()  #: the lists that directly contain the list, without items between them
    ordered: bool = False
    style: str = ""


@dataclass(slots=True, eq=False)
class _Open:
    """A list whose items are collected."""

    part: ListPart  #: its first item
    list_node: int
    items: list[ListPart]
    inner: dict[int, list[Block]]  #: lists that follow the children of an item, by its place

    @property
    def has_items(self) -> bool:
        """Whether it has items and not terms and descriptions, which invalid markup has in the same element."""
        return isinstance(self.part.block, Item)


def grouped(entries: Sequence[Block | ListPart], room: int) -> tuple[Block, ...]:
    """Return the blocks of a container, with consecutive parts of a list as one list.

    A list directly inside another one belongs to the item before it; any other block between items splits the list.
    Lists are at most ``room`` deep, and at least one.
    """
    found: list[Block] = []
    lists: list[_Open] = []  # from the outermost to the innermost
    for entry in entries:
        if not isinstance(entry, ListPart):
            _close(lists, 0, found)
            found.append(entry)
        else:
            _add(entry, lists, found, room)
    _close(lists, 0, found)
    return tuple(found)


def _add(part: ListPart, lists: list[_Open], found: list[Block], room: int) -> None:
    """Append a part to one of the open lists, or begin another one."""
    place, is_item = len(lists), isinstance(part.block, Item)
    own = {part.list_node, *part.outers}
    while place and not (lists[place - 1].list_node in own and is_item is lists[place - 1].has_items):
        place -= 1
    if not place and lists and part.list_node in lists[0].part.outers and is_item:
        lists[0].list_node, place = part.list_node, 1  # this list has begun with one directly inside of it
    _close(lists, place, found)
    if place and (lists[-1].list_node == part.list_node or place >= room):
        lists[-1].items.append(part)
    else:
        lists.append(_Open(part, part.list_node, [part], {}))


def _close(lists: list[_Open], place: int, found: list[Block]) -> None:
    """End the open lists from a place on."""
    while len(lists) > place:
        ended = _list(lists.pop())
        if lists:
            lists[-1].inner.setdefault(len(lists[-1].items) - 1, []).append(ended)
        else:
            found.append(ended)


def _list(open_list: _Open) -> Block:
    blocks: list[Block] = [part.block for part in open_list.items]
    if not isinstance(blocks[0], Item):
        return Definitions(*block_span(blocks), open_list.list_node, tuple(blocks))  # type: ignore[arg-type]
    for place, inner in open_list.inner.items():
        blocks[place] = with_children(blocks[place], (*children_of(blocks[place]), *inner))
    part = open_list.part
    return List(*block_span(blocks), open_list.list_node, tuple(blocks), part.ordered, part.style)  # type: ignore[arg-type]


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


class Lists:
    """The lists of a page: which list an item belongs to, and its number.

    Parameters
    ----------
    nodes
        Nodes of the page.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._numbers: dict[int, int] | None = None
        self._known: dict[int, tuple[tuple[int, ...], bool, str]] = {}

    def part(self, item: Item) -> ListPart:
        """Return an item with its list, and with its number if the list is ordered."""
        nodes, parent = self.nodes, self.nodes.parent.item(item.node)
        if parent not in self._known:
            self._known[parent] = self._list(parent)
        outers, ordered, style = self._known[parent]
        if ordered:
            if self._numbers is None:
                self._numbers = item_numbers(nodes)
            own = list_kind(held) if (held := nodes.attributes[item.node]) else ""
            number = self._numbers[item.node]
            item = Item(item.first, item.last, item.node, item.children, number, item.checked, item.anchor, own)
        return ListPart(item, parent, outers, ordered, style)

    def _list(self, node: int) -> tuple[tuple[int, ...], bool, str]:
        """Return the lists that directly contain a list, whether it is ordered, and its style."""
        nodes = self.nodes
        if node < 0 or nodes.name(node) not in LISTS:
            return (), False, ""
        outers: list[int] = []
        outer = nodes.parent.item(node)
        while outer >= 0 and nodes.name(outer) in LISTS and len(outers) < _MAX_OUTER:
            outers.append(outer)
            outer = nodes.parent.item(outer)
        ordered = nodes.name(node) == "ol"
        return tuple(outers), ordered, list_kind(nodes.attributes[node]) if ordered else ""


def item_numbers(nodes: Nodes) -> dict[int, int]:
    """Return the number of each item of the numbered lists of a page, whether it is kept or not.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<ol start=3><li>Cats<li value=7>Dogs</ol>").nodes
    >>> list(item_numbers(nodes).values())
    [3, 7]
    """
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
