"""How much of a page its site repeats: numbers for each block and each text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page
from blockml.templates.frequency.contents import Contents
from blockml.templates.frequency.counts import Counts
from blockml.templates.frequency.site import SiteCounts
from blockml.templates.frequency.tables import Tables

__all__ = ["Measures", "measure"]


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """What the counts of a site say about one page.

    Shares are by the number of pages counted, :attr:`n_pages`: with the page itself or without it. Measures of paths
    and :attr:`similar` are always about other pages. All shares are 0 if no page is counted.
    """

    n_others: int
    """Number of other pages that are counted."""
    include_self: bool
    """Whether the page itself is counted too."""
    text_nodes: NDArray[np.int32]
    """(n_texts,) node index of each visible text, in document order."""
    text_blocks: NDArray[np.int32]
    """(n_texts,) block of each text; -1 if no block holds it."""
    text_words: NDArray[np.int64]
    """(n_texts,) words of each text."""
    text_pages: NDArray[np.int64]
    """(n_texts,) document frequency: number of pages with an equal text."""
    text_share: NDArray[np.float64]
    """(n_blocks,) mean over the block's texts, weighted by their words, of their shares of pages, in [0, 1]; texts of a
    block without words count alike."""
    block_pages: NDArray[np.int64]
    """(n_blocks,) number of pages with a block of the same text."""
    block_share: NDArray[np.float64]
    """(n_blocks,) share of the pages with a block of the same text, in [0, 1]."""
    path_share: NDArray[np.float64]
    """(n_blocks,) share of the other pages with a block at the same path, in [0, 1]."""
    path_novelty: NDArray[np.float64]
    """(n_blocks,) of the texts that other pages have at that path, the share that stands there on one page only,
    in [0, 1]; 1 if there is none."""
    path_words: NDArray[np.float64]
    """(n_blocks,) mean words of blocks of other pages at that path; 0 if there is none."""
    path_links: NDArray[np.float64]
    """(n_blocks,) share of these words that is linked, in [0, 1]; 0 if there is none."""
    entropy: NDArray[np.float64]
    """(n_blocks,) mean entropy of the block's words, in [0, 1]: 1 for words that are as frequent on each page; 0 for a
    block without words, and for fewer than two pages."""
    similar: NDArray[np.int32] | None
    """(n_blocks,) number of other pages with a similar block; None if not asked for."""

    @property
    def n_pages(self) -> int:
        """Number of pages counted, n."""
        return self.n_others + self.include_self

    @property
    def ibdf(self) -> NDArray[np.float64] | None:
        """(n_blocks,) inverse block document frequency 1 / (c + 1), in (0, 1], c being :attr:`similar`."""
        return None if self.similar is None else 1 / (self.similar + 1)


def measure(
    page: Page, site: SiteCounts, *, include_self: bool = True, similar: bool = True, distinct: bool = False
) -> Measures:
    """Measure how much of a page repeats on its site.

    The result is the same whether the page was learnt or not: its own counts are taken out if they are in, and then
    added if they are to count.

    Parameters
    ----------
    page
        A page, parsed like those that were learnt.
    site
        What was learnt of the site.
    include_self
        Count the page itself among the pages, as in Gottron 2008, where it belongs to its own training set.
    similar
        Look for similar blocks too, the only part that compares blocks with each other.
    distinct
        Average entropies over distinct words; else a word counts as often as it stands in the block.

    Notes
    -----
    Where the learnt page was another one with the same visible text, its place is taken by this one: blocks and paths
    that only this one has are taken for new.

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
    own = contents.tables if learnt else Tables.combined([])
    n_others, added = site.n_pages - bool(learnt), int(include_self)
    n_pages = n_others + added
    text_pages = _on_others(tables.texts, own.texts, contents.text_keys) + added
    block_pages = _on_others(tables.blocks, own.blocks, contents.block_keys) + added
    path_share, path_novelty, path_words, path_links = _paths(tables, own, contents, n_others)
    return Measures(
        n_others=n_others,
        include_self=include_self,
        text_nodes=contents.text_nodes,
        text_blocks=contents.text_blocks,
        text_words=contents.text_words,
        text_pages=text_pages,
        text_share=_text_share(contents, text_pages, n_pages, len(page.blocks)),
        block_pages=block_pages,
        block_share=block_pages / max(n_pages, 1),
        path_share=path_share,
        path_novelty=path_novelty,
        path_words=path_words,
        path_links=path_links,
        entropy=_entropy(tables, contents, n_pages, added - bool(learnt), len(page.blocks), distinct=distinct),
        similar=_similar(tables, contents, place if learnt else -1) if similar else None,
    )


def _on_others(counts: Counts, own: Counts, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """(n_keys,) number of other pages with each key."""
    pages: NDArray[np.int64] = np.maximum(counts.of(keys).astype(np.int64) - own.of(keys), 0)
    return pages


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64], otherwise: float) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), otherwise)


def _text_share(contents: Contents, text_pages: NDArray[np.int64], n_pages: int, n_blocks: int) -> NDArray[np.float64]:
    inside = contents.text_blocks >= 0
    block = contents.text_blocks[inside]
    words = contents.text_words[inside]
    wordless = np.bincount(block, weights=words, minlength=n_blocks) == 0
    weight = np.where(wordless[block], 1, words)
    pages = np.bincount(block, weights=weight * text_pages[inside], minlength=n_blocks)
    return pages / (np.bincount(block, weights=weight, minlength=n_blocks) * max(n_pages, 1))


def _paths(
    tables: Tables, own: Tables, contents: Contents, n_others: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Share of pages, novelty, mean words and link share of each block's path on the other pages."""
    others = tables.paths.without(own.paths, contents.path_keys)
    return (
        others["pages"] / max(n_others, 1),
        _ratio(np.minimum(others["once"], others["texts"]), others["texts"], 1.0),
        _ratio(others["words"], others["blocks"], 0.0),
        _ratio(np.minimum(others["linked"], others["words"]), others["words"], 0.0),
    )


def _entropy(
    tables: Tables, contents: Contents, n_pages: int, times: int, n_blocks: int, *, distinct: bool
) -> NDArray[np.float64]:
    entropies = tables.words.entropies(contents.tables.words, n_pages, times=times)[contents.word_places]
    weight = np.ones(len(entropies)) if distinct else contents.word_times.astype(np.float64)
    words = np.bincount(contents.word_blocks, weights=weight, minlength=n_blocks)
    sums = np.bincount(contents.word_blocks, weights=weight * entropies, minlength=n_blocks)
    return np.minimum(sums / np.maximum(words, 1), 1)  # sums of floats may exceed 1 by a bit


def _similar(tables: Tables, contents: Contents, own_place: int) -> NDArray[np.int32]:
    vectors = contents.tables.vectors
    return tables.vectors.similar_pages(vectors, without=own_place)[contents.vector_rows]
