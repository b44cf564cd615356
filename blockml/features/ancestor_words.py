"""Words in the tags, classes and ids above each block, as numbers: nets learn a vector for each of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from blockml.features.attribute_values import NAMES
from blockml.features.page_context import PageContext

__all__ = ["BUCKETS", "Bags", "bags"]

#: Numbers that words are hashed to (our choice; Weinberger et al. 2009, *Feature Hashing for Large Scale Multitask
#: Learning*, on why collisions do little harm). A power of two.
BUCKETS = 2**13
#: Elements above a block whose words are taken, and how many of them count as near: a word has one number there and
#: another one further up (our choice).
_LEVELS, _NEAR = 4, 2
#: Attributes that name what an element is: class, role, id and itemprop.
_ATTRIBUTES = NAMES[:4]
#: Characters of one attribute that are read, names that are taken whole, and parts: pages with hundreds of classes on
#: an element exist (our choice).
_MOST_CHARACTERS, _MOST_NAMES, _MOST_WORDS = 512, 8, 32
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+|\d+")
#: Tells the number of a word far up from that near by: bits that differ (low ones of the golden ratio's; Knuth, *The
#: Art of Computer Programming* 3, 6.4).
_FAR = 0x1C15


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """A bag of words for each block. Blocks with the same words share one."""

    starts: NDArray[np.intp]
    """(n_bags + 1,) bag ``i`` has the words ``starts[i] … starts[i + 1] - 1``, one at least."""
    buckets: NDArray[np.int32]
    """(n_words,) number of each word, 0 … :data:`BUCKETS` - 1; a word may be twice in a bag."""
    bag: NDArray[np.intp]
    """(n_blocks,) bag of each block."""

    def take(self, blocks: NDArray[np.intp]) -> Bags:
        """Bags of some of the blocks, in that order."""
        chosen, bag = np.unique(self.bag[blocks], return_inverse=True)
        places, starts = _spans(self.starts[chosen], self.starts[chosen + 1] - self.starts[chosen])
        return Bags(starts, self.buckets[places], bag)

    @classmethod
    def join(cls, parts: Sequence[Bags]) -> Bags:
        """Bags of several pages, one after the other."""
        words = np.cumsum([0, *(len(part.buckets) for part in parts)])
        before = np.cumsum([0, *(len(part.starts) - 1 for part in parts)])
        return cls(
            np.concatenate([[0], *(part.starts[1:] + start for part, start in zip(parts, words, strict=False))]),
            np.concatenate([np.zeros(0, dtype=np.int32), *(part.buckets for part in parts)]),
            np.concatenate([[], *(part.bag + start for part, start in zip(parts, before, strict=False))]).astype(
                np.intp
            ),
        )


def bags(view: PageContext) -> Bags:
    """Words of the tags and of ``class``, ``id``, ``itemprop`` and ``role`` of the four elements next above each block.

    Names are taken whole and, at signs and inner capitals, in parts; case doesn't matter.

    Examples
    --------
    >>> import blockml
    >>> found = bags(PageContext(blockml.parse("<ul class='siteNav'><li>one<li>two</ul><p>three")))
    >>> found.bag.tolist(), np.diff(found.starts).tolist()
    ([0, 0, 1], [8, 4])
    """
    n = len(view)
    if not n:
        return Bags(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
    if (sheet := view.sheet) is not None:
        return Bags(*sheet.bags(_sums_of_value, (_MOST_NAMES, _MOST_WORDS, _NEAR, _FAR, BUCKETS - 1)))
    above = np.full((_LEVELS, n), -1, dtype=np.int64)
    above[: len(view.chain)] = view.chain[:_LEVELS]
    tag_sums = [*(_sum(f"<{name}") for name in view.nodes.names), _sum("<")]  # at the end that of "no node"
    return _in_python(above, view.nodes.tag, view.names.columns[: len(_ATTRIBUTES)], tag_sums, view.names.values)


def _in_python(
    above: NDArray[np.int64],
    tag: NDArray[np.int32],
    numbers: NDArray[np.int32],
    tag_sums: Sequence[int],
    values: tuple[str, ...],
) -> Bags:
    """Bags of what stands above each block (levels, n_blocks): tags and values of nodes by their numbers."""
    nodes = np.unique(above).tolist()
    tag = np.append(tag, np.int32(len(tag_sums) - 1))  # at the end that of "no node", as in numbers
    kinds = dict(zip(nodes, zip(tag[nodes].tolist(), *numbers[:, nodes].tolist(), strict=True), strict=True))
    bag_of: dict[tuple[tuple[int, ...], ...], int] = {}
    bag = [bag_of.setdefault(tuple([kinds[node] for node in line]), len(bag_of)) for line in above.T.tolist()]
    words_of = functools.cache(lambda number: np.frombuffer(_sums_of_value(values[number]), np.uint32).tolist())
    starts, words = [0], list[int]()
    for line in bag_of:
        for level, (name, *held) in enumerate(line):
            mark = 0 if level < _NEAR else _FAR
            sums = [tag_sums[name], *chain.from_iterable(words_of(number) for number in held if number)]
            words += [(word & (BUCKETS - 1)) ^ mark for word in sums]
        starts.append(len(words))
    return Bags(np.array(starts, dtype=np.intp), np.array(words, dtype=np.int32), np.array(bag, dtype=np.intp))


def _sums_of_value(value: str) -> bytes:
    """Checksums of the words in an attribute's value, as bytes of uint32."""
    return np.array(list(map(_sum, _parts(value))), dtype=np.uint32).tobytes()


def _sum(word: str) -> int:
    """CRC-32: spreads words over the numbers as well as a costlier hash, and is the same everywhere."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def _parts(value: str) -> tuple[str, ...]:
    """Names in an attribute's value, whole and in parts.

    Examples
    --------
    >>> _parts("siteNav top-2")
    ('.site', '.nav', '.top-2', 'site', 'nav', 'top', '2')
    """
    apart = _CAMEL.sub(" ", value[:_MOST_CHARACTERS]).lower()
    whole = [f".{name}" for name in apart.split()[:_MOST_NAMES]]
    return tuple(dict.fromkeys(whole + _WORD.findall(apart)[:_MOST_WORDS]))


def _spans(starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places ``starts[i] … starts[i] + lengths[i] - 1`` one after the other, and where those of each begin, and end."""
    bounds = np.append(0, np.cumsum(lengths))
    return np.repeat(starts - bounds[:-1], lengths) + np.arange(bounds[-1]), bounds
