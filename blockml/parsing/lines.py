"""The refined document: one tag or text per line, the unit of distances in Kim et al. 2013 (sections 3.2 and 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes

__all__ = ["VOID", "Line", "line_numbers", "refined_lines"]

#: Elements without an end tag (HTML standard, "void elements", and the obsolete ``param``).
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the refined document."""

    number: int  #: from 1
    kind: Literal["start", "end", "text"]
    value: str  #: the element's name, or the text with white space normalised
    node: int  #: index of the node


def line_numbers(nodes: Nodes) -> NDArray[np.int32]:
    """Return (n_nodes,) line of each node's start tag or text, from 1.

    Scripts, styles and similar elements are pruned from the refined document; they get the line of the next node.
    """
    n = len(nodes)
    listed = (nodes.flags & Flag.DROPPED) == 0
    void = nodes.named(VOID)
    ended = listed & ~void & (nodes.tag != 0)
    starts_before = np.cumsum(listed) - listed
    ends_before = np.bincount(nodes.end[ended], minlength=n + 1)[:n].cumsum()
    numbers: NDArray[np.int32] = (1 + starts_before + ends_before).astype(np.int32)
    return numbers


def refined_lines(nodes: Nodes) -> list[Line]:
    """Return the lines of the refined document.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Hello <a href='/'>world</a></p>")
    >>> [line.value if line.kind == "text" else f"{line.kind} {line.value}" for line in refined_lines(page.nodes)][4:]
    ['start p', 'Hello', 'start a', 'world', 'end a', 'end p', 'end body', 'end html']
    """
    lines: list[Line] = []
    open_nodes: list[int] = []

    def close(before: int) -> None:
        while open_nodes and nodes.end[open_nodes[-1]] <= before:
            node = open_nodes.pop()
            lines.append(Line(len(lines) + 1, "end", nodes.name(node), node))

    for node in range(len(nodes)):
        close(node)
        if nodes.flags[node] & Flag.DROPPED:
            continue
        name = nodes.name(node)
        if name == "#text":
            lines.append(Line(len(lines) + 1, "text", " ".join(nodes.texts[node].split()), node))
            continue
        lines.append(Line(len(lines) + 1, "start", name, node))
        if name not in VOID:
            open_nodes.append(node)
    close(len(nodes))
    return lines
