"""Compact columns of a page's elements and stable hashes of runs of names: the input of the distances."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes, Page
from blockml.parsing.segmentation import VOID
from blockml.text.sketches import stable_hash64

_DIGITS = re.compile(r"\d+")

_Column = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PageSketch:
    """Elements of a page in document order (pre-order), as columns.

    Takes about 12 bytes per element, so thousands fit in memory and one is cheap to send to another process. ``n`` is
    the number of elements.
    """

    #: Distinct names: the element's name, in a sketch with classes followed by its class tokens after spaces
    names: tuple[str, ...]
    tag: _Column  #: (n,) index into ``names``
    parent: _Column  #: (n,) index of the parent element; -1 for a root
    end: _Column  #: (n,) index one past the element's last descendant
    classes: bool  #: Whether names include class tokens
    fingerprint: bytes  #: Digest of all columns: pages with equal fingerprints have distance 0 in any metric

    def __len__(self) -> int:
        return len(self.tag)

    def codes(self) -> Codes:
        """Return (n,) codes of the elements' names."""
        return stable_hash64(self.names)[self.tag]

    def leaves(self) -> NDArray[np.bool_]:
        """Return an (n,) mask of elements without child elements."""
        leaves: NDArray[np.bool_] = self.end == np.arange(1, len(self) + 1)
        return leaves

    def depths(self) -> NDArray[np.int64]:
        """Return (n,) numbers of ancestors."""
        return preorder_depths(self.end)

    def elements(self) -> tuple[str, ...]:
        """Return the element's name, without classes, of each of ``names``."""
        return tuple(name.partition(" ")[0] for name in self.names)


def sketch(page: Page, *, classes: bool = False) -> PageSketch:
    """Reduce a page to the columns that the distances need.

    Every element of ``page.nodes`` counts, including scripts and styles (as leaves). ``classes`` appends the tokens of
    an element's ``class`` attribute to its name, sorted and with each run of digits replaced by ``0``. This separates
    layouts of one site better; the published distances use only names. Our choice.

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
    # Index -1, the parent of a root, finds the appended entry.
    number = np.append(before[:-1], np.int32(-1))
    if classes:
        names, tag = _names_with_classes(nodes, np.flatnonzero(is_element).tolist())
    else:
        names, tag = nodes.names[1:], nodes.tag[is_element] - np.int32(1)
    columns = tag, number[nodes.parent[is_element]], before[nodes.end[is_element]]
    digest = hashlib.blake2b(digest_size=16)
    for part in ("\0".join(names).encode("utf-8", "surrogatepass"), *(column.tobytes() for column in columns)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return PageSketch(names, *columns, classes, digest.digest())


def _names_with_classes(nodes: Nodes, elements: list[int]) -> tuple[tuple[str, ...], _Column]:
    known: dict[tuple[int, str], int] = {}  # raw tag and class attribute to the index of the name
    names: dict[str, int] = {}
    numbers = []
    tags, attributes = nodes.tag.tolist(), nodes.attributes
    for element in elements:
        key = (tags[element], attributes[element].get("class", ""))
        number = known.get(key)
        if number is None:
            tokens = {_DIGITS.sub("0", token) for token in key[1].split()}
            name = " ".join([nodes.names[key[0]], *sorted(tokens)])
            number = known[key] = names.setdefault(name, len(names))
        numbers.append(number)
    return tuple(names), np.array(numbers, dtype=np.int32)


def preorder_depths(end: NDArray[Any]) -> NDArray[np.int64]:
    """Return (n,) numbers of ancestors, from (n,) indices one past each node's last descendant in pre-order."""
    n = len(end)
    ended = np.bincount(end, minlength=n + 1)[:n].cumsum()
    depths: NDArray[np.int64] = np.arange(n) - ended
    return depths


def path_codes(page: PageSketch, length: int | None = None) -> Codes:
    """Return (n,) hashes of the names from each element upwards: ``length`` of them, or all up to the root."""
    places = page.depths() + 1
    return run_codes(page.codes(), page.parent.astype(np.int64), places if length is None else places.clip(max=length))


def tag_sequence(page: PageSketch) -> Codes:
    """Return (t,) codes of the start and end tags in document order; void elements have no end tag.

    Examples
    --------
    >>> import blockml
    >>> len(tag_sequence(sketch(blockml.parse("<p>one<br>two</p>"))))  # html head /head body p br /p /body /html
    9
    """
    n = len(page)
    ended = np.flatnonzero(~np.array([element in VOID for element in page.elements()], dtype=bool)[page.tag])
    # Elements that end at one place end in reverse order.
    ended = ended[np.lexsort((-ended, page.end[ended]))]
    ends = page.end[ended]
    starts = np.arange(n)
    sequence = np.empty(n + len(ended), dtype=np.uint64)
    sequence[starts + np.searchsorted(ends, starts, side="right")] = page.codes()
    sequence[np.arange(len(ended)) + ends] = stable_hash64(f"/{name}" for name in page.names)[page.tag[ended]]
    return sequence


#: 64-bit hashes of names or runs.
Codes = NDArray[np.uint64]

#: Indices of elements.
Places = NDArray[np.int64]

# Odd multipliers with random-looking bits: the golden ratio's and the two of splitmix64 (Steele, Lea and Flood 2014).
_LEFT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(left: Codes, right: Codes) -> Codes:
    """Hash each ordered pair of codes (arrays of one shape) with the finaliser of splitmix64.

    A polynomial hash modulo 2⁶⁴ would not do: some long runs of two names collide for any base.
    """
    mixed: Codes = left * _LEFT
    mixed += right
    mixed ^= mixed >> _SHIFTS[0]
    mixed *= _FIRST
    mixed ^= mixed >> _SHIFTS[1]
    mixed *= _SECOND
    mixed ^= mixed >> _SHIFTS[2]
    return mixed


def run_codes(codes: Codes, step: Places, lengths: Places) -> Codes:
    """Hash the run of codes that starts at each place; equal runs have equal hashes wherever they are.

    Takes the (n,) code of each place, the (n,) index of the next place, -1 at the end of a run, and the (n,) number of
    places per run, its start included; a run of length 0 hashes to 0.

    Notes
    -----
    Doubling: round k joins runs of 2ᵏ places from two halves and appends one to each run whose length has that binary
    digit, in O(n log(longest run)).

    Examples
    --------
    >>> import numpy as np
    >>> from blockml.text.sketches import stable_hash64
    >>> codes, descending = stable_hash64("abba"), np.array([4, 3, 2, 1])
    >>> forth = run_codes(codes, np.array([1, 2, 3, -1]), descending)
    >>> back = run_codes(codes, np.array([-1, 0, 1, 2]), descending[::-1])
    >>> (forth == back[::-1]).tolist()
    [True, True, True, True]
    """
    n = len(codes)
    result = np.zeros(n, dtype=np.uint64)
    # A sentinel after the last place: index -1 leads there and stays there.
    block = np.append(codes, np.uint64(0))
    jump = np.append(step, -1)
    at = np.arange(n)
    left = lengths.astype(np.int64)
    while left.any():
        odd = np.flatnonzero(left & 1)
        if len(odd):
            places = at[odd]
            result[odd] = mix(result[odd], block[places])
            at[odd] = jump[places]
        left >>= 1
        block = mix(block, block[jump])
        jump = jump[jump]
    return result
