"""Ancestors of a block: their tags, distances to landmarks, and the text that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import ColumnRange, columns_of
from blockml.features.page_context import PageContext, TagTable
from blockml.page import Flag
from blockml.text.words import SENTENCE

#: Tags with their own code; all others have that of ``other``.
TAGS = (
    "none", "other", "div", "p", "li", "ul", "ol", "span", "td", "th", "tr", "tbody", "table", "dd", "dt", "dl", "h1",
    "h2", "h3", "h4", "h5", "h6", "strong", "b", "em", "i", "a", "section", "article", "main", "header", "footer",
    "nav", "aside", "form", "button", "label", "figure", "figcaption", "blockquote", "pre", "code", "body", "noscript",
    "select", "option", "font", "center", "small", "time", "address", "details", "summary", "fieldset", "textarea",
)  # fmt: skip

#: Groups of tags whose distance above a block is a feature.
LANDMARKS: Mapping[str, tuple[str, ...]] = {
    "p": ("p",), "li": ("li",), "list": ("ul", "ol"), "table": ("table",), "cell": ("td", "th"), "dl": ("dl",),
    "head": ("h1", "h2", "h3", "h4", "h5", "h6"), "nav": ("nav",), "footer": ("footer",), "header": ("header",),
    "aside": ("aside",), "main": ("main",), "article": ("article",), "section": ("section",), "form": ("form",),
    "figure": ("figure", "picture"), "quote": ("blockquote",), "pre": ("pre", "code"), "anchor": ("a",),
    "control": ("button", "select", "label", "option", "fieldset"), "details": ("details",), "div": ("div",),
    "emphasis": ("strong", "b", "em", "i"),
}  # fmt: skip

CODES = TagTable({name: code for code, name in enumerate(TAGS)}, other=TAGS.index("other"))
LANDMARK_BITS = TagTable({tag: 1 << number for number, group in enumerate(LANDMARKS.values()) for tag in group})

#: Levels above the parent whose contents are measured.
ANCESTOR_LEVELS = (0, 1, 2, 3, 4, 6)
#: Distance to a landmark that is not among the ancestors.
FAR = 99

FLAGS = np.array([Flag.HIDDEN, Flag.NOSCRIPT, Flag.PREFORMATTED], dtype=np.uint8)
IS_PARAGRAPH = TagTable(dict.fromkeys(("p", "pre", "blockquote"), 1), dtype=np.bool_)


def path(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Compute tags of the nearest ancestors, depth, and levels up to the landmarks."""
    rows = np.empty((len(_PATH), len(context)), dtype=np.float32)
    tags, landmarks = rows[:4], rows[5 : 5 + len(LANDMARKS)]
    codes = context.codes_above(CODES)
    tags[: len(codes)] = codes
    tags[len(codes) :] = 0
    rows[4] = context.nodes.depth[context.blocks.parent]
    nearest_levels(context, context.codes_of_nodes(LANDMARK_BITS), landmarks)
    rows[-len(FLAGS) :] = (context.blocks.flags & FLAGS[:, None]) > 0
    return dict(zip(_PATH, rows, strict=True))


def nearest_levels(context: PageContext, bits: NDArray[np.integer[Any]], levels: NDArray[np.float32]) -> None:
    """Write the levels from each block's parent up to the nearest ancestor in a group; :data:`FAR` without one.

    ``bits`` are the (n_nodes + 1,) groups of each node, bit ``1 << i`` for group ``i``; the last entry is for "no
    node". ``levels`` is the contiguous (n_groups, n_blocks) output, of at most 64 groups.
    """
    chain, n_groups = context.chain, len(levels)
    # A row of Booleans for each node; levels from the top down, so that the nearest ancestor is written last.
    marked = np.unpackbits(bits.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")[:, :n_groups]
    rows = np.full((len(context), n_groups), FAR, dtype=np.float32)
    for level in range(len(chain) - 1, -1, -1):
        np.copyto(rows, np.float32(level), where=marked[chain[level]].view(bool))
    levels[:] = rows.T


def ancestors(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Measure the text of ancestors: amount, and shares that are linked, running text, and in paragraphs."""
    is_paragraph = context.tag_codes(IS_PARAGRAPH)[:-1]
    sentences = context.characters(SENTENCE)
    in_p = np.where(is_paragraph[context.nodes.tag[context.blocks.parent]], context.words, 0)
    values = np.array([context.words, context.linked, context.prose, in_p, np.ones(len(context)), sentences])
    words, links, prose, in_p, blocks, sentences = context.total_of(context.levels(ANCESTOR_LEVELS), values)
    amount = np.maximum(words, 1)
    measures = {
        "words": words,
        "share": words / context.n_words,
        "links": links / amount,
        "prose": prose / amount,
        "inp": in_p / amount,
        "blocks": blocks,
        "density": words / np.maximum(blocks, 1),
        "sentences": sentences / amount,
    }
    return {
        f"{name}{k}up": row for name, rows in measures.items() for k, row in zip(ANCESTOR_LEVELS, rows, strict=True)
    }


def _level(k: int) -> dict[str, ColumnRange]:
    return {
        f"words{k}up": "words",
        f"share{k}up": ("words / words of the page", 0, 1),
        f"links{k}up": ("linked words / words", 0, 1),
        f"prose{k}up": ("running text / words", 0, 1),
        f"inp{k}up": ("words in paragraphs / words", 0, 1),
        f"blocks{k}up": "blocks",
        f"density{k}up": "words / block",
        f"sentences{k}up": "sentence ends / word",
    }


_PATH: dict[str, ColumnRange] = {
    **{f"tag{k}": ("code of the tag", 0, len(TAGS) - 1) for k in range(4)},
    "depth": "ancestors",
    **{f"to{name}": ("levels", 0, FAR) for name in LANDMARKS},
    **dict.fromkeys(("hidden", "noscript", "preformatted"), ("0 or 1", 0.0, 1.0)),
}
_TREE = "the tree above a block: Kim et al. 2013, section 3.1, taken further"
COLUMNS = (
    *columns_of(path, _TREE, _PATH),
    *columns_of(
        ancestors,
        "text and links of elements above a block, as CETR and link quotas count them for lines and elements",
        {name: row for k in ANCESTOR_LEVELS for name, row in _level(k).items()},
    ),
)
