"""Reader of JSON-LD, lenient about small mistakes, and of ``meta`` elements."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from blockml.metadata.dates import iso_date
from blockml.page import Nodes, Page
from blockml.text.words import readable

__all__ = [
    "SURROGATES",
    "address_of",
    "declarations",
    "described",
    "field_texts",
    "json_ld_objects",
    "keywords",
    "lenient_json",
    "names_in",
    "other_dates",
    "page_objects",
    "text_of",
]


_KIND = b"application/ld+json"
#: Unpaired surrogates: JSON can escape them, but they cannot be encoded.
SURROGATES = re.compile("[\ud800-\udfff]")
#: Lists of keywords in ideographs, which may be separated by spaces; commas and semicolons of other scripts.
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


_DECODER = json.JSONDecoder(strict=False)
#: Characters after a quote that ends a string; other quotes belong to the text.
_END = (
    r"(?=\s*(?::|[}\]]|[,;]\s*(?:[\"'“”{\[}\]/,;-]|\d|true\b|false\b|null\b|\w{1,40}\s*:|\Z)|//|/\*|\n\s*[\"'“”]|\Z))"
)
#: Compiled when they are first used, because most scripts are right: a token, for a string its first quote; and the end
#: of a string by its first quote, or an escape before it.
_PIECE = (
    r"(?P<quote>[\"'“”])|(?P<skipped>//[^\n]*|/\*.*?(?:\*/|\Z)|<!--|-->|<!\[CDATA\[|\]\]>|\s+)"
    r"|(?P<sign>[{}\[\]:,;])|(?P<word>[^\s{}\[\]:,;\"“”']+)"
)
_STRING_END = {quote: rf"\\(?:.|\Z)|(?P<end>{quote}){_END}" for quote in "\"'"} | dict.fromkeys(
    "“”", rf"(?P<end>[“”]){_END}"
)
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\(.?)|"', re.DOTALL)
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CLOSING = {"{": "}", "[": "]"}


def lenient_json(text: str) -> Any:  # noqa: ANN401 (parsed JSON)
    """Read JSON, or JSON with small mistakes; other texts raise ValueError.

    Text that :mod:`json` can read gives the same result; line breaks in strings are allowed. Otherwise commas are set
    again, so that superfluous and missing ones do not matter; comments, unpaired closing brackets and the marks of HTML
    comments and CDATA sections are skipped; quotes within strings, invalid escapes and missing brackets at the end are
    repaired. Several values in one text are returned as a list.

    Examples
    --------
    >>> lenient_json('{"name": "James "Jim" Lee", /* why? */ "n": [1, 2,],}')
    {'name': 'James "Jim" Lee', 'n': [1, 2]}
    >>> lenient_json('{"a": 1}; {"a": 2}')
    [{'a': 1}, {'a': 2}]
    """
    try:
        return _DECODER.decode(text)
    except ValueError:
        values = _DECODER.decode(_mended(_unescaped(text)))
    if not any(isinstance(value, dict | list) for value in values):
        raise ValueError("no object in the text")
    return values[0] if len(values) == 1 else values


def _unescaped(text: str) -> str:
    """Return a text without the escapes of its quotes, if all of them are escaped for HTML or JavaScript."""
    first = text.find('"')
    if first < 0:
        return html.unescape(text)
    return text.replace('\\"', '"') if text[first - 1 : first] == "\\" else text


def _mended(text: str) -> str:
    """Return valid JSON: a list of the values in a text."""
    pieces, open_brackets = ["["], ["["]
    for found in _tokens(text):
        before = pieces[-1]
        if found in (",", ";", "}", "]"):
            if before == ":":
                pieces.append("null")
            if found == _CLOSING[open_brackets[-1]] and len(open_brackets) > 1:
                pieces.append(found)
                open_brackets.pop()
            continue
        if found != ":" and before not in ("[", "{", ":"):
            pieces.append(",")
        if found in _CLOSING:
            open_brackets.append(found)
        pieces.append(found)
    if pieces[-1] == ":":
        pieces.append("null")
    pieces += [_CLOSING[bracket] for bracket in reversed(open_brackets)]
    return "".join(pieces)


def _tokens(text: str) -> Iterator[str]:
    """Yield brackets, commas, colons and values as JSON."""
    match, position = re.compile(_PIECE, re.DOTALL).match, 0
    while token := match(text, position):
        found, position = token[0], token.end()
        if token["quote"]:
            end, position = _end_of_string(text, position, found)
            yield _quoted(text[token.end() : end])
        elif token["sign"] or (token["word"] and _LITERAL.fullmatch(found)):
            yield found
        elif token["word"]:
            yield _quoted(found)


def _end_of_string(text: str, start: int, quote: str) -> tuple[int, int]:
    """Return where the content of a string ends, and where the string does: the text may end first."""
    for found in re.compile(_STRING_END[quote], re.DOTALL).finditer(text, start):
        if found["end"] or found[0] == "\\":
            return found.span()
    return len(text), len(text)


def _quoted(text: str) -> str:
    """Return a text as a JSON string."""
    return f'"{_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    """Return JSON escapes unchanged, a quote escaped, and any other escape as its character."""
    return match[0] if match[1] else '\\"' if match[0] == '"' else match[2]


_Known = TypeVar("_Known")


def declarations(nodes: Nodes, known: dict[str, _Known]) -> list[tuple[_Known, str]]:
    """Look up the names of the ``meta`` elements; return the entries with the contents.

    The first of the attributes ``property``, ``name`` and ``http-equiv`` with a value gives the name of the
    declaration. Elements with an unknown name or without content are skipped.

    Parameters
    ----------
    nodes
        The nodes of a page.
    known
        Entries by ASCII names in lower case.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<meta name=Author content=Ann><meta name=author><meta name=robots content=all><p>x")
    >>> declarations(page.nodes, {"author": 1})
    [(1, 'Ann')]
    """
    found = []
    for node in nodes.indices("meta").tolist():
        attributes = nodes.attributes[node]
        content = attributes.get("content")
        name = attributes.get("property") or attributes.get("name") or attributes.get("http-equiv") or ""
        if content and name.isascii() and (entry := known.get(name.lower())) is not None:
            found.append((entry, content))
    return found
