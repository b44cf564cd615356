"""Link quota filter: removes block elements whose own text is mostly linked (Gottron 2008; Mantratzis et al. 2005)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Between, Extractor, Traits, parameter
from blockml.page import Flag, Nodes, Page
from blockml.page.subtrees import nearest, nearest_above, subtree_sums, text_lengths

#: Elements that browsers lay out as blocks, and parts of tables. Gottron 2008 asks ``isBlockNode`` and lists none.
BLOCK_NODES = frozenset(
    "html body div p ul ol li dl dt dd table tbody thead tfoot tr td th h1 h2 h3 h4 h5 h6 pre blockquote form fieldset "
    "section article nav header footer main aside address center figure figcaption hr".split()
)


def link_quotas(nodes: Nodes, *, literal: bool = False) -> NDArray[np.float64]:
    """Compute the link quota of every block node: the share of its own text that is linked.

    A text belongs to the nearest block node above it; its length is counted in characters with white space
    normalised. Text inside an ``a`` is linked, even if the ``a`` contains the whole block node.

    Parameters
    ----------
    nodes
        The tree.
    literal
        Follow Algorithm 3.3 of Gottron 2008 literally. It runs over all descendants outside of nested block
        nodes, so that text below an inline element counts once with the text and once with each of these elements.

    Returns
    -------
    NDArray[np.float64]
        (n_nodes,) in [0, 1]; nan for block nodes without direct text and for all other nodes.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<div>abc<a>de</a></div>").nodes
    >>> div = nodes.find("/html/body/div")
    >>> float(link_quotas(nodes)[div]), round(float(link_quotas(nodes, literal=True)[div]), 6)
    (0.4, 0.285714)
    """
    is_block = nodes.named(BLOCK_NODES)
    linked = (nodes.flags & Flag.LINK) > 0
    lengths = text_lengths(nodes)
    if literal:
        total, links = _printed_sums(nodes, lengths, is_block)
        links = np.where(linked, total, links)
    else:
        owner = nearest(nodes, is_block)
        total = _sums(owner, lengths)
        links = _sums(owner, lengths * linked)
    quotas = np.full(len(nodes), np.nan)
    np.divide(links, total, out=quotas, where=is_block & (total > 0))
    return quotas


def _sums(owner: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n_nodes,) sums of the lengths of all nodes by owner, without those of owner -1."""
    sums = np.bincount(owner + 1, weights=lengths, minlength=len(owner) + 1)
    return sums[1:].astype(np.float64)


def _printed_sums(
    nodes: Nodes, lengths: NDArray[np.int64], is_block: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (n_nodes,) ``t_tot`` and ``t_link`` of Algorithm 3.3 (Gottron 2008), for every element.

    The algorithm calls itself for inline elements; from the last node to the first, each has its sums when it is
    added to its parent's.
    """
    n = len(nodes)
    whole, anchor = subtree_sums(nodes, lengths).tolist(), nodes.named({"a"}).tolist()
    parents = nodes.parent.tolist()
    total, links = [0.0] * (n + 1), [0.0] * (n + 1)  # the last entry is for the parent of roots
    for node in np.flatnonzero(~is_block)[::-1].tolist():
        # Text nodes have no descendants, so they only add their own length.
        quota = 1.0 if anchor[node] else links[node] / total[node] if total[node] else 0.0
        total[parents[node]] += whole[node] + total[node]
        links[parents[node]] += quota * whole[node] + links[node]
    return np.array(total[:n]), np.array(links[:n])


@dataclass(eq=False, repr=False)
class LQF(Extractor):
    """Removes the text of block elements whose share of linked text is too high.

    Parameters
    ----------
    quota
        Maximum share of linked text of content, in [0, 1].
    remove_subtree
        Whether block elements inside a removed one (other than ``html`` and ``body``) are removed with it; otherwise
        each is decided by its own quota.
    literal
        Follow the printed algorithm literally: see :func:`link_quotas`.

    Examples
    --------
    >>> import blockml
    >>> page = "<ul><li><a>Home</a><li><a>News</a> now</ul><p>No <a>link</a> farm</p>"
    >>> blockml.extract(page, model=LQF()).text
    'No link farm'
    """

    name: ClassVar[str] = "lqf"
    traits: ClassVar[Traits] = Traits("Gottron 2008, after Mantratzis et al. 2005")

    quota: float = parameter(0.5, Between(0, 1))  # our choice; Gottron 2008 names no threshold
    _: KW_ONLY
    remove_subtree: bool = parameter(default=False)
    literal: bool = parameter(default=False)

    @property
    def default_threshold(self) -> float:
        """Score of a block at the maximum link quota of content."""
        return 1 - self.quota

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by 1 minus the link quota of the block element around it."""
        self.check()
        nodes = page.nodes
        is_block = nodes.named(BLOCK_NODES)
        # The last entry is for text outside of all block elements, which parsers do not produce; it is kept.
        quotas = np.append(np.nan_to_num(link_quotas(nodes, literal=self.literal)), 0.0)
        if self.remove_subtree:
            # html and body never count: a single skip link directly below body would remove the whole page.
            takes = is_block & ~nodes.named({"html", "body"})
            quotas = _largest_above(quotas, nearest_above(nodes, takes))
        # No block element begins or ends inside a text block, so all its texts have the same owner.
        return (1 - quotas[nearest(nodes, is_block)[page.blocks.node]]).astype(np.float32)


def _largest_above(values: NDArray[np.float64], above: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n + 1,) maximum of ``values`` over each node and its ancestors; ``above`` (n,) is the next one, or -1."""
    up = np.append(above, -1)
    while (up >= 0).any():
        values = np.maximum(values, values[up])
        up = up[up]
    return values
