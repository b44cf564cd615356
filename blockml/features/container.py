"""Where a block lies relative to elements that may be the container of the content.

One container is what readability and its kin look for, and the best single element reaches no more than a good guess;
several candidates are only hints here, and what is learnt is how far from them content still lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Row, columns_of
from blockml.features.keywords import KEYWORDS
from blockml.features.page_context import PageContext
from blockml.features.tags import TagTable
from blockml.text.characters import CLAUSE

__all__ = ["COLUMNS", "MOST_LEVELS", "container", "further", "relative_to", "smallest_holding"]

#: Levels that are told apart above a candidate.
MOST_LEVELS = 40

#: Elements and words whose text hardly ever is the content: a candidate is looked for without them.
_SURROUNDINGS = frozenset({"nav", "footer", "aside", "header", "form"})
_SURROUNDING_WORDS = ("comment", "side", "navigation", "foot", "related", "popular", "consent", "overlay", "subscribe")

#: By tag: 1 for surroundings, -1 for elements around everything, whose class names are of the whole page.
_ALL_AROUND = ("html", "body")
_TAGS_AROUND = TagTable({**dict.fromkeys(_SURROUNDINGS, 1), **dict.fromkeys(_ALL_AROUND, -1)})
#: What the kernel knows of a tag: see container.c.
_SURROUNDING, _AROUND, _INLINE_BIT, _MAIN, _ARTICLE, _HEADING = (1 << bit for bit in range(6))
#: Elements that hold text without being its paragraph.
_INLINE = frozenset({"p", "span", "strong", "b", "em", "i", "font", "pre", "td", "blockquote"})

MARKS = TagTable(
    {
        **dict.fromkeys(_SURROUNDINGS, _SURROUNDING),
        **dict.fromkeys(_ALL_AROUND, _AROUND),
        **dict.fromkeys(_INLINE, _INLINE_BIT),
        "main": _MAIN,
        "article": _ARTICLE,
        "h1": _HEADING,
    }
)

#: Candidates by what they hold most of.
CANDIDATES: Mapping[str, str] = {
    "half": "the smallest element with half of the running text",
    "most": "the smallest element with 80 % of the running text",
    "all": "the smallest element with 95 % of the running text",
    "clean": "the smallest element with 60 % of the running text outside surroundings",
    "cleanall": "the smallest element with 90 % of the running text outside surroundings",
    "scored": "the element whose paragraphs score best",
    "titled": "the smallest element with the first h1 and half of the running text",
    "article": "the article with most words",
    "main": "the main element, or one with that role",
}


def container(view: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """Levels, blocks and shares of text between a block and candidates, and the scores above it."""
    clean_prose = np.where(_surrounded(view), 0.0, view.prose)
    masses = _masses(view, clean_prose, view.linked)
    clean, linked = masses.others
    cleaned = clean if clean.max(initial=0) > 0 else masses.any
    scores = _paragraph_scores(view)
    above = scores[view.reached] * (1 - linked / np.maximum(1, masses.words))
    best_of = int(above.argmax()) if above.any() else -1
    is_main = _named(view, "main") | _has_role(view, "main")
    best = max(1e-9, float(above.max(initial=0)))
    scores[:] = 0
    scores[view.reached] = above
    return _around(
        view,
        masses,
        {
            "half": smallest_holding(view, masses.any, 0.5),
            "most": smallest_holding(view, masses.any, 0.8),
            "clean": smallest_holding(view, cleaned, 0.6),
            "cleanall": smallest_holding(view, cleaned, 0.9),
            "scored": best_of,
            "main": _largest(is_main, masses.words),
        },
        {
            "scoreup": view.most_above(scores) / best,  # "no node" is the last entry, 0
            "scoreparent": scores[view.blocks.parent] / best,
        },
    )


def further(view: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """The same for candidates that tell little beside the others."""
    masses = _masses(view)
    return _around(
        view,
        masses,
        {
            "all": smallest_holding(view, masses.any, 0.95),
            "titled": _with_heading(view, masses.any),
            "article": _largest(_named(view, "article"), masses.words),
        },
    )


class _Masses(NamedTuple):
    """Text of each of the elements :attr:`~blockml.features.page_context.PageContext.reached`, all (n_reached,)."""

    words: NDArray[np.float64]
    prose: NDArray[np.float64]
    any: NDArray[np.float64]
    """Running text, or words where there is none."""
    others: NDArray[np.float64]
    """(n, n_reached) of other values."""


def _masses(view: PageContext, *others: NDArray[np.float64]) -> _Masses:
    """Sums over the blocks of each element, of words, running text, and other values (n_blocks,)."""
    values = np.array([view.words, view.prose, *others])
    sums = view.total_of(view.reached, values)
    words, prose = sums[:2]
    return _Masses(words, prose, prose if view.prose.any() else words, sums[2:])


def _around(
    view: PageContext,
    masses: _Masses,
    found: Mapping[str, int],
    rest: Mapping[str, NDArray[np.float64]] = MappingProxyType({}),
) -> Mapping[str, NDArray[np.generic] | float]:
    """Columns of candidates, given as indices into ``PageContext.reached``, or -1; and the rest."""
    columns: dict[str, NDArray[np.generic] | float] = {}
    for name, place in found.items():
        node, share, prose = -1, -1.0, -1.0
        if place >= 0:
            node, words = int(view.reached[place]), float(masses.words[place])
            share, prose = words / view.n_words, float(masses.prose[place]) / max(1.0, words)
        columns |= {f"{what}{name}": values for what, values in relative_to(view, node).items()}
        columns |= {f"share{name}": share, f"prose{name}": prose}
    return {**columns, **rest}


def smallest_holding(view: PageContext, mass: NDArray[np.float64], share: float) -> int:
    """Deepest element with at least this share of the largest mass (n_reached,); -1 if there is no mass.

    Elements are given, here as elsewhere, as places in :attr:`~blockml.features.page_context.PageContext.reached`.
    """
    top = float(mass.max(initial=0))
    if top <= 0:
        return -1
    enough = np.flatnonzero(mass >= share * top)
    return int(enough[view.nodes.depth[view.reached[enough]].argmax()])


def relative_to(view: PageContext, node: int) -> Mapping[str, NDArray[np.generic] | float]:
    """Levels from a node up to an element that holds the block, levels below it, and blocks before or after it.

    Where there is no node (-1), levels are -2 and blocks 0.
    """
    if node < 0:
        return {"outof": -2, "below": -2, "off": 0}
    n = len(view)
    depth = view.nodes.depth
    line = [node, *view.nodes.ancestors(node)[:MOST_LEVELS]]
    lows, highs = view.low[line].tolist(), view.high[line].tolist()
    steps = np.full(n, len(line))
    for step in range(len(line) - 1, -1, -1):  # blocks inside of an element are a range
        steps[lows[step] : highs[step]] = step
    low, high = lows[0], highs[0]
    below, off = np.full(n, -1), np.zeros(n, dtype=np.intp)
    below[low:high] = depth[view.blocks.parent[low:high]] - depth[node]
    off[:low] = np.arange(-low, 0)
    off[high:] = np.arange(1, n - high + 1)
    return {"outof": steps, "below": below, "off": off}


SURROUNDING_BITS = sum(1 << number for number, name in enumerate(KEYWORDS) if name in _SURROUNDING_WORDS)


def _surrounded(view: PageContext) -> NDArray[np.bool_]:
    """(n_blocks,) whether an element above is one of the surroundings, by its tag or by its class or id."""
    marked = (view.keywords & SURROUNDING_BITS > 0).astype(np.float64)
    tags = view.codes_of_nodes(_TAGS_AROUND)
    marked[tags > 0] = 1
    marked[tags < 0] = 0
    return view.most_above(marked) > 0


def _paragraph_scores(view: PageContext) -> NDArray[np.float64]:
    """(n_nodes + 1,) score of elements by the running text just below them, before links take their share away.

    A paragraph gives 1, 1 for each clause and up to 3 for its length to its parent, half of it to the next element
    above (Readability's public source). The entry at the end, for "no node", is 0.
    """
    scores = np.zeros(len(view.nodes) + 1)
    is_inline = np.array([name in _INLINE for name in view.nodes.names], dtype=bool)
    reading = np.flatnonzero(view.prose > 0)
    if not len(reading):
        return scores
    worth = 1 + view.characters(CLAUSE)[reading] + np.minimum(view.lengths[reading] // 100, 3)
    parent = view.blocks.parent[reading]
    up = np.append(view.nodes.parent, -1)
    holder = np.where(is_inline[view.nodes.tag[parent]], view.nodes.parent[parent], parent)
    for part in (1.0, 0.5, 0.33):
        held = holder >= 0
        np.add.at(scores, holder[held], part * worth[held])
        holder = up[holder]
    return scores


def _with_heading(view: PageContext, mass: NDArray[np.float64]) -> int:
    """Smallest element that holds the first ``h1`` and half of the mass; -1 without an ``h1``."""
    headings = view.nodes.places("h1")
    if not len(headings):
        return -1
    top = float(mass.max(initial=0))
    for node in [int(headings[0]), *view.nodes.ancestors(int(headings[0]))]:
        place = int(np.searchsorted(view.reached, node))
        if place < len(view.reached) and view.reached[place] == node and mass[place] >= 0.5 * top:
            return place
    return -1


def _largest(marked: NDArray[np.bool_], mass: NDArray[np.float64]) -> int:
    candidates = np.flatnonzero(marked)
    return int(candidates[mass[candidates].argmax()]) if len(candidates) else -1


def _named(view: PageContext, name: str) -> NDArray[np.bool_]:
    """(n_reached,) whether elements have this name."""
    if name not in view.nodes.names:
        return np.zeros(len(view.reached), dtype=bool)
    has: NDArray[np.bool_] = view.nodes.tag[view.reached] == view.nodes.names.index(name)
    return has


def _has_role(view: PageContext, role: str) -> NDArray[np.bool_]:
    """(n_reached,) whether elements have this role and no other."""
    if role not in view.names.values:
        return np.zeros(len(view.reached), dtype=bool)
    has: NDArray[np.bool_] = view.names.of["role"][view.reached] == view.names.values.index(role)
    return has


def _candidate(name: str) -> dict[str, Row]:
    what = CANDIDATES[name]
    return {
        f"outof{name}": (f"levels from {what} up to one that holds the block", -2, MOST_LEVELS + 1),
        f"below{name}": (f"levels below {what}; -1 outside", -2, np.inf),
        f"off{name}": (f"blocks before (negative) or after {what}", -np.inf, np.inf),
        f"share{name}": (f"words of {what} / words of the page", -1, 1),
        f"prose{name}": (f"running text of {what} / its words", -1, 1),
    }


#: Candidates of :func:`further`.
_FURTHER = {"all", "titled", "article"}
_SCORES: dict[str, Row] = {
    "scoreup": ("best score of paragraphs in an element above / the page's best", 0, 1),
    "scoreparent": ("score of paragraphs in the parent / the page's best", 0, 1),
}

_SOURCE = "candidates for the container of the content, after Readability's public source and the ratio methods"
COLUMNS = tuple(
    column
    for family, names, rest in ((container, set(CANDIDATES) - _FURTHER, _SCORES), (further, _FURTHER, {}))
    for column in columns_of(
        family,
        _SOURCE,
        {name: row for candidate in CANDIDATES if candidate in names for name, row in _candidate(candidate).items()}
        | rest,
    )
)
