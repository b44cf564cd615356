"""What the distances look at in a page: its elements without their texts, as a few small columns."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes, Page
from blockml.parsing.lines import VOID
from blockml.templates.distances.hashing import Codes, run_codes
from blockml.text.hashing import stable_hash64

__all__ = ["PageSketch", "Tree", "path_codes", "sketch", "tag_sequence"]

_DIGITS = re.compile(r"\d+")

_Column = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PageSketch:
    """The elements of a page in document order (pre-order), as columns.

    All that any distance needs of a page, in about 20 bytes per node: thousands of them fit in memory when the pages
    don't, and one is cheap to send to another process. ``n`` is the number of elements, ``m`` of texts.
    """

    names: tuple[str, ...]
    """Distinct names: an element's name and, in a sketch with classes, its class tokens, parted by blanks."""
    tag: _Column
    """(n,) index into ``names``."""
    parent: _Column
    """(n,) index of the parent element; -1 for a root."""
    end: _Column
    """(n,) index one past the element's last descendant."""
    text_parent: _Column
    """(m,) element that holds each text; -1 if none does."""
    text_place: _Column
    """(m,) number of elements that begin before each text."""
    classes: bool
    """Whether names hold class tokens."""
    fingerprint: bytes
    """Digest of all the above: pages with the same one are at distance 0 by any metric."""

    def __len__(self) -> int:
        return len(self.tag)

    def codes(self) -> Codes:
        """(n,) code of each element's name."""
        return stable_hash64(self.names)[self.tag]

    def leaves(self) -> NDArray[np.bool_]:
        """(n,) whether an element has no element below it."""
        leaves: NDArray[np.bool_] = self.end == np.arange(1, len(self) + 1)
        return leaves

    def depths(self) -> NDArray[np.int64]:
        """(n,) number of ancestors of each element: those begun before it, less those ended before it."""
        n = len(self)
        ended = np.bincount(self.end, minlength=n + 1)[:n].cumsum()
        depths: NDArray[np.int64] = np.arange(n) - ended
        return depths

    def elements(self) -> tuple[str, ...]:
        """The element's name in each of ``names``: without classes."""
        return tuple(name.partition(" ")[0] for name in self.names)


class Tree(NamedTuple):
    """A tree in pre-order, as a tree distance takes it."""

    codes: Codes
    """(n,) code of each node's name."""
    parent: NDArray[np.int64]
    """(n,) index of each node's parent; -1 for a root."""
    size: NDArray[np.int64]
    """(n,) number of nodes below and including each."""

    @classmethod
    def of(cls, page: PageSketch, *, with_text: bool = False) -> Tree:
        """Take the elements of a page and, if wanted, its texts as leaves of one name."""
        n, m = len(page), len(page.text_place)
        size = page.end - np.arange(n)
        if not with_text:
            return cls(page.codes(), page.parent.astype(np.int64), size.astype(np.int64))
        element_at = np.arange(n) + np.searchsorted(page.text_place, np.arange(n), side="right")
        text_at = np.arange(m) + page.text_place
        # Index -1, the parent of a root, finds the entry added at the end.
        parents = np.append(element_at, -1)
        texts_before = np.concatenate([[0], np.bincount(page.text_parent + 1, minlength=n + 1)[1:].cumsum()])
        tree = cls(np.empty(n + m, np.uint64), np.empty(n + m, np.int64), np.ones(n + m, np.int64))
        tree.codes[element_at], tree.codes[text_at] = page.codes(), stable_hash64(["#text"])[0]
        tree.parent[element_at], tree.parent[text_at] = parents[page.parent], parents[page.text_parent]
        tree.size[element_at] = size + texts_before[page.end] - texts_before[:-1]
        return tree


def sketch(page: Page, *, classes: bool = False) -> PageSketch:
    """Reduce a page to what the distances look at.

    Every element of ``page.nodes`` counts, scripts and styles too (as leaves: what they hold is no part of the tree).

    Parameters
    ----------
    page
        Any page; one without nodes gives an empty sketch.
    classes
        Take the tokens of an element's ``class``, sorted and with each run of digits replaced by ``0``, for a part of
        its name. It tells the layouts of one site better apart. Our choice; the published distances look at names
        alone.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p class='lead post-42'>one <b>two</b></p>")
    >>> sketched = sketch(page)
    >>> [sketched.names[tag] for tag in sketched.tag]
    ['html', 'head', 'body', 'p', 'b']
    >>> sketch(page, classes=True).names[3]
    'p lead post-0'
    """
    nodes = page.nodes
    is_element = nodes.tag != 0
    before = np.concatenate([[0], np.cumsum(is_element)]).astype(np.int32)
    texts = np.flatnonzero(~is_element)
    # Index -1, the parent of a root, finds the entry added at the end.
    number = np.append(before[:-1], np.int32(-1))
    if classes:
        names, tag = _names_with_classes(nodes, np.flatnonzero(is_element).tolist())
    else:
        names, tag = nodes.names[1:], nodes.tag[is_element] - np.int32(1)
    columns = (
        tag,
        number[nodes.parent[is_element]],
        before[nodes.end[is_element]],
        number[nodes.parent[texts]],
        before[texts],
    )
    digest = hashlib.blake2b(digest_size=16)
    for part in ("\0".join(names).encode("utf-8", "surrogatepass"), *(column.tobytes() for column in columns)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return PageSketch(names, *columns, classes, digest.digest())


def _names_with_classes(nodes: Nodes, elements: list[int]) -> tuple[tuple[str, ...], _Column]:
    known: dict[tuple[int, str], int] = {}  # tag and class attribute, as they stand, to number of the name
    names: dict[str, int] = {}
    numbers = []
    tags, attributes = nodes.tag.tolist(), nodes.attributes
    for element in elements:
        key = (tags[element], attributes[element].get("class", ""))
        number = known.get(key)
        if number is None:
            name = _with_classes(nodes.names[key[0]], attributes[element])
            number = known[key] = names.setdefault(name, len(names))
        numbers.append(number)
    return tuple(names), np.array(numbers, dtype=np.int32)


def _with_classes(name: str, attributes: Mapping[str, str]) -> str:
    tokens = {_DIGITS.sub("0", token) for token in attributes.get("class", "").split()}
    return " ".join([name, *sorted(tokens)])


def path_codes(page: PageSketch, length: int | None = None) -> Codes:
    """(n,) code of the names on the way from each element up: ``length`` of them, or to the root.

    Where the root comes first, the run ends there.
    """
    places = page.depths() + 1
    return run_codes(page.codes(), page.parent.astype(np.int64), places if length is None else places.clip(max=length))


def tag_sequence(page: PageSketch) -> Codes:
    """(t,) code of each start tag and end tag, in document order.

    Void elements have no end tag.

    Examples
    --------
    >>> import blockml
    >>> len(tag_sequence(sketch(blockml.parse("<p>one<br>two</p>"))))  # html head /head body p br /p /body /html
    9
    """
    n = len(page)
    ended = np.flatnonzero(~np.array([element in VOID for element in page.elements()], dtype=bool)[page.tag])
    # Elements that end at the same place end in reverse order.
    ended = ended[np.lexsort((-ended, page.end[ended]))]
    ends = page.end[ended]
    starts = np.arange(n)
    sequence = np.empty(n + len(ended), dtype=np.uint64)
    sequence[starts + np.searchsorted(ends, starts, side="right")] = page.codes()
    sequence[np.arange(len(ended)) + ends] = stable_hash64(f"/{name}" for name in page.names)[page.tag[ended]]
    return sequence
