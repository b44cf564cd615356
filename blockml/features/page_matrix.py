"""The feature matrix of one page, with the page context that some predictors need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.features.ancestor_words import Bags, bags
from blockml.features.page_context import PageContext
from blockml.features.repetition import alike

__all__ = ["PageMatrix"]


@dataclass(frozen=True, eq=False)
class PageMatrix:
    """Features of the blocks of one page."""

    values: NDArray[np.float32]
    """(n_blocks, n_columns) without NaN."""
    columns: tuple[str, ...]
    """(n_columns,) their names."""
    context: PageContext
    """The page."""

    @property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words of each block."""
        return self.context.words

    @property
    def block_groups(self) -> tuple[NDArray[np.int32], ...]:
        """(n_blocks,) number of the group of each block, for each grouping."""
        return alike(self.context)

    @property
    def ancestor_words(self) -> Bags:
        """Hashed words of the tags and attributes above each block."""
        return bags(self.context)
