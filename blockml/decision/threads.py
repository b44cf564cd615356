"""What is added to the kept blocks of a thread, and what is removed from its posts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml.page import Blocks

if TYPE_CHECKING:
    from blockml.posts import ThreadPost

__all__ = ["thread_changes"]

#: Minimum number of posts whose bodies are kept, for a page to be a thread.
_MIN_KEPT = 2
#: Headings that may be the title of a thread in its first post.
_TITLES = frozenset({"h1", "h2"})


def thread_changes(
    posts: Sequence[ThreadPost],
    blocks: Blocks,
    kept: NDArray[np.bool_],
    likely: NDArray[np.bool_],
    by_model: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what is added to the kept blocks of a thread, and what is removed, (n_blocks,) each.

    If two bodies are kept, the authors and dates above them are added, and, if most posts are kept, the likely blocks
    of all bodies. If the model keeps two bodies, what else is in these posts is removed (profiles, buttons and
    signatures), unless no author is known: the names are then among it.

    Parameters
    ----------
    posts
        The posts of the page, at least one.
    blocks
        The blocks of the page.
    kept, likely, by_model
        (n_blocks,) blocks that are kept, that may be, and that the model keeps at the default threshold; more of the
        first two never means that less is added or more is removed.

    Examples
    --------
    >>> import blockml
    >>> from blockml.posts import find_posts
    >>> post = "<div class=post><b class=author>{}</b> 2026-01-02<p>It is a flour of rye.</p><a>Quote</a></div>"
    >>> page = blockml.parse(post.format("Ann") + post.format("Bo"))
    >>> kept = np.array([False, False, True, True, False, False, True, False])
    >>> added, removed = thread_changes(find_posts(page), page.blocks, kept, kept, kept)
    >>> added.nonzero()[0].tolist(), removed.nonzero()[0].tolist()
    ([0, 1, 4, 5], [3])
    """
    body, header, rest = np.full((3, len(blocks)), -1, dtype=np.intp)  # number of the post of each block
    for numbers, parts in (
        (rest, [post.blocks for post in posts]),
        (body, [post.body for post in posts]),
        (header, [post.header for post in posts]),
    ):
        rows = np.fromiter(chain.from_iterable(parts), dtype=np.intp)
        numbers[rows] = np.repeat(np.arange(len(posts)), [*map(len, parts)])
    rest[(body >= 0) | (header >= 0)] = -1
    rest[[row for row in posts[0].blocks if blocks.parents[row] in _TITLES]] = -1

    def n_words(part: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return (n_posts,) the words of the chosen blocks of a part of each post."""
        rows = ((part >= 0) & chosen).nonzero()[0]
        return np.bincount(part[rows], blocks.n_words[rows], len(posts)).astype(np.intp)

    total = n_words(body, body >= 0)
    is_kept, is_default, is_likely = (2 * n_words(body, rows) > total for rows in (kept, by_model, kept | likely))
    # One kept post is an article with comments, for instance.
    n_kept = np.count_nonzero(is_kept)
    may_add = n_kept >= _MIN_KEPT
    may_remove = np.count_nonzero(is_default) >= _MIN_KEPT and any(post.author is not None for post in posts)
    is_thread = may_add and 2 * n_kept >= len(posts)
    is_likely &= is_thread & ~np.array([post.is_remark for post in posts])
    is_cut = may_remove & is_default & (n_words(rest, by_model) < n_words(body, by_model))
    added = _in_posts(body, is_likely) & likely | _in_posts(header, may_add & (is_kept | is_likely))
    return added & ~kept, _in_posts(rest, is_cut) & kept


def _in_posts(part: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether the post of each block is chosen (n_posts,), given its number or -1."""
    return (part >= 0) & chosen[part]
