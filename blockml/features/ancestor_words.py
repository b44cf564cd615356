"""Words in the tags, classes and ids above each block, as hashed numbers: MLPs learn a vector for each of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from blockml.features.keywords import ATTRIBUTES
from blockml.features.page_context import PageContext
from blockml.text.words import lazy_pattern

#: Range of the hashed words, a power of two (our choice; Weinberger et al. 2009, *Feature Hashing for Large Scale
#: Multitask Learning*, on why collisions do little harm).
N_HASHED_WORDS = 2**13
#: Number of nearest ancestors whose words are used, and number of those that count as near; the same word has two
#: numbers, one for near ancestors and one for others (our choice).
_LEVELS, _NEAR = 4, 2
#: Attributes whose words are used: class, role, id and itemprop.
_ATTRIBUTES = ATTRIBUTES[:4]
#: Maximum number of characters of a value, of its names and of its parts: pages with hundreds of classes on an element
#: exist (our choice).
_MOST_CHARACTERS, _MOST_NAMES, _MOST_WORDS = 512, 8, 32
_CAMEL = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_WORD = lazy_pattern(r"[a-z]+|\d+")
#: Bits in which the number of a word differs between near and far ancestors (low bits of the golden ratio; Knuth, *The
#: Art of Computer Programming* 3, 6.4).
_FAR = 0x1C15


@dataclass(frozen=True, slots=True, eq=False)
class AncestorWords:
    """A bag of words for each block. Blocks with equal words share one."""

    starts: NDArray[np.intp]  #: (n_bags + 1,) bag ``i`` has the words ``starts[i] … starts[i + 1] - 1``, at least one
    #: (n_words,) words as numbers below :data:`N_HASHED_WORDS`; a bag may hold a number twice
    hashed_words: NDArray[np.int32]
    bag: NDArray[np.intp]  #: (n_blocks,) bag of each block

    def take(self, blocks: NDArray[np.intp]) -> Self:
        """Select blocks, in the order given."""
        chosen, bag = np.unique(self.bag[blocks], return_inverse=True)
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.append(0, np.cumsum(lengths))
        places = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return type(self)(starts, self.hashed_words[places], bag)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the blocks of several pages."""
        n_words = np.cumsum([0, *(len(part.hashed_words) for part in parts)])
        n_bags = np.cumsum([0, *(len(part.starts) - 1 for part in parts)])
        starts = [part.starts[1:] + before for part, before in zip(parts, n_words, strict=False)]
        bag = [part.bag + before for part, before in zip(parts, n_bags, strict=False)]
        return cls(
            np.concatenate([[0], *starts]),
            np.concatenate([np.zeros(0, dtype=np.int32), *(part.hashed_words for part in parts)]),
            np.concatenate([[], *bag]).astype(np.intp),
        )


def ancestor_words(context: PageContext) -> AncestorWords:
    """Hash the words of the tags and of ``class``, ``id``, ``itemprop`` and ``role`` of each block's four ancestors.

    Names are taken whole and, at signs and inner capitals, in parts, without regard to case.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<ul class='siteNav'><li>one<li>two</ul><p>three")
    >>> found = ancestor_words(PageContext(page))
    >>> found.bag.tolist(), np.diff(found.starts).tolist()
    ([0, 0, 1], [8, 4])
    """
    n = len(context)
    if not n:
        return AncestorWords(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
    if (kernel_page := context.kernel_page) is not None:
        return AncestorWords(*kernel_page.ancestor_words())
    above = np.full((_LEVELS, n), -1, dtype=np.int64)
    above[: len(context.chain)] = context.chain[:_LEVELS]
    values = context.attribute_values
    tag_sums = [*(_checksum(f"<{name}") for name in context.nodes.names), _checksum("<")]  # the last of "no node"
    tags = np.append(context.nodes.tag, np.int32(len(tag_sums) - 1))
    nodes = np.unique(above).tolist()
    numbers = values.columns[: len(_ATTRIBUTES), nodes].tolist()
    kind_of = dict(zip(nodes, zip(tags[nodes].tolist(), *numbers, strict=True), strict=True))
    bag_of: dict[tuple[tuple[int, ...], ...], int] = {}
    bag = [bag_of.setdefault(tuple([kind_of[node] for node in line]), len(bag_of)) for line in above.T.tolist()]
    sums_of = functools.cache(lambda number: np.frombuffer(word_checksums(values.values[number]), np.uint32).tolist())
    starts, words = [0], list[int]()
    for line in bag_of:
        for level, (tag, *held) in enumerate(line):
            mark = 0 if level < _NEAR else _FAR
            sums = [tag_sums[tag], *chain.from_iterable(sums_of(number) for number in held if number)]
            words += [(word & (N_HASHED_WORDS - 1)) ^ mark for word in sums]
        starts.append(len(words))
    return AncestorWords(np.array(starts, dtype=np.intp), np.array(words, dtype=np.int32), np.array(bag, dtype=np.intp))


#: Numbers that the C extension uses, by their names there.
NUMBERS = {
    "max_names": _MOST_NAMES,
    "max_parts": _MOST_WORDS,
    "near_levels": _NEAR,
    "far_mark": _FAR,
    "word_mask": N_HASHED_WORDS - 1,
}


def word_checksums(value: str) -> bytes:
    """Return checksums of the words in an attribute's value, as bytes of uint32."""
    return np.array(list(map(_checksum, _words(value))), dtype=np.uint32).tobytes()


def _checksum(word: str) -> int:
    """Return CRC-32: it spreads words as well as a costlier hash, and is equal on all machines."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def _words(value: str) -> tuple[str, ...]:
    """Return the names in an attribute's value, whole and in parts.

    Examples
    --------
    >>> _words("siteNav top-2")
    ('.site', '.nav', '.top-2', 'site', 'nav', 'top', '2')
    """
    separated = _CAMEL.sub(" ", value[:_MOST_CHARACTERS]).lower()
    whole = [f".{name}" for name in separated.split()[:_MOST_NAMES]]
    return tuple(dict.fromkeys(whole + _WORD.findall(separated)[:_MOST_WORDS]))
