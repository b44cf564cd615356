"""Rendering of kept blocks as an HTML fragment of the page's elements, without scripts, styles and handlers."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.code import code_language, code_lines, line_starts, listings, with_line_elements
from blockml.document.lists import list_kind
from blockml.document.mathematics import formula_of_image
from blockml.document.notes import hide_dead_marks
from blockml.document.pictures import find_pictures
from blockml.document.roles import with_roles
from blockml.document.shown import content_span, layout_parts, shown_nodes
from blockml.document.spaces import KEEPS_ALL, has_indent, kept_spaces, with_indent
from blockml.page import Flag, Nodes, Page
from blockml.page.lazy import Lazy
from blockml.parsing.lines import VOID
from blockml.parsing.segmentation import BREAKING
from blockml.text.addresses import is_safe, read_address
from blockml.writers.bounds import Budget

__all__ = ["WRITTEN_ATTRIBUTES", "WRITTEN_ELEMENTS", "render_html"]

#: Elements written to the fragment; only the content of other elements is written.
WRITTEN_ELEMENTS = frozenset(
    "a abbr article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em "
    "figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li main mark ol p pre q rp rt ruby s samp section small "
    "strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr".split()
)
#: Attributes written with them.
WRITTEN_ATTRIBUTES = frozenset("alt cite colspan datetime dir href lang rowspan src start title type".split())
_TYPED = frozenset({"ol", "li"})
_LINKS = frozenset({"cite", "href", "src"})
#: White space that HTML collapses; no-break and wider spaces are shown, for example as the indent of a verse.
_COLLAPSED = " \t\n\r\f\v"
_SPACES = re.compile(f"[{_COLLAPSED}]+")
#: Maximum depth of elements, because programs that read HTML recurse; only the text of deeper elements is written.
_MAX_DEPTH = 128


def render_html(page: Page, kept: NDArray[np.bool_] | Sequence[bool], *, budget: Budget | None = None) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as HTML.

    The fragment is the content of the deepest container around all kept blocks. Scripts, styles, event handlers and
    links with unknown schemes are never written; rules and line breaks are written if the text on both sides was kept.
    Code with an element for each line is written as plain lines. Pictures of the content are written with the address
    that is loaded and their captions. Layout tables are written as ``div`` elements. Only the text of elements is
    written if the output would become larger than
    :class:`~blockml.writers.bounds.Budget` allows; ``budget.warnings`` then has a warning.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<nav>Menu</nav><main><h1>A</h1><p onclick='x()'>B <a href='/c'>c</a> &lt;</p></main>")
    >>> render_html(page, [False, True, True])
    '<h1>A</h1><p>B <a href="/c">c</a> &lt;</p>'
    """
    page = with_roles(page)
    nodes, blocks, budget = page.nodes, page.blocks, budget or Budget(page)
    rows = np.flatnonzero(np.asarray(kept, dtype=bool))
    if not len(rows):
        return ""
    found = find_pictures(page, rows)
    pictures, rows = found.addresses, found.with_captions(rows)
    first, stop = content_span(nodes, blocks.parent[rows], list(pictures))
    shown = shown_nodes(page, rows, WRITTEN_ELEMENTS, list(pictures))
    hide_dead_marks(page, shown)
    layout, spaces = layout_parts(nodes, shown), kept_spaces(nodes)
    starts, skipped = Lazy(lambda: frozenset(line_starts(nodes))), 0
    code = {*listings(nodes), *with_line_elements(nodes)}
    preformatted = ((nodes.flags & Flag.PREFORMATTED) > 0).tolist()
    out: list[str] = []
    open_tags: list[tuple[int, str]] = []  # end node and end tag
    gap = ""  # separator that replaces removed texts
    for node in range(first, stop):
        while open_tags and open_tags[-1][0] <= node:
            out.append(open_tags.pop()[1])
        if node < skipped:
            continue
        name = nodes.name(node)
        if not shown[node]:
            if name == "#text":
                gap = "\n" if gap == "\n" or (preformatted[node] and "\n" in nodes.texts[node]) else " "
            continue
        if name in BREAKING:
            gap = ""
        if name == "#text":
            kind = spaces[node] if spaces is not None else 0
            text = nodes.texts[node] if not kind else _within(nodes, node)
            text = _text(text, kind, is_preformatted=preformatted[node])
            out.append(("" if text[0].isspace() else gap) + text)
            gap = ""
        elif node in code:
            out.append(_listing(code_lines(nodes, node, shown, starts.value), code_language(nodes, node)))
            skipped = nodes.end.item(node)
        elif node not in layout if name in VOID else len(open_tags) < _MAX_DEPTH:
            begin, end = _tags(name, nodes.attributes[node], pictures.get(node, ""), is_layout=node in layout)
            if begin and budget.spend(len(begin) + len(end), "tags"):
                out.append(begin)
                if end:
                    open_tags.append((int(nodes.end[node]), end))
    out.extend(end for _, end in reversed(open_tags))
    fragment = "".join(out).strip(_COLLAPSED)
    around = [first - 1, *nodes.ancestors(first - 1)] if first else []
    directions = (nodes.attributes[node].get("dir") for node in around)
    direction = next((value.lower() for value in directions if value is not None), "ltr")
    return f'<div dir="{html.escape(direction)}">{fragment}</div>' if direction != "ltr" else fragment


def _tags(name: str, attributes: Mapping[str, str], picture: str, *, is_layout: bool) -> tuple[str, str]:
    """Return the start and end tag of an element; empty for pictures that are not written."""
    if picture:
        name, attributes = "img", {**attributes, "src": picture}
    elif name == "img" and not formula_of_image(attributes):
        return "", ""
    tag, written = ("div", "") if is_layout else (name, _attributes(name, attributes))
    return f"<{tag}{written}>", "" if name in VOID else f"</{tag}>"


def _within(nodes: Nodes, node: int) -> str:
    """Return a text without line breaks at the start and end of the element around it."""
    text, around = nodes.texts[node], nodes.parent.item(node)
    begun = text.lstrip(_COLLAPSED)
    text = begun if around == node - 1 and "\n" in text[: len(text) - len(begun)] else text
    return text.rstrip(_COLLAPSED) if around >= 0 and nodes.end[around] == node + 1 else text


def _text(text: str, spaces: int, *, is_preformatted: bool) -> str:
    """Write a text, with ``br`` elements for line breaks that a style keeps."""
    if not spaces:
        return html.escape(text if is_preformatted else _SPACES.sub(" ", text), quote=False)
    first, *others = text.split("\n")
    lines = [with_indent(line) if spaces == KEEPS_ALL else _SPACES.sub(" ", line).lstrip(_COLLAPSED) for line in others]
    is_indented = spaces == KEEPS_ALL and has_indent(first)
    first = with_indent(first) if is_indented else _SPACES.sub(" ", first)
    return "<br>".join([html.escape(line, quote=False) for line in (first, *lines)])


def _listing(lines: Sequence[str], language: str) -> str:
    """Write the lines of a listing; empty if there are none."""
    start, end = f'<code class="language-{html.escape(language)}">' if language else "", "</code>" if language else ""
    return f"<pre>{start}{html.escape(chr(10).join(lines), quote=False)}{end}</pre>" if lines else ""


def _attributes(name: str, attributes: Mapping[str, str]) -> str:
    if name in _TYPED and (kind := list_kind(attributes)):
        attributes = {**attributes, "type": kind}
    links = {name: read_address(attributes[name]) for name in _LINKS if name in attributes}
    return "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in {**attributes, **links}.items()
        if name in WRITTEN_ATTRIBUTES and (name not in links or is_safe(value))
    )
