"""Countable contents of one page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page
from blockml.templates.frequency.counts import Counts, unified
from blockml.templates.frequency.paths import PathCounts, path_keys
from blockml.templates.frequency.tables import FrequencyTables, vocabulary_of
from blockml.templates.frequency.vectors import BlockVectors, element_counts, element_keys
from blockml.templates.frequency.words import WordCounts
from blockml.text.hashing import stable_hash64
from blockml.text.words import find_spans


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Countable contents of a page in document order, and the page's own counts."""

    text_nodes: NDArray[np.int32]  #: (n_texts,) node index of each visible text
    text_keys: NDArray[np.uint64]  #: (n_texts,) key of each text
    text_words: NDArray[np.int64]  #: (n_texts,) number of words
    text_blocks: NDArray[np.int32]  #: (n_texts,) index of the text's block; -1 outside of blocks
    block_keys: NDArray[np.uint64]  #: (n_blocks,) key of the block's text
    path_keys: NDArray[np.uint64]  #: (n_blocks,) key of the path of the block's parent
    word_blocks: NDArray[np.int64]  #: (n_pairs,) block of each distinct word of each block, ascending
    word_places: NDArray[np.int64]  #: (n_pairs,) index of the word in ``tables.words``
    word_times: NDArray[np.int64]  #: (n_pairs,) occurrences in the block
    vector_rows: NDArray[np.int64]  #: (n_blocks,) index of the block's vector in ``tables.vectors``
    tables: FrequencyTables  #: Counts of only this page


def contents_of(page: Page, *, casefold: bool = False, mask_digits: bool = False) -> Contents:
    """Collect the countable contents of a page, outside of its ``head``.

    ``casefold`` and ``mask_digits`` are those of :func:`~blockml.templates.frequency.counts.unified`; words are taken
    from the unified texts.
    """
    nodes, blocks = page.nodes, page.blocks
    text_nodes = np.flatnonzero((nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)).astype(np.int32)
    raw = [nodes.texts[node] for node in text_nodes.tolist()]
    texts = unified(raw, casefold=casefold, mask_digits=mask_digits)
    keys = stable_hash64(texts)
    # A text without words may be outside of all blocks.
    block = np.searchsorted(blocks.node, text_nodes, side="right") - 1
    inside = text_nodes <= np.append(blocks.last_node, -1)[block]
    text_blocks = np.where(inside, block, -1).astype(np.int32)
    block_keys = keys[np.searchsorted(text_nodes, blocks.node)]  # most blocks are single texts, whose keys are known
    several = np.flatnonzero(blocks.last_node > blocks.node)
    merged = [blocks.texts[i] for i in several.tolist()]
    block_keys[several] = stable_hash64(unified(merged, casefold=casefold, mask_digits=mask_digits))
    paths = path_keys(nodes, blocks.parent)
    text_words, word_keys, word_blocks, word_places, word_times = _words(texts, text_blocks)
    words = WordCounts.of_page(word_keys, np.bincount(word_places, weights=word_times).astype(np.int64))
    elements = element_counts(page)
    vocabulary = vocabulary_of(words)
    vectors, rows = _vectors(vocabulary, words, (word_blocks, word_places, word_times), elements)
    return Contents(
        text_nodes=text_nodes,
        text_keys=keys,
        text_words=text_words,
        text_blocks=text_blocks,
        block_keys=block_keys,
        path_keys=paths,
        word_blocks=word_blocks,
        word_places=word_places,
        word_times=word_times,
        vector_rows=rows,
        tables=FrequencyTables(
            fingerprints=stable_hash64(["\n".join(texts)]),  # unified texts contain no line breaks
            texts=Counts.of_page(keys),
            blocks=Counts.of_page(block_keys),
            paths=PathCounts.of_page(
                paths, block_keys, blocks.n_words.astype(np.int64), blocks.n_linked.astype(np.int64)
            ),
            words=words,
            vectors=vectors,
        ),
    )


def _words(
    texts: list[str], text_blocks: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return words per text, sorted keys of distinct words, and (block, word, occurrences) of each word of a block."""
    owner, start, length = find_spans(texts)
    numbers: dict[str, int] = {}
    spans = zip(owner.tolist(), start.tolist(), (start + length).tolist(), strict=True)
    which = [numbers.setdefault(texts[text][begin:end], len(numbers)) for text, begin, end in spans]
    keys, place = np.unique(stable_hash64(numbers), return_inverse=True)
    word, block = place.reshape(-1)[which].astype(np.int64), text_blocks[owner].astype(np.int64)
    width = max(len(keys), 1)
    pairs, times = np.unique((block * width + word)[block >= 0], return_counts=True)
    blocks, words = np.divmod(pairs, width)
    return np.bincount(owner, minlength=len(texts)), keys, blocks, words, times.astype(np.int64)


def _vectors(
    vocabulary: NDArray[np.uint64],
    words: WordCounts,
    in_blocks: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    elements: NDArray[np.int64],
) -> tuple[BlockVectors, NDArray[np.int64]]:
    """Return the block vectors of the page, and the index of each block's vector."""
    word_block, word, times = in_blocks
    element_block, kind = np.nonzero(elements)
    block = np.concatenate([word_block, element_block])
    feature = np.concatenate(
        [np.searchsorted(vocabulary, words.keys)[word], np.searchsorted(vocabulary, element_keys())[kind]]
    )
    count = np.concatenate([times, elements[element_block, kind]])
    order = np.lexsort((feature, block))
    return BlockVectors.of_page(vocabulary, block[order], feature[order], count[order], len(elements))
