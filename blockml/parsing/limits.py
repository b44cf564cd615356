"""Bounds that keep one page from exhausting the machine, and parsing options of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blockml.errors import UsageError

__all__ = ["Limits", "ParsingOptions"]


#: Four of the 593 largest labelled pages have more blocks: tables of numbers. A block takes up to 4 kB.
_BYTES_PER_BLOCK = 50
#: Largest limit: nodes and offsets in a page are 32-bit integers.
_LARGEST = 2**31 - 1
#: Open elements, summed over tags, allowed on any page, and per byte on longer pages. libxml2 takes two nanoseconds
#: to compare an end tag with an open element. Each of 7,001 labelled pages needs at most 2 million, or at most 7 per
#: byte; one that nests to the default depth and out again needs 16 million.
_STEPS, _STEPS_PER_BYTE = 64_000_000, 100


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one page. A limit that is reached gives a warning and the status ``truncated``.

    Raises
    ------
    UsageError
        A limit is not an integer, below 1, or above 2,147,483,647.
    """

    bytes: int = 64 * 2**20  #: Bytes of the source (characters of a ``str``) that are parsed; the rest is ignored.
    nodes: int = 500_000  #: Elements and text nodes; later ones are left out.
    #: Text blocks allowed on any page; longer pages may have one block per 50 bytes. The text after them is one block.
    blocks: int = 7_000
    #: Nesting levels; deeper elements are flattened into their ancestor at this level, with their text.
    depth: int = 4_000

    def __post_init__(self) -> None:
        for name in ("bytes", "nodes", "blocks", "depth"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _LARGEST:
                raise UsageError(f"limits.{name} must be an integer from 1 to {_LARGEST}")

    def blocks_of(self, n_bytes: int) -> int:
        """Return the maximum number of blocks of a page with this many bytes.

        Examples
        --------
        >>> Limits().blocks_of(60_000), Limits().blocks_of(6_000_000)
        (7000, 120000)
        """
        return max(self.blocks, n_bytes // _BYTES_PER_BLOCK)

    def steps_of(self, n_bytes: int) -> int:
        """Return how many open elements, summed over tags, libxml2 may search in a page of this many bytes.

        A page of the maximum depth can always be read to its deepest element.

        Examples
        --------
        >>> Limits().steps_of(10_000), Limits().steps_of(2_000_000), Limits(depth=100_000).steps_of(10_000)
        (64000000, 200000000, 10000000000)
        """
        return max(_STEPS, n_bytes * _STEPS_PER_BYTE, self.depth**2)


@dataclass(frozen=True, slots=True)
class ParsingOptions:
    """Parsing options of the training pages, which prediction must use too."""

    backend: str = "lxml"
    profile: str = "anchor"
    keep_wordless: bool = True
    tokenizer: str = "space"

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of :func:`blockml.parse`."""
        return {name: getattr(self, name) for name in self.__slots__}
