"""Functions of the C extension that parse."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Addresses", "ParsingKernel"]

Addresses: TypeAlias = tuple[int, ...]
"""Addresses of C functions in this process: see :mod:`blockml.parsing.libraries`."""


class ParsingKernel(Protocol):
    """Functions from bytes to blocks."""

    @staticmethod
    def is_utf8(source: bytes, /) -> bool:
        """Tell whether bytes are valid UTF-8. Reference: ``bytes.decode``."""

    @staticmethod
    def nodes_builder(
        name_properties: Mapping[str, int],
        max_nodes: int,
        max_depth: int,
        limit_reached: type[Exception],
        invisible: re.Pattern[str],
        controls: re.Pattern[str],
        /,
    ) -> tuple[Callable[..., Any], ...]:
        """Return the functions of a new builder. Reference: :func:`blockml.parsing.builder.new_builder`.

        They are ``start``, ``end``, ``data``, ``close`` and ``limits_hit`` of
        :class:`~blockml.parsing.builder.NodesBuilder`; ``columns``; ``parse_libxml2`` and ``parse_lexbor``.
        ``columns()`` returns names, tag, parent, depth, end (bytes of int32), flags (bytes of uint8) and texts of the
        nodes, then the fields of :class:`blockml.page.attributes.Attributes`, with bytes of int32 and int64 as arrays.
        """

    @staticmethod
    def segment_nodes(
        names: tuple[str, ...],
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        flags: NDArray[np.uint8],
        texts: list[str],
        name_properties: Mapping[str, int],
        default_properties: int,
        classes: NDArray[np.uint8],
        tokenizer: int,
        /,
    ) -> tuple[bytearray, bytearray, bytearray, tuple[str, ...], tuple[str, ...]]:
        """Segment the nodes of a page into blocks. Reference: :func:`blockml.parsing.segmentation.segment`.

        Returns the columns of :class:`blockml.page.Blocks`: from ``n_words`` to ``last_node`` (7, n_blocks) as bytes of
        int32, ``flags`` and ``separators`` (2, n_blocks) of uint8, ``word_lengths`` of int32; ``texts``; ``parents``.
        """
