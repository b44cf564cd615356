"""Pictures of the main content: which of them are written, with which address, and their captions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Image, Page
from blockml.page.attribute_words import nodes_with_words
from blockml.rendering.bounds import Budget
from blockml.rendering.image_addresses import image_address, is_placeholder
from blockml.rendering.links import absolute_addresses, is_safe
from blockml.rendering.mathematics import formula_of_image
from blockml.rendering.shown import shown_texts, text_sums

__all__ = ["Pictures", "find_images", "find_pictures"]

_HEAD, _NOSCRIPT = int(Flag.HEAD), int(Flag.NOSCRIPT)
#: Elements that are pictures. The content of ``amp-img`` is the same picture for other readers.
_PICTURES = frozenset({"img", "amp-img"})
#: Removed words of a caption, and between a picture and the kept text on one of its sides.
_MAX_CAPTION, _MAX_GAP = 60, 30
#: Levels of elements around a picture that are looked at, so that deep pages don't take long.
_MAX_LEVELS = 12
_PIXELS = re.compile(r"\s*([0-9]{1,5})(?:\.[0-9]+)?(?:px)?\s*")
#: Sides of icons: one that is this short, or both. A large picture after the text has a longer one.
_SHORT, _BOTH_SHORT, _LARGE = 48, 100, 300
#: Sides of at most this length may be a shape, such as 3 to 2, of at most this ratio.
_SHAPE, _MAX_RATIO = 21, 3
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
#: Words in the address, class or id of a picture, or of the two elements around it, that is not content.
_DECORATION = frozenset(
    "ad ads advert advertisement author avatar avatars badge badges bpthumb bullet btn button buttons byline captcha "
    "emoji emojis emoticon emoticons flag gravatar ico icon icons logo logos profile rating share smiley smileys "
    "smilies social spacer sprite sprites star stars userpic".split()
)
#: Words in the class or id of an element that has pictures of something else, unless the text on both sides is kept.
_ELSEWHERE = frozenset(
    "ad ads advert advertisement author avatar bio byline comment comments footer menu more nav newsletter popular "
    "profile promo recommend recommendations recommended related share sidebar social sponsor sponsored".split()
)
_FIGURES = frozenset({"figure", "picture"})
_MAX_NAMES = 1000  # characters of a class or id that are read
_ELSEWHERE_NAMES, _WHOLE = frozenset({"aside", "footer", "nav"}), frozenset({"body", "html"})
#: Declarations of the picture of the page.
_DECLARED = frozenset({"og:image", "og:image:url", "twitter:image"})
_MIN_NAME = 5  # characters of a file name by which a picture is recognized
_SIZE = re.compile(r"[-_]?\d{2,4}x\d{2,4}")


class Pictures(NamedTuple):
    """The pictures that belong to kept text."""

    addresses: Mapping[int, str]  #: address of each, as the page gives it, by node, in order
    captions: Mapping[int, Sequence[int]]  #: blocks of the caption of each that has one

    def with_captions(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the given blocks and those of the captions, in order."""
        captions = [row for caption in self.captions.values() for row in caption]
        return np.union1d(rows, np.array(captions, dtype=np.intp)) if captions else rows


def find_pictures(page: Page, rows: NDArray[np.intp]) -> Pictures:
    """Find the pictures that belong to the blocks in ``rows``, which are kept.

    A picture has a box: the largest element around it without a kept text and with few words, which are its caption or
    credits. A picture is content if the kept texts before and after its box are its neighbours, or if one of them is
    and few removed words are before the other; if it comes before all kept text, by few words; if it is right after
    the last one and large or a figure; or if the page declares it as its picture. Icons, portraits, advertisements,
    spacers and pictures that are repeated for browsers without scripts are left out.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One.</p><figure><img src=a.jpg><figcaption>A cat</figcaption></figure><p>Two.</p>")
    >>> find_pictures(page, np.array([0, 2]))
    Pictures(addresses={6: 'a.jpg'}, captions={6: range(1, 2)})
    """
    (images,) = (page.nodes.named(_PICTURES) & ((page.nodes.flags & _HEAD) == 0)).nonzero()
    if not len(images) or not len(rows):
        return Pictures({}, {})
    return _Finder(page, rows, images).find()


def find_images(page: Page, kept: NDArray[np.bool_], *, budget: Budget | None = None) -> tuple[Image, ...]:
    """Describe the pictures that belong to the kept blocks, given by a mask of shape (n_blocks,).

    Addresses and captions that would make the result larger than :class:`~blockml.rendering.bounds.Budget` allows are
    left out with their pictures, and ``budget.warnings`` says so.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One.</p><img src=a.jpg alt=cat width=400><p>Two.</p>", url="https://a.example/b/c")
    >>> find_images(page, np.array([True, True]))
    (Image(address='https://a.example/b/a.jpg', alt='cat', caption='', width=400, height=None, block=0),)
    """
    budget, rows = budget or Budget(page), np.flatnonzero(kept)
    found, blocks, absolute = find_pictures(page, rows), page.blocks, absolute_addresses(page.base_url, budget)
    images: list[Image] = []
    for node, given in found.addresses.items():
        attributes, address = page.nodes.attributes[node], absolute(given)
        alt, caption = " ".join(attributes.get("alt", "").split()), found.captions.get(node, ())
        text = " ".join(blocks.texts[row] for row in caption)
        if is_safe(address) and budget.spend(len(address) + len(alt) + len(text), "pictures"):
            place = int(blocks.node[rows].searchsorted(node))
            images.append(Image(address, alt, text, *_sides(attributes), int(rows[place - 1]) if place else -1))
    return tuple(images)


def _sides(attributes: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Return width and height of a picture in pixels; None where its attributes don't give them.

    Examples
    --------
    >>> _sides({"width": "800px", "height": "50%"})
    (800, None)
    """
    width, height = (_PIXELS.fullmatch(attributes.get(side, "")) for side in ("width", "height"))
    return int(width[1]) if width else None, int(height[1]) if height else None


class _Finder:
    """The pictures of a page and what is around them."""

    def __init__(self, page: Page, rows: NDArray[np.intp], images: NDArray[np.intp]) -> None:
        self.page, self.nodes, self.rows, self.images = page, page.nodes, rows, images
        self.texts = shown_texts(page, rows)
        self.kept = text_sums(self.texts)
        self.elsewhere: dict[int, bool] = {-1: False}  # by element
        self.last = -1, ""  # node and address of the last picture

    def find(self) -> Pictures:
        """Return the pictures of the content."""
        boxes, is_between, is_near, is_last = self._places()
        found: dict[int, str] = {}
        rest: list[int] = []  # pictures that are content only if the page declares one of them
        for place in np.flatnonzero(is_near).tolist():
            node = int(self.images[place])
            if is_between[place] or not (self._is_elsewhere(node) or (is_last[place] and not self._is_large(node))):
                names = self._names([node, *self.nodes.ancestors(node, 2)])
                if (address := self._address(node)) and not _has_words(names, _DECORATION):
                    found[node] = address
            else:
                rest.append(node)
        self._add_declared(found, [*rest, *self.images[~is_near].tolist()])
        found = {node: found[node] for node in sorted(found) if not self._repeats(node, found[node])}
        return Pictures(found, self._captions(found, dict(zip(self.images.tolist(), boxes.tolist(), strict=True))))

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (n_images,) box; whether kept texts are its neighbours, few words are between, and it is the last."""
        nodes, blocks = self.nodes, self.page.blocks
        values = np.zeros((2, len(nodes)), dtype=np.int64)
        values[:, blocks.node] = blocks.n_words, blocks.n_linked
        kept, words, linked = self.kept, text_sums(values[0]), text_sums(values[1])
        is_whole = np.array([name in _WHOLE for name in nodes.names], dtype=bool)
        box = self.images.astype(np.int64)
        for _ in range(_MAX_LEVELS):
            parent = nodes.parent[box]
            end = nodes.end[parent]
            grows = (parent >= 0) & (kept[end] == kept[parent]) & (words[end] - words[parent] <= _MAX_CAPTION)
            grows &= ~is_whole[nodes.tag[parent]]
            if not grows.any():
                break
            box = np.where(grows, parent, box)
        end = nodes.end[box]
        (texts,) = self.texts.nonzero()
        place = texts.searchsorted(box)
        is_first, is_last = place == 0, place == len(texts)
        before = np.where(is_first, 0, words[box] - words[texts[place - 1] + 1])
        after = np.where(is_last, 0, words[texts[np.minimum(place, len(texts) - 1)]] - words[end])
        farthest = np.maximum(before, after)
        is_between = ~is_first & ~is_last & (farthest == 0)
        is_near = (np.minimum(before, after) == 0) & (farthest <= np.where(is_last, 0, _MAX_GAP))
        is_near &= 2 * (linked[end] - linked[box]) <= words[end] - words[box]
        return box, is_between & is_near, is_near, is_last

    def _address(self, node: int) -> str:
        """Return the address of a picture; empty for one that shows nothing, is an icon or a formula."""
        attributes = self.nodes.attributes[node]
        address = image_address(attributes)
        if (not address or is_placeholder(address)) and self.nodes.parent[node] >= 0:
            address = self._address_of_sources(int(self.nodes.parent[node])) or address
        is_shown = address and not is_placeholder(address) and is_safe(address)
        if not is_shown or _is_small(attributes) or formula_of_image(attributes):
            return ""
        path = address.partition("?")[0].partition("#")[0].rsplit("/", 2)[-2:]
        is_decoration = any(not _DECORATION.isdisjoint(map(str.lower, _WORDS.findall(part))) for part in path)
        return "" if is_decoration else address

    def _address_of_sources(self, parent: int) -> str:
        """Return the address of the first ``source`` of a ``picture`` element."""
        nodes = self.nodes
        if nodes.name(parent) == "picture":
            for node in range(parent + 1, int(nodes.end[parent])):
                if nodes.name(node) == "source" and (address := image_address(nodes.attributes[node])):
                    return address
        return ""

    def _names(self, elements: Sequence[int]) -> Iterator[str]:
        for element in elements:
            attributes = self.nodes.attributes[element]
            yield attributes.get("class", "")[:_MAX_NAMES]
            yield attributes.get("id", "")[:_MAX_NAMES]

    def _is_elsewhere(self, node: int) -> bool:
        """Tell whether an element around a picture, with less than half of the kept texts, has other content."""
        chain, known, kept = [], self.elsewhere, self.kept
        while node not in known and 2 * (kept[self.nodes.end[node]] - kept[node]) < kept[-1]:
            chain.append(node)
            node = int(self.nodes.parent[node])
        is_elsewhere = known.get(node, False)
        for element in reversed(chain):
            is_named = self.nodes.name(element) in _ELSEWHERE_NAMES
            is_elsewhere = is_elsewhere or is_named or _has_words(self._names([element]), _ELSEWHERE)
            known[element] = is_elsewhere
        return is_elsewhere

    def _is_large(self, node: int) -> bool:
        """Tell whether a picture is large, or a figure."""
        if max(side or 0 for side in _sides(self.nodes.attributes[node])) >= _LARGE:
            return True
        return any(self.nodes.name(item) in _FIGURES for item in self.nodes.ancestors(node, 4))

    def _add_declared(self, found: dict[int, str], others: Sequence[int]) -> None:
        """Add the first of the other pictures that is the one that the page declares, unless it is found already."""
        nodes = self.nodes
        metas = [nodes.attributes[node] for node in nodes.indices("meta").tolist()]
        declared = [
            _file_name(item.get("content", ""))
            for item in metas
            if (item.get("property") or item.get("name") or "").lower() in _DECLARED
        ]
        names = {name for name in declared if len(name) >= _MIN_NAME}
        if not names or any(_file_name(address) in names for address in found.values()):
            return
        for node in sorted(others):
            if _file_name(image_address(nodes.attributes[node])) in names and (address := self._address(node)):
                found[node] = address
                return

    def _repeats(self, node: int, address: str) -> bool:
        """Tell whether a picture is the one before, as ``noscript`` repeats those that load late."""
        before, self.last = self.last, (node, address)
        flags, attributes = self.nodes.flags, self.nodes.attributes
        if before[0] < 0:
            return False
        if before[1] != address:
            is_late, was_late = flags[node] & _NOSCRIPT, flags[before[0]] & _NOSCRIPT
            if is_late == was_late or attributes[node].get("alt") != attributes[before[0]].get("alt"):
                return False
            if was_late and not attributes[node].get("alt") and _file_name(address) != _file_name(before[1]):
                return False  # what comes first in noscript may be a counter of visits
        return not self.texts[before[0] : node].any()

    def _captions(self, found: Mapping[int, str], boxes: Mapping[int, int]) -> dict[int, Sequence[int]]:
        """Return the blocks of captions: the first caption after a picture in its figure, else the last before it."""
        nodes, starts = self.nodes, self.page.blocks.node
        named = nodes_with_words(nodes, (b"caption",))[b"caption"] if found else []
        own = [node for node in named if "caption" in nodes.attributes[node].get("class", "")]
        candidates = np.union1d(nodes.indices("figcaption"), np.array(own, dtype=np.int64))
        captions: dict[int, Sequence[int]] = {}
        for node in found if len(candidates) else ():
            figures = [item for item in nodes.ancestors(node, _MAX_LEVELS) if nodes.name(item) == "figure"]
            figure = figures[0] if figures else boxes[node]
            first, place, end = candidates.searchsorted((figure, node, nodes.end[figure])).tolist()
            before = [item for item in candidates[first:place].tolist() if nodes.end[item] <= node]
            caption = int(candidates[place]) if place < end else before[-1] if before else -1
            if caption >= 0:
                begin, stop = starts.searchsorted((caption, nodes.end[caption])).tolist()
                if begin < stop and self.page.blocks.n_words[begin:stop].sum() <= _MAX_CAPTION:
                    captions[node] = range(begin, stop)
        return captions


def _has_words(names: Iterable[str], words: frozenset[str]) -> bool:
    return any(not words.isdisjoint(_words(name)) for name in names if name)


@lru_cache(maxsize=4096)
def _words(name: str) -> frozenset[str]:
    return frozenset(map(str.lower, _WORDS.findall(name)))


def _is_small(attributes: Mapping[str, str]) -> bool:
    """Tell whether a picture has the sides of an icon, a spacer or a line.

    Examples
    --------
    >>> _is_small({"width": "1"}), _is_small({"width": "90", "height": "90"}), _is_small({"width": "16", "height": "9"})
    (True, True, False)
    """
    sides = sorted(side for side in _sides(attributes) if side)  # 0 is any size
    if not sides or (len(sides) == 2 and sides[0] < sides[1] <= min(_SHAPE, _MAX_RATIO * sides[0])):
        return False
    return sides[0] <= _SHORT or sides[-1] <= _BOTH_SHORT


def _file_name(address: str) -> str:
    """Return the file name of an address without size and suffix.

    Examples
    --------
    >>> _file_name("https://a.example/80/cat-9-80x60.webp?x=1")
    'cat-9'
    """
    name = re.split(r"[?#]", address, maxsplit=1)[0].rpartition("/")[2]
    return _SIZE.sub("", re.split(r"[._]", name, maxsplit=1)[0])
