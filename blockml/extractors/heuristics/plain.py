"""All text: the lower bound that every method must beat (Gottron 2008)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.base import Extractor, Traits
from blockml.page import Page


class Plain(Extractor):
    """Keeps every block.

    Examples
    --------
    >>> import blockml
    >>> blockml.extract("<p>One</p><p>Two</p>", model=Plain()).text.split()
    ['One', 'Two']
    """

    name: ClassVar[str] = "plain"
    traits: ClassVar[Traits] = Traits("Gottron 2008")

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block 1."""
        return np.ones(len(page.blocks), dtype=np.float32)
