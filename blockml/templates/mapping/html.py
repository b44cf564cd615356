"""Templates as clean HTML pages, for viewing and for other programs.

Active content is left out: scripts, event handlers, URLs that run code, embedded programs and frames, animated
attributes. Every ``<`` in the output starts one of our tags, so no parser can mistake a text for code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

import numpy as np

from blockml.errors import UsageError
from blockml.page import Nodes
from blockml.parsing.lines import VOID
from blockml.templates.mapping.template import PageTemplate

#: Names that every parser reads back unchanged.
_NAME = re.compile(r"[a-z][a-z0-9._:-]*")
_ATTRIBUTE_NAME = re.compile(r"[a-z_][a-z0-9._:-]*")

#: Elements written under another name: allowed only outside of the body, or raw text, which would swallow tags.
_RENAMED: Mapping[str, str] = {
    **dict.fromkeys(("html", "head", "body", "frameset", "frame"), "div"),
    **dict.fromkeys(("xmp", "plaintext"), "pre"),
}

#: Elements at whose start the HTML standard drops a line break. libxml2 doesn't, so its texts contain the line break.
_LINE_EATERS = frozenset({"pre", "textarea", "listing"})

#: Attributes with a URL.
_ADDRESSES = frozenset(
    "action background cite data formaction href icon longdesc lowsrc dynsrc manifest poster src xlink:href".split()
)
#: Schemes that run no code; URLs without a scheme are relative.
_SAFE_ADDRESS = re.compile(
    r"(?:https?:|ftp:|mailto:|tel:|data:image/(?:png|gif|jpe?g|webp)[;,]|[^:]*(?:[/?#]|$))", re.IGNORECASE
)
#: Schemes that run code, searched in all other attributes.
_CODE = re.compile(r"(?:javascript|vbscript|livescript|data):|expression\(", re.IGNORECASE)

#: Attributes with plain text.
_TEXTS = frozenset("alt class content id label name placeholder summary title value".split())

#: Characters that parsers ignore in a URL.
_SKIPPED = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028\u2029\ufeff]+")

#: Attributes that are active or load something for any value.
_ACTIVE = frozenset("attributename http-equiv imagesrcset manifest ping srcdoc".split())

#: Attributes that are active on certain elements.
_ACTIVE_ON: Mapping[str, frozenset[str]] = {
    "applet": frozenset("archive code codebase object".split()),
    "base": frozenset({"href"}),
    "embed": frozenset({"src"}),
    "frame": frozenset({"src"}),
    "link": frozenset({"href"}),
    "object": frozenset("archive classid code codebase data".split()),
    "param": frozenset({"value"}),
}

_ABSOLUTE = re.compile(r"(?:https?|file)://[^\s]*", re.IGNORECASE)


def template_html(template: PageTemplate, *, base_url: str | None = None, keep_styles: bool = False) -> str:
    """Write a template as a complete HTML page.

    The head is new: encoding, title (empty if its text is not in the template), and what the options add. The body
    contains the template's elements and texts. Texts that become adjacent because content between them is removed are
    separated by a space; frames are written as ``div``, raw text as ``pre``.

    The parser of the page restores the same tree, with exceptions: content after ``</body>`` or ``</html>`` moves to
    the end of the body, and names with unusual characters become ``span``. Other parsers may repair further errors,
    such as text directly in a table or nested links. ``base_url``, the absolute http, https or file URL of the page
    (else UsageError), makes relative links and images work. ``keep_styles`` links to the page's style sheets and keeps
    ``style`` attributes, which may load images from elsewhere.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.mapping.template import page_template
    >>> pages = [blockml.parse(f"<a href=/ onclick='x()'>Home &amp; more</a><p>{text}</p>") for text in ("1", "2")]
    >>> print(template_html(page_template(pages[0], pages[1:])))
    <!DOCTYPE html>
    <html><head><meta charset="utf-8"><title></title></head>
    <body><a href="/">Home &amp; more</a><p></p></body></html>
    """
    if base_url is not None and not _ABSOLUTE.fullmatch(base_url):
        raise UsageError(f"a base URL must be an absolute http, https or file URL, got {base_url!r}")
    nodes, inside = template.page.nodes, template.nodes
    root = next((node for node in range(min(1, len(nodes))) if inside[node]), None)
    bodies = np.flatnonzero(nodes.named({"body"}) & (nodes.parent == 0))
    body = int(bodies[0]) if len(bodies) else None
    html_attributes = "" if root is None else _attributes("html", nodes.attributes[root], keep_styles=keep_styles)
    body_attributes = "" if body is None else _attributes("body", nodes.attributes[body], keep_styles=keep_styles)
    return "".join(
        [
            f'<!DOCTYPE html>\n<html{html_attributes}><head><meta charset="utf-8">',
            f'<base href="{escape(base_url)}">' if base_url else "",
            f"<title>{escape(_title(template), quote=False)}</title>",
            *(_style_sheets(nodes) if keep_styles else ()),
            f"</head>\n<body{body_attributes}>",
            *_written(template, body, keep_styles=keep_styles),
            "</body></html>\n",
        ]
    )


def _title(template: PageTemplate) -> str:
    """Return the part of the first title's text that is in the template."""
    nodes, inside = template.page.nodes, template.nodes
    titles = np.flatnonzero(nodes.named({"title"}) & inside)
    if not len(titles):
        return ""
    first = int(titles[0])
    return " ".join(" ".join(nodes.texts[node] for node in range(first + 1, nodes.end[first]) if inside[node]).split())


def _style_sheets(nodes: Nodes) -> Iterator[str]:
    """Yield links to all style sheets of the page: sharing says nothing about how it looks."""
    for node in nodes.indices("link").tolist():
        values = nodes.attributes[node]
        address = values.get("href", "")
        if "stylesheet" in values.get("rel", "").lower().split() and _is_safe("href", address):
            media = f' media="{escape(values["media"])}"' if "media" in values else ""
            yield f'<link rel="stylesheet" href="{escape(address)}"{media}>'


def _written(template: PageTemplate, body: int | None, *, keep_styles: bool) -> Iterator[str]:
    """Yield the tags and texts of the body, in order."""
    nodes = template.page.nodes
    # Elements whose tags are already written; content after </html> has a separate root.
    top = {body, *np.flatnonzero(nodes.named({"html"}) & (nodes.parent < 0)).tolist()}
    shown = template.nodes.copy()
    for head in np.flatnonzero(nodes.named({"head"}) & (nodes.parent == 0)).tolist():
        shown[head : nodes.end[head]] = False
    open_tags: list[tuple[int, str]] = []  # end index and end tag
    after_text = after_start = ""
    for node in np.flatnonzero(shown).tolist():
        while open_tags and open_tags[-1][0] <= node:
            yield open_tags.pop()[1]
            after_text = after_start = ""
        if node in top:
            continue
        name = nodes.name(node)
        if name == "#text":
            text = nodes.texts[node]
            if after_text and not (after_text[-1].isspace() or text[0].isspace()):
                yield " "  # content was removed between the texts, so their words must not join
            if after_start in _LINE_EATERS and text[0] == "\n" and template.page.backend != "lxml":
                yield "\n"
            yield escape(text, quote=False)
            after_text, after_start = text, ""
            continue
        legal = _RENAMED.get(name, name) if _NAME.fullmatch(name) else "span"
        yield f"<{legal}{_attributes(name, nodes.attributes[node], keep_styles=keep_styles)}>"
        after_text, after_start = "", legal
        if legal not in VOID:
            open_tags.append((int(nodes.end[node]), f"</{legal}>"))
    yield from (end for _, end in reversed(open_tags))


def _attributes(element: str, attributes: Mapping[str, str], *, keep_styles: bool) -> str:
    """Return the passive attributes of an element."""
    forbidden = _ACTIVE_ON.get(element, frozenset())
    return "".join(
        f' {name}="{escape(value)}"'
        for name, value in attributes.items()
        if _ATTRIBUTE_NAME.fullmatch(name)
        and not name.startswith("on")
        and name not in _ACTIVE
        and name not in forbidden
        and (keep_styles or name != "style")
        and _is_safe(name, value)
    )


def _is_safe(name: str, value: str) -> bool:
    """Return whether the value of an attribute runs no code."""
    if name in _TEXTS:
        return True
    bare = _SKIPPED.sub("", value)
    if name in _ADDRESSES:
        return _SAFE_ADDRESS.match(bare) is not None
    return not (_CODE.search(bare) if name == "style" else _CODE.match(bare))
