"""Functions of the C extension that read metadata."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["MetadataKernel"]


class MetadataKernel(Protocol):
    """Functions from attributes to words in them."""

    @staticmethod
    def attribute_words(
        pairs: bytes, words: tuple[bytes, ...], ends: NDArray[np.int64], found: NDArray[np.uint8], /
    ) -> None:
        """Set bit k of each attribute set (n_sets,) that has ``words[k]``, of at most eight words.

        ``pairs`` and ``ends`` are the fields of :class:`blockml.page.attributes.Attributes`. Reference:
        ``blockml.metadata.attribute_words``.
        """
