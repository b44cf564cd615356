"""Reader of JSON-LD: descriptions of a page in schema.org vocabulary, in ``script`` elements."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from blockml.metadata.dates import iso_date
from blockml.metadata.lenient_json import lenient_json
from blockml.page import Page
from blockml.text.characters import readable

_KIND = b"application/ld+json"
#: Unpaired surrogates: JSON can escape them, but they cannot be encoded.
SURROGATES = re.compile("[\ud800-\udfff]")
#: Keywords in ideographs that are separated by spaces, and commas and semicolons of other scripts.
_IDEOGRAPHS, _OTHER_COMMAS = re.compile("[\u2e80-\u9fff ]+"), re.compile("[，；、،؛]")
#: Maximum length of the start tag of a script.
_MAX_TAG = 500
#: Maximum size of a script in bytes and maximum depth of objects, which bound the cost of hostile pages.
_MAX_BYTES, _MAX_DEPTH, _MAX_OBJECTS = 500_000, 8, 500
#: Maximum depth of lists and objects within a value, below which nothing is read; recipes have three levels.
_MAX_LISTS = 6
#: Types in order of preference for the object that describes the page itself.
_PREFERENCE = (
    ("article", ("newsarticle", "article", "blogposting", "reportagenewsarticle", "analysisnewsarticle", "techarticle",
                 "opinionnewsarticle", "liveblogposting", "scholarlyarticle", "report", "recipe", "review", "howto")),
    ("forum", ("discussionforumposting", "qapage", "socialmediaposting")),  # questions are mostly part of an FAQ
    ("product", ("product", "productgroup", "book", "movie", "softwareapplication", "event", "jobposting", "course",
                 "videoobject", "podcastepisode")),
    ("list", ("collectionpage", "itemlist", "searchresultspage", "category", "blog")),
    ("website", ("webpage", "aboutpage", "contactpage", "itempage", "faqpage")),
    ("website", ("person",)),
    ("website", ("website", "organization", "localbusiness")),  # the site, not the page
)  # fmt: skip
#: Properties with dates that are not those of the page.
_OTHER_DATES = ("startDate", "endDate", "doorTime", "validFrom", "validThrough", "applicationDeadline", "expires",
                "birthDate", "foundingDate", "availabilityStarts", "priceValidUntil")  # fmt: skip
_RANK = {name: (rank, kind) for rank, (kind, names) in enumerate(_PREFERENCE) for name in names}


def json_ld_objects(source: bytes, n_scripts: int) -> Iterator[Mapping[str, Any]]:
    """Iterate over all objects of a page's JSON-LD, outer ones first; unreadable scripts are skipped.

    Parameters
    ----------
    source
        The page.
    n_scripts
        Number of JSON-LD scripts in its tree; the search ends after that many.

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
            value = lenient_json(text.decode("utf-8", "replace"))
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


def page_objects(page: Page, elements: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the objects of a page's JSON-LD, given the nodes of the elements with the JSON-LD media type."""
    return json_ld_objects(page.utf8 or b"", sum(page.nodes.name(node) == "script" for node in elements))


def field_texts(page: Page, fields: Iterable[str], max_characters: int) -> list[str]:
    """List the texts of some fields of a page's JSON-LD: strings, objects with a text or name, and lists of these.

    The list ends before it has more than ``max_characters``.

    Examples
    --------
    >>> import blockml
    >>> script = '{"recipeInstructions": [{"text": "Beat the eggs."}, "Eat."]}'
    >>> page = blockml.parse(f'<script type="application/ld+json">{script}</script>')
    >>> field_texts(page, ("recipeInstructions",), 1000)
    ['Beat the eggs.', 'Eat.']
    """
    found: list[str] = []
    n_characters = 0
    for item in page_objects(page, page.nodes.with_words((b"+json",))[b"+json"]):
        for text in (text for field in fields for text in _texts(item.get(field), 0)):
            n_characters += len(text)
            if n_characters > max_characters:
                return found
            found.append(text)
    return found


def _texts(value: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 (parsed JSON)
    """Iterate over the texts of ingredients or steps: strings, steps with a text or name, and sections of these."""
    if isinstance(value, str):
        yield text_of(value) or ""
    elif isinstance(value, list | dict) and depth < _MAX_LISTS:
        parts = value if isinstance(value, list) else [value.get(key) for key in ("text", "name", "itemListElement")]
        for part in parts:
            yield from _texts(part, depth + 1)


def _scripts(source: bytes) -> Iterator[bytes]:
    """Iterate over the texts of JSON-LD scripts."""
    place = source.find(_KIND)
    while place >= 0:
        start, tag_end = source.rfind(b"<", max(0, place - _MAX_TAG), place), source.find(b">", place)
        if tag_end < 0:
            return
        stop = tag_end
        if source[start : start + 7].lower() == b"<script":
            stop = source.find(b"<", tag_end)  # searching for a single byte is fastest
            while stop >= 0 and source[stop + 1 : stop + 8].lower() != b"/script":
                stop = source.find(b"<", stop + 1)
            stop = stop if stop >= 0 else len(source)
            if stop - tag_end <= _MAX_BYTES and not _is_commented(source, start):
                yield source[tag_end + 1 : stop]
        place = source.find(_KIND, stop)


def _is_commented(source: bytes, place: int) -> bool:
    """Tell whether a place is in a comment that starts shortly before it."""
    before = max(0, place - _MAX_TAG)
    begin = source.rfind(b"<!--", before, place)
    return begin >= 0 and source.find(b"-->", begin, place) < 0


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

    The object is empty if no object has a known type, or only those for the site have one. The site is the publisher of
    that object, or else the first ``WebSite`` with a name; objects after an article with a publisher are not read.
    Authors, publishers and images that are given by ``@id`` are looked up among the other objects.
    """
    best = len(_PREFERENCE)
    chosen: tuple[Mapping[str, Any], str | None] = ({}, None)
    site_name = publisher = None
    is_complete = False
    by_id: dict[str, Mapping[str, Any]] = {}
    for item in objects:
        if isinstance(identifier := item.get("@id"), str) and not (
            _is_reference(item) or text_of(by_id.get(identifier))
        ):
            by_id[identifier] = item
        types = item.get("@type")
        for name in types if isinstance(types, list) else [types]:
            rank, kind = _RANK.get(str(name).rpartition("/")[2].lower(), (best, None))
            if rank < best:
                best, chosen = rank, (item, kind)
                publisher = text_of(item.get("publisher"))
                is_complete = (
                    best == 0
                    and publisher is not None
                    and not any(_references(item.get(key)) for key in ("author", "image"))
                )
        if is_complete:
            break
        if site_name is None and str(types).lower() == "website":
            site_name = text_of(item.get("name"))
    item, kind = chosen
    if not is_complete:
        referring = ("author", "publisher", "image")
        item = {**item, **{key: _resolved(item[key], by_id) for key in referring if key in item}}
        publisher = text_of(item.get("publisher"))
    return item if best < len(_PREFERENCE) - 1 else {}, kind, publisher or site_name


def _references(value: Any) -> bool:  # noqa: ANN401 (parsed JSON)
    """Tell whether a value has objects with an ``@id``, but without a name or address."""
    return any(map(_is_reference, value if isinstance(value, list) else [value]))


def _is_reference(item: Any) -> bool:  # noqa: ANN401 (parsed JSON)
    return isinstance(item, dict) and "@id" in item and not (text_of(item) or item.get("url") or item.get("contentUrl"))


def _resolved(value: Any, by_id: Mapping[str, Mapping[str, Any]]) -> list[Any]:  # noqa: ANN401 (parsed JSON)
    """Replace the objects of a value that have only an ``@id`` with the named objects of that id, where found."""
    items = value if isinstance(value, list) else [value]
    return [by_id.get(str(item["@id"]), item) if _is_reference(item) else item for item in items]


def other_dates(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the days on which an event takes place, an offer ends or similar, as ISO 8601.

    Examples
    --------
    >>> list(other_dates([{"startDate": "2024-06-14T10:00", "offers": {"validThrough": "2024-06-01"}}]))
    ['2024-06-14', '2024-06-01']
    """
    for item in objects:
        offers = item.get("offers")
        for part in (item, *(offers if isinstance(offers, list) else [offers])):
            for key in _OTHER_DATES if isinstance(part, dict) else ():
                if found := iso_date(text_of(part.get(key))):
                    yield found[:10]


def text_of(value: Any, depth: int = 0) -> str | None:  # noqa: ANN401 (parsed JSON)
    """Return the text of a value: a string, the first of a list, or the value or name of an object.

    ``depth`` is the number of lists and objects around the value; deep ones have no text.

    Examples
    --------
    >>> text_of({"givenName": "Ann", "familyName": "Lee"}), text_of({"name": {"@value": "Cats &amp; dogs"}})
    ('Ann Lee', 'Cats & dogs')
    """
    if isinstance(value, str):
        cleaned = " ".join(readable(html.unescape(value)).split())
        return (cleaned if cleaned.isascii() else SURROGATES.sub("\ufffd", cleaned)) or None
    if depth > _MAX_LISTS:
        return None
    if isinstance(value, list):
        return next((text for item in value if (text := text_of(item, depth + 1))), None)
    if isinstance(value, dict):
        found = (text_of(value.get(key), depth + 1) for key in ("@value", "name"))
        parts = (text_of(value.get(key), depth + 1) for key in ("givenName", "additionalName", "familyName"))
        return next(found) or next(found) or " ".join(filter(None, parts)) or None
    return None


def address_of(value: Any, depth: int = 0) -> str | None:  # noqa: ANN401 (parsed JSON)
    """Return the address of an image: a string, the first of a list, or the address of an object.

    The name of an object is its caption, and an ``@id`` with a fragment names an object of the page, not a file.
    """
    if isinstance(value, dict):
        found = (text_of(value.get(key)) for key in ("url", "contentUrl", "@id"))
        return next((text for text in found if text and "#" not in text), None)
    if isinstance(value, list):
        addresses = (address_of(item, depth + 1) for item in value if depth <= _MAX_LISTS)
        return next(filter(None, addresses), None)
    return text_of(value)


def names_in(value: Any, depth: int = 0) -> tuple[str, ...]:  # noqa: ANN401 (parsed JSON)
    """Return the names of persons or organisations: a string, an object with a name, or a list of these."""
    items = value if isinstance(value, list) else [value]
    found: list[str] = []
    for item in items:
        several = item.get("@list") or item.get("name") if isinstance(item, dict) else item
        if isinstance(several, list):
            found += names_in(several, depth + 1) if depth <= _MAX_LISTS else ()
        elif text := text_of(item):
            found.append(text)
    return tuple(dict.fromkeys(found))


def keywords(value: Any) -> tuple[str, ...]:  # noqa: ANN401 (parsed JSON)
    """Return at most 50 keywords: a text, separated at commas and semicolons, or a list of these.

    A text without these is separated at commas of other scripts, or at the spaces between ideographs, if this gives
    three keywords or more.

    Examples
    --------
    >>> keywords("cats; dogs,cats"), keywords("猫，狗，鸟"), keywords("猫 狗 鸟")
    (('cats', 'dogs'), ('猫', '狗', '鸟'), ('猫', '狗', '鸟'))
    """
    items = value if isinstance(value, list) else [value]
    texts = (text.replace(";", ",") for item in items if (text := text_of(item)))
    parts = (part.strip() for text in texts for part in (text.split(",") if text.isascii() else _separated(text)))
    return tuple(dict.fromkeys(filter(None, parts)))[:50]


def _separated(text: str) -> list[str]:
    """Return the keywords of a text; a single comma or space also occurs in sentences and titles."""
    if "," in text:
        return text.split(",")
    parts = text.split() if _IDEOGRAPHS.fullmatch(text) else _OTHER_COMMAS.split(text)
    return parts if len(parts) > 2 else [text]
