"""The refined document written out as lines, to test its line numbers (Kim et al. 2013, sections 3.2 and 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blockml.page import Flag, Nodes
from blockml.parsing.segmentation import VOID

__all__ = ["Line", "refined_lines"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the refined document."""

    number: int  #: starting at 1
    kind: Literal["start", "end", "text"]
    value: str  #: the element's name, or the text with white space normalised
    node: int  #: index of the node


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
