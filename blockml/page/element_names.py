"""Blocks in elements with certain class and id names, by which authors mark posts, comments and sidebars."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page
from blockml.page.attributes import searched_together
from blockml.text.words import lazy_pattern

__all__ = ["COMMENTS", "OF_BODIES", "OF_POSTS", "SIDEBARS", "ElementNames", "blocks_in"]


#: Elements whose names describe the whole page or only a heading.
_UNNAMED = frozenset("html body h1 h2 h3 h4 h5 h6".split())


class ElementNames(NamedTuple):
    """Class and id names that mark elements of one kind."""

    words: tuple[bytes, ...]  #: Attributes of these elements contain one of these ASCII words.
    in_class: re.Pattern[str]  #: Found somewhere in a ``class``.
    in_id: re.Pattern[str]  #: Found at the start of an ``id``.


def blocks_in(page: Page, names: ElementNames) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks are in an element with a matching class or id, except headings and whole pages.

    Examples
    --------
    >>> import blockml
    >>> names = ElementNames((b"omment",), re.compile("[cC]omments"), re.compile("comment"))
    >>> page = blockml.parse("<p>One<div class=userComments><p>Two</div><p id=commented>Three<p id=no-comment>Four")
    >>> blocks_in(page, names).tolist()
    [False, True, True, False]
    """
    nodes, owner = page.nodes, page.blocks.node
    found, after = np.zeros(len(owner), dtype=bool), 0
    for node in nodes.with_any(names.words):
        if node >= after and nodes.name(node) not in _UNNAMED:
            held = nodes.attributes[node]
            if names.in_class.search(held.get("class") or "") or names.in_id.match(held.get("id") or ""):
                after = int(nodes.end[node])
                # Of the same type: numpy would convert the whole column for numbers of Python.
                first, last = owner.searchsorted(np.array((node, after), owner.dtype)).tolist()
                found[first:last] = True
    return found


#: Words in the attributes of posts of a thread.
OF_POSTS = searched_together((b"post", b"comment", b"message", b"answer", b"question", b"reply", b"msg"), any_case=True)
#: Words in the attributes of bodies of posts of forums.
OF_BODIES = searched_together((b"postbody", b"postmsg", b"post_message", b"messagetext"), any_case=True)
#: Words for comments: whole ones between hyphens, underscores and capitals. Names such as "no-comments" and
#: "commentOnSelection" tell whether there are any, or what a click does; testimonials are chosen by the page's author.
_COMMENT = (
    r"(?<![nN]o[-_])(?<!has[-_])(?<!with[-_])(?<!without[-_])(?<!hide[-_])(?<!estimonial[-_])(?<!estimonials[-_])(?<!omments[-_])"
    r"((?<![a-zA-Z])([cC]omment(s|list|body|text|area)?|[dD]isqus|[kK]ommentare?|[cC]omentarios?|[cC]ommentaires?)"
    r"(?![a-z])|(?<=[a-z])(?<![nN]o)(?<!has)(?<!with)(?<!hide)Comments?(?![a-z]))"
    r"(?![-_]?([oO](n|ff|pen)|[cC]losed|[eE]nabled|[dD]isabled)(?![a-z]))"
)
#: Typepad's sidebars consist of typelists. Names such as "no-sidebar" and "content-sidebar-wrap" are those of whole
#: pages.
_SIDEBAR = (
    r"((?!with|has|no|content|main|layout|page)[a-z0-9]+[-_])?(sidebar|typelist)s?"
    r"([-_]?(?!wrap|layout|main|content|no|page)[a-z0-9]+)?"
)
_OF_COMMENTS = searched_together((b"omment", b"omentar", b"isqus"))
_OF_SIDEBARS = searched_together((b"idebar", b"ypelist"))
#: Elements with a word for comments in a class, or at the start of an id: many ids repeat a heading, as targets of
#: links.
COMMENTS = ElementNames(_OF_COMMENTS, lazy_pattern(_COMMENT), lazy_pattern(_COMMENT))
#: Elements whose id, or one of whose classes, is the name of a sidebar.
SIDEBARS = ElementNames(
    _OF_SIDEBARS,
    lazy_pattern(rf"(?<!\S){_SIDEBAR}(?!\S)", re.IGNORECASE),
    lazy_pattern(rf"{_SIDEBAR}\Z", re.IGNORECASE),
)
