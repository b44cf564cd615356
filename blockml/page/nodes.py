"""The tree of a page as columns, in document order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from blockml.page.attributes import Attributes, nodes_with_any, nodes_with_words
from blockml.text.words import counted, lazy_pattern

#: Levels after which an XPath starts again, and maximum characters of all XPaths: per node, and a constant added to
#: that.
_MAX_STEPS, _PER_NODE, _SPARE = 256, 128, 2**20
#: Maximum number of element names that are faster compared one by one than looked up.
_FEW = 5
#: Maximum characters of a position in an XPath, with the closing bracket.
_MAX_DIGITS = 20
#: Names of elements, and values of ``id``, that a CSS selector contains without escapes.
_CSS_NAME = lazy_pattern(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}")
#: Element names that an XPath can contain.
_PLAIN_NAME = lazy_pattern(r"[A-Za-z_][\w.-]*")


class Flag(IntFlag):
    """Properties of a node, inherited from its ancestors. A block has the flags of its first text node."""

    NONE = 0
    HEAD = 1  #: inside ``head`` or ``title``, or text that browsers don't show: it forms no blocks
    LINK = 2  #: inside ``a``
    HIDDEN = 4  #: ``hidden``, ``display:none`` or ``visibility:hidden`` on the node or an ancestor
    NOSCRIPT = 8  #: inside ``noscript``
    PREFORMATTED = 16  #: inside ``pre``, ``textarea``, ``listing`` or ``xmp``: white space is significant
    DROPPED = 32  #: a script, style or similar element, kept as a childless separator without its text
    CONCEALED = 64  #: perhaps hidden by another style or class: see :func:`blockml.parsing.hiding.hidden_text`


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Elements and text nodes of a page in document order (pre-order), as columns of length n.

    The descendants of node ``i`` are ``i + 1 … end[i] - 1``. Comments and processing instructions are not nodes. White
    space between two tags is not a node either; it is prepended to the next text, as one blank if it has a line break
    and is not preformatted.
    """

    names: tuple[str, ...]  #: element names; ``names[0]`` is ``#text``
    tag: NDArray[np.int32]  #: (n,) index into ``names``
    parent: NDArray[np.int32]  #: (n,) index of the parent; -1 for a root (content after ``</html>`` has its own roots)
    depth: NDArray[np.int32]  #: (n,) number of ancestors
    end: NDArray[np.int32]  #: (n,) index one past the last descendant
    flags: NDArray[np.uint8]  #: (n,) :class:`Flag` bits
    attributes: Sequence[Mapping[str, str]]  #: (n,) attributes by lower-case name; empty for text
    texts: Sequence[str]  #: (n,) raw text of a text node; empty for elements

    def __repr__(self) -> str:
        return f"Nodes({counted(len(self), 'node')})"

    def __len__(self) -> int:
        return len(self.tag)

    @property
    def has_custom_elements(self) -> bool:
        """Whether any element has a name with a hyphen, as custom elements do."""
        return "-" in "".join(self.names)

    def name(self, node: int) -> str:
        """Return the name of an element, or ``#text``."""
        return self.names[self.tag.item(node)]

    def named(self, names: Set[str]) -> NDArray[np.bool_]:
        """Return (n,) whether each node is an element with one of these names.

        Examples
        --------
        >>> import blockml
        >>> blockml.parse("<p>one<br>two</p>").nodes.named({"p", "br"}).tolist()
        [False, False, False, True, False, True, False]
        """
        own = [tag for tag, name in enumerate(self.names) if name in names]
        if len(own) > _FEW:
            return np.array([name in names for name in self.names], dtype=bool)[self.tag]
        found = np.zeros(len(self.tag), dtype=bool) if not own else self.tag == own[0]
        for tag in own[1:]:
            found |= self.tag == tag
        return found

    def indices(self, name: str) -> NDArray[np.int64]:
        """Return the indices of the elements with this name, in document order."""
        if name not in self.names:
            return np.zeros(0, dtype=np.int64)
        indices: NDArray[np.int64] = (self.tag == self.names.index(name)).nonzero()[0].astype(np.int64, copy=False)
        return indices

    def outermost(self, marked: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the nodes marked in ``marked`` (n,) whose parent is not marked.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<div>a<div>b</div></div><div>c").nodes
        >>> nodes.outermost(nodes.named({"div"})).tolist()
        [3, 7]
        """
        found: NDArray[np.intp] = (marked & ~np.append(marked, False)[self.parent]).nonzero()[
            0
        ]  # a root's parent is -1
        return found

    def innermost(self, elements: NDArray[np.integer], places: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return (n_places,) the innermost of some elements around each node of ``places``, or itself; -1 without one.

        Parameters
        ----------
        elements
            (n_elements,) some elements, in document order.
        places
            (n_places,) nodes; -1 is outside of all elements.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<ul><li>a<ul><li>b</ul>c</ul>d").nodes
        >>> nodes.innermost(nodes.indices("li"), np.flatnonzero(nodes.tag == 0)).tolist()
        [4, 7, 4, -1]
        """
        if not len(elements):
            return np.full(len(places), -1, dtype=np.int32)
        table = np.full((2, len(elements) + 1), -1, dtype=np.int32)  # the first one is "no element"
        table[0, 1:], table[1, 1:] = elements, self.end[elements]
        starts, ends = table[0], table[1]  # by index: iterating over an array ends with an exception, which is slow
        n_begun = starts[1:].searchsorted(places, side="right")  # elements that begin at or before the place
        if not np.count_nonzero(ends[1:-1] > starts[2:]):  # none is in another one
            return np.where(ends[n_begun] > places, starts[n_begun], np.int32(-1))
        # The innermost one is the last of its level that begins before the place. An element's level counts those that
        # are open where it begins.
        ended = np.sort(ends[1:])
        numbers = np.arange(1, len(elements) + 1)
        levels = numbers - ended.searchsorted(elements, side="right")
        keys = np.sort(levels * (len(elements) + 1) + numbers)
        open_at = n_begun - ended.searchsorted(places, side="right")
        last = keys.searchsorted(open_at * (len(elements) + 1) + n_begun, side="right") - 1
        number = keys[last] % (len(elements) + 1)
        return np.where(open_at > 0, elements[number - 1], -1).astype(np.int32)

    def attribute_sets(self, nodes: Sequence[int]) -> tuple[list[Mapping[str, str]], list[int]]:
        """Return the distinct attribute sets of some nodes (n,), and (n,) the place of each node's set among them.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p id=a>One<p>Two<p id=a>Three").nodes
        >>> nodes.attribute_sets(nodes.indices("p").tolist())
        ([{'id': 'a'}, {}], [0, 1, 0])
        """
        held = self.attributes
        if not isinstance(held, Attributes):
            return [held[node] for node in nodes], list(range(len(nodes)))
        numbers = held.number[list(nodes)].tolist() if len(nodes) else []
        places = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
        return [held.mapping(number) for number in places], [places[number] for number in numbers]

    def with_words(self, words: tuple[bytes, ...], *, any_case: bool = False) -> Mapping[bytes, list[int]]:
        """Return, by word, the elements with an ASCII word in their attributes' (lower-case) names or values.

        Parameters
        ----------
        words
            At most 63 words, each of at least two characters.
        any_case
            Whether words, given in lower case, match in any case.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p class=Author>Ann <b itemprop=author>Lee</b>")
        >>> page.nodes.with_words((b"uthor", b"itemprop"))
        {b'uthor': [3, 5], b'itemprop': [5]}
        """
        return nodes_with_words(self.attributes, words, any_case=any_case)

    def with_any(self, words: tuple[bytes, ...], *, any_case: bool = False) -> list[int]:
        """Return the elements with one of some words in their attributes, in order; see :meth:`with_words`.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p class=Author>Ann <b itemprop=author>Lee</b>")
        >>> page.nodes.with_any((b"uthor", b"itemprop"))
        [3, 5]
        """
        return nodes_with_any(self.attributes, words, any_case=any_case)

    def only(self, stays: NDArray[np.bool_]) -> Nodes:
        """Return the nodes marked in ``stays`` (n,), which must include the parent of each marked node.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p>one<p>two").nodes
        >>> nodes.parent.tolist(), nodes.only(nodes.tag != 0).parent.tolist()
        ([-1, 0, 0, 2, 3, 2, 5], [-1, 0, 0, 2, 2])
        """
        number = np.append(np.cumsum(stays) - stays, stays.sum()).astype(np.int32)  # index among the nodes that stay
        parent = self.parent[stays]
        rows = np.flatnonzero(stays).tolist()
        return Nodes(
            names=self.names,
            tag=self.tag[stays],
            parent=np.where(parent < 0, np.int32(-1), number[parent]),
            depth=self.depth[stays],
            end=number[self.end[stays]],
            flags=self.flags[stays],
            attributes=[self.attributes[row] for row in rows],
            texts=[self.texts[row] for row in rows],
        )

    def ancestors(self, node: int, most: int | None = None) -> list[int]:
        """Return the indices of a node's ancestors, innermost first, at most ``most`` of them."""
        chain, parent = list[int](), self.parent.item
        while len(chain) != most and (node := parent(node)) >= 0:
            chain.append(node)
        return chain

    def xpath(self, node: int) -> str:
        """Return the absolute XPath of an element, or of the parent of a text node.

        It starts again at every 256th level, as in ``/descendant::*[900]/p[2]``, and at every element once the paths
        have very many characters; otherwise the paths of thousands of deep elements would be far longer than the page.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>one</p><p>two</p>")
        >>> page.nodes.xpath(page.blocks[1].node)
        '/html/body/p[2]'
        """
        return self.xpaths([node])[0]

    def xpaths(self, nodes: Sequence[int]) -> list[str]:
        """Return the XPaths of many nodes; see :meth:`xpath`."""
        tag, parent, depth = self.tag.tolist(), self.parent.tolist(), self.depth.tolist()
        position, n_siblings = self._positions(self.tag)
        writable = [_PLAIN_NAME.fullmatch(name) is not None for name in self.names]
        among_elements = position if all(writable[1:]) else self._positions(self.tag != 0)[0]
        number_on_page = (self.tag != 0).cumsum()
        paths, left = {-1: ""}, _PER_NODE * len(self) + _SPARE
        for node in _downwards(nodes, parent, paths):
            path = paths[parent[node]]
            if tag[node] == 0:
                paths[node] = path
            elif depth[node] % _MAX_STEPS == _MAX_STEPS - 1 or left < 0:
                paths[node] = f"/descendant::*[{number_on_page[node]}]"
            elif writable[tag[node]]:
                number = f"[{position[node]}]" if n_siblings[node] > 1 else ""
                paths[node] = f"{path}/{self.names[tag[node]]}{number}"
            else:  # XPath has no syntax for this name
                paths[node] = f"{path}/*[{among_elements[node]}]"
            left -= len(paths[node])
        return [paths[node] for node in nodes]

    def selectors(self, nodes: Sequence[int]) -> list[str]:
        """Return CSS selectors of many elements, or of the parents of text nodes.

        A selector starts at the nearest element whose ``id`` occurs once, or else at ``html``. It is empty for a very
        deep element, for one outside of ``html``, and once the selectors have very many characters.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<div id=main><p>one</p><p>two</p></div><p>three</p>")
        >>> page.nodes.selectors([block.node for block in page.blocks])
        ['#main > p:nth-of-type(1)', '#main > p:nth-of-type(2)', 'html > body > p']
        """
        tag, parent, ids = self.tag.tolist(), self.parent.tolist(), self._ids()
        position, n_siblings = self._positions(self.tag)
        writable = [_CSS_NAME.fullmatch(name) is not None for name in self.names]
        among_elements = position if all(writable[1:]) else self._positions(self.tag != 0)[0]
        counts = Counter(ids.values())
        paths, left = {-1: ""}, _PER_NODE * len(self) + _SPARE
        for node in _downwards(nodes, parent, paths):
            above, name = paths[parent[node]], ids.get(node, "")
            if tag[node] == 0:
                paths[node] = above
            elif counts[name] == 1 and _CSS_NAME.fullmatch(name):
                paths[node] = f"#{name}"
            elif parent[node] < 0:
                paths[node] = "html" if node == 0 and self.name(node) == "html" else ""
            elif left < 0 or not above or above.count(">") >= _MAX_STEPS:
                paths[node] = ""
            elif writable[tag[node]]:
                number = f":nth-of-type({position[node]})" if n_siblings[node] > 1 else ""
                paths[node] = f"{above} > {self.names[tag[node]]}{number}"
            else:  # CSS would need escapes for this name
                paths[node] = f"{above} > *:nth-child({among_elements[node]})"
            left -= len(paths[node])
        return [paths[node] for node in nodes]

    def nearest_ids(self, nodes: Sequence[int]) -> list[str | None]:
        """Return the ``id`` of each node's nearest element that has one, the node itself or around it; None without.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<div id=main><p id=first>one</p><p>two</p></div><p>three</p>")
        >>> page.nodes.nearest_ids([block.node for block in page.blocks])
        ['first', 'main', None]
        """
        parent, ids = self.parent.tolist(), self._ids()
        found: dict[int, str | None] = {-1: None}
        for node in _downwards(nodes, parent, found):
            found[node] = ids.get(node) or found[parent[node]]
        return [found[node] for node in nodes]

    def _ids(self) -> dict[int, str]:
        """Return the ``id`` of each element that has one."""
        # A zero byte ends each name and each value.
        return {node: name for node in self.with_any((b"id\0",)) if (name := self.attributes[node].get("id"))}

    def _positions(self, kind: NDArray[np.generic]) -> tuple[list[int], list[int]]:
        """Return (n,) position of each node among its siblings of the same kind, from 1, and (n,) their number."""
        order = np.lexsort((kind, self.parent))  # stable: siblings of one kind are adjacent, in document order
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(self.parent[order]) != 0) | (kind[order][1:] != kind[order][:-1])
        group = np.cumsum(new) - 1
        position, n_siblings = np.empty((2, len(order)), dtype=np.int64)
        position[order] = np.arange(len(order)) - np.flatnonzero(new)[group] + 1
        n_siblings[order] = np.bincount(group)[group]
        return position.tolist(), n_siblings.tolist()

    def find(self, xpath: str) -> int | None:
        """Return the index of the element with an XPath as written by :meth:`xpath`; None if there isn't one.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p>one</p><p>two</p>").nodes
        >>> nodes.name(nodes.find("/html/body/p[2]")), nodes.find("/html/body/div")
        ('p', None)
        """
        node, last = -1, len(self)
        for step in xpath.strip("/").split("/"):
            name, _, position = step.removeprefix("descendant::").partition("[")
            if (name not in self.names and name != "*") or not re.fullmatch(r"(\d+\])?", position):
                return None
            window = slice(node + 1, last)
            tags = self.tag[window]
            is_named = tags != 0 if name == "*" else tags == self.names.index(name)
            is_below = (self.parent[window] == node) | step.startswith("descendant::")
            children = (is_below & is_named).nonzero()[0]
            if len(position) > _MAX_DIGITS:  # Python refuses to read thousands of them
                return None
            number = int(position.rstrip("]") or 1)
            if not 1 <= number <= len(children):
                return None
            node += 1 + int(children[number - 1])
            last = int(self.end[node])
        return node


def _downwards(nodes: Sequence[int], parent: Sequence[int], known: Container[int]) -> Iterator[int]:
    """Yield the nodes, and those around them, that are not known when it is their turn, parents first."""
    for node in nodes:
        chain = []
        climbing = int(node)
        while climbing not in known:
            chain.append(climbing)
            climbing = parent[climbing]
        yield from reversed(chain)
