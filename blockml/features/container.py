"""Position of a block relative to candidates for the element that contains the content.

Readability and similar methods choose one container. Several candidates are features here, and a model learns how far
from each of them content still lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import ColumnRange, columns_of
from blockml.features.keywords import KEYWORDS
from blockml.features.page_context import PageContext, TagTable
from blockml.text.words import CLAUSE

#: Maximum number of levels that are counted above a candidate.
MOST_LEVELS = 40

#: Elements beside the main content, such as navigation, and words in the ``class`` or ``id`` of others. Their text is
#: rarely content, so that some columns don't count it for a candidate.
_SURROUNDINGS = frozenset({"nav", "footer", "aside", "header", "form"})
_SURROUNDING_WORDS = ("comment", "side", "navigation", "foot", "related", "popular", "consent", "overlay", "subscribe")

#: 1 for elements of :data:`_SURROUNDINGS`, -1 for elements around everything, whose classes describe the whole page.
_ALL_AROUND = ("html", "body")
_TAGS_AROUND = TagTable({**dict.fromkeys(_SURROUNDINGS, 1), **dict.fromkeys(_ALL_AROUND, -1)})
#: Bits of a tag in ``features_container.c``.
_SURROUNDING, _AROUND, _INLINE_BIT, _MAIN, _ARTICLE, _HEADING = (1 << bit for bit in range(6))
#: Elements whose own text counts for their parent, because they are paragraphs or parts of one.
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

#: Candidates and their definitions.
CANDIDATES: Mapping[str, str] = {
    "half": "the smallest element with half of the running text",
    "most": "the smallest element with 80 % of the running text",
    "all": "the smallest element with 95 % of the running text",
    "clean": "the smallest element with 60 % of the running text outside navigation, sides and footers",
    "cleanall": "the smallest element with 90 % of the running text outside navigation, sides and footers",
    "scored": "the element whose paragraphs score best",
    "titled": "the smallest element with the first h1 and half of the running text",
    "article": "the article with most words",
    "main": "the main element, or one with that role",
}


def container(context: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """Measure levels, blocks and text between blocks and six candidates, and the paragraph scores above blocks."""
    clean_prose = np.where(_surrounded(context), 0.0, context.prose)
    masses = _masses(context, clean_prose, context.linked)
    clean, linked = masses.others
    cleaned = clean if clean.max(initial=0) > 0 else masses.any
    scores = _paragraph_scores(context)
    above = scores[context.reached] * (1 - linked / np.maximum(1, masses.words))
    best_of = int(above.argmax()) if above.any() else -1
    values = context.attribute_values
    has_role = values.of["role"][context.reached] == values.numbers.get("main", -1)
    is_main = context.nodes.named({"main"})[context.reached] | has_role
    best = max(1e-9, float(above.max(initial=0)))
    scores[:] = 0
    scores[context.reached] = above
    return _around(
        context,
        masses,
        {
            "half": smallest_holding(context, masses.any, 0.5),
            "most": smallest_holding(context, masses.any, 0.8),
            "clean": smallest_holding(context, cleaned, 0.6),
            "cleanall": smallest_holding(context, cleaned, 0.9),
            "scored": best_of,
            "main": _largest(is_main, masses.words),
        },
    ) | {
        "scoreup": context.most_above(scores) / best,  # "no node" is the last entry, 0
        "scoreparent": scores[context.blocks.parent] / best,
    }


def more_candidates(context: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """Measure levels, blocks and text between blocks and three more candidates."""
    masses = _masses(context)
    return _around(
        context,
        masses,
        {
            "all": smallest_holding(context, masses.any, 0.95),
            "titled": _with_heading(context, masses.any),
            "article": _largest(context.nodes.named({"article"})[context.reached], masses.words),
        },
    )


class _Masses(NamedTuple):
    """Text of the elements :attr:`~blockml.features.page_context.PageContext.reached`, as columns (n_reached,)."""

    words: NDArray[np.float64]
    prose: NDArray[np.float64]
    any: NDArray[np.float64]  #: Running text, or words on pages without running text
    others: NDArray[np.float64]  #: (n, n_reached) sums of other values


def _masses(context: PageContext, *others: NDArray[np.float64]) -> _Masses:
    """Sum words, running text and other values (n_blocks,) over the blocks of each element."""
    values = np.array([context.words, context.prose, *others])
    sums = context.total_of(context.reached, values)
    words, prose = sums[:2]
    return _Masses(words, prose, prose if context.prose.any() else words, sums[2:])


def _around(context: PageContext, masses: _Masses, found: Mapping[str, int]) -> dict[str, NDArray[np.generic] | float]:
    """Compute columns of candidates, given as indices into ``PageContext.reached`` or -1."""
    columns: dict[str, NDArray[np.generic] | float] = {}
    for name, place in found.items():
        node, share, prose = -1, -1.0, -1.0
        if place >= 0:
            node, words = int(context.reached[place]), float(masses.words[place])
            share, prose = words / context.n_words, float(masses.prose[place]) / max(1.0, words)
        columns |= {f"{what}{name}": values for what, values in relative_to(context, node).items()}
        columns |= {f"share{name}": share, f"prose{name}": prose}
    return columns


def smallest_holding(context: PageContext, mass: NDArray[np.float64], share: float) -> int:
    """Find the deepest element with at least a share of the largest mass (n_reached,); -1 without any mass.

    Returns an index into :attr:`~blockml.features.page_context.PageContext.reached`.
    """
    top = float(mass.max(initial=0))
    if top <= 0:
        return -1
    enough = np.flatnonzero(mass >= share * top)
    return int(enough[context.nodes.depth[context.reached[enough]].argmax()])


def relative_to(context: PageContext, node: int) -> Mapping[str, NDArray[np.generic] | float]:
    """Count levels from a node up to an element that holds the block, levels below it, and blocks before or after it.

    Without a node (-1), levels are -2 and blocks 0.
    """
    if node < 0:
        return {"outof": -2, "below": -2, "off": 0}
    n = len(context)
    depth = context.nodes.depth
    line = [node, *context.nodes.ancestors(node, MOST_LEVELS)]
    lows, highs = context.low[line].tolist(), context.high[line].tolist()
    steps = np.full(n, len(line))
    for step in range(len(line) - 1, -1, -1):  # blocks inside of an element are a range
        steps[lows[step] : highs[step]] = step
    low, high = lows[0], highs[0]
    below, off = np.full(n, -1), np.zeros(n, dtype=np.intp)
    below[low:high] = depth[context.blocks.parent[low:high]] - depth[node]
    off[:low] = np.arange(-low, 0)
    off[high:] = np.arange(1, n - high + 1)
    return {"outof": steps, "below": below, "off": off}


SURROUNDING_BITS = sum(1 << number for number, name in enumerate(KEYWORDS) if name in _SURROUNDING_WORDS)


def _surrounded(context: PageContext) -> NDArray[np.bool_]:
    """Tell which blocks (n_blocks,) have such an element around them, by its tag or by its class or id."""
    marked = (context.keywords & SURROUNDING_BITS > 0).astype(np.float64)
    tags = context.codes_of_nodes(_TAGS_AROUND)
    marked[tags > 0] = 1
    marked[tags < 0] = 0
    return context.most_above(marked) > 0


def _paragraph_scores(context: PageContext) -> NDArray[np.float64]:
    """Score elements (n_nodes + 1,) by the running text just below them, before the share of links is subtracted.

    A paragraph gives 1, 1 for each clause and up to 3 for its length to its parent, and parts of that to the next two
    ancestors (Readability's public source). The last entry, for "no node", is 0.
    """
    scores = np.zeros(len(context.nodes) + 1)
    is_inline = np.array([name in _INLINE for name in context.nodes.names], dtype=bool)
    reading = np.flatnonzero(context.prose > 0)
    if not len(reading):
        return scores
    worth = 1 + context.characters(CLAUSE)[reading] + np.minimum(context.lengths[reading] // 100, 3)
    parent = context.blocks.parent[reading]
    up = np.append(context.nodes.parent, -1)
    holder = np.where(is_inline[context.nodes.tag[parent]], context.nodes.parent[parent], parent)
    for part in (1.0, 0.5, 0.33):
        held = holder >= 0
        np.add.at(scores, holder[held], part * worth[held])
        holder = up[holder]
    return scores


def _with_heading(context: PageContext, mass: NDArray[np.float64]) -> int:
    """Find the smallest element that holds the first ``h1`` and half of the mass; -1 without an ``h1``."""
    headings = context.nodes.indices("h1")
    if not len(headings):
        return -1
    top = float(mass.max(initial=0))
    for node in [int(headings[0]), *context.nodes.ancestors(int(headings[0]))]:
        place = int(np.searchsorted(context.reached, node))
        if place < len(context.reached) and context.reached[place] == node and mass[place] >= 0.5 * top:
            return place
    return -1


def _largest(marked: NDArray[np.bool_], mass: NDArray[np.float64]) -> int:
    candidates = np.flatnonzero(marked)
    return int(candidates[mass[candidates].argmax()]) if len(candidates) else -1


def _candidate(name: str) -> dict[str, ColumnRange]:
    what = CANDIDATES[name]
    return {
        f"outof{name}": (f"levels from {what} up to one that holds the block", -2, MOST_LEVELS + 1),
        f"below{name}": (f"levels below {what}; -1 outside", -2, np.inf),
        f"off{name}": (f"blocks before (negative) or after {what}", -np.inf, np.inf),
        f"share{name}": (f"words of {what} / words of the page", -1, 1),
        f"prose{name}": (f"running text of {what} / its words", -1, 1),
    }


#: Candidates of :func:`more_candidates`.
_MORE_CANDIDATES = {"all", "titled", "article"}
_SCORES: dict[str, ColumnRange] = {
    "scoreup": ("best score of paragraphs in an element above / the page's best", 0, 1),
    "scoreparent": ("score of paragraphs in the parent / the page's best", 0, 1),
}

_SOURCE = "candidates for the container of the content, after Readability's public source and the ratio methods"
COLUMNS = tuple(
    column
    for family, names, rest in (
        (container, set(CANDIDATES) - _MORE_CANDIDATES, _SCORES),
        (more_candidates, _MORE_CANDIDATES, {}),
    )
    for column in columns_of(
        family,
        _SOURCE,
        {name: row for candidate in CANDIDATES if candidate in names for name, row in _candidate(candidate).items()}
        | rest,
    )
)
