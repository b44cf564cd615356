"""Content of a page: the blocks outside of its template."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Page
from blockml.page.subtrees import in_blocks, subtree_sums
from blockml.text.words import find_words

#: Minimum share of a block's words in the template for the block to be template: the majority decides.
MAJORITY = 0.5

#: Share of the remaining words in the main container. Our choice, following the remark of Alarte et al. (2014) that the
#: main content is mostly in one place with much text.
_MOST_WORDS = 0.8


def content_text_nodes(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of the texts of blocks outside of the template, given as an (n_nodes,) mask."""
    return _block_texts(page) & ~_per_node(page, in_template)


def template_share(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the (n_blocks,) share of each block's words, or texts if it has no words, in the template.

    ``in_template`` is an (n_nodes,) mask, from ``PageTemplate.nodes`` or ``membership``; UsageError for another length.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one two <a>three</a></p>")
    >>> template_share(page, page.nodes.named({"#text"}) & (page.nodes.depth > 3)).round(3).tolist()
    [0.333]
    """
    inside = _per_node(page, in_template)
    texts = _block_texts(page)
    words = _words(page)
    n_words, n_texts = in_blocks(page.blocks, words), in_blocks(page.blocks, texts)
    found = np.where(n_words > 0, in_blocks(page.blocks, words * inside), in_blocks(page.blocks, texts & inside))
    return found / np.maximum(np.where(n_words > 0, n_words, n_texts), 1)


def content_blocks(page: Page, in_template: NDArray[np.bool_], *, second_stage: bool = False) -> NDArray[np.bool_]:
    """Return an (n_blocks,) mask of the blocks that are less than half template.

    With ``second_stage`` only blocks within :func:`main_container` remain. All False if the whole page is template: the
    caller must then use another method. For ``in_template`` see :func:`template_share`.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Home</p><div><p>Cats rule the world.</p><p>They do.</p></div><p>Late note</p>")
    >>> is_template = np.array([text == "Home" for text in page.nodes.texts])
    >>> content_blocks(page, is_template).tolist()
    [False, True, True, True]
    >>> content_blocks(page, is_template | (page.nodes.tag < 0), second_stage=True).tolist()
    [False, True, True, True]
    """
    stays = template_share(page, in_template) < MAJORITY
    if second_stage and (container := main_container(page, stays)) is not None:
        stays &= (page.blocks.node >= container) & (page.blocks.last_node < page.nodes.end[container])
    return stays


def main_container(page: Page, remaining: NDArray[np.bool_]) -> int | None:
    """Return the node of the smallest element with at least 80 % of the words of the (n_blocks,) ``remaining`` blocks.

    None if these blocks have no words, or no element contains enough, for example if there is content after
    ``</html>``. Raises UsageError for a mask of another length.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Ad</p><div><p>Cats rule the world.</p><p>They always did.</p></div>")
    >>> page.nodes.name(main_container(page, np.array([True, True, True])))
    'div'
    """
    if np.shape(remaining) != (len(page.blocks),):
        raise UsageError(f"{np.shape(remaining)} values for {len(page.blocks)} blocks")
    nodes, blocks = page.nodes, page.blocks
    rows = np.flatnonzero(remaining)
    change = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.add.at(change, blocks.node[rows], 1)
    np.add.at(change, blocks.last_node[rows] + 1, -1)
    words = _words(page) * (change[:-1].cumsum() > 0)
    below = subtree_sums(nodes, words)
    if not below.any():
        return None
    # Elements with most of the words are nested: the innermost is the last in document order.
    most = np.flatnonzero((nodes.tag != 0) & (below >= _MOST_WORDS * words.sum()))
    return int(most[-1]) if len(most) else None


def _per_node(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if np.shape(in_template) != (len(page.nodes),):
        raise UsageError(f"{np.shape(in_template)} values for {len(page.nodes)} nodes")
    return np.asarray(in_template, dtype=bool)


def _block_texts(page: Page) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of texts outside of ``head``."""
    texts: NDArray[np.bool_] = (page.nodes.tag == 0) & ((page.nodes.flags & Flag.HEAD) == 0)
    return texts


def _words(page: Page) -> NDArray[np.int64]:
    """Return (n_nodes,) numbers of words of these texts."""
    texts = np.flatnonzero(_block_texts(page))
    owner, _ = find_words([page.nodes.texts[node] for node in texts.tolist()])
    words = np.zeros(len(page.nodes), dtype=np.int64)
    words[texts] = np.bincount(owner, minlength=len(texts))
    return words
