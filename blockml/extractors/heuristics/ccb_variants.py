"""Content code blurring with two extensions that its paper suggests: another vector, and the tree (Gottron 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.base import Between, Traits, parameter
from blockml.extractors.heuristics.ccb import CCB
from blockml.extractors.heuristics.token_stream import Tokens, TokenStream
from blockml.page import Page
from blockml.page.subtrees import subtree_sums

#: Elements inside a line of text (HTML standard: sections 4.5 "text-level semantics" and 4.7 "edits", and their
#: obsolete elements of section 16.2).
INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i ins kbd mark nobr q rb rp rt rtc ruby s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedCCB(CCB):
    """Content code blurring by characters in which inline tags count less than others.

    The paper (Gottron 2008) names "new models" for the vector as future work. In the paper a tag is either in the
    vector (``ccb``) or left out (``accb``, for anchors). Here an inline tag of n characters has ``inline_weight * n``
    entries, so both are special cases, and inline tags do not end a text that is kept or removed as a whole. Menus,
    which are full of links, still have more code than a text with some links and emphasis.

    Parameters
    ----------
    inline_weight
        Weight of a character of a tag in :data:`INLINE`, in [0, 1]; characters of other tags have weight 1.
    attributes
        Whether characters of attributes count; otherwise only those of name and brackets do.
    radius, sigma, eps, max_iter, threshold, keep_blocks, view, min_words
        See :class:`blockml.extractors.heuristics.ccb.CCB`.

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words and <a href=http://www.example.org/a/long/address.html>linked words</a> in between "
    >>> page = blockml.parse(f"<ul><li>Home<li>New</ul><p>{words * 9}</p>")
    >>> (CCB().score(page) >= 0.75).tolist(), (WeightedCCB().score(page) >= 0.75).tolist()
    ([False, False, False], [False, False, True])
    """

    name: ClassVar[str] = "wccb"
    traits: ClassVar[Traits] = Traits("ours, after Gottron 2008")

    inline_weight: float = parameter(0.25, Between(0, 1))
    attributes: bool = parameter(default=True)

    def _lengths(self, stream: TokenStream, tokens: Tokens) -> NDArray[np.int64]:
        lengths = super()._lengths(stream, tokens)
        if not self.attributes:
            bare = np.array([len(name) + 2 for name in stream.names], dtype=np.int64)
            lengths = np.where(stream.is_tag, bare, lengths)
        return np.where(_is_inline(stream), np.rint(self.inline_weight * lengths).astype(np.int64), lengths)

    def _separates(self, stream: TokenStream) -> NDArray[np.bool_]:
        return stream.is_tag & ~_is_inline(stream)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeCCB(WeightedCCB):
    """Content code blurring by characters, then along the tree.

    The paper (Gottron 2008) names "incorporate DOM structure" as future work. Blurring uses the text before and after a
    block in the source; text in the same element is more informative: a short line or a heading in an article is
    content, a sentence between teasers is not. Each element therefore has a ratio: the mean over the characters of its
    blocks, averaged with the ratio of its parent element, which has the weight of ``prior`` characters. A block's score
    is averaged with the ratio of its element in the same way, so that short blocks follow their element and long ones
    hardly change. Elements with a single child element are skipped. Linear in the number of nodes.

    Parameters
    ----------
    prior
        Weight of the parent element's ratio, in characters; 0 gives ``wccb``.
    inline_weight, attributes
        See :class:`WeightedCCB`.
    radius, sigma, eps, max_iter, threshold, keep_blocks, view, min_words
        See :class:`blockml.extractors.heuristics.ccb.CCB`.

    Examples
    --------
    >>> import blockml
    >>> words = "some plain words without any markup in between "
    >>> html = f"<div><h1 class='title is-1 headline'>Title</h1><p>{words * 20}</p></div>"
    >>> page = blockml.parse(html)
    >>> (WeightedCCB().score(page) >= 0.75).tolist(), (TreeCCB().score(page) >= 0.75).tolist()
    ([False, True], [True, True])
    """

    name: ClassVar[str] = "dccb"
    prior: float = parameter(100, Between(0, 1_000_000))

    def _spread(self, page: Page, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        if not scores.size:
            return scores
        size = np.array([len(text) for text in page.blocks.texts], dtype=np.float64)
        around = _around(page, size, size * scores, self.prior)
        mixed = (size * scores + self.prior * around) / (size + self.prior)
        return np.clip(mixed, 0, 1).astype(np.float32)


def _is_inline(stream: TokenStream) -> NDArray[np.bool_]:
    """(n,) whether a piece is a tag of an inline element."""
    return np.array([name.removeprefix("/") in INLINE for name in stream.names], dtype=bool)


def _around(page: Page, size: NDArray[np.float64], content: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """(n_blocks,) ratio of the element that contains a block.

    ``size`` and ``content`` are the characters of each block, and how many of them are content.
    """
    nodes, holder = page.nodes, page.blocks.parent
    held = holder >= 0
    whole = content.sum() / size.sum()
    sizes, contents = (
        subtree_sums(nodes, np.bincount(holder[held], mass[held], minlength=len(nodes))) for mass in (size, content)
    )
    ratios = np.append(np.zeros(len(nodes)), whole)  # -1, the parent of roots, takes the entry appended
    elements = np.flatnonzero(sizes)
    elements = elements[np.argsort(nodes.depth[elements], kind="stable")]
    for level in np.split(elements, np.flatnonzero(np.diff(nodes.depth[elements])) + 1):
        outer = nodes.parent[level]
        mixed = (contents[level] + prior * ratios[outer]) / (sizes[level] + prior)
        wrapped = np.append(sizes, 0)[outer] == sizes[level]
        ratios[level] = np.where(wrapped, ratios[outer], mixed)
    return ratios[holder]
