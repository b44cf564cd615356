"""The content of a page as what is left without its template."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Page
from blockml.page.subtrees import in_blocks, subtree_sums
from blockml.text.words import find_words

__all__ = ["content_blocks", "content_text_nodes", "main_container", "template_share"]

#: Share of a block's words from which on it is template: a block is decided by the majority of its words.
_MAJORITY = 0.5

#: Share of the remaining words that the main container has to hold. Our choice, for the remark of Alarte et al. (2014)
#: that the main content is mostly in one place, with much text.
_MOST_WORDS = 0.8


def content_text_nodes(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n_nodes,) the texts of a page that its blocks are made of and that aren't in the template.

    Raises
    ------
    UsageError
        ``in_template`` is not one value a node.
    """
    return _block_texts(page) & ~_per_node(page, in_template)


def template_share(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How much of each block is template.

    Parameters
    ----------
    page
        A page.
    in_template
        (n_nodes,) the template's nodes: ``PageTemplate.nodes`` or what ``membership`` gives.

    Returns
    -------
    NDArray[np.float64]
        (n_blocks,) share of the block's words whose texts are in the template, 0 to 1; of its texts, for a block
        without words.

    Raises
    ------
    UsageError
        ``in_template`` is not one value a node.

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
    n_words = in_blocks(page.blocks, words)
    n_texts = in_blocks(page.blocks, texts)
    found = np.where(n_words > 0, in_blocks(page.blocks, words * inside), in_blocks(page.blocks, texts & inside))
    shares: NDArray[np.float64] = found / np.maximum(np.where(n_words > 0, n_words, n_texts), 1)
    return shares


def content_blocks(page: Page, in_template: NDArray[np.bool_], *, second_stage: bool = False) -> NDArray[np.bool_]:
    """Which blocks stay once the template is taken away.

    Parameters
    ----------
    page, in_template
        See :func:`template_share`.
    second_stage
        Keep only those inside of :func:`main_container`.

    Returns
    -------
    NDArray[np.bool_]
        (n_blocks,) whether less than half of the block is template. All False if the whole page is template: the
        caller has to fall back on another method.

    Raises
    ------
    UsageError
        ``in_template`` is not one value a node.

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
    stays = template_share(page, in_template) < _MAJORITY
    if second_stage and (container := main_container(page, stays)) is not None:
        stays &= (page.blocks.node >= container) & (page.blocks.last_node < page.nodes.end[container])
    return stays


def main_container(page: Page, remaining: NDArray[np.bool_]) -> int | None:
    """The smallest element that holds at least 80 % of the words of some blocks.

    Parameters
    ----------
    page
        A page.
    remaining
        (n_blocks,) the blocks.

    Returns
    -------
    int or None
        Index of the node; None if the blocks have no word, or content after ``</html>`` keeps them apart.

    Raises
    ------
    UsageError
        ``remaining`` is not one value a block.

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
    # Two elements that hold most of the words lie inside each other: the innermost is the last in document order.
    most = np.flatnonzero((nodes.tag != 0) & (below >= _MOST_WORDS * words.sum()))
    return int(most[-1]) if len(most) else None


def _per_node(page: Page, in_template: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if np.shape(in_template) != (len(page.nodes),):
        raise UsageError(f"{np.shape(in_template)} values for {len(page.nodes)} nodes")
    return np.asarray(in_template, dtype=bool)


def _block_texts(page: Page) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is a text that a block may be made of."""
    texts: NDArray[np.bool_] = (page.nodes.tag == 0) & ((page.nodes.flags & Flag.HEAD) == 0)
    return texts


def _words(page: Page) -> NDArray[np.int64]:
    """(n_nodes,) words of each such text."""
    texts = np.flatnonzero(_block_texts(page))
    owner, _ = find_words([page.nodes.texts[node] for node in texts.tolist()])
    words = np.zeros(len(page.nodes), dtype=np.int64)
    words[texts] = np.bincount(owner, minlength=len(texts))
    return words
