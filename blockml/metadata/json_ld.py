"""Reader of JSON-LD: the description of a page in schema.org's vocabulary, in ``script`` elements."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["address_of", "described", "json_ld_objects", "keywords", "names", "text_of"]

_KIND = b"application/ld+json"
_DECODER = json.JSONDecoder(strict=False)
#: Longest start tag of a script.
_MAX_TAG = 500
#: Bounds on the size of a script in bytes and on nested objects, so that hostile pages cost little.
_MAX_BYTES, _MAX_DEPTH, _MAX_OBJECTS = 500_000, 8, 500
#: Types in order of preference for the object that describes the page itself.
_PREFERENCE = (
    ("article", ("newsarticle", "article", "blogposting", "reportagenewsarticle", "analysisnewsarticle", "techarticle",
                 "opinionnewsarticle", "liveblogposting", "scholarlyarticle", "report", "recipe", "review", "howto")),
    ("forum", ("discussionforumposting", "qapage", "question", "socialmediaposting")),
    ("product", ("product", "productgroup", "book", "movie", "softwareapplication", "event", "jobposting", "course",
                 "videoobject", "podcastepisode")),
    ("list", ("collectionpage", "itemlist", "searchresultspage", "category", "blog")),
    ("website", ("webpage", "aboutpage", "contactpage", "itempage", "faqpage", "website", "organization",
                 "localbusiness", "person")),
)  # fmt: skip
_RANK = {name: (rank, kind) for rank, (kind, names) in enumerate(_PREFERENCE) for name in names}


def json_ld_objects(source: bytes, n_scripts: int) -> Iterator[Mapping[str, Any]]:
    """Iterate over all objects of a page's JSON-LD, outer ones first; malformed scripts are skipped.

    Parameters
    ----------
    source
        The page.
    n_scripts
        Number of scripts with JSON-LD in its tree; the search ends when as many were read.

    Examples
    --------
    >>> page = b'<script type="application/ld+json">{"@graph": [{"@type": "Article", "headline": "Cats"}]}</script>'
    >>> [item.get("headline") for item in json_ld_objects(page, 1)]
    [None, 'Cats']
    """
    if not n_scripts:
        return
    n_objects = n_read = 0
    for text in _scripts(source):
        try:
            value = _DECODER.decode(_unwrapped(text.decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            continue
        for item in _objects(value, 0):
            n_objects += 1
            if n_objects > _MAX_OBJECTS:
                return
            yield item
        n_read += 1
        if n_read == n_scripts:
            return


def _scripts(source: bytes) -> Iterator[bytes]:
    """Iterate over the texts of JSON-LD scripts."""
    place = source.find(_KIND)
    while place >= 0:
        start, tag_end = source.rfind(b"<", max(0, place - _MAX_TAG), place), source.find(b">", place)
        if tag_end < 0:
            return
        stop = tag_end
        if source[start : start + 7].lower() == b"<script":
            stop = source.find(b"<", tag_end)  # a single byte is found fastest
            while stop >= 0 and source[stop + 1 : stop + 8].lower() != b"/script":
                stop = source.find(b"<", stop + 1)
            stop = stop if stop >= 0 else len(source)
            if stop - tag_end <= _MAX_BYTES and not _is_commented(source, start):
                yield source[tag_end + 1 : stop]
        place = source.find(_KIND, stop)


def _is_commented(source: bytes, place: int) -> bool:
    """Tell whether a comment begins shortly before a place and has not ended there."""
    before = max(0, place - _MAX_TAG)
    begin = source.rfind(b"<!--", before, place)
    return begin >= 0 and source.find(b"-->", begin, place) < 0


def _unwrapped(text: str) -> str:
    """Return a script without the comment or CDATA section that some sites put around the JSON.

    Examples
    --------
    >>> _unwrapped('/*<![CDATA[*/ {"a": [1]} /*]]>*/'), _unwrapped("none")
    ('{"a": [1]}', 'none')
    """
    if "<![CDATA[" in text:
        text = text.replace("<![CDATA[", "", 1).replace("]]>", "")
    text = text.strip()
    if text[:1] in ("{", "[") and text[-1:] in ("}", "]"):
        return text
    first = min((place for sign in "{[" if (place := text.find(sign)) >= 0), default=-1)
    last = max(text.rfind(sign) for sign in "}]")
    return text[first : last + 1] if 0 <= first < last else text


def _objects(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 (parsed JSON)
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage", "hasPart"):
            if key in value:
                yield from _objects(value[key], depth + 1)


def described(objects: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], str | None, str | None]:
    """Return the object that describes the page itself, its kind and the name of the site.

    The object is empty without one of a known type. The site is the publisher of that object, or else the first
    ``WebSite`` with a name; objects after an article with a publisher are not read.
    """
    best = len(_PREFERENCE)
    chosen: tuple[Mapping[str, Any], str | None] = ({}, None)
    site_name = publisher = None
    for item in objects:
        types = item.get("@type")
        for name in types if isinstance(types, list) else [types]:
            rank, kind = _RANK.get(str(name).rpartition("/")[2].lower(), (best, None))
            if rank < best:
                best, chosen = rank, (item, kind)
                publisher = text_of(item["publisher"]) if isinstance(item.get("publisher"), dict) else None
        if best == 0 and publisher:
            break
        if site_name is None and str(types).lower() == "website":
            site_name = text_of(item.get("name"))
    return (*chosen, publisher or site_name)


def text_of(value: Any) -> str | None:  # noqa: ANN401 (parsed JSON)
    """Return the text of a value: a string, the first of a list, or the name, value or address of an object."""
    if isinstance(value, str):
        return " ".join(html.unescape(value).split()) or None
    if isinstance(value, list):
        return next((text for item in value if (text := text_of(item))), None)
    if isinstance(value, dict):
        return next(
            (text for key in ("@value", "name", "url", "@id", "contentUrl") if (text := text_of(value.get(key)))), None
        )
    return None


def address_of(value: Any) -> str | None:  # noqa: ANN401 (parsed JSON)
    """Return the address of an image: a string, the first of a list, or the address of an object.

    The name of an object is its caption, and an ``@id`` with a fragment names an object of the page, no file.
    """
    if isinstance(value, dict):
        found = (text_of(value.get(key)) for key in ("url", "contentUrl", "@id"))
        return next((text for text in found if text and "#" not in text), None)
    if isinstance(value, list):
        return next((text for item in value if (text := address_of(item))), None)
    return text_of(value)


def names(value: Any) -> tuple[str, ...]:  # noqa: ANN401 (parsed JSON)
    """Return the names of persons or organisations: a string, an object with a name, or a list of these."""
    items = value if isinstance(value, list) else [value]
    found: list[str] = []
    for item in items:
        name = item.get("name") if isinstance(item, dict) else item
        found += names(name) if isinstance(name, list) else [text] if (text := text_of(name)) else []
    return tuple(dict.fromkeys(found))


def keywords(value: Any) -> tuple[str, ...]:  # noqa: ANN401 (parsed JSON)
    """Return at most 50 keywords: a text, separated at commas and semicolons, or a list of these."""
    items = value if isinstance(value, list) else [value]
    texts = (text.replace(";", ",") for item in items if (text := text_of(item)))
    parts = (part.strip() for text in texts for part in text.split(","))
    return tuple(dict.fromkeys(filter(None, parts)))[:50]
