"""Weak labels of block types for pages whose gold only separates main content from the rest.

A block gets a label only if an element around it has a class, id or role with one of the words below, which come from
the themes of common publishing systems; other blocks stay unknown. Precision is preferred over recall.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.datasets.gold import LABEL_CODE, LABELS, BlockLabels
from blockml.features.page_context import PageContext
from blockml.page import Label, Nodes, Page

#: Type of pages whose comments are main content.
FORUM = "forum"

_PARTS = "area|list|section|sec|wrapper|wrap|container|block|box|body|content|inner|main|module|widget|region|row|item"
_STORIES = "posts?|articles?|stories|story|news|content|items?|links|products?|topics|reading|entries|videos?|pages?"

#: Label of an element's content: pattern for a whole word of its ``class`` or ``id``.
_NAMES: Mapping[Label, str] = {
    Label.COMMENT: rf"(the|post|article|entry|user|reader|blog|fb|facebook|wp|single)?-?comments?(-({_PARTS}|thread"
    r"|form|respond|text|template|tree|entry|holder|pane|author|meta|reply|metadata))*|commentlist|comment(list|area|body|form)"
    r"|respond|disqus(-\w+)*|dsq-\S+|kommentare?|comentarios|commentaires",
    Label.RELATED: rf"(jp|post|article|news|blog)?-?related(-({_STORIES}|{_PARTS}|title))*|related({_STORIES})"
    rf"|yarpp(-\w+)*|crp-related|recommended(-({_STORIES}|{_PARTS}))*|recommendations?(-({_PARTS}))*|upsells?|cross-sells?"
    rf"|(you-)?(may|might)-(also-)?like|(more|similar|recent|popular|latest|trending|top)-({_STORIES})(-({_PARTS}))*"
    r"|most-(read|popular|viewed|shared)(-\w+)*|read-(next|more-posts)|widget-recent-(entries|posts)",
    Label.ADVERTISEMENT: r"ads?|advert|adverts|advertis(ing|ements?)|adsbygoogle|advertorial"
    r"|ads?-(container|slot|unit|wrapper|wrap|banner|block|box|space|placement|label|area|zone|leaderboard)(-\w+)*"
    r"|(google|dfp|gpt|div-gpt|banner|sidebar|header|inline|article)-ads?(-\w+)*|sponsor(ed|s|ship)?(-\w+)*"
    r"|taboola(-\S+)?|outbrain(-\S+)?|promoted(-\w+)*",
    Label.FOOTER: r"(site|page|global|main|bottom|the|app|master|layout)?-?footer(-(wrapper|wrap|container|widgets?"
    r"|area|bottom|main|nav|links|content|inner|top|copyright|menu|section|row|info|legal))*|colophon|copyright",
    Label.NAVIGATION: r"(main|primary|site|top|global|secondary|mobile|header|sub|side|page)?"
    r"-?(nav|navbar|navigation|menu)(-(main|menu|list|links|wrapper|container|bar|primary|top|mobile|inner))*|breadcrumbs?(-(list|nav|trail))?"
    r"|pagination|nav-links|page-numbers",
    Label.OTHER: r"cookie\S*|consent\S*|gdpr\S*|onetrust\S*|newsletter\S*|subscri(be|ption)\S*|sign-?up\S*|social\S*"
    r"|shar(e|ing)(-\S+)?|addtoany\S*|sharedaddy|search(-(form|box|bar|field|wrapper|container))?|searchform|login\S*"
    r"|skip-link|screen-reader\S*|site-(title|branding|logo)|logo",
}
_PATTERNS = {label: re.compile(pattern, re.IGNORECASE) for label, pattern in _NAMES.items()}
_ROLES: Mapping[str, Label] = {
    "navigation": Label.NAVIGATION,
    "menu": Label.NAVIGATION,
    "menubar": Label.NAVIGATION,
    "contentinfo": Label.FOOTER,
    "search": Label.OTHER,
}
#: Elements whose classes and ids are ignored: on page-level elements they describe the page, on controls what they
#: open.
_UNNAMED = frozenset("html body main article a button input label svg i img".split())
#: A footer inside one of these belongs to it, not to the page (HTML Standard on ``footer``).
_SECTIONING = frozenset({"article", "aside", "main", "nav", "section", "blockquote", "figure", "td", "dialog"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NONE, _FOOTER, _COMMENT = -1, LABEL_CODE[Label.FOOTER], LABEL_CODE[Label.COMMENT]


def weak_labels(page: Page, gold: BlockLabels, *, page_type: str | None = None) -> BlockLabels:
    """Label the blocks of a page whose gold only separates main content from the rest.

    Main content is ``heading`` in an element ``h1`` … ``h6``, else ``main``. Any other block gets the label of the
    nearest named element around it, or ``footer`` anywhere in the page's footer. The type is unknown for blocks
    without a named element, comments on pages of type ``forum``, main content inside an element whose name
    contradicts it (either the gold or the name is wrong), and blocks that the gold covers in part.

    Parameters
    ----------
    page
        The page.
    gold
        Gold labels of its blocks.
    page_type
        Type of the page, if known.

    Returns
    -------
    BlockLabels
        Gold with labels. Where the block type is unknown, ``known`` is False and the label is ``other``.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets import TextGold
    >>> page = blockml.parse("<h1>Cats</h1><p>They rule.<div class=comment-list><p>So true!</div><footer>2020</footer>")
    >>> [str(label) for label in weak_labels(page, TextGold("Cats They rule.").label(page)).labels]
    ['heading', 'main', 'comment', 'footer']
    """
    if not len(page.blocks):
        return BlockLabels(gold.main, gold.share, gold.known, ())
    named = _named(page.nodes)[page.blocks.node]
    headings = np.append(page.nodes.named(_HEADINGS), False)  # the last entry is the parent of a root
    is_heading = headings[PageContext(page).chain].any(axis=0)
    codes = np.where(gold.main, np.where(is_heading, LABEL_CODE[Label.HEADING], LABEL_CODE[Label.MAIN]), named)
    is_clear = np.where(gold.main, gold.share >= 0.9, gold.share <= 0.1)
    is_contradicted = gold.main & (named >= 0)
    if page_type == FORUM:
        is_clear &= gold.main | (named != _COMMENT)
        is_contradicted &= named != _COMMENT
    known = gold.known & is_clear & ~is_contradicted & (codes >= 0)
    labels = tuple([LABELS[code] for code in np.where(known, codes, LABEL_CODE[Label.OTHER]).tolist()])
    return BlockLabels(gold.main, gold.share, known, labels)


def _named(nodes: Nodes) -> NDArray[np.int64]:
    """Return the (n_nodes,) label code from the nearest named element, or from the page's footer; -1 without one."""
    codes = np.full(len(nodes), _NONE, dtype=np.int64)
    sectioned = np.zeros(len(nodes), dtype=bool)
    cache: dict[str, int] = {}  # code of each word of a class or id
    for node, (tag, parent) in enumerate(zip(nodes.tag.tolist(), nodes.parent.tolist(), strict=True)):
        if parent >= 0:
            codes[node], sectioned[node] = codes[parent], sectioned[parent]
        if tag == 0 or codes[node] == _FOOTER:
            continue
        name = nodes.names[tag]
        sectioned[node] |= name in _SECTIONING
        own = _own_code(name, nodes.attributes[node], cache)
        if own >= 0 and not (own == _FOOTER and sectioned[node]):
            codes[node] = own
    return codes


def _own_code(name: str, attributes: Mapping[str, str], cache: dict[str, int]) -> int:
    """Return the label code given by an element's own name, role, id or class; -1 without one."""
    if name in _UNNAMED:
        return _NONE
    if name in ("nav", "footer"):
        return _FOOTER if name == "footer" else LABEL_CODE[Label.NAVIGATION]
    for role in attributes.get("role", "").lower().split():
        if role in _ROLES:
            return LABEL_CODE[_ROLES[role]]
    for key in ("id", "class"):
        for word in attributes.get(key, "").split():
            if word not in cache:
                # camelCase and underscores separate words like hyphens.
                plain = re.sub(r"(?<=[a-z])(?=[A-Z])|_+|--+", "-", word).strip("-")
                matches = (LABEL_CODE[label] for label, pattern in _PATTERNS.items() if pattern.fullmatch(plain))
                cache[word] = next(matches, _NONE)
            if cache[word] >= 0:
                return cache[word]
    return _NONE
