"""Metadata of a page from JSON-LD, OpenGraph, Dublin Core, microdata and HTML, then from its visible text."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray

from blockml.metadata.dates import iso_date
from blockml.metadata.headline import MAX_ELEMENTS, element_text, headline, name_in_title
from blockml.metadata.items import declared_items
from blockml.metadata.json_ld import (
    address_of,
    declarations,
    described,
    keywords,
    names_in,
    other_dates,
    page_objects,
    text_of,
)
from blockml.metadata.names import clean_names, names_author, surname_last, unjoined
from blockml.metadata.visible import VisibleMetadata, elements_within
from blockml.page import Page
from blockml.page.page import Metadata
from blockml.text.languages import LANGUAGES, main_script
from blockml.text.words import readable

#: Names and properties of ``meta`` elements by field, in order of preference, with their source.
_META: Mapping[str, tuple[tuple[str, str], ...]] = {
    "title": (("og:title", "opengraph"), ("twitter:title", "opengraph"), ("dc.title", "dublin core"),
              ("dcterms.title", "dublin core"), ("title", "meta"), ("headline", "meta")),
    "authors": (("author", "meta"), ("article:author", "opengraph"), ("og:article:author", "opengraph"),
                ("citation_author", "meta"), ("citation_authors", "meta"), ("bepress_citation_author", "meta"),
                ("eprints.creators_name", "meta"), ("dc.creator", "dublin core"),
                ("dc.creator.personalname", "dublin core"), ("dcterms.creator", "dublin core"),
                ("parsely-author", "meta"), ("sailthru.author", "meta"), ("byl", "meta")),
    "published": (("article:published_time", "opengraph"), ("datepublished", "meta"), ("parsely-pub-date", "meta"),
                  ("dc.date.issued", "dublin core"), ("dcterms.created", "dublin core"), ("dc.date", "dublin core"),
                  ("dcterms.date", "dublin core"), ("date", "meta"), ("pubdate", "meta"), ("publishdate", "meta"),
                  ("publish-date", "meta"), ("sailthru.date", "meta"), ("citation_publication_date", "meta"),
                  ("og:article:published_time", "opengraph"), ("last-modified", "meta")),
    "modified": (("article:modified_time", "opengraph"), ("og:article:modified_time", "opengraph"),
                 ("og:updated_time", "opengraph"),
                 ("dcterms.modified", "dublin core"), ("dc.date.modified", "dublin core"), ("datemodified", "meta"),
                 ("last-modified", "meta")),
    "site_name": (("og:site_name", "opengraph"), ("application-name", "meta"), ("dc.publisher", "dublin core"),
                  ("apple-mobile-web-app-title", "meta")),
    "description": (("og:description", "opengraph"), ("description", "meta"), ("twitter:description", "opengraph"),
                    ("dc.description", "dublin core")),
    "image": (("og:image", "opengraph"), ("og:image:url", "opengraph"), ("twitter:image", "opengraph"),
              ("twitter:image:src", "opengraph")),
    "keywords": (("news_keywords", "meta"), ("keywords", "meta"), ("article:tag", "opengraph"),
                 ("dc.subject", "dublin core"), ("parsely-tags", "meta")),
    "language": (("content-language", "meta"), ("og:locale", "opengraph"), ("dc.language", "dublin core")),
    "canonical_url": (("og:url", "opengraph"),),
    "page_type": (("og:type", "opengraph"),),
    "labelled": (("twitter:label1", "opengraph"), ("twitter:data1", "opengraph")),  # a label and its value
}  # fmt: skip
_KEYS = {key: (name, rank, source) for name, keys in _META.items() for rank, (key, source) in enumerate(keys)}
#: Ranks of the names that may give authors as "Last, First".
_SURNAME_FIRST = {
    rank for rank, (key, _) in enumerate(_META["authors"]) if "citation_author" in key or "creator" in key
}
#: Readers of fields with several values; they get the values and the rank of the name.
_SEVERAL: Mapping[str, Callable[[tuple[str, ...], int], tuple[str, ...]]] = {
    "authors": lambda values, rank: tuple(map(surname_last, values)) if rank in _SURNAME_FIRST else values,
    "keywords": lambda values, _: keywords(list(values)),
}
#: schema.org properties of our fields, in JSON-LD and microdata.
_SCHEMA: Mapping[str, tuple[str, ...]] = {
    "title": ("headline", "name"),
    "authors": ("author", "creator"),
    "published": ("datePublished", "datePosted", "dateCreated", "uploadDate"),
    "modified": ("dateModified",),
    "description": ("description",),
    "image": ("image", "thumbnailUrl"),
    "keywords": ("keywords",),
    "language": ("inLanguage",),
}
_READERS: Mapping[str, Callable[[Any], Any]] = {"authors": names_in, "keywords": keywords, "image": address_of}
_SCHEMA_READERS: list[tuple[str, str, Callable[[Any], Any]]] = [
    (name, key, _READERS.get(name, text_of)) for name, keys in _SCHEMA.items() for key in keys
]
#: Fields for which only the first value counts, even if it is unreadable.
_FIRST = frozenset({"description", "image", "keywords", "canonical_url"})
#: Fields by lower-case microdata property. The title is missing because parts of a page have names too.
_PROPERTIES = {key.lower(): name for name, keys in _SCHEMA.items() if name != "title" for key in keys}
#: Attribute words that declare something.
_DECLARING = (b"+json", b"itemprop", b"itemscope", b"canonical")
_PAGE_TYPES = {"article": "article", "product": "product", "website": "website", "blog": "list", "book": "product",
               "profile": "website", "video": "product", "og:product": "product"}  # fmt: skip
#: Maximum nodes and characters between two authors that are joined (our choice: a word and white space).
_MAX_BETWEEN = 100
#: Maximum levels above a microdata image that may say what it shows, and nodes in it that may be its picture (our
#: choices).
_MAX_UP, _MAX_NEXT = 6, 9
_URL_DATE = re.compile(r"/((?:19|20)\d\d)(?:[/-]([01]?\d)[/-]([0-3]?\d)|/?([01]\d)([0-3]\d))(?=[/_-]|\Z)")
_ADDRESSES = ("http:", "https:", "/", "#", "_:")
#: Markup in a description: evidence that it has some (code may look like a tag), then tags within words, and all tags.
_MARKED = re.compile(r"</[a-z]|<br\b|<p>", re.IGNORECASE)
_INLINE = re.compile(r"</?(?:a|abbr|b|code|em|font|i|mark|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?(?:>|\Z)", re.IGNORECASE)
#: Addresses that need no resolution, and their host.
_ABSOLUTE = re.compile(r"https?://([a-z0-9.-]+)(?:/[\w.~%/!$&'()*+,=:@-]*+)?(?:\?[\w.~%/!$&'()*+,=:@-]++)?", re.ASCII)
_LANGUAGE = re.compile(r"(?!utf)[a-z]{2,3}(?:-[a-z0-9]{2,8})*", re.IGNORECASE)


def page_metadata(page: Page, kept: NDArray[np.bool_] | None = None) -> Metadata:
    """Read the metadata of a page: first its declarations, then its headline, bylines and ``time`` elements.

    Malformed declarations are skipped. Given the kept blocks (n_blocks,), a byline is also looked for in the first and
    last lines of their text.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(
    ...     "<html lang=en><title>Cats rule - The Daily Cat</title><meta name=author content='Ann Lee'>"
    ...     "<link rel=canonical href=/cats><h1>Cats rule</h1><time datetime=2024-05-03>May 3</time>",
    ...     url="https://cat.example/a",
    ... )
    >>> found = page_metadata(page)
    >>> found.title, found.authors, found.published, found.language, found.canonical_url
    ('Cats rule', ('Ann Lee',), '2024-05-03', 'en', 'https://cat.example/cats')
    >>> found.sources["published"], found.sources["title"]
    ('visible', 'h1')
    """
    found = _Found(page)
    found.read_json_ld()
    found.read_properties()
    found.read_meta()
    return found.finish(kept)


def page_headline(page: Page) -> str | None:
    """Return the headline of a page, the title of its metadata, without reading the others.

    Examples
    --------
    >>> import blockml
    >>> page_headline(blockml.parse("<title>Cats rule - The Daily Cat</title><h1>Cats rule</h1>"))
    'Cats rule'
    """
    found = _Found(page)
    found.read_json_ld()
    found.read_meta()
    site_name, _ = found.site_name()
    canonical, _ = found.canonical_url()
    return found.headline(site_name, canonical)[0]


class _Found:
    """Values by field, best source first."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.declaring = page.nodes.with_words(_DECLARING)
        self.values: dict[str, list[tuple[Any, str]]] = {}
        self.page_type: tuple[str, str] | None = None
        self.is_complete = False  # whether microdata were read
        self.objects: list[Mapping[str, Any]] = []  # of JSON-LD

    def add(self, name: str, value: Any, source: str) -> None:  # noqa: ANN401 (text or names)
        if value:
            self.values.setdefault(name, []).append((value, source))

    def is_known(self, name: str) -> bool:
        """Tell whether a further value of a field would be ignored."""
        return name in _FIRST and name in self.values

    def read_schema(self, item: Mapping[str, Any], source: str) -> None:
        """Add the fields of a schema.org object."""
        for name, key, read in _SCHEMA_READERS:
            value = item.get(key)
            if value and not self.is_known(name):
                self.add(name, read(value), source)

    def read_json_ld(self) -> None:
        if not self.declaring[b"+json"]:
            return
        self.objects = list(page_objects(self.page, self.declaring[b"+json"]))
        item, kind, site_name = described(self.objects)
        self.read_schema(item, "json-ld")
        self.add("site_name", site_name, "json-ld")
        if kind is not None:
            self.page_type = (kind, "json-ld")

    def read_properties(self) -> None:
        """Read the microdata of ``meta`` elements."""
        nodes = self.page.nodes
        for node in self.declaring[b"itemprop"]:
            if nodes.name(node) == "meta" and (content := nodes.attributes[node].get("content")):
                for key in (nodes.attributes[node].get("itemprop") or "").split():
                    self.add_property(key, content)

    def read_meta(self) -> None:
        nodes = self.page.nodes
        best: dict[str, list[tuple[int, str, str]]] = {}
        for (name, rank, source), content in declarations(nodes, _KEYS):
            best.setdefault(name, []).append((rank, content, source))
        labelled = {rank: text for rank, text, _ in best.get("labelled", ())}
        if len(labelled) == 2 and names_author(labelled[0]):
            best.setdefault("authors", []).append((len(_KEYS), labelled[1], "opengraph"))
        for name, found in best.items():
            if self.is_known(name):
                continue
            found.sort(key=itemgetter(0))
            first = found[0]
            if name in _SEVERAL:
                values = tuple(" ".join(readable(text).split()) for rank, text, _ in found if rank == first[0])
                self.add(name, _SEVERAL[name](values, first[0]), first[2])
            elif name == "page_type":
                kinds = (_PAGE_TYPES.get(text.lower().partition(".")[0]) for _, text, _ in found)
                kind = next(filter(None, kinds), None)
                self.page_type = self.page_type or ((kind, first[2]) if kind else None)
            else:
                for _, text, source in found:
                    if value := " ".join(readable(text).split()):
                        self.values.setdefault(name, []).append((value, source))
                        if name in _FIRST:
                            break

    def add_property(self, key: str, value: str) -> None:
        """Add the value of a microdata property."""
        if (name := _PROPERTIES.get(key.lower())) is not None:
            value = " ".join(readable(value).split())
            self.add(name, (value,) if name == "authors" else keywords(value) if name == "keywords" else value,
                     "microdata")  # fmt: skip

    def read_microdata(self) -> None:
        nodes, ends = self.page.nodes, self.page.nodes.end
        n_read = 0
        after = None  # the node after the last author
        for place, node in enumerate(self.declaring[b"itemprop"]):
            if nodes.name(node) == "meta":
                continue
            attributes = nodes.attributes[node]
            for key in (attributes.get("itemprop") or "").lower().split():
                if key == "image" and n_read < MAX_ELEMENTS:
                    n_read += 1
                    self.add(key, self.image_in(place), "microdata")
                if key in ("author", "datepublished", "datemodified") and n_read < MAX_ELEMENTS:
                    n_read += 1
                    value = attributes.get("content") or attributes.get("datetime")
                    value = value or (self.name_in(place) if key == "author" else element_text(self.page, node))
                    if value and len(value) < 120:
                        is_next = key == "author" and after is not None and 0 <= node - after < _MAX_BETWEEN
                        between = " ".join(nodes.texts[after:node]) if is_next else "x"
                        if len(between) < _MAX_BETWEEN and not unjoined(between)[0]:
                            (names, source) = self.values["authors"].pop()
                            self.add("authors", (*names, " ".join(readable(value).split())), source)
                        else:
                            self.add_property(key, value)
                        after = int(ends[node]) if key == "author" else after

    def name_in(self, place: int) -> str:
        """Return the name properties of a microdata author, or else its text, which may also contain counts."""
        nodes, places = self.page.nodes, self.declaring[b"itemprop"]
        found = []
        for inner in elements_within(nodes, places, places[place]):
            attributes = nodes.attributes[inner]
            if "name" in (attributes.get("itemprop") or "").lower().split():
                found.append(attributes.get("content") or element_text(self.page, inner))
        return "; ".join(found) or element_text(self.page, places[place])

    def image_in(self, place: int) -> str | None:
        """Return the address of a microdata image: its own, or that of a property or picture in it."""
        nodes, places = self.page.nodes, self.declaring[b"itemprop"]
        node = places[place]
        for outer in nodes.ancestors(node, _MAX_UP):
            if (kind := nodes.attributes[outer].get("itemtype")) is not None:
                if kind.endswith(("Person", "Organization", "Comment", "Review", "Answer")):
                    return None
                break
        first = range(node + 1, min(int(nodes.end[node]), node + _MAX_NEXT))
        for inner in (node, *elements_within(nodes, places, node), *first):
            attributes: Mapping[str, str] = nodes.attributes[inner]
            address = attributes.get("content") or attributes.get("src") or attributes.get("href")
            names = (attributes.get("itemprop") or "").lower().split()
            is_address = inner == node or nodes.name(inner) == "img" or "url" in names or "contenturl" in names
            if is_address and address:
                return address
        return None

    def canonical(self) -> str | None:
        """Return the address of the first canonical ``link``."""
        nodes = self.page.nodes
        for node in self.declaring[b"canonical"]:
            if nodes.name(node) == "link":
                link = nodes.attributes[node]
                if (link.get("rel") or "").lower() == "canonical":
                    return link.get("href")
        return None

    def every(self, name: str) -> Iterator[tuple[Any, str]]:
        """Iterate over the values of a field. Microdata are read only if no earlier value is used."""
        before = self.values.get(name, [])[:]
        yield from before
        if not self.is_complete:
            self.is_complete = True
            self.read_microdata()
        yield from self.values.get(name, [])[len(before) :]

    def first(self, name: str) -> tuple[Any, str]:
        return self.values.get(name, [(None, "")])[0]

    def site_name(self) -> tuple[str | None, str]:
        """Return the name of the site and its source."""
        named = [item for item in self.values.get("site_name", ()) if not item[0].startswith(_ADDRESSES)]
        site_name = name_in_title([name for name, _ in named], self.page.title)
        return next((item for item in named if item[0] == site_name), (None, ""))

    def canonical_url(self) -> tuple[str | None, str]:
        """Return the canonical address and its source."""
        canonical = self.canonical()
        return _absolute((canonical, "html") if canonical else self.first("canonical_url"), self.page)

    def headline(self, site_name: str | None, canonical: str | None) -> tuple[str | None, str]:
        """Return the headline and its source, given the name of the site and the canonical address."""
        declared = self.values.get("title", [])
        host = _host(canonical or self.page.url or "")
        title, source = headline(self.page, [value for value, _ in declared], site_name, host)
        return title, declared[0][1] if source == "declared" else source

    def finish(self, kept: NDArray[np.bool_] | None) -> Metadata:
        page, sources = self.page, dict[str, str]()
        fields: dict[str, Any] = {}

        def keep(name: str, value: Any, source: str) -> None:  # noqa: ANN401 (text or names)
            if value:
                fields[name], sources[name] = value, source

        keep("site_name", *self.site_name())
        description, source = self.first("description")
        keep("description", _plain(description or ""), source)
        keep("canonical_url", *self.canonical_url())
        longest = page.blocks.texts[int(page.blocks.n_words.argmax())] if len(page.blocks) else ""
        script = main_script(longest)
        keep("language", *self._language(script))
        language = fields.get("language", "")  # outside the United States the day comes first
        day_first = None if language in ("", "en") else language != "en-us"
        for name in ("published", "modified"):
            dates = ((iso_date(text_of(value), day_first=day_first), source) for value, source in self.every(name))
            keep(name, *next(((value, source) for value, source in dates if value), (None, "")))
        for value, source in self.every("authors"):
            if cleaned := clean_names(value):
                keep("authors", cleaned, source)
                break
        keep("keywords", *self.first("keywords"))
        keep("image", *_absolute(next(self.every("image"), (None, "")), page))
        keep("script", script, "visible")
        if self.page_type is not None:
            keep("page_type", *self.page_type)
        title, source = self.headline(fields.get("site_name"), fields.get("canonical_url"))
        keep("title", title, source)
        visible = VisibleMetadata(page, title, day_first=day_first, other_dates=frozenset(other_dates(self.objects)))
        if "published" not in fields:
            shown_dates = visible.dates()
            for name in ("published", "modified"):
                if name not in fields:
                    keep(name, shown_dates.get(name), "visible")
        if "published" not in fields:
            shown = visible.first_time()
            match = _URL_DATE.search(fields.get("canonical_url") or page.url or "")
            in_url = iso_date("-".join(filter(None, match.groups()))) if match else None
            if in_url and not (shown and shown.startswith(in_url)):
                keep("published", in_url, "url")
            else:
                modified = shown_dates.get("modified")
                shown = None if shown == modified else shown
                value = (in_url and shown) or shown_dates.get("") or shown or visible.named_date(but=modified)
                keep("published", value, "visible")
        if "authors" not in fields:
            keep("authors", visible.authors() or (() if kept is None else visible.authors_in(kept)), "visible")
        if self.objects or self.declaring[b"itemscope"]:
            scopes, properties = self.declaring[b"itemscope"], self.declaring[b"itemprop"]
            fields["items"] = declared_items(page, self.objects, scopes, properties)
        return Metadata(**fields, sources=sources)

    def _language(self, script: str | None) -> tuple[str | None, str]:
        """Return the declared language, or else that of the text's script if only one is written in it."""
        nodes = self.page.nodes
        for name in ("html", "body"):
            is_first = len(nodes) > 0 and nodes.name(0) == name
            for node in [0] if is_first else nodes.indices(name).tolist()[:1]:
                attributes = nodes.attributes[node]
                declared = attributes.get("lang") or attributes.get("xml:lang") or ""
                if match := _LANGUAGE.fullmatch(declared.strip().replace("_", "-")):
                    return match[0].lower(), "html"
        for value, source in self.values.get("language", ()):
            if match := _LANGUAGE.match((text_of(value) or "").replace("_", "-")):
                return match[0].lower(), source
        return LANGUAGES.get(script or ""), "visible"


def _plain(text: str) -> str:
    """Return a text without the tags and character references left over from double escaping."""
    if "<" in text and _MARKED.search(text):
        text = _TAG.sub(" ", _INLINE.sub("", text))
    elif "&" not in text:
        return text
    return " ".join(readable(html.unescape(text)).split())


def _host(url: str) -> str:
    """Return the host of an address; empty for one that is malformed."""
    if match := _ABSOLUTE.fullmatch(url):  # a tenth of the time
        return match[1]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _absolute(found: tuple[str | None, str], page: Page) -> tuple[str | None, str]:
    """Resolve an address; None if it is not an HTTP address."""
    value, source = found
    if not value:
        return None, ""
    address = text_of(value) or ""
    if _ABSOLUTE.fullmatch(address):
        return address, source
    try:
        address = urljoin(page.base_url, address)
        return (address, source) if urlsplit(address).scheme in ("http", "https") else (None, "")
    except ValueError:
        return None, ""
