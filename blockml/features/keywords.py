"""Values of the attributes that name parts of a page, and groups of words in them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes

#: Words by group, collected from the markup of public design systems and content management systems. A model learns
#: which groups matter.
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "content": ("content", "contenido", "inhalt"),
    "article": ("article", "story", "artikel", "articulo"),
    "post": ("post", "entry", "blog"),
    "body": ("body", "text", "prose", "markdown", "copy", "richtext", "wysiwyg", "rte"),
    "mainpart": ("main", "primary", "page-"),
    "comment": ("comment", "disqus", "respond", "reply", "replies", "kommentar", "comentario"),
    "side": ("sidebar", "side-", "aside", "rail", "widget", "right-col", "left-col", "secondary"),
    "navigation": ("nav", "menu", "breadcrumb", "crumb", "toolbar", "tabs"),
    "pages": ("pagination", "pager", "paging", "prev", "next"),
    "foot": ("foot", "copyright", "legal", "imprint", "disclaimer"),
    "top": ("header", "masthead", "banner", "topbar", "logo", "brand"),
    "related": ("related", "recommend", "more-", "similar", "also", "upsell", "cross-sell", "read-next", "suggest"),
    "popular": ("popular", "trending", "latest", "recent", "most-", "featured"),
    "share": ("share", "social", "follow", "twitter", "facebook", "sharing"),
    "advert": ("advert", "ads", "ad-", "sponsor", "promo", "adsense", "dfp", "outbrain", "taboola"),
    "byline": ("byline", "author", "meta", "date", "time", "publish"),
    "tags": ("tag", "categor", "topic", "label", "keyword"),
    "consent": ("cookie", "consent", "gdpr", "privacy", "onetrust"),
    "overlay": ("popup", "modal", "overlay", "dialog", "tooltip", "dropdown", "drawer", "offcanvas", "toast", "alert"),
    "subscribe": ("newsletter", "subscri", "signup", "sign-up", "login", "signin", "register", "optin", "cta"),
    "product": ("product", "sku", "item-detail", "pdp"),
    "price": ("price", "cart", "checkout", "basket", "stock", "shipping", "buy", "qty", "quantity", "variant"),
    "describe": ("desc", "detail", "spec", "feature", "overview", "summary", "about", "info"),
    "review": ("review", "rating", "star", "testimonial", "feedback"),
    "card": ("card", "tile", "teaser", "grid", "thumb", "carousel", "slide", "swiper", "gallery"),
    "list": ("list", "item", "results", "row", "archive", "loop", "collection", "catalog"),
    "title": ("title", "heading", "headline", "subtitle", "lead", "intro", "excerpt", "standfirst", "dek"),
    "unseen": ("hidden", "hide", "sr-only", "screen-reader", "visually", "invisible", "skip", "collapse", "a11y"),
    "picture": ("caption", "figure", "image", "photo", "img", "video", "media", "credit"),
    "question": ("faq", "accordion", "question", "answer", "toggle"),
    "thread": ("thread", "message", "forum", "topic-", "discussion", "bbs"),
    "user": ("signature", "user", "avatar", "profile", "member", "karma", "badge", "rank"),
    "search": ("search", "filter", "facet", "sort", "refine"),
    "code": ("code", "highlight", "syntax", "snippet", "console", "terminal"),
    "outline": ("toc", "outline", "table-of-contents", "on-this-page", "anchor"),
    "hero": ("hero", "jumbotron", "splash", "cover", "section"),
    "bio": ("bio", "about-author", "contributor", "vcard"),
    "table": ("table", "cell", "column"),
}

_GROUP_OF = {word: number for number, words in enumerate(KEYWORDS.values()) for word in words}
# Longer words first, so that "topic-" matches before "topic". Compiled when first used, because the C extension rarely
# calls it.
_WORDS = "|".join(sorted(map(re.escape, _GROUP_OF), key=len, reverse=True))


def keyword_bits(value: str) -> int:
    """Return bit ``1 << i`` for the ``i``-th group of :data:`KEYWORDS` of which an attribute's value holds a word.

    Examples
    --------
    >>> keyword_bits("Post-Comments") == keyword_bits("post") | keyword_bits("comment")
    True
    """
    bits = 0
    for word in re.findall(_WORDS, value.lower()):
        bits |= 1 << _GROUP_OF[word]
    return bits


@functools.cache
def words() -> Mapping[str, NDArray[Any]]:
    """Return all words, longer ones first, for the C extension.

    Returns the ASCII characters of all words, one word after the other, and the (n_words,) length and group of each.
    """
    longest_first = sorted(_GROUP_OF, key=len, reverse=True)
    letters = np.frombuffer("".join(longest_first).encode("ascii"), dtype=np.uint8)
    lengths = np.array([*map(len, longest_first)], dtype=np.uint8)
    groups = np.array([_GROUP_OF[word] for word in longest_first], dtype=np.int8)
    for part in (lengths, groups):
        part.flags.writeable = False
    return {"keyword_letters": letters, "keyword_lengths": lengths, "keyword_groups": groups}


#: Attributes whose values are numbered.
ATTRIBUTES = ("class", "role", "id", "itemprop", "property")


@dataclass(frozen=True, slots=True, eq=False)
class AttributeValues:
    """Unique values of :data:`ATTRIBUTES`, and the number of each element's value."""

    values: tuple[str, ...]  #: Value of each number, in document order; the first is empty
    #: (n_attributes, n_nodes + 1) number of each element's value; 0 without one, and at the end for "no node"
    columns: NDArray[np.int32]
    of: Mapping[str, NDArray[np.int32]]  #: Rows of :attr:`columns` by attribute
    numbers: dict[str, int]  #: Number of each value

    @classmethod
    def of_nodes(cls, nodes: Nodes, chosen: NDArray[np.int64]) -> Self:
        """Number the values of some elements, given by rising indices; others have number 0.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p class=a id=b>one<p class=b id=c>two").nodes
        >>> paragraphs = np.flatnonzero(nodes.named({"p"}))
        >>> found = AttributeValues.of_nodes(nodes, paragraphs[:1])
        >>> found.values, found.of["class"][paragraphs].tolist(), found.of["id"][paragraphs].tolist()
        (('', 'a', 'b'), [1, 0], [2, 0])
        """
        numbers = {"": 0}
        columns = np.zeros((len(ATTRIBUTES), len(nodes) + 1), dtype=np.int32)
        _write_numbers(nodes, chosen, ATTRIBUTES, numbers, columns)
        return cls(tuple(numbers), columns, dict(zip(ATTRIBUTES, columns, strict=True)), numbers)

    def more_classes(self, nodes: Nodes, chosen: NDArray[np.int64]) -> NDArray[np.int32]:
        """Number the values of ``class`` of more elements, too: (n_nodes + 1,)."""
        classes = self.of["class"].copy()
        _write_numbers(nodes, chosen, ("class",), dict(self.numbers), classes[None])
        return classes


def _write_numbers(
    nodes: Nodes,
    chosen: NDArray[np.int64],
    attributes: tuple[str, ...],
    numbers: dict[str, int],
    columns: NDArray[np.int32],
) -> None:
    """Write the numbers (n_attributes, n_nodes + 1) of some elements; new values get the next ones."""
    for node in chosen.tolist():
        if held := nodes.attributes[node]:
            for column, attribute in zip(columns, attributes, strict=True):
                if (value := held.get(attribute)) is not None:
                    column[node] = numbers.setdefault(value, len(numbers))
