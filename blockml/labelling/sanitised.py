"""A page as harmless HTML in which every text belongs to its block, to be shown in a browser.

The HTML is written anew from the parsed page, with elements and attributes of a closed list, and passes nh3 (the
sanitiser ammonia) on top. Scripts, styles, handlers, links, images and everything else that a browser would load or run
are gone; text that the page hides is shown.
"""

from __future__ import annotations

import html
from collections.abc import Mapping

from blockml.errors import needed
from blockml.page import Flag, Page
from blockml.page.subtrees import block_of_texts
from blockml.parsing.lines import VOID
from blockml.parsing.segmentation import BREAKING

#: Elements that are written as they are; others become ``div`` or ``span``. Without ``details`` and ``dialog``, which
#: hide their content.
_ELEMENTS = frozenset(
    "a abbr article aside b blockquote br caption cite code dd del dfn div dl dt em figcaption figure footer h1 h2 h3 "
    "h4 h5 h6 header hr i ins kbd li main mark nav ol p pre q rp rt ruby s samp section small span strong sub sup "
    "table tbody td tfoot th thead time tr u ul var".split()
)
_PREFORMATTED = frozenset({"listing", "plaintext", "textarea", "xmp"})
#: Attributes that are written, besides the number of the block and the alternative text of an image.
_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "*": frozenset({"data-alt", "data-block", "dir"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan"}),
}
#: Maximum depth of elements; browsers limit it too.
_MAX_DEPTH = 200
#: Characters of a span: nh3 copies the text before a character reference, of which ``&`` makes one.
_MAX_SPAN = 2_000


def sanitised(page: Page) -> str:
    """Return a page as HTML whose ``span`` elements with ``data-block`` hold the texts of its blocks.

    Raises
    ------
    MissingExtraError
        nh3 is not installed.
    """
    with needed("showing pages in a browser", "label"):
        import nh3
    # nh3 reads what _written gives: its own guarantee does not depend on our list.
    attributes = {name: set(names) for name, names in _ATTRIBUTES.items()}
    found = nh3.clean(_written(page), tags=set(_ELEMENTS), attributes=attributes, url_schemes=set(), link_rel=None)
    return str(found)


def _written(page: Page) -> str:
    """Write the page with elements and attributes of the list."""
    nodes = page.nodes
    hidden = ((nodes.flags & (Flag.HEAD | Flag.DROPPED)) > 0).tolist()
    out: list[str] = []
    open_tags: list[tuple[int, str]] = []
    for node, number in enumerate(block_of_texts(nodes, page.blocks).tolist()):
        while open_tags and open_tags[-1][0] <= node:
            out.append(open_tags.pop()[1])
        name = nodes.name(node)
        if hidden[node]:
            continue
        if name == "#text":
            text = nodes.texts[node]
            start = f'<span data-block="{number}">' if number >= 0 else "<span>"
            for place in range(0, len(text), _MAX_SPAN):
                piece = html.escape(text[place : place + _MAX_SPAN], quote=False)
                out.append(f"{start}{piece}</span>" if text.strip() else piece)
        elif name == "img":
            if alternative := nodes.attributes[node].get("alt", "").strip():
                out.append(f'<i data-alt="{html.escape(alternative[:80])}"></i>')
        elif name in VOID:
            out.append(f"<{name}>" if name in _ELEMENTS else "")
        elif len(open_tags) < _MAX_DEPTH:
            tag = _tag(name)
            out.append(f"<{tag}{_attributes(tag, nodes.attributes[node])}>")
            open_tags.append((int(nodes.end[node]), f"</{tag}>"))
    out.extend(end for _, end in reversed(open_tags))
    return "".join(out)


def _tag(name: str) -> str:
    """Return the element to write for an element of a page."""
    if name in _ELEMENTS:
        return name
    if name in _PREFORMATTED:
        return "pre"
    return "div" if name in BREAKING or name in ("html", "body") else "span"


def _attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """Return the attributes of an element that may be written."""
    legal = (_ATTRIBUTES["*"] - {"data-alt", "data-block"}) | _ATTRIBUTES.get(tag, frozenset())
    return "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items() if name in legal)
