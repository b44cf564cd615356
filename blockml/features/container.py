"""Where a block lies relative to elements that may be the container of the content.

One container is what readability and its kin look for, and the best single element reaches no more than a good guess;
several candidates are only hints here, and what is learnt is how far from them content still lies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Row, columns_of
from blockml.features.keywords import KEYWORDS
from blockml.features.view import View
from blockml.parsing.characters import CLAUSE

__all__ = ["COLUMNS", "MOST_LEVELS", "container", "relative_to", "smallest_holding"]

#: Levels that are told apart above a candidate.
MOST_LEVELS = 40

#: Elements and words whose text hardly ever is the content: a candidate is looked for without them.
_SURROUNDINGS = ("nav", "footer", "aside", "header", "form")
_SURROUNDING_WORDS = ("comment", "side", "navigation", "foot", "related", "popular", "consent", "overlay", "subscribe")

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


def container(view: View) -> Mapping[str, NDArray[np.generic] | float]:
    """Levels, blocks and shares of text between a block and each candidate."""
    nodes = view.nodes
    clean_prose = np.where(_surrounded(view), 0.0, view.prose)
    prose, clean, plain, linked = view.total(np.array([view.prose, clean_prose, view.words, view.linked]))
    mass = prose if view.prose.any() else plain  # no running text: then any text
    cleaned = clean if clean.max(initial=0) > 0 else mass
    scores = _paragraph_scores(view) * (1 - linked / np.maximum(1, plain))
    found = {
        "half": smallest_holding(view, mass, 0.5),
        "most": smallest_holding(view, mass, 0.8),
        "all": smallest_holding(view, mass, 0.95),
        "clean": smallest_holding(view, cleaned, 0.6),
        "cleanall": smallest_holding(view, cleaned, 0.9),
        "scored": int(scores.argmax()) if scores.any() else -1,
        "titled": _with_heading(view, mass),
        "article": _largest(nodes.named({"article"}), plain),
        "main": _largest(nodes.named({"main"}) | _has_role(view, "main"), plain),
    }
    placed = {node: relative_to(view, node) for node in set(found.values())}  # several may be the same element
    columns: dict[str, NDArray[np.generic] | float] = {}
    for name, node in found.items():
        columns |= {f"{what}{name}": values for what, values in placed[node].items()}
        columns[f"share{name}"] = float(plain[node]) / view.n_words if node >= 0 else -1.0
        columns[f"prose{name}"] = float(prose[node]) / max(1.0, float(plain[node])) if node >= 0 else -1.0
    best = max(1e-9, float(scores.max(initial=0)))
    columns["scoreup"] = np.append(scores, 0)[view.chain].max(axis=0) / best
    columns["scoreparent"] = scores[view.blocks.parent] / best
    return columns


def smallest_holding(view: View, mass: NDArray[np.float64], share: float) -> int:
    """Deepest node with at least this share of the largest mass (n_nodes,); -1 if there is no mass."""
    top = float(mass.max(initial=0))
    if top <= 0:
        return -1
    enough = np.flatnonzero(mass >= share * top)
    return int(enough[view.nodes.depth[enough].argmax()])


def relative_to(view: View, node: int) -> Mapping[str, NDArray[np.generic] | float]:
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


def _surrounded(view: View) -> NDArray[np.bool_]:
    """(n_blocks,) whether an element above is one of the surroundings, by its tag or by its class or id."""
    wanted = sum(1 << number for number, name in enumerate(KEYWORDS) if name in _SURROUNDING_WORDS)
    marked = np.append(view.nodes.named(set(_SURROUNDINGS)), False) | (view.keywords & wanted > 0)
    # body and html carry class names of the whole page
    marked[:-1] &= ~view.nodes.named({"html", "body"})
    return np.asarray(marked[view.chain].any(axis=0), dtype=bool)


def _paragraph_scores(view: View) -> NDArray[np.float64]:
    """(n_nodes,) score of elements by the running text just below them, before links take their share away.

    A paragraph gives 1, 1 for each clause and up to 3 for its length to its parent, half of it to the next element
    above (Readability's public source).
    """
    reading = np.flatnonzero(view.prose > 0)
    scores = np.zeros(len(view.nodes))
    if not len(reading):
        return scores
    worth = 1 + view.characters(CLAUSE)[reading] + np.minimum(view.lengths[reading] // 100, 3)
    names = view.nodes.named({"p", "span", "strong", "b", "em", "i", "font", "pre", "td", "blockquote"})
    parent = view.blocks.parent[reading]
    up = np.append(view.nodes.parent, -1)
    holder = np.where(names[parent], view.nodes.parent[parent], parent)
    for part in (1.0, 0.5, 0.33):
        held = holder >= 0
        scores += np.bincount(holder[held], part * worth[held], minlength=len(scores))
        holder = up[holder]
    return scores


def _with_heading(view: View, mass: NDArray[np.float64]) -> int:
    """Smallest node that holds the first ``h1`` and half of the mass; -1 without an ``h1``."""
    headings = np.flatnonzero(view.nodes.named({"h1"}))
    if not len(headings):
        return -1
    top = float(mass.max(initial=0))
    for node in [int(headings[0]), *view.nodes.ancestors(int(headings[0]))]:
        if mass[node] >= 0.5 * top:
            return node
    return -1


def _largest(marked: NDArray[np.bool_], mass: NDArray[np.float64]) -> int:
    candidates = np.flatnonzero(marked)
    return int(candidates[mass[candidates].argmax()]) if len(candidates) else -1


def _has_role(view: View, role: str) -> NDArray[np.bool_]:
    """(n_nodes,) whether elements have this role and no other."""
    if role not in view.names.values:
        return np.zeros(len(view.nodes), dtype=bool)
    has: NDArray[np.bool_] = view.names.of["role"][:-1] == view.names.values.index(role)
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


_SCORES: dict[str, Row] = {
    "scoreup": ("best score of paragraphs in an element above / the page's best", 0, 1),
    "scoreparent": ("score of paragraphs in the parent / the page's best", 0, 1),
}

COLUMNS = columns_of(
    container,
    "candidates for the container of the content, after Readability's public source and the ratio methods",
    {name: row for candidate in CANDIDATES for name, row in _candidate(candidate).items()} | _SCORES,
)
