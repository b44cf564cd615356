"""Counts of pages as tables that can be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.templates.frequency.counts import Counts, distinct
from blockml.templates.frequency.paths import PathCounts
from blockml.templates.frequency.vectors import BlockVectors, element_keys
from blockml.templates.frequency.words import WordCounts

__all__ = ["Tables", "vocabulary_of"]


def vocabulary_of(words: WordCounts) -> NDArray[np.uint64]:
    """Return the sorted keys of the features of block vectors: words and counted elements."""
    return distinct(np.concatenate([words.keys, element_keys()]))


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Counts of some pages, independent of their order."""

    fingerprints: NDArray[np.uint64]
    """(n_pages,) sorted keys of the pages' visible texts. The position of a page is its index."""
    texts: Counts
    """Text nodes."""
    blocks: Counts
    """Texts of whole blocks."""
    paths: PathCounts
    """Paths of the blocks' parent elements."""
    words: WordCounts
    """Words of all blocks."""
    vectors: BlockVectors
    """Block vectors."""

    @classmethod
    def combined(cls, parts: Sequence[Tables]) -> Tables:
        """Add the counts of disjoint sets of pages."""
        fingerprints = np.sort(np.concatenate([np.zeros(0, np.uint64), *[part.fingerprints for part in parts]]))
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
