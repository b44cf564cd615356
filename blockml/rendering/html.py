"""Rendering of kept blocks as an HTML fragment of the page's own elements, without scripts, styles and handlers."""

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

#: Elements written to the fragment; of other elements only the content is written.
_ELEMENTS = frozenset(
    "a abbr article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em "
    "figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li main mark ol p pre q rp rt ruby s samp section small "
    "strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr".split()
)
#: Elements that may be left out around the whole fragment; a paragraph or list is written with its own element.
_CONTAINERS = frozenset({"html", "body", "div", "article", "main", "section"})
#: Parts of a table. A layout table (around another table, or of a single column) is written as ``div`` elements.
_TABLE_PARTS = frozenset("table tbody thead tfoot tr td th caption colgroup col".split())
_ATTRIBUTES = frozenset("alt cite colspan datetime dir href lang rowspan src start title".split())
_LINKS = frozenset({"cite", "href", "src"})
#: Links with these schemes, or relative; others might run scripts.
_SAFE_LINK = re.compile(r"(?:https?:|mailto:|tel:|[^:]*(?:[/?#]|$))", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
#: Maximum depth of elements, as programs that read HTML recurse; of deeper elements only the text is written.
_MAX_DEPTH = 128


def render_html(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as HTML.

    The fragment is the content of the deepest container around all kept blocks. Scripts, styles, event handlers and
    links with unknown schemes are never written; images, rules and line breaks are if the text on both sides was kept.

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
    shown = _shown(page, rows)
    layout = _layout_parts(nodes, shown)
    preformatted = ((nodes.flags & Flag.PREFORMATTED) > 0).tolist()
    out: list[str] = []
    open_tags: list[tuple[int, str]] = []  # end node and end tag
    gap = ""  # separator in place of removed texts
    for node in range(first, stop):
        while open_tags and open_tags[-1][0] <= node:
            out.append(open_tags.pop()[1])
        name = nodes.name(node)
        if not shown[node]:
            if name == "#text":
                gap = "\n" if gap == "\n" or (preformatted[node] and "\n" in nodes.texts[node]) else " "
            continue
        if name in BREAKING:
            gap = ""
        if name == "#text":
            text = nodes.texts[node] if preformatted[node] else _SPACES.sub(" ", nodes.texts[node])
            out.append(("" if text[0].isspace() else gap) + html.escape(text, quote=False))
            gap = ""
        elif name in VOID:
            if node not in layout:
                out.append(f"<{name}{_attributes(nodes.attributes[node])}>")
        elif len(open_tags) < _MAX_DEPTH:
            tag, attributes = ("div", "") if node in layout else (name, _attributes(nodes.attributes[node]))
            out.append(f"<{tag}{attributes}>")
            open_tags.append((int(nodes.end[node]), f"</{tag}>"))
    out.extend(end for _, end in reversed(open_tags))
    fragment = "".join(out).strip()
    around = [first - 1, *nodes.ancestors(first - 1)] if first else []
    directions = (nodes.attributes[node].get("dir") for node in around)
    direction = next((value.lower() for value in directions if value is not None), "ltr")
    return f'<div dir="{html.escape(direction)}">{fragment}</div>' if direction != "ltr" else fragment


def _span(nodes: Nodes, parents: NDArray[np.int32]) -> tuple[int, int]:
    """Return the first node and the end of the content of the deepest container around the given elements."""
    top, last = int(parents.min()), int(parents.max())
    while nodes.parent[top] >= 0 and (nodes.end[top] <= last or nodes.name(top) not in _CONTAINERS):
        top = int(nodes.parent[top])
    if nodes.end[top] <= last:  # content after </html> has a root of its own
        return 0, len(nodes)
    return top + 1, int(nodes.end[top])


def _shown(page: Page, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is written if the blocks in ``rows`` are kept."""
    nodes, blocks, n = page.nodes, page.blocks, len(page.nodes)
    is_text = (nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)
    change = np.zeros(n + 1, dtype=np.int64)
    np.add.at(change, blocks.node[rows], 1)
    np.add.at(change, blocks.last_node[rows] + 1, -1)
    text_shown = is_text & (change[:n].cumsum() > 0)
    # An element is written if it contains a written text.
    before = np.concatenate([[0], np.cumsum(text_shown)])
    holds = before[nodes.end] > before[np.arange(n)]
    # A void element is written between two written texts.
    texts = np.flatnonzero(is_text)
    place = np.searchsorted(texts, np.arange(n))
    around = np.concatenate([[False], text_shown[texts], [False]])
    between = around[place] & around[place + 1]
    result = text_shown | (nodes.named(_ELEMENTS) & np.where(nodes.named(VOID), between, holds))
    # All cells of a written row are written, so that none moves to another column.
    row_shown = nodes.named({"tr"}) & result
    result |= nodes.named({"td", "th"}) & (nodes.parent >= 0) & row_shown[nodes.parent]
    return np.asarray(result)


def _layout_parts(nodes: Nodes, shown: NDArray[np.bool_]) -> frozenset[int]:
    """Return the nodes of layout tables with their rows and cells."""
    parts = nodes.named(_TABLE_PARTS) & shown
    owner: dict[int, int] = {}  # table of each part
    excess: dict[int, int] = {}  # number of cells minus number of rows of each table
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


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in attributes.items()
        if name in _ATTRIBUTES and (name not in _LINKS or _SAFE_LINK.match(value.strip()))
    )
