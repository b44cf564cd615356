"""Words in the tags, classes and ids above each block, as numbers: nets learn a vector for each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

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
    if not len(view):
        return Bags(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.intp))
    above = np.full((_LEVELS, len(view)), -1, dtype=np.intp)
    above[: len(view.chain)] = view.chain[:_LEVELS]
    elements, here = np.unique(above, return_inverse=True)
    texts, words, of_element = _texts(view, elements)
    # The number of each text above a block, twice as large, and odd where it is far up.
    found = 2 * of_element[here.reshape(above.shape)]
    found[_NEAR:] += 1
    rows, bag = np.unique(found.transpose(1, 0, 2).reshape(len(view), -1), axis=0, return_inverse=True)
    places, starts = _spans(texts[rows >> 1].ravel(), (texts[(rows >> 1) + 1] - texts[rows >> 1]).ravel())
    far = np.repeat((rows & 1).ravel(), np.diff(starts)).astype(np.uint64)
    buckets = (words[places] ^ (far * _FACTOR)) & np.uint64(BUCKETS - 1)
    return Bags(starts[:: rows.shape[1]], buckets.astype(np.int32), bag.reshape(-1))


def _texts(view: View, elements: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.intp]]:
    """Tags and attribute values, each once: where the words of each begin, keys of the words, the texts of elements.

    Text 0 has no words; text 1 is the tag of what is no element, -1.
    """
    tags = ["<", *(f"<{name}" for name in view.nodes.names)]
    values: dict[str, int] = {}
    of_element = np.zeros((len(elements), 1 + len(_ATTRIBUTES)), dtype=np.intp)
    of_element[:, 0] = np.append(view.nodes.tag + 2, 1)[elements]
    for place, node in enumerate(elements.tolist()):
        held = view.nodes.attributes[node] if node >= 0 else None
        if held:
            for column, name in enumerate(_ATTRIBUTES, 1):
                if value := held.get(name):
                    of_element[place, column] = values.setdefault(value, len(values) + len(tags) + 1)
    in_texts = [(), *((tag,) for tag in tags), *map(_parts, values)]
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(in_texts)]
    starts = np.append(0, np.cumsum([len(words) for words in in_texts]))
    return starts, text_keys(numbers)[flat], of_element


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
