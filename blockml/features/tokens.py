"""Words in the tags, classes and ids above each block, as numbers: nets learn a vector for each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.features.ranks import ranked
from blockml.features.view import View
from blockml.keys import text_keys

__all__ = ["BUCKETS", "Bags", "bags"]

#: Numbers that words are hashed to (our choice; Weinberger et al. 2009, *Feature Hashing for Large Scale Multitask
#: Learning*, on why collisions do little harm). A power of two.
BUCKETS = 2**13
#: Elements above a block whose words are taken, and how many of them count as near: a word has one number there and
#: another one further up (our choice).
_LEVELS, _NEAR = 4, 2
#: Attributes that name what an element is.
_ATTRIBUTES = ("class", "id", "itemprop", "role")
#: Characters of one attribute that are read, names that are taken whole, and parts: pages with hundreds of classes on
#: an element exist (our choice).
_MOST_CHARACTERS, _MOST_NAMES, _MOST_WORDS = 512, 8, 32
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+|\d+")
#: Tells the numbers of a word far up from those near by (odd, from the golden ratio; Knuth, *The Art of Computer
#: Programming* 3, 6.4).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


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


def bags(view: View) -> Bags:
    """Words of the tags and of ``class``, ``id``, ``itemprop`` and ``role`` of the four elements next above each block.

    Names are taken whole and, at signs and inner capitals, in parts; case doesn't matter.

    Examples
    --------
    >>> import blockml
    >>> found = bags(View(blockml.parse("<ul class='siteNav'><li>one<li>two</ul><p>three")))
    >>> found.bag.tolist(), np.diff(found.starts).tolist()
    ([0, 0, 1], [8, 4])
    """
    n = len(view)
    if not n:
        return Bags(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
    above = np.full((_LEVELS, n), -1, dtype=np.intp)
    above[: len(view.chain)] = view.chain[:_LEVELS]
    marked = np.zeros(len(view.nodes) + 1, dtype=bool)
    marked[above] = True
    elements = np.flatnonzero(marked)  # rising; "no node" at the end
    starts, words, of_element = _texts(view, elements)
    first, kind = _different(of_element, len(starts))
    # The words of each different element, then those of the elements above each bag's blocks.
    texts = of_element[first].ravel()
    places, bounds = _spans(starts[texts], starts[texts + 1] - starts[texts])
    words, starts = words[places], bounds[:: of_element.shape[1]]
    place = np.zeros(len(marked), dtype=np.intp)
    place[elements] = kind
    rows = place[above].T
    chosen, bag = _different(rows, len(first))
    kinds = rows[chosen].ravel()
    lengths = starts[kinds + 1] - starts[kinds]
    places, bounds = _spans(starts[kinds], lengths)
    far = np.repeat(np.tile(np.arange(_LEVELS) >= _NEAR, len(chosen)), lengths).astype(np.uint64)
    buckets = (words[places] ^ (far * _FACTOR)) & np.uint64(BUCKETS - 1)
    return Bags(bounds[::_LEVELS], buckets.astype(np.int32), bag)


def _different(rows: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different rows of numbers from 0 to ``bound`` - 1, in their order: the first place and, of each row, which it is.

    Rows are written as one number each; where that grows too large, as the rank of what was written so far.

    Examples
    --------
    >>> [found.tolist() for found in _different(np.array([[2, 0], [1, 9], [2, 0]]), 10)]
    [[1, 0], [1, 0, 1]]
    """
    key = rows[:, 0].astype(np.int64)
    most = bound
    for column in rows.T[1:]:
        if most * bound >= 2**62:
            first, key = ranked(key.view(np.uint64))
            most = len(first)
        key = key * bound + column
        most *= bound
    return ranked(key.view(np.uint64))


def _texts(view: View, elements: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.intp]]:
    """Tags and attribute values, each once: where the words of each begin, keys of the words, the texts of elements.

    Text 0 has no words; text 1 is the tag of what is no element. Values follow in the order in which elements have
    them.
    """
    tags = ["<", *[f"<{name}" for name in view.nodes.names]]
    numbers = np.array([view.names.of[name] for name in _ATTRIBUTES])[:, elements].T
    read = numbers.ravel()[::-1]
    first = np.zeros(len(view.names.values), dtype=np.intp)
    first[read] = np.arange(len(read), 0, -1)  # what is written last stays
    first[0] = 0  # no value
    used = np.flatnonzero(first)
    used = used[first[used].argsort()]
    text_of_value = np.zeros(len(first), dtype=np.intp)
    text_of_value[used] = np.arange(len(used)) + len(tags) + 1
    lengths, keys = _keys([view.names.values[number] for number in used.tolist()])
    of_element = np.empty((len(elements), 1 + len(_ATTRIBUTES)), dtype=np.intp)
    of_element[:, 0] = np.append(view.nodes.tag + 2, 1)[elements]
    of_element[:, 1:] = text_of_value[numbers]
    starts = np.concatenate([[0, 0], np.arange(1, len(tags)), len(tags) + np.append(0, np.cumsum(lengths))])
    return starts, np.concatenate([text_keys(tags), keys]), of_element


def _keys(values: list[str]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """How many words each value has, and their keys one after the other."""
    lengths = np.full(len(values), -1, dtype=np.int64)
    rows = np.zeros((len(values), _MOST_NAMES + _MOST_WORDS), dtype=np.uint64)
    if kernel.compiled is not None:
        kernel.compiled.name_words(values, _MOST_NAMES, _MOST_WORDS, lengths, rows)
    left = np.flatnonzero(lengths < 0).tolist()
    if left:
        in_values = [_parts(values[number]) for number in left]
        numbers: dict[str, int] = {}
        flat = [numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(in_values)]
        lengths[left] = [len(words) for words in in_values]
        is_left = np.zeros(len(values), dtype=bool)
        is_left[left] = True
        filled = np.arange(rows.shape[1]) < lengths[:, None]
        rows[filled & is_left[:, None]] = text_keys(numbers)[flat]
    return lengths, rows[np.arange(rows.shape[1]) < lengths[:, None]]


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
