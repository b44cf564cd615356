"""Things that a page declares, such as products, recipes, events and jobs, as it gives them."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from blockml.metadata.headline import element_text
from blockml.metadata.json_ld import SURROGATES
from blockml.page import Page

__all__ = ["declared_items"]

#: Types of schema.org that describe what a page is about, without their namespace and in lower case.
_TYPES = frozenset(
    """
    book businessevent childrensevent course courseinstance dataset danceevent educationevent event exhibitionevent
    faqpage festival foodevent hotel howto individualproduct jobposting literaryevent localbusiness movie musicalbum
    musicevent musicrecording occupation place podcastepisode podcastseries product productgroup productmodel qapage
    realestatelisting recipe restaurant review saleevent screeningevent service socialevent softwareapplication
    sportsevent store theaterevent touristattraction trip tvepisode tvseries vehicle videogame videoobject
    visualartsevent
    """.split()
)
#: Maximum items, levels of JSON, levels and properties of microdata (our choices), and characters per byte of the page,
#: because microdata may repeat a text on each level.
_MAX_ITEMS, _MAX_LEVELS, _MAX_DEPTH, _MAX_PROPERTIES, _MAX_RATIO = 100, 20, 8, 1_000, 1.0
#: Attributes with the value of a microdata property, by element (HTML standard, "Values", section 5.2.4).
_VALUES: Mapping[str, str] = {
    "meta": "content", "audio": "src", "embed": "src", "iframe": "src", "img": "src", "source": "src", "track": "src",
    "video": "src", "a": "href", "area": "href", "link": "href", "object": "data", "data": "value", "meter": "value",
    "time": "datetime",
}  # fmt: skip


def declared_items(
    page: Page, objects: Iterable[Mapping[str, Any]], scopes: Sequence[int], properties: Sequence[int]
) -> tuple[Mapping[str, Any], ...]:
    """List the products, recipes, events, jobs and similar things that a page declares in JSON-LD and microdata.

    Each is a JSON object with the names and values of the page, and its type in ``@type``. Items within other items
    are listed only there. The list ends before it is longer than the page, or has 100 items.

    Parameters
    ----------
    page
        The page.
    objects
        Objects of its JSON-LD.
    scopes, properties
        Elements that may have the attributes ``itemscope`` and ``itemprop``, in order.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(
    ...     "<div itemscope itemtype=https://schema.org/Event><b itemprop=name>Open day</b>"
    ...     "<time itemprop=startDate datetime=2024-06-14>Friday</time></div>"
    ... )
    >>> words = page.nodes.with_words((b"itemscope", b"itemprop"))
    >>> declared_items(page, [], words[b"itemscope"], words[b"itemprop"])
    ({'@type': 'Event', 'name': 'Open day', 'startDate': '2024-06-14'},)
    """
    left = int(_MAX_RATIO * len(page.utf8 or b""))
    found: list[Mapping[str, Any]] = []
    for declared in (*_of_json_ld(objects), *_of_microdata(page, scopes, properties, left)):
        try:
            item = _writable(declared, 0)
        except RecursionError:
            continue
        left -= len(json.dumps(item, ensure_ascii=False))
        if left < 0 or len(found) == _MAX_ITEMS:
            break
        found.append(item)
    return tuple(found)


def _writable(value: Any, depth: int) -> Any:  # noqa: ANN401 (parsed JSON)
    """Return a value that JSON and UTF-8 can write: without unpaired surrogates, NaN and infinity.

    Raises
    ------
    RecursionError
        The value is too deep.
    """
    if depth > _MAX_LEVELS:
        raise RecursionError
    if isinstance(value, str):
        return value if value.isascii() else SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_writable(key, depth): _writable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item, depth + 1) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_item(types: object) -> bool:
    """Tell whether a type, or one of several, is among those that are listed."""
    names = types if isinstance(types, list) else [types]
    return any(isinstance(name, str) and name.rstrip("/").rpartition("/")[2].lower() in _TYPES for name in names)


def _of_json_ld(objects: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the items in JSON-LD, without those within others."""
    inner: set[int] = set()
    for item in objects:
        if id(item) not in inner and _is_item(item.get("@type")):
            inner.update(map(id, _within(item)))
            yield item


def _within(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the objects within an object."""
    waiting: list[Any] = list(item.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _of_microdata(
    page: Page, scopes: Sequence[int], properties: Sequence[int], max_characters: int
) -> Iterator[Mapping[str, Any]]:
    """Iterate over the top-level items in microdata."""
    nodes = page.nodes
    scopes = [node for node in scopes if "itemscope" in nodes.attributes[node]]
    if not any(_is_item(nodes.attributes[node].get("itemtype")) for node in scopes):
        return
    reader = _Microdata(page, set(scopes), properties, max_characters)
    after = -1
    for node in scopes:
        if node >= after and _is_item(nodes.attributes[node].get("itemtype")):
            yield reader.item(node)
            after = int(nodes.end[node])


class _Microdata:
    """Reader of the microdata of a page; properties beyond its bounds are left out."""

    def __init__(self, page: Page, scopes: set[int], places: Iterable[int], max_characters: int) -> None:
        self.page, self.scopes, self.max_characters = page, scopes, max_characters
        self.places = [node for node in places if page.nodes.attributes[node].get("itemprop")]

    def item(self, scope: int) -> dict[str, Any]:
        """Return the item of an element, with its properties and the items in it."""
        nodes = self.page.nodes
        top: dict[str, Any] = self.typed(scope)
        open_items = [(int(nodes.end[scope]), top)]  # where each ends
        first = bisect_right(self.places, scope)
        for node in self.places[first : first + _MAX_PROPERTIES]:
            while open_items and node >= open_items[-1][0]:
                open_items.pop()
            if not open_items or self.max_characters < 0:
                break
            keys = nodes.attributes[node]["itemprop"].split()
            if node in self.scopes:
                # Under its first name only: nested items of several names each would multiply.
                item = self.typed(node)
                for key in keys[:1]:
                    _add(open_items[-1][1], key, item)
                if len(open_items) < _MAX_DEPTH:
                    open_items.append((int(nodes.end[node]), item))
                continue
            value = self.value(node)
            for key in keys:
                self.max_characters -= len(key) + len(value)
                if self.max_characters < 0:
                    break
                _add(open_items[-1][1], key, value)
        return top

    def typed(self, node: int) -> dict[str, Any]:
        """Return an object with the type of an element."""
        kind = self.page.nodes.attributes[node].get("itemtype") or ""
        return {"@type": kind.rstrip("/").rpartition("/")[2]} if kind else {}

    def value(self, node: int) -> str:
        """Return the value of a property."""
        nodes = self.page.nodes
        attributes = nodes.attributes[node]
        declared = attributes.get("content") or attributes.get(_VALUES.get(nodes.name(node), "content"))
        return declared or element_text(self.page, node)


def _add(item: dict[str, Any], key: str, value: Any) -> None:  # noqa: ANN401 (a text or an object)
    """Add a value to a property, which becomes a list if it has several."""
    if key not in item:
        item[key] = value
    elif isinstance(item[key], list):
        item[key].append(value)
    else:
        item[key] = [item[key], value]
