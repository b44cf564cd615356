"""Counts learned from the pages of a site, and the contents that are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Page
from blockml.page.subtrees import block_of_texts
from blockml.templates.frequency.counts import Counts, column, distinct
from blockml.templates.frequency.paths import PathCounts, count_texts, path_keys
from blockml.templates.frequency.vectors import BlockVectors, WordCounts, element_counts, element_keys
from blockml.text.sketches import stable_hash64
from blockml.text.words import find_spans

#: Number of pages added together (our choice): more is faster, but keeps the counts of more pages in memory.
_BATCH = 256


@dataclass(frozen=True, slots=True, eq=False)
class SiteCounts:
    """Counts of text nodes, blocks, paths, words and block vectors over pages of one site.

    Each page counts once, however often it is learned, and so do pages with equal visible text, because copies would
    make a whole page look like a template. The first copy is counted. Pages without visible text are ignored. The
    counts are independent of the order of pages and of batches.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "cats")]
    >>> site = SiteCounts.learn(pages)
    >>> site.n_pages, site.updated([blockml.parse("<p>Home</p><p>About birds.</p>")]).n_pages
    (2, 3)
    """

    #: (n_pages,) sorted keys of the pages' visible texts. The position of a page is its index.
    fingerprints: NDArray[np.uint64]
    texts: Counts  #: Text nodes
    blocks: Counts  #: Texts of whole blocks
    paths: PathCounts  #: Paths of the blocks' parent elements
    words: WordCounts  #: Words of all blocks
    vectors: BlockVectors  #: Block vectors

    @property
    def n_pages(self) -> int:
        """Number of pages counted."""
        return len(self.fingerprints)

    @classmethod
    def learn(cls, pages: Iterable[Page]) -> SiteCounts:
        """Count any number of pages, without storing them."""
        return cls.combined([]).updated(pages)

    @classmethod
    def combined(cls, parts: Sequence[SiteCounts]) -> SiteCounts:
        """Add the counts of disjoint sets of pages."""
        fingerprints = np.sort(column(parts, "fingerprints", np.uint64))
        words = WordCounts.combined([part.words for part in parts])
        return cls(
            fingerprints=fingerprints,
            texts=Counts.combined([part.texts for part in parts]),
            blocks=Counts.combined([part.blocks for part in parts]),
            paths=PathCounts.combined([part.paths for part in parts]),
            words=words,
            vectors=BlockVectors.combined(
                [part.vectors for part in parts],
                vocabulary_of(words),
                [np.searchsorted(fingerprints, part.fingerprints) for part in parts],
            ),
        )

    def updated(self, pages: Iterable[Page]) -> SiteCounts:
        """Return counts with further pages; this object does not change."""
        site = self
        known = set(self.fingerprints.tolist())
        waiting: list[SiteCounts] = []
        for page in pages:
            contents = contents_of(page)
            fingerprint = int(contents.counts.fingerprints[0])
            if fingerprint in known or not len(contents.text_nodes):
                continue
            known.add(fingerprint)
            waiting.append(contents.counts)
            if len(waiting) == _BATCH:
                site = SiteCounts.combined([site, *waiting])
                waiting = []
        return SiteCounts.combined([site, *waiting]) if waiting else site

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts as integer arrays by name, to store them; equal for equal pages."""
        parts = {kind: getattr(self, f"{kind}s") for kind in ("text", "block", "path", "word", "vector")}
        split = {name: name.partition("_") for name in _TYPES if name not in ("settings", "pages")}
        columns = {name: getattr(parts[kind], key) for name, (kind, _, key) in split.items()}
        return {"settings": np.zeros(2, np.uint8), "pages": self.fingerprints, **columns}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SiteCounts:
        """Restore counts from :meth:`arrays`; raise UsageError with the name of a missing, unknown or damaged array.

        All arrays are checked, so that using them can neither fail nor read out of bounds.

        Examples
        --------
        >>> import blockml
        >>> site = SiteCounts.learn([blockml.parse("<p>Home</p>")])
        >>> SiteCounts.from_arrays(site.arrays()).n_pages
        1
        """
        if arrays.keys() != _TYPES.keys():
            wrong = sorted(arrays.keys() ^ _TYPES.keys())
            raise UsageError(f"arrays of site counts are missing or unknown: {', '.join(wrong)}")
        for name, kind in _TYPES.items():
            _check(name, arrays[name].dtype == kind and arrays[name].ndim == 1, f"must be one row of {kind.__name__}")
        _check(
            "settings",
            arrays["settings"].tolist() == [0, 0],
            "must be two zeros, since no other settings are supported",
        )
        for name, others in _LENGTHS.items():
            for other in others:
                _check(other, len(arrays[other]) == len(arrays[name]), f"must be as long as {name!r}")
        for name in _TYPES:
            if name == "pages" or name.endswith("_keys"):
                _check(name, (arrays[name][1:] > arrays[name][:-1]).all(), "must rise")
        _check_counts(arrays)

        def part(kind: str) -> dict[str, NDArray[Any]]:
            return {name.partition("_")[2]: array for name, array in arrays.items() if name.startswith(f"{kind}_")}

        words = WordCounts(**part("word"))
        vocabulary = vocabulary_of(words)
        _check_vectors(arrays, len(vocabulary))
        text_path, text_pages = arrays["path_text_path"], arrays["path_text_pages"]
        texts, once = count_texts(text_path, text_pages, len(arrays["path_keys"]))
        return cls(
            fingerprints=arrays["pages"],
            texts=Counts(**part("text")),
            blocks=Counts(**part("block")),
            paths=PathCounts(**part("path"), texts=texts, once=once),
            words=words,
            vectors=BlockVectors(vocabulary, **part("vector")),
        )


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
    word_places: NDArray[np.int64]  #: (n_pairs,) index of the word in ``counts.words``
    word_times: NDArray[np.int64]  #: (n_pairs,) occurrences in the block
    vector_rows: NDArray[np.int64]  #: (n_blocks,) index of the block's vector in ``counts.vectors``
    counts: SiteCounts  #: Counts of only this page


def contents_of(page: Page) -> Contents:
    """Collect the countable contents of a page, outside of its ``head``; white space in texts does not matter."""
    nodes, blocks = page.nodes, page.blocks
    text_nodes = np.flatnonzero((nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)).astype(np.int32)
    texts = [" ".join(nodes.texts[node].split()) for node in text_nodes.tolist()]
    keys = stable_hash64(texts)
    text_blocks = block_of_texts(nodes, blocks)[text_nodes]  # a text without words may be outside of all blocks
    block_keys = keys[np.searchsorted(text_nodes, blocks.node)]  # most blocks are single texts, whose keys are known
    several = np.flatnonzero(blocks.last_node > blocks.node)
    block_keys[several] = stable_hash64([" ".join(blocks.texts[i].split()) for i in several.tolist()])
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
        counts=SiteCounts(
            fingerprints=stable_hash64(["\n".join(texts)]),  # no text contains a line break
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


#: Types of the arrays. Derived columns (texts per path, the vocabulary) aren't stored.
_TYPES: Mapping[str, type[np.generic]] = {
    "settings": np.uint8,  # two zeros: the default of options that are gone, still in the files of all versions
    "pages": np.uint64,
    "text_keys": np.uint64, "text_pages": np.int32,
    "block_keys": np.uint64, "block_pages": np.int32,
    "path_keys": np.uint64, "path_pages": np.int32, "path_blocks": np.int64, "path_words": np.int64,
    "path_linked": np.int64, "path_text_keys": np.uint64, "path_text_pages": np.int32, "path_text_path": np.int32,
    "word_keys": np.uint64, "word_total": np.int64, "word_tf_log_tf": np.int64,
    "vector_keys": np.uint64, "vector_starts": np.int64, "vector_features": np.int32, "vector_counts": np.int32,
    "vector_page_starts": np.int64, "vector_pages": np.int32,
}  # fmt: skip

#: Arrays with one entry per key of another.
_LENGTHS: Mapping[str, tuple[str, ...]] = {
    "text_keys": ("text_pages",),
    "block_keys": ("block_pages",),
    "path_keys": ("path_pages", "path_blocks", "path_words", "path_linked"),
    "path_text_keys": ("path_text_pages", "path_text_path"),
    "word_keys": ("word_total", "word_tf_log_tf"),
    "vector_features": ("vector_counts",),
}

#: Limit of sums, so that adding a page can't overflow (our choice).
_MAX_SUM = 2**62


def vocabulary_of(words: WordCounts) -> NDArray[np.uint64]:
    """Return the sorted keys of the features of block vectors: words and counted elements."""
    return distinct(np.concatenate([words.keys, element_keys()]))


def _check(name: str, holds: bool | np.bool_, rule: str) -> None:  # noqa: FBT001 (the condition checked)
    if not holds:
        raise UsageError(f"array {name!r} of site counts {rule}")


def _within(values: NDArray[Any], low: int, high: int) -> bool:
    return not len(values) or bool(values.min() >= low and values.max() <= high)


def _check_counts(arrays: Mapping[str, NDArray[Any]]) -> None:
    n_pages = len(arrays["pages"])
    for name in ("text_pages", "block_pages", "path_pages", "path_text_pages"):
        _check(name, _within(arrays[name], 1, n_pages), f"must lie between 1 and the number of pages, {n_pages}")
    _check("path_blocks", _within(arrays["path_blocks"], 1, _MAX_SUM), "must lie between 1 and 2^62")
    _check("path_words", _within(arrays["path_words"], 0, _MAX_SUM), "must lie between 0 and 2^62")
    linked = arrays["path_linked"]
    _check("path_linked", _within(linked, 0, _MAX_SUM) and (linked <= arrays["path_words"]).all(), "exceeds the words")
    last = len(arrays["path_keys"]) - 1
    _check("path_text_path", _within(arrays["path_text_path"], 0, last), f"must lie between 0 and {last}")
    _check("word_total", _within(arrays["word_total"], 1, _MAX_SUM), "must lie between 1 and 2^62")
    _check("word_tf_log_tf", _within(arrays["word_tf_log_tf"], 0, _MAX_SUM), "must lie between 0 and 2^62")


def _check_vectors(arrays: Mapping[str, NDArray[Any]], n_features: int) -> None:
    n = len(arrays["vector_keys"])
    for starts, values in (("vector_starts", "vector_features"), ("vector_page_starts", "vector_pages")):
        bounds = arrays[starts]
        _check(starts, len(bounds) == n + 1, f"must have {n + 1} entries")
        whole = bounds[0] == 0 and bounds[-1] == len(arrays[values]) and (bounds[1:] >= bounds[:-1]).all()
        _check(starts, whole, f"must rise from 0 to the number of {values!r}")
        same_row = np.ones(len(arrays[values]), dtype=bool)
        same_row[bounds[:-1][bounds[:-1] < bounds[1:]]] = False  # a row may start below the end of the previous one
        rises = (np.diff(arrays[values]) > 0)[same_row[1:]].all()
        _check(values, rises, "must rise in each row")
    _check("vector_page_starts", (np.diff(arrays["vector_page_starts"]) > 0).all(), "must give each vector a page")
    features, pages = arrays["vector_features"], arrays["vector_pages"]
    _check("vector_features", _within(features, 0, n_features - 1), f"must lie between 0 and {n_features - 1}")
    _check("vector_counts", _within(arrays["vector_counts"], 1, 2**31 - 1), "must be at least 1")
    last = len(arrays["pages"]) - 1
    _check("vector_pages", _within(pages, 0, last), f"must lie between 0 and {last}")
