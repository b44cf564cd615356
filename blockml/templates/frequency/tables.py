"""Counts of pages as tables that can be added, converted to plain arrays, and restored with all invariants checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.templates.frequency.counts import Counts, column, distinct
from blockml.templates.frequency.paths import PathCounts, count_texts
from blockml.templates.frequency.vectors import BlockVectors, element_keys
from blockml.templates.frequency.words import WordCounts

#: Types of the arrays. Derived columns (texts per path, the vocabulary) aren't stored.
_TYPES: Mapping[str, type[np.generic]] = {
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


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyTables:
    """Counts of some pages, independent of their order."""

    #: (n_pages,) sorted keys of the pages' visible texts. The position of a page is its index.
    fingerprints: NDArray[np.uint64]
    texts: Counts  #: Text nodes
    blocks: Counts  #: Texts of whole blocks
    paths: PathCounts  #: Paths of the blocks' parent elements
    words: WordCounts  #: Words of all blocks
    vectors: BlockVectors  #: Block vectors

    @classmethod
    def combined(cls, parts: Sequence[FrequencyTables]) -> FrequencyTables:
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


def tables_to(tables: FrequencyTables) -> dict[str, NDArray[Any]]:
    """Return the columns of all tables by name."""
    parts = {kind: getattr(tables, f"{kind}s") for kind in ("text", "block", "path", "word", "vector")}
    split = {name: name.partition("_") for name in _TYPES if name != "pages"}
    return {"pages": tables.fingerprints, **{name: getattr(parts[kind], key) for name, (kind, _, key) in split.items()}}


def tables_from(arrays: Mapping[str, NDArray[Any]]) -> FrequencyTables:
    """Restore tables from columns by name; raise UsageError with the name of a missing, unknown or damaged array."""
    if arrays.keys() != _TYPES.keys():
        wrong = sorted(arrays.keys() ^ _TYPES.keys())
        raise UsageError(f"arrays of site counts are missing or unknown: {', '.join(wrong)}")
    for name, kind in _TYPES.items():
        _check(name, arrays[name].dtype == kind and arrays[name].ndim == 1, f"must be one row of {kind.__name__}")
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
    return FrequencyTables(
        fingerprints=arrays["pages"],
        texts=Counts(**part("text")),
        blocks=Counts(**part("block")),
        paths=PathCounts(**part("path"), texts=texts, once=once),
        words=words,
        vectors=BlockVectors(vocabulary, **part("vector")),
    )


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
