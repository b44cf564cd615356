"""Labels of areas for pages whose gold only tells main content: what the markup itself calls its parts.

They are weak: an area is found only where its author named it by one of the words here. So blocks that are neither
main content nor named stay unknown. Precision comes first; the words are those of common publishing systems' themes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.datasets.gold import BlockLabels
from blockml.features.page_context import PageContext
from blockml.page import Label, Nodes, Page

__all__ = ["FORUM", "NAMES", "weak_labels"]

#: Page type of pages whose comments are their content.
FORUM = "forum"

_PARTS = "area|list|section|sec|wrapper|wrap|container|block|box|body|content|inner|main|module|widget|region|row|item"
_STORIES = "posts?|articles?|stories|story|news|content|items?|links|products?|topics|reading|entries|videos?|pages?"

#: What a whole word of an element's ``class`` or ``id`` has to look like, by the label of what the element holds.
NAMES: Mapping[Label, str] = {
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
_PATTERNS = {label: re.compile(pattern, re.IGNORECASE) for label, pattern in NAMES.items()}
_ROLES: Mapping[str, Label] = {
    "navigation": Label.NAVIGATION,
    "menu": Label.NAVIGATION,
    "menubar": Label.NAVIGATION,
    "contentinfo": Label.FOOTER,
    "search": Label.OTHER,
}
#: Names of whole documents say what is on the page, not what the page is; controls name what they open.
_PAGE_WIDE = frozenset({"html", "body", "main", "article"})
_CONTROLS = frozenset({"a", "button", "input", "label", "svg", "i", "img"})
#: A footer in one of these is theirs, not the page's (the HTML standard on ``footer``).
_SECTIONING = frozenset({"article", "aside", "main", "nav", "section", "blockquote", "figure", "td", "dialog"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_LABELS = tuple(Label)
_CODE = {label: code for code, label in enumerate(_LABELS)}
_NONE, _NOT_MAIN = -1, -2


def weak_labels(page: Page, gold: BlockLabels, *, page_type: str | None = None) -> BlockLabels:
    """Label the blocks of a page whose gold only tells main content.

    Main content is ``heading`` in an element ``h1`` … ``h6``, else ``main``. Any other block is what the nearest named
    element above it is, but ``footer`` anywhere in the page's footer; without a name, and on pages of type ``forum`` in
    comments, it is unknown. So is main content that stands in a part that is named for something else, where either the
    gold or the name is wrong, and a block of which gold covers a part.

    Parameters
    ----------
    page
        The page.
    gold
        What the gold says of its blocks.
    page_type
        What kind of page it is, if known.

    Returns
    -------
    BlockLabels
        With labels; ``other`` where nothing is known.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets import TextGold
    >>> page = blockml.parse("<h1>Cats</h1><p>They rule.<div class=comment-list><p>So true!</div><footer>2020</footer>")
    >>> [str(label) for label in weak_labels(page, TextGold("Cats They rule.").label(page)).labels]
    ['heading', 'main', 'comment', 'footer']
    """
    blocks = page.blocks
    named = _named(page.nodes)[blocks.node] if len(blocks) else np.empty(0, np.int64)
    heading = _inside(page, _HEADINGS)
    codes = np.where(gold.main, np.where(heading, _CODE[Label.HEADING], _CODE[Label.MAIN]), named)
    clear = np.where(gold.main, gold.share >= 0.9, gold.share <= 0.1)
    if page_type == FORUM:
        clear &= gold.main | (named != _CODE[Label.COMMENT])
        contradiction = gold.main & (named >= 0) & (named != _CODE[Label.COMMENT])
    else:
        contradiction = gold.main & (named >= 0)
    known = gold.known & clear & ~contradiction & (codes >= 0)
    labels = tuple([_LABELS[code] if sure else Label.OTHER for code, sure in zip(codes.tolist(), known, strict=True)])
    return BlockLabels(gold.main, gold.share, known, labels)


def _named(nodes: Nodes) -> NDArray[np.int64]:
    """(n_nodes,) code of the label that the nearest named element, or the page's footer, gives; -1 without one."""
    code = np.full(len(nodes), _NONE, dtype=np.int64)
    sectioned = np.zeros(len(nodes), dtype=bool)
    known: dict[str, int] = {}
    for node, (tag, parent) in enumerate(zip(nodes.tag.tolist(), nodes.parent.tolist(), strict=True)):
        if parent >= 0:
            code[node], sectioned[node] = code[parent], sectioned[parent]
        if tag == 0 or code[node] == _CODE[Label.FOOTER]:
            continue
        name = nodes.names[tag]
        sectioned[node] |= name in _SECTIONING
        own = _own(name, nodes.attributes[node], known)
        if own == _CODE[Label.FOOTER] and sectioned[node]:
            own = _NONE
        if own >= 0:
            code[node] = own
    return code


def _own(name: str, attributes: Mapping[str, str], known: dict[str, int]) -> int:
    """Code of the label that an element's own name, role, class or id gives; -1 if none does."""
    if name in _PAGE_WIDE or name in _CONTROLS:
        return _NONE
    if name == "nav":
        return _CODE[Label.NAVIGATION]
    if name == "footer":
        return _CODE[Label.FOOTER]
    for role in attributes.get("role", "").lower().split():
        if role in _ROLES:
            return _CODE[_ROLES[role]]
    for key in ("id", "class"):
        for word in attributes.get(key, "").split():
            if word not in known:
                known[word] = _called(word)
            if known[word] >= 0:
                return known[word]
    return _NONE


def _called(word: str) -> int:
    """Code of the label that one word of a class or id names; camelCase and underscores are hyphens too."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|_+|--+", "-", word).strip("-")
    return next((_CODE[label] for label, pattern in _PATTERNS.items() if pattern.fullmatch(plain)), _NONE)


def _inside(page: Page, names: frozenset[str]) -> NDArray[np.bool_]:
    """(n_blocks,) whether an element with one of these names holds the block."""
    if not len(page.blocks):
        return np.zeros(0, dtype=bool)
    wanted = np.append(page.nodes.named(names), False)  # the last: what there is above a root
    return np.asarray(wanted[PageContext(page).chain].any(axis=0))
