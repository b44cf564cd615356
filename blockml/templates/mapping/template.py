"""Template of a page by mapping it to other pages of its site: the content outside of it, and clean HTML.

Active content is left out: scripts, event handlers, URLs that run code, embedded programs and frames, animated
attributes. Every ``<`` in the output starts one of our tags, so no parser can mistake a text for code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Page
from blockml.page.subtrees import block_of_texts, in_blocks, subtree_sums
from blockml.parsing.segmentation import VOID
from blockml.templates.mapping.etdm import map_trees
from blockml.templates.mapping.similarity import NodeEquality
from blockml.templates.mapping.tree import Tree, tree_of
from blockml.text.words import find_words


@dataclass(frozen=True, slots=True, eq=False)
class PageTemplate:
    """Template that a page shares with other pages."""

    page: Page  #: The page whose template it is, called the key page by Alarte et al.
    tree: Tree  #: Tree of that page, with ``n`` rows
    votes: NDArray[np.int32]  #: (n,) number of other pages that a row is mapped to
    n_pages: int  #: Number of other pages, without duplicates
    mask: NDArray[np.bool_]  #: (n,) template rows; closed under parents

    @property
    def nodes(self) -> NDArray[np.bool_]:
        """(n_nodes,) mask of the page's template nodes."""
        inside = np.zeros(len(self.page.nodes), dtype=bool)
        inside[self.tree.nodes[self.mask]] = True
        return inside


def page_template(
    key: Page,
    others: Sequence[Page],
    *,
    equality: str | NodeEquality = "hybex",
    min_votes: int | None = None,
    matching: str = "greedy",
    successive: bool = False,
) -> PageTemplate | None:
    """Find the template that a page shares with other pages.

    Each other page is mapped to the page ``key`` on its own (definition 3.3), so their order doesn't matter. None if no
    page is left to compare. Other pages with the same visible text as ``key`` are skipped, because the whole page
    would be template, and so are pages with equal source. A template node is mapped to at least ``min_votes`` of the
    other pages, or all if there are fewer; the default is all, as in the paper, while the public implementation
    requires 2 of 3. For ``equality`` and ``matching`` see :func:`map_trees`.

    With ``successive``, each page is mapped to the part of ``key`` that the previous pages left (algorithm 2). A
    node that has dropped out then frees its counterpart on later pages for a sibling, so the template can be larger
    than by the definition, and depends on the order of pages. A page that cannot be mapped at all is skipped there and
    empties the template of the definition.

    Raises UnknownNameError for an unknown equality or matching, and UsageError for ``min_votes`` below 1 or together
    with ``successive``, because every page decides there.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p class=menu>Home</p><p>{text}</p>") for text in ("Cats", "Dogs", "Birds")]
    >>> template = page_template(pages[0], pages[1:])
    >>> [block.text for block in pages[0].blocks if template.nodes[block.node]]
    ['Home']
    """
    if min_votes is not None and min_votes < 1:
        raise UsageError(f"min_votes must be at least 1, got {min_votes}")
    if successive and min_votes is not None:
        raise UsageError("min_votes does not apply to a successive template: every page decides")
    sources: set[bytes] = set()
    tree = left = tree_of(key)
    rows = np.arange(len(tree))  # rows of the page ``key`` that are still in the template
    votes = np.zeros(len(tree), dtype=np.int32)
    n_pages = 0
    for page in others:
        if page.blocks.texts == key.blocks.texts or page.utf8 in sources:
            continue
        if page.utf8 is not None:
            sources.add(page.utf8)
        mapped = map_trees(left, tree_of(page), equality, matching=matching) >= 0
        if successive:
            if not mapped.any() and len(left):
                continue
            rows, left = rows[mapped], left.restricted(mapped)
            votes[rows] += 1
        else:
            votes += mapped
        n_pages += 1
    if not n_pages:
        return None
    needed = n_pages if min_votes is None else min(min_votes, n_pages)
    # Mappings are closed under parents, so a parent has at least as many votes as its child.
    return PageTemplate(page=key, tree=tree, votes=votes, n_pages=n_pages, mask=votes >= needed)


def learnt_tree(template: PageTemplate) -> Tree:
    """Return only the tree of the template, for storage and for :func:`membership` on other pages."""
    return template.tree.restricted(template.mask)


def membership(page: Page, tree: Tree, equality: str | NodeEquality = "hybex") -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of the nodes of a page that belong to a learned template.

    ``tree`` comes from :func:`learnt_tree`, preferably learned with the same ``equality``; see :func:`map_trees`.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p class=menu>Home</p><p>{text}</p>") for text in ("Cats", "Dogs", "Birds")]
    >>> template = learnt_tree(page_template(pages[0], [pages[1]]))
    >>> membership(pages[2], template).tolist()
    [True, True, True, True, True, True, False]
    """
    own = tree_of(page)
    inside = np.zeros(len(page.nodes), dtype=bool)
    inside[own.nodes[map_trees(own, tree, equality) >= 0]] = True
    return inside


#: Minimum share of a block's words in the template for the block to be template: the majority decides.
MAJORITY = 0.5

#: Share of the remaining words in the main container. Our choice, following the remark of Alarte et al. (2014) that the
#: main content is mostly in one place with much text.
_MOST_WORDS = 0.8


def template_share(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the (n_blocks,) share of each block's words, or texts if it has no words, in the template.

    ``in_template`` is an (n_nodes,) mask, from ``PageTemplate.nodes`` or ``membership``; UsageError for another length.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one two <a>three</a></p>")
    >>> template_share(page, page.nodes.named({"#text"}) & (page.nodes.depth > 3)).round(3).tolist()
    [0.333]
    """
    inside = _per_node(page, in_template)
    texts = _block_texts(page)
    words = _words(page)
    n_words, n_texts = in_blocks(page.blocks, words), in_blocks(page.blocks, texts)
    found = np.where(n_words > 0, in_blocks(page.blocks, words * inside), in_blocks(page.blocks, texts & inside))
    return found / np.maximum(np.where(n_words > 0, n_words, n_texts), 1)


def content_blocks(page: Page, in_template: NDArray[np.bool_], *, second_stage: bool = False) -> NDArray[np.bool_]:
    """Return an (n_blocks,) mask of the blocks that are less than half template.

    With ``second_stage`` only blocks within :func:`main_container` remain. All False if the whole page is template: the
    caller must then use another method. For ``in_template`` see :func:`template_share`.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Home</p><div><p>Cats rule the world.</p><p>They do.</p></div><p>Late note</p>")
    >>> is_template = np.array([text == "Home" for text in page.nodes.texts])
    >>> content_blocks(page, is_template).tolist()
    [False, True, True, True]
    >>> content_blocks(page, is_template | (page.nodes.tag < 0), second_stage=True).tolist()
    [False, True, True, True]
    """
    stays = template_share(page, in_template) < MAJORITY
    if second_stage and (container := main_container(page, stays)) is not None:
        stays &= (page.blocks.node >= container) & (page.blocks.last_node < page.nodes.end[container])
    return stays


def main_container(page: Page, remaining: NDArray[np.bool_]) -> int | None:
    """Return the node of the smallest element with at least 80 % of the words of the (n_blocks,) ``remaining`` blocks.

    None if these blocks have no words, or no element contains enough, for example if there is content after
    ``</html>``. Raises UsageError for a mask of another length.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Ad</p><div><p>Cats rule the world.</p><p>They always did.</p></div>")
    >>> page.nodes.name(main_container(page, np.array([True, True, True])))
    'div'
    """
    if np.shape(remaining) != (len(page.blocks),):
        raise UsageError(f"{np.shape(remaining)} values for {len(page.blocks)} blocks")
    nodes, blocks = page.nodes, page.blocks
    words = _words(page) * np.append(remaining, False)[block_of_texts(nodes, blocks)]
    below = subtree_sums(nodes, words)
    if not below.any():
        return None
    # Elements with most of the words are nested: the innermost is the last in document order.
    most = np.flatnonzero((nodes.tag != 0) & (below >= _MOST_WORDS * words.sum()))
    return int(most[-1]) if len(most) else None


def _per_node(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if np.shape(in_template) != (len(page.nodes),):
        raise UsageError(f"{np.shape(in_template)} values for {len(page.nodes)} nodes")
    return np.asarray(in_template, dtype=bool)


def _block_texts(page: Page) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of texts outside of ``head``."""
    texts: NDArray[np.bool_] = (page.nodes.tag == 0) & ((page.nodes.flags & Flag.HEAD) == 0)
    return texts


def _words(page: Page) -> NDArray[np.int64]:
    """Return the (n_nodes,) number of words of each text outside of ``head``; 0 for elements."""
    words = np.bincount(find_words(page.nodes.texts)[0], minlength=len(page.nodes))
    return np.where(_block_texts(page), words, 0)


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


def template_html(template: PageTemplate) -> str:
    """Write a template as a complete HTML page.

    The head is new: encoding and title (empty if its text is not in the template). The body contains the template's
    elements and texts. Texts that become adjacent because content between them is removed are
    separated by a space; frames are written as ``div``, raw text as ``pre``.

    The parser of the page restores the same tree, with exceptions: content after ``</body>`` or ``</html>`` moves to
    the end of the body, and names with unusual characters become ``span``. Other parsers may repair further errors,
    such as text directly in a table or nested links.

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
    nodes, inside = template.page.nodes, template.nodes
    root = next((node for node in range(min(1, len(nodes))) if inside[node]), None)
    bodies = np.flatnonzero(nodes.named({"body"}) & (nodes.parent == 0))
    body = int(bodies[0]) if len(bodies) else None
    html_attributes = "" if root is None else _attributes("html", nodes.attributes[root])
    body_attributes = "" if body is None else _attributes("body", nodes.attributes[body])
    return "".join(
        [
            f'<!DOCTYPE html>\n<html{html_attributes}><head><meta charset="utf-8">',
            f"<title>{escape(_title(template), quote=False)}</title>",
            f"</head>\n<body{body_attributes}>",
            *_written(template, body),
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


def _written(template: PageTemplate, body: int | None) -> Iterator[str]:
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
        yield f"<{legal}{_attributes(name, nodes.attributes[node])}>"
        after_text, after_start = "", legal
        if legal not in VOID:
            open_tags.append((int(nodes.end[node]), f"</{legal}>"))
    yield from (end for _, end in reversed(open_tags))


def _attributes(element: str, attributes: Mapping[str, str]) -> str:
    """Return the passive attributes of an element."""
    forbidden = _ACTIVE_ON.get(element, frozenset())
    return "".join(
        f' {name}="{escape(value)}"'
        for name, value in attributes.items()
        if _ATTRIBUTE_NAME.fullmatch(name)
        and not name.startswith("on")
        and name not in _ACTIVE
        and name not in forbidden
        and name != "style"
        and _is_safe(name, value)
    )


def _is_safe(name: str, value: str) -> bool:
    """Return whether the value of an attribute runs no code."""
    if name in _TEXTS:
        return True
    bare = _SKIPPED.sub("", value)
    if name in _ADDRESSES:
        return _SAFE_ADDRESS.match(bare) is not None
    return not _CODE.match(bare)
