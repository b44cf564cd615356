"""How elements are hidden from readers: by attributes, styles, classes and rules of ``style`` elements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes, Page
from blockml.page.lazy import cached_property
from blockml.parsing.style_rules import Hiding, HidingSelector, StyleSheets, hiding_of, shows
from blockml.text.words import lazy_pattern

__all__ = ["HiddenText", "hidden_text", "hiding_names", "mark_hidden"]

_MARKED = int(Flag.HIDDEN | Flag.CONCEALED)
#: Classes of texts for screen readers (Bootstrap, HTML5 Boilerplate, WordPress, Drupal and others).
_OF_READERS = lazy_pattern(
    r"(?:^|\s)(?:sr-only|visually-?hidden|u-hiddenVisually|screen-?reader(?:-text|-only)?)(?:\s|$)", re.IGNORECASE
)
#: Elements with formulas for screen readers, which have the text that is written.
_FORMULAS = frozenset({"math"})
#: Maximum characters of a style that is remembered.
_SHORT = 200
#: Bytes and number of words that :meth:`~blockml.page.Nodes.with_words` looks for.
_MIN_WORD, _MOST_WORDS = 2, 16

_MARK = "[hidden: "


class HiddenText(NamedTuple):
    """How the nodes and blocks of a page are hidden: numbers of :class:`~blockml.parsing.style_rules.Hiding`."""

    nodes: NDArray[np.int8]  #: (n_nodes,)
    blocks: NDArray[np.int8]  #: (n_blocks,) 0 if the first or last text of the block is shown


def hidden_text(page: Page, kept: NDArray[np.bool_] | None = None) -> HiddenText | None:
    """Return how all nodes and blocks of a page are hidden; None if no text is.

    Parameters
    ----------
    page
        The page.
    kept
        (n_blocks,) the blocks that matter: None is returned if none of these is hidden. None for all.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<style>.a{display:none}</style><p>one<p class=a>two<p hidden>three")
    >>> hidden_text(page).blocks.tolist()
    [0, 2, 1]
    """
    rules = _Rules(page) if "style" in page.nodes.names and page.utf8 is not None else None
    if not page.blocks.any_flag(_MARKED) and (rules is None or not rules.by_name):  # most pages
        return None
    if kept is not None and _hidden_nodes(page, rules, kept) is None:
        return None
    ways = _hidden_nodes(page, rules)
    if ways is None:
        return None
    return HiddenText(ways, np.minimum(ways[page.blocks.node], ways[page.blocks.last_node]))


def _hidden_nodes(page: Page, rules: _Rules | None, kept: NDArray[np.bool_] | None = None) -> NDArray[np.int8] | None:
    """Return (n_nodes,) how each node is hidden, only around kept blocks if those are given; None if none is."""
    nodes, blocks = page.nodes, page.blocks
    own = np.zeros(len(nodes), dtype=np.int8)
    flags = blocks.flags if kept is None else blocks.flags[kept]
    if np.bitwise_or.reduce(flags, initial=0) & _MARKED:
        rows = (flags & _MARKED > 0).nonzero()[0]
        places = blocks.node[rows if kept is None else kept.nonzero()[0][rows]]
        n_before = np.bincount(places + 1, minlength=len(nodes) + 1).cumsum()  # such blocks before each node
        elements = np.flatnonzero(
            (nodes.flags & _MARKED > 0) & (nodes.tag != 0) & (n_before[nodes.end] > n_before[:-1])
        )
        sets, of_element = nodes.attribute_sets(elements.tolist())
        own[elements] = np.array(list(map(_by_attributes, sets)), dtype=np.int8)[of_element]
    if rules is not None and rules.by_name and len(flags):
        rules.apply(blocks.node if kept is None else blocks.node[kept], own)
    return _inherited(nodes, own) if np.count_nonzero(own) else None


def hiding_names(page: Page) -> list[str | None]:
    """Return (n_blocks,) names of the ways in which blocks are hidden; None for shown ones.

    Examples
    --------
    >>> import blockml
    >>> hiding_names(blockml.parse("<p>one<p hidden>two<p style='left: -9999px; position: absolute'>three"))
    [None, 'attribute', 'off_screen']
    """
    hidden = hidden_text(page)
    if hidden is None:
        return [None] * len(page.blocks)
    names = [way.label for way in Hiding]
    return [names[way] for way in hidden.blocks.tolist()]


def mark_hidden(page: Page, kept: NDArray[np.bool_]) -> Page:
    """Return the page with marks around the kept texts that are hidden: ``[hidden: text]``.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Cats<b hidden> and dogs</b> rule.")
    >>> mark_hidden(page, np.ones(3, dtype=bool)).blocks.texts
    ('Cats', '[hidden: and dogs]', 'rule.')
    """
    hidden = hidden_text(page, kept)
    if hidden is None:
        return page
    blocks, nodes = page.blocks, page.nodes
    rows = (kept & (hidden.blocks > 0)).nonzero()[0]
    owner = nodes.outermost(hidden.nodes > 0).searchsorted(blocks.node[rows], side="right")
    starts = np.append(True, (np.diff(owner) != 0) | (np.diff(rows) > 1))[: len(rows)]
    own_texts, node_texts = list(blocks.texts), list(nodes.texts)
    for row in rows[starts].tolist():
        own_texts[row] = f"{_MARK}{own_texts[row]}"
        node = int(blocks.node[row])
        text = node_texts[node].lstrip()
        blanks = node_texts[node][: len(node_texts[node]) - len(text)]
        node_texts[node] = f"{blanks}{_MARK}{text}"
    for row in rows[np.append(starts[1:], True)[: len(rows)]].tolist():
        own_texts[row] += "]"
        node = int(blocks.last_node[row])
        node_texts[node] = f"{node_texts[node].rstrip()}]"
    return replace(page, nodes=replace(nodes, texts=node_texts), blocks=replace(blocks, texts=tuple(own_texts)))


_hiding_of_short = lru_cache(1024)(hiding_of)  # pages repeat short styles


def _by_attributes(held: Mapping[str, str]) -> Hiding:
    """Tell how the attributes of an element hide it."""
    if "hidden" in held:
        return Hiding.ATTRIBUTE
    style = held.get("style") or ""
    if way := (_hiding_of_short if len(style) <= _SHORT else hiding_of)(style):
        return way
    return Hiding.SCREEN_READER if _OF_READERS.search(held.get("class") or "") else Hiding.SHOWN


class _Rules:
    """The rules of style elements of a page that hide elements."""

    def __init__(self, page: Page) -> None:
        self.nodes, self._sheets = page.nodes, StyleSheets(page)
        self.by_name: dict[str, list[HidingSelector]] = {}  #: By a class or id of each, or else by element name.
        self._revealed: dict[HidingSelector, bool] = {}
        for selector in self._sheets.selectors():
            self.by_name.setdefault(min(selector.names, default=selector.element), []).append(selector)

    def apply(self, places: NDArray[np.int32], own: NDArray[np.int8]) -> None:
        """Mark in ``own`` (n_nodes,) the elements around some nodes that are hidden, in place."""
        nodes = self.nodes
        elements = np.array(self._candidates, dtype=np.int32)
        is_around = places.searchsorted(elements) < places.searchsorted(nodes.end[elements])
        for element in elements[is_around & (own[elements] == 0)].tolist():
            held, name = nodes.attributes[element], nodes.name(element)
            shown: dict[Hiding, bool] = {}  # whether its attribute style undoes each way of hiding
            # In the order of the attribute, because the first rule that hides the element counts.
            names = dict.fromkeys([*(f".{word}" for word in (held.get("class") or "").split()), f"#{held.get('id')}"])
            for selector in (selector for key in (*names, name) for selector in self.by_name.get(key, ())):
                if selector.element not in ("", name) or not selector.names <= names.keys():
                    continue
                if selector not in self._revealed:
                    self._revealed[selector] = self._sheets.reveals(selector)
                if self._revealed[selector]:
                    continue
                if (way := selector.way) not in shown:
                    shown[way] = shows(held.get("style") or "", way)
                if not shown[way]:
                    own[element] = way
                    break

    @cached_property
    def _candidates(self) -> list[int]:
        """The elements whose attributes contain one of the classes and ids, or that have one of the names."""
        nodes, names = self.nodes, self.by_name
        words = [name[1:].encode() for name in names if name[0] in ".#"]
        if any(len(word) < _MIN_WORD for word in words):
            return np.flatnonzero(nodes.tag).tolist()
        found = {node for name in names if name[0] not in ".#" for node in nodes.indices(name).tolist()}
        for start in range(0, len(words), _MOST_WORDS):
            for held in nodes.with_words(tuple(words[start : start + _MOST_WORDS])).values():
                found.update(held)
        return sorted(found)


def _inherited(nodes: Nodes, own: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Return (n_nodes,) how each node is hidden by itself or an ancestor; the outermost one counts."""
    found = np.zeros(len(nodes), dtype=np.int8)
    formulas = nodes.named(_FORMULAS).nonzero()[0]
    after = 0
    for element in own.nonzero()[0].tolist():
        end = int(nodes.end[element])
        if element < after or (len(formulas) and formulas.searchsorted(element) < formulas.searchsorted(end)):
            continue
        if own[element] == Hiding.SIZE:  # elements inside of it may have a size
            inside = slice(element + 1, end)
            found[inside][(nodes.parent[inside] == element) & (nodes.tag[inside] == 0)] = Hiding.SIZE
        else:
            found[element:end] = own[element]
            after = end
    return found if np.count_nonzero(found) else None
