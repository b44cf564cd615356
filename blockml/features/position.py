"""Position of a block on the page, and text of the blocks around it."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import columns_of
from blockml.features.page_context import PageContext, TagTable

#: Number of blocks on each side in windows.
WINDOWS = (1, 2, 4, 8, 16)
#: Width of the smoothing over blocks (our choice), in blocks.
_BLUR = 3.0
#: Maximum number of words of a block in the smoothing, so that a long block doesn't outweigh its neighbours.
MOST_WORDS = 60

#: Level of a heading; 9 for other elements.
HEADINGS = TagTable({"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}, other=9, none=9)


def position(context: PageContext) -> Mapping[str, NDArray[np.generic] | float]:
    """Count blocks and words from both ends of the page, from headings and from running text."""
    n, n_prose = len(context), max(1.0, float(context.prose.sum()))
    index = np.arange(n, dtype=np.float64)
    before = np.cumsum(context.words) - context.words
    prose_before = np.cumsum(context.prose) - context.prose
    heading = context.codes_above(HEADINGS).min(axis=0)
    is_heading, reading = heading < 9, context.prose > 0
    first, any_heading, since = _last_marked(np.array([heading == 1, is_heading, reading]))
    next_heading, until = _next_marked(np.array([is_heading, reading]))
    has_first, has_any = first >= 0, any_heading >= 0
    first_h1 = int((heading == 1).argmax()) if has_first[-1] else -1
    return {
        "place": index / max(1, n - 1),
        "index": index,
        "fromend": n - 1 - index,
        "wordplace": before / context.n_words,
        "wordsbefore": before,
        "wordsafter": context.n_words - before - context.words,
        "proseplace": prose_before / n_prose,
        "heading": np.where(is_heading, heading, 0),
        "sinceh1": np.where(has_first, index - first, -1),
        "wordssinceh1": np.where(has_first, before - before[first], -1),
        "fromfirsth1": index - first_h1 if first_h1 >= 0 else -9999.0,
        "sinceheading": np.where(has_any, index - any_heading, -1),
        "wordssinceheading": np.where(has_any, before - before[any_heading], -1),
        "lastheading": np.where(has_any, heading[any_heading], 0),
        "untilheading": next_heading - index,
        "sinceprose": np.where(since >= 0, index - since, -1),
        "untilprose": np.where(until < n, until - index, -1),
    }


def _last_marked(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(…, n) index of the last marked entry up to here; -1 without one."""
    return np.maximum.accumulate(np.where(marked, np.arange(marked.shape[-1]), -1), axis=-1)


def _next_marked(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(…, n) index of the next marked entry from here on; n without one."""
    places: NDArray[np.intp] = marked.shape[-1] - 1 - _last_marked(marked[..., ::-1])[..., ::-1]
    return places


def around(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Sum words and links over windows of blocks, and smooth them.

    Content code blurring (Gottron 2008) smooths a page's code and text; here blocks are smoothed.
    """
    values = np.array([context.words, context.linked])
    smooth, links_smooth = _smooth(np.minimum(values, MOST_WORDS))
    amounts, links = _windows(values)
    shares = links / np.maximum(amounts, 1)
    return {
        **{f"words{reach}around": row for reach, row in zip(WINDOWS, amounts, strict=True)},
        **{f"links{reach}around": row for reach, row in zip(WINDOWS, shares, strict=True)},
        "blurredwords": smooth,
        "blurredlinks": links_smooth / np.maximum(smooth, 0.1),
    }


@functools.cache
def weights() -> NDArray[np.float64]:
    """Return the weights (25,) of the smoothing, which sum to 1."""
    found: NDArray[np.float64] = np.exp(-0.5 * (np.arange(-12, 13) / _BLUR) ** 2)
    found /= found.sum()
    found.flags.writeable = False
    return found


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…, n) sums of neighbours (…, n) weighted by :func:`weights`, added in the order of the C extension."""
    each, n = weights(), values.shape[-1]
    around = np.zeros((*values.shape[:-1], n + len(each)))
    around[..., len(each) // 2 :][..., :n] = values
    sums = np.zeros_like(values)
    for place, weight in enumerate(each):
        sums += weight * around[..., place : place + n]
    return sums


def _windows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…, len(WINDOWS), n) sums of values (…, n) over windows on both sides."""
    n = values.shape[-1]
    before = np.zeros((*values.shape[:-1], n + 1))
    np.cumsum(values, axis=-1, out=before[..., 1:])
    index, reach = np.arange(n), np.array(WINDOWS)[:, None]
    until, since = np.minimum(index + reach + 1, n), np.maximum(index - reach, 0)
    sums: NDArray[np.float64] = before.take(until, axis=-1) - before.take(since, axis=-1)
    return sums


COLUMNS = (
    *columns_of(
        position,
        "distances after Kim et al. 2013, section 3.2, to the page's ends, headings and running text",
        {
            "place": ("blocks before / blocks", 0, 1),
            "index": "blocks before",
            "fromend": "blocks after",
            "wordplace": ("words before / words", 0, 1),
            "wordsbefore": "words",
            "wordsafter": "words",
            "proseplace": ("words of running text before / all words of running text", 0, 1),
            "heading": ("level of the heading the block is, 0 for none", 0, 6),
            "sinceh1": ("blocks, -1 without h1 before", -1, np.inf),
            "wordssinceh1": ("words, -1 without h1 before", -1, np.inf),
            "fromfirsth1": ("blocks, negative before it, -9999 without h1", -np.inf, np.inf),
            "sinceheading": ("blocks, -1 without heading before", -1, np.inf),
            "wordssinceheading": ("words, -1 without heading before", -1, np.inf),
            "lastheading": ("level of the heading before, 0 for none", 0, 6),
            "untilheading": "blocks to the next heading or the end",
            "sinceprose": ("blocks since running text, -1 without", -1, np.inf),
            "untilprose": ("blocks until running text, -1 without", -1, np.inf),
        },
    ),
    *columns_of(
        around,
        "windows over blocks, after content code blurring (Gottron 2008)",
        {
            **{f"words{k}around": f"words in {k} blocks on each side" for k in WINDOWS},
            **{f"links{k}around": (f"linked words / words in {k} blocks on each side", 0, 1) for k in WINDOWS},
            "blurredwords": "words, smoothed over blocks",
            "blurredlinks": "linked words / words, smoothed over blocks",
        },
    ),
)
