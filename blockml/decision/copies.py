"""Hidden copies: elements that no reader sees, and fields, with text that the page shows elsewhere.

Most hidden text is content that a click or a script shows. A copy for printing, for a small screen or for a dialog
isn't read twice, and its lines are often divided in another way, so that no line of it is equal to a visible one.
Highlighters of code keep its source in a ``textarea``, from which it is copied.

Repeated text stays if it is most of the text: rows of a table repeat values, and tabs with one example in several
languages repeat sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page
from blockml.text.tokens import token_lists

__all__ = ["hidden_blocks", "hidden_copies", "is_most"]

_HIDDEN, _FIELD = int(Flag.HIDDEN), "textarea"
#: Words of the sequences that are compared, and the share of them that must be visible elsewhere (our choices).
_SEQUENCE, _MIN_SHARE = 3, 0.5
#: Sequences that are looked for at first.
_SAMPLE = 12
#: Hidden elements times characters of visible text up to which sequences are searched for in the text; beyond that, all
#: sequences of the text are collected, which is linear.
_MAX_SEARCHED = 1_000_000
#: Maximum words of a page that is searched for copies, so that hostile pages cost little.
_MAX_WORDS = 200_000


def hidden_blocks(page: Page) -> NDArray[np.bool_] | None:
    """Return (n_blocks,) which blocks are hidden by an attribute or an inline style, or in fields; None without any."""
    if not page.blocks.any_flag(_HIDDEN) and _FIELD not in page.nodes.names:
        return None
    return _unseen(page)[page.blocks.node]


def _unseen(page: Page) -> NDArray[np.bool_]:
    """Return (n_nodes,) which nodes are hidden or in a field."""
    nodes = page.nodes
    found = (nodes.flags & _HIDDEN) > 0
    for field in nodes.outermost(nodes.named({_FIELD})).tolist():
        found[field : nodes.end[field]] = True
    return found


def hidden_copies(page: Page) -> NDArray[np.bool_]:
    """Return (n_blocks,) the blocks in hidden elements half of whose sequences of three words are visible elsewhere.

    Examples
    --------
    >>> import blockml
    >>> text = "Cats rule the world, and nobody has ever asked them."
    >>> page = blockml.parse(f"<p>{text}<div hidden><p>Print: {text}</div><div hidden>They sleep a lot, though.</div>")
    >>> hidden_copies(page).tolist()
    [False, True, False]
    """
    blocks, nodes = page.blocks, page.nodes
    found = np.zeros(len(blocks), dtype=bool)
    hidden = hidden_blocks(page)
    if hidden is None or blocks.n_words.sum() > _MAX_WORDS:
        return found
    elements = nodes.outermost(_unseen(page))
    bounds = blocks.node.searchsorted(np.stack([elements, nodes.end[elements]])).T.tolist()
    texts, shown = blocks.texts, [blocks.texts[block] for block in (~hidden).nonzero()[0].tolist()]
    together = f" {' '.join(shown)} "
    found_in: Callable[[str], bool] = together.__contains__
    if len(bounds) * len(together) > _MAX_SEARCHED:  # few pages
        words = together.split()
        found_in = {f" {' '.join(words[start : start + _SEQUENCE])} " for start in range(len(words))}.__contains__
    bounds = [(first, last) for first, last in bounds if _may_be_copy(" ".join(texts[first:last]).split(), found_in)]
    if not bounds:  # the usual case
        return found
    visible = _sequences(chain.from_iterable(token_lists(shown)))
    for first, last in bounds:
        own = _sequences(chain.from_iterable(token_lists(texts[first:last])))
        found[first:last] = bool(own) and len(own & visible) >= _MIN_SHARE * len(own)
    return found


def _may_be_copy(words: list[str], is_visible: Callable[[str], bool]) -> bool:
    """Tell whether a quarter of a few sequences of words is visible: most hidden text is not a copy."""
    starts = range(0, len(words) - _SEQUENCE + 1, max(1, len(words) // _SAMPLE))
    n_found = sum(is_visible(f" {' '.join(words[start : start + _SEQUENCE])} ") for start in starts)
    return n_found > 0 and 4 * n_found >= len(starts)


def _sequences(words: chain[str]) -> set[tuple[str, ...]]:
    """Return the sequences of words."""
    known = [*words]
    return {*zip(*(known[start:] for start in range(_SEQUENCE)), strict=False)}


def is_most(removed: NDArray[np.bool_], others: Callable[[], NDArray[np.bool_]], words: NDArray[np.float64]) -> bool:
    """Tell whether the certain blocks that a rule would remove have more words than the others.

    Parameters
    ----------
    removed
        (n_blocks,) the certain blocks that the rule would remove: mostly none.
    others
        Returns (n_blocks,) the blocks that they are compared with.
    words
        (n_blocks,) numbers of words.

    Examples
    --------
    >>> first, last = np.array([True, False, False]), np.array([False, False, True])
    >>> is_most(last, lambda: first, np.array([20., 50., 30.]))
    True
    """
    return bool(np.count_nonzero(removed) and words[removed].sum() > words[others()].sum())
