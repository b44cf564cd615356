"""Forums, comments and sidebars, told by names in addresses and attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.page_matrix import PageMatrix
from blockml.features.structure import FAR
from blockml.page import Page
from blockml.page.attribute_words import nodes_with_words

_FORUM_COLUMNS = ("urlforum_0", "isarticle_0", "urlnews_0", "clsthread_0")


def is_forum(page: PageMatrix) -> bool:
    """Tell whether a page is a forum, where what readers write is the content.

    Its address says so; or most of its words stand in elements whose class names a thread or message, on a page that is
    not declared an article. On WCXB's page types: precision .80, recall .84 (research/studies/block-types.md). False
    without the columns.
    """
    if not len(page.values) or not set(_FORUM_COLUMNS).issubset(page.columns):
        return False
    address, article, news, thread = (page.values[:, page.columns.index(name)] for name in _FORUM_COLUMNS)
    if address[0] > 0 or article[0] or news[0]:
        return bool(address[0] > 0)
    return float(page.words[thread < FAR].sum()) / max(1.0, float(page.words.sum())) > 0.5


def declares_manual(page: PageMatrix) -> bool:
    """Tell whether a page declares a manual, recipe or course by a type of schema.org; False without the column."""
    name = "ismanual_0"
    return len(page.values) > 0 and name in page.columns and bool(page.values[0, page.columns.index(name)] >= 2)


#: Parts of attributes with a word for comments, and these words: whole ones between hyphens, underscores and capitals.
_COMMENT_PARTS = (b"omment", b"omentar", b"isqus")
_COMMENT_WORD = re.compile(
    r"(?<![a-zA-Z])([cC]omment(s|list|body|text|area)?|[dD]isqus|[kK]ommentare?|[cC]omentarios?|[cC]ommentaires?)(?![a-z])"
    r"|(?<=[a-z])Comments?(?![a-z])"
)
_UNNAMED = frozenset("html body h1 h2 h3 h4 h5 h6".split())


def in_comments(page: Page) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks stand in an element whose class has a word for readers' comments.

    An id must begin with the word: many repeat a heading, as targets of links. Names of the whole page and of headings
    are passed over.

    Examples
    --------
    >>> import blockml
    >>> in_comments(blockml.parse("<p>One<div class=userComments><p>Two</div><p class=commented>Three")).tolist()
    [False, True, False]
    """

    def is_named(attributes: Mapping[str, str]) -> bool:
        names = _COMMENT_WORD.search(attributes.get("class") or "") or _COMMENT_WORD.match(attributes.get("id") or "")
        return names is not None

    return _in_elements(page, _COMMENT_PARTS, is_named)


#: Parts of attributes that name sidebars, and these names: of a class among others, or of an id. Typepad's sidebars
#: consist of typelists. Names such as "no-sidebar" and "content-sidebar-wrap" are those of whole pages.
_SIDEBAR_PARTS = (b"idebar", b"ypelist")
_SIDEBAR_NAME = re.compile(
    r"((?!with|has|no|content|main|layout|page)[a-z0-9]+[-_])?(sidebar|typelist)s?"
    r"([-_]?(?!wrap|layout|main|content|no|page)[a-z0-9]+)?",
    re.IGNORECASE,
)


def in_sidebars(page: Page) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks stand in an element whose class or id names a sidebar.

    Examples
    --------
    >>> import blockml
    >>> in_sidebars(blockml.parse("<div class=no-sidebar><p>One</div><div class='left sidebar'><p>Two</div>")).tolist()
    [False, True]
    """

    def is_named(attributes: Mapping[str, str]) -> bool:
        names = [*(attributes.get("class") or "").split(), attributes.get("id") or ""]
        return any(map(_SIDEBAR_NAME.fullmatch, names))

    return _in_elements(page, _SIDEBAR_PARTS, is_named)


def _in_elements(
    page: Page, parts: tuple[bytes, ...], is_named: Callable[[Mapping[str, str]], bool]
) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks stand in an element of that name, which is neither the whole page nor a heading.

    Attributes of these elements have one of ``parts``.
    """
    nodes, owner = page.nodes, page.blocks.node
    found, after = np.zeros(len(owner), dtype=bool), 0
    for node in sorted({node for held in nodes_with_words(nodes, parts).values() for node in held}):
        if node >= after and nodes.name(node) not in _UNNAMED and is_named(nodes.attributes[node]):
            after = int(nodes.end[node])
            first, last = owner.searchsorted((node, after))
            found[first:last] = True
    return found
