"""Pictures of the main content: which of them are written, with which address, and their captions."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.document.mathematics import formula_of_image
from blockml.document.picture_kinds import (
    DECORATION,
    ELSEWHERE,
    PERSONS,
    class_and_id_words,
    image_address,
    is_byline_of,
    is_decoration,
    is_of_head,
    is_other,
    is_placeholder,
    is_twin,
    picture_file_name,
    picture_sides,
    shown_person,
)
from blockml.document.shown import shown_texts, text_sums
from blockml.page import Flag, Image, Page
from blockml.page.attributes import searched_together
from blockml.page.bounds import Budget, absolute_addresses
from blockml.page.lazy import cached_property
from blockml.text.addresses import is_safe
from blockml.text.words import readable

__all__ = ["Pictures", "alternative_text", "find_images", "find_pictures"]

_HEAD, _NOSCRIPT = int(Flag.HEAD), int(Flag.NOSCRIPT)
#: Elements that are pictures. The content of ``amp-img`` is a fallback with the same picture.
_PICTURES = frozenset({"img", "amp-img"})
#: Maximum removed words in a caption, and between a picture and the kept text on one side of it.
_MAX_CAPTION, _MAX_GAP = 60, 30
#: Maximum words of an element that is only about a person.
_MAX_PERSON = 60
#: Number of levels around a picture that are inspected, which bounds the time for deep pages.
_MAX_LEVELS = 12
#: Number of these levels, with the picture itself, whose names count as those of the picture.
_NEAR = 3
_NO_NAMES = frozenset[str]()
#: Maximum lines on each side of a picture that may be a byline.
_MAX_LINES = 40
#: Minimum longer side of a picture that is content directly after the text.
_LARGE = 300
#: A picture that appears this often is decoration.
_MANY = 3
#: Minimum side of a badge in pixels.
_MIN_BADGE = 16
_FIGURES = frozenset({"figure", "picture"})
_ELSEWHERE_NAMES, _WHOLE = frozenset({"aside", "footer", "form", "nav"}), frozenset({"body", "html"})
#: Names of ``meta`` elements that declare the page's picture.
_DECLARED = frozenset({"og:image", "og:image:url", "twitter:image"})
#: Words of these elements, and of captions.
_OF_IMAGES, _OF_CAPTIONS = (searched_together((word,), of_outputs=True) for word in (b":image", b"caption"))
_MIN_NAME = 5  # minimum characters of a file name that identifies a picture


class Pictures(NamedTuple):
    """The pictures that belong to kept text."""

    addresses: Mapping[int, str]  #: address of each as the page gives it, by node, in order
    captions: Mapping[int, Sequence[int]]  #: blocks of the caption of each that has one

    def without(self, removed: NDArray[np.bool_]) -> Pictures:
        """Return the pictures that are not among the removed nodes (n_nodes,)."""
        return Pictures(
            {node: address for node, address in self.addresses.items() if not removed[node]},
            {node: caption for node, caption in self.captions.items() if not removed[node]},
        )

    def with_captions(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the given blocks and those of the captions, in order."""
        captions = [row for caption in self.captions.values() for row in caption]
        return np.array(sorted({*rows.tolist(), *captions}), dtype=np.intp) if captions else rows


def find_pictures(page: Page, rows: NDArray[np.intp]) -> Pictures:
    """Find the pictures that belong to the blocks in ``rows``, which are kept.

    A picture has a box: the largest element around it that contains no kept text and few words (its caption or
    credits). A picture is content if the kept texts before and after its box are adjacent to it; if one is adjacent and
    few removed words separate it from the other; if it precedes all kept text by few words; if it directly follows the
    last kept text and is large or a figure; or if the page declares it as its picture. Icons, portraits,
    advertisements, spacers and copies of pictures for browsers without scripts are left out.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One.</p><figure><img src=a.jpg><figcaption>A cat</figcaption></figure><p>Two.</p>")
    >>> find_pictures(page, np.array([0, 2]))
    Pictures(addresses={6: 'a.jpg'}, captions={6: range(1, 2)})
    """
    (images,) = page.nodes.named(_PICTURES).nonzero()
    images = images[(page.nodes.flags[images] & _HEAD) == 0]
    if not len(images) or not len(rows):
        return Pictures({}, {})
    return _Finder(page, rows, images).find()


def find_images(
    page: Page, kept: NDArray[np.bool_], *, found: Pictures | None = None, budget: Budget | None = None
) -> tuple[Image, ...]:
    """Describe the pictures that belong to the kept blocks, given by a mask of shape (n_blocks,).

    ``found`` are those of :func:`find_pictures`, if they are known already.

    Addresses and captions that would make the result larger than :class:`~blockml.page.bounds.Budget` allows are
    left out with their pictures, and ``budget.warnings`` says so.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One.</p><img src=a.jpg alt=cat width=400><p>Two.</p>", url="https://a.example/b/c")
    >>> find_images(page, np.array([True, True]))
    (Image(address='https://a.example/b/a.jpg', alt='cat', caption='', width=400, height=None, block=0),)
    """
    budget, rows = budget or Budget(page), np.flatnonzero(kept)
    found = find_pictures(page, rows) if found is None else found
    blocks, absolute = page.blocks, absolute_addresses(page.base_url, budget)
    images: list[Image] = []
    for node, given in found.addresses.items():
        attributes, address = page.nodes.attributes[node], absolute(given)
        alt, caption = alternative_text(attributes), found.captions.get(node, ())
        text = " ".join(blocks.texts[row] for row in caption)
        if address and is_safe(address) and budget.spend(len(address) + len(alt) + len(text), "pictures"):
            place = int(blocks.node[rows].searchsorted(node))
            images.append(Image(address, alt, text, *picture_sides(attributes), int(rows[place - 1]) if place else -1))
    return tuple(images)


def alternative_text(attributes: Mapping[str, str]) -> str:
    """Return the alternative text of a picture in one line, without invisible characters.

    Examples
    --------
    >>> alternative_text({"alt": "A\\x1b cat\\n"})
    'A cat'
    """
    return " ".join(readable(attributes.get("alt", "")).split())


class _Place(NamedTuple):
    """Position of a picture near kept text."""

    box: int  #: see :func:`find_pictures`
    left: int  #: node of the kept text before it; -1 if there is none
    right: int  #: node of the kept text after it; the number of nodes if there is none
    is_between: bool  #: whether these texts are adjacent to it


class _Finder:
    """Finds the pictures of a page and the text around them."""

    def __init__(self, page: Page, rows: NDArray[np.intp], images: NDArray[np.intp]) -> None:
        self.page, self.nodes, self.images = page, page.nodes, images
        self.texts: list[int] = shown_texts(page, rows).nonzero()[0].tolist()
        counts = np.zeros((2, len(page.nodes)), dtype=np.int64)
        counts[0, page.blocks.node], counts[1, page.blocks.node] = page.blocks.n_words, page.blocks.n_linked
        self.words, self.linked = text_sums(counts[0]), text_sums(counts[1])
        self.whole = {node for name in _WHOLE for node in page.nodes.indices(name).tolist()}
        self.elsewhere: dict[int, bool] = {-1: False}  # by element
        self.in_figure: dict[int, bool] = {}  # by the element around a picture
        self.is_other: dict[tuple[int, int], bool] = {}  # by the element around a picture, and its box
        self.traits: dict[int, tuple[bool, bool, bool, bool]] = {}  # see _traits, by element
        self.last = -1, ""  # node and address of the previous picture

    def find(self) -> Pictures:
        """Return the pictures of the main content."""
        found: dict[int, str] = {}
        rest: list[int] = []  # pictures that are content only if the page declares one of them
        places = self._places()
        for node, place in places.items():
            is_last = place.right == len(self.nodes)
            if place.is_between and (address := self._badge(node)):
                found[node] = address
            elif not place.is_between and (self._is_elsewhere(node) or (is_last and not self._is_large(node))):
                rest.append(node)
            elif (address := self._address(node)) and not (
                (place.left < 0 and is_of_head(address)) or self._is_other(node, place)
            ):
                found[node] = address
        self._add_declared(found, rest, places)
        counts = Counter(found.values())
        found = {node: found[node] for node in sorted(found) if counts[found[node]] < _MANY}
        found = {node: address for node, address in found.items() if not self._repeats(node, address)}
        return Pictures(found, self._captions(found))

    def _places(self) -> dict[int, _Place]:
        """Return the pictures that are near kept text, by node."""
        words, linked, ends = self.words.item, self.linked.item, self.nodes.end.item
        found: dict[int, _Place] = {}
        stop = len(self.nodes)
        for node, left, right in zip(*self._near(), strict=True):
            is_first, is_last = left < 0, right == stop
            most = 0 if is_last else _MAX_GAP
            before, after = 0 if is_first else words(left + 1), 0 if is_last else words(right)
            box = self._box(node, left, right)
            begin, end = words(box), words(ends(box))
            n_before, n_after = 0 if is_first else begin - before, 0 if is_last else after - end
            if (n_before and n_after) or max(n_before, n_after) > most:
                continue
            if 2 * (linked(ends(box)) - linked(box)) <= end - begin:
                found[node] = _Place(box, left, right, not (is_first or is_last or n_before or n_after))
        return found

    def _near(self) -> tuple[list[int], list[int], list[int]]:
        """Return the pictures with so few words to the kept texts around them that they may have a place, and these."""
        images, words = self.images, self.words
        texts = np.array([-1, *self.texts, len(self.nodes)])
        place = texts.searchsorted(images)
        left, right = texts[place - 1], texts[place]
        start, stop = np.where(left < 0, images, left + 1), np.where(right == len(self.nodes), images, right)
        own = words[self.nodes.end[images]] - words[images]
        is_near = words[stop] - words[start] - own <= _MAX_CAPTION + _MAX_GAP
        return images[is_near].tolist(), left[is_near].tolist(), right[is_near].tolist()

    def _neighbours(self, node: int) -> tuple[int, int]:
        """Return the nodes of the kept texts before and after a picture; -1 and ``n_nodes`` if there is none."""
        place = bisect_left(self.texts, node)
        before = self.texts[place - 1] if place else -1
        return before, self.texts[place] if place < len(self.texts) else len(self.nodes)

    def _box(self, node: int, left: int, right: int) -> int:
        """Return the largest element around a picture with few words, between the kept texts ``left`` and ``right``."""
        parents, ends, words, whole = self.nodes.parent.item, self.nodes.end.item, self.words.item, self.whole
        for _ in range(_MAX_LEVELS):
            parent = parents(node)
            if parent <= left or (end := ends(parent)) > right or words(end) - words(parent) > _MAX_CAPTION:
                break
            if parent in whole:
                break
            node = parent
        return node

    def _address(self, node: int) -> str:
        """Return the address of a picture; empty if it shows nothing, or is an icon or a formula."""
        attributes = self.nodes.attributes[node]
        address = image_address(attributes)
        if not address or is_placeholder(address):
            address = self._address_of_sources(self.nodes.parent.item(node))
            if not address or is_placeholder(address):
                return ""
        if not is_safe(address) or is_decoration(attributes, address) or formula_of_image(attributes):
            return ""
        return address

    def _address_of_sources(self, parent: int) -> str:
        """Return the address of the first ``source`` of a ``picture`` element."""
        if parent < 0 or self.nodes.name(parent) != "picture":
            return ""
        places, addresses = self._sources
        place = bisect_left(places, parent)
        return addresses[place] if place < len(places) and places[place] < self.nodes.end[parent] else ""

    @cached_property
    def _sources(self) -> tuple[list[int], list[str]]:
        """Return the ``source`` elements that have an address, and these."""
        attributes = self.nodes.attributes
        found = [(node, image_address(attributes[node])) for node in self.nodes.indices("source").tolist()]
        return [node for node, address in found if address], [address for _, address in found if address]

    def _is_elsewhere(self, node: int) -> bool:
        """Tell whether a picture is in a part of the page, with less than half of the kept texts, for other content."""
        chain, known = [], self.elsewhere
        while node not in known:
            first = bisect_left(self.texts, node)
            if 2 * (bisect_left(self.texts, self.nodes.end.item(node), first) - first) >= len(self.texts):
                break
            chain.append(node)
            node = self.nodes.parent.item(node)
        is_elsewhere = known.get(node, False)
        for element in reversed(chain):
            known[element] = is_elsewhere = is_elsewhere or self._traits(element)[0]
        return is_elsewhere

    def _has_others(self, element: int, names: frozenset[str]) -> bool:
        """Tell from its name, classes and id whether an element has content of another kind."""
        return self.nodes.name(element) in _ELSEWHERE_NAMES or not names.isdisjoint(ELSEWHERE)

    def _is_other(self, node: int, place: _Place) -> bool:
        """Tell from the elements around it whether a picture is decoration, an advertisement or a portrait."""
        nodes, starts = self.nodes, self.page.blocks.node
        parent = nodes.parent.item(node)
        around = parent, place.box if place.box <= parent else -1  # the same for pictures side by side
        if around not in self.is_other:
            self.is_other[around] = self._is_other_element(parent, place.box, range(1, _MAX_LEVELS))
        if self.is_other[around] or self._is_other_element(node, place.box, range(1)):
            return True
        alt = nodes.attributes[node].get("alt", "")
        if not alt or not (name := shown_person(alt)):
            return False
        first, own, stop = starts.searchsorted((place.left + 1, node, place.right + 1)).tolist()
        first, stop = max(0, first - 1, own - _MAX_LINES), min(stop, own + _MAX_LINES)
        lines = self.page.blocks.texts[first:stop]  # from the kept text before the picture to the one after it
        return any(is_byline_of(line, name) for line in lines)

    def _is_other_element(self, element: int, box: int, levels: range) -> bool:
        """Tell from names whether one of an element and those around it, at some levels above a picture, is other."""
        words = self.words.item
        for level in levels:
            if element < 0:
                break
            has_others, other, is_person, is_decoration = self._traits(element)
            if element >= box:
                if has_others or (level < _NEAR and other):
                    return True
            elif level >= _NEAR and words(self.nodes.end.item(element)) - words(element) > _MAX_PERSON:
                break
            elif is_person:
                return True
            if level < _NEAR and is_decoration:
                return True
            element = self.nodes.parent.item(element)
        return False

    def _traits(self, element: int) -> tuple[bool, bool, bool, bool]:
        """Tell whether an element has content of another kind, is other, or is named after persons or decoration."""
        if (known := self.traits.get(element)) is not None:
            return known
        attributes = self.nodes.attributes[element]
        names = class_and_id_words(attributes) if attributes else _NO_NAMES
        traits = self.traits[element] = (
            self._has_others(element, names),
            bool(attributes) and is_other(attributes),
            not names.isdisjoint(PERSONS),
            not names.isdisjoint(DECORATION),
        )
        return traits

    def _badge(self, node: int) -> str:
        """Return the address of a drawing with a text in a paragraph, such as a program's badge; else empty."""
        nodes, attributes = self.nodes, self.nodes.attributes[node]
        if ".svg" not in attributes.get("src", "") or not attributes.get("alt"):
            return ""
        if any(side is not None and side < _MIN_BADGE for side in picture_sides(attributes)):
            return ""
        around = nodes.ancestors(node, 2)
        is_linked = bool(around) and nodes.name(around[0]) == "a"
        is_in_paragraph = "p" in [nodes.name(item) for item in around[: 1 + is_linked]]
        address = image_address(attributes)
        return address if is_in_paragraph and is_safe(address) else ""

    def _is_large(self, node: int) -> bool:
        """Tell whether a picture is large, or a figure."""
        if max(side or 0 for side in picture_sides(self.nodes.attributes[node])) >= _LARGE:
            return True
        parent = self.nodes.parent.item(node)
        if parent not in self.in_figure:
            around = [parent, *self.nodes.ancestors(parent, 3)] if parent >= 0 else []
            self.in_figure[parent] = any(self.nodes.name(item) in _FIGURES for item in around)
        return self.in_figure[parent]

    def _add_declared(self, found: dict[int, str], rest: Sequence[int], places: Mapping[int, _Place]) -> None:
        """Add the first of the other pictures that is the page's declared picture, unless that is found already."""
        nodes = self.nodes
        metas = [nodes.attributes[node] for node in nodes.with_any(_OF_IMAGES)]
        declared = [
            picture_file_name(item.get("content", ""))
            for item in metas
            if (item.get("property") or item.get("name") or "").lower() in _DECLARED
        ]
        names = {name for name in declared if len(name) >= _MIN_NAME}
        if not names or any(picture_file_name(address) in names for address in found.values()):
            return
        naming = nodes.with_words(tuple(name.encode() for name in sorted(names)[:2]))
        named = {node for holders in naming.values() for node in holders}
        for node in sorted(named & ({*self.images.tolist()} - places.keys() | {*rest})):
            if picture_file_name(image_address(nodes.attributes[node])) in names and (address := self._address(node)):
                found[node] = address
                return

    def _repeats(self, node: int, address: str) -> bool:
        """Tell whether a picture repeats the previous one, because ``noscript`` repeats lazily loaded pictures."""
        before, self.last = self.last, (node, address)
        flags, attributes = self.nodes.flags, self.nodes.attributes
        if before[0] < 0:
            return False
        if before[1] != address and not is_twin(before[1], address):
            is_late, was_late = flags[node] & _NOSCRIPT, flags[before[0]] & _NOSCRIPT
            if is_late == was_late or attributes[node].get("alt") != attributes[before[0]].get("alt"):
                return False
            if (
                was_late
                and not attributes[node].get("alt")
                and picture_file_name(address) != picture_file_name(before[1])
            ):
                return False  # the first picture in noscript may be a visit counter
        first = bisect_left(self.texts, before[0])
        return first == bisect_left(self.texts, node, first)

    def _captions(self, found: Mapping[int, str]) -> dict[int, Sequence[int]]:
        """Return the blocks of captions: the first one after a picture in its figure, or else the last before it."""
        nodes, words, starts = self.nodes, self.words.item, self.page.blocks.node
        own = [node for node in nodes.with_any(_OF_CAPTIONS) if "caption" in nodes.attributes[node].get("class", "")]
        candidates = sorted({*nodes.indices("figcaption").tolist(), *own})
        captions: dict[int, Sequence[int]] = {}
        figures: dict[int, int] = {-1: -1}  # the innermost figure, by the element around a picture; -1 without one
        for node in found if candidates else ():
            if (parent := nodes.parent.item(node)) not in figures:
                around = (parent, *nodes.ancestors(parent, _MAX_LEVELS - 1))
                figures[parent] = next((item for item in around if nodes.name(item) == "figure"), -1)
            figure = figures[parent] if figures[parent] >= 0 else self._box(node, *self._neighbours(node))
            first, place, end = (bisect_left(candidates, item) for item in (figure, node, int(nodes.end[figure])))
            if place < end:
                caption = candidates[place]
            else:
                before = reversed(candidates[max(first, place - _MAX_LEVELS) : place])
                caption = next((item for item in before if nodes.end[item] <= node), -1)  # not one around the picture
            if caption >= 0:
                end = nodes.end.item(caption)
                begin, stop = starts.searchsorted((caption, end)).tolist()
                if begin < stop and words(end) - words(caption) <= _MAX_CAPTION:
                    captions[node] = range(begin, stop)
        return captions
