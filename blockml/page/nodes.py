"""The tree of a page as columns, in document order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flag", "Nodes"]

#: Element names that an XPath can hold.
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*")


class Flag(IntFlag):
    """Properties of a node (and, of its first text, of a block) that its ancestors or attributes give it."""

    NONE = 0
    HEAD = 1  #: inside ``head`` or a ``title``: never a block
    LINK = 2  #: inside ``a``
    HIDDEN = 4  #: ``hidden``, ``display:none`` or ``visibility:hidden`` on it or an ancestor
    NOSCRIPT = 8  #: inside ``noscript``
    PREFORMATTED = 16  #: inside ``pre``, ``textarea``, ``listing`` or ``xmp``: white space counts
    DROPPED = 32  #: a script, style or the like, kept as a childless separator without its text


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The tree of a page in document order (pre-order): elements and text nodes, as columns.

    ``n`` is the number of nodes; node ``i`` has its descendants at ``i + 1 … end[i] - 1``. Comments and processing
    instructions are not nodes. Text that is only white space is no node either; it shows as white space at the
    start of the next text.
    """

    names: tuple[str, ...]
    """Element names; ``names[0]`` is ``#text``."""
    tag: NDArray[np.int32]
    """(n,) index into ``names``."""
    parent: NDArray[np.int32]
    """(n,) index of the parent node; -1 for a root. A page with content after ``</html>`` has several roots."""
    depth: NDArray[np.int32]
    """(n,) number of ancestors."""
    end: NDArray[np.int32]
    """(n,) index one past the node's last descendant."""
    flags: NDArray[np.uint8]
    """(n,) :class:`Flag` bits, inherited."""
    attributes: Sequence[Mapping[str, str]]
    """(n,) attributes by lower-case name; empty for text."""
    texts: Sequence[str]
    """(n,) raw text of a text node; empty for elements."""

    def __len__(self) -> int:
        return len(self.tag)

    def name(self, node: int) -> str:
        """Name of one node: an element name or ``#text``."""
        return self.names[int(self.tag[node])]

    def named(self, names: Set[str]) -> NDArray[np.bool_]:
        """(n,) whether a node is an element with one of these names.

        Examples
        --------
        >>> import blockml
        >>> blockml.parse("<p>one<br>two</p>").nodes.named({"p", "br"}).tolist()
        [False, False, False, True, False, True, False]
        """
        return np.array([name in names for name in self.names], dtype=bool)[self.tag]

    def places(self, name: str) -> NDArray[np.int64]:
        """Indices of the elements with a name, rising."""
        if name not in self.names:
            return np.zeros(0, dtype=np.int64)
        places: NDArray[np.int64] = (self.tag == self.names.index(name)).nonzero()[0].astype(np.int64, copy=False)
        return places

    def ancestors(self, node: int) -> list[int]:
        """Indices of a node's ancestors, innermost first."""
        chain = []
        while (node := int(self.parent[node])) >= 0:
            chain.append(node)
        return chain

    def xpath(self, node: int) -> str:
        """Absolute XPath of an element, or of the element that holds a text node.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>one</p><p>two</p>")
        >>> page.nodes.xpath(page.blocks[1].node)
        '/html/body/p[2]'
        """
        return self.xpaths([node])[0]

    def xpaths(self, nodes: Sequence[int]) -> list[str]:
        """XPaths of many nodes at once; see :meth:`xpath`."""
        # Siblings of one name lie side by side, in document order, once sorted by parent and tag.
        order = np.lexsort((self.tag, self.parent))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(self.parent[order]) != 0) | (np.diff(self.tag[order]) != 0)
        group = np.cumsum(new) - 1
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.flatnonzero(new)[group] + 1
        n_alike = np.empty(len(order), dtype=np.int64)
        n_alike[order] = np.bincount(group)[group]
        known = {-1: ""}
        plain = [_PLAIN_NAME.fullmatch(name) is not None for name in self.names]
        if not all(plain):
            place_of_any = self._places_among_elements()
        for node in nodes:
            chain = []
            climbing = int(node)
            while climbing not in known:
                chain.append(climbing)
                climbing = int(self.parent[climbing])
            for element in reversed(chain):
                parent = known[int(self.parent[element])]
                if self.tag[element] == 0:
                    known[element] = parent
                elif plain[int(self.tag[element])]:
                    number = f"[{place[element]}]" if n_alike[element] > 1 else ""
                    known[element] = f"{parent}/{self.name(element)}{number}"
                else:  # no name that XPath can write: count among all elements
                    known[element] = f"{parent}/*[{place_of_any[element]}]"
        return [known[node] for node in nodes]

    def _places_among_elements(self) -> NDArray[np.int64]:
        """(n,) number of each element among the elements with the same parent, from 1."""
        elements = np.flatnonzero(self.tag != 0)
        order = elements[np.argsort(self.parent[elements], kind="stable")]
        new = np.ones(len(order), dtype=bool)
        new[1:] = np.diff(self.parent[order]) != 0
        places = np.zeros(len(self), dtype=np.int64)
        places[order] = np.arange(len(order)) - np.flatnonzero(new)[np.cumsum(new) - 1] + 1
        return places

    def find(self, xpath: str) -> int | None:
        """Index of the element with an absolute XPath as :meth:`xpath` writes it; None if there is none.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p>one</p><p>two</p>").nodes
        >>> nodes.name(nodes.find("/html/body/p[2]")), nodes.find("/html/body/div")
        ('p', None)
        """
        node, last = -1, len(self)
        for step in xpath.strip("/").split("/"):
            name, _, place = step.partition("[")
            if name not in self.names and name != "*":
                return None
            window = slice(node + 1, last)
            tags = self.tag[window]
            alike = (self.parent[window] == node) & (tags != 0 if name == "*" else tags == self.names.index(name))
            children = alike.nonzero()[0]
            if not re.fullmatch(r"(\d+\])?", place):
                return None  # a step that xpath() never writes
            number = int(place.rstrip("]") or 1)
            if not 1 <= number <= len(children):
                return None
            node += 1 + int(children[number - 1])
            last = int(self.end[node])
        return node
