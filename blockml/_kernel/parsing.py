"""What the compiled kernel does from bytes to blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ParsingKernel"]


class ParsingKernel(Protocol):
    """Functions of the parsing rooms."""

    @staticmethod
    def is_utf8(source: bytes, /) -> bool:
        """Tell whether bytes are UTF-8: :func:`blockml.parsing.decoding.decode`."""

    @staticmethod
    def nodes_builder(
        special: Mapping[str, int],
        max_nodes: int,
        max_depth: int,
        limit_reached: type[Exception],
        invisible: re.Pattern[str],
        controls: re.Pattern[str],
        /,
    ) -> tuple[Callable[..., Any], ...]:
        """Functions of a new builder: start, end, data, close, note_depth, limits_hit, two readers, and the columns.

        They are what :class:`blockml.parsing.builder.NodesBuilder` offers. The columns come as names, tag, parent,
        depth, end (bytes of int32), flags (bytes of uint8) and texts; and what
        :class:`blockml.page.attributes.Attributes` holds, with bytes of int32 and int64 for its arrays.

        ``read_by_libxml2(source, addresses)`` and ``read_by_lexbor(source, addresses)`` give the builder all events of
        a page in UTF-8, by the functions at these addresses: see :mod:`blockml.parsing.libraries`.
        """

    @staticmethod
    def cut_blocks(
        names: tuple[str, ...],
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        flags: NDArray[np.uint8],
        texts: list[str],
        known: Mapping[str, int],
        others: int,
        classes: NDArray[np.uint8],
        tokenizer: int,
        /,
    ) -> tuple[bytearray, bytearray, bytearray, tuple[str, ...], tuple[str, ...]]:
        """Columns of the blocks of a page, by properties of names: :func:`blockml.parsing.segmentation.segment`.

        Seven columns of int32 from ``n_words`` to ``last_node``, one behind the other; ``flags`` and ``joints``, of
        uint8; ``word_lengths``, of int32; ``texts``; and ``parents``.
        """
