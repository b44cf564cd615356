"""Kept blocks as an HTML fragment: the page's own elements, pruned to what was kept, without anything active."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes, Page
from blockml.parsing.lines import VOID
from blockml.parsing.segmentation import BREAKING

__all__ = ["render_html"]

#: Elements that appear in the fragment; all others are left out and what they hold stays.
_ELEMENTS = frozenset(
    "a abbr article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em "
    "figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li main mark ol p pre q rp rt ruby s samp section small "
    "strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr".split()
)
#: Elements that the fragment may begin below; a paragraph or list is kept with its own element.
_CONTAINERS = frozenset({"html", "body", "div", "article", "main", "section"})
#: Parts of a table. A table around another one, or of a single column, is layout: its parts are written as ``div``.
_TABLE_PARTS = frozenset("table tbody thead tfoot tr td th caption colgroup col".split())
_ATTRIBUTES = frozenset("alt cite colspan datetime dir href lang rowspan src start title".split())
_LINKS = frozenset({"cite", "href", "src"})
#: A scheme outside these is left out: it might run something.
_SAFE_LINK = re.compile(r"(?:https?:|mailto:|tel:|[^:]*(?:[/?#]|$))", re.IGNORECASE)
#: Programs that read HTML recurse: deeper elements are left out, their text stays.
_MAX_DEPTH = 128


def render_html(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Write the kept blocks as HTML.

    The fragment begins below the deepest element that holds all kept blocks. Scripts, styles, event handlers and
    links of unknown schemes never appear; images, rules and line breaks do if the text on both sides was kept.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<nav>Menu</nav><main><h1>A</h1><p onclick='x()'>B <a href='/c'>c</a> &lt;</p></main>")
    >>> render_html(page, [False, True, True])
    '<h1>A</h1><p>B <a href="/c">c</a> &lt;</p>'
    """
    nodes, blocks = page.nodes, page.blocks
    rows = np.flatnonzero(np.asarray(kept, dtype=bool))
    if not len(rows):
        return ""
    first, stop = _span(nodes, blocks.parent[rows])
    shown = _shown(nodes, page, rows)
    layout = _layout_parts(nodes, shown)
    out: list[str] = []
    open_tags: list[tuple[int, str]] = []  # where it ends, its end tag
    gap = ""  # what parts the next text from the last one, if a text was left out between them
    for node in range(first, stop):
        while open_tags and open_tags[-1][0] <= node:
            out.append(open_tags.pop()[1])
        name = nodes.name(node)
        if not shown[node]:
            if name == "#text":
                lines = nodes.flags[node] & Flag.PREFORMATTED and "\n" in nodes.texts[node]
                gap = "\n" if lines or gap == "\n" else " "
            continue
        if name in BREAKING:
            gap = ""
        if name == "#text":
            text = nodes.texts[node] if nodes.flags[node] & Flag.PREFORMATTED else _squeezed(nodes.texts[node])
            out.append(("" if text[0].isspace() else gap) + html.escape(text, quote=False))
            gap = ""
        elif node in layout:
            if name != "col" and len(open_tags) < _MAX_DEPTH:
                out.append("<div>")
                open_tags.append((int(nodes.end[node]), "</div>"))
        elif name in VOID:
            out.append(f"<{name}{_attributes(nodes.attributes[node])}>")
        elif len(open_tags) < _MAX_DEPTH:
            out.append(f"<{name}{_attributes(nodes.attributes[node])}>")
            open_tags.append((int(nodes.end[node]), f"</{name}>"))
    out.extend(end for _, end in reversed(open_tags))
    fragment = "".join(out).strip()
    around = [first - 1, *nodes.ancestors(first - 1)] if first else []
    direction = next(
        (nodes.attributes[node]["dir"].lower() for node in around if "dir" in nodes.attributes[node]), "ltr"
    )
    return f'<div dir="{html.escape(direction)}">{fragment}</div>' if direction != "ltr" else fragment


def _span(nodes: Nodes, parents: NDArray[np.int32]) -> tuple[int, int]:
    """First node and end of what lies below the deepest container around all of the given elements."""
    top, last = int(parents.min()), int(parents.max())
    while nodes.parent[top] >= 0 and (nodes.end[top] <= last or nodes.name(top) not in _CONTAINERS):
        top = int(nodes.parent[top])
    if nodes.end[top] <= last:  # content after the first </html> has a root of its own
        return 0, len(nodes)
    return top + 1, int(nodes.end[top])


def _shown(nodes: Nodes, page: Page, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is written."""
    blocks = page.blocks
    n = len(nodes)
    is_text = (nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)
    change = np.zeros(n + 1, dtype=np.int64)
    np.add.at(change, blocks.node[rows], 1)
    np.add.at(change, blocks.last_node[rows] + 1, -1)
    text_shown = is_text & (change[:n].cumsum() > 0)
    # An element is written if it holds a text that is.
    before = np.concatenate([[0], np.cumsum(text_shown)])
    holds = before[nodes.end] > before[np.arange(n)]
    # A void element is written between two texts that are.
    texts = np.flatnonzero(is_text)
    place = np.searchsorted(texts, np.arange(n))
    around = np.concatenate([[False], text_shown[texts], [False]])
    between = around[place] & around[place + 1]
    legal = np.array([name in _ELEMENTS for name in nodes.names])[nodes.tag]
    is_void = np.array([name in VOID for name in nodes.names])[nodes.tag]
    result: NDArray[np.bool_] = text_shown | (legal & np.where(is_void, between, holds))
    # A row that is written has all its cells, or those after a missing one would move to another column.
    is_cell = np.array([name in ("td", "th") for name in nodes.names])[nodes.tag]
    is_row = np.array([name == "tr" for name in nodes.names])[nodes.tag]
    result |= is_cell & (nodes.parent >= 0) & (is_row & result)[nodes.parent]
    return result


def _layout_parts(nodes: Nodes, shown: NDArray[np.bool_]) -> frozenset[int]:
    """Nodes of tables that only arrange the page, and of all their rows and cells."""
    parts = np.array([name in _TABLE_PARTS for name in nodes.names])[nodes.tag] & shown
    if not parts.any():
        return frozenset()
    owner: dict[int, int] = {}  # part of a table to its table
    excess: dict[int, int] = {}  # cells of a table beyond one a row
    layout: set[int] = set()
    open_tables: list[int] = []
    for node in np.flatnonzero(parts).tolist():
        while open_tables and nodes.end[open_tables[-1]] <= node:
            open_tables.pop()
        name = nodes.name(node)
        if name == "table":
            layout.update(open_tables)
            open_tables.append(node)
            excess[node] = 0
        if open_tables:
            owner[node] = open_tables[-1]
            excess[open_tables[-1]] += {"td": 1, "th": 1, "tr": -1}.get(name, 0)
    layout.update(table for table, count in excess.items() if count <= 0)
    return frozenset(node for node, table in owner.items() if table in layout)


def _squeezed(text: str) -> str:
    """Runs of white space as one blank, also at the ends."""
    inner = " ".join(text.split())
    return " " * text[:1].isspace() + inner + " " * (text[-1:].isspace() and bool(inner))


def _attributes(attributes: Mapping[str, str]) -> str:
    parts = []
    for name, value in attributes.items():
        if name not in _ATTRIBUTES or (name in _LINKS and not _SAFE_LINK.match(value.strip())):
            continue
        parts.append(f' {name}="{html.escape(value)}"')
    return "".join(parts)
