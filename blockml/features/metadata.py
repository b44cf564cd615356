"""What the page says about itself: title, description, kind; and how a block's text resembles it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Row, columns_of
from blockml.features.page_context import PageContext
from blockml.features.tags import TagTable
from blockml.text.characters import ALNUM, classes
from blockml.text.tokens import metric_tokens

__all__ = ["COLUMNS", "declared_metadata", "page_stats", "resemblance", "titles"]

#: Longest block compared with the title, in words: none longer is one.
TITLE_WORDS = 30

#: Kinds that ``og:type`` and schema.org types name, by words in them.
KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("article", "newsarticle", "blogposting", "reportagenewsarticle", "opinionnewsarticle"),
    "product": ("product", "product.item", "og:product", "productgroup"),
    "discussion": ("discussionforumposting", "qapage", "question", "socialmediaposting"),
    "listing": ("itemlist", "collectionpage", "searchresultspage", "offercatalog", "productcollection"),
    "manual": ("techarticle", "apireference", "howto", "faqpage", "recipe", "course"),
    "firm": ("organization", "localbusiness", "service", "professionalservice", "corporation", "person"),
    "website": ("website", "webpage"),
}
_KIND_OF = {word: number for number, words in enumerate(KINDS.values()) for word in words}
# Possessive: runs of blanks are looked at once.
_SCHEMA = re.compile(rb'"@type"\s*+:\s*+(?:\[\s*+)?+"(\w++)"')
#: Kinds of addresses, by words in them, of which the first counts at each place; # is any digit.
_URL_KINDS: Mapping[str, str] = {
    "forum": "forum thread topic discuss question viewtopic showthread community /t/ /r/",
    "shop": "product /p/ /dp/ item shop store",
    "shelf": "categor collection /c/ /tag archive search browse list",
    "news": "blog news article story post ####/##",
    "docs": "docs documentation api reference guide wiki manual tutorial help learn",
}
_URL_WORDS = re.compile(
    "|".join(
        f"(?P<{kind}>{'|'.join(re.escape(word) for word in words.split())})" for kind, words in _URL_KINDS.items()
    ).replace(r"\#", r"\d")
)
#: What is added up by tag: nodes, words and blocks in elements.
_NODES, _WORDS, _BLOCKS = range(3)
#: Columns that are sums over elements of some names, as they are or as a share of the page's words or blocks.
SUMS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "pageinp": (_WORDS, ("p",)),
    "pageinli": (_WORDS, ("li",)),
    "pageintd": (_WORDS, ("td", "th")),
    "pagehead": (_BLOCKS, ("h1", "h2", "h3", "h4", "h5", "h6")),
    "pagearticles": (_NODES, ("article",)),
    "pagemains": (_NODES, ("main",)),
    "pageimages": (_NODES, ("img",)),
    "pageforms": (_NODES, ("form",)),
    "pageinputs": (_NODES, ("input", "button")),
    "pageh1": (_NODES, ("h1",)),
    "pageh2": (_NODES, ("h2",)),
    "pagepars": (_NODES, ("p",)),
    "pagescripts": (_NODES, ("script",)),
}
_COUNTED = tuple([column for column, (what, _) in SUMS.items() if what == _NODES])
#: The same as bits of each name.
SUM_BITS = TagTable(
    {
        name: sum(1 << bit for bit, (_, others) in enumerate(SUMS.values()) if name in others)
        for _, names in SUMS.values()
        for name in names
    }
)
#: The same by name: columns and what they add up.
_SUMS_OF = {
    name: [(column, what) for column, (what, names) in SUMS.items() if name in names]
    for name in frozenset(name for _, names in SUMS.values() for name in names)
}


def titles(view: PageContext) -> tuple[str, str]:
    """Title and description, as the page declares them."""
    meta = view.meta
    description = meta.get("og:description", "") or meta.get("description", "")
    return f"{view.page.title} {meta.get('og:title', '')}", description


def resemblance(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Share of a block's words that stand in the title or the description, and the other way round."""
    title, description = (set(metric_tokens(text)) for text in titles(view))
    short = np.flatnonzero((view.words > 0) & (view.words <= 3 * TITLE_WORDS))
    found = np.zeros((len(view), 3))
    if (title or description) and len(short):
        found[short] = _shared(view, short, title, description)
    n_different, both, described = found.T
    some = np.maximum(n_different, 1)
    in_title = np.where(n_different <= TITLE_WORDS, both / some, 0.0)
    of_title = both / max(1, len(title))
    like = (in_title > 0.7) & (view.words >= 2) & (of_title >= 0.4)
    first = int(np.flatnonzero(like)[0]) if like.any() else -1
    return {
        "intitle": in_title,
        "oftitle": of_title,
        "indescription": described / some,
        "sincetitle": np.arange(len(view)) - first if first >= 0 else np.full(len(view), -9999),
    }


def _shared(view: PageContext, blocks: NDArray[np.intp], title: Set[str], description: Set[str]) -> NDArray[np.float64]:
    """(len(blocks), 3) different words, and those in title and description; 0 for a block with none of these."""
    shared = np.zeros((len(blocks), 3))
    either = title | description
    texts = [view.blocks.texts[block] for block in blocks.tolist()]
    for row, text in zip(shared, texts, strict=True):
        words = metric_tokens(text)
        if not either.isdisjoint(words):
            different = set(words)
            row[:] = len(different), len(different & title), len(different & description)
    return shared


#: No character from here on has another one in lower case (Unicode 15: Adlam's capitals end before); they are taken for
#: such that may.
_LAST_CASED = 0x1F200


@functools.cache
def word_bits() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A bit of each code point, low bits first.

    Returns
    -------
    in_word, cased
        Whether words of :func:`blockml.text.tokens.metric_tokens` hold it; whether lower case may be something else.
    """
    points = np.arange(0x110000, dtype=np.uint32)
    in_word = (classes(points) & ALNUM > 0) | (points == ord("_"))
    cased = np.ones(len(points), dtype=bool)
    cased[:_LAST_CASED] = [sign.lower() != sign for sign in map(chr, range(_LAST_CASED))]
    found = np.packbits([in_word, cased], axis=1, bitorder="little")
    found.flags.writeable = False
    return found[0], found[1]


def page_stats(view: PageContext) -> Mapping[str, float]:
    """How much text there is, what it stands in, how many elements of some kinds there are and how deep they lie."""
    n_words, prose, linked = view.n_words, float(view.prose.sum()), float(view.linked.sum())
    by_tag, longest, depth = _sums_by_tag(view)
    sums = dict.fromkeys(SUMS, 0.0)
    for number, name in enumerate(view.nodes.names):
        for column, what in _SUMS_OF.get(name, ()):
            sums[column] += by_tag[what][number]
    return {
        "pagewords": n_words,
        "pageblocks": len(view),
        "pagelinks": linked / n_words,
        "pageprose": prose / n_words,
        "pageprosewords": prose,
        "pageinp": sums["pageinp"] / n_words,
        "pageinli": sums["pageinli"] / n_words,
        "pageintd": sums["pageintd"] / n_words,
        "pagehead": sums["pagehead"] / len(view),
        "pagetop": longest[0] / n_words,
        "pagetop5": float((longest / n_words).sum()),
        **{column: sums[column] for column in _COUNTED},
        "pagedepth": float(depth),
    }


def _sums_by_tag(view: PageContext) -> tuple[list[list[float]], NDArray[np.float64], int]:
    """Nodes by tag, words and blocks by tag of their parent; the five longest blocks; depth of the deepest node."""
    n_tags = len(view.nodes.names)
    counts, longest = np.zeros((3, n_tags)), np.zeros(5)
    tags = view.nodes.tag[view.blocks.parent]
    counts[0] = np.bincount(view.nodes.tag, minlength=n_tags)
    counts[1] = np.bincount(tags, view.words, minlength=n_tags)
    counts[2] = np.bincount(tags, minlength=n_tags)
    most = np.sort(view.words)[::-1][:5]
    longest[: len(most)] = most
    return counts.tolist(), longest, int(view.nodes.depth.max())


def declared_metadata(view: PageContext) -> Mapping[str, float]:
    """Kind and canonical address that the page declares, equal for all its blocks."""
    kinds = [0.0] * len(KINDS)
    if (own := _KIND_OF.get(view.meta.get("og:type", "").lower())) is not None:
        kinds[own] = 1
    for number in {_KIND_OF[word] for word in map(str.lower, _types(view.page.utf8 or b"")) if word in _KIND_OF}:
        kinds[number] += 2
    values = (*kinds, *_address(view.meta.get("og:url", "") or view.canonical))
    return dict(zip(_DECLARED, values, strict=True))


def _address(address: str) -> tuple[float, ...]:
    """What the page's canonical address looks like."""
    # Of three slashes the first two count.
    route = address.split("//")[-1].partition("/")[2].lower()  # noqa: PLC0207
    kinds = {match.lastgroup for match in _URL_WORDS.finditer("/" + route)} if route else ()
    n_parts = len([part for part in route.split("/") if part]) if address else -1
    return n_parts, route.count("-"), sum(map(str.isdigit, route)), *[name in kinds for name in _URL_KINDS]


def _types(source: bytes) -> Iterator[str]:
    """Names of schema.org types in a page's source.

    Examples
    --------
    >>> list(_types(b'{"@type": ["Article", "x"]} "@type":"@type":"Web"'))
    ['Article', 'Web']
    """
    # The sign alone is found many times faster than a regular expression is, or any longer text.
    sign = source.find(b"@", 1)
    while sign >= 0:
        match = _SCHEMA.match(source, sign - 1) if source.startswith(b'type"', sign + 1) else None
        if match is not None:
            yield match[1].decode("ascii")
        sign = source.find(b"@", match.end() + 1 if match is not None else sign + 1)


_DECLARED: dict[str, Row] = {
    **{f"is{name}": ("1 by og:type, 2 by schema.org, 3 by both", 0, 3) for name in KINDS},
    "urlparts": ("parts of the canonical address, -1 without one", -1, np.inf),
    "urldashes": "dashes in it",
    "urldigits": "digits in it",
    **{f"url{name}": ("0 or 1", 0, 1) for name in _URL_KINDS},
}
_PAGE = "the page as a whole"
COLUMNS = (
    *columns_of(
        resemblance,
        "likeness to the page's title and description",
        {
            "intitle": ("words of the block in the title / its words", 0, 1),
            "oftitle": ("words of the title in the block / words of the title", 0, 1),
            "indescription": ("words in the page's description / words", 0, 1),
            "sincetitle": ("blocks since the first that is like the title, -9999 without one", -np.inf, np.inf),
        },
    ),
    *columns_of(
        page_stats,
        _PAGE,
        {
            "pagewords": "words",
            "pageblocks": "blocks",
            "pagelinks": ("linked words / words", 0, 1),
            "pageprose": ("running text / words", 0, 1),
            "pageprosewords": "words of running text",
            "pageinp": ("words in p / words", 0, 1),
            "pageinli": ("words in li / words", 0, 1),
            "pageintd": ("words in td and th / words", 0, 1),
            "pagehead": ("headings / blocks", 0, 1),
            "pagetop": ("words of the longest block / words", 0, 1),
            "pagetop5": ("words of the five longest blocks / words", 0, 1),
            "pagearticles": "article elements",
            "pagemains": "main elements",
            "pageimages": "img elements",
            "pageforms": "form elements",
            "pageinputs": "input and button elements",
            "pageh1": "h1 elements",
            "pageh2": "h2 elements",
            "pagepars": "p elements",
            "pagescripts": "script elements",
            "pagedepth": "ancestors of the deepest node",
        },
    ),
    *columns_of(declared_metadata, _PAGE, _DECLARED),
)
