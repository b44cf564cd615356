"""Functions of the C extension that read metadata."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["MetadataKernel"]


class MetadataKernel(Protocol):
    """Functions from attributes to words in them and to what they declare."""

    @staticmethod
    def attribute_words(
        pairs: bytes, words: tuple[bytes, ...], ends: NDArray[np.int64], found: NDArray[np.uint8], /
    ) -> None:
        """Set bit k of each attribute set (n_sets,) that has ``words[k]``, of at most eight words.

        ``pairs`` and ``ends`` are the fields of :class:`blockml.page.attributes.Attributes`. Reference:
        ``blockml.page.attribute_words``.
        """

    @staticmethod
    def declarations(
        pairs: bytes, known: dict[str, Any], begins: NDArray[np.int64], ends: NDArray[np.int64], /
    ) -> list[tuple[Any, str]]:
        """Look up the names of ``meta`` elements (n,); return the entries with the contents.

        ``pairs[begin:end]`` are names and values of an element, each followed by a zero byte; names of more than 63
        bytes have no entry. Reference: ``blockml.metadata.declarations``.
        """
