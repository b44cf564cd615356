"""Metadata that a page declares (title, description, kind, address), likeness of blocks to it, and page statistics."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import ColumnRange, columns_of
from blockml.features.page_context import PageContext, TagTable
from blockml.text.words import ALNUM, LAST_CLASSIFIED, characters, class_table, lazy_pattern, readable, token_lists

#: Maximum number of words of a block that is compared with the title; longer blocks are not titles.
TITLE_WORDS = 30

#: Kinds of pages, with the values of ``og:type`` and the schema.org types that declare them.
PAGE_KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("article", "newsarticle", "blogposting", "reportagenewsarticle", "opinionnewsarticle"),
    "product": ("product", "product.item", "og:product", "productgroup"),
    "discussion": ("discussionforumposting", "qapage", "question", "socialmediaposting"),
    "listing": ("itemlist", "collectionpage", "searchresultspage", "offercatalog", "productcollection"),
    "manual": ("techarticle", "apireference", "howto", "faqpage", "recipe", "course"),
    "firm": ("organization", "localbusiness", "service", "professionalservice", "corporation", "person"),
    "website": ("website", "webpage"),
}
_KIND_OF = {word: number for number, words in enumerate(PAGE_KINDS.values()) for word in words}
# Possessive: runs of blanks are scanned once.
_SCHEMA = lazy_pattern(rb'"@type"\s*+:\s*+\[?+\s*+"(\w++)"')
#: Kinds of addresses, with words that tell them; the first word counts at each position; # is any digit, and | the end
#: of a part of the address: a headline with the word "question" makes no forum.
_URL_KINDS: Mapping[str, str] = {
    "forum": "/forum| /forums| /thread| /threads| /topic| /topics| /discuss| /discussion| /discussions| /question| "
    "/questions| /viewtopic| /showthread| /community| /t/ /r/",
    "shop": "product /p/ /dp/ item shop store",
    "shelf": "categor collection /c/ /tag archive search browse list",
    "news": "blog news article story post ####/##",
    "docs": "docs documentation api reference guide wiki manual tutorial help learn",
}
_URL_WORDS = lazy_pattern(
    "|".join(f"(?P<{kind}>{'|'.join(re.escape(word) for word in words.split())})" for kind, words in _URL_KINDS.items())
    .replace(r"\#", r"\d")
    .replace(r"\|", r"(?![\w-])")
)
#: Sums by tag: number of nodes, of words and of blocks in elements of the name.
_NODES, _WORDS, _BLOCKS = range(3)
#: Columns that are sums over elements of some names: words as a share of the page's words, blocks of its blocks.
#: The C extension expects words first, then blocks, then nodes.
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
#: Bit ``1 << i`` for the names of the ``i``-th sum.
SUM_BITS = TagTable(
    {
        name: sum(1 << bit for bit, (_, others) in enumerate(SUMS.values()) if name in others)
        for _, names in SUMS.values()
        for name in names
    }
)


def titles(context: PageContext) -> tuple[str, str]:
    """Return the title and the description that the page declares, without invisible characters as in its texts."""
    meta = context.meta
    description = meta.get("og:description", "") or meta.get("description", "")
    title = f"{context.page.title} {meta.get('og:title', '')}"
    return (
        title if title.isascii() or title.isprintable() else readable(title),
        description if description.isascii() or description.isprintable() else readable(description),
    )


def title_overlap(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Compare the words of blocks with those of the title and of the description."""
    blocks = np.flatnonzero((context.words > 0) & (context.words <= 3 * TITLE_WORDS)).tolist()
    tokens = token_lists([*titles(context), *(context.blocks.texts[block] for block in blocks)])
    title, description = map(set, tokens[:2])
    unique, in_title, described = counts = np.zeros((3, len(context)))
    for block, words in zip(blocks, tokens[2:], strict=True):
        if not (title.isdisjoint(words) and description.isdisjoint(words)):
            different = set(words)
            counts[:, block] = len(different), len(different & title), len(different & description)
    some = np.maximum(unique, 1)
    share = np.where(unique <= TITLE_WORDS, in_title / some, 0.0)
    of_title = in_title / max(1, len(title))
    like = (share > 0.7) & (context.words >= 2) & (of_title >= 0.4)
    first = int(like.argmax()) if like.any() else -1
    return {
        "intitle": share,
        "oftitle": of_title,
        "indescription": described / some,
        "sincetitle": np.arange(len(context)) - first if first >= 0 else np.full(len(context), -9999),
    }


#: No code point from here on has a lower case (Unicode 15: Adlam's capitals end before). They count as cased, for later
#: versions of Unicode.
_LAST_CASED = 0x1F200


@functools.cache
def word_bits() -> Mapping[str, NDArray[np.uint8]]:
    """Return bits of code points for the C extension, low bits first.

    ``in_word`` tells whether words of :func:`blockml.text.words.metric_tokens` hold a code point, ``is_cased`` whether
    its lower case may differ.
    """
    table = class_table()
    in_word = np.zeros(len(table) // 8, dtype=np.uint8)
    in_word[: LAST_CLASSIFIED // 8] = np.packbits(table[:LAST_CLASSIFIED] & np.uint8(ALNUM), bitorder="little")
    in_word[ord("_") // 8] |= 1 << ord("_") % 8
    # The lower case of one letter has two characters.
    lowered = characters(0, _LAST_CASED).replace("İ", "i").lower().encode("utf-32-le", "surrogatepass")
    cased = np.frombuffer(lowered, dtype="<u4") != np.arange(_LAST_CASED)
    found = {"in_word": in_word, "is_cased": np.full(len(in_word), 0xFF, np.uint8)}
    found["is_cased"][: _LAST_CASED // 8] = np.packbits(cased, bitorder="little")
    for bits in found.values():
        bits.flags.writeable = False
    return found


def page_stats(context: PageContext) -> Mapping[str, float]:
    """Measure the page as a whole: text, links, elements and depth, equal for all its blocks."""
    n_words, prose = context.n_words, float(context.prose.sum())
    names, tag = context.nodes.names, context.nodes.tag
    holder = tag[context.blocks.parent]
    by_tag = [
        np.bincount(tag, minlength=len(names)).tolist(),
        np.bincount(holder, context.words, minlength=len(names)).tolist(),
        np.bincount(holder, minlength=len(names)).tolist(),
    ]
    per = (1.0, n_words, float(len(context)))
    number = {name: number for number, name in enumerate(names)}
    longest = np.sort(context.words)[:-6:-1] / n_words
    return {
        "pagewords": n_words,
        "pageblocks": len(context),
        "pagelinks": float(context.linked.sum()) / n_words,
        "pageprose": prose / n_words,
        "pageprosewords": prose,
        "pagetop": float(longest[0]),
        "pagetop5": float(longest.sum()),
        "pagedepth": float(context.nodes.depth.max()),
        **{
            column: sum([by_tag[what][number[name]] for name in wanted if name in number]) / per[what]
            for column, (what, wanted) in SUMS.items()
        },
    }


def declared_metadata(context: PageContext) -> Mapping[str, float]:
    """Read the kind and the address that the page declares, equal for all its blocks.

    A page without a canonical address has the address that it was parsed with, if any.
    """
    kinds = [0.0] * len(PAGE_KINDS)
    if (own := _KIND_OF.get(context.meta.get("og:type", "").lower())) is not None:
        kinds[own] = 1
    for number in {_KIND_OF[word] for word in map(str.lower, _types(context.page.utf8 or b"")) if word in _KIND_OF}:
        kinds[number] += 2
    address = context.meta.get("og:url", "") or context.canonical or context.page.url or ""
    values = (*kinds, *_address(address))
    return dict(zip(_DECLARED, values, strict=True))


def _address(address: str) -> tuple[float, ...]:
    """Count parts, dashes and digits of an address, and tell its kinds."""
    # Of three slashes the first two count.
    route = address.split("//")[-1].partition("/")[2].lower()  # noqa: PLC0207
    kinds = {match.lastgroup for match in _URL_WORDS.finditer("/" + route)} if route else ()
    n_parts = len([part for part in route.split("/") if part]) if address else -1
    return n_parts, route.count("-"), sum(map(str.isdigit, route)), *[name in kinds for name in _URL_KINDS]


def _types(source: bytes) -> Iterator[str]:
    """Iterate over the names of schema.org types in a page's source.

    Examples
    --------
    >>> list(_types(b'{"@type": ["Article", "x"]} "@type":"@type":"Web"'))
    ['Article', 'Web']
    """
    # A single byte is found many times faster than a regular expression or a longer pattern.
    sign = source.find(b"@", 1)
    while sign >= 0:
        match = _SCHEMA.match(source, sign - 1) if source.startswith(b'type"', sign + 1) else None
        if match is not None:
            yield match[1].decode("ascii")
        sign = source.find(b"@", match.end() + 1 if match is not None else sign + 1)


_DECLARED: dict[str, ColumnRange] = {
    **{f"is{name}": ("1 by og:type, 2 by schema.org, 3 by both", 0, 3) for name in PAGE_KINDS},
    "urlparts": ("parts of the page's address, canonical if declared, -1 without one", -1, np.inf),
    "urldashes": "dashes in it",
    "urldigits": "digits in it",
    **{f"url{name}": ("0 or 1", 0, 1) for name in _URL_KINDS},
}
_PAGE = "the page as a whole"
COLUMNS = (
    *columns_of(
        title_overlap,
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
