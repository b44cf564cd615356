"""Names by which authors mark posts, readers' comments and sidebars in ``class`` and ``id``."""

from __future__ import annotations

import re

from blockml.page.attribute_words import searched_together
from blockml.page.element_names import ElementNames

__all__ = ["COMMENTS", "OF_POSTS", "SIDEBARS"]

#: Words in the attributes of posts of a thread.
OF_POSTS = (b"post", b"comment", b"message", b"answer", b"question", b"reply", b"msg")
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
_OF_COMMENTS, _OF_SIDEBARS = (b"omment", b"omentar", b"isqus"), (b"idebar", b"ypelist")
_SEARCHED = searched_together(_OF_COMMENTS + _OF_SIDEBARS)
#: Elements with a word for comments in a class, or at the start of an id: many ids repeat a heading, as targets of
#: links.
COMMENTS = ElementNames(_OF_COMMENTS, re.compile(_COMMENT), re.compile(_COMMENT), _SEARCHED)
#: Elements whose id, or one of whose classes, is the name of a sidebar.
SIDEBARS = ElementNames(
    _OF_SIDEBARS,
    re.compile(rf"(?<!\S){_SIDEBAR}(?!\S)", re.IGNORECASE),
    re.compile(rf"{_SIDEBAR}\Z", re.IGNORECASE),
    _SEARCHED,
)
