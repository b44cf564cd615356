"""Shortened pages: variants of training pages with little content.

The share of content among a page's words determines how hard the page is: next to a short story, teasers and comments
weigh more. Articles in WCXB are long, but news elsewhere is not. A variant keeps everything around the content of a
page and a part of the content, so no further labels are needed (research/studies/model-log.md, round 52).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blockml.datasets.gold import BlockLabels
from blockml.page import Page
from blockml.page.subtrees import block_of_texts
from blockml.parsing.options import ParsingOptions
from blockml.parsing.segmentation import segment

#: Minimum number of content words of a page to shorten, bounds of the number of words to keep, and maximum share of
#: the content to keep (our choice).
_MIN_WORDS, _LEFT, _MAX_SHARE = 150, (50, 900), 0.6


def shortened(
    page: Page, labels: BlockLabels, parsing: ParsingOptions, rng: np.random.Generator
) -> tuple[Page, BlockLabels] | None:
    """Return a variant of a page that keeps a part of its content, with labels; None for a page with little content.

    The part is a run of lines, which in half of the variants starts at the first line of content. The logarithm of
    its number of words is uniformly distributed. The outermost elements that only hold other content are deleted.

    Examples
    --------
    >>> import blockml
    >>> story = "".join(f"<p>{'word ' * 30}{number}</p>" for number in range(20))
    >>> page = blockml.parse(f"<nav>Home</nav><article>{story}</article><footer>Imprint</footer>")
    >>> main = np.array([block.n_words > 20 for block in page.blocks])
    >>> labels = BlockLabels(main, main.astype(np.float32), np.ones(len(main), bool))
    >>> found, its = shortened(page, labels, ParsingOptions(), np.random.default_rng(0))
    >>> [block.text for block in found.blocks if block.n_words == 1], 1 < int(its.main.sum()) < 13
    (['Home', 'Imprint'], True)
    """
    blocks, main = page.blocks, labels.main
    n_words = int(blocks.n_words[main].sum())
    most = min(_LEFT[1], _MAX_SHARE * n_words)
    if n_words < _MIN_WORDS or most <= _LEFT[0]:
        return None
    wanted = np.exp(rng.uniform(np.log(_LEFT[0]), np.log(most)))
    line = blocks.line_numbers()
    lines = np.unique(line[main])
    words = np.bincount(line[main], blocks.n_words[main])[lines].cumsum()
    first = 0 if rng.random() < 0.5 else int(rng.integers(len(lines)))
    before = words[first - 1] if first else 0.0
    last = int(np.searchsorted(words, before + wanted))
    if last >= len(lines):  # the end of the content
        first = int(np.searchsorted(words, max(0.0, words[-1] - wanted), side="right"))
    gone = main & ~np.isin(line, lines[first : last + 1])
    if not gone.any():
        return None
    found, stays = without_nodes(page, _only_around(page, gone), parsing)
    # Text nodes take the label of their former block over to the new one.
    source = np.searchsorted(blocks.node, np.flatnonzero(stays)[found.blocks.node], side="right") - 1
    known = labels.known[source] & ~gone[source]
    return found, BlockLabels(main[source], labels.share[source], known)


def _only_around(page: Page, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask (n_nodes,) of the nodes that only hold text of the chosen blocks (n_blocks,)."""
    nodes = page.nodes
    block = block_of_texts(nodes, page.blocks)
    is_chosen = np.append(chosen, False)[block]  # -1 takes the entry appended
    texts, its = (np.append(0, np.cumsum(which)) for which in (block >= 0, is_chosen))
    start, end = np.arange(len(nodes)), nodes.end
    n_chosen = its[end] - its[start]
    only: NDArray[np.bool_] = (n_chosen > 0) & (n_chosen == texts[end] - texts[start])
    return only


def without_nodes(page: Page, gone: NDArray[np.bool_], parsing: ParsingOptions) -> tuple[Page, NDArray[np.bool_]]:
    """Return a page without some nodes (n_nodes,) and their descendants, and a mask (n_nodes,) of the nodes that stay.

    The remaining text is segmented again. ``Page.source`` is still that of the whole page.
    """
    nodes = page.nodes
    borders = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.add.at(borders, np.flatnonzero(gone), 1)
    np.add.at(borders, nodes.end[gone], -1)
    stays = borders.cumsum()[:-1] == 0
    left = nodes.only(stays)
    blocks = segment(left, profile=page.profile, keep_wordless=parsing.keep_wordless, tokenizer=parsing.tokenizer)
    return replace(page, nodes=left, blocks=blocks), stays
