"""Conversion of a page to harmless HTML, with its texts marked by block, to be shown in a browser.

The HTML is generated from the parsed page with an allow-list of elements and attributes, and then sanitised with nh3
(ammonia). Scripts, styles, handlers, links, images and everything else that a browser would load or run are removed;
text that the page hides is shown.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from blockml.errors import needed
from blockml.page import Flag, Page
from blockml.page.bounds import Budget
from blockml.page.subtrees import block_of_texts
from blockml.parsing.segmentation import BREAKING, VOID

#: Elements to keep; others become ``div`` or ``span``, including ``details`` and ``dialog``, which hide their content,
#: and ``q``, whose quotation marks are in the text.
SHOWN_ELEMENTS = frozenset(
    "abbr article aside blockquote br caption cite dd del dfn div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 "
    "header hr ins kbd li main mark nav ol p pre rp rt ruby samp section span sub sup table tbody td tfoot th thead "
    "time tr ul var".split()
)
#: Formatting elements, which HTML parsers reopen in each following element: 180 of them turn each ``<main>w</main>`` in
#: a paragraph into 3,000 characters. They become a ``span`` with their name in an attribute.
_FORMATTING = frozenset({"a", "b", "code", "em", "i", "s", "small", "strong", "u"})
_PREFORMATTED = frozenset({"listing", "plaintext", "textarea", "xmp"})
#: Attributes of the page that are kept, with their legal values.
_SPAN_OF_CELLS = re.compile(r"\d{1,3}")
_VALUES: Mapping[str, re.Pattern[str]] = {
    "dir": re.compile(r"ltr|rtl|auto", re.IGNORECASE),
    "colspan": _SPAN_OF_CELLS,
    "rowspan": _SPAN_OF_CELLS,
}
SHOWN_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "*": frozenset({"data-alt", "data-as", "data-block", "dir"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan"}),
}
#: Maximum depth of elements; browsers also have a limit.
_MAX_DEPTH = 200
#: Maximum characters of a span, because nh3 copies the text before each character reference, such as ``&``'s.
_MAX_SPAN = 2_000
#: Maximum characters of the alternative text of an image.
_MAX_ALTERNATIVE = 80


def sanitised(page: Page, budget: Budget | None = None) -> str:
    """Return a page as HTML whose ``span`` elements with ``data-block`` hold the texts of its blocks.

    Once tags and block numbers have used up the :class:`~blockml.page.bounds.Budget`, only texts are written, and
    ``budget.warnings`` reports it.

    Raises
    ------
    MissingExtraError
        nh3 is not installed.
    """
    with needed("showing pages in a browser", "label"):
        import nh3
    # nh3 sanitises the output of _written, so its guarantee does not depend on our list.
    attributes = {name: set(names) for name, names in SHOWN_ATTRIBUTES.items()}
    written = _written(page, budget or Budget(page))
    return str(nh3.clean(written, tags=set(SHOWN_ELEMENTS), attributes=attributes, url_schemes=set(), link_rel=None))


def _written(page: Page, budget: Budget) -> str:
    """Write the page with the allowed elements and attributes."""
    nodes = page.nodes
    hidden = ((nodes.flags & (Flag.HEAD | Flag.DROPPED)) > 0).tolist()
    out: list[str] = []
    open_tags: list[tuple[int, str]] = []
    formatting = ""  # attributes of a formatting element that contains only the next text, to use one span for both
    for node, number in enumerate(block_of_texts(nodes, page.blocks).tolist()):
        while open_tags and open_tags[-1][0] <= node:
            out.append(open_tags.pop()[1])
        name = nodes.name(node)
        if hidden[node]:
            continue
        if name == "#text":
            text = nodes.texts[node]
            start = f'<span{formatting} data-block="{number}">' if number >= 0 else f"<span{formatting}>"
            for place in range(0, len(text), _MAX_SPAN):
                piece = html.escape(text[place : place + _MAX_SPAN], quote=False)
                is_marked = text.strip() and budget.spend(len(start) + len("</span>"), "marks of blocks")
                out.append(f"{start}{piece}</span>" if is_marked else piece)
            formatting = ""
            continue
        if name in _FORMATTING and nodes.end[node] == node + 2 and nodes.tag[node + 1] == 0:
            formatting = f' data-as="{name}"{_attributes("span", nodes.attributes[node])}'
            continue
        start, end = _tags(name, nodes.attributes[node]) if len(open_tags) < _MAX_DEPTH or name in VOID else ("", "")
        if start and budget.spend(len(start) + len(end), "tags"):
            if name in VOID:
                out.append(start + end)
            else:
                out.append(start)
                open_tags.append((int(nodes.end[node]), end))
    out.extend(end for _, end in reversed(open_tags))
    return "".join(out)


def _tags(name: str, attributes: Mapping[str, str]) -> tuple[str, str]:
    """Return the start and end tag of an element of a page; empty strings if it shows nothing."""
    if name == "img":
        alternative = attributes.get("alt", "").strip()[:_MAX_ALTERNATIVE]
        return (f'<span data-alt="{html.escape(alternative)}">', "</span>") if alternative else ("", "")
    if name in VOID:
        return (f"<{name}>" if name in SHOWN_ELEMENTS else ""), ""
    if name in _FORMATTING:
        return f'<span data-as="{name}"{_attributes("span", attributes)}>', "</span>"
    if name in SHOWN_ELEMENTS:
        tag = name
    elif name in _PREFORMATTED:
        tag = "pre"
    else:
        tag = "div" if name in BREAKING or name in ("html", "body") else "span"
    return f"<{tag}{_attributes(tag, attributes)}>", f"</{tag}>"


def _attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """Return the allowed attributes of an element."""
    legal = SHOWN_ATTRIBUTES["*"] | SHOWN_ATTRIBUTES.get(tag, frozenset())
    found = [(name, value) for name, value in attributes.items() if name in _VALUES and name in legal]
    return "".join([f' {name}="{value}"' for name, value in found if _VALUES[name].fullmatch(value)])
