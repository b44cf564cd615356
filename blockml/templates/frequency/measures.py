"""Repetition of each block and text of a page on its site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page
from blockml.templates.frequency.counts import Counts
from blockml.templates.frequency.site import SiteCounts
from blockml.templates.frequency.tables import FrequencyTables


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Repetition of a page on its site.

    Shares are relative to :attr:`n_pages`, with or without the page itself, and 0 if no page is counted. Measures of
    paths and :attr:`similar` always refer to other pages.
    """

    n_others: int  #: Number of other pages counted
    include_self: bool  #: Whether the page itself is counted too
    text_nodes: NDArray[np.int32]  #: (n_texts,) node index of each visible text, in document order
    text_blocks: NDArray[np.int32]  #: (n_texts,) block of each text; -1 outside of blocks
    text_words: NDArray[np.int64]  #: (n_texts,) number of words
    text_pages: NDArray[np.int64]  #: (n_texts,) document frequency: number of pages with an equal text
    #: (n_blocks,) mean share of pages of the block's texts, in [0, 1], weighted by words unless the block has none
    text_share: NDArray[np.float64]
    block_pages: NDArray[np.int64]  #: (n_blocks,) number of pages with a block of equal text
    block_share: NDArray[np.float64]  #: (n_blocks,) share of pages with a block of equal text, in [0, 1]
    path_share: NDArray[np.float64]  #: (n_blocks,) share of other pages with a block at the same path, in [0, 1]
    #: (n_blocks,) share, in [0, 1], of the other pages' texts at that path that occur there on only one page; 1 without
    #: texts
    path_novelty: NDArray[np.float64]
    path_words: NDArray[np.float64]  #: (n_blocks,) mean words of other pages' blocks at that path; 0 without blocks
    path_links: NDArray[np.float64]  #: (n_blocks,) share of linked words among these, in [0, 1]; 0 without words
    #: (n_blocks,) mean entropy of the block's words, in [0, 1]: 1 for words equally frequent on all pages; 0 without
    #: words, and with fewer than two pages
    entropy: NDArray[np.float64]
    similar: NDArray[np.int32] | None  #: (n_blocks,) number of other pages with a similar block; None if not computed

    @property
    def n_pages(self) -> int:
        """Number of pages counted."""
        return self.n_others + self.include_self

    @property
    def ibdf(self) -> NDArray[np.float64] | None:
        """(n_blocks,) inverse block document frequency 1 / (:attr:`similar` + 1), in (0, 1]."""
        return None if self.similar is None else 1 / (self.similar + 1)


def measure(
    page: Page, site: SiteCounts, *, include_self: bool = True, similar: bool = True, distinct: bool = False
) -> Measures:
    """Measure how much of a page is repeated on its site.

    It makes no difference whether the page was learned: its own counts are removed if present, then added if requested.
    ``include_self`` counts the page itself, as in Gottron 2008, where a page belongs to its own training set.
    ``similar`` counts similar blocks, the only measure that compares blocks pairwise. ``distinct`` averages entropies
    over the distinct words of a block instead of all its words.

    Notes
    -----
    If another page with equal visible text was learned, this page replaces it: blocks and paths that only this page has
    count as new.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds")]
    >>> site = SiteCounts.learn(pages)
    >>> found = measure(pages[0], site)
    >>> found.text_share.round(2).tolist(), found.entropy.round(2).tolist(), found.similar.tolist()
    ([1.0, 0.33], [1.0, 0.5], [2, 0])
    """
    contents, tables = site.contents(page), site.tables
    place = int(np.searchsorted(tables.fingerprints, contents.tables.fingerprints)[0])
    learnt = place < site.n_pages and tables.fingerprints[place] == contents.tables.fingerprints[0]
    own = contents.tables if learnt else FrequencyTables.combined([])
    n_others, added = site.n_pages - bool(learnt), int(include_self)
    n_pages = n_others + added
    text_pages = _on_others(tables.texts, own.texts, contents.text_keys) + added
    own_words = contents.tables.words
    weight = np.ones(len(contents.word_blocks)) if distinct else contents.word_times.astype(np.float64)
    entropies = tables.words.entropies(own_words, n_pages, times=added - bool(learnt))[contents.word_places]
    n_words, entropy = (
        np.bincount(contents.word_blocks, weights=column, minlength=len(page.blocks))
        for column in (weight, weight * entropies)
    )
    others = tables.paths.without(own.paths, contents.path_keys)
    vectors = contents.tables.vectors
    block_pages = _on_others(tables.blocks, own.blocks, contents.block_keys) + added
    inside = contents.text_blocks >= 0
    block, words, pages = (column[inside] for column in (contents.text_blocks, contents.text_words, text_pages))
    sums, weights = weighted_sums(block, words, pages, len(page.blocks))
    return Measures(
        n_others=n_others,
        include_self=include_self,
        text_nodes=contents.text_nodes,
        text_blocks=contents.text_blocks,
        text_words=contents.text_words,
        text_pages=text_pages,
        text_share=sums / (weights * max(n_pages, 1)),
        block_pages=block_pages,
        block_share=block_pages / max(n_pages, 1),
        path_share=others["pages"] / max(n_others, 1),
        path_novelty=_ratio(np.minimum(others["once"], others["texts"]), others["texts"], 1.0),
        path_words=_ratio(others["words"], others["blocks"], 0.0),
        path_links=_ratio(np.minimum(others["linked"], others["words"]), others["words"], 0.0),
        entropy=np.minimum(entropy / np.maximum(n_words, 1), 1),  # rounding may exceed 1
        similar=tables.vectors.similar_pages(vectors, without=place if learnt else -1)[contents.vector_rows]
        if similar
        else None,
    )


def _on_others(counts: Counts, own: Counts, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return (n_keys,) numbers of other pages with each key."""
    pages: NDArray[np.int64] = np.maximum(counts.of(keys).astype(np.int64) - own.of(keys), 0)
    return pages


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64], otherwise: float) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), otherwise)


def weighted_sums(
    block: NDArray[Any], words: NDArray[Any], values: NDArray[Any], n_blocks: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (n_blocks,) sums of the values of each block's texts and of their weights: words, or 1 if it has none.

    Takes the (n_texts,) block, words and value of each text.
    """
    wordless = np.bincount(block, weights=words, minlength=n_blocks) == 0
    weight = np.where(wordless[block], 1, words)
    columns = (weight * values, weight)
    sums, weights = (np.bincount(block, weights=column, minlength=n_blocks) for column in columns)
    return sums, weights
