"""Bounds that keep one page from exhausting the machine."""

from __future__ import annotations

from dataclasses import dataclass

from blockml.errors import UsageError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a page is looked at. Each limit that is hit becomes a warning and the status ``truncated``.

    Raises
    ------
    UsageError
        A limit that is no whole number, or below 1.
    """

    bytes: int = 64 * 2**20
    """Bytes (of a ``str``: characters) of the source that are parsed; the rest is cut off."""
    nodes: int = 4_000_000
    """Elements and text nodes; what comes later is left out."""
    depth: int = 4_000
    """Nesting levels; deeper elements are flattened into their ancestor at this level, their text is kept."""

    def __post_init__(self) -> None:
        for name in ("bytes", "nodes", "depth"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"the limit {name!r} is a whole number from 1 on, not {value!r}")
